/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - dtype policies, and the autocast class of every op.
 *
 * The classes stand in lib/op/ops.h. They are PyTorch's for CUDA where it has
 * one (torch/amp/autocast_mode.py), on every device; sums, means and norms are
 * float32 because f16 overflows at 65504. */
#include <sesqui/amp/policy.h>

#include "kernels/elementwise/unary.h"
#include "lib/core/error.h"
#include "lib/op/ops.h"

#include <string.h>

#define HALF(NAME)    {#NAME, SSQ_CLASS_HALF},
#define FLOAT32(NAME) {#NAME, SSQ_CLASS_FLOAT32},
#define PROMOTE(NAME) {#NAME, SSQ_CLASS_PROMOTE},
#define ANY(NAME)     {#NAME, SSQ_CLASS_ANY},

/* The functions of the op unary: the lines of UNARY_KINDS. */
#define UNARY(N, NAME, WITH, CLASS, Y)                     CLASS(NAME)
#define UNARY_BOTH(N, NAME, WITH, CLASS, Y, DX)            CLASS(NAME)
#define UNARY_SIGNED(N, NAME, WITH, CLASS, Y, DX, INTEGER) CLASS(NAME)

#define UNARY_FUNCTIONS UNARY_KINDS(UNARY_BOTH, UNARY_SIGNED, UNARY, UNARY)

/* The public functions with their classes, from the manifest's third column. */
static const struct {
    const char *name;
    ssq_op_class op_class;
} table[] = {
#define X(NAME, WALKED, FUNCTIONS, ...) FUNCTIONS
    SSQ_OPS(X)
#undef X
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

/* How much of a name says which op it is: "gelu_backward" and
 * "conv2d_backward_data" have the class of their forwards, whose dtypes they
 * get, and no line of their own. */
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
    /* Keras's names. bfloat16 has float32's exponents and needs no scaling. */
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
