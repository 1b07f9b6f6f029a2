/* SPDX-License-Identifier: Apache-2.0 */
/* certify.h - the self-test's operands and answers.
 *
 * Both structs are copied to the device as they are: their arrays are the
 * operands of the three kernels, bound at their offsets. */
#ifndef LIB_CERTIFY_CERTIFY_H
#define LIB_CERTIFY_CERTIFY_H

#include "kernels/certify/certify_args.h"

#include <stdint.h>

/** Words of each operand: FOLD_LANES, and a power of two. */
#define CERTIFY_N 256u
/** Of these the last ones have subnormals, or lead to them. */
#define CERTIFY_TINY 48u

/** The operands, three times CERTIFY_N words for each kernel: a, b and c, or u,
 *  v and w, one behind the other. A union has one memory as the kernels see
 *  it. */
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

/** The answers: CERTIFY_N words for each primitive of a list. */
struct certify_answers {
    uint32_t floats[CERTIFY_FLOATS * CERTIFY_N];
    uint32_t bits[CERTIFY_BITS * CERTIFY_N];
    uint32_t groups[CERTIFY_GROUPS * CERTIFY_N];
    /* how many f16s a native load has wrong, of each 256 that begin alike; then
     * the same of a native store */
    uint32_t native[512];
    uint16_t narrow2[CERTIFY_N]; /* stored 2 bytes at a time */
    uint8_t narrow1[CERTIFY_N];  /* stored byte by byte */
};

/** certify_words.c: the same operands on every machine and in every run. */
void certify_words_fill(struct certify_words *x);
/** certify_reference.c: the same texts, compiled as C. */
void certify_reference(const struct certify_words *x,
                       struct certify_answers *y);

#endif
