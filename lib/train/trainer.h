/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - a trainer's inside. */
#ifndef LIB_TRAIN_TRAINER_H
#define LIB_TRAIN_TRAINER_H

#include <sesqui/trainer.h>

#include "lib/core/core.h"
#include "lib/train/labels.h"

/** Parameters that are to have hyper-parameters of their own. */
struct wish {
    struct wish *next;
    char *pattern;
    ssq_group *group; /* the optimizer's */
};

struct param;

/** Somebody who is called at the places of a training. */
struct hook {
    struct hook *next;
    ssq_trainer_hook *fn;
    void *user;
};

/** Passes whose losses are summed. */
struct window {
    uint32_t losses, scores; /* passes; of them with an accuracy */
    uint64_t steps;          /* the trainer's, when the last was taken */
};

struct mailbox;

enum due { DUE_NOTHING = 0, DUE_STEP, DUE_DIGEST, DUE_UPDATE };

struct ssq_trainer {
    ssq_queue *queue;
    ssq_params *params;
    ssq_tape *tape;
    ssq_optimizer *optimizer;
    ssq_scaler *scaler; /* NULL: none */
    struct wish *wishes, **wishes_end;
    uint32_t accumulate; /* passes to a step */
    uint32_t taken;      /* of them, so far */
    enum due due;        /* what has failed, and is still to be done */
    size_t given;        /* parameters that the optimizer has been offered */
    uint64_t steps;      /* that were made, skipped ones too */
    struct mailbox *mailbox; /* of sums; NULL: there are none yet */
    ssq_tensor *sums;        /* device words: see losses.c */
    ssq_tensor *sum, *hits;  /* f32 []: of losses, of accuracies */
    struct window window;    /* that they are of */
    struct window sent;      /* of a poll; on its way to the host */
    uint64_t sent_number;    /* of its post */
    bool accuracy;           /* is wanted */
    ssq_tensor *score;       /* f32 []: the accuracy of the pass */
    bool scored;             /* it has one */
    struct labels *labels;
    struct hook *hooks, **hooks_end;
    double clip_value;      /* of elements of true gradients; 0: none */
    bool unscaled;          /* the gradients of the step that is due are true */
    bool clipped;           /* and within clip_value */
    bool replay;            /* passes are spans of lib/core/repeat.h */
    bool begun, ended;      /* the training */
    bool end_told;          /* to all hooks */
    bool in_hook;           /* in a hook that a begin runs */
    bool epoch, validating; /* have begun: places.c */
    ssq_comm *comm;         /* of the program's; NULL: alone */
    bool shard;             /* the optimizer is distributed */
    uint64_t bucket_bytes;
    uint32_t compare_every; /* steps; 0: never */
    bool divided;           /* the pass's gradients go by buckets */
    bool reduced;  /* the sums of the step that is due are those of all ranks */
    bool torn;     /* a load has failed while it wrote: nothing to go on from */
    bool compared; /* with the other ranks, what they are made of */
    bool stepped;  /* since then, with them */
    size_t alike;  /* parameters that have rank 0's values */
    uint32_t removals; /* the set's, when these were counted */
    char loaded[20];   /* digest of the checkpoint; "" none */
    double *weights;   /* of the ranks; owned; NULL: all the same */
    bool weighted;     /* they are the program's, whatever is loaded */
    double weight;     /* of the next pass: 1 is a share as large as others' */
    struct ahead *ahead; /* passes that are announced; NULL: none ever was */
};

/* ---- step.c ---- */

/** Give the optimizer all parameters that there are, each in its group. */
ssq_status trainer_give(ssq_trainer *t);
/** Set the error for a parameter that was made after the first step. */
ssq_status trainer_late(const struct param *p, const char *what);
/* ---- losses.c ---- */

/** Create the sums of losses unless they exist. */
ssq_status trainer_make_sums(ssq_trainer *t);
/** Add the loss of a pass, and its accuracy. */
ssq_status trainer_add_loss(ssq_trainer *t, ssq_var loss);
/** Work out the accuracy of a pass, if it is wanted. x: its logits. */
ssq_status trainer_score(ssq_trainer *t, const ssq_tensor *x,
                         const ssq_tensor *target, int64_t ignore_index);
void trainer_free_losses(ssq_trainer *t);
/** Restart the mean of losses if labels out of range were reported: the sum is
 *  NaN. */
void trainer_drop_spoilt(ssq_trainer *t);
/** The error of a trainer that is torn. */
ssq_status trainer_torn(const char *what);

/* ---- facts.c ---- */

/** Compare with all ranks what the trainers are made of, unless that is
 *  `compared`. */
ssq_status trainer_compare(ssq_trainer *t);

/* ---- ranks.c ---- */

/** Sum the gradients of the step that is due over all ranks, once. */
ssq_status trainer_reduce(ssq_trainer *t);
/** The factor that makes a mean of the sum of so many passes' gradients: 1
 *  divided by the passes of all ranks. */
static inline double trainer_factor(const ssq_trainer *t, uint32_t passes)
{
    unsigned ranks = t->comm == NULL ? 1 : ssq_comm_size(t->comm);
    return 1.0 / ((double)passes * ranks);
}
/** Set the error of a call that is refused within an accumulation. */
static inline ssq_status trainer_accumulating(const ssq_trainer *t,
                                              const char *what)
{
    return error_set(SSQ_ERR_INVALID,
                     "%s: %u of %u passes of a step have been: "
                     "ssq_trainer_flush steps with them, ssq_trainer_zero_grad "
                     "drops them",
                     what, t->taken, t->accumulate);
}

/* ---- buckets.c ---- */

/** Before a pass's backward: decide whether its gradients go by buckets, which
 *  is what `divided` says then. */
ssq_status trainer_divide(ssq_trainer *t);
/** The backward: what is whole is added and sent on its way meanwhile. */
ssq_status trainer_backward(ssq_trainer *t, ssq_var loss);
/** All gradients of a divided pass are in the sums; and in those of all ranks,
 *  which is the end of being divided. */
ssq_status trainer_add_divided(ssq_trainer *t);
ssq_status trainer_reduce_divided(ssq_trainer *t);
/** A pass has failed with st, which is returned with its text: where the other
 *  ranks have a part of it, the group ends. */
ssq_status trainer_undivide(ssq_trainer *t, ssq_status st);

/* ---- digest.c ---- */

/** Behind a step, with compare_every: are the ranks alike? Before the scaler's
 *  update, whose event is to be told once. */
ssq_status trainer_digest(ssq_trainer *t);

/* ---- alike.c ---- */

/** Parameters that have come since the last call get rank 0's values. */
ssq_status trainer_alike(ssq_trainer *t);

/* ---- weight.c ---- */

/** The ranks' weights, copied; NULL: as they are. what begins texts. */
ssq_status trainer_set_weights(ssq_trainer *t, const char *what,
                               const double *weights);
/** How much a pass of this rank counts, if nobody says. */
double trainer_weight(const ssq_trainer *t);
/** The loss as the next pass counts. */
ssq_var trainer_weigh(const ssq_trainer *t, ssq_var loss);
/** A text of the weights for a file, to be freed; NULL for none. */
ssq_status trainer_weights_text(const ssq_trainer *t, char **text);
/** Read such a text. *weights is NULL if the program gave weights, or the text
 * is of another number of ranks; else to be freed.
 *  @return INVALID a weight out of range */
ssq_status trainer_weights_read(const ssq_trainer *t, const char *text,
                                double **weights);
/** Make *weights the trainer's, unless the program gave weights, and set it to
 *  NULL. NULL means that all ranks weigh the same. */
void trainer_take_weights(ssq_trainer *t, double **weights);

/** Rows of a batch, or of a pass, and products of them with a weight or the
 *  number of ranks, that a double has exactly: at most so many. */
#define TRAINER_ROWS ((int64_t)1 << 50)
/** SSQ_ERR_INVALID where they are more, or below 0. */
ssq_status trainer_check_rows(const char *what, int64_t rows);
/** The next pass counts as much as `rows` are of all; 0: nothing. */
void trainer_weigh_rows(ssq_trainer *t, int64_t rows, int64_t all);

/* ---- ahead.c ---- */

void trainer_free_ahead(ssq_trainer *t);

/* ---- places.c ---- */

/** The first pass, or epoch, of a training: call hooks at TRAIN_BEGIN, once. */
ssq_status trainer_start(ssq_trainer *t);
/** trainer_call_hooks where a pass begins: a hook may not begin another one for
 *  training. */
ssq_status trainer_call_outside(ssq_trainer *t, ssq_trainer_place place);

/* ---- hooks.c ---- */

/** Call all hooks, in the order in which they came, until one fails. */
ssq_status trainer_call_hooks(ssq_trainer *t, ssq_trainer_place place,
                              ssq_var *var);
/** What the step does before the optimizer's: clip by value. */
ssq_status trainer_clip(ssq_trainer *t);
void trainer_free_hooks(ssq_trainer *t);

#endif
