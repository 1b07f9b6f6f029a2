/* SPDX-License-Identifier: Apache-2.0 */
/* certify.h - the self-test's operands and answers. */
#ifndef LIB_CERTIFY_CERTIFY_H
#define LIB_CERTIFY_CERTIFY_H

#include "kernels/certify/certify_args.h"

#include <stdint.h>

/** Words of each operand: FOLD_LANES, and a power of two. */
#define CERTIFY_N 256u
/** Of these the last ones have subnormals. */
#define CERTIFY_TINY 48u

/** The operands, three times CERTIFY_N words for each kernel. */
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

struct certify_answers {
    uint32_t floats[CERTIFY_FLOATS * CERTIFY_N];
    uint32_t bits[CERTIFY_BITS * CERTIFY_N];
    uint32_t groups[CERTIFY_GROUPS * CERTIFY_N];
    uint32_t native[512];
    uint16_t narrow2[CERTIFY_N];
    uint8_t narrow1[CERTIFY_N];
};

/** certify_words.c */
void certify_words_fill(struct certify_words *x);
/** certify_reference.c: the same texts, compiled as C. */
void certify_reference(const struct certify_words *x,
                       struct certify_answers *y);

#endif
