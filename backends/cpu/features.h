/* SPDX-License-Identifier: Apache-2.0 */
/* features.h - what this processor has, as it says itself. */
#ifndef BACKENDS_CPU_FEATURES_H
#define BACKENDS_CPU_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_features {
    bool avx2;        /* and FMA and F16C */
    bool avx512;      /* F, BW, CD, DQ and VL, and all of avx2 */
    bool avx512_bf16; /* sums of products of pairs; with avx512 */
    bool amd;         /* or Hygon: the maker tells how fast those sums are */
    bool amx_bf16; /* tiles; the system may still have to be asked for them */
    bool amx_fp16;
    /* bytes that a core has of each cache; l3 is shared. What the system does
     * not tell is what the smallest usual processor has */
    uint32_t l1, l2, l3;
    char model[64]; /* the processor's name; "" if it has none */
};

void cpu_features_find(struct cpu_features *f);

#endif
