/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - a training loop in two calls per step.
 *
 *     while (next_batch(&images, &labels)) {
 *         ssq_tape *t = ssq_trainer_begin(trainer);
 *         ssq_var y = net(t, ssq_var_input(t, images));
 *         ssq_var loss = ssq_cross_entropy_var(y,
 *                                 SSQ_CROSS_ENTROPY(.target = labels));
 *         if (ssq_trainer_step(trainer, loss) != SSQ_OK)
 *             return fail(ssq_last_error());
 *     }
 *
 * A trainer owns parameters, a tape, an optimizer and, if the policy needs one
 * or the arguments name one, a loss scaler. The caller can get each of them and
 * use its functions. All passes and steps are enqueued on one queue, in order.
 * The queue and the owned objects belong to the trainer for @threads: only one
 * thread may use them at a time. Below, "a graph is being captured" includes a
 * capture of the queue's stream by the program (cuda.h).
 *
 * Data-parallel training
 *
 * Set .comm, and create one trainer per rank with the same arguments. Each rank
 * trains on its own batch, or on its share of a common batch
 * (ssq_trainer_share).
 *
 *  - Start: parameters are copied from rank 0, as exact float32 values. The
 *    first ssq_trainer_begin copies the existing ones. So does the first one
 *    after a load, ssq_trainer_end or ssq_params_remove: all ranks must make
 *    these three calls before the same pass. A new parameter is copied when a
 *    pass for training creates it, or else by the next ssq_trainer_begin.
 *  - Gradients are summed in float32, first over the passes of a rank, then
 *    over the ranks in the order that comm.h defines. The optimizer receives
 *    the mean over all passes of all ranks. Every rank therefore gets the same
 *    norm and the same overflow flag. Parameters, moments and the scale stay
 *    bit-identical on all ranks.
 *  - With one pass per step the bits equal those of a single trainer that
 *    accumulates the passes of ranks 0, 1, 2, ... in this order.
 *  - The sum overlaps the backward pass (see .bucket_bytes).
 *  - All ranks must run the same number of passes. A rank that has run out of
 *    batches calls ssq_trainer_idle. If ranks do not know each other's batch
 *    counts, use ssq_trainer_announce and ssq_trainer_next.
 *  - Random layers, for example dropout, draw different numbers on each rank:
 *    those of a single trainer that runs the ranks' passes in turn.
 *  - Several trainers may share a communicator. All ranks must then step them
 *    in the same order. This is not checked if their parameters have the same
 *    sizes.
 *
 * Comparison between ranks. The first ssq_trainer_step compares arguments,
 * parameter names, shapes and groups, options, schedules, the scaler and the
 * loaded checkpoint. So does the first one after ssq_trainer_schedule,
 * ssq_trainer_set_scaler or a load. All ranks must make these three calls
 * before the same pass.
 *
 * If something differs, the queue fails with SSQ_ERR_COMM on every rank, and
 * the message names the first difference. For example, lr 0.1 on rank 0 and
 * 0.01 on rank 1. Options that the optimizer's functions change later are not
 * compared; set .compare_every to detect such drift.
 *
 * End of the group. A rank that exits, times out, or fails after one of its
 * buckets was sent ends the group. Later calls return SSQ_ERR_COMM. Create a
 * new communicator and trainer, and load the last checkpoint.
 *
 * Class labels. Targets of ssq_cross_entropy_var and ssq_nll_loss_var must be
 * in 0 .. classes - 1, or ignore_index. The device counts other ones. A step
 * with such a label in any of its passes is skipped on all ranks: parameters,
 * moments and the loss scale do not change.
 *
 * The error is SSQ_ERR_INVALID, for example "row 3 of a loss has the label 7,
 * expected 0 to 1, of 2 classes". The row is a position in the row-major order
 * of the targets. On other ranks the message says that another rank has such
 * labels. Labels of an evaluation are reported too, but skip nothing.
 *
 *  - No call waits for this error. ssq_trainer_step, _idle, _flush, _loss,
 *    _poll and _save and ssq_queue_sync return it once, as soon as it has
 *    arrived. _loss, _save and ssq_queue_sync always find it.
 *  - ssq_trainer_step, _idle and _flush have done their work when they return
 *    it: the pass counts, and training may continue.
 *  - If the labels are of a training pass of this rank, the mean of the losses
 *    restarts: it leaves out all passes up to the error.
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_TRAINER_H
#define SESQUI_TRAINER_H

#include <sesqui/amp.h>
#include <sesqui/comm.h>
#include <sesqui/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_trainer ssq_trainer;

/** How a trainer is built. NULL strings and pointers are defaults. Strings are
 *  copied. */
typedef struct ssq_trainer_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_trainer_args));
    const char *policy; /**< a policy of ssq_policy_from_name, for example
                           "mixed_float16,loss_scale=512"; NULL: "float32" */
    ssq_params_options
        params SSQ_DEFAULT(SSQ_PARAMS_OPTIONS_INIT); /**< includes the seed */
    const char *optimizer; /**< a kind of ssq_optimizer_create; NULL: "adamw" */
    ssq_optimizer_options options SSQ_DEFAULT(SSQ_OPTIMIZER_INIT); /**< of the
                           optimizer and its default group */
    const char *scaler; /**< a preset of ssq_scaler_create, for example
                           "pytorch,init_scale=1024", or "none". NULL: see
                           scaler_options; without these the policy's
                           loss_scale; without that "sesqui" if the policy needs
                           a scale (f16), else no scaler */
    uint32_t accumulate SSQ_DEFAULT(1); /**< passes per optimizer step, at least
                           1. Their gradients are summed in float32 and divided
                           by this number */
    double clip_value; /**< clamp each element of the unscaled gradients to
                           -clip_value .. clip_value before the step, as torch's
                           clip_grad_value_. Gradients are then float32.
                           options.clip_norm uses the norm before the clamp.
                           0: no clamp */
    const ssq_params *from; /**< initial parameters, of the queue's device and
                           at least one; for example a trained float32 model.
                           They are copied under the same names and in the same
                           order, in the dtypes of policy, by work that
                           ssq_trainer_create enqueues on the queue; the set may
                           be destroyed after that call. Parameters that were
                           created full (norms) stay float32. Masters start from
                           the float32 values of this set, not from rounded
                           ones. The masters of an optimizer are not read:
                           if 16-bit parameters were trained, call
                           ssq_params_to_float32 first. Work on other queues
                           that writes the set must be finished. The first step
                           may create more. NULL: no parameters */
    bool replay;    /**< launch repeated passes as graphs; the bits are the
                       same. See ssq_trainer_step */
    ssq_comm *comm; /**< data-parallel: this trainer is one rank of the
                    communicator, which must be on the queue's device. The
                    trainer holds it. After the caller has destroyed it, passes
                    for training and steps return SSQ_ERR_COMM. NULL: a single
                    trainer */
    const double *weights; /**< relative size of each rank's share of a batch:
                    one number per rank of comm, each in 1e-6..1e6, the same on
                    all ranks; copied. For example, the measured speeds of
                    ssq_comm_weights. NULL: the weights of a loaded checkpoint
                    of as many ranks, else equal ones. See ssq_trainer_share */
    bool shard; /**< with comm: each rank keeps the masters and moments of its
                   shard only, as ssq_optimizer_distribute describes. It uses
                   less memory; the bits are the same for a given number of
                   ranks */
    uint64_t bucket_bytes SSQ_DEFAULT(26214400); /**< with comm and without
                   shard, the same on all ranks: least size of a bucket, in
                   bytes of float32 sums. Parameters are grouped from the last
                   created to the first, and each bucket is a collective. It
                   starts in the last pass of a step, when its gradients are
                   complete and all earlier buckets have started. The first step
                   has one bucket, also after a load; so have all if the caller
                   has added parameters to the optimizer. 0: one bucket. The
                   bits do not depend on it */
    uint32_t compare_every; /**< with comm, the same on all ranks: for
                   debugging. After every compare_every steps ranks compare
                   digests of parameters, the scaler and, without shard, masters
                   and moments. If one differs, the group ends, and the message
                   names the tensor, both digests and the rank. All of them are
                   read back through host memory. 0: never */
    const ssq_scaler_options *scaler_options; /**< the whole scaler, in place of
                   a preset, for example SSQ_SCALER_OPTIONS(.init_scale = 1024);
                   copied. scaler must be NULL then. NULL: see scaler */
    bool accuracy; /**< compute the top-1 accuracy of each training pass, for
                      ssq_trainer_poll: of its last ssq_cross_entropy_var or
                      ssq_nll_loss_var with class labels */
} ssq_trainer_args;
#define SSQ_TRAINER_DEFAULTS                                                   \
    sizeof(ssq_trainer_args), NULL, SSQ_PARAMS_OPTIONS_INIT, NULL,             \
        SSQ_OPTIMIZER_INIT, NULL, 1, 0.0, NULL, false, NULL, NULL, false,      \
        26214400, 0, NULL, false
#define SSQ_TRAINER_INIT                                                       \
    {                                                                          \
        SSQ_TRAINER_DEFAULTS                                                   \
    }
#define SSQ_TRAINER(...)                                                       \
    SSQ_ARGS(ssq_trainer_args, SSQ_TRAINER_DEFAULTS, __VA_ARGS__)

/** Create a trainer on a queue.
 *  @param args     NULL: all defaults
 *  @param trainer  out: owned by the caller; release it with
 *                  ssq_trainer_destroy(). It holds the queue
 *  @return
 *   - SSQ_ERR_INVALID    accumulate is 0; clip_value is negative or NaN; from
 *                        has no parameters; weights or shard are set without
 *                        comm; a weight is out of range; shard is set with
 *                        options.flat_master; a value of policy, params,
 *                        options or the scaler is refused; this thread captures
 *                        a graph on the device; a graph is being captured on
 *                        the queue
 *   - SSQ_ERR_INVALID    the scaler is described twice: scaler with
 *                        scaler_options; either with a number or "none" as the
 *                        policy's loss_scale; scaler "none" with loss_scale
 *                        "dynamic"
 *   - SSQ_ERR_NOT_FOUND  no such policy, optimizer, preset or setting; no such
 *                        op or class in policy
 *  @sync waits if it creates a scaler, for the upload of the scaler's state
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_create(
    ssq_queue *queue, const ssq_trainer_args *args, ssq_trainer **trainer);

/** Destroy a trainer with its parameters, tape, optimizer and scaler. A scaler
 *  of ssq_trainer_set_scaler is only released. Vars and tensors of the tape
 *  become invalid. Graphs that were captured with it can still be launched.
 *  Enqueued work is finished normally, also ops that .replay holds back. Errors
 *  of class labels that were not returned yet are lost: call ssq_queue_sync
 *  first.
 *  @sync waits if ssq_trainer_announce was used with comm, for the announced
 *        rows of this rank; and for all work, if the trainer is the last that
 *        holds the queue (ssq_queue_destroy) */
SSQ_API void ssq_trainer_destroy(ssq_trainer **trainer);

/** Replace the scaler: for options that no preset has, or to share one scaler
 *  between trainers. With comm all ranks must call it before the same pass.
 *  Trainers that share a scaler must not have open accumulations at the same
 *  time: see ssq_trainer_step.
 *  @param scaler  held until it is replaced or the trainer is destroyed; NULL:
 *                 train without a scaler
 *  @return SSQ_ERR_INVALID  passes of an accumulation were taken, or a step is
 *                           due
 *  @sync host */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_set_scaler(ssq_trainer *trainer,
                                                         ssq_scaler *scaler);

/** Return a part of the trainer: owned by the trainer, valid until it is
 *  destroyed; NULL for NULL. The queue is the one that ssq_trainer_create was
 *  given. The optimizer has no parameters before the first ssq_trainer_step or
 *  a load. The scaler is valid until ssq_trainer_set_scaler replaces it, and
 *  NULL if there is none.
 *  @sync host */
SSQ_API ssq_queue *ssq_trainer_queue(const ssq_trainer *trainer);
SSQ_API ssq_params *ssq_trainer_params(const ssq_trainer *trainer);
SSQ_API ssq_optimizer *ssq_trainer_optimizer(const ssq_trainer *trainer);
SSQ_API ssq_scaler *ssq_trainer_scaler(const ssq_trainer *trainer);

/** Give the parameters whose names match a pattern other hyper-parameters. For
 *  example, "*.bias" without weight decay. Call it before the first
 *  ssq_trainer_step. A parameter that several patterns match is in the group of
 *  the first.
 *  @param pattern  as in ssq_params_optimize; not NULL. If no parameter with a
 *                  gradient matches it, the first ssq_trainer_step returns
 *                  SSQ_ERR_NOT_FOUND, and ssq_trainer_load SSQ_ERR_INVALID
 *  @param options  as in ssq_optimizer_group; NULL: all defaults
 *  @param group    out, optional: owned by the optimizer
 *  @return SSQ_ERR_INVALID  the first ssq_trainer_step or a load has given the
 *                           optimizer its parameters; the optimizer was used,
 *                           or an option is refused, as by ssq_optimizer_group
 *  @sync host */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_trainer_group(ssq_trainer *trainer, const char *pattern,
                  const ssq_optimizer_options *options, ssq_group **group);

/** Where hooks are called: the six events of fastai's MixedPrecision, and
 *  epochs, batches and validation as in Keras and fastai. In a loop that
 *  reports all of them, the order is
 *
 *      TRAIN_BEGIN
 *        EPOCH_BEGIN
 *          BATCH_BEGIN
 *            LOSS_BEGIN BACKWARD_BEGIN BACKWARD_END STEP_END
 *          BATCH_END
 *          ...
 *          VALIDATE_BEGIN VALIDATE_END
 *        EPOCH_END
 *        ...
 *      TRAIN_END
 *
 *  A hook must ignore the places that it does not know: later versions may add
 *  some. */
typedef enum ssq_trainer_place {
    SSQ_PLACE_TRAIN_BEGIN = 0,    /**< called by the first ssq_trainer_begin,
                                       ssq_trainer_idle or
                                       SSQ_PLACE_EPOCH_BEGIN, and by the first
                                       one after ssq_trainer_end */
    SSQ_PLACE_LOSS_BEGIN = 1,     /**< called by ssq_trainer_output, with the
                                       model's output in float32 */
    SSQ_PLACE_BACKWARD_BEGIN = 2, /**< called by ssq_trainer_step, with the
                                       loss */
    SSQ_PLACE_BACKWARD_END = 3,   /**< the pass's gradients are complete, and
                                       added to the sums of an accumulation; the
                                       optimizer has not stepped. A hook may
                                       call ssq_trainer_unscale here */
    SSQ_PLACE_STEP_END = 4,       /**< after the step and the scaler's update,
                                       skipped or not */
    SSQ_PLACE_TRAIN_END = 5,      /**< called by ssq_trainer_end: parameters are
                                       float32 */
    SSQ_PLACE_EPOCH_BEGIN = 6,    /**< called by ssq_trainer_notify, as are the
                                       next three */
    SSQ_PLACE_EPOCH_END = 7,
    SSQ_PLACE_VALIDATE_BEGIN = 8,
    SSQ_PLACE_VALIDATE_END = 9,
    SSQ_PLACE_BATCH_BEGIN = 10,   /**< called by each ssq_trainer_begin and
                                       ssq_trainer_idle */
    SSQ_PLACE_BATCH_END = 11      /**< called by ssq_trainer_step and _idle
                                       after a pass that counts, also within an
                                       accumulation */
} ssq_trainer_place;

/** A hook: called at each place, by the thread that made the call.
 *
 *  At the begin of training, at the begin and end of an epoch, a validation or
 *  a batch, and at the end of a step, a hook may load, save and evaluate:
 *  ssq_trainer_load, ssq_trainer_save, ssq_trainer_evaluate. At the end of
 *  training and within an accumulation it may only evaluate: load and save are
 *  refused there.
 *
 *  At SSQ_PLACE_LOSS_BEGIN, _BACKWARD_BEGIN and _BACKWARD_END a hook must not
 *  end the pass. ssq_trainer_load, _flush and _zero_grad return SSQ_ERR_INVALID
 *  there, and change nothing. ssq_trainer_evaluate latches it in the tape of
 *  the pass. ssq_trainer_save is permitted before the first pass of a step
 *  counts.
 *
 *  A hook must not call ssq_trainer_begin, _step, _idle or _end at any place.
 *  They fail with SSQ_ERR_INVALID, except at the places of ssq_trainer_notify:
 *  there this is not checked. ssq_trainer_flush is allowed there. At the other
 *  places it returns SSQ_ERR_INVALID if it would make a step.
 *  @param user  what ssq_trainer_hook_add was given
 *  @param var   in/out: the output or the loss; the hook may replace it by a
 *               var of this pass. NULL at the other places
 *  @return SSQ_OK, or another status to stop: the call that reached the place
 *          returns it, and later hooks are not called. ssq_trainer_begin,
 *          _evaluate and _output latch it in the tape. The text is set by the
 *          library function that failed, or by the hook, for example
 *          `return ssq_error_set(SSQ_ERR_INVALID, "the loss is NaN");` */
typedef ssq_status ssq_trainer_hook(void *user, ssq_trainer *trainer,
                                    ssq_trainer_place place, ssq_var *var);

/** Add a hook, which is called at all places, after the hooks added before. It
 *  cannot be removed.
 *  @param user  owned by the caller; it must outlive the trainer
 *  @return as every call
 *  @sync host */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_hook_add(ssq_trainer *trainer,
                                                       ssq_trainer_hook *hook,
                                                       void *user);

/** Report an epoch or a validation: call all hooks at this place. If training
 *  begins with it, hooks are first called at SSQ_PLACE_TRAIN_BEGIN.
 *
 *      for (int epoch = 0; epoch < epochs; epoch++) {
 *          CHECK(ssq_trainer_notify(t, SSQ_PLACE_EPOCH_BEGIN));
 *          train(t);
 *          CHECK(ssq_trainer_notify(t, SSQ_PLACE_VALIDATE_BEGIN));
 *          evaluate(t);
 *          CHECK(ssq_trainer_notify(t, SSQ_PLACE_VALIDATE_END));
 *          CHECK(ssq_trainer_notify(t, SSQ_PLACE_EPOCH_END));
 *      }
 *
 *  These hooks may evaluate, save, and change hyper-parameters. A program
 *  without such hooks need not call it. ssq_trainer_end ends an open epoch and
 *  an open validation, without a call of the hooks at their ends.
 *  @param place  SSQ_PLACE_EPOCH_BEGIN, _EPOCH_END, _VALIDATE_BEGIN or
 *                _VALIDATE_END
 *  @return
 *   - SSQ_ERR_INVALID  place is another one; it begins something that has
 *                      already begun, or ends something that has not; it ends
 *                      an epoch within a validation; a hook has called it that
 *                      ssq_trainer_notify calls; a hook has called it with
 *                      _EPOCH_BEGIN, and the training would begin: for example
 *                      at SSQ_PLACE_TRAIN_BEGIN or _TRAIN_END. No hook is
 *                      called then
 *   - the status of a hook
 *   - an error of the return to the policy's dtypes, after ssq_trainer_end
 *   After an error the place does not count as reached, and the call may be
 *   repeated. Hooks that were called before the one that failed are called
 *   again.
 *  @sync host, except that the first SSQ_PLACE_EPOCH_BEGIN after
 *        ssq_trainer_end does the work of ssq_trainer_begin */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_notify(ssq_trainer *trainer,
                                                     ssq_trainer_place place);

/** Cast the model's output to float32 and pass it through the hooks at
 *  SSQ_PLACE_LOSS_BEGIN, also in a pass for evaluation. A program without such
 *  hooks need not call it.
 *  @return the var that the loss must use, as the last hook leaves it, in any
 *          dtype; inert after an error, which the tape latches: output is not a
 *          var of this pass, or a hook failed */
SSQ_API ssq_var ssq_trainer_output(ssq_trainer *trainer, ssq_var output);

/** Unscale the gradients, in a hook at SSQ_PLACE_BACKWARD_END of the last pass
 *  of a step. The gradients that ssq_params_get returns are then the unscaled
 *  sums over all passes of all ranks, divided by their number. The hook may
 *  read and write them, and the step uses them as they are. A second call does
 *  nothing.
 *   - This call checks the gradients and measures the norm for clip_norm. Later
 *     changes are in neither. For example, if the check found an overflow, the
 *     step is skipped, even if the hook repairs the gradients.
 *   - With .shard all ranks must make this call, and only the rank's shard of
 *     the gradients is valid.
 *   - After it ssq_trainer_zero_grad is refused: the step must be taken.
 *  @return
 *   - SSQ_ERR_INVALID  no step is due, for example because more passes of the
 *                      accumulation follow
 *   - otherwise as ssq_optimizer_unscale, which refuses f16 gradients: set
 *     params.float32_gradients */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_unscale(ssq_trainer *trainer);

/** End the training. This ends the current pass, converts the parameters to
 *  float32 with their masters' values (ssq_params_to_float32), and calls the
 *  hooks at SSQ_PLACE_TRAIN_END. Passes for evaluation may follow.
 *
 *  Training may continue after the end, for example as a second model.fit() of
 *  Keras. At the next ssq_trainer_begin, ssq_trainer_idle or
 *  SSQ_PLACE_EPOCH_BEGIN, parameters get the policy's dtypes again and the
 *  hooks at SSQ_PLACE_TRAIN_BEGIN are called. Masters and parameters are set
 *  from the float32 parameters. Moments, the scale and the number of steps are
 *  as before the end. If the program has not written a parameter, the bits are
 *  the same as without the end.
 *
 *  Between the end and the next begin, ssq_trainer_save and ssq_trainer_load
 *  return SSQ_ERR_INVALID. With .shard all ranks must call this function.
 *  @return
 *   - SSQ_ERR_INVALID  the training has already ended; passes of an
 *                      accumulation were taken, or a step is due; a load failed
 *                      after it had written something; a hook has called it
 *   - otherwise as ssq_params_to_float32, for example if a graph is being
 *     captured. The training has not ended then, but the current pass has
 *   - the status of a hook. The training has ended then, but the call may be
 *     repeated: all hooks at SSQ_PLACE_TRAIN_END are called again
 *  @sync waits if masters are split (SSQ_MASTER_SPLIT) */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_end(ssq_trainer *trainer);

/** Drive a hyper-parameter by a schedule, from the next step on: call
 *  ssq_optimizer_schedule for the default group and for each group that
 *  ssq_trainer_group has created. Call it after ssq_trainer_group: a group that
 *  is created later keeps the value of its options. With comm all ranks must
 *  call it before the same pass.
 *  @param hyper     SSQ_HYPER_LR or SSQ_HYPER_MOMENTUM
 *  @param schedule  copied; NULL removes the schedule
 *  @return as ssq_optimizer_schedule. All groups are checked first: after
 *          SSQ_ERR_INVALID none has changed. After SSQ_ERR_NOMEM or the queue's
 *          error some groups may have the schedule.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_schedule(
    ssq_trainer *trainer, ssq_hyper hyper, const ssq_schedule *schedule);

/** Begin a pass for training, as ssq_tape_begin does. This ends the current
 *  pass. If the last step failed after its gradients were complete, the step is
 *  repeated first, and hooks are called at SSQ_PLACE_STEP_END. If a pass made
 *  that step, and not ssq_trainer_flush, they are also called at
 *  SSQ_PLACE_BATCH_END. Then hooks are called at SSQ_PLACE_TRAIN_BEGIN, if the
 *  training begins, and at SSQ_PLACE_BATCH_BEGIN.
 *
 *  The function has no status: the tape latches the error, and
 *  ssq_tape_status and ssq_trainer_step return it. The new pass then does
 *  nothing and does not count, not even if ssq_trainer_step returns
 *  SSQ_ERR_SCALE of a repeated step: begin again.
 *   - SSQ_ERR_INVALID  a graph is being captured (use .replay instead); a load
 *                      failed after it had written something; a hook has
 *                      called it (ssq_trainer_hook): no pass begins then
 *   - SSQ_ERR_COMM     the group of ranks has ended
 *   - the queue's error
 *   - an error of the return to the policy's dtypes, after ssq_trainer_end
 *   - the error of the repeated step, or the status of a hook. If a hook at
 *     SSQ_PLACE_TRAIN_BEGIN has failed, the training has not begun: the next
 *     call calls all hooks there again.
 *  @return the tape, owned by the trainer; NULL for NULL
 *  @sync waits if masters are split: after ssq_trainer_end, and with comm when
 *        parameters are copied from rank 0 */
SSQ_API ssq_tape *ssq_trainer_begin(ssq_trainer *trainer);

/** Begin a pass for evaluation. It creates no parameters except those that
 *  ssq_params_allow permits. This ends the current pass, but not an
 *  accumulation. A failed step is repeated first, as by ssq_trainer_begin. No
 *  other hooks are called, and with comm no other rank takes part.
 *  @return the tape, owned by the trainer; NULL for NULL. It latches
 *           - SSQ_ERR_INVALID  a load failed after it had written something; a
 *                              step is due, and a graph is being captured; a
 *                              hook within a pass has called it: that pass
 *                              does not end
 *           - the queue's error
 *           - the error of the repeated step, or the status of one of its
 *             hooks */
SSQ_API ssq_tape *ssq_trainer_evaluate(ssq_trainer *trainer);

/** Run the backward pass from loss. On the last pass of an accumulation, also
 *  step the optimizer: check, unscale, clip, update or skip; then update the
 *  loss scale. The first call whose backward succeeds gives the optimizer all
 *  parameters that exist, also if it only begins an accumulation. Parameters
 *  that are created later are refused.
 *
 *  With .replay each pass is compared, op by op, with earlier ones. Ops that
 *  are the same on the same memory are held back and launched as one graph. The
 *  first op that differs, for example by a shape or a tensor, enqueues what is
 *  held back, and the rest of the pass is enqueued normally. Results and errors
 *  are the same; ssq_tape_stats counts the replayed passes.
 *
 *   - Up to 16 different passes of a queue are remembered. They hold their
 *     scratch memory and inputs, so it is best to write all batches into the
 *     same tensors.
 *   - If 24 passes in succession were new, all are forgotten, and none of the
 *     next 255 passes is remembered.
 *   - Ops that differ each time are enqueued between two graphs: random pass
 *     numbers, host reads and writes, updates of the scaler.
 *   - Ops that are held back are handed to the device by this function, or
 *     earlier by ssq_queue_sync, ssq_queue_status, events, host reads and
 *     graphs. If the program gives the queue's stream work through the driver
 *     within a pass, it must call one of these first.
 *   - If memory runs out when the last graph of a pass is launched, this
 *     function returns SSQ_ERR_NOMEM. The pass counts, and the next
 *     ssq_trainer_begin launches the graph.
 *
 *  @param loss  a single element, in the current pass
 *  @return
 *   - the error that the tape has latched in this pass
 *   - SSQ_ERR_INVALID      loss is not a single element of this pass, or
 *                          depends on no parameter; the pass is for evaluation,
 *                          or had a backward already; an operand was written
 *                          since the forward part (ssq_tape_backward)
 *   - SSQ_ERR_INVALID      a parameter was created after the first step (the
 *                          message names it); a graph is being captured, or a
 *                          hook has called it (the pass has not changed then)
 *   - SSQ_ERR_INVALID      at the first step: the optimizer refuses a parameter
 *                          (ssq_optimizer_add), for example an f16 one with
 *                          SSQ_MASTER_SPLIT
 *   - SSQ_ERR_INVALID      class labels of this or an earlier pass are out of
 *                          range (see the top)
 *   - SSQ_ERR_INVALID      the scaler was updated or set since this
 *                          accumulation began, for example by another trainer
 *                          that shares it. The step is due, and only
 *                          ssq_trainer_zero_grad ends it
 *   - SSQ_ERR_NOT_FOUND    at the first step: a pattern of ssq_trainer_group
 *                          matches no parameter with a gradient
 *   - SSQ_ERR_UNSUPPORTED  an op has no derivative, or the device refuses it
 *   - SSQ_ERR_SCALE        an earlier update of the scale left an event, as
 *                          ssq_scaler_update
 *   - SSQ_ERR_COMM         the group of ranks has ended, or they differ
 *   - the status of a hook
 *
 *  Changes after an error (ssq_trainer_accumulated returns the number of passes
 *  that count):
 *   - labels, SSQ_ERR_SCALE, and hooks at SSQ_PLACE_STEP_END or _BATCH_END: the
 *     call has done its work, and the pass counts.
 *   - hooks at SSQ_PLACE_BACKWARD_END: the pass counts. If it is the last of a
 *     step, the step is due. Otherwise hooks at SSQ_PLACE_BATCH_END are not
 *     called for this pass.
 *   - errors after all gradients of a step were complete: the step is due. The
 *     parameters may have been updated if a later part of the step failed.
 *   - a step that is due is completed by the next ssq_trainer_begin, _evaluate,
 *     _idle or _flush. ssq_trainer_zero_grad drops it instead, if its gradients
 *     were not checked yet.
 *   - any other error: parameters and moments have not changed, and the pass
 *     does not count.
 *  @sync async, except that the first step waits for a fill if a parameter has
 *        no gradient yet. It also waits if masters are split and begin with
 *        float32 values: of .from, ssq_params_write or _load, or rank 0 */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_step(ssq_trainer *trainer,
                                                   ssq_var loss);

/** Step now, with the passes that the open accumulation has, divided by their
 *  number. For example, at the end of an epoch whose length is not a multiple
 *  of .accumulate, or before a save on SIGTERM. The bits are those of a trainer
 *  whose .accumulate is that number.
 *
 *      for (size_t i = 0; i < batches; i++)
 *          CHECK(ssq_trainer_step(trainer, loss_of(trainer, i)));
 *      CHECK(ssq_trainer_flush(trainer));
 *
 *  This ends the current pass, which does not count. If no pass was taken,
 *  nothing else happens. Hooks are called at SSQ_PLACE_STEP_END only; if the
 *  call repeats the failed step of a pass, then also at SSQ_PLACE_BATCH_END.
 *  With comm all ranks must call it after the same pass.
 *  @return
 *   - SSQ_ERR_INVALID  a graph is being captured; a hook has called it
 *                      (ssq_trainer_hook); a load failed after it had written
 *                      something; class labels are out of range (see the top);
 *                      the scaler was updated or set since the accumulation
 *                      began (ssq_trainer_step)
 *   - SSQ_ERR_SCALE    as ssq_scaler_update
 *   - SSQ_ERR_COMM     the group of ranks has ended
 *   - the status of a hook
 *   After labels, SSQ_ERR_SCALE or a hook's status the step has been made.
 *   After another error no counted pass is lost: call it again. If the step is
 *   due, ssq_trainer_begin completes it, too. The current pass has ended then,
 *   except in a capture or a hook. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_flush(ssq_trainer *trainer);

/** Drop the passes that the open accumulation has, as torch's zero_grad drops
 *  gradients. A failed step that the next begin would repeat is dropped too.
 *  This ends the current pass; the next pass is the first of a step.
 *  Parameters, moments and the scaler do not change. ssq_trainer_loss still
 *  reports the losses of the dropped passes. With comm all ranks must call it
 *  after the same pass.
 *  @return
 *   - SSQ_ERR_INVALID  a graph is being captured; a hook within a pass has
 *                      called it; a load failed after it had written something;
 *                      the gradients of the step were checked or unscaled
 *                      already, for example by ssq_trainer_unscale, or the step
 *                      was made
 *   - SSQ_ERR_COMM     the group of ranks has ended
 *   After an error no pass is dropped. The current pass has ended then, except
 *   in a capture or a hook. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_zero_grad(ssq_trainer *trainer);

/** Return the number of passes in the open accumulation; 0 if none is open, and
 *  for NULL.
 *  @sync host */
SSQ_API uint32_t ssq_trainer_accumulated(const ssq_trainer *trainer);

/** Get this rank's rows of a common batch, and weight its next pass
 *  accordingly. Call it before ssq_trainer_step, on every rank with the same
 *  number of rows; this is not checked. The backward pass multiplies the loss
 *  by the share times the number of ranks, which is 1 if all shares are equal.
 *
 *  The group then takes the same steps as one trainer with the whole batch, up
 *  to rounding. For this the loss must be the mean over the rank's rows. It
 *  must not be a sum, nor a mean that class weights or ignore_index change.
 *
 *  For example, 10 rows on 3 equal ranks: 0..3, 3..7, 7..10.
 *
 *  The weight is used by the next pass that counts. If neither this function
 *  nor ssq_trainer_next sets it, a pass counts by .weights. A load may drop it:
 *  call this function again after a load.
 *  @param rows   of the whole batch, 0 to 2^50; with 0 the weight of the next
 *                pass does not change
 *  @param begin  out: first row of this rank; shares follow each other in rank
 *                order, and their sizes follow .weights to the nearest row
 *  @param end    out: one past the last row; equal to begin if this rank has
 *                none, for example if there are more ranks than rows. It must
 *                then call ssq_trainer_idle, or run a pass over an empty batch:
 *                always in the first step, and if a batch norm has .comm
 *  @return SSQ_ERR_INVALID  rows is out of range
 *  @sync host
 *  @note Without .comm the share is the whole batch. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_share(ssq_trainer *trainer,
                                                    int64_t rows,
                                                    int64_t *begin,
                                                    int64_t *end);

/** Announce to all ranks how many rows this rank has in a later pass. Use it if
 *  each rank has its own batches, of any sizes, and does not know how many the
 *  others have (torch's Join). Each rank announces each pass, with 0 rows if it
 *  has no batch, and calls ssq_trainer_next before it runs the pass:
 *
 *      int64_t rows = load(0), all;
 *      CHECK(ssq_trainer_announce(trainer, rows));
 *      for (int i = 0;; i = !i) {
 *          CHECK(ssq_trainer_next(trainer, &all));
 *          if (all == 0)
 *              break;                        // on every rank
 *          int64_t now = rows;
 *          rows = load(!i);                  // the next batch, or 0
 *          CHECK(ssq_trainer_announce(trainer, rows));
 *          if (now > 0)
 *              CHECK(ssq_trainer_step(trainer, loss_of(trainer, i)));
 *          else
 *              CHECK(ssq_trainer_idle(trainer));
 *      }
 *
 *  Announce a pass before the step of the pass before it, as above: then 16
 *  bytes travel while that step runs, and ssq_trainer_next need not wait. If it
 *  is announced after that step, ssq_trainer_next waits for the step. The
 *  trainer's queue is not used. Passes that count equally have the same bits as
 *  passes that were not announced.
 *
 *  A rank that has announced 0 may have rows again later, for example in the
 *  next epoch. Without comm the rows are those of this rank alone. A checkpoint
 *  does not contain announced passes, and a load keeps them.
 *  @param rows  of this rank, 0 to 2^50
 *  @return
 *   - SSQ_ERR_INVALID  rows is out of range; 8 passes are announced that
 *                      ssq_trainer_next has not returned yet; with comm, this
 *                      thread captures a graph on the device
 *   - SSQ_ERR_COMM     the group of ranks has ended
 *   After an error nothing is announced, and the call may be repeated.
 *  @note With comm a collective with the tag "rows": all ranks must call it in
 *        the same place among their collectives. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_announce(ssq_trainer *trainer,
                                                       int64_t rows);

/** Return how many rows all ranks have in the next announced pass, and weight
 *  this rank's pass by its share of them. .weights are not used. The weight is
 *  for the next pass that counts; a load before that pass may drop it. The
 *  group then takes the same steps as one trainer with the rows of all ranks as
 *  one batch, if the loss is a mean (ssq_trainer_share).
 *
 *  A rank that has announced 0 rows calls ssq_trainer_idle for the pass. In two
 *  cases it must run a pass over an empty batch, of tensors with 0 rows: in the
 *  first step, which creates the parameters, and in models with batch norms
 *  over all ranks. Both passes add nothing to the gradients, but they count as
 *  passes of an accumulation.
 *
 *  If rows is 0, all ranks have reached the end and must leave out this pass: a
 *  step of it would consist of moments and weight decay alone. An accumulation
 *  that is open then continues with the passes of the next epoch. Or all ranks
 *  call ssq_trainer_idle until its step is made, or ssq_trainer_flush.
 *  @param rows  out: of all ranks, the same on each; 0: the end
 *  @return
 *   - SSQ_ERR_INVALID  no pass is announced
 *   - SSQ_ERR_COMM     the group of ranks has ended; the message names the rank
 *                      that ended it
 *   After an error the pass is still the next one, and the call may be
 *   repeated.
 *  @sync waits with comm, until all ranks have announced the pass and this
 *        rank's earlier collectives are done. A thread that drives several
 *        local ranks must announce for all of them first
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_next(ssq_trainer *trainer,
                                                   int64_t *rows);

/** Run a pass without a batch, on a rank that has none while others have one.
 *  Its gradients are zeros, and a step that is due is made with them.
 *
 *  The ranks with a batch must set the weights of their passes
 *  (ssq_trainer_share, ssq_trainer_next). Otherwise the sum is still divided by
 *  the number of all ranks. Do not call ssq_trainer_begin for this pass.
 *  Hooks are called except at SSQ_PLACE_LOSS_BEGIN and _BACKWARD_BEGIN.
 *  ssq_trainer_loss leaves the pass out.
 *
 *  It calls the collectives of a step only. If the passes of other ranks call
 *  more, for example those of a batch norm with .comm (nn.h), the group ends.
 *  The message then says which rank calls "batch_norm" while this one calls
 *  "gradients". In such models a rank without rows must run a pass over an
 *  empty batch, of tensors with 0 rows.
 *  @return
 *   - SSQ_ERR_INVALID  the trainer has no comm; the optimizer has no parameters
 *                      yet: the first pass of a rank must create them, if
 *                      necessary with an empty batch
 *   - otherwise as ssq_trainer_begin and ssq_trainer_step
 *  @sync waits as ssq_trainer_begin, if masters are split; otherwise async
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_idle(ssq_trainer *trainer);

/** Return the mean loss of the passes since the last call, including skipped
 *  steps. Passes whose weight is 0 (ssq_trainer_share, ssq_trainer_next) are
 *  left out, and so are passes that ssq_trainer_poll has sent. The loss is the
 *  one that ssq_trainer_step was given, of this rank, before hooks and weights.
 *  @param mean  out: the mean of a float32 sum; NaN if there was no pass
 *  @return SSQ_ERR_INVALID  class labels are out of range (see the top); a
 *                           graph is being captured
 *          After an error mean is not written.
 *  @sync waits for the queue; use ssq_trainer_poll in a loop */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_loss(ssq_trainer *trainer,
                                                   double *mean);

/** Losses that have arrived on the host; filled by ssq_trainer_poll. */
typedef struct ssq_trainer_progress {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_trainer_progress));
    uint64_t passes; /**< in the means below; 0: none has arrived */
    uint64_t steps;  /**< ssq_trainer_steps() when they were sent */
    double loss;     /**< mean loss of the passes; NaN if passes is 0 */
    double accuracy; /**< mean accuracy of the passes that have one, 0..1; NaN
                        if there is none, or without .accuracy */
} ssq_trainer_progress;
#define SSQ_TRAINER_PROGRESS_INIT                                              \
    {                                                                          \
        sizeof(ssq_trainer_progress), 0, 0, 0.0, 0.0                           \
    }

/** Report mean loss and accuracy without waiting. Each call sends the sums of
 *  the passes since the last one to the host, unless earlier sums are still in
 *  flight. It returns sums that have arrived. The result may therefore lag by a
 *  few steps, or be empty. Each pass is reported once: ssq_trainer_loss leaves
 *  out passes that were sent.
 *
 *      ssq_trainer_progress p = SSQ_TRAINER_PROGRESS_INIT;
 *      CHECK(ssq_trainer_poll(trainer, &p));
 *      if (p.passes > 0)
 *          printf("step %llu: loss %g\n", (unsigned long long)p.steps, p.loss);
 *
 *  @param progress  in: struct_size; out: the rest
 *  @return SSQ_ERR_INVALID  a graph is being captured, or the program captures
 *                           the stream (cuda.h); class labels are out of range
 *                           (see the top)
 *          After these errors progress is not written. After SSQ_ERR_NOMEM it
 *          is either not written, or contains sums that had arrived: set it to
 *          SSQ_TRAINER_PROGRESS_INIT before each call.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_trainer_poll(ssq_trainer *trainer, ssq_trainer_progress *progress);

/** Return the number of steps of this training, including skipped ones; 0 for
 *  NULL. ssq_trainer_load restores it. A program can therefore resume at the
 *  right batch: steps * .accumulate batches were used, if no accumulation was
 *  flushed or dropped.
 *  @sync host
 *  @note Since 0.1. */
SSQ_API uint64_t ssq_trainer_steps(const ssq_trainer *trainer);

#ifdef __cplusplus
}
#endif

#endif
