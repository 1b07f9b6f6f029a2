/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - what the training examples share around their models: options,
 * errors, the progress bar and the log. */
#ifndef EXAMPLES_COMMON_RUN_H
#define EXAMPLES_COMMON_RUN_H

#include <sesqui.h>

#include <stdio.h>

/** The options of an example. Strings are the command line's or literals. */
struct run_options {
    const char *program; /* its name, for messages */
    const char *policy;  /* float32, mixed_float16, mixed_bfloat16 */
    const char *scaler;  /* a preset */
    double loss_scale;   /* fixed, when > 0 */
    double loss_weight;  /* of the loss, as one term of several */
    unsigned interval;   /* growth interval; 0: the preset's */
    const char *device;
    uint64_t seed;
    unsigned epochs, batch; /* batch: rows */
    unsigned layers, units; /* of the model; 0: it has no such number */
    double lr;              /* the largest of the schedule */
    const char *activation; /* relu or sigmoid */
    const char *data;       /* path */
    const char *log;        /* path of a TSV, or NULL */
    bool compare;           /* train again in float32, for the last line */
    bool graph;             /* capture one step and replay it */
    bool custom;            /* a loop of one's own in place of the trainer's */
    bool statistics;        /* count lost gradients, show them at the end */
    bool quiet;
};

/** Read --name value options over the defaults in *o.
 *  @return 0 go on; 1 stop well (--help); 2 stop, the usage was wrong */
int run_options_parse(int argc, char **argv, struct run_options *o);

/** Print the library's text when status is not SSQ_OK.
 *  @return whether it is SSQ_OK */
bool run_ok(ssq_status status, const char *what);

/** The scaler that the options ask for; NULL in *scaler when the policy needs
 *  none and none was asked for. */
bool run_scaler_create(ssq_device *device, const struct run_options *o,
                       const ssq_policy *policy, ssq_scaler **scaler);

/** What is shown of an epoch. */
struct run_epoch {
    unsigned epoch, epochs;
    unsigned long steps;
    double loss, accuracy;  /* of training, the mean; of the test set, 0..1 */
    ssq_scaler_state scale; /* a scale of 1 where there is no scaler */
};
/** One line of the progress bar (redrawn on a terminal), and of the log. */
void run_progress(const struct run_options *o, const struct run_epoch *e,
                  FILE *log);
/** Open the log and write its header; NULL without one. false: no file. */
bool run_log_open(const struct run_options *o, FILE **log);

#endif
