/* SPDX-License-Identifier: Apache-2.0 */
/* operands.c - checks of all operands of a call, and operands as rows. */
#include "lib/op/operands.h"

#include "lib/core/core.h"

/** Most views of views_collapse_rows(): layer norm's backward has 8. */
#define VIEWS_MOST 8

/* Check one operand against its rule, regardless of the other operands. */
static ssq_status operands_check_one(const ssq_queue *queue, const char *op,
                                     const struct operand_rule *r)
{
    if (r->tensor == NULL && (r->flags & OPERAND_OPTIONAL) != 0)
        return SSQ_OK;
    ssq_status st = (r->flags & OPERAND_OUT) != 0
                        ? check_output(queue, r->tensor, op, r->name)
                        : check_operand(queue, r->tensor, op, r->name);
    return st == SSQ_OK ? check_dtype(r->tensor, r->dtypes, op, r->name) : st;
}

/* Check each operand alone first, so that the overlap checks see only operands
 * that are valid or NULL. Then compare each output with all other operands. */
ssq_status operands_check(const ssq_queue *queue, const char *op,
                          const struct operand_rule *rules, int n)
{
    for (int i = 0; i < n; i++) {
        ssq_status st = operands_check_one(queue, op, &rules[i]);
        if (st != SSQ_OK)
            return st;
    }
    for (int i = 0; i < n; i++) {
        if ((rules[i].flags & OPERAND_OUT) == 0)
            continue;
        for (int k = 0; k < n; k++) {
            if (k == i)
                continue;
            ssq_status st =
                check_alias(rules[i].tensor, rules[i].name, rules[k].tensor,
                            rules[k].name, (rules[i].may_be >> k & 1) != 0, op);
            if (st != SSQ_OK)
                return st;
        }
    }
    return SSQ_OK;
}

void view_axis_last(struct view *v, int axis)
{
    int64_t size = v->shape[axis], stride = v->stride[axis];
    for (int i = axis; i + 1 < v->rank; i++) {
        v->shape[i] = v->shape[i + 1];
        v->stride[i] = v->stride[i + 1];
    }
    v->shape[v->rank - 1] = size;
    v->stride[v->rank - 1] = stride;
}

void view_append_ones(struct view *v, int n)
{
    for (; n > 0; n--) {
        v->shape[v->rank] = 1;
        v->stride[v->rank] = 0;
        v->rank++;
    }
}

/* Set v's dimensions to outer's, followed by inner's. Its buffer, offset and
 * dtype do not change. */
static void operands_join(struct view *v, const struct view *outer,
                          const struct view *inner)
{
    v->rank = 0;
    const struct view *parts[] = {outer, inner};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < parts[k]->rank; i++, v->rank++) {
            v->shape[v->rank] = parts[k]->shape[i];
            v->stride[v->rank] = parts[k]->stride[i];
        }
}

/* Split each view at the border, collapse each side over all views, and join
 * the sides again. views_collapse() leaves at least one dimension, which a row
 * needs. If no dimension counts rows, that side is not collapsed and stays
 * empty. */
int views_collapse_rows(struct view **views, int n, int inner)
{
    struct view row[VIEWS_MOST], rest[VIEWS_MOST];
    struct view *rows[VIEWS_MOST], *rests[VIEWS_MOST], *whole[VIEWS_MOST];
    int m = 0, lead = views[0]->rank - inner;
    for (int k = 0; k < n && m < VIEWS_MOST; k++) {
        if (views[k]->buffer == NULL)
            continue;
        rest[m] = view_part(views[k], 0, lead);
        row[m] = view_part(views[k], lead, views[k]->rank);
        rests[m] = &rest[m];
        rows[m] = &row[m];
        whole[m++] = views[k];
    }
    views_collapse(rows, m);
    if (lead > 0)
        views_collapse(rests, m);
    for (int k = 0; k < m; k++)
        operands_join(whole[k], rests[k], rows[k]);
    return rows[0]->rank;
}
