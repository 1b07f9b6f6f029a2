/* SPDX-License-Identifier: Apache-2.0 */
/* draw.h - a case's stream of random numbers, and the inputs drawn from it. */
#ifndef CONFORMANCE_DRAW_H
#define CONFORMANCE_DRAW_H

#include "conformance/suite.h"

struct draws {
    uint64_t random; /* the stream's state: the caller sets it for each run */
    bool flushed;    /* the case has no float32 subnormals */
    struct drawn *kept;
};

/** Before the first run of a case. */
void draws_begin(struct draws *d, bool flushed);
/** The next number, uniform in [0, 1). */
double draw_uniform(struct draws *d);
/** The next n elements of a dtype, as raw bits. All runs of a case draw the
 * same elements, so the elements of the first run are kept for the others. */
void draw_bits(struct draws *d, ssq_dtype dtype, enum fill fill, uint32_t *bits,
               size_t n);

#endif
