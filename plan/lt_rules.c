#include "plan/lt_rules.h"
#include "artifacts/base/ck.h"
#include "plan/lt_tests.h"
#include <stdio.h>

const char *const lt_verdict_names[] = {"refuse", "ok", "ok-with-note", NULL};

#define MEASURED "measured: sm_90, cuBLASLt 13.1.0"
#define ANY 0, 0
#define SM(from, to) from, to

/* id, kind, status, architectures, versions, condition, what it says, finding, source, remedy. */
/* clang-format off */
const lt_rule lt_rules[] = {
    {"order.tiled", LTR_OURS, 0, ANY, ANY, lt_test_order_tiled, "orders are col or row",
     "{o} has the tiled order {f}, which is not answered here", "this resolver", "transform {o} to col or row order"},
    {"op.conjugate", LTR_OURS, 0, ANY, ANY, lt_test_conjugate, "the hipBLASLt dialect takes operations N and T only",
     "{o} asks for a conjugate transpose", "ROCm/hipBLASLt#1205", "ask for T: it is the same for a real type"},
    {"batch.zero", LTR_OURS, 0, ANY, ANY, lt_test_batch_zero, "a batch has at least one matrix", "{o} has batch {f}", "library documentation", NULL},
    {"order.cd", LTR_LIBRARY, 7, ANY, ANY, lt_test_order_cd, "C and D have one order", "{o} has order {f}, d has {w}", MEASURED, "give c the order {w}"},
    {"batch.count", LTR_LIBRARY, 7, ANY, ANY, lt_test_batch_count, "A, B, C and D have one batch count",
     "{o} has batch {f}, d has {w}", "NVIDIA/CUDALibrarySamples#185", "give {o} batch {w}, and stride 0 where one matrix serves all"},
    {"types.family", LTR_LIBRARY, 15, ANY, ANY, lt_test_types, "types of A and D, compute and scale type form a supported tuple",
     "the tuple with d {f} is not in the published table: expected {w}", "library documentation; " MEASURED, NULL},
    {"types.fp8_architecture", LTR_LIBRARY, 15, SM(1, 88), ANY, lt_test_types_fp8_old, "FP8 needs sm_89",
     "FP8 operands need sm_{w} or later", "library documentation", NULL},
    {"types.i8_output", LTR_LIBRARY, 15, SM(1, 70), ANY, lt_test_types_i8_old, "I8 output needs sm_72",
     "{o} is {f}", "NVIDIA/FasterTransformer#721", "give d (and c) type {w}"},
    {"types.fp8_pair", LTR_LIBRARY, 15, ANY, ANY, lt_test_types_fp8_one, "FP8 goes with FP8", "b is {f}", MEASURED, "convert b to {w}"},
    {"types.ab", LTR_LIBRARY, 7, ANY, ANY, lt_test_types_ab, "A and B have one type, FP8 aside", "b is {f}, a is {w}", MEASURED, "convert b to {w}"},
    {"types.e5m2_pair", LTR_LIBRARY, 15, ANY, ANY, lt_test_types_e5m2, "at most one of A and B is E5M2", "both operands are {f}",
     "library documentation; " MEASURED, "convert one operand to {w}"},
    {"types.cd", LTR_LIBRARY, 7, ANY, ANY, lt_test_types_cd, "C and D have one type, unless D is FP8",
     "c is {f}, d is {w}", "luminal-ai/luminal#350", "convert c to {w}, or write d in c's type"},
    {"types.scale", LTR_LIBRARY, 7, ANY, ANY, lt_test_scale, "the scale type is that of the compute type (f32 for 32f and for I8 output)",
     "the scale type is {f}, expected {w}", MEASURED, "give alpha and beta as {w}"},
    {"bias.row_d", LTR_LIBRARY, 15, ANY, ANY, lt_test_bias_row, "a bias epilogue needs a column-major D",
     "d is in row order and the epilogue adds a bias", "luminal-ai/luminal#436; ml-explore/mlx#2569; " MEASURED,
     "swap the operands and flip both operations, so that d is in col order and the bias runs along its rows"},
    {"bias.type", LTR_LIBRARY, 7, ANY, ANY, lt_test_bias_type, "a bias is of D's type, that of I8 results of the scalars'", "the bias is {f}, expected {w}", "cublasLt.h, BIAS_DATA_TYPE; " MEASURED, "convert the bias to {w}"},
    {"dims.a", LTR_LIBRARY, 7, ANY, ANY, lt_test_dims_a, "A is m by k, k by m where transposed", "{o} has {f} rows or columns where the call says {w}", MEASURED, "describe {o} with {w}, or change its operation"},
    {"dims.b", LTR_LIBRARY, 7, ANY, ANY, lt_test_dims_b, "B is k by n, n by k where transposed", "{o} has {f} rows or columns where the call says {w}", MEASURED, "describe {o} with {w}, or change its operation"},
    {"dims.d", LTR_LIBRARY, 7, ANY, ANY, lt_test_dims_d, "C and D are m by n", "{o} has {f} rows or columns where the call says {w}", MEASURED, "describe {o} with {w}"},
    {"ld.a", LTR_LIBRARY, 7, ANY, ANY, lt_test_ld_a, "lda is at least A's minor extent, unless m is 1", "ld{o} is {f}, below the minor extent {w}", MEASURED, "give ld{o} at least {w}, or exchange a and b (or their leading dimensions) where they were mixed up"},
    {"ld.b", LTR_LIBRARY, 7, ANY, ANY, lt_test_ld_b, "ldb is at least B's minor extent, unless n is 1", "ld{o} is {f}, below the minor extent {w}", MEASURED, "give ld{o} at least {w}, or exchange a and b (or their leading dimensions) where they were mixed up"},
    {"ld.c", LTR_LIBRARY, 7, ANY, ANY, lt_test_ld_c, "ldc is at least C's minor extent", "ld{o} is {f}, below the minor extent {w}", MEASURED, "give ld{o} at least {w}"},
    {"ld.d", LTR_LIBRARY, 7, ANY, ANY, lt_test_ld_d, "ldd is at least D's minor extent and 1, unless D is column-major with m 1", "ld{o} is {f}, below {w}", MEASURED, "give ld{o} at least {w}"},
    {"mode.types", LTR_OURS, 0, ANY, ANY, lt_test_mode_types, "scale modes belong to FP8 operands", "{o} has scale mode {f} and is no FP8", "library documentation", "leave the scale mode of {o} at {w}"},
    {"mode.block", LTR_LIBRARY, 15, SM(1, 99), ANY, lt_test_mode_block, "block scale modes (VEC16_UE4M3, VEC32_UE8M0) need sm_100", "{o} has scale mode {f}", "library documentation", "scale a tensor or a row at a time"},
    {"mode.outer_vec", LTR_LIBRARY, 15, SM(120, 120), 130000, 130099, lt_test_mode_outer, "no row-wise scale mode on this architecture", "{o} has scale mode {f}", "pytorch/pytorch#192707", "scale a tensor at a time ({w})"},
    {"fp8.compute", LTR_LIBRARY, 15, ANY, ANY, lt_test_fp8_compute, "FP8 is computed as 32f, not pedantic; fast TF32 with E4M3 only", "compute is {f}", MEASURED, "compute as {w}"},
    {"fp8.promise", LTR_LIBRARY, 15, ANY, ANY, lt_test_fp8_align, "FP8 operands are promised 16-byte alignment", "the least alignment promised is {f}", MEASURED, "align every operand to {w} bytes and promise it"},
    {"fp8.tn", LTR_LIBRARY, 15, SM(89, 90), ANY, lt_test_fp8_tn, "FP8 operands lie along k: A transposed, B not, in column order", "{o} lies with {f}", "NVIDIA/CUDALibrarySamples#242; " MEASURED, "store {o} the other way and describe it as {w}"},
    {"fp8.ld_a", LTR_LIBRARY, 15, ANY, ANY, lt_test_fp8_ld_a, "lda of FP8 is a multiple of 16", "ld{o} is {f}, not a multiple of {w}", "NVIDIA/TransformerEngine#2911; " MEASURED, "pad ld{o} to {r}"},
    {"fp8.ld_b", LTR_LIBRARY, 15, ANY, ANY, lt_test_fp8_ld_b, "ldb of FP8 is a multiple of 16", "ld{o} is {f}, not a multiple of {w}", "NVIDIA/TransformerEngine#2911; " MEASURED, "pad ld{o} to {r}"},
    {"fp8.k", LTR_LIBRARY, 15, ANY, ANY, lt_test_fp8_k, "k of FP8 is a multiple of 16", "k is {f}, not a multiple of {w}", "NVIDIA/CUDALibrarySamples#172; " MEASURED, "pad k to {r} with zeros"},
    {"fp8.ld_d", LTR_LIBRARY, 15, ANY, ANY, lt_test_fp8_ld_d, "ldd of an FP8 product is a multiple of 16 bytes", "ld{o} is {f} (m or n of the call where it is dense), not a multiple of {w} elements", "NVIDIA/CUDALibrarySamples#172; " MEASURED, "pad ld{o} to {r}"},
    {"fp8.empty", LTR_LIBRARY, 15, SM(90, 90), ANY, lt_test_fp8_empty, "m, n and k of FP8 are not 0", "{o} is {f}", MEASURED, "skip the call"},
    {"fp8.one", LTR_LIBRARY, 15, SM(90, 90), ANY, lt_test_fp8_one, "m and n of FP8 are not both 1", "d is one element", MEASURED, NULL},
    {"fp8.bias_vector", LTR_LIBRARY, 15, SM(90, 90), ANY, lt_test_fp8_bias_vector, "an FP8 product with a bias has a D that is no tight vector", "ld{o} is {f}", MEASURED, "give ldd {w}"},
    {"i8.epilogue", LTR_LIBRARY, 15, ANY, ANY, lt_test_i8_epilogue, "I8 to I32 has the default epilogue only", "the epilogue is {f}", MEASURED, "add the bias and activate in a kernel after it"},
    {"i8.compute", LTR_LIBRARY, 15, ANY, ANY, lt_test_i8_output, "I8 output is computed as 32i", "compute is {f}", MEASURED, "compute as {w}"},
    {"i8.promise", LTR_LIBRARY, 15, ANY, ANY, lt_test_i8_align, "I8 operands of an I32 product are promised 4-byte alignment", "the least alignment promised is {f}", MEASURED, "align every operand to {w} bytes and promise it"},
    {"i8.ld_a", LTR_LIBRARY, 15, ANY, ANY, lt_test_i8_ld_a, "lda of I8 is a multiple of 4", "ld{o} is {f}, not a multiple of {w}", "library documentation; " MEASURED, "pad ld{o} to {r}"},
    {"i8.ld_b", LTR_LIBRARY, 15, ANY, ANY, lt_test_i8_ld_b, "ldb of I8 is a multiple of 4", "ld{o} is {f}, not a multiple of {w}", "library documentation; " MEASURED, "pad ld{o} to {r}"},
    {"i8.stride", LTR_LIBRARY, 15, ANY, ANY, lt_test_i8_stride, "batch strides of I8 are multiples of 4", "the stride of {o} is {f}, not a multiple of {w}", MEASURED, "pad the stride of {o} to {r}"},
    {"i8.batch_k", LTR_LIBRARY, 15, SM(90, 90), ANY, lt_test_i8_batch_k, "k of batched I8 is a multiple of 8 unless both operands lie along k", "k is {f}, not a multiple of {w}, and not both operands lie along k", MEASURED, "pad k to {r} with zeros, or store both operands along k (T, N in column order)"},
    {"i8.one", LTR_LIBRARY, 15, SM(90, 90), ANY, lt_test_i8_one, "a single element of I8 products needs both operands along k", "d is one element and not both operands lie along k", MEASURED, "store both operands along k (T, N in column order)"},
    {"i8.turned_empty", LTR_LIBRARY, 15, SM(90, 90), ANY, lt_test_i8_turned_empty, "in the turned I8 layout (the operand along D's minor extent lies along k, the other does not) k and D's major extent are not 0", "{o} is empty", MEASURED, "skip the call"},
    {"i8.turned_extent", LTR_LIBRARY, 15, SM(90, 90), ANY, lt_test_i8_turned_extent, "in the turned I8 layout D's minor extent is 1 or a multiple of 4", "{o} is {f}, not a multiple of {w}", MEASURED, "pad {o} to {r}, or store both operands along k (T, N in column order)"},
    {"i8.loose_vector", LTR_LIBRARY, 15, SM(90, 90), ANY, lt_test_i8_loose_vector, "a vector D of I8 products lies tight unless both operands lie along k", "ld{o} of a vector is {f}", MEASURED, "give ld{o} {w}, or store both operands along k"},
    {"i8.layout", LTR_LIBRARY, 15, SM(86, 86), 130600, 130699, lt_test_i8_layout, "I8 operands lie along k (T, N) on this architecture", "{o} lies with {f}", "btxchain/btx#131", "store {o} the other way and describe it as {w}: integer results do not change"},
    {"align.promise", LTR_LIBRARY, 15, ANY, ANY, lt_test_align, "the alignment promised is at least an element of A", "the least alignment promised is {f}, an element has {w} bytes", MEASURED, "promise {w} or more"},
    {"align.promise_empty", LTR_LIBRARY, 15, SM(90, 90), ANY, lt_test_align_empty, "with an extent of 0, the alignment promised is at least an element of D", "the least alignment promised is {f}, an element has {w} bytes", MEASURED, "promise {w} or more"},
    {"span.overflow", LTR_OURS, 0, ANY, ANY, lt_test_overflow, "every span fits 63 bits in bytes", "{o} with ld {f} spans more than {w} bytes", "this resolver", NULL},
    {"ld.one_column", LTR_OURS, 0, ANY, ANY, lt_test_ld_one_column, "a leading dimension is at least the minor extent and 1, even for a single row or column", "ld{o} is {f}, below {w}; the heuristic lets it pass for a vector, others do not", "pytorch/pytorch#164930; pytorch/pytorch#29984", "normalise ld{o} to {w} where the major extent is 1"},
    {"batch.negative", LTR_OURS, 0, ANY, ANY, lt_test_stride_negative, "batch strides are not negative", "{o} has {f}", "this resolver", "begin at the other end of {o}"},
    {"batch.d_overlap", LTR_OURS, 0, ANY, ANY, lt_test_batch_overlap, "matrices of D in a batch share no element", "the stride of {o} is {f}, one matrix spans {w}", "apache/tvm#14291", "give {o} a stride of at least {w}; stride 0 is for inputs"},
    {"c.null", LTR_OURS, 0, ANY, ANY, lt_test_c_null, "C is there where beta is not 0", "c is {f}; expected {w}", "library documentation", "set beta to 0, or give c"},
    {"extent.buffer", LTR_OURS, 0, ANY, ANY, lt_test_extent, "no operand reaches beyond its buffer", "{o} spans {f} bytes, its buffer has {w}", "luminal-ai/luminal#350", NULL},
    {"extent.type", LTR_OURS, 0, ANY, ANY, lt_test_buffer_type, "a buffer is read as the type it was written", "{o} holds {f} and is described as {w}", "luminal-ai/luminal#350", "describe {o} as {f}, or convert it"},
    {"bias.fp8_type", LTR_OURS, 0, ANY, ANY, lt_test_bias_fp8_type, "a bias of an FP8 product is of D's type where D has 16 bits, else bf16, or f16 where C is", "the bias is {f}, expected {w}; where the heuristic takes it, the call itself does not", "cublasLt.h, BIAS_DATA_TYPE; " MEASURED, "convert the bias to {w}"},
    {"bias.length", LTR_OURS, 0, ANY, ANY, lt_test_bias_length, "a bias has at least m elements", "the bias has {f} elements, m is {w}", "library documentation", NULL},
    {"bias.axis", LTR_OURS, 0, ANY, ANY, lt_test_bias_axis, "the bias follows the rows of D: element i of it is added to D[i, j]", "{f} is meant; the library adds {w}", "openxla/xla#46897", "swap the operands, so that the axis becomes the rows of d"},
    {"align.pointer", LTR_OURS, 0, ANY, ANY, lt_test_pointer_align, "a pointer is aligned as the preference promises (256 unless said)", "{o} is aligned to {f} bytes, the preference promises {w}", "pytorch/pytorch#98975; NVIDIA/TransformerEngine#845", "promise {f} for {o} in the preference, or move it"},
    {"align.element", LTR_OURS, 0, ANY, ANY, lt_test_pointer_element, "a pointer is aligned to its element", "{o} is aligned to {f} bytes, an element has {w}", "library documentation", NULL},
    {"align.workspace", LTR_OURS, 0, ANY, ANY, lt_test_workspace_align, "the workspace is aligned to 256 bytes", "the workspace is aligned to {f} bytes, expected {w}", "ml-explore/mlx#2466; NVIDIA/TransformerEngine#2223; NVIDIA/TensorRT-LLM#6501", "begin at the next multiple of {w}, and take what that skips off the size"},
    {"note.conjugate", LTR_NOTE, 0, ANY, ANY, lt_test_note_conjugate, "a conjugate transpose of a real type is a transpose", "{o} asks for C, taken as T", "library documentation", NULL},
    {"note.auxiliary", LTR_NOTE, 0, ANY, ANY, lt_test_note_aux, "an epilogue with an auxiliary matrix or a bias gradient", "the epilogue {f} has a further operand, which was not looked at", "this resolver", NULL},
    {"note.empty", LTR_NOTE, 0, ANY, ANY, lt_test_note_empty, "an extent is 0", "{o} is {f}: nothing is multiplied", "this resolver", NULL},
    {"note.bias_square", LTR_NOTE, 0, ANY, ANY, lt_test_note_bias_axis, "a bias on a square D", "the bias follows the rows of d (element i is added to d[i, j]); with m = n = {f} no length check can notice the other axis", "openxla/xla#46897", NULL},
    {"note.bias_alpha", LTR_NOTE, 0, ANY, ANY, lt_test_note_alpha_bias, "a bias and alpha", "the bias is added after alpha and is not scaled by it: d = alpha a b + beta c + bias", "jax-ml/jax#39336; openxla/xla#46110", NULL},
    {"note.span_2g", LTR_NOTE, 0, ANY, 130600, 130600, lt_test_note_span, "a nominal span of A of 2^31 elements or more (a defect of 13.6.0)", "ld times columns of {o} is {f}; this version picks an algorithm that fails at launch from {w} on", "NVIDIA/raft#3097", "use 13.6.1, or split the product"},
    {"note.tall", LTR_NOTE, 0, ANY, 110000, 119999, lt_test_note_tall, "a bias and an extent above 65,535 (a limit of 11.x)", "{o} is {f}; this version may fail to launch above {w}", "pytorch/pytorch#73455", "split {o}, or use 12.0 or later"},
    {"note.hip_2g", LTR_NOTE, 0, ANY, ANY, lt_test_note_hip_large, "D of 2 GiB or more under hipBLASLt", "{o} has {f} bytes: check that all of it was written", "ROCm/hipBLASLt#2299", NULL},
    {"note.hip_tile", LTR_NOTE, 0, ANY, ANY, lt_test_note_hip_tile, "a partial tile of n on gfx950", "{o} is {f}, not a multiple of {w}: put guard bands around d", "ROCm/rocm-libraries#8551", NULL},
    {"note.aspect", LTR_NOTE, 0, ANY, ANY, lt_test_note_aspect, "an extreme aspect ratio", "{o} is {f} against {w}: check the whole output, not samples", "ROCm/rocm-libraries#5706", NULL},
    {"note.fp8_device", LTR_NOTE, 0, ANY, ANY, lt_test_note_fp8_device, "FP8 beyond what was measured", "support of FP8 depends on device and version; here it was measured on sm_90 with 13.1 only", "this resolver", NULL},
    {"note.i8_device", LTR_NOTE, 0, ANY, ANY, lt_test_note_i8_device, "I8 beyond what was measured", "the documented rules are met; support of I8 depends on device and version and was measured on sm_90 with 13.1 only", "pytorch/pytorch#106840", NULL},
    {"note.i8_corner", LTR_NOTE, 0, ANY, ANY, lt_test_note_i8_corner, "an I8 product with a vector or an empty extent", "among such calls the heuristic takes some and refuses others, and no rule was found that tells which", MEASURED, NULL},
    {"note.bias_corner", LTR_NOTE, 0, ANY, ANY, lt_test_note_bias_corner, "a bias on a single row of D with ldd 0, or with less alignment promised than an element of D", "a bias on a single row, ldd 0 or alignment promised {f} where an element of d has {w}: both answers were seen", MEASURED, NULL},
    {"note.odd_pitch", LTR_NOTE, 0, ANY, ANY, lt_test_note_wide_pitch, "a leading dimension of 16-bit operands that is no multiple of 16 bytes", "ld{o} is {f}, not a multiple of {w}: accepted, by a slower algorithm", MEASURED, "pad ld{o} to {r}"},
};
/* clang-format on */
const size_t lt_rules_count = sizeof lt_rules / sizeof *lt_rules;

static lt_facts facts_of(const lt_query *q)
{
    lt_facts f = {.q = q, .inner = {q->m, q->n}, .promise_min = UINT64_MAX};
    for (int i = 0; i < LTM_COUNT; i++) {
        uint64_t promise = q->mat[i].promise_bytes ? q->mat[i].promise_bytes : 256;
        f.promise_min = promise < f.promise_min ? promise : f.promise_min;
        f.span_fits[i] = lt_span(&q->mat[i], &f.span[i]);
    }
    f.k_major[LTM_A] = (q->mat[LTM_A].order == LTO_COL) == (q->op[0] != LTP_N);
    f.k_major[LTM_B] = (q->mat[LTM_B].order == LTO_COL) == (q->op[1] == LTP_N);
    return f;
}

/* Whether the rule speaks about this place: yes, no, or not known. */
typedef enum { NO, YES, UNKNOWN } where;

static where holds_at(const lt_rule *r, const lt_query *q)
{
    bool unknown = false;
    if (r->sm_max) {
        if (q->gfx || q->dialect == LTD_HIPBLASLT)
            return NO;
        unknown |= !q->sm;
        if (q->sm && (q->sm < r->sm_min || q->sm > r->sm_max))
            return NO;
    }
    if (r->version_max) {
        if (q->dialect == LTD_HIPBLASLT)
            return NO;
        unknown |= !q->version;
        if (q->version && (q->version < r->version_min || q->version > r->version_max))
            return NO;
    }
    return unknown ? UNKNOWN : YES;
}

void lt_decide(lt_answer *out, const lt_query *q)
{
    lt_facts f = facts_of(q);
    const lt_hit *library = NULL, *ours = NULL;
    bool notes = false;
    out->n_hits = 0;
    for (const lt_rule *r = lt_rules; r < lt_rules + lt_rules_count; r++) {
        where at = holds_at(r, q);
        lt_seen seen;
        if (at == NO || !r->test(&f, &seen))
            continue;
        /* A note about one version is not worth saying where the version is not known. */
        if (at == UNKNOWN && r->kind == LTR_NOTE)
            continue;
        notes |= r->kind == LTR_NOTE || at == UNKNOWN;
        if (out->n_hits == LT_HITS_MAX)
            continue;
        lt_hit *h = &out->hits[out->n_hits++];
        *h = (lt_hit){.rule = r, .seen = seen, .may_hold = at == UNKNOWN};
        if (at == YES && r->kind == LTR_LIBRARY && !library)
            library = h;
        if (at == YES && r->kind == LTR_OURS && !ours)
            ours = h;
    }
    const lt_hit *by = library ? library : ours;
    out->decider = by ? (size_t)(by - out->hits) : out->n_hits;
    out->status = library ? library->rule->status : 0;
    out->verdict = by ? LTV_REFUSE : notes ? LTV_OK_NOTE : LTV_OK;
}

const lt_rule *lt_rule_find(const char *id)
{
    for (size_t i = 0; i < lt_rules_count; i++)
        if (!strcmp(lt_rules[i].id, id))
            return &lt_rules[i];
    return NULL;
}

static const char *filled(scratch *sc, const char *text, const lt_seen *s)
{
    char buf[600];
    size_t n = 0;
    for (; *text && n < sizeof buf - 1; text++) {
        char number[32];
        const char *put = NULL;
        if (*text == '{' && text[1] && text[2] == '}') {
            uint64_t v = text[1] == 'f' ? s->found : s->wanted, up = 0;
            if (text[1] == 'r') {
                uint64_t rest = s->wanted ? s->found % s->wanted : 0;
                v = rest && ck_add_u64(s->found, s->wanted - rest, &up) ? up : s->found;
            }
            snprintf(number, sizeof number, "%llu", (unsigned long long)v);
            put = text[1] == 'o'                     ? (s->operand ? s->operand : "the call")
                  : text[1] == 'f' && s->found_word  ? s->found_word
                  : text[1] == 'w' && s->wanted_word ? s->wanted_word
                                                     : number;
            text += 2;
        }
        if (put)
            n += (size_t)snprintf(buf + n, sizeof buf - n, "%s", put);
        else
            buf[n++] = *text;
        n = n < sizeof buf ? n : sizeof buf - 1;
    }
    buf[n] = 0;
    const char *copy = scratch_strdup(sc, buf);
    return copy ? copy : "";
}

const lt_hit *lt_deciding(const lt_answer *a)
{
    return a->decider < a->n_hits ? &a->hits[a->decider] : NULL;
}

const char *lt_hit_text(scratch *sc, const lt_hit *h)
{
    return filled(sc, h->rule->found, &h->seen);
}

const char *lt_hit_remedy(scratch *sc, const lt_hit *h)
{
    return h->rule->remedy ? filled(sc, h->rule->remedy, &h->seen) : NULL;
}

static void version_text(char *buf, size_t size, unsigned v)
{
    snprintf(buf, size, "%u.%u.%u", v / 10000, v / 100 % 100, v % 100);
}

const char *lt_rule_where(scratch *sc, const lt_rule *r)
{
    char sm[40] = "", from[24], to[24], version[64] = "";
    const char *s;
    if (r->sm_max && r->sm_min == r->sm_max)
        snprintf(sm, sizeof sm, "sm_%u", r->sm_max);
    else if (r->sm_max && r->sm_min == 1)
        snprintf(sm, sizeof sm, "up to sm_%u", r->sm_max);
    else if (r->sm_max)
        snprintf(sm, sizeof sm, "sm_%u to sm_%u", r->sm_min, r->sm_max);
    version_text(from, sizeof from, r->version_min);
    version_text(to, sizeof to, r->version_max);
    if (r->version_max && r->version_min == r->version_max)
        snprintf(version, sizeof version, "%s", from);
    else if (r->version_max)
        snprintf(version, sizeof version, "%s to %s", from, to);
    s = *sm || *version ? scratch_printf(sc, "%s%s%s", sm, *sm && *version ? ", " : "", version) : "any";
    return s ? s : "";
}
