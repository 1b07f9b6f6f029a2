/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.h - matrix multiplication, single and batched, with its epilogue.
 *
 *     ssq_gemm(queue, SSQ_GEMM(.a = x, .b = w, .trans_b = true, .bias = bias,
 *                              .d = y, .activation = SSQ_ACTIVATION_RELU));
 *
 * The rules of all ops (ops.h) hold here, too. For example, a call returns
 * SSQ_ERR_UNSUPPORTED if no implementation of the device runs the op.
 *
 * To find out which implementation runs, and if it uses matrix units, pass the
 * same arguments to ssq_gemm_explain.
 *
 * Dtypes that can be multiplied, for op(a) op(b). c, bias and d may have any
 * float dtype:
 *
 *     a \ b   f32   f16   bf16
 *     f32     yes   yes   yes
 *     f16     yes   yes   no     f16 and bf16 have no common 16-bit format:
 *     bf16    yes   no    yes    cast one of the two (SSQ_ERR_INVALID)
 *
 * Subnormals: three implementations of "cpu" for bf16 times bf16 flush
 * subnormal factors and sums to 0:
 *
 *  - "amx", the default on processors with AMX;
 *  - "dot" and "gemv", the defaults on AMD's processors with AVX512_BF16;
 *  - "dot" on other processors with AVX512_BF16, if ssq_gemm_tune or
 *    ssq_implementation_pin chooses it.
 *
 * props.f32_subnormals is still SSQ_SUBNORMALS_PRESERVED, because it describes
 * all other arithmetic. ssq_gemm_explain reports this in .flushed. "packed"
 * flushes nothing: pin it. doc/design/numbers.md contains the bounds.
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_OPS_GEMM_H
#define SESQUI_OPS_GEMM_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Functions that are applied to a result before it is stored, in float32. The
 *  formulas are the ones of the elementwise ops with these names. NaN stays
 *  NaN. The values never change. Since 0.1. */
typedef enum ssq_activation {
    SSQ_ACTIVATION_NONE = 0,
    SSQ_ACTIVATION_RELU = 1,
    SSQ_ACTIVATION_GELU = 2,      /**< x Phi(x), by erf */
    SSQ_ACTIVATION_GELU_TANH = 3, /**< its tanh approximation */
    SSQ_ACTIVATION_SILU = 4,      /**< x sigmoid(x) */
    SSQ_ACTIVATION_SIGMOID = 5,
    SSQ_ACTIVATION_TANH = 6
} ssq_activation;

/** Return the name of an activation, for example "gelu_tanh".
 *  @return "invalid" for any other number; never NULL.
 *          Owned by the library, valid for good
 *  @sync host
 *  @threads any
 *  @note Since 0.1. */
SSQ_API const char *ssq_activation_name(ssq_activation activation);

/** Flags of ssq_gemm_args; OR-ed. */
typedef enum ssq_gemm_flags {
    /** Refuse to compute without matrix units (tensor cores, cooperative
     *  matrices, tiles of AMX). The call returns SSQ_ERR_UNSUPPORTED, also with
     *  host_fallback, and the message says why. A call that multiplies nothing
     *  (a size of 0, alpha = 0) is never refused.
     *
     *  An accepted call can still be computed without matrix units. This is so
     *  if cuBLASLt refuses the call only when it runs. On a processor with bf16
     *  tiles, but without f16 tiles, it is also so if an f16 factor contains an
     *  infinity or a NaN. */
    SSQ_GEMM_REQUIRE_MATRIX_UNITS = 1,
    /** Allow TF32 for two f32 factors, if the device has matrix units for it:
     *  the range of float32 with 11 significant bits. This is allow_tf32 of
     *  torch.backends.cuda.matmul. TF32 is used only with this flag or with
     *  ssq_device_options.allow_tf32. The flag is legal on every device and for
     *  every dtype. ssq_gemm_explain reports if TF32 is used.
     *  doc/design/numbers.md, section 5, contains the bound. */
    SSQ_GEMM_ALLOW_TF32 = 2,
    /** Allow three instead of four matmuls of halves for two f16 factors, if
     *  the processor has bf16 tiles and no f16 tiles. Each f16 is the exact sum
     *  of two bf16s, its halves, and the matmul of the low halves is left out.
     *  This is a third faster. It is done only if k is at least 302, because
     *  the bound of ssq_gemm then still holds.
     *
     *  It needs this flag or ssq_device_options.allow_f16_three. The flag is
     *  legal on every device and for every dtype. ssq_gemm_explain reports the
     *  number of matmuls. doc/design/numbers.md, section 5, contains the
     *  proof. */
    SSQ_GEMM_ALLOW_F16_THREE = 4
} ssq_gemm_flags;

/** Operands of ssq_gemm and ssq_gemm_batched. */
typedef struct ssq_gemm_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_gemm_args));
    const ssq_tensor *a;    /**< in, [m,k]; [k,m] if trans_a */
    const ssq_tensor *b;    /**< in, [k,n]; [n,k] if trans_b */
    const ssq_tensor *c;    /**< in, optional: broadcast to d's shape; may be d;
                                 not read if beta is 0 */
    const ssq_tensor *bias; /**< in, optional: [n], added to every row */
    const ssq_tensor *d;    /**< out, [m,n]; must not overlap a, b or bias */
    bool trans_a;
    bool trans_b;
    double alpha SSQ_DEFAULT(1.0); /**< used as float32, not checked: above its
                                        range infinite; 1e-50 counts as 0 */
    double beta;                   /**< used as float32, in the same way; if it
                                        is not 0, c must be set */
    ssq_activation activation;
    uint32_t flags; /**< SSQ_GEMM_*, OR-ed */
} ssq_gemm_args;
#define SSQ_GEMM_DEFAULTS                                                      \
    sizeof(ssq_gemm_args), NULL, NULL, NULL, NULL, NULL, false, false, 1.0,    \
        0.0, SSQ_ACTIVATION_NONE, 0
#define SSQ_GEMM_INIT                                                          \
    {                                                                          \
        SSQ_GEMM_DEFAULTS                                                      \
    }
#define SSQ_GEMM(...) SSQ_ARGS(ssq_gemm_args, SSQ_GEMM_DEFAULTS, __VA_ARGS__)

/** Multiply matrices: d = activation(alpha op(a) op(b) + beta c + bias). Sums
 *  are float32 or better. alpha, beta, bias and activation are float32. The
 *  result is rounded once, when d is stored.
 *
 *  a, b and d have rank 2. If both dimensions are larger than 1, one of the two
 *  strides must be 1; the other is the leading dimension of BLAS. Otherwise
 *  both strides are free. Nothing is copied silently. For example, every second
 *  column of a row-major matrix is refused.
 *
 *  c may have any strides and any shape that broadcasts to [m,n], as C of ONNX
 *  Gemm. bias may have any stride. d may be c if place, shape, strides and
 *  element size are equal.
 *
 *  If beta is 0, c is not read. If alpha or k is 0, a and b are not read, and d
 *  is still written. Operands that are not read must also be valid, but NaN in
 *  them has no effect. NaN and infinities in the others propagate as in IEEE
 *  754. If the float32 sum of |op(a)| |op(b)| overflows, an element can be
 *  infinite or NaN although the exact result is finite.
 *  @return
 *   - SSQ_ERR_INVALID      the inner dimensions differ; d is not [m,n]; a
 *                          stride is not as above; beta is not 0 and c is NULL;
 *                          the activation or a flag is not valid; f16 times
 *                          bf16; b was packed with another trans_b, was written
 *                          after it was packed, or could not be packed again
 *                          (pack.h)
 *   - SSQ_ERR_UNSUPPORTED  SSQ_GEMM_REQUIRE_MATRIX_UNITS is set, and no matrix
 *                          units would be used
 *  @note Class R: |d - exact| <= E + u |exact|, E about
 *        (k + 2) 2^-24 |alpha| (|op(a)| |op(b)|) + 2^-23 |beta c|, see
 *        doc/design/numbers.md. On matrix units that truncate (.block in
 *        ssq_gemm_explanation) the first term is about twice as large. With
 *        TF32 E is 2^-9 |alpha| (|op(a)| |op(b)|) larger. Integers whose sums
 *        stay below 2^24 are exact, except with TF32 or three matmuls of halves
 *        (.tf32 and .products in ssq_gemm_explanation). Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gemm(ssq_queue *queue,
                                           const ssq_gemm_args *args);

/** Multiply a batch of matrices. The last two dimensions of a, b, c and d are
 *  the matrices of ssq_gemm, and the dimensions before them are the batch. d
 *  has rank 3 to 6, and a and b have rank 2 to the rank of d. (For
 *  ssq_gemm_batched_var, which makes d, a or b must have rank 3 or more.)
 *
 *  The batches of a and b broadcast as in torch.matmul: sizes of 1 and missing
 *  leading dimensions repeat. d's batch must be exactly the result of that, for
 *  example [8,m,n] for a of [8,m,k] and b of [k,n]. c broadcasts to d's shape.
 *
 *  bias is [n] for the whole batch. Batch dimensions of a, b and c may have any
 *  strides, also 0. A strided batch of BLAS is a tensor [batch,m,k] over one
 *  buffer. Everything else is as in ssq_gemm.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gemm_batched(ssq_queue *queue,
                                                   const ssq_gemm_args *args);

/** How a multiplication would be computed: filled by ssq_gemm_explain. */
typedef struct ssq_gemm_explanation {
    size_t struct_size;
    char implementation[32]; /**< for example "cublaslt"; "" if d is empty: then
                                  nothing runs */
    ssq_dtype accumulator;   /**< of the sums: SSQ_F32, or SSQ_F64 */
    bool matrix_units;       /**< matrix units compute the products */
    uint32_t block; /**< products that matrix units add at a time, truncating;
                         0: every addition rounds to nearest */
    char condition[256];    /**< why matrix units are not used, cut at the end;
                                 "" if they are used */
    int64_t batch, m, n, k; /**< as it would run: a batch that shares b is
                                 folded into m if the strides allow it; k is 0
                                 if alpha is 0, unless d is empty; batch is 0 if
                                 d is empty */
    int64_t padded_m, padded_n, padded_k; /**< sizes for matrix units: m, n, k
                                               raised to multiples of 8 */
    bool tf32;    /**< f32 factors are cut to TF32: see SSQ_GEMM_ALLOW_TF32 */
    bool copied;  /**< factors whose lines do not begin at multiples of 16 bytes
                       are first copied to aligned memory */
    bool tuned;   /**< ssq_gemm_tune has chosen the implementation, and its
                       algorithm if it has several (tune.h) */
    bool flushed; /**< subnormal factors and subnormal sums of products count as
                       0, also if f32_subnormals says otherwise */
    bool packed;  /**< the copy of b that ssq_gemm_pack made is read (pack.h) */
    uint32_t products; /**< matmuls of halves of two f16 factors: 4, or 3
                            (SSQ_GEMM_ALLOW_F16_THREE); 0: factors are not split
                            */
} ssq_gemm_explanation;
#define SSQ_GEMM_EXPLANATION_INIT                                              \
    {                                                                          \
        sizeof(ssq_gemm_explanation), "", SSQ_F32, false, 0, "", 0, 0, 0, 0,   \
            0, 0, 0, false, false, false, false, false, 0                      \
    }

/** Report which implementation would run these arguments, and how, without
 *  running it. The choice is the same as in ssq_gemm (d has rank 2) or
 *  ssq_gemm_batched (rank 3 to 6), but SSQ_GEMM_REQUIRE_MATRIX_UNITS is
 *  ignored.
 *  @param out  in: struct_size; out: the rest, written only on success
 *  @return
 *   - SSQ_ERR_INVALID      as ssq_gemm and ssq_gemm_batched
 *   - SSQ_ERR_UNSUPPORTED  no implementation runs it; the message lists the
 *                          reason of each. .host_fallback is not considered.
 *  @sync host
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_gemm_explain(ssq_queue *queue,
                                                   const ssq_gemm_args *args,
                                                   ssq_gemm_explanation *out);

/* Ops that share a struct have macros with their names, too. */
#define SSQ_GEMM_BATCHED      SSQ_GEMM
#define SSQ_GEMM_BATCHED_INIT SSQ_GEMM_INIT
#define SSQ_GEMM_EXPLAIN      SSQ_GEMM
#define SSQ_GEMM_EXPLAIN_INIT SSQ_GEMM_INIT

#ifdef __cplusplus
}
#endif

#endif
