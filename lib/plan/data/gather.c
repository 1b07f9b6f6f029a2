/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c - the plans of gather, scatter_add and one_hot.
 *
 * There are no atomics: scatter_add sorts the positions by the rows they name,
 * and the first position of each row adds up all of them. */
#include "lib/op/data/data.h"

#include "kernels/data/gather_args.h"
#include "lib/plan/form.h"
#include "lib/plan/windows.h"

/* The common dimensions of two views, as few as there can be: how many, with
 * x's steps in a and y's in b. */
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

/* rows is [positions, a row], its first outer dimensions walked with list;
 * table's rows are walked with its others. Steps of rows in r; of list, and
 * behind them those of table's row, in t. */
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

/* A group copies a row where rows are long enough and have one dimension; else
 * an item has one element. op->x has some of the table's rows: indices of rows
 * in other windows are skipped. */
static void gather_rows(struct plan *p, const struct op *some, void *user)
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

/* Some positions, from all windows of the table, which the op was without. */
static void gather_positions(struct plan *p, const struct op *some, void *user)
{
    struct gather_op part = *(const struct gather_op *)some;
    const struct window_cut cut = {.walked = 1, .dims = 1, .in_order = true};
    part.op.first = 0;
    part.x = *(const struct view *)user;
    plan_windows(p, &part.op, &cut, gather_rows, user);
}

/* An index, an i32, names no row beyond 2^31. */
static void gather(struct plan *p, const struct gather_op *op)
{
    struct gather_op part = *op;
    struct view table = op->x;
    const struct window_cut cut = {.walked = 6,
                                   .dims = plan_dims(op->index_rank)};
    table.shape[0] = size_least(table.shape[0], (int64_t)1 << 31);
    part.x.buffer = NULL;
    plan_windows(p, &part.op, &cut, gather_positions, &table);
}

/* Keys, the rows that positions name, each with its position: both are moved
 * together while they are sorted. */
struct pairs {
    struct view key, pos;
};

static void pairs_create(struct plan *p, uint64_t n, struct pairs *pairs)
{
    plan_scratch(p, SSQ_I32, n, &pairs->key);
    plan_scratch(p, SSQ_I32, n, &pairs->pos);
}

/* Writes the positions, in ascending order, with their keys; one that names no
 * row gets the key `rows`, behind all others. */
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

/* End a launch whose items take a piece each. A processor gets a piece as a
 * group's work, for its item is a thread; on a GPU the items of a group have a
 * piece each. */
static void launch_pieces(struct plan *p, const void *args, size_t bytes,
                          const struct sort_shape *sort)
{
    uint64_t loops = loops_of(sort->bins, 0) + loops_of(sort->piece, 0);
    if (plan_limits(p)->group == 1)
        plan_groups(p, args, bytes, sort->pieces, loops);
    else
        plan_items(p, args, bytes, sort->pieces, loops);
}

/* Sort by one digit: count how often each piece has each value, add up the
 * counts to where each piece's keys of that value go, and move them there. Keys
 * of equal digits keep their order, without which the passes before would have
 * been for nothing. One group scans, so that no sums have to be handed from
 * group to group. */
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

/* A processor has few pieces, so that its digits may be large; a GPU needs
 * many, and small digits keep the table no larger than the keys. 64 bins are
 * digits of 6 bits, 256 of 8. */
static struct sort_shape sort_shape(const struct plan *p, uint32_t n)
{
    const struct backend_limits *l = plan_limits(p);
    struct sort_shape s = {.n = n, .piece = 64, .bins = 64};
    if (l->group == 1) {
        uint32_t pieces = l->units * 4;
        s.piece = (uint32_t)size_most(4096, size_div_up(n, pieces));
        s.bins = 256;
    }
    s.pieces = (uint32_t)size_div_up(n, s.piece);
    return s;
}

/* Sort by keys 0..most, from the lowest digit up; the result is in *from, which
 * has changed places with the scratch as often as there were passes. Digits in
 * which no key can differ are left out. */
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

/* Positions of one launch: as many as an item may go through if all of them
 * have the same key, half of the rounds that the device allows. Where that is a
 * hard end a position's groups, one for each block of columns, must also fit
 * into a launch. */
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

/* One launch: the rows of dy at the sorted positions a->from to a->to - 1. The
 * first of equal keys does the work of all, and the items of the others end at
 * once. */
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

/* Sort once, then add in as many launches as it takes. carry hands over the
 * sums of a row that goes on in the next launch; its two halves, which `turn`
 * tells apart, are read and written in turns. op->dx has some of the rows:
 * positions that name others are left out by the keys. */
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

/* Some positions, to all windows of the table. */
static void scatter_positions(struct plan *p, const struct op *some, void *user)
{
    struct scatter_add_op part = *(const struct scatter_add_op *)some;
    const struct window_cut cut = {.walked = 4, .dims = 1, .in_order = true};
    part.op.first = 0;
    part.dx = *(const struct view *)user;
    plan_windows(p, &part.op, &cut, scatter_rows, NULL);
}

/* Positions are cut where float32 sums can wait in dx for the next window: a
 * narrower dx would be rounded more than once. work is the reference's. */
static void scatter_add(struct plan *p, const struct scatter_add_op *op)
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

/* Along a row each element is a class of its own, or, where the axis is another
 * one, all elements of a row are of the same class. index has the shape of y,
 * with a stride of 0 along the axis. */
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

/* Cut along any dimension except the classes. */
static void one_hot(struct plan *p, const struct one_hot_op *op)
{
    struct one_hot_op part = *op;
    const struct window_cut cut = {.walked = 3, .dims = ~(1u << op->axis)};
    plan_windows(p, &part.op, &cut, one_hot_window, NULL);
}

const struct gather_plan gather_plans[] = {{"portable", NULL, gather}, {NULL}};
const struct scatter_add_plan scatter_add_plans[] = {
    {"portable", NULL, scatter_add}, {NULL}};
const struct one_hot_plan one_hot_plans[] = {{"portable", NULL, one_hot},
                                             {NULL}};
