/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm.h - the cpu backend's own layer norm and RMS norm. */
#ifndef BACKENDS_CPU_NORM_LAYER_NORM_H
#define BACKENDS_CPU_NORM_LAYER_NORM_H

#include "lib/core/module/backend.h"

extern const struct layer_norm_impl cpu_layer_norm[];
extern const struct layer_norm_backward_impl cpu_layer_norm_backward[];

#endif
