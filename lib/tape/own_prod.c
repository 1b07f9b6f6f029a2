/* SPDX-License-Identifier: Apache-2.0 */
/* own_prod.c - the gradient of a product of elements.
 *
 * The gradient of x[i] is dy times the product of all other elements. Dividing
 * the whole product by x[i] fails if an element is 0. Instead, the product of
 * the elements before x[i] is multiplied with the product of those after it.
 *
 * Both come from a scan over rows of n elements in log2(n) steps. In step s =
 * 1, 2, 4, .. each element is multiplied with the element s places away. */
#include <sesqui/ops.h>

#include "lib/op/reduce/reduce_axes.h"
#include "lib/tape/own.h"

/* Contiguous rows of elements, and the memory for a scan over them. */
struct own_prod_scan {
    ssq_tape *t;
    int64_t rows, n;
    struct tape_held x, before, after, spare;
};

/* Return a view of columns from..to - 1 of contiguous rows. */
static ssq_tensor own_prod_columns(const struct own_prod_scan *s,
                                   const struct tape_held *of, int64_t from,
                                   int64_t to)
{
    ssq_tensor part = of->tensor;
    part.view.rank = 2;
    part.view.shape[0] = s->rows;
    part.view.stride[0] = s->n;
    part.view.shape[1] = to - from;
    part.view.stride[1] = 1;
    part.view.offset += (uint64_t)from * sizeof(float);
    return part;
}

static ssq_status copy_columns(const struct own_prod_scan *s,
                               const struct tape_held *from, int64_t at,
                               const struct tape_held *to, int64_t start,
                               int64_t n)
{
    const ssq_tensor x = own_prod_columns(s, from, at, at + n);
    const ssq_tensor y = own_prod_columns(s, to, start, start + n);
    return n == 0 ? SSQ_OK : ssq_copy(s->t->queue, SSQ_COPY(.x = &x, .y = &y));
}

/* Compute y[j] = x[j] x[j - step] for each column j from..to - 1. If step is
 * negative, the second factor is after x[j]. */
static ssq_status multiply_columns(const struct own_prod_scan *s,
                                   const struct tape_held *x,
                                   const struct tape_held *y, int64_t from,
                                   int64_t to, int64_t step)
{
    const ssq_tensor a = own_prod_columns(s, x, from, to);
    const ssq_tensor b = own_prod_columns(s, x, from - step, to - step);
    const ssq_tensor d = own_prod_columns(s, y, from, to);
    return ssq_mul(s->t->queue, SSQ_MUL(.a = &a, .b = &b, .y = &d));
}

/* Set *all to the product of the elements before each element, or after it. */
static ssq_status scan(struct own_prod_scan *s, struct tape_held *all,
                       bool after)
{
    const int64_t n = s->n;
    const ssq_tensor one =
        own_prod_columns(s, all, after ? n - 1 : 0, after ? n : 1);
    ssq_status st = ssq_fill(s->t->queue, SSQ_FILL(.x = &one, .value = 1.0));
    if (st == SSQ_OK)
        st = copy_columns(s, &s->x, after, all, !after, n - 1);
    for (int64_t step = 1; step < n && st == SSQ_OK; step *= 2) {
        st = after ? multiply_columns(s, all, &s->spare, 0, n - step, -step)
                   : multiply_columns(s, all, &s->spare, step, n, step);
        if (st == SSQ_OK)
            st = copy_columns(s, all, after ? n - step : 0, &s->spare,
                              after ? n - step : 0, step);
        const struct tape_held was = *all;
        *all = s->spare;
        s->spare = was;
    }
    return st;
}

/* dx = dy times both products. The kept dimensions are first in all views, and
 * dy is broadcast over the others. */
static ssq_status prod_backward(struct own_prod_scan *s, const ssq_tensor *x,
                                const ssq_tensor *dy, const ssq_tensor *dx)
{
    ssq_status st = ssq_cast(s->t->queue, SSQ_CAST(.x = x, .y = &s->x.tensor));
    if (st == SSQ_OK)
        st = scan(s, &s->before, false);
    if (st == SSQ_OK)
        st = scan(s, &s->after, true);
    if (st == SSQ_OK)
        st = ssq_mul(s->t->queue,
                     SSQ_MUL(.a = &s->before.tensor, .b = &s->after.tensor,
                             .y = &s->x.tensor));
    if (st == SSQ_OK)
        st = ssq_mul(s->t->queue, SSQ_MUL(.a = &s->x.tensor, .b = dy, .y = dx));
    return st;
}

static ssq_status scan_open(struct own_prod_scan *s, const struct view *v)
{
    struct tape_held *all[] = {&s->x, &s->before, &s->after, &s->spare};
    ssq_status st = SSQ_OK;
    for (int i = 0; i < 4 && st == SSQ_OK; i++)
        st = held_make(s->t, SSQ_F32, v->rank, v->shape, all[i]);
    return st;
}

static void scan_close(struct own_prod_scan *s)
{
    struct tape_held *all[] = {&s->spare, &s->after, &s->before, &s->x};
    for (int i = 0; i < 4; i++)
        held_put(s->t, all[i]);
}

/* Make views of x, dy and dx with the kept dimensions first. */
static ssq_status own_prod_split(const ssq_prod_args *args, ssq_tensor *x,
                                 ssq_tensor *dy, ssq_tensor *dx,
                                 struct own_prod_scan *s)
{
    struct axes a;
    struct view kept;
    const struct view whole = x->view, into = dx->view;
    ssq_status st = axes_read(args->axes, args->n_axes, whole.rank, "prod", &a);
    if (st == SSQ_OK)
        st = axes_project(&a, &whole, "x", &dy->view, "y", "prod", &kept);
    if (st != SSQ_OK)
        return st;
    const int n = axes_split(&a, &whole, &x->view);
    (void)axes_split(&a, &into, &dx->view);
    for (int i = n; i < x->view.rank; i++) {
        kept.shape[i] = x->view.shape[i];
        kept.stride[i] = 0;
    }
    kept.rank = x->view.rank;
    dy->view = kept;
    s->n = axes_count(&a, &whole);
    s->rows = s->n == 0 ? 0 : view_elements(&whole) / s->n;
    return SSQ_OK;
}

ssq_status own_prod(ssq_tape *t, const struct node *n)
{
    struct into to;
    struct own_prod_scan s = {.t = t};
    ssq_status st = written_check(t, n, 0);
    if (st == SSQ_OK)
        st = into_begin(t, n->var[0], &to);
    if (st != SSQ_OK || to.tensor == NULL)
        return st;
    ssq_tensor x = value_of(t, n->var[0])->is.tensor;
    ssq_tensor dy = value_of(t, n->out[0])->grad.tensor, dx = *to.tensor;
    st = own_prod_split(node_args(t, n), &x, &dy, &dx, &s);
    if (st == SSQ_OK && view_elements(&x.view) > 0) {
        st = scan_open(&s, &x.view);
        if (st == SSQ_OK)
            st = prod_backward(&s, &x, &dy, &dx);
        scan_close(&s);
    }
    return st == SSQ_OK ? into_end(t, &to) : st;
}
