/* SPDX-License-Identifier: Apache-2.0 */
/* blas.h - cuBLASLt in this process: where it was found, and its calls.
 *
 * It is looked for when somebody first asks about a device. Never libcublas:
 * a libcublas that meets the cublasLt of another release is the best known way
 * to break a program that has two CUDAs in it, and nothing here needs it. */
#ifndef BACKENDS_CUDA_BLAS_H
#define BACKENDS_CUDA_BLAS_H

#include "backends/cuda/blas_api.h"
#include "backends/cuda/calls.h"
#include "lib/core/backend.h"

struct cuda_blas {
    pthread_mutex_t lock; /* of the search */
    bool sought;
    void *library;  /* from dlopen; NULL: there is none */
    char path[256]; /* of the file, as the loader says */
    struct why why; /* why there is none */
#define X(NAME, SYMBOL, ARGS) cublasStatus_t(*NAME) ARGS;
    BLAS_CALLS(X)
#undef X
};

/** Is the library there? The first question looks for it, for a driver of this
 *  version; from any thread. False: blas->why says why not. What is found stays
 *  in the process. */
bool cuda_blas_have(struct cuda_blas *blas, const struct services *core,
                    const struct cuda_calls *driver_calls, int driver);

/** "CUBLAS_STATUS_NOT_SUPPORTED" */
const char *cuda_blas_status(cublasStatus_t status);

#endif
