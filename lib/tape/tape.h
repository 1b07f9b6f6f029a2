/* SPDX-License-Identifier: Apache-2.0 */
/* tape.h - the internals of a tape.
 *
 * A pass is the work between two calls of ssq_tape_begin(). It has values
 * (struct value, one for each var) and nodes (struct node, one for each op that
 * depends on a parameter). They are stored in lists that only grow. Device
 * memory comes from an arena, which the next begin empties. A pass that equals
 * an earlier one therefore allocates nothing, on the host or on the device. */
#ifndef LIB_TAPE_TAPE_H
#define LIB_TAPE_TAPE_H

#include <sesqui/tape.h>

#include "lib/core/core.h"
#include "lib/core/queue/queue.h"
#include "lib/core/queue/observer.h"
#include "lib/tape/arena.h"
#include "lib/tape/autocast.h"
#include "lib/tape/ops.h"

/** No value, node or parameter. */
#define NONE UINT32_MAX

/** A value or a gradient: a tensor and its memory in the arena. A view of
 *  another value has no memory. */
struct tape_held {
    ssq_tensor tensor; /* buffer NULL: does not exist */
    struct extent memory;
};

enum value_state {
    VALUE_LIVE = 0,
    VALUE_RELEASED = 1, /* the backward has released its memory */
    VALUE_ASIDE = 2     /* released, but the backward recomputes it */
};

struct value {
    struct tape_held is, grad;
    uint32_t node;  /* the node that made it; NONE: input or parameter */
    uint32_t param; /* the parameter whose value this is; or NONE */
    uint32_t base;  /* the value of which it is a view; or NONE */
    enum value_state state;
    const char *where;        /* an input's line; NULL: not an input */
    struct observer observer; /* of memory that the tape does not own */
    struct value *watched;    /* the value that got an observer before it */
    uint32_t writes;          /* count of writes when its casts were made */
    uint32_t slope;           /* the value that is its gradient, during
                                 ssq_tape_grad; or NONE */
    bool wanted;              /* it depends on a parameter or a watched var: ops
                                 on it are recorded */
    bool sought;              /* the current backward computes its gradient */
    bool asked;               /* ssq_tape_grad returns its gradient */
    bool kept;                /* the caller has its tensor: never release it */
    uint32_t cast[3];         /* its casts to f32, f16, bf16; or NONE */
};

struct node {
    const struct tape_op *op;
    const char *where; /* the caller's line */
    uint32_t scope;    /* the scope of the call: offset in the tape's texts */
    uint32_t var[TAPE_VARS], out[TAPE_OUTS];
    uint32_t writes[TAPE_VARS]; /* counts of writes to the vars' memory, before
                                   the call */
    uint32_t args;              /* position in the tape's bytes */
    int axes[SSQ_MAX_RANK];     /* of a transposed view */
};

/** The arguments of a node that is a slice of a value. */
struct slice {
    int axis;
    int64_t start, stop, step;
};

/** The arguments of a node that concatenates any number of values. */
struct join {
    size_t n;
    int axis;
    uint32_t id[];
};

/** An array that grows. It can be emptied without being freed. */
struct list {
    void *at;
    size_t n, room;
    uint64_t grown; /* number of allocations */
};

/** A part of the pass that the backward recomputes. */
struct stretch {
    uint32_t node, nodes_end;   /* first node, and one past the last */
    uint32_t value, values_end; /* first value, and one past the last */
    uint32_t result;            /* the value that is kept; or NONE */
};

struct ssq_tape {
    struct object object;
    ssq_queue *queue;
    ssq_params *params;
    const struct tape_op *const *ops; /* tape_ops */
    size_t nops;
    struct list policies; /* struct autocast *; the first applies outside of
                             regions */
    struct list regions;  /* open regions: indices of policies */
    const struct autocast *autocast; /* the policy of the innermost region */
    bool telling;                    /* SSQ_VERBOSE=autocast, for this pass */
    struct arena arena;
    struct list blocks, nodes, bytes;
    uint32_t nvalues;
    struct value *watched; /* the last value that got an observer */
    uint64_t casts;        /* casts made by all passes */
    struct list buffers; /* of the caller's tensors; held until the pass ends */
    struct list texts;   /* scopes of nodes, each with its terminating 0 */
    uint32_t scope_text; /* offset of the last text */
    struct list scopes;  /* lengths of `scope` before each push */
    struct list used;    /* per parameter: its value in this pass, or NONE */
    struct list scratch; /* memory for one call */
    uint32_t pass;
    bool training, walked; /* walked: a backward has run */
    uint32_t removals;     /* of the set, when the pass began */
    bool asking;    /* parameters' gradients stay in the pass: ssq_tape_grad */
    unsigned quiet; /* nesting depth of regions that are not recorded */
    unsigned recomputing;  /* nesting depth of regions to be recomputed */
    struct stretch open;   /* the outermost open one */
    struct list stretches; /* struct stretch: the closed ones */
    ssq_status status;
    char text[ERROR_TEXT];
    char scope[SSQ_PARAM_NAME];
    ssq_tensor *one;  /* f32 1, the seed of a backward without a scaler */
    ssq_tensor *step; /* i32: number of the pass; NULL: none has drawn */
    uint32_t draws;   /* calls that drew in this pass */
    unsigned rank;    /* of `ranks` ranks, whose passes draw in turn */
    unsigned ranks;   /* 0 or 1: this rank is alone */
    /* called after a training pass has created a parameter; or NULL */
    ssq_status (*made)(void *user);
    void *made_user;
    /* called when a backward has completed a parameter's gradient; or NULL */
    void (*ready)(void *user, uint32_t param);
    void *ready_user;
    /* called with the labels of each loss, and with its logits or
     * log-probabilities; or NULL */
    ssq_status (*labels)(void *user, const ssq_tensor *x,
                         const ssq_tensor *target, int64_t ignore_index);
    void *labels_user;
    uint64_t replayed; /* passes launched as graphs, counted by the trainer */
    ssq_tape_stats stats;
};

/* Values are stored in blocks that never move, because callers hold pointers to
 * their tensors. */
#define VALUE_BITS  8
#define VALUE_BLOCK (1u << VALUE_BITS)

static inline struct value *value_of(const ssq_tape *t, uint32_t id)
{
    struct value *const *blocks = t->blocks.at;
    return &blocks[id >> VALUE_BITS][id % VALUE_BLOCK];
}

static inline struct node *node_of(const ssq_tape *t, uint32_t id)
{
    return (struct node *)t->nodes.at + id;
}

/** Return the arguments of the call that made a node, or NULL if no node of the
 *  pass has any. */
static inline const void *node_args(const ssq_tape *t, const struct node *n)
{
    const char *at = t->bytes.at;
    return at == NULL ? NULL : at + n->args * sizeof(max_align_t);
}

static inline bool is_there(const struct tape_held *h)
{
    return h->tensor.view.buffer != NULL;
}

/* ---- list.c ---- */

/** Append n zeroed elements of `size` bytes and return the first. All elements
 *  of a list must have the same size. Pointers into the list become invalid.
 *  Returns NULL and sets the error text if memory is short. */
void *list_add(struct list *l, size_t n, size_t size);
/** Get zeroed scratch memory for one call. The next call of scratch() reuses
 *  it. Returns NULL and sets the error text if memory is short. */
void *scratch(ssq_tape *t, size_t bytes);
void list_free(struct list *l);

/* ---- latch.c: the first error of a pass ---- */

/** Mark the tape as failed. `where` and the scope are put before the thread's
 *  error text. Later calls change nothing. */
void latch(ssq_tape *t, ssq_status status, const char *where, const char *op);
/** Mark the tape as failed at a node of the walk back, with its line, scope and
 *  op. */
void latch_node(ssq_tape *t, ssq_status status, const struct node *n);
/** Return a var that represents a result that could not be created. */
ssq_var var_inert(ssq_tape *t);
/** Return whether v is SSQ_VAR_NONE. The var of a call without a tape is
 *  not. */
static inline bool var_absent(ssq_var v)
{
    return v.tape == NULL && v.id == 0;
}

/* ---- value.c ---- */

/** Return SSQ_OK if a var has a value, else SSQ_ERR_INVALID. Does not latch. */
ssq_status var_check(ssq_tape *t, ssq_var v, const char *what);
/** Return the value of a var. If it has none, latch an error and return
 *  NULL. */
struct value *var_value(ssq_tape *t, ssq_var v, const char *where,
                        const char *op, const char *what);
/** Create a contiguous value with memory from the arena. The caller must latch
 *  an error. */
ssq_status value_make(ssq_tape *t, ssq_dtype dtype, int rank,
                      const int64_t *shape, uint32_t *id);
/** Create a value that takes over h's memory. On success, *h is cleared. */
ssq_status value_take(ssq_tape *t, struct tape_held *h, uint32_t *id);
/** Create a value whose tensor is a view of the memory of value `base`. */
ssq_status value_view(ssq_tape *t, const struct view *view, uint32_t base,
                      uint32_t *id);
/** Get memory for a gradient or for another tensor. Release it with
 *  held_put(). */
ssq_status held_make(ssq_tape *t, ssq_dtype dtype, int rank,
                     const int64_t *shape, struct tape_held *h);
void held_put(ssq_tape *t, struct tape_held *h);
ssq_var var_of(ssq_tape *t, uint32_t id);

/** Keep the value, and the value that owns its memory: never release them. */
void value_keep(ssq_tape *t, uint32_t id);
/** Create a value from a tensor that the caller owns. The pass holds its memory
 *  until it ends. */
ssq_status value_hold(ssq_tape *t, const char *where, const ssq_tensor *tensor,
                      uint32_t *id);

/* ---- written.c: detect writes between forward and backward ---- */

/** Return how often a value's memory was written since the first such call in
 *  this pass, which begins the count. Returns 0 for memory that the tape owns
 *  or has released. */
uint32_t value_writes(ssq_tape *t, uint32_t id);
/** After a forward call, store the write counts of its vars in the node. The
 *  write counts of tensors in its options are stored in their values. */
void written_record(ssq_tape *t, struct node *n, const void *args);
/** Return SSQ_ERR_INVALID if an operand of the backward was written after the
 *  forward call read it: var i of a node, or the tensor at offset `at` in its
 *  arguments. */
ssq_status written_check(ssq_tape *t, const struct node *n, unsigned i);
/** The same for a value alone, whose number of writes was `writes`. */
ssq_status written_check_value(ssq_tape *t, uint32_t id, uint32_t writes,
                               const char *what);
ssq_status written_check_option(ssq_tape *t, const struct node *n, size_t at);
/** Return true for a tensor of the options that the call itself writes: running
 *  statistics, and the mask of dropout. Other calls may write it, too. */
bool slot_is_written(const struct tape_op *op, const struct tape_slot *s,
                     const void *args);
/** End a pass: stop counting writes. */
void written_reset(ssq_tape *t);

/* ---- draw.c ---- */

/** As ssq_tape_push. Errors name `where`. */
void tape_push(ssq_tape *t, const char *name, const char *where);

/** A stream of random words that no other call of any pass uses. */
struct drawing {
    uint64_t seed;
    uint32_t id;
    const ssq_tensor *step;
};
ssq_status tape_draw(ssq_tape *t, struct drawing *d);
/** Make the tape one of several ranks, whose passes draw in turn. */
void tape_rank(ssq_tape *t, unsigned rank, unsigned ranks);
/** Count a pass without calls as a pass that draws, if other passes draw. */
void tape_turn(ssq_tape *t);

/* ---- param_var.c ---- */

/** Append a dot and a name to the scope. The result is stored in `whole`, which
 *  has SSQ_PARAM_NAME bytes. Returns SSQ_ERR_INVALID if the name is not valid
 *  for a parameter or a scope. `what` begins error texts. */
ssq_status scope_join(const ssq_tape *t, const char *name, const char *what,
                      char *whole);

/* ---- record.c ---- */

/** Return the scope in which a node was made, "" outside of all scopes. */
const char *node_scope(const ssq_tape *t, const struct node *n);

/** Return whether a gradient of one of the node's results exists. */
bool node_has_grad(const ssq_tape *t, const struct node *n);
/** Append a node. Its values must exist. */
ssq_status tape_record(ssq_tape *t, const struct node *n, const void *args,
                       size_t bytes);

/** Append a node if the pass records and one of its vars is `wanted`. */
ssq_status tape_record_wanted(ssq_tape *t, const struct node *n,
                              const void *args, size_t bytes);
/** Return the values that a node was made from, some of which may be NONE. */
const uint32_t *node_operands(const ssq_tape *t, const struct node *n,
                              size_t *count);

/* ---- labels.c ---- */

/** Call t->labels with the targets of a loss, if op is a loss with class
 *  labels. */
ssq_status tape_tell_labels(const ssq_tape *t, const struct tape_op *op,
                            const void *args);

/* ---- forward.c ---- */

/** Call any op of the table on vars.
 *  @param options  NULL: the op's defaults
 *  @param outs     vars of further results, or NULL */
ssq_var tape_call(const char *where, const struct tape_op *op,
                  const ssq_var *vars, const void *options,
                  ssq_var *const *outs);
/* ---- cast.c ---- */

/** Get the value in a dtype: the value itself, or a recorded cast. A pass makes
 *  one cast for each value and dtype. Passes share the cast of a parameter
 *  until it is written. */
ssq_status value_cast(ssq_tape *t, const char *where, uint32_t id,
                      ssq_dtype dtype, uint32_t *cast);

/* ---- views.c ---- */

/** Create a value that is a view of n->var[0]. If a gradient goes through it,
 *  record it with its arguments. */
ssq_status value_see(ssq_tape *t, const struct node *n, const ssq_tensor *view,
                     const void *args, size_t bytes, uint32_t *id);

/* ---- parts.c ---- */

/** Return zeros of a shape with x in a part of them: the gradient of a
 *  slice. */
ssq_var var_embed(const char *where, ssq_var x, const struct slice *s, int rank,
                  const int64_t *shape);

/* ---- recompute.c ---- */

/** Return the stretch whose last node is i, or NULL. *left counts the stretches
 *  that the walk back has not passed, and is decremented if one is found. */
const struct stretch *stretch_at(const ssq_tape *t, uint32_t i, size_t *left);
/** Recompute the values of a stretch, if one of its nodes has a gradient.
 *  @param at  in: the current node; out, after an error: the node that
 *             failed */
ssq_status stretch_remake(ssq_tape *t, const struct stretch *s,
                          struct node *at);
/** Recompute stretch i and keep it, if the `slope` of one of its values is set:
 *  the vars of its gradients need these values. */
ssq_status stretch_keep(ssq_tape *t, size_t i, struct node *at);
/** Release the memory of a stretch's values. */
void stretch_aside(ssq_tape *t, const struct stretch *s);

/* ---- ready.c ---- */

/** Before a walk back: report the parameters to which no node adds a gradient.
 *  Does nothing if t->ready is NULL. */
ssq_status ready_begin(ssq_tape *t);
/** After each node: report the parameters whose gradients it has completed. */
ssq_status ready_tell(ssq_tape *t, uint32_t node, const struct node *n);

/* ---- backward.c ---- */

/** Return true if an operand of a node is `sought`. */
bool node_sought(const ssq_tape *t, const struct node *n);
/** Mark all values that depend on sought values as sought, along the nodes. */
void sought_spread(ssq_tape *t);
/** Return true if the value's gradient is stored in a parameter and outlives
 *  the pass. */
bool grad_lasts(const ssq_tape *t, const struct value *v);
/** Return the dtype of a value's gradient. */
ssq_dtype grad_dtype(const ssq_tape *t, const struct value *v);

/** Make a gradient contiguous. It is already, unless it is a transposed view of
 *  memory. Such a gradient is copied in the order of its shape. */
ssq_status grad_dense(ssq_tape *t, uint32_t id);

/** Check that gradients of a loss may be computed. `op` is used in error texts.
 *  Does not latch. */
ssq_status scalar_check(ssq_tape *t, ssq_var loss, const char *op);
/** Return SSQ_ERR_INVALID if parameters were removed since the pass began,
 *  because the pass refers to them by number. */
ssq_status check_places(const ssq_tape *t, const char *what);
/** Do the checks of scalar_check() and mark the values that depend on
 *  parameters as sought. Returns SSQ_ERR_INVALID if the loss is not one of
 *  them. */
ssq_status backward_check(ssq_tape *t, ssq_var loss, const char *op);
/** Set the gradient of a loss to a view of `scale`: one element, never
 *  written. */
void backward_seed(struct value *loss, const ssq_tensor *scale);
/** Compute the gradients of a node's vars, if its results have gradients. */
ssq_status node_walk(ssq_tape *t, const struct node *n);

/** The tensor to which an op writes the gradient of a value. into_begin() sets
 *  `tensor`, or NULL if no gradient is wanted. into_end() adds it to an
 *  existing gradient. */
struct into {
    uint32_t id;
    struct tape_held made; /* memory if the result must be added */
    const ssq_tensor *tensor;
};
ssq_status into_begin(ssq_tape *t, uint32_t id, struct into *to);
ssq_status into_end(ssq_tape *t, struct into *to);

#endif
