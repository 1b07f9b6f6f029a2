/* SPDX-License-Identifier: Apache-2.0 */
/* calls.h - the driver's library in this process, and its calls.
 *
 * CU(d, StreamSynchronize)(s) is cuStreamSynchronize(s). A group of calls is
 * looked up when a feature first needs it. With an old driver the feature is
 * missing, but the backend works. */
#ifndef BACKENDS_CUDA_CALLS_H
#define BACKENDS_CUDA_CALLS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "backends/cuda/api.h"

struct why; /* lib/core/module/backend.h */

#if defined(_WIN32)
#error "the driver's calling convention on Windows is not written down here"
#endif

/** Groups of calls. A group is available only if all of its symbols are
 *  found. */
enum cuda_group {
    CUDA_BASE,
    CUDA_POOLS,
    CUDA_GRAPHS,
    CUDA_NATIVE,
    CUDA_EXTERNAL,
    CUDA_GROUPS
};

/** Memory that a launch may access, for a stand-in of the driver that checks
 *  every access: see standin_bindings below. */
struct ssq_standin_range {
    uint64_t base, bytes;
    uint32_t write;
};

struct cuda_calls {
    void *library;        /* from dlopen; NULL: not opened */
    char path[256];       /* of the file, as reported by the loader */
    pthread_mutex_t lock; /* of `state` and `missing` */
    /* of each group: 0 not looked up yet, 1 available, 2 missing */
    int state[CUDA_GROUPS];
    const char *missing[CUDA_GROUPS]; /* the first missing symbol; NULL: none */
#define X(NAME, SYMBOL, ARGS) CUresult(*NAME) ARGS;
    CUDA_CALLS(X)
#undef X
    /* Set if the driver is a stand-in that interprets PTX. No driver of NVIDIA
     * exports this symbol. It is called with the operands of the next launch on
     * this thread. `auto` does not choose the devices of a stand-in. NULL: not
     * a stand-in. */
    void (*standin_bindings)(const struct ssq_standin_range *range, size_t n);
};

#define CU(D, NAME) ((D)->calls->NAME)

/** Open libcuda and look up the calls that every device needs. If false, why
 *  contains the reason. The library stays open until the process ends. */
bool cuda_calls_open(struct cuda_calls *calls, struct why *why);

/** Return whether a group of calls is available. The first call looks it up.
 *  Any thread may call this. If false, why (may be NULL) names the missing
 *  symbol. */
bool cuda_calls_have(struct cuda_calls *calls, enum cuda_group group,
                     struct why *why);

/** Set why (may be NULL) and return false. */
bool cuda_refuse(struct why *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
