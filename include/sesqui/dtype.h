/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.h - element types, and their conversion in host memory.
 *
 *     float x[3] = {1.0f, 0.5f, 65520.0f};
 *     uint16_t h[3];                             one f16 each
 *     ssq_convert(h, SSQ_F16, x, SSQ_F32, 3, SSQ_ROUND_NEAREST, 0);
 *
 * No call needs a device.
 *
 * @sync host
 * @threads any */
#ifndef SESQUI_DTYPE_H
#define SESQUI_DTYPE_H

#include <sesqui/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Element types. The values never change. Tensors have one of the first five.
 *  Types marked "host" exist only in host memory. ssq_convert, ssq_tensor_read,
 *  ssq_tensor_write and arrays (data.h) accept them. Types marked "reserved"
 *  are not implemented: calls return SSQ_ERR_UNSUPPORTED, or SSQ_ERR_INVALID if
 *  they list the dtypes that they accept. Since 0.1. */
typedef enum ssq_dtype {
    SSQ_F32 = 1,     /**< IEEE 754 binary32 */
    SSQ_F16 = 2,     /**< IEEE 754 binary16 */
    SSQ_BF16 = 3,    /**< bfloat16: the upper half of a binary32 */
    SSQ_I32 = 4,     /**< two's complement, 32 bits */
    SSQ_U8 = 5,      /**< unsigned, 8 bits; also for masks: 0 or 1 */
    SSQ_BOOL = 6,    /**< host: a byte, 0 or 1, as in C and NumPy */
    SSQ_I8 = 7,      /**< host */
    SSQ_I64 = 8,     /**< host */
    SSQ_U32 = 9,     /**< host */
    SSQ_F64 = 10,    /**< host: IEEE 754 binary64 */
    SSQ_F8E4M3 = 11, /**< reserved */
    SSQ_F8E5M2 = 12, /**< reserved */
    SSQ_I16 = 13,    /**< host */
    SSQ_U16 = 14     /**< host */
} ssq_dtype;

/** Rounding of a value between two representable values. */
typedef enum ssq_rounding {
    SSQ_ROUND_NEAREST = 0,     /**< to nearest, ties to even (IEEE 754) */
    SSQ_ROUND_TOWARD_ZERO = 1, /**< truncate the magnitude */
    SSQ_ROUND_STOCHASTIC = 2   /**< round the magnitude up with a probability
                                    equal to the dropped fraction, cut to a
                                    multiple of 2^-32; results of f16 and bf16
                                    only. If rounding to nearest overflows, the
                                    result is infinite or the largest finite
                                    value; otherwise it is finite */
} ssq_rounding;

/** Return the bits of an element, for example 16 for SSQ_F16. Host and reserved
 *  dtypes have theirs, too; any other number has 0. */
SSQ_API unsigned ssq_dtype_bits(ssq_dtype dtype);

/** Return the name of a dtype, for example "f32" or "bf16", also of a host or
 *  reserved one; "invalid" for any other number. The library owns the name. */
SSQ_API const char *ssq_dtype_name(ssq_dtype dtype);

/** Return the dtype of a name: one of ssq_dtype_name ("f16"), or a long one.
 *  Long names are "float16" or "half", "bfloat16", "float32" or "float",
 *  "float64" or "double", "int8" to "int64", "uint8" to "uint32",
 *  "float8_e4m3" and "float8_e5m2". Capital letters are not known.
 *  @param dtype  out
 *  @return SSQ_ERR_NOT_FOUND  no such name, for example "F16"
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_dtype_from_name(const char *name,
                                                      ssq_dtype *dtype);

/** Convert n elements in host memory. Each element is rounded once. The result
 *  has the same bits on every machine. The caller's floating-point modes (FTZ,
 *  DAZ, rounding) do not matter and are preserved.
 *
 *   - Float to float: by `rounding`. Subnormals are kept. Overflow gives
 *     infinity, toward zero the largest finite value. NaN becomes a quiet NaN
 *     with the same sign.
 *   - Float to integer: toward zero with any `rounding`, saturating. NaN gives
 *     0. For example, 300.7 to u8 gives 255.
 *   - Integer to float: to nearest even with any `rounding`. Overflow gives
 *     infinity.
 *   - Integer to integer: saturating.
 *   - To bool: 0 if the value is 0, else 1 (also for NaN). From bool: each byte
 *     other than 0 is 1.
 *   - Equal dtypes, except bool: the bits are copied.
 *  @param dst   out: n elements of dst_dtype, aligned for it. It may be src if
 *               both dtypes have the same size. Otherwise it must not overlap
 *               src.
 *  @param src   n elements of src_dtype, aligned for it
 *  @param seed  for SSQ_ROUND_STOCHASTIC: element i uses word i of the stream
 *               (seed, step 0, id 0; ops/random.h)
 *  @return
 *   - SSQ_ERR_INVALID      a dtype or rounding is not valid; stochastic
 *                          rounding to a dtype other than f16 and bf16; dst or
 *                          src is not aligned; they overlap in another way than
 *                          above; 64 bits cannot count the bytes. Pointers may
 *                          be NULL if n is 0.
 *   - SSQ_ERR_UNSUPPORTED  a reserved dtype
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_convert(void *dst, ssq_dtype dst_dtype,
                                              const void *src,
                                              ssq_dtype src_dtype, size_t n,
                                              ssq_rounding rounding,
                                              uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
