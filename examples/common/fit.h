/* SPDX-License-Identifier: Apache-2.0 */
/* fit.h - training of a classifier of images over a tape: the loop, evaluation,
 * log and picture. A program brings the model and the trainer. */
#ifndef EXAMPLES_COMMON_FIT_H
#define EXAMPLES_COMMON_FIT_H

#include "examples/common/batches.h"
#include "examples/common/curve.h"
#include "examples/common/group.h"
#include "examples/common/run.h"

/** A run. */
struct fit {
    struct member *member;
    const struct run_options *o; /* the member's */
    const struct fit_kind *kind;
    const char *policy; /* of this run */
    ssq_device *device;
    ssq_queue *queue;
    ssq_trainer *trainer;
    struct batches train, test;
    ssq_tensor *hits;    /* i32: how many of a batch are right */
    unsigned long steps; /* of the whole run */
    unsigned behind;     /* epochs that a checkpoint has */
    struct shown_loss shown;
    ssq_tensor *sum; /* f32: of losses that fit_add_loss was given */
    unsigned losses; /* in it */
    struct history seen;
};

/** What a program has of its own. Functions that return bool have said what
 *  failed. */
struct fit_kind {
    int classes; /* of the data's files */
    /* The model: logits [n, classes] of images x [n, pixels]. */
    ssq_var (*net)(ssq_tape *t, ssq_var x);
    /* Makes f->trainer, for f->steps steps under f->policy. */
    bool (*trainer)(struct fit *f);
    /* Backward and step; NULL: ssq_trainer_step. */
    ssq_status (*step)(struct fit *f, ssq_tape *t, ssq_var loss);
    /* Changes a set of images before it is used; NULL: as it is. */
    bool (*prepare)(struct images *images);
};

/** For a step that is not ssq_trainer_step: add a loss to those whose mean is
 *  shown, as the trainer does. Keep the loss's tensor before the backward
 *  (ssq_var_tensor). */
ssq_status fit_add_loss(struct fit *f, const ssq_tensor *loss);

/** main of a program: options over the defaults in o, training, and again in
 *  float32 with --compare, one line at the end. */
int fit_main(int argc, char **argv, struct run_options o,
             const struct fit_kind *kind);

#endif
