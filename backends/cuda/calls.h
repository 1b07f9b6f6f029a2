/* SPDX-License-Identifier: Apache-2.0 */
/* calls.h - the driver's library in this process, and its calls.
 *
 * CU(d, StreamSynchronize)(s) is cuStreamSynchronize(s). A group of calls is
 * looked up when the feature that needs it is first wanted: an old driver loses
 * the feature and not the backend. */
#ifndef BACKENDS_CUDA_CALLS_H
#define BACKENDS_CUDA_CALLS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "backends/cuda/api.h"

struct why; /* lib/core/backend.h */

#if defined(_WIN32)
#error "the driver's calling convention on Windows is not written down here"
#endif

/** Groups of calls; each is whole or not there. */
enum cuda_group {
    CUDA_BASE,
    CUDA_POOLS,
    CUDA_GRAPHS,
    CUDA_NATIVE,
    CUDA_GROUPS
};

/** What a launch may touch of memory, for a stand-in of the driver that checks
 *  every access; see ssq_standin_bindings below. */
struct ssq_standin_range {
    uint64_t base, bytes;
    uint32_t write;
};

struct cuda_calls {
    void *library;        /* from dlopen; NULL: not opened */
    char path[256];       /* of the file, as the loader says */
    pthread_mutex_t lock; /* of `state` */
    /* of each group: 0 not looked for yet, 1 there, 2 missing */
    int state[CUDA_GROUPS];
    const char *missing[CUDA_GROUPS]; /* the first symbol that is not there */
#define X(NAME, SYMBOL, ARGS) CUresult(*NAME) ARGS;
    CUDA_CALLS(X)
#undef X
    /* The driver is a stand-in that interprets PTX: it has this symbol, which
     * no driver of NVIDIA's has. It is told the operands of the launch that
     * comes next on this thread, and `auto` does not choose its devices. */
    void (*standin_bindings)(const struct ssq_standin_range *range, size_t n);
};

#define CU(D, NAME) ((D)->calls->NAME)

/** Open libcuda and look up what every device needs. False: why says what is
 *  missing. The library stays open as long as the process. */
bool cuda_calls_open(struct cuda_calls *calls, struct why *why);

/** Is a group there? Looked up at the first question; from any thread. False:
 *  why (may be NULL) names the symbol that is missing. */
bool cuda_calls_have(struct cuda_calls *calls, enum cuda_group group,
                     struct why *why);

#endif
