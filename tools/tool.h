/* SPDX-License-Identifier: Apache-2.0 */
/* tool.h - declarations that the subcommands of `sesqui` share. */
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
    EXIT_USAGE = 2   /* the command line is wrong, or a name is unknown */
};

/** The options of all subcommands. Each command accepts the options in its
 *  list. Strings point into the command line. */
struct options {
    const char *device;         /* --device D; NULL: all */
    const char *op;             /* --op O; NULL: all */
    const char *report;         /* --report FILE; NULL: standard output */
    const char *vs;             /* --vs D: second device of bench; NULL: none */
    const char *plot;           /* --plot FILE: roofline of bench; NULL: none */
    const char *types, *orders; /* --types T,T and --trans TT of tune */
    bool tf32, clear, train;    /* --tf32, --clear, --train of tune */
    char **word; /* other words: shapes of tune, suite of bench */
    unsigned words;
    bool json, csv, why, list, help; /* list: print the cases of bench */
    bool once;        /* --once of certify: devices with a driver and without
                         a certification result */
    bool child;       /* --child of certify and devices: internal */
    unsigned cases;   /* --cases N of bench: largest cases of each table */
    unsigned first;   /* --first N of certify, internal: first table of a child,
                         from 1 */
    unsigned threads; /* --threads N of bench and tune; 0: not given */
    double seconds;   /* --seconds S: about, for a row of bench and of tune
                         --train; at most, for a table of certify */
};

/** A subcommand and its help. */
struct tool_command {
    const char *name;
    int (*run)(const struct options *o);
    const char *accepts; /* the options that it takes, each between spaces */
    const char *usage, *summary;
    bool words;  /* takes words that are not options, as bench a suite */
    bool dash;   /* "-" is such a word */
    bool device; /* the first such word is the device */
};

/** Read the command line of a command, without its name, into *o. Options may
 *  be written --op O or --op=O. Words that are not options are moved to the
 *  front of argv.
 *  @return EXIT_FINE, or EXIT_USAGE if an error was printed */
int options_read(const struct tool_command *c, int argc, char **argv,
                 struct options *o);
/** Print a line for each option that a command takes. */
void options_print(FILE *f, const struct tool_command *c);
/** Print on standard error what is wrong with the command line.
 *  @return EXIT_USAGE */
int usage_error(const char *what, const char *word);

/** The subcommands. Each writes results to standard output, and errors to
 *  standard error. @return an exit_code */
int command_devices(const struct options *o);
int command_verify(const struct options *o);
int command_support(const struct options *o);
int command_report(const struct options *o);
int command_certify(const struct options *o);
int command_bench(const struct options *o);
int command_tune(const struct options *o);

/** Run `sesqui tune --train` on a queue of the device. @return an exit_code */
int throughput_tune(const struct options *o, ssq_queue *queue);

/** Create a tensor of ones on the queue's device. Zeros may be faster on
 *  some hardware. */
bool ones(ssq_queue *queue, ssq_dtype dtype, int rank, const int64_t *shape,
          ssq_tensor **tensor);

/** Measure the highest throughputs of the queue's device: 1e9 operations and
 *  1e9 bytes a second. False: a gemm or a copy cannot be timed. */
bool peak_measure(ssq_queue *queue, double *gflops, double *gbytes);

/** The tensors of a copy: see peak.c. */
struct copier {
    ssq_tensor *x, *y;
};

/** Return the seconds of a copy that moves this many bytes, half read and
 *  half written; 0: it failed. The tensors are kept for the next copy of the
 *  same size. */
double copier_run(ssq_queue *queue, struct copier *c, double bytes);
void copier_drop(struct copier *c);

/** Return the time of a monotonic clock in seconds. */
double now(void);

/** Open a device, create a queue and wait for a first result. Sets the seconds
 *  of all that. The first time in a process includes loading drivers. It also
 *  includes reading a kernel, or compiling it if no cache contains it. */
ssq_status start_device(const char *name, ssq_device **device,
                        ssq_queue **queue, double *seconds);

/** Time `runs` calls of an op on one element. call[i] is the time of the call
 *  alone, with an empty queue; both[i] includes the sync. False: a call failed;
 *  the library's text says how. */
bool launch_measure(ssq_queue *queue, int runs, double *call, double *both);

#define OVERHEAD_RUNS 64

/** Seconds of a call on one element in each run, by hand and on a tape, for the
 *  op and its gradient. */
struct overhead {
    double hand_forward[OVERHEAD_RUNS], tape_forward[OVERHEAD_RUNS];
    double hand_backward[OVERHEAD_RUNS], tape_backward[OVERHEAD_RUNS];
};

/** Measure relu, or mul with a parameter. False: a call failed; the library's
 *  text says how. */
bool overhead_measure(ssq_queue *queue, bool mul, struct overhead *o);
/** Time the calls of a trainer's step, in seconds for each op and each gradient
 *  of a chain. False: as above. */
bool step_measure(ssq_queue *queue, bool replay, double *seconds);

/** Write s as a JSON string with quotes. Bytes that are not UTF-8 become
 *  U+FFFD, so that the result is valid JSON for any s. */
void json_string(FILE *f, const char *s);

/** Return true if the name of --op is known. Otherwise print an error for the
 *  command, with the nearest name and all names. `what` begins the error, for
 *  example "no op or table". The names are `more`, which ends with NULL, and if
 *  tables is set also the names of the tables. */
bool names_check(const char *command, const char *what, const char *name,
                 bool tables, const char *const *more);
/** The same for the names of tables only. */
bool names_check_table(const char *command, const char *name);
/** Print the names of the tables, one a line. */
void names_print(FILE *f);
/** Return true if the name selects op. That holds if they are equal, or if one
 *  is a public function and the other the op that it calls. */
bool name_selects(const char *name, const char *op);

/** Start this program again with these arguments, which end with NULL. *fd
 *  reads its standard output, and its standard error if both is set. False:
 *  errno says why. */
bool process_start(const char *const *argv, bool both, pid_t *pid, int *fd);
/** Write how a child ended, for example "killed by signal 6 (Aborted)". */
void process_end(char *text, size_t bytes, bool in_time, double seconds,
                 int status);

/** Try the drivers that a device needs, each in a child process, and the
 *  drivers of another device unless that is NULL. NULL and "auto" for device
 *  need all drivers. This process then loads no driver that failed, for
 *  which an error was printed, and no driver that is not needed. False: a
 *  driver failed. */
bool drivers_try(const char *device, const char *other);
/** The main function of such a child. @return an exit_code */
int drivers_child(void);
/** Return true if a device or a backend of this name needs a driver. reference,
 *  guard and cpu do not. */
bool drivers_needed(const char *device);
/** Return why drivers_try() keeps a backend's driver away; "" if it
 *  does not. */
const char *drivers_reason(const char *backend);

/** The progress of a long command. If standard error is a terminal, a bar in a
 *  separate line; otherwise a line on standard error every ten seconds. */
struct tool_progress {
    const char *command;
    size_t total; /* steps; 0: unknown */
    double began, said;
    bool terminal, shown;
};
/** If standard error is a terminal, show there that kernels are compiled, when
 *  this takes more than two seconds. SSQ_VERBOSE shows it otherwise. */
void progress_library(void);
/** quiet: show no bar on a terminal, because other lines show the progress. */
void progress_begin(struct tool_progress *p, const char *command, size_t total,
                    bool quiet);
/** Report that step `done`, counted from 0, has begun. what: its name. part:
 *  the part of it that is done, from 0 to 1. */
void progress_at(struct tool_progress *p, size_t done, double part,
                 const char *what);
/** Remove the bar, so that a line can be printed. The next progress_at() draws
 *  it again. Call this also at the end. */
void progress_clear(struct tool_progress *p);

/** Set name to the full name of a device: "auto" and "vulkan" are names, too,
 *  but suites know only "vulkan:0". Otherwise print an error for the command.
 *  @return an exit_code */
int device_name(const char *command, const char *wanted, char *name,
                size_t bytes);

/** Print the output of `sesqui --version`. */
void version_print(FILE *f);

/** Return an escape sequence if standard output is a terminal with colours and
 *  NO_COLOR is not set; otherwise "". */
const char *colour_bold(void);
const char *colour_dim(void);
const char *colour_red(void);
const char *colour_off(void);

/** Print on standard error what failed, with the library's text.
 *  @return EXIT_FAILED */
int complain(const char *what);

#endif
