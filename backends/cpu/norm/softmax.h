/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.h - the cpu backend's own softmax. */
#ifndef BACKENDS_CPU_NORM_SOFTMAX_H
#define BACKENDS_CPU_NORM_SOFTMAX_H

#include "lib/core/module/backend.h"

extern const struct softmax_impl cpu_softmax[];
extern const struct softmax_backward_impl cpu_softmax_backward[];

#endif
