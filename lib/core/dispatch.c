/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.c - choose an implementation, and run or record the op. */
#include "lib/core/queue.h"

#include "lib/core/pool.h"
#include "lib/core/window.h"
#include "lib/plan/plan.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char *const names[OP_COUNT] = {
#define X(NAME, ...) #NAME,
    SSQ_OPS(X)
#undef X
};

const char *op_name(enum op_id id)
{
    return names[id];
}

enum op_id op_from_name(const char *name)
{
    for (int i = 0; i < OP_COUNT; i++)
        if (strcmp(names[i], name) == 0)
            return (enum op_id)i;
    return OP_COUNT;
}

/* For each op: the name of implementation i (NULL past the end), its check,
 * and its run. The macro keeps the typed lists typed. */
#define X(NAME, ...)                                                           \
    static const char *impl_name_##NAME(const struct op_table *t, unsigned i)  \
    {                                                                          \
        return t->NAME == NULL ? NULL : t->NAME[i].name;                       \
    }                                                                          \
    static bool admit_##NAME(const struct op_table *t, unsigned i,             \
                             const struct backend_device *d,                   \
                             const struct op *op, struct why *why)             \
    {                                                                          \
        const struct NAME##_impl *impl = &t->NAME[i];                          \
        return impl->check == NULL ||                                          \
               impl->check(d, (const struct NAME##_op *)op, why);              \
    }                                                                          \
    static bool last_##NAME(const struct op_table *t, unsigned i,              \
                            const struct backend_device *d,                    \
                            const struct op *op)                               \
    {                                                                          \
        const struct NAME##_impl *impl = &t->NAME[i];                          \
        return impl->last != NULL &&                                           \
               impl->last(d, (const struct NAME##_op *)op);                    \
    }                                                                          \
    static ssq_status run_##NAME(const struct op_table *t, unsigned i,         \
                                 struct backend_queue *q, const struct op *op) \
    {                                                                          \
        return t->NAME[i].run(q, (const struct NAME##_op *)op);                \
    }
SSQ_OPS(X)
#undef X

static const struct {
    const char *(*impl_name)(const struct op_table *, unsigned);
    bool (*admit)(const struct op_table *, unsigned,
                  const struct backend_device *, const struct op *,
                  struct why *);
    bool (*last)(const struct op_table *, unsigned,
                 const struct backend_device *, const struct op *);
    ssq_status (*run)(const struct op_table *, unsigned, struct backend_queue *,
                      const struct op *);
} ops[OP_COUNT] = {
#define X(NAME, ...) {impl_name_##NAME, admit_##NAME, last_##NAME, run_##NAME},
    SSQ_OPS(X)
#undef X
};

ssq_status command_run(const struct op_table *table,
                       struct backend_queue *queue, const struct command *c)
{
    struct fpenv env = fpenv_enter();
    ssq_status st = ops[c->op->id].run(table, c->impl, queue, c->op);
    fpenv_leave(env);
    return st;
}

/* Number i of all implementations on a device: the backend's, then the
 * plans. false past the end. */
static bool nth(const ssq_device *d, enum op_id op, unsigned i,
                struct choice *c)
{
    const struct op_table *t = d->backend->ops;
    unsigned own = 0;
    while (ops[op].impl_name(t, own) != NULL)
        own++;
    c->plan = i >= own;
    c->index = c->plan ? i - own : i;
    c->name =
        c->plan ? plan_name(d->backend, op, c->index) : ops[op].impl_name(t, i);
    return c->name != NULL;
}

/* Would the backend rather have the plan do it? A pin settles that. */
static bool is_last(const ssq_device *d, const struct op *op,
                    const struct choice *c)
{
    return !c->plan && d->pins[op->id][0] == '\0' &&
           ops[op->id].last(d->backend->ops, c->index, d->impl, op);
}

/* SSQ_ERR_UNSUPPORTED with why, or SSQ_ERR_NOMEM. */
static ssq_status admit(ssq_device *d, const struct op *op,
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
            ops[op->id].admit(d->backend->ops, c->index, d->impl, op, why);
    return admitted ? SSQ_OK : SSQ_ERR_UNSUPPORTED;
}

ssq_status dispatch(ssq_device *d, const struct op *op, struct choice *c)
{
    char refusals[ERROR_TEXT - 128] = "";
    size_t at = 0;
    for (int late = 0; late < 2; late++)
        for (unsigned i = 0; nth(d, op->id, i, c); i++) {
            struct why why = {""};
            if (is_last(d, op, c) != (late == 1))
                continue;
            ssq_status st = admit(d, op, c, &why);
            if (st != SSQ_ERR_UNSUPPORTED)
                return st;
            if (at < sizeof(refusals))
                at += (size_t)snprintf(refusals + at, sizeof(refusals) - at,
                                       "; %s: %s", c->name, why.text);
        }
    return error_set(SSQ_ERR_UNSUPPORTED, "%s: no implementation on %s%s",
                     op_name(op->id), d->props.name, at == 0 ? "" : refusals);
}

static ssq_status admit_one(void *queue, struct op *op)
{
    struct choice choice;
    return dispatch(((ssq_queue *)queue)->device, op, &choice);
}

/* Run a command, or record it with references of its own. */
static ssq_status hand_over(ssq_queue *queue, const struct command *c)
{
    ssq_graph *record = queue->capture != NULL ? queue->capture : queue->batch;
    if (record == NULL)
        return queue_submit(queue, c);
    ssq_status st = capture_mine(queue, op_name(c->op->id));
    if (st != SSQ_OK)
        return st;
    struct command copy = *c;
    copy.op = op_hold(c->op);
    if (copy.op == NULL)
        return SSQ_ERR_NOMEM;
    if (c->plan != NULL)
        object_get(plan_object(c->plan));
    return capture_record(record, &copy);
}

/* Run or record an op that fits a launch. */
static ssq_status enqueue_one(void *user, struct op *op)
{
    ssq_queue *queue = user;
    struct choice choice;
    ssq_status st = dispatch(queue->device, op, &choice);
    if (st == SSQ_ERR_UNSUPPORTED)
        return fallback_run(queue, op);
    if (st != SSQ_OK)
        return st;
    if (log_enabled("dispatch"))
        log_line(SSQ_LOG_DEBUG, "dispatch", "%s on %s: %s", op_name(op->id),
                 queue->device->props.name, choice.name);
    struct command c = {op, choice.index, NULL};
    if (choice.plan)
        st = plan_create(queue->device, op, choice.index, &c.plan);
    if (st == SSQ_ERR_UNSUPPORTED) /* scratch beyond a launch's limit */
        return fallback_run(queue, op);
    if (st != SSQ_OK)
        return st;
    st = hand_over(queue, &c);
    if (c.plan != NULL)
        object_put(plan_object(c.plan));
    return st;
}

/* All windows are admitted before the first one runs, and run all or none. */
ssq_status queue_enqueue(ssq_queue *queue, struct op *op)
{
    uint64_t bytes = pool_binding_bytes(queue->device->pool);
    if (window_fits(op, bytes))
        return enqueue_one(queue, op);
    ssq_status st = window_each(op, bytes, admit_one, queue);
    if (st == SSQ_ERR_UNSUPPORTED)
        return fallback_run(queue, op);
    if (st == SSQ_OK)
        st = queue_batch_begin(queue);
    if (st != SSQ_OK)
        return st;
    st = window_each(op, bytes, enqueue_one, queue);
    return queue_batch_end(queue, st);
}

const char *ssq_op_name(size_t i)
{
    return i < OP_COUNT ? names[i] : NULL;
}

const char *ssq_implementation_name(const ssq_device *device, const char *op,
                                    size_t i)
{
    enum op_id id = op == NULL ? OP_COUNT : op_from_name(op);
    if (device == NULL || id == OP_COUNT)
        return NULL;
    struct choice c;
    return i <= UINT_MAX && nth(device, id, (unsigned)i, &c) ? c.name : NULL;
}

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
    return SSQ_OK;
}
