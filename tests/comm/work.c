/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - collectives that are begun at one place of a queue and waited for at
 * another: work in between continues, and every misuse is refused. */

#include "tests/comm/comm.h"

static struct group g;
static ssq_tensor *x, *y; /* of ranks 0 and 1 */

static void begin(const char *device)
{
    group_of(&g, 2, device, 60);
    x = group_vector(&g, 0, 5000, 1);
    y = group_vector(&g, 1, 5000, 2);
}

static void end(void)
{
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    group_close(&g);
}

static ssq_status start(unsigned r, const ssq_tensor *t, ssq_comm_work **work)
{
    return ssq_comm_all_reduce(
        g.queue[r], g.comm[r],
        SSQ_COMM_ALL_REDUCE(.tensors = &t, .n = 1, .work = work));
}

static void come(void)
{
    NEED(reduce_one(&g, 1, y, SSQ_COMM_SUM, NULL));
}

static void twice(ssq_queue *q, const ssq_tensor *t)
{
    NEED(ssq_add(q, SSQ_ADD(.a = t, .b = t, .y = t)));
}

/* ---- order ---- */

/* Work enqueued after the begin continues without rank 1, work after
 * the wait does not. */
static void test_between(const char *device)
{
    ssq_comm_work *work = NULL;

    begin(device);
    ssq_tensor *z = group_vector(&g, 0, 100, 5);
    NEED(start(0, x, &work));
    twice(g.queue[0], z);
    tap_ok(work != NULL && first_of(&g, 0, z) == 10.0f,
           "%s: what is between goes on alone", device);
    NEED(ssq_comm_wait(g.queue[0], &work));
    twice(g.queue[0], x);
    core_status(ssq_queue_status(g.queue[0]), SSQ_ERR_NOT_READY, "collective",
                "%s: what is behind the wait is held", device);
    come();
    tap_ok(work == NULL && first_of(&g, 0, x) == 6.0f,
           "%s: and sees the sum: (1 + 2) * 2 is 6", device);
    ssq_tensor_destroy(&z);
    end();
}

/* The wait comes when it has been done, and some time after that. */
static void test_late(const char *device)
{
    ssq_comm_work *work = NULL;

    begin(device);
    NEED(start(0, x, &work));
    come();
    NEED(ssq_queue_sync(g.queue[1]));
    NEED(ssq_comm_barrier(g.queue[1], g.comm[1], NULL));
    NEED(ssq_comm_barrier(g.queue[0], g.comm[0], NULL));
    NEED(ssq_queue_sync(g.queue[0]));
    NEED(ssq_comm_wait(g.queue[0], &work));
    twice(g.queue[0], x);
    tap_ok(first_of(&g, 0, x) == 6.0f, "%s: a wait for what has been", device);
    end();
}

/* Many in progress, behind another one's gate, and waited for from the last to
 * the first; the queue is destroyed with the first, which no one waits for. */
static void test_many(const char *device)
{
    enum { N = 6 };
    ssq_comm_work *work[N] = {NULL};
    ssq_tensor *t[2][N];
    float sum = 0;

    begin(device);
    NEED(reduce_one(&g, 0, x, SSQ_COMM_SUM, NULL));
    for (int i = 0; i < N; i++)
        for (unsigned r = 0; r < 2; r++)
            t[r][i] = group_vector(&g, r, 2000 * i, i + r);
    for (int i = 0; i < N; i++) {
        NEED(start(0, t[0][i], &work[i]));
        twice(g.queue[0], x);
    }
    for (int i = N - 1; i > 0; i--) {
        NEED(ssq_comm_wait(g.queue[0], &work[i]));
        twice(g.queue[0], t[0][i]);
    }
    come();
    for (int i = 0; i < N; i++)
        NEED(start(1, t[1][i], NULL));
    for (int i = 1; i < N; i++)
        sum += first_of(&g, 0, t[0][i]);
    tap_ok(sum == 2 * (1 + 2 + 3 + 4 + 5) * 2 + 2 * 5 &&
               first_of(&g, 0, x) == 3.0f * (1 << N),
           "%s: %d under way: %g", device, N, (double)sum);
    ssq_comm_work_destroy(&work[0]);
    for (int i = 0; i < N; i++)
        for (unsigned r = 0; r < 2; r++)
            ssq_tensor_destroy(&t[r][i]);
    end();
}

/* All collectives, on three ranks: nothing is lost between begin and wait. */
static void test_kinds(const char *device)
{
    ssq_tensor *a[3], *all[3], *part[3];
    ssq_comm_work *work[3][4];
    bool right = true;

    group_of(&g, 3, device, 60);
    for (unsigned r = 0; r < 3; r++) {
        ssq_queue *q = g.queue[r];
        ssq_comm *c = g.comm[r];
        a[r] = group_vector(&g, r, 7, r + 1);
        all[r] = group_vector(&g, r, 3000, r + 1);
        part[r] = group_vector(&g, r, 1000, 0);
        NEED(ssq_comm_broadcast(
            q, c,
            SSQ_COMM_BROADCAST(.tensors = (const ssq_tensor *const *)&a[r],
                               .n = 1, .root = 2, .work = &work[r][0])));
        NEED(ssq_comm_reduce_scatter(
            q, c,
            SSQ_COMM_REDUCE_SCATTER(.x = all[r], .y = part[r],
                                    .work = &work[r][1])));
        NEED(ssq_comm_wait(q, &work[r][1]));
        twice(q, part[r]);
        NEED(ssq_comm_all_gather(q, c,
                                 SSQ_COMM_ALL_GATHER(.x = part[r], .y = all[r],
                                                     .work = &work[r][2])));
        NEED(start(r, a[r], &work[r][3]));
        for (int i = 3; i >= 0; i--)
            if (work[r][i] != NULL)
                NEED(ssq_comm_wait(q, &work[r][i]));
    }
    for (unsigned r = 0; r < 3; r++) {
        right = right && first_of(&g, r, a[r]) == 9.0f &&
                first_of(&g, r, all[r]) == 12.0f;
        ssq_tensor_destroy(&a[r]);
        ssq_tensor_destroy(&all[r]);
        ssq_tensor_destroy(&part[r]);
    }
    tap_ok(right, "%s: all collectives, begun and waited for", device);
    group_close(&g);
}

/* ---- misuse ---- */

static void test_misuse(const char *device)
{
    ssq_comm_work *work = NULL, *none = NULL;
    ssq_graph *graph = NULL;

    begin(device);
    ssq_tensor *z = group_vector(&g, 0, 5000, 7);
    ssq_queue *other = core_queue(g.dev[0]);
    core_status(ssq_comm_wait(g.queue[0], NULL), SSQ_ERR_INVALID, "work is",
                "no place of a work");
    core_status(ssq_comm_wait(g.queue[0], &none), SSQ_ERR_INVALID, "*work is",
                "no work");
    NEED(start(0, x, &work));
    core_status(ssq_comm_wait(NULL, &work), SSQ_ERR_INVALID, "queue is NULL",
                "no queue");
    core_status(ssq_comm_wait(other, &work), SSQ_ERR_INVALID, "another queue",
                "another queue of the device");
    NEED(ssq_graph_begin(g.queue[0]));
    core_status(ssq_comm_wait(g.queue[0], &work), SSQ_ERR_INVALID, "captured",
                "in a capture");
    core_status(start(0, x, &none), SSQ_ERR_INVALID, "captured",
                "a begin in a capture");
    NEED(ssq_graph_end(g.queue[0], &graph));
    NEED(ssq_comm_wait(g.queue[0], &work));
    core_status(ssq_comm_wait(g.queue[0], &work), SSQ_ERR_INVALID, "*work is",
                "waited for twice");
    NEED(start(0, z, &work)); /* no one may look at z from here on */
    ssq_comm_work_destroy(&work);
    core_status(ssq_comm_wait(g.queue[0], &work), SSQ_ERR_INVALID, "*work is",
                "waited for when it is destroyed");
    ssq_comm_work_destroy(&work);
    ssq_comm_work_destroy(NULL);
    tap_ok(none == NULL, "a refused begin leaves the handle as it was");
    come();
    come();
    tap_ok(first_of(&g, 0, x) == 3.0f, "the first was waited for");
    ssq_tensor_destroy(&z);
    ssq_graph_destroy(&graph);
    ssq_queue_destroy(&other);
    end();
}

/* ---- failures ---- */

/* A queue fails where it waits, and not where no one does. */
static void test_failure(const char *device)
{
    ssq_comm_work *work[2] = {NULL};

    begin(device);
    NEED(start(0, x, &work[0]));
    NEED(start(0, x, &work[1]));
    ssq_comm_work_destroy(&work[1]);
    ssq_comm_destroy(&g.comm[1]);
    while (ssq_comm_status(g.comm[0]) == SSQ_OK)
        usleep(1000);
    core_status(ssq_queue_sync(g.queue[0]), SSQ_OK, "",
                "%s: a failure that nobody waits for", device);
    NEED(ssq_comm_wait(g.queue[0], &work[0]));
    core_status(ssq_queue_sync(g.queue[0]), SSQ_ERR_COMM,
                "rank 1 was destroyed", "%s: somebody waits", device);
    end();
}

/* The communicator goes before the wait, the queue before the handle. */
static void test_destroyed(const char *device)
{
    ssq_comm_work *work[2] = {NULL};

    begin(device);
    NEED(start(0, x, &work[0]));
    NEED(start(0, x, &work[1]));
    ssq_comm_destroy(&g.comm[0]);
    NEED(ssq_comm_wait(g.queue[0], &work[0]));
    core_status(ssq_queue_sync(g.queue[0]), SSQ_ERR_COMM,
                "rank 0 was destroyed", "%s: its communicator was destroyed",
                device);
    ssq_queue_destroy(&g.queue[0]);
    ssq_comm_work_destroy(&work[1]);
    end();
}

int main(void)
{
    for (size_t i = 0; core_device(i) != NULL; i++) {
        test_between(core_device(i));
        test_late(core_device(i));
        test_many(core_device(i));
        test_kinds(core_device(i));
        test_failure(core_device(i));
        test_destroyed(core_device(i));
    }
    test_misuse("reference");
    return tap_done(30);
}
