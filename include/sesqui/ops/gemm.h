/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.h - matrix multiplication, single and batched, with its epilogue.
 *
 * Which dtypes multiply which (op(a) op(b); c, bias and d are any float):
 *
 *     a \ b   f32   f16   bf16
 *     f32     yes   yes   yes
 *     f16     yes   yes   no     f16 and bf16 have no common 16-bit format:
 *     bf16    yes   no    yes    cast one of the two (SSQ_ERR_INVALID)
 *
 * Subnormals: on processors with AVX512_BF16 or AMX the default products of
 * bf16 on "cpu" ("dot", "amx") flush subnormal factors and sums to 0, although
 * props.f32_subnormals is SSQ_SUBNORMALS_PRESERVED, which is about all other
 * arithmetic. ssq_gemm_explain says so in .flushed. The implementation "packed"
 * flushes nothing; ssq_implementation_pin chooses it. doc/design/numbers.md has
 * the bounds. */
#ifndef SESQUI_OPS_GEMM_H
#define SESQUI_OPS_GEMM_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is applied to a result before it is stored, in float32 and by the
 *  formulas of the elementwise ops of the same names. NaN stays NaN. Values
 *  are fixed for good. Since 0.1. */
typedef enum ssq_activation {
    SSQ_ACTIVATION_NONE = 0,
    SSQ_ACTIVATION_RELU = 1,
    SSQ_ACTIVATION_GELU = 2,      /**< x Phi(x), by erf */
    SSQ_ACTIVATION_GELU_TANH = 3, /**< its tanh approximation */
    SSQ_ACTIVATION_SILU = 4,      /**< x sigmoid(x) */
    SSQ_ACTIVATION_SIGMOID = 5,
    SSQ_ACTIVATION_TANH = 6
} ssq_activation;

/** "none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"; "invalid"
 *  for no activation. Since 0.1. */
SSQ_API const char *ssq_activation_name(ssq_activation activation);

/** Flags of ssq_gemm_args; OR-ed. */
typedef enum ssq_gemm_flags {
    /** SSQ_ERR_UNSUPPORTED, with the failing condition, instead of a result
     *  that was not computed on matrix units (tensor cores, cooperative
     *  matrices). A call without a product (a size of 0, alpha = 0) never
     *  misses them. */
    SSQ_GEMM_REQUIRE_MATRIX_UNITS = 1,
    /** Factors that are both f32 may be cut to TF32 (float32's range with 11
     *  significant bits) where the device has matrix units for that: what
     *  torch.backends.cuda.matmul.allow_tf32 allows. Never without this flag,
     *  or ssq_device_options.allow_tf32. Legal on every device and for every
     *  dtype; where it changes nothing it is ignored. doc/design/numbers.md,
     *  section 5, has the bound, and ssq_gemm_explain says whether it is
     *  done. */
    SSQ_GEMM_ALLOW_TF32 = 2,
    /** Factors that are both f16 may be multiplied by three of the four
     *  products of their halves, where the processor has tiles of bf16: each
     *  f16 is there the exact sum of two bf16s, and the product of the two low
     *  ones is left out. A third faster than all four, and only from k = 302
     *  on, where the bound of ssq_gemm holds all the same. Never without this
     *  flag, or ssq_device_options.allow_f16_three. Legal on every device and
     *  for every dtype; where it changes nothing it is ignored.
     *  doc/design/numbers.md, section 5, has the proof, and ssq_gemm_explain
     *  says how many products there are. */
    SSQ_GEMM_ALLOW_F16_THREE = 4
} ssq_gemm_flags;

/** Operands of ssq_gemm and ssq_gemm_batched. */
typedef struct ssq_gemm_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_gemm_args));
    const ssq_tensor *a;    /**< in, [m,k]; [k,m] when trans_a */
    const ssq_tensor *b;    /**< in, [k,n]; [n,k] when trans_b */
    const ssq_tensor *c;    /**< in, optional: broadcast to d's shape; may be d;
                                 not read when beta is 0 */
    const ssq_tensor *bias; /**< in, optional: [n], added to every row */
    const ssq_tensor *d;    /**< out, [m,n]; no overlap with a, b, bias */
    bool trans_a;
    bool trans_b;
    double alpha SSQ_DEFAULT(1.0); /**< used as float32 */
    double beta;                   /**< used as float32; not 0 needs c */
    ssq_activation activation;
    uint32_t flags; /**< SSQ_GEMM_* */
} ssq_gemm_args;
#define SSQ_GEMM_DEFAULTS                                                      \
    sizeof(ssq_gemm_args), NULL, NULL, NULL, NULL, NULL, false, false, 1.0,    \
        0.0, SSQ_ACTIVATION_NONE, 0
#define SSQ_GEMM_INIT                                                          \
    {                                                                          \
        SSQ_GEMM_DEFAULTS                                                      \
    }
#define SSQ_GEMM(...) SSQ_ARGS(ssq_gemm_args, SSQ_GEMM_DEFAULTS, __VA_ARGS__)

/** Multiply: d = activation(alpha op(a) op(b) + beta c + bias).
 *  Sums in float32 or better; alpha, beta, bias and activation in float32; one
 *  rounding, when d is stored.
 *  @param args  a, b, d: rank 2, float, mixed as the table above says; at
 *         least one of the two strides is 1 (the other is BLAS's leading
 *         dimension; a size of 1 or 0 may have any stride): else
 *         SSQ_ERR_INVALID, never a silent copy. c: float, any strides, of a
 *         shape that broadcasts to [m,n] as ONNX Gemm's C does. bias: float,
 *         any stride.
 *         d may be exactly c: same place, shape, strides and element size.
 *  @return SSQ_ERR_INVALID inner dimensions differ, d is not [m,n], beta is
 *          not 0 without c, no such activation or flag, f16 times bf16;
 *          SSQ_ERR_UNSUPPORTED matrix units were required and would be missed
 *  @note beta = 0 never reads c; alpha = 0 or k = 0 never reads a and b, and d
 *        is still written: NaN there has no effect. NaN and infinities of what
 *        is read propagate as IEEE 754 says. Where the float32 sum of
 *        |op(a)| |op(b)| overflows, an element may be infinite or NaN even if
 *        the exact result is not.
 *        Class R: |d - exact| <= E + u |exact| with E about
 *        (k + 2) 2^-24 |alpha| (|op(a)| |op(b)|), see doc/design/numbers.md;
 *        integers whose sums stay below 2^24 are exact. Of f32 factors that
 *        may be cut to TF32 (flags), 2^-9 |alpha| (|op(a)| |op(b)|) more.
 *        Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gemm(ssq_queue *queue,
                                           const ssq_gemm_args *args);

/** Multiply many: the last two dimensions of a, b, c and d are ssq_gemm's
 *  matrices, those before them are the batch. d has rank 3 to 6. a and b have
 *  rank 2 to d's; sizes of 1 and missing leading dimensions of their batches
 *  repeat, as in torch.matmul, and d's batch is exactly what the two broadcast
 *  to. c broadcasts to d's shape. bias is [n] for all of the batch. Batch
 *  dimensions of a, b and c may have any strides, 0 included: a strided batch
 *  of BLAS is a tensor [batch,m,k] over one buffer. Else as ssq_gemm.
 *  Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gemm_batched(ssq_queue *queue,
                                                   const ssq_gemm_args *args);

/** How a multiplication would be done: filled by ssq_gemm_explain. */
typedef struct ssq_gemm_explanation {
    size_t struct_size;
    char implementation[32]; /**< "cublaslt", "reference"; "" when d is empty:
                                  then nothing runs */
    ssq_dtype accumulator;   /**< of the sums: SSQ_F32, or SSQ_F64 */
    bool matrix_units;       /**< the products are made by matrix units */
    uint32_t block; /**< products that matrix units add at a time, truncating;
                         0: every addition rounds to nearest */
    char condition[256];    /**< the first condition that keeps it off matrix
                                 units, "" when it is on them */
    int64_t batch, m, n, k; /**< as it would run: a batch that shares b is
                                 folded into m */
    int64_t padded_m, padded_n, padded_k; /**< sizes that matrix units take:
                                 m, n, k raised to multiples of 8 */
    bool tf32;    /**< f32 factors are cut to TF32: see SSQ_GEMM_ALLOW_TF32 */
    bool copied;  /**< factors whose lines do not begin at multiples of 16 bytes
                       are first copied to where they do */
    bool tuned;   /**< implementation, and algorithm where it has several, are
                       what ssq_gemm_tune kept (tune.h), and not the rules' */
    bool flushed; /**< subnormal factors, and sums of products that would be
                       subnormal, count as 0, whatever f32_subnormals says */
    bool packed;  /**< b's copy is read that ssq_gemm_pack made (pack.h) */
    uint32_t products; /**< of the halves of two f16s that make one of theirs:
                            4, or 3 (SSQ_GEMM_ALLOW_F16_THREE); 0: factors are
                            not cut in halves */
} ssq_gemm_explanation;
#define SSQ_GEMM_EXPLANATION_INIT                                              \
    {                                                                          \
        sizeof(ssq_gemm_explanation), "", SSQ_F32, false, 0, "", 0, 0, 0, 0,   \
            0, 0, 0, false, false, false, false, false, 0                      \
    }

/** Explain: which implementation would run these arguments and how, by the
 *  same choice as ssq_gemm (rank 2) or ssq_gemm_batched (rank 3 to 6), without
 *  running it. SSQ_GEMM_REQUIRE_MATRIX_UNITS is ignored.
 *  @param out  written only on success
 *  @return as those two; SSQ_ERR_INVALID also for out NULL or its struct_size;
 *          SSQ_ERR_UNSUPPORTED no implementation, with every refusal (the
 *          host, where it is allowed as a fallback, is not considered).
 *  @note Synchronous; nothing is enqueued. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gemm_explain(ssq_queue *queue,
                                                   const ssq_gemm_args *args,
                                                   ssq_gemm_explanation *out);

/* Ops that share a struct have macros of their own names all the same. */
#define SSQ_GEMM_BATCHED      SSQ_GEMM
#define SSQ_GEMM_BATCHED_INIT SSQ_GEMM_INIT
#define SSQ_GEMM_EXPLAIN      SSQ_GEMM
#define SSQ_GEMM_EXPLAIN_INIT SSQ_GEMM_INIT

#ifdef __cplusplus
}
#endif

#endif
