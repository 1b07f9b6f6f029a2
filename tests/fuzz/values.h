/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - bytes that mean something as elements of some dtype. */
#ifndef TESTS_FUZZ_VALUES_H
#define TESTS_FUZZ_VALUES_H

#include <stddef.h>
#include <stdint.h>

enum { VALUE_KINDS = 8 };

/** Fill memory with elements of a kind (modulo VALUE_KINDS): f32, f16 or bf16
 *  between -2 and 2, special floats, small i32, zeros and ones of u8, or bits
 *  at random. */
void values_make(uint8_t *to, size_t bytes, unsigned kind, uint32_t seed);

#endif
