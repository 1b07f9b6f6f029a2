/* SPDX-License-Identifier: Apache-2.0 */
/* gate.c - what a queue holds after a collective that is in progress: commands,
 * graphs, events, and other queues that wait for those. */

#include "tests/comm/comm.h"

static struct group g;
static ssq_tensor *x, *y; /* of ranks 0 and 1 */

static void begin(const char *device)
{
    group_of(&g, 2, device, 60);
    x = group_vector(&g, 0, 100, 1);
    y = group_vector(&g, 1, 100, 2);
    NEED(ssq_queue_sync(g.queue[0]));
    NEED(reduce_one(&g, 0, x, SSQ_COMM_SUM, NULL));
}

/* Rank 1 comes: rank 0's gate opens. */
static void come(void)
{
    NEED(reduce_one(&g, 1, y, SSQ_COMM_SUM, NULL));
}

static void end(void)
{
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    group_close(&g);
}

static void twice(ssq_queue *q, const ssq_tensor *t)
{
    NEED(ssq_add(q, SSQ_ADD(.a = t, .b = t, .y = t)));
}

/* An event after the gate is not reached before the job has ended. */
static void test_event(const char *device)
{
    ssq_event *e = NULL;

    begin(device);
    NEED(ssq_event_create(g.dev[0], &e));
    twice(g.queue[0], x);
    NEED(ssq_event_record(e, g.queue[0]));
    core_status(ssq_event_query(e), SSQ_ERR_NOT_READY, "collective",
                "%s: an event behind a gate", device);
    core_status(ssq_queue_status(g.queue[0]), SSQ_ERR_NOT_READY, "collective",
                "%s: a queue at a gate", device);
    come();
    NEED(ssq_event_sync(e));
    core_status(ssq_event_query(e), SSQ_OK, "", "%s: it is open", device);
    tap_ok(first_of(&g, 0, x) == 6.0f, "%s: (1 + 2) * 2 is 6", device);
    ssq_event_destroy(&e);
    end();
}

/* A second queue waits for such an event, the first for one of the second's,
 * and the event is recorded again meanwhile. */
static void test_queues(const char *device)
{
    ssq_event *e = NULL, *f = NULL;

    begin(device);
    ssq_queue *two = core_queue(g.dev[0]);
    NEED(ssq_event_create(g.dev[0], &e));
    NEED(ssq_event_create(g.dev[0], &f));
    NEED(ssq_event_record(e, g.queue[0]));
    NEED(ssq_queue_wait(two, e));
    twice(two, x);
    NEED(ssq_event_record(f, two));
    NEED(ssq_queue_wait(g.queue[0], f));
    NEED(ssq_add(g.queue[0], SSQ_ADD(.a = x, .b = x, .y = x)));
    NEED(ssq_event_record(e, g.queue[0]));
    NEED(ssq_queue_wait(two, e));
    NEED(ssq_add(two, SSQ_ADD(.a = x, .b = x, .y = x)));
    core_status(ssq_event_record(e, two), SSQ_ERR_INVALID,
                "waits for a collective", "%s: a record on another queue",
                device);
    come();
    NEED(ssq_queue_sync(two));
    tap_ok(first_of(&g, 0, x) == 24.0f, "%s: two queues take turns: 3 * 8",
           device);
    ssq_queue_destroy(&two);
    ssq_event_destroy(&e);
    ssq_event_destroy(&f);
    end();
}

/* A graph is launched behind the gate; its tensors and the graph itself are let
 * go of before it runs. */
static void test_graph(const char *device)
{
    ssq_graph *graph = NULL;
    ssq_tensor *z = NULL;

    group_of(&g, 2, device, 60);
    x = group_vector(&g, 0, 100, 1);
    y = group_vector(&g, 1, 100, 2);
    z = group_vector(&g, 0, 100, 0);
    NEED(ssq_graph_begin(g.queue[0]));
    twice(g.queue[0], x);
    NEED(ssq_add(g.queue[0], SSQ_ADD(.a = x, .b = z, .y = z)));
    NEED(ssq_graph_end(g.queue[0], &graph));
    NEED(reduce_one(&g, 0, x, SSQ_COMM_SUM, NULL));
    NEED(ssq_graph_launch(g.queue[0], graph));
    NEED(ssq_graph_launch(g.queue[0], graph));
    ssq_graph_destroy(&graph);
    ssq_tensor_destroy(&x);
    come();
    tap_ok(first_of(&g, 0, z) == 18.0f, "%s: a graph twice: 6 + 12", device);
    ssq_tensor_destroy(&z);
    end();
}

/* The queue is destroyed with all of it. */
static void test_destroy(const char *device)
{
    float value = 0;

    begin(device);
    twice(g.queue[0], x);
    come();
    ssq_queue_destroy(&g.queue[0]);
    g.queue[0] = core_queue(g.dev[0]);
    value = first_of(&g, 0, x);
    tap_ok(value == 6.0f, "%s: a queue is destroyed behind a gate: %g", device,
           (double)value);
    end();
}

/* Two groups over the same queue: one gate after the other, opened in either
 * order. */
static void test_two_groups(const char *device)
{
    ssq_comm *comm[2];

    group_of(&g, 2, device, 60);
    NEED(ssq_comm_local_create(g.dev, 2, NULL, comm));
    x = group_vector(&g, 0, 100, 1);
    y = group_vector(&g, 1, 100, 2);
    NEED(reduce_one(&g, 0, x, SSQ_COMM_SUM, NULL));
    NEED(ssq_comm_barrier(g.queue[0], comm[0], "other"));
    twice(g.queue[0], x);
    ssq_queue *late = core_queue(g.dev[1]);
    NEED(ssq_comm_barrier(late, comm[1], "other"));
    come();
    tap_ok(first_of(&g, 0, x) == 6.0f, "%s: two gates, of two groups", device);
    NEED(ssq_queue_sync(late));
    ssq_queue_destroy(&late);
    ssq_comm_destroy(&comm[0]);
    ssq_comm_destroy(&comm[1]);
    end();
}

/* A held wait keeps its record: a new record on another queue is refused. */
static void test_wait(const char *device)
{
    ssq_event *e = NULL;

    begin(device);
    ssq_queue *two = core_queue(g.dev[0]), *three = core_queue(g.dev[0]);
    NEED(ssq_event_create(g.dev[0], &e));
    twice(two, x);
    NEED(ssq_event_record(e, two));
    NEED(ssq_queue_wait(g.queue[0], e));
    core_status(ssq_event_record(e, three), SSQ_ERR_INVALID,
                "event_record: |behind a collective",
                "%s: a record under a held wait", device);
    NEED(ssq_event_record(e, two));
    come();
    NEED(ssq_queue_sync(g.queue[0]));
    core_status(ssq_event_record(e, three), SSQ_OK, NULL,
                "%s: a record after it", device);
    ssq_event_destroy(&e);
    ssq_queue_destroy(&two);
    ssq_queue_destroy(&three);
    end();
}

int main(void)
{
    for (size_t i = 0; core_device(i) != NULL; i++) {
        test_event(core_device(i));
        test_queues(core_device(i));
        test_graph(core_device(i));
        test_destroy(core_device(i));
        test_two_groups(core_device(i));
        test_wait(core_device(i));
    }
    return tap_done(20);
}
