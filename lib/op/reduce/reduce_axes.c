/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_axes.c - sets of axes: read, split views by them, collapse. */
#include "lib/op/reduce/reduce_axes.h"

#include <sesqui/ops/reduce.h>

/* Refuse axes that are set while n_axes is 0, which means all dimensions. A
 * list with only axis 0 looks the same as none; the shape of the result reveals
 * it. */
static ssq_status check_none(const int *axes, const char *op)
{
    for (int i = 0; i < SSQ_MAX_RANK; i++)
        if (axes[i] != 0)
            return error_set(SSQ_ERR_INVALID,
                             "%s: axes[%d] is %d, but n_axes is 0", op, i,
                             axes[i]);
    return SSQ_OK;
}

/* n = 0 means all dimensions, so that a scalar can be requested without a list.
 * result->n is then the rank. */
ssq_status axes_read(const int *axes, int n, int rank, const char *op,
                     struct axes *result)
{
    *result = (struct axes){.n = n};
    if (n == 0) {
        result->n = rank;
        for (int i = 0; i < rank; i++)
            result->reduced[i] = true;
        return check_none(axes, op);
    }
    if (n == SSQ_AXES_NONE)
        n = result->n = 0;
    if (n < 0 || n > rank)
        return error_set(SSQ_ERR_INVALID, "%s: n_axes is %d for rank %d", op, n,
                         rank);
    for (int i = 0; i < n; i++) {
        int axis;
        ssq_status st = check_axis(axes[i], rank, op, &axis);
        if (st != SSQ_OK)
            return st;
        if (result->reduced[axis])
            return error_set(SSQ_ERR_INVALID,
                             "%s: axes name dimension %d twice", op, axis);
        result->reduced[axis] = true;
    }
    return SSQ_OK;
}

int64_t axes_count(const struct axes *a, const struct view *x)
{
    int64_t n = 1;
    for (int i = 0; i < x->rank; i++)
        if (a->reduced[i])
            n *= x->shape[i];
    return n;
}

/* One pass: at has the next free place of each part, and each dimension goes to
 * the place of its part. */
int axes_split(const struct axes *a, const struct view *x, struct view *split)
{
    int kept = x->rank - a->n, at[2] = {0, kept};
    *split = *x;
    for (int i = 0; i < x->rank; i++) {
        int k = at[a->reduced[i]]++;
        split->shape[k] = x->shape[i];
        split->stride[k] = x->stride[i];
    }
    return kept;
}

/* y may have the reduced dimensions as 1, or may lack them; its rank decides. k
 * counts the dimensions of y. */
ssq_status axes_project(const struct axes *a, const struct view *x,
                        const char *x_what, const struct view *y,
                        const char *y_what, const char *op, struct view *kept)
{
    bool keepdim = y->rank == x->rank;
    bool same = keepdim || y->rank == x->rank - a->n;
    *kept = *y;
    kept->rank = 0;
    for (int i = 0, k = 0; i < x->rank && same; i++) {
        if (a->reduced[i]) {
            same = !keepdim || y->shape[k++] == 1;
            continue;
        }
        same = y->shape[k] == x->shape[i];
        kept->shape[kept->rank] = y->shape[k];
        kept->stride[kept->rank++] = y->stride[k++];
    }
    if (same)
        return SSQ_OK;
    char tx[128], ty[128];
    return error_set(SSQ_ERR_INVALID,
                     "%s: %s is %s, %s is %s, expected the first without the "
                     "%d reduced dimensions, or 1 in their place",
                     op, x_what, view_text(x, tx, sizeof(tx)), y_what,
                     view_text(y, ty, sizeof(ty)), a->n);
}

/* Collapse views, but leave rank 0 as it is: views_collapse() would turn it
 * into one dimension. Returns the rank. */
static int collapse(struct view **v, int n)
{
    if (n > 0 && v[0]->rank > 0)
        views_collapse(v, n);
    return n > 0 ? v[0]->rank : 0;
}

void axes_collapse(struct view **split, int n, struct view **kept_only, int m,
                   int *kept)
{
    struct view head[2], tail[2];
    struct view *heads[4], *tails[2];
    for (int i = 0; i < n; i++) {
        head[i] = view_part(split[i], 0, *kept);
        tail[i] = view_part(split[i], *kept, split[i]->rank);
        heads[i] = &head[i];
        tails[i] = &tail[i];
    }
    for (int i = 0; i < m; i++)
        heads[n + i] = kept_only[i];
    *kept = collapse(heads, n + m);
    int reduced = collapse(tails, n);
    for (int i = 0; i < n; i++) {
        struct view *v = split[i];
        *v = head[i];
        for (int k = 0; k < reduced; k++) {
            v->shape[*kept + k] = tail[i].shape[k];
            v->stride[*kept + k] = tail[i].stride[k];
        }
        v->rank = *kept + reduced;
    }
}
