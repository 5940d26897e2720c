// F16 and BF16, alone and in pairs.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define AT() const unsigned i = blockIdx.x * blockDim.x + threadIdx.x
#define K extern "C" __global__ void

K half2_fma(const __half2 *x, const __half2 *y, __half2 *o, int n)
{
    AT();
    if (i < n)
        o[i] = __hfma2(x[i], y[i], o[i]);
}

K half_arith(const __half *x, const __half *y, __half *o, int n)
{
    AT();
    if (i < n) {
        o[3 * i] = __hadd(x[i], y[i]);
        o[3 * i + 1] = __hsub(x[i], y[i]);
        o[3 * i + 2] = __hmul(x[i], y[i]);
    }
}

K half_compare(const __half *x, const __half *y, __half *o, int n)
{
    AT();
    if (i < n)
        o[i] = __hgt(x[i], y[i]) ? __hmax(x[i], __hneg(y[i])) : __hmin(x[i], __habs(y[i]));
}

K bf162_fma(const __nv_bfloat162 *x, const __nv_bfloat162 *y, __nv_bfloat162 *o, int n)
{
    AT();
    if (i < n)
        o[i] = __hfma2(x[i], y[i], o[i]);
}

K cast_half(const float *x, __half *h, __nv_bfloat16 *b, int n)
{
    AT();
    if (i < n) {
        h[i] = __float2half_rn(x[i]);
        b[i] = __float2bfloat16_rn(x[i]);
    }
}

K widen_half(const __half *h, const __nv_bfloat16 *b, float *o, int n)
{
    AT();
    if (i < n)
        o[i] = __half2float(h[i]) - __bfloat162float(b[i]);
}
