/* SPDX-License-Identifier: Apache-2.0 */
/* list_args.h - the parameters of list_map.k. */
#ifndef KERNELS_AMP_LIST_ARGS_H
#define KERNELS_AMP_LIST_ARGS_H

#include "kernels/amp/amp_list.h"

#define LIST_CONVERT 0u /* y = x */
#define LIST_UNSCALE 1u /* y = x / scale * factor */
#define LIST_ADD     2u /* y += x, of float32s */
#define LIST_ZERO    3u

#define LIST_CHUNK 4096u

struct list_args {
    u32 table_at;
    u32 block_at;
    u32 x_at;
    u32 y_at;
    STRUCT(row_table) list;
    u32 mode;
    u32 x_dtype;
    u32 y_dtype;
    u32 scaled; /* there is a block */
    float factor;
};

#endif
