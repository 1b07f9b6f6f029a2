/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.h - the kinds of optimizers: one list, and one element of each.
 *
 * OPTIMIZER_KINDS has a line for each kind: its number, its name, and what a
 * step needs that its prologue has to compute. The number is key KIND of
 * param_step.k and says nothing else: a kind takes the next one. Whom the line
 * is given to says whose arithmetic it is:
 *
 *   OWN   NAME_step() of this header, and separate programs
 *   LIKE  the step of the kind in the last column, and the same programs
 *
 * A row for each kind, with its slots and options, is in
 * lib/amp/optimizer/optimizer_kinds.c.
 *
 * The steps are written once, for kernels and reference. They get an element
 * and the words of its group by value and return the element. They do not
 * depend on where the master copy is, and on which slots there are. */
#ifndef KERNELS_AMP_KINDS_H
#define KERNELS_AMP_KINDS_H

#include "kernels/amp/optimizer.h"

#define NEEDS_BIAS    1u /* corrections of its moments' bias */
#define NEEDS_KEEP    2u /* decay multiplies p and is not added to gradients */
#define NEEDS_SLOWING 4u /* lr falls with t by itself */
#define NEEDS_DIVISOR 8u /* gradients are divided where their norm is large */

#define OPTIMIZER_KINDS(OWN, LIKE)                                             \
    OWN(0, sgd, 0u)                                                            \
    OWN(1, adam, NEEDS_BIAS)                                                   \
    LIKE(2, adamw, NEEDS_BIAS | NEEDS_KEEP, adam)                              \
    OWN(3, rmsprop, 0u)                                                        \
    OWN(4, adagrad, NEEDS_SLOWING)                                             \
    OWN(5, lamb, NEEDS_BIAS | NEEDS_DIVISOR)                                   \
    OWN(6, adadelta, 0u)

/* The kinds by name: OPT_sgd. GLSL has no enum. */
#ifdef VULKAN
#define OPT_OWN(N, NAME, NEEDS)        const u32 OPT_##NAME = U32(N);
#define OPT_LIKE(N, NAME, NEEDS, WHOM) const u32 OPT_##NAME = U32(N);
OPTIMIZER_KINDS(OPT_OWN, OPT_LIKE)
#else
#define OPT_OWN(N, NAME, NEEDS)        OPT_##NAME = N,
#define OPT_LIKE(N, NAME, NEEDS, WHOM) OPT_##NAME = N,
enum opt_kind { OPTIMIZER_KINDS(OPT_OWN, OPT_LIKE) OPT_KINDS };
#endif

/* The values that the step's prologue computes for a kind: NEEDS_*. */
#define KIND_NEEDS(N, NAME, NEEDS)                                             \
    if (kind == U32(N))                                                        \
        needs = NEEDS;
#define KIND_NEEDS_LIKE(N, NAME, NEEDS, WHOM) KIND_NEEDS(N, NAME, NEEDS)
FN u32 kind_needs(u32 kind)
{
    u32 needs = 0u;

    OPTIMIZER_KINDS(KIND_NEEDS, KIND_NEEDS_LIKE)
    return needs;
}

/* The kind whose programs, and whose arithmetic, a kind has. */
#define KIND_ITSELF(N, NAME, NEEDS)
#define KIND_LIKE(N, NAME, NEEDS, WHOM)                                        \
    if (kind == U32(N))                                                        \
        whose = U32(OPT_##WHOM);
FN u32 kind_program(u32 kind)
{
    u32 whose = kind;

    OPTIMIZER_KINDS(KIND_ITSELF, KIND_LIKE)
    return whose;
}

/* ---- what a step is given ---- */

/* One element on its way through a step. */
struct element {
    float value; /* the exact value */
    float grad;
    float a; /* slots, 0 where there is none */
    float b;
    float c;
    float delta; /* subtracted from the value */
};

/* The words of a group that hold for each of its elements. */
struct step_group {
    u32 flags;
    u32 t;
    float lr;       /* or lamb's ratio */
    float momentum; /* or beta1 */
    float c1;       /* 1 - beta1 */
    float bc1;      /* 1 - beta1^t */
    float bc2;
    float root2;
    float size;
    float keep;
    float divisor;
    float damping;
    float beta2; /* or alpha */
    float c2;    /* 1 - beta2 */
    float eps;
    float decay;
    float coupled; /* decay, where it is part of the gradient */
};

/* Into GROUP, by WORD(i): word i of the group, as a u32. The
 * caller sets flags, t, coupled and a ratio. If a kernel has a loop for a flag,
 * it sets a literal, and the compiler removes the code without that flag. */
#define STEP_GROUP_LOAD(GROUP, WORD)                                           \
    GROUP.lr = AS_F32(WORD(GROUP_STEP_LR));                                    \
    GROUP.momentum = AS_F32(WORD(GROUP_STEP_MOMENTUM));                        \
    GROUP.c1 = AS_F32(WORD(GROUP_STEP_C));                                     \
    GROUP.bc1 = AS_F32(WORD(GROUP_STEP_BC1));                                  \
    GROUP.bc2 = AS_F32(WORD(GROUP_STEP_BC2));                                  \
    GROUP.root2 = AS_F32(WORD(GROUP_STEP_ROOT2));                              \
    GROUP.size = AS_F32(WORD(GROUP_STEP_SIZE));                                \
    GROUP.keep = AS_F32(WORD(GROUP_STEP_KEEP));                                \
    GROUP.divisor = AS_F32(WORD(GROUP_STEP_DIVISOR));                          \
    STEP_GROUP_HOST(GROUP, WORD)
#define STEP_GROUP_HOST(GROUP, WORD)                                           \
    GROUP.damping = AS_F32(WORD(GROUP_DAMPING));                               \
    GROUP.beta2 = AS_F32(WORD(GROUP_BETA2));                                   \
    GROUP.c2 = AS_F32(WORD(GROUP_BETA2_C));                                    \
    GROUP.eps = AS_F32(WORD(GROUP_EPS));                                       \
    GROUP.decay = AS_F32(WORD(GROUP_DECAY));

/* ---- sgd ---- */

/* The buffer; the first step begins it with the gradient itself. */
FN float sgd_buffer(float x, float g, float momentum, float damping, u32 t)
{
    return t == 1u ? s_canonical(g) : moment_mix(x, g, momentum, damping);
}

/* a if c, else b. c is the same for all elements. */
FN float group_choice(bool c, float a, float b)
{
    u32 mask = c ? 0xffffffffu : 0u;

    return AS_F32((AS_U32(a) & mask) | (AS_U32(b) & ~mask));
}

FN_INLINE STRUCT(element) sgd_step(STRUCT(element) e, STRUCT(step_group) w)
{
    bool buffered = w.momentum != 0.0f;

    e.grad = gradient_decay(e.grad, e.value, w.decay);
    EXACT float x = sgd_buffer(e.a, e.grad, w.momentum, w.damping, w.t);
    EXACT float d = e.grad + w.momentum * x;

    d = (w.flags & FLAG_NESTEROV) != 0u ? d : x;
    d = group_choice(buffered, d, e.grad);
    e.a = group_choice(buffered, x, e.a);
    e.delta = p_keep(w.lr, d);
    return e;
}

/* ---- adam, adamw ---- */

/* The first moment in either form. */
FN float adam_m(float m, float g, float b, float c, u32 flags)
{
    return (flags & FLAG_APEX) != 0u ? moment_mix(m, g, b, c)
                                     : moment_lerp(m, g, c);
}

/* torch: size m / (sqrt(v) / root2 + eps)
 * apex:  (m / bc1) / (sqrt(v / bc2) + eps) + decay p; also lamb's u
 *
 * Both use the same quotient, with other operands: on a GPU without an exact
 * quotient it is most of the code. */
FN_INLINE float adam_quotient(STRUCT(element) e, float v, bool apex,
                              STRUCT(step_group) w)
{
    EXACT float square = v;

    if (apex)
        square = s_quotient(v, w.bc2);
    EXACT float root = s_root(square);
    EXACT float part =
        s_quotient(apex ? e.a : root, apex ? w.bc1 : w.root2);
    EXACT float denom = (apex ? root : part) + w.eps;
    EXACT float n = apex ? part : w.size * e.a;
    EXACT float u = s_quotient(n, denom);

    if (apex && w.decay != 0.0f)
        u = u + w.decay * e.value;
    return u;
}

/* Amsgrad divides by the largest second moment so far, in slot c. */
FN_INLINE STRUCT(element) adam_step(STRUCT(element) e, STRUCT(step_group) w)
{
    e.grad = gradient_decay(e.grad, e.value, w.coupled);
    e.a = adam_m(e.a, e.grad, w.momentum, w.c1, w.flags);
    e.b = moment_square(e.b, e.grad, w.beta2, w.c2);
    EXACT float v = e.b;

    bool apex = (w.flags & FLAG_APEX) != 0u;

    if (!apex && (w.flags & FLAG_AMSGRAD) != 0u) {
        e.c = moment_max(e.c, v);
        v = e.c;
    }
    e.delta = adam_quotient(e, v, apex, w);
    if (apex)
        e.delta = p_keep(w.lr, e.delta);
    return e;
}

/* ---- rmsprop ---- */

/* The denominator. A rounded variance can fall below 0, where torch gets NaN:
 * it counts as 0 here. */
FN float rmsprop_denom(float square, float mean, float eps, u32 flags)
{
    EXACT float v = square - mean * mean;

    v = v < 0.0f ? 0.0f : v;
    v = (flags & FLAG_CENTERED) != 0u ? v : square;
    v = s_root(v) + eps;
    return v;
}

/* With momentum the step is lr times the buffer, momentum x + g / denom; else
 * lr g / denom. */
FN_INLINE STRUCT(element) rmsprop_step(STRUCT(element) e, STRUCT(step_group) w)
{
    bool buffered = w.momentum != 0.0f;

    e.grad = gradient_decay(e.grad, e.value, w.decay);
    e.a = moment_square(e.a, e.grad, w.beta2, w.c2);
    EXACT float mean = moment_lerp(e.c, e.grad, w.c2);

    e.c = (w.flags & FLAG_CENTERED) != 0u ? mean : e.c;
    EXACT float denom = rmsprop_denom(e.a, e.c, w.eps, w.flags);
    EXACT float n = w.lr * e.grad;
    EXACT float part = s_quotient(buffered ? e.grad : n, denom);
    EXACT float x = w.momentum * e.b + part;

    x = s_canonical(x);
    e.b = buffered ? x : e.b;
    x = w.lr * x;
    e.delta = buffered ? x : part;
    return e;
}

/* ---- adagrad ---- */

FN float adagrad_sum(float sum, float g)
{
    EXACT float y = sum + g * g;

    return s_canonical(y);
}

FN float adagrad_delta(float g, float sum, float lr, float eps)
{
    EXACT float denom = s_root(sum) + eps;
    EXACT float n = lr * g;

    return s_quotient(n, denom);
}

FN_INLINE STRUCT(element) adagrad_step(STRUCT(element) e, STRUCT(step_group) w)
{
    e.grad = gradient_decay(e.grad, e.value, w.decay);
    e.a = adagrad_sum(e.a, e.grad);
    e.delta = adagrad_delta(e.grad, e.a, w.lr, w.eps);
    return e;
}

/* ---- lamb ---- */

/* The direction u as delta, before the tensor's norms give it a length. */
FN_INLINE STRUCT(element)
    lamb_direction(STRUCT(element) e, STRUCT(step_group) w)
{
    e.grad = s_quotient(e.grad, w.divisor);
    e.a = moment_mix(e.a, e.grad, w.momentum, w.c1);
    e.b = moment_square(e.b, e.grad, w.beta2, w.c2);
    e.delta = adam_quotient(e, e.b, true, w);
    return e;
}

FN_INLINE STRUCT(element) lamb_step(STRUCT(element) e, STRUCT(step_group) w)
{
    e = lamb_direction(e, w);
    e.delta = p_keep(w.lr, e.delta);
    return e;
}

/* The step length for one tensor. */
FN float lamb_ratio(float p_norm, float u_norm, float lr, float decay,
                    u32 flags)
{
    bool adapt = decay != 0.0f || (flags & FLAG_NVLAMB) != 0u;

    if (!adapt || p_norm == 0.0f || u_norm == 0.0f)
        return lr;
    EXACT float ratio = lr * s_div(p_norm, u_norm);

    return ratio;
}

/* ---- adadelta ---- */

/* The gradient in units of the moves so far: sqrt(moved + eps) / sqrt(square +
 * eps) g, in torch's order. */
FN_INLINE float adadelta_move(float g, float square, float moved, float eps)
{
    EXACT float denom = s_root(square + eps);
    EXACT float d = s_quotient(s_root(moved + eps), denom);

    d = d * g;
    return d;
}

/* Slot a is the mean square of gradients, b that of moves; beta2 is rho. */
FN_INLINE STRUCT(element) adadelta_step(STRUCT(element) e, STRUCT(step_group) w)
{
    e.grad = gradient_decay(e.grad, e.value, w.decay);
    e.a = moment_square(e.a, e.grad, w.beta2, w.c2);
    EXACT float move = adadelta_move(e.grad, e.a, e.b, w.eps);

    e.b = moment_square(e.b, move, w.beta2, w.c2);
    e.delta = p_keep(w.lr, move);
    return e;
}

/* ---- of any kind ---- */

#define KIND_STEP(N, NAME, NEEDS)                                              \
    if (IS_KIND(kind, N))                                                      \
        e = NAME##_step(e, w);
#define KIND_STEP_LIKE(N, NAME, NEEDS, WHOM)                                   \
    if (IS_KIND(kind, N))                                                      \
        e = WHOM##_step(e, w);
FN_INLINE STRUCT(element)
    kind_step(u32 kind, STRUCT(element) e, STRUCT(step_group) w)
{
    OPTIMIZER_KINDS(KIND_STEP, KIND_STEP_LIKE)
    return e;
}

#endif
