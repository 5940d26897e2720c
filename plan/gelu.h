/* GELU in its tanh form, in FP64 and the same bits on every machine: + - * /, comparisons and scaling by
 * powers of two only, no libm, built with -ffp-contract=off. */
#ifndef PLAN_GELU_H
#define PLAN_GELU_H

/* x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3))), the two constants taken as real numbers.
 *
 * cuBLAS's documentation says of CUBLASLT_EPILOGUE_GELU no more than "x := GELU(x)". Seen with
 * cuBLASLt 13.1.0 on an H200, F32 results of 4,086 values from -8 to 8: at most 5.2e-6 from this form, 4.7e-4
 * from the one with erf. Its users rely on it too: PyTorch's _addmm_activation (NVIDIA/TensorRT-LLM pull
 * request 17693) and XLA, which hands it approximate GELUs only (openxla/xla pull request 7751).
 *
 * Within 4 ulp of the exact value; where that is subnormal, within one step. +0 and -0 are themselves, a NaN
 * stays one, +infinity is itself, and -infinity gives -0, the limit, as all below about -21.5 does (the
 * library gives NaN for -infinity, as the form taken literally). */
double gelu_tanh(double x);

#endif
