/* SPDX-License-Identifier: Apache-2.0 */
/* tool.h - what the subcommands of `sesqui` share. */
#ifndef TOOLS_TOOL_H
#define TOOLS_TOOL_H

#include <sesqui.h>

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

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
    bool once;        /* --once: certify's: devices with a driver and without
                         a verdict */
    bool child;       /* --child: of certify and devices, for itself */
    unsigned cases;   /* --cases N: bench's largest per table */
    unsigned first;   /* --first N: of certify, for itself: a child's first
                         table, from 1 */
    unsigned threads; /* --threads N: bench's and tune's; 0: as the device is */
    double seconds;   /* --seconds S: of a line of bench's and of tune --train,
                         about; of a table of certify's, at most */
};

/** A subcommand, and what sesqui --help says of it. */
struct command {
    const char *name;
    int (*run)(const struct options *o);
    const char *accepts; /* the options it takes, each between spaces */
    const char *usage, *summary;
    bool words;  /* takes words that are not options, as bench its suite */
    bool dash;   /* "-" is such a word */
    bool device; /* the first such word is its device */
};

/** Read the command line of a command, without its name, into *o. Options may
 *  be written --op O or --op=O. Words that are not options are moved to the
 *  front of argv. @return EXIT_FINE, or EXIT_USAGE: the fault has been said */
int options_read(const struct command *c, int argc, char **argv,
                 struct options *o);
/** Print a line for each option that a command takes. */
void options_print(FILE *f, const struct command *c);
/** Say on standard error what is wrong with the command line.
 *  @return EXIT_USAGE */
int usage_error(const char *what, const char *word);

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

/** s as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD,
 *  so that the result is valid JSON for any s. */
void json_string(FILE *f, const char *s);

/** Is the name that --op gave known? If not, say for the command that `what`,
 *  as "no op or table", has it, with the nearest name and all names: those of
 *  the tables and `more`, which a NULL ends, or `more` alone. */
bool names_check(const char *command, const char *what, const char *name,
                 bool tables, const char *const *more);
/** The same of tables alone. */
bool names_check_table(const char *command, const char *name);
/** Print the names of the tables, a line each. */
void names_print(FILE *f);
/** Does the name select what is timed as `op`? It does if it is that name, or
 *  one of the two is the op that the other, a public function, calls. */
bool name_selects(const char *name, const char *op);

/** Start this program again with these words, a NULL at their end; *fd reads
 * its standard output, and its standard error if both are wanted. False: errno
 *  says why. */
bool process_start(const char *const *argv, bool both, pid_t *pid, int *fd);
/** How a child ended, for a text: "killed by signal 6 (Aborted)". */
void process_end(char *text, size_t bytes, bool in_time, double seconds,
                 int status);

/** Try, in a child process each, the drivers that a device needs, and those of
 *  another unless that is NULL. NULL and "auto" need all. A driver that ended
 *  its process, which has been said, and drivers that are not needed are not
 *  loaded by this process. False: one has ended its process. */
bool drivers_try(const char *device, const char *other);
/** What such a child does. @return an exit_code */
int drivers_child(void);
/** Does a device or a backend of this name need a driver? reference, guard and
 *  cpu do not. */
bool drivers_needed(const char *device);
/** Why drivers_try keeps a backend's driver away; "" if it does not. */
const char *drivers_reason(const char *backend);

/** How far a long command is. On a terminal that standard error is, a bar in a
 *  line of its own; elsewhere a line on standard error every ten seconds. */
struct progress {
    const char *command;
    size_t total; /* steps; 0: unknown */
    double began, said;
    bool terminal, shown;
};
/** quiet: a terminal has no bar, because other lines come all the time. */
void progress_begin(struct progress *p, const char *command, size_t total,
                    bool quiet);
/** Step `done`, counted from 0, begins: `what`. part: how much of it is done,
 *  from 0 to 1. */
void progress_at(struct progress *p, size_t done, double part,
                 const char *what);
/** Remove the bar, so that a line can be printed; the next progress_at draws it
 *  again. Also at the end. */
void progress_clear(struct progress *p);

/** What `sesqui --version` prints. */
void version_print(FILE *f);

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
