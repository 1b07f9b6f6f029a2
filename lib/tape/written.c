/* SPDX-License-Identifier: Apache-2.0 */
/* written.c - detect inputs and parameters that are written between a forward
 * pass and its backward.
 *
 * Memory that the tape owns is written only by its ops. Other memory gets an
 * observer at its first use in a pass. A node stores the number of writes at
 * the time of its call. Its backward compares this number for each operand that
 * it reads, and ignores all others. */
#include <sesqui/ops/batch_norm.h>

#include "lib/tape/params.h"
#include "lib/tape/tape.h"

#include <string.h>

/* Return the value that owns the memory of a view. */
static uint32_t written_root_of(const ssq_tape *t, uint32_t id)
{
    while (value_of(t, id)->base != NONE)
        id = value_of(t, id)->base;
    return id;
}

static void watch(ssq_tape *t, struct value *v)
{
    if (v->observer.buffer != NULL)
        return;
    observer_start(&v->observer, &v->is.tensor.view);
    v->watched = t->watched;
    t->watched = v;
}

uint32_t value_writes(ssq_tape *t, uint32_t id)
{
    id = written_root_of(t, id);
    struct value *v = value_of(t, id);
    if (v->is.memory.buffer != NULL || v->state != VALUE_LIVE)
        return 0;
    watch(t, v);
    return atomic_load(&v->observer.writes);
}

void written_reset(ssq_tape *t)
{
    for (struct value *v = t->watched; v != NULL; v = v->watched)
        observer_stop(&v->observer);
    t->watched = NULL;
}

/* Return the value that holds a tensor of the options. */
static struct value *held_by(const ssq_tensor *tensor)
{
    char *at = (char *)(uintptr_t)tensor;
    return (struct value *)(void *)(at - offsetof(struct value, is.tensor));
}

/* Return the slot of the forward call for a tensor at offset `at`, or NULL. */
static const struct tape_slot *option_at(const struct tape_op *op, size_t at)
{
    for (size_t i = 0; i < op->nslots; i++)
        if (op->slots[i].role == SLOT_TENSOR && op->slots[i].at == at)
            return &op->slots[i];
    return NULL;
}

void written_record(ssq_tape *t, struct node *n, const void *args)
{
    for (unsigned i = 0; i < n->op->nvars; i++)
        n->writes[i] = n->var[i] == NONE ? 0 : value_writes(t, n->var[i]);
    for (size_t i = 0; i < n->op->nslots; i++) {
        const struct tape_slot *s = &n->op->slots[i];
        const ssq_tensor *given = NULL;
        if (s->role == SLOT_TENSOR)
            memcpy(&given, (const char *)args + s->at, sizeof(given));
        if (given == NULL)
            continue;
        struct value *v = held_by(given);
        watch(t, v);
        v->writes = atomic_load(&v->observer.writes);
    }
}

/* Set the error text. It names the line that put the tensor on the tape, and
 * the op that wrote it. */
static ssq_status written_tell(ssq_tape *t, const struct value *v,
                               const char *what)
{
    struct observer o;
    observer_read(&v->observer, &o);
    bool is_param = v->param != NONE;
    if (!is_param && v->where == NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s, a parameter's cast, was made anew between "
                         "forward and backward: the parameter was written",
                         what);
    return error_set(
        SSQ_ERR_INVALID,
        "%s, %s%s%s, was written between forward and backward: by the op \"%s\""
        "%s",
        what, is_param ? "the parameter \"" : "of ",
        is_param ? param_of(t->params, v->param)->name : v->where,
        is_param ? "\"" : "", op_name(o.by),
        o.queue == t->queue ? "" : " on another queue");
}

static const char *written_name_of(const struct tape_op *op, unsigned i)
{
    for (size_t k = 0; k < op->nslots; k++)
        if (op->slots[k].role == SLOT_VAR && op->slots[k].index == i)
            return op->slots[k].name;
    return "x";
}

ssq_status written_check_value(ssq_tape *t, uint32_t id, uint32_t writes,
                               const char *what)
{
    return value_writes(t, id) == writes
               ? SSQ_OK
               : written_tell(t, value_of(t, written_root_of(t, id)), what);
}

ssq_status written_check(ssq_tape *t, const struct node *n, unsigned i)
{
    return n->var[i] == NONE ? SSQ_OK
                             : written_check_value(t, n->var[i], n->writes[i],
                                                   written_name_of(n->op, i));
}

bool slot_is_written(const struct tape_op *op, const struct tape_slot *s,
                     const void *args)
{
    if (strcmp(s->name, "mask") == 0)
        return strcmp(op->name, "dropout") == 0;
    return strncmp(s->name, "running_", 8) == 0 &&
           ((const ssq_batch_norm_args *)args)->training;
}

ssq_status written_check_option(ssq_tape *t, const struct node *n, size_t at)
{
    const char *args = node_args(t, n);
    const struct tape_slot *s = option_at(n->op, at);
    const ssq_tensor *given = NULL;
    if (s == NULL || slot_is_written(n->op, s, args))
        return SSQ_OK;
    memcpy(&given, args + at, sizeof(given));
    if (given == NULL)
        return SSQ_OK;
    const struct value *v = held_by(given);
    return atomic_load(&v->observer.writes) == v->writes
               ? SSQ_OK
               : written_tell(t, v, s->name);
}
