/* SPDX-License-Identifier: Apache-2.0 */
/* plan_none.c - the ops that have no plan. */
#include "lib/plan/plan.h"

#define NONE(NAME) const struct NAME##_plan NAME##_plans[] = {{NULL}};
/* transfers: every backend does its own */
NONE(upload)
NONE(download)
