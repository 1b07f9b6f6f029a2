/* SPDX-License-Identifier: Apache-2.0 */
/* second_prod.c - the rule of a product of elements: own_prod.c on vars. */
#include "lib/op/reduce/reduce_axes.h"
#include "lib/tape/second.h"

static ssq_var join_columns(const struct chain *c, ssq_var a, ssq_var b)
{
    return ssq_var_concat_at(c->n.where, (const ssq_var[]){a, b}, 2, 1);
}

static ssq_var second_prod_part(const struct chain *c, ssq_var x, int64_t from,
                                int64_t to)
{
    return ssq_var_slice_at(c->n.where, x, 1, from, to, 1);
}

/* Return the product of the elements of x [rows, n] before each element, or
 * after it. */
static ssq_var scanned(const struct chain *c, ssq_var x, int64_t rows,
                       int64_t n, bool after)
{
    ssq_var all =
        ssq_var_broadcast_at(c->n.where, chain_number(c, 1.0, SSQ_F32), 2,
                             (const int64_t[]){rows, 1});
    if (n > 1)
        all = after ? join_columns(c, second_prod_part(c, x, 1, n), all)
                    : join_columns(c, all, second_prod_part(c, x, 0, n - 1));
    for (int64_t step = 1; step < n; step *= 2) {
        ssq_var low = second_prod_part(c, all, 0, n - step),
                high = second_prod_part(c, all, step, n);
        ssq_var both = chain_mul(c, low, high);
        all = after
                  ? join_columns(c, both, second_prod_part(c, all, n - step, n))
                  : join_columns(c, second_prod_part(c, all, 0, step), both);
    }
    return all;
}

void second_prod(struct chain *c)
{
    const ssq_prod_args *args = c->args;
    const struct view x = value_of(c->t, c->n.var[0])->is.tensor.view;
    struct axes a;
    int order[SSQ_MAX_RANK], back[SSQ_MAX_RANK], n = 0;
    int64_t shape[SSQ_MAX_RANK];
    ssq_var of = chain_wide(c, 0);
    if (view_elements(&x) == 0) {
        chain_give(c, 0, of); /* an empty var of that shape */
        return;
    }
    if (axes_read(args->axes, args->n_axes, x.rank, "prod", &a) != SSQ_OK)
        return; /* cannot happen: the forward call has read them */
    for (int reduced = 0; reduced < 2; reduced++)
        for (int i = 0; i < x.rank; i++)
            if (a.reduced[i] == (reduced == 1)) {
                shape[n] = x.shape[i];
                back[i] = n;
                order[n++] = i;
            }
    const int64_t columns = axes_count(&a, &x);
    const int64_t rows = view_elements(&x) / columns;
    const char *where = c->n.where;
    of = chain_dense(c, ssq_var_transpose_at(where, of, order));
    of = ssq_var_reshape_at(where, of, 2, (const int64_t[]){rows, columns});
    ssq_var dy = ssq_var_reshape_at(where, chain_slope(c), 2,
                                    (const int64_t[]){rows, 1});
    ssq_var others = chain_mul(c, scanned(c, of, rows, columns, false),
                               scanned(c, of, rows, columns, true));
    ssq_var dx =
        ssq_var_reshape_at(where, chain_mul(c, others, dy), x.rank, shape);
    chain_give(c, 0, ssq_var_transpose_at(where, dx, back));
}
