/* SPDX-License-Identifier: Apache-2.0 */
/* origin.h - the float32 values that a 16-bit parameter was rounded from. Its
 * master begins with them, unless the parameter was written before the master
 * exists. */
#ifndef LIB_AMP_COMMON_ORIGIN_H
#define LIB_AMP_COMMON_ORIGIN_H

#include "lib/core/core.h"
#include "lib/core/queue/observer.h"

struct origin {
    struct object object;
    ssq_tensor *tensor;     /* f32, owned; contiguous */
    ssq_buffer *param;      /* the parameter's buffer; held */
    struct observer source; /* counts writes of the parameter */
    uint32_t writes;        /* the count when it was rounded */
    bool rounded;           /* origin_settle() was called */
};

/** Create an origin without values, for a contiguous parameter. */
ssq_status origin_create(const ssq_tensor *param, struct origin **origin);
/** Round the values into the parameter, and settle the origin. */
ssq_status origin_round(ssq_queue *queue, struct origin *origin,
                        const ssq_tensor *param);
/** Note that the parameter now has the rounded values. */
void origin_settle(struct origin *origin);
/** Return false for NULL, and if the parameter was written since. */
bool origin_fresh(const struct origin *origin);
/** NULL is allowed. */
void origin_put(struct origin *origin);

#endif
