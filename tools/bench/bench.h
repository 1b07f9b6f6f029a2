/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - declarations that the files of `sesqui bench` share. */
#ifndef TOOLS_BENCH_BENCH_H
#define TOOLS_BENCH_BENCH_H

#include "tools/tool.h"

#define CASE_SIZES 8
/** Maximum number of timed runs of a case. */
#define CASE_RUNS 9

/** A case, for example "gemm bf16 512x512x512" or "cast f32:f16 1000". */
struct bench_case {
    char text[128], op[32];
    ssq_dtype dtype, result; /* equal if the text names one dtype */
    int sizes;
    int64_t size[CASE_SIZES];
};

/** Read a text OP DTYPE[:DTYPE] SIZE[xSIZE].. into *c. Returns false if it has
 *  another form. */
bool case_read(const char *text, struct bench_case *c);

/** A case on a device: its operands, and how to run it. */
struct workload {
    ssq_device *device;
    ssq_queue *queue;
    struct bench_case c;
    /** Enqueue a run. Does not wait. */
    ssq_status (*run)(struct workload *w);
    void (*drop)(struct workload *w);
    /** Optional: after a run, return the worst error of some elements divided
     *  by its bound. A correct result has at most 1. Negative: the elements
     *  cannot be read. */
    double (*of_bound)(struct workload *w);
    void *state;
    double flops, bytes; /* of a run; each operand counts once */
    char impl[32];       /* "" if a run has several ops */
};

/** Lists of words separated by spaces. Each op with each dtype and each size is
 *  a case. */
struct bench_grid {
    const char *ops, *dtypes, *sizes;
};

/** A kind of workload. */
struct bench_family {
    const char *suite;
    const struct bench_grid *grids; /* the timed cases; ends with NULL in ops */
    bool step;   /* a run is a training step: the host should not wait */
    bool memory; /* limited by memory: timed in turn with copies */
    /** Create w's operands. SSQ_ERR_NOT_FOUND: the op belongs to another
     *  family. drop is called also after a failure. */
    ssq_status (*make)(struct workload *w);
};

extern const struct bench_family gemm_family, memory_family, optimizer_family,
    ops_family, train_family;
/** All families, ended by NULL. */
extern const struct bench_family *const bench_families[];

/** Get case i of a family. Returns false if the family has fewer cases. */
bool family_case(const struct bench_family *f, size_t i, struct bench_case *c);

/** Create the workload of a case by the family that knows it, and set *family.
 *  SSQ_ERR_NOT_FOUND: no family knows it. */
ssq_status workload_make(struct workload *w,
                         const struct bench_family **family);
void workload_drop(struct workload *w);
/** Create a tensor of normally distributed numbers with this
 *  standard deviation. */
ssq_status workload_tensor(const struct workload *w, ssq_dtype dtype, int rank,
                           const int64_t *shape, double std, ssq_tensor **t);
/** Create n i32 classes from 0 to classes - 1. */
ssq_status workload_classes(const struct workload *w, int64_t n,
                            int64_t classes, ssq_tensor **t);

/** The highest throughputs of the machine, in 1e9 operations or bytes a second;
 *  0: unknown. */
struct roofs {
    double fma;   /* float32 multiply-adds; a large gemm on other devices */
    double dot;   /* bf16 dot products of the processor */
    double tile;  /* the same with tiles */
    double bytes; /* a copy on the device, larger than the caches */
};
bool roofs_measure(const struct workload *w, struct roofs *r);
/** Measure the processor's throughputs: see loops.c. */
void loops_measure(int threads, double *fma, double *dot, double *tile);

/** A row of the report. */
struct bench_row {
    const char *suite;
    char op[40], impl[40];
    char text[256];             /* the case */
    double median, least, most; /* seconds */
    double flops, bytes;        /* of one run, as in struct workload */
    double peak; /* roof for the case, 1e9 operations a second; 0: unknown */
    double copy; /* a copy's time divided by the case's, median; 0: none */
    double of_bound;     /* as in struct workload; negative: not measured */
    double rival;        /* the median on the device of --vs; 0: none */
    int64_t submissions; /* of one run; negative: not measured */
    int waits;   /* 1: the host waited in a run, 0: it did not; negative: not
                    measured */
    size_t runs; /* 0: left out; median is the expected time of a run */
};

struct bench_rows {
    struct bench_row *row; /* n rows, allocated for room */
    size_t n, room;
    double gflops,
        gbytes; /* the peaks, 1e9 a second; 0: they are not known yet */
};

/** Add a row with n times. Sorts seconds. Returns NULL if memory is short. */
struct bench_row *rows_add(struct bench_rows *all, const char *suite,
                           const char *op, const char *impl, double *seconds,
                           size_t n);
/** Return the median of n numbers. Sorts x. */
double rows_median(double *x, size_t n);

/** Time a workload, in turn with rival unless that is NULL, and add a row.
 *  False: the library's text says why. */
bool workload_time(struct workload *w, struct workload *rival,
                   const struct bench_family *f, double budget,
                   struct bench_rows *all);

/** How rows are printed. */
struct bench_report {
    const char *device, *vs; /* vs: NULL without one */
    double budget;
    enum { REPORT_TEXT, REPORT_JSON, REPORT_LINES, REPORT_CSV } form;
    /* columns of the text form: only if some row has a value */
    bool flops, bytes, peak, copy, of_bound, submissions, waits, rival;
};
/** Print the start, a row and the end. all: the rows that will be printed. */
void report_begin(struct bench_report *r, const struct bench_rows *all);
void report_row(const struct bench_report *r, const struct bench_rows *all,
                const struct bench_row *row, bool first);
void report_end(const struct bench_report *r);

/** Check that path can be written, without changing it. False: the reason
 *  was printed. */
bool roofline_check(const char *path);
/** Write the arithmetic intensities and throughputs of the rows as SVG. False:
 *  path cannot be written; the reason was printed. */
bool roofline_write(const char *path, const char *device, const struct roofs *r,
                    const struct bench_rows *all);

/** Time the largest cases of conformance's tables. False: the reason was
 * printed, or the library's text says it. */
bool tables_time(ssq_device *device, ssq_queue *queue, const struct options *o,
                 struct bench_rows *all);
/** Time the calls of calls.c. start: seconds until the device's
 *  first result. */
bool calls_time(ssq_queue *queue, const struct options *o, double start,
                struct bench_rows *all);
/** The names of calls, ended by NULL. */
extern const char *const calls_names[];
/** Return true if op is the name of a call. */
bool calls_known(const char *op);

#endif
