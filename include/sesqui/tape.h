/* SPDX-License-Identifier: Apache-2.0 */
/* tape.h - automatic differentiation: a tape, its vars, and parameters by name.
 *
 * A tape records the ops that are called on vars and differentiates them
 * backwards. A pass is what happens between two calls of ssq_tape_begin: a
 * forward part, then at most one ssq_tape_backward.
 *
 *     ssq_tape_begin(tape, true);
 *     ssq_var h = ssq_relu_var(ssq_nn_linear(tape, "fc1", x, 512, NULL));
 *     ssq_var loss = ssq_cross_entropy_var(ssq_nn_linear(tape, "fc2", h, 10,
 *                                          NULL), SSQ_CROSS_ENTROPY(
 *                                          .target = labels));
 *     st = ssq_tape_backward(tape, loss, scaler);
 *
 * A trainer (trainer.h) makes these calls and steps an optimizer.
 *
 * Vars. A var belongs to the pass that created it. In a later pass it is
 * refused with SSQ_ERR_INVALID. So is a var that the backward or a region to be
 * recomputed has released. A var that is a view of x is released with x. A call
 * that returns no status and gets no tape, for example NULL or only
 * SSQ_VAR_NONE, does nothing. Vars that it returns are inert.
 *
 * Only ops that depend on a parameter or a watched var are recorded. Ops, casts
 * and gradients are calls of sesqui/ops.h, in order on the tape's queue.
 *
 * Errors are latched. The tape keeps the first error of a pass with its op, its
 * scope and the program's line; calls without an _at form have no line. Later
 * calls of the pass enqueue nothing. Vars that they return are inert: they have
 * no tensor. ssq_tape_backward and ssq_tape_status return the error, so that
 * one check per pass suffices.
 *
 * Memory. The tape owns the device memory of the results and gradients of a
 * pass, and reuses it in the next pass. The memory is not free for other
 * objects before the tape is destroyed. Parameters, their gradients and the
 * casts that passes share belong to the set. In a pass with the ops and shapes
 * of an earlier pass, the tape allocates no device memory (ssq_tape_stats_get).
 *
 * Writes between forward and backward. If an input, a parameter or a tensor in
 * options is written after an op has read it, and the backward pass needs it,
 * the backward fails. The message has the line of the op that has read it, the
 * input's line or the parameter's name, and the op that wrote it.
 *
 * If the pass has used a cast of a parameter, the backward fails only if the
 * cast was made again. The message then names neither the parameter nor the op
 * that wrote it.
 *
 * Two kinds of writes to memory that the program has lent are not noticed: by
 * its own code, also through a driver, and by the library through another
 * buffer on the same bytes, for example a second import.
 *
 * Captures. Create tapes and parameters before a graph is captured. While the
 * queue captures a graph, or the program captures its stream (cuda.h),
 * ssq_tape_create returns SSQ_ERR_INVALID, and a layer that needs a new
 * parameter latches it. Below, both are meant by "a graph is being captured".
 *
 * A launch writes the memory of the captured pass, which later passes of the
 * tape use, too. Do not launch between the forward part and the backward of
 * another pass: its values are lost, and this is not noticed. In each launch, a
 * captured backward adds to a gradient or overwrites it, as it would have done
 * at the capture. A graph that adds is refused while the gradient is clean. The
 * capture itself changes no gradient; after a launch they count as written.
 *
 * A tape, its queue and its parameters are one object for @threads. Tapes that
 * share parameters must use the same queue, or the program must synchronise
 * between their uses. No state is global.
 *
 * @sync async
 * @threads object */
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

/** A value of a pass. May be copied. */
typedef struct ssq_var {
    ssq_tape *tape;    /**< NULL: not a var */
    uint32_t id, pass; /**< private to the tape */
} ssq_var;

/** Marks an optional operand that is not used. */
#ifdef __cplusplus
#define SSQ_VAR_NONE (ssq_var{nullptr, 0, 0})
#else
#define SSQ_VAR_NONE ((ssq_var){NULL, 0, 0})
#endif

/** The caller's place in the program, for messages: "net.c:12". Functions that
 *  end in _at take it as `where`: a string that must not be NULL (this is not
 *  checked) and must live until the pass ends. The macros pass it. */
#define SSQ_AT_TEXT(LINE) #LINE
#define SSQ_AT_LINE(LINE) SSQ_AT_TEXT(LINE)
#define SSQ_AT            __FILE__ ":" SSQ_AT_LINE(__LINE__)

/* ---- parameters ---- */

/** Size of a parameter's name in bytes, with scopes and the final 0. */
#define SSQ_PARAM_NAME 128

/** Options of a parameter set. */
typedef struct ssq_params_options {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_params_options));
    uint64_t seed SSQ_DEFAULT(0); /**< of initial values, and of the dropout of
                        layers. Initial values of a parameter depend on the
                        seed and its name only, not on the other ones. Loading
                        a checkpoint replaces the seed */
    bool float32_gradients
        SSQ_DEFAULT(false); /**< gradients of 16-bit parameters are float32:
              twice the memory, and sums over passes are more accurate */
} ssq_params_options;
#define SSQ_PARAMS_OPTIONS_INIT                                                \
    {                                                                          \
        sizeof(ssq_params_options), 0, false                                   \
    }

/** Create an empty set of parameters, to which layers add theirs.
 *  @param policy   as in ssq_policy_from_name; NULL: "float32". Parameters have
 *                  its compute dtype, except full ones (norms) and those that
 *                  are created in a region of "float32" or NULL, which are
 *                  float32. By default the optimizer keeps float32 masters
 *                  (ssq_master_kind). The word loss_scale is checked and
 *                  ignored: a trainer or the program creates the scaler
 *  @param options  copied; NULL: all defaults
 *  @param params   out: owned by the caller; release it with
 *                  ssq_params_destroy(). It holds the device
 *  @return as ssq_policy_from_name; SSQ_ERR_DEVICE also in a child of fork that
 *          cannot use the device
 *  @sync host
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_params_create(ssq_device *device, const char *policy,
                  const ssq_params_options *options, ssq_params **params);

/** Destroy a set, but not the set of a trainer. Tapes and optimizers that use
 *  it hold what they need, and can still be used.
 *  @sync host, except that memory may be freed (ssq_buffer_destroy) */
SSQ_API void ssq_params_destroy(ssq_params **params);

/** Return the number of parameters, with states; 0 for NULL.
 *  @sync host */
SSQ_API size_t ssq_params_count(const ssq_params *params);

/** Description of a parameter; filled by ssq_params_get. The set owns what it
 *  points to. All of it is valid until the parameter is removed or the set
 *  destroyed. tensor and grad also become invalid by ssq_params_to_float32, by
 *  ssq_trainer_end, and when the training begins again after it. */
typedef struct ssq_param_info {
    size_t struct_size;
    const char *name;         /**< whole name, with scopes */
    const ssq_tensor *tensor; /**< its value */
    const ssq_tensor *grad;   /**< its gradient. NULL if it is a state, for
                                   example running statistics, or if neither a
                                   backward nor ssq_params_optimize has set it
                                   yet */
} ssq_param_info;
#define SSQ_PARAM_INFO_INIT                                                    \
    {                                                                          \
        sizeof(ssq_param_info), NULL, NULL, NULL                               \
    }

/** Describe parameter i, in order of creation.
 *  @param info  in: struct_size; out: the rest
 *  @return SSQ_ERR_INVALID  i is not below ssq_params_count()
 *  @sync host */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_get(const ssq_params *params,
                                                 size_t i,
                                                 ssq_param_info *info);

/** Describe the parameter of a name.
 *  @param name  whole, with scopes, for example "block3.fc1.weight"
 *  @return SSQ_ERR_NOT_FOUND  no such parameter; the message suggests a similar
 *                             name, if there is one
 *  @sync host */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_find(const ssq_params *params,
                                                  const char *name,
                                                  ssq_param_info *info);

/** Allow all passes to create parameters whose names match a pattern.
 *
 *  A pass for training creates a parameter when a layer first asks for its
 *  name. It stops doing so after the set was loaded from a file or a trainer's
 *  first ssq_trainer_step. A pass for evaluation creates none. A mistyped name
 *  is therefore an error at the layer's line, not a new layer with random
 *  values. The message suggests a similar name, if there is one.
 *
 *  After this call all passes also create parameters that match, until the next
 *  call. For example, before weights are loaded into an empty set:
 *
 *      CHECK(ssq_params_allow(params, "*"));
 *      ssq_tape_begin(tape, false);
 *      (void)net(tape, x);                      // creates the parameters
 *      CHECK(ssq_params_allow(params, NULL));
 *      CHECK(ssq_params_load(params, queue, "weights.safetensors", NULL));
 *
 *  For a new head of a loaded model, use `"head.*"`.
 *  @param pattern  as in ssq_params_optimize; copied. NULL: no name
 *  @return as every call
 *  @sync host
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_allow(ssq_params *params,
                                                   const char *pattern);

/** Remove parameters and their gradients from a set. This ends the current pass
 *  of its tapes: ssq_var_param, ssq_var_named, the backward and casts of
 *  parameters then latch SSQ_ERR_INVALID. Begin a new pass. Structs of
 *  ssq_params_get that describe a removed parameter become invalid, and later
 *  parameters have smaller indices.
 *  @param pattern  as in ssq_params_optimize; not NULL
 *  @param removed  out, optional: the number of removed parameters
 *  @return
 *   - SSQ_ERR_INVALID    a matching parameter was given to an optimizer by
 *                        ssq_params_optimize; the optimizer may be destroyed
 *                        since. A trainer's first ssq_trainer_step or load
 *                        gives all parameters, also states
 *   - SSQ_ERR_NOT_FOUND  no name matches
 *   After an error nothing is removed.
 *  @sync host, except that memory may be freed (ssq_buffer_destroy)
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_remove(ssq_params *params,
                                                    const char *pattern,
                                                    size_t *removed);

/** Give an optimizer the parameters whose names match, in order of creation.
 *  States are left out. A parameter that it already has stays in its group.
 *
 *  For example, "*.bias" matches "fc1.bias". A parameter whose gradient no
 *  backward has written gets a gradient of zeros.
 *  @param pattern  as in a shell: * matches any characters, ? matches one; NULL
 *                  matches all names
 *  @param group    NULL: the default group
 *  @return
 *   - SSQ_ERR_NOT_FOUND  no name matches, or only names of states
 *   - otherwise as ssq_optimizer_add. For example, SSQ_ERR_INVALID after the
 *     optimizer's first use, if a parameter is new to it
 *   After an error the optimizer has no new parameter. Gradients may have been
 *   created.
 *  @sync waits if a parameter has no gradient yet, for a fill. If a backward
 *        has failed before, then for the work of all queues, too */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_optimize(ssq_params *params,
                                                      ssq_optimizer *optimizer,
                                                      const char *pattern,
                                                      ssq_group *group);

/** Convert every 16-bit parameter and state to float32, with the values that
 *  ssq_params_read returns. Use it when training is over.
 *
 *  A parameter that was converted has a new tensor and no gradient. The
 *  optimizer keeps the old tensor, so its steps no longer change the parameter.
 *  A parameter that was float32 already keeps its tensor and its gradient, and
 *  a step still changes it. A pass in progress keeps the old tensors that it
 *  has used: begin a new pass. So do graphs that were captured before: capture
 *  again. (ssq_trainer_end makes this call, and a trainer can train again.)
 *
 *  If the optimizer is distributed, all ranks must make this call.
 *  @param optimizer  its masters are used; NULL: none are
 *  @return
 *   - SSQ_ERR_INVALID  a graph is being captured
 *   - SSQ_ERR_COMM     another rank has ended or did not make this call
 *   After an error all parameters of this rank are as before; other ranks may
 *   have converted theirs.
 *  @sync waits if masters are split (SSQ_MASTER_SPLIT)
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_to_float32(
    ssq_params *params, ssq_queue *queue, ssq_optimizer *optimizer);

/** Size of a parameter set; filled by ssq_params_stats_get. */
typedef struct ssq_params_stats {
    size_t struct_size;
    size_t params, states;   /**< parameters with a gradient; others without */
    uint64_t elements;       /**< of params and states */
    uint64_t trainable;      /**< elements of params alone */
    uint64_t bytes;          /**< of the values of params and states */
    uint64_t gradient_bytes; /**< of all gradients, also if only
                                  ssq_tape_check has created them */
} ssq_params_stats;
#define SSQ_PARAMS_STATS_INIT                                                  \
    {                                                                          \
        sizeof(ssq_params_stats), 0, 0, 0, 0, 0, 0                             \
    }

/** Report the size of a set.
 *  @param stats  in: struct_size; out: the rest
 *  @return as every call
 *  @sync host
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_stats_get(const ssq_params *params,
                                                       ssq_params_stats *stats);

/** Read the float32 values of a parameter. A float32 parameter has its own
 *  values, also with flat_master. A 16-bit parameter has the values of its
 *  master. Without a master it has the values that it was rounded from, by
 *  ssq_params_write, a load or .from of a trainer. It has its own values if
 *  none of these has rounded it, if it was written since, or if `optimizer` has
 *  it without a master (SSQ_MASTER_NONE) and was used.
 *
 *  If the optimizer is distributed, all ranks must make this call.
 *  @param optimizer  its masters are read; NULL: none are
 *  @param name       whole, with scopes. NULL: all parameters and states of the
 *                    set, one after the other in order of creation. (torch's
 *                    parameters_to_vector leaves states out.)
 *  @param host       out: n floats, row-major
 *  @param n          number of elements; must be exact. With NULL it is
 *                    ssq_params_stats.elements
 *  @return
 *   - SSQ_ERR_NOT_FOUND  no such name
 *   - SSQ_ERR_INVALID    n is not the number of elements; host is NULL, also
 *                        if n is 0; a graph is being captured
 *   - SSQ_ERR_COMM       the optimizer is distributed, and its group has ended
 *   After SSQ_ERR_COMM, SSQ_ERR_NOMEM or the queue's error host may be written
 *   in part. If the optimizer is distributed and the call fails on a rank,
 *   other ranks may wait for it until the timeout.
 *  @sync waits for the queue
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_read(
    const ssq_params *params, ssq_queue *queue, const ssq_optimizer *optimizer,
    const char *name, float *host, size_t n);

/** Write the values of a parameter. Its master gets these values, and the
 *  parameter is rounded from them: to nearest even, or half away from zero with
 *  a split master. A split master exists from the optimizer's first use on,
 *  which rounds the parameter again. Moments do not change.
 *
 *  If no optimizer has it, or `optimizer` has it and was not used yet, its
 *  master will start from these exact values. This holds until something else
 *  writes the parameter. Ranks of a distributed optimizer write equal values.
 *  @param optimizer  the one that has the parameters; pass it if there is one.
 *                    NULL: none has them, or float32 masters must not change.
 *                    In the second case the next step overwrites parameters
 *                    that have such a master. A split master has the written
 *                    parameter as its upper half, and keeps its lower half.
 *                    Parameters without a master keep the values.
 *  @param name, host, n  as in ssq_params_read
 *  @return as ssq_params_read without SSQ_ERR_COMM: the call needs no other
 *          rank. After SSQ_ERR_NOMEM or the queue's error some parameters or
 *          masters may have the new values. A 16-bit parameter may have lost
 *          the values that it was rounded from.
 *  @sync waits for the queue
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_params_write(ssq_params *params,
                                                   ssq_queue *queue,
                                                   ssq_optimizer *optimizer,
                                                   const char *name,
                                                   const float *host, size_t n);

/* ---- tapes ---- */

/** Create a tape on a queue. Until the first ssq_tape_begin it is in a pass for
 *  evaluation.
 *  @param params  held; several tapes may share a set
 *  @param tape    out: owned by the caller; release it with ssq_tape_destroy().
 *                 It holds the queue
 *  @return SSQ_ERR_INVALID  a graph is being captured on the queue */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tape_create(ssq_queue *queue,
                                                  ssq_params *params,
                                                  ssq_tape **tape);

/** Destroy a tape. Its vars and their tensors become invalid. Enqueued work is
 *  finished normally. Graphs that were captured with it can still be launched.
 *  @sync host, except that memory may be freed (ssq_buffer_destroy) */
SSQ_API void ssq_tape_destroy(ssq_tape **tape);

/** Begin a pass. Vars of the previous pass become invalid, and its latched
 *  error is cleared. Scopes, pauses and regions that are still open end. NULL
 *  does nothing.
 *  @param training  true: ops that depend on a parameter or a watched var are
 *                   recorded, ssq_nn_dropout drops, and ssq_nn_batch_norm uses
 *                   the batch's statistics. false: a pass for evaluation. It
 *                   records nothing and creates no parameters
 *                   (ssq_params_allow). ssq_dropout_var, ssq_batch_norm_var
 *                   and the dropout of ssq_attention_var do not depend on it
 *  @sync host, except that memory may be freed (ssq_buffer_destroy) */
SSQ_API void ssq_tape_begin(ssq_tape *tape, bool training);

/** Return SSQ_OK, or the error that was latched first in this pass. Its text
 *  becomes the thread's last error.
 *  @sync host */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tape_status(const ssq_tape *tape);

/** Prefix the names of parameters between push and pop with name and a dot.
 *  Scopes nest. For example, "block3" and then "fc1.weight" make
 *  "block3.fc1.weight". NULL as the tape does nothing.
 *
 *  Latches SSQ_ERR_INVALID: name is NULL or empty, or has a space, a control
 *  character, * or ?; all scopes with their dots are longer than
 *  SSQ_PARAM_NAME - 1; a pop without a push. name is copied.
 *  @sync host */
SSQ_API void ssq_tape_push(ssq_tape *tape, const char *name);
SSQ_API void ssq_tape_pop(ssq_tape *tape);

/** Do not record ops between pause and resume: no gradient flows through them.
 *  Pauses nest. A resume without a pause latches SSQ_ERR_INVALID.
 *  @sync host */
SSQ_API void ssq_tape_pause(ssq_tape *tape);
SSQ_API void ssq_tape_resume(ssq_tape *tape);

/** Cast the operands of ops between push and pop by another policy, as torch's
 *  autocast(dtype=..). Tensors in options are never cast. Regions nest. A pass
 *  begins outside of all regions, with the policy of the parameters. Values are
 *  cast when an op needs it, never when a region begins or ends.
 *
 *  Parameters that are created in a region of "float32" or NULL are float32.
 *  Others have the dtype of the set's policy. If an op casts a parameter, the
 *  set keeps the cast until something writes the parameter. It keeps one cast
 *  of each parameter; casts to another dtype, on another queue, and in a
 *  capture, end with the pass.
 *  @param policy  as in ssq_policy_from_name, with op classes; copied
 *                  - "float32" casts all operands to float32, as Keras's
 *                    dtype="float32". Only biases of matmuls, convolutions,
 *                    LSTMs and GRUs keep their dtype. Results are float32, and
 *                    op classes in the text have no effect.
 *                  - NULL casts nothing, as torch's enabled=False. Losses are
 *                    float32. Other results have the dtype of the operands. If
 *                    that differs, pow and ops of the default class promote or
 *                    half return float32, and others the dtype of the first
 *                    operand, for example of x in a norm. An op that does not
 *                    accept the dtypes latches its error, as attention does.
 *  @note Latches the errors of ssq_policy_from_name, and SSQ_ERR_INVALID if
 *        policy has the word loss_scale, or for a pop without a push. Since
 *        0.1.
 *  @sync host */
SSQ_API void ssq_tape_autocast_push_at(const char *where, ssq_tape *tape,
                                       const char *policy);
#define ssq_tape_autocast_push(...)                                            \
    ssq_tape_autocast_push_at(SSQ_AT, __VA_ARGS__)
SSQ_API void ssq_tape_autocast_pop_at(const char *where, ssq_tape *tape);
#define ssq_tape_autocast_pop(...) ssq_tape_autocast_pop_at(SSQ_AT, __VA_ARGS__)

/** Evaluate an expression in an autocast region, for one op or one layer:
 *  ssq_var_autocast(t, "float32", ssq_nn_linear(t, "fc3", x, 10, NULL)). TAPE
 *  is evaluated twice. The _at function ends the region, as
 *  ssq_tape_autocast_pop, and returns made. The result is inert after an error,
 *  for example one of ssq_tape_autocast_push, and if TAPE is NULL. */
#define ssq_var_autocast(TAPE, POLICY, VAR)                                    \
    (ssq_tape_autocast_push(TAPE, POLICY),                                     \
     ssq_var_autocast_at(SSQ_AT, TAPE, VAR))
SSQ_API ssq_var ssq_var_autocast_at(const char *where, ssq_tape *tape,
                                    ssq_var made);

/** Recompute the values between push and pop in the backward pass, to save
 *  memory (Chen et al., 2016, arXiv:1604.06174; torch's checkpoint). Their
 *  memory is released at the pop, and the backward runs the ops again.
 *
 *  The bits are the same: dropout draws the same numbers, and running
 *  statistics are updated once. A pass then holds the results of all regions
 *  and the values inside one region at a time. Regions nest: the pop of an
 *  inner region releases nothing, and only the outermost one counts. Values of
 *  ops that are not recorded are kept: in a pass for evaluation, in a pause,
 *  and if they depend on no parameter and no watched var.
 *  @param result  the value that is kept, with its memory. Vars for which
 *                 ssq_var_tensor was called before the pop, and autocast's
 *                 casts of vars from outside, are kept too. Other results of
 *                 recorded ops become invalid, and views of them.
 *                 SSQ_VAR_NONE: no result
 *  @return result; inert after an error
 *  @note Latches SSQ_ERR_INVALID: a pop without a push; result is not a var of
 *        this pass. ssq_tape_backward, ssq_tape_grad and ssq_tape_check fail
 *        with SSQ_ERR_INVALID before the pop. So do they if memory outside of
 *        the tape that the region has read was written since. Since 0.1.
 *  @sync host, and the backward enqueues the ops again */
SSQ_API void ssq_tape_recompute_push(ssq_tape *tape);
SSQ_API ssq_var ssq_tape_recompute_pop_at(const char *where, ssq_tape *tape,
                                          ssq_var result);
#define ssq_tape_recompute_pop(...)                                            \
    ssq_tape_recompute_pop_at(SSQ_AT, __VA_ARGS__)

/** Evaluate an expression in a region to be recomputed, for one layer or one
 *  block: ssq_var_recompute(t, block(t, x)). TAPE is evaluated twice. */
#define ssq_var_recompute(TAPE, VAR)                                           \
    (ssq_tape_recompute_push(TAPE),                                            \
     ssq_tape_recompute_pop_at(SSQ_AT, TAPE, VAR))

/** Run the backward pass: compute the gradient of loss for each parameter that
 *  it depends on. The gradient is added to the parameter's gradient, or
 *  overwrites it after ssq_params_clean or a trainer's step. Gradients of the
 *  set's other parameters become zeros if they are clean. A gradient has the
 *  dtype of its var, except with float32_gradients.
 *
 *  The results of recorded ops are released, except loss and vars for which
 *  ssq_var_tensor was called before.
 *  @param loss    a single element, of this pass. It must be the result of an
 *                 op: a parameter itself is refused
 *  @param scaler  its scale on the device is the gradient of loss, and then
 *                 counts as used (scaler.h); NULL: 1
 *  @return
 *   - the error that the tape has latched
 *   - SSQ_ERR_INVALID      loss is not a var of this pass, is not a single
 *                          element, depends on no parameter, or was released
 *                          by a region to be recomputed; a second backward of
 *                          the pass; the pass is for evaluation; a region to be
 *                          recomputed has no pop; parameters were removed since
 *                          the pass began
 *   - SSQ_ERR_INVALID      an input, a tensor in an op's options or a parameter
 *                          was written since an op has read it: by an op, a
 *                          host write, an optimizer or a graph
 *   - SSQ_ERR_UNSUPPORTED  the device refuses the derivative of an op; the
 *                          message names the op
 *   - otherwise the error of a backward op, for example SSQ_ERR_COMM of a batch
 *     norm over ranks
 *   The tape latches these errors, and the scale does not count as used. If
 *   gradients may have been written, all gradients of the set are clean: sums
 *   of earlier passes are lost. If the backward was the first to write a
 *   gradient, ssq_param_info.grad is NULL again. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tape_backward(ssq_tape *tape,
                                                    ssq_var loss,
                                                    ssq_scaler *scaler);

/** Options of ssq_tape_grad. */
typedef struct ssq_tape_grad_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_tape_grad_args));
    bool create_graph;  /**< record the ops that make the gradients, so that
                             gradients of them can be computed */
    bool allow_unused;  /**< the gradient of a var that loss does not depend on
                             is SSQ_VAR_NONE, not an error */
    ssq_scaler *scaler; /**< optional: differentiate loss times its scale, then
                             multiply the gradients by 1/scale, in float32 */
} ssq_tape_grad_args;
#define SSQ_TAPE_GRAD_DEFAULTS sizeof(ssq_tape_grad_args), false, false, NULL
#define SSQ_TAPE_GRAD_INIT                                                     \
    {                                                                          \
        SSQ_TAPE_GRAD_DEFAULTS                                                 \
    }
#define SSQ_TAPE_GRAD(...)                                                     \
    SSQ_ARGS(ssq_tape_grad_args, SSQ_TAPE_GRAD_DEFAULTS, __VA_ARGS__)

/** Compute gradients of loss as vars, as torch's autograd.grad. The gradients
 *  of parameters do not change, and the pass may continue. It may be called
 *  several times in a pass, but not after ssq_tape_backward. For example, a
 *  gradient penalty, or any other loss that is made of gradients:
 *
 *      ssq_tape_grad(t, loss, &w, 1, SSQ_TAPE_GRAD(.create_graph = true), &g);
 *      loss = ssq_add_var(loss, ssq_sum_var(ssq_square_var(g), NULL));
 *      st = ssq_tape_backward(t, loss, scaler);
 *
 *  Without create_graph nothing is recorded, and the gradients have the bits
 *  that ssq_tape_backward computes. With it they are made by ops over vars, in
 *  float32 if a formula needs it, and can be differentiated. Messages name the
 *  scope and line of the op that is differentiated, and the op that failed:
 *  with create_graph it can be one of the formula of a derivative, for example
 *  mul at the line of a silu. With create_graph, regions to be recomputed that
 *  gradients flow through are kept in memory from then on. In a pause nothing
 *  is recorded, also with create_graph.
 *  @param loss   a single element, of this pass
 *  @param vars   count vars that loss depends on: parameters (ssq_var_param,
 *                ssq_var_named), results of ssq_var_watch, or vars made from
 *                these
 *  @param args   NULL: all defaults
 *  @param grads  out: count vars; may be the same array as vars. Each has the
 *                shape and dtype of its var. It is float32 with a scaler, and
 *                for a parameter if the set has float32_gradients. The
 *                gradient of loss itself is float32. All are inert after an
 *                error, or if tape is NULL
 *  @note Latches the errors of ssq_tape_backward, but loss need not depend on a
 *        parameter, and:
 *         - SSQ_ERR_INVALID      vars or grads is NULL, and count is not 0;
 *                                struct_size is wrong; a var is not of this
 *                                pass or cannot have a gradient, for example
 *                                an input or a detached one; loss does not
 *                                depend on a var
 *         - SSQ_ERR_UNSUPPORTED  with create_graph, an op between loss and vars
 *                                has no second derivative; the message names
 *                                it. Such ops are max, min, pooling, attention,
 *                                rotary, lstm, gru, batch norm over ranks,
 *                                group norm of rank 6, and conv_transpose2d if
 *                                output_padding is not below stride
 *        The scale does not count as used. Since 0.1. */
SSQ_API void ssq_tape_grad_at(const char *where, ssq_tape *tape, ssq_var loss,
                              const ssq_var *vars, size_t count,
                              const ssq_tape_grad_args *args, ssq_var *grads);
#define ssq_tape_grad(...) ssq_tape_grad_at(SSQ_AT, __VA_ARGS__)

/** Check whether ssq_tape_backward(tape, loss, ..) would succeed, without
 *  running or compiling anything. It finds ops whose derivative this device
 *  refuses for their dtypes or shapes, and operands that were written since
 *  they were read. With host_fallback an op that would run on the host is
 *  accepted.
 *
 *  The pass does not change and may continue, also after an error: the tape
 *  latches nothing. Gradient tensors of parameters are created, without
 *  contents. Between ssq_graph_begin and ssq_graph_end on the queue, the call
 *  returns SSQ_ERR_INVALID.
 *  @return SSQ_OK, or an error of ssq_tape_backward. If ops are refused, the
 *          message has the line, scope, op and shapes of the last one in the
 *          pass, and the number of other ones. Each of them is logged as a
 *          warning (SSQ_VERBOSE=autograd)
 *  @sync async, for work that a trainer's replay holds back; waits as
 *        ssq_buffer_create, for gradients and regions to be recomputed
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tape_check(ssq_tape *tape, ssq_var loss);

/** Mark all gradients as clean: the next backward overwrites them instead of
 *  adding to them, and zeroes the others. This is torch's zero_grad, without
 *  writing zeros. NULL does nothing. In a capture it takes effect at once, and
 *  stays. But after a captured backward ssq_graph_end undoes it, and each
 *  launch does it.
 *  @sync host */
SSQ_API void ssq_params_clean(ssq_params *params);

/** Figures of a tape; filled by ssq_tape_stats_get. */
typedef struct ssq_tape_stats {
    size_t struct_size;
    uint32_t vars, nodes;       /**< values and recorded ops of this pass */
    uint64_t bytes, peak_bytes; /**< device memory of this pass: now, at most */
    uint64_t device_bytes;      /**< device memory that the tape holds */
    uint64_t passes;            /**< begun since it was created */
    uint64_t device_allocations; /**< since it was created */
    uint64_t host_allocations;   /**< of the tape itself, since then */
    uint64_t replayed; /**< passes that a trainer has launched as graphs */
} ssq_tape_stats;
#define SSQ_TAPE_STATS_INIT                                                    \
    {                                                                          \
        sizeof(ssq_tape_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0                      \
    }

/** Report figures of a tape.
 *  @param stats  in: struct_size; out: the rest
 *  @return as every call
 *  @sync host */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_tape_stats_get(const ssq_tape *tape,
                                                     ssq_tape_stats *stats);

/* ---- vars ---- */

/** Make a var of a tensor of the program. No gradient is computed for it. The
 *  tape holds its memory until the pass ends; the tensor itself may be
 *  destroyed before. Inert, without an error, if tape is NULL.
 *
 *  A backward that needs it fails if it was written since an op has read it.
 *  Other parts of its buffer may be written. A write to elements between those
 *  of the tensor may count (ops.h): to the even ones, if it has the odd ones.
 *
 *  Latches SSQ_ERR_INVALID: tensor is NULL or of another device.
 *  @param tensor  on the tape's device, of any dtype and strides; not NULL
 *  @sync host */
SSQ_API ssq_var ssq_var_input_at(const char *where, ssq_tape *tape,
                                 const ssq_tensor *tensor);
#define ssq_var_input(...) ssq_var_input_at(SSQ_AT, __VA_ARGS__)

/** How a parameter is created if its name does not exist. */
typedef struct ssq_param_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_param_args));
    int rank;
    int64_t shape[SSQ_MAX_RANK];
    ssq_init_kind init; /**< this and the next five as in ssq_init_args */
    ssq_fan fan;
    double value, gain;
    const char *nonlinearity;
    double slope;
    bool full;  /**< float32 under every policy, as parameters of norms */
    bool state; /**< without a gradient: running statistics, tables */
} ssq_param_args;
#define SSQ_PARAM_DEFAULTS                                                     \
    sizeof(ssq_param_args), 0, {0}, SSQ_INIT_ZEROS, SSQ_FAN_IN, 0.0, 0.0,      \
        NULL, 0.0, false, false
#define SSQ_PARAM_INIT                                                         \
    {                                                                          \
        SSQ_PARAM_DEFAULTS                                                     \
    }
#define SSQ_PARAM(...) SSQ_ARGS(ssq_param_args, SSQ_PARAM_DEFAULTS, __VA_ARGS__)

/** Get the parameter of a name, prefixed with the scopes. If it does not exist,
 *  create and initialise it. If it exists, only its shape and state are
 *  compared with args.
 *
 *  Latches:
 *   - SSQ_ERR_INVALID    the parameter has another shape: for example,
 *                        "fc1.weight" as [512,784] and later as [512,10]; it is
 *                        a state and args.state is false, or the reverse; name
 *                        is not valid, or with its scopes too long
 *                        (ssq_tape_push); args is NULL or refused; parameters
 *                        were removed since the pass began; it does not exist,
 *                        and a graph is being captured
 *   - SSQ_ERR_NOT_FOUND  it does not exist, and this pass must not create it
 *                        (ssq_params_allow)
 *   - the errors of ssq_tensor_create and ssq_init: for example,
 *     SSQ_ERR_NOT_FOUND for an unknown nonlinearity. In a trainer with comm
 *     also the error of the copy from rank 0; the parameter then exists */
SSQ_API ssq_var ssq_var_param_at(const char *where, ssq_tape *tape,
                                 const char *name, const ssq_param_args *args);
#define ssq_var_param(...) ssq_var_param_at(SSQ_AT, __VA_ARGS__)

/** Get an existing parameter by its whole name, independent of the scope. For
 *  example, a weight that a layer has created. The name may be that of a state,
 *  which has no gradient. Inert, without an error, if tape is NULL.
 *
 *  Latches:
 *   - SSQ_ERR_NOT_FOUND  it does not exist
 *   - SSQ_ERR_INVALID    name is not valid (ssq_tape_push); parameters were
 *                        removed since the pass began
 *  @sync host
 *  @note Since 0.1. */
SSQ_API ssq_var ssq_var_named_at(const char *where, ssq_tape *tape,
                                 const char *name);
#define ssq_var_named(...) ssq_var_named_at(SSQ_AT, __VA_ARGS__)

/** Return the tensor of a var: owned by the tape, valid until the next begin.
 *  Do not destroy or write it. If it is asked for before the backward, the
 *  backward keeps it.
 *  @return NULL if var is inert or of another pass, or if the backward or a
 *          region to be recomputed has released it
 *  @sync host */
SSQ_API const ssq_tensor *ssq_var_tensor(ssq_var var);

/** Return the number of dimensions of a var; 0 if it is inert or of another
 *  pass. A loss also has 0. A var that was released still has its rank.
 *  @sync host */
SSQ_API int ssq_var_rank(ssq_var var);

/** Return the size of dimension i, as ssq_tensor_size (-1: out of range), also
 *  of a var that was released; 0 if it is inert or of another pass.
 *  @sync host */
SSQ_API int64_t ssq_var_size(ssq_var var, int i);

/** Make a view of x through which no gradient flows: torch's detach.
 *  @sync host */
SSQ_API ssq_var ssq_var_detach_at(const char *where, ssq_var x);
#define ssq_var_detach(...) ssq_var_detach_at(SSQ_AT, __VA_ARGS__)

/** Make a view of x for which ssq_tape_grad can compute gradients: torch's
 *  detach().requires_grad_(). Ops on it are recorded, in a pass for training
 *  and outside of pauses. ssq_tape_backward computes no gradient for it or x.
 *  @param x  a float var; another one latches SSQ_ERR_INVALID
 *  @sync host
 *  @note Since 0.1. */
SSQ_API ssq_var ssq_var_watch_at(const char *where, ssq_var x);
#define ssq_var_watch(...) ssq_var_watch_at(SSQ_AT, __VA_ARGS__)

/** Cast to another dtype, as ssq_cast, to nearest even. If x has the dtype, the
 *  result is x itself. If the pass has cast x to it before, outside of a pause,
 *  and x was not written since, the result is that var.
 *  @param x      of any dtype
 *  @param dtype  SSQ_F32, SSQ_F16 or SSQ_BF16; another one latches
 *                SSQ_ERR_INVALID */
SSQ_API ssq_var ssq_var_cast_at(const char *where, ssq_var x, ssq_dtype dtype);
#define ssq_var_cast(...) ssq_var_cast_at(SSQ_AT, __VA_ARGS__)

/** Reshape, as ssq_tensor_reshape: one size may be -1. The result is a view if
 *  x is contiguous. Otherwise it is a copy: for example, after
 *  ssq_var_transpose.
 *  @param x  of any dtype */
SSQ_API ssq_var ssq_var_reshape_at(const char *where, ssq_var x, int rank,
                                   const int64_t *shape);
#define ssq_var_reshape(...) ssq_var_reshape_at(SSQ_AT, __VA_ARGS__)

/** Permute dimensions: dimension i of the result is dimension axes[i] of x. The
 *  result is a view.
 *  @param x     of any dtype
 *  @param axes  as in ssq_tensor_transpose; NULL reverses all dimensions
 *  @sync host */
SSQ_API ssq_var ssq_var_transpose_at(const char *where, ssq_var x,
                                     const int *axes);
#define ssq_var_transpose(...) ssq_var_transpose_at(SSQ_AT, __VA_ARGS__)

/** Take elements start, start + step, ... < stop of a dimension, as
 *  ssq_tensor_slice. The result is a view. Other elements have gradient 0.
 *  @param x            of any dtype
 *  @param axis         a negative one counts from the end
 *  @param start, stop  0 <= start <= stop <= size of the dimension; step >= 1
 *  @sync host */
SSQ_API ssq_var ssq_var_slice_at(const char *where, ssq_var x, int axis,
                                 int64_t start, int64_t stop, int64_t step);
#define ssq_var_slice(...) ssq_var_slice_at(SSQ_AT, __VA_ARGS__)

/** Repeat dimensions of size 1 and add leading ones, as ssq_tensor_broadcast.
 *  The result is a view. The gradient is the sum over the repeated elements.
 *  @param x  of any dtype
 *  @sync host */
SSQ_API ssq_var ssq_var_broadcast_at(const char *where, ssq_var x, int rank,
                                     const int64_t *shape);
#define ssq_var_broadcast(...) ssq_var_broadcast_at(SSQ_AT, __VA_ARGS__)

/** Concatenate vars along an axis, as ssq_concat.
 *  @param x     n float vars of one tape with equal sizes except along axis;
 *               others latch SSQ_ERR_INVALID. Read during the call; the same
 *               var may occur several times
 *  @param n     at least 1. With 0, or x NULL, nothing is latched, and the
 *               result is inert
 *  @param axis  a negative one counts from the end
 *  @return float32 if the dtypes differ, or as the policy's class of concat
 *          says */
SSQ_API ssq_var ssq_var_concat_at(const char *where, const ssq_var *x, size_t n,
                                  int axis);
#define ssq_var_concat(...) ssq_var_concat_at(SSQ_AT, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
