/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h - a tape's description of every op: a table that vars.awk generates
 * from the manifest and from the headers of the ops.
 *
 * Operands are identified by their offset in a struct of arguments. Therefore
 * one function can call any op, and one function can call any backward. */
#ifndef LIB_TAPE_OPS_H
#define LIB_TAPE_OPS_H

#include <sesqui/tape.h>

#include "lib/core/base/view.h"

/** Maximum number of operands that receive gradients, and of results. */
#define TAPE_VARS 7
#define TAPE_OUTS 4
/** Maximum size of arguments in bytes. */
#define TAPE_ARGS 256

struct node;

enum slot_role {
    /* in a forward call */
    SLOT_VAR,    /* var number `index` */
    SLOT_TENSOR, /* the caller's tensor, in the options */
    SLOT_RESULT, /* result number `index`; the backward reads its gradient */
    SLOT_KEPT,   /* a result that only the backward reads */
    SLOT_NONE,   /* NULL; the caller must not set it */
    /* in a backward call */
    BACK_VAR,  /* the value of var `index` */
    BACK_OUT,  /* result `index` */
    BACK_GRAD, /* the gradient of result `index` */
    BACK_INTO, /* the gradient of var `index`, to be written */
    BACK_COPY  /* bytes at offset `from` of the forward call's arguments */
};

/** How autocast treats an operand. */
enum slot_cast {
    CAST_POLICY, /* cast as the op's policy says */
    CAST_NONE,   /* never cast */
    CAST_SAME,   /* as the policy says; the result must have its dtype */
    CAST_FLOAT32 /* cast to float32: the op takes no other dtype */
};

struct tape_slot {
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
    const struct tape_slot *slots;
    size_t nslots;
};

/** The input of a shape rule. A rule sets the rank and the shape of *out, and
 *  the dtype if it is fixed. */
struct tape_op;
struct rule_in {
    const struct tape_op *op;
    const struct view *var;
    const void *args;
    ssq_dtype dtype; /* of results without a fixed dtype */
};
typedef ssq_status rule_fn(const struct rule_in *in, struct view *out);

/** A backward or a repeated forward that is not a single call. */
typedef ssq_status own_fn(ssq_tape *t, const struct node *n);

struct tape_op {
    const char *name;
    unsigned number; /* index in tape_ops */
    tape_fn *call;
    const void *init;
    size_t bytes;
    const struct tape_slot *slots;
    size_t nslots;
    unsigned nvars, nouts;
    rule_fn *rule[TAPE_OUTS];
    const struct back *backs;
    size_t nbacks;
    own_fn *own;
    own_fn *again; /* repeats the forward, if `call` is NULL and the result has
                      memory */
    /* offsets in the arguments; 0: the op has no such argument */
    size_t activation, reduction, ndim;
    const struct tape_op *const *activations; /* by ssq_activation */
};

/** All ops in the order of the manifest, followed by NULL. */
extern const struct tape_op *const tape_ops[];

#endif
