#include "gpu/cuda/matmul.h"
#include "gpu/cuda/cu.h"
#include "gpu/cuda/lt_words.h"

static matmul_scalar scalar_of(dtype scale, bool one)
{
    matmul_scalar s = {.f64 = 0};
    switch (scale) {
    case DT_F64:
        s.f64 = one ? 1.0 : 0.0;
        break;
    case DT_I32:
        s.i32 = one;
        break;
    case DT_F16:
        s.f16 = f16_from_f64(one ? 1.0 : 0.0);
        break;
    default:
        s.f32 = one ? 1.0f : 0.0f;
    }
    return s;
}

static rp_code set(rp_err *e, matmul *m, cublasLtMatmulDescAttributes_t attr, const void *v, size_t bytes,
                   const char *name)
{
    return lt_ok(e, cublasLtMatmulDescSetAttribute(m->desc, attr, v, bytes),
                 "cublasLtMatmulDescSetAttribute %s", name);
}

static rp_code set_pointer(rp_err *e, matmul *m, const memory *mem, cublasLtMatmulDescAttributes_t attr,
                           int64_t buffer, const char *name)
{
    const void *at = memory_at(mem, buffer);
    return set(e, m, attr, &at, sizeof at, name);
}

static rp_code set_pointers(rp_err *e, matmul *m, const memory *mem, const job_step *s)
{
    const lt_call *c = &s->call;
    int32_t bias_type = lt_cuda_type(c->bias_type);
    if (s->bias >= 0 &&
        (set_pointer(e, m, mem, CUBLASLT_MATMUL_DESC_BIAS_POINTER, s->bias, "BIAS_POINTER") ||
         (c->bias_type != lt_bias_default(c->a.type, c->c.type, c->d.type, c->scale) &&
          set(e, m, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &bias_type, sizeof bias_type, "BIAS_DATA_TYPE"))))
        return e->code;
    if ((s->scale_a >= 0 &&
         set_pointer(e, m, mem, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, s->scale_a, "A_SCALE_POINTER")) ||
        (s->scale_b >= 0 &&
         set_pointer(e, m, mem, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, s->scale_b, "B_SCALE_POINTER")))
        return e->code;
    return RP_OK;
}

static rp_code make_desc(rp_err *e, matmul *m, const memory *mem, const job_step *s)
{
    const lt_call *c = &s->call;
    int32_t transa = c->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    int32_t transb = c->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    int32_t mode = CUBLASLT_POINTER_MODE_HOST;
    int32_t want = lt_cuda_compute(c->compute);
    uint32_t epilogue = (uint32_t)lt_cuda_epilogue(c->epilogue);
    if (lt_ok(e,
              cublasLtMatmulDescCreate(&m->desc, (cublasComputeType_t)want,
                                       (cudaDataType_t)lt_cuda_type(c->scale)),
              "cublasLtMatmulDescCreate") ||
        set(e, m, CUBLASLT_MATMUL_DESC_POINTER_MODE, &mode, sizeof mode, "POINTER_MODE") ||
        set(e, m, CUBLASLT_MATMUL_DESC_TRANSA, &transa, sizeof transa, "TRANSA") ||
        set(e, m, CUBLASLT_MATMUL_DESC_TRANSB, &transb, sizeof transb, "TRANSB") ||
        set(e, m, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue, "EPILOGUE") ||
        set_pointers(e, m, mem, s))
        return e->code;
    /* Seeded with what it must not be: an attribute that was not written shows. */
    int32_t compute = -1;
    size_t written = 0;
    if (lt_ok(e,
              cublasLtMatmulDescGetAttribute(m->desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &compute,
                                             sizeof compute, &written),
              "cublasLtMatmulDescGetAttribute COMPUTE_TYPE"))
        return e->code;
    if (written != sizeof compute || compute != want)
        return err_set(e, RP_WORKER,
                       "cublasLtMatmulDescGetAttribute COMPUTE_TYPE: expected %s (%d), found %d in %zu bytes",
                       lt_compute_names[c->compute], (int)want, (int)compute, written);
    return RP_OK;
}

static rp_code set_layout(rp_err *e, cublasLtMatrixLayout_t x, cublasLtMatrixLayoutAttribute_t attr,
                          const void *v, size_t bytes, const char *what, const char *name)
{
    return lt_ok(e, cublasLtMatrixLayoutSetAttribute(x, attr, v, bytes),
                 "cublasLtMatrixLayoutSetAttribute %s of %s", what, name);
}

static rp_code make_layout(rp_err *e, cublasLtMatrixLayout_t *out, const lt_matrix *x, const char *name)
{
    int32_t order = lt_cuda_order(x->order), batch = (int32_t)x->batch;
    int64_t stride = (int64_t)x->stride;
    if (lt_ok(e,
              cublasLtMatrixLayoutCreate(out, (cudaDataType_t)lt_cuda_type(x->type), x->rows, x->cols,
                                         (int64_t)x->ld),
              "cublasLtMatrixLayoutCreate of %s", name) ||
        set_layout(e, *out, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order, "ORDER", name))
        return e->code;
    if (x->batch &&
        (set_layout(e, *out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch, "BATCH_COUNT", name) ||
         set_layout(e, *out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride,
                    "STRIDED_BATCH_OFFSET", name)))
        return e->code;
    return RP_OK;
}

static rp_code choose(rp_err *e, matmul *m, uint64_t node, cublasLtMatmulHeuristicResult_t *found)
{
    cublasLtMatmulPreference_t preference;
    uint64_t most = m->workspace_bytes;
    int n = 0;
    if (lt_ok(e, cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate"))
        return e->code;
    if (!lt_ok(e,
               cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                    &most, sizeof most),
               "cublasLtMatmulPreferenceSetAttribute MAX_WORKSPACE_BYTES") &&
        !lt_ok(e,
               cublasLtMatmulAlgoGetHeuristic(m->handle, m->desc, m->a, m->b, m->c, m->d, preference, 1,
                                              found, &n),
               "cublasLtMatmulAlgoGetHeuristic for node %llu", (unsigned long long)node)) {
        if (n < 1)
            err_set(e, RP_WORKER,
                    "cublasLtMatmulAlgoGetHeuristic for node %llu: expected 1 algorithm, found none (%s)",
                    (unsigned long long)node, cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED));
        else if (found->state != CUBLAS_STATUS_SUCCESS)
            err_set(e, RP_WORKER, "cublasLtMatmulAlgoGetHeuristic for node %llu: %s",
                    (unsigned long long)node, cublasLtGetStatusName(found->state));
        else if (found->workspaceSize > m->workspace_bytes)
            err_set(e, RP_WORKER,
                    "cublasLtMatmulAlgoGetHeuristic for node %llu: expected a workspace of at most %zu, "
                    "found %zu",
                    (unsigned long long)node, m->workspace_bytes, found->workspaceSize);
    }
    cublasLtMatmulPreferenceDestroy(preference);
    return e->code;
}

/* Attributes are of 2 or 4 bytes, signed or not; none of their values is negative. */
static rp_code config(rp_err *e, int64_t *out, const cublasLtMatmulAlgo_t *algo,
                      cublasLtMatmulAlgoConfigAttributes_t attr, size_t bytes, const char *name)
{
    uint16_t two = 0;
    uint32_t four = 0;
    size_t written = 0;
    void *at = bytes == sizeof two ? (void *)&two : (void *)&four;
    if (lt_ok(e, cublasLtMatmulAlgoConfigGetAttribute(algo, attr, at, bytes, &written),
              "cublasLtMatmulAlgoConfigGetAttribute %s", name))
        return e->code;
    *out = bytes == sizeof two ? two : (int64_t)four;
    return RP_OK;
}

static rp_code read_choice(rp_err *e, result_algorithm *r, const cublasLtMatmulAlgo_t *a)
{
    if (config(e, &r->id, a, CUBLASLT_ALGO_CONFIG_ID, 4, "ID") ||
        config(e, &r->tile, a, CUBLASLT_ALGO_CONFIG_TILE_ID, 4, "TILE_ID") ||
        config(e, &r->stages, a, CUBLASLT_ALGO_CONFIG_STAGES_ID, 4, "STAGES_ID") ||
        config(e, &r->split_k, a, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4, "SPLITK_NUM") ||
        config(e, &r->reduction, a, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4, "REDUCTION_SCHEME") ||
        config(e, &r->swizzle, a, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4, "CTA_SWIZZLING") ||
        config(e, &r->custom_option, a, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4, "CUSTOM_OPTION") ||
        config(e, &r->cluster, a, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2, "CLUSTER_SHAPE_ID") ||
        config(e, &r->inner_shape, a, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2, "INNER_SHAPE_ID"))
        return e->code;
    return RP_OK;
}

rp_code matmul_prepare(rp_err *e, matmul *m, cublasLtHandle_t handle, const memory *mem, const job_step *s,
                       result_algorithm *chosen)
{
    const lt_call *c = &s->call;
    cublasLtMatmulHeuristicResult_t found = {.state = CUBLAS_STATUS_NOT_SUPPORTED};
    *m = (matmul){
        .handle = handle,
        .alpha = scalar_of(c->scale, true),
        .beta = scalar_of(c->scale, c->beta_one),
        .at_a = memory_at(mem, s->a),
        .at_b = memory_at(mem, s->b),
        .at_c = memory_at(mem, s->c),
        .at_d = memory_at(mem, s->d),
        .workspace = s->workspace >= 0 ? memory_at(mem, s->workspace) : NULL,
        .workspace_bytes = c->workspace_bytes,
    };
    chosen->node = s->node;
    if (make_desc(e, m, mem, s) || make_layout(e, &m->a, &c->a, "A") || make_layout(e, &m->b, &c->b, "B") ||
        make_layout(e, &m->c, &c->c, "C") || make_layout(e, &m->d, &c->d, "D") ||
        choose(e, m, s->node, &found) || read_choice(e, chosen, &found.algo))
        return e->code;
    chosen->workspace_bytes = found.workspaceSize;
    m->algo = found.algo;
    return RP_OK;
}
