/* SPDX-License-Identifier: Apache-2.0 */
/* unary.h - the cpu backend's own y = f(x), and dx = dy f'(x). */
#ifndef BACKENDS_CPU_ELEMENTWISE_UNARY_H
#define BACKENDS_CPU_ELEMENTWISE_UNARY_H

#include "lib/core/module/backend.h"

extern const struct unary_impl cpu_unary[];
extern const struct unary_backward_impl cpu_unary_backward[];

#endif
