// Branches that not all threads take.
#define AT() const unsigned i = blockIdx.x * blockDim.x + threadIdx.x
#define K extern "C" __global__ void

K collatz_i32(const int *x, int *o, int n)
{
    AT();
    if (i >= n)
        return;
    long long v = x[i];
    int steps = 0;
    while (v > 1) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        steps++;
    }
    o[i] = steps;
}

K switch_i32(const int *x, int *o, int n)
{
    AT();
    if (i >= n)
        return;
    int v = x[i], r;
    switch (v & 7) {
    case 0: r = v * 3; break;
    case 1: r = v - 11; break;
    case 2: r = v ^ 0x55; break;
    case 3: r = v / 7; break;
    case 4: r = -v; break;
    case 5: r = v << 3; break;
    case 6: r = v % 13; break;
    default: r = ~v; break;
    }
    o[i] = r;
}

K gcd_u32(const unsigned *x, const unsigned *y, unsigned *o, int n)
{
    AT();
    if (i >= n)
        return;
    unsigned a = x[i], b = y[i];
    while (b) {
        unsigned t = a % b;
        a = b;
        b = t;
    }
    o[i] = a;
}

K mandel_f32(int *o, int w, int h)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= w || py >= h)
        return;
    float cr = __fadd_rn(__fdiv_rn(__fmul_rn(3.0f, (float)px), (float)w), -2.0f), ci = __fadd_rn(__fdiv_rn(__fmul_rn(2.0f, (float)py), (float)h), -1.0f);
    float a = 0, b = 0;
    int k = 0;
    for (; k < 50 && __fadd_rn(__fmul_rn(a, a), __fmul_rn(b, b)) <= 4.0f; k++) {
        float t = __fadd_rn(__fadd_rn(__fmul_rn(a, a), -__fmul_rn(b, b)), cr);
        b = __fadd_rn(__fmul_rn(__fmul_rn(2.0f, a), b), ci);
        a = t;
    }
    o[py * w + px] = k;
}

__device__ __noinline__ int helper(int a, int b)
{
    int s = 0;
    for (int k = a; k < b; k++) {
        if (k % 3 == 0)
            continue;
        if (s > 500)
            break;
        s += k;
    }
    return s;
}
K call_i32(const int *x, int *o, int n)
{
    AT();
    if (i < n)
        o[i] = helper(x[i] & 31, (x[i] >> 5) & 127) - (x[i] & 1 ? helper(i & 15, 40) : 0);
}

K nested_i32(const int *x, int *o, int n)
{
    AT();
    int v = i < n ? x[i] : 0, r = 0;
    for (int a = 0; a < (v & 7); a++)
        if (a & 1) {
            for (int b = 0; b < a + (v & 3); b++)
                r += b & 1 ? a : -b;
        } else if (v & 8) {
            r ^= a << 4;
        }
    if (i < n)
        o[i] = r;
}

K binary_search_i32(const int *sorted, const int *x, int *o, int m, int n)
{
    AT();
    if (i >= n)
        return;
    int lo = 0, hi = m;
    while (lo < hi) {
        int mid = (lo + hi) >> 1;
        if (sorted[mid] < x[i])
            lo = mid + 1;
        else
            hi = mid;
    }
    o[i] = lo;
}
