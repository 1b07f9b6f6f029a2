/* SPDX-License-Identifier: Apache-2.0 */
/* features.h - the instructions and caches that this processor reports. */
#ifndef BACKENDS_CPU_DEVICE_FEATURES_H
#define BACKENDS_CPU_DEVICE_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_features {
    bool avx2;        /* and FMA and F16C */
    bool avx512;      /* F, BW, CD, DQ and VL, and all of avx2 */
    bool avx512_bf16; /* sums of products of pairs; with avx512 */
    bool amd;         /* or Hygon: on these, such sums are fast */
    bool amx_bf16;    /* tiles; the system may still have to permit them */
    bool amx_fp16;
    /* bytes of each cache for a core; l3 is shared. If the system does not
     * report one, the value of the smallest usual processor */
    uint32_t l1, l2, l3;
    char model[64]; /* the processor's name; "" if it has none */
};

void cpu_features_find(struct cpu_features *f);

#endif
