/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c - the plans of gather, scatter_add and one_hot.
 *
 * scatter_add uses no atomics. It sorts the positions by the rows that they
 * name. The first position of each row then adds all positions of that row. */
#include "lib/core/core.h"

#include "kernels/data/gather_args.h"
#include "lib/plan/form.h"
#include "lib/plan/windows.h"

/* Collapse two views to as few common dimensions as possible. Appends the
 * sizes, x's steps to a and y's to b. Returns the number of dimensions. */
static uint32_t append_dims(struct view *x, struct view *y, uint32_t *size,
                            uint32_t *a, uint32_t *b)
{
    struct view *v[] = {x, y};
    views_collapse(v, 2);
    if (view_elements(y) == 1)
        return 0;
    for (int i = 0; i < y->rank; i++) {
        size[i] = (uint32_t)y->shape[i];
        a[i] = (uint32_t)x->stride[i];
        b[i] = (uint32_t)y->stride[i];
    }
    return (uint32_t)y->rank;
}

/* Return the shape of a table. rows is [positions, a row]. Its first `outer`
 * dimensions are walked with list, the others with table's rows. r gets the
 * steps of rows. t gets the steps of list, followed by the steps of table's
 * row. */
static struct table_shape table_set(const struct plan *p,
                                    const struct view *table,
                                    const struct view *list,
                                    const struct view *rows, int outer,
                                    uint32_t *r, uint32_t *t)
{
    struct view index = *list, positions = view_part(rows, 0, outer);
    struct view row = view_part(table, 1, table->rank);
    struct view part = view_part(rows, outer, rows->rank);
    struct table_shape a = {.n = (uint32_t)view_elements(&positions),
                            .cols = (uint32_t)view_elements(&part),
                            .rows = (uint32_t)table->shape[0],
                            .row_step = (uint32_t)table->stride[0]};
    a.outer = append_dims(&index, &positions, a.size, t, r);
    a.inner =
        append_dims(&row, &part, a.size + a.outer, t + a.outer, r + a.outer);
    a.form = a.inner == 1 && !form_short(p, a.cols) ? FORM_ROWS : FORM_ELEMENTS;
    return a;
}

/* Gather from some of the table's rows, op->x. Indices of rows in other windows
 * are skipped. If rows are long and have one dimension, a group copies a row;
 * otherwise an item copies an element. */
static void plan_gather_rows(struct plan *p, const struct op *some, void *user)
{
    const struct gather_op *op = (const struct gather_op *)some;
    const struct view *table = user;
    struct gather_args a = {.x_dtype = op->x.dtype,
                            .y_dtype = op->y.dtype,
                            .first = (uint32_t)op->op.first,
                            .total = (uint32_t)table->shape[0]};
    a.table = table_set(p, &op->x, &op->index, &op->y, op->index_rank,
                        a.y_steps, a.x_steps);
    plan_kernel(p, KERNEL_gather,
                KEYS((uint8_t)dtype_bytes(op->x.dtype),
                     (uint8_t)dtype_bytes(op->y.dtype)));
    plan_bind(p, &op->x, ACCESS_READ);
    plan_bind(p, &op->index, ACCESS_READ);
    plan_bind(p, &op->y, ACCESS_WRITE);
    if (a.table.form == FORM_ROWS)
        plan_groups(p, &a, sizeof(a), a.table.n,
                    LOOPS_FEW + loops_shared(plan_limits(p), a.table.cols, 0));
    else
        plan_items(p, &a, sizeof(a), (uint64_t)a.table.n * a.table.cols,
                   LOOPS_FEW);
}

/* Gather some positions from all windows of the table. The table was removed
 * from the op to cut it by positions. */
static void gather_positions(struct plan *p, const struct op *some, void *user)
{
    struct gather_op part = *(const struct gather_op *)some;
    const struct window_cut cut = {.walked = 1, .dims = 1, .in_order = true};
    part.op.first = 0;
    part.x = *(const struct view *)user;
    plan_windows(p, &part.op, &cut, plan_gather_rows, user);
}

/* Gather. Rows beyond 2^31 are never used, because an index is an i32. */
static void plan_gather(struct plan *p, const struct gather_op *op)
{
    struct gather_op part = *op;
    struct view table = op->x;
    const struct window_cut cut = {.walked = 6,
                                   .dims = plan_dims(op->index_rank)};
    table.shape[0] = size_least(table.shape[0], (int64_t)1 << 31);
    part.x.buffer = NULL;
    plan_windows(p, &part.op, &cut, gather_positions, &table);
}

/* Keys (the rows that positions name) and their positions. Both are moved
 * together while they are sorted. */
struct pairs {
    struct view key, pos;
};

static void pairs_create(struct plan *p, uint64_t n, struct pairs *pairs)
{
    plan_scratch(p, SSQ_I32, n, &pairs->key);
    plan_scratch(p, SSQ_I32, n, &pairs->pos);
}

/* Write the positions in ascending order, with their keys. A position that
 * names no row gets the key `rows`, which is larger than all others. */
static void list_keys(struct plan *p, const struct scatter_add_op *op,
                      const struct pairs *to)
{
    struct view index = op->index, *v[] = {&index};
    views_collapse(v, 1);
    struct scatter_keys_args a = {.n = (uint32_t)view_elements(&index),
                                  .rows = (uint32_t)op->dx.shape[0],
                                  .first = (uint32_t)op->op.first};
    walk_shape(&index, 0, index.rank, &a.rank, a.size);
    walk_steps(&index, 0, index.rank, a.idx_steps);
    plan_kernel(p, KERNEL_scatter_keys, KEYS(0));
    plan_bind(p, &op->index, ACCESS_READ);
    plan_bind(p, &to->key, ACCESS_WRITE);
    plan_bind(p, &to->pos, ACCESS_WRITE);
    plan_items(p, &a, sizeof(a), a.n, LOOPS_FEW);
}

/* End a launch in which each item processes a piece. On a CPU an item is a
 * thread, so each group gets a piece. On a GPU the items of a group get one
 * piece each. */
static void launch_pieces(struct plan *p, const void *args, size_t bytes,
                          const struct sort_shape *sort)
{
    uint64_t loops = loops_of(sort->bins, 0) + loops_of(sort->piece, 0);
    if (limits_processor(plan_limits(p)))
        plan_groups(p, args, bytes, sort->pieces, loops);
    else
        plan_items(p, args, bytes, sort->pieces, loops);
}

/* Sort by one digit, in three launches. The first counts each value of the
 * digit in each piece. The second replaces the counts by the first index of
 * each piece's keys of each value. The third moves the keys there.
 *
 * Keys with equal digits keep their order: the passes over lower digits rely on
 * it. A single group does the scan, so no sums are passed between groups. */
static void sort_pass(struct plan *p, const struct pairs *from,
                      const struct pairs *to, const struct view *table,
                      const struct sort_shape *sort)
{
    struct sort_count_args count = {.sort = *sort};
    plan_kernel(p, KERNEL_sort_count, KEYS(0));
    plan_bind(p, &from->key, ACCESS_READ);
    plan_bind(p, table, ACCESS_WRITE);
    launch_pieces(p, &count, sizeof(count), sort);

    struct sort_scan_args scan = {.n = sort->bins * sort->pieces};
    plan_kernel(p, KERNEL_sort_scan, KEYS(0));
    plan_bind(p, table, ACCESS_UPDATE);
    uint32_t lanes = plan_limits(p)->group; /* on a GPU */
    plan_groups(p, &scan, sizeof(scan), 1,
                2 * loops_shared(plan_limits(p), scan.n, 0) +
                    loops_of(lanes, 0));

    struct sort_move_args move = {.sort = *sort};
    plan_kernel(p, KERNEL_sort_move, KEYS(0));
    plan_bind(p, &from->key, ACCESS_READ);
    plan_bind(p, &from->pos, ACCESS_READ);
    plan_bind(p, table, ACCESS_UPDATE);
    plan_bind(p, &to->key, ACCESS_WRITE);
    plan_bind(p, &to->pos, ACCESS_WRITE);
    launch_pieces(p, &move, sizeof(move), sort);
}

/* Return the shape of a sort. A CPU has few pieces, so its digits can be large.
 * A GPU needs many pieces; small digits keep its table no larger than the keys.
 * 64 bins are digits of 6 bits, 256 of 8. */
static struct sort_shape sort_shape(const struct plan *p, uint32_t n)
{
    const struct backend_limits *l = plan_limits(p);
    struct sort_shape s = {.n = n, .piece = 64, .bins = 64};
    if (limits_processor(l)) {
        uint32_t pieces = l->units * 4;
        s.piece = (uint32_t)size_most(4096, size_div_up(n, pieces));
        s.bins = 256;
    }
    s.pieces = (uint32_t)size_div_up(n, s.piece);
    return s;
}

/* Sort by keys 0..most, beginning with the lowest digit. Digits that are 0 in
 * all keys are skipped. The result is in *from, which every pass exchanges with
 * the scratch. */
static void sort_pairs(struct plan *p, struct pairs *from, uint32_t n,
                       uint32_t most)
{
    struct sort_shape s = sort_shape(p, n);
    struct pairs to;
    struct view table;
    pairs_create(p, n, &to);
    plan_scratch(p, SSQ_I32, (uint64_t)s.bins * s.pieces, &table);
    uint32_t bits = s.bins == 256 ? 8 : 6;
    for (s.shift = 0; s.shift < 32 && most >> s.shift != 0; s.shift += bits) {
        sort_pass(p, from, &to, &table, &s);
        struct pairs sorted = to;
        to = *from;
        *from = sorted;
    }
}

/* Return the number of positions of one launch. If all of them have the same
 * key, one item processes them all. So the number is limited to half of the
 * iterations that the device allows. If the driver enforces that limit, all
 * groups must also fit into a launch: a position has one per block of
 * columns. */
static uint32_t positions_of(const struct plan *p, const struct table_shape *t)
{
    const struct backend_limits *l = plan_limits(p);
    uint32_t rounds = l->iterations != 0 ? l->iterations : LOOPS_WATCHED;
    uint64_t most = rounds / 2 / (t->outer + 2);
    uint64_t blocks = (uint64_t)size_div_up(t->cols, l->group);
    if (l->iterations != 0 && most > LAUNCH_GROUPS / blocks)
        most = LAUNCH_GROUPS / blocks;
    if (most > t->n)
        most = t->n;
    return most < 1 ? 1 : (uint32_t)most;
}

/* Add the rows of dy at the sorted positions a->from to a->to - 1, in one
 * launch. The first of several equal keys adds all of them. The items of the
 * others return immediately. */
static void add_positions(struct plan *p, const struct scatter_add_op *op,
                          const struct scatter_add_args *a,
                          const struct pairs *pairs, const struct view *carry)
{
    const struct table_shape *t = &a->table;
    uint64_t count = a->to - a->from, loops = loops_of(count, t->outer + 1);
    uint32_t lanes = plan_limits(p)->group;
    lanes = lanes == 1 ? 64 : lanes; /* LANES of kernels/dialect/group.h */
    plan_kernel(p, KERNEL_scatter_add,
                KEYS((uint8_t)dtype_bytes(op->dy.dtype),
                     (uint8_t)dtype_bytes(op->dx.dtype)));
    plan_bind(p, &op->dy, ACCESS_READ);
    plan_bind(p, &pairs->key, ACCESS_READ);
    plan_bind(p, &pairs->pos, ACCESS_READ);
    plan_bind(p, &op->dx, ACCESS_UPDATE);
    plan_bind(p, carry, ACCESS_UPDATE);
    if (t->form == FORM_ROWS)
        plan_groups(p, a, sizeof(*a),
                    count * (uint64_t)size_div_up(t->cols, lanes),
                    LOOPS_FEW + loops);
    else
        plan_items(p, a, sizeof(*a), count * t->cols, LOOPS_FEW + loops);
}

/* Add to some of the table's rows, op->dx: sort once, then add in as many
 * launches as necessary. Positions that name rows in other windows get the key
 * `rows` and are skipped. carry passes the sum of a row to the next launch. It
 * has two halves, one to read and one to write, which `turn` exchanges. */
static void scatter_rows(struct plan *p, const struct op *some, void *user)
{
    const struct scatter_add_op *op = (const struct scatter_add_op *)some;
    struct scatter_add_args a = {.dy_dtype = op->dy.dtype,
                                 .dx_dtype = op->dx.dtype};
    struct pairs pairs;
    struct view carry = {.buffer = NULL};
    (void)user;
    a.table = table_set(p, &op->dx, &op->index, &op->dy, op->index_rank,
                        a.dy_steps, a.dx_steps);
    pairs_create(p, a.table.n, &pairs);
    list_keys(p, op, &pairs);
    sort_pairs(p, &pairs, a.table.n, a.table.rows);
    uint32_t part = positions_of(p, &a.table);
    if (part < a.table.n)
        plan_scratch(p, SSQ_F32, 2 * (uint64_t)a.table.cols, &carry);
    for (; a.from < a.table.n && !plan_failed(p); a.from = a.to) {
        a.to = a.table.n - a.from > part ? a.from + part : a.table.n;
        add_positions(p, op, &a, &pairs, &carry);
        a.turn = 1 - a.turn;
    }
}

/* Add some positions to all windows of the table. */
static void scatter_positions(struct plan *p, const struct op *some, void *user)
{
    struct scatter_add_op part = *(const struct scatter_add_op *)some;
    const struct window_cut cut = {.walked = 4, .dims = 1, .in_order = true};
    part.op.first = 0;
    part.dx = *(const struct view *)user;
    plan_windows(p, &part.op, &cut, scatter_rows, NULL);
}

/* Add. Positions are only cut if dx is float32 and can hold partial sums: a
 * narrower dx would be rounded more than once. op->work is only used by the
 * reference backend. */
static void plan_gather_scatter_add(struct plan *p,
                                    const struct scatter_add_op *op)
{
    struct scatter_add_op part = *op;
    struct view table = op->dx;
    bool waits = table.dtype == SSQ_F32;
    const struct window_cut cut = {.walked = 3,
                                   .dims =
                                       waits ? plan_dims(op->index_rank) : 0,
                                   .in_order = true};
    part.dx.buffer = part.work.buffer = NULL;
    plan_windows(p, &part.op, &cut, scatter_positions, &table);
}

/* Record one window. Either the axis is the last one, and each element of a row
 * belongs to another class. Or all elements of a row belong to the same class.
 * index has the shape of y, with a stride of 0 along the axis. */
static void one_hot_window(struct plan *p, const struct op *some, void *user)
{
    const struct one_hot_op *op = (const struct one_hot_op *)some;
    (void)user;
    const struct view *y = &op->y;
    int last = y->rank - 1;
    bool along = op->axis == last;
    struct one_hot_args a = {.on = op->on,
                             .off = op->off,
                             .inner = 1,
                             .classes =
                                 along ? 1 : (uint32_t)y->shape[op->axis],
                             .class_step = along};
    for (int d = op->axis + 1; d < last; d++)
        a.inner *= (uint32_t)y->shape[d];
    form_set(p, y, false, &a.form, &a.rank, a.size);
    form_steps(&op->index, false, &a.idx_step, a.idx_steps);
    form_steps(y, false, &a.y_step, a.y_steps);
    plan_kernel(p, KERNEL_one_hot, KEYS((uint8_t)dtype_bytes(y->dtype)));
    plan_bind(p, &op->index, ACCESS_READ);
    plan_bind(p, y, ACCESS_WRITE);
    form_launch(p, &a.form, &a, sizeof(a));
}

/* Build one_hot. It is cut along any dimension except the classes. */
static void plan_gather_one_hot(struct plan *p, const struct one_hot_op *op)
{
    struct one_hot_op part = *op;
    const struct window_cut cut = {.walked = 3, .dims = ~(1u << op->axis)};
    plan_windows(p, &part.op, &cut, one_hot_window, NULL);
}

const struct gather_plan gather_plans[] = {{"portable", NULL, plan_gather},
                                           {NULL}};
const struct scatter_add_plan scatter_add_plans[] = {
    {"portable", NULL, plan_gather_scatter_add}, {NULL}};
const struct one_hot_plan one_hot_plans[] = {
    {"portable", NULL, plan_gather_one_hot}, {NULL}};
