/* SPDX-License-Identifier: Apache-2.0 */
/* room.h - does the driver have enough memory for its next call?
 *
 * A driver that finds none may end the process, which no one can catch. What
 * can be asked beforehand is: whether this many bytes can still be mapped,
 * which finds RLIMIT_AS, RLIMIT_DATA and strict overcommitment; and whether the
 * disk of the driver's cache has room. Neither is a promise: another thread or
 * process may take it first. The questions cost some microseconds each. */
#ifndef BACKENDS_COMMON_ROOM_H
#define BACKENDS_COMMON_ROOM_H

#include "lib/core/module/backend.h"

/** Memory that a driver maps in one of its calls. */
struct room_need {
    const char *call;
    uint32_t own_mib;         /* beside its threads' */
    uint32_t threads;         /* that it starts */
    uint32_t threads_per_cpu; /* and for each processor: */
    uint32_t cpus_most;       /* of this many at most; 0: of all */
};

/** Memory that a driver's compiler maps for one kernel: measured under
 * RLIMIT_AS, a gemm's takes less than 10 MiB with PoCL 3.1 and lavapipe of
 * Mesa 22.3, which ends the process at 3 MiB. */
#define ROOM_TO_COMPILE (UINT64_C(16) << 20)

/** True if a driver can map what it needs; otherwise why has the values. */
bool room_for_driver(const struct room_need *need, struct why *why);
/** The same of bytes of memory; what: for the text. */
bool room_for_bytes(uint64_t bytes, const char *what, struct why *why);

/** The cache of a driver: `variable` names its directory, else it is `below`
 *  the user's cache directory. */
struct room_cache {
    const char *variable;
    const char *below;
    const char *off; /* a variable that says 1, true or yes: there is none */
    uint64_t bytes;  /* that a driver needs there */
};

/** True if the disk has room for it, or no one can tell. */
bool room_for_cache(const struct services *core, const struct room_cache *cache,
                    struct why *why);

#endif
