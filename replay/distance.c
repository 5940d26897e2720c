#include "replay/distance.h"
#include "artifacts/base/text.h"

static double magnitude(double v)
{
    return v < 0 ? -v : v;
}

/* UINT64_MAX: a NaN against a number. */
static uint64_t ulps(dtype t, span actual, span expected, uint64_t i, double a, double b)
{
    int64_t x, y;
    if (a != a || b != b)
        return a != a && b != b ? 0 : UINT64_MAX;
    if (dtype_is_float(t) && t != DT_F64) {
        x = dtype_ordinal(t, actual.p, i);
        y = dtype_ordinal(t, expected.p, i);
    } else if (dtype_bytes(t) < 8) {
        x = (int64_t)a;
        y = (int64_t)b;
    } else {
        memcpy(&x, actual.p + 8 * i, sizeof x);
        memcpy(&y, expected.p + 8 * i, sizeof y);
        if (t == DT_F64) {
            x = x < 0 ? -(x & INT64_MAX) : x;
            y = y < 0 ? -(y & INT64_MAX) : y;
        }
    }
    __int128 d = t == DT_U64 ? (__int128)(uint64_t)x - (uint64_t)y : (__int128)x - y;
    return (uint64_t)(d < 0 ? -d : d);
}

static unsigned bin_of(uint64_t ulp)
{
    return ulp == UINT64_MAX ? DISTANCE_BINS - 1 : ulp ? 64 - (unsigned)__builtin_clzll(ulp) : 0;
}

distance distance_of(dtype t, span actual, span expected)
{
    uint64_t size = dtype_bytes(t);
    distance d = {.elements = expected.n / size};
    for (uint64_t i = 0; i < d.elements; i++) {
        double b = magnitude(dtype_load(t, expected.p, i));
        if (b - b == 0 && b > d.largest)
            d.largest = b;
    }
    double near = d.largest / (1 << DISTANCE_SHIFT);
    for (uint64_t i = 0; i < d.elements; i++) {
        double a = dtype_load(t, actual.p, i), b = dtype_load(t, expected.p, i), apart = magnitude(a - b);
        uint64_t ulp = ulps(t, actual, expected, i, a, b);
        d.bins[bin_of(ulp)]++;
        d.differing_bits += memcmp(actual.p + i * size, expected.p + i * size, size) != 0;
        if (apart - apart == 0 && apart > d.max_abs)
            d.max_abs = apart;
        d.beyond += ulp > DISTANCE_ULP && !(apart <= near);
        if (i == 0 || ulp > d.max_ulp) {
            d.max_ulp = ulp;
            d.worst_index = i;
            d.worst_actual = a;
            d.worst_expected = b;
        }
    }
    return d;
}

const char *distance_histogram(scratch *sc, const distance *d)
{
    const char *s = "";
    for (unsigned k = 0; k < DISTANCE_BINS && s; k++) {
        const char *sep = *s ? ", " : "";
        if (!d->bins[k])
            continue;
        if (k == DISTANCE_BINS - 1)
            s = scratch_printf(sc, "%s%sNaN: %s", s, sep, text_count(sc, d->bins[k]));
        else if (k <= 1)
            s = scratch_printf(sc, "%s%s%u: %s", s, sep, k, text_count(sc, d->bins[k]));
        else
            s = scratch_printf(sc, "%s%s%llu-%llu: %s", s, sep, 1ULL << (k - 1),
                               ((1ULL << (k - 1)) - 1) * 2 + 1, text_count(sc, d->bins[k]));
    }
    return s ? s : "";
}

void distance_json(jw *j, const distance *d)
{
    unsigned last = 0;
    for (unsigned k = 0; k < DISTANCE_BINS; k++)
        last = d->bins[k] ? k : last;
    jw_u64(j, "elements", d->elements);
    jw_u64(j, "differing_bits", d->differing_bits);
    jw_u64(j, "beyond", d->beyond);
    jw_fmt(j, "max_ulp", "%llu", (unsigned long long)d->max_ulp);
    jw_u64(j, "worst_index", d->worst_index);
    jw_f64(j, "worst_actual", d->worst_actual);
    jw_f64(j, "worst_expected", d->worst_expected);
    jw_f64(j, "max_abs_error", d->max_abs);
    jw_f64(j, "largest_magnitude", d->largest);
    jw_u64s(j, "ulp_histogram", d->bins, last + 1);
}
