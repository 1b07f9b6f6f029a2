/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - the internals of a trainer. */
#ifndef LIB_TRAIN_TRAINER_H
#define LIB_TRAIN_TRAINER_H

#include <sesqui/trainer.h>

#include "lib/core/core.h"
#include "lib/train/labels.h"

/** Parameters that will be in a separate group of the optimizer. */
struct group_pattern {
    struct group_pattern *next;
    char *pattern;
    ssq_group *group; /* owned by the optimizer */
};

struct param;

/** A function that is called at the places of a training. */
struct hook {
    struct hook *next;
    ssq_trainer_hook *fn;
    void *user;
};

/** Passes whose losses are summed. */
struct window {
    uint32_t losses, accuracies; /* passes; passes with an accuracy */
    uint64_t steps;              /* the trainer's steps when it was sent or
                                    loaded */
};

struct readback;

enum due { DUE_NOTHING = 0, DUE_STEP, DUE_COMPARE, DUE_UPDATE };

struct ssq_trainer {
    ssq_queue *queue;
    ssq_params *params;
    ssq_tape *tape;
    ssq_optimizer *optimizer;
    ssq_scaler *scaler; /* or NULL */
    struct group_pattern *patterns, **patterns_end;
    uint32_t accumulate; /* passes per step */
    uint32_t passes;     /* of the current step so far */
    enum due due;        /* work that is to be done, kept after a failure */
    bool batch_end_due;  /* hooks at BATCH_END are to be called for a pass */
    size_t params_added; /* parameters, states included, that were offered to
                            the optimizer */
    uint64_t steps;      /* made so far, including skipped ones */
    struct readback *readback;           /* of sums */
    ssq_tensor *sums;                    /* device words: see losses.c */
    ssq_tensor *sum_loss, *sum_accuracy; /* f32 []: views of sums */
    struct window window;                /* the passes in these sums */
    struct window sent;                  /* by a poll; in flight to the host */
    uint64_t sent_number;                /* the number of its last readback */
    bool accuracy;                       /* the accuracy is requested */
    ssq_tensor *pass_accuracy;           /* f32 []: the accuracy of the pass */
    bool has_accuracy;                   /* it was computed in this pass */
    struct labels *labels;
    struct hook *hooks, **hooks_end;
    double clip_value; /* for elements of unscaled gradients; 0: none */
    bool unscaled;     /* the gradients of the due step are unscaled */
    bool clipped;      /* and within clip_value */
    bool replay;       /* passes are iterations of lib/core/queue/replay.h */
    bool begun, ended; /* the state of the training */
    bool end_hooks_called;  /* all TRAIN_END hooks succeeded */
    const char *inside;     /* the place within a pass whose hooks are being
                               called; or NULL */
    const char *outside;    /* the same of trainer_call_hooks_outside() */
    bool epoch, validating; /* in progress: places.c */
    bool notifying;         /* hooks of such a place are being called */
    ssq_comm *comm;         /* held; NULL: there is only one rank */
    bool shard;             /* the optimizer is distributed */
    uint64_t bucket_bytes;
    uint32_t compare_every; /* steps; 0: never */
    bool bucketed;          /* the pass's gradients use buckets */
    bool reduced;           /* the due step's gradients are summed over ranks */
    bool load_failed;       /* while it wrote: values are unusable */
    bool facts_compared;    /* the trainer's facts, with the other ranks */
    bool stepped;      /* a step was made since creation or the last load */
    size_t broadcast;  /* parameters with rank 0's values */
    uint32_t removals; /* of the set, when these were counted */
    char loaded[20];   /* digest of the checkpoint, or "" */
    double *weights;   /* of the ranks; owned; NULL: all are equal */
    bool weighted;     /* given by the program: a load keeps them */
    double weight;     /* of the next pass; 1: an equal share */
    struct announced *announced; /* passes; NULL: none was announced */
};

/* ---- step.c ---- */

/** Add all existing parameters to the optimizer, each to its group. */
ssq_status trainer_add_params(ssq_trainer *t);
/** Set the error for a parameter that was created after the first step. */
ssq_status trainer_refuse_param(const struct param *p, const char *what);
/* ---- losses.c ---- */

/** Create the sums of losses. */
ssq_status trainer_create_sums(ssq_trainer *t);
/** Enqueue the addition of a pass's loss to the window's sum and, if computed,
 *  of its accuracy. trainer_count_loss() then counts them. */
ssq_status trainer_add_loss(ssq_trainer *t, ssq_var loss);
void trainer_count_loss(ssq_trainer *t);
/** Compute the accuracy of a pass, if requested.
 *  @param x  logits */
ssq_status trainer_compute_accuracy(ssq_trainer *t, const ssq_tensor *x,
                                    const ssq_tensor *target,
                                    int64_t ignore_index);
void trainer_free_losses(ssq_trainer *t);
/** Restart the mean of losses if labels out of range were reported, because the
 *  sum is NaN. */
void trainer_drop_nan_losses(ssq_trainer *t);

/* ---- compare_facts.c ---- */

/** Compare the trainer's facts with all ranks, unless `facts_compared` is set.
 */
ssq_status trainer_compare_facts(ssq_trainer *t);

/* ---- reduce.c ---- */

/** Sum the gradients of the due step over all ranks, unless `reduced` is
 *  set. */
ssq_status trainer_reduce_gradients(ssq_trainer *t);
/** Return the factor that converts a sum over `passes` passes of each rank to a
 *  mean: 1 / (passes * ranks). */
static inline double trainer_mean_factor(const ssq_trainer *t, uint32_t passes)
{
    unsigned ranks = t->comm == NULL ? 1 : ssq_comm_size(t->comm);
    return 1.0 / ((double)passes * ranks);
}
/** Set the error of a call that is not allowed within an accumulation. */
static inline ssq_status trainer_refuse_accumulating(const ssq_trainer *t,
                                                     const char *what)
{
    return error_set(SSQ_ERR_INVALID,
                     "%s: %u of %u passes of a step have run: "
                     "ssq_trainer_flush steps with them, ssq_trainer_zero_grad "
                     "drops them",
                     what, t->passes, t->accumulate);
}

/* ---- buckets.c ---- */

/** Decide before a backward whether its gradients use buckets. Sets
 *  `bucketed`. */
ssq_status trainer_choose_buckets(ssq_trainer *t);
/** Run the backward. If `bucketed` is set, add each complete bucket to the sums
 *  and begin its sum over ranks during the backward. */
ssq_status trainer_backward(ssq_trainer *t, ssq_var loss);
/** Add all remaining gradients of a pass with buckets to the sums, in a bundle.
 *  Then trainer_reduce_buckets() sums them over all ranks and clears
 *  `bucketed`. */
ssq_status trainer_add_buckets(ssq_trainer *t);
ssq_status trainer_reduce_buckets(ssq_trainer *t);
/** Clear `bucketed` after a pass failed with st. Returns st with its error
 * text. If other ranks may have received a part of the gradients, the group
 * ends. */
ssq_status trainer_abandon_buckets(ssq_trainer *t, ssq_status st);

/* ---- compare_values.c ---- */

/** After a step, compare values between ranks if compare_every is set. Call
 *  it before the scaler's update, whose SSQ_ERR_SCALE must be reported only
 *  once. */
ssq_status trainer_compare_values(ssq_trainer *t);

/* ---- broadcast.c ---- */

/** Copy rank 0's values to parameters that were created since the last call. */
ssq_status trainer_broadcast_params(ssq_trainer *t);

/* ---- weight.c ---- */

/** Copy the ranks' weights. If weights is NULL, nothing changes. `what` begins
 *  error texts. */
ssq_status trainer_set_weights(ssq_trainer *t, const char *what,
                               const double *weights);
/** Return the weight of this rank's pass that follows from the ranks'
 *  weights. */
double trainer_default_weight(const ssq_trainer *t);
/** Return the loss multiplied by the next pass's weight. */
ssq_var trainer_weight_loss(const ssq_trainer *t, ssq_var loss);
/** Set *text to the weights as a text for a file, or to NULL if all are equal.
 *  The caller must free it. */
ssq_status trainer_write_weights(const ssq_trainer *t, char **text);
/** Read such a text. *weights is NULL if the program gave weights, or if the
 *  text is for another number of ranks. Otherwise the caller must free it.
 *  @return SSQ_ERR_INVALID a weight is out of range */
ssq_status trainer_read_weights(const ssq_trainer *t, const char *text,
                                double **weights);
/** Replace the trainer's weights by *weights and set *weights to NULL, unless
 *  the program gave weights. NULL means that all ranks have the same weight. */
void trainer_replace_weights(ssq_trainer *t, double **weights);

/** Maximum number of rows of a batch or a pass. A double represents such a
 *  number exactly. Its products with the number of ranks are exact up to
 *  2^53. */
#define TRAINER_ROWS ((int64_t)1 << 50)
/** Return SSQ_ERR_INVALID if rows is below 0 or above TRAINER_ROWS. */
ssq_status trainer_check_rows(const char *what, int64_t rows);
/** Weight the next pass by the share of `rows` in `all`. If `all` is 0, the
 *  weight is 0. */
void trainer_set_weight_by_rows(ssq_trainer *t, int64_t rows, int64_t all);

/* ---- announced.c ---- */

void trainer_free_announced(ssq_trainer *t);

/* ---- places.c ---- */

/** Begin a training at its first pass or epoch: call hooks at TRAIN_BEGIN,
 *  once. */
ssq_status trainer_begin_training(ssq_trainer *t);

/* ---- hooks.c ---- */

/** Set the error of a trainer whose load has failed while it wrote. */
ssq_status trainer_refuse_failed_load(const char *what);
/** Call all hooks, in the order in which they were added, until one fails. */
ssq_status trainer_call_hooks(ssq_trainer *t, ssq_trainer_place place,
                              ssq_var *var);
/** Call all hooks at a place within a pass. Such a hook must not end the
 *  pass. */
ssq_status trainer_call_hooks_inside(ssq_trainer *t, ssq_trainer_place place,
                                     ssq_var *var);
/** Call all hooks at a place outside a pass, from a call that trains. Such a
 *  hook may begin passes for evaluation only. */
ssq_status trainer_call_hooks_outside(ssq_trainer *t, ssq_trainer_place place);
/** Return SSQ_ERR_INVALID if a hook within a pass makes this call, which would
 *  end the pass. NULL is allowed. */
ssq_status trainer_check_not_inside(const ssq_trainer *t, const char *what);
/** The same for a call that trains: hooks outside a pass must not make it
 *  either. */
ssq_status trainer_check_not_in_hook(const ssq_trainer *t, const char *what);
/** Clip gradients by value, before the optimizer's step. */
ssq_status trainer_clip_gradients(ssq_trainer *t);
void trainer_free_hooks(ssq_trainer *t);

#endif
