/* SPDX-License-Identifier: Apache-2.0 */
/* windows.c - launches for the windows of an op. */
#include "lib/plan/windows.h"

/* Context of call_each(). */
struct windows_call {
    struct plan *plan;
    plan_window_fn each;
    void *user;
};

static ssq_status call_each(void *user, struct op *op)
{
    const struct windows_call *c = user;
    c->each(c->plan, op, c->user);
    return plan_status(c->plan);
}

void plan_windows(struct plan *p, struct op *op, const struct window_cut *cut,
                  plan_window_fn each, void *user)
{
    struct windows_call c = {p, each, user};
    if (plan_failed(p))
        return;
    ssq_status st =
        window_cuts(op, cut, plan_limits(p)->binding_bytes, call_each, &c);
    if (st != SSQ_OK)
        plan_fail(p, st);
}
