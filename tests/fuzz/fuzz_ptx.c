/* Fuzzing the PTX parser and the interpreter: the input is a module. Each entry that is not refused is
 * launched twice, with one host thread and with two, under a small budget: same counts and findings. */
#include "gpu/emu/exec.h"
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define BUFFER UINT64_C(0x10000000)

static void must(bool ok)
{
    if (!ok)
        abort();
}

typedef struct {
    uint64_t thread_instructions, n_findings;
    bool ran;
} outcome;

static outcome launch(const ptx_module *m, const ptx_entry *en, uint32_t threads)
{
    rp_err e = {0};
    scratch *sc = scratch_new(256 << 20);
    emu_memory *mem = emu_memory_new();
    emu_report r = {0};
    uint8_t params[4096] = {0};
    char text[600];
    uint32_t id;
    must(sc && mem);
    outcome o = {0};
    if (en->param_bytes <= sizeof params && !emu_memory_map_module(&e, mem, m)) {
        must(!emu_memory_map(&e, &id, mem, "x", BUFFER, 4096, 256) &&
             !emu_buffer_add(&e, &id, mem, id, "x", 0, 4096, true));
        emu_memory_mark(mem, BUFFER, 2048, EMU_WRITTEN);
        for (uint64_t k = 0; k < en->n_params; k++) {
            uint64_t v = en->params[k].bytes == 8 ? BUFFER : 40;
            memcpy(params + en->params[k].offset_bytes, &v,
                   en->params[k].bytes < 8 ? en->params[k].bytes : 8);
        }
        emu_launch l = {.grid = {2, 1, 1},
                        .block = {40, 1, 1},
                        .shared_bytes = 512,
                        .params = span_of(params, en->param_bytes),
                        .threads = threads,
                        .contract = true,
                        .max_warp_instructions = 4000};
        for (int k = 0; k < 3 && en->reqntid[0]; k++)
            l.block[k] = en->reqntid[k];
        rp_code code = emu_run(&e, &r, sc, mem, m, en->name, &l);
        must(code == RP_OK || code == RP_UNAVAILABLE || code == RP_NOMEM);
        for (uint64_t k = 0; !code && k < r.n_findings; k++) {
            emu_finding_text(&r.findings[k], text, sizeof text);
            must(text[0] && r.findings[k].message[0]);
        }
        o = (outcome){r.thread_instructions, r.n_findings, code == RP_OK};
    }
    emu_memory_free(mem);
    scratch_free(sc);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rp_err e = {0};
    scratch *sc = scratch_new(256 << 20);
    ptx_module *m = NULL;
    must(sc != NULL);
    if (n <= 1 << 18 && !ptx_parse(&e, &m, sc, "fuzz.ptx", span_of(data, n), UINT64_C(0x600000000000))) {
        for (uint64_t k = 0; k < ptx_n_entries(m) && k < 4; k++) {
            const ptx_entry *en = ptx_entry_at(m, k);
            if (*en->refused || en->static_shared_bytes > 1 << 18 || en->local_bytes > 1 << 14 ||
                en->n_instructions > 1 << 14)
                continue;
            outcome one = launch(m, en, 1), two = launch(m, en, 2);
            must(!one.ran || !two.ran ||
                 (one.thread_instructions == two.thread_instructions && one.n_findings == two.n_findings));
        }
    } else {
        must(n > 1 << 18 || (e.code == RP_INVALID && e.msg[0]) || e.code == RP_NOMEM);
    }
    scratch_free(sc);
    return 0;
}
