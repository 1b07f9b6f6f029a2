/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.h - the workloads of run.sh: steps of training on GPUs, at the sizes of
 * training. They check nothing, which `make check` does on the same device;
 * peer.py does the same by PyTorch, under the same names.
 *
 * A line on standard output for each, with tabs between:
 *
 *     NAME IMPLEMENTATION SECONDS FLOPS BYTES
 *
 * FLOPS and BYTES are the ones that the workload needs by its definition, each
 * operand read or written once, on any device. A workload that cannot run is a
 * line with "-" for seconds and the reason at its end. */
#ifndef TESTS_GPU_GPU_H
#define TESTS_GPU_GPU_H

#include <sesqui.h>

#include <stdbool.h>

struct gpu {
    ssq_device *device;
    ssq_queue *queue;
    double seconds; /* of a batch of runs */
    bool brief;     /* sizes that an interpreter can do, to try the workloads */
    bool failed;    /* something could not be timed that must be */
};

/** One run of a workload: enqueued, not waited for. */
typedef ssq_status (*gpu_fn)(struct gpu *g, void *user);

/** Time fn and print its line. st: of all that was made before it; where that
 *  failed, the line has its error. */
void gpu_time(struct gpu *g, const char *name, const char *impl, ssq_status st,
              gpu_fn fn, void *user, double flops, double bytes);

/** A tensor of normal numbers with this standard deviation. */
ssq_status gpu_tensor(struct gpu *g, ssq_dtype dtype, int rank,
                      const int64_t *shape, double std, ssq_tensor **t);
/** i32 classes 0 .. classes - 1 for n rows. */
ssq_status gpu_classes(struct gpu *g, int64_t n, int64_t classes,
                       ssq_tensor **t);

/* The groups of workloads. */
void gpu_copy(struct gpu *g);      /* rows.c: the bandwidth that is reached */
void gpu_gemm(struct gpu *g);      /* gemm.c */
void gpu_rows(struct gpu *g);      /* rows.c: softmax, norms, losses */
void gpu_optimizer(struct gpu *g); /* optimizer.c */
void gpu_step(struct gpu *g);      /* step.c: of a perceptron */

#endif
