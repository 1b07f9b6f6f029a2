/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c - create optimizers, groups and parameters.
 *
 * An optimizer has no device memory before its first use, because the sizes of
 * its buffers depend on all groups and parameters. These can be added until
 * then, and not later. */
#include "lib/amp/optimizer/optimizer.h"
#include "lib/comm/parts.h"

#include <stdio.h>
#include <string.h>

/* A group has no reference count. Callers hold a plain pointer, which is valid
 * as long as the optimizer exists. */
static void optimizer_group_free(ssq_group *g)
{
    schedule_free(&g->schedule[SCHEDULE_LR]);
    schedule_free(&g->schedule[SCHEDULE_MOMENTUM]);
    mem_free(g);
}

void optimizer_cut(ssq_optimizer *o, size_t n)
{
    state_free(o->state);
    o->state = NULL;
    if (n < o->n)
        optimizer_unindex(o, n);
    while (o->n > n) {
        const struct parameter *p = &o->params[--o->n];
        object_put(&p->param->object);
        object_put(&p->grad->object);
        origin_put(p->origin);
        mem_free(p->place);
        mem_free(p->name);
    }
}

void optimizer_begin_with(ssq_optimizer *o, struct parameter *p,
                          struct origin *origin)
{
    object_get(&origin->object);
    origin_put(p->origin);
    p->origin = origin;
    o->origins = true;
}

void optimizer_drop_origins(ssq_optimizer *o)
{
    for (size_t i = 0; i < o->n && o->origins; i++) {
        origin_put(o->params[i].origin);
        o->params[i].origin = NULL;
    }
    o->origins = false;
}

/* Does not wait: enqueued work holds the buffers and lists that it uses. If
 * creation has failed, the optimizer has neither groups nor state. */
static void optimizer_free(struct object *object)
{
    ssq_optimizer *o = (ssq_optimizer *)object;
    optimizer_cut(o, 0);
    names_free(&o->names);
    mem_free(o->params);
    for (ssq_group *g = o->groups, *next; g != NULL; g = next) {
        next = g->next;
        optimizer_group_free(g);
    }
    scaler_put(o->at.scaler);
    comm_put(o->comm);
    object_put(&o->device->object);
    mem_free(o);
}

/* A struct of another size was compiled with another header: none of its
 * members can be used. */
static ssq_status check_options(const ssq_optimizer_options *options,
                                const char *what)
{
    if (options != NULL && options->struct_size != sizeof(*options))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         options->struct_size, sizeof(*options));
    return SSQ_OK;
}

/* Check the fields that only the whole optimizer has; in a group's options they
 * are ignored. The comparison refuses NaN and accepts INFINITY, which requests
 * the norm and never clips. A flat master is one float32 buffer, so each
 * parameter must have a position in it. */
static ssq_status optimizer_check_whole(const ssq_optimizer_options *o)
{
    if (!optimizer_clip_norm_valid(o->clip_norm))
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_create: clip_norm is %g, expected 0 or "
                         "more, and a float32 or INFINITY",
                         o->clip_norm);
    if ((unsigned)o->master > SSQ_MASTER_NONE)
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_create: master is %d, not a valid kind",
                         (int)o->master);
    if (o->flat_master && o->master != SSQ_MASTER_F32)
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_create: flat_master needs float32 masters");
    return SSQ_OK;
}

/* The stored options have a default in place of each -1. A group's index is its
 * position in the control block, so the list is in the order of the calls, with
 * the default group first. */
static ssq_status add_group(ssq_optimizer *o,
                            const ssq_optimizer_options *options,
                            const char *what, ssq_group **group)
{
    ssq_optimizer_options defaults = SSQ_OPTIMIZER_INIT;
    if (options != NULL)
        defaults = *options;
    ssq_status st = options_resolve(o->kind, what, &defaults);
    if (st != SSQ_OK)
        return st;
    ssq_group *g = mem_alloc(sizeof(*g));
    if (g == NULL)
        return error_nomem(what, sizeof(*g));
    g->optimizer = o;
    g->index = o->n_groups++;
    g->options = defaults;
    *o->groups_end = g;
    o->groups_end = &g->next;
    if (group != NULL)
        *group = g;
    return SSQ_OK;
}

/* The options are checked twice: here for the fields of the whole optimizer,
 * and in add_group() for those of the default group, which has the same struct.
 */
ssq_status ssq_optimizer_create(ssq_device *device, const char *kind,
                                const ssq_optimizer_options *options,
                                ssq_optimizer **optimizer)
{
    if (device == NULL || kind == NULL || optimizer == NULL)
        return error_set(SSQ_ERR_INVALID, "optimizer_create: %s is NULL",
                         device == NULL ? "device"
                         : kind == NULL ? "kind"
                                        : "optimizer");
    ssq_optimizer_options whole = SSQ_OPTIMIZER_INIT;
    uint32_t k = 0;
    ssq_status st = check_options(options, "optimizer_create");
    if (st == SSQ_OK && options != NULL)
        whole = *options;
    if (st == SSQ_OK)
        st = optimizer_kind_of(kind, "optimizer_create", &k);
    if (st == SSQ_OK)
        st = optimizer_check_whole(&whole);
    if (st == SSQ_OK)
        st = device_check(device, "optimizer_create");
    if (st != SSQ_OK)
        return st;
    ssq_optimizer *o = mem_alloc(sizeof(*o));
    if (o == NULL)
        return error_nomem("optimizer_create", sizeof(*o));
    object_init(&o->object, optimizer_free);
    object_get(&device->object);
    o->device = device;
    o->kind = k;
    o->options = whole;
    o->groups_end = &o->groups;
    o->at.factor = 1.0;
    st = add_group(o, options, "optimizer_create", NULL);
    if (st == SSQ_OK)
        *optimizer = o;
    else
        object_put(&o->object);
    return st;
}

/* Graphs may hold the optimizer, because their launches change its stages. It
 * is then freed with the last of them. */
void ssq_optimizer_destroy(ssq_optimizer **optimizer)
{
    if (optimizer == NULL || *optimizer == NULL)
        return;
    object_put(&(*optimizer)->object);
    *optimizer = NULL;
}

/* Refuse after the first use: memory was laid out and words were written for
 * the groups and parameters of that time. */
static ssq_status check_open(const ssq_optimizer *o, const char *what)
{
    if (o == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: optimizer is NULL", what);
    if (o->state != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the optimizer's state was made already, by its "
                         "first check, step or visit",
                         what);
    return SSQ_OK;
}

ssq_status ssq_optimizer_group(ssq_optimizer *optimizer,
                               const ssq_optimizer_options *options,
                               ssq_group **group)
{
    ssq_status st = check_open(optimizer, "optimizer_group");
    if (st == SSQ_OK && group == NULL)
        st = error_set(SSQ_ERR_INVALID, "optimizer_group: group is NULL");
    if (st == SSQ_OK)
        st = check_options(options, "optimizer_group");
    return st == SSQ_OK
               ? add_group(optimizer, options, "optimizer_group", group)
               : st;
}

/* Tensors must be contiguous: a step numbers the elements of a parameter, its
 * gradient and its slots alike, and cuts them into pieces at the same numbers.
 */
static ssq_status optimizer_check_tensor(const ssq_optimizer *o,
                                         const char *name, const ssq_tensor *t,
                                         const char *what)
{
    if (t == NULL)
        return error_set(SSQ_ERR_INVALID, "optimizer_add: %s of %.40s is NULL",
                         what, name);
    if (t->view.buffer->device != o->device)
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_add: %s of %.40s is on %s, the optimizer "
                         "on %s",
                         what, name, t->view.buffer->device->props.name,
                         o->device->props.name);
    if (!dtype_is_float(t->view.dtype))
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_add: %s of %.40s is %s, expected f32, f16, "
                         "bf16",
                         what, name, ssq_dtype_name(t->view.dtype));
    if (!view_contiguous(&t->view))
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_add: %s of %.40s is not contiguous", what,
                         name);
    return SSQ_OK;
}

/* A split master is a bf16 parameter and 16 more bits, the lower half of a
 * float32. An f16 value has no such half. A float32 parameter is its own master
 * in any case. */
static ssq_status optimizer_check_pair(const ssq_optimizer *o, const char *name,
                                       const ssq_tensor *param,
                                       const ssq_tensor *grad)
{
    ssq_status st = optimizer_check_tensor(o, name, param, "param");
    if (st == SSQ_OK)
        st = optimizer_check_tensor(o, name, grad, "grad");
    if (st == SSQ_OK)
        st = check_same_shape(param, "param", grad, "grad", "optimizer_add");
    if (st == SSQ_OK && view_overlap(&param->view, &grad->view))
        st = error_set(SSQ_ERR_INVALID,
                       "optimizer_add: param and grad of %.40s overlap", name);
    if (st == SSQ_OK)
        st = optimizer_check_apart(o, name, param, "param");
    if (st == SSQ_OK)
        st = optimizer_check_apart(o, name, grad, "grad");
    if (st == SSQ_OK && o->options.master == SSQ_MASTER_SPLIT &&
        param->view.dtype == SSQ_F16)
        st = error_set(SSQ_ERR_INVALID,
                       "optimizer_add: %.40s is f16: split masters are for "
                       "bf16 (and f32) parameters",
                       name);
    return st;
}

/* The capacity doubles, so that adding n parameters copies at most 2 n. */
static ssq_status optimizer_make_room(ssq_optimizer *o)
{
    ssq_status st = names_reserve(&o->names, "optimizer_add");
    if (st != SSQ_OK || o->n < o->room)
        return st;
    size_t room = o->room == 0 ? 16 : 2 * o->room;
    struct parameter *p = mem_alloc_array(room, sizeof(*p));
    if (p == NULL)
        return error_nomem("optimizer_add", room * sizeof(*p));
    if (o->n > 0)
        memcpy(p, o->params, o->n * sizeof(*p));
    mem_free(o->params);
    o->params = p;
    o->room = room;
    return SSQ_OK;
}

/* A float32 parameter needs a master only if the group's masters are one flat
 * buffer. */
static uint32_t master_kind_of(const ssq_optimizer *o, ssq_dtype dtype)
{
    if (dtype == SSQ_F32)
        return o->options.flat_master ? MASTER_F32 : MASTER_SELF;
    switch (o->options.master) {
    case SSQ_MASTER_SPLIT:
        return MASTER_SPLIT;
    case SSQ_MASTER_NONE:
        return MASTER_NONE;
    default:
        return MASTER_F32;
    }
}

/* Copy the name, and make our own tensors on the caller's buffers. The caller
 * may destroy its tensors, and the memory stays. If this fails, nothing is
 * held. */
static ssq_status optimizer_hold(const char *name, const ssq_tensor *param,
                                 const ssq_tensor *grad, struct parameter *p)
{
    const struct view *v = &param->view;
    p->name = mem_strdup(name);
    p->place = mem_alloc_array(2, sizeof(*p->place));
    ssq_status st = p->name == NULL || p->place == NULL
                        ? error_nomem("optimizer_add", strlen(name) + 1)
                        : SSQ_OK;
    if (st == SSQ_OK)
        st = ssq_tensor_reshape(param, v->rank, v->shape, &p->param);
    if (st == SSQ_OK)
        st = ssq_tensor_reshape(grad, v->rank, v->shape, &p->grad);
    if (st != SSQ_OK) {
        ssq_tensor_destroy(&p->param);
        mem_free(p->place);
        mem_free(p->name);
    }
    return st;
}

/* Everything that can fail comes before the parameter is counted, so a refused
 * parameter leaves no trace. The limit keeps the number of views of all
 * parameters, and of words of the table, within 31 bits. The gradient's tensor
 * has the same shape as the parameter's. */
ssq_status ssq_optimizer_add(ssq_optimizer *optimizer, const char *name,
                             const ssq_tensor *param, const ssq_tensor *grad,
                             ssq_group *group)
{
    ssq_optimizer *o = optimizer;
    ssq_status st = check_open(o, "optimizer_add");
    if (st != SSQ_OK)
        return st;
    if (name == NULL || name[0] == '\0')
        return error_set(SSQ_ERR_INVALID, "optimizer_add: name is %s",
                         name == NULL ? "NULL" : "empty");
    if (group != NULL && group->optimizer != o)
        return error_set(
            SSQ_ERR_INVALID,
            "optimizer_add: the group of %.40s belongs to another optimizer",
            name);
    if (optimizer_find(o, name) != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_add: the name %.40s is taken", name);
    st = optimizer_check_pair(o, name, param, grad);
    if (st == SSQ_OK && o->n >= INT32_MAX / (PARAM_VIEWS * TABLE_WORDS))
        st = error_set(SSQ_ERR_UNSUPPORTED, "optimizer_add: %zu parameters",
                       o->n);
    if (st == SSQ_OK)
        st = optimizer_make_room(o);
    if (st != SSQ_OK)
        return st;
    struct parameter p = {.id = name_hash(name),
                          .group = group == NULL ? o->groups : group,
                          .master_kind = master_kind_of(o, param->view.dtype)};
    st = optimizer_hold(name, param, grad, &p);
    if (st != SSQ_OK)
        return st;
    o->params[o->n++] = p;
    optimizer_index(o);
    return SSQ_OK;
}

/* Only the random words of stochastic rounding depend on the number of an
 * element in the whole parameter. */
ssq_status ssq_optimizer_shard(ssq_optimizer *optimizer, const char *name,
                               uint64_t first)
{
    ssq_status st = check_open(optimizer, "optimizer_shard");
    if (st != SSQ_OK)
        return st;
    if (name == NULL)
        return error_set(SSQ_ERR_INVALID, "optimizer_shard: name is NULL");
    struct parameter *p = optimizer_find(optimizer, name);
    if (p == NULL)
        return error_set(SSQ_ERR_NOT_FOUND,
                         "optimizer_shard: no parameter %.40s", name);
    p->first = first;
    return SSQ_OK;
}
