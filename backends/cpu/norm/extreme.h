/* SPDX-License-Identifier: Apache-2.0 */
/* extreme.h - the cpu backend's own maxima and minima, and sums (sum.h). */
#ifndef BACKENDS_CPU_NORM_EXTREME_H
#define BACKENDS_CPU_NORM_EXTREME_H

#include "lib/core/module/backend.h"

extern const struct reduce_impl cpu_reduce[];

#endif
