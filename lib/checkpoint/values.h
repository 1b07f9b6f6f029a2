/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - copy elements between a file and a device, a few megabytes at a
 * time. */
#ifndef LIB_CHECKPOINT_VALUES_H
#define LIB_CHECKPOINT_VALUES_H

#include "lib/checkpoint/safetensors.h"
#include "lib/core/core.h"

/** Convert elements from this machine's byte order to little-endian, or
 *  back. */
void values_little(void *bytes, size_t n, unsigned element);

/** Check the dtype, the shape and the axes for values_read().
 *  @param place  out: the tensor's view, with its dimensions in the file's
 *                order
 *  @return SSQ_ERR_INVALID, SSQ_ERR_UNSUPPORTED as ssq_safetensors_read */
ssq_status values_fit(const ssq_safetensors *file,
                      const struct safetensors_entry *e, const int *axes,
                      const ssq_tensor *tensor, struct view *place);
/** Read a tensor of the file to a place that values_fit() has checked.
 *  Waits. */
ssq_status values_read(ssq_queue *queue, const ssq_safetensors *file,
                       const struct safetensors_entry *e,
                       const struct view *place);

#endif
