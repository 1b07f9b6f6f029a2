/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - dtype policies, and the autocast class of every op.
 *
 * The classes are PyTorch's for CUDA where it has one
 * (torch/amp/autocast_mode.py), on every device; sums, means and norms are
 * float32 because f16 overflows at 65504. */
#include <sesqui/amp/policy.h>

#include "lib/core/error.h"

#include <string.h>

#define HALF    SSQ_CLASS_HALF
#define FLOAT32 SSQ_CLASS_FLOAT32
#define PROMOTE SSQ_CLASS_PROMOTE
#define ANY     SSQ_CLASS_ANY

static const struct {
    const char *name;
    ssq_op_class op_class;
} table[] = {
    /* products: matrix units, with sums in float32 */
    {"gemm", HALF},
    {"gemm_batched", HALF},
    {"linear", HALF},
    {"conv2d", HALF},
    {"conv_transpose2d", HALF},
    {"attention", HALF},
    {"lstm_cell", HALF},
    {"gru_cell", HALF},
    {"gru_reset", HALF},
    {"lstm", HALF},
    {"gru", HALF},
    /* ranges or sums that 16 bits do not hold */
    {"softmax", FLOAT32},
    {"log_softmax", FLOAT32},
    {"cross_entropy", FLOAT32},
    {"nll_loss", FLOAT32},
    {"mse", FLOAT32},
    {"l1", FLOAT32},
    {"smooth_l1", FLOAT32},
    {"huber", FLOAT32},
    {"bce_with_logits", FLOAT32},
    {"layer_norm", FLOAT32},
    {"rms_norm", FLOAT32},
    {"batch_norm", FLOAT32},
    {"group_norm", FLOAT32},
    {"exp", FLOAT32},
    {"expm1", FLOAT32},
    {"log", FLOAT32},
    {"log1p", FLOAT32},
    {"pow", FLOAT32},
    {"square", FLOAT32},
    {"softplus", FLOAT32},
    {"reciprocal", FLOAT32},
    {"rsqrt", FLOAT32},
    {"sum", FLOAT32},
    {"sum_to", FLOAT32},
    {"mean", FLOAT32},
    {"prod", FLOAT32},
    {"norm", FLOAT32},
    {"logsumexp", FLOAT32},
    {"cumsum", FLOAT32},
    {"cumprod", FLOAT32},
    {"perplexity", FLOAT32},
    /* several operands meet */
    {"add", PROMOTE},
    {"sub", PROMOTE},
    {"mul", PROMOTE},
    {"div", PROMOTE},
    {"axpby", PROMOTE},
    {"maximum", PROMOTE},
    {"minimum", PROMOTE},
    {"where", PROMOTE},
    {"concat", PROMOTE},
    {"slice_assign", PROMOTE},
    {"scatter_add_rows", PROMOTE},
    {"eq", PROMOTE},
    {"ne", PROMOTE},
    {"lt", PROMOTE},
    {"le", PROMOTE},
    {"gt", PROMOTE},
    {"ge", PROMOTE},
    /* one operand, and no more range or precision than it has */
    {"fill", ANY},
    {"copy", ANY},
    {"cast", ANY},
    {"transpose", ANY},
    {"gather_rows", ANY},
    {"one_hot", ANY},
    {"relu", ANY},
    {"leaky_relu", ANY},
    {"elu", ANY},
    {"gelu", ANY},
    {"gelu_tanh", ANY},
    {"silu", ANY},
    {"sigmoid", ANY},
    {"tanh", ANY},
    {"sqrt", ANY},
    {"abs", ANY},
    {"neg", ANY},
    {"sign", ANY},
    {"floor", ANY},
    {"ceil", ANY},
    {"round", ANY},
    {"isnan", ANY},
    {"isinf", ANY},
    {"isfinite", ANY},
    {"sin", ANY},
    {"cos", ANY},
    {"erf", ANY},
    {"clamp", ANY},
    {"scale", ANY},
    {"max", ANY},
    {"min", ANY},
    {"argmax", ANY},
    {"argmin", ANY},
    {"top_k", ANY},
    {"top_k_accuracy", ANY},
    {"max_pool2d", ANY},
    {"avg_pool2d", ANY},
    {"global_avg_pool2d", ANY},
    {"rotary", ANY},
    {"dropout", ANY},
    {"random_uniform", ANY},
    {"random_normal", ANY},
    {"random_truncated_normal", ANY},
    {"random_bernoulli", ANY},
    {"init", ANY},
};

#define OPS (sizeof(table) / sizeof(table[0]))

const char *ssq_policy_op_name(size_t i)
{
    return i < OPS ? table[i].name : NULL;
}

const char *ssq_op_class_name(ssq_op_class op_class)
{
    static const char *const names[] = {"half", "float32", "promote", "any"};
    return (unsigned)op_class <= SSQ_CLASS_ANY ? names[op_class] : "invalid";
}

/* "gelu_backward" and "conv2d_backward_data" are in their forwards' lines. */
static size_t forward_length(const char *op)
{
    const char *tail = strstr(op, "_backward");
    return tail == NULL ? strlen(op) : (size_t)(tail - op);
}

ssq_status ssq_policy_op_class(const char *op, ssq_op_class *op_class)
{
    if (op == NULL || op_class == NULL)
        return error_set(SSQ_ERR_INVALID, "policy_op_class: %s is NULL",
                         op == NULL ? "op" : "op_class");
    size_t n = forward_length(op);
    for (size_t i = 0; i < OPS; i++)
        if (strlen(table[i].name) == n && strncmp(table[i].name, op, n) == 0) {
            *op_class = table[i].op_class;
            return SSQ_OK;
        }
    return error_set(SSQ_ERR_NOT_FOUND,
                     "policy_op_class: there is no op \"%.48s\"", op);
}

ssq_status ssq_policy_from_name(const char *name, ssq_policy *policy)
{
    static const struct {
        const char *name;
        ssq_dtype compute;
        bool scaling;
    } policies[] = {
        {"float32", SSQ_F32, false},
        {"mixed_float16", SSQ_F16, true},
        {"mixed_bfloat16", SSQ_BF16, false},
    };
    if (name == NULL || policy == NULL)
        return error_set(SSQ_ERR_INVALID, "policy_from_name: %s is NULL",
                         name == NULL ? "name" : "policy");
    if (policy->struct_size != sizeof(*policy))
        return error_set(SSQ_ERR_INVALID,
                         "policy_from_name: struct_size is %zu, expected %zu",
                         policy->struct_size, sizeof(*policy));
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
        if (strcmp(policies[i].name, name) == 0) {
            policy->compute = policies[i].compute;
            policy->variable = SSQ_F32;
            policy->scaling = policies[i].scaling;
            return SSQ_OK;
        }
    return error_set(SSQ_ERR_NOT_FOUND,
                     "policy_from_name: there is no policy \"%.32s\"; there "
                     "are float32, mixed_float16, mixed_bfloat16",
                     name);
}
