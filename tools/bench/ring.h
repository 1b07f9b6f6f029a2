/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - a call over operands that no cache holds: sets of them take turns.
 */
#ifndef TOOLS_BENCH_RING_H
#define TOOLS_BENCH_RING_H

#include "tools/bench/bench.h"

#define RING_OPERANDS 10

/** How an operand of an op is made. */
struct ring_operand {
    enum { RING_END, RING_NORMAL, RING_CLASSES, RING_OUT } kind;
    ssq_dtype dtype;
    int rank;
    int64_t shape[4]; /* of classes: how many, and of how many kinds */
};

/** An op with its operands in order, t[0] the first. */
typedef ssq_status (*ring_fn)(ssq_queue *queue, ssq_tensor *const *t,
                              const struct bench_case *c);

/** A row of a family's table of ops. */
struct ring_op {
    const char *name;
    ring_fn run;
    /** What it needs; false: not for these sizes. */
    bool (*operands)(const struct bench_case *c, struct ring_operand *o);
    /** Operations of a run. */
    double (*flops)(const struct bench_case *c);
};

/** Make w by the table's row of its op: ops ends with a NULL in name. */
ssq_status ring_make(struct workload *w, const struct ring_op *ops);

#endif
