/* SPDX-License-Identifier: Apache-2.0 */
/* fallback.h - ops that run on the host, because the device cannot do them. */
#ifndef LIB_CORE_QUEUE_FALLBACK_H
#define LIB_CORE_QUEUE_FALLBACK_H

#include "lib/core/core.h"

/** Run an op that dispatch() has just refused on the host, if the device was
 *  opened with host_fallback. Waits.
 *  @return SSQ_ERR_UNSUPPORTED the op must not run on the host; the error text
 *          still has the refusals, unless a graph is being captured */
ssq_status fallback_run(ssq_queue *queue, const struct op *op);

/** Free the reasons of fallbacks that were logged. */
void fallback_free_reasons(ssq_device *device);

#endif
