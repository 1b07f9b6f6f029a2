/* SPDX-License-Identifier: Apache-2.0 */
/* attention_misuse.c - what attention and its backward refuse. */
#include "conformance/attention/attention.h"

#include <string.h>

/* q, k, v, y, lse of [2, 4, 3, 5], 2 heads of keys, 6 of them, 7 columns. */
struct attention_misuse_operands {
    struct operand q, k, v, y, lse, wrong, flat, mask, step;
    ssq_attention_args a;
};

static void attention_misuse_make(struct harness *b,
                                  struct attention_misuse_operands *o)
{
    const int64_t q[] = {2, 4, 3, 5}, k[] = {2, 2, 6, 5}, v[] = {2, 2, 6, 7};
    const int64_t y[] = {2, 4, 3, 7}, w[] = {2, 3, 6, 5}, m[] = {3, 5};
    harness_input(b, &o->q, SSQ_F16, 4, q, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &o->k, SSQ_F16, 4, k, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &o->v, SSQ_F16, 4, v, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &o->y, SSQ_F16, 4, y, LAYOUT_DENSE);
    harness_output(b, &o->lse, SSQ_F32, 3, y, LAYOUT_DENSE);
    harness_input(b, &o->wrong, SSQ_F16, 4, w, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &o->flat, SSQ_F16, 3, q, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &o->mask, SSQ_F32, 2, m, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &o->step, SSQ_I32, 1, q, LAYOUT_DENSE, FILL_ZERO);
    o->a = (ssq_attention_args)SSQ_ATTENTION_INIT;
    o->a.q = o->q.t;
    o->a.k = o->k.t;
    o->a.v = o->v.t;
    o->a.y = o->y.t;
    o->a.lse = o->lse.t;
}

static void attention_misuse_refuse(struct harness *b,
                                    const ssq_attention_args *a,
                                    const char *words)
{
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_attention(b->queue, a), words);
}

static bool outputs_unchanged(struct harness *b,
                              struct attention_misuse_operands *o)
{
    return harness_unchanged(b, &o->y) && harness_unchanged(b, &o->lse);
}

static bool attention_misuse_run_shapes(struct harness *b)
{
    struct attention_misuse_operands o;
    attention_misuse_make(b, &o);
    ssq_attention_args a = o.a;
    a.q = o.flat.t;
    attention_misuse_refuse(
        b, &a,
        "attention: q is [2,4,3], k is [2,2,6,5], v is [2,2,6,7], "
        "expected [batch, heads, t, d] each");
    a = o.a;
    a.k = o.wrong.t;
    attention_misuse_refuse(b, &a, "kv_heads 3 and 2 differ");
    a.v = o.wrong.t;
    attention_misuse_refuse(
        b, &a,
        "q is [2,4,3,5], k is [2,3,6,5]: kv_heads 3 does not divide "
        "heads 4");
    a = o.a;
    a.v = o.q.t;
    attention_misuse_refuse(b, &a, "kv_heads 2 and 4 differ");
    a = o.a;
    a.k = o.v.t;
    attention_misuse_refuse(b, &a, "head sizes 5 and 7 differ");
    a = o.a;
    a.y = o.wrong.t;
    attention_misuse_refuse(b, &a, "y is [2,3,6,5], expected [2,4,3,7]");
    a = o.a;
    a.mask = o.mask.t;
    attention_misuse_refuse(
        b, &a, "mask is [3,5], which does not broadcast to [2,4,3,6]");
    a = o.a;
    a.step = o.step.t;
    attention_misuse_refuse(b, &a, "step has 2 elements, expected 1");
    return outputs_unchanged(b, &o);
}

/* The same shapes, cut: batches, keys. */
static bool run_cut(struct harness *b)
{
    struct attention_misuse_operands o;
    attention_misuse_make(b, &o);
    ssq_tensor *batch = NULL, *keys = NULL, *none = NULL, *rows = NULL;
    harness_status(b, ssq_tensor_slice(o.k.t, 0, 0, 1, 1, &batch));
    harness_status(b, ssq_tensor_slice(o.v.t, 2, 0, 5, 1, &keys));
    harness_status(b, ssq_tensor_slice(o.k.t, 1, 0, 0, 1, &none));
    harness_status(b, ssq_tensor_slice(o.lse.t, 2, 0, 2, 1, &rows));
    ssq_attention_args a = o.a;
    a.k = batch;
    attention_misuse_refuse(b, &a, "batches 2 and 1 differ");
    a = o.a;
    a.v = keys;
    attention_misuse_refuse(b, &a, "tk 6 and 5 differ");
    a.k = a.v = none;
    attention_misuse_refuse(b, &a, "kv_heads 0 does not divide heads 4");
    a = o.a;
    a.lse = rows;
    attention_misuse_refuse(b, &a, "lse is [2,4,2], expected [2,4,3]");
    ssq_tensor_destroy(&batch);
    ssq_tensor_destroy(&keys);
    ssq_tensor_destroy(&none);
    ssq_tensor_destroy(&rows);
    return outputs_unchanged(b, &o);
}

static bool run_values(struct harness *b)
{
    struct attention_misuse_operands o;
    attention_misuse_make(b, &o);
    ssq_attention_args a = o.a;
    a.scale = (double)NAN;
    attention_misuse_refuse(b, &a, "scale is nan, expected finite");
    a.scale = 1e39;
    attention_misuse_refuse(b, &a, "scale is 1e+39, expected finite");
    a = o.a;
    a.dropout = -0.5;
    attention_misuse_refuse(b, &a, "dropout is -0.5, expected 0 to 1");
    a.dropout = (double)NAN;
    attention_misuse_refuse(b, &a, "dropout is nan");
    a = o.a;
    a.softcap = -1.0;
    attention_misuse_refuse(
        b, &a, "softcap is -1, expected 0 or a positive normal float32");
    a.softcap = 1e-39;
    attention_misuse_refuse(b, &a, "softcap is 1e-39");
    a.softcap = (double)INFINITY;
    attention_misuse_refuse(b, &a, "softcap is inf");
    a.softcap = (double)NAN;
    attention_misuse_refuse(b, &a, "softcap is nan");
    a = o.a;
    a.q = NULL;
    attention_misuse_refuse(b, &a, "attention: q is NULL");
    a = o.a;
    a.y = NULL;
    attention_misuse_refuse(b, &a, "attention: y is NULL");
    a = o.a;
    a.struct_size = 8;
    attention_misuse_refuse(b, &a, "struct_size is 8");
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_attention(b->queue, NULL),
                       "args is NULL");
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_attention(NULL, &o.a),
                       "queue is NULL");
    return outputs_unchanged(b, &o);
}

static bool run_dtypes(struct harness *b)
{
    const int64_t k[] = {2, 2, 6, 5};
    struct attention_misuse_operands o;
    struct operand full, integer;
    attention_misuse_make(b, &o);
    harness_input(b, &full, SSQ_F32, 4, k, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &integer, SSQ_I32, 4, k, LAYOUT_DENSE, FILL_ZERO);
    ssq_attention_args a = o.a;
    a.k = full.t;
    attention_misuse_refuse(b, &a, "k is f32, expected f16");
    a.k = integer.t;
    attention_misuse_refuse(b, &a, "k is i32, expected f32, f16, bf16");
    a = o.a;
    a.mask = integer.t;
    attention_misuse_refuse(b, &a, "mask is i32, expected f32, f16, bf16, u8");
    a = o.a;
    a.lse = o.y.t;
    attention_misuse_refuse(b, &a, "lse is f16, expected f32");
    return outputs_unchanged(b, &o);
}

/* Last dimensions that are not contiguous, and outputs over inputs. */
static bool run_places(struct harness *b)
{
    const int64_t q[] = {2, 4, 3, 5}, y[] = {2, 4, 3, 7};
    struct attention_misuse_operands o;
    const int64_t k[] = {2, 2, 6, 5}, v[] = {2, 2, 6, 7};
    struct operand across, down, turned_k, turned_v;
    attention_misuse_make(b, &o);
    harness_input(b, &across, SSQ_F16, 4, q, LAYOUT_TRANSPOSED, FILL_NORMAL);
    harness_output(b, &down, SSQ_F16, 4, y, LAYOUT_TRANSPOSED);
    harness_input(b, &turned_k, SSQ_F16, 4, k, LAYOUT_TRANSPOSED, FILL_NORMAL);
    harness_input(b, &turned_v, SSQ_F16, 4, v, LAYOUT_TRANSPOSED, FILL_NORMAL);
    ssq_attention_args a = o.a;
    a.q = across.t;
    attention_misuse_refuse(b, &a,
                            "the last dimension of q has stride 3, expected 1");
    a = o.a;
    a.k = turned_k.t;
    attention_misuse_refuse(b, &a,
                            "the last dimension of k has stride 6, expected 1");
    a = o.a;
    a.v = turned_v.t;
    attention_misuse_refuse(b, &a,
                            "the last dimension of v has stride 6, expected 1");
    a = o.a;
    a.y = down.t;
    attention_misuse_refuse(b, &a,
                            "the last dimension of y has stride 3, expected 1");
    ssq_tensor *part = NULL;
    harness_status(b, ssq_tensor_slice(o.y.t, 3, 0, 5, 1, &part));
    a = o.a;
    a.q = part;
    attention_misuse_refuse(b, &a, "attention: y overlaps q");
    ssq_tensor_destroy(&part);
    return outputs_unchanged(b, &o) && harness_unchanged(b, &down);
}

static bool attention_misuse_run_backward(struct harness *b)
{
    const int64_t q[] = {2, 4, 3, 5};
    struct attention_misuse_operands o;
    struct operand dq, down;
    attention_misuse_make(b, &o);
    harness_output(b, &dq, SSQ_F32, 4, q, LAYOUT_DENSE);
    harness_output(b, &down, SSQ_F32, 4, q, LAYOUT_TRANSPOSED);
    ssq_attention_backward_args a = SSQ_ATTENTION_BACKWARD_INIT;
    a.q = o.q.t;
    a.k = o.k.t;
    a.v = o.v.t;
    a.y = o.y.t;
    a.lse = o.lse.t;
    a.dy = o.y.t;
    ssq_attention_backward_args c = a;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_attention_backward(b->queue, &c),
                       "attention_backward: no output: dq, dk, dv are NULL");
    c.dk = dq.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_attention_backward(b->queue, &c),
                       "k is [2,2,6,5], dk is [2,4,3,5]");
    c = a;
    c.dq = down.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_attention_backward(b->queue, &c),
                       "the last dimension of dq has stride 3, expected 1");
    c.dq = o.q.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_attention_backward(b->queue, &c),
                       "attention_backward: dq overlaps q");
    c.dq = dq.t;
    c.dy = o.q.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_attention_backward(b->queue, &c),
                       "dy is [2,4,3,5], expected [2,4,3,7]");
    c = a;
    c.dq = c.dk = dq.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_attention_backward(b->queue, &c),
                       "attention_backward: dq overlaps dk");
    c = a;
    c.dq = dq.t;
    c.lse = NULL;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_attention_backward(b->queue, &c),
                       "lse is NULL");
    return outputs_unchanged(b, &o) && harness_unchanged(b, &dq) &&
           harness_unchanged(b, &down);
}

/* 2^32 scores: more than a launch has elements, but no one stores them, and a
 * mask that repeats is not that long. Only checked and recorded, not run. */
static bool run_many_scores(struct harness *b)
{
    const int64_t shape[] = {1, 1, 65536, 1}, keys = 65536;
    struct operand x, y, mask;
    ssq_graph *graph = NULL;
    harness_input(b, &x, SSQ_F16, 4, shape, LAYOUT_DENSE, FILL_ZERO);
    harness_input(b, &mask, SSQ_F32, 1, &keys, LAYOUT_DENSE, FILL_ZERO);
    harness_output(b, &y, SSQ_F16, 4, shape, LAYOUT_DENSE);
    if (b->bench || b->admit || b->props.binding_bytes < 65536 * 4)
        return true; /* the mask itself is too long there */
    ssq_attention_args a = SSQ_ATTENTION_INIT;
    a.q = a.k = a.v = x.t;
    a.mask = mask.t;
    a.y = y.t;
    if (ssq_graph_begin(b->queue) != SSQ_OK)
        harness_fail(b, "no capture: %s", ssq_last_error());
    /* not HARNESS_OP, which would pass over any UNSUPPORTED; lavapipe ends
     * loops */
    ssq_status st = ssq_attention(b->queue, &a);
    bool ends = st == SSQ_ERR_UNSUPPORTED &&
                strstr(ssq_last_error(), "ends its loops") != NULL;
    harness_refused(b, ends ? SSQ_ERR_UNSUPPORTED : SSQ_OK, st);
    if (ssq_graph_end(b->queue, &graph) != SSQ_OK ||
        ssq_graph_ops(graph) != (ends ? 0 : 1))
        harness_fail(b, "no graph of one op: %s", ssq_last_error());
    ssq_graph_destroy(&graph);
    return harness_unchanged(b, &y);
}

static const struct {
    const char *name;
    bool (*run)(struct harness *b);
} cases[] = {
    {"attention refuses shapes that disagree", attention_misuse_run_shapes},
    {"attention refuses batches, keys and rows that disagree", run_cut},
    {"attention refuses values and absent operands", run_values},
    {"attention refuses dtypes", run_dtypes},
    {"attention refuses strided last dimensions and overlap", run_places},
    {"attention_backward refuses misuse", attention_misuse_run_backward},
    {"attention of 65536 keys and queries with a mask is admitted",
     run_many_scores},
};

static bool attention_misuse_run(struct harness *b, size_t i)
{
    return cases[i].run(b);
}

static void attention_misuse_describe(size_t i, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s", cases[i].name);
}

extern const struct suite attention_misuse_suite;
const struct suite attention_misuse_suite = {.op = "attention",
                                             .name = "attention_misuse",
                                             .n = COUNT(cases),
                                             .describe =
                                                 attention_misuse_describe,
                                             .run = attention_misuse_run,
                                             .floor = 7};
