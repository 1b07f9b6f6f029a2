/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - the cpu backend's own pooling. */
#ifndef BACKENDS_CPU_CONV_POOL_H
#define BACKENDS_CPU_CONV_POOL_H

#include "lib/core/module/backend.h"

extern const struct pool_impl cpu_pool[];

#endif
