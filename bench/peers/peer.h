/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - what the programs of other libraries share: each answers the cases
 * of `sesqui bench -`, as far as it knows them, with the same lines of JSON. */
#ifndef BENCH_PEERS_PEER_H
#define BENCH_PEERS_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum peer_dtype { PEER_F32, PEER_F16, PEER_BF16 };

/** d = a b, row-major, one after the other in a batch. */
struct peer_gemm {
    enum peer_dtype dtype;
    int64_t m, n, k, batch; /* batch: at least 1 */
    void *a, *b, *d;        /* normal numbers; on the host */
    void *state;            /* the library's */
};

struct peer {
    const char *name;
    /** Load the library; NULL, or why it cannot be. threads: 0 its own. */
    const char *(*open)(int threads);
    /** NULL, or why this library cannot run it. Optional. */
    const char *(*make)(struct peer_gemm *g);
    /** A run, with its end; false: it failed. */
    bool (*run)(struct peer_gemm *g);
    void (*drop)(struct peer_gemm *g); /* optional */
};

/** Bytes of an element. */
size_t peer_size(enum peer_dtype dtype);
/** A library by the name in the environment's `variable`, or the first of
 *  names, which end with a NULL; NULL: none. */
void *peer_load(const char *variable, const char *const *names);
/** main of a peer: [--threads N] [--seconds S]. */
int peer_main(int argc, char **argv, const struct peer *p);

#endif
