/* SPDX-License-Identifier: Apache-2.0 */
/* scaler_args.h - the parameters of scaler_join.k, scaler_update.k, tick.k. */
#ifndef KERNELS_AMP_SCALER_ARGS_H
#define KERNELS_AMP_SCALER_ARGS_H

#include "kernels/dialect/dialect.h"

struct scaler_join_args {
    u32 record_at;
    u32 block_at;
};

struct scaler_update_args {
    u32 block_at;
    u32 set;
    u32 value;
};

/* A launch of tick is about n groups from first on. Its table has two words
 * for each: where its lr's and its momentum's schedule begin, or TICK_NONE. */
#define TICK_NONE 0xffffffffu
struct tick_args {
    u32 table_at;
    u32 record_at;
    u32 block_at;
    u32 control_at;
    u32 rates_at;
    u32 momenta_at;
    u32 first;
    u32 n;
    u32 kind;
    u32 scaled; /* there is a block */
    u32 unscaled;
    float factor;
};

#endif
