/* SPDX-License-Identifier: Apache-2.0 */
/* blas.h - cuBLASLt in this process: its path and its calls.
 *
 * The library is searched for when a device is first described or opened.
 * libcublas is never loaded, because nothing here needs it. A libcublas that
 * meets the cublasLt of another release is the best known way to break a
 * program with two copies of CUDA. */
#ifndef BACKENDS_CUDA_BLAS_H
#define BACKENDS_CUDA_BLAS_H

#include "backends/cuda/blas_api.h"
#include "backends/cuda/calls.h"
#include "lib/core/module/backend.h"

struct cuda_blas {
    pthread_mutex_t lock; /* held during the search */
    bool sought;
    void *library;  /* from dlopen; NULL: not found */
    char path[256]; /* of the file, as reported by the loader */
    struct why why; /* why it was not found */
#define X(NAME, SYMBOL, ARGS) cublasStatus_t(*NAME) ARGS;
    BLAS_CALLS(X)
#undef X
};

/** Return whether the library is available. The first call searches for one
 *  that a driver of this version supports. Any thread may call this. If false,
 *  blas->why contains the reason. A library that is found stays loaded until
 *  the process ends. */
bool cuda_blas_have(struct cuda_blas *blas, const struct services *core,
                    const struct cuda_calls *driver_calls, int driver);

/** Return the name of a status, for example "CUBLAS_STATUS_NOT_SUPPORTED". */
const char *cuda_blas_status(cublasStatus_t status);

#endif
