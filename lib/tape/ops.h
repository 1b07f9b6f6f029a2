/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h - what a tape knows of every op: a table that vars.awk makes of the
 * ops' headers and of vars.list.
 *
 * Operands are named by where they stand in a struct of arguments, so that one
 * function calls any op, and one any backward. */
#ifndef LIB_TAPE_OPS_H
#define LIB_TAPE_OPS_H

#include <sesqui/tape.h>

#include "lib/core/view.h"

/** Most operands that a gradient goes to, and most results. */
#define TAPE_VARS 7
#define TAPE_OUTS 4
/** Most bytes of arguments. */
#define TAPE_ARGS 256

struct node;

enum slot_role {
    /* of a forward call */
    SLOT_VAR,    /* var number index */
    SLOT_TENSOR, /* the caller's tensor, in the options */
    SLOT_RESULT, /* result number index, whose gradient the backward takes */
    SLOT_KEPT,   /* likewise, but written for the backward alone */
    SLOT_NONE,   /* not the caller's business: NULL */
    /* of a backward call */
    BACK_VAR,  /* the value of var index */
    BACK_OUT,  /* result index */
    BACK_GRAD, /* the gradient of result index */
    BACK_INTO, /* the gradient of var index, to be written */
    BACK_COPY  /* bytes from place from of the forward call's arguments */
};

/** How autocast treats an operand. */
enum slot_cast {
    CAST_POLICY, /* it is cast as the policy of the op says */
    CAST_NONE,   /* it stays as it is */
    CAST_FLOAT32 /* the op takes float32 only */
};

struct slot {
    const char *name;
    enum slot_role role;
    unsigned index;
    bool optional;
    enum slot_cast cast;
    size_t at, from, bytes;
};

typedef ssq_status tape_fn(ssq_queue *queue, const void *args);

struct back {
    const char *name;
    tape_fn *call;
    const void *init; /* arguments with their defaults */
    size_t bytes;
    const struct slot *slots;
    size_t nslots;
};

/** What a rule of shape is told: the values of the vars (absent views where
 *  optional ones are) and the arguments, and what it answers: rank and shape.
 */
struct tape_op;
struct rule_in {
    const struct tape_op *op;
    const struct view *var;
    const void *args;
    ssq_dtype dtype; /* of results that are not f32 anyway */
};
typedef ssq_status rule_fn(const struct rule_in *in, struct view *out);

/** A backward, or a forward done again, that is no single call. */
typedef ssq_status own_fn(ssq_tape *t, const struct node *n);

struct tape_op {
    const char *name;
    unsigned number; /* in tape_ops */
    tape_fn *call;
    const void *init;
    size_t bytes;
    const struct slot *slots;
    size_t nslots;
    unsigned nvars, nouts;
    rule_fn *rule[TAPE_OUTS];
    const struct back *backs;
    size_t nbacks;
    own_fn *own;
    own_fn *again; /* of one without call that has memory of its own */
    /* where in the arguments, if it has them; 0: none */
    size_t activation, reduction, ndim;
    const struct tape_op *const *activations; /* by ssq_activation */
};

/** All of them, in the order of vars.list, behind the last a NULL. */
extern const struct tape_op *const tape_ops[];

#endif
