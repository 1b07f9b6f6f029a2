/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - elements on their way between a file and a device, a few megabytes
 * at a time. */
#ifndef LIB_CHECKPOINT_VALUES_H
#define LIB_CHECKPOINT_VALUES_H

#include "lib/checkpoint/safetensors.h"
#include "lib/core/core.h"

/** Bytes of elements from this machine's order to little-endian, or back. */
void values_little(void *bytes, size_t n, unsigned element);

/** The dtype, shape and axes that values_read needs.
 *  @return INVALID, UNSUPPORTED, as ssq_safetensors_read; *place: the tensor's
 *          view, its dimensions in the order of the file's */
ssq_status values_fit(const ssq_safetensors *file, const struct entry *e,
                      const int *axes, const ssq_tensor *tensor,
                      struct view *place);
/** Write a tensor of the file to a place that fits. Waits. */
ssq_status values_read(ssq_queue *queue, const ssq_safetensors *file,
                       const struct entry *e, const struct view *place);

#endif
