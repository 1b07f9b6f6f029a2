/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c - load and save only the parameters, in files of other programs.
 * Names and the order of dimensions may be different there. */
#include <sesqui/ops/data.h>

#include "lib/amp/optimizer/optimizer.h"
#include "lib/checkpoint/digest.h"
#include "lib/checkpoint/disk.h"
#include "lib/checkpoint/values.h"
#include "lib/checkpoint/write.h"
#include "lib/core/queue/queue.h"
#include "lib/tape/params.h"
#include "lib/tape/pattern.h"

#include <stdio.h>
#include <string.h>

/** Maximum size of a name that a rule makes, in bytes. */
#define NAME_MOST 512

/* A parameter and its tensor in a file. */
struct weights_place {
    const struct param *param;
    const ssq_optimizer *optimizer;        /* for saving */
    const struct safetensors_entry *entry; /* for loading; NULL: not loaded */
    const int *axes;                       /* NULL: in the file's order */
};

/* ---- rules ---- */

static ssq_status check_rule(const char *what, size_t i,
                             const ssq_params_rule *r)
{
    if (r->param == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: rules[%zu].param is NULL", what,
                         i);
    const size_t n = pattern_cards(r->param);
    if (n > PATTERN_MOST)
        return error_set(SSQ_ERR_INVALID,
                         "%s: rules[%zu]: \"%.80s\" has %zu wild cards, "
                         "expected at most %d",
                         what, i, r->param, n, PATTERN_MOST);
    if (r->file != NULL && r->file[0] != '\0' && pattern_cards(r->file) != n)
        return error_set(SSQ_ERR_INVALID,
                         "%s: rules[%zu]: \"%.80s\" has %zu wild cards, and "
                         "\"%.80s\" %zu",
                         what, i, r->param, n, r->file, pattern_cards(r->file));
    if (r->rank < 0 || r->rank > SSQ_MAX_RANK ||
        (r->axes == NULL) != (r->rank == 0))
        return error_set(
            SSQ_ERR_INVALID, "%s: rules[%zu]: rank is %d, expected %s", what, i,
            r->rank,
            r->axes == NULL ? "0: there are no axes" : "the number of axes");
    return SSQ_OK;
}

/* Get a rule's axes for a parameter that it matches. *axes is NULL if the file
 * has the same order. */
static ssq_status axes_of(const char *what, const ssq_params_rule *rule,
                          const struct param *p, const int **axes)
{
    *axes = rule == NULL ? NULL : rule->axes;
    if (*axes == NULL || rule->rank == p->tensor->view.rank)
        return SSQ_OK;
    return error_set(
        SSQ_ERR_INVALID,
        "%s: \"%.100s\" has rank %d, and the axes of \"%.80s\" are "
        "%d",
        what, p->name, p->tensor->view.rank, rule->param, rule->rank);
}

static ssq_status weights_check(const char *what, const ssq_params *params,
                                ssq_queue *queue, const char *path,
                                const ssq_params_file_args *args)
{
    if (args->struct_size != sizeof(*args))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         args->struct_size, sizeof(*args));
    ssq_status st = params_call(what, params, queue, args->optimizer);
    if (st != SSQ_OK)
        return st;
    st = disk_path_check(what, path);
    if (st != SSQ_OK)
        return st;
    if (args->rules == NULL && args->count > 0)
        return error_set(SSQ_ERR_INVALID, "%s: rules is NULL", what);
    if (params->n == 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: there are no parameters yet: let a pass make "
                         "them with ssq_params_allow",
                         what);
    for (size_t i = 0; i < args->count && st == SSQ_OK; i++)
        st = check_rule(what, i, &args->rules[i]);
    return st;
}

/* Get the name of a parameter in the file, "" if it is not in the file. *rule
 * is set to the matching rule, or to NULL. */
static ssq_status weights_name_of(const char *what, const struct param *p,
                                  const ssq_params_file_args *args,
                                  char name[NAME_MOST],
                                  const ssq_params_rule **rule)
{
    struct captured c;
    *rule = NULL;
    for (size_t i = 0; i < args->count && *rule == NULL; i++)
        if (pattern_matches(args->rules[i].param, p->name, &c))
            *rule = &args->rules[i];
    size_t n = 0;
    name[0] = '\0';
    if (*rule == NULL)
        n = (size_t)snprintf(name, NAME_MOST, "%s", p->name);
    else if ((*rule)->file != NULL)
        n = pattern_fill((*rule)->file, &c, name, NAME_MOST);
    if (n < NAME_MOST)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: the name of \"%.100s\" in the file has %zu bytes, "
                     "expected less than %d",
                     what, p->name, n, NAME_MOST);
}

/* ---- loading ---- */

struct checkpoint_weights {
    const char *what;
    const ssq_params_file_args *args;
    ssq_params *params;
    ssq_queue *queue;
    ssq_safetensors *f;
    struct weights_place *place; /* by parameter; owned */
    bool *used;                  /* by entry; owned */
    size_t found;
};

/* Add the parameter's name to the error text if the tensor in the file has
 * another name. */
static ssq_status for_param(ssq_status st, const struct weights_place *p)
{
    char text[ERROR_TEXT];
    if (st == SSQ_OK || strcmp(p->param->name, p->entry->name) == 0)
        return st;
    (void)snprintf(text, sizeof(text), "%s", ssq_last_error());
    return error_set(st, "%s (for \"%.100s\")", text, p->param->name);
}

static ssq_status weights_find_one(struct checkpoint_weights *w, size_t i)
{
    const struct param *p = &w->params->at[i];
    const ssq_params_rule *rule;
    char name[NAME_MOST];
    struct view view;
    ssq_status st = weights_name_of(w->what, p, w->args, name, &rule);
    if (st != SSQ_OK || name[0] == '\0')
        return st;
    struct weights_place *place = &w->place[i];
    place->entry = entry_find(w->f, name);
    if (place->entry == NULL) {
        if (w->args->missing)
            return SSQ_OK;
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s has no \"%.200s\", for parameter "
                         "\"%.100s\"",
                         w->what, w->f->path, name, p->name);
    }
    w->used[place->entry - w->f->entry] = true;
    w->found++;
    place->param = p;
    st = axes_of(w->what, rule, p, &place->axes);
    if (st != SSQ_OK)
        return st;
    st = values_fit(w->f, place->entry, place->axes, p->tensor, &view);
    return for_param(st, place);
}

/* Refuse unused tensors, because they may be a sign of wrong names. */
static ssq_status check_unused(const struct checkpoint_weights *w)
{
    for (size_t i = 0; i < w->f->n && !w->args->unused; i++)
        if (!w->used[i] &&
            strncmp(w->f->entry[i].name, OWN, sizeof(OWN) - 1) != 0)
            return error_set(SSQ_ERR_INVALID,
                             "%s: %.300s has a \"%.100s\", which is none of "
                             "%zu parameters",
                             w->what, w->f->path, w->f->entry[i].name,
                             w->params->n);
    return SSQ_OK;
}

static ssq_status weights_compare(struct checkpoint_weights *w)
{
    struct crc64 crc;
    w->place = mem_alloc_array(w->params->n, sizeof(*w->place));
    w->used = mem_alloc_array(w->f->n, sizeof(bool));
    if (w->place == NULL || w->used == NULL)
        return error_nomem(w->what, w->params->n * sizeof(*w->place));
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < w->params->n && st == SSQ_OK; i++)
        st = weights_find_one(w, i);
    if (st == SSQ_OK && w->found == 0)
        st =
            error_set(SSQ_ERR_INVALID,
                      "%s: %.300s has none of %zu parameters, as \"%.100s\"",
                      w->what, w->f->path, w->params->n, w->params->at[0].name);
    if (st == SSQ_OK)
        st = check_unused(w);
    crc64_begin(&crc);
    for (size_t i = 0; i < w->f->n && st == SSQ_OK; i++)
        if (w->used[i])
            st = digest_check(w->f, &crc, &w->f->entry[i]);
    return st;
}

static ssq_status write_one(const struct checkpoint_weights *w, size_t i)
{
    const struct weights_place *p = &w->place[i];
    struct param_writing writing;
    struct view view;
    ssq_status st = param_write_begin(&writing, w->params, &w->params->at[i],
                                      w->args->optimizer);
    if (st != SSQ_OK)
        return st;
    st = values_fit(w->f, p->entry, p->axes, writing.to, &view);
    if (st == SSQ_OK)
        st = values_read(w->queue, w->f, p->entry, &view);
    return param_write_end(&writing, w->queue, st);
}

ssq_status ssq_params_load(ssq_params *params, ssq_queue *queue,
                           const char *path, const ssq_params_file_args *args)
{
    static const char what[] = "params_load";
    const ssq_params_file_args defaults = SSQ_PARAMS_FILE_INIT;
    struct checkpoint_weights w = {
        what, args == NULL ? &defaults : args, params, queue, NULL, NULL, NULL,
        0};
    ssq_status st = weights_check(what, params, queue, path, w.args);
    if (st == SSQ_OK)
        st = file_open(what, path, &w.f);
    if (st == SSQ_OK)
        st = weights_compare(&w);
    for (size_t i = 0; st == SSQ_OK && i < params->n; i++)
        if (w.place[i].entry != NULL)
            st = write_one(&w, i);
    if (st == SSQ_OK)
        st = queue_wait(queue);
    if (st == SSQ_OK)
        params->closed = "after a load";
    ssq_safetensors_close(&w.f);
    mem_free(w.place);
    mem_free(w.used);
    return st;
}

/* ---- saving ---- */

/* Get a parameter's values in float32, in the order of the file's
 * dimensions. */
static ssq_status values(const void *user, ssq_queue *queue,
                         const ssq_tensor **value, ssq_tensor **made)
{
    const struct weights_place *p = user;
    ssq_tensor *joined = NULL, *seen = NULL;
    ssq_status st = param_exact(p->param, queue, p->optimizer, value, &joined);
    if (st == SSQ_OK && p->axes == NULL && (*value)->view.dtype == SSQ_F32) {
        *made = joined;
        return SSQ_OK;
    }
    int same[SSQ_MAX_RANK];
    for (int i = 0; i < SSQ_MAX_RANK; i++)
        same[i] = i;
    if (st == SSQ_OK)
        st = ssq_tensor_transpose(*value, p->axes == NULL ? same : p->axes,
                                  &seen);
    if (st == SSQ_OK)
        st = tensor_create(queue->device, SSQ_F32, seen->view.rank,
                           seen->view.shape, made);
    if (st == SSQ_OK) {
        st = ssq_cast(queue, SSQ_CAST(.x = seen, .y = *made));
        *value = *made;
    }
    ssq_tensor_destroy(&seen);
    ssq_tensor_destroy(&joined);
    return st;
}

static ssq_status weights_add_one(struct writing *w, struct weights_place *p,
                                  const ssq_params_file_args *args)
{
    const ssq_params_rule *rule;
    const struct view *v = &p->param->tensor->view;
    char name[NAME_MOST];
    int64_t shape[SSQ_MAX_RANK];
    unsigned seen = 0;
    ssq_status st = weights_name_of(w->what, p->param, args, name, &rule);
    if (st != SSQ_OK || name[0] == '\0')
        return st;
    st = axes_of(w->what, rule, p->param, &p->axes);
    if (st != SSQ_OK)
        return st;
    for (int i = 0; i < v->rank; i++) {
        const int axis = p->axes == NULL ? i : p->axes[i];
        if (axis < 0 || axis >= v->rank || (seen >> axis & 1) != 0)
            return error_set(
                SSQ_ERR_INVALID,
                "%s: \"%.100s\": axes[%d] is %d: not a permutation", w->what,
                p->param->name, i, axis);
        seen |= 1u << axis;
        shape[i] = v->shape[axis];
    }
    return writing_values(w, "", name, SSQ_F32, v->rank, shape, values, p);
}

ssq_status ssq_params_save(const ssq_params *params, ssq_queue *queue,
                           const char *path, const ssq_params_file_args *args)
{
    static const char what[] = "params_save";
    const ssq_params_file_args defaults = SSQ_PARAMS_FILE_INIT;
    struct writing w;
    if (args == NULL)
        args = &defaults;
    ssq_status st = weights_check(what, params, queue, path, args);
    if (st != SSQ_OK)
        return st;
    struct weights_place *place = mem_alloc_array(params->n, sizeof(*place));
    if (place == NULL)
        return error_nomem(what, params->n * sizeof(*place));
    writing_begin(&w, what, queue);
    for (size_t i = 0; i < params->n && st == SSQ_OK; i++) {
        place[i] = (struct weights_place){.param = &params->at[i],
                                          .optimizer = args->optimizer};
        st = weights_add_one(&w, &place[i], args);
    }
    if (st == SSQ_OK && w.items == NULL)
        st = error_set(SSQ_ERR_INVALID,
                       "%s: by the rules none of %zu parameters is in the file",
                       what, params->n);
    if (st == SSQ_OK)
        st = writing_end(&w, path);
    if (st != SSQ_OK && args->optimizer != NULL &&
        args->optimizer->comm != NULL)
        writing_rest(&w);
    writing_free(&w);
    mem_free(place);
    return st;
}
