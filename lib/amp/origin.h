/* SPDX-License-Identifier: Apache-2.0 */
/* origin.h - the float32 values that a parameter of 16 bits was rounded from:
 * its master begins with them, unless something else is written to the
 * parameter before there is a master. */
#ifndef LIB_AMP_ORIGIN_H
#define LIB_AMP_ORIGIN_H

#include "lib/core/core.h"
#include "lib/core/witness.h"

struct origin {
    struct object object;
    ssq_tensor *tensor;    /* f32, owned; contiguous */
    ssq_buffer *param;     /* whose writes are counted; held */
    struct witness source; /* of the parameter */
    uint32_t writes;       /* when it was rounded */
    bool rounded;          /* it has been */
};

/** One without values, for a contiguous parameter. */
ssq_status origin_create(const ssq_tensor *param, struct origin **origin);
/** Round it into the parameter: from now on it is what the parameter was
 *  rounded from. */
ssq_status origin_round(ssq_queue *queue, struct origin *origin,
                        const ssq_tensor *param);
/** The parameter has what was rounded: by origin_round, or elsewhere. */
void origin_settle(struct origin *origin);
/** False for NULL, and where the parameter was written since. */
bool origin_fresh(const struct origin *origin);
/** NULL is allowed. */
void origin_put(struct origin *origin);

#endif
