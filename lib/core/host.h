/* SPDX-License-Identifier: Apache-2.0 */
/* host.h - elements in host memory, of every dtype that ssq_convert knows. */
#ifndef LIB_CORE_HOST_H
#define LIB_CORE_HOST_H

#include <sesqui/dtype.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** True for the dtypes that tensors have; all others are of host memory
 *  alone. */
bool dtype_on_device(ssq_dtype d);
/** True for every dtype that host_convert takes, those of tensors included. */
bool dtype_on_host(ssq_dtype d);

/** True if a value of one dtype may be outside another's range, or between its
 *  integers. Floats hold all numbers: rounded, or as infinity. */
bool host_may_misfit(ssq_dtype from, ssq_dtype to);
/** The first of n elements that the dtype to does not hold; n if there is
 *  none. A bool that is neither 0 nor 1 fits nothing. */
size_t host_misfit(const void *src, ssq_dtype from, ssq_dtype to, size_t n);
/** The value of element i, for an error's text. */
const char *host_value(const void *src, ssq_dtype d, size_t i, char *buf,
                       size_t bytes);

/** n elements as ssq_convert, which has checked them; no alignment needed. */
void host_convert(void *dst, ssq_dtype to, const void *src, ssq_dtype from,
                  size_t n, ssq_rounding rounding, uint64_t seed);

#endif
