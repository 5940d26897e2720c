// Many threads and one place.
#define AT() const unsigned i = blockIdx.x * blockDim.x + threadIdx.x
#define K extern "C" __global__ void

K hist_i32(const int *x, int *h, int n)
{
    AT();
    if (i < n)
        atomicAdd(&h[x[i] & 31], 1);
}

K hist_shared_i32(const int *x, int *h, int n)
{
    __shared__ int s[32];
    AT();
    if (threadIdx.x < 32)
        s[threadIdx.x] = 0;
    __syncthreads();
    if (i < n)
        atomicAdd(&s[x[i] & 31], 1);
    __syncthreads();
    if (threadIdx.x < 32)
        atomicAdd(&h[threadIdx.x], s[threadIdx.x]);
}

K min_max_u64(const unsigned long long *x, unsigned long long *o, int n)
{
    AT();
    if (i < n) {
        atomicMin(&o[0], x[i]);
        atomicMax(&o[1], x[i]);
    }
}

K cas_max_f32(const float *x, float *o, int n)
{
    AT();
    if (i >= n)
        return;
    int *p = (int *)o, old = *(volatile int *)p, want;
    do {
        want = old;
        if (__int_as_float(want) >= x[i])
            break;
        old = atomicCAS(p, want, __float_as_int(x[i]));
    } while (old != want);
}

K add_f32_atomic(const float *x, float *o, int n)
{
    AT();
    if (i < n)
        atomicAdd(&o[i & 3], x[i]);
}

K bits_u32_atomic(const unsigned *x, unsigned *o, int n)
{
    AT();
    if (i < n) {
        atomicOr(&o[0], x[i] & 0xff);
        atomicAnd(&o[1], x[i] | 0xff00);
        atomicXor(&o[2], x[i]);
    }
}

K last_block_i32(const int *x, int *part, unsigned *ticket, int *o)
{
    __shared__ bool last;
    int v = x[blockIdx.x * 32 + threadIdx.x];
    for (int k = 16; k; k >>= 1)
        v += __shfl_down_sync(0xffffffffu, v, k);
    if (!threadIdx.x) {
        *(volatile int *)&part[blockIdx.x] = v;
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && !threadIdx.x) {
        int sum = 0;
        for (unsigned k = 0; k < gridDim.x; k++)
            sum += *(volatile int *)&part[k];
        *o = sum;
    }
}
