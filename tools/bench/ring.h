/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - an op on operands that are in no cache, because several sets are
 * used in turn. */
#ifndef TOOLS_BENCH_RING_H
#define TOOLS_BENCH_RING_H

#include "tools/bench/bench.h"

#define RING_OPERANDS 10

/** An operand of an op. */
struct ring_operand {
    enum { RING_END, RING_NORMAL, RING_CLASSES, RING_OUT } kind;
    ssq_dtype dtype;
    int rank;
    int64_t shape[4]; /* RING_CLASSES: number of values, and of classes */
};

/** Run an op on its operands t, in their order. */
typedef ssq_status (*ring_fn)(ssq_queue *queue, ssq_tensor *const *t,
                              const struct bench_case *c);

/** A row of a family's table of ops. */
struct ring_op {
    const char *name;
    ring_fn run;
    /** Set o to the op's operands. Returns false if the sizes are not valid. */
    bool (*operands)(const struct bench_case *c, struct ring_operand *o);
    /** Operations of a run; NULL: 0. */
    double (*flops)(const struct bench_case *c);
};

/** Create w from the row of its op in a table, which ends with NULL in name. */
ssq_status ring_make(struct workload *w, const struct ring_op *ops);

#endif
