/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - dtype policies, and the autocast class of every op.
 *
 * The classes are in lib/core/module/ops.h. They are PyTorch's for CUDA, if it
 * has one (torch/amp/autocast_mode.py), on every device. Sums, means and norms
 * are float32, because f16 overflows at 65504. */
#include "lib/amp/policy/policy.h"

#include "kernels/elementwise/unary_kinds.h"
#include "lib/core/base/error.h"
#include "lib/core/base/nearest.h"
#include "lib/core/base/words.h"
#include "lib/core/module/ops.h"

#include <float.h>
#include <string.h>

#define HALF(NAME)     {#NAME, SSQ_CLASS_HALF, 0},
#define FLOAT32(NAME)  {#NAME, SSQ_CLASS_FLOAT32, 0},
#define PROMOTE(NAME)  {#NAME, SSQ_CLASS_PROMOTE, 0},
#define ANY(NAME)      {#NAME, SSQ_CLASS_ANY, 0},
#define BACKWARD(NAME) BACK(NAME, "_backward")
#define BACKWARDS(NAME)                                                        \
    BACK(NAME, "_backward_data") BACK(NAME, "_backward_weight")
#define BACK(NAME, TAIL) {#NAME TAIL, SSQ_CLASS_ANY, sizeof(#NAME) - 1},

/* The public functions of the op unary: the lines of UNARY_KINDS. */
#define UNARY(N, NAME, WITH, CLASS, ...)      CLASS(NAME)
#define UNARY_BACK(N, NAME, WITH, CLASS, ...) BACKWARD(NAME)
#define UNARY_NONE(N, NAME, WITH, CLASS, ...)

#define UNARY_FUNCTIONS UNARY_KINDS(UNARY, UNARY, UNARY, UNARY)
#define UNARY_BACKWARDS                                                        \
    UNARY_KINDS(UNARY_BACK, UNARY_BACK, UNARY_NONE, UNARY_NONE)

/* The public functions with their classes, from the third column of ops.h. */
static const struct {
    const char *name;
    ssq_op_class op_class; /* of the forward function */
    size_t forward; /* length of a backward's forward name; 0: not a backward */
} table[] = {
#define X(NAME, WALKED, FUNCTIONS, ...) FUNCTIONS
    SSQ_OPS(X)
#undef X
};

#define OPS (sizeof(table) / sizeof(table[0]))

const char *ssq_policy_op_name(size_t i)
{
    for (size_t k = 0; k < OPS; k++)
        if (table[k].forward == 0 && i-- == 0)
            return table[k].name;
    return NULL;
}

const char *ssq_op_class_name(ssq_op_class op_class)
{
    static const char *const names[] = {"half", "float32", "promote", "any"};
    return (unsigned)op_class <= SSQ_CLASS_ANY ? names[op_class] : "invalid";
}

/* Return the part of a name that names the forward op. For example,
 * "gelu_backward" and "conv2d_backward_data" have the class of their forward
 * functions and use their dtypes. A policy has no line for them. Returns op
 * itself if it is not a backward. */
static struct word policy_forward_of(struct word op)
{
    for (size_t i = 0; i < OPS; i++)
        if (table[i].forward > 0 && word_is(op, table[i].name))
            return (struct word){op.at, table[i].forward};
    return op;
}

static ssq_status no_op(const char *what, struct word op)
{
    char question[NEAREST_QUESTION];
    struct nearest s = nearest_begin(op.at, op.n);
    for (size_t i = 0; i < OPS; i++)
        nearest_look(&s, table[i].name);
    nearest_question(&s, question);
    return error_set(SSQ_ERR_NOT_FOUND, "%s: there is no op \"%.*s\"%s", what,
                     WORD_TEXT(op), question);
}

/* Find the class of op, which is that of its forward function. */
static ssq_status find_class(const char *what, struct word op,
                             struct word forward, ssq_op_class *op_class)
{
    for (size_t i = 0; i < OPS; i++)
        if (table[i].forward == 0 && word_is(forward, table[i].name)) {
            *op_class = table[i].op_class;
            return SSQ_OK;
        }
    return no_op(what, op);
}

ssq_status ssq_policy_op_class(const char *op, ssq_op_class *op_class)
{
    static const char what[] = "policy_op_class";
    if (op == NULL || op_class == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         op == NULL ? "op" : "op_class");
    const struct word w = {op, strlen(op)};
    return find_class(what, w, policy_forward_of(w), op_class);
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

/* The state of reading a policy's text. */
struct policy_reading {
    const char *what, *text;
    size_t policy; /* index in the table above */
    enum policy_scale scale;
    double loss_scale;     /* if it is static */
    struct word op;        /* whose class is requested; at NULL: none */
    ssq_op_class op_class; /* set if the text names the op */
};

static ssq_status read_name(struct policy_reading *r, struct word w)
{
    size_t n = sizeof(policies) / sizeof(policies[0]);
    for (r->policy = 0; r->policy < n; r->policy++)
        if (word_is(w, policies[r->policy].name))
            return SSQ_OK;
    return error_set(SSQ_ERR_NOT_FOUND,
                     "%s: there is no policy \"%.*s\"; there are float32, "
                     "mixed_float16, mixed_bfloat16",
                     r->what, WORD_TEXT(w));
}

/* Read the value of "loss_scale=512". The device stores it as a float32. */
static ssq_status read_scale(struct policy_reading *r, struct word value)
{
    double x = 0.0;
    if (r->scale != POLICY_SCALE_DEFAULT)
        return error_set(SSQ_ERR_INVALID, "%s: \"%.200s\" has loss_scale twice",
                         r->what, r->text);
    if (word_is(value, "dynamic"))
        r->scale = POLICY_SCALE_DYNAMIC;
    else if (word_is(value, "none"))
        r->scale = POLICY_SCALE_NONE;
    else if (word_number(value, &x) && x >= FLT_MIN && x <= FLT_MAX)
        r->scale = POLICY_SCALE_STATIC;
    else
        return error_set(SSQ_ERR_INVALID,
                         "%s: loss_scale is \"%.*s\" in \"%.200s\", expected "
                         "dynamic, none, or a positive float32: " WORD_NUMBER,
                         r->what, WORD_TEXT(value), r->text);
    r->loss_scale = x;
    return SSQ_OK;
}

/* Read the class of an op: "gelu=float32". */
static ssq_status read_move(struct policy_reading *r, struct word op,
                            struct word value)
{
    ssq_op_class known;
    const struct word forward = policy_forward_of(op);
    if (forward.n != op.n)
        return error_set(SSQ_ERR_NOT_FOUND,
                         "%s: \"%.*s\" has the class of its forward: name "
                         "\"%.*s\"",
                         r->what, WORD_TEXT(op), WORD_TEXT(forward));
    ssq_status st = find_class(r->what, op, op, &known);
    if (st != SSQ_OK)
        return st;
    for (int c = SSQ_CLASS_HALF; c <= SSQ_CLASS_ANY; c++)
        if (word_is(value, ssq_op_class_name((ssq_op_class)c))) {
            if (r->op.n == op.n && memcmp(r->op.at, op.at, op.n) == 0)
                r->op_class = (ssq_op_class)c;
            return SSQ_OK;
        }
    return error_set(SSQ_ERR_NOT_FOUND,
                     "%s: there is no class \"%.*s\"; there are half, "
                     "float32, promote, any",
                     r->what, WORD_TEXT(value));
}

/* Read all of the text; set r->op_class if it names r->op. */
static ssq_status policy_read_policy(struct policy_reading *r)
{
    struct word w = word_first(r->text), key = {NULL, 0}, value = {NULL, 0};
    ssq_status st = read_name(r, w);
    while (st == SSQ_OK && word_next(&w)) {
        if (!word_split(w, &key, &value))
            return error_set(SSQ_ERR_INVALID,
                             "%s: \"%.*s\" has no class: OP=CLASS or "
                             "loss_scale=VALUE is expected",
                             r->what, WORD_TEXT(w));
        st = word_is(key, "loss_scale") ? read_scale(r, value)
                                        : read_move(r, key, value);
    }
    return st;
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
    const struct word w = {op, strlen(op)};
    struct policy_reading r = {
        .what = what, .text = policy, .op = policy_forward_of(w)};
    ssq_status st = find_class(what, w, r.op, &r.op_class);
    if (st == SSQ_OK)
        st = policy_read_policy(&r);
    if (st == SSQ_OK)
        *op_class = r.op_class;
    return st;
}

ssq_status policy_read(const char *what, const char *text, ssq_policy *policy,
                       enum policy_scale *scale)
{
    struct policy_reading r = {.what = what, .text = text};
    ssq_status st = policy_read_policy(&r);
    if (st != SSQ_OK)
        return st;
    policy->compute = policies[r.policy].compute;
    policy->variable = SSQ_F32;
    policy->scaling = r.scale == POLICY_SCALE_DEFAULT
                          ? policies[r.policy].scaling
                          : r.scale != POLICY_SCALE_NONE;
    policy->loss_scale = r.loss_scale;
    *scale = r.scale;
    return SSQ_OK;
}

ssq_status ssq_policy_from_name(const char *name, ssq_policy *policy)
{
    static const char what[] = "policy_from_name";
    enum policy_scale scale;
    if (name == NULL || policy == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         name == NULL ? "name" : "policy");
    if (policy->struct_size != sizeof(*policy))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         policy->struct_size, sizeof(*policy));
    return policy_read(what, name, policy, &scale);
}

void policy_drop_scale(char *text)
{
    struct word w = word_first(text), key, value;
    char *to = text + w.n;
    while (word_next(&w)) {
        if (word_split(w, &key, &value) && word_is(key, "loss_scale"))
            continue;
        *to++ = ',';
        memmove(to, w.at, w.n);
        to += w.n;
    }
    *to = '\0';
}
