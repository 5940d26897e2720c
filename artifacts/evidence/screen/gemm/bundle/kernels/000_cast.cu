#include <cuda_fp16.h>

/* Layout terms beyond plain C arithmetic. A kernel that needs none still carries them. */
__device__ __forceinline__ long long term_ceil_div(long long a, long long b)
{
    return a / b + (long long)(a % b != 0 && (a < 0) == (b < 0));
}
__device__ __forceinline__ long long term_min(long long a, long long b) { return a < b ? a : b; }
__device__ __forceinline__ long long term_max(long long a, long long b) { return a > b ? a : b; }

extern "C" __global__ void k(const float *in0, __half *out, const long long *params)
{
    const unsigned long long n = 1048576ULL;
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = (__half)in0[i];
    }
}
