/* SPDX-License-Identifier: Apache-2.0 */
/* scaler.h - dynamic loss scaling as a state machine on the device.
 *
 *     ssq_scaler_create(device, "pytorch,init_scale=1024", NULL, &scaler);
 *     for each step:
 *         ssq_cross_entropy(.., .dloss = ssq_scaler_scale_tensor(scaler))
 *         ..                                             the backward pass
 *         ssq_optimizer_step(queue, optimizer, scaler);  checks, then steps
 *         ssq_scaler_update(queue, scaler);
 *
 * A trainer (trainer.h) makes these calls. A step with a scaler:
 *
 *   scale    the gradient of the loss starts as a multiple of the scale: by
 *            ssq_scaler_scale_tensor as the dloss of a loss, by
 *            ssq_tape_backward, or by ssq_scaler_scale_grad. The scale then
 *            counts as used, until the next update
 *   check    each gradient is read once. The verdict: are all of them finite,
 *            also times 1/scale? The norm, if it is needed
 *   step     1/scale and the clip factor are applied in the update of the
 *            parameters; after a bad verdict no bit changes
 *   update   the machine moves the scale
 *
 * Unscaled gradients. ssq_scaler_unscale and ssq_optimizer_unscale divide the
 * gradients by the scale before the step. Until the next update their memory
 * counts as unscaled, through any tensor: a step uses it as it is, and a second
 * division is refused. Unscale after the last backward of a step. For example,
 * a backward that overwrites an unscaled gradient before the update is used
 * without a division.
 *
 * Nothing waits for the device: the verdict, the counters and the scale stay
 * there. A captured step may therefore be replayed. ssq_scaler_poll reports the
 * state without waiting. A call is in a capture if a graph is being captured on
 * its queue, or if the caller captures the queue's stream (cuda.h).
 *
 * The machine. ssq_scaler_update runs it once, on the OR of all verdicts since
 * the last update ("inf"):
 *
 *   if labels of a trainer were out of range: HOLD, nothing below
 *   since += 1
 *   if inf and floor is APPLY and scale <= min_scale: clean, reported POISON
 *   if inf:
 *     if reset_on_inf: good = 0, grown = false
 *     hyst -= 1, ovf += 1
 *     if hyst > 0 or ovf / since < tolerance: HOLD
 *     if floor is ERROR_AT_MIN and scale <= min_scale: FLOOR, scale unchanged
 *     if floor is ERROR_SNAP and scale < 1.00001: FLOOR, scale unchanged
 *     new = scale * backoff, at least min_scale for CLAMP and ERROR_AT_MIN;
 *     1 for ERROR_SNAP where scale <= 1.5
 *     if floor is ERROR_RESTORE and new <= min_scale: FLOOR, scale unchanged
 *     scale = new, since = ovf = 0, hyst = H if refill has BACKOFF: BACKOFF
 *   else:
 *     hyst = H if refill has CLEAN
 *     good += 1
 *     need = interval + (grown ? repeat_lag : first_lag)
 *     if good >= need (== need with match_equal):
 *       if cap is STOP and scale >= max_scale: CAPPED, good keeps counting
 *       new = scale * growth; scale itself if cap is FINITE and that is not
 *       finite; at most max_scale if cap is CLAMP
 *       scale = new, good = 0, grown = true, since = 0, hyst = H if refill
 *       has GROWTH: GROWTH
 *
 * The scale on the device is float32. Factors are doubles: the product is
 * rounded to double, then to float32, as in PyTorch. To follow a system that
 * multiplies by a float32 factor, give (double)1.1f.
 *
 * Some systems keep the scale in double (binary64). The device follows them if
 * the factors are powers of two and the scale is in [2^-126, 2^127].
 * ssq_scaler_simulate always follows them. doc/design/scaler.md has the rules
 * of each system, and the tests that compare each preset step by step.
 *
 * @sync async
 * @threads object */
#ifndef SESQUI_AMP_SCALER_H
#define SESQUI_AMP_SCALER_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_scaler ssq_scaler;

/** The rule at min_scale. */
typedef enum ssq_scale_floor {
    SSQ_FLOOR_NONE = 0,          /**< the scale may reach 0 */
    SSQ_FLOOR_CLAMP = 1,         /**< it stays at min_scale */
    SSQ_FLOOR_ERROR_AT_MIN = 2,  /**< overflow at min_scale is an error */
    SSQ_FLOOR_ERROR_RESTORE = 3, /**< reaching min_scale is an error, and the
                                      scale keeps its old value (fairseq) */
    SSQ_FLOOR_APPLY = 4,         /**< at min_scale non-finite gradients are
                                      applied (fastai): not recommended */
    SSQ_FLOOR_ERROR_SNAP = 5     /**< a backoff from 1.5 or less gives 1, and an
                                      overflow below 1.00001 is an error
                                      (nntrainer); min_scale must be 1 */
} ssq_scale_floor;

/** The rule at max_scale. */
typedef enum ssq_scale_cap {
    SSQ_CEILING_NONE = 0,   /**< the scale may reach infinity */
    SSQ_CEILING_FINITE = 1, /**< it keeps its last finite value */
    SSQ_CEILING_CLAMP = 2,  /**< it stays at max_scale */
    SSQ_CEILING_STOP = 3    /**< no growth at or above max_scale */
} ssq_scale_cap;

/** When the overflow allowance H is refilled. Values are OR-ed. */
typedef enum ssq_scale_refill {
    SSQ_REFILL_NEVER = 0,
    SSQ_REFILL_CLEAN = 1,   /**< by every clean step */
    SSQ_REFILL_BACKOFF = 2, /**< when the scale falls */
    SSQ_REFILL_GROWTH = 4   /**< when it grows */
} ssq_scale_refill;

/** Options of the machine. Name the fields that differ from the preset
 *  "sesqui", for example SSQ_SCALER_OPTIONS(.init_scale = 1024). Or get a
 *  preset's with ssq_scaler_options_preset, and change fields. */
typedef struct ssq_scaler_options {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_scaler_options));
    double init_scale SSQ_DEFAULT(65536.0); /**< above 0 and finite, as a
                                   float32, to which it is rounded; with
                                   binary64 as a double, which is not rounded */
    double growth_factor SSQ_DEFAULT(2.0);  /**< >= 1, finite */
    double backoff_factor SSQ_DEFAULT(0.5); /**< in (0, 1] */
    uint32_t growth_interval
        SSQ_DEFAULT(2000); /**< clean steps before a growth, >= 1; the
                                   sum with each lag must be below 2^32 */
    uint32_t first_lag
        SSQ_DEFAULT(0); /**< added before the first growth of a streak */
    uint32_t repeat_lag SSQ_DEFAULT(0); /**< added before later ones */
    ssq_scale_floor floor
        SSQ_DEFAULT(SSQ_FLOOR_CLAMP); /**< the rule at min_scale */
    double min_scale SSQ_DEFAULT(1.0); /**< in (0, init_scale], above 0 and
                                   finite as a float32; not used with
                                   SSQ_FLOOR_NONE */
    ssq_scale_cap cap
        SSQ_DEFAULT(SSQ_CEILING_FINITE); /**< the rule at max_scale */
    double max_scale
        SSQ_DEFAULT(0.0); /**< CLAMP: >= init_scale, finite as a float32,
                               with binary64 as a double; STOP: > 0;
                               otherwise not used */
    uint32_t hysteresis
        SSQ_DEFAULT(2); /**< H, in [1, 2^31): the overflow that backs off. For
                              example, 1: the first one; 2: the second */
    uint32_t refill SSQ_DEFAULT(SSQ_REFILL_CLEAN); /**< SSQ_REFILL_* */
    double tolerance
        SSQ_DEFAULT(0.0); /**< in [0, 1]: fairseq's share of overflows */
    bool reset_on_inf SSQ_DEFAULT(true); /**< an overflow restarts the streak:
                              false only in presets of systems that keep it */
    bool match_equal
        SSQ_DEFAULT(false); /**< grow only at good == need, not at good > need:
                              systems that test for equality */
    bool binary64 SSQ_DEFAULT(false); /**< the preset's system computes in
                              double; ssq_scaler_simulate does so too */
    uint32_t max_consecutive_skips
        SSQ_DEFAULT(0); /**< SSQ_SCALE_EVENT_SKIPS occurs each time that
                              this number of consecutive overflows was
                              skipped; 0: never */
} ssq_scaler_options;
#define SSQ_SCALER_OPTIONS_DEFAULTS                                            \
    sizeof(ssq_scaler_options), 65536.0, 2.0, 0.5, 2000, 0, 0,                 \
        SSQ_FLOOR_CLAMP, 1.0, SSQ_CEILING_FINITE, 0.0, 2, SSQ_REFILL_CLEAN,    \
        0.0, true, false, false, 0
#define SSQ_SCALER_OPTIONS_INIT                                                \
    {                                                                          \
        SSQ_SCALER_OPTIONS_DEFAULTS                                            \
    }
#define SSQ_SCALER_OPTIONS(...)                                                \
    SSQ_ARGS(ssq_scaler_options, SSQ_SCALER_OPTIONS_DEFAULTS, __VA_ARGS__)

/** Get the options of a preset, for example "pytorch".
 *
 *  ssq_scaler_preset_name() lists the names. Most presets are the loss scalers
 *  of other systems and have their names; the table of doc/design/scaler.md
 *  describes each one. Three are our own:
 *
 *   - sesqui, the default: hysteresis 2 refilled by any clean step, clamped at
 *     1, kept finite
 *   - fixed: 65536, unless you change init_scale
 *   - check: scale 1; still skips and counts
 *
 *  If a system leaves a value to its caller, the preset has the value of the
 *  system's examples: doc/design/scaler.md. Presets that never move the scale
 *  have an interval and an allowance that no run exhausts.
 *
 *  Settings may follow the name, after commas, for example
 *  "pytorch,init_scale=1024,growth_interval=500". They are init_scale,
 *  growth_factor, backoff_factor, growth_interval, first_lag, repeat_lag,
 *  min_scale, max_scale, hysteresis, tolerance and max_consecutive_skips. A
 *  number is 2^N, or a decimal as in ssq_policy_from_name, for example 1e-4. It
 *  may be 0 here: ssq_scaler_create checks the ranges. If a setting occurs
 *  twice, the last counts.
 *  @param options  in: struct_size; out: the rest
 *  @return
 *   - SSQ_ERR_NOT_FOUND  no such preset or setting; the message lists them
 *   - SSQ_ERR_INVALID    a word without "="; a value that is not a number, or
 *                        not a whole number for a count; min_scale or max_scale
 *                        for a preset that does not use it
 *  @sync host
 *  @threads any
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_scaler_options_preset(const char *preset, ssq_scaler_options *options);

/** Return the name of preset i, aliases included; NULL past the last. Owned by
 *  the library, valid for good.
 *  @sync host
 *  @threads any */
SSQ_API const char *ssq_scaler_preset_name(size_t i);

/** Create a scaler on a device. Do not call it while this thread captures a
 *  graph on the device.
 *  @param preset   as in ssq_scaler_options_preset, for example
 *                  "pytorch,init_scale=1024"; NULL: "sesqui"; ignored if
 *                  options is given
 *  @param options  the whole machine; copied. NULL: the preset's
 *  @param scaler   out: owned by the caller; release it with
 *                  ssq_scaler_destroy(). It holds the device
 *  @return
 *   - SSQ_ERR_INVALID    an option is out of range (the message has its value);
 *                        this thread captures a graph on the device (graph.h)
 *   - SSQ_ERR_INVALID    binary64 with factors that are not powers of two, or
 *                        with an init_scale, or a limit to which the scale is
 *                        set, that is not a float32
 *   - otherwise as ssq_scaler_options_preset
 *  @sync waits for the upload of the state, on an internal queue
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_scaler_create(ssq_device *device, const char *preset,
                  const ssq_scaler_options *options, ssq_scaler **scaler);

/** Destroy a scaler. Optimizers, trainers and graphs that use it keep it.
 *  Enqueued work is finished normally. Call ssq_scaler_update first: an
 *  optimizer that was checked or stepped with the scaler since its last update
 *  cannot make another step otherwise.
 *  @sync host */
SSQ_API void ssq_scaler_destroy(ssq_scaler **scaler);

/** Scale a gradient: y = x * scale, computed in float32 and rounded once. Use
 *  it for the start of your own backward pass, or for a weight of a loss that
 *  becomes its dloss. The scale then counts as used. An empty y is permitted:
 *  if your own kernel has multiplied by the scale, it reports the use.
 *  @param x  float, any strides
 *  @param y  float, any strides; may be x
 *  @return SSQ_ERR_INVALID  memory of y was unscaled since the last update;
 *                           otherwise as ssq_scale
 *  @note Class B (doc/design/numbers.md): the same bits on every device. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_scale_grad(ssq_queue *queue,
                                                        ssq_scaler *scaler,
                                                        const ssq_tensor *x,
                                                        const ssq_tensor *y);

/** Scale a value to be reported, for example a loss. As ssq_scaler_scale_grad,
 *  but the scale does not count as used, and y may be in unscaled memory.
 *  @return as ssq_scale */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_scaler_scale_value(ssq_queue *queue, const ssq_scaler *scaler,
                       const ssq_tensor *x, const ssq_tensor *y);

/** Return the scale as a device scalar (f32, rank 0), for the dloss of a loss.
 *  A loss that writes its gradient with it uses the scale; this call does not.
 *  @return owned by the scaler, valid as long as it; do not write it. NULL for
 *          NULL
 *  @sync host */
SSQ_API const ssq_tensor *ssq_scaler_scale_tensor(const ssq_scaler *scaler);

/** Check a list of gradients without writing them: the result counts in the
 *  next update. Use it for gradients that no optimizer of this library has. An
 *  optimizer's step checks its own gradients, and skips by that check alone.
 *  For example, if a gradient is repaired between this call and the step, the
 *  step is taken, but the update still counts an overflow. Check gradients
 *  before you unscale them: unscaled ones are not refused, but the check always
 *  multiplies by 1/scale. It may be called several times before an update.
 *  @param n      may be 0: a check without bad gradients
 *  @param grads  n float tensors of any strides; may be NULL if n is 0
 *  @return
 *   - SSQ_ERR_INVALID  the scale was not used since the last update; a tensor
 *                      is not float
 *   - SSQ_ERR_UNSUPPORTED  a gradient that is not contiguous is too large for a
 *                          launch
 *   - the status of the rank hook. The check does not count then */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_scaler_check(ssq_queue *queue, ssq_scaler *scaler, size_t n,
                 const ssq_tensor *const *grads);

/** Unscale gradients: outs[i] = grads[i] * (1/scale). 1/scale is rounded to
 *  float32; it is exact for powers of two from 2^-127 on. For smaller ones it
 *  is infinite, and a gradient of 0 becomes NaN. Gradients are checked as by
 *  ssq_scaler_check. Values that are not finite are written too.
 *
 *  The memory of outs counts as unscaled until the next update, and is held
 *  until then. An optimizer with such gradients does not unscale them again.
 *  @param n      may be 0: grads and outs may be NULL then
 *  @param grads  n float tensors of any strides
 *  @param outs   n f32 or bf16 tensors with the shapes of grads; outs[i] may be
 *                grads[i], but must not overlap another one. f16 is refused, as
 *                in torch: unscaled gradients would become zero
 *  @return
 *   - SSQ_ERR_INVALID  memory of grads[i] was unscaled since the last update;
 *                      or a part of outs[i], but not all of it; a dtype, a
 *                      shape or an overlap
 *   - SSQ_ERR_UNSUPPORTED  also: outs[i] is not contiguous, and too large for a
 *                          launch
 *   - otherwise as ssq_scaler_check
 *   After an error no element of outs has been written, and no further memory
 *   counts as unscaled. The call may be repeated. After another error than
 *   SSQ_ERR_INVALID or the hook's, the check may count in the next update. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_unscale(
    ssq_queue *queue, ssq_scaler *scaler, size_t n,
    const ssq_tensor *const *grads, const ssq_tensor *const *outs);

/** Run the machine once, on the verdicts since the last update. The optimizers
 *  that were stepped with this scaler may check and step again after it.
 *  @return
 *   - SSQ_ERR_SCALE    an earlier update reached the floor's error or
 *                      max_consecutive_skips, and the host knows it by now. The
 *                      update is enqueued nevertheless. Each later update
 *                      returns it again, until ssq_scaler_event_clear or the
 *                      load of a state without events. ssq_graph_launch does
 *                      not return it: see ssq_scaler_poll
 *   - SSQ_ERR_INVALID  nothing was checked since the last update; nothing has
 *                      changed then */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_update(ssq_queue *queue,
                                                    ssq_scaler *scaler);

/** Set the scale to a number, as torch's update(new_scale). good, hyst, grown,
 *  since and ovf do not change. It counts as the update of the step (updates,
 *  skipped, consecutive, max_consecutive_skips), but as in torch it needs no
 *  check and no use of the scale before. Without a bad check consecutive
 *  becomes 0. The action is HOLD if the step was skipped, POISON if floor APPLY
 *  has applied it, and otherwise CLEAN.
 *  @param scale  rounded to float32; min_scale and max_scale do not limit it.
 *                If the call is captured, every launch sets this number
 *  @return
 *   - SSQ_ERR_INVALID  scale is not positive and finite as a float32
 *   - SSQ_ERR_SCALE    as ssq_scaler_update */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_update_to(ssq_queue *queue,
                                                       ssq_scaler *scaler,
                                                       double scale);

/** Change the growth interval from the next update on. If a preset with
 *  match_equal has a streak of at least this length already, its scale grows
 *  only after the next overflow, as in its system. With fastai2_non_native,
 *  whose streak an overflow does not end, it grows no more.
 *  @return SSQ_ERR_INVALID  interval is 0, or too large with the lags; in a
 *                           capture */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_set_growth_interval(
    ssq_queue *queue, ssq_scaler *scaler, uint32_t interval);

/** The action of an update. */
typedef enum ssq_scale_action {
    SSQ_SCALE_NONE = 0,    /**< no update yet */
    SSQ_SCALE_CLEAN = 1,   /**< finite, nothing moved */
    SSQ_SCALE_GROWTH = 2,  /**< finite, the scale grew */
    SSQ_SCALE_CAPPED = 3,  /**< finite, growth stopped at max_scale */
    SSQ_SCALE_HOLD = 4,    /**< skipped within the allowance, or for labels */
    SSQ_SCALE_BACKOFF = 5, /**< skipped, the scale fell */
    SSQ_SCALE_FLOOR = 6,   /**< skipped, and an error: at the floor */
    SSQ_SCALE_POISON = 7   /**< not finite and applied: floor APPLY */
} ssq_scale_action;

/** Events, OR-ed. They stay until ssq_scaler_event_clear or the load of another
 *  state. */
#define SSQ_SCALE_EVENT_FLOOR 1u /**< SSQ_SCALE_FLOOR happened */
#define SSQ_SCALE_EVENT_SKIPS 2u /**< max_consecutive_skips was reached */

/** State of the machine. */
typedef struct ssq_scaler_state {
    size_t struct_size;
    double scale;         /**< in use by the next step */
    uint32_t good;        /**< clean steps since the last growth and, with
                               reset_on_inf, since the last overflow */
    int32_t hyst;         /**< remaining allowance; may be negative */
    uint32_t grown;       /**< a growth and, with reset_on_inf, no overflow
                               since then: 0 or 1 */
    uint32_t since;       /**< updates since the last rescale, without those for
                               labels and of ssq_scaler_update_to */
    uint32_t ovf;         /**< overflows since the last backoff */
    uint32_t updates;     /**< in all. After 2^32 - 1 it begins again at 0, and
                               ssq_scaler_state_set may refuse the state */
    uint32_t skipped;     /**< updates whose step was skipped */
    uint32_t consecutive; /**< consecutive overflows now. Steps that were
                               skipped for their labels do not count, and do not
                               end the sequence */
    uint32_t last_skip;   /**< number of the last skipped update; 0: none */
    uint32_t growths;     /**< in all */
    uint32_t backoffs;    /**< in all */
    uint32_t events;      /**< SSQ_SCALE_EVENT_* */
    ssq_scale_action action; /**< of the last update */
} ssq_scaler_state;
#define SSQ_SCALER_STATE_INIT                                                  \
    {                                                                          \
        sizeof(ssq_scaler_state), 0.0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,     \
            SSQ_SCALE_NONE                                                     \
    }

/** Report the last state that has arrived on the host. Each update, each call
 *  that sets the state, and each ssq_graph_launch of an update sends a copy.
 *  The result is therefore the state after one of them that is finished; after
 *  a sync, after the last one. Nothing is enqueued. If several queues are used,
 *  the copy of the last call counts. If host memory is too short for the copy
 *  of a launch, the next one updates the result.
 *
 *  Launches of a graph that the caller captured through CUDA send no copy:
 *  neither this call nor ssq_scaler_update sees their events. Use
 *  ssq_scaler_state_get then.
 *  @param state  in: struct_size; out: the rest
 *  @return
 *   - SSQ_ERR_SCALE   state.events is not 0; state is written
 *   - SSQ_ERR_DEVICE  in a child of fork that cannot use the device: state is
 *                     not written. Other failures of the device are not
 *                     reported
 *  @sync host */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_poll(ssq_scaler *scaler,
                                                  ssq_scaler_state *state);

/** Report the state after everything that is enqueued on the queue.
 *  @param state  in: struct_size; out: the rest
 *  @return
 *   - SSQ_ERR_SCALE    state.events is not 0; state is written
 *   - SSQ_ERR_INVALID  in a capture
 *  @sync waits for the queue */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_state_get(ssq_queue *queue,
                                                       ssq_scaler *scaler,
                                                       ssq_scaler_state *state);

/** Restore a saved state: the scaler continues as if never interrupted. No
 *  counter moves. Call it between steps, before the scale is used: gradients
 *  that were scaled before are divided by the new scale, without an error.
 *  Sums of ssq_optimizer_accumulate are then refused, as after an update.
 *
 *  The state is trusted, since a program may fill it in: it has no checksum. A
 *  damaged state with possible values is loaded; for example, good 8 in place
 *  of 0. For bytes in a file use ssq_scaler_save and ssq_scaler_load, which
 *  detect damage.
 *  @param state  copied
 *  @return SSQ_ERR_INVALID
 *           - the scale is negative, NaN or not a float32; or it is 0 or
 *             infinite, and a machine with these options does not get there by
 *             its rules (for example, without a floor and a cap it reaches
 *             both)
 *           - counters that contradict each other or the options, for example
 *             hyst > hysteresis, grown > 1 or skipped > updates; an unknown
 *             action or event
 *           - something was checked since the last update; in a capture
 *          After an error nothing has changed. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_state_set(
    ssq_queue *queue, ssq_scaler *scaler, const ssq_scaler_state *state);

/** Save the whole scaler, options and state, as bytes for a file. The blob has
 *  a version and a checksum: ssq_scaler_load refuses one that is damaged,
 *  truncated or of another version. It is little-endian on every processor.
 *  Events are saved too, and are not an error here.
 *  @param blob    out: of any alignment. NULL with bytes 0: only report needed
 *  @param bytes   size of blob
 *  @param needed  out, optional: size of the saved bytes; written also if bytes
 *                 is too small
 *  @return SSQ_ERR_INVALID  bytes is less than needed; something was checked
 *                           since the last update; in a capture
 *  @sync waits for the queue, unless blob is NULL
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_save(ssq_queue *queue,
                                                  ssq_scaler *scaler,
                                                  void *blob, size_t bytes,
                                                  size_t *needed);

/** Continue as a saved scaler: its options and state replace those of this one.
 *  Call it between steps, as ssq_scaler_state_set. Saved events return: calls
 *  that report them return SSQ_ERR_SCALE. The rank hook stays.
 *
 *  The blob is validated completely before anything changes, and may be freed
 *  when the call returns.
 *  @param bytes  size of blob: exactly what was needed
 *  @return SSQ_ERR_INVALID  not a scaler's blob; another version or byte order;
 *                           damaged; options or a state that ssq_scaler_create
 *                           or ssq_scaler_state_set refuses; something was
 *                           checked since the last update; in a capture
 *          After an error nothing has changed.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_load(ssq_queue *queue,
                                                  ssq_scaler *scaler,
                                                  const void *blob,
                                                  size_t bytes);

/** Clear the events: calls that return them return SSQ_OK again until the next
 *  event.
 *  @return SSQ_ERR_INVALID  in a capture */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_event_clear(ssq_queue *queue,
                                                         ssq_scaler *scaler);

/** The five fields of torch.amp.GradScaler.state_dict(). */
typedef struct ssq_torch_scaler_state {
    size_t struct_size;
    double scale;         /**< "scale" */
    double growth_factor; /**< an option, as the next two */
    double backoff_factor;
    int64_t growth_interval;
    int64_t _growth_tracker; /**< good of the state */
} ssq_torch_scaler_state;
#define SSQ_TORCH_SCALER_STATE_INIT                                            \
    {                                                                          \
        sizeof(ssq_torch_scaler_state), 0.0, 0.0, 0.0, 0, 0                    \
    }

/** Load torch's fields into a scaler of any preset: scale, factors, interval
 *  and streak are replaced. The other counters restart as in a new scaler, and
 *  events are cleared. Call it between steps, as ssq_scaler_state_set. The
 *  fields are trusted, as in ssq_scaler_state_set.
 *  @return as ssq_scaler_create and ssq_scaler_state_set; also SSQ_ERR_INVALID
 *          if growth_interval or _growth_tracker does not fit 32 bits. After an
 *          error nothing has changed. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_torch_load(
    ssq_queue *queue, ssq_scaler *scaler, const ssq_torch_scaler_state *state);

/** Report torch's five fields. Events are not an error here.
 *  @param state  in: struct_size; out: the rest
 *  @return SSQ_ERR_INVALID  in a capture
 *  @sync waits for the queue */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_torch_save(
    ssq_queue *queue, ssq_scaler *scaler, ssq_torch_scaler_state *state);

/** A rank hook: reduces a verdict over ranks, so that all ranks skip a step or
 *  none does. Every check calls it after it has enqueued the verdict:
 *  ssq_scaler_check and _unscale, ssq_optimizer_check and _unscale, and
 *  ssq_optimizer_step if it makes the check.
 *  @param verdict  device tensor, i32, one element: 0 all finite, 1 not, 2^30
 *                  labels of a trainer were out of range. The hook enqueues on
 *                  the queue a MAX over ranks that writes it back. It must not
 *                  sync. Valid during the call
 *  @param user     as given to ssq_scaler_rank_hook_set
 *  @return SSQ_OK, or the status that the check must return. If the hook leaves
 *          no error text, the library sets one that names the hook
 *  @note In a capture it is called once, and what it enqueues is captured. */
typedef ssq_status (*ssq_scaler_rank_hook)(ssq_queue *queue,
                                           const ssq_tensor *verdict,
                                           void *user);

/** Set the rank hook. If it returns an error, the check returns that error and
 *  does not count. The check may be repeated.
 *  @param hook  NULL removes the hook
 *  @param user  owned by the caller; it must live as long as the hook is set.
 *               ssq_scaler_destroy does not remove the hook: a trainer that
 *               holds the scaler still calls it
 *  @return as every call
 *  @sync host */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_rank_hook_set(
    ssq_scaler *scaler, ssq_scaler_rank_hook hook, void *user);

/** Run the machine without a device: which scale and action follow each step.
 *  @param options   of the machine; it computes in double if binary64 is set,
 *                   else in float32
 *  @param state     in/out: where it begins and ends. NULL, or all zeros as
 *                   SSQ_SCALER_STATE_INIT: begins at init_scale. Checked as by
 *                   ssq_scaler_state_set, but with binary64 the scale may be
 *                   any positive, finite double
 *  @param n         number of steps
 *  @param overflow  n bytes: 0 the step was finite, else not; may be NULL if n
 *                   is 0
 *  @param scales    out, optional: n scales, each before the update of its step
 *  @param actions   out, optional: n actions
 *  @return SSQ_ERR_INVALID  options or state are refused. A floor or
 *                           consecutive skips are events in the state, not
 *                           errors
 *          After an error nothing is written.
 *  @sync host
 *  @threads any
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_simulate(
    const ssq_scaler_options *options, ssq_scaler_state *state, size_t n,
    const uint8_t *overflow, double *scales, ssq_scale_action *actions);

#ifdef __cplusplus
}
#endif

#endif
