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
 * A trainer is parameters, a tape, an optimizer and, where the policy wants
 * one, a scaler, on a queue of the program's, in whose order all is done; they
 * can be asked for and used by their own calls. Nothing waits for the device
 * but what says so. Used by one thread at a time. */
#ifndef SESQUI_TRAINER_H
#define SESQUI_TRAINER_H

#include <sesqui/amp.h>
#include <sesqui/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_trainer ssq_trainer;

typedef struct ssq_trainer_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_trainer_args));
    const char *policy; /**< as ssq_params_create; NULL "float32" */
    ssq_params_options
        params SSQ_DEFAULT(SSQ_PARAMS_OPTIONS_INIT); /**< the seed is here */
    const char *optimizer; /**< as ssq_optimizer_create; NULL "adamw" */
    ssq_optimizer_options options SSQ_DEFAULT(SSQ_OPTIMIZER_INIT); /**< of it */
    const char *scaler; /**< a preset, as ssq_scaler_create; "none"; NULL
                           "sesqui" where the policy needs a scale (f16), else
                           none */
    uint32_t accumulate SSQ_DEFAULT(1); /**< passes to a step of the optimizer,
                           whose gradients are summed in float32 if there are
                           several, and divided by their number; at least 1 */
} ssq_trainer_args;
#define SSQ_TRAINER_DEFAULTS                                                   \
    sizeof(ssq_trainer_args), NULL, SSQ_PARAMS_OPTIONS_INIT, NULL,             \
        SSQ_OPTIMIZER_INIT, NULL, 1
#define SSQ_TRAINER_INIT                                                       \
    {                                                                          \
        SSQ_TRAINER_DEFAULTS                                                   \
    }
#define SSQ_TRAINER(...)                                                       \
    SSQ_ARGS(ssq_trainer_args, SSQ_TRAINER_DEFAULTS, __VA_ARGS__)

/** Make a trainer on a queue.
 *  @param args     NULL all defaults
 *  @param trainer  the caller's; it holds the queue
 *  @return SSQ_ERR_INVALID a NULL or wrong struct_size, accumulate 0; else as
 *          the objects that it is made of. Since 0.1. */
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

/** Begin a pass for training: ssq_tape_begin. The tape is the trainer's; NULL
 *  for NULL. */
SSQ_API ssq_tape *ssq_trainer_begin(ssq_trainer *trainer);

/** Begin a pass for evaluation. */
SSQ_API ssq_tape *ssq_trainer_evaluate(ssq_trainer *trainer);

/** Backward from loss, and with the last pass of an accumulation the step:
 *  check, unscale, clip, update, or skip, then the scaler's update. The first
 *  step gives the optimizer all parameters that there are.
 *  @param loss  one element, as ssq_tape_backward
 *  @return what the tape has latched; as ssq_tape_backward and
 *          ssq_optimizer_step; SSQ_ERR_INVALID also: a parameter that was made
 *          after the first step, by name; SSQ_ERR_SCALE as ssq_scaler_update.
 *          After an error no parameter and no moment has
 *          changed, and the pass does not count. But where all gradients were
 *          there and the step or the update failed, the next begin does that
 *          first, and latches its error */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_step(ssq_trainer *trainer,
                                                   ssq_var loss);

/** The mean of the losses of all passes that ssq_trainer_step has taken since
 *  the last call, skipped ones too: summed on the device in float32. Waits.
 *  @param mean  NaN where there were none
 *  @return SSQ_ERR_INVALID a NULL; the queue's error. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_trainer_loss(ssq_trainer *trainer,
                                                   double *mean);

#ifdef __cplusplus
}
#endif

#endif
