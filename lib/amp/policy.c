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

/* A name that is the first n bytes of a text. */
static bool is_name(const char *name, const char *text, size_t n)
{
    return strlen(name) == n && strncmp(name, text, n) == 0;
}

static ssq_status find_class(const char *what, const char *op, size_t n,
                             ssq_op_class *op_class)
{
    for (size_t i = 0; i < OPS; i++)
        if (is_name(table[i].name, op, n)) {
            *op_class = table[i].op_class;
            return SSQ_OK;
        }
    return error_set(SSQ_ERR_NOT_FOUND, "%s: there is no op \"%.*s\"", what,
                     (int)(n < 48 ? n : 48), op);
}

ssq_status ssq_policy_op_class(const char *op, ssq_op_class *op_class)
{
    static const char what[] = "policy_op_class";
    if (op == NULL || op_class == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         op == NULL ? "op" : "op_class");
    return find_class(what, op, forward_length(op), op_class);
}

/* ---- policies ---- */

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

/* What stands between commas, and behind an equals sign. */
struct word {
    const char *at;
    size_t n;
};

/* One op of a policy's text: "gelu=float32". */
static ssq_status read_move(const char *what, struct word w, struct word *op,
                            ssq_op_class *op_class)
{
    const char *equals = memchr(w.at, '=', w.n);
    ssq_op_class known;
    if (equals == NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: \"%.*s\" has no class: OP=CLASS is expected",
                         what, (int)(w.n < 48 ? w.n : 48), w.at);
    *op = (struct word){w.at, (size_t)(equals - w.at)};
    size_t n = w.n - op->n - 1;
    ssq_status st = find_class(what, op->at, op->n, &known);
    if (st != SSQ_OK)
        return st;
    for (int c = SSQ_CLASS_HALF; c <= SSQ_CLASS_ANY; c++)
        if (is_name(ssq_op_class_name((ssq_op_class)c), equals + 1, n)) {
            *op_class = (ssq_op_class)c;
            return SSQ_OK;
        }
    return error_set(SSQ_ERR_NOT_FOUND,
                     "%s: there is no class \"%.*s\"; there are half, "
                     "float32, promote, any",
                     what, (int)(n < 48 ? n : 48), equals + 1);
}

/* All of a policy's text: policy number *i, and into *op_class, if op is not
 * NULL, what the text says of op. */
static ssq_status read_policy(const char *what, const char *text, size_t *i,
                              const struct word *op, ssq_op_class *op_class)
{
    size_t n = strcspn(text, ",");
    for (*i = 0; *i < sizeof(policies) / sizeof(policies[0]); ++*i)
        if (is_name(policies[*i].name, text, n))
            break;
    if (*i == sizeof(policies) / sizeof(policies[0]))
        return error_set(SSQ_ERR_NOT_FOUND,
                         "%s: there is no policy \"%.*s\"; there are float32, "
                         "mixed_float16, mixed_bfloat16",
                         what, (int)(n < 32 ? n : 32), text);
    for (text += n; *text == ','; text += n) {
        text++;
        n = strcspn(text, ",");
        struct word moved = {NULL, 0};
        ssq_op_class to = SSQ_CLASS_ANY;
        ssq_status st = read_move(what, (struct word){text, n}, &moved, &to);
        if (st != SSQ_OK)
            return st;
        if (op != NULL && moved.n == op->n &&
            strncmp(moved.at, op->at, op->n) == 0)
            *op_class = to;
    }
    return SSQ_OK;
}

ssq_status ssq_policy_class(const char *policy, const char *op,
                            ssq_op_class *op_class)
{
    static const char what[] = "policy_class";
    if (policy == NULL || op == NULL || op_class == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         policy == NULL ? "policy"
                         : op == NULL   ? "op"
                                        : "op_class");
    const struct word w = {op, forward_length(op)};
    ssq_op_class found = SSQ_CLASS_ANY;
    size_t i;
    ssq_status st = find_class(what, w.at, w.n, &found);
    if (st == SSQ_OK)
        st = read_policy(what, policy, &i, &w, &found);
    if (st == SSQ_OK)
        *op_class = found;
    return st;
}

ssq_status ssq_policy_from_name(const char *name, ssq_policy *policy)
{
    static const char what[] = "policy_from_name";
    if (name == NULL || policy == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         name == NULL ? "name" : "policy");
    if (policy->struct_size != sizeof(*policy))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         policy->struct_size, sizeof(*policy));
    size_t i;
    ssq_status st = read_policy(what, name, &i, NULL, NULL);
    if (st != SSQ_OK)
        return st;
    policy->compute = policies[i].compute;
    policy->variable = SSQ_F32;
    policy->scaling = policies[i].scaling;
    return SSQ_OK;
}
