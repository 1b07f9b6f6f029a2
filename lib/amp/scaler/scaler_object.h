/* SPDX-License-Identifier: Apache-2.0 */
/* scaler_object.h - struct ssq_scaler, for the files that implement it. */
#ifndef LIB_AMP_SCALER_SCALER_OBJECT_H
#define LIB_AMP_SCALER_SCALER_OBJECT_H

#include "lib/amp/common/readback.h"
#include "lib/amp/scaler/options.h"
#include "lib/amp/scaler/scaler.h"

/** The stages on the host. A capture restores them at its end. */
struct scaler_stages {
    bool used;        /* the scale was used since the last update */
    uint64_t uses;    /* all uses: shows if a capture had one, also if used was
                         true before */
    int stage;        /* 0, or 1: checked since the last update */
    uint64_t epoch;   /* number of updates */
    uint64_t updated; /* scaler_clock() after the last one that may have changed
                         the scale; 0: none */
    struct unscaled *unscaled; /* since the last update; one reference */
};

struct ssq_scaler {
    struct object object;
    struct scale_use use;       /* a loss's dloss is in block */
    ssq_device *device;         /* held */
    ssq_scaler_options options; /* checked; the block has the same options */
    ssq_tensor *block; /* i32 [SCALER_WORDS]; its buffer points to the scaler */
    ssq_tensor *scale; /* f32 []: the word SCALER_SCALE; callers borrow it */
    ssq_tensor *record; /* i32 [RECORD_WORDS], of ssq_scaler_check and _unscale;
                           an optimizer's checks have another */
    struct readback *readback; /* of block */
    uint64_t cleared;          /* events of copies up to this one are ignored */
    struct scaler_stages at;
    ssq_scaler_rank_hook hook; /* or NULL */
    void *hook_user;           /* owned by the caller; passed to the hook */
};

/** Return the members of scaler->use. */
struct scale_use scaler_use(void);

/** Return the queue's error, or INVALID: NULL, or of another device. */
ssq_status scaler_call(const ssq_queue *queue, const ssq_scaler *scaler,
                       const char *what);
/** The same, and refuse a capture: for calls with an effect on the host, which
 * a launch of a graph could not repeat. */
ssq_status scaler_call_now(const ssq_queue *queue, const ssq_scaler *scaler,
                           const char *what);
/** Note an update that may change the scale. set: to a value. */
void scaler_changed(ssq_scaler *scaler, bool set);
/** Call this before stages change: a capture will restore them. */
ssq_status scaler_watch(ssq_queue *queue, ssq_scaler *scaler);
/** INVALID if gradients were checked since the last update. The error
 *  text ends with "VERB at the start of a step". */
ssq_status scaler_check_stage(const ssq_scaler *scaler, const char *what,
                              const char *verb);
/** Get the state after all work on the queue. Waits for it. Events in the state
 * are not an error here. */
ssq_status scaler_fetch(ssq_queue *queue, ssq_scaler *scaler,
                        ssq_scaler_state *state);
/** Replace options and state by checked ones. Asynchronous. Events of copies
 * that were sent before are ignored. */
ssq_status scaler_replace(ssq_queue *queue, ssq_scaler *scaler,
                          const ssq_scaler_options *options,
                          const ssq_scaler_state *state);
/** Get the state as far as it has arrived. Never waits; keeps struct_size. */
void scaler_known(ssq_scaler *scaler, ssq_scaler_state *state);
/** Enqueue an op that changes the block, and then a copy of the block to the
 *  host: both or neither. In a capture, the block is copied after each
 * launch of a graph with an update. */
ssq_status scaler_publish(ssq_queue *queue, ssq_scaler *scaler, struct op *op);

#endif
