/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - ops that are limited by memory: copies, casts, elementwise ops,
 * softmax, layer norm, and gradients. Sizes are N or ROWSxCOLUMNS. */
#include "tools/bench/ring.h"

#include <string.h>

/* ---- calls ---- */

static ssq_status memory_copy(ssq_queue *q, ssq_tensor *const *t,
                              const struct bench_case *c)
{
    (void)c;
    return ssq_copy(q, SSQ_COPY(.x = t[0], .y = t[1]));
}

static ssq_status memory_cast(ssq_queue *q, ssq_tensor *const *t,
                              const struct bench_case *c)
{
    (void)c;
    return ssq_cast(q, SSQ_CAST(.x = t[0], .y = t[1]));
}

/* Call a function with one operand. They all have the same arguments. */
static ssq_status memory_unary(ssq_queue *q, ssq_tensor *const *t,
                               const struct bench_case *c)
{
    static const struct {
        const char *name;
        ssq_status (*run)(ssq_queue *q, const ssq_unary_args *args);
    } functions[] = {{"relu", ssq_relu},       {"gelu", ssq_gelu},
                     {"silu", ssq_silu},       {"tanh", ssq_tanh},
                     {"sigmoid", ssq_sigmoid}, {"exp", ssq_exp}};
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(functions[i].name, c->op) == 0)
            return functions[i].run(q, SSQ_UNARY(.x = t[0], .y = t[1]));
    return SSQ_ERR_NOT_FOUND;
}

static ssq_status memory_add(ssq_queue *q, ssq_tensor *const *t,
                             const struct bench_case *c)
{
    (void)c;
    return ssq_add(q, SSQ_BINARY(.a = t[0], .b = t[1], .y = t[2]));
}

static ssq_status mul(ssq_queue *q, ssq_tensor *const *t,
                      const struct bench_case *c)
{
    (void)c;
    return ssq_mul(q, SSQ_BINARY(.a = t[0], .b = t[1], .y = t[2]));
}

static ssq_status gelu_backward(ssq_queue *q, ssq_tensor *const *t,
                                const struct bench_case *c)
{
    (void)c;
    return ssq_gelu_backward(
        q, SSQ_UNARY_BACKWARD(.x = t[0], .dy = t[1], .dx = t[2]));
}

static ssq_status memory_softmax(ssq_queue *q, ssq_tensor *const *t,
                                 const struct bench_case *c)
{
    (void)c;
    return ssq_softmax(q, SSQ_SOFTMAX(.x = t[0], .y = t[1]));
}

static ssq_status memory_softmax_backward(ssq_queue *q, ssq_tensor *const *t,
                                          const struct bench_case *c)
{
    (void)c;
    return ssq_softmax_backward(
        q, SSQ_SOFTMAX_BACKWARD(.y = t[0], .dy = t[1], .dx = t[2]));
}

static ssq_status memory_layer_norm(ssq_queue *q, ssq_tensor *const *t,
                                    const struct bench_case *c)
{
    (void)c;
    return ssq_layer_norm(q, SSQ_LAYER_NORM(.x = t[0], .gamma = t[1],
                                            .beta = t[2], .y = t[3],
                                            .mean = t[4], .rstd = t[5]));
}

static ssq_status memory_layer_norm_backward(ssq_queue *q, ssq_tensor *const *t,
                                             const struct bench_case *c)
{
    (void)c;
    return ssq_layer_norm_backward(
        q, SSQ_LAYER_NORM_BACKWARD(.x = t[0], .gamma = t[1], .mean = t[2],
                                   .rstd = t[3], .dy = t[4], .dx = t[5],
                                   .dgamma = t[6], .dbeta = t[7]));
}

/* ---- operands ---- */

/* Set o to tensors of the case's shape: `in` inputs and one output. */
static bool memory_whole(const struct bench_case *c, struct ring_operand *o,
                         int in)
{
    if (c->sizes > 2)
        return false;
    for (int i = 0; i <= in; i++)
        o[i] = (struct ring_operand){i < in ? RING_NORMAL : RING_OUT,
                                     i < in ? c->dtype : c->result,
                                     c->sizes,
                                     {c->size[0], c->size[1]}};
    return true;
}

static bool one(const struct bench_case *c, struct ring_operand *o)
{
    return memory_whole(c, o, 1);
}

static bool two(const struct bench_case *c, struct ring_operand *o)
{
    return memory_whole(c, o, 2);
}

/* x, gamma, beta to y, mean, rstd. */
static bool memory_norm(const struct bench_case *c, struct ring_operand *o)
{
    const struct ring_operand x = {
        RING_NORMAL, c->dtype, 2, {c->size[0], c->size[1]}};
    const struct ring_operand v = {RING_NORMAL, c->dtype, 1, {c->size[1]}};
    const struct ring_operand s = {RING_OUT, SSQ_F32, 1, {c->size[0]}};
    o[0] = o[3] = x;
    o[1] = o[2] = v;
    o[4] = o[5] = s;
    return c->sizes == 2;
}

/* x, gamma, mean, rstd, dy to dx, dgamma, dbeta. */
static bool norm_backward(const struct bench_case *c, struct ring_operand *o)
{
    struct ring_operand forward[RING_OPERANDS];
    if (!memory_norm(c, forward))
        return false;
    o[0] = o[4] = o[5] = forward[0];
    o[1] = o[6] = o[7] = forward[1];
    o[2] = o[3] = forward[4];
    return true;
}

/* ---- the list ---- */

static double memory_each(const struct bench_case *c)
{
    double n = 1.0;
    for (int i = 0; i < c->sizes; i++)
        n *= (double)c->size[i];
    return n;
}

static const struct ring_op ops[] = {
    {"copy", memory_copy, one, NULL},
    {"cast", memory_cast, one, NULL},
    {"add", memory_add, two, memory_each},
    {"mul", mul, two, memory_each},
    {"relu", memory_unary, one, memory_each},
    {"gelu", memory_unary, one, memory_each},
    {"silu", memory_unary, one, memory_each},
    {"tanh", memory_unary, one, memory_each},
    {"sigmoid", memory_unary, one, memory_each},
    {"exp", memory_unary, one, memory_each},
    {"gelu_backward", gelu_backward, two, memory_each},
    {"softmax", memory_softmax, one, memory_each},
    {"softmax_backward", memory_softmax_backward, two, memory_each},
    {"layer_norm", memory_layer_norm, memory_norm, memory_each},
    {"layer_norm_backward", memory_layer_norm_backward, norm_backward,
     memory_each},
    {NULL, NULL, NULL, NULL}};

static ssq_status memory_make(struct workload *w)
{
    return ring_make(w, ops);
}

static const struct bench_grid grids[] = {
    {"copy", "f32 f16", "33554432"},
    {"cast", "f32:f16 f32:bf16 f16:f32 bf16:f32 f16:bf16 bf16:f16", "33554432"},
    {"add mul relu gelu silu tanh sigmoid exp gelu_backward", "f32 f16 bf16",
     "33554432"},
    {"softmax softmax_backward layer_norm layer_norm_backward", "f32 f16 bf16",
     "8192x4096"},
    {NULL, NULL, NULL}};

const struct bench_family memory_family = {
    .suite = "memory", .grids = grids, .memory = true, .make = memory_make};
