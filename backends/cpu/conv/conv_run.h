/* SPDX-License-Identifier: Apache-2.0 */
/* conv_run.h - a convolution on the threads of a device. */
#ifndef BACKENDS_CPU_CONV_CONV_RUN_H
#define BACKENDS_CPU_CONV_CONV_RUN_H

#include "backends/cpu/conv/conv_kernels.h"
#include "backends/cpu/device/features.h"
#include "backends/cpu/threads/parallel.h"
#include "backends/cpu/threads/scratch.h"
#include "lib/op/conv/conv.h"

/** The arguments of the run. */
struct conv_means {
    const struct conv_kernels *kernels;
    const struct cpu_features *features;
    struct team *team;
    struct scratch *scratch;
};

/** Forward and data. @return SSQ_ERR_NOMEM, with nothing written */
ssq_status conv_run(const struct conv_op *op, const struct conv_means *means);

/** For weights. @return as conv_run */
ssq_status conv_weight_run(const struct conv_op *op,
                           const struct conv_means *means);

#endif
