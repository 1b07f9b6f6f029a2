/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c - compares tensors between ranks: the digest of each tensor is a
 * fact. The communicator's thread computes digests in host memory. */
#include "lib/comm/parts.h"

#include "lib/comm/comm.h"
#include "lib/core/base/crc64.h"

#include <stdio.h>
#include <string.h>

/* Hexadecimal digits of a digest. */
#define DIGITS 16

/* Bytes of a tensor that are read at a time. */
#define LOOK_BYTES ((size_t)1 << 20)

/* Compute the digest of one tensor. memory has LOOK_BYTES. */
static ssq_status digest(ssq_comm *comm, const struct view *v,
                         const struct crc64 *crc, char *memory, uint64_t *sum)
{
    ssq_event *there = comm->slots[0].fetched;
    int64_t most = (int64_t)(LOOK_BYTES / dtype_bytes(v->dtype)), n;
    ssq_status st = SSQ_OK;
    *sum = 0;
    for (int64_t at = 0; at < view_elements(v) && st == SSQ_OK; at += n) {
        n = size_least(most, view_elements(v) - at);
        st = piece_transfer(comm, v, at, n, memory, false);
        if (st == SSQ_OK)
            st = ssq_event_record(there, comm->side);
        if (st == SSQ_OK)
            st = ssq_event_sync(there);
        if (st == SSQ_OK)
            *sum =
                crc64_add(crc, *sum, memory, (size_t)n * dtype_bytes(v->dtype));
    }
    return st;
}

/* Write the digests into the facts of digest_facts(): names, each with space
 * for its digest. */
ssq_status digests_run(ssq_comm *comm, const struct job *job)
{
    struct crc64 crc;
    char text[DIGITS + 1], *fact = job->facts, *memory = mem_alloc(LOOK_BYTES);
    ssq_status st =
        memory == NULL ? error_nomem("comm_compare", LOOK_BYTES) : SSQ_OK;
    crc64_begin(&crc);
    for (size_t i = 0; i < job->n && st == SSQ_OK; i++) {
        uint64_t sum;
        st = digest(comm, &job->views[i], &crc, memory, &sum);
        (void)snprintf(text, sizeof(text), "%016llx", (unsigned long long)sum);
        fact += strlen(fact) + 1;
        memcpy(fact, text, DIGITS);
        fact += DIGITS + 1;
    }
    /* wait even after an error: transfers in flight write to memory */
    ssq_status synced = queue_wait(comm->side);
    mem_free(memory);
    return st == SSQ_OK ? synced : st;
}

static ssq_status digest_facts(struct job *job, const char *const *names,
                               size_t n)
{
    for (size_t i = 0; i < n; i++)
        job->facts_bytes += strlen(names[i]) + DIGITS + 2;
    job->facts = mem_alloc(job->facts_bytes);
    if (job->facts == NULL)
        return error_nomem("comm_compare", job->facts_bytes);
    char *to = job->facts;
    for (size_t i = 0; i < n; i++) {
        to = stpcpy(to, names[i]) + 1;
        memset(to, '-', DIGITS);
        to += DIGITS + 1;
    }
    return SSQ_OK;
}

ssq_status comm_compare_tensors(ssq_queue *queue, ssq_comm *comm,
                                const char *const *names,
                                const ssq_tensor *const *tensors, size_t n,
                                const char *tag)
{
    static const char what[] = "comm_compare";
    ssq_status st = call_check(queue, comm, tag, what);
    if (st == SSQ_OK)
        st = queue_uncaptured(queue, what);
    if (st != SSQ_OK || n == 0)
        return st;
    struct job *job = job_create(CALL_COMPARE, tag);
    if (job == NULL)
        return SSQ_ERR_NOMEM;
    job->views = mem_alloc_array(n, sizeof(*job->views));
    st = job->views == NULL ? error_nomem(what, n * sizeof(*job->views))
                            : digest_facts(job, names, n);
    for (size_t i = 0; i < n && st == SSQ_OK; i++)
        job_hold(job, tensors[i]);
    if (st == SSQ_OK)
        return job_enqueue(comm, queue, job);
    job_free(job);
    return st;
}
