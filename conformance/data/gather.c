/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c - cases of gather rows, scatter-add rows and one-hot. */
#include "conformance/case.h"

#include "conformance/bounds.h"

/* [rows, inner] looked up by index. */
static const struct lookup {
    struct shape table, index;
    ssq_dtype x, y;
    enum layout layout;
} lookups[] = {
    {{2, {7, 5}}, {1, {11}}, SSQ_F32, SSQ_F32, LAYOUT_DENSE},
    {{2, {7, 5}}, {2, {3, 4}}, SSQ_F16, SSQ_F16, LAYOUT_PADDED},
    {{2, {13, 8}}, {2, {5, 3}}, SSQ_BF16, SSQ_BF16, LAYOUT_TRANSPOSED},
    {{1, {9}}, {3, {2, 3, 4}}, SSQ_F32, SSQ_F32, LAYOUT_DENSE},
    {{4, {3, 2, 3, 5}}, {2, {4, 1}}, SSQ_F16, SSQ_F16, LAYOUT_TRANSPOSED},
    {{2, {4, 3}}, {0, {0}}, SSQ_F32, SSQ_F32, LAYOUT_DENSE},
    {{2, {5, 6}}, {1, {40}}, SSQ_F32, SSQ_F16, LAYOUT_DENSE},
    {{2, {5, 6}}, {1, {40}}, SSQ_F16, SSQ_F32, LAYOUT_PADDED},
    {{2, {1, 6}}, {1, {300}}, SSQ_BF16, SSQ_F32, LAYOUT_DENSE},
    {{2, {64, 33}}, {1, {257}}, SSQ_BF16, SSQ_BF16, LAYOUT_DENSE},
    {{2, {0, 6}}, {1, {3}}, SSQ_F32, SSQ_F32, LAYOUT_DENSE},
    {{2, {5, 0}}, {1, {3}}, SSQ_F32, SSQ_F32, LAYOUT_DENSE},
    {{2, {5, 3}}, {1, {0}}, SSQ_F32, SSQ_F32, LAYOUT_DENSE},
    /* sums of these do not exist */
    {{2, {9, 35}}, {1, {21}}, SSQ_U8, SSQ_U8, LAYOUT_DENSE},
    {{2, {9, 35}}, {1, {21}}, SSQ_U8, SSQ_F16, LAYOUT_PADDED},
    {{2, {9, 3}}, {1, {21}}, SSQ_U8, SSQ_F32, LAYOUT_DENSE},
    {{2, {9, 35}}, {1, {21}}, SSQ_BF16, SSQ_U8, LAYOUT_DENSE},
    {{2, {9, 3}}, {1, {21}}, SSQ_I32, SSQ_U8, LAYOUT_TRANSPOSED},
};
#define LOOKUPS COUNT(lookups)
#define SUMS    (LOOKUPS - 5)

/* The shape of index and then a row's. */
static struct shape looked_up(const struct lookup *l)
{
    struct shape s = l->index;
    for (int i = 1; i < l->table.rank; i++)
        s.d[s.rank++] = l->table.d[i];
    return s;
}

/* Rows of the table, one in ten outside it: negative, next after the last, or
 * far off. */
static void index_input(struct harness *b, struct operand *x,
                        const struct lookup *l, enum layout layout)
{
    int64_t n = shape_elements(&l->index), rows = l->table.d[0];
    double *value = harness_alloc(b, (size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++) {
        double u = harness_uniform(b);
        value[i] = floor(harness_uniform(b) * (double)rows);
        if (u < 0.1)
            value[i] = u < 0.03   ? -1.0
                       : u < 0.06 ? (double)rows
                                  : (u < 0.08 ? -2147483648.0 : 2147483647.0);
    }
    harness_values(b, x, SSQ_I32, l->index.rank, l->index.d, layout, value);
}

/* The row that position i names; -1 outside. */
static int64_t gather_row_at(const struct operand *index, int64_t i,
                             int64_t rows)
{
    double v = index->value[i];
    return v < 0.0 || v >= (double)rows ? -1 : (int64_t)v;
}

static int64_t gather_row_elements(const struct lookup *l)
{
    int64_t n = 1;
    for (int i = 1; i < l->table.rank; i++)
        n *= l->table.d[i];
    return n;
}

/* As for a cast: to integers toward zero, and no further than they go. */
static double gather_converted(double x, ssq_dtype d)
{
    if (d != SSQ_U8)
        return harness_round(x, d);
    return isnan(x) ? 0.0 : trunc(fmin(fmax(x, 0.0), 255.0)) + 0.0;
}

static bool run_gather(struct harness *b, const struct lookup *l)
{
    struct shape s = looked_up(l);
    struct operand x, index, y;
    harness_input(b, &x, l->x, l->table.rank, l->table.d, l->layout,
                  FILL_SPECIAL);
    index_input(b, &index, l, l->layout);
    harness_output(b, &y, l->y, s.rank, s.d, l->layout);
    ssq_gather_rows_args args = SSQ_GATHER_ROWS_INIT;
    args.x = x.t;
    args.index = index.t;
    args.y = y.t;
    b->bytes = (double)y.n * (ssq_dtype_bits(l->x) + ssq_dtype_bits(l->y)) / 8;
    HARNESS_OP(b, ssq_gather_rows(b->queue, &args));
    harness_read(b, &y);
    int64_t inner = gather_row_elements(l);
    double *want = harness_alloc(b, (size_t)y.n * sizeof(double));
    for (int64_t i = 0; i < y.n; i++) {
        int64_t row = gather_row_at(&index, i / inner, l->table.d[0]);
        want[i] =
            row < 0 ? 0.0
                    : gather_converted(x.value[row * inner + i % inner], l->y);
    }
    return harness_exact(b, &y, want) && harness_unchanged(b, &index) &&
           harness_same(b, &y);
}

/* Two oracles: the promised order in float32, bit for bit, and the float64
 * sum under the bound of a chain of as many additions as the row gets. */
static bool run_scatter(struct harness *b, const struct lookup *l)
{
    struct shape s = looked_up(l);
    struct operand dx, index, dy;
    harness_input(b, &dx, l->x, l->table.rank, l->table.d, l->layout,
                  FILL_NORMAL);
    index_input(b, &index, l, LAYOUT_DENSE);
    harness_input(b, &dy, l->y, s.rank, s.d, l->layout, FILL_NORMAL);
    int64_t inner = gather_row_elements(l);
    size_t bytes = (size_t)dx.n * sizeof(double);
    double *want = harness_alloc(b, bytes), *ordered = harness_alloc(b, bytes);
    double *m = harness_alloc(b, bytes), *n = harness_alloc(b, bytes);
    for (int64_t i = 0; i < dx.n; i++) {
        want[i] = ordered[i] = dx.value[i];
        m[i] = fabs(dx.value[i]);
    }
    for (int64_t i = 0; i < dy.n; i++) {
        int64_t row = gather_row_at(&index, i / inner, l->table.d[0]);
        int64_t at = row * inner + i % inner;
        if (row < 0)
            continue;
        want[at] += dy.value[i];
        ordered[at] = (double)((float)ordered[at] + (float)dy.value[i]);
        m[at] += fabs(dy.value[i]);
        n[at] += 1.0;
    }
    for (int64_t i = 0; i < dx.n; i++) {
        ordered[i] = harness_round(ordered[i], l->x);
        m[i] = bound_chain(n[i], m[i]);
    }
    ssq_scatter_add_rows_args args = SSQ_SCATTER_ADD_ROWS_INIT;
    args.dy = dy.t;
    args.index = index.t;
    args.dx = dx.t;
    b->bytes = (double)dy.n * ssq_dtype_bits(l->y) / 8;
    HARNESS_OP(b, ssq_scatter_add_rows(b->queue, &args));
    harness_read(b, &dx);
    return harness_exact(b, &dx, ordered) && harness_bound(b, &dx, want, m) &&
           harness_unchanged(b, &dy) && harness_unchanged(b, &index) &&
           harness_same(b, &dx);
}

/* <dy, gather(x)> = <scatter_add(dy), x>: they are each other's transpose.
 * Integers keep both sides exact. */
static bool run_adjoint(struct harness *b)
{
    const struct lookup l = {
        {2, {6, 5}}, {1, {31}}, SSQ_F32, SSQ_F32, LAYOUT_DENSE};
    const int64_t sy[] = {31, 5};
    struct operand x, index, y, dy, dx;
    harness_input(b, &x, SSQ_F32, 2, l.table.d, LAYOUT_DENSE, FILL_INTEGERS);
    index_input(b, &index, &l, LAYOUT_DENSE);
    harness_output(b, &y, SSQ_F32, 2, sy, LAYOUT_DENSE);
    harness_input(b, &dy, SSQ_F32, 2, sy, LAYOUT_DENSE, FILL_INTEGERS);
    harness_input(b, &dx, SSQ_F32, 2, l.table.d, LAYOUT_DENSE, FILL_ZERO);
    ssq_gather_rows_args gather = SSQ_GATHER_ROWS_INIT;
    gather.x = x.t;
    gather.index = index.t;
    gather.y = y.t;
    ssq_scatter_add_rows_args scatter = SSQ_SCATTER_ADD_ROWS_INIT;
    scatter.dy = dy.t;
    scatter.index = index.t;
    scatter.dx = dx.t;
    harness_status(b, ssq_gather_rows(b->queue, &gather));
    HARNESS_OP(b, ssq_scatter_add_rows(b->queue, &scatter));
    harness_read(b, &y);
    harness_read(b, &dx);
    double left = 0.0, right = 0.0;
    for (int64_t i = 0; i < y.n; i++)
        left += dy.value[i] * y.value[i];
    for (int64_t i = 0; i < x.n; i++)
        right += dx.value[i] * x.value[i];
    if (left != right && !b->bench)
        harness_fail(b, "<dy, y> is %g, <dx, x> is %g", left, right);
    return !b->failed;
}

static bool gather_run_refused(struct harness *b)
{
    const int64_t sx[] = {4, 3}, n = 2, sy[] = {2, 3}, bad[] = {2, 4};
    struct operand x, index, y, wide, word;
    harness_input(b, &x, SSQ_F32, 2, sx, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &index, SSQ_I32, 1, &n, LAYOUT_DENSE, FILL_ZERO);
    harness_input(b, &y, SSQ_F32, 2, sy, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &wide, SSQ_F32, 2, bad, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &word, SSQ_I32, 0, NULL, LAYOUT_DENSE, FILL_ZERO);
    ssq_gather_rows_args g = SSQ_GATHER_ROWS_INIT;
    ssq_scatter_add_rows_args s = SSQ_SCATTER_ADD_ROWS_INIT;
    g.x = s.dx = x.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_gather_rows(b->queue, &g),
                       "index is NULL");
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_scatter_add_rows(b->queue, &s),
                       "dy is NULL");
    g.index = s.index = index.t;
    g.y = s.dy = wide.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_gather_rows(b->queue, &g),
                       "x is [4,3], index is [2], y is [2,4]");
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_scatter_add_rows(b->queue, &s),
                       "dx is [4,3], index is [2], dy is [2,4]");
    g.y = s.dy = y.t;
    g.index = s.index = x.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_gather_rows(b->queue, &g),
                       "index is f32, expected i32");
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_scatter_add_rows(b->queue, &s),
                       "index is f32, expected i32");
    g.index = s.index = index.t;
    g.x = s.dx = word.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_gather_rows(b->queue, &g),
                       "x is []");
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_scatter_add_rows(b->queue, &s),
                       "dx is i32, expected f32, f16, bf16");
    ssq_tensor *part = NULL;
    harness_status(b, ssq_tensor_slice(x.t, 0, 1, 3, 1, &part));
    g.x = s.dx = x.t;
    g.y = s.dy = part;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_gather_rows(b->queue, &g),
                       "y overlaps x");
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_scatter_add_rows(b->queue, &s),
                       "dx overlaps dy");
    ssq_tensor_destroy(&part);
    return harness_unchanged(b, &x) && harness_unchanged(b, &y);
}

/* A table without rows, of tensors that have no memory. */
static bool gather_run_no_memory(struct harness *b)
{
    const int64_t table[] = {0, 6};
    const double value[] = {0, -1, 7}, want[18] = {0};
    const struct shape s = {2, {3, 6}};
    struct operand index, y;
    ssq_tensor *x = NULL;
    harness_values(b, &index, SSQ_I32, 1, s.d, LAYOUT_DENSE, value);
    harness_output(b, &y, SSQ_F16, s.rank, s.d, LAYOUT_DENSE);
    harness_status(b, ssq_tensor_create(ssq_queue_device(b->queue), SSQ_F32, 2,
                                        table, &x));
    ssq_gather_rows_args args = SSQ_GATHER_ROWS_INIT;
    args.x = x;
    args.index = index.t;
    args.y = y.t;
    harness_status(b, ssq_gather_rows(b->queue, &args));
    ssq_tensor_destroy(&x);
    harness_read(b, &y);
    return harness_exact(b, &y, want) && harness_unchanged(b, &index);
}

static void describe_lookup(const char *op, size_t i, char *text, size_t bytes)
{
    const struct lookup *l = &lookups[i];
    char table[64], index[64];
    snprintf(text, bytes, "%s %s %s %s by %s indices to %s %s", op,
             ssq_dtype_name(l->x), shape_text(&l->table, table, sizeof(table)),
             layout_text(l->layout),
             shape_text(&l->index, index, sizeof(index)), ssq_dtype_name(l->y),
             layout_text(l->layout));
}

static void describe_gather(size_t i, char *text, size_t bytes)
{
    if (i < LOOKUPS)
        describe_lookup("gather", i, text, bytes);
    else
        snprintf(text, bytes, "%s",
                 i == LOOKUPS ? "gather and scatter_add refuse misuse"
                              : "gather from a table without memory");
}

static bool run_gathers(struct harness *b, size_t i)
{
    if (i < LOOKUPS)
        return run_gather(b, &lookups[i]);
    return i == LOOKUPS ? gather_run_refused(b) : gather_run_no_memory(b);
}

const struct suite gather_suite = {.op = "gather",
                                   .name = "gather",
                                   .n = LOOKUPS + 2,
                                   .describe = describe_gather,
                                   .run = run_gathers,
                                   .bit_equal = true,
                                   .subnormals = true,
                                   .floor = 38};

static void describe_scatter(size_t i, char *text, size_t bytes)
{
    if (i < SUMS)
        describe_lookup("scatter_add into", i, text, bytes);
    else
        snprintf(text, bytes, "scatter_add is the transpose of gather");
}

static bool run_scatters(struct harness *b, size_t i)
{
    return i < SUMS ? run_scatter(b, &lookups[i]) : run_adjoint(b);
}

const struct suite scatter_add_suite = {.op = "scatter_add",
                                        .name = "scatter_add",
                                        .n = SUMS + 1,
                                        .describe = describe_scatter,
                                        .run = run_scatters,
                                        .bit_equal = true,
                                        .floor = 28};
