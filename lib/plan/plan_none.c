/* SPDX-License-Identifier: Apache-2.0 */
/* plan_none.c - the ops without plans. */
#include "lib/core/queue/plan.h"

#define NONE(NAME) const struct NAME##_plan NAME##_plans[] = {{NULL}};
/* transfers: each backend implements them */
NONE(upload)
NONE(download)
