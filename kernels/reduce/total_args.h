/* SPDX-License-Identifier: Apache-2.0 */
/* total_args.h - the parameters of total.k. */
#ifndef KERNELS_REDUCE_TOTAL_ARGS_H
#define KERNELS_REDUCE_TOTAL_ARGS_H

#include "kernels/dialect/dialect.h"

struct total_args {
    u32 x_at;
    u32 divisor_at;
    u32 y_at;
    u32 n;
    u32 chunk; /* each makes an element of y */
    u32 tasks;
    u32 divide;  /* by divisor[0] as well */
    float count; /* the divisor of every sum */
};

#endif
