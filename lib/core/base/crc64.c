/* SPDX-License-Identifier: Apache-2.0 */
/* crc64.c - checksums that detect changed bytes. */
#include "lib/core/base/crc64.h"

void crc64_begin(struct crc64 *c)
{
    const uint64_t polynomial = UINT64_C(0xc96c5795d7870f42);
    for (unsigned i = 0; i < 256; i++) {
        uint64_t x = i;
        for (int bit = 0; bit < 8; bit++)
            x = x >> 1 ^ (polynomial & (0 - (x & 1)));
        c->table[0][i] = x;
    }
    for (unsigned k = 1; k < 8; k++)
        for (unsigned i = 0; i < 256; i++) {
            uint64_t x = c->table[k - 1][i];
            c->table[k][i] = c->table[0][x & 0xff] ^ x >> 8;
        }
}

uint64_t crc64_add(const struct crc64 *c, uint64_t crc, const void *bytes,
                   size_t n)
{
    const unsigned char *p = bytes;
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t next = 0;
        for (unsigned k = 0; k < 8; k++)
            next ^= c->table[7 - k][(crc >> 8 * k ^ p[k]) & 0xff];
        crc = next;
    }
    for (; n > 0; n--, p++)
        crc = c->table[0][(crc ^ *p) & 0xff] ^ crc >> 8;
    return ~crc;
}
