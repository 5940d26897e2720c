#include "tests/capture/capture.h"

#include <math.h>

const char fixture_name[] = "counter-sixteenths";

enum { BUFFER_X = 1, BUFFER_WT = 2, BUFFER_BIAS = 3, BUFFER_SAMPLE = 4, CHECKED_ELEMENTS = 4096 };

/* splitmix64's finalizer over a counter: no state, so any element can be worked out alone. */
static uint64_t mixed(uint64_t buffer, uint64_t index)
{
    uint64_t z = (buffer << 56) + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A multiple of 1/steps in [-1, 1]. */
static double fraction(uint64_t buffer, uint64_t index, unsigned steps)
{
    double units = (double)(mixed(buffer, index) % (2 * steps + 1)) - (double)steps;
    return units / (double)steps;
}

/* Only for values that F16 holds exactly and as normal numbers, as all of the fixture are. */
static uint16_t exact_half(double value)
{
    if (value == 0.0)
        return 0;
    int exponent;
    double mantissa = frexp(fabs(value), &exponent);
    unsigned bits = (unsigned)((exponent + 14) << 10) + (unsigned)(mantissa * 2048.0) - 1024u;
    return (uint16_t)(bits | (value < 0 ? 0x8000u : 0u));
}

static double half_value(uint16_t half)
{
    int exponent = (half >> 10) & 31;
    double magnitude;
    if (exponent == 31)
        magnitude = half & 1023 ? NAN : INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(half & 1023, -24);
    else
        magnitude = ldexp(1024 + (half & 1023), exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

/* To nearest, ties to even (the default mode of nearbyint), within F16's range. */
static double rounded_to_half(double value)
{
    if (value == 0.0)
        return 0.0;
    int exponent;
    frexp(value, &exponent);
    int ulp_exponent = exponent - 11 > -24 ? exponent - 11 : -24;
    return ldexp(nearbyint(ldexp(value, -ulp_exponent)), ulp_exponent);
}

static void fill(double **values, uint16_t **halves, uint64_t buffer, uint64_t count, unsigned steps)
{
    *values = must_alloc(count, sizeof **values);
    *halves = must_alloc(count, sizeof **halves);
    for (uint64_t i = 0; i < count; i++) {
        (*values)[i] = fraction(buffer, i, steps);
        (*halves)[i] = exact_half((*values)[i]);
    }
}

void fixture_make(fixture *f, const problem *size)
{
    *f = (fixture){.size = *size};
    fill(&f->x, &f->x_half, BUFFER_X, size->batch * size->k, 16);
    fill(&f->wt, &f->wt_half, BUFFER_WT, size->features * size->k, 16);
    fill(&f->bias, &f->bias_half, BUFFER_BIAS, size->features, 1024);
}

/* Rounds where the plan rounds: at the projection and at the sum. */
static double reference(const fixture *f, uint64_t row, uint64_t column)
{
    double sum = 0.0;
    for (uint64_t i = 0; i < f->size.k; i++)
        sum += f->x[row * f->size.k + i] * f->wt[column * f->size.k + i];
    return rounded_to_half(rounded_to_half(sum) + f->bias[column]);
}

void fixture_check(const fixture *f, const uint16_t *y, const char *after)
{
    uint64_t elements = f->size.batch * f->size.features;
    bool all = elements <= CHECKED_ELEMENTS;
    uint64_t checked = all ? elements : CHECKED_ELEMENTS;
    for (uint64_t i = 0; i < checked; i++) {
        uint64_t at = all ? i : mixed(BUFFER_SAMPLE, i) % elements;
        double expected = reference(f, at / f->size.features, at % f->size.features);
        double actual = half_value(y[at]);
        /* Written so that a NaN fails. */
        if (!(fabs(actual - expected) <= 2e-4 + 2e-3 * fabs(expected)))
            fail("%s: wrong result at element %llu: expected %.9g, found %.9g", after, (unsigned long long)at,
                 expected, actual);
    }
}
