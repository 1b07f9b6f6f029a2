/* SPDX-License-Identifier: Apache-2.0 */
/* walk.c - access to elements: walk, load and store. */
#include "backends/reference/walk.h"

/* The strides of an absent view are 0, so its offset does not change. */
void walk_begin(struct walk *w, const struct view *const *views, int n)
{
    *w = (struct walk){.rank = views[0]->rank, .n = n};
    for (int i = 0; i < w->rank; i++)
        w->shape[i] = views[0]->shape[i];
    for (int k = 0; k < n; k++)
        for (int i = 0; i < w->rank; i++)
            w->stride[k][i] = views[k]->stride[i];
}

/* Go to the next element, as in counting: increment the last dimension that is
 * not at its end, and reset the dimensions after it. Returns false, and resets
 * all, after the last element. */
bool walk_next(struct walk *w)
{
    for (int i = w->rank - 1; i >= 0; i--) {
        for (int k = 0; k < w->n; k++)
            w->at[k] += w->stride[k][i];
        if (++w->index[i] < w->shape[i])
            return true;
        for (int k = 0; k < w->n; k++)
            w->at[k] -= w->shape[i] * w->stride[k][i];
        w->index[i] = 0;
    }
    return false;
}
