/* SPDX-License-Identifier: Apache-2.0 */
/* shape.c - shapes that belong together, where the comments of the members
 * alone do not say so.
 *
 * An op without a rule here is fuzzed with the rules of table.awk alone. A rule
 * makes more of its calls succeed. */

#include "tests/fuzz/call.h"

#include <string.h>

static void give(struct call *c, const char *name, int rank,
                 const int64_t *shape)
{
    operand_shape(call_operand(c, name), rank, shape);
}

static void give_base(struct call *c, const char *name)
{
    give(c, name, c->base_rank, c->base);
}

/* An axis of the base shape, from what a member says; -1 if it is none. */
static int axis_of(struct call *c, int rank)
{
    int64_t axis = call_scalar(c, "axis");
    if (axis < 0)
        axis += rank;
    return axis >= 0 && axis < rank ? (int)axis : -1;
}

static void gemm(struct call *c)
{
    int64_t m = call_size(c, "m"), n = call_size(c, "n"), k = call_size(c, "k");
    int batch = 0, rank;
    int64_t shape[3][SSQ_MAX_RANK];
    const int64_t last[3][2] = {
        {call_scalar(c, "trans_a") ? k : m, call_scalar(c, "trans_a") ? m : k},
        {call_scalar(c, "trans_b") ? n : k, call_scalar(c, "trans_b") ? k : n},
        {m, n}};
    static const char *const names[] = {"a", "b", "d"};
    if (strcmp(c->op->name, "gemm_batched") == 0)
        batch = 1 + (int)input_byte(c->in) % 2;
    rank = batch + 2;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < batch; j++)
            shape[i][j] = call_size(c, j == 0 ? "b0" : "b1");
        memcpy(&shape[i][batch], last[i], sizeof(last[i]));
    }
    for (int i = 0; i < 3; i++) {
        unsigned drop = i < 2 && batch > 0 ? input_byte(c->in) % 4 : 0;
        for (int j = 0; drop == 1 && j < batch; j++)
            shape[i][j] = 1;
        if (drop == 2 && i == 1)
            give(c, names[i], 2, &shape[i][batch]);
        else
            give(c, names[i], rank, shape[i]);
    }
    operand_broadcast(c, call_operand(c, "c"), rank, shape[2]);
}

static int64_t out_size(int64_t size, int64_t before, int64_t after,
                        int64_t window, int64_t dilation, int64_t stride,
                        bool ceil)
{
    int64_t extent = dilation * (window - 1) + 1;
    int64_t room = size + before + after - extent;
    if (stride < 1 || stride > 9 || room < 0 || room > 1000)
        return 1;
    int64_t n = (ceil ? room + stride - 1 : room) / stride + 1;
    if (ceil && (n - 1) * stride >= size + before)
        n--;
    return n;
}

/* Value i of an array member; the wild ones are refused for any shapes. */
static int64_t entry(const struct call *c, const char *name, unsigned i)
{
    for (const struct field *f = c->op->fields; f->name[0] != '\0'; f++)
        if (strcmp(f->name, name) == 0) {
            int64_t v;
            memcpy(&v, c->args.bytes + f->at + 8 * (i % f->count), 8);
            return v < -99 || v > 99 ? 1 : v;
        }
    return 0;
}

/* All values of an array member. */
static void values(const struct call *c, const char *name, void *to)
{
    for (const struct field *f = c->op->fields; f->name[0] != '\0'; f++)
        if (strcmp(f->name, name) == 0)
            memcpy(to, c->args.bytes + f->at, f->bytes);
}

static void image(struct call *c, const char *name, int64_t n, int64_t ch,
                  int64_t h, int64_t w)
{
    int64_t nchw[] = {n, ch, h, w}, nhwc[] = {n, h, w, ch};
    give(c, name, 4, call_scalar(c, "layout") == 1 ? nhwc : nchw);
}

static void conv(struct call *c)
{
    bool transposed = strstr(c->op->name, "transpose") != NULL;
    int64_t groups = 1 + input_byte(c->in) % 8 / 3;
    if (call_scalar(c, "groups") >= -2 && call_scalar(c, "groups") < 4)
        call_set(c, "groups", groups);
    int64_t n = call_size(c, "n"), each = call_size(c, "c1"),
            oeach = call_size(c, "o1"), h = call_size(c, "h1"),
            w = call_size(c, "w1"), r = 1 + input_byte(c->in) % 3,
            s = 1 + input_byte(c->in) % 3, size[2];
    for (unsigned i = 0; i < 2; i++) {
        int64_t window = i == 0 ? r : s, in = i == 0 ? h : w;
        int64_t before = entry(c, "padding", i),
                after = entry(c, "padding", i + 2),
                stride = entry(c, "stride", i),
                dilation = entry(c, "dilation", i);
        if (transposed)
            size[i] = (in - 1) * stride - before - after +
                      dilation * (window - 1) + 1 +
                      entry(c, "output_padding", i);
        else
            size[i] =
                out_size(in, before, after, window, dilation, stride, false);
        if (size[i] < 0 || size[i] > 100)
            size[i] = 1;
    }
    int64_t ci = groups * each, o = groups * oeach;
    int64_t oihw[] = {transposed ? ci : o, transposed ? oeach : each, r, s};
    int64_t ohwi[] = {oihw[0], r, s, oihw[1]};
    const int64_t *filters = call_scalar(c, "layout") == 1 ? ohwi : oihw;
    image(c, "x", n, ci, h, w);
    image(c, "dx", n, ci, h, w);
    image(c, "y", n, o, size[0], size[1]);
    image(c, "dy", n, o, size[0], size[1]);
    give(c, "w", 4, filters);
    give(c, "dw", 4, filters);
    call_named(c, "o", o);
}

static void pool(struct call *c)
{
    int64_t n = call_size(c, "n"), ch = call_size(c, "c"), size[2][2];
    for (unsigned i = 0; i < 2; i++) {
        int64_t kernel = entry(c, "kernel", i), stride = entry(c, "stride", i);
        size[0][i] = call_size(c, i == 0 ? "h1" : "w1") + (i == 0 ? 1 : 0);
        size[1][i] = out_size(
            size[0][i], entry(c, "padding", i), entry(c, "padding", i + 2),
            kernel, entry(c, "dilation", i), stride == 0 ? kernel : stride,
            call_scalar(c, "ceil_mode") != 0);
    }
    if (strstr(c->op->name, "global") != NULL)
        size[1][0] = size[1][1] = 1;
    image(c, "x", n, ch, size[0][0], size[0][1]);
    image(c, "dx", n, ch, size[0][0], size[0][1]);
    image(c, "y", n, ch, size[1][0], size[1][1]);
    image(c, "dy", n, ch, size[1][0], size[1][1]);
    image(c, "argmax", n, ch, size[1][0], size[1][1]);
}

/* The base shape without the axes in a mask, or with 1 in their place. */
static void without(struct call *c, const char *name, unsigned mask, bool keep)
{
    int64_t shape[SSQ_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < c->base_rank; i++) {
        if (!(mask >> i & 1))
            shape[rank++] = c->base[i];
        else if (keep)
            shape[rank++] = 1;
    }
    give(c, name, rank, shape);
}

static void reduce(struct call *c)
{
    bool keep = input_byte(c->in) % 2 == 1;
    int64_t n = call_scalar(c, "n_axes");
    unsigned mask = n == 0 ? 63 : 0;
    int axes[SSQ_MAX_RANK];
    values(c, "axes", axes);
    for (int i = 0; i < n; i++)
        mask |= 1u << (axes[i] < 0 ? axes[i] + c->base_rank : axes[i]);
    give_base(c, "x");
    give_base(c, "dx");
    if (strstr(c->op->name, "backward") != NULL)
        without(c, "dy", mask, keep);
    without(c, "y", mask, keep);
}

static void arg_reduce(struct call *c)
{
    int axis = axis_of(c, c->base_rank);
    give_base(c, "x");
    without(c, "y", axis < 0 ? 0 : 1u << axis, input_byte(c->in) % 2 == 1);
}

static void one_hot(struct call *c)
{
    int64_t shape[SSQ_MAX_RANK], classes = call_size(c, "classes");
    int rank = c->base_rank < SSQ_MAX_RANK ? c->base_rank + 1 : SSQ_MAX_RANK;
    int axis = axis_of(c, rank);
    for (int i = 0, j = 0; i < rank; i++)
        shape[i] = i == axis ? classes : c->base[j++];
    give(c, "index", rank - 1, c->base);
    give(c, "y", rank, shape);
}

static void index_check(struct call *c)
{
    const int64_t words = 4;
    give(c, "index", c->base_rank, c->base);
    give(c, "record", 1, &words);
}

/* Rows of a table that an index names. */
static void rows(struct call *c, const char *table, const char *picked)
{
    int64_t whole[SSQ_MAX_RANK], some[SSQ_MAX_RANK];
    int rank = (int)input_byte(c->in) % 3, more = (int)input_byte(c->in) % 3;
    whole[0] = call_size(c, "rows");
    for (int i = 0; i < rank; i++)
        some[i] = call_size(c, i == 0 ? "i0" : "i1");
    give(c, "index", rank, some);
    for (int i = 0; i < more; i++)
        whole[1 + i] = some[rank + i] = call_size(c, i == 0 ? "r0" : "r1");
    give(c, table, 1 + more, whole);
    give(c, picked, rank + more, some);
}

static void gather(struct call *c)
{
    rows(c, "x", "y");
}

static void scatter(struct call *c)
{
    rows(c, "dx", "dy");
}

static void concat(struct call *c)
{
    int axis = axis_of(c, c->base_rank);
    int64_t shape[SSQ_MAX_RANK], sum = 0;
    memcpy(shape, c->base, sizeof(shape));
    for (unsigned i = c->n - c->listed; i < c->n && axis >= 0; i++) {
        shape[axis] = i + 1 == c->n ? c->base[axis] : input_byte(c->in) % 4;
        sum += shape[axis];
        operand_shape(&c->x[i], c->base_rank, shape);
    }
    if (axis >= 0)
        shape[axis] = sum;
    give(c, "y", c->base_rank, shape);
}

static void transpose(struct call *c)
{
    int64_t shape[SSQ_MAX_RANK];
    int axes[SSQ_MAX_RANK];
    bool named = false;
    values(c, "axes", axes);
    for (int i = 0; i < c->base_rank; i++)
        named = named || axes[i] != 0;
    for (int i = 0; i < c->base_rank; i++) {
        int k = named ? axes[i] : c->base_rank - 1 - i;
        shape[i] = c->base[k < 0 ? k + c->base_rank : k];
    }
    give_base(c, "x");
    give(c, "y", c->base_rank, shape);
}

static void slice_assign(struct call *c)
{
    int64_t shape[SSQ_MAX_RANK], start[SSQ_MAX_RANK], step[SSQ_MAX_RANK];
    values(c, "start", start);
    values(c, "step", step);
    for (int i = 0; i < c->base_rank; i++) {
        int64_t room = c->base[i] - start[i];
        shape[i] = room <= 0 ? 0 : (room + step[i] - 1) / step[i];
        if (shape[i] > 1)
            shape[i] -= input_byte(c->in) % 2;
    }
    give(c, "x", c->base_rank, shape);
    give_base(c, "y");
}

static void sum_to(struct call *c)
{
    give_base(c, "x");
    operand_broadcast(c, call_operand(c, "y"), c->base_rank, c->base);
}

static void from_broadcast(struct call *c)
{
    give_base(c, "y");
    operand_broadcast(c, call_operand(c, "x"), c->base_rank, c->base);
}

/* Inputs that broadcast to the base shape, one of them that shape itself. */
static void binary(struct call *c)
{
    static const char *const in[] = {"a", "b", "cond"};
    unsigned whole = input_byte(c->in) % 2;
    give_base(c, "y");
    give_base(c, "dy");
    for (unsigned i = 0; i < 3; i++) {
        struct fuzz_operand *x = call_operand(c, in[i]);
        if (x == NULL)
            continue;
        if (i == whole)
            give_base(c, in[i]);
        else
            operand_broadcast(c, x, c->base_rank, c->base);
        if (i < 2)
            give(c, i == 0 ? "da" : "db", x->rank, x->shape);
    }
}

static void row_norm(struct call *c)
{
    int64_t ndim = call_scalar(c, "ndim");
    static const char *const row[] = {"gamma", "beta", "dgamma", "dbeta"};
    static const char *const per_row[] = {"mean", "rstd"};
    if (ndim < 1 || ndim > c->base_rank)
        call_set(c, "ndim", ndim = 1);
    if (ndim > c->base_rank)
        ndim = c->base_rank;
    for (unsigned i = 0; i < 4; i++)
        give(c, row[i], (int)ndim, c->base + c->base_rank - ndim);
    for (unsigned i = 0; i < 2; i++)
        give(c, per_row[i], c->base_rank - (int)ndim, c->base);
    if (input_byte(c->in) % 4 != 3 && call_operand(c, "mean") != NULL)
        call_operand(c, "mean")->used = call_operand(c, "rstd")->used;
}

static void channel_norm(struct call *c)
{
    int axis;
    if (c->base_rank < 2) {
        c->base_rank = 2;
        c->base[0] = call_size(c, "n1");
        c->base[1] = call_size(c, "c1");
    }
    axis = axis_of(c, c->base_rank);
    if (call_scalar(c, "groups") > 0) {
        int64_t groups = 1 + input_byte(c->in) % 3;
        call_set(c, "groups", groups);
        if (axis > 0)
            c->base[axis] = groups * (1 + c->base[axis] % 3);
    }
    call_named(c, "n", c->base[0]);
    call_named(c, "c", axis < 0 ? 1 : c->base[axis]);
    give_base(c, "x");
    if (input_byte(c->in) % 4 != 3) {
        if (call_operand(c, "running_mean") != NULL)
            call_operand(c, "running_mean")->used =
                call_operand(c, "running_var")->used;
        call_operand(c, "mean")->used = call_operand(c, "rstd")->used;
    }
}

/* Rows with their classes in dimension 1, targets without it. */
static void classes(struct call *c)
{
    static const char *const in[] = {"logits", "x", "dlogits", "dx",
                                     "target_prob"};
    int axis = c->base_rank > 1 ? 1 : 0;
    if (c->base_rank == 0) {
        c->base_rank = 1;
        c->base[0] = call_size(c, "c");
    }
    call_named(c, "c", c->base[axis]);
    for (unsigned i = 0; i < 5; i++)
        give_base(c, in[i]);
    without(c, "target", 1u << axis, false);
    if (call_scalar(c, "reduction") == 2)
        without(c, "loss", 1u << axis, false);
    else
        give(c, "loss", 0, c->base);
    give(c, "dloss", 0, c->base);
    if (call_operand(c, "target_prob") != NULL && input_byte(c->in) % 4 != 3)
        call_operand(c, "target")->used = !call_operand(c, "target_prob")->used;
    if (call_scalar(c, "k") < 1 && input_byte(c->in) % 4 != 3)
        call_set(c, "k", 1);
}

static void loss(struct call *c)
{
    give_base(c, "x");
    give(c, "loss", call_scalar(c, "reduction") == 2 ? c->base_rank : 0,
         c->base);
    give(c, "dloss", 0, c->base);
}

static void attention(struct call *c)
{
    int64_t kv = 1 + input_byte(c->in) % 2;
    call_named(c, "kv_heads", kv);
    call_named(c, "heads", kv * (1 + input_byte(c->in) % 2));
}

static void rotary(struct call *c)
{
    if (c->base_rank < 2) {
        c->base_rank = 2;
        c->base[0] = call_size(c, "t");
        c->base[1] = call_size(c, "d1");
    }
    int64_t *shape = c->base, d = shape[c->base_rank - 1];
    shape[c->base_rank - 1] = d += d % 2;
    int64_t dims = call_scalar(c, "dims");
    if (dims != 0 && input_byte(c->in) % 4 != 3)
        call_set(c, "dims", dims = d > 1 ? 2 : 0);
    int64_t half = (dims == 0 ? d : dims) / 2, angles[SSQ_MAX_RANK];
    memcpy(angles, shape, sizeof(angles));
    angles[c->base_rank - 1] = half;
    give_base(c, "x");
    give_base(c, "dy");
    operand_broadcast(c, call_operand(c, "position"), c->base_rank - 1, shape);
    give(c, "freq", 1, &half);
    give(c, "cos", c->base_rank, angles);
    give(c, "sin", c->base_rank, angles);
    if (input_byte(c->in) % 4 != 3) {
        bool table = call_operand(c, "cos")->used;
        call_operand(c, "sin")->used = table;
        if (table)
            call_operand(c, "position")->used = call_operand(c, "freq")->used =
                false;
        if (table || call_operand(c, "position")->used)
            call_set(c, "offset", 0);
    }
}

static const struct rule {
    const char *type;
    void (*apply)(struct call *c);
} rules[] = {
    {"ssq_gemm_args", gemm},
    {"ssq_conv2d_args", conv},
    {"ssq_conv2d_backward_data_args", conv},
    {"ssq_conv2d_backward_weight_args", conv},
    {"ssq_conv_transpose2d_args", conv},
    {"ssq_max_pool2d_args", pool},
    {"ssq_max_pool2d_backward_args", pool},
    {"ssq_avg_pool2d_args", pool},
    {"ssq_avg_pool2d_backward_args", pool},
    {"ssq_global_avg_pool2d_args", pool},
    {"ssq_global_avg_pool2d_backward_args", pool},
    {"ssq_reduce_args", reduce},
    {"ssq_reduce_backward_args", reduce},
    {"ssq_max_backward_args", reduce},
    {"ssq_argmax_args", arg_reduce},
    {"ssq_one_hot_args", one_hot},
    {"ssq_index_check_args", index_check},
    {"ssq_gather_rows_args", gather},
    {"ssq_scatter_add_rows_args", scatter},
    {"ssq_concat_args", concat},
    {"ssq_transpose_args", transpose},
    {"ssq_slice_assign_args", slice_assign},
    {"ssq_sum_to_args", sum_to},
    {"ssq_copy_args", from_broadcast},
    {"ssq_cast_args", from_broadcast},
    {"ssq_binary_args", binary},
    {"ssq_axpby_args", binary},
    {"ssq_binary_backward_args", binary},
    {"ssq_compare_args", binary},
    {"ssq_where_args", binary},
    {"ssq_layer_norm_args", row_norm},
    {"ssq_layer_norm_backward_args", row_norm},
    {"ssq_rms_norm_args", row_norm},
    {"ssq_rms_norm_backward_args", row_norm},
    {"ssq_batch_norm_args", channel_norm},
    {"ssq_batch_norm_backward_args", channel_norm},
    {"ssq_group_norm_args", channel_norm},
    {"ssq_group_norm_backward_args", channel_norm},
    {"ssq_cross_entropy_args", classes},
    {"ssq_nll_loss_args", classes},
    {"ssq_top_k_accuracy_args", classes},
    {"ssq_mse_args", loss},
    {"ssq_smooth_l1_args", loss},
    {"ssq_huber_args", loss},
    {"ssq_bce_with_logits_args", loss},
    {"ssq_attention_args", attention},
    {"ssq_attention_backward_args", attention},
    {"ssq_rotary_args", rotary},
    {"ssq_rotary_backward_args", rotary},
};

void shape_rules(struct call *c)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (strcmp(rules[i].type, c->op->type) == 0)
            rules[i].apply(c);
}
