/* SPDX-License-Identifier: Apache-2.0 */
/* by_hand_gpt.c - steps of examples/gpt's net by a tape, one block of it, leave
 * the bits that the same ops leave when they are called one by one: slices of
 * one product, a table that is used twice, sums that go two ways. */
#include "tests/tape/hand.h"

#define N     3
#define T     5
#define KINDS 11
#define WIDTH 8
#define HEADS 2
#define D     (WIDTH / HEADS)
#define ROWS  (N * T)

/* ---- by a tape ---- */

static ssq_var conv1d(ssq_tape *t, const char *name, ssq_var x, int64_t out)
{
    const int64_t in = ssq_var_size(x, 1);
    ssq_tape_push(t, name);
    ssq_var w = ssq_var_param(t, "weight",
                              SSQ_PARAM(.rank = 2, .shape = {in, out},
                                        .init = SSQ_INIT_NORMAL, .value = 0.3));
    ssq_var b = ssq_var_param(t, "bias", SSQ_PARAM(.rank = 1, .shape = {out}));
    ssq_tape_pop(t);
    return ssq_gemm_var(x, w, b, NULL);
}

static ssq_var attention(ssq_tape *t, ssq_var x)
{
    ssq_var all = conv1d(t, "c_attn", x, 3 * WIDTH);
    all = ssq_var_reshape(all, 4, (int64_t[]){N, T, 3 * HEADS, D});
    all = ssq_var_transpose(all, (int[]){0, 2, 1, 3});
    ssq_var q = ssq_var_slice(all, 1, 0, HEADS, 1);
    ssq_var k = ssq_var_slice(all, 1, HEADS, 2 * HEADS, 1);
    ssq_var v = ssq_var_slice(all, 1, 2 * HEADS, 3 * HEADS, 1);
    ssq_var y = ssq_attention_var(q, k, v, SSQ_ATTENTION(.causal = true));
    y = ssq_var_transpose(y, (int[]){0, 2, 1, 3});
    y = ssq_var_reshape(y, 2, (int64_t[]){ROWS, WIDTH});
    return conv1d(t, "c_proj", y, WIDTH);
}

static ssq_var net(ssq_tape *t, const ssq_tensor *const *data)
{
    const ssq_nn_embedding_args *table =
        SSQ_NN_EMBEDDING(.weight_init.kind = SSQ_INIT_NORMAL,
                         .weight_init.value = 0.3);
    ssq_tensor *tokens = NULL, *place = NULL, *target = NULL;
    NEED(ssq_tensor_slice(data[0], 0, 0, N, 1, &tokens));
    NEED(ssq_tensor_slice(data[0], 0, N, N + 1, 1, &place));
    NEED(ssq_tensor_reshape(data[1], 1, (int64_t[]){ROWS}, &target));
    ssq_var x = ssq_nn_embedding(t, "wte", tokens, KINDS, WIDTH, table);
    x = ssq_add_var(x, ssq_nn_embedding(t, "wpe", place, T, WIDTH, table));
    x = ssq_var_reshape(ssq_var_cast(x, SSQ_F32), 2, (int64_t[]){ROWS, WIDTH});
    ssq_var y = attention(t, ssq_nn_layer_norm(t, "ln_1", x, NULL));
    x = ssq_add_var(x, y);
    y = conv1d(t, "c_fc", ssq_nn_layer_norm(t, "ln_2", x, NULL), 2 * WIDTH);
    y = conv1d(t, "c_out", ssq_gelu_tanh_var(y), WIDTH);
    x = ssq_nn_layer_norm(t, "ln_f", ssq_add_var(x, y), NULL);
    x = ssq_nn_linear(t, "wte", x, KINDS, SSQ_NN_LINEAR(.bias = false));
    x = ssq_cross_entropy_var(x, SSQ_CROSS_ENTROPY(.target = target));
    ssq_tensor_destroy(&tokens);
    ssq_tensor_destroy(&place);
    ssq_tensor_destroy(&target);
    return x;
}

/* ---- by hand: parts ---- */

static ssq_tensor *part(struct hand *h, const char *name, const char *end,
                        bool grad)
{
    char whole[64];
    snprintf(whole, sizeof(whole), "%s.%s", name, end);
    size_t i = hand_at(h, whole);
    return grad ? h->grad[i] : h->value[i];
}

/* A product and what its backward needs. */
struct by_hand_gpt_product {
    const char *name;
    const ssq_tensor *x;
};

static ssq_tensor *multiply(struct hand *h, struct by_hand_gpt_product *p,
                            const char *name, const ssq_tensor *x, int64_t out)
{
    ssq_tensor *y = hand_make(h, h->dtype, 2, (int64_t[]){ROWS, out});
    p->name = name;
    p->x = hand_cast(h, x, h->dtype);
    NEED(ssq_gemm(h->queue,
                  SSQ_GEMM(.a = p->x, .b = part(h, name, "weight", false),
                           .bias = part(h, name, "bias", false), .d = y)));
    return y;
}

/* The gradient of x; the parameters' is written. */
static ssq_tensor *multiply_back(struct hand *h,
                                 const struct by_hand_gpt_product *p,
                                 const ssq_tensor *dy)
{
    ssq_tensor *dx = hand_like(h, h->dtype, p->x);
    NEED(ssq_gemm(h->queue,
                  SSQ_GEMM(.a = dy, .b = part(h, p->name, "weight", false),
                           .trans_b = true, .d = dx)));
    NEED(ssq_gemm(h->queue, SSQ_GEMM(.a = p->x, .b = dy, .trans_a = true,
                                     .d = part(h, p->name, "weight", true))));
    NEED(ssq_sum_to(h->queue,
                    SSQ_SUM_TO(.x = dy, .y = part(h, p->name, "bias", true))));
    return dx;
}

struct norm {
    const char *name;
    const ssq_tensor *x;
    ssq_tensor *mean, *rstd;
};

static ssq_tensor *normalise(struct hand *h, struct norm *l, const char *name,
                             const ssq_tensor *x)
{
    const int64_t rows = ROWS;
    ssq_tensor *y = hand_like(h, SSQ_F32, x);
    *l = (struct norm){name, x, hand_make(h, SSQ_F32, 1, &rows),
                       hand_make(h, SSQ_F32, 1, &rows)};
    NEED(ssq_layer_norm(
        h->queue,
        SSQ_LAYER_NORM(.x = x, .gamma = part(h, name, "weight", false),
                       .beta = part(h, name, "bias", false), .y = y,
                       .mean = l->mean, .rstd = l->rstd)));
    return y;
}

static ssq_tensor *normalise_back(struct hand *h, const struct norm *l,
                                  const ssq_tensor *dy)
{
    ssq_tensor *dx = hand_like(h, SSQ_F32, l->x);
    NEED(ssq_layer_norm_backward(
        h->queue,
        SSQ_LAYER_NORM_BACKWARD(.x = l->x,
                                .gamma = part(h, l->name, "weight", false),
                                .mean = l->mean, .rstd = l->rstd, .dy = dy,
                                .dx = dx,
                                .dgamma = part(h, l->name, "weight", true),
                                .dbeta = part(h, l->name, "bias", true))));
    return dx;
}

static ssq_tensor *add(struct hand *h, const ssq_tensor *a, const ssq_tensor *b,
                       ssq_dtype dtype)
{
    ssq_tensor *y = hand_like(h, dtype, a);
    NEED(ssq_add(h->queue, SSQ_ADD(.a = a, .b = b, .y = y)));
    return y;
}

/* The gradient of an operand of a sum. */
static void add_back(struct hand *h, const ssq_tensor *a, const ssq_tensor *b,
                     const ssq_tensor *dy, ssq_tensor **da, ssq_tensor **db)
{
    *da = hand_like(h, ssq_tensor_dtype(a), a);
    *db = hand_like(h, ssq_tensor_dtype(b), b);
    NEED(ssq_add_backward(h->queue, SSQ_ADD_BACKWARD(.a = a, .b = b, .dy = dy,
                                                     .da = *da, .db = *db)));
}

/* ---- by hand: attention ---- */

struct attended {
    struct by_hand_gpt_product in, out;
    ssq_tensor *q, *k, *v, *y, *lse;
};

static ssq_tensor *heads(struct hand *h, const ssq_tensor *all, int i)
{
    ssq_tensor *t = NULL;
    NEED(ssq_tensor_slice(all, 1, i * HEADS, (i + 1) * HEADS, 1, &t));
    return hand_keep(h, t);
}

static const int swap[] = {0, 2, 1, 3};

static ssq_tensor *attend(struct hand *h, struct attended *a,
                          const ssq_tensor *x)
{
    const int64_t parts[] = {N, T, 3 * HEADS, D}, flat[] = {ROWS, WIDTH};
    const int64_t shape[] = {N, HEADS, T, D};
    ssq_tensor *all = multiply(h, &a->in, "c_attn", x, 3 * WIDTH);
    all = hand_transpose(h, hand_reshape(h, all, 4, parts), swap);
    a->q = heads(h, all, 0);
    a->k = heads(h, all, 1);
    a->v = heads(h, all, 2);
    a->y = hand_make(h, h->dtype, 4, shape);
    a->lse = hand_make(h, SSQ_F32, 3, shape);
    NEED(ssq_attention(h->queue,
                       SSQ_ATTENTION(.q = a->q, .k = a->k, .v = a->v, .y = a->y,
                                     .lse = a->lse, .causal = true)));
    ssq_tensor *y = hand_dense(h, hand_transpose(h, a->y, swap));
    return multiply(h, &a->out, "c_proj", hand_reshape(h, y, 2, flat), WIDTH);
}

static ssq_tensor *attend_back(struct hand *h, const struct attended *a,
                               const ssq_tensor *dy)
{
    const int64_t rows[] = {N, T, HEADS, D}, all[] = {N, 3 * HEADS, T, D};
    const int64_t flat[] = {ROWS, 3 * WIDTH};
    ssq_tensor *back = multiply_back(h, &a->out, dy);
    back = hand_transpose(h, hand_reshape(h, back, 4, rows), swap);
    ssq_tensor *dall = hand_make(h, h->dtype, 4, all);
    NEED(ssq_attention_backward(
        h->queue,
        SSQ_ATTENTION_BACKWARD(.q = a->q, .k = a->k, .v = a->v, .y = a->y,
                               .lse = a->lse, .dy = back,
                               .dq = heads(h, dall, 0), .dk = heads(h, dall, 1),
                               .dv = heads(h, dall, 2), .causal = true)));
    dall = hand_dense(h, hand_transpose(h, dall, swap));
    return multiply_back(h, &a->in, hand_reshape(h, dall, 2, flat));
}

/* ---- by hand: the whole ---- */

/* The values that the forward part saves for the backward. */
struct all {
    ssq_tensor *tokens, *place, *target;
    ssq_tensor *rows, *places; /* of the tables */
    const ssq_tensor *x0, *x1, *x2;
    struct norm ln_1, ln_2, ln_f;
    struct attended attended;
    struct by_hand_gpt_product fc, out;
    ssq_tensor *seen, *wide, *made; /* of attention; of the two products */
    const ssq_tensor *last;         /* multiplied with the table again */
    ssq_tensor *logits;
};

static void forward(struct hand *h, struct all *f,
                    const ssq_tensor *const *data)
{
    const int64_t whole[] = {N, T, WIDTH}, flat[] = {ROWS, WIDTH};
    const int64_t places[] = {1, T, WIDTH}, kinds[] = {ROWS, KINDS};
    NEED(ssq_tensor_slice(data[0], 0, 0, N, 1, &f->tokens));
    NEED(ssq_tensor_slice(data[0], 0, N, N + 1, 1, &f->place));
    hand_keep(h, f->tokens);
    hand_keep(h, f->place);
    f->target = hand_reshape(h, data[1], 1, (int64_t[]){ROWS});
    f->rows = hand_make(h, h->dtype, 3, whole);
    f->places = hand_make(h, h->dtype, 3, places);
    NEED(ssq_gather_rows(h->queue,
                         SSQ_GATHER_ROWS(.x = part(h, "wte", "weight", false),
                                         .index = f->tokens, .y = f->rows)));
    NEED(ssq_gather_rows(h->queue,
                         SSQ_GATHER_ROWS(.x = part(h, "wpe", "weight", false),
                                         .index = f->place, .y = f->places)));
    const ssq_tensor *x = add(h, f->rows, f->places, h->dtype);
    f->x0 = hand_reshape(h, hand_cast(h, x, SSQ_F32), 2, flat);
    f->seen = attend(h, &f->attended, normalise(h, &f->ln_1, "ln_1", f->x0));
    f->x1 = add(h, f->x0, f->seen, SSQ_F32);
    f->wide = multiply(h, &f->fc, "c_fc", normalise(h, &f->ln_2, "ln_2", f->x1),
                       2 * WIDTH);
    ssq_tensor *bent = hand_like(h, h->dtype, f->wide);
    NEED(ssq_gelu_tanh(h->queue, SSQ_UNARY(.x = f->wide, .y = bent)));
    f->made = multiply(h, &f->out, "c_out", bent, WIDTH);
    f->x2 = add(h, f->x1, f->made, SSQ_F32);
    f->last = hand_cast(h, normalise(h, &f->ln_f, "ln_f", f->x2), h->dtype);
    f->logits = hand_make(h, h->dtype, 2, kinds);
    NEED(ssq_gemm(h->queue,
                  SSQ_GEMM(.a = f->last, .b = part(h, "wte", "weight", false),
                           .trans_b = true, .d = f->logits)));
}

/* The table's gradient has two terms, of which each is rounded. */
static void tables_back(struct hand *h, struct all *f, const ssq_tensor *dx)
{
    const int64_t whole[] = {N, T, WIDTH};
    ssq_tensor *wte = part(h, "wte", "weight", true), *rows, *places;
    ssq_tensor *wpe = part(h, "wpe", "weight", true);
    ssq_tensor *more = hand_like(h, h->dtype, wte);
    const ssq_tensor *back =
        hand_cast(h, hand_reshape(h, dx, 3, whole), h->dtype);
    add_back(h, f->rows, f->places, back, &rows, &places);
    NEED(ssq_fill(h->queue, SSQ_FILL(.x = wpe)));
    NEED(ssq_scatter_add_rows(
        h->queue,
        SSQ_SCATTER_ADD_ROWS(.dy = places, .index = f->place, .dx = wpe)));
    NEED(ssq_fill(h->queue, SSQ_FILL(.x = more)));
    NEED(ssq_scatter_add_rows(
        h->queue,
        SSQ_SCATTER_ADD_ROWS(.dy = rows, .index = f->tokens, .dx = more)));
    NEED(ssq_add(h->queue, SSQ_ADD(.a = wte, .b = more, .y = wte)));
}

static void sum_into(struct hand *h, const ssq_tensor *sum, const ssq_tensor *x)
{
    NEED(ssq_add(h->queue, SSQ_ADD(.a = sum, .b = x, .y = sum)));
}

static void hand(struct hand *h, const ssq_tensor *const *data)
{
    struct all f = {0};
    ssq_tensor *dx1, *dmade, *dx0, *dseen;
    forward(h, &f, data);
    ssq_tensor *dlogits = hand_like(h, h->dtype, f.logits);
    NEED(ssq_cross_entropy(
        h->queue,
        SSQ_CROSS_ENTROPY(.logits = f.logits, .target = f.target,
                          .dlogits = dlogits, .dloss = hand_scale(h))));
    ssq_tensor *back = hand_like(h, h->dtype, f.last);
    NEED(ssq_gemm(h->queue,
                  SSQ_GEMM(.a = dlogits, .b = part(h, "wte", "weight", false),
                           .d = back)));
    NEED(ssq_gemm(h->queue, SSQ_GEMM(.a = dlogits, .b = f.last, .trans_a = true,
                                     .d = part(h, "wte", "weight", true))));
    ssq_tensor *dx2 = normalise_back(h, &f.ln_f, hand_cast(h, back, SSQ_F32));
    add_back(h, f.x1, f.made, dx2, &dx1, &dmade);
    ssq_tensor *dbent = multiply_back(h, &f.out, dmade);
    ssq_tensor *dwide = hand_like(h, h->dtype, f.wide);
    NEED(ssq_gelu_tanh_backward(
        h->queue, SSQ_UNARY_BACKWARD(.x = f.wide, .dy = dbent, .dx = dwide)));
    back = multiply_back(h, &f.fc, dwide);
    sum_into(h, dx1, normalise_back(h, &f.ln_2, hand_cast(h, back, SSQ_F32)));
    add_back(h, f.x0, f.seen, dx1, &dx0, &dseen);
    back = attend_back(h, &f.attended, dseen);
    sum_into(h, dx0, normalise_back(h, &f.ln_1, hand_cast(h, back, SSQ_F32)));
    tables_back(h, &f, dx0);
}

/* Tokens, and in the last row their places; the next token of each. */
static void batch(int step, void *const *data)
{
    int *x = data[0], *y = data[1];
    unsigned seed = (unsigned)step * 7919u + 17u;
    for (int i = 0; i < N * T; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (int)(seed >> 8) % KINDS;
        y[i] = x[i] * 3 % KINDS;
    }
    for (int i = 0; i < T; i++)
        x[N * T + i] = i;
}

int main(void)
{
    const struct hand_net both = {"gpt",
                                  net,
                                  hand,
                                  batch,
                                  {2, 2},
                                  {{N + 1, T}, {N, T}},
                                  {SSQ_I32, SSQ_I32}};
    return hand_main(&both);
}
