/* SPDX-License-Identifier: Apache-2.0 */
/* plan_build.c - choose and build a plan of an op. */
#include "lib/core/memory/pool.h"
#include "lib/core/queue/plan.h"
#include "lib/core/queue/window.h"

const char *plan_name(const struct backend *b, enum op_id op, unsigned i)
{
    return b->launch == NULL ? NULL : plan_lists[op].name(i);
}

/* Build plan i of an op, without scratch memory and kernels. */
static ssq_status plan_record(ssq_device *d, const struct op *op, unsigned i,
                              struct plan **out)
{
    struct plan *p = NULL;
    ssq_status st = plan_begin(d, op_name(op->id), &p);
    if (st != SSQ_OK)
        return st;
    struct fpenv env = fpenv_enter();
    plan_lists[op->id].build(i, p, op);
    fpenv_leave(env);
    st = plan_status(p);
    if (st != SSQ_OK) {
        object_put(plan_object(p));
        return st;
    }
    *out = p;
    return SSQ_OK;
}

ssq_status plan_admits(ssq_device *d, const struct op *op, unsigned i,
                       struct why *why)
{
    const struct backend_limits *l = pool_limits(d->pool);
    bool cut = window_by_plan(op) && !window_fits(op, l->binding_bytes);
    struct plan *p;
    if (!plan_lists[op->id].admit(i, l, op, why))
        return SSQ_ERR_UNSUPPORTED;
    if (l->iterations == 0 && !cut)
        return SSQ_OK;
    ssq_status st = plan_record(d, op, i, &p);
    if (st == SSQ_ERR_UNSUPPORTED && cut)
        (void)refuse(why, "%s", ssq_last_error());
    else if (st == SSQ_ERR_UNSUPPORTED) /* plan_create() will report it */
        return SSQ_OK;
    if (st != SSQ_OK)
        return st;
    const char *kernel;
    uint64_t loops = plan_loops(p, &kernel);
    if (l->iterations != 0 && loops >= l->iterations) {
        (void)refuse(why,
                     "an item of kernel %s may loop %llu times, the driver "
                     "ends its loops after %u",
                     kernel, (unsigned long long)loops, l->iterations);
        st = SSQ_ERR_UNSUPPORTED;
    }
    object_put(plan_object(p));
    return st;
}

ssq_status plan_try(ssq_device *d, const struct op *op, unsigned i)
{
    struct plan *p = NULL;
    ssq_status st = plan_record(d, op, i, &p);
    if (p != NULL)
        object_put(plan_object(p));
    return st;
}

ssq_status plan_create(ssq_device *d, const struct op *op, unsigned i,
                       struct plan **out)
{
    struct plan *p = NULL;
    ssq_status st = plan_record(d, op, i, &p);
    if (st == SSQ_OK)
        st = plan_place(p);
    if (st == SSQ_OK)
        *out = p;
    else if (p != NULL)
        object_put(plan_object(p));
    return st;
}
