/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.h - which implementation of a gemm was the fastest, as a file keeps
 * it: what ssq_gemm_tune writes, and what a device reads when it opens.
 *
 * A device's tunings are constant from open to close, so that no call needs a
 * lock to look one up. */
#ifndef LIB_OP_GEMM_TUNING_H
#define LIB_OP_GEMM_TUNING_H

#include <sesqui/tune.h>

#include "lib/op/gemm/gemm.h"

/** Shapes that a file may have. */
#define TUNINGS 4096

/** What a choice is kept by: all bytes are compared, so it begins zeroed. */
struct tuning_key {
    int64_t batch, m, n, k;
    uint8_t a, b, d; /* dtypes */
    uint8_t turned;  /* TURNED_A and so on: it lies column by column */
    uint8_t tf32, three;
    uint8_t spare[2];
};
#define TURNED_A 1u
#define TURNED_B 2u
#define TURNED_D 4u

/** A shape in a file, in ascending order of the key's bytes. */
struct tuning {
    struct tuning_key key;
    char implementation[32]; /* zeros behind its end */
    uint64_t algorithm;      /* as in gemm_op */
    double seconds, rule_seconds;
};

/** A canonical op's shape. It multiplies: k is not 0, and d not empty. */
struct tuning_key tuning_key_of(const struct gemm_op *op);

/** Read a device's file, as the last step of opening it. A file that is damaged
 *  is told in the log, and is as none, as is one of another driver or library.
 *  @return SSQ_ERR_NOMEM */
ssq_status tunings_open(ssq_device *device);
void tunings_close(ssq_device *device);

/** Have a canonical op prefer what is kept of its shape: op->op.prefer and
 *  op->algorithm, which are 0 where nothing is, or where gemm is pinned. */
void tuning_prefer(const ssq_device *device, struct gemm_op *op);
/** Take that back. */
static inline void tuning_forget(struct gemm_op *op)
{
    op->op.prefer = 0;
    op->algorithm = 0;
}

/** Keep a choice, in place of another of its shape. False: it is not in the
 *  file afterwards. Thread-safe, and safe against other processes. */
bool tuning_keep(const ssq_device *device, const struct tuning *tuning);
/** Of all that a device has read, and how many shapes that are: another digest
 *  where any product may run otherwise. 0 for none. */
uint64_t tunings_digest(const ssq_device *device, size_t *n);
/** As the public struct has it, kept. */
ssq_gemm_tuning tuning_tell(const struct tuning *tuning);

#endif
