/* SPDX-License-Identifier: Apache-2.0 */
/* calls.h - the calls of the NCCL and driver libraries of this process. */
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

/** Open both libraries and look up all calls. The libraries stay open.
 *  @return SSQ_ERR_UNSUPPORTED: the text names the library, version or symbol
 *    that is missing */
ssq_status nccl_calls_open(const struct services *services,
                           struct nccl_calls *calls);

#endif
