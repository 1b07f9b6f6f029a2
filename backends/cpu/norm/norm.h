/* SPDX-License-Identifier: Apache-2.0 */
/* norm.h - the cpu backend's own batch norm. */
#ifndef BACKENDS_CPU_NORM_NORM_H
#define BACKENDS_CPU_NORM_NORM_H

#include "lib/core/module/backend.h"

extern const struct channel_norm_impl cpu_channel_norm[];
extern const struct channel_norm_backward_impl cpu_channel_norm_backward[];

#endif
