/* SPDX-License-Identifier: Apache-2.0 */
/* subnormals.h - what is asked of kernels/probe.k, and what its answers say.
 *
 * Each operation of the kernels is asked apart. rusticl's fma() is code of a
 * library that flushes its factors, where its products and sums flush none. */
#ifndef BACKENDS_COMMON_SUBNORMALS_H
#define BACKENDS_COMMON_SUBNORMALS_H

#include <stdbool.h>
#include <stdint.h>

#define PROBE_ROWS  6
#define PROBE_PAGES 256 /* of 256 f16s each */

/** What the probe writes. */
struct probe_answer {
    uint32_t row[PROBE_ROWS][4]; /* a b, a + c, fma(a, b, c), a vector's */
    uint32_t wrong[PROBE_PAGES]; /* f16s that the device's own load has wrong */
    uint32_t lost[PROBE_PAGES];  /* and floats, its own store */
};

/** a, b, c: float32s of which, or of whose results, some are subnormal. */
static const uint32_t probe_asked[PROBE_ROWS][3] = {
    {0x00800000u, 0x3f000000u, 0x00000000u}, /* 2^-126, 0.5, 0 */
    {0x00400000u, 0x40000000u, 0x00000000u}, /* 2^-127, 2, 0 */
    {0x00000001u, 0x7f000000u, 0x34800000u}, /* 2^-149, 2^127, 2^-22 */
    {0x7f000000u, 0x80000003u, 0x00000000u}, /* 2^127, -3 2^-149, 0 */
    {0x00400000u, 0x00000000u, 0x00400000u}, /* 2^-127, 0, 2^-127 */
    {0x00800001u, 0x3f800000u, 0x80800000u}, /* 2^-126 + 2^-149, 1, -2^-126 */
};

/** The sum stands for the one, the fused sum for the other two. */
static const uint32_t probe_right[PROBE_ROWS][3] = {
    {0x00400000u, 0x00800000u, 0x00400000u},
    {0x00800000u, 0x00400000u, 0x00800000u},
    {0x34800000u, 0x34800000u, 0x35000000u},
    {0xb5400000u, 0x7f000000u, 0xb5400000u},
    {0x00000000u, 0x00800000u, 0x00400000u},
    {0x00800001u, 0x00000001u, 0x00000001u},
};

/** Products and sums keep subnormals. */
static inline bool probe_keeps(const struct probe_answer *a)
{
    bool kept = true;
    for (int i = 0; i < PROBE_ROWS; i++)
        kept = kept && a->row[i][0] == probe_right[i][0] &&
               a->row[i][1] == probe_right[i][1];
    return kept;
}

/** Fused ones do. */
static inline bool probe_keeps_fused(const struct probe_answer *a)
{
    bool kept = true;
    for (int i = 0; i < PROBE_ROWS; i++)
        kept = kept && a->row[i][2] == probe_right[i][2] &&
               a->row[i][3] == probe_right[i][2];
    return kept;
}

#endif
