#include "tests/capture/capture.h"

#include <math.h>
#include <string.h>

const char fixture_name[] = "counter-sixteenths";

/* What a draw is for; `w` and `wt` hold the same numbers in another order. */
static const struct {
    const char *name;
    uint64_t stream;
} streams[] = {{"x", 1}, {"w", 2}, {"wt", 2}, {"bias", 3}, {"v", 5}, {"r", 6}, {"scale", 7}};
enum { STREAM_SAMPLE = 4 };

/* splitmix64's finalizer over a counter: no state, so any element can be worked out alone. */
static uint64_t mixed(uint64_t stream, uint64_t index)
{
    uint64_t z = (stream << 56) + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A multiple of 1/steps in [-1, 1]. */
static double fraction(uint64_t stream, uint64_t index, unsigned steps)
{
    double units = (double)(mixed(stream, index) % (2 * steps + 1)) - (double)steps;
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
double rounded_to_half(double value)
{
    if (value == 0.0)
        return 0.0;
    int exponent;
    frexp(value, &exponent);
    int ulp_exponent = exponent - 11 > -24 ? exponent - 11 : -24;
    return ldexp(nearbyint(ldexp(value, -ulp_exponent)), ulp_exponent);
}

static uint64_t stream_of(const char *name)
{
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        if (strcmp(streams[i].name, name) == 0)
            return streams[i].stream;
    fail("no numbers are drawn for an input %s", name);
}

static void fill(inputs *in, int buffer, const plan_buffer *b)
{
    uint64_t stream = stream_of(b->name);
    double *values = must_alloc(b->elements, sizeof *values);
    uint16_t *halves = must_alloc(b->elements, sizeof *halves);
    for (uint64_t i = 0; i < b->elements; i++) {
        values[i] = b->constant != 0.0 ? b->constant : fraction(stream, i, b->fill);
        halves[i] = exact_half(values[i]);
    }
    in->values[buffer] = values;
    in->halves[buffer] = halves;
}

/* The expected values are worked out once, before there is a device. */
static void draw_sample(output_sample *sample, const inputs *in, const plan *p, const plan_output *o)
{
    uint64_t elements = p->buffers[o->buffer].elements, m = p->size.m, n = p->size.n;
    bool all = elements <= SAMPLED;
    sample->count = all ? elements : SAMPLED;
    sample->at = must_alloc(sample->count, sizeof *sample->at);
    sample->expected = must_alloc(sample->count, sizeof *sample->expected);
    for (uint64_t i = 0; i < sample->count; i++) {
        uint64_t at = all ? i : mixed(STREAM_SAMPLE, i) % elements;
        uint64_t row = o->transposed ? at % m : at / n, column = o->transposed ? at / m : at % n;
        sample->at[i] = at;
        sample->expected[i] = o->value(in, row, column);
    }
}

void fixture_make(fixture *f, const plan *p)
{
    inputs *in = &f->in;
    int w = find_buffer(p, "w");
    *f = (fixture){.in = {.size = p->size}};
    in->x = find_buffer(p, "x");
    in->w = w != NONE ? w : find_buffer(p, "wt");
    in->v = find_buffer(p, "v");
    in->bias = find_buffer(p, "bias");
    in->scale = find_buffer(p, "scale");
    in->residual = find_buffer(p, "r");
    in->hidden = must_alloc(p->size.m, sizeof *in->hidden);
    for (int i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].fill)
            fill(in, i, &p->buffers[i]);
    for (int i = 0; i < p->n_outputs; i++)
        draw_sample(&f->samples[i], in, p, &p->outputs[i]);
}

uint64_t fixture_check(const fixture *f, const plan *p, int output, const uint16_t *y, const char *after)
{
    const output_sample *sample = &f->samples[output];
    const char *name = p->buffers[p->outputs[output].buffer].name;
    uint64_t inexact = 0;
    for (uint64_t i = 0; i < sample->count; i++) {
        double expected = sample->expected[i], actual = half_value(y[sample->at[i]]);
        inexact += actual != expected;
        /* Written so that a NaN fails. */
        if (!(fabs(actual - expected) <= 2e-4 + 2e-3 * fabs(expected)))
            fail("%s: wrong result at element %llu of %s: expected %.9g, found %.9g", after,
                 (unsigned long long)sample->at[i], name, expected, actual);
    }
    return inexact;
}
