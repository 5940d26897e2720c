/* The matrix calls, as the library itself holds them. */
#include "tests/capture/capture.h"

static uint64_t layout_value(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which,
                             size_t bytes)
{
    uint64_t value =
        0; /* attributes of four bytes fill its low half: the library runs on little-endian hosts */
    size_t written = 0;
    LT(cublasLtMatrixLayoutGetAttribute(layout, which, &value, bytes, &written));
    if (written != bytes)
        fail("cublasLtMatrixLayoutGetAttribute gives %zu bytes of attribute %d, not %zu", written, (int)which,
             bytes);
    return value;
}

static const char *type_name(uint64_t type)
{
    if (type != CUDA_R_16F && type != CUDA_R_32F)
        fail("cuBLASLt holds matrix or scale type %llu, which no plan here uses", (unsigned long long)type);
    return type == CUDA_R_16F ? "f16" : "f32";
}

static const char *order_name(uint64_t order)
{
    if (order != CUBLASLT_ORDER_COL && order != CUBLASLT_ORDER_ROW)
        fail("cuBLASLt holds order %llu, which no plan here uses", (unsigned long long)order);
    return order == CUBLASLT_ORDER_COL ? "col" : "row";
}

static void write_matrix(json *j, const char *key, cublasLtMatrixLayout_t layout)
{
    json_open(j, key, '{');
    json_string(j, "type", type_name(layout_value(layout, CUBLASLT_MATRIX_LAYOUT_TYPE, 4)));
    json_int(j, "rows", layout_value(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, 8));
    json_int(j, "cols", layout_value(layout, CUBLASLT_MATRIX_LAYOUT_COLS, 8));
    json_int(j, "ld", layout_value(layout, CUBLASLT_MATRIX_LAYOUT_LD, 8));
    json_string(j, "order", order_name(layout_value(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, 4)));
    json_close(j, '}');
}

static uint32_t call_value(cublasLtMatmulDesc_t call, cublasLtMatmulDescAttributes_t which)
{
    uint32_t value = 0;
    size_t written = 0;
    LT(cublasLtMatmulDescGetAttribute(call, which, &value, sizeof value, &written));
    if (written != sizeof value)
        fail("cublasLtMatmulDescGetAttribute gives %zu bytes of attribute %d, not 4", written, (int)which);
    return value;
}

static const char *epilogue_name(uint32_t epilogue)
{
    switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
        return "default";
    case CUBLASLT_EPILOGUE_RELU:
        return "relu";
    case CUBLASLT_EPILOGUE_BIAS:
        return "bias";
    default:
        fail("cuBLASLt holds epilogue %u, which no plan here uses", epilogue);
    }
}

static void write_call_fields(json *j, cublasLtMatmulDesc_t call)
{
    if (call_value(call, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE) != CUBLAS_COMPUTE_32F)
        fail("cuBLASLt holds another compute type than the plan's");
    json_bool(j, "trans_a", call_value(call, CUBLASLT_MATMUL_DESC_TRANSA) == CUBLAS_OP_T);
    json_bool(j, "trans_b", call_value(call, CUBLASLT_MATMUL_DESC_TRANSB) == CUBLAS_OP_T);
    json_string(j, "compute", "32f");
    json_string(j, "scale", type_name(call_value(call, CUBLASLT_MATMUL_DESC_SCALE_TYPE)));
    json_string(j, "epilogue", epilogue_name(call_value(call, CUBLASLT_MATMUL_DESC_EPILOGUE)));
}

static void write_algorithm(json *j, const cublasLtMatmulAlgo_t *algorithm)
{
    static const struct {
        const char *key;
        cublasLtMatmulAlgoConfigAttributes_t attribute;
        size_t bytes;
    } fields[] = {
        {"id", CUBLASLT_ALGO_CONFIG_ID, 4},
        {"tile", CUBLASLT_ALGO_CONFIG_TILE_ID, 4},
        {"stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, 4},
        {"split_k", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4},
        {"reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4},
        {"swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4},
        {"custom_option", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4},
        {"cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2},
        {"inner_shape", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2},
    };
    json_open(j, "algorithm", '{');
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        uint64_t value = 0; /* little-endian, as above */
        size_t written = 0;
        LT(cublasLtMatmulAlgoConfigGetAttribute(algorithm, fields[i].attribute, &value, fields[i].bytes,
                                                &written));
        if (written != fields[i].bytes)
            fail("algorithm field %s has %zu bytes, not %zu", fields[i].key, written, fields[i].bytes);
        json_int(j, fields[i].key, value);
    }
    json_close(j, '}');
}

static void write_call(json *j, const matmul *mm, uint64_t node, bool chosen)
{
    json_open(j, NULL, '{');
    json_int(j, "node", node);
    json_seen(j, "cuBLASLt",
              chosen
                  ? "descriptors and algorithm read back from the library's own objects by its GetAttribute "
                    "functions; the one result of cublasLtMatmulAlgoGetHeuristic; trace by "
                    "cublasLtLoggerSetCallback at level 5, with the time and process fields of the prefix "
                    "left out"
                  : "descriptors read back from the library's own objects by its GetAttribute functions");
    write_matrix(j, "a", mm->a);
    write_matrix(j, "b", mm->b);
    write_matrix(j, "c", mm->c);
    write_matrix(j, "d", mm->d);
    write_call_fields(j, mm->call);
    json_int(j, "workspace_bytes", WORKSPACE_BYTES);
    if (chosen) {
        write_algorithm(j, &mm->choice.algo);
        json_int(j, "heuristic_workspace_bytes", mm->choice.workspaceSize);
        json_string(j, "trace", mm->trace);
    }
    json_close(j, '}');
}

void calls_write(json *j, const rig *r, bool chosen)
{
    json_open(j, "calls", '[');
    for (int i = 0; i < r->plan->n_steps; i++)
        if (r->plan->steps[i].kind == STEP_MATMUL)
            write_call(j, &r->calls[i], r->plan->steps[i].node, chosen);
    json_close(j, ']');
}
