/* SPDX-License-Identifier: Apache-2.0 */
/* tape.h - what a tape is made of.
 *
 * A pass is what happens between two ssq_tape_begin(). Its values (struct
 * value, one for each var) and nodes (struct node, one for each op that leads
 * to a parameter) stand in lists that only grow, and its memory comes from an
 * arena that is empty again at the next begin: a pass like one before makes
 * nothing new, on the host or on the device. */
#ifndef LIB_TAPE_TAPE_H
#define LIB_TAPE_TAPE_H

#include <sesqui/tape.h>

#include "lib/core/core.h"
#include "lib/core/queue.h"
#include "lib/core/witness.h"
#include "lib/tape/arena.h"
#include "lib/tape/autocast.h"
#include "lib/tape/ops.h"

/** No value, node, parameter. */
#define NONE UINT32_MAX

/** A gradient, or a value: a tensor, and the arena's memory where it is there;
 *  a view of another value has none. */
struct held {
    ssq_tensor tensor; /* buffer NULL: not there */
    struct extent memory;
};

enum value_state {
    VALUE_LIVE = 0,
    VALUE_RELEASED = 1, /* its memory went on to other values in backward */
    VALUE_ASIDE = 2     /* likewise, but the backward makes it again */
};

struct value {
    struct held is, grad;
    uint32_t node;  /* that made it; NONE: input or parameter */
    uint32_t param; /* whose value this is; or NONE */
    uint32_t base;  /* it is a view of this value's memory; or NONE */
    enum value_state state;
    const char *where; /* an input's line; NULL: a parameter, or made here */
    struct witness witness; /* of memory that is not the tape's */
    struct value *watched;  /* the value that got one before it */
    uint32_t writes;        /* when its casts were made */
    uint32_t slope;         /* its gradient, while vars are made of those */
    bool wanted;            /* it leads to a parameter, or to a var that is
                               watched: what is done with it is noted */
    bool sought;            /* the walk under way leads a gradient to it */
    bool asked;             /* and hands it to the caller */
    bool kept;              /* the caller has its tensor: never released */
    uint32_t cast[3];       /* this value in f32, f16, bf16; or NONE */
};

struct node {
    const struct tape_op *op;
    const char *where; /* the caller's line */
    uint32_t scope;    /* as it was: a place in the tape's texts */
    uint32_t var[TAPE_VARS], out[TAPE_OUTS];
    uint32_t writes[TAPE_VARS]; /* to the vars' memory, before the call */
    uint32_t args;              /* where in the tape's bytes they are */
    int axes[SSQ_MAX_RANK];     /* of a transposed view */
};

/** The arguments of a node that is a part of a value. */
struct slice {
    int axis;
    int64_t start, stop, step;
};

/** The arguments of a node that joins values, any number of them. */
struct join {
    size_t n;
    int axis;
    uint32_t id[];
};

/** An array that grows and is emptied. */
struct list {
    void *at;
    size_t n, room;
    uint64_t grown; /* how often */
};

/** What the backward makes again. */
struct stretch {
    uint32_t node, nodes_end;   /* from the first to behind the last */
    uint32_t value, values_end; /* likewise */
    uint32_t result;            /* that stays; or NONE */
};

struct ssq_tape {
    struct object object;
    ssq_queue *queue;
    ssq_params *params;
    const struct tape_op *const *ops; /* tape_ops */
    size_t nops;
    struct list policies; /* struct autocast *, the first outside of regions */
    struct list regions;  /* open ones: which of the policies */
    const struct autocast *autocast; /* of the innermost */
    bool telling;                    /* SSQ_VERBOSE=autocast, in this pass */
    struct arena arena;
    struct list blocks, nodes, bytes;
    uint32_t nvalues;
    struct value *watched; /* the last value that got a witness */
    uint64_t casts;        /* that autocast has made, ever */
    struct list buffers; /* of the caller's tensors, held until the pass ends */
    struct list texts;   /* scopes of nodes, each with its end */
    uint32_t noted;      /* the last of them */
    struct list scopes;  /* lengths of scope before each push */
    struct list used;    /* by parameter: its value in this pass, or NONE */
    struct list scratch; /* of one call */
    uint32_t pass;
    bool training, recording, walked; /* walked: backward has been */
    uint32_t removals;                /* the set's, when the pass began */
    bool asking;    /* gradients of parameters do not go to the parameters */
    unsigned quiet; /* how deep in regions that are not recorded */
    unsigned recomputing;  /* how deep in regions that are made again */
    struct stretch open;   /* the outermost of them */
    struct list stretches; /* struct stretch: those that are done */
    ssq_status status;
    char text[ERROR_TEXT];
    char scope[SSQ_PARAM_NAME];
    ssq_tensor *one;  /* f32, the seed of a backward without a scaler */
    ssq_tensor *step; /* i32: which pass draws; NULL: none has yet */
    uint32_t draws;   /* calls that have drawn in this pass */
    unsigned rank;    /* of so many: their passes draw in turn */
    unsigned ranks;   /* 0 and 1: this is alone */
    /* told of each parameter that a pass for training makes; or NULL */
    ssq_status (*made)(void *user);
    void *made_user;
    /* told of each parameter whose gradient a backward has made; or NULL */
    void (*ready)(void *user, uint32_t param);
    void *ready_user;
    /* told of the labels of each loss, and of its logits or log-probabilities;
     * or NULL */
    ssq_status (*labels)(void *user, const ssq_tensor *x,
                         const ssq_tensor *target, int64_t ignore_index);
    void *labels_user;
    uint64_t replayed; /* passes, as its trainer has counted */
    ssq_tape_stats stats;
};

/* Values stand in blocks that stay where they are: callers have the tensors. */
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

/** The arguments of the call that made a node; NULL if no node of the pass has
 *  any. */
static inline const void *node_args(const ssq_tape *t, const struct node *n)
{
    const char *at = t->bytes.at;
    return at == NULL ? NULL : at + n->args * sizeof(max_align_t);
}

static inline bool is_there(const struct held *h)
{
    return h->tensor.view.buffer != NULL;
}

/* ---- list.c ---- */

/** Room for n more elements of size bytes, zeroed, of a list where all have
 *  that size; NULL: no memory, text set. What pointed into the list before does
 *  so no longer. */
void *list_add(struct list *l, size_t n, size_t size);
/** So many bytes of the tape's scratch, zeroed, for one call: whoever asks next
 *  gets them. NULL: no memory, text set. */
void *scratch(ssq_tape *t, size_t bytes);
void list_free(struct list *l);

/* ---- latch.c: the first thing that goes wrong ---- */

/** The tape has failed: where and scope go before the thread's error text.
 *  Later calls change nothing. */
void latch(ssq_tape *t, ssq_status status, const char *where, const char *op);
/** Likewise at a node of the walk back, with its line, scope and op. */
void latch_node(ssq_tape *t, ssq_status status, const struct node *n);
/** The var that stands for what could not be made. */
ssq_var var_inert(ssq_tape *t);
/** Is it SSQ_VAR_NONE? The var of a call that had no tape is not. */
static inline bool var_absent(ssq_var v)
{
    return v.tape == NULL && v.id == 0;
}

/* ---- value.c ---- */

/** SSQ_OK, or why a var has no value: INVALID. Nothing is latched. */
ssq_status var_check(ssq_tape *t, ssq_var v, const char *what);
/** The value of a var, or NULL after latching why it has none. */
struct value *var_value(ssq_tape *t, ssq_var v, const char *where,
                        const char *op, const char *what);
/** A value with memory of its own, contiguous. NONE: latched by the caller. */
ssq_status value_make(ssq_tape *t, ssq_dtype dtype, int rank,
                      const int64_t *shape, uint32_t *id);
/** A value that takes memory over, which becomes nothing where it works. */
ssq_status value_take(ssq_tape *t, struct held *h, uint32_t *id);
/** A value whose tensor is a view; base is the value whose memory it is. */
ssq_status value_view(ssq_tape *t, const struct view *view, uint32_t base,
                      uint32_t *id);
/** Memory for a gradient, or anything else that is let go of by held_put. */
ssq_status held_make(ssq_tape *t, ssq_dtype dtype, int rank,
                     const int64_t *shape, struct held *h);
void held_put(ssq_tape *t, struct held *h);
ssq_var var_of(ssq_tape *t, uint32_t id);

/** A value that is a tensor of the caller's, whose memory is held until the
 *  pass ends. */
ssq_status value_hold(ssq_tape *t, const char *where, const ssq_tensor *tensor,
                      uint32_t *id);

/* ---- written.c: memory of others that is written under way ---- */

/** How often the memory of a value was written since the tape knows it; 0 where
 *  it is the tape's own. From the first question on writes are counted. */
uint32_t value_writes(ssq_tape *t, uint32_t id);
/** For a call that was done: its vars' writes into the note, those of the
 *  tensors in its options into their values. */
void written_note(ssq_tape *t, struct node *n, const void *args);
/** SSQ_ERR_INVALID if what a backward reads is no longer what the call has
 *  read: var i of a node, or the tensor at this place in its arguments. */
ssq_status written_check(ssq_tape *t, const struct node *n, unsigned i);
ssq_status written_check_option(ssq_tape *t, const struct node *n, size_t at);
/** Running statistics are for the ops that normalise by them: others update
 *  them, each call of a layer anew. */
bool slot_is_updated(const struct slot *s, const void *args);
/** The pass is over: nothing is counted any more. */
void written_reset(ssq_tape *t);

/* ---- draw.c ---- */

/** A stream of random words that no other call of any pass has. */
struct drawing {
    uint64_t seed;
    uint32_t id;
    const ssq_tensor *step;
};
ssq_status tape_draw(ssq_tape *t, struct drawing *d);
/** The tape is one rank's of several, which make their passes in turn. */
void tape_rank(ssq_tape *t, unsigned rank, unsigned ranks);
/** A pass without calls counts as one that draws where others do. */
void tape_turn(ssq_tape *t);

/* ---- param_var.c ---- */

/** A name behind the scope and a dot, into SSQ_PARAM_NAME bytes. INVALID for
 *  what is no name of a parameter or a scope. what begins texts. */
ssq_status scope_join(const ssq_tape *t, const char *name, const char *what,
                      char *whole);

/* ---- note.c ---- */

/** The scope that a node was made in; "" outside of all. */
const char *node_scope(const ssq_tape *t, const struct node *n);

/** Is a gradient of one of its results there? */
bool node_has_grad(const ssq_tape *t, const struct node *n);
/** Note a node whose values are there. */
ssq_status tape_note(ssq_tape *t, const struct node *n, const void *args,
                     size_t bytes);

/** Likewise, where the pass is noted and one of its vars leads somewhere. */
ssq_status tape_note_wanted(ssq_tape *t, const struct node *n, const void *args,
                            size_t bytes);
/** The values that a node was made of, NONE among them, and how many. */
const uint32_t *node_operands(const ssq_tape *t, const struct node *n,
                              size_t *count);

/* ---- labels.c ---- */

/** Call `labels` with the targets of a loss, if op is a loss with class labels.
 */
ssq_status tape_tell_labels(const ssq_tape *t, const struct tape_op *op,
                            const void *args);

/* ---- forward.c ---- */

/** Any op of the table over vars, options NULL for its defaults. outs: the vars
 *  of further results, or NULL. */
ssq_var tape_call(const char *where, const struct tape_op *op,
                  const ssq_var *vars, const void *options,
                  ssq_var *const *outs);
/* ---- cast.c ---- */

/** The value in a dtype: itself, or a cast that is noted, made once in a pass
 *  for each value and the compute dtype. */
ssq_status value_cast(ssq_tape *t, const char *where, uint32_t id,
                      ssq_dtype dtype, uint32_t *cast);

/* ---- views.c ---- */

/** A value that is a view of n->var[0], noted with its arguments where a
 *  gradient goes through it. */
ssq_status value_see(ssq_tape *t, const struct node *n, const ssq_tensor *view,
                     const void *args, size_t bytes, uint32_t *id);

/* ---- parts.c ---- */

/** Zeros of a shape with x in a part of it: the gradient of a slice. */
ssq_var var_embed(const char *where, ssq_var x, const struct slice *s, int rank,
                  const int64_t *shape);

/* ---- recompute.c ---- */

/** The stretch that ends with node i, from number *left of them downwards;
 *  NULL: none does. */
const struct stretch *stretch_at(const ssq_tape *t, uint32_t i, size_t *left);
/** Make its values again, if a gradient has come to any. *at: the node that
 *  failed. */
ssq_status stretch_remake(ssq_tape *t, const struct stretch *s,
                          struct node *at);
/** The same of number i for good, if gradients as vars have come to any of its
 *  values: they and those to come need them. */
ssq_status stretch_keep(ssq_tape *t, size_t i, struct node *at);
/** Its memory is free. */
void stretch_aside(ssq_tape *t, const struct stretch *s);

/* ---- ready.c ---- */

/** Before a walk back, if somebody is to be told: what no node adds to is. */
ssq_status ready_begin(ssq_tape *t);
/** And behind each node, by its number. */
ssq_status ready_tell(ssq_tape *t, uint32_t node, const struct node *n);

/* ---- backward.c ---- */

/** True if a gradient goes to what a node was made of. */
bool node_sought(const ssq_tape *t, const struct node *n);
/** Values behind those that are sought are sought as well, along the nodes. */
void sought_spread(ssq_tape *t);
/** The gradient of this value is a parameter's, and stays there. */
bool grad_lasts(const ssq_tape *t, const struct value *v);
/** The dtype of its gradient. */
ssq_dtype grad_dtype(const ssq_tape *t, const struct value *v);

/** A gradient is contiguous, or a transpose of one that is: that is copied into
 *  the order of its shape. */
ssq_status grad_dense(ssq_tape *t, uint32_t id);

/** SSQ_OK if loss is one of which gradients are made; latches what is no var of
 *  the pass. op is for texts. */
ssq_status scalar_check(ssq_tape *t, ssq_var loss, const char *op);
/** INVALID if parameters were removed within the pass, which knows them by
 * their places in the set. */
ssq_status check_places(const ssq_tape *t, const char *what);
/** Likewise, if a backward could begin at it: what leads to parameters is
 *  sought then. */
ssq_status backward_check(ssq_tape *t, ssq_var loss, const char *op);
/** The gradient of a loss: one element that is bound and never written. */
void backward_seed(struct value *loss, const ssq_tensor *scale);
/** The gradients of a node's vars, if its results have any. */
ssq_status node_walk(ssq_tape *t, const struct node *n);

/** Where an op writes the gradient of a value: begin gives the tensor, end adds
 *  it to what is there already. begin leaves *to NULL where none is wanted. */
struct into {
    uint32_t id;
    struct held made; /* memory of its own, to be added */
    const ssq_tensor *tensor;
};
ssq_status into_begin(ssq_tape *t, uint32_t id, struct into *to);
ssq_status into_end(ssq_tape *t, struct into *to);

#endif
