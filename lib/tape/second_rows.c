/* SPDX-License-Identifier: Apache-2.0 */
/* second_rows.c - the rule of gathered rows. A separate op adds the rows of dy
 * where they came from. The gradient of that op gathers rows again. */
#include "lib/tape/second.h"

static ssq_status own_scatter(ssq_tape *t, const struct node *n)
{
    const ssq_gather_rows_args *args = node_args(t, n);
    struct into to;
    ssq_status st =
        written_check_option(t, n, offsetof(ssq_gather_rows_args, index));
    if (st == SSQ_OK)
        st = into_begin(t, n->var[0], &to);
    if (st != SSQ_OK || to.tensor == NULL)
        return st;
    st = ssq_gather_rows(
        t->queue, SSQ_GATHER_ROWS(.x = &value_of(t, n->out[0])->grad.tensor,
                                  .index = args->index, .y = to.tensor));
    return st == SSQ_OK ? into_end(t, &to) : st;
}

static const struct tape_slot slots[] = {
    {.name = "index",
     .role = SLOT_TENSOR,
     .at = offsetof(ssq_gather_rows_args, index)}};

static const struct tape_op scatter = {.name = "scatter_rows",
                                       .bytes = sizeof(ssq_gather_rows_args),
                                       .slots = slots,
                                       .nslots = 1,
                                       .nvars = 1,
                                       .nouts = 1,
                                       .own = own_scatter};

void second_gather_rows(struct chain *c)
{
    ssq_tape *t = c->t;
    const ssq_gather_rows_args *args = c->args;
    struct node n = {.op = &scatter, .where = c->n.where, .var = {c->dy.id}};
    const struct view x = value_of(t, c->n.var[0])->is.tensor.view;
    if (!chain_unwritten(c, offsetof(ssq_gather_rows_args, index)))
        return;
    ssq_status st = value_make(t, SSQ_F32, x.rank, x.shape, &n.out[0]);
    if (st != SSQ_OK) {
        latch_node(t, st, &c->n);
        return;
    }
    const ssq_tensor *dx = &value_of(t, n.out[0])->is.tensor;
    st = ssq_fill(t->queue, SSQ_FILL(.x = dx));
    if (st == SSQ_OK)
        st = ssq_scatter_add_rows(
            t->queue,
            SSQ_SCATTER_ADD_ROWS(.dy = &value_of(t, c->dy.id)->is.tensor,
                                 .index = args->index, .dx = dx));
    if (st == SSQ_OK) {
        written_record(t, &n, args);
        st = tape_record_wanted(t, &n, args, sizeof(*args));
    }
    chain_give(c, 0, chain_value(c, st, n.out[0]));
}

void second_scatter_rows(struct chain *c)
{
    const ssq_gather_rows_args *args = c->args;
    if (chain_unwritten(c, offsetof(ssq_gather_rows_args, index)))
        chain_give(
            c, 0,
            ssq_gather_rows_var_at(c->n.where, c->dy,
                                   SSQ_GATHER_ROWS(.index = args->index)));
}
