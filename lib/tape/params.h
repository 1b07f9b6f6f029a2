/* SPDX-License-Identifier: Apache-2.0 */
/* params.h - parameters by name, and their gradients. */
#ifndef LIB_TAPE_PARAMS_H
#define LIB_TAPE_PARAMS_H

#include <sesqui/tape.h>

#include "lib/amp/origin.h"
#include "lib/core/core.h"
#include "lib/core/names.h"
#include "lib/core/witness.h"

enum grad_state {
    GRAD_NONE = 0,  /* nothing has been written: memory as it was found */
    GRAD_CLEAN = 1, /* what it holds is of no use: the next is written over */
    GRAD_ZERO = 2,  /* zeros, likewise */
    GRAD_FULL = 3   /* the next is added */
};

/** A parameter in another dtype. */
struct param_copy {
    ssq_tensor *tensor;                  /* owned */
    struct witness source, self;         /* of the parameter; of the tensor */
    uint32_t source_writes, self_writes; /* when it was made */
    const ssq_queue *queue;              /* that made it */
    bool made;
};

struct param {
    char *name;
    uint32_t hash;      /* of the name */
    ssq_tensor *tensor; /* owned */
    ssq_tensor *grad;   /* owned; NULL: nobody has asked for it yet */
    enum grad_state grad_state, checked; /* checked: before ssq_tape_check */
    uint32_t whole_behind;   /* a node of the walk under way: ready.c */
    bool state;              /* it has no gradient */
    bool full;               /* float32 under every policy */
    bool given;              /* to an optimizer, with the others there were */
    struct origin *origin;   /* what it was rounded from; or NULL */
    struct param_copy *copy; /* owned; NULL: nobody has wanted another dtype */
};

struct ssq_params {
    struct object object;
    ssq_device *device;
    ssq_policy policy;
    char *policy_name; /* as given: ops that change their class are in it */
    ssq_params_options options;
    struct param *at;
    size_t n, room;
    struct name_index names; /* their numbers */
    const char *closed; /* why passes for training make no parameters: "after
                           .."; NULL: they do */
    char *allowed;      /* pattern of names that any pass may make; or NULL */
    uint32_t removals;  /* calls that took parameters out */
    uint32_t draws; /* passes, of all ranks, that have drawn words: draw.c */
    size_t origins; /* parameters that have one */
};

struct param *param_of(ssq_params *params, uint32_t i);
/** The parameter of a whole name; params->n: there is none. */
size_t param_find(const ssq_params *params, const char *name);
/** A new one, initialised in order on the queue; names are the caller's to
 *  compare. *i: its number. */
ssq_status param_make(ssq_params *params, ssq_queue *queue, const char *name,
                      const ssq_param_args *args, size_t *i);
/** One that has its values already: the tensor is taken over where it works. */
ssq_status param_put(ssq_params *params, const char *name, ssq_tensor *tensor,
                     bool state, bool full);
/** Forget all parameters from number n on. */
void params_cut(ssq_params *params, size_t n);

/* ---- params_names.c ---- */

/** Set the error NOT_FOUND: no parameter has this name. The text suggests the
 * most similar one, and ends in `more`. */
ssq_status params_unknown(const ssq_params *params, const char *what,
                          const char *name, const char *more);
/** NOT_FOUND unless a pass may make a parameter of this name. */
ssq_status params_may_make(const ssq_params *params, const char *name,
                           bool training);

/* ---- param_copy.c ---- */

/** A copy without values yet. */
ssq_status param_copy_make(struct param *p, ssq_dtype dtype);
/** False where it has none, or those of a parameter that has changed. */
bool param_copy_fresh(const struct param_copy *copy);
/** NULL is allowed. */
void param_copy_free(struct param_copy *copy);

/* ---- params_values.c ---- */

/** What calls on a set and a queue check; optimizer may be NULL. INVALID in a
 *  capture. */
ssq_status params_call(const char *what, const ssq_params *params,
                       const ssq_queue *queue, const ssq_optimizer *optimizer);

/* ---- params_wide.c ---- */

/** The inverse of ssq_params_to_float32: parameters have the dtypes of the
 *  policy again, in the optimizer's tensors, with their float32 values rounded;
 *  masters have these values. After an error all are as before. */
ssq_status params_to_policy(ssq_params *params, ssq_queue *queue,
                            ssq_optimizer *optimizer);

/* ---- param_exact.c: float32 values behind a parameter ---- */

/** The most exact value that there is, of any float dtype: the master, what the
 *  parameter was rounded from, or the parameter itself. optimizer may be NULL.
 *  *made: a tensor that was made for it, the caller's; or NULL. */
ssq_status param_exact(const struct param *p, ssq_queue *queue,
                       const ssq_optimizer *optimizer, const ssq_tensor **value,
                       ssq_tensor **made);

/** A parameter while it gets other values. */
struct param_writing {
    ssq_params *params;
    struct param *param;
    ssq_optimizer *optimizer; /* or NULL */
    const ssq_tensor *to;     /* where they go: f32, contiguous */
    ssq_tensor *made;         /* owned, or NULL; likewise */
    struct origin *origin;
};

/** A place for float32 values, which are the parameter's, and its master's,
 *  once param_write_end has rounded them. optimizer may be NULL. */
ssq_status param_write_begin(struct param_writing *w, ssq_params *params,
                             struct param *p, ssq_optimizer *optimizer);
/** st: of the writing; what it answers is what failed first. */
ssq_status param_write_end(struct param_writing *w, ssq_queue *queue,
                           ssq_status st);
/** Origins of parameters that were written since are let go of. */
void params_drop_origins(ssq_params *params);
/** Copies of all parameters of another set of the device, into an empty one, in
 *  the dtypes of its policy. */
ssq_status params_take(ssq_params *params, ssq_queue *queue,
                       const ssq_params *from);

/* ---- params.c ---- */

/** See to it that p has the tensor of its gradient. */
ssq_status param_grad(ssq_params *params, struct param *p);
/** A gradient that a backward did not reach becomes zeros; and all of them. */
ssq_status param_settle(ssq_queue *queue, struct param *p);
ssq_status params_settle(ssq_params *params, ssq_queue *queue);

#endif
