// One planted fault each; the line of the fault is the one that ends in `// here`.
#define AT() const unsigned i = blockIdx.x * blockDim.x + threadIdx.x
#define K extern "C" __global__ void
#define ALL 0xffffffffu

K read_past(const float *x, float *o, int n)
{
    AT();
    if (i < n)
        o[i] = x[i + 1]; // here
}

K write_past(const float *x, float *o, int n)
{
    AT();
    if (i <= n)
        o[i] = 2.0f; // here
}

K read_before(const float *x, float *o, int n)
{
    AT();
    if (i < n)
        o[i] = x[(int)i - 1]; // here
}

K read_far(const float *x, float *o, int n)
{
    AT();
    if (i < n)
        o[i] = x[i == 5 ? 1 << 28 : i]; // here
}

K write_far(const float *x, float *o, int n)
{
    AT();
    if (i < n)
        o[i == 7 ? -(1 << 16) : (int)i] = x[i]; // here
}

K null_read(const float *x, float *o, int n)
{
    AT();
    if (i < n)
        o[i] = *(const float *)(unsigned long long)(n > 5000 ? i : 0); // here
}

K unwritten_global(const float *x, float *o, int n)
{
    AT();
    if (i < n)
        o[i] += x[i]; // here
}

K unwritten_shared(const float *x, float *o, int n)
{
    __shared__ float s[64];
    if (threadIdx.x != 40)
        s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    o[threadIdx.x] = s[63 - threadIdx.x]; // here
}

K unwritten_local(const int *x, float *o, int n)
{
    AT();
    float v[16];
    for (int k = 0; k < 8; k++)
        v[x[k] & 15] = 1.0f;
    if (i < n)
        o[i] = v[(x[8] + i) & 15]; // here
}

K race_one_place(const float *x, float *o, int n)
{
    AT();
    if (i < n)
        o[i / 2] = x[i]; // here
}

K race_neighbour(float *o, int n)
{
    AT();
    if (i + 1 < n)
        o[i] = o[i + 1] + 1.0f; // here
}

K race_blocks(const float *x, float *o, int n)
{
    if (threadIdx.x == 0)
        o[0] = (float)blockIdx.x; // here
}

K race_shared(const float *x, float *o, int n)
{
    __shared__ float s[128];
    s[threadIdx.x] = 0.0f;
    __syncthreads();
    s[threadIdx.x] = x[threadIdx.x]; // here
    o[threadIdx.x] = s[127 - threadIdx.x];
}

K race_tree(const float *x, float *o, int n)
{
    __shared__ float s[128];
    unsigned t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (unsigned k = 64; k; k >>= 1)
        if (t < k)
            s[t] += s[t + k]; // here
    if (!t)
        o[0] = s[0];
}

K misaligned_v4(const float *x, float4 *o, int n)
{
    AT();
    if (i < n)
        o[i] = *(const float4 *)(x + 4 * i + 1); // here
}

K misaligned_u64(const unsigned char *x, unsigned long long *o, int n)
{
    AT();
    if (i < n)
        o[i] = *(const unsigned long long *)(x + 8 * i + (i == 9 ? 4 : 0)); // here
}

K misaligned_store(unsigned char *o, int n)
{
    AT();
    if (i < n)
        *(int *)(o + 4 * i + 2 * (i == 3)) = 7; // here
}

K write_input(float *x, float *o, int n)
{
    AT();
    if (i < n) {
        o[i] = x[i];
        if (i == 11)
            x[i] = 0.0f; // here
    }
}

K barrier_divergent(const float *x, float *o, int n)
{
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 40)
        __syncthreads(); // here
    o[threadIdx.x] = s[threadIdx.x];
}

K shuffle_outside(const int *x, int *o, int n)
{
    AT();
    int v = x[i];
    v = __shfl_sync(0xffffu, v, 1); // here
    o[i] = v;
}

K runaway_loop(const volatile int *x, int *o, int n)
{
    AT();
    while (x[0] != 123456789) // here
        ;
    o[i] = n;
}

K trapped(const int *x, int *o, int n)
{
    AT();
    o[i] = x[i];
    if (i == 21)
        __trap(); // here
}

K shared_past(const float *x, float *o, int n)
{
    __shared__ float s[64];
    s[threadIdx.x + n] = x[threadIdx.x]; // here
    __syncthreads();
    o[threadIdx.x] = threadIdx.x < n ? 0.0f : s[threadIdx.x];
}

K local_past(const int *x, int *o, int n)
{
    AT();
    int v[8];
    for (int k = 0; k < 8; k++)
        v[k] = x[k];
    o[i] = v[x[i] > 7 ? x[i] + 40 : x[i]]; // here
}

K dynamic_small(const int *x, int *o, int n)
{
    extern __shared__ int s[];
    s[threadIdx.x] = x[threadIdx.x]; // here
    __syncthreads();
    o[threadIdx.x] = s[threadIdx.x / 2];
}

K __launch_bounds__(64) bounded(const int *x, int *o, int n)
{
    AT();
    if (i < n)
        o[i] = x[i];
}

K atomic_past(const int *x, int *h, int n)
{
    AT();
    if (i < n)
        atomicAdd(&h[x[i]], 1); // here
}

K index_overflow(const unsigned char *x, unsigned char *o, int n)
{
    AT();
    if (i < n)
        o[(short)(i * 40)] = x[i]; // here
}

K constant_past(const int *x, int *o, int n);
__constant__ int table[4] = {1, 2, 3, 4};
K constant_past(const int *x, int *o, int n)
{
    AT();
    if (i < n)
        o[i] = table[x[i]]; // here
}

// Clean alone; the plans of test_emu_plans.c launch them wrongly.
K copy_matrix(const float *x, float *o, const long long *params)
{
    // Tile of 16 rows (x) by 8 columns (y), no guard: the grid alone says where it writes.
    int row = blockIdx.x * 16 + (threadIdx.x >> 3), col = blockIdx.y * 8 + (threadIdx.x & 7);
    o[row * 64 + col] = x[row * 64 + col] + (float)params[0];
}

K add_vectors(const float *x, const float *y, float *o, const long long *params)
{
    AT();
    o[i] = x[i] + y[i];
}

K copy_vector(const float *x, float *o, const long long *params)
{
    AT();
    o[i] = x[i];
}

K write_parameters(const float *x, float *o, long long *params)
{
    AT();
    o[i] = x[i];
    if (i == 0)
        params[0] = 5; // here
}

K write_neighbour(const float *x, float *o, const long long *params)
{
    AT();
    o[i] = x[i];
    if (i == 0)
        o[1024] = 1.0f; // here
}

K half_of_it(const float *x, float *o, const long long *params)
{
    AT();
    if (i & 1)
        o[i] = x[i];
}
