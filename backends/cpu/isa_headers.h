/* SPDX-License-Identifier: Apache-2.0 */
/* isa_headers.h - the system's headers that code for an instruction set
 * includes, for compilers that precompile them. */
#ifdef __AVX2__
#include <immintrin.h>
#endif
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
