/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - the plan of reductions. It reduces one dimension of x at a time,
 * into scratch, until none is left. A long dimension is reduced in several
 * parts in parallel.
 *
 * Chains of additions follow kernels/reduce/pairs.h: over blocks of 64 in the
 * first stage, and of 2 in the others. */
#include "lib/plan/reduce/reduce.h"

#include "kernels/reduce/pairs.h"
#include "kernels/reduce/reduce_args.h"
#include "lib/plan/walk.h"

#define BLOCK 64u
/* Rows up to this length are not given to a group; an item reduces each. */
#define SHORT           64u
#define PROCESSOR_SHORT 16u
/* Least elements of a part, of a row and of a column. */
#define ROW_PART    16384u
#define COLUMN_PART 256u
/* The tile of reduce_columns.k on a CPU. */
#define PROCESSOR_TILE 256u

/* One launch. It reduces dimension d of x. If it uses columns, these are along
 * c. */
struct stage {
    struct view x, y;
    int kept;  /* dimensions of x that y has; they are first */
    int d;     /* -1: none is left, one element each */
    int c;     /* -1: none */
    bool rows; /* else columns */
    bool first, last;
    struct reduce_args a;
};

/* Return the dimension of from..to - 1, except `but`, with the smallest step
 * and more than one element. -1: none. */
static int reduce_nearest(const struct view *v, int from, int to, int but)
{
    int best = -1;
    for (int i = from; i < to; i++)
        if (i != but && v->shape[i] > 1 &&
            (best < 0 || v->stride[i] < v->stride[best]))
            best = i;
    return best;
}

/* Return the number of elements of the dimension that the stage reduces. */
static uint32_t reduce_elements(const struct stage *s)
{
    return s->d < 0 ? 1 : (uint32_t)s->x.shape[s->d];
}

/* Choose the dimension to reduce: the one with the smallest step. If it is long
 * and no other dimension has a smaller step, its elements are a row, shared by
 * a group. Otherwise they are a column: each item reduces one, and adjacent
 * items read adjacent elements along c. */
static void reduce_choose(struct stage *s, uint32_t group)
{
    const struct view *x = &s->x;
    s->d = reduce_nearest(x, s->kept, x->rank, -1);
    if (s->d < 0 && x->rank > s->kept)
        s->d = s->kept;
    s->c = reduce_nearest(x, 0, x->rank, s->d);
    s->rows = reduce_elements(s) > (group == 1 ? PROCESSOR_SHORT : SHORT) &&
              (s->c < 0 || x->stride[s->c] >= x->stride[s->d]);
    if (s->rows)
        s->c = -1;
}

/* Return the number of tasks if d is not divided. */
static uint64_t tasks(const struct stage *s, uint32_t group)
{
    uint64_t n = (uint64_t)view_elements(&s->x) / reduce_elements(s);
    if (s->rows || group > 1 || s->c < 0)
        return n;
    uint64_t cols = (uint64_t)s->x.shape[s->c];
    return n / cols * (uint64_t)size_div_up(cols, PROCESSOR_TILE);
}

/* Divide d if there are too few tasks for the device. */
static void reduce_divide(struct stage *s, const struct backend_limits *l)
{
    uint32_t n = reduce_elements(s);
    uint32_t least = s->rows ? ROW_PART : COLUMN_PART;
    uint64_t want = (uint64_t)l->units * (limits_processor(l) ? 4 : 16);
    if (!s->rows)
        want *= l->group;
    uint64_t splits = want / tasks(s, l->group);
    if (splits > n / least)
        splits = n / least;
    if (splits < 1)
        splits = 1;
    s->a.n = n;
    int64_t part = size_div_up(n, splits);
    s->a.part = (uint32_t)(size_div_up(part, least) * least);
    s->a.splits = (uint32_t)size_div_up(n, s->a.part);
}

/* Choose the result of a stage: y, or scratch of [parts, x's shape without d].
 * The latter becomes x of the next stage, with the kept dimensions first. */
static void reduce_result(struct plan *p, struct stage *s,
                          const struct reduce_op *op)
{
    const struct view *x = &s->x;
    s->last = s->a.splits == 1 && x->rank - s->kept <= 1;
    if (s->last) {
        s->y = op->y;
        s->a.divisor = op->kind == REDUCE_MEAN ? op->divisor : 0.0f;
        return;
    }
    uint64_t n = (uint64_t)view_elements(x) / reduce_elements(s);
    bool extreme = op->kind == REDUCE_MAX || op->kind == REDUCE_MIN;
    plan_scratch(p, extreme ? op->x.dtype : SSQ_F32, n * s->a.splits, &s->y);
    s->y.rank = 0;
    int64_t pitch = (int64_t)n;
    for (int i = 0; i < x->rank; i++) {
        if (i == s->d)
            continue;
        pitch /= x->shape[i];
        s->y.shape[s->y.rank] = x->shape[i];
        s->y.stride[s->y.rank++] = pitch;
    }
    s->a.y_split = (uint32_t)n;
}

/* Set the walk over the dimensions of x and y except d and c. */
static void reduce_walked(struct stage *s)
{
    struct reduce_args *a = &s->a;
    a->outer = 1;
    a->cols = 1;
    for (int i = 0, k = 0; i < s->x.rank; i++) {
        if (i == s->d)
            continue;
        uint32_t x_step = (uint32_t)s->x.stride[i];
        uint32_t y_step = (uint32_t)s->y.stride[k++];
        if (i == s->c) {
            a->cols = (uint32_t)s->x.shape[i];
            a->x_col = x_step;
            a->y_col = y_step;
            continue;
        }
        a->size[a->rank] = (uint32_t)s->x.shape[i];
        a->x_steps[a->rank] = x_step;
        a->y_steps[a->rank++] = y_step;
        a->outer *= (uint32_t)s->x.shape[i];
    }
}

/* Return the loops over this number of steps, by kernels/reduce/pairs.h. Each
 * step is one round. Each block of `links` steps adds one round, two for ends,
 * and less than two carries on average. */
static uint64_t pairs(uint32_t steps, uint32_t links)
{
    return loops_of(steps, 0) + loops_of(steps / links, 4) +
           2 * loops_of(PAIR_LEVELS, 0) + LOOPS_FEW;
}

/* Record one stage. The sums of the first stage are blocks of 64 links, which
 * are then added in pairs. In later stages elements are sums already and are
 * added in pairs immediately. This limits the rounding error and fixes the
 * order. */
static void reduce_launch(struct plan *p, struct stage *s,
                          enum reduce_kind kind)
{
    static const uint8_t text[] = {
        [REDUCE_SUM] = REDUCE_ADD,     [REDUCE_MEAN] = REDUCE_ADD,
        [REDUCE_PROD] = REDUCE_TIMES,  [REDUCE_MAX] = REDUCE_EXTREME,
        [REDUCE_MIN] = REDUCE_EXTREME,
    };
    const struct backend_limits *l = plan_limits(p);
    struct reduce_args *a = &s->a;
    a->minimum = kind == REDUCE_MIN;
    a->x_dtype = s->x.dtype;
    a->y_dtype = s->y.dtype;
    a->links = s->first ? BLOCK : 2;
    a->step = s->d < 0 ? 0 : (uint32_t)s->x.stride[s->d];
    reduce_walked(s);
    plan_kernel(p, s->rows ? KERNEL_reduce_rows : KERNEL_reduce_columns,
                KEYS(text[kind], (uint8_t)dtype_bytes(s->x.dtype),
                     (uint8_t)dtype_bytes(s->y.dtype)));
    plan_bind(p, &s->x, ACCESS_READ);
    plan_bind(p, &s->y, ACCESS_WRITE);
    uint64_t n = tasks(s, l->group) * a->splits;
    if (s->rows || limits_processor(l))
        plan_groups(p, a, sizeof(*a), n,
                    pairs((uint32_t)size_div_up(a->part, l->group), a->links));
    else
        plan_items(p, a, sizeof(*a), n, pairs(a->part, a->links));
}

/* Set x of the next stage: s->y with its parts as the last dimension. */
static void reduce_next(struct stage *s)
{
    uint32_t splits = s->a.splits, pitch = s->a.y_split;
    s->x = s->y;
    if (splits > 1) {
        s->x.shape[s->x.rank] = splits;
        s->x.stride[s->x.rank++] = pitch;
    }
    s->first = false;
    s->a = (struct reduce_args){.n = 0};
}

void plan_reduce(struct plan *p, const struct reduce_op *op)
{
    struct stage s = {.x = op->x, .kept = op->kept, .first = true};
    while (!s.last && !plan_failed(p)) {
        reduce_choose(&s, plan_limits(p)->group);
        reduce_divide(&s, plan_limits(p));
        reduce_result(p, &s, op);
        reduce_launch(p, &s, op->kind);
        reduce_next(&s);
    }
}

/* Reduce the second dimension of x, viewed as [its size / n, n]. */
void plan_reduce_sums(struct plan *p, const struct view *x, uint32_t n,
                      const struct view *sums)
{
    struct reduce_op op = {.kind = REDUCE_SUM, .kept = 1, .x = *x, .y = *sums};
    op.x.shape[0] /= n;
    op.x.stride[0] = n;
    op.x.shape[1] = n;
    op.x.stride[1] = 1;
    op.x.rank = 2;
    plan_reduce(p, &op);
}

/* Convert with a reduction: the sum of one element is that element, in
 * float32. */
void plan_reduce_widen(struct plan *p, const struct view *x, struct view *wide)
{
    struct reduce_op op = {.kind = REDUCE_SUM, .kept = x->rank, .x = *x};
    *wide = *x;
    if (x->dtype == SSQ_F32 && view_contiguous(x))
        return;
    plan_scratch(p, SSQ_F32, (uint64_t)view_elements(x), wide);
    op.y = *x;
    op.y.buffer = wide->buffer;
    op.y.offset = wide->offset;
    op.y.dtype = SSQ_F32;
    int64_t pitch = 1;
    for (int i = x->rank; i-- > 0; pitch *= x->shape[i])
        op.y.stride[i] = pitch;
    plan_reduce(p, &op);
}

const struct reduce_plan reduce_plans[] = {{"portable", NULL, plan_reduce},
                                           {NULL}};
