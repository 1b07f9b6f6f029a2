/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.h - may this device use the processor's tiles? */
#ifndef BACKENDS_CPU_GEMM_TILES_H
#define BACKENDS_CPU_GEMM_TILES_H

#include "backends/cpu/isa.h"
#include "lib/core/module/backend.h"

struct tiles {
    const struct gemm_tiles *kernels; /* NULL: no */
    bool model;                       /* they are C */
    bool f16;                         /* and multiply f16 as it is */
    bool refused;                     /* the system does not give them */
    char why[128];                    /* there are none; or "" */
};

/** Decide it, as SSQ_CPU_TILES says if it is set.
 *  @return SSQ_ERR_INVALID the variable's value is unknown */
ssq_status tiles_choose(struct tiles *tiles, const struct cpu_features *f,
                        const struct isa *isa);

/** Ask the system to save the tiles of this process's threads, and of the
 * threads of its children: once; later calls give the same answer. NULL: it
 * will; else why it does not. */
const char *tiles_permission(void);

#endif
