#include "gpu/cuda/matmul.h"
#include "gpu/cuda/cu.h"

static cudaDataType_t cuda_type(dtype t)
{
    return t == DT_F16 ? CUDA_R_16F : t == DT_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

static rp_code set(rp_err *e, matmul *m, cublasLtMatmulDescAttributes_t attr, const void *v, size_t bytes,
                   const char *name)
{
    return lt_ok(e, cublasLtMatmulDescSetAttribute(m->desc, attr, v, bytes),
                 "cublasLtMatmulDescSetAttribute %s", name);
}

static rp_code make_desc(rp_err *e, matmul *m, const memory *mem, const job_step *s)
{
    int32_t transa = s->call.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    int32_t transb = s->call.trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    int32_t mode = CUBLASLT_POINTER_MODE_HOST;
    static const cublasLtEpilogue_t epilogues[LTE_COUNT] = {
        [LTE_DEFAULT] = CUBLASLT_EPILOGUE_DEFAULT,
        [LTE_RELU] = CUBLASLT_EPILOGUE_RELU,
        [LTE_BIAS] = CUBLASLT_EPILOGUE_BIAS,
        [LTE_RELU_BIAS] = CUBLASLT_EPILOGUE_RELU_BIAS,
    };
    uint32_t epilogue = epilogues[s->call.epilogue];
    if (lt_ok(e, cublasLtMatmulDescCreate(&m->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F),
              "cublasLtMatmulDescCreate") ||
        set(e, m, CUBLASLT_MATMUL_DESC_POINTER_MODE, &mode, sizeof mode, "POINTER_MODE") ||
        set(e, m, CUBLASLT_MATMUL_DESC_TRANSA, &transa, sizeof transa, "TRANSA") ||
        set(e, m, CUBLASLT_MATMUL_DESC_TRANSB, &transb, sizeof transb, "TRANSB") ||
        set(e, m, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue, "EPILOGUE"))
        return e->code;
    if (s->bias >= 0) {
        const void *bias = memory_at(mem, s->bias);
        if (set(e, m, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias, "BIAS_POINTER"))
            return e->code;
    }
    /* Seeded with what it must not be: an attribute that was not written shows. */
    int32_t compute = CUBLAS_COMPUTE_32F_FAST_TF32;
    size_t written = 0;
    if (lt_ok(e,
              cublasLtMatmulDescGetAttribute(m->desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &compute,
                                             sizeof compute, &written),
              "cublasLtMatmulDescGetAttribute COMPUTE_TYPE"))
        return e->code;
    if (written != sizeof compute || compute != CUBLAS_COMPUTE_32F)
        return err_set(
            e, RP_WORKER,
            "cublasLtMatmulDescGetAttribute COMPUTE_TYPE: expected 32F (%d), found %d in %zu bytes",
            CUBLAS_COMPUTE_32F, (int)compute, written);
    return RP_OK;
}

static rp_code make_layout(rp_err *e, cublasLtMatrixLayout_t *out, const lt_matrix *x, const char *name)
{
    int32_t order = x->order == LTO_ROW ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;
    if (lt_ok(e, cublasLtMatrixLayoutCreate(out, cuda_type(x->type), x->rows, x->cols, (int64_t)x->ld),
              "cublasLtMatrixLayoutCreate of %s", name))
        return e->code;
    return lt_ok(e,
                 cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order),
                 "cublasLtMatrixLayoutSetAttribute ORDER of %s", name);
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
        .alpha = 1.0f,
        .beta = c->beta_one ? 1.0f : 0.0f,
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
