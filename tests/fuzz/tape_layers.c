/* SPDX-License-Identifier: Apache-2.0 */
/* tape_layers.c - steps of a program over tapes: layers. */

#include "tests/fuzz/tapes.h"

/* Names that several layers have, so that their shapes may clash. */
static const char *layer_name(struct program *t)
{
    static const char *const names[] = {"l1", "l2", "l3", "l4",
                                        "l5", "l6", "",   NULL};
    return names[input_byte(t->in) % 64 % 8];
}

/* Mostly small, rarely none at all. */
static int64_t some_size(struct program *t)
{
    static const int8_t sizes[] = {2, 4, 8, 3, 1, 6, 5, 8};
    unsigned b = input_byte(t->in);
    return b == 255 ? 0 : b == 254 ? -3 : sizes[b % 8];
}

static void linear_step(struct program *t)
{
    ssq_nn_linear_args args = SSQ_NN_LINEAR_INIT;
    ssq_var x[SIDES], y[SIDES];
    const char *name = layer_name(t), *where = program_where(t);
    program_pick(t, -1, x);
    int64_t out = some_size(t);
    unsigned b = input_byte(t->in);
    args.bias = b % 4 != 3;
    if (b >= 224)
        args.weight_init.kind = (ssq_init_kind)(b % 8);
    for (unsigned s = 0; s < SIDES; s++)
        y[s] = ssq_nn_linear_at(where, t->tape[s], name, x[s], out,
                                b % 2 == 0 ? NULL : &args);
    program_made(t, "nn_linear", y);
}

static void embedding_step(struct program *t)
{
    int64_t shape[2] = {some_size(t), 2}, width = some_size(t);
    ssq_tensor *index[SIDES] = {NULL, NULL};
    ssq_var y[SIDES];
    const char *name = layer_name(t), *where = program_where(t);
    shape[0] = shape[0] < 0 ? 1 : shape[0];
    program_index(t, 2, shape, index);
    int64_t rows = 3 + some_size(t);
    for (unsigned s = 0; s < SIDES; s++) {
        y[s] = ssq_nn_embedding_at(where, t->tape[s], name, index[s], rows,
                                   width, NULL);
        ssq_tensor_destroy(&index[s]);
    }
    program_made(t, "nn_embedding", y);
}

static ssq_nn_conv2d_args conv2d_options(struct program *t)
{
    ssq_nn_conv2d_args args = SSQ_NN_CONV2D_INIT;
    unsigned b = input_byte(t->in), c = input_byte(t->in);
    args.stride[0] = 1 + b % 2;
    args.stride[1] = 1 + b / 2 % 2;
    for (int i = 0; i < 4; i++)
        args.padding[i] = c >> i & 1;
    args.dilation[b / 8 % 2] = 1 + (b >= 192);
    args.groups = c >= 224 ? 2 : 1;
    args.output_padding[0] = b >= 224;
    args.layout = c / 16 % 4 == 3 ? SSQ_LAYOUT_NHWC : SSQ_LAYOUT_NCHW;
    args.bias = b / 16 % 4 != 3;
    return args;
}

static void conv2d_step(struct program *t)
{
    ssq_var x[SIDES], y[SIDES];
    const char *name = layer_name(t), *where = program_where(t);
    program_pick(t, 4, x);
    ssq_nn_conv2d_args args = conv2d_options(t);
    int64_t out = some_size(t), height = 1 + input_byte(t->in) % 3, width = 2;
    bool plain = input_byte(t->in) % 2 == 0;
    bool back = input_byte(t->in) % 4 == 3;
    for (unsigned s = 0; s < SIDES; s++)
        y[s] = (back ? ssq_nn_conv_transpose2d_at
                     : ssq_nn_conv2d_at)(where, t->tape[s], name, x[s], out,
                                         height, width, plain ? NULL : &args);
    program_made(t, back ? "nn_conv_transpose2d" : "nn_conv2d", y);
}

static void conv1d_step(struct program *t)
{
    ssq_nn_conv1d_args args = SSQ_NN_CONV1D_INIT;
    ssq_var x[SIDES], y[SIDES];
    const char *name = layer_name(t), *where = program_where(t);
    program_pick(t, 3, x);
    unsigned b = input_byte(t->in), c = input_byte(t->in);
    args.stride = 1 + b % 2;
    args.padding[0] = b / 2 % 2;
    args.padding[1] = b / 4 % 2;
    args.dilation = 1 + (b >= 224);
    args.layout = b / 8 % 4 == 3 ? SSQ_LAYOUT_NHWC : SSQ_LAYOUT_NCHW;
    args.output_padding = c >= 248;
    int64_t out = some_size(t), length = 1 + c % 3;
    bool back = c / 4 % 4 == 3;
    for (unsigned s = 0; s < SIDES; s++)
        y[s] = (back ? ssq_nn_conv_transpose1d_at
                     : ssq_nn_conv1d_at)(where, t->tape[s], name, x[s], out,
                                         length, b % 4 == 0 ? NULL : &args);
    program_made(t, back ? "nn_conv_transpose1d" : "nn_conv1d", y);
}

static void pool1d_step(struct program *t)
{
    ssq_nn_pool1d_args args = SSQ_NN_POOL1D_INIT;
    ssq_var x[SIDES], y[SIDES];
    const char *where = program_where(t);
    program_pick(t, 3, x);
    unsigned b = input_byte(t->in);
    args.stride = b % 3;
    args.padding[0] = b / 4 % 2;
    args.dilation = 1 + (b >= 224);
    args.ceil_mode = b / 8 % 2 == 1;
    args.count_include_pad = b / 16 % 2 == 1;
    int64_t length = 1 + input_byte(t->in) % 3;
    bool max = b / 32 % 2 == 1;
    for (unsigned s = 0; s < SIDES; s++)
        y[s] = (max ? ssq_nn_max_pool1d_at : ssq_nn_avg_pool1d_at)(
            where, t->tape[s], x[s], length, b % 4 == 0 ? NULL : &args);
    program_made(t, max ? "nn_max_pool1d" : "nn_avg_pool1d", y);
}

static void adaptive_step(struct program *t)
{
    ssq_var x[SIDES], y[SIDES];
    const char *where = program_where(t);
    program_pick(t, 4, x);
    int64_t height = some_size(t), width = some_size(t);
    ssq_layout layout =
        input_byte(t->in) % 4 == 3 ? SSQ_LAYOUT_NHWC : SSQ_LAYOUT_NCHW;
    for (unsigned s = 0; s < SIDES; s++)
        y[s] = ssq_nn_adaptive_avg_pool2d_at(where, t->tape[s], x[s], height,
                                             width, layout);
    program_made(t, "nn_adaptive_avg_pool2d", y);
}

static void norm_step(struct program *t)
{
    ssq_batch_norm_args batch = SSQ_BATCH_NORM_INIT;
    ssq_layer_norm_args layer = SSQ_LAYER_NORM_INIT;
    ssq_rms_norm_args rms = SSQ_RMS_NORM_INIT;
    ssq_group_norm_args group = SSQ_GROUP_NORM_INIT;
    ssq_var x[SIDES], y[SIDES];
    const char *name = layer_name(t), *where = program_where(t);
    program_pick(t, -1, x);
    unsigned b = input_byte(t->in), c = input_byte(t->in);
    batch.training = b % 4 != 3;
    layer.ndim = rms.ndim = 1 + b / 4 % 2;
    group.groups = 1 + b / 8 % 2;
    bool none = b / 16 % 2 == 0;
    for (unsigned s = 0; s < SIDES; s++) {
        ssq_tape *tape = t->tape[s];
        if (c % 4 == 0)
            y[s] = ssq_nn_layer_norm_at(where, tape, name, x[s],
                                        none ? NULL : &layer);
        else if (c % 4 == 1)
            y[s] =
                ssq_nn_rms_norm_at(where, tape, name, x[s], none ? NULL : &rms);
        else if (c % 4 == 2)
            y[s] = ssq_nn_batch_norm_at(where, tape, name, x[s],
                                        none ? NULL : &batch);
        else
            y[s] = ssq_nn_group_norm_at(where, tape, name, x[s],
                                        none ? NULL : &group);
    }
    program_made(t, "nn norm", y);
}

static void attention_step(struct program *t)
{
    ssq_nn_attention_args args = SSQ_NN_ATTENTION_INIT;
    ssq_var x[SIDES], y[SIDES];
    const char *name = layer_name(t), *where = program_where(t);
    program_pick(t, 3, x);
    unsigned b = input_byte(t->in);
    args.causal = b % 2 == 1;
    args.dropout = b / 2 % 4 == 3 ? 0.25 : 0.0;
    args.rotary = b / 8 % 4 == 3;
    args.bias = b / 32 % 2 == 1;
    args.kv_heads = b >= 224 ? 1 : 0;
    int64_t heads = 1 + input_byte(t->in) % 32 % 3;
    for (unsigned s = 0; s < SIDES; s++)
        y[s] = ssq_nn_attention_at(where, t->tape[s], name, x[s], heads,
                                   b % 4 == 0 ? NULL : &args);
    program_made(t, "nn_attention", y);
}

static void rnn_step(struct program *t)
{
    ssq_nn_rnn_args args = SSQ_NN_RNN_INIT;
    ssq_var x[SIDES], y[SIDES], h[SIDES], h0[SIDES];
    const char *name = layer_name(t), *where = program_where(t);
    program_pick(t, 3, x);
    unsigned b = input_byte(t->in);
    args.reverse = b % 2 == 1;
    args.reset_first = b / 2 % 4 == 3;
    args.bias = b / 8 % 4 != 3;
    int64_t hidden = some_size(t);
    bool lstm = b / 32 % 2 == 1;
    h0[0] = h0[1] = SSQ_VAR_NONE;
    if (b >= 240)
        program_pick(t, 2, h0);
    for (unsigned s = 0; s < SIDES; s++)
        y[s] = lstm ? ssq_nn_lstm_at(where, t->tape[s], name, x[s], hidden,
                                     h0[s], SSQ_VAR_NONE, &h[s], NULL, &args)
                    : ssq_nn_gru_at(where, t->tape[s], name, x[s], hidden,
                                    h0[s], &h[s], &args);
    program_made(t, lstm ? "nn_lstm" : "nn_gru", y);
    if (!t->apart)
        program_made(t, "hn", h);
}

static void dropout_step(struct program *t)
{
    static const double chances[] = {0.5, 0.0, 1.0, 0.25, -1.0};
    ssq_var x[SIDES], y[SIDES];
    const char *where = program_where(t);
    program_pick(t, -1, x);
    unsigned b = input_byte(t->in);
    double p = chances[b == 255 ? 4 : b % 4];
    for (unsigned s = 0; s < SIDES; s++)
        y[s] = ssq_nn_dropout_at(where, t->tape[s], x[s], p);
    program_made(t, "nn_dropout", y);
}

const struct step layer_steps[] = {
    {"linear", linear_step, 6}, {"embedding", embedding_step, 3},
    {"conv2d", conv2d_step, 3}, {"conv1d", conv1d_step, 3},
    {"pool1d", pool1d_step, 2}, {"adaptive", adaptive_step, 2},
    {"norm", norm_step, 4},     {"attention", attention_step, 3},
    {"recurrent", rnn_step, 3}, {"dropout", dropout_step, 2},
};
const size_t layer_steps_count = sizeof(layer_steps) / sizeof(layer_steps[0]);
