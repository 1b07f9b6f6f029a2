/* SPDX-License-Identifier: Apache-2.0 */
/* split.h - split masters as float32, and back. */
#ifndef LIB_AMP_SPLIT_H
#define LIB_AMP_SPLIT_H

#include "lib/core/core.h"

/** Write the float32 values of a bf16 parameter and its remainder. Waits. */
ssq_status split_read(ssq_queue *queue, const ssq_tensor *model,
                      const ssq_tensor *rest, const ssq_tensor *to);
/** Write the parameter, rounded half away from zero, and its remainder. Waits.
 */
ssq_status split_write(ssq_queue *queue, const ssq_tensor *from,
                       const ssq_tensor *model, const ssq_tensor *rest);

#endif
