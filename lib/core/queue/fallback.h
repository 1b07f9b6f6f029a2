/* SPDX-License-Identifier: Apache-2.0 */
/* fallback.h - ops that run on the host, because the device cannot do them. */
#ifndef LIB_CORE_QUEUE_FALLBACK_H
#define LIB_CORE_QUEUE_FALLBACK_H

#include "lib/core/core.h"

/** Free the reasons of fallbacks that were logged. */
void fallback_free_reasons(ssq_device *device);

#endif
