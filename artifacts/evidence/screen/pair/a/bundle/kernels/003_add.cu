#include <cuda_fp16.h>

/* Layout terms beyond plain C arithmetic. A kernel that needs none still carries them. */
__device__ __forceinline__ long long term_ceil_div(long long a, long long b)
{
    return a / b + (long long)(a % b != 0 && (a < 0) == (b < 0));
}
__device__ __forceinline__ long long term_min(long long a, long long b) { return a < b ? a : b; }
__device__ __forceinline__ long long term_max(long long a, long long b) { return a > b ? a : b; }

extern "C" __global__ void k(const __half *in0, const __half *in1, __half *out, const long long *params)
{
    const unsigned long long n = 1048576ULL;
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        long long rest = (long long)i;
        const long long c0 = rest % 1024LL;
        rest /= 1024LL;
        const long long c1 = rest % 1024LL;
        out[i] = in0[i] + in1[c1 * 0LL + c0];
    }
}
