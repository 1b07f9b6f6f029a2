/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.h - the fastest implementation of each shape of gemm, kept in a file.
 * ssq_gemm_tune() writes the file, and a device reads it when it opens.
 *
 * A device's tunings are constant from open to close, so that lookups need no
 * lock. */
#ifndef LIB_CORE_DEVICE_TUNING_H
#define LIB_CORE_DEVICE_TUNING_H

#include <sesqui/tune.h>

#include "lib/core/core.h"

/** Most shapes in a file. */
#define TUNINGS 4096

/** The key of a choice. Zero it first, because all bytes are compared. */
struct tuning_key {
    int64_t batch, m, n, k;
    uint8_t a, b, d; /* dtypes */
    uint8_t turned;  /* TURNED_ bits: stored column by column */
    uint8_t tf32, three;
    uint8_t spare[2];
};
#define TURNED_A 1u
#define TURNED_B 2u
#define TURNED_D 4u

/** A shape in a file. Shapes are in ascending order of the key's bytes. */
struct tuning {
    struct tuning_key key;
    char implementation[32]; /* padded with zeros */
    uint64_t algorithm;      /* as in gemm_op */
    double seconds, rule_seconds;
};

/** Read a device's file, as the last step of opening it. A damaged file is
 *  logged and ignored. A file of another driver or library is ignored.
 *  @return SSQ_ERR_NOMEM */
ssq_status tunings_open(ssq_device *device);
void tunings_close(ssq_device *device);

/** Find the tuning of a shape, and set *number to the number of its
 *  implementation in the device's list, from 1. NULL: none exists, or gemm is
 *  pinned, or this build has no such implementation. */
const struct tuning *tuning_find(const ssq_device *device,
                                 const struct tuning_key *key,
                                 uint16_t *number);
/** Store a choice, and replace another one of its shape. Thread-safe, and safe
 *  against other processes. Returns false if the choice is not in the file
 *  afterwards. */
bool tuning_keep(const ssq_device *device, const struct tuning *tuning);
/** Return a digest of all tunings that a device has read, or 0 if there are
 *  none. *n: their number. The digest changes if any gemm may run
 *  differently. */
uint64_t tunings_digest(const ssq_device *device, size_t *n);
/** Convert to the public struct, with kept set. */
ssq_gemm_tuning tuning_export(const struct tuning *tuning);

#endif
