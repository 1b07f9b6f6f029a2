/* SPDX-License-Identifier: Apache-2.0 */
/* element.h - raw elements of a dtype and their values, for the harness. */
#ifndef CONFORMANCE_ELEMENT_H
#define CONFORMANCE_ELEMENT_H

#include <sesqui.h>

/** The raw element of a value that dtype d represents, and the way back. */
uint32_t element_bits(double value, ssq_dtype d);
double element_value(uint32_t bits, ssq_dtype d);
void element_values(double *value, const uint32_t *bits, size_t n, ssq_dtype d);
size_t element_bytes(ssq_dtype d);
/** The largest finite value, and the smallest that is not subnormal. */
double element_largest(ssq_dtype d);
double element_least_normal(ssq_dtype d);

#endif
