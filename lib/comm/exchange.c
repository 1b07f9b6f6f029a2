/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.c - exchanges of messages with the other ranks. */
#include "lib/comm/comm.h"

void exchange_set(ssq_comm *comm, size_t i, unsigned peer, bool send,
                  const void *bytes, size_t size)
{
    comm->messages[i] = (struct comm_message){
        .peer = peer,
        .send = send,
        .bytes = (void *)(uintptr_t)bytes, /* bytes to send are only read */
        .size = size};
}

ssq_status exchange_run(ssq_comm *comm, size_t n)
{
    if (n == 0)
        return SSQ_OK;
    return comm->transport->exchange(comm->link, comm->messages, n,
                                     comm->options.timeout);
}
