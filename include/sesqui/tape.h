/* SPDX-License-Identifier: Apache-2.0 */
/* tape.h - gradients by themselves: a tape, its vars, and parameters by name.
 *
 * A tape notes the ops that are done on vars and walks them backwards. Between
 * two ssq_tape_begin() lies a pass: a forward part, then at most one
 * ssq_tape_backward(). A var is of the pass that made it; one of an earlier
 * pass is refused. All memory of a pass but parameters and their gradients is
 * the tape's and used again by the next: passes of shapes that were seen before
 * allocate nothing of the device (ssq_tape_stats_get tells), and take host
 * memory that the passes before gave back; only what a driver's queue holds at
 * a time may be a block more.
 *
 *     ssq_tape_begin(tape);
 *     ssq_var h = ssq_relu_var(ssq_nn_linear(tape, "fc1", x, 512, NULL));
 *     ssq_var loss = ssq_cross_entropy_var(ssq_nn_linear(tape, "fc2", h, 10,
 *                                          NULL), SSQ_CROSS_ENTROPY(
 *                                          .target = labels));
 *     st = ssq_tape_backward(tape, loss, scaler);
 *
 * Errors are latched: the first call that fails is kept with its op, its scope
 * and the line of the program; later ones do nothing, and their vars are inert.
 * ssq_tape_backward and ssq_tape_status return it, so that a program asks once.
 *
 * Only what leads to a parameter is noted. Ops, casts and gradients are those
 * of sesqui/ops.h, in order on the tape's queue; nothing waits. There is no
 * global state; a tape is used by one thread at a time, and so are the
 * parameters that several tapes may share: on one queue, or with a sync between
 * what one queue and the other do with them. An input or a parameter that is
 * written between a forward part and a backward that reads it is an error,
 * which names both places; only writes by means of a driver are not seen. */
#ifndef SESQUI_TAPE_H
#define SESQUI_TAPE_H

#include <sesqui/amp/optimizer.h>
#include <sesqui/amp/policy.h>
#include <sesqui/amp/scaler.h>
#include <sesqui/args.h>
#include <sesqui/ops/random.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_tape ssq_tape;
typedef struct ssq_params ssq_params;

/** A value of a pass; copied freely. */
typedef struct ssq_var {
    ssq_tape *tape;    /**< NULL: no var */
    uint32_t id, pass; /**< the tape's business */
} ssq_var;

/** For an optional operand that is not there. */
#ifdef __cplusplus
#define SSQ_VAR_NONE (ssq_var{nullptr, 0, 0})
#else
#define SSQ_VAR_NONE ((ssq_var){NULL, 0, 0})
#endif

/** The place in the program, for texts: "net.c:12". */
#define SSQ_AT_TEXT(LINE) #LINE
#define SSQ_AT_LINE(LINE) SSQ_AT_TEXT(LINE)
#define SSQ_AT            __FILE__ ":" SSQ_AT_LINE(__LINE__)

/* ---- parameters ---- */

/** Longest name of a parameter, scopes and the end included. */
#define SSQ_PARAM_NAME 128

/** How a set keeps its parameters. */
typedef struct ssq_params_options {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_params_options));
    uint64_t seed SSQ_DEFAULT(0); /**< of initial values: each parameter's are a
                        function of this and its name, whatever else there is */
    bool float32_gradients
        SSQ_DEFAULT(false); /**< also of 16-bit parameters: twice the memory,
              and sums over micro-batches that lose less */
} ssq_params_options;
#define SSQ_PARAMS_OPTIONS_INIT                                                \
    {                                                                          \
        sizeof(ssq_params_options), 0, false                                   \
    }

/** Make an empty set of parameters. Layers add to it as they are first used.
 *  @param policy  as ssq_policy_from_name; NULL "float32": its compute dtype is
 *                 the dtype of all parameters except full ones (those of
 *                 norms). The optimizer keeps float32 masters. The word
 *                 loss_scale is checked and not kept: a trainer, or the
 *                 program, makes the scaler
 *  @param options  NULL all defaults; copied
 *  @param params  the caller's; it holds the device
 *  @return SSQ_ERR_INVALID a NULL or wrong struct_size; as
 *          ssq_policy_from_name; SSQ_ERR_NOMEM. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_params_create(ssq_device *device, const char *policy,
                  const ssq_params_options *options, ssq_params **params);

/** Drop a set; tapes and optimizers that use it hold what they need. */
SSQ_API void ssq_params_destroy(ssq_params **params);

/** Parameters so far; 0 for NULL. */
SSQ_API size_t ssq_params_count(const ssq_params *params);

/** What is known of a parameter; filled by ssq_params_get. */
typedef struct ssq_param_info {
    size_t struct_size;
    const char *name;         /**< valid as long as the set */
    const ssq_tensor *tensor; /**< its value; the set's */
    const ssq_tensor *grad;   /**< its gradient; NULL: it has none: it is a
                                   state, as running statistics are, or there
                                   was neither a backward nor an optimizer
                                   that it was given to */
} ssq_param_info;
#define SSQ_PARAM_INFO_INIT                                                    \
    {                                                                          \
        sizeof(ssq_param_info), NULL, NULL, NULL                               \
    }

/** Parameter i, in the order in which they were made.
 *  @return SSQ_ERR_INVALID a NULL, a wrong struct_size, or i past the end. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_get(const ssq_params *params,
                                                 size_t i,
                                                 ssq_param_info *info);

/** The parameter of a name. @return SSQ_ERR_NOT_FOUND there is none. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_find(const ssq_params *params,
                                                  const char *name,
                                                  ssq_param_info *info);

/** Let passes make parameters that they would not make otherwise. A pass for
 *  training makes a parameter when a layer first asks for its name, until the
 *  set is loaded from a file or a trainer has made its first step. No other
 *  pass makes one, so a mistyped name is an error at the layer's line, and not
 *  a new layer with random values. The error names the most similar parameter.
 * After this call all passes also make those whose names match, until the next
 * call. Before weights are loaded into an empty set:
 *
 *      CHECK(ssq_params_allow(params, "*"));
 *      ssq_tape_begin(tape, false);
 *      (void)net(tape, x);                      // makes the parameters
 *      CHECK(ssq_params_allow(params, NULL));
 *      CHECK(ssq_params_load(params, queue, "weights.safetensors", NULL));
 *
 *  and for a new head of a model that was loaded, `"head.*"`.
 *  @param pattern  as ssq_params_optimize has it; copied; NULL: none
 *  @return SSQ_ERR_INVALID params is NULL; SSQ_ERR_NOMEM. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_allow(ssq_params *params,
                                                   const char *pattern);

/** Remove parameters and their gradients from a set. This ends the current
 * pass: its next use of a parameter is SSQ_ERR_INVALID. Infos filled by
 *  ssq_params_get become invalid.
 *  @param pattern  as ssq_params_optimize has it; not NULL
 *  @param removed  out, optional: how many
 *  @return SSQ_ERR_INVALID a NULL, or one was given to an
 *          optimizer;
 *          SSQ_ERR_NOT_FOUND nothing matches. Nothing is removed then.
 *          Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_remove(ssq_params *params,
                                                    const char *pattern,
                                                    size_t *removed);

/** Give an optimizer all parameters with a gradient that it has not been given
 *  yet and whose names match. Where no backward has reached one its gradient is
 *  zeros, which this call waits for.
 *  @param pattern  as of a shell: * stands for any characters, ? for one; NULL
 *                  all
 *  @param group    NULL the default group
 *  @return as ssq_optimizer_add; SSQ_ERR_NOT_FOUND nothing matches. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_optimize(ssq_params *params,
                                                      ssq_optimizer *optimizer,
                                                      const char *pattern,
                                                      ssq_group *group);

/** Training is over: every parameter of 16 bits becomes float32, with the value
 *  of its master, or its own where it has none. Tensors and gradients of
 *  ssq_params_get from before are gone; the optimizer goes on with the old ones
 *  and is of no use for these.
 *  @param optimizer  whose masters are taken; NULL: none are
 *  @return SSQ_ERR_INVALID a NULL, of another device, or a capture;
 *          SSQ_ERR_NOMEM; the queue's error: then all are as before.
 *          Asynchronous, but for split masters, which wait. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_to_float32(
    ssq_params *params, ssq_queue *queue, ssq_optimizer *optimizer);

/** How much a set has; filled by ssq_params_stats_get. */
typedef struct ssq_params_stats {
    size_t struct_size;
    size_t params, states;   /**< with a gradient, without */
    uint64_t elements;       /**< of both */
    uint64_t trainable;      /**< of those with a gradient */
    uint64_t bytes;          /**< of the values of both */
    uint64_t gradient_bytes; /**< of the gradients that there are */
} ssq_params_stats;
#define SSQ_PARAMS_STATS_INIT                                                  \
    {                                                                          \
        sizeof(ssq_params_stats), 0, 0, 0, 0, 0, 0                             \
    }

/** @return SSQ_ERR_INVALID a NULL or wrong struct_size. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_stats_get(const ssq_params *params,
                                                       ssq_params_stats *stats);

/** The float32 values of a parameter: those of its master where it has one, or
 *  those that ssq_params_write has rounded it from, or its own. Waits.
 *  @param optimizer  whose masters are read; NULL: none are
 *  @param name       NULL: all of the set, one after the other in the order in
 *                    which they were made: torch's parameters_to_vector
 *  @param host       n elements, row by row
 *  @param n          as many as there are
 *  @return SSQ_ERR_NOT_FOUND no such name; SSQ_ERR_INVALID another NULL, n is
 *          another number, of different devices, a capture; SSQ_ERR_NOMEM; the
 *          queue's error. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_read(
    const ssq_params *params, ssq_queue *queue, const ssq_optimizer *optimizer,
    const char *name, float *host, size_t n);

/** Give a parameter other values: its master is these, and the parameter is
 *  rounded from it (to nearest even; half away from zero under a split master).
 *  Moments stay. Of an optimizer without memory yet, or of none, masters begin
 *  with these values, unless something else is written to the parameter before.
 *  Waits.
 *  @param optimizer  that has the parameters; NULL: none has, or masters are to
 *                    stay as they are
 *  @param name, host, n  as ssq_params_read
 *  @return as ssq_params_read. After SSQ_ERR_NOMEM or an error of the queue
 *          some may have the new values. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_write(ssq_params *params,
                                                   ssq_queue *queue,
                                                   ssq_optimizer *optimizer,
                                                   const char *name,
                                                   const float *host, size_t n);

/* ---- tapes ---- */

/** Make a tape on a queue.
 *  @param params  held; several tapes may share one
 *  @param tape    the caller's; it holds the queue
 *  @return SSQ_ERR_INVALID a NULL, or of different devices; SSQ_ERR_NOMEM. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tape_create(ssq_queue *queue,
                                                  ssq_params *params,
                                                  ssq_tape **tape);

/** Drop a tape; enqueued work is not disturbed. Its vars are gone. */
SSQ_API void ssq_tape_destroy(ssq_tape **tape);

/** Begin a pass: vars of the one before are gone, a latched error too.
 *  @param training  true: ops that lead to a parameter are noted, dropout
 * drops, batch norm uses the batch; false: for evaluation */
SSQ_API void ssq_tape_begin(ssq_tape *tape, bool training);

/** SSQ_OK, or the error that was latched first in this pass; its text becomes
 *  the thread's last error. @return SSQ_ERR_INVALID NULL. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tape_status(const ssq_tape *tape);

/** Names of parameters between push and pop begin with name and a dot. Scopes
 *  nest. A name that is too long is latched. */
SSQ_API void ssq_tape_push(ssq_tape *tape, const char *name);
SSQ_API void ssq_tape_pop(ssq_tape *tape);

/** What is done between pause and resume is not noted: no gradient goes through
 *  it. Pauses nest. */
SSQ_API void ssq_tape_pause(ssq_tape *tape);
SSQ_API void ssq_tape_resume(ssq_tape *tape);

/** Ops between push and pop are cast as another policy says, as torch's
 *  autocast(dtype=..) does. Regions nest; a pass begins outside of all, where
 *  the policy of the parameters counts. Values are cast where an op wants it,
 *  never where a region begins or ends. Parameters that are made in a region of
 *  "float32", or where nothing is cast, are float32; others as the set's policy
 *  says: float32 ones of a set of "float32" are cast for an op of 16 bits once,
 *  and their cast is kept until something writes the parameter.
 *  @param policy  as ssq_policy_from_name, with classes of ops behind it.
 *                 "float32" casts all operands to that, and results are, as
 *                 under Keras's dtype="float32". NULL casts nothing, as torch's
 *                 enabled=False: results have the dtype of the operands, or
 *                 float32 where several differ; those of losses are float32 all
 *                 the same
 *  @note latches: as ssq_policy_from_name; SSQ_ERR_INVALID also a policy with
 *        the word loss_scale, or a pop without a push. Since 0.1. */
SSQ_API void ssq_tape_autocast_push_at(const char *where, ssq_tape *tape,
                                       const char *policy);
#define ssq_tape_autocast_push(...)                                            \
    ssq_tape_autocast_push_at(SSQ_AT, __VA_ARGS__)
SSQ_API void ssq_tape_autocast_pop_at(const char *where, ssq_tape *tape);
#define ssq_tape_autocast_pop(...) ssq_tape_autocast_pop_at(SSQ_AT, __VA_ARGS__)

/** The var that an expression makes in a region of its own, for one op or one
 *  layer: ssq_var_autocast(t, "float32", ssq_nn_linear(t, "fc3", x, 10, NULL)).
 *  The tape is evaluated twice. */
#define ssq_var_autocast(TAPE, POLICY, VAR)                                    \
    (ssq_tape_autocast_push(TAPE, POLICY),                                     \
     ssq_var_autocast_at(SSQ_AT, TAPE, VAR))
SSQ_API ssq_var ssq_var_autocast_at(const char *where, ssq_tape *tape,
                                    ssq_var made);

/** What is made between push and pop is made twice: its memory is free for
 *  others when the pop comes, and the backward does the ops again before it
 *  walks them (Chen et al., 2016, arXiv:1604.06174; torch's checkpoint). The
 *  same bits, since dropout draws the same words and running statistics are
 *  updated once. A pass holds the regions' results, and one region's inside at
 *  a time. Regions nest: the outermost counts. What is not noted stays: in a
 *  pass for evaluation, between pause and resume, and what leads to no
 *  parameter.
 *  @param result  stays, as do vars whose tensor was asked for and the casts
 *                 that autocast has made of vars from outside; SSQ_VAR_NONE:
 *                 none. Others of the region are gone
 *  @return result
 *  @note latches SSQ_ERR_INVALID: a pop without a push, a result that is no var
 *        of this pass; where the backward or ssq_tape_check comes before the
 *        pop. A backward does so also where anything outside of the tape that a
 *        region has read was written since. Since 0.1. */
SSQ_API void ssq_tape_recompute_push(ssq_tape *tape);
SSQ_API ssq_var ssq_tape_recompute_pop_at(const char *where, ssq_tape *tape,
                                          ssq_var result);
#define ssq_tape_recompute_pop(...)                                            \
    ssq_tape_recompute_pop_at(SSQ_AT, __VA_ARGS__)

/** The var that an expression makes in a region of its own, for one layer or
 *  one block: ssq_var_recompute(t, block(t, x)). The tape is evaluated twice.
 */
#define ssq_var_recompute(TAPE, VAR)                                           \
    (ssq_tape_recompute_push(TAPE),                                            \
     ssq_tape_recompute_pop_at(SSQ_AT, TAPE, VAR))

/** Walk the pass backwards: the gradient of loss for each parameter that it
 *  depends on is added to the parameter's, or written where that is clean:
 * after ssq_params_clean, or a trainer's step.
 *  @param loss    one element
 *  @param scaler  its scale on the device is the gradient of loss; NULL: 1
 *  @return what was latched; SSQ_ERR_INVALID a loss that is no var of this
 *          pass, has several elements, or leads to no parameter; a second
 *          backward; SSQ_ERR_UNSUPPORTED an op without a derivative, by name;
 *          SSQ_ERR_INVALID an input, a tensor in an op's options, or a
 *          parameter that was written since an op read whose gradient needs it:
 *          by an op, a host's write, an optimizer or a graph; the queue's
 *          error. Where the walk had begun the parameters are clean
 *          then: sums of earlier passes are gone. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tape_backward(ssq_tape *tape,
                                                    ssq_var loss,
                                                    ssq_scaler *scaler);

/** How ssq_tape_grad goes about it. */
typedef struct ssq_tape_grad_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_tape_grad_args));
    bool create_graph;  /**< the gradients have gradients: what they are made by
                             is noted */
    bool allow_unused;  /**< the gradient of a var that loss does not depend on
                             is SSQ_VAR_NONE, and no error */
    ssq_scaler *scaler; /**< optional: the way back is that of loss times its
                             scale, and the gradients are divided by it at the
                             end, in float32 */
} ssq_tape_grad_args;
#define SSQ_TAPE_GRAD_DEFAULTS sizeof(ssq_tape_grad_args), false, false, NULL
#define SSQ_TAPE_GRAD_INIT                                                     \
    {                                                                          \
        SSQ_TAPE_GRAD_DEFAULTS                                                 \
    }
#define SSQ_TAPE_GRAD(...)                                                     \
    SSQ_ARGS(ssq_tape_grad_args, SSQ_TAPE_GRAD_DEFAULTS, __VA_ARGS__)

/** The gradients of loss as vars: torch's autograd.grad. Parameters' own
 *  gradients are left alone, and the pass goes on. A penalty of gradients (or
 *  any loss that is made of them) is then
 *
 *      ssq_tape_grad(t, loss, &w, 1, SSQ_TAPE_GRAD(.create_graph = true), &g);
 *      loss = ssq_add_var(loss, ssq_sum_var(ssq_square_var(g), NULL));
 *      st = ssq_tape_backward(t, loss, scaler);
 *
 *  Without create_graph nothing is noted: the gradients are those that
 *  ssq_tape_backward makes, bit for bit. With it they are made of ops over
 *  vars, in float32 where a formula wants it, and may be asked for their
 *  gradients in turn; scope, line and name in texts are those of the op that is
 *  gone back through. Regions to be recomputed that it goes through stay.
 *  @param loss   one element
 *  @param vars   count of them, that loss depends on: parameters
 *                (ssq_var_param, ssq_var_named), ssq_var_watch's, or what was
 *                made of those
 *  @param args   NULL all defaults
 *  @param grads  out, count of them; may be vars. Each of its var's shape and
 *                dtype; float32 with a scaler, or where the set's gradients
 *                are. Inert where something goes wrong
 *  @note latches: as ssq_tape_backward; SSQ_ERR_INVALID a NULL, a wrong
 *        struct_size, a var that gradients do not go to (an input, what is
 *        detached or was made in a pause), or one that loss does not depend on;
 *        SSQ_ERR_UNSUPPORTED with create_graph an op between loss and the vars
 *        that has no second derivative, by name. The scale does not count as
 *        used. Since 0.1. */
SSQ_API void ssq_tape_grad_at(const char *where, ssq_tape *tape, ssq_var loss,
                              const ssq_var *vars, size_t count,
                              const ssq_tape_grad_args *args, ssq_var *grads);
#define ssq_tape_grad(...) ssq_tape_grad_at(SSQ_AT, __VA_ARGS__)

/** Would ssq_tape_backward(tape, loss, ..) run? Walks the pass in a dry
 * capture, which runs nothing and compiles nothing. Finds ops whose derivative
 * this device refuses for its dtypes or shapes, and operands that were written
 * since they were read. The pass does not change, and may go on. Gradients of
 * parameters are created, without contents.
 *  @return SSQ_OK; what was latched; as ssq_tape_backward, with the line,
 * scope, op and shapes of the last such op of the pass and how many more there
 *          are: each is a warning for the log (SSQ_VERBOSE=autograd). An op
 *          that would run on the host (host_fallback) counts as refused. Since
 *          0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tape_check(ssq_tape *tape, ssq_var loss);

/** The next backward writes gradients, and does not add to them: torch's
 *  zero_grad, without writing zeros. Gradients that the next backward does not
 *  reach are zeroed there. */
SSQ_API void ssq_params_clean(ssq_params *params);

/** How much a tape uses; filled by ssq_tape_stats_get. */
typedef struct ssq_tape_stats {
    size_t struct_size;
    uint32_t vars, nodes;       /**< of this pass */
    uint64_t bytes, peak_bytes; /**< of device memory in this pass: now, most */
    uint64_t device_bytes;      /**< that the tape has taken from the device */
    uint64_t passes;            /**< begun */
    uint64_t device_allocations; /**< since the tape was made */
    uint64_t host_allocations;   /**< of the tape's own, likewise */
    uint64_t replayed; /**< passes of a trainer that were launched as graphs */
} ssq_tape_stats;
#define SSQ_TAPE_STATS_INIT                                                    \
    {                                                                          \
        sizeof(ssq_tape_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0                      \
    }

/** @return SSQ_ERR_INVALID a NULL or wrong struct_size. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tape_stats_get(const ssq_tape *tape,
                                                     ssq_tape_stats *stats);

/* ---- vars ---- */

/** A tensor of the caller's as a var. It is held until the pass ends. Where it
 *  is written before a backward that reads it, that is refused; other parts of
 *  its buffer may be. No gradient goes to it. */
SSQ_API ssq_var ssq_var_input_at(const char *where, ssq_tape *tape,
                                 const ssq_tensor *tensor);
#define ssq_var_input(...) ssq_var_input_at(SSQ_AT, __VA_ARGS__)

/** How a parameter is made where there is none of its name. */
typedef struct ssq_param_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_param_args));
    int rank;
    int64_t shape[SSQ_MAX_RANK];
    ssq_init_kind init; /**< and the rest as ssq_init_args has it */
    ssq_fan fan;
    double value, gain;
    const char *nonlinearity;
    double slope;
    bool full;  /**< float32 under every policy */
    bool state; /**< no gradient: running statistics, tables */
} ssq_param_args;
#define SSQ_PARAM_DEFAULTS                                                     \
    sizeof(ssq_param_args), 0, {0}, SSQ_INIT_ZEROS, SSQ_FAN_IN, 0.0, 0.0,      \
        NULL, 0.0, false, false
#define SSQ_PARAM_INIT                                                         \
    {                                                                          \
        SSQ_PARAM_DEFAULTS                                                     \
    }
#define SSQ_PARAM(...) SSQ_ARGS(ssq_param_args, SSQ_PARAM_DEFAULTS, __VA_ARGS__)

/** The parameter of a name, scopes before it: made and initialised at the first
 *  use, looked up later, which checks the shape. */
SSQ_API ssq_var ssq_var_param_at(const char *where, ssq_tape *tape,
                                 const char *name, const ssq_param_args *args);
#define ssq_var_param(...) ssq_var_param_at(SSQ_AT, __VA_ARGS__)

/** The parameter of a whole name, whatever the scope, that is there already: as
 *  layers have made them. Latches SSQ_ERR_NOT_FOUND. Since 0.1. */
SSQ_API ssq_var ssq_var_named_at(const char *where, ssq_tape *tape,
                                 const char *name);
#define ssq_var_named(...) ssq_var_named_at(SSQ_AT, __VA_ARGS__)

/** The tensor of a var, valid until the next begin; NULL for one that is inert,
 *  of another pass, or released by a backward. Asked for before the backward,
 *  it stays. Owned by the tape: not to be destroyed or written. */
SSQ_API const ssq_tensor *ssq_var_tensor(ssq_var var);

/** Dimensions of a var; 0 for one that is inert or of another pass. */
SSQ_API int ssq_var_rank(ssq_var var);

/** Size of dimension i, as ssq_tensor_size; 0 likewise. */
SSQ_API int64_t ssq_var_size(ssq_var var, int i);

/** The same value, through which no gradient goes: torch's detach. */
SSQ_API ssq_var ssq_var_detach_at(const char *where, ssq_var x);
#define ssq_var_detach(...) ssq_var_detach_at(SSQ_AT, __VA_ARGS__)

/** The same value as a beginning, to which ssq_tape_grad makes gradients: what
 *  is done with it is noted, and nothing before it is: torch's
 *  detach().requires_grad_(). ssq_tape_backward makes none for it.
 *  @param x  a var of floats, an input mostly. Since 0.1. */
SSQ_API ssq_var ssq_var_watch_at(const char *where, ssq_var x);
#define ssq_var_watch(...) ssq_var_watch_at(SSQ_AT, __VA_ARGS__)

/** The same elements in another dtype: ssq_cast, to nearest even. */
SSQ_API ssq_var ssq_var_cast_at(const char *where, ssq_var x, ssq_dtype dtype);
#define ssq_var_cast(...) ssq_var_cast_at(SSQ_AT, __VA_ARGS__)

/** The same elements in another shape, as ssq_tensor_reshape: one size may be
 *  -1. Without a copy. */
SSQ_API ssq_var ssq_var_reshape_at(const char *where, ssq_var x, int rank,
                                   const int64_t *shape);
#define ssq_var_reshape(...) ssq_var_reshape_at(SSQ_AT, __VA_ARGS__)

/** Dimension i is dimension axes[i] of x; NULL reverses all. Without a copy. */
SSQ_API ssq_var ssq_var_transpose_at(const char *where, ssq_var x,
                                     const int *axes);
#define ssq_var_transpose(...) ssq_var_transpose_at(SSQ_AT, __VA_ARGS__)

/** Elements start, start + step, ... < stop of a dimension, as
 *  ssq_tensor_slice: a negative axis counts from the end, and 0 <= start <=
 *  stop <= its size. Without a copy. What is not in the slice gets a gradient
 *  of 0. */
SSQ_API ssq_var ssq_var_slice_at(const char *where, ssq_var x, int axis,
                                 int64_t start, int64_t stop, int64_t step);
#define ssq_var_slice(...) ssq_var_slice_at(SSQ_AT, __VA_ARGS__)

/** Dimensions of size 1 repeated, and leading ones added, as
 *  ssq_tensor_broadcast. Without a copy; the gradient is the sum over what was
 *  repeated. */
SSQ_API ssq_var ssq_var_broadcast_at(const char *where, ssq_var x, int rank,
                                     const int64_t *shape);
#define ssq_var_broadcast(...) ssq_var_broadcast_at(SSQ_AT, __VA_ARGS__)

/** Vars one after the other along an axis: ssq_concat.
 *  @param x     n of them, at least 1, the same in all sizes but that of axis,
 *               of one tape; one may stand there several times. Read at the
 *               call. The result is float32 where their dtypes differ
 *  @param axis  negative: from the end */
SSQ_API ssq_var ssq_var_concat_at(const char *where, const ssq_var *x, size_t n,
                                  int axis);
#define ssq_var_concat(...) ssq_var_concat_at(SSQ_AT, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
