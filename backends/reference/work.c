/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - host memory of one op. */
#include "backends/reference/work.h"

#include "lib/core/core.h"

static void *work_block(struct work *w, int64_t n, size_t size)
{
    void *p = mem_alloc_array((size_t)n, size);
    if (p == NULL)
        w->failed = true;
    else
        w->block[w->n++] = p;
    return p;
}

float *work_floats(struct work *w, int64_t n)
{
    return work_block(w, n, sizeof(float));
}

double *work_doubles(struct work *w, int64_t n)
{
    return work_block(w, n, sizeof(double));
}

float *work_view(struct work *w, const struct view *v)
{
    int64_t n = view_elements(v);
    float *x = work_floats(w, n), *to = x;
    if (x == NULL || n == 0)
        return x;
    struct walk at;
    walk_begin(&at, &v, 1);
    do {
        *to++ = view_load(v, at.at[0]);
    } while (walk_next(&at));
    return x;
}

void work_free(struct work *w)
{
    while (w->n > 0)
        mem_free(w->block[--w->n]);
}
