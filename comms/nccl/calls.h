/* SPDX-License-Identifier: Apache-2.0 */
/* calls.h - the libraries of NCCL and of the driver in this process. */
#ifndef COMMS_NCCL_CALLS_H
#define COMMS_NCCL_CALLS_H

#include "comms/nccl/api.h"
#include "lib/comm/transport.h"

struct nccl_calls {
    int version; /* 21803 is 2.18.3 */
#define X(NAME, ANSWER, ARGS) ANSWER(*NAME) ARGS;
    NCCL_CALLS(X)
#undef X
#define X(NAME, SYMBOL, ARGS) int(*NAME) ARGS;
    NCCL_DRIVER_CALLS(X)
#undef X
};

/** Open both and look up all calls; they stay open.
 *  @return SSQ_ERR_UNSUPPORTED: the text says what is missing, and where */
ssq_status nccl_calls_open(const struct services *services,
                           struct nccl_calls *calls);

#endif
