/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - whole training steps by a trainer with AdamW and clipping.
 *
 * The dtype selects the policy. f16 is mixed_float16, which has a scaler.
 * Sizes:
 *
 *     mlp   BATCHxINxHIDDENx..xCLASSES
 *     cnn   BATCHxSIDE, the network of examples/cnn
 *     gpt   BATCHxBLOCKxLAYERSxHEADSxWIDTHxTOKENS, as in examples/gpt */
#include "examples/gpt/model.h"
#include "tools/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#define CNN_CLASSES 2

struct bench_training {
    ssq_var (*net)(ssq_tape *t, const struct bench_training *n);
    const struct bench_case *c;
    struct gpt gpt;
    ssq_trainer *trainer;
    ssq_tensor *x, *target, *place;
};

/* ---- networks ---- */

static ssq_var mlp(ssq_tape *t, const struct bench_training *n)
{
    ssq_var x = ssq_var_input(t, n->x);
    for (int i = 2; i < n->c->sizes; i++) {
        char name[24];
        snprintf(name, sizeof(name), "dense_%d", i - 1);
        x = ssq_nn_linear(t, name, x, n->c->size[i], NULL);
        x = i + 1 < n->c->sizes ? ssq_relu_var(x) : x;
    }
    return x;
}

static ssq_var cnn(ssq_tape *t, const struct bench_training *n)
{
    static const int64_t out[] = {16, 16, CNN_CLASSES};
    ssq_var x = ssq_var_input(t, n->x);
    for (int i = 0; i < 3; i++) {
        ssq_tape_push(t, i == 0 ? "0" : i == 1 ? "1" : "2");
        x = ssq_nn_conv2d(t, "conv", x, out[i], 3, 3,
                          SSQ_NN_CONV2D(.stride = {2, 2},
                                        .padding = {1, 1, 1, 1},
                                        .bias = i == 2));
        x = ssq_relu_var(x);
        x = i < 2 ? ssq_nn_batch_norm(t, "bn", x, NULL) : x;
        ssq_tape_pop(t);
    }
    return ssq_var_reshape(ssq_global_avg_pool2d_var(x, NULL), 2,
                           (int64_t[]){n->c->size[0], CNN_CLASSES});
}

static ssq_var gpt(ssq_tape *t, const struct bench_training *n)
{
    return gpt_logits(t, &n->gpt, n->x, n->place);
}

/* ---- a step ---- */

static ssq_status tool_train_step(struct workload *w)
{
    const struct bench_training *n = w->state;
    ssq_tape *t = ssq_trainer_begin(n->trainer);
    ssq_var y = n->net(t, n);
    return ssq_trainer_step(
        n->trainer,
        ssq_cross_entropy_var(ssq_var_cast(y, SSQ_F32),
                              SSQ_CROSS_ENTROPY(.target = n->target)));
}

static void train_drop(struct workload *w)
{
    struct bench_training *n = w->state;
    ssq_trainer_destroy(&n->trainer);
    ssq_tensor_destroy(&n->x);
    ssq_tensor_destroy(&n->target);
    ssq_tensor_destroy(&n->place);
}

/* ---- operands ---- */

/* Count two operations for each multiply-add of the forward pass, and as many
 * for each of the two gradients. The input has no gradient. */
static ssq_status make_mlp(struct workload *w, struct bench_training *n)
{
    const struct bench_case *c = &w->c;
    const double batch = (double)c->size[0];
    for (int i = 1; i + 1 < c->sizes; i++)
        w->flops += (i == 1 ? 4.0 : 6.0) * batch * (double)c->size[i] *
                    (double)c->size[i + 1];
    n->net = mlp;
    ssq_status st = workload_tensor(w, c->dtype, 2, c->size, 1.0, &n->x);
    return st == SSQ_OK ? workload_classes(w, c->size[0], c->size[c->sizes - 1],
                                           &n->target)
                        : st;
}

static ssq_status make_cnn(struct workload *w, struct bench_training *n)
{
    const int64_t *s = w->c.size, shape[] = {s[0], 3, s[1], s[1]};
    n->net = cnn;
    ssq_status st = workload_tensor(w, w->c.dtype, 4, shape, 1.0, &n->x);
    return st == SSQ_OK ? workload_classes(w, s[0], CNN_CLASSES, &n->target)
                        : st;
}

static ssq_status make_gpt(struct workload *w, struct bench_training *n)
{
    const int64_t *s = w->c.size, shape[] = {s[0], s[1]};
    ssq_tensor *flat = NULL;
    n->net = gpt;
    n->gpt = (struct gpt){.block = s[1],
                          .layers = s[2],
                          .heads = s[3],
                          .width = s[4],
                          .vocabulary = s[5]};
    ssq_status st = workload_classes(w, s[1], s[1], &n->place);
    if (st == SSQ_OK)
        st = workload_classes(w, s[0] * s[1], s[5], &n->target);
    if (st == SSQ_OK)
        st = workload_classes(w, s[0] * s[1], s[5], &flat);
    if (st == SSQ_OK)
        st = ssq_tensor_reshape(flat, 2, shape, &n->x);
    ssq_tensor_destroy(&flat);
    return st;
}

static ssq_status make_trainer(struct workload *w, struct bench_training *n)
{
    const char *policy = w->c.dtype == SSQ_F32   ? "float32"
                         : w->c.dtype == SSQ_F16 ? "mixed_float16"
                                                 : "mixed_bfloat16";
    return ssq_trainer_create(
        w->queue,
        SSQ_TRAINER(.policy = policy, .params.seed = 1, .optimizer = "adamw",
                    .options.lr = 1e-3, .options.clip_norm = 1.0,
                    .replay = true),
        &n->trainer);
}

static ssq_status train_make(struct workload *w)
{
    static const struct {
        const char *name;
        int least, most; /* sizes */
        ssq_status (*make)(struct workload *w, struct bench_training *n);
    } nets[] = {{"mlp", 3, CASE_SIZES, make_mlp},
                {"cnn", 2, 2, make_cnn},
                {"gpt", 6, 6, make_gpt}};
    for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++) {
        if (strcmp(nets[i].name, w->c.op) != 0 || w->c.sizes < nets[i].least ||
            w->c.sizes > nets[i].most)
            continue;
        struct bench_training *n = calloc(1, sizeof(*n));
        if (n == NULL)
            return SSQ_ERR_NOMEM;
        n->c = &w->c;
        w->state = n;
        w->run = tool_train_step;
        w->drop = train_drop;
        ssq_status st = make_trainer(w, n);
        return st == SSQ_OK ? nets[i].make(w, n) : st;
    }
    return SSQ_ERR_NOT_FOUND;
}

static const struct bench_grid grids[] = {
    {"mlp", "f32 f16 bf16", "8192x784x4096x4096x10 512x784x512x512x10"},
    {"cnn", "f32 f16 bf16", "64x28"},
    {"gpt", "f32 f16 bf16", "16x64x4x4x128x96"},
    {NULL, NULL, NULL}};

const struct bench_family train_family = {
    .suite = "train", .grids = grids, .step = true, .make = train_make};
