/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - how the rows of an operand lie, and how many a task has. */
#include "backends/cpu/norm/rows.h"

#define NATIVE /* sizes from which the kernels treat a row as large */
#include "kernels/dialect/stream.h"

/* Elements of a task: a thread reads and writes them in tens of microseconds,
 * and rows enough that the next one is nearly always known. */
#define TASK_ELEMENTS (INT64_C(1) << 16)
/* Elements that are not worth another thread: its waking takes longer. */
#define FEW (UINT64_C(1) << 13)

/* Fewer rows keep too few threads busy. */
#define MANY 32

static int64_t rows_product(const struct view *v, int first, int end)
{
    int64_t n = 1;
    for (int i = first; i < end; i++)
        n *= v->shape[i];
    return n;
}

int64_t rows_count(const struct view *v, int inner)
{
    return rows_product(v, 0, v->rank - inner);
}

int64_t rows_length(const struct view *v, int inner)
{
    return rows_product(v, v->rank - inner, v->rank);
}

bool rows_check_length(const struct view *v, int inner, int64_t least,
                       int64_t longest, struct why *why)
{
    int64_t n = rows_length(v, inner), rows = rows_count(v, inner);
    if (n < least)
        return refuse(why, "rows of %lld elements, expected %lld or more",
                      (long long)n, (long long)least);
    if (rows < MANY && n > longest)
        return refuse(why, "%lld rows of %lld elements, expected %d or more",
                      (long long)rows, (long long)n, MANY);
    return true;
}

/* Dimensions first .. end - 1 as one whose elements are *step apart, 0 if there
 * is only one; false if they do not lie so. */
static bool rows_merge(const struct view *v, int first, int end, int64_t *step)
{
    int64_t next = 0;
    bool any = false;
    *step = 0;
    for (int i = end - 1; i >= first; i--) {
        if (v->shape[i] == 1)
            continue;
        if (!any)
            *step = v->stride[i];
        else if (v->stride[i] != next)
            return false;
        next = v->stride[i] * v->shape[i];
        any = true;
    }
    return true;
}

bool rows_check_ones(const struct view *v, int inner, const char *name,
                     struct why *why)
{
    int64_t step;
    if (v->buffer != NULL && !rows_merge(v, 0, v->rank - inner, &step))
        return refuse(why, "rows of %s do not lie evenly", name);
    return true;
}

bool rows_check(const struct view *v, int inner, const char *name,
                struct why *why)
{
    int64_t step;
    if (v->buffer == NULL)
        return true;
    if (!rows_merge(v, v->rank - inner, v->rank, &step) || step > 1 ||
        (step == 0 && rows_length(v, inner) > 1))
        return refuse(why, "elements of a row of %s are not adjacent", name);
    return rows_check_ones(v, inner, name, why);
}

struct rows_at rows_at(const struct view *v, int inner)
{
    struct rows_at at = {.p = NULL};
    int64_t step;
    if (v->buffer == NULL || !rows_merge(v, 0, v->rank - inner, &step))
        return at;
    at.p = view_host(v);
    at.dtype = v->dtype;
    at.apart = step * (int64_t)dtype_bytes(v->dtype);
    return at;
}

bool rows_past(const struct view *v)
{
#if STREAMED
    return v->buffer != NULL && v->dtype != SSQ_F32
               ? STREAMS(view_elements(v), uint16_t)
               : STREAMS(view_elements(v), float);
#else
    (void)v;
    return false;
#endif
}

int64_t rows_of_task(int64_t n)
{
    return n < TASK_ELEMENTS ? TASK_ELEMENTS / n : 1;
}

void rows_loop(struct team *team, uint64_t elements, int64_t n, team_task task,
               void *context)
{
    if (elements >= FEW) {
        parallel_for(team, (uint32_t)n, task, context);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        task(context, i, 0);
}
