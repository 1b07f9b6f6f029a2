/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - the cpu backend's own convolutions, for backend.c. */
#ifndef BACKENDS_CPU_CONV_CONV_H
#define BACKENDS_CPU_CONV_CONV_H

#include "lib/core/module/backend.h"

extern const struct conv_impl cpu_conv[];

#endif
