/* SPDX-License-Identifier: Apache-2.0 */
/* scaler_object.h - struct ssq_scaler, for the files that implement it. */
#ifndef LIB_AMP_SCALER_OBJECT_H
#define LIB_AMP_SCALER_OBJECT_H

#include "lib/amp/mailbox.h"
#include "lib/amp/options.h"
#include "lib/amp/scaler.h"

/** What calls move on the host, and captures leave as it was. */
struct scaler_stages {
    bool used;      /* the scale, since the last update */
    uint64_t uses;  /* of it, ever: tells whether a capture had one, even where
                       used was true before */
    int stage;      /* 0, or 1: checked since the last update */
    uint64_t epoch; /* updates so far */
    struct unscaled *unscaled; /* since the last update; one reference */
};

struct ssq_scaler {
    struct object object;
    ssq_device *device;         /* held */
    ssq_scaler_options options; /* checked; the block's knobs are these */
    ssq_tensor *block;  /* i32 [SCALER_WORDS]; its buffer knows the scaler */
    ssq_tensor *scale;  /* f32 []: its word SCALER_SCALE, lent to callers */
    ssq_tensor *record; /* i32 [RECORD_WORDS], of ssq_scaler_check and _unscale;
                           an optimizer's checks have their own */
    struct mailbox *mailbox; /* of block */
    uint64_t cleared; /* events of mailbox posts up to this are forgotten */
    struct scaler_stages at;
    ssq_scaler_rank_hook hook; /* or NULL */
    void *hook_user;           /* the caller's, handed back */
};

/** The queue's error, or INVALID: scaler is NULL or of another device. */
ssq_status scaler_call(const ssq_queue *queue, const ssq_scaler *scaler,
                       const char *what);
/** The same, and not in a capture: for calls whose host side takes effect now,
 *  and could not be repeated by the launch of a graph. */
ssq_status scaler_call_now(const ssq_queue *queue, const ssq_scaler *scaler,
                           const char *what);
/** Before a call moves the scaler's stages: a capture will put them back. */
ssq_status scaler_watch(ssq_queue *queue, ssq_scaler *scaler);
/** INVALID when gradients were checked since the last update. */
ssq_status scaler_check_stage(const ssq_scaler *scaler, const char *what);
/** The state after everything on the queue: waits for it. Events in the state
 *  are no error here; what they are is left to the caller. */
ssq_status scaler_fetch(ssq_queue *queue, ssq_scaler *scaler,
                        ssq_scaler_state *state);
/** Replace options and state by ones that were checked. Asynchronous; events
 *  of copies that arrive from before are forgotten. */
ssq_status scaler_replace(ssq_queue *queue, ssq_scaler *scaler,
                          const ssq_scaler_options *options,
                          const ssq_scaler_state *state);
/** What has arrived of the state. Never waits; struct_size stays. */
void scaler_known(ssq_scaler *scaler, ssq_scaler_state *state);
/** Enqueue an op that changes the block, and send the block to the mailbox
 *  behind it: both or neither. In a capture the block is sent behind each
 *  launch of a graph with an update. */
ssq_status scaler_publish(ssq_queue *queue, ssq_scaler *scaler, struct op *op);

#endif
