/* SPDX-License-Identifier: Apache-2.0 */
/* param_var.c - a parameter as a var of a pass. */
#include "lib/tape/params.h"
#include "lib/tape/tape.h"

#include <string.h>

/* Check a name. Names are used within other names and in files, so dots and
 * slashes are valid. Wild cards are not valid, because they are for
 * patterns. */
static ssq_status param_var_check_name(const char *name, const char *what)
{
    if (name == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: name is NULL", what);
    if (*name == '\0')
        return error_set(SSQ_ERR_INVALID, "%s: name is empty", what);
    for (const char *c = name; *c != '\0'; c++)
        if (*c == '*' || *c == '?' || (unsigned char)*c <= ' ' || *c == 127)
            return error_set(
                SSQ_ERR_INVALID,
                "%s: character %d of \"%.80s\" is not allowed in a name", what,
                (int)(c - name), name);
    return SSQ_OK;
}

ssq_status scope_join(const ssq_tape *t, const char *name, const char *what,
                      char *whole)
{
    ssq_status st = param_var_check_name(name, what);
    if (st != SSQ_OK)
        return st;
    size_t had = strlen(t->scope), n = strlen(name), dot = had > 0;
    if (had + dot + n >= SSQ_PARAM_NAME)
        return error_set(SSQ_ERR_INVALID,
                         "%s: \"%.80s\" in \"%.80s\" is longer than %d", what,
                         name, t->scope, SSQ_PARAM_NAME - 1);
    memcpy(whole, t->scope, had);
    whole[had] = '.';
    memcpy(whole + had + dot, name, n + 1);
    return SSQ_OK;
}

static ssq_status param_var_check_args(const ssq_param_args *args)
{
    if (args == NULL)
        return error_set(SSQ_ERR_INVALID, "args is NULL");
    if (args->struct_size != sizeof(*args))
        return error_set(SSQ_ERR_INVALID,
                         "struct_size is %zu, expected %zu: begin with "
                         "SSQ_PARAM(..)",
                         args->struct_size, sizeof(*args));
    if (args->rank < 0 || args->rank > SSQ_MAX_RANK)
        return error_set(SSQ_ERR_INVALID, "rank is %d, expected 0..%d",
                         args->rank, SSQ_MAX_RANK);
    return SSQ_OK;
}

/* Check that an existing parameter has the requested shape, and is a state if
 * that was requested. */
static ssq_status check_again(const struct param *p, const ssq_param_args *args)
{
    const struct view *v = &p->tensor->view;
    bool same = v->rank == args->rank;
    for (int i = 0; i < v->rank && same; i++)
        same = v->shape[i] == args->shape[i];
    char have[128], want[128];
    struct view asked = *v;
    if (!same) {
        asked.rank = args->rank;
        memcpy(asked.shape, args->shape, sizeof(asked.shape));
        return error_set(SSQ_ERR_INVALID, "\"%s\" is %s, expected %s", p->name,
                         view_text(v, have, sizeof(have)),
                         view_text(&asked, want, sizeof(want)));
    }
    if (p->state != args->state)
        return error_set(SSQ_ERR_INVALID, "\"%s\" %s", p->name,
                         p->state ? "is a state, which has no gradient"
                                  : "has a gradient: it is not a state");
    return SSQ_OK;
}

/* Get the value of parameter i in this pass. It is created once. */
static ssq_status value_of_param(ssq_tape *t, size_t i, uint32_t *id)
{
    const struct param *p = param_of(t->params, (uint32_t)i);
    if (i >= t->used.n) {
        size_t more = i + 1 - t->used.n;
        uint32_t *ids = list_add(&t->used, more, sizeof(*ids));
        if (ids == NULL)
            return SSQ_ERR_NOMEM;
        memset(ids, 0xff, more * sizeof(*ids)); /* NONE */
    }
    uint32_t *at = (uint32_t *)t->used.at + i;
    if (*at == NONE) {
        uint32_t held = NONE;
        ssq_status st = value_hold(t, NULL, p->tensor, &held);
        if (st != SSQ_OK)
            return st;
        *at = held;
        value_of(t, *at)->param = (uint32_t)i;
        value_of(t, *at)->wanted = !p->state;
    }
    *id = *at;
    return SSQ_OK;
}

ssq_status check_places(const ssq_tape *t, const char *what)
{
    if (t->removals == t->params->removals)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: parameters were removed since the pass began", what);
}

/* Refuse to create a parameter in a capture: its initial values would be
 * written by each launch, and by nothing before the first. */
static ssq_status param_var_check_runs(const ssq_tape *t, const char *whole)
{
    ssq_status st = queue_check_runs(t->queue, "var_param");
    return st == SSQ_ERR_INVALID
               ? error_set(st,
                           "var_param: \"%s\" does not exist, and a graph is "
                           "being captured: run a pass before the capture",
                           whole)
               : st;
}

static ssq_status find_or_make(ssq_tape *t, const char *name,
                               const ssq_param_args *args, uint32_t *id)
{
    char whole[SSQ_PARAM_NAME];
    ssq_status st = param_var_check_args(args);
    if (st == SSQ_OK)
        st = check_places(t, "var_param");
    if (st == SSQ_OK)
        st = scope_join(t, name, "var_param", whole);
    if (st != SSQ_OK)
        return st;
    size_t i = param_find(t->params, whole);
    if (i < t->params->n) {
        st = check_again(param_of(t->params, (uint32_t)i), args);
    } else {
        st = params_may_make(t->params, whole, t->training);
        if (st == SSQ_OK)
            st = param_var_check_runs(t, whole);
        if (st != SSQ_OK)
            return st;
        ssq_param_args made = *args;
        made.full = made.full || autocast_wide(t);
        st = param_make(t->params, t->queue, whole, &made, &i);
        if (st == SSQ_OK && t->made != NULL && t->training)
            st = t->made(t->made_user);
    }
    return st == SSQ_OK ? value_of_param(t, i, id) : st;
}

ssq_var ssq_var_named_at(const char *where, ssq_tape *tape, const char *name)
{
    static const char op[] = "var_named";
    uint32_t id = NONE;
    if (tape == NULL || tape->status != SSQ_OK)
        return var_inert(tape);
    ssq_status st = param_var_check_name(name, op);
    if (st == SSQ_OK)
        st = check_places(tape, op);
    size_t i = st == SSQ_OK ? param_find(tape->params, name) : 0;
    if (st == SSQ_OK)
        st = i < tape->params->n ? value_of_param(tape, i, &id)
                                 : params_unknown(tape->params, op, name, "");
    if (st == SSQ_OK)
        return var_of(tape, id);
    latch(tape, st, where, op);
    return var_inert(tape);
}

ssq_var ssq_var_param_at(const char *where, ssq_tape *tape, const char *name,
                         const ssq_param_args *args)
{
    uint32_t id = NONE;
    if (tape == NULL || tape->status != SSQ_OK)
        return var_inert(tape);
    ssq_status st = find_or_make(tape, name, args, &id);
    if (st == SSQ_OK)
        return var_of(tape, id);
    latch(tape, st, where, "var_param");
    return var_inert(tape);
}
