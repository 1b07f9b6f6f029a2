/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c - the ranks' weights, from the measured training throughputs of
 * their devices.
 *
 * Each rank sends the throughput in its own cache to all others. A rank without
 * a throughput sends that, too, so that all ranks fail with the same text. */
#include "lib/comm/comm.h"

#include <sesqui/tune.h>

#include "lib/core/device/throughput.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/** The smallest weight of a trainer. */
#define LEAST 1e-6

/** The message of a rank. Its size does not depend on the device. */
struct rate_message {
    double throughput; /* 0: unknown */
    char command[THROUGHPUT_COMMAND];
};
_Static_assert(sizeof(struct rate_message) == 128, "has no holes");

static ssq_status comm_weights_check(ssq_queue *queue, ssq_comm *comm,
                                     ssq_dtype dtype, const double *weights,
                                     const char *tag, const char *what)
{
    ssq_status st = call_check(queue, comm, tag, what);
    if (st == SSQ_OK && dtype != SSQ_F32 && dtype != SSQ_F16 &&
        dtype != SSQ_BF16)
        st = error_set(SSQ_ERR_INVALID,
                       "%s: dtype is %d, expected f32, f16 or bf16", what,
                       (int)dtype);
    if (st == SSQ_OK && weights == NULL)
        st = error_set(SSQ_ERR_INVALID, "%s: weights is NULL", what);
    return st;
}

/* Fill all[size]. The caller has set the element of this rank. */
static ssq_status weights_gather(ssq_queue *queue, ssq_comm *comm,
                                 struct rate_message *all, const char *tag)
{
    const int64_t one = sizeof(*all), n = one * comm->size;
    ssq_tensor *x = NULL, *y = NULL;
    ssq_status st = ssq_tensor_create(comm->device, SSQ_U8, 1, &one, &x);
    if (st == SSQ_OK)
        st = ssq_tensor_create(comm->device, SSQ_U8, 1, &n, &y);
    if (st == SSQ_OK)
        st = ssq_tensor_write(queue, x, &all[comm->rank], sizeof(*all), SSQ_U8);
    if (st == SSQ_OK) {
        st = ssq_comm_all_gather(
            queue, comm, SSQ_COMM_ALL_GATHER(.x = x, .y = y, .tag = tag));
        if (st == SSQ_OK)
            st = ssq_tensor_read(queue, y, all, (size_t)n, SSQ_U8);
        /* always wait: transfers use the caller's memory */
        ssq_status synced = queue_wait(queue);
        st = st == SSQ_OK ? synced : st;
    }
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    return st;
}

/* Set each weight to the rank's throughput divided by the largest one. */
static ssq_status weights_decide(const struct rate_message *all, unsigned size,
                                 ssq_dtype dtype, double *weights,
                                 const char *what)
{
    unsigned best = 0;
    for (unsigned r = 0; r < size; r++) {
        if (!isfinite(all[r].throughput) || !(all[r].throughput > 0.0))
            return error_set(
                SSQ_ERR_NOT_FOUND,
                "%s: rank %u has no rate of its device in %s; `%.*s` "
                "measures it",
                what, r, ssq_dtype_name(dtype), THROUGHPUT_COMMAND - 1,
                all[r].command);
        if (all[r].throughput > all[best].throughput)
            best = r;
    }
    for (unsigned r = 0; r < size; r++)
        if (!(all[r].throughput / all[best].throughput >= LEAST))
            return error_set(SSQ_ERR_INVALID,
                             "%s: rank %u makes %g steps a second while rank "
                             "%u makes %g: its weight is below %g",
                             what, r, all[r].throughput, best,
                             all[best].throughput, LEAST);
    for (unsigned r = 0; r < size; r++)
        weights[r] = all[r].throughput / all[best].throughput;
    return SSQ_OK;
}

ssq_status ssq_comm_weights(ssq_queue *queue, ssq_comm *comm, ssq_dtype dtype,
                            double *weights)
{
    static const char what[] = "comm_weights";
    char tag[COMM_TAG];
    (void)snprintf(tag, sizeof(tag), "weights %s", ssq_dtype_name(dtype));
    ssq_status st = comm_weights_check(queue, comm, dtype, weights, tag, what);
    if (st != SSQ_OK)
        return st;
    struct rate_message *all = mem_alloc_array(comm->size, sizeof(*all));
    if (all == NULL)
        return error_nomem(what, comm->size * sizeof(*all));
    struct rate_message *own = &all[comm->rank];
    throughput_command(comm->device, dtype, own->command, sizeof(own->command));
    st = ssq_training_rate_get(comm->device, dtype, &own->throughput);
    if (st != SSQ_OK)
        own->throughput = 0.0;
    if (st != SSQ_ERR_NOMEM) /* else the throughput, if any, was not read */
        st = weights_gather(queue, comm, all, tag);
    if (st == SSQ_OK) {
        struct fpenv env = fpenv_enter();
        st = weights_decide(all, comm->size, dtype, weights, what);
        fpenv_leave(env);
    }
    mem_free(all);
    return st;
}
