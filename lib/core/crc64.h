/* SPDX-License-Identifier: Apache-2.0 */
/* crc64.h - CRC-64 of ECMA-182, bits reflected, as xz has it: any change within
 * 64 bits in a row is seen, and others but for one in 2^64. */
#ifndef LIB_CORE_CRC64_H
#define LIB_CORE_CRC64_H

#include <stddef.h>
#include <stdint.h>

/** What a byte does to the sum, with 0 to 7 zero bytes behind it: eight bytes
 *  are taken at once. */
struct crc64 {
    uint64_t table[8][256];
};

void crc64_begin(struct crc64 *c);
/** The sum of what has the sum `crc` (0: nothing), and of n bytes behind it. */
uint64_t crc64_add(const struct crc64 *c, uint64_t crc, const void *bytes,
                   size_t n);

#endif
