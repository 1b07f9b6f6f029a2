/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - GPT-2: norms before the parts, attention that looks back, gelu, the
 * table of tokens again at the end.
 *
 *     x = wte[tokens] + wpe[place]
 *     in each block:  x = x + attn(ln_1(x))
 *                     x = x + mlp(ln_2(x))
 *     logits = ln_f(x) wte^T
 *
 * The sum that goes through all blocks is float32, products are in the compute
 * dtype, as under torch's autocast. */
#include "examples/gpt/model.h"

#include <math.h>
#include <stdio.h>

/* GPT-2's Conv1D: a linear layer whose weight is [in, out]. Its rows and those
 * of x are multiplied as they are. */
static ssq_var conv1d(ssq_tape *t, const char *name, ssq_var x, int64_t out,
                      double deviation)
{
    const int64_t in = ssq_var_size(x, 1);
    ssq_tape_push(t, name);
    ssq_var w =
        ssq_var_param(t, "weight",
                      SSQ_PARAM(.rank = 2, .shape = {in, out},
                                .init = SSQ_INIT_NORMAL, .value = deviation));
    ssq_var b = ssq_var_param(t, "bias", SSQ_PARAM(.rank = 1, .shape = {out}));
    ssq_tape_pop(t);
    return ssq_gemm_var(x, w, b, NULL);
}

/* What comes back into the sum begins smaller the more blocks there are. */
static double into_sum(const struct gpt *g)
{
    return 0.02 / sqrt(2.0 * (double)g->layers);
}

/* x [n t, width]: queries, keys and values of all heads are one product, and
 * views of its result. */
static ssq_var attention(ssq_tape *t, const struct gpt *g, ssq_var x, int64_t n)
{
    const int64_t rows = ssq_var_size(x, 0), h = g->heads, d = g->width / h;
    ssq_tape_push(t, "attn");
    ssq_var all = conv1d(t, "c_attn", x, 3 * g->width, 0.02);
    all = ssq_var_reshape(all, 4, (int64_t[]){n, rows / n, 3 * h, d});
    all = ssq_var_transpose(all, (int[]){0, 2, 1, 3});
    ssq_var y = ssq_attention_var(
        ssq_var_slice(all, 1, 0, h, 1), ssq_var_slice(all, 1, h, 2 * h, 1),
        ssq_var_slice(all, 1, 2 * h, 3 * h, 1), SSQ_ATTENTION(.causal = true));
    y = ssq_var_transpose(y, (int[]){0, 2, 1, 3});
    y = ssq_var_reshape(y, 2, (int64_t[]){rows, g->width});
    y = conv1d(t, "c_proj", y, g->width, into_sum(g));
    ssq_tape_pop(t);
    return y;
}

static ssq_var mlp(ssq_tape *t, const struct gpt *g, ssq_var x)
{
    ssq_tape_push(t, "mlp");
    x = ssq_gelu_tanh_var(conv1d(t, "c_fc", x, 4 * g->width, 0.02));
    x = conv1d(t, "c_proj", x, g->width, into_sum(g));
    ssq_tape_pop(t);
    return x;
}

static ssq_var dropped(ssq_tape *t, const struct gpt *g, ssq_var x)
{
    return g->dropout > 0.0 ? ssq_nn_dropout(t, x, g->dropout) : x;
}

static ssq_var block(ssq_tape *t, const struct gpt *g, ssq_var x, int64_t n)
{
    ssq_var y = attention(t, g, ssq_nn_layer_norm(t, "ln_1", x, NULL), n);
    x = ssq_add_var(x, dropped(t, g, y));
    y = mlp(t, g, ssq_nn_layer_norm(t, "ln_2", x, NULL));
    return ssq_add_var(x, dropped(t, g, y));
}

ssq_var gpt_logits(ssq_tape *t, const struct gpt *g, const ssq_tensor *tokens,
                   const ssq_tensor *place)
{
    const int64_t n = ssq_tensor_size(tokens, 0),
                  l = ssq_tensor_size(tokens, 1);
    const ssq_nn_embedding_args *table =
        SSQ_NN_EMBEDDING(.weight_init.kind = SSQ_INIT_NORMAL,
                         .weight_init.value = 0.02);
    ssq_var x =
        ssq_nn_embedding(t, "wte", tokens, g->vocabulary, g->width, table);
    ssq_var at = ssq_nn_embedding(t, "wpe", place, g->block, g->width, table);
    x = ssq_var_cast(ssq_add_var(x, at), SSQ_F32);
    x = dropped(t, g, ssq_var_reshape(x, 2, (int64_t[]){n * l, g->width}));
    for (int64_t i = 0; i < g->layers; i++) {
        char name[32];
        snprintf(name, sizeof(name), "h.%lld", (long long)i);
        ssq_tape_push(t, name);
        x = block(t, g, x, n);
        ssq_tape_pop(t);
    }
    x = ssq_nn_layer_norm(t, "ln_f", x, NULL);
    return ssq_nn_linear(t, "wte", x, g->vocabulary,
                         SSQ_NN_LINEAR(.bias = false));
}
