/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c - gathers host bytes of all ranks, for comparisons. They pass
 * through device memory, because the library knows no other. */
#include "lib/comm/direct.h"

#include "lib/core/core.h"

static ssq_status comm_gather(ssq_comm *comm, const void *mine, void *all,
                              const struct view *x, const struct view *y)
{
    static const struct job job = {.call = CALL_COMPARE};
    uint64_t bytes = view_span(x);
    struct upload_op up = upload_of(x, mine, bytes);
    ssq_status st = queue_enqueue(comm->side, &up.op);
    if (st == SSQ_OK) {
        struct moves *m = moves_create(comm, &job, 1);
        if (m != NULL)
            moves_add(m, MOVE_GATHER, ELEMENT_BYTE, x, y, bytes);
        st = moves_enqueue(m, comm->side);
    }
    struct download_op down = download_of(y, all, bytes * comm->size);
    if (st == SSQ_OK)
        st = queue_enqueue(comm->side, &down.op);
    /* always wait: transfers use the caller's memory */
    ssq_status synced = queue_wait(comm->side);
    return st == SSQ_OK ? synced : st;
}

ssq_status direct_gather(ssq_comm *comm, const void *mine, void *all,
                         size_t bytes)
{
    struct view x = {.buffer = NULL}, y = {.buffer = NULL};
    const int64_t nx = (int64_t)bytes, ny = (int64_t)(bytes * comm->size);
    ssq_status st = scratch_get(comm->side, SSQ_U8, 1, &nx, &x);
    if (st == SSQ_OK)
        st = scratch_get(comm->side, SSQ_U8, 1, &ny, &y);
    if (st == SSQ_OK)
        st = comm_gather(comm, mine, all, &x, &y);
    scratch_put(&x);
    scratch_put(&y);
    return st;
}
