/* SPDX-License-Identifier: Apache-2.0 */
/* failure.c - ranks that call something else, do not come, or leave: every
 * other one hears of it, by name, and no one waits for ever. */

#include "tests/comm/comm.h"
#include "tests/comm/short.h"

#include <sesqui/dlpack.h>

/* The result of a sync of every rank but one: its status, and a text with all
 * |-separated parts, within some seconds. */
static void all_fail(struct group *g, unsigned but, const char *parts,
                     const char *name)
{
    double began = tap_seconds();

    for (unsigned r = 0; r < g->n; r++)
        if (r != but)
            core_status(ssq_queue_sync(g->queue[r]), SSQ_ERR_COMM, parts,
                        "%s: rank %u", name, r);
    tap_ok(tap_seconds() - began < 20, "%s: known after %.1f seconds", name,
           tap_seconds() - began);
}

/* ---- calls that differ ---- */

static void reduce_two(struct group *g, ssq_dtype dtype, int64_t size,
                       ssq_comm_reduction reduction, const char *tag)
{
    ssq_tensor *x = core_vector(g->dev[1], dtype, size);

    NEED(reduce_one(g, 1, x, reduction, tag));
    ssq_tensor_destroy(&x);
}

static void broadcast_one(struct group *g, unsigned r, const ssq_tensor *x,
                          unsigned root)
{
    NEED(ssq_comm_broadcast(
        g->queue[r], g->comm[r],
        SSQ_COMM_BROADCAST(.tensors = &x, .n = 1, .root = root)));
}

static void test_mismatch(const char *device)
{
    enum { OP, DTYPE, SIZE, REDUCTION, TAG, ROOT, KINDS };
    static const char *const parts[] = {
        [OP] = "rank 0 calls all_reduce sum|rank 1 barrier",
        [DTYPE] = "100 elements, f32|rank 1|100 elements, f16",
        [SIZE] = "100 elements|rank 1|101 elements",
        [REDUCTION] = "all_reduce sum|rank 1 all_reduce max",
        [TAG] = "\"grads\"|rank 1|\"norms\"",
        [ROOT] = "the root is 0 on rank 0, 1 on rank 1"};

    for (int kind = 0; kind < KINDS; kind++) {
        struct group g;
        group_of(&g, 2, device, 60);
        ssq_tensor *x = group_vector(&g, 0, 100, 1);
        ssq_tensor *y = group_vector(&g, 1, 100, 1);
        if (kind == ROOT) {
            broadcast_one(&g, 0, x, 0);
            broadcast_one(&g, 1, y, 1);
        } else {
            NEED(reduce_one(&g, 0, x, SSQ_COMM_SUM, "grads"));
        }
        if (kind == OP)
            NEED(ssq_comm_barrier(g.queue[1], g.comm[1], "grads"));
        else if (kind != ROOT)
            reduce_two(&g, kind == DTYPE ? SSQ_F16 : SSQ_F32,
                       kind == SIZE ? 101 : 100,
                       kind == REDUCTION ? SSQ_COMM_MAX : SSQ_COMM_SUM,
                       kind == TAG ? "norms" : "grads");
        all_fail(&g, MOST_RANKS, parts[kind], device);
        ssq_tensor_destroy(&x);
        ssq_tensor_destroy(&y);
        group_close(&g);
    }
}

/* ---- a rank that does not come, or leaves ---- */

static void test_timeout(const char *device, unsigned n)
{
    struct group g;
    ssq_tensor *x[MOST_RANKS];

    group_of(&g, n, device, 0.3);
    for (unsigned r = 0; r + 1 < n; r++) {
        x[r] = group_vector(&g, r, 5000, 1);
        NEED(reduce_one(&g, r, x[r], SSQ_COMM_SUM, "late"));
    }
    all_fail(&g, n - 1, n == 2 ? "\"late\"|0.3 seconds for rank 1" : "rank 2",
             device);
    /* the late one hears of it, too */
    NEED(ssq_queue_sync(g.queue[n - 1]));
    NEED(ssq_comm_barrier(g.queue[n - 1], g.comm[n - 1], NULL));
    core_status(ssq_queue_sync(g.queue[n - 1]), SSQ_ERR_COMM, "gave up",
                "%s: the rank that comes late", device);
    for (unsigned r = 0; r + 1 < n; r++)
        ssq_tensor_destroy(&x[r]);
    group_close(&g);
}

/* After a collective that has failed nothing runs. */
static void test_destroyed(const char *device)
{
    struct group g;

    group_of(&g, 3, device, 60);
    ssq_tensor *x = group_vector(&g, 0, 5000, 1);
    ssq_tensor *y = group_vector(&g, 1, 5000, 1);
    ssq_queue *other = core_queue(g.dev[0]);
    float value = 0;

    NEED(ssq_queue_sync(g.queue[0]));
    NEED(reduce_one(&g, 0, x, SSQ_COMM_SUM, "grads"));
    NEED(ssq_fill(g.queue[0], SSQ_FILL(.x = x, .value = 7)));
    NEED(reduce_one(&g, 1, y, SSQ_COMM_SUM, "grads"));
    ssq_comm_destroy(&g.comm[2]);
    all_fail(&g, 2, "rank 2 was destroyed", device);
    core_status(ssq_comm_status(g.comm[0]), SSQ_ERR_COMM, "rank 2|\"grads\"",
                "%s: the group has ended", device);
    core_status(ssq_comm_barrier(g.queue[2], g.comm[0], NULL), SSQ_ERR_INVALID,
                "rank 0 is on another device", "%s: another device's queue",
                device);
    core_status(ssq_comm_barrier(other, g.comm[0], NULL), SSQ_ERR_COMM,
                "rank 2", "%s: a later call", device);
    core_status(ssq_fill(g.queue[0], SSQ_FILL(.x = x, .value = 7)),
                SSQ_ERR_COMM, "rank 2", "%s: the queue is sticky", device);
    ssq_tensor *first = NULL;
    NEED(ssq_tensor_slice(x, 0, 0, 1, 1, &first));
    NEED(ssq_tensor_read(other, first, &value, sizeof(value), SSQ_F32));
    NEED(ssq_queue_sync(other));
    tap_ok(value == 1.0f, "%s: what was behind it did not run: x is %g", device,
           (double)value);
    ssq_tensor_destroy(&first);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_queue_destroy(&other);
    group_close(&g);
}

/* A rank leaves with its own collective in progress: its queue fails, too. */
static void test_left(void)
{
    struct group g;

    group_of(&g, 2, "reference", 60);
    ssq_tensor *x = group_vector(&g, 0, 10, 1);
    NEED(reduce_one(&g, 0, x, SSQ_COMM_SUM, NULL));
    ssq_comm_destroy(&g.comm[0]);
    core_status(ssq_queue_sync(g.queue[0]), SSQ_ERR_COMM, "rank 0",
                "the queue of a communicator that was destroyed");
    ssq_tensor_destroy(&x);
    group_close(&g);
}

/* Does the text have these words exactly once? */
static bool has_once(const char *text, const char *words)
{
    const char *first = strstr(text, words);
    return first != NULL && strstr(first + strlen(words), words) == NULL;
}

/* A collective fails because another group's, before it on the queue, did: the
 * calls have the same name. */
static void test_named_once(void)
{
    static const char name[] = "all_reduce sum number 1";
    struct group g;
    ssq_comm *second[2] = {NULL, NULL};
    ssq_comm_work *work = NULL;

    group_of(&g, 2, "reference", 60);
    NEED(ssq_comm_local_create(g.dev, 2, NULL, second));
    ssq_tensor *x = group_vector(&g, 0, 10, 1);
    ssq_tensor *y = group_vector(&g, 0, 10, 1);
    ssq_tensor *z = group_vector(&g, 1, 10, 1);
    const ssq_tensor *const late[] = {y}, *const other[] = {z};
    NEED(reduce_one(&g, 0, x, SSQ_COMM_SUM, NULL));
    NEED(ssq_comm_all_reduce(
        g.queue[0], second[0],
        SSQ_COMM_ALL_REDUCE(.tensors = late, .n = 1, .work = &work)));
    ssq_comm_destroy(&g.comm[1]);
    NEED(ssq_comm_all_reduce(g.queue[1], second[1],
                             SSQ_COMM_ALL_REDUCE(.tensors = other, .n = 1)));
    core_status(ssq_queue_sync(g.queue[1]), SSQ_ERR_COMM,
                "rank 0 gave up: rank 1 was destroyed",
                "the other rank of the second group");
    tap_ok(has_once(ssq_last_error(), name), "its text has the name once");
    core_status(ssq_comm_status(second[0]), SSQ_ERR_COMM,
                "rank 1 was destroyed", "the second group");
    tap_ok(has_once(ssq_last_error(), name), "its text has the name once");
    ssq_comm_work_destroy(&work);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_tensor_destroy(&z);
    ssq_comm_destroy(&second[0]);
    ssq_comm_destroy(&second[1]);
    group_close(&g);
}

/* ---- facts ---- */

static void compare(struct group *g, unsigned r, const ssq_comm_fact *facts,
                    size_t n)
{
    NEED(ssq_comm_compare(g->queue[r], g->comm[r], facts, n, "model"));
}

/* Facts that are equal for longer than a text can hold. */
static void test_compare_long(void)
{
    char a[1000], b[1000];
    struct group g;

    memset(a, 'q', sizeof(a));
    memset(b, 'q', sizeof(b));
    snprintf(a + 900, 20, "before 1 behind");
    snprintf(b + 900, 20, "before 2 behind");
    const ssq_comm_fact value[] = {{"notes", a}, {"notes", b}};
    const ssq_comm_fact name[] = {{a, "x"}, {b, "x"}};
    group_of(&g, 2, "reference", 60);
    for (unsigned r = 0; r < 2; r++)
        compare(&g, r, &value[r], 1);
    all_fail(&g, MOST_RANKS,
             "notes is \"...q|before 1 behind\" on rank 0, \"...q|before 2 ",
             "long values");
    group_close(&g);
    group_of(&g, 2, "reference", 60);
    for (unsigned r = 0; r < 2; r++)
        compare(&g, r, &name[r], 1);
    all_fail(&g, MOST_RANKS, "before 1 behind\" where rank 1|before 2 behind\"",
             "long names");
    group_close(&g);
}

static void test_compare(void)
{
    const ssq_comm_fact zero[] = {{"fc1.weight", "f16 [256,784]"},
                                  {"lr", "0.001"}};
    const ssq_comm_fact shape[] = {{"fc1.weight", "f16 [255,784]"},
                                   {"lr", "0.001"}};
    const ssq_comm_fact name[] = {{"fc1.weight", "f16 [256,784]"},
                                  {"rate", "0.001"}};
    const struct {
        const ssq_comm_fact *facts;
        size_t n;
        const char *parts;
    } cases[] = {
        {shape, 2, "fc1.weight is \"f16 [256,784]\" on rank 0|\"f16 [255"},
        {name, 2, "rank 0 has \"lr\" where rank 1 has \"rate\""},
        {zero, 1, "only rank 0 has \"lr\""},
        {NULL, 0, "only rank 0 has \"fc1.weight\""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct group g;
        group_of(&g, 3, "reference", 60);
        for (unsigned r = 0; r < 3; r++)
            compare(&g, r, zero, 2);
        for (unsigned r = 0; r < 3; r++)
            core_status(ssq_queue_sync(g.queue[r]), SSQ_OK, "",
                        "facts that are alike: rank %u", r);
        compare(&g, 0, zero, 2);
        compare(&g, 1, cases[i].facts, cases[i].n);
        compare(&g, 2, zero, 2);
        all_fail(&g, MOST_RANKS, cases[i].parts, "facts that differ");
        group_close(&g);
    }
}

/* ---- misuse ---- */

static void refuse_overlap(struct group *g, const ssq_tensor *x,
                           const ssq_tensor *y, const char *what)
{
    const ssq_tensor *both[] = {x, y};
    core_status(
        ssq_comm_all_reduce(g->queue[0], g->comm[0],
                            SSQ_COMM_ALL_REDUCE(.tensors = both, .n = 2)),
        SSQ_ERR_INVALID, "overlap", "%s", what);
}

static void twice_lent(struct group *g, const ssq_tensor *x)
{
    struct DLManagedTensorVersioned *dl = NULL;
    ssq_tensor *twin = NULL;
    NEED(ssq_tensor_to_dlpack(x, NULL, &dl));
    NEED(ssq_tensor_from_dlpack(g->queue[0], dl, NULL, &twin));
    refuse_overlap(g, x, twin, "two buffers over the same memory");
    ssq_tensor_destroy(&twin);
}

static void test_arguments(void)
{
    struct group g;
    ssq_comm_options options = SSQ_COMM_OPTIONS_INIT;
    ssq_comm *one = NULL;

    group_of(&g, 2, "reference", 60);
    ssq_tensor *x = group_vector(&g, 0, 10, 1), *part = NULL, *column = NULL;
    ssq_tensor *i32 = core_vector(g.dev[0], SSQ_I32, 10);
    NEED(ssq_tensor_slice(x, 0, 5, 10, 1, &part));
    NEED(ssq_tensor_slice(x, 0, 0, 10, 2, &column));

    core_status(reduce_one(&g, 0, NULL, SSQ_COMM_SUM, NULL), SSQ_ERR_INVALID,
                "tensor 0 is NULL", "a NULL tensor");
    core_status(reduce_one(&g, 0, column, SSQ_COMM_SUM, NULL), SSQ_ERR_INVALID,
                "contiguous", "every second element");
    core_status(reduce_one(&g, 0, i32, SSQ_COMM_SUM, NULL), SSQ_ERR_INVALID,
                "i32", "a sum of i32");
    core_status(reduce_one(&g, 0, x, (ssq_comm_reduction)3, NULL),
                SSQ_ERR_INVALID, "reduction is 3", "no reduction");
    core_status(reduce_one(&g, 0, x, SSQ_COMM_SUM,
                           "thirty-two characters are one more"),
                SSQ_ERR_INVALID, "at most 31", "a long tag");
    refuse_overlap(&g, x, part, "tensors that overlap");
    twice_lent(&g, x);
    core_status(ssq_comm_all_gather(g.queue[0], g.comm[0],
                                    SSQ_COMM_ALL_GATHER(.x = x, .y = i32)),
                SSQ_ERR_INVALID, "f32|i32", "gathered into another dtype");
    core_status(ssq_comm_all_gather(g.queue[0], g.comm[0],
                                    SSQ_COMM_ALL_GATHER(.x = x, .y = part)),
                SSQ_ERR_INVALID, "10 elements|2 ranks", "gathered into less");
    core_status(ssq_comm_barrier(g.queue[0], NULL, NULL), SSQ_ERR_INVALID,
                "comm is NULL", "no communicator");
    core_status(ssq_comm_barrier(g.queue[1], g.comm[0], NULL), SSQ_ERR_INVALID,
                "rank 0", "rank 1's queue");
    NEED(ssq_graph_begin(g.queue[0]));
    core_status(ssq_comm_barrier(g.queue[0], g.comm[0], NULL), SSQ_ERR_INVALID,
                "captured", "in a capture");
    ssq_graph *graph = NULL;
    NEED(ssq_graph_end(g.queue[0], &graph));
    ssq_graph_destroy(&graph);
    options.timeout = 0;
    core_status(ssq_comm_local_create(g.dev, 1, &options, &one),
                SSQ_ERR_INVALID, "timeout is 0", "no time");
    options = (ssq_comm_options)SSQ_COMM_OPTIONS_INIT;
    options.piece_bytes = 255;
    core_status(ssq_comm_local_create(g.dev, 1, &options, &one),
                SSQ_ERR_INVALID, "255", "small pieces");
    core_status(ssq_comm_local_create(g.dev, 0, NULL, &one), SSQ_ERR_INVALID,
                "n is 0", "no ranks");
    tap_ok(ssq_comm_rank(g.comm[1]) == 1 && ssq_comm_size(g.comm[1]) == 2 &&
               ssq_comm_device(g.comm[1]) == g.dev[1] &&
               strcmp(ssq_comm_transport(g.comm[1]), "local") == 0,
           "rank 1 of 2, on its device, local");
    ssq_tensor_destroy(&part);
    ssq_tensor_destroy(&column);
    ssq_tensor_destroy(&i32);
    ssq_tensor_destroy(&x);
    group_close(&g);
}

/* ---- a child of fork ---- */

/* Queues of the device: one waits for the collective, one has no work. */
static ssq_queue *behind, *idle;
static ssq_event *after; /* the collective */

static bool lost(ssq_status st)
{
    return st == SSQ_ERR_DEVICE && core_has(ssq_last_error(), "forked");
}

static int in_child(void *arg)
{
    struct group *g = arg;
    bool refused = lost(ssq_comm_barrier(g->queue[1], g->comm[1], NULL)) &&
                   lost(ssq_comm_status(g->comm[1]));
    bool ended =
        lost(ssq_queue_sync(g->queue[0])) && lost(ssq_queue_sync(behind)) &&
        lost(ssq_event_sync(after)) && lost(ssq_queue_status(g->queue[0])) &&
        lost(ssq_queue_status(behind)) && lost(ssq_event_query(after)) &&
        lost(ssq_queue_wait(idle, after)) && ssq_queue_sync(idle) == SSQ_OK;

    ssq_comm_destroy(&g->comm[0]);
    return refused && ended && g->comm[0] == NULL ? 0 : 1;
}

static void test_fork(void)
{
    struct group g;

    group_of(&g, 2, "reference", 60);
    ssq_tensor *x = group_vector(&g, 0, 10, 1);
    ssq_tensor *y = group_vector(&g, 1, 10, 2);
    behind = core_queue(g.dev[0]);
    idle = core_queue(g.dev[0]);
    NEED(ssq_event_create(g.dev[0], &after));
    NEED(reduce_one(&g, 0, x, SSQ_COMM_SUM, NULL));
    NEED(ssq_event_record(after, g.queue[0]));
    NEED(ssq_queue_wait(behind, after));
    int status = tap_fork(in_child, &g, 30);
    tap_ok(tap_exited(status, 0),
           "a child is refused, and waits for nothing: %s", tap_status(status));
    NEED(reduce_one(&g, 1, y, SSQ_COMM_SUM, NULL));
    tap_ok(first_of(&g, 0, x) == 3.0f && ssq_queue_sync(behind) == SSQ_OK,
           "its parent goes on");
    ssq_event_destroy(&after);
    ssq_queue_destroy(&behind);
    ssq_queue_destroy(&idle);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    group_close(&g);
}

/* ---- host memory that is short ---- */

static bool spared; /* none was, the last time */

/* Both ranks of one device reduce a vector; any call may be refused. How many
 * calls and syncs were, or were not right: 100 for a wrong result. */
static int reduce_short(void)
{
    ssq_device *dev = NULL;
    ssq_queue *q[2] = {NULL, NULL};
    ssq_comm *comm[2] = {NULL, NULL};
    ssq_tensor *x[2] = {NULL, NULL};
    int64_t n = 3000;
    int refused = 0;
    float value = 0;
    bool all = ssq_device_open("reference", NULL, &dev) == SSQ_OK;
    ssq_device *const devices[] = {dev, dev};
    ssq_comm_options options = SSQ_COMM_OPTIONS_INIT;

    options.timeout = 0.2;
    options.piece_bytes = 4096;
    for (int r = 0; r < 2 && all; r++)
        all = ssq_queue_create(dev, NULL, &q[r]) == SSQ_OK &&
              ssq_tensor_create(dev, SSQ_F32, 1, &n, &x[r]) == SSQ_OK &&
              ssq_fill(q[r], SSQ_FILL(.x = x[r], .value = 2)) == SSQ_OK;
    all = all && ssq_comm_local_create(devices, 2, &options, comm) == SSQ_OK;
    for (int r = 0; r < 2 && all; r++) {
        const ssq_tensor *const list[] = {x[r]};
        refused += ssq_comm_all_reduce(
                       q[r], comm[r],
                       SSQ_COMM_ALL_REDUCE(.tensors = list, .n = 1)) != SSQ_OK;
        refused +=
            ssq_add(q[r], SSQ_ADD(.a = x[r], .b = x[r], .y = x[r])) != SSQ_OK;
    }
    for (int r = 0; r < 2 && all; r++)
        refused += ssq_queue_sync(q[r]) != SSQ_OK;
    spared = atomic_exchange(&left, 0) > 0; /* from here on there is enough */
    ssq_tensor *first = NULL;
    if (all && refused == 0 &&
        (ssq_tensor_slice(x[1], 0, 0, 1, 1, &first) != SSQ_OK ||
         ssq_tensor_read(q[1], first, &value, sizeof(value), SSQ_F32) !=
             SSQ_OK ||
         ssq_queue_sync(q[1]) != SSQ_OK || value != 8.0f))
        refused = 100;
    ssq_tensor_destroy(&first);
    for (int r = 0; r < 2; r++) {
        ssq_comm_destroy(&comm[r]);
        ssq_tensor_destroy(&x[r]);
        ssq_queue_destroy(&q[r]);
    }
    ssq_device_close(&dev);
    return all ? refused : -1;
}

static void test_short(void)
{
    const ssq_allocator counting = {sizeof(counting), count_alloc, count_free,
                                    NULL};
    int wrong = 0, made = 0;
    long at = 1;

    NEED(ssq_allocator_set(&counting));
    for (spared = false; at < 1000 && !spared; at++) {
        atomic_store(&left, at);
        int refused = reduce_short();
        wrong += refused == 100;
        made += refused >= 0;
    }
    NEED(ssq_allocator_set(NULL));
    tap_ok(wrong == 0 && made > 10 && spared,
           "block 1 to %ld of the host's is refused: %d wrong results, and all "
           "is given back",
           at - 1, wrong);
}

int main(void)
{
    for (size_t i = 0; core_device(i) != NULL; i++) {
        test_timeout(core_device(i), i % 2 == 0 ? 2 : 3);
        test_destroyed(core_device(i));
    }
    test_mismatch("reference");
    test_mismatch("guard");
    test_left();
    test_named_once();
    test_compare();
    test_compare_long();
    test_arguments();
    test_fork();
    test_short();
    return tap_done(60);
}
