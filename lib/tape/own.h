/* SPDX-License-Identifier: Apache-2.0 */
/* own.h - backward functions of ops that vars.list marks as OWN: they need more
 * than a single call. Views have static backward functions in views.c and
 * parts.c. */
#ifndef LIB_TAPE_OWN_H
#define LIB_TAPE_OWN_H

#include "lib/tape/tape.h"

own_fn own_scale, own_gemm, own_gemm_batched, own_gather_rows, own_where;
own_fn own_prod; /* own_prod.c */

#endif
