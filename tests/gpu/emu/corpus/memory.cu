// Where bytes live and how they are reached.
#define AT() const unsigned i = blockIdx.x * blockDim.x + threadIdx.x
#define K extern "C" __global__ void

K transpose_f32(const float *x, float *o, int rows, int cols)
{
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        if (c < cols && r + k < rows)
            tile[threadIdx.y + k][threadIdx.x] = x[(r + k) * cols + c];
    __syncthreads();
    c = blockIdx.y * 32 + threadIdx.x;
    r = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        if (c < rows && r + k < cols)
            o[(r + k) * rows + c] = tile[threadIdx.x][threadIdx.y + k];
}

K gather_f32(const float *x, const long long *idx, float *o, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        o[i] = x[idx[i]];
}

K scatter_u8(const unsigned char *x, const int *idx, unsigned char *o, int n)
{
    AT();
    if (i < n)
        o[idx[i]] = x[i] + 1;
}

K copy_v4(const float4 *x, float4 *o, int n)
{
    AT();
    if (i < n) {
        float4 v = x[i];
        o[i] = make_float4(v.w, v.z, v.y, v.x);
    }
}

K copy_v2_u16(const ushort2 *x, ushort4 *o, int n)
{
    AT();
    if (i < n) {
        ushort2 v = x[i];
        o[i] = make_ushort4(v.x, v.y, v.y + 1, v.x - 1);
    }
}

K strided_i64(const float *x, float *o, long long rows, long long cols, long long pitch)
{
    for (long long r = blockIdx.y; r < rows; r += gridDim.y)
        for (long long c = (long long)blockIdx.x * blockDim.x + threadIdx.x; c < cols; c += (long long)gridDim.x * blockDim.x)
            o[r * cols + c] = x[r * pitch + c] * 2.0f;
}

K local_sort_i32(const int *x, int *o, int n)
{
    AT();
    if (i >= n)
        return;
    int v[8];
    for (int k = 0; k < 8; k++)
        v[k] = x[8 * i + k];
    for (int k = 1; k < 8; k++) {
        int w = v[k], j = k;
        while (j > 0 && v[j - 1] > w) {
            v[j] = v[j - 1];
            j--;
        }
        v[j] = w;
    }
    for (int k = 0; k < 8; k++)
        o[8 * i + k] = v[(k + i) & 7];
}

__constant__ int table[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
K const_table_i32(const int *x, int *o, int n)
{
    AT();
    if (i < n)
        o[i] = table[x[i] & 15] * 10 + table[i & 15];
}

__device__ unsigned counters[4] = {10, 20, 30, 40};
K device_global_u32(const unsigned *x, unsigned *o, int n)
{
    AT();
    if (i < n)
        o[i] = counters[x[i] & 3] + x[i];
}

K dynamic_shared_i32(const int *x, int *o, int n)
{
    extern __shared__ int s[];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * n + t];
    __syncthreads();
    o[blockIdx.x * n + t] = s[n - 1 - t];
}

K generic_i32(const int *x, int *o, int n)
{
    __shared__ int s[64];
    unsigned t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t] * 2;
    __syncthreads();
    const int *p = t & 1 ? s : x + blockIdx.x * 64;
    o[blockIdx.x * 64 + t] = p[63 - t] + n;
}

K ldg_u8(const unsigned char *__restrict__ x, int *o, int n)
{
    AT();
    if (i < n)
        o[i] = __ldg(x + i) - (int)(signed char)__ldg(x + n - 1 - i);
}
