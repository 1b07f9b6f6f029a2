/* SPDX-License-Identifier: Apache-2.0 */
/* certify.h - the operands and the results of the self-test.
 *
 * Both structs are copied to the device as they are. The three kernels bind
 * their arrays at their offsets. */
#ifndef LIB_CERTIFY_CERTIFY_H
#define LIB_CERTIFY_CERTIFY_H

#include "kernels/certify/certify_args.h"

#include <stdint.h>

/** Words of each operand: FOLD_LANES, and a power of two. */
#define CERTIFY_N 256u
/** Of these, the last ones are subnormals or produce them. */
#define CERTIFY_TINY 48u

/** The operands. Each kernel has three of CERTIFY_N words, one after the other:
 *  a, b, c or u, v, w. The unions give the kernels several views of the same
 *  memory. */
struct certify_words {
    union {
        uint32_t u[3 * CERTIFY_N];
        float f[3 * CERTIFY_N];
    } floats;
    union {
        uint32_t u4[3 * CERTIFY_N];
        uint16_t u2[6 * CERTIFY_N];
        uint8_t u1[12 * CERTIFY_N];
    } bits;
    uint32_t groups[3 * CERTIFY_N];
};

/** The results: CERTIFY_N words for each primitive of a list. */
struct certify_answers {
    uint32_t floats[CERTIFY_FLOATS * CERTIFY_N];
    uint32_t bits[CERTIFY_BITS * CERTIFY_N];
    uint32_t groups[CERTIFY_GROUPS * CERTIFY_N];
    /* For each 256 f16s with the same high byte: how many a native load gets
     * wrong. Then: how many floats near them a native store gets wrong. */
    uint32_t native[512];
    uint16_t narrow2[CERTIFY_N]; /* stored 2 bytes at a time */
    uint8_t narrow1[CERTIFY_N];  /* stored byte by byte */
};

/** Fill *x with the operands (certify_words.c). They are the same on every
 *  machine and in every run. */
void certify_words_fill(struct certify_words *x);
/** Compute the expected results from the same sources, compiled as C
 *  (certify_reference.c). */
void certify_reference(const struct certify_words *x,
                       struct certify_answers *y);

#endif
