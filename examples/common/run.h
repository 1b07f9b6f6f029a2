/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - what the training examples share around their models: options,
 * errors, the progress bar and the log. */
#ifndef EXAMPLES_COMMON_RUN_H
#define EXAMPLES_COMMON_RUN_H

#include <sesqui.h>

#include <stdio.h>

enum run_value {
    RUN_FLAG = 0,   /* bool: no value, true where it is given */
    RUN_COUNT = 1,  /* unsigned */
    RUN_NUMBER = 2, /* double */
    RUN_TEXT = 3,   /* const char * */
    RUN_SIZE = 4    /* unsigned, at least 1 */
};

/** An option that one program has and others have not. */
struct run_option {
    const char *name; /* "--clip"; NULL behind the last */
    enum run_value kind;
    void *place;      /* where it is put; what is there is the default */
    const char *help; /* what it is */
};

/** The options of an example. Strings are the command line's or literals. */
struct run_options {
    const char *program; /* its name, for messages */
    const char *policy;  /* as ssq_policy_from_name */
    const char *scaler;  /* as ssq_scaler_create */
    double loss_scale;   /* fixed, when > 0 */
    double loss_weight;  /* of the loss, as one term of several */
    unsigned interval;   /* growth interval; 0: the preset's */
    const char *device;
    uint64_t seed;
    unsigned epochs, batch; /* batch: rows */
    unsigned layers; /* of a model without a tape; 0: it has no such number */
    const struct run_option *more; /* of this program alone; or NULL */
    double lr;                     /* the largest of the schedule */
    const char *activation;        /* relu or sigmoid */
    const char *data;              /* path */
    const char *log;               /* path of a TSV, or NULL */
    const char *plot;              /* path of an SVG, or NULL */
    bool saves;                    /* the program has the next three */
    const char *save, *resume;     /* checkpoints; or NULL */
    unsigned stop;                 /* epochs of this call; 0: all */
    bool compare;    /* train again in float32, for the last line */
    bool graph;      /* capture one step and replay it */
    bool statistics; /* count lost gradients, show them at the end */
    bool quiet;
    /* by several ranks: group.h */
    bool data_parallel;  /* as processes that mpirun has started */
    unsigned ranks;      /* as threads of this one; 0 and 1: alone */
    double timeout;      /* seconds that they wait for each other; 0: default */
    const char *weights; /* of their shares of a batch: "3,1", "measured"; or
                            NULL */
    bool shard;          /* each holds a part of the optimizer */
};

/** Read --name value options over the defaults in *o.
 *  @return 0 go on; 1 stop well (--help); 2 stop, the usage was wrong */
int run_options_parse(int argc, char **argv, struct run_options *o);

/** What this thread says of failures is of a rank. */
void run_as(unsigned rank);

/** Print the library's text when status is not SSQ_OK.
 *  @return whether it is SSQ_OK */
bool run_ok(ssq_status status, const char *what);

/** Bytes of a scaler's text. */
#define RUN_SCALER 200

/** The scaler that the options and the policy's text ask for: a preset with its
 *  numbers, in text or elsewhere. NULL if there is none. */
const char *run_scaler(const struct run_options *o, const char *policy,
                       char text[RUN_SCALER]);
/** The same for a trainer, which reads the policy's loss_scale itself: NULL if
 *  the policy has a number there. */
const char *run_trainer_scaler(const struct run_options *o, const char *policy,
                               char text[RUN_SCALER]);
/** The scaler of run_scaler; NULL in *scaler for none. */
bool run_scaler_create(ssq_device *device, const struct run_options *o,
                       const char *policy, ssq_scaler **scaler);

/** Save the trainer, where the options want it. */
bool run_save(const struct run_options *o, ssq_trainer *trainer);
/** Go on from a checkpoint, where the options have one: the number of epochs
 *  that were behind it, of so many steps each. The trainer is new. */
bool run_resume(const struct run_options *o, ssq_trainer *trainer,
                unsigned long each, unsigned *epochs);
/** True if an epoch is to be trained, of a call that began behind others. */
bool run_goes_on(const struct run_options *o, unsigned epoch, unsigned behind);

/** What is shown of an epoch. */
struct run_epoch {
    unsigned epoch, epochs;
    unsigned long steps;
    double train_loss;      /* the mean of the epoch's batches */
    double loss, accuracy;  /* of the test set; 0..1. loss is train_loss where
                               the program does not measure it */
    ssq_scaler_state scale; /* a scale of 1 where there is no scaler */
};
/** How far an epoch is, redrawn on standard error where that is a terminal and
 *  the run is not quiet. done == all wipes it. */
void run_bar(const struct run_options *o, unsigned epoch, unsigned long done,
             unsigned long all);
/** A line of an epoch, and one of the log. */
void run_progress(const struct run_options *o, const struct run_epoch *e,
                  FILE *log);
/** Open the log and write its header; NULL without one. false: no file. */
bool run_log_open(const struct run_options *o, FILE **log);

#endif
