/* SPDX-License-Identifier: Apache-2.0 */
/* params.h - parameters by name, and their gradients. */
#ifndef LIB_TAPE_PARAMS_H
#define LIB_TAPE_PARAMS_H

#include <sesqui/tape.h>

#include "lib/amp/common/origin.h"
#include "lib/core/core.h"
#include "lib/core/base/names.h"
#include "lib/core/queue/observer.h"

enum grad_state {
    GRAD_NONE = 0,  /* the memory was never written */
    GRAD_CLEAN = 1, /* stale: the next gradient overwrites it */
    GRAD_FULL = 2   /* the next gradient is added, also to zeros: a program may
                       have written them since */
};

/** A copy of a parameter in another dtype. */
struct param_copy {
    ssq_tensor *tensor;                  /* owned */
    struct observer source, self;        /* of the parameter; of `tensor` */
    uint32_t source_writes, self_writes; /* counts when the copy was made */
    const ssq_queue *queue;              /* the queue that made it */
    bool made;
};

struct param {
    char *name;
    uint32_t hash;                       /* of the name */
    ssq_tensor *tensor;                  /* owned */
    ssq_tensor *grad;                    /* owned; NULL: not requested yet */
    enum grad_state grad_state, checked; /* checked: the state before
                                            ssq_tape_check */
    bool first;        /* this backward is the first that writes the gradient */
    bool touched;      /* this backward may have written the gradient */
    bool begun, added; /* since the last snapshot the gradient was overwritten,
                          or added to before: params_stages.c */
    uint32_t whole_behind;   /* the node after which the gradient is complete:
                                ready.c */
    bool state;              /* it has no gradient, for example a running
                                mean */
    bool full;               /* float32 under every policy */
    bool given;              /* given to an optimizer, states included */
    struct origin *origin;   /* the values it was rounded from; or NULL */
    struct param_copy *copy; /* owned; NULL: never used in another dtype */
};

struct ssq_params {
    struct object object;
    ssq_device *device;
    ssq_policy policy;
    char *policy_name; /* as given, without loss_scale; with the ops whose class
                          it changes */
    ssq_params_options options;
    struct param *at;
    size_t n, room;
    struct name_index names; /* maps names to numbers */
    const char *closed; /* why training passes create no parameters, for example
                           "after a load"; NULL: they do */
    char *allowed;      /* pattern of names that any pass may create; or NULL */
    uint32_t removals;  /* calls that removed parameters */
    bool torn; /* a backward failed that was the first to write gradients */
    uint32_t draws; /* passes, of all ranks, that drew random words: draw.c */
    size_t origins; /* parameters that have an origin */
};

struct param *param_of(ssq_params *params, uint32_t i);
/** Return the number of the parameter with this full name, or params->n if it
 *  does not exist. */
size_t param_find(const ssq_params *params, const char *name);
/** Create and initialise a parameter, in order on the queue. Names are not
 *  compared: the caller must ensure that the name is unused.
 *  @param i  out: its number */
ssq_status param_make(ssq_params *params, ssq_queue *queue, const char *name,
                      const ssq_param_args *args, size_t *i);
/** Add a parameter that has values already. On success, the set owns the
 *  tensor. */
ssq_status param_put(ssq_params *params, const char *name, ssq_tensor *tensor,
                     bool state, bool full);
/** Remove all parameters from number n on. */
void params_cut(ssq_params *params, size_t n);

/* ---- params_names.c ---- */

/** Set the error SSQ_ERR_NOT_FOUND for a name that no parameter has. The text
 *  suggests the most similar name, and ends in `more`. */
ssq_status params_unknown(const ssq_params *params, const char *what,
                          const char *name, const char *more);
/** Return SSQ_ERR_NOT_FOUND unless a pass may create a parameter of this
 *  name. */
ssq_status params_may_make(const ssq_params *params, const char *name,
                           bool training);

/* ---- param_copy.c ---- */

/** Create a copy that has no values yet. */
ssq_status param_copy_make(struct param *p, ssq_dtype dtype);
/** Return false if the copy has no values, or if the parameter or the copy was
 *  written since it was made. */
bool param_copy_fresh(const struct param_copy *copy);
/** NULL is allowed. */
void param_copy_free(struct param_copy *copy);

/* ---- params_values.c ---- */

/** Check the arguments of a call on a set and a queue. optimizer may be NULL.
 *  Returns SSQ_ERR_INVALID in a capture. */
ssq_status params_call(const char *what, const ssq_params *params,
                       ssq_queue *queue, const ssq_optimizer *optimizer);

/* ---- params_wide.c ---- */

/** Undo ssq_params_to_float32: give parameters the dtypes of the policy, in the
 *  optimizer's tensors, with their float32 values rounded. Masters get the
 *  float32 values. After an error nothing has changed. */
ssq_status params_to_policy(ssq_params *params, ssq_queue *queue,
                            ssq_optimizer *optimizer);

/* ---- param_exact.c: float32 values that parameters are rounded from ---- */

/** Get the most exact value that exists, of any float dtype: the master, the
 *  origin that the parameter was rounded from, or the parameter itself.
 *  @param optimizer  may be NULL
 *  @param made       out: a tensor that was created for the value, owned by the
 *                    caller; or NULL */
ssq_status param_exact(const struct param *p, ssq_queue *queue,
                       const ssq_optimizer *optimizer, const ssq_tensor **value,
                       ssq_tensor **made);

/** A parameter while new values are written to it. */
struct param_writing {
    ssq_params *params;
    struct param *param;
    ssq_optimizer *optimizer; /* or NULL */
    const ssq_tensor *to;     /* where the values go: f32, contiguous */
    ssq_tensor *made;         /* owned, or NULL; f32, contiguous */
    struct origin *origin;
};

/** Get w->to, a place for float32 values. param_write_end() rounds them to the
 *  parameter, and copies them to its master. optimizer may be NULL. */
ssq_status param_write_begin(struct param_writing *w, ssq_params *params,
                             struct param *p, ssq_optimizer *optimizer);
/** Finish writing. If st, the status of the writing, is an error, return st.
 *  Otherwise return the first error of this call. */
ssq_status param_write_end(struct param_writing *w, ssq_queue *queue,
                           ssq_status st);
/** Release origins of parameters that were written after they were rounded. */
void params_drop_origins(ssq_params *params);
/** Copy all parameters of another set of the same device to an empty set, in
 *  the dtypes of its policy. */
ssq_status params_take(ssq_params *params, ssq_queue *queue,
                       const ssq_params *from);

/* ---- params.c ---- */

/** Create the gradient's tensor of p, unless it exists. */
ssq_status param_grad(ssq_params *params, struct param *p);
/** Begin to write a gradient. The next gradient of this pass is added. */
void param_grad_begin(struct param *p);
/** A gradient will be computed that is added. The caller sets p->touched before
 *  it enqueues the sum. */
void param_grad_add(struct param *p);
/** Begin a backward: it has not written a gradient yet. */
void params_backward_begin(ssq_params *params);
/** End a backward. If it failed and may have written a gradient, parameters
 *  whose gradient it wrote for the first time have no gradient, and the other
 *  gradients are stale. */
void params_backward_end(ssq_params *params, bool good);

/* ---- params_stages.c ---- */

/** Before a backward in a capture: the capture restores the gradients' states.
 */
ssq_status params_watch(ssq_params *params, ssq_queue *queue);
/** Set a gradient that a backward did not reach to zeros. params_settle() does
 *  this for all parameters. */
ssq_status param_settle(ssq_queue *queue, struct param *p);
ssq_status params_settle(ssq_params *params, ssq_queue *queue);

#endif
