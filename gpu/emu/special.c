/* Special registers by name. */
#include "gpu/emu/special.h"
#include "gpu/emu/parse.h"
#include <stdio.h>

static const char *const names[SP_COUNT] = {
#define X(sym, name, bits) [SP_##sym] = name,
    SPECIALS(X)
#undef X
};
static const uint8_t bits[SP_COUNT] = {
#define X(sym, name, width) [SP_##sym] = width,
    SPECIALS(X)
#undef X
};

int special_named(span name, span component)
{
    char full[48];
    if (name.n + component.n + 2 > sizeof full)
        return -1;
    snprintf(full, sizeof full, "%.*s%s%.*s", (int)name.n, (const char *)name.p, component.n ? "." : "",
             (int)component.n, component.n ? (const char *)component.p : "");
    for (int k = 0; k < SP_COUNT; k++)
        if (strcmp(full, names[k]) == 0)
            return k;
    return -1;
}

unsigned special_bits(int number)
{
    return bits[number];
}
