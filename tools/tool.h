/* SPDX-License-Identifier: Apache-2.0 */
/* tool.h - what the subcommands of `sesqui` share. */
#ifndef TOOLS_TOOL_H
#define TOOLS_TOOL_H

#include <sesqui.h>

#include <stdbool.h>
#include <stdio.h>

/** Exit codes, as sesqui(1) lists them. */
enum exit_code {
    EXIT_FINE = 0,   /* done; verify: everything passed */
    EXIT_FAILED = 1, /* verify: a case failed; or the device failed */
    EXIT_USAGE = 2   /* the command line is wrong, or names no such thing */
};

/** The options of all subcommands; each accepts those in its list. Strings are
 *  the command line's. */
struct options {
    const char *device;         /* --device D; NULL: all */
    const char *op;             /* --op O; NULL: all */
    const char *report;         /* --report FILE; NULL: standard output */
    const char *vs;             /* --vs D: bench's other device; NULL: none */
    const char *plot;           /* --plot FILE: bench's roofline; NULL: none */
    const char *types, *orders; /* --types T,T and --trans TT of tune */
    bool tf32, clear, train;    /* --tf32, --clear, --train: tune's */
    char **word; /* words of no option: tune's shapes, bench's suite */
    unsigned words;
    bool json, csv, why, list, help; /* list: bench's cases */
    bool once;        /* --once: certify's, where no verdict is kept */
    bool child;       /* --child: of certify, for itself */
    unsigned cases;   /* --cases N: bench's largest per table; a child's first
                         table, from 1 */
    unsigned threads; /* --threads N: bench's and tune's; 0: as the device is */
    double seconds;   /* --seconds S: of a line of bench's and of tune --train,
                         about; of a table of certify's, at most */
};

/** The subcommands: each writes to standard output and, of what went wrong, to
 *  standard error. @return an exit_code */
int command_devices(const struct options *o);
int command_verify(const struct options *o);
int command_support(const struct options *o);
int command_certify(const struct options *o);
int command_bench(const struct options *o);
int command_tune(const struct options *o);

/** The same of `sesqui tune --train`, on a queue of the device. */
int rates_tune(const struct options *o, ssq_queue *queue);

/** A tensor of ones on the queue's device: zeros would be kind to some
 *  hardware. */
bool ones(ssq_queue *queue, ssq_dtype dtype, int rank, const int64_t *shape,
          ssq_tensor **tensor);

/** The rates that queue's device reaches at best: 1e9 operations and 1e9 bytes
 *  a second, measured now. False if a gemm or a copy cannot be timed at all. */
bool peak_measure(ssq_queue *queue, double *gflops, double *gbytes);

/** What a copy takes: see peak.c. */
struct copier {
    ssq_tensor *x, *y;
};

/** Seconds of a copy that moves this many bytes, half of them read and half
 *  written; 0: it failed. The tensors are kept for the next one of as many. */
double copier_run(ssq_queue *queue, struct copier *c, double bytes);
void copier_drop(struct copier *c);

/** Seconds since some moment; never goes back. */
double now(void);

/** Open a device, make a queue, wait for a first result; seconds of all that.
 *  In a process that has not opened it before, drivers are loaded and the
 *  kernel read, or compiled where no cache has it. */
ssq_status start_device(const char *name, ssq_device **device,
                        ssq_queue **queue, double *seconds);

/** Seconds of each of `runs` calls of an op of one element: call[i] of the call
 *  alone, with the queue empty, and both[i] of the call and its end. False if
 *  one fails; the library's text says how. */
bool launch_measure(ssq_queue *queue, int runs, double *call, double *both);

#define OVERHEAD_RUNS 64

/** Seconds of a call of one element, in each run: by hand and on a tape, of the
 *  op and of its gradient. */
struct overhead {
    double hand_forward[OVERHEAD_RUNS], tape_forward[OVERHEAD_RUNS];
    double hand_backward[OVERHEAD_RUNS], tape_backward[OVERHEAD_RUNS];
};

/** Of relu, or of mul with a parameter. False if a call fails; the library's
 *  text says how. */
bool overhead_measure(ssq_queue *queue, bool mul, struct overhead *o);
/** Seconds of the calls of a trainer's step, for each op and each gradient of a
 *  chain; false likewise. */
bool step_measure(ssq_queue *queue, bool replay, double *seconds);

/** s as a JSON string, quotes included. */
void json_string(FILE *f, const char *s);

/** Escape sequences when standard output is a terminal that has colours and
 *  NO_COLOR is not set; "" otherwise. */
const char *colour_bold(void);
const char *colour_dim(void);
const char *colour_red(void);
const char *colour_off(void);

/** Say on standard error what failed, with the library's text.
 *  @return EXIT_FAILED */
int complain(const char *what);

#endif
