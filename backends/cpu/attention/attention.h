/* SPDX-License-Identifier: Apache-2.0 */
/* attention.h - attention, for backend.c. */
#ifndef BACKENDS_CPU_ATTENTION_ATTENTION_H
#define BACKENDS_CPU_ATTENTION_ATTENTION_H

#include "lib/core/module/backend.h"

extern const struct attention_impl cpu_attention[];
extern const struct attention_backward_impl cpu_attention_backward[];

#endif
