/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - elements in host memory, of every dtype that ssq_convert knows. */
#ifndef LIB_CORE_BASE_HOST_H
#define LIB_CORE_BASE_HOST_H

#include <sesqui/dtype.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** True for dtypes of tensors. All others exist in host memory only. */
bool dtype_on_device(ssq_dtype d);
/** True for every dtype that host_convert() supports, including tensor dtypes.
 */
bool dtype_on_host(ssq_dtype d);

/** True if a value of dtype from may be outside the range of dtype to, or
 *  between its integers. Floats hold all numbers: rounded, or as infinity. */
bool host_may_misfit(ssq_dtype from, ssq_dtype to);
/** Return the index of the first of n elements that dtype to cannot hold; n if
 *  all fit. A bool that is neither 0 nor 1 fits no dtype. */
size_t host_misfit(const void *src, ssq_dtype from, ssq_dtype to, size_t n);
/** Write the value of element i into buf, for an error text; returns buf. */
const char *host_value(const void *src, ssq_dtype d, size_t i, char *buf,
                       size_t bytes);

/** Convert n elements as ssq_convert(), which has checked the arguments. Needs
 *  no alignment. */
void host_convert(void *dst, ssq_dtype to, const void *src, ssq_dtype from,
                  size_t n, ssq_rounding rounding, uint64_t seed);

#endif
