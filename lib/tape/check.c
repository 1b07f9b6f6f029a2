/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - check whether the backward of this pass would succeed.
 *
 * It runs the real walk in a dry capture: each call is checked and gets an
 * implementation, but none is executed. Values do not change. Gradients get
 * memory but no contents, and release it afterwards. */
#include "lib/tape/params.h"
#include "lib/tape/tape.h"

#include <stdio.h>
#include <string.h>

struct survey {
    ssq_tape *t;
    char text[ERROR_TEXT]; /* of the first error */
    ssq_status status;
    size_t more; /* number of further errors */
};

/* "net.c:3: block1: relu of f32[4,4]: x was written .." */
static void survey_record(struct survey *s, const struct node *n, ssq_status st)
{
    char why[ERROR_TEXT], operands[256] = "", one[128];
    (void)snprintf(why, sizeof(why), "%s", ssq_last_error());
    for (unsigned i = 0; i < n->op->nvars; i++) {
        if (n->var[i] == NONE)
            continue;
        size_t at = strlen(operands);
        const struct view *v = &value_of(s->t, n->var[i])->is.tensor.view;
        (void)snprintf(operands + at, sizeof(operands) - at, "%s%s",
                       at == 0 ? "" : ", ", view_text(v, one, sizeof(one)));
    }
    const char *scope = node_scope(s->t, n);
    char text[ERROR_TEXT];
    (void)snprintf(text, sizeof(text), "%.200s: %.128s%s%s of %s: %.400s",
                   n->where, scope, *scope == '\0' ? "" : ": ", n->op->name,
                   operands, why);
    log_line(SSQ_LOG_WARNING, "autograd", "%s", text);
    if (s->status != SSQ_OK) {
        s->more++;
        return;
    }
    s->status = st;
    memcpy(s->text, text, sizeof(text));
}

/* Create the gradients that a failed call would have written, so that earlier
 * nodes are checked as well. */
static ssq_status pretend(ssq_tape *t, const struct node *n)
{
    ssq_status st = SSQ_OK;
    for (unsigned i = 0; i < n->op->nvars && st == SSQ_OK; i++) {
        struct value *v = n->var[i] == NONE ? NULL : value_of(t, n->var[i]);
        if (v == NULL || !v->sought || v->param != NONE ||
            v->grad.tensor.view.buffer != NULL)
            continue;
        const struct view like = v->is.tensor.view;
        st = held_make(t, like.dtype, like.rank, like.shape, &v->grad);
    }
    return st;
}

static ssq_status walk_dry(struct survey *s)
{
    ssq_tape *t = s->t;
    size_t stretches = t->stretches.n;
    const struct stretch *open = NULL; /* the one that is computed again */
    for (size_t i = t->nodes.n; i-- > 0;) {
        struct node n = *node_of(t, (uint32_t)i);
        const struct stretch *again = stretch_at(t, (uint32_t)i, &stretches);
        ssq_status st = again == NULL ? SSQ_OK : stretch_remake(t, again, &n);
        open = again == NULL ? open : again;
        if (st == SSQ_OK)
            st = node_walk(t, &n);
        if (st != SSQ_OK) {
            if (st == SSQ_ERR_NOMEM)
                return st;
            survey_record(s, &n, st);
            st = pretend(t, &n);
        }
        if (st != SSQ_OK)
            return st;
        for (unsigned k = 0; k < n.op->nouts; k++)
            if (n.out[k] != NONE)
                held_put(t, &value_of(t, n.out[k])->grad);
        if (open != NULL && i == open->node)
            stretch_aside(t, open);
    }
    return SSQ_OK;
}

static void save_states(ssq_params *p)
{
    for (size_t i = 0; i < p->n; i++)
        p->at[i].checked = p->at[i].grad_state;
}

static void check_restore_states(ssq_params *p)
{
    for (size_t i = 0; i < p->n; i++) {
        p->at[i].grad_state = p->at[i].checked;
        p->at[i].first = false;
    }
}

static ssq_status survey(struct survey *s, struct value *loss)
{
    ssq_tape *t = s->t;
    ssq_graph *none = NULL;
    const uint64_t peak = t->arena.peak;
    ssq_status st = ssq_graph_begin_dry(t->queue);
    if (st != SSQ_OK)
        return st;
    save_states(t->params);
    backward_seed(loss, t->one);
    st = walk_dry(s);
    char text[ERROR_TEXT];
    (void)snprintf(text, sizeof(text), "%s", ssq_last_error());
    ssq_status end = ssq_graph_end(t->queue, &none);
    for (uint32_t i = 0; i < t->nvalues; i++)
        held_put(t, &value_of(t, i)->grad);
    for (size_t i = 0; i < t->stretches.n; i++)
        stretch_aside(t, (const struct stretch *)t->stretches.at + i);
    check_restore_states(t->params);
    t->arena.peak = t->arena.used > peak ? t->arena.used : peak;
    return st != SSQ_OK ? error_set(st, "%s", text) : end;
}

ssq_status ssq_tape_check(ssq_tape *tape, ssq_var loss)
{
    static const char what[] = "tape_check";
    if (tape == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: tape is NULL", what);
    ssq_status st = backward_check(tape, loss, what);
    struct survey s = {.t = tape, .status = SSQ_OK};
    if (st == SSQ_OK)
        st = survey(&s, value_of(tape, loss.id));
    if (st != SSQ_OK || s.status == SSQ_OK)
        return st;
    char more[64] = "";
    if (s.more > 0)
        (void)snprintf(more, sizeof(more), "; and %zu more", s.more);
    return error_set(s.status, "%s: %s%s", what, s.text, more);
}
