/* SPDX-License-Identifier: Apache-2.0 */
/* scaler_object.h - struct ssq_scaler, for the files that implement it. */
#ifndef LIB_AMP_SCALER_OBJECT_H
#define LIB_AMP_SCALER_OBJECT_H

#include "lib/amp/mailbox.h"
#include "lib/amp/options.h"
#include "lib/amp/scaler.h"

/** What calls move on the host, and captures leave as it was. */
struct scaler_stages {
    bool used;                 /* the scale, since the last update */
    uint64_t uses;             /* of it, ever */
    int stage;                 /* 1: checked since the last update */
    uint64_t epoch;            /* updates */
    struct unscaled *unscaled; /* since the last update */
};

struct ssq_scaler {
    struct object object;
    ssq_device *device;
    ssq_scaler_options options;
    ssq_tensor *block;  /* i32 [SCALER_WORDS]; its buffer knows the scaler */
    ssq_tensor *scale;  /* f32 []: its word 0 */
    ssq_tensor *record; /* of lists that no optimizer owns */
    struct mailbox *mailbox;
    uint64_t cleared; /* events of mailbox posts up to this are forgotten */
    struct scaler_stages at;
    ssq_scaler_rank_hook hook;
    void *hook_user;
};

/** The queue's error, or INVALID: scaler is NULL or of another device. */
ssq_status scaler_call(const ssq_queue *queue, const ssq_scaler *scaler,
                       const char *what);
/** The same, and not in a capture. */
ssq_status scaler_call_now(const ssq_queue *queue, const ssq_scaler *scaler,
                           const char *what);
/** Before a call moves the scaler's stages: a capture will put them back. */
ssq_status scaler_watch(ssq_queue *queue, ssq_scaler *scaler);
/** INVALID when gradients were checked since the last update. */
ssq_status scaler_check_stage(const ssq_scaler *scaler, const char *what);
/** The state after everything on the queue; the events are left to the caller.
 *  Waits. */
ssq_status scaler_fetch(ssq_queue *queue, ssq_scaler *scaler,
                        ssq_scaler_state *state);
/** Replace options and state by ones that were checked. */
ssq_status scaler_replace(ssq_queue *queue, ssq_scaler *scaler,
                          const ssq_scaler_options *options,
                          const ssq_scaler_state *state);
/** What has arrived of the state. */
void scaler_known(ssq_scaler *scaler, ssq_scaler_state *state);
/** Enqueue an op that changes the block, and send the block to the mailbox
 *  behind it: both or neither. In a capture the block is sent behind each
 *  launch of a graph with an update. */
ssq_status scaler_publish(ssq_queue *queue, ssq_scaler *scaler, struct op *op);

#endif
