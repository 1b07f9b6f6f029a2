/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.c - choose the implementation of an op on a device. */
#include "lib/core/queue/dispatch.h"

#include "lib/core/memory/pool.h"
#include "lib/core/module/implementation.h"
#include "lib/core/queue/plan.h"
#include "lib/core/queue/window.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

bool choice_nth(const ssq_device *d, enum op_id op, unsigned i,
                struct choice *c)
{
    const struct op_table *t = d->backend->ops;
    unsigned own = 0;
    while (implementation_name(t, op, own) != NULL)
        own++;
    c->plan = i >= own;
    c->index = c->plan ? i - own : i;
    c->name = c->plan ? plan_name(d->backend, op, c->index)
                      : implementation_name(t, op, i);
    return c->name != NULL;
}

/* True if the backend prefers that a plan does the op. False if an
 * implementation is pinned. */
static bool is_last(const ssq_device *d, const struct op *op,
                    const struct choice *c)
{
    return !c->plan && d->pins[op->id][0] == '\0' &&
           implementation_last(d->backend->ops, c->index, d->impl, op);
}

/* True if an implementation of the backend can see all operands. It binds each
 * operand once, as a launch does, unless it is host code. */
static bool sees_all(const ssq_device *d, const struct op *op, struct why *why)
{
    const struct backend_limits *l = pool_limits(d->pool);
    if (l->whole || !window_by_plan(op) || window_fits(op, l->binding_bytes))
        return true;
    return refuse(why, "operands of more than %llu bytes are left to the plan",
                  (unsigned long long)l->binding_bytes);
}

/* If loops are limited, a plan must be built to check it, which may fail with
 * SSQ_ERR_NOMEM. That is not a refusal: it must not select a slower
 * implementation. */
ssq_status choice_admits(ssq_device *d, const struct op *op,
                         const struct choice *c, struct why *why)
{
    const char *pin = d->pins[op->id];
    bool admitted;
    if (pin[0] != '\0' && strcmp(pin, c->name) != 0)
        admitted = refuse(why, "%s is pinned", pin);
    else if (c->plan)
        return plan_admits(d, op, c->index, why);
    else
        admitted =
            sees_all(d, op, why) &&
            implementation_admits(d->backend->ops, c->index, d->impl, op, why);
    return admitted ? SSQ_OK : SSQ_ERR_UNSUPPORTED;
}

/* Choose the implementation that the op prefers, if it accepts the op, even if
 * it calls itself last. Otherwise go through the list twice. The first pass
 * skips implementations that call themselves last, and the second tries only
 * these. The error's text contains the refusals of both passes, as far as they
 * fit. */
ssq_status dispatch(ssq_device *d, const struct op *op, struct choice *c)
{
    char refusals[ERROR_TEXT - 128] = "";
    size_t at = 0;
    if (op->prefer != 0 && choice_nth(d, op->id, op->prefer - 1u, c)) {
        ssq_status st = choice_admits(d, op, c, NULL);
        if (st != SSQ_ERR_UNSUPPORTED)
            return st;
    }
    for (int late = 0; late < 2; late++)
        for (unsigned i = 0; choice_nth(d, op->id, i, c); i++) {
            struct why why = {""};
            if (is_last(d, op, c) != (late == 1))
                continue;
            ssq_status st = choice_admits(d, op, c, &why);
            if (st != SSQ_ERR_UNSUPPORTED)
                return st;
            if (at < sizeof(refusals))
                at += (size_t)snprintf(refusals + at, sizeof(refusals) - at,
                                       "; %s: %s", c->name, why.text);
        }
    return error_set(SSQ_ERR_UNSUPPORTED, "%s: no implementation on %s%s",
                     op_name(op->id), d->props.name, at == 0 ? "" : refusals);
}

const char *ssq_implementation_name(const ssq_device *device, const char *op,
                                    size_t i)
{
    enum op_id id = op == NULL ? OP_COUNT : op_from_name(op);
    if (device == NULL || id == OP_COUNT)
        return NULL;
    struct choice c;
    return i <= UINT_MAX && choice_nth(device, id, (unsigned)i, &c) ? c.name
                                                                    : NULL;
}

/* NULL removes the pin. Not locked: a caller must pin before other threads use
 * the device. */
ssq_status ssq_implementation_pin(ssq_device *device, const char *op,
                                  const char *impl)
{
    if (device == NULL || op == NULL)
        return error_set(SSQ_ERR_INVALID, "implementation_pin: %s is NULL",
                         device == NULL ? "device" : "op");
    enum op_id id = op_from_name(op);
    if (id == OP_COUNT)
        return error_set(SSQ_ERR_NOT_FOUND,
                         "implementation_pin: no op \"%.32s\"", op);
    const char *name = impl == NULL ? "" : NULL;
    for (size_t i = 0; name == NULL; i++) {
        const char *known = ssq_implementation_name(device, op, i);
        if (known == NULL)
            return error_set(SSQ_ERR_NOT_FOUND,
                             "implementation_pin: %s has no implementation "
                             "\"%.32s\" on %s",
                             op, impl, device->props.name);
        if (strcmp(known, impl) == 0)
            name = known;
    }
    snprintf(device->pins[id], sizeof(device->pins[id]), "%s", name);
    device->pinned++;
    return SSQ_OK;
}
