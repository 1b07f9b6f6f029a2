/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.h - element types, and conversion between them in host memory. */
#ifndef SESQUI_DTYPE_H
#define SESQUI_DTYPE_H

#include <sesqui/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Element types. Values are fixed for good. Tensors have one of the first
 *  five; those marked "host" are of host memory alone: ssq_convert,
 *  ssq_tensor_write and ssq_tensor_read take them; those marked "reserved" are
 *  refused with SSQ_ERR_UNSUPPORTED until they are implemented. Since 0.1. */
typedef enum ssq_dtype {
    SSQ_F32 = 1,     /**< IEEE 754 binary32 */
    SSQ_F16 = 2,     /**< IEEE 754 binary16 */
    SSQ_BF16 = 3,    /**< bfloat16: the upper half of a binary32 */
    SSQ_I32 = 4,     /**< two's complement, 32 bits */
    SSQ_U8 = 5,      /**< unsigned, 8 bits; also the mask type: 0 or 1 */
    SSQ_BOOL = 6,    /**< host: a byte, 0 or 1, as C's and NumPy's */
    SSQ_I8 = 7,      /**< host */
    SSQ_I64 = 8,     /**< host */
    SSQ_U32 = 9,     /**< host */
    SSQ_F64 = 10,    /**< host: IEEE 754 binary64 */
    SSQ_F8E4M3 = 11, /**< reserved */
    SSQ_F8E5M2 = 12, /**< reserved */
    SSQ_I16 = 13,    /**< host */
    SSQ_U16 = 14     /**< host */
} ssq_dtype;

/** How a value between two representable ones is rounded. */
typedef enum ssq_rounding {
    SSQ_ROUND_NEAREST = 0,     /**< to nearest, ties to even (IEEE 754) */
    SSQ_ROUND_TOWARD_ZERO = 1, /**< truncate the magnitude */
    SSQ_ROUND_STOCHASTIC = 2   /**< up with probability equal to the dropped
                                    fraction; f16 and bf16 results only */
} ssq_rounding;

/** Bits per element: 32, 16, 8, ...; 0 for a value that is no dtype. */
SSQ_API unsigned ssq_dtype_bits(ssq_dtype dtype);

/** "f32", "f16", "bf16", "i32", "u8", ...; "invalid" for no dtype. */
SSQ_API const char *ssq_dtype_name(ssq_dtype dtype);

/** The dtype of a name: ours ("f16") or the long ones ("float16", "half",
 *  "bfloat16", "float32", "int32", "uint8").
 *  @return SSQ_ERR_INVALID name or dtype is NULL; SSQ_ERR_NOT_FOUND no such
 *          name. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_dtype_from_name(const char *name,
                                                      ssq_dtype *dtype);

/** Convert n elements in host memory, now.
 *  Float to float: as rounding says; subnormals kept; overflow to infinity
 *  (toward zero: to the largest finite value); NaN stays NaN, quiet, with its
 *  sign. Float to integer: toward zero whatever rounding says, saturating,
 *  NaN gives 0. Integer to float: to nearest even. Integer to integer:
 *  saturating. To bool: 0 if it is 0, else 1. One rounding. Equal bits on every
 *  machine; the caller's floating-point modes (FTZ, DAZ, rounding) do not
 *  matter and are kept.
 *  @param dst   n elements of dst_dtype, aligned for it; may be src when both
 *               dtypes have the same size, else may not overlap it
 *  @param src   n elements of src_dtype, aligned for it
 *  @param seed  for SSQ_ROUND_STOCHASTIC: element i draws word i of the
 *               stream (seed, step 0, tensor 0); else ignored
 *  @return SSQ_ERR_INVALID a pointer is NULL with n > 0, or no such dtype or
 *          rounding, or stochastic rounding to something else than f16 and
 *          bf16, or partial overlap; SSQ_ERR_UNSUPPORTED a reserved dtype.
 *          Synchronous. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_convert(void *dst, ssq_dtype dst_dtype,
                                              const void *src,
                                              ssq_dtype src_dtype, size_t n,
                                              ssq_rounding rounding,
                                              uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
