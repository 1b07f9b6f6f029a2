/* SPDX-License-Identifier: Apache-2.0 */
/* params.c - the set of parameters: create, find and remove them. */
#include "lib/tape/params.h"

#include <sesqui/ops/data.h>
#include <sesqui/ops/random.h>

#include "lib/amp/optimizer/optimizer.h"
#include "lib/amp/policy/policy.h"
#include "lib/tape/pattern.h"

#include <string.h>

static void param_free(struct param *p)
{
    param_copy_free(p->copy);
    origin_put(p->origin);
    ssq_tensor_destroy(&p->tensor);
    ssq_tensor_destroy(&p->grad);
    mem_free(p->name);
}

static void params_free(struct object *o)
{
    ssq_params *p = (ssq_params *)o;
    for (size_t i = 0; i < p->n; i++)
        param_free(&p->at[i]);
    mem_free(p->at);
    names_free(&p->names);
    mem_free(p->policy_name);
    mem_free(p->allowed);
    object_put(&p->device->object);
    mem_free(p);
}

static ssq_status params_resolve(const char *what,
                                 const ssq_params_options *options,
                                 ssq_params_options *out)
{
    *out = (ssq_params_options)SSQ_PARAMS_OPTIONS_INIT;
    if (options == NULL)
        return SSQ_OK;
    if (options->struct_size != sizeof(*options))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         options->struct_size, sizeof(*options));
    *out = *options;
    return SSQ_OK;
}

ssq_status ssq_params_create(ssq_device *device, const char *policy,
                             const ssq_params_options *options,
                             ssq_params **params)
{
    static const char what[] = "params_create";
    if (device == NULL || params == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         device == NULL ? "device" : "params");
    ssq_policy p = SSQ_POLICY_INIT;
    ssq_params_options o;
    if (policy == NULL)
        policy = "float32";
    ssq_status st = params_resolve(what, options, &o);
    if (st == SSQ_OK)
        st = ssq_policy_from_name(policy, &p);
    if (st == SSQ_OK)
        st = device_check(device, what);
    if (st != SSQ_OK)
        return st;
    ssq_params *made = mem_alloc(sizeof(*made));
    if (made == NULL || (made->policy_name = mem_strdup(policy)) == NULL) {
        mem_free(made);
        return error_nomem(what, sizeof(*made));
    }
    object_init(&made->object, params_free);
    object_get(&device->object);
    policy_drop_scale(made->policy_name); /* parameters do not use the scale */
    made->device = device;
    made->policy = p;
    made->options = o;
    *params = made;
    return SSQ_OK;
}

void ssq_params_destroy(ssq_params **params)
{
    if (params == NULL || *params == NULL)
        return;
    object_put(&(*params)->object);
    *params = NULL;
}

size_t ssq_params_count(const ssq_params *params)
{
    return params == NULL ? 0 : params->n;
}

struct param *param_of(ssq_params *params, uint32_t i)
{
    return &params->at[i];
}

/* ---- names ---- */

size_t param_find(const ssq_params *p, const char *name)
{
    size_t i = names_find(&p->names, name);
    return i == NAME_NONE ? p->n : i;
}

/* Make room for one more parameter. */
static ssq_status params_grow(ssq_params *p)
{
    ssq_status st = names_reserve(&p->names, "params");
    if (st != SSQ_OK || p->n < p->room)
        return st;
    size_t room = p->room == 0 ? 32 : 2 * p->room;
    struct param *at = mem_alloc_array(room, sizeof(*at));
    if (at == NULL)
        return error_nomem("params", room * sizeof(*at));
    if (p->n > 0)
        memcpy(at, p->at, p->n * sizeof(*at));
    mem_free(p->at);
    p->at = at;
    p->room = room;
    return SSQ_OK;
}

static void params_let_go(ssq_params *p, size_t i)
{
    p->origins -= p->at[i].origin != NULL;
    param_free(&p->at[i]);
}

/* Rebuild the index after parameters were removed. */
static void index_all(ssq_params *p)
{
    names_clear(&p->names);
    for (size_t i = 0; i < p->n; i++)
        names_add(&p->names, p->at[i].name, i);
}

void params_cut(ssq_params *p, size_t n)
{
    while (p->n > n)
        params_let_go(p, --p->n);
    index_all(p);
}

static void params_drop(ssq_params *p, const char *pattern)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (pattern_matches(pattern, p->at[i].name, NULL))
            params_let_go(p, i);
        else
            p->at[n++] = p->at[i];
    p->n = n;
    p->removals++;
    index_all(p);
}

ssq_status ssq_params_remove(ssq_params *params, const char *pattern,
                             size_t *removed)
{
    static const char what[] = "params_remove";
    size_t found = 0;
    if (params == NULL || pattern == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         params == NULL ? "params" : "pattern");
    for (size_t i = 0; i < params->n; i++) {
        const struct param *p = &params->at[i];
        if (!pattern_matches(pattern, p->name, NULL))
            continue;
        if (p->given)
            return error_set(SSQ_ERR_INVALID,
                             "%s: \"%.100s\" was given to an optimizer", what,
                             p->name);
        found++;
    }
    if (found == 0)
        return params_unknown(params, what, pattern, "");
    params_drop(params, pattern);
    if (removed != NULL)
        *removed = found;
    return SSQ_OK;
}

/* ---- values ---- */

static ssq_status initialise(const ssq_params *p, ssq_queue *queue,
                             const struct param *made,
                             const ssq_param_args *args)
{
    return ssq_init(queue, SSQ_INIT(.x = made->tensor, .seed = p->options.seed,
                                    .id = made->hash, .kind = args->init,
                                    .fan = args->fan, .value = args->value,
                                    .gain = args->gain,
                                    .nonlinearity = args->nonlinearity,
                                    .slope = args->slope));
}

ssq_status param_put(ssq_params *p, const char *name, ssq_tensor *tensor,
                     bool state, bool full)
{
    struct param made = {.hash = name_hash(name),
                         .tensor = tensor,
                         .state = state,
                         .full = full};
    ssq_status st = params_grow(p);
    if (st == SSQ_OK && (made.name = mem_strdup(name)) == NULL)
        st = error_nomem("params", strlen(name) + 1);
    if (st != SSQ_OK)
        return st;
    names_add(&p->names, made.name, p->n);
    p->at[p->n++] = made;
    return SSQ_OK;
}

ssq_status param_make(ssq_params *p, ssq_queue *queue, const char *name,
                      const ssq_param_args *args, size_t *i)
{
    struct param made = {.hash = name_hash(name)};
    ssq_status st =
        tensor_create(p->device, args->full ? SSQ_F32 : p->policy.compute,
                      args->rank, args->shape, &made.tensor);
    if (st == SSQ_OK)
        st = initialise(p, queue, &made, args);
    if (st == SSQ_OK)
        st = param_put(p, name, made.tensor, args->state, args->full);
    if (st == SSQ_OK)
        *i = p->n - 1;
    else
        ssq_tensor_destroy(&made.tensor);
    return st;
}

/* ---- gradients ---- */

ssq_status param_grad(ssq_params *p, struct param *of)
{
    const struct view *v = &of->tensor->view;
    if (of->grad != NULL)
        return SSQ_OK;
    return tensor_create(p->device,
                         p->options.float32_gradients ? SSQ_F32 : v->dtype,
                         v->rank, v->shape, &of->grad);
}

void param_grad_begin(struct param *p)
{
    p->first = p->first || p->grad_state == GRAD_NONE;
    p->begun = p->touched = true;
    p->grad_state = GRAD_FULL;
}

void param_grad_add(struct param *p)
{
    p->added = p->added || !p->begun;
}

void params_backward_begin(ssq_params *params)
{
    for (size_t i = 0; i < params->n; i++)
        params->at[i].touched = false;
}

void params_backward_end(ssq_params *params, bool good)
{
    bool touched = false;
    for (size_t i = 0; i < params->n; i++) {
        struct param *p = &params->at[i];
        touched = touched || p->touched;
        if (p->first && !good) {
            p->grad_state = GRAD_NONE;
            params->torn = true;
        }
        p->first = false;
    }
    if (!good && touched)
        ssq_params_clean(params);
}

ssq_status param_settle(ssq_queue *queue, struct param *p)
{
    if (p->grad == NULL || p->grad_state == GRAD_FULL)
        return SSQ_OK;
    ssq_status st = ssq_fill(queue, SSQ_FILL(.x = p->grad));
    if (st == SSQ_OK) {
        p->begun = p->touched = true;
        p->grad_state = GRAD_FULL;
    }
    return st;
}

ssq_status params_settle(ssq_params *p, ssq_queue *queue)
{
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < p->n && st == SSQ_OK; i++)
        st = param_settle(queue, &p->at[i]);
    return st;
}

/* Set gradients that were never written to zeros. This uses a temporary queue
 * and waits, because any queue may use the gradients next. A backward that
 * failed may still write some of them: its work must end first. */
static ssq_status settle_now(ssq_params *p, size_t from, size_t to)
{
    ssq_queue *queue;
    ssq_status st = ssq_queue_create(p->device, NULL, &queue);
    if (st != SSQ_OK)
        return st;
    if (p->torn)
        device_retire(p->device, true);
    p->torn = false;
    for (size_t i = from; i < to && st == SSQ_OK; i++) {
        struct param *x = &p->at[i];
        if (x->grad == NULL || x->grad_state != GRAD_NONE)
            continue;
        st = ssq_fill(queue, SSQ_FILL(.x = x->grad));
    }
    ssq_status sync = queue_wait(queue);
    if (st == SSQ_OK)
        st = sync;
    for (size_t i = from; i < to && st == SSQ_OK; i++)
        if (p->at[i].grad != NULL && p->at[i].grad_state == GRAD_NONE)
            p->at[i].grad_state = GRAD_FULL;
    ssq_queue_destroy(&queue);
    return st;
}

void ssq_params_clean(ssq_params *params)
{
    for (size_t i = 0; params != NULL && i < params->n; i++)
        if (params->at[i].grad_state == GRAD_FULL)
            params->at[i].grad_state = GRAD_CLEAN;
}

/* ---- queries ---- */

static ssq_status params_check_info(const char *what, const ssq_params *params,
                                    const ssq_param_info *info)
{
    if (params == NULL || info == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         params == NULL ? "params" : "info");
    if (info->struct_size != sizeof(*info))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         info->struct_size, sizeof(*info));
    return SSQ_OK;
}

static void params_tell(const struct param *p, ssq_param_info *info)
{
    info->name = p->name;
    info->tensor = p->tensor;
    info->grad = p->grad_state == GRAD_NONE ? NULL : p->grad;
}

ssq_status ssq_params_get(const ssq_params *params, size_t i,
                          ssq_param_info *info)
{
    static const char what[] = "params_get";
    ssq_status st = params_check_info(what, params, info);
    if (st != SSQ_OK)
        return st;
    if (i >= params->n)
        return error_set(SSQ_ERR_INVALID, "%s: %zu of %zu parameters", what, i,
                         params->n);
    params_tell(&params->at[i], info);
    return SSQ_OK;
}

ssq_status ssq_params_find(const ssq_params *params, const char *name,
                           ssq_param_info *info)
{
    static const char what[] = "params_find";
    ssq_status st = params_check_info(what, params, info);
    if (st != SSQ_OK)
        return st;
    if (name == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: name is NULL", what);
    size_t i = param_find(params, name);
    if (i == params->n)
        return params_unknown(params, what, name, "");
    params_tell(&params->at[i], info);
    return SSQ_OK;
}

/* ---- for an optimizer ---- */

static bool params_is_wanted(const struct param *p, const char *pattern)
{
    return !p->state &&
           (pattern == NULL || pattern_matches(pattern, p->name, NULL));
}

/* Get the range from..to - 1 of parameters that may match a pattern. A full
 * name is looked up, so that a call for each parameter does not visit all of
 * them. */
static void candidates(const ssq_params *params, const char *pattern,
                       size_t *from, size_t *to)
{
    *from = 0;
    *to = params->n;
    if (pattern == NULL || pattern_cards(pattern) > 0)
        return;
    *from = param_find(params, pattern);
    if (*from < params->n)
        *to = *from + 1;
}

/* Create the gradients of all parameters whose names match. *found is set to
 * the number of these parameters. */
static ssq_status make_grads(ssq_params *params, const char *pattern,
                             size_t *found)
{
    size_t from, to;
    candidates(params, pattern, &from, &to);
    ssq_status st = SSQ_OK;
    bool raw = false;
    *found = 0;
    for (size_t i = from; i < to && st == SSQ_OK; i++) {
        struct param *p = &params->at[i];
        if (!params_is_wanted(p, pattern))
            continue;
        ++*found;
        st = param_grad(params, p);
        raw = raw || p->grad_state == GRAD_NONE;
    }
    return st == SSQ_OK && raw ? settle_now(params, from, to) : st;
}

/* Return whether the optimizer has this parameter. If it has another one of
 * that name, ssq_optimizer_add() refuses p. */
static bool is_added(const ssq_optimizer *optimizer, const struct param *p)
{
    const struct parameter *there = optimizer_find(optimizer, p->name);
    return there != NULL && there->param->view.buffer == p->tensor->view.buffer;
}

static ssq_status params_add_one(ssq_optimizer *optimizer,
                                 const struct param *p, const char *pattern,
                                 ssq_group *group)
{
    if (!params_is_wanted(p, pattern))
        return SSQ_OK;
    ssq_status st =
        is_added(optimizer, p)
            ? SSQ_OK
            : ssq_optimizer_add(optimizer, p->name, p->tensor, p->grad, group);
    if (st == SSQ_OK && p->origin != NULL && optimizer->state == NULL)
        optimizer_begin_with(optimizer, optimizer_find(optimizer, p->name),
                             p->origin);
    return st;
}

/* Add all matching parameters, or none after an error. */
ssq_status ssq_params_optimize(ssq_params *params, ssq_optimizer *optimizer,
                               const char *pattern, ssq_group *group)
{
    static const char what[] = "params_optimize";
    if (params == NULL || optimizer == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         params == NULL ? "params" : "optimizer");
    if (group != NULL && group->optimizer != optimizer)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the group belongs to another optimizer", what);
    size_t found, from, to;
    const size_t before = optimizer->n;
    ssq_status st = make_grads(params, pattern, &found);
    candidates(params, pattern, &from, &to);
    for (size_t i = from; i < to && st == SSQ_OK; i++)
        st = params_add_one(optimizer, &params->at[i], pattern, group);
    if (st != SSQ_OK) {
        /* If the optimizer was in use already, it has refused the first one. */
        if (optimizer->n > before)
            optimizer_cut(optimizer, before);
        return st;
    }
    for (size_t i = from; i < to; i++)
        if (params_is_wanted(&params->at[i], pattern))
            params->at[i].given = true;
    if (found == 0)
        return error_set(SSQ_ERR_NOT_FOUND,
                         "%s: none of %zu parameters is called \"%.100s\"",
                         what, params->n, pattern == NULL ? "*" : pattern);
    return SSQ_OK;
}
