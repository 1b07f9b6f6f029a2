/* SPDX-License-Identifier: Apache-2.0 */
/* cross_entropy.h - the cpu backend's own cross-entropy. */
#ifndef BACKENDS_CPU_NORM_CROSS_ENTROPY_H
#define BACKENDS_CPU_NORM_CROSS_ENTROPY_H

#include "lib/core/module/backend.h"

extern const struct cross_entropy_impl cpu_cross_entropy[];

#endif
