/* SPDX-License-Identifier: Apache-2.0 */
/* philox.h - Philox4x32-10 again, with 64-bit products: the tests' own words.
 *
 * Salmon, Moraes, Dror, Shaw, SC 2011. tests/scalar checks its known answers.
 */
#ifndef CONFORMANCE_RANDOM_PHILOX_H
#define CONFORMANCE_RANDOM_PHILOX_H

#include <stdint.h>

/** Word i of the stream (seed, step, id). */
static inline uint32_t philox_word(uint64_t seed, uint32_t step, uint32_t id,
                                   uint64_t i)
{
    uint32_t c[4] = {(uint32_t)(i / 4), (uint32_t)(i / 4 >> 32), id, step};
    uint32_t k[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)0xD2511F53 * c[0];
        uint64_t q = (uint64_t)0xCD9E8D57 * c[2];
        uint32_t next[4] = {(uint32_t)(q >> 32) ^ c[1] ^ k[0], (uint32_t)q,
                            (uint32_t)(p >> 32) ^ c[3] ^ k[1], (uint32_t)p};
        for (int j = 0; j < 4; j++)
            c[j] = next[j];
        k[0] += 0x9E3779B9;
        k[1] += 0xBB67AE85;
    }
    return c[i % 4];
}

#endif
