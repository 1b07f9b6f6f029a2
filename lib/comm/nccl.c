/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.c - communicators over NCCL: the public calls. */
#include "lib/comm/comm.h"

#include "lib/core/queue/queue.h"
#include "lib/core/module/services.h"
#include "lib/core/core.h"

#include <sesqui/nccl.h>

#include <string.h>
#include <time.h>

_Static_assert(SSQ_NCCL_ID_BYTES == COMM_ID_BYTES, "ids are NCCL's");

static ssq_status check_id(const void *id, size_t bytes, const char *what)
{
    if (id == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: id is NULL", what);
    if (bytes != SSQ_NCCL_ID_BYTES)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the id has %zu bytes, expected %d", what, bytes,
                         SSQ_NCCL_ID_BYTES);
    return SSQ_OK;
}

static ssq_status check_device_comm(ssq_device *device, ssq_comm *const *comm,
                                    const char *what)
{
    if (device == NULL || comm == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         device == NULL ? "device" : "comm");
    /* NCCL allocates device memory, which would end a capture */
    ssq_status st = capture_check(device, what);
    if (st == SSQ_OK && device->backend->call == NULL)
        st = error_set(SSQ_ERR_INVALID, "%s: %s is not a device of cuda", what,
                       device->props.name);
    return st;
}

ssq_status ssq_comm_nccl_id(void *id, size_t bytes)
{
    const struct comm_module *m = NULL;
    ssq_status st = check_id(id, bytes, "comm_nccl_id");
    if (st == SSQ_OK)
        st = comm_module_find("nccl", &m);
    return st == SSQ_OK ? m->transport.direct->id(&core_services, id) : st;
}

/* ---- making a link ---- */

struct joining {
    const struct comm_module *module;
    struct comm_place place;
    struct comm_link *link;
    unsigned rank, size;
};

static ssq_status connect_here(void *user, void *native)
{
    struct joining *j = user;
    (void)native;
    return j->module->connect(&core_services, &j->place, &j->link, &j->rank,
                              &j->size);
}

/* Connect while the device is current. backend->call() makes it current, for
 * a queue of the device. NCCL may wait for a long time, so this uses a
 * temporary queue. */
static ssq_status connect_on(ssq_device *device, struct joining *j)
{
    ssq_queue *queue = NULL;
    ssq_status st = ssq_queue_create(device, NULL, &queue);
    if (st != SSQ_OK)
        return st;
    st = device->backend->call(queue->impl, connect_here, j);
    ssq_queue_destroy(&queue);
    return st;
}

static ssq_status nccl_join(ssq_device *device, struct joining *j,
                            const ssq_comm_options *options, const char *what,
                            ssq_comm **comm)
{
    ssq_status st = connect_on(device, j);
    return st == SSQ_OK ? comm_over(device, j->module, j->link, j->rank,
                                    j->size, options, what, comm)
                        : st;
}

ssq_status ssq_comm_nccl_join(ssq_device *device, const void *id, size_t bytes,
                              unsigned rank, unsigned size,
                              const ssq_comm_options *options, ssq_comm **comm)
{
    static const char what[] = "comm_nccl_join";
    struct joining j = {.place = {.id = id, .rank = rank, .size = size}};
    ssq_comm_options chosen;
    ssq_status st = check_device_comm(device, comm, what);
    if (st == SSQ_OK)
        st = check_id(id, bytes, what);
    if (st == SSQ_OK && (size == 0 || size > SSQ_COMM_MAX_SIZE))
        st = error_set(SSQ_ERR_INVALID, "%s: size is %u, expected 1 to %d",
                       what, size, SSQ_COMM_MAX_SIZE);
    if (st == SSQ_OK && rank >= size)
        st = error_set(SSQ_ERR_INVALID, "%s: rank is %u of %u", what, rank,
                       size);
    if (st == SSQ_OK)
        st = comm_options(options, what, &chosen);
    if (st == SSQ_OK)
        st = comm_module_find("nccl", &j.module);
    if (st != SSQ_OK)
        return st;
    j.place.timeout = chosen.timeout;
    return nccl_join(device, &j, &chosen, what, comm);
}

/* ---- beside the program's communicator ---- */

/* A broadcast of an id over the lent communicator, on a separate queue. */
struct lending {
    struct joining *lent;
    ssq_queue *queue;
    ssq_tensor *id; /* on the device */
    ssq_event *there;
};

static ssq_status broadcast_here(void *user, void *native)
{
    const struct lending *l = user;
    uint64_t address = 0;
    const ssq_buffer *b = l->id->view.buffer;
    address = (uint64_t)(uintptr_t)b->device->backend->mem_handle(b->mem) +
              b->offset + l->id->view.offset;
    const struct comm_move move = {.kind = MOVE_BROADCAST,
                                   .element = ELEMENT_BYTE,
                                   .from = address,
                                   .to = address,
                                   .n = COMM_ID_BYTES};
    const struct comm_direct *direct = l->lent->module->transport.direct;
    return direct->enqueue(l->lent->link, native, &move, 1,
                           l->lent->place.timeout);
}

static ssq_status lending_open(ssq_device *device, struct lending *l)
{
    const int64_t n = COMM_ID_BYTES;
    ssq_status st = ssq_queue_create(device, NULL, &l->queue);
    if (st == SSQ_OK)
        st = ssq_tensor_create(device, SSQ_U8, 1, &n, &l->id);
    return st == SSQ_OK ? ssq_event_create(device, &l->there) : st;
}

static void lending_close(struct lending *l)
{
    ssq_event_destroy(&l->there);
    ssq_tensor_destroy(&l->id);
    ssq_queue_destroy(&l->queue);
}

static ssq_status send_id(struct lending *l, unsigned char *id)
{
    ssq_status st =
        ssq_tensor_write(l->queue, l->id, id, COMM_ID_BYTES, SSQ_U8);
    if (st != SSQ_OK)
        return st;
    pthread_mutex_lock(&l->queue->lock);
    st = l->queue->device->backend->call(l->queue->impl, broadcast_here, l);
    pthread_mutex_unlock(&l->queue->lock);
    if (st == SSQ_OK)
        st = ssq_event_record(l->there, l->queue);
    return st;
}

/* Poll until the id has arrived or the timeout is over. */
static ssq_status nccl_await(struct lending *l, double timeout)
{
    static const struct timespec pause = {0, 1000000};
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double end = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec + timeout;
    for (;;) {
        ssq_status st = ssq_event_query(l->there);
        if (st != SSQ_ERR_NOT_READY)
            return st;
        clock_gettime(CLOCK_MONOTONIC, &t);
        if ((double)t.tv_sec + 1e-9 * (double)t.tv_nsec > end)
            return st;
        nanosleep(&pause, NULL);
    }
}

/* Broadcast the id of rank 0. If the broadcast does not end, its memory and its
 * queue are never freed: only the caller can end it. */
static ssq_status exchange_id(ssq_device *device, struct joining *lent,
                              unsigned char *id, const char *what)
{
    struct lending l = {.lent = lent};
    ssq_status st = lending_open(device, &l);
    if (st == SSQ_OK)
        st = send_id(&l, id);
    if (st == SSQ_OK)
        st = nccl_await(&l, lent->place.timeout);
    if (st == SSQ_ERR_COMM)
        return st; /* not freed: NCCL may still enqueue it */
    if (st == SSQ_ERR_NOT_READY)
        return error_set(SSQ_ERR_COMM,
                         "%s: rank %u of %u: the broadcast of an id was not "
                         "done in %g seconds: another rank made no call",
                         what, lent->rank, lent->size, lent->place.timeout);
    if (st == SSQ_OK)
        st = ssq_tensor_read(l.queue, l.id, id, COMM_ID_BYTES, SSQ_U8);
    if (st == SSQ_OK)
        st = queue_wait(l.queue);
    lending_close(&l);
    return st;
}

ssq_status ssq_comm_nccl_create(ssq_device *device, struct ncclComm *nccl_comm,
                                const ssq_comm_options *options,
                                ssq_comm **comm)
{
    static const char what[] = "comm_nccl_create";
    unsigned char id[COMM_ID_BYTES] = {0};
    struct joining lent = {.place = {.theirs = nccl_comm}};
    ssq_comm_options chosen;
    ssq_status st = check_device_comm(device, comm, what);
    if (st == SSQ_OK && nccl_comm == NULL)
        st = error_set(SSQ_ERR_INVALID, "%s: nccl_comm is NULL", what);
    if (st == SSQ_OK)
        st = comm_options(options, what, &chosen);
    if (st == SSQ_OK)
        st = comm_module_find("nccl", &lent.module);
    if (st != SSQ_OK)
        return st;
    lent.place.timeout = chosen.timeout;
    st = connect_on(device, &lent);
    if (st != SSQ_OK)
        return st;
    struct joining j = lent;
    j.place = (struct comm_place){.id = id,
                                  .rank = lent.rank,
                                  .size = lent.size,
                                  .timeout = chosen.timeout};
    if (lent.rank == 0)
        st = lent.module->transport.direct->id(&core_services, id);
    if (st == SSQ_OK)
        st = exchange_id(device, &lent, id, what);
    lent.module->transport.leave(lent.link);
    lent.module->transport.close(lent.link);
    return st == SSQ_OK ? nccl_join(device, &j, &chosen, what, comm) : st;
}
