/* SPDX-License-Identifier: Apache-2.0 */
/* ranks_norm.h - batch norm with statistics over the elements of all ranks. */
#ifndef LIB_COMM_RANKS_NORM_H
#define LIB_COMM_RANKS_NORM_H

#include "lib/op/norm/channel_norm.h"

extern const struct ranks_norm norm_over_ranks;

#endif
