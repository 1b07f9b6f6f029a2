/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - cases of attention: sizes, dtypes, places, masks. */
#include "conformance/attention/attention.h"

#define F32    SSQ_F32
#define F16    SSQ_F16
#define BF16   SSQ_BF16
#define DENSE  PLACE_DENSE
#define PADDED PLACE_PADDED
#define TOKENS PLACE_TOKENS
#define NONE   MASK_NONE

/* batch heads kv_heads tq tk d dv in out place mask causal offset scale
 * dropout size softcap */
static const struct attention_case table[] = {
    {1, 1, 1, 1, 1, 1, 1, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {1, 1, 1, 1, 1, 8, 8, F16, F16, DENSE, NONE, true, 0, 0, 0, 0, 0},
    {1, 1, 1, 1, 7, 1, 1, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {1, 1, 1, 1, 7, 1, 5, BF16, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {1, 1, 1, 7, 1, 3, 2, F32, F32, PADDED, NONE, false, 0, 0, 0, 0, 0},
    {1, 1, 1, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {1, 1, 1, 7, 5, 4, 4, F16, F16, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {2, 3, 3, 5, 5, 8, 8, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {2, 3, 3, 5, 5, 8, 8, F16, F16, TOKENS, NONE, true, 0, 0, 0, 0, 0},
    {2, 3, 3, 5, 5, 8, 8, BF16, BF16, TOKENS, NONE, true, 0, 0, 0, 0, 0},
    {2, 3, 1, 5, 9, 8, 6, F32, F32, TOKENS, NONE, false, 0, 0, 0, 0, 0},
    {2, 4, 2, 3, 11, 8, 8, F16, F32, DENSE, NONE, true, 8, 0, 0, 0, 0},
    {2, 4, 2, 11, 3, 8, 8, BF16, F32, PADDED, NONE, true, -8, 0, 0, 0, 0},
    {1, 6, 2, 11, 3, 5, 7, F32, F16, DENSE, NONE, true, 0, 0, 0, 0, 0},
    {1, 6, 2, 3, 11, 5, 7, F32, BF16, PADDED, NONE, true, 0, 0, 0, 0, 0},
    {1, 2, 2, 6, 6, 4, 4, F32, F32, DENSE, NONE, true, 100, 0, 0, 0, 0},
    {1, 2, 2, 6, 6, 4, 4, F32, F32, DENSE, NONE, true, -100, 0, 0, 0, 0},
    {1, 2, 2, 6, 6, 4, 4, F32, F32, DENSE, NONE, true, INT64_MAX, 0, 0, 0, 0},
    {1, 2, 2, 6, 6, 4, 4, F32, F32, DENSE, NONE, true, INT64_MIN, 0, 0, 0, 0},
    {1, 2, 1, 3, 5, 257, 257, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {1, 2, 1, 3, 5, 257, 1, F16, F16, TOKENS, NONE, false, 0, 0, 0, 0, 0},
    {1, 2, 1, 3, 5, 1, 257, BF16, BF16, PADDED, NONE, true, 2, 0, 0, 0, 0},
    {1, 2, 2, 17, 65, 64, 64, F16, F16, TOKENS, NONE, true, 48, 0, 0, 0, 0},
    {1, 2, 2, 17, 65, 64, 64, BF16, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {1, 1, 1, 3, 1031, 16, 16, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {1, 1, 1, 3, 1031, 16, 16, F16, F16, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {1, 1, 1, 257, 3, 16, 16, BF16, BF16, TOKENS, NONE, false, 0, 0, 0, 0, 0},
    {2, 3, 3, 5, 7, 4, 4, F32, F32, DENSE, MASK_FLOAT, false, 0, 0, 0, 0, 0},
    {2, 3, 1, 5, 7, 4, 4, F16, F16, TOKENS, MASK_FLOAT, true, 2, 0, 0, 0, 0},
    {2, 4, 2, 5, 7, 4, 4, BF16, F32, PADDED, MASK_FLOAT, false, 0, 0, 0, 0, 0},
    {2, 3, 3, 5, 7, 4, 4, F32, F32, DENSE, MASK_KEYS, false, 0, 0, 0, 0, 0},
    {2, 3, 3, 5, 7, 4, 4, F16, F16, TOKENS, MASK_KEYS, true, 0, 0, 0, 0, 0},
    {2, 4, 2, 5, 7, 4, 4, F32, F32, PADDED, MASK_HEADS, false, 0, 0, 0, 0, 0},
    {2, 4, 1, 5, 7, 4, 4, BF16, BF16, DENSE, MASK_HEADS, true, 1, 0, 0, 0, 0},
    {2, 3, 3, 5, 7, 4, 4, F32, F32, DENSE, MASK_U8, false, 0, 0, 0, 0, 0},
    {2, 4, 2, 5, 7, 4, 4, F16, F32, TOKENS, MASK_U8, true, 3, 0, 0, 0, 0},
    {3, 2, 2, 9, 1, 4, 4, F32, F32, DENSE, MASK_U8, false, 0, 0, 0, 0, 0},
    {3, 2, 1, 9, 2, 4, 4, BF16, F16, PADDED, MASK_U8, true, -2, 0, 0, 0, 0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 1.0, 0, 0, 0},
    {1, 2, 2, 5, 7, 4, 4, F16, F16, DENSE, NONE, false, 0, -0.3, 0, 0, 0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 1e-30, 0, 0, 0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 5.0, 0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 300.0, 0},
    {1, 2, 2, 5, 7, 16, 4, F16, F16, DENSE, NONE, false, 0, 0, 0, 8000.0, 0},
    {1, 2, 2, 5, 7, 16, 4, BF16, F32, TOKENS, MASK_U8, false, 0, 0, 0, 1e9, 0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 1e-20, 0},
    {1, 2, 2, 5, 7, 4, 4, F16, F16, DENSE, NONE, false, 0, 0, 0, 1e-6, 0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0.5, 0, 0},
    {2, 4, 2, 5, 7, 4, 4, F16, F16, TOKENS, MASK_U8, false, 0, 0, 0.1, 0, 0},
    {2, 4, 2, 5, 7, 4, 4, BF16, F32, PADDED, NONE, true, 2, 0, 0.3, 0, 0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0.999, 0, 0},
    {0, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {2, 0, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {2, 0, 0, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {2, 2, 2, 0, 7, 4, 4, F32, F32, DENSE, NONE, true, 0, 0, 0, 0, 0},
    {2, 2, 2, 5, 0, 4, 4, F16, F16, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {2, 2, 2, 5, 0, 4, 4, F32, F32, TOKENS, MASK_U8, true, 0, 0, 0, 0, 0},
    {2, 2, 2, 5, 7, 0, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {2, 2, 1, 5, 7, 0, 4, F16, F16, DENSE, MASK_FLOAT, true, 0, 0, 0, 0, 0},
    {2, 2, 2, 5, 7, 4, 0, F32, F32, DENSE, MASK_HEADS, false, 0, 0, 0, 0, 0},
    {2, 2, 2, 5, 7, 0, 0, F32, F32, DENSE, NONE, false, 0, 3.0, 0, 0, 0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 50.0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 3.0, 1.5},
    {2, 4, 2, 5, 7, 8, 6, F16, F16, TOKENS, MASK_FLOAT, true, 2, 0, 0, 0, 2.0},
    {2, 4, 1, 5, 7, 8, 4, BF16, F32, PADDED, MASK_U8, false, 0, 0, 0.2, 0, 0.5},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, MASK_KEYS, false, 0, 2.0, 0, 0,
     30.0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, MASK_HEADS, true, 0, 0, 0, 300.0,
     20.0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 1e-20},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 1e30},
    {2, 2, 2, 5, 7, 0, 4, F32, F32, DENSE, MASK_FLOAT, false, 0, 0, 0, 0, 2.0},
    {1, 4, 2, 70, 300, 20, 40, F16, F16, TOKENS, MASK_U8, true, 200, 0, 0, 0,
     0},
    {1, 2, 1, 45, 140, 33, 17, BF16, F32, DENSE, MASK_FLOAT, false, 0, 0, 0.2,
     0, 0},
    {2, 2, 1, 100, 129, 32, 32, F32, F32, TOKENS, NONE, true, 0, 0, 0, 3.0, 0},
    {1, 2, 2, 33, 260, 8, 65, F32, BF16, PADDED, MASK_HEADS, true, -20, 0, 0, 0,
     4.0},
};

static void count_work(struct harness *b, const struct attention_case *c)
{
    double rows = (double)(c->batch * c->heads * c->tq);
    double keys = (double)(c->batch * c->kv_heads * c->tk);
    double in = ssq_dtype_bits(c->in) / 8.0, out = ssq_dtype_bits(c->out) / 8.0;
    b->flops = 2.0 * rows * (double)(c->tk * (c->d + c->dv));
    b->bytes = keys * (double)(c->d + c->dv) * in +
               rows * ((double)c->d * in + (double)c->dv * out + 4.0);
}

static bool attention_run_case(struct harness *b,
                               const struct attention_case *c,
                               struct attention_harness *a, struct grid *y)
{
    struct operand lse;
    const int64_t lse_shape[] = {c->batch, c->heads, c->tq};
    size_t rows = (size_t)(c->batch * c->heads * c->tq);
    size_t n = rows * (size_t)c->dv;
    attention_make(b, c, a);
    grid_output(b, y, c->out, a->y_shape, c->place);
    harness_output(b, &lse, SSQ_F32, 3, lse_shape, LAYOUT_PADDED);
    count_work(b, c);
    ssq_attention_args args = SSQ_ATTENTION_INIT;
    args.q = a->q.t;
    args.k = a->k.t;
    args.v = a->v.t;
    args.mask = c->mask == MASK_NONE ? NULL : a->mask.t;
    args.y = y->t;
    args.lse = lse.t;
    args.scale = c->scale;
    args.causal = c->causal;
    args.causal_offset = c->causal_offset;
    args.dropout = c->dropout;
    args.seed = 99;
    args.id = 4;
    args.step = a->step.t;
    args.offset = 11;
    args.softcap = c->softcap;
    HARNESS_OP(b, ssq_attention(b->queue, &args));
    bool fresh;
    struct attention_want wy = {harness_keep(b, 0, n, &fresh),
                                harness_keep(b, 1, n, &fresh)};
    struct attention_want wl = {harness_keep(b, 2, rows, &fresh),
                                harness_keep(b, 3, rows, &fresh)};
    if (fresh)
        attention_oracle(&a->facts, wy, wl);
    harness_read(b, &lse);
    return grid_bound(b, y, wy.want, wy.error) &&
           harness_bound(b, &lse, wl.want, wl.error) &&
           harness_unchanged(b, &a->q.o) && harness_unchanged(b, &a->k.o) &&
           harness_unchanged(b, &a->v.o);
}

static bool attention_run(struct harness *b, size_t i)
{
    struct attention_harness a = {0};
    struct grid y = {0};
    bool ok = attention_run_case(b, &table[i], &a, &y);
    grid_done(&a.q);
    grid_done(&a.k);
    grid_done(&a.v);
    grid_done(&y);
    return ok;
}

static void attention_describe(size_t i, char *text, size_t bytes)
{
    char c[200];
    snprintf(text, bytes, "attention %s",
             attention_text(&table[i], c, sizeof(c)));
}

extern const struct suite attention_suite;
const struct suite attention_suite = {.op = "attention",
                                      .name = "attention",
                                      .n = COUNT(table),
                                      .turn = suite_half,
                                      .describe = attention_describe,
                                      .run = attention_run,
                                      .floor = 55};
