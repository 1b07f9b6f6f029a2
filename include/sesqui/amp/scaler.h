/* SPDX-License-Identifier: Apache-2.0 */
/* scaler.h - dynamic loss scaling as a state machine on the device.
 *
 * A training step with a scaler:
 *
 *   scale    the gradient begins as a multiple of the scale:
 *            ssq_scaler_scale_tensor given to a loss as its dloss, or
 *            ssq_scaler_scale_grad; one of them, since the last update, is
 *            what "the scale was used" means below
 *   check    each gradient is read once: verdict (are all finite, also times
 *            1/scale, as the step applies them?), norm
 *   step     1/scale and the clip factor are folded into the update; under a
 *            bad verdict it changes no bit
 *   update   the machine moves the scale
 *
 * Gradients that were unscaled in between (ssq_scaler_unscale,
 * ssq_optimizer_unscale) are true ones until the next update, whatever tensor
 * their memory is seen through: a step takes them as they are, and dividing
 * them again is refused. The stage belongs to the memory and not to its
 * contents, so unscale after the last backward of a step: what overwrites a
 * true gradient before the update is taken as true.
 *
 * None of it reads the device: the verdict, the counters and the scale stay
 * there, and a captured step may be replayed. ssq_scaler_poll tells what
 * happened without waiting.
 *
 * The machine, once per ssq_scaler_update, on what all checks since the last
 * update found (the OR of their verdicts, "inf"):
 *
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
 * The scale on the device is float32. A factor is a double: the product is
 * rounded to double and then to float32, as PyTorch does. A system that
 * multiplies by a float32 factor is followed by giving (double)1.1f. Systems
 * that keep the scale in double (binary64) are followed on the device with
 * factors that are powers of two, while the scale is in [2^-126, 2^127]; the
 * dry run follows them always. Every system's own rules, and the tests that
 * compare each preset with them step by step, are in doc/design/scaler.md.
 *
 * A scaler is used by one thread at a time. */
#ifndef SESQUI_AMP_SCALER_H
#define SESQUI_AMP_SCALER_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_scaler ssq_scaler;

/** What happens at min_scale. */
typedef enum ssq_scale_floor {
    SSQ_FLOOR_NONE = 0,          /**< the scale may reach 0 */
    SSQ_FLOOR_CLAMP = 1,         /**< it stays at min_scale */
    SSQ_FLOOR_ERROR_AT_MIN = 2,  /**< overflow at min_scale is an error */
    SSQ_FLOOR_ERROR_RESTORE = 3, /**< reaching min_scale is an error, and the
                                      scale keeps its old value (fairseq) */
    SSQ_FLOOR_APPLY = 4,         /**< at min_scale non-finite gradients are
                                      applied (fastai): not recommended */
    SSQ_FLOOR_ERROR_SNAP = 5     /**< 1 follows scales up to 1.5, and overflow
                                      below 1.00001 is an error (nntrainer);
                                      min_scale is 1 */
} ssq_scale_floor;

/** What happens at max_scale. */
typedef enum ssq_scale_cap {
    SSQ_CEILING_NONE = 0,   /**< the scale may reach infinity */
    SSQ_CEILING_FINITE = 1, /**< it keeps its last finite value */
    SSQ_CEILING_CLAMP = 2,  /**< it stays at max_scale */
    SSQ_CEILING_STOP = 3    /**< no growth at or above max_scale */
} ssq_scale_cap;

/** When the overflow allowance H is refilled; OR-ed. */
typedef enum ssq_scale_refill {
    SSQ_REFILL_NEVER = 0,
    SSQ_REFILL_CLEAN = 1,   /**< by every clean step */
    SSQ_REFILL_BACKOFF = 2, /**< when the scale falls */
    SSQ_REFILL_GROWTH = 4   /**< when it grows */
} ssq_scale_refill;

/** Every knob of the machine. Take a preset's with
 *  ssq_scaler_options_preset and change what you want, or name fields:
 *  SSQ_SCALER_OPTIONS(.init_scale = 1024). The others are those of "sesqui". */
typedef struct ssq_scaler_options {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_scaler_options));
    double init_scale SSQ_DEFAULT(65536.0); /**< > 0, finite; rounded to float32
                                   where the machine is */
    double growth_factor SSQ_DEFAULT(2.0);  /**< >= 1, finite */
    double backoff_factor SSQ_DEFAULT(0.5); /**< in (0, 1] */
    uint32_t growth_interval
        SSQ_DEFAULT(2000); /**< clean steps before a growth, >= 1; the
                                   interval and a lag together below 2^32 */
    uint32_t first_lag
        SSQ_DEFAULT(0); /**< added before the first growth of a streak */
    uint32_t repeat_lag SSQ_DEFAULT(0); /**< added before later ones */
    ssq_scale_floor floor
        SSQ_DEFAULT(SSQ_FLOOR_CLAMP); /**< the rule at min_scale */
    double min_scale SSQ_DEFAULT(1.0); /**< in (0, init_scale]; not read with
                                   SSQ_FLOOR_NONE */
    ssq_scale_cap cap
        SSQ_DEFAULT(SSQ_CEILING_FINITE); /**< the rule at max_scale */
    double max_scale
        SSQ_DEFAULT(0.0); /**< for CLAMP >= init_scale, for STOP > 0 */
    uint32_t hysteresis
        SSQ_DEFAULT(2); /**< H, in [1, 2^31): overflows before a backoff */
    uint32_t refill SSQ_DEFAULT(SSQ_REFILL_CLEAN); /**< SSQ_REFILL_* */
    double tolerance
        SSQ_DEFAULT(0.0); /**< in [0, 1]: fairseq's share of overflows */
    bool reset_on_inf SSQ_DEFAULT(true); /**< an overflow restarts the streak:
                              false for nntrainer and fastai2_non_native only */
    bool match_equal
        SSQ_DEFAULT(false); /**< grow only at good == need: pytorch, fastai2,
                              fastai2_non_native, keras3, megatron, colossalai
                              */
    bool binary64 SSQ_DEFAULT(false); /**< the preset's system computes in
                              double: the simulator does too */
    uint32_t max_consecutive_skips
        SSQ_DEFAULT(0); /**< SSQ_SCALE_EVENT_SKIPS each time that this
                              number of steps in a row was skipped; 0 never */
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

/** The options of a preset: pytorch, keras3, tf_keras, fastai (v1), fastai_old
 *  (v1 before March 2019), fastai2 (v2: torch's), fastai2_non_native, megatron,
 *  colossalai, deepspeed, deepspeed_old, deepspeed_consecutive,
 *  deepspeed_fused, apex_amp (also apex), nemo, jmp, flax, fairseq, ort,
 *  paddle, nntrainer, tiny-cuda-nn, darknet; sesqui (ours, the default:
 *  hysteresis 2 refilled by any clean step, clamped at 1, kept finite); fixed
 *  (65536 until you change init_scale); check (scale 1: still skips and
 *  counts). Where a system leaves a value to its caller, the preset has the
 *  one of its examples: doc/design/scaler.md. The presets that never move have
 *  an interval and an allowance that no run uses up.
 *
 *  Numbers may follow the name, after commas:
 *  "keras3,init_scale=1024,growth_interval=500". The settings are init_scale,
 *  growth_factor, backoff_factor, growth_interval, first_lag, repeat_lag,
 *  min_scale, max_scale, hysteresis, tolerance and max_consecutive_skips. A
 *  number is a decimal of up to 15 digits, or 2^N. ssq_scaler_create checks
 *  their values.
 *  @return SSQ_ERR_NOT_FOUND another name or setting, listing all;
 *          SSQ_ERR_INVALID a NULL or wrong struct_size, a word without "=",
 *          another value than a number, min_scale or max_scale of a preset that
 *          does not read it. *options is unchanged then. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_scaler_options_preset(const char *preset, ssq_scaler_options *options);

/** Name of preset i, aliases included; NULL past the last. */
SSQ_API const char *ssq_scaler_preset_name(size_t i);

/** Make a scaler on a device. Waits until its words are there. Not while
 *  this thread captures a graph on the device.
 *  @param preset   as ssq_scaler_options_preset, such as
 *                  "pytorch,init_scale=1024"; NULL "sesqui"; ignored when
 *                  options is given
 *  @param options  the whole machine, or NULL for the preset's; copied
 *  @param scaler   the caller's; it holds the device
 *  @return SSQ_ERR_INVALID an option that the machine cannot have, with its
 *          value (also: binary64 with factors that are not powers of two,
 *          which float32 device state would not follow); SSQ_ERR_NOT_FOUND,
 *          SSQ_ERR_NOMEM, SSQ_ERR_DEVICE. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_scaler_create(ssq_device *device, const char *preset,
                  const ssq_scaler_options *options, ssq_scaler **scaler);

/** Drop a scaler; enqueued work that uses it is not disturbed. */
SSQ_API void ssq_scaler_destroy(ssq_scaler **scaler);

/** Scale a gradient: y = x * scale, computed in float32 and rounded once; x may
 *  be y. For the seed of a backward pass of your own, or a weight of a loss
 *  that becomes its dloss. The scale was used then; also by an empty y, which
 *  says so where a kernel of yours has multiplied. Floats, any strides.
 *  @return SSQ_ERR_INVALID also: y was unscaled since the last update. Errors
 *          as ops.h says; class B */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_scale_grad(ssq_queue *queue,
                                                        ssq_scaler *scaler,
                                                        const ssq_tensor *x,
                                                        const ssq_tensor *y);

/** Scale a value for show, a loss to be printed say: the same arithmetic and
 *  errors, but the scale does not count as used, since no gradient was scaled,
 *  and y may be in memory that was unscaled. Asynchronous. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_scaler_scale_value(ssq_queue *queue, const ssq_scaler *scaler,
                       const ssq_tensor *x, const ssq_tensor *y);

/** The scale as a device scalar (f32, rank 0), for a loss's dloss: a loss that
 *  writes its gradient with it has used the scale; asking for the tensor has
 *  not. Owned by the scaler, valid as long as it; do not write it. NULL for
 *  NULL. */
SSQ_API const ssq_tensor *ssq_scaler_scale_tensor(const ssq_scaler *scaler);

/** Check a list of gradients: their verdict joins the next update. Nothing is
 *  written. For gradients that no optimizer of ours owns; of others it adds
 *  nothing, since an optimizer's step checks them itself, and skips by that
 *  check alone.
 *  @param grads  n float tensors of any strides; n may be 0
 *  @return SSQ_ERR_INVALID also: the scale was not used since the last update.
 *          Asynchronous. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_scaler_check(ssq_queue *queue, ssq_scaler *scaler, size_t n,
                 const ssq_tensor *const *grads);

/** outs[i] = grads[i] / scale as float32: multiplied by 1/scale rounded to
 *  float32 (exact for powers of two), checked on the way like
 *  ssq_scaler_check. outs[i] may be grads[i] when it is f32 or bf16; writing
 *  f16 is INVALID, as in torch: true gradients would flush to zero there.
 *  Non-finite values are written too. The memory of outs holds true gradients
 *  until the next update; an optimizer that owns it steps on them as they are.
 *  @return SSQ_ERR_INVALID also: the scale was not used since the last update,
 *          or grads[i] is in memory that was unscaled since then, or outs[i]
 *          in part. Asynchronous. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_unscale(
    ssq_queue *queue, ssq_scaler *scaler, size_t n,
    const ssq_tensor *const *grads, const ssq_tensor *const *outs);

/** Move the machine by one step on what was checked since the last update.
 *  Returns what an earlier update left:
 *  @return SSQ_ERR_SCALE an earlier update reached the floor's error or
 *          max_consecutive_skips and that is known on the host by now (the
 *          update is enqueued all the same); SSQ_ERR_INVALID nothing was
 *          checked since the last update. Asynchronous. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_update(ssq_queue *queue,
                                                    ssq_scaler *scaler);

/** As torch's update(new_scale): set the scale to a number and leave the
 *  machine's counters. Counts as the step's update (updates, skips), but as in
 *  torch it needs no check before it, nor a use of the scale.
 *  @param scale  rounded to float32
 *  @return SSQ_ERR_INVALID not finite or <= 0 as a float32; SSQ_ERR_SCALE as
 *          ssq_scaler_update. Asynchronous. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_update_to(ssq_queue *queue,
                                                       ssq_scaler *scaler,
                                                       double scale);

/** Change the growth interval from the next update on. A preset with
 *  match_equal whose streak is longer already grows only after the next
 *  overflow, as its system does.
 *  @return SSQ_ERR_INVALID 0, too large with the lags, or in a capture. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_set_growth_interval(
    ssq_queue *queue, ssq_scaler *scaler, uint32_t interval);

/** What an update did. */
typedef enum ssq_scale_action {
    SSQ_SCALE_NONE = 0,    /**< no update yet */
    SSQ_SCALE_CLEAN = 1,   /**< finite, nothing moved */
    SSQ_SCALE_GROWTH = 2,  /**< finite, the scale grew */
    SSQ_SCALE_CAPPED = 3,  /**< finite, growth stopped at max_scale */
    SSQ_SCALE_HOLD = 4,    /**< skipped, within the allowance */
    SSQ_SCALE_BACKOFF = 5, /**< skipped, the scale fell */
    SSQ_SCALE_FLOOR = 6,   /**< skipped, and an error: at the floor */
    SSQ_SCALE_POISON = 7   /**< not finite and applied: floor APPLY */
} ssq_scale_action;

/** Event codes that stay until ssq_scaler_event_clear; OR-ed. */
#define SSQ_SCALE_EVENT_FLOOR 1u /**< SSQ_SCALE_FLOOR happened */
#define SSQ_SCALE_EVENT_SKIPS 2u /**< max_consecutive_skips was reached */

/** Every field of the machine. */
typedef struct ssq_scaler_state {
    size_t struct_size;
    double scale;         /**< in use by the next step */
    uint32_t good;        /**< clean steps since the last overflow or growth */
    int32_t hyst;         /**< overflows left; may be below 0 */
    uint32_t grown;       /**< a growth since the last overflow: 0 or 1 */
    uint32_t since;       /**< updates since the last rescale */
    uint32_t ovf;         /**< overflows since the last backoff */
    uint32_t updates;     /**< in all */
    uint32_t skipped;     /**< of them not applied */
    uint32_t consecutive; /**< skipped without a clean one between */
    uint32_t last_skip;   /**< number of the last skipped one; 0 none */
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

/** The last copy of the state that has arrived on the host. One is sent after
 *  every update, set and launch of a captured update, so what comes back is the
 *  state after some finished one of them, and after a sync the state after the
 *  last. Never waits, never enqueues. Of several queues, that of the last call.
 *  @return SSQ_ERR_SCALE when events is not 0 (state is written all the
 *          same); SSQ_ERR_INVALID a NULL or wrong struct_size. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_poll(ssq_scaler *scaler,
                                                  ssq_scaler_state *state);

/** The state after everything enqueued: synchronises the queue. Returns like
 *  ssq_scaler_poll; the queue's error; in a capture SSQ_ERR_INVALID. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_state_get(ssq_queue *queue,
                                                       ssq_scaler *scaler,
                                                       ssq_scaler_state *state);

/** Restore a saved state: the trace goes on as if never interrupted. Pure: no
 *  counter moves. The state is trusted: it has no checksum, since a program may
 *  fill it in itself. A damaged state whose values a machine can have is
 *  loaded; for example, good 8 in place of 0. Use ssq_scaler_save and
 *  ssq_scaler_load for bytes in a file: they find damage.
 *  @return SSQ_ERR_INVALID a scale that is negative, NaN or not a float32; 0 or
 *          infinite, unless a machine with these options reaches that by its
 *          own rules (keras3 and colossalai both, pytorch 0, megatron
 *          infinity); counters that no machine with these options has (hyst >
 *          hysteresis, grown > 1, skipped > updates, ...), a check since the
 *          last update, or a capture. Asynchronous. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_state_set(
    ssq_queue *queue, ssq_scaler *scaler, const ssq_scaler_state *state);

/** The whole scaler as bytes, its options and its state, to be kept in a file:
 *  with a version, the byte order and a checksum, so that one that is damaged,
 *  cut off or of a later library is refused by ssq_scaler_load and not half
 *  believed. Waits for the queue. Events are saved too, and are no error here.
 *  @param blob    where to, of any alignment; NULL with bytes 0 only asks
 *  @param bytes   of memory there
 *  @param needed  out, optional: the bytes of the blob, also when that is more
 *                 than there are
 *  @return SSQ_ERR_INVALID bytes is less than needed, a check since the last
 *          update, or a capture; the queue's error. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_save(ssq_queue *queue,
                                                  ssq_scaler *scaler,
                                                  void *blob, size_t bytes,
                                                  size_t *needed);

/** Go on as the scaler that was saved: its options replace these, and its state
 *  this. The blob is free when this returns. Asynchronous.
 *  @param bytes  those that were needed, not more
 *  @return SSQ_ERR_INVALID not a scaler's blob, of another version or byte
 *          order, damaged, or with what ssq_scaler_create or
 *          ssq_scaler_state_set refuses; a check since the last update, or a
 *          capture. Nothing has changed then. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_load(ssq_queue *queue,
                                                  ssq_scaler *scaler,
                                                  const void *blob,
                                                  size_t bytes);

/** Forget the event codes, so that update and poll answer SSQ_OK again until
 *  the next event. In a capture: SSQ_ERR_INVALID. Asynchronous. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_event_clear(ssq_queue *queue,
                                                         ssq_scaler *scaler);

/** The five fields of torch.amp.GradScaler.state_dict(). */
typedef struct ssq_torch_scaler_state {
    size_t struct_size;
    double scale;         /**< "scale" */
    double growth_factor; /**< of options, as the next two */
    double backoff_factor;
    int64_t growth_interval;
    int64_t _growth_tracker; /**< the state's good */
} ssq_torch_scaler_state;
#define SSQ_TORCH_SCALER_STATE_INIT                                            \
    {                                                                          \
        sizeof(ssq_torch_scaler_state), 0.0, 0.0, 0.0, 0, 0                    \
    }

/** Load torch's fields into a scaler of any preset: scale, factors, interval
 *  and streak are taken over, the other counters restart. The fields are
 *  trusted, as in ssq_scaler_state_set. Same errors as
 *  ssq_scaler_create and ssq_scaler_state_set. Asynchronous. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_torch_load(
    ssq_queue *queue, ssq_scaler *scaler, const ssq_torch_scaler_state *state);

/** The same five fields out; synchronises the queue. Events are no error here.
 *  @return SSQ_ERR_INVALID a NULL, a wrong struct_size, or a capture; the
 *          queue's error. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_torch_save(
    ssq_queue *queue, ssq_scaler *scaler, ssq_torch_scaler_state *state);

/** Called by every check (ssq_scaler_check and _unscale, ssq_optimizer_check,
 *  _unscale and _step) right after its verdict is enqueued, to reduce that
 *  verdict over ranks, so that all ranks skip or none.
 *  @param verdict  device tensor, i32, one element: 0 all finite, 1 not, 2^30
 *                  labels of a trainer were out of range; the hook enqueues a
 *                  MAX over ranks on the queue and writes it back. It never
 *                  sees a host value and must not sync. Lent for the call
 *  @param user     what ssq_scaler_rank_hook_set was given
 *  @return SSQ_OK, or what the check is to return
 *  @note In a capture it is called once, and what it enqueues is captured. */
typedef ssq_status (*ssq_scaler_rank_hook)(ssq_queue *queue,
                                           const ssq_tensor *verdict,
                                           void *user);

/** Set the rank hook; NULL removes it. An error that it returns is returned by
 *  the check, which then does not count: the next check may repeat it. user is
 *  the caller's, and lives as long as the hook is set.
 *  @return SSQ_ERR_INVALID scaler is NULL. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_rank_hook_set(
    ssq_scaler *scaler, ssq_scaler_rank_hook hook, void *user);

/** The machine without a device: which scale and action follow each step.
 *  @param options   of the machine; computed in double when binary64 is set,
 *                   else in float32
 *  @param state     where to begin, and where it ended; NULL, or all zeros as
 *                   SSQ_SCALER_STATE_INIT, begins at init_scale. Checked as
 *                   ssq_scaler_state_set does
 *  @param overflow  n bytes: 0 the step was finite, else not
 *  @param scales    n scales in use at each step, before its update; or NULL
 *  @param actions   n actions; or NULL
 *  @return SSQ_ERR_INVALID options, state, or a NULL. Floors and skips in a row
 *          are events in the state, not errors here. Pure, synchronous. Since
 *          0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_scaler_simulate(
    const ssq_scaler_options *options, ssq_scaler_state *state, size_t n,
    const uint8_t *overflow, double *scales, ssq_scale_action *actions);

#ifdef __cplusplus
}
#endif

#endif
