/* SPDX-License-Identifier: Apache-2.0 */
/* crc64.h - CRC-64 of ECMA-182, bits reflected, as in xz. It detects every
 * change within 64 consecutive bits, and all but one in 2^64 other changes. */
#ifndef LIB_CORE_BASE_CRC64_H
#define LIB_CORE_BASE_CRC64_H

#include <stddef.h>
#include <stdint.h>

/** table[k][b]: the effect of byte b on the sum if k zero bytes follow it.
 *  Eight bytes are processed per step. */
struct crc64 {
    uint64_t table[8][256];
};

/** Compute the table. */
void crc64_begin(struct crc64 *c);
/** Return the sum of bytes whose sum is `crc` (0: no bytes) and of n bytes that
 *  follow them. */
uint64_t crc64_add(const struct crc64 *c, uint64_t crc, const void *bytes,
                   size_t n);

#endif
