/* SPDX-License-Identifier: Apache-2.0 */
/* join_fail.c - announced passes: the calls that are refused, and the errors of
 * other ranks if one fails. */

#include <sesqui/trainer.h>

#include "tests/comm/comm.h"
#include "tests/comm/short.h"

#define MOST_ROWS ((int64_t)1 << 50)

struct join_fail_ranks {
    struct group g;
    ssq_trainer *trainer[3];
    ssq_tensor *x[3];
};

static void ranks_open(struct join_fail_ranks *r, unsigned n, double timeout)
{
    const int64_t shape[] = {4, 3};

    group_of(&r->g, n, "reference", timeout);
    for (unsigned i = 0; i < n; i++) {
        NEED(ssq_trainer_create(
            r->g.queue[i], SSQ_TRAINER(.comm = r->g.comm[i]), &r->trainer[i]));
        NEED(ssq_tensor_create(r->g.dev[i], SSQ_F32, 2, shape, &r->x[i]));
        NEED(ssq_fill(r->g.queue[i], SSQ_FILL(.x = r->x[i], .value = 1)));
    }
}

static void ranks_close(struct join_fail_ranks *r)
{
    for (unsigned i = 0; i < r->g.n; i++) {
        ssq_trainer_destroy(&r->trainer[i]);
        ssq_tensor_destroy(&r->x[i]);
    }
    group_close(&r->g);
}

/* A pass of all rows, with a batch norm of all ranks where norm. */
static ssq_status pass(struct join_fail_ranks *r, unsigned i, bool norm)
{
    ssq_tape *t = ssq_trainer_begin(r->trainer[i]);
    ssq_var h = ssq_nn_linear(t, "fc", ssq_var_input(t, r->x[i]), 2, NULL);

    if (norm)
        h = ssq_nn_batch_norm(t, "norm", h,
                              SSQ_BATCH_NORM(.comm = r->g.comm[i]));
    return ssq_trainer_step(r->trainer[i], ssq_mean_var(h, NULL));
}

/* Of all ranks, whose rows are those. */
static void next(struct join_fail_ranks *r, const int64_t *rows)
{
    int64_t all = 0;

    for (unsigned i = 0; i < r->g.n; i++)
        NEED(ssq_trainer_announce(r->trainer[i], rows[i]));
    for (unsigned i = 0; i < r->g.n; i++)
        NEED(ssq_trainer_next(r->trainer[i], &all));
}

/* ---- misuse ---- */

static void test_refused(void)
{
    struct join_fail_ranks r;
    ssq_trainer *alone = NULL;
    int64_t all = 7;

    ranks_open(&r, 3, 60);
    NEED(ssq_trainer_create(r.g.queue[0], NULL, &alone));
    ssq_trainer *const both[] = {r.trainer[0], alone};
    core_status(ssq_trainer_announce(NULL, 1), SSQ_ERR_INVALID,
                "trainer_announce: trainer is NULL", "NULL announces");
    core_status(ssq_trainer_next(NULL, &all), SSQ_ERR_INVALID,
                "trainer_next: trainer is NULL", "the next pass of NULL");
    for (int i = 0; i < 2; i++) {
        core_status(ssq_trainer_next(both[i], NULL), SSQ_ERR_INVALID,
                    "rows is NULL", "rows to NULL");
        core_status(ssq_trainer_next(both[i], &all), SSQ_ERR_INVALID,
                    "no pass is announced", "next at first");
        core_status(ssq_trainer_announce(both[i], -1), SSQ_ERR_INVALID,
                    "rows is -1|2^50", "-1 rows");
        core_status(ssq_trainer_announce(both[i], MOST_ROWS + 1),
                    SSQ_ERR_INVALID, "1125899906842625", "2^50 + 1 rows");
        core_status(ssq_trainer_next(both[i], &all), SSQ_ERR_INVALID,
                    "no pass is announced", "next of what was refused");
    }
    for (int64_t i = 0; i < 8; i++)
        NEED(ssq_trainer_announce(alone, i));
    core_status(ssq_trainer_announce(alone, 1), SSQ_ERR_INVALID,
                "8 passes are announced", "a ninth pass");
    tap_ok(all == 7, "what is refused writes nothing");
    for (int64_t i = 0; i < 8; i++)
        tap_ok(ssq_trainer_next(alone, &all) == SSQ_OK && all == i,
               "alone: %lld rows are all", (long long)i);
    const int64_t rows[] = {1, 2, 3};
    for (int i = 0; i < 8; i++)
        next(&r, rows); /* each has its tensor from now on */
    NEED(ssq_graph_begin(r.g.queue[0]));
    core_status(ssq_trainer_announce(r.trainer[0], 1), SSQ_ERR_INVALID,
                "being captured", "a pass in a capture");
    ssq_graph *graph = NULL;
    NEED(ssq_graph_end(r.g.queue[0], &graph));
    ssq_graph_destroy(&graph);
    ssq_trainer_destroy(&alone);
    ranks_close(&r);
}

/* Eight passes ahead, of numbers that no float32 has. */
static void test_ahead(void)
{
    const int64_t rows[8] = {
        MOST_ROWS, MOST_ROWS - 1, 16383, 16384, 123456789012345, 0, 1, 4095};
    struct join_fail_ranks r;
    bool exact = true;

    ranks_open(&r, 3, 60);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 3; i++)
            for (int p = 0; p < 8; p++)
                NEED(ssq_trainer_announce(r.trainer[i],
                                          p == 5 ? 0 : rows[(p + i) % 8]));
        core_status(ssq_trainer_announce(r.trainer[1], 1), SSQ_ERR_INVALID,
                    "8 passes are announced", "a ninth pass of a rank");
        for (int p = 0; p < 8; p++)
            for (unsigned i = 0; i < 3; i++) {
                int64_t all = -1, want = 0;
                for (int k = p; k < p + 3 && p != 5; k++)
                    want += rows[k % 8];
                NEED(ssq_trainer_next(r.trainer[i], &all));
                exact = exact && all == want;
            }
    }
    tap_ok(exact, "8 passes ahead: the rows of 3 ranks, to the last");
    ranks_close(&r);
}

static uint64_t submissions(ssq_queue *queue)
{
    ssq_queue_stats s = SSQ_QUEUE_STATS_INIT;

    NEED(ssq_queue_stats_get(queue, &s));
    return s.submissions;
}

static void test_apart(void)
{
    const int64_t rows[] = {4, 4};
    struct join_fail_ranks r;

    ranks_open(&r, 2, 60);
    NEED(ssq_queue_sync(r.g.queue[0]));
    uint64_t before = submissions(r.g.queue[0]);
    for (int i = 0; i < 20; i++)
        next(&r, rows);
    tap_ok(submissions(r.g.queue[0]) == before,
           "20 passes announced: nothing on the trainer's queue");
    ranks_close(&r);
}

/* ---- ranks that fail ---- */

/* Rank 1 does not come. */
static void test_late(void)
{
    struct join_fail_ranks r;
    int64_t all = 7;

    ranks_open(&r, 2, 0.3);
    NEED(ssq_trainer_announce(r.trainer[0], 4));
    core_status(ssq_trainer_next(r.trainer[0], &all), SSQ_ERR_COMM,
                "\"rows\"|rank 0 has waited 0.3|rank 1", "a rank is late");
    core_status(ssq_trainer_next(r.trainer[0], &all), SSQ_ERR_COMM, "rank 1",
                "and again");
    core_status(ssq_trainer_announce(r.trainer[0], 4), SSQ_ERR_COMM, "rank 1",
                "and what is announced then");
    tap_ok(all == 7, "no rows are told");
    ranks_close(&r);
}

/* Rank 1, the last that has batches, is gone while the others idle. */
static void test_left(void)
{
    const int64_t first[] = {4, 4, 4}, last[] = {0, 4, 0};
    struct join_fail_ranks r;
    int64_t all = 7;

    ranks_open(&r, 3, 60);
    next(&r, first);
    for (unsigned i = 0; i < 3; i++)
        NEED(pass(&r, i, false));
    next(&r, last);
    NEED(ssq_trainer_idle(r.trainer[0]));
    NEED(ssq_trainer_idle(r.trainer[2]));
    for (unsigned i = 0; i < 3; i += 2)
        NEED(ssq_trainer_announce(r.trainer[i], 0));
    ssq_trainer_destroy(&r.trainer[1]);
    ssq_comm_destroy(&r.g.comm[1]);
    for (unsigned i = 0; i < 3; i += 2) {
        core_status(ssq_trainer_next(r.trainer[i], &all), SSQ_ERR_COMM,
                    "rank 1", "rank 1 is gone while rank %u idles", i);
        core_status(ssq_queue_sync(r.g.queue[i]), SSQ_ERR_COMM, "rank 1",
                    "and its queue says so");
    }
    ranks_close(&r);
}

/* A pass that the others do not take: it says so, if it comes to hear of it. */
static void idle_astray(struct join_fail_ranks *r, unsigned i)
{
    ssq_status st = ssq_trainer_idle(r->trainer[i]);

    if (st != SSQ_ERR_COMM)
        NEED(st);
}

/* One announces where the other continues without. */
static void test_mismatch(void)
{
    const int64_t rows[] = {4, 4};
    struct join_fail_ranks r;
    int64_t all = 7;

    ranks_open(&r, 2, 60);
    next(&r, rows);
    for (unsigned i = 0; i < 2; i++)
        NEED(pass(&r, i, false));
    NEED(ssq_trainer_announce(r.trainer[0], 4));
    idle_astray(&r, 1);
    core_status(ssq_trainer_next(r.trainer[0], &all), SSQ_ERR_COMM,
                "\"rows\"|rank 1 all_reduce|\"gradients\"",
                "only rank 0 announces");
    core_status(ssq_queue_sync(r.g.queue[1]), SSQ_ERR_COMM,
                "\"rows\"|rank 1 all_reduce|\"gradients\"", "told to both");
    ranks_close(&r);
}

/* A rank that idles where another one's batch norm is of all ranks. */
static void test_norm(void)
{
    const int64_t first[] = {4, 4}, last[] = {4, 0};
    struct join_fail_ranks r;

    ranks_open(&r, 2, 60);
    next(&r, first);
    for (unsigned i = 0; i < 2; i++)
        NEED(pass(&r, i, true));
    next(&r, last);
    NEED(pass(&r, 0, true));
    idle_astray(&r, 1);
    for (unsigned i = 0; i < 2; i++)
        core_status(
            ssq_queue_sync(r.g.queue[i]), SSQ_ERR_COMM,
            "rank 0 calls all_gather|\"batch_norm eps|rank 1 all_reduce|"
            "\"gradients\"",
            "a batch norm of both ranks, of which one idles: rank %u", i);
    ranks_close(&r);
}

static int in_child(void *arg)
{
    struct join_fail_ranks *r = arg;
    int64_t all;
    bool refused = ssq_trainer_next(r->trainer[0], &all) == SSQ_ERR_DEVICE &&
                   core_has(ssq_last_error(), "forked") &&
                   ssq_trainer_announce(r->trainer[0], 1) == SSQ_ERR_DEVICE &&
                   core_has(ssq_last_error(), "forked");

    ssq_trainer_destroy(&r->trainer[0]);
    return refused ? 0 : 1;
}

static void test_fork(void)
{
    struct join_fail_ranks r;
    int64_t all = 0;

    ranks_open(&r, 2, 60);
    NEED(ssq_trainer_announce(r.trainer[0], 3));
    int status = tap_fork(in_child, &r, 30);
    tap_ok(tap_exited(status, 0), "a child of fork is refused: %s",
           tap_status(status));
    NEED(ssq_trainer_announce(r.trainer[1], 4));
    NEED(ssq_trainer_next(r.trainer[0], &all));
    tap_ok(all == 7, "its parent goes on: %lld rows", (long long)all);
    ranks_close(&r);
}

/* ---- host memory that is short ---- */

/* A call that was refused is repeated, unless it is again. */
static bool again(ssq_status st, int *times, int *refused)
{
    bool first = st == SSQ_ERR_NOMEM && ++*times == 1;

    *refused += first;
    return first;
}

/* One block is refused: to a call, which is repeated, or to a thread, which
 * ends the group. True if that is all. */
static bool short_of(long at, int *refused)
{
    struct join_fail_ranks r;
    bool good = true;
    int times = 0;

    ranks_open(&r, 2, 60);
    atomic_store(&left, at);
    for (int p = 0; p < 2 && good; p++) {
        int64_t all[2] = {0, 0};
        ssq_status st = SSQ_OK;
        for (unsigned i = 0; i < 2 && st == SSQ_OK; i++)
            while (again(st = ssq_trainer_announce(r.trainer[i], 5 + i), &times,
                         refused))
                continue;
        for (unsigned i = 0; i < 2 && st == SSQ_OK; i++)
            while (again(st = ssq_trainer_next(r.trainer[i], &all[i]), &times,
                         refused))
                continue;
        good = st == SSQ_OK ? all[0] == 11 && all[1] == 11
                            : ssq_comm_status(r.g.comm[0]) != SSQ_OK;
    }
    atomic_store(&left, 0); /* from here on there is enough */
    ranks_close(&r);
    return good;
}

static void test_short(void)
{
    const ssq_allocator counting = {sizeof(counting), count_alloc, count_free,
                                    NULL};
    int wrong = 0, refused = 0;

    NEED(ssq_allocator_set(&counting));
    for (long at = 1; at <= 120; at++)
        wrong += !short_of(at, &refused);
    NEED(ssq_allocator_set(NULL));
    tap_ok(wrong == 0 && refused >= 10,
           "one block of 120 is refused: %d calls are repeated, %d wrong",
           refused, wrong);
}

int main(void)
{
    test_refused();
    test_ahead();
    test_apart();
    test_late();
    test_left();
    test_mismatch();
    test_norm();
    test_fork();
    test_short();
    return tap_done(41);
}
