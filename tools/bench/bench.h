/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - what the files of `sesqui bench` share: cases, workloads, rows. */
#ifndef TOOLS_BENCH_BENCH_H
#define TOOLS_BENCH_BENCH_H

#include "tools/tool.h"

#define CASE_SIZES 8
/** Of a case. */
#define CASE_RUNS 9

/** What a line asks for: "gemm bf16 512x512x512", "cast f32:f16 1000". */
struct bench_case {
    char text[128], op[32];
    ssq_dtype dtype, result; /* where it names one, both are that */
    int sizes;
    int64_t size[CASE_SIZES];
};

/** False: the text is not OP DTYPE[:DTYPE] SIZE[xSIZE].. */
bool case_read(const char *text, struct bench_case *c);

/** A case on a device: operands, and a run of them. */
struct workload {
    ssq_device *device;
    ssq_queue *queue;
    struct bench_case c;
    /** Enqueued, not waited for. */
    ssq_status (*run)(struct workload *w);
    void (*drop)(struct workload *w);
    /** Optional: after a run, the worst error of some elements over its bound,
     *  which is at most 1; negative if they cannot be read. */
    double (*of_bound)(struct workload *w);
    void *state;
    double flops, bytes; /* of a run: each operand read or written once */
    char impl[32];       /* "" where several ops run */
};

/** Words of a list, with blanks between: every op in every dtype at all sizes
 *  is a case. */
struct bench_grid {
    const char *ops, *dtypes, *sizes;
};

/** A kind of workloads. */
struct bench_family {
    const char *suite;
    const struct bench_grid *grids; /* what is timed; ended by a NULL in ops */
    bool step;   /* a run is a training step, in which no host should wait */
    bool memory; /* what bounds it: runs are timed in turn with copies */
    /** Make w's operands; SSQ_ERR_NOT_FOUND: the op is another family's. drop
     *  is called also after a failure. */
    ssq_status (*make)(struct workload *w);
};

extern const struct bench_family gemm_family, memory_family, optimizer_family,
    ops_family, train_family;
/** All of them, ended by NULL. */
extern const struct bench_family *const bench_families[];

/** Case i of a family's; false: there are no more. */
bool family_case(const struct bench_family *f, size_t i, struct bench_case *c);

/** Make a workload of a case on a device by the family that knows it, which is
 *  *family then; SSQ_ERR_NOT_FOUND: none does. */
ssq_status workload_make(struct workload *w,
                         const struct bench_family **family);
void workload_drop(struct workload *w);
/** A tensor of normal numbers with this standard deviation. */
ssq_status workload_tensor(const struct workload *w, ssq_dtype dtype, int rank,
                           const int64_t *shape, double std, ssq_tensor **t);
/** i32 classes 0 .. classes - 1 for n rows. */
ssq_status workload_classes(const struct workload *w, int64_t n,
                            int64_t classes, ssq_tensor **t);

/** What the machine reaches: 1e9 operations and bytes a second, 0 unknown. */
struct roofs {
    double fma;   /* float32 multiply-adds; a large gemm on other devices */
    double dot;   /* the processor's dot products of bf16 */
    double tile;  /* the same by tiles */
    double bytes; /* a copy of the device's, beyond the caches */
};
bool roofs_measure(const struct workload *w, struct roofs *r);
/** Of the processor alone: see loops.c. */
void loops_measure(int threads, double *fma, double *dot, double *tile);

/** A line of the report. */
struct bench_row {
    const char *suite;
    char op[40], impl[40];
    char text[256];             /* the case */
    double median, least, most; /* seconds */
    double flops, bytes;        /* of one run, as the case says */
    double peak;     /* 1e9 operations a second, of such a case; 0 unknown */
    double copy;     /* a copy's time over the case's, the median; 0: none */
    double of_bound; /* as a workload's; negative: not looked at */
    double rival;    /* the median on the device of --vs; 0: none */
    int64_t submissions; /* of one run; negative: not looked at */
    int waits; /* 1: the host has waited in a run, 0: it has not; negative: not
                  looked at */
    size_t runs; /* 0: left out; median is what one would have taken */
};

struct bench_rows {
    struct bench_row *row; /* n of them, in memory for room */
    size_t n, room;
    double gflops,
        gbytes; /* the peaks: 1e9 a second; 0 before they are known */
};

/** A row with its times in seconds[n], which are sorted; NULL without memory.
 */
struct bench_row *rows_add(struct bench_rows *all, const char *suite,
                           const char *op, const char *impl, double *seconds,
                           size_t n);
/** The median of n numbers, which are sorted. */
double rows_median(double *x, size_t n);

/** Time a workload, in turn with `rival` if there is one, and make its row.
 *  False: the library's text says why. */
bool workload_time(struct workload *w, struct workload *rival,
                   const struct bench_family *f, double budget,
                   struct bench_rows *all);

/** How rows are printed. */
struct report {
    const char *device, *vs; /* vs: NULL without one */
    double budget;
    enum { REPORT_TEXT, REPORT_JSON, REPORT_LINES, REPORT_CSV } form;
    /* columns of the text: those in which some row has a value */
    bool flops, bytes, peak, copy, of_bound, submissions, waits, rival;
};
/** all: the rows that will be printed. */
void report_begin(struct report *r, const struct bench_rows *all);
void report_row(const struct report *r, const struct bench_rows *all,
                const struct bench_row *row, bool first);
void report_end(const struct report *r);

/** Can path be written? Whatever it has stays as it is. False: it has been said
 *  why not. */
bool roofline_check(const char *path);
/** Arithmetic intensity against the rate reached, as SVG; false: path cannot be
 *  written, and it has been said. */
bool roofline_write(const char *path, const char *device, const struct roofs *r,
                    const struct bench_rows *all);

/** Time the largest cases of tests/op's tables. False: it has been said why, or
 *  the library's text says it. */
bool tables_time(ssq_device *device, ssq_queue *queue, const struct options *o,
                 struct bench_rows *all);
/** Time calls: see calls.c. start: seconds until the device's first result. */
bool calls_time(ssq_queue *queue, const struct options *o, double start,
                struct bench_rows *all);
/** The names of calls, ended by NULL. */
extern const char *const calls_names[];
/** Is that a call's name? */
bool calls_known(const char *op);

#endif
