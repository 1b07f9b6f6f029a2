/* SPDX-License-Identifier: Apache-2.0 */
/* channel_norm.c - plans of batch norm and group norm.
 *
 * Forward: sums of x over chunks, a mean of each set; sums of x - mean and of
 * its squares, the mean corrected and its rstd; y. Or, instead of the sums,
 * what all ranks have found. Backward: sums of dy and dy z, which make dgamma,
 * dbeta and the averages of each set; dx. Or averages that are given. */
#include "lib/plan/floats.h"

#include "kernels/gemm/epilogue.h"
#include "kernels/norm/channel_args.h"
#include "lib/op/data/data.h"
#include "lib/op/norm/channel_norm.h"

/* Short chains of dependent additions are for precision: the error of a sum
 * grows with the links of its chain. Where lanes share a piece each adds every
 * LANES-th element of at most CHUNK, and in all pieces of its chunk at most
 * CHAIN. */
#define CHUNK 4096u
#define CHAIN 64u
/* Fewer channels side by side are not worth a lane each: the other lanes of the
 * group would have nothing to do. */
#define ACROSS_LEAST 16

/* How the operands of a launch are walked. */
#define OPERANDS 3
/* How the operands of a launch are walked. What is summed at first is a row: a
 * channel of the whole batch where statistics are pooled, or of one example. */
struct geometry {
    struct channel_walk a;
    struct channel_operand operand[OPERANDS];
    /* examples: 1 where the batch is pooled, since it is then a part of the
     * row; rows: examples times channels; groups: sets of an example */
    uint32_t examples, rows, groups;
};

/* The dimensions of a row: the spatial ones and, where statistics are pooled,
 * the batch in front of them. Channels (dimension 1) never belong to it. */
static struct view row_of(const struct view *v, bool pooled)
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

/* Where an operand's elements lie. Its row has been merged with those of the
 * others, and its last dimension is the line. */
static void operand(struct channel_operand *o, const struct view *v,
                    const struct view *row, bool pooled)
{
    int last = row->rank - 1;
    o->dtype = (uint32_t)v->dtype;
    o->example = pooled ? 0 : (uint32_t)v->stride[0];
    o->channel = (uint32_t)v->stride[1];
    o->step = (uint32_t)row->stride[last];
    for (int i = 0; i < last; i++)
        o->steps[i] = (uint32_t)row->stride[i];
}

/* Chunks that keep every chain of additions within 64 + n / 64 links. n is the
 * number of elements of a row. A lane that has a channel to itself adds all of
 * its chunk in one chain, so that there a chunk has n / CHAIN elements, and
 * CHAIN at least. */
static void divide(struct channel_walk *a, uint32_t lines)
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

/* The walk of n present views of x's shape, x first. Dimensions that lie alike
 * in all of them are merged, for a line should be as long as it can be. Lanes
 * go across channels where these are neighbours in memory and the elements of a
 * line are not, so that a group reads side by side. */
static struct geometry geometry_of(const struct plan *p, bool pooled,
                                   int64_t groups, const struct view *const *v,
                                   int n)
{
    struct geometry g = {.groups = (uint32_t)groups};
    struct view rows[OPERANDS], *row[OPERANDS];
    for (int i = 0; i < n; i++) {
        rows[i] = row_of(v[i], pooled);
        row[i] = &rows[i];
    }
    views_collapse(row, n);
    for (int i = 0; i < n; i++)
        operand(&g.operand[i], v[i], row[i], pooled);
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
    divide(a, lines);
    g.examples = pooled ? 1 : (uint32_t)v[0]->shape[0];
    g.rows = g.examples * a->channels;
    lanes = lanes == 1 ? 64 : lanes; /* LANES of kernels/dialect/group.h */
    a->tasks = a->chunks * g.examples *
               (a->across ? size_div_up(a->channels, lanes) : a->channels);
    return g;
}
/* geometry_of by a list of views: of x, and of what else the launch reads or
 * writes. */
#define GEOMETRY(P, OP, ...)                                                   \
    geometry_of(P, (OP)->pooled, (OP)->groups,                                 \
                (const struct view *const[]){__VA_ARGS__},                     \
                (int)(sizeof((const struct view *const[]){__VA_ARGS__}) /      \
                      sizeof(const struct view *)))

/* Loops of a task: its pieces, each with a walk for every operand, and body
 * more for each step. */
static uint64_t task_loops(const struct plan *p, const struct geometry *g,
                           uint64_t body)
{
    const struct channel_walk *a = &g->a;
    uint64_t steps = a->across ? loops_of(a->longest, body)
                               : loops_shared(plan_limits(p), a->longest, body);
    return LOOPS_FEW +
           loops_of(a->per_chunk, steps + (uint64_t)OPERANDS * LOOPS_WALK);
}

/* The same where n sums are added in up to CHAIN blocks, and then the
 * blocks. */
static uint64_t fold_loops(uint64_t n)
{
    return LOOPS_FEW + n + 2 * CHAIN;
}

/* Elements of a set, of which all have the same number: what its sums are
 * divided by. */
static float set_elements(const struct geometry *g, const struct view *x)
{
    double sets = (double)g->examples * (double)g->groups;
    return (float)((double)view_elements(x) / sets);
}

/* A statistic, [n, groups]: the op's own, or scratch where the caller does not
 * ask for it, since the launches that follow read it from memory. */
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

/* mean and rstd may be tensors of the caller, each with its own strides. */
static void set_strides(struct geometry *g, const struct view *mean,
                        const struct view *rstd)
{
    g->a.mean_example = (uint32_t)mean->stride[0];
    g->a.mean_group = (uint32_t)mean->stride[1];
    g->a.rstd_example = (uint32_t)rstd->stride[0];
    g->a.rstd_group = (uint32_t)rstd->stride[1];
}

/* Sums over chunks of x or, with its mean, of (x - mean)^2 and, in the other
 * half of part, of x - mean. Going over x twice is dearer than E[x^2] - E[x]^2,
 * which cancels where the mean is large. */
static void sum(struct plan *p, const struct channel_norm_op *op,
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

/* What is known of every set by all that makes statistics of sums. */
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

/* Given statistics are read and not updated. */
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

/* What the sums make of every set, as `what` says: see channel_args.h.
 * running_count is one less than the count where the running variance is to be
 * unbiased. */
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

/* What was found of all parts, as the statistics of all their elements. */
static void merge(struct plan *p, const struct channel_norm_op *op,
                  const struct geometry *g, const struct view *mean,
                  const struct view *rstd)
{
    struct channel_statistics_args a = sets_of(op, g);
    a.parts = (uint32_t)op->found.shape[0];
    a.running_count = op->population ? 0.0f : 1.0f;
    plan_kernel(p, KERNEL_channel_merge, KEYS(0));
    bind_statistics(p, op, &op->found, mean, rstd);
    plan_items(p, &a, sizeof(a), a.sets,
               4 * fold_loops(a.parts) + LOOPS_DIVIDE);
}

/* y, once the statistics are known. Activations other than ReLU are a variant
 * of their own, so that the usual ones are not burdened with the code of
 * all. */
static void apply(struct plan *p, const struct channel_norm_op *op,
                  const struct geometry *g, const struct view *mean,
                  const struct view *rstd)
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

/* Sum, mean, sum of squares, rstd, then y. Without y, which is optional, only
 * the statistics are made: x stands in for its walk. */
static void build(struct plan *p, const struct channel_norm_op *op)
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
        merge(p, op, &g, &mean, &rstd);
    } else {
        plan_scratch(p, SSQ_F32, 2 * (uint64_t)g.rows * g.a.chunks, &part);
        sum(p, op, &g, NULL, &part);
        statistics(p, op, &g, CHANNEL_MEAN, &part, &mean, &rstd);
        sum(p, op, &g, &mean, &part);
        statistics(p, op, &g, CHANNEL_RSTD, &part, &mean, &rstd);
    }
    if (!view_absent(&op->y))
        apply(p, op, &g, &mean, &rstd);
}

/* Over chunks: sums of dy, in part[0], and of dy z, in part[1], where z is x
 * normalised again from the saved statistics. */
static void sum_dy(struct plan *p, const struct channel_norm_backward_op *op,
                   const struct geometry *g, const struct view part[2])
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

/* dgamma and dbeta of each channel and the averages of each set, all from the
 * same sums. avg is absent where there are no averages. There are as many items
 * as rows, which are never fewer than the channels or the sets that the kernel
 * goes through. */
static void fold(struct plan *p, const struct channel_norm_backward_op *op,
                 const struct geometry *g, const struct view part[2],
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

/* The averages of sets that are channels, from those of dy and dy z: times
 * gamma. They are sums of one chunk each, over a count of 1. */
static void weigh(struct plan *p, const struct channel_norm_backward_op *op,
                  const struct geometry *g, const struct view avg[2])
{
    struct geometry one = *g;
    struct view part[2] = {view_part(&op->average, 1, 2),
                           view_part(&op->average, 1, 2)};
    part[1].offset += (uint64_t)op->average.stride[0] * sizeof(float);
    one.a.chunks = 1;
    fold(p, op, &one, part, avg, 1.0f);
}

/* dx, from the averages of each set; given statistics do not depend on x, and
 * then nothing is subtracted. */
static void gradient(struct plan *p, const struct channel_norm_backward_op *op,
                     const struct geometry *g, const struct view avg[2])
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

/* The sums are left out where nobody needs them: dx by given statistics has no
 * averages. dx is written last, for it may lie in x or dy. */
static void build_backward(struct plan *p,
                           const struct channel_norm_backward_op *op)
{
    const struct view *dx = view_absent(&op->dx) ? &op->dy : &op->dx;
    struct geometry g = GEOMETRY(p, op, &op->x, &op->dy, dx);
    struct view part[2], avg[2] = {{.dtype = SSQ_F32}, {.dtype = SSQ_F32}};
    bool averages = !view_absent(&op->dx) && !op->given;
    set_strides(&g, &op->mean, &op->rstd);
    for (int i = 0; i < 2 && averages; i++)
        plan_scratch(p, SSQ_F32, (uint64_t)g.examples * g.groups, &avg[i]);
    if (!view_absent(&op->average)) {
        weigh(p, op, &g, avg);
    } else if (averages || !view_absent(&op->dgamma) ||
               !view_absent(&op->dbeta)) {
        for (int i = 0; i < 2; i++)
            plan_scratch(p, SSQ_F32, (uint64_t)g.rows * g.a.chunks, &part[i]);
        sum_dy(p, op, &g, part);
        fold(p, op, &g, part, avg, set_elements(&g, &op->x));
    }
    if (!view_absent(&op->dx))
        gradient(p, op, &g, avg);
}

const struct channel_norm_plan channel_norm_plans[] = {
    {"portable", NULL, build}, {NULL}};
const struct channel_norm_backward_plan channel_norm_backward_plans[] = {
    {"portable", NULL, build_backward}, {NULL}};
