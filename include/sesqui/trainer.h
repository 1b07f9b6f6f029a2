/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - training as a loop of two calls.
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
 * Data parallel. With .comm each rank has a trainer of its own, made alike, and
 * trains on its own batches, of the same size, or on its share of batches
 * (ssq_trainer_share). Gradients are summed in float32: those of a rank's
 * passes, then over ranks in the order of comm.h, as a collective for each
 * bucket (.bucket_bytes) of parameters, from the last that was made to the
 * first: it begins as soon as the last backward of a step has its gradients,
 * and those of the buckets before it. The first step is one bucket, and so are
 * all steps where the program has added parameters of its own to the optimizer.
 * A pass that fails when a bucket of it has begun cannot be taken again: the
 * group ends, and the text of all ranks says so. The mean over all passes of
 * all ranks is what the optimizer gets. So every rank finds the same verdict
 * and the same norm: all skip a step or none, and parameters, moments and
 * scales keep the same bits everywhere. With one pass to a step on each rank
 * they are the bits of one trainer alone that accumulates those of ranks 0, 1,
 * (2) in this order. All ranks begin with rank 0's parameters and states, as
 * exactly as rank 0 has them: those that are there are broadcast by the first
 * ssq_trainer_begin, and once more by the first behind a load; those that a
 * pass for training makes, as it makes them. Layers that draw numbers draw
 * others on each rank, those of one trainer that does their passes in turn.
 * ssq_trainer_loss is of this rank. All ranks take the same number of passes:
 * who has no batch left calls ssq_trainer_idle, and where nobody knows how many
 * batches the others have, ssq_trainer_announce and ssq_trainer_next tell; a
 * rank that does not come is waited for, and then an error.
 *
 * The first step compares what the ranks were made of: args, names, shapes and
 * groups of parameters, options and schedules of groups, the scaler, and the
 * checkpoint that was loaded. The error names the first difference. So does the
 * first pass behind ssq_trainer_schedule, ssq_trainer_set_scaler or a load:
 * with .comm these are calls of all ranks, before the same pass. What the
 * optimizer's own calls change later is the program's to have alike, and found
 * by .compare_every. Several trainers may share a communicator: all ranks step
 * them in the same order, which is not compared where they have parameters of
 * the same sizes.
 *
 * A trainer is parameters, a tape, an optimizer and, where the policy wants
 * one, a scaler, on a queue of the program's, in whose order all is done; they
 * can be asked for and used by their own calls. Nothing waits for the device
 * but what says so. Used by one thread at a time.
 *
 * Class labels. The targets of ssq_cross_entropy_var and ssq_nll_loss_var are
 * counted on the device if they are outside 0 .. classes - 1 and not
 * ignore_index. A step with such a label in any of its passes is skipped:
 * parameters, moments and the loss scale do not change, on all ranks. The error
 * is SSQ_ERR_INVALID, for example "row 3 of a loss has the label 7, expected 0
 * to 1, of 2 classes"; a row is a place in the row-major order of the targets.
 * On other ranks the text says that it was another rank. No call waits for it:
 * the first of ssq_trainer_step, _idle, _flush, _loss, _poll and ssq_queue_sync
 * to find that it has arrived returns it, once; _loss and ssq_queue_sync always
 * find it. The call has done its work then: the pass counts, and training may
 * go on. The mean of losses restarts. Labels of an evaluation are reported and
 * skip nothing. */
#ifndef SESQUI_TRAINER_H
#define SESQUI_TRAINER_H

#include <sesqui/amp.h>
#include <sesqui/comm.h>
#include <sesqui/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_trainer ssq_trainer;

typedef struct ssq_trainer_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_trainer_args));
    const char *policy; /**< as ssq_policy_from_name, such as
                           "mixed_float16,loss_scale=512"; NULL "float32" */
    ssq_params_options
        params SSQ_DEFAULT(SSQ_PARAMS_OPTIONS_INIT); /**< the seed is here */
    const char *optimizer; /**< as ssq_optimizer_create; NULL "adamw" */
    ssq_optimizer_options options SSQ_DEFAULT(SSQ_OPTIMIZER_INIT); /**< of it */
    const char *scaler; /**< a preset, as ssq_scaler_create, such as
                           "pytorch,init_scale=1024"; "none"; NULL: as
                           scaler_options or the policy's loss_scale say, else
                           "sesqui" if the policy needs a scale (f16), else
                           none */
    uint32_t accumulate SSQ_DEFAULT(1); /**< passes to a step of the optimizer,
                           whose gradients are summed in float32 if there are
                           several, and divided by their number; at least 1 */
    double clip_value; /**< true gradients are held within +- this before each
                           step, element by element, as torch's
                           clip_grad_value_; 0: they are not. Gradients are
                           float32 then. The norm that options.clip_norm looks
                           at is that of before */
    const ssq_params *from; /**< parameters to begin with, of this device:
                           fastai's to_fp16. The trainer's are copies, by name
                           and in that order, in the dtypes of its own policy:
                           norms and others that were made full stay float32,
                           and masters begin with the values that they have
                           here, not with rounded ones. NULL: none. More may be
                           made before the first step */
    bool replay;    /**< passes that do what one before did are launched as
                       graphs: see ssq_trainer_step. The same bits */
    ssq_comm *comm; /**< data parallel: this trainer is one rank of several, on
                    the communicator's device, and the batches are its share.
                    Held: once it was destroyed, passes for training and steps
                    answer SSQ_ERR_COMM. NULL: alone. See above */
    const double *weights; /**< of comm's ranks, the same on all, each in
                    1e-6..1e6; copied: how large their shares of a batch are,
                    as measured (ssq_comm_weights) or as the program likes.
                    NULL: those of a checkpoint of as many ranks that is
                    loaded, else all the same. See ssq_trainer_share */
    bool shard; /**< with comm: each rank holds the masters and moments of
                   its shard, as ssq_optimizer_distribute has it. The same
                   bits for as many ranks, and less memory on each */
    uint64_t bucket_bytes SSQ_DEFAULT(26214400); /**< with comm and without
                   shard, the same on all ranks: gradients are summed over ranks
                   in buckets of at least so many bytes of float32 sums, while
                   the backward goes on; 0: all behind the backward. The same
                   bits. See above */
    uint32_t compare_every; /**< with comm, the same on all ranks: for finding
                   faults. Behind each so many steps ranks compare digests of
                   parameters, the scaler and, without shard, masters and
                   moments; where one differs the group ends, and the text names
                   it, both digests and the rank. Each is read through the
                   host's memory. 0: never */
    const ssq_scaler_options *scaler_options; /**< the whole scaler, instead of
                   a preset: SSQ_SCALER_OPTIONS(.init_scale = 1024). Copied.
                   NULL: scaler says */
    bool accuracy; /**< work out, for ssq_trainer_poll, the top-1 accuracy of
                      each pass: of its last ssq_cross_entropy_var or
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

/** Make a trainer on a queue.
 *  @param args     NULL all defaults
 *  @param trainer  the caller's; it holds the queue
 *  @return SSQ_ERR_INVALID a NULL or wrong struct_size, accumulate 0, a
 *          clip_value below 0 or NaN, scaler with scaler_options, one of them
 *          with another loss_scale of the policy than dynamic (or "none" with
 *          that), from without parameters or of another
 *          device, comm of another device, weights without comm or one that is
 *          none, shard without comm, or in a capture; else as the objects that
 *          it is made of. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_create(
    ssq_queue *queue, const ssq_trainer_args *args, ssq_trainer **trainer);

/** Drop a trainer and what it is made of; enqueued work is not disturbed. */
SSQ_API void ssq_trainer_destroy(ssq_trainer **trainer);

/** Train with a scaler of the program's own making, with options that no preset
 *  has, or one that several trainers share; held. NULL: without.
 *  @return SSQ_ERR_INVALID a NULL, of another device, or within an
 *          accumulation. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_set_scaler(ssq_trainer *trainer,
                                                         ssq_scaler *scaler);

/** What it is made of: owned by the trainer, NULL for NULL; ssq_trainer_scaler
 *  is NULL also where there is none. */
SSQ_API ssq_queue *ssq_trainer_queue(const ssq_trainer *trainer);
SSQ_API ssq_params *ssq_trainer_params(const ssq_trainer *trainer);
SSQ_API ssq_optimizer *ssq_trainer_optimizer(const ssq_trainer *trainer);
SSQ_API ssq_scaler *ssq_trainer_scaler(const ssq_trainer *trainer);

/** Parameters whose names match take other hyper-parameters: no weight decay
 * for biases and norms, say. What several patterns match is in the group of the
 *  first.
 *  @param pattern  as ssq_params_optimize has it; not NULL
 *  @param options  as ssq_optimizer_group
 *  @param group    out, optional
 *  @return SSQ_ERR_INVALID after the first step; as ssq_optimizer_group. A
 *          pattern that matches nothing is found by the first step. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_trainer_group(ssq_trainer *trainer, const char *pattern,
                  const ssq_optimizer_options *options, ssq_group **group);

/** Where hooks are called: the six places of fastai's MixedPrecision, and
 *  epochs, batches and validation as Keras and fastai have them. In a loop that
 *  says all of them, the order is
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
 *  A hook ignores the places that it does not know: more may come. */
typedef enum ssq_trainer_place {
    SSQ_PLACE_TRAIN_BEGIN = 0,    /**< by the first ssq_trainer_begin, or by
                                       the first SSQ_PLACE_EPOCH_BEGIN, that
                                       there is, and after ssq_trainer_end */
    SSQ_PLACE_LOSS_BEGIN = 1,     /**< by ssq_trainer_output, with the model's
                                       output, in float32 */
    SSQ_PLACE_BACKWARD_BEGIN = 2, /**< by ssq_trainer_step, with the loss */
    SSQ_PLACE_BACKWARD_END = 3,   /**< the pass's gradients are there, and in
                                       the sums; the optimizer has not stepped;
                                       ssq_trainer_unscale is for here */
    SSQ_PLACE_STEP_END = 4,       /**< behind the step and the scaler's update,
                                       skipped or not */
    SSQ_PLACE_TRAIN_END = 5,      /**< by ssq_trainer_end: the parameters are
                                       float32 */
    SSQ_PLACE_EPOCH_BEGIN = 6,    /**< by ssq_trainer_notify, and so are the
                                       next three */
    SSQ_PLACE_EPOCH_END = 7,
    SSQ_PLACE_VALIDATE_BEGIN = 8,
    SSQ_PLACE_VALIDATE_END = 9,
    SSQ_PLACE_BATCH_BEGIN = 10,   /**< by each ssq_trainer_begin */
    SSQ_PLACE_BATCH_END = 11      /**< by ssq_trainer_step, after a pass that
                                       counts; within an accumulation, too */
} ssq_trainer_place;

/** Called at each place.
 *  @param var  the output or the loss, which it may replace by a var of this
 *              pass; NULL at the other places
 *  Hooks at the begin and end of the training, an epoch, a validation, a batch
 *  and at the end of a step may load, save and evaluate: ssq_trainer_load,
 *  ssq_trainer_evaluate. They may not begin a pass for training.
 *  @return SSQ_OK, or another status to stop: the call that came to the place
 *          returns it. The text is set by the library's call that failed, or
 *          by the hook, for example
 *          `return ssq_error_set(SSQ_ERR_INVALID, "the loss is NaN");` */
typedef ssq_status ssq_trainer_hook(void *user, ssq_trainer *trainer,
                                    ssq_trainer_place place, ssq_var *var);

/** Have a function called at all places, behind those that were added before.
 *  user must live as long as the trainer.
 *  @return SSQ_ERR_INVALID a NULL trainer or hook; SSQ_ERR_NOMEM. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_hook_add(ssq_trainer *trainer,
                                                       ssq_trainer_hook *hook,
                                                       void *user);

/** Call all hooks at a place that the program alone knows:
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
 *  without such hooks need not call it. ssq_trainer_end ends what is open.
 *  @param place  EPOCH_BEGIN, EPOCH_END, VALIDATE_BEGIN or VALIDATE_END
 *  @return SSQ_ERR_INVALID trainer is NULL, or place is another one, begins
 *          something that has already begun, ends something that has not, or
 *          ends an epoch within a validation: no hook is called; else the
 *          status of a hook. After an error the call may be repeated. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_notify(ssq_trainer *trainer,
                                                     ssq_trainer_place place);

/** The model's output on its way to the loss: in float32, and as hooks at
 *  SSQ_PLACE_LOSS_BEGIN leave it. A program without such hooks need not call
 *  it. Errors are latched in the tape. */
SSQ_API ssq_var ssq_trainer_output(ssq_trainer *trainer, ssq_var output);

/** For a hook at SSQ_PLACE_BACKWARD_END: ssq_optimizer_unscale, so that the
 *  gradients that ssq_params_get has are true ones, sums of an accumulation
 *  included, and may be read and written. The step takes them as they are then.
 *  @return SSQ_ERR_INVALID no step is due: within an accumulation, or outside
 *          of a hook; else as ssq_optimizer_unscale, which refuses gradients
 *          of f16: set params.float32_gradients. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_unscale(ssq_trainer *trainer);

/** End the training: the pass is over, parameters become float32 with their
 *  masters' values (ssq_params_to_float32), then the hooks of TRAIN_END are
 *  called. Passes for evaluation may follow.
 *
 *  Training may go on, as after a second model.fit() of Keras: at the next
 *  ssq_trainer_begin, or at the next SSQ_PLACE_EPOCH_BEGIN, parameters get the
 *  dtypes of the policy again and the hooks of TRAIN_BEGIN are called. Masters
 *  and parameters take the values that the float32 parameters have then.
 *  Moments, the scale and the number of steps are as they were at the end. If
 *  nobody has written a parameter, training goes on with the same bits as
 *  without the end.
 *  @return SSQ_ERR_INVALID trainer is NULL, has ended already, or is within an
 *          accumulation; else as ssq_params_to_float32, and what a hook
 *          returned. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_end(ssq_trainer *trainer);

/** Drive a hyper-parameter of all groups that there are by one schedule, from
 *  the step that comes next on: ssq_optimizer_schedule for the default group
 * and for each that ssq_trainer_group has made. Call it behind those; a group
 * that is made later keeps its options' value.
 *  @param hyper     SSQ_HYPER_LR or SSQ_HYPER_MOMENTUM
 *  @param schedule  NULL removes it; copied
 *  @return SSQ_ERR_INVALID trainer is NULL; as ssq_optimizer_schedule, which
 *          refuses what it refuses before any group has it. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_schedule(
    ssq_trainer *trainer, ssq_hyper hyper, const ssq_schedule *schedule);

/** Begin a pass for training: ssq_tape_begin. The tape is the trainer's; NULL
 *  for NULL. It latches SSQ_ERR_COMM if the ranks' group has ended, and
 *  SSQ_ERR_INVALID in a capture of a graph: steps are captured by .replay. */
SSQ_API ssq_tape *ssq_trainer_begin(ssq_trainer *trainer);

/** Begin a pass for evaluation. It makes no parameters: see ssq_params_allow.
 */
SSQ_API ssq_tape *ssq_trainer_evaluate(ssq_trainer *trainer);

/** Backward from loss, and with the last pass of an accumulation the step:
 *  check, unscale, clip, update, or skip, then the scaler's update. The first
 *  step gives the optimizer all parameters that there are.
 *
 *  With replay each pass is compared, op by op, with those before. Ops that are
 *  the same on the same memory wait, and are launched as one graph, with the
 *  driver's own form of it where it has one: no kernel is looked for and
 *  nothing is enqueued one by one. The first op that differs (another shape or
 *  tensor, an option) has what waits enqueued, and the rest of the pass goes
 * the ordinary way; the next time that is known, too. Up to 16 different passes
 *  are, which hold what they use: their scratch, and the inputs, so that
 *  batches are best written into the same tensors. What differs each time (the
 *  number of a pass that draws, reads and writes of the host, a scaler's
 *  update) is enqueued between two graphs. Results, errors and what hooks find
 *  are the same; ssq_tape_stats counts the passes. What waits is handed over by
 *  this call, and before it by whatever waits for the queue or looks at it:
 *  ssq_queue_sync, ssq_queue_status, events, reads, graphs. A program that
 * gives the queue's stream work of its own, by the driver, within a pass calls
 * one of them first. Where memory is short only when a graph is launched, that
 * is the error of this call, and the next begin launches it.
 *  @param loss  one element, as ssq_tape_backward
 *  @return what the tape has latched; as ssq_tape_backward and
 *          ssq_optimizer_step; SSQ_ERR_INVALID also: a parameter that was made
 *          after the first step, by name; in a capture of a graph, where the
 *          pass stays as it is; and for labels out of range, of this pass or an
 *          earlier one (see above); SSQ_ERR_SCALE as ssq_scaler_update.
 *          After another error no parameter and no moment has
 *          changed, and the pass does not count. But where all gradients were
 *          there and the step or the update failed, the next begin does that
 *          first, and latches its error */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_step(ssq_trainer *trainer,
                                                   ssq_var loss);

/** Step now, with the passes that an accumulation has so far, divided by their
 *  number: at the end of an epoch whose length is no multiple of .accumulate,
 * or before a save when the process is told to stop. The bits are those of a
 *  trainer whose .accumulate is that number. If no pass was taken, nothing
 *  happens. This ends the current pass, which does not count. Hooks are
 *  called at SSQ_PLACE_STEP_END only; if it repeats the step of a pass that
 *  failed, then at SSQ_PLACE_BATCH_END.
 *
 *      for (size_t i = 0; i < batches; i++)
 *          CHECK(ssq_trainer_step(trainer, loss_of(trainer, i)));
 *      CHECK(ssq_trainer_flush(trainer));
 *
 *  With comm all ranks call it after the same pass.
 *  @return SSQ_ERR_INVALID NULL, or in a capture of a graph; as
 *          ssq_optimizer_step; SSQ_ERR_SCALE as ssq_scaler_update. After
 *          another error the step is due: the next flush or begin makes it. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_flush(ssq_trainer *trainer);

/** Drop the passes that an accumulation has so far, as torch's zero_grad drops
 *  gradients: the next pass is the first of a step. Parameters, moments and the
 *  scaler do not change. This ends the current pass. A failed step that the
 * next begin would repeat is dropped, too. With comm all ranks call it after
 * the same pass.
 *  @return SSQ_ERR_INVALID NULL, in a capture of a graph, or the gradients were
 *          checked already; nothing is dropped then. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_zero_grad(ssq_trainer *trainer);

/** How many passes the accumulation that is open has; 0: none is open. */
SSQ_API uint32_t ssq_trainer_accumulated(const ssq_trainer *trainer);

/** Which rows of a batch are this rank's, and that the next pass counts as much
 *  as they are of it: call it before ssq_trainer_step, on all ranks with the
 *  same number of rows, which nobody compares. A group then makes the steps of
 *  one trainer that takes the whole batches, whatever the shares: its loss is
 *  multiplied by them on the way back. Without this call a pass counts by
 *  .weights, and all the same without those. Where it is all rows of no rank's
 *  but one's, or more ranks than rows, some have none: ssq_trainer_idle is
 *  their pass, or one over an empty batch.
 *  @param rows   of the batch, 0 to 2^50
 *  @param begin  of the share; all rows are the shares of the ranks in their
 *                order, as large as .weights say, to the nearest row. Of a
 *                trainer without comm: 0
 *  @param end    one behind the last
 *  @return SSQ_ERR_INVALID a NULL, rows. Waits for nothing. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_share(ssq_trainer *trainer,
                                                    int64_t rows,
                                                    int64_t *begin,
                                                    int64_t *end);

/** Tell all ranks how many rows this one has for a pass that is to come: for
 *  ranks with batches of their own, of any sizes, where nobody knows how many
 *  the others have (torch's Join). Each rank announces each pass, 0 rows where
 *  it has no batch, and asks ssq_trainer_next before it takes the pass:
 *
 *      int64_t rows = load(0), all;
 *      CHECK(ssq_trainer_announce(trainer, rows));
 *      for (int i = 0;; i = !i) {
 *          CHECK(ssq_trainer_next(trainer, &all));
 *          if (all == 0)
 *              break;                        // on all ranks alike
 *          int64_t now = rows;
 *          rows = load(!i);                  // the next batch, or 0
 *          CHECK(ssq_trainer_announce(trainer, rows));
 *          if (now > 0)
 *              CHECK(ssq_trainer_step(trainer, loss_of(trainer, i)));
 *          else
 *              CHECK(ssq_trainer_idle(trainer));
 *      }
 *
 *  Announced so, before the step of the pass before it, a pass costs no
 *  waiting: 16 bytes travel while that step is on its way. Announced behind
 *  that step it is told as well, but ssq_trainer_next waits for the step then.
 *  Nothing of it stands on the trainer's queue. Passes that count alike have
 *  the bits of passes that nobody has announced. A rank that has announced 0
 *  may have rows again later, in the next epoch say. Without comm this rank is
 *  all.
 *  @param rows  of this rank, 0 to 2^50
 *  @return SSQ_ERR_INVALID a NULL, rows, or 8 passes are announced that
 *          ssq_trainer_next has not come to; SSQ_ERR_NOMEM; SSQ_ERR_COMM the
 *          group has ended; SSQ_ERR_DEVICE. Nothing is announced then, and the
 *          call may be repeated.
 *  @note A collective of comm with the tag "rows": all ranks call it in the
 *        same place among theirs. Asynchronous. A checkpoint does not have
 *        what is announced, and a load leaves it. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_announce(ssq_trainer *trainer,
                                                       int64_t rows);

/** Which pass is next: the first that was announced and not asked for. It
 *  counts as much as this rank's rows are of those of all ranks, as
 *  ssq_trainer_share has it and whatever .weights are, so that a group makes
 *  the steps of one trainer that takes the ranks' rows as one batch. A rank
 *  that has announced 0 calls ssq_trainer_idle for it, or takes a pass over an
 *  empty batch, of tensors with 0 rows: before the first step, which makes the
 *  parameters, and in nets with batch norms of all ranks. Whatever it takes
 *  counts nothing. Where no rank has any rows, all have come to the end, and
 *  leave this pass out: a step of it would be one of moments and weight decay
 *  alone. An accumulation that is open then goes on with the passes of the next
 *  epoch, or all ranks idle until its step is made.
 *  @param rows  of all ranks, the same on each; 0: the end. Written only on
 *               success
 *  @return SSQ_ERR_INVALID a NULL, or no pass is announced; SSQ_ERR_COMM the
 *          group has ended, with the rank that ended it by name; SSQ_ERR_NOMEM,
 *          behind which the call may be repeated; SSQ_ERR_DEVICE.
 *  @note Waits until all ranks have announced the pass, and for the collectives
 *        that this rank has called before it did: one thread that drives
 *        several local ranks announces for all of them first. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_next(ssq_trainer *trainer,
                                                   int64_t *rows);

/** A pass without a batch, for a rank that has none while others have: its
 *  gradients are zeros, and the step that is due is made with them. What the
 *  others' passes count is theirs to say (ssq_trainer_share, ssq_trainer_next);
 *  without it the sum is divided by the number of all ranks. ssq_trainer_begin
 *  is not called for it, and hooks are called but for the loss's.
 *  ssq_trainer_loss leaves it out. It calls the collectives of a step alone:
 *  where the others' passes have more, those of a batch norm with .comm
 *  (nn.h), the group ends, and the text of all ranks says which rank calls
 *  "batch_norm" where this one calls "gradients". In such nets a rank without
 *  rows takes a pass over an empty batch, of tensors with 0 rows, whose
 *  gradients are zeros as well.
 *  @return SSQ_ERR_INVALID NULL, without comm, or before the first step: the
 *          first pass of a rank makes its parameters, if with an empty batch;
 *          else as ssq_trainer_begin and ssq_trainer_step. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_idle(ssq_trainer *trainer);

/** The mean of the losses of all passes that ssq_trainer_step has taken since
 *  the last call, skipped ones too, but for those that count nothing
 *  (ssq_trainer_share, ssq_trainer_next): summed on the device in float32. It
 *  waits.
 *  @param mean  NaN where there were none
 *  @return SSQ_ERR_INVALID a NULL, or labels out of range (see above): mean is
 *          not written, and the mean restarts; the queue's error. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_loss(ssq_trainer *trainer,
                                                   double *mean);

typedef struct ssq_trainer_progress {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_trainer_progress));
    uint64_t passes; /**< that loss is the mean of; 0: none has arrived */
    uint64_t steps;  /**< ssq_trainer_steps() when they were sent */
    double loss;     /**< the mean of their losses; NaN if passes is 0 */
    double accuracy; /**< the mean of their accuracies, 0..1; NaN if passes is
                        0, or without .accuracy of the trainer */
} ssq_trainer_progress;
#define SSQ_TRAINER_PROGRESS_INIT                                              \
    {                                                                          \
        sizeof(ssq_trainer_progress), 0, 0, 0.0, 0.0                           \
    }

/** Report mean loss and accuracy without a wait. Each call sends the sums of
 *  the passes since the last one to the host, unless earlier sums are still in
 *  flight, and returns the sums that have arrived. The result may therefore lag
 *  by a few steps, or be empty. Each pass is reported exactly once:
 *  ssq_trainer_loss leaves out passes that were sent.
 *
 *      ssq_trainer_progress p = SSQ_TRAINER_PROGRESS_INIT;
 *      CHECK(ssq_trainer_poll(trainer, &p));
 *      if (p.passes > 0)
 *          printf("step %llu: loss %g\n", (unsigned long long)p.steps, p.loss);
 *
 *  @param progress  in: struct_size; out: the rest, only on success
 *  @return SSQ_ERR_INVALID a NULL or wrong struct_size, in a capture, or labels
 *          out of range (see above): progress is not written, and the mean
 *          restarts; SSQ_ERR_NOMEM; the queue's error. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_trainer_poll(ssq_trainer *trainer, ssq_trainer_progress *progress);

/** Return the number of steps that this training has made, skipped ones
 *  included: 0 for NULL. A load restores it, so that a program can resume at
 *  the right batch: steps * .accumulate batches were used, if no accumulation
 *  was flushed or dropped. Since 0.1. */
SSQ_API uint64_t ssq_trainer_steps(const ssq_trainer *trainer);

#ifdef __cplusplus
}
#endif

#endif
