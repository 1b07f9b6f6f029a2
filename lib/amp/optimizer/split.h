/* SPDX-License-Identifier: Apache-2.0 */
/* split.h - split masters as float32, and back. */
#ifndef LIB_AMP_OPTIMIZER_SPLIT_H
#define LIB_AMP_OPTIMIZER_SPLIT_H

#include "lib/core/core.h"

/** Load the remainder of element i. Its low byte comes first in memory, as in
 *  files, also on a big-endian processor. */
static inline uint32_t split_load(const uint8_t *rest, int64_t i)
{
    return rest[2 * i] | (uint32_t)rest[2 * i + 1] << 8;
}

static inline void split_store(uint8_t *rest, int64_t i, uint32_t value)
{
    rest[2 * i] = (uint8_t)value;
    rest[2 * i + 1] = (uint8_t)(value >> 8);
}

/** Write the float32 values of a bf16 parameter and its remainder. Waits. */
ssq_status split_read(ssq_queue *queue, const ssq_tensor *model,
                      const ssq_tensor *rest, const ssq_tensor *to);
/** Write the parameter, rounded half away from zero, and its remainder. Waits.
 */
ssq_status split_write(ssq_queue *queue, const ssq_tensor *from,
                       const ssq_tensor *model, const ssq_tensor *rest);

#endif
