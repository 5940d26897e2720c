// One element a thread.
#define AT() const unsigned i = blockIdx.x * blockDim.x + threadIdx.x
#define K extern "C" __global__ void

K add_f32(const float *x, const float *y, float *o, int n)
{
    AT();
    if (i < n)
        o[i] = x[i] + y[i];
}

K saxpy_f32(float a, const float *x, float *y, int n)
{
    AT();
    if (i < n)
        y[i] = a * x[i] + y[i];
}

K separate_f32(const float *x, const float *y, float *o, int n)
{
    AT();
    if (i < n)
        o[i] = __fadd_rn(__fmul_rn(x[i], y[i]), __fmul_rn(y[i], y[i]));
}

K directed_f32(const float *x, const float *y, float *o, int n)
{
    AT();
    if (i < n) {
        o[4 * i] = __fadd_ru(x[i], y[i]);
        o[4 * i + 1] = __fadd_rd(x[i], y[i]);
        o[4 * i + 2] = __fmul_rz(x[i], y[i]);
        o[4 * i + 3] = __fdiv_rn(x[i], y[i]);
    }
}

K relu_f32(const float *x, float *o, int n)
{
    AT();
    if (i < n)
        o[i] = fmaxf(x[i], 0.0f);
}

K clamp_i32(const int *x, int *o, int lo, int hi, int n)
{
    AT();
    if (i < n)
        o[i] = min(max(x[i], lo), hi);
}

K silu_f32(const float *x, float *o, int n)
{
    AT();
    if (i < n)
        o[i] = x[i] / (1.0f + expf(-x[i]));
}

K gelu_f32(const float *x, float *o, int n)
{
    AT();
    if (i < n)
        o[i] = 0.5f * x[i] * (1.0f + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

K exp_log_f32(const float *x, float *o, int n)
{
    AT();
    if (i < n) {
        o[2 * i] = expf(x[i]);
        o[2 * i + 1] = logf(fabsf(x[i]) + 0.5f);
    }
}

K sin_cos_f32(const float *x, float *o, int n)
{
    AT();
    if (i < n) {
        o[2 * i] = sinf(x[i]);
        o[2 * i + 1] = cosf(x[i]);
    }
}

K sqrt_f32(const float *x, float *o, int n)
{
    AT();
    if (i < n)
        o[i] = sqrtf(x[i]);
}

K rsqrt_f32(const float *x, float *o, int n)
{
    AT();
    if (i < n)
        o[i] = rsqrtf(x[i]);
}

K div_sqrt_f64(const double *x, const double *y, double *o, int n)
{
    AT();
    if (i < n)
        o[i] = sqrt(x[i] / y[i]);
}

K fma_f64(double a, const double *x, const double *y, double *o, int n)
{
    AT();
    if (i < n)
        o[i] = fma(a, x[i], y[i]);
}

K bits_u32(const unsigned *x, const unsigned *y, unsigned *o, int n)
{
    AT();
    if (i < n) {
        unsigned a = x[i], b = y[i];
        o[8 * i] = __popc(a);
        o[8 * i + 1] = __clz(a);
        o[8 * i + 2] = __brev(a);
        o[8 * i + 3] = __byte_perm(a, b, 0x5264);
        o[8 * i + 4] = __funnelshift_l(a, b, b);
        o[8 * i + 5] = __umulhi(a, b);
        o[8 * i + 6] = __ffs(a);
        o[8 * i + 7] = (a >> (b & 31)) ^ (unsigned)((int)a >> (b & 7));
    }
}

K divide_i64(const long long *x, const long long *y, long long *o, int n)
{
    AT();
    if (i < n) {
        o[3 * i] = x[i] / y[i];
        o[3 * i + 1] = x[i] % y[i];
        o[3 * i + 2] = __mul64hi(x[i], y[i]);
    }
}

K carry_u128(const unsigned long long *x, const unsigned long long *y, unsigned long long *o, int n)
{
    AT();
    if (i < n) {
        unsigned __int128 a = (unsigned __int128)x[i] << 64 | y[i], b = (unsigned __int128)y[i] << 64 | x[i];
        unsigned __int128 s = a + b - (a >> 3);
        o[2 * i] = (unsigned long long)s;
        o[2 * i + 1] = (unsigned long long)(s >> 64);
    }
}

K convert_f32(const float *x, int *o, int n)
{
    AT();
    if (i < n) {
        o[6 * i] = (int)x[i];
        o[6 * i + 1] = __float2int_rn(x[i]);
        o[6 * i + 2] = __float2int_ru(x[i]);
        o[6 * i + 3] = (int)(unsigned char)__float2uint_rz(__saturatef(x[i]) * 255.0f);
        o[6 * i + 4] = (int)(short)__float2int_rd(x[i]);
        o[6 * i + 5] = __float_as_int(x[i]) >> 23;
    }
}

K convert_f64(const double *x, long long *o, float *f, int n)
{
    AT();
    if (i < n) {
        o[2 * i] = __double2ll_rn(x[i]);
        o[2 * i + 1] = (long long)__double2ull_rz(x[i]);
        f[i] = (float)x[i];
    }
}

K narrow_i8(const int *x, signed char *o, unsigned short *u, int n)
{
    AT();
    if (i < n) {
        o[i] = (signed char)(x[i] * 3);
        u[i] = (unsigned short)(o[i] - 7);
    }
}
