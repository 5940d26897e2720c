// Threads that work together: shared memory, barriers, shuffles, votes.
#define K extern "C" __global__ void
#define ALL 0xffffffffu

K block_sum_f32(const float *x, float *o, int n)
{
    __shared__ float s[256];
    unsigned t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (unsigned k = 128; k; k >>= 1) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    if (!t)
        o[blockIdx.x] = s[0];
}

K warp_sum_i32(const int *x, int *o)
{
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int k = 16; k; k >>= 1)
        v += __shfl_down_sync(ALL, v, k);
    if (!(threadIdx.x & 31))
        o[(blockIdx.x * blockDim.x + threadIdx.x) >> 5] = v;
}

K warp_max_f32(const float *x, float *o)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];
    for (int k = 16; k; k >>= 1)
        v = fmaxf(v, __shfl_xor_sync(ALL, v, k));
    o[i] = v;
}

K warp_scan_i32(const int *x, int *o)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    int v = x[i];
    for (int k = 1; k < 32; k <<= 1) {
        int w = __shfl_up_sync(ALL, v, k);
        if (lane >= k)
            v += w;
    }
    o[i] = v + __shfl_sync(ALL, v, 31);
}

K ballot_i32(const int *x, int *o)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned b = __ballot_sync(ALL, x[i] & 1);
    int any = __any_sync(ALL, x[i] == 7), all = __all_sync(ALL, x[i] < 1000);
    o[i] = __popc(b & ((1u << (threadIdx.x & 31)) - 1)) + 100 * any + 1000 * all;
}

K redux_u32(const unsigned *x, unsigned *o)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = __reduce_add_sync(ALL, x[i]), m = __reduce_max_sync(ALL, x[i]), n = __reduce_xor_sync(ALL, x[i]);
    o[i] = a ^ m ^ n;
}

K softmax_f32(const float *x, float *o, int n)
{
    __shared__ float s[128];
    unsigned t = threadIdx.x;
    const float *row = x + blockIdx.x * n;
    float m = -3.0e38f, sum = 0;
    for (int k = t; k < n; k += 128)
        m = fmaxf(m, row[k]);
    s[t] = m;
    __syncthreads();
    for (unsigned k = 64; k; k >>= 1) {
        if (t < k)
            s[t] = fmaxf(s[t], s[t + k]);
        __syncthreads();
    }
    m = s[0];
    __syncthreads();
    for (int k = t; k < n; k += 128)
        sum += __expf(row[k] - m);
    s[t] = sum;
    __syncthreads();
    for (unsigned k = 64; k; k >>= 1) {
        if (t < k)
            s[t] += s[t + k];
        __syncthreads();
    }
    for (int k = t; k < n; k += 128)
        o[blockIdx.x * n + k] = __expf(row[k] - m) / s[0];
}

K layer_norm_f32(const float *x, const float *g, float *o, int n)
{
    __shared__ float part[4], total[2];
    unsigned t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const float *row = x + blockIdx.x * n;
    float sum = 0, sq = 0;
    for (int k = t; k < n; k += 128)
        sum += row[k];
    for (int k = 16; k; k >>= 1)
        sum += __shfl_xor_sync(ALL, sum, k);
    if (!lane)
        part[warp] = sum;
    __syncthreads();
    if (!t)
        total[0] = (part[0] + part[1] + part[2] + part[3]) / n;
    __syncthreads();
    float mean = total[0];
    for (int k = t; k < n; k += 128)
        sq += (row[k] - mean) * (row[k] - mean);
    for (int k = 16; k; k >>= 1)
        sq += __shfl_xor_sync(ALL, sq, k);
    if (!lane)
        part[warp] = sq;
    __syncthreads();
    if (!t)
        total[1] = rsqrtf((part[0] + part[1] + part[2] + part[3]) / n + 1e-5f);
    __syncthreads();
    for (int k = t; k < n; k += 128)
        o[blockIdx.x * n + k] = (row[k] - mean) * total[1] * g[k];
}

K dot_f64(const double *x, const double *y, double *o, int n)
{
    __shared__ double s[64];
    double acc = 0;
    for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 64 * gridDim.x)
        acc = fma(x[i], y[i], acc);
    s[threadIdx.x] = acc;
    __syncthreads();
    for (unsigned k = 32; k; k >>= 1) {
        if (threadIdx.x < k)
            s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (!threadIdx.x)
        o[blockIdx.x] = s[0];
}

K argmax_f32(const float *x, int *o, int n)
{
    const float *row = x + blockIdx.x * n;
    float best = -3.0e38f;
    int at = -1;
    for (int k = threadIdx.x; k < n; k += 32)
        if (row[k] > best) {
            best = row[k];
            at = k;
        }
    for (int k = 16; k; k >>= 1) {
        float other = __shfl_down_sync(ALL, best, k);
        int where = __shfl_down_sync(ALL, at, k);
        if (other > best || (other == best && where < at)) {
            best = other;
            at = where;
        }
    }
    if (!threadIdx.x)
        o[blockIdx.x] = at;
}

K scan_block_i64(const long long *x, long long *o)
{
    __shared__ long long s[2][128];
    unsigned t = threadIdx.x, i = blockIdx.x * 128 + t;
    int in = 0;
    s[0][t] = x[i];
    __syncthreads();
    for (unsigned k = 1; k < 128; k <<= 1) {
        s[!in][t] = s[in][t] + (t >= k ? s[in][t - k] : 0);
        in = !in;
        __syncthreads();
    }
    o[i] = s[in][t];
}
