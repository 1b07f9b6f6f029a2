/* SPDX-License-Identifier: Apache-2.0 */
/* plans.c - the table of all plans. */
#include "lib/core/queue/plan.h"

#define X(NAME, ...)                                                           \
    static const char *name_##NAME(unsigned i)                                 \
    {                                                                          \
        return NAME##_plans[i].name;                                           \
    }                                                                          \
    static bool admit_##NAME(unsigned i, const struct backend_limits *l,       \
                             const struct op *op, struct why *why)             \
    {                                                                          \
        return NAME##_plans[i].check == NULL ||                                \
               NAME##_plans[i].check(l, (const struct NAME##_op *)op, why);    \
    }                                                                          \
    static void build_##NAME(unsigned i, struct plan *p, const struct op *op)  \
    {                                                                          \
        NAME##_plans[i].build(p, (const struct NAME##_op *)op);                \
    }
SSQ_OPS(X)
#undef X

const struct plan_list plan_lists[OP_COUNT] = {
#define X(NAME, ...) {name_##NAME, admit_##NAME, build_##NAME},
    SSQ_OPS(X)
#undef X
};
