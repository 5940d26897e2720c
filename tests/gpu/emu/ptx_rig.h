/* Small hand-written PTX run by one warp: four inputs of 64 bits a lane, one result of 64 bits a lane. */
#ifndef TESTS_PTX_RIG_H
#define TESTS_PTX_RIG_H

#include "gpu/emu/exec.h"

/* Registers of a body: %rd1 … %rd4 the inputs, %r1 … %r4 and %h1 … %h4 their low 32 and 16 bits; %rd9 is the
 * result, %rd10 … %rd29, %r5 … %r39, %h5 … %h19, %f1 … %f9, %d1 … %d9, %p1 … %p9 are free. */
typedef struct {
    const char *body;
    uint64_t a, b, c, d, expect;
} ptx_case;

/* Run every case, the same inputs in all lanes; all lanes must give `expect`, without a finding. */
void ptx_check(const ptx_case *v, size_t n);
/* One body: in[k][lane] are the inputs, out the results; `globals` is text before the entry ("" for none). */
void ptx_lanes(const char *globals, const char *body, uint64_t in[4][32], uint64_t out[32],
               emu_report *report, scratch *sc);

typedef struct {
    scratch *sc;
    emu_memory *mem;
    ptx_module *m;
    emu_report r;
} ptx_run;

enum { PTX_BUFFER = 65536 };
#define PTX_ADDRESS UINT64_C(0x20000000)
/* A whole module with an entry `k` of one pointer to a written buffer of PTX_BUFFER bytes, all zero. */
void ptx_launch(ptx_run *r, const char *text, uint32_t grid, uint32_t block, uint32_t threads);
uint32_t ptx_word(ptx_run *r, uint64_t index);
void ptx_done(ptx_run *r);
/* Whether a finding of this kind is there, at an instruction of that name (NULL: any). */
bool ptx_found(const ptx_run *r, emu_find kind, const char *instruction);

#endif
