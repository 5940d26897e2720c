#include "gpu/emu/types.h"

static const struct {
    const char *name;
    uint8_t bits;
    char cls;
} types[T_COUNT] = {[T_NONE] = {"", 0, 0},
#define X(sym, name, bits, cls) [T_##sym] = {name, bits, cls},
                    EMU_TYPES(X)
#undef X
};

ptx_type type_named(span name)
{
    for (int t = T_NONE + 1; t < T_COUNT; t++)
        if (strlen(types[t].name) == name.n && memcmp(types[t].name, name.p, name.n) == 0)
            return (ptx_type)t;
    return T_NONE;
}

const char *type_name(ptx_type t)
{
    return types[t].name;
}

unsigned type_bits(ptx_type t)
{
    return types[t].bits;
}

char type_class(ptx_type t)
{
    return types[t].cls;
}
