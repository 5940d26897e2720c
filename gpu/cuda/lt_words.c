#include "gpu/cuda/lt_words.h"

int lt_cuda_type(dtype t)
{
    switch (t) {
    case DT_F16:
        return CUDA_R_16F;
    case DT_BF16:
        return CUDA_R_16BF;
    case DT_F32:
        return CUDA_R_32F;
    case DT_F64:
        return CUDA_R_64F;
    case DT_F8_E4M3:
        return CUDA_R_8F_E4M3;
    case DT_F8_E5M2:
        return CUDA_R_8F_E5M2;
    case DT_I8:
        return CUDA_R_8I;
    case DT_I32:
        return CUDA_R_32I;
    default:
        return -1;
    }
}

int lt_cuda_order(lt_order o)
{
    return o == LTO_COL ? CUBLASLT_ORDER_COL : o == LTO_ROW ? CUBLASLT_ORDER_ROW : -1;
}

int lt_cuda_compute(lt_compute c)
{
    switch (c) {
    case LTC_16F:
        return CUBLAS_COMPUTE_16F;
    case LTC_16F_PEDANTIC:
        return CUBLAS_COMPUTE_16F_PEDANTIC;
    case LTC_32F:
        return CUBLAS_COMPUTE_32F;
    case LTC_32F_PEDANTIC:
        return CUBLAS_COMPUTE_32F_PEDANTIC;
    case LTC_32F_FAST_16F:
        return CUBLAS_COMPUTE_32F_FAST_16F;
    case LTC_32F_FAST_16BF:
        return CUBLAS_COMPUTE_32F_FAST_16BF;
    case LTC_32F_FAST_TF32:
        return CUBLAS_COMPUTE_32F_FAST_TF32;
    case LTC_64F:
        return CUBLAS_COMPUTE_64F;
    case LTC_64F_PEDANTIC:
        return CUBLAS_COMPUTE_64F_PEDANTIC;
    case LTC_32I:
        return CUBLAS_COMPUTE_32I;
    case LTC_32I_PEDANTIC:
        return CUBLAS_COMPUTE_32I_PEDANTIC;
    default:
        return -1;
    }
}

int lt_cuda_epilogue(lt_epilogue e)
{
    switch (e) {
    case LTE_DEFAULT:
        return CUBLASLT_EPILOGUE_DEFAULT;
    case LTE_RELU:
        return CUBLASLT_EPILOGUE_RELU;
    case LTE_BIAS:
        return CUBLASLT_EPILOGUE_BIAS;
    case LTE_RELU_BIAS:
        return CUBLASLT_EPILOGUE_RELU_BIAS;
    case LTE_GELU:
        return CUBLASLT_EPILOGUE_GELU;
    case LTE_GELU_BIAS:
        return CUBLASLT_EPILOGUE_GELU_BIAS;
    default:
        return -1;
    }
}
