/* SPDX-License-Identifier: Apache-2.0 */
/* thread.c - the main functions of a communicator's threads.
 *
 * One thread runs the jobs. If the device computes in the thread that
 * submits commands, a second thread submits the commands that are deferred at a
 * gate. The next collective runs meanwhile. */
#include "lib/comm/comm.h"

#include <stdio.h>
#include <string.h>

/* ---- jobs ---- */

/* Wait until the work enqueued before the job is done. This waits on the
 * communicator's own queue, because nothing else uses its lock. Also fetches
 * inlined values. */
static ssq_status wait_before(ssq_comm *comm, const struct job *job,
                              size_t inlined)
{
    ssq_event *due = comm->slots[0].fetched;
    ssq_status st = ssq_queue_wait(comm->side, job->before);
    if (st == SSQ_OK && inlined > 0)
        st = inlined_fetch(comm, job);
    if (st == SSQ_OK)
        st = ssq_event_record(due, comm->side);
    return st == SSQ_OK ? ssq_event_sync(due) : st;
}

static ssq_status thread_run(ssq_comm *comm, const struct job *job)
{
    size_t inlined = inlined_bytes(comm, job);
    ssq_status st = comm_check(comm, call_name((uint32_t)job->call));
    if (st != SSQ_OK)
        return st;
    st = wait_before(comm, job, inlined);
    if (st == SSQ_OK && job->call == CALL_COMPARE && job->n > 0)
        st = digests_run(comm, job);
    if (st == SSQ_OK)
        st = header_exchange(comm, job, inlined);
    if (st == SSQ_OK && job->call == CALL_COMPARE)
        st = compare_facts(comm, job);
    else if (st == SSQ_OK)
        st = inlined > 0          ? inlined_run(comm, job)
             : job->parts != NULL ? parts_run(comm, job)
                                  : pieces_run(comm, job);
    return st == SSQ_OK ? ssq_event_record(job->after, comm->side) : st;
}

/* Write this thread's last error, after the name of the collective. The error
 * has that name already if it comes from a rank that has given up, or from a
 * queue that has failed: then it is left out there. */
static void fail_text(const struct job *job, char *text, size_t bytes)
{
    char words[128], name[132];
    (void)snprintf(name, sizeof(name),
                   "%s: ", job_words(job, words, sizeof(words)));
    const char *error = ssq_last_error(), *again = strstr(error, name);
    size_t before = again == NULL ? 0 : (size_t)(again - error);
    const char *rest = again == NULL ? error : again + strlen(name);
    (void)snprintf(text, bytes, "%s%.*s%.800s", name, (int)before, error, rest);
}

/* Fail the gate of a job. The first failure also ends the group. */
static void thread_fail(ssq_comm *comm, struct job *job, ssq_status status)
{
    char text[ERROR_TEXT];
    if (comm_check(comm, "") == SSQ_OK) {
        fail_text(job, text, sizeof(text));
        comm_end(comm, status, text);
    }
    if (comm_pending(comm))
        job->n = 0; /* keep its buffers: messages may use their memory */
    ssq_status st = comm_check(comm, "");
    gate_fail(job->gate, st, ssq_last_error());
}

/* Drain a gate that is open or has failed. If that would compute, leave it to
 * the other thread. */
static void thread_drain(ssq_comm *comm, struct job *job)
{
    if (comm->device->backend->completed != NULL) {
        gate_drain(job->gate);
        job_free(job);
        return;
    }
    pthread_mutex_lock(&comm->lock);
    *comm->drains_end = job;
    comm->drains_end = &job->next;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
}

/* ---- threads ---- */

/* Remove and return the first job of a list. Waits while the list is empty and
 * *over is false. Returns NULL if it is empty and *over is true. */
static struct job *thread_take(ssq_comm *comm, struct job **list,
                               struct job ***end, const bool *over)
{
    pthread_mutex_lock(&comm->lock);
    while (*list == NULL && !*over)
        pthread_cond_wait(&comm->changed, &comm->lock);
    struct job *job = *list;
    if (job != NULL) {
        *list = job->next;
        if (*list == NULL)
            *end = list;
        job->next = NULL;
    }
    pthread_mutex_unlock(&comm->lock);
    return job;
}

void *comm_thread(void *arg)
{
    ssq_comm *comm = arg;
    struct fpenv env = fpenv_enter();
    for (struct job *job; (job = thread_take(comm, &comm->jobs, &comm->jobs_end,
                                             &comm->closing)) != NULL;) {
        if (job->call == CALL_GIVE_UP) {
            comm_end(comm, SSQ_ERR_COMM, job->facts);
            continue;
        }
        ssq_status st = thread_run(comm, job);
        if (st == SSQ_OK)
            gate_open(job->gate, job->after);
        else
            thread_fail(comm, job, st);
        thread_drain(comm, job);
    }
    pthread_mutex_lock(&comm->lock);
    comm->drained = true;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
    fpenv_leave(env);
    return NULL;
}

void *comm_runner(void *arg)
{
    ssq_comm *comm = arg;
    for (struct job *job;
         (job = thread_take(comm, &comm->drains, &comm->drains_end,
                            &comm->drained)) != NULL;) {
        gate_drain(job->gate);
        job_free(job);
    }
    return NULL;
}
