/* SPDX-License-Identifier: Apache-2.0 */
/* channel_norm.c - the plans of batch norm and group norm.
 *
 * Forward:
 * - sums of x over chunks, then the mean of each set
 * - sums of x - mean and of its squares, then the corrected mean and rstd
 * - y
 *
 * Instead of the sums, statistics found by all ranks may be given.
 *
 * Backward:
 * - sums of dy and dy z, then dgamma, dbeta and the averages of each set
 * - dx
 *
 * Instead of the sums, averages may be given. */
#include "lib/plan/floats.h"

#include "kernels/gemm/epilogue.h"
#include "kernels/norm/channel_args.h"
#include "lib/core/core.h"
#include "lib/op/norm/channel_norm.h"

/* Chains of dependent additions are short for precision: the error of a sum
 * grows with the length of its chain. If lanes share a piece, each lane adds
 * every LANES-th element of at most CHUNK. It adds at most CHAIN elements in
 * all pieces of its chunk. */
#define CHUNK 4096u
#define CHAIN 64u
/* Least number of adjacent channels to give each a lane. With fewer, most lanes
 * of the group would be idle. */
#define ACROSS_LEAST 16

/* Most operands of a launch. */
#define OPERANDS 3
/* How the operands of a launch are walked. The first sums are over rows. A row
 * is a channel of one example, or of the whole batch if statistics are
 * pooled. */
struct geometry {
    struct channel_walk a;
    struct channel_operand operand[OPERANDS];
    /* examples: 1 if the batch is pooled, since it is then part of the row.
     * rows: examples times channels. groups: sets of an example. */
    uint32_t examples, rows, groups;
};

/* Return the dimensions of a row: the spatial ones, after the batch if
 * statistics are pooled. Channels (dimension 1) are never part of it. */
static struct view channel_norm_row_of(const struct view *v, bool pooled)
{
    struct view r = *v;
    int to = 0;
    for (int i = pooled ? 0 : 2; i < v->rank; i++) {
        if (i == 1)
            continue;
        r.shape[to] = v->shape[i];
        r.stride[to++] = v->stride[i];
    }
    r.rank = to;
    return r;
}

/* Set the layout of an operand. Its row is already merged with the rows of the
 * others, and the last dimension of the row is the line. */
static void channel_norm_operand(struct channel_operand *o,
                                 const struct view *v, const struct view *row,
                                 bool pooled)
{
    int last = row->rank - 1;
    o->dtype = (uint32_t)v->dtype;
    o->example = pooled ? 0 : (uint32_t)v->stride[0];
    o->channel = (uint32_t)v->stride[1];
    o->step = (uint32_t)row->stride[last];
    for (int i = 0; i < last; i++)
        o->steps[i] = (uint32_t)row->stride[i];
}

/* Divide rows into chunks such that no chain of additions has more than 64 + n
 * / 64 links. n is the number of elements of a row. If a lane processes a whole
 * channel, it adds a chunk in one chain. Then a chunk has n / CHAIN elements,
 * but at least CHAIN. */
static void channel_norm_divide(struct channel_walk *a, uint32_t lines)
{
    uint32_t n = lines * a->line;
    if (a->across) {
        uint32_t most = (uint32_t)size_most(size_div_up(n, CHAIN), CHAIN);
        a->longest = a->line < most ? a->line : most;
        a->per_chunk = most / a->longest;
    } else {
        a->longest = a->line < CHUNK ? a->line : CHUNK;
        a->per_chunk = CHAIN / size_div_up(a->longest, CHUNK / CHAIN);
    }
    a->per_line = size_div_up(a->line, a->longest);
    a->pieces = lines * a->per_line;
    a->chunks = size_div_up(a->pieces, a->per_chunk);
}

/* Return the walk of n present views of x's shape, x first. Dimensions with the
 * same layout in all views are merged, so that lines become long. If channels
 * are adjacent in memory and the elements of a line are not, each lane gets a
 * channel: then a group reads adjacent elements. */
static struct geometry geometry_of(const struct plan *p, bool pooled,
                                   int64_t groups, const struct view *const *v,
                                   int n)
{
    struct geometry g = {.groups = (uint32_t)groups};
    struct view rows[OPERANDS], *row[OPERANDS];
    for (int i = 0; i < n; i++) {
        rows[i] = channel_norm_row_of(v[i], pooled);
        row[i] = &rows[i];
    }
    views_collapse(row, n);
    for (int i = 0; i < n; i++)
        channel_norm_operand(&g.operand[i], v[i], row[i], pooled);
    struct channel_walk *a = &g.a;
    uint32_t lines = 1, lanes = plan_limits(p)->group;
    a->channels = (uint32_t)v[0]->shape[1];
    a->per_group = a->channels / g.groups;
    a->rank = (uint32_t)rows[0].rank - 1;
    for (uint32_t i = 0; i < a->rank; i++) {
        a->size[i] = (uint32_t)rows[0].shape[i];
        lines *= a->size[i];
    }
    a->line = (uint32_t)rows[0].shape[a->rank];
    a->across = a->channels >= ACROSS_LEAST && g.operand[0].channel == 1 &&
                g.operand[0].step != 1;
    channel_norm_divide(a, lines);
    g.examples = pooled ? 1 : (uint32_t)v[0]->shape[0];
    g.rows = g.examples * a->channels;
    lanes = lanes == 1 ? 64 : lanes; /* LANES of kernels/dialect/group.h */
    a->tasks = a->chunks * g.examples *
               (a->across ? size_div_up(a->channels, lanes) : a->channels);
    return g;
}
/* Call geometry_of() with a list of views: x, and the others that the launch
 * reads or writes. */
#define GEOMETRY(P, OP, ...)                                                   \
    geometry_of(P, (OP)->pooled, (OP)->groups,                                 \
                (const struct view *const[]){__VA_ARGS__},                     \
                (int)(sizeof((const struct view *const[]){__VA_ARGS__}) /      \
                      sizeof(const struct view *)))

/* Return the loops of a task: its pieces, each with a walk for every operand,
 * and its steps, each with `body` more loops. */
static uint64_t task_loops(const struct plan *p, const struct geometry *g,
                           uint64_t body)
{
    const struct channel_walk *a = &g->a;
    uint64_t steps = a->across ? loops_of(a->longest, body)
                               : loops_shared(plan_limits(p), a->longest, body);
    return LOOPS_FEW +
           loops_of(a->per_chunk, steps + (uint64_t)OPERANDS * LOOPS_WALK);
}

/* The same for n sums that are added in up to CHAIN blocks, and then the
 * blocks. */
static uint64_t fold_loops(uint64_t n)
{
    return LOOPS_FEW + n + 2 * CHAIN;
}

/* Return the number of elements of a set, which is the same for all sets: the
 * divisor of its sums. */
static float set_elements(const struct geometry *g, const struct view *x)
{
    double sets = (double)g->examples * (double)g->groups;
    return (float)((double)view_elements(x) / sets);
}

/* Return a statistic, [n, groups]: the op's view, or scratch if it is absent.
 * Later launches read it from memory. */
static struct view statistic(struct plan *p, const struct view *v,
                             const struct geometry *g)
{
    struct view s;
    if (!view_absent(v))
        return *v;
    plan_scratch(p, SSQ_F32, (uint64_t)g->examples * g->groups, &s);
    s.rank = 2;
    s.shape[0] = g->examples;
    s.shape[1] = s.stride[0] = g->groups;
    s.stride[1] = 1;
    return s;
}

/* Set the strides of mean and rstd. They may be the caller's tensors, with
 * different strides. */
static void set_strides(struct geometry *g, const struct view *mean,
                        const struct view *rstd)
{
    g->a.mean_example = (uint32_t)mean->stride[0];
    g->a.mean_group = (uint32_t)mean->stride[1];
    g->a.rstd_example = (uint32_t)rstd->stride[0];
    g->a.rstd_group = (uint32_t)rstd->stride[1];
}

/* Record sums over chunks. Without mean they are sums of x. With mean they are
 * sums of (x - mean)^2 and, in the other half of part, of x - mean. This second
 * pass over x is more expensive than E[x^2] - E[x]^2, which cancels if the mean
 * is large. */
static void channel_norm_sum(struct plan *p, const struct channel_norm_op *op,
                             const struct geometry *g, const struct view *mean,
                             const struct view *part)
{
    struct channel_sum_args a = {.deviations = g->rows * g->a.chunks};
    a.walk = g->a;
    a.x = g->operand[0];
    plan_kernel(p, KERNEL_channel_sum,
                KEYS(mean != NULL, (uint8_t)op->x.dtype));
    plan_bind(p, &op->x, ACCESS_READ);
    plan_bind(p, part, ACCESS_WRITE);
    if (mean != NULL)
        plan_bind(p, mean, ACCESS_READ);
    plan_groups(p, &a, sizeof(a), a.walk.tasks, task_loops(p, g, 0));
}

/* Return the fields that all kernels that compute statistics have in common. */
static struct channel_statistics_args sets_of(const struct channel_norm_op *op,
                                              const struct geometry *g)
{
    return (struct channel_statistics_args){
        .sets = g->examples * g->groups,
        .groups = g->groups,
        .mean_example = g->a.mean_example,
        .mean_group = g->a.mean_group,
        .rstd_example = g->a.rstd_example,
        .rstd_group = g->a.rstd_group,
        .running = !view_absent(&op->running_mean),
        .rest = !view_absent(&op->rest),
        .running_mean_step = view_step(&op->running_mean, 0),
        .running_var_step = view_step(&op->running_var, 0),
        .eps = op->eps,
        .keep = op->keep,
        .momentum = op->momentum};
}

/* Bind the statistics. If they are given, they are only read. */
static void bind_statistics(struct plan *p, const struct channel_norm_op *op,
                            const struct view *part, const struct view *mean,
                            const struct view *rstd)
{
    enum access running = op->given ? ACCESS_READ : ACCESS_UPDATE;
    plan_bind(p, mean, ACCESS_UPDATE);
    plan_bind(p, rstd, ACCESS_WRITE);
    plan_bind(p, part, ACCESS_READ);
    plan_bind(p, &op->running_mean, running);
    plan_bind(p, &op->running_var, running);
}

/* Compute a statistic of every set from the sums, selected by `what`: see
 * channel_args.h. running_count is one less than the count if the running
 * variance is unbiased. */
static void statistics(struct plan *p, const struct channel_norm_op *op,
                       const struct geometry *g, uint32_t what,
                       const struct view *part, const struct view *mean,
                       const struct view *rstd)
{
    struct channel_statistics_args a = sets_of(op, g);
    a.what = what;
    a.parts = view_absent(part) ? 0 : g->a.per_group * g->a.chunks;
    a.count = set_elements(g, &op->x);
    a.running_count = op->population ? a.count : a.count - 1.0f;
    plan_kernel(p, KERNEL_channel_statistics, KEYS(0));
    bind_statistics(p, op, part, mean, rstd);
    plan_bind(p, &op->rest, ACCESS_WRITE);
    plan_items(p, &a, sizeof(a), a.sets, 2 * fold_loops(a.parts));
}

/* Combine the statistics of all parts, op->found, into statistics of all
 * elements. */
static void channel_norm_merge(struct plan *p, const struct channel_norm_op *op,
                               const struct geometry *g,
                               const struct view *mean, const struct view *rstd)
{
    struct channel_statistics_args a = sets_of(op, g);
    a.parts = (uint32_t)op->found.shape[0];
    a.running_count = op->population ? 0.0f : 1.0f;
    plan_kernel(p, KERNEL_channel_merge, KEYS(0));
    bind_statistics(p, op, &op->found, mean, rstd);
    plan_items(p, &a, sizeof(a), a.sets,
               4 * fold_loops(a.parts) + LOOPS_DIVIDE);
}

/* Record y. The statistics must be known. Activations other than ReLU are a
 * separate variant, so that the common ones need not contain the code of
 * all. */
static void channel_norm_apply(struct plan *p, const struct channel_norm_op *op,
                               const struct geometry *g,
                               const struct view *mean, const struct view *rstd)
{
    uint8_t d = FLOATS_KEY(&op->x, &op->y);
    bool other = op->activation != (ssq_activation)ACT_NONE &&
                 op->activation != (ssq_activation)ACT_RELU;
    struct channel_apply_args a = {.gamma_given = !view_absent(&op->gamma),
                                   .gamma_step = view_step(&op->gamma, 0),
                                   .beta_given = !view_absent(&op->beta),
                                   .beta_step = view_step(&op->beta, 0),
                                   .activation = (uint32_t)op->activation};
    a.walk = g->a;
    a.x = g->operand[0];
    a.y = g->operand[1];
    plan_kernel(p, KERNEL_channel_apply, KEYS(other, d));
    floats_bind(p, &op->x, d, ACCESS_READ);
    plan_bind(p, mean, ACCESS_READ);
    plan_bind(p, rstd, ACCESS_READ);
    plan_bind(p, &op->gamma, ACCESS_READ);
    plan_bind(p, &op->beta, ACCESS_READ);
    floats_bind(p, &op->y, d, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), a.walk.tasks,
                task_loops(p, g, other ? LOOPS_DIVIDE : 0));
}

/* Build the forward pass: sum, mean, sum of squares, rstd, y. y is optional.
 * Without it only the statistics are computed, and x replaces it in the
 * walk. */
static void channel_norm_build(struct plan *p, const struct channel_norm_op *op)
{
    const struct view *y = view_absent(&op->y) ? &op->x : &op->y;
    struct geometry g = GEOMETRY(p, op, &op->x, y);
    struct view mean = statistic(p, &op->mean, &g);
    struct view rstd = statistic(p, &op->rstd, &g);
    struct view part = {.dtype = SSQ_F32};
    set_strides(&g, &mean, &rstd);
    if (op->given) {
        statistics(p, op, &g, CHANNEL_GIVEN, &part, &mean, &rstd);
    } else if (!view_absent(&op->found)) {
        channel_norm_merge(p, op, &g, &mean, &rstd);
    } else {
        plan_scratch(p, SSQ_F32, 2 * (uint64_t)g.rows * g.a.chunks, &part);
        channel_norm_sum(p, op, &g, NULL, &part);
        statistics(p, op, &g, CHANNEL_MEAN, &part, &mean, &rstd);
        channel_norm_sum(p, op, &g, &mean, &part);
        statistics(p, op, &g, CHANNEL_RSTD, &part, &mean, &rstd);
    }
    if (!view_absent(&op->y))
        channel_norm_apply(p, op, &g, &mean, &rstd);
}

/* Record sums over chunks: of dy in part[0], and of dy z in part[1]. z is x,
 * normalized again with the saved statistics. */
static void channel_norm_sum_dy(struct plan *p,
                                const struct channel_norm_backward_op *op,
                                const struct geometry *g,
                                const struct view part[2])
{
    uint8_t d = FLOATS_KEY(&op->x, &op->dy);
    struct channel_sum_dy_args a = {0};
    a.walk = g->a;
    a.x = g->operand[0];
    a.dy = g->operand[1];
    plan_kernel(p, KERNEL_channel_sum_dy, KEYS(d));
    floats_bind(p, &op->x, d, ACCESS_READ);
    floats_bind(p, &op->dy, d, ACCESS_READ);
    plan_bind(p, &op->mean, ACCESS_READ);
    plan_bind(p, &op->rstd, ACCESS_READ);
    plan_bind(p, &part[0], ACCESS_WRITE);
    plan_bind(p, &part[1], ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), a.walk.tasks, task_loops(p, g, 0));
}

/* Compute dgamma and dbeta of each channel, and the averages of each set, from
 * the same sums. avg is absent if averages are not needed. There is an item per
 * row. The number of channels or sets is never larger. */
static void channel_norm_fold(struct plan *p,
                              const struct channel_norm_backward_op *op,
                              const struct geometry *g,
                              const struct view part[2],
                              const struct view avg[2], float count)
{
    struct channel_fold_args a = {
        .examples = g->examples,
        .channels = g->a.channels,
        .chunks = g->a.chunks,
        .per_group = g->a.per_group,
        .sets = view_absent(&avg[0]) ? 0 : g->examples * g->groups,
        .gamma_given = !view_absent(&op->gamma),
        .gamma_step = view_step(&op->gamma, 0),
        .dgamma_given = !view_absent(&op->dgamma),
        .dgamma_step = view_step(&op->dgamma, 0),
        .dbeta_given = !view_absent(&op->dbeta),
        .dbeta_step = view_step(&op->dbeta, 0),
        .count = count};
    plan_kernel(p, KERNEL_channel_fold, KEYS(0));
    plan_bind(p, &part[0], ACCESS_READ);
    plan_bind(p, &part[1], ACCESS_READ);
    plan_bind(p, &op->gamma, ACCESS_READ);
    plan_bind(p, &op->dgamma, ACCESS_WRITE);
    plan_bind(p, &op->dbeta, ACCESS_WRITE);
    plan_bind(p, &avg[0], ACCESS_WRITE);
    plan_bind(p, &avg[1], ACCESS_WRITE);
    plan_items(p, &a, sizeof(a), g->rows,
               fold_loops((uint64_t)a.examples * a.chunks) +
                   fold_loops((uint64_t)a.per_group * a.chunks));
}

/* Compute the averages of sets that are single channels: gamma times the given
 * averages of dy and dy z. These are passed as sums of one chunk with a count
 * of 1. */
static void channel_norm_weigh(struct plan *p,
                               const struct channel_norm_backward_op *op,
                               const struct geometry *g,
                               const struct view avg[2])
{
    struct geometry one = *g;
    struct view part[2] = {view_part(&op->average, 1, 2),
                           view_part(&op->average, 1, 2)};
    part[1].offset += (uint64_t)op->average.stride[0] * sizeof(float);
    one.a.chunks = 1;
    channel_norm_fold(p, op, &one, part, avg, 1.0f);
}

/* Record dx, from the averages of each set. Given statistics do not depend on
 * x; then nothing is subtracted. */
static void channel_norm_gradient(struct plan *p,
                                  const struct channel_norm_backward_op *op,
                                  const struct geometry *g,
                                  const struct view avg[2])
{
    uint8_t d = FLOATS_KEY(&op->x, &op->dy, &op->dx);
    struct channel_gradient_args a = {.gamma_given = !view_absent(&op->gamma),
                                      .gamma_step = view_step(&op->gamma, 0),
                                      .given = op->given};
    a.walk = g->a;
    a.x = g->operand[0];
    a.dy = g->operand[1];
    a.dx = g->operand[2];
    plan_kernel(p, KERNEL_channel_gradient, KEYS(d));
    floats_bind(p, &op->x, d, ACCESS_READ);
    floats_bind(p, &op->dy, d, ACCESS_READ);
    plan_bind(p, &op->mean, ACCESS_READ);
    plan_bind(p, &op->rstd, ACCESS_READ);
    plan_bind(p, &op->gamma, ACCESS_READ);
    plan_bind(p, &avg[0], ACCESS_READ);
    plan_bind(p, &avg[1], ACCESS_READ);
    floats_bind(p, &op->dx, d, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), a.walk.tasks, task_loops(p, g, 0));
}

/* Build the backward pass. Sums are omitted if they are not needed: dx with
 * given statistics has no averages. Their order does not depend on dx, so that
 * dgamma and dbeta have the same bits without it. dx is written last because it
 * may alias x or dy. */
static void build_backward(struct plan *p,
                           const struct channel_norm_backward_op *op)
{
    struct geometry g = GEOMETRY(p, op, &op->x, &op->dy);
    struct view part[2], avg[2] = {{.dtype = SSQ_F32}, {.dtype = SSQ_F32}};
    bool averages = !view_absent(&op->dx) && !op->given;
    set_strides(&g, &op->mean, &op->rstd);
    for (int i = 0; i < 2 && averages; i++)
        plan_scratch(p, SSQ_F32, (uint64_t)g.examples * g.groups, &avg[i]);
    if (!view_absent(&op->average)) {
        channel_norm_weigh(p, op, &g, avg);
    } else if (averages || !view_absent(&op->dgamma) ||
               !view_absent(&op->dbeta)) {
        for (int i = 0; i < 2; i++)
            plan_scratch(p, SSQ_F32, (uint64_t)g.rows * g.a.chunks, &part[i]);
        channel_norm_sum_dy(p, op, &g, part);
        channel_norm_fold(p, op, &g, part, avg, set_elements(&g, &op->x));
    }
    if (!view_absent(&op->dx)) {
        g = GEOMETRY(p, op, &op->x, &op->dy, &op->dx);
        set_strides(&g, &op->mean, &op->rstd);
        channel_norm_gradient(p, op, &g, avg);
    }
}

const struct channel_norm_plan channel_norm_plans[] = {
    {"portable", NULL, channel_norm_build}, {NULL}};
const struct channel_norm_backward_plan channel_norm_backward_plans[] = {
    {"portable", NULL, build_backward}, {NULL}};
