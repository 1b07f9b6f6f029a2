/* SPDX-License-Identifier: Apache-2.0 */
/* cases.h - the cases of cases.list as functions of parameters, with the data
 * that they read: for gradients.c, golden.c and others. */
#ifndef TESTS_TAPE_CASES_H
#define TESTS_TAPE_CASES_H

#include "tests/tape/tape.h"

/* A parameter of normal values. */
#define P(NAME, RANK, ...)                                                     \
    ssq_var_param(t, NAME,                                                     \
                  SSQ_PARAM(.rank = (RANK), .shape = {__VA_ARGS__},            \
                            .init = SSQ_INIT_NORMAL, .value = 1.0))
#define X   P("x", 2, 5, 7)
#define Y   P("y", 2, 5, 7)
#define ROW P("row", 1, 7)
#define COL P("col", 2, 5, 1)
/* Above 0, and not near it. */
#define ABOVE(V) ssq_exp_var(ssq_scale_var((V), SSQ_SCALE(.alpha = 0.5)))

/* The operands of the cases that are not vars. */
struct data {
    ssq_tensor *classes;    /* i32 [5], one of them ignored */
    ssq_tensor *pixels;     /* i32 [2, 3] */
    ssq_tensor *target;     /* f32 [5, 7] */
    ssq_tensor *share;      /* the same, in 0..1, rows that sum to 1 */
    ssq_tensor *weight;     /* f32 [7] */
    ssq_tensor *rows;       /* i32 [2, 3] */
    ssq_tensor *mask;       /* f32 [4, 6] */
    ssq_tensor *place;      /* i32 [6] */
    ssq_tensor *mean, *var; /* f32 [3] */
    ssq_tensor *cond;       /* u8 [5, 7] */
};

/* Parts that overlap, of a parameter and of a value that is used as a whole. */
static ssq_var slices(ssq_tape *t)
{
    ssq_var x = X, z = ssq_tanh_var(x);
    ssq_var y =
        ssq_mul_var(ssq_var_slice(x, 0, 0, 3, 1), ssq_var_slice(x, 0, 2, 5, 1));
    y = ssq_add_var(y, ssq_mul_var(ssq_var_slice(z, 0, 1, 4, 1),
                                   ssq_var_slice(z, 0, 0, 5, 2)));
    return ssq_add_var(y, ssq_mul_var(ssq_sum_var(z, NULL), y));
}

/* Vars of other sizes, one of them twice, one of them a transpose. */
static ssq_var joined(ssq_tape *t)
{
    ssq_var x = ssq_sin_var(X);
    const ssq_var all[] = {x, COL, x, ssq_var_transpose(P("u", 2, 3, 5), NULL)};
    return ssq_square_var(ssq_var_concat(all, 4, -1));
}

/* More than a node has operands. */
static ssq_var many(ssq_tape *t)
{
    ssq_var x = ssq_sin_var(X), rows[5];
    for (int i = 0; i < 5; i++)
        rows[i] = ssq_var_slice(x, 0, 4 - i, 5 - i, 1);
    ssq_var all[10];
    for (int i = 0; i < 10; i++)
        all[i] = rows[i * i % 5];
    ssq_var y = ssq_var_concat(all, 10, 0);
    return ssq_mul_var(y, ssq_var_concat((ssq_var[]){x, Y}, 2, 0));
}

/* All results of a recurrent layer matter. */
static ssq_var lstm(ssq_tape *t)
{
    ssq_var hn, cn;
    ssq_var y =
        ssq_lstm_var(P("s", 3, 3, 2, 4), P("ih", 2, 12, 4), P("hh", 2, 12, 3),
                     P("b1", 1, 12), P("b2", 1, 12), P("h0", 2, 2, 3),
                     P("c0", 2, 2, 3), &hn, &cn, NULL);
    return ssq_add_var(y, ssq_mul_var(hn, cn));
}

static ssq_var nn_lstm(ssq_tape *t)
{
    ssq_var hn, cn;
    ssq_var y =
        ssq_nn_lstm(t, "l", P("s", 3, 3, 2, 4), 3, SSQ_VAR_NONE, SSQ_VAR_NONE,
                    &hn, &cn, SSQ_NN_RNN(.reverse = true));
    return ssq_add_var(y, ssq_mul_var(hn, cn));
}

static ssq_var gru(ssq_tape *t)
{
    ssq_var hn;
    ssq_var y =
        ssq_gru_var(P("s", 3, 3, 2, 4), P("ih9", 2, 9, 4), P("hh9", 2, 9, 3),
                    P("b3", 1, 9), P("b4", 1, 9), P("h0", 2, 2, 3), &hn, NULL);
    return ssq_add_var(y, ssq_square_var(hn));
}

/* Two views of one value, and the value itself. */
static ssq_var twice(ssq_tape *t)
{
    ssq_var x = ssq_tanh_var(X);
    ssq_var a = ssq_var_reshape(x, 1, (int64_t[]){35});
    ssq_var b = ssq_var_reshape(ssq_square_var(x), 1, (int64_t[]){35});
    return ssq_add_var(ssq_mul_var(a, b),
                       ssq_var_reshape(x, 1, (int64_t[]){35}));
}

/* A table of rows, and the same as weights of a product. */
static ssq_var tied(ssq_tape *t, const struct data *d)
{
    ssq_var x = ssq_nn_embedding(t, "e", d->rows, 5, 6, NULL);
    return ssq_nn_linear(t, "e", ssq_tanh_var(x), 5,
                         SSQ_NN_LINEAR(.bias = false));
}

static ssq_var norms(ssq_tape *t)
{
    ssq_var x = ssq_nn_batch_norm(t, "bn", P("j", 4, 2, 4, 3, 3), NULL);
    x = ssq_nn_group_norm(t, "gn", x, SSQ_GROUP_NORM(.groups = 2));
    x = ssq_nn_layer_norm(t, "ln", x, NULL);
    return ssq_nn_rms_norm(t, "rn", ssq_add_var(x, P("j2", 4, 2, 4, 3, 3)),
                           SSQ_RMS_NORM(.ndim = 2));
}

/* A value that goes two ways, and comes together. */
static ssq_var diamond(ssq_tape *t)
{
    ssq_var x = ssq_sin_var(X);
    ssq_var y = ssq_mul_var(ssq_exp_var(x), ssq_add_var(x, Y));
    return ssq_sub_var(y, ssq_mul_var(x, x));
}

#define CASE(NAME, VAR, TORCH)                                                 \
    static ssq_var case_##NAME(ssq_tape *t, void *user)                        \
    {                                                                          \
        const struct data *d = user;                                           \
        (void)d;                                                               \
        return VAR;                                                            \
    }
#include "tests/tape/cases.list"

static const struct {
    const char *name;
    ssq_gradcheck_fn fn;
    bool once;         /* an op in it has no second derivative */
    bool torch, twice; /* golden.txt has its gradients, and theirs */
} cases[] = {
#define LINE(NAME, TORCH, SECOND, OF_TORCH)                                    \
    {#NAME, case_##NAME, !(SECOND), (TORCH) != NULL,                           \
     (TORCH) != NULL && (OF_TORCH)},
#define CASE(NAME, VAR, TORCH)       LINE(NAME, TORCH, true, true)
#define ONCE(NAME, VAR, TORCH)       LINE(NAME, TORCH, false, false)
#define TORCH_ONCE(NAME, VAR, TORCH) LINE(NAME, TORCH, true, false)
#include "tests/tape/cases.list"
#undef LINE
};
#define N (sizeof(cases) / sizeof(cases[0]))

/** The data of all cases; data_drop() when they are done. */
static void data_fill(const struct tape_rig *r, struct data *d)
{
    static const int classes[] = {3, -100, 0, 6, 2},
                     pixels[] = {4, 0, 2, 1, 3, 3};
    static const int rows[] = {4, 0, 4, 2, 2, 1}, place[] = {5, 0, 3, 1, 2, 9};
    static const int64_t five = 5, six = 6, seven = 7, three = 3;
    static const int64_t two_three[] = {2, 3}, five_seven[] = {5, 7};
    static const int64_t four_six[] = {4, 6};
    float x[35], share[35], mask[24];
    for (int i = 0; i < 35; i++) {
        x[i] = (float)(i * 11 % 17) / 8.0f - 1.0f;
        share[i] = (float)(1 + i % 7) / 28.0f;
    }
    for (int i = 0; i < 24; i++)
        mask[i] = (float)(i * 7 % 5) / 4.0f;
    d->classes = rig_words(r, 1, &five, classes);
    d->pixels = rig_words(r, 2, two_three, pixels);
    d->rows = rig_words(r, 2, two_three, rows);
    d->place = rig_words(r, 1, &six, place);
    d->target = rig_floats(r, 2, five_seven, x);
    d->share = rig_floats(r, 2, five_seven, share);
    d->weight = rig_floats(r, 1, &seven, share);
    d->mask = rig_floats(r, 2, four_six, mask);
    d->mean = rig_floats(r, 1, &three, x);
    d->var = rig_floats(r, 1, &three, share);
    uint8_t cond[35];
    for (int i = 0; i < 35; i++)
        cond[i] = i % 3 == 1;
    NEED(ssq_tensor_create(r->device, SSQ_U8, 2, five_seven, &d->cond));
    NEED(ssq_tensor_write(r->queue, d->cond, cond, sizeof(cond), SSQ_U8));
    NEED(ssq_queue_sync(r->queue));
}

static void data_drop(struct data *d)
{
    ssq_tensor **all[] = {&d->classes, &d->pixels, &d->target, &d->share,
                          &d->weight,  &d->rows,   &d->mask,   &d->place,
                          &d->mean,    &d->var,    &d->cond};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        ssq_tensor_destroy(all[i]);
}

#endif
