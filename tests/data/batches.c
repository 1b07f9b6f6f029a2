/* SPDX-License-Identifier: Apache-2.0 */
/* batches.c - every row of every epoch once and in the same order each time, on
 * every device; positions, dtypes, scales, a queue at a collective, a child of
 * fork, and misuse. */
#include <sesqui/data.h>

#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/comm/comm.h"

enum { ROWS = 23, WIDTH = 5 };

static ssq_array *images, *labels;

/* Row i has the values i, i + 1/8, ... and the label 1000 i. */
static void make_arrays(void)
{
    float x[ROWS][WIDTH];
    int64_t y[ROWS];
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < WIDTH; k++)
            x[i][k] = (float)i + (float)k / 8;
        y[i] = 1000 * i;
    }
    NEED(ssq_array_create(SSQ_F32, 2, (int64_t[]){ROWS, WIDTH}, x, &images));
    NEED(ssq_array_create(SSQ_I64, 1, (int64_t[]){ROWS}, y, &labels));
}

/* The rows of the next batch, by their labels: -1 ends an epoch. */
static int take(ssq_queue *q, ssq_batches *b, int *rows)
{
    const ssq_tensor *t[2];
    float x[ROWS][WIDTH];
    int32_t y[ROWS];
    ssq_status st = ssq_batches_next(b, t);
    if (st == SSQ_ERR_NOT_FOUND)
        return -1;
    core_need(st, "batches_next");
    int n = (int)ssq_tensor_size(t[0], 0);
    NEED(ssq_tensor_read(q, t[0], x, sizeof(x[0]) * (size_t)n, SSQ_F32));
    NEED(ssq_tensor_read(q, t[1], y, sizeof(y[0]) * (size_t)n, SSQ_I32));
    NEED(ssq_queue_sync(q));
    for (int i = 0; i < n; i++) {
        rows[i] = y[i] / 1000;
        for (int k = 0; k < WIDTH; k++)
            if (x[i][k] != (float)rows[i] + (float)k / 8)
                rows[i] = -1000;
    }
    return n;
}

/* Read an epoch. True: every row once, in batches of this size. */
static bool epoch(ssq_queue *q, ssq_batches *b, int batch, int used, int *order)
{
    int n = 0, seen[ROWS] = {0}, rows[ROWS], got;
    bool good = true;
    while ((got = take(q, b, rows)) >= 0) {
        good = good && got == (used - n < batch ? used - n : batch);
        for (int i = 0; i < got && n < used; i++) {
            good =
                good && rows[i] >= 0 && rows[i] < ROWS && seen[rows[i]]++ == 0;
            order[n++] = rows[i];
        }
    }
    return good && n == used;
}

static ssq_batches *make(ssq_queue *q, int batch, bool shuffle, uint64_t seed,
                         bool drop, unsigned prefetch)
{
    ssq_batches *b = NULL;
    NEED(ssq_batches_create(q,
                            SSQ_BATCHES(.arrays = {images, labels}, .n = 2,
                                        .batch = batch, .shuffle = shuffle,
                                        .seed = seed, .drop_last = drop,
                                        .prefetch = prefetch),
                            &b));
    return b;
}

static void test_epochs(ssq_queue *q, const char *name)
{
    static const int batches[] = {1, 4, 22, 23, 24, 100};
    int first[ROWS], second[ROWS], again[ROWS];
    bool good = true;
    for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++)
        for (unsigned prefetch = 1; prefetch < 9; prefetch += 7) {
            ssq_batches *b = make(q, batches[i], false, 0, false, prefetch);
            good = good &&
                   ssq_batches_count(b) == (ROWS + batches[i] - 1) / batches[i];
            good = good && epoch(q, b, batches[i], ROWS, first) &&
                   epoch(q, b, batches[i], ROWS, second);
            for (int k = 0; k < ROWS; k++)
                good = good && first[k] == k && second[k] == k;
            ssq_batches_destroy(&b);
        }
    tap_ok(good, "%s: all rows in their order, in batches of 1 to 100", name);
    ssq_batches *b = make(q, 4, true, 7, false, 2);
    good = epoch(q, b, 4, ROWS, first) && epoch(q, b, 4, ROWS, second);
    tap_ok(good && memcmp(first, second, sizeof(first)) != 0,
           "%s: two epochs in two orders", name);
    ssq_batches_destroy(&b);
    b = make(q, 9, true, 7, false, 5);
    good = epoch(q, b, 9, ROWS, again);
    tap_ok(good && memcmp(first, again, sizeof(first)) == 0,
           "%s: the order depends on neither batch nor prefetch", name);
    ssq_batches_destroy(&b);
    b = make(q, 9, true, 8, false, 5);
    good = epoch(q, b, 9, ROWS, again);
    tap_ok(good && memcmp(first, again, sizeof(first)) != 0,
           "%s: another seed, another order", name);
    ssq_batches_destroy(&b);
    b = make(q, 4, true, 7, true, 3);
    good = ssq_batches_count(b) == 5 && epoch(q, b, 4, 20, again) &&
           memcmp(first, again, 20 * sizeof(int)) == 0 &&
           epoch(q, b, 4, 20, again);
    tap_ok(good, "%s: drop_last", name);
    ssq_batches_destroy(&b);
}

/* The order is the same on every machine. */
static void test_golden(ssq_queue *q)
{
    static const int want[ROWS] = {13, 4, 10, 17, 22, 9, 8, 18, 7,  1,  0, 5,
                                   20, 2, 19, 21, 15, 3, 6, 12, 11, 14, 16};
    int got[ROWS];
    ssq_batches *b = make(q, 4, true, 7, false, 2);
    bool good = epoch(q, b, 4, ROWS, got);
    ssq_batches_destroy(&b);
    if (!tap_ok(good && memcmp(got, want, sizeof(got)) == 0,
                "the order of seed 7"))
        for (int i = 0; i < ROWS; i++)
            tap_diag("%d", got[i]);
}

static void test_positions(ssq_queue *q, const char *name)
{
    int rows[ROWS], all[2 * ROWS], n = 0, got;
    ssq_batches_position p[40], now = SSQ_BATCHES_POSITION_INIT;
    int at[40], places = 0;
    ssq_batches *b = make(q, 5, true, 3, false, 4);
    bool good = true;
    for (int e = 0; e < 2;) {
        p[places] = (ssq_batches_position)SSQ_BATCHES_POSITION_INIT;
        NEED(ssq_batches_position_get(b, &p[places]));
        at[places++] = n;
        got = take(q, b, rows);
        e += got < 0;
        for (int i = 0; i < got; i++)
            all[n++] = rows[i];
    }
    for (int i = places - 1; i >= 0; i--) {
        NEED(ssq_batches_position_set(b, &p[i]));
        NEED(ssq_batches_position_get(b, &now));
        good = good && now.epoch == p[i].epoch && now.row == p[i].row;
        got = take(q, b, rows);
        good = good && (p[i].row == ROWS ? got == -1 : got > 0);
        if (got > 0)
            good = good &&
                   memcmp(rows, all + at[i], (size_t)got * sizeof(int)) == 0;
    }
    tap_ok(good && n == 2 * ROWS, "%s: %d positions, backwards", name, places);
    now.epoch = UINT64_MAX;
    now.row = 0;
    NEED(ssq_batches_position_set(b, &now));
    tap_ok(take(q, b, rows) == 5, "%s: the last epoch that can be", name);
    now.row = ROWS + 1;
    core_status(ssq_batches_position_set(b, &now), SSQ_ERR_INVALID, "24|23",
                "%s: a row after the end", name);
    now.row = 3;
    core_status(ssq_batches_position_set(b, &now), SSQ_ERR_INVALID,
                "row is 3|5", "%s: within a batch", name);
    now.row = 0;
    NEED(ssq_graph_begin(q));
    core_status(ssq_batches_position_set(b, &now), SSQ_ERR_INVALID, "captured",
                "%s: in a capture", name);
    ssq_graph *g = NULL;
    NEED(ssq_graph_end(q, &g));
    ssq_graph_destroy(&g);
    now.row = -1;
    core_status(ssq_batches_position_set(b, &now), SSQ_ERR_INVALID, "-1",
                "%s: row -1", name);
    now.struct_size = 3;
    core_status(ssq_batches_position_set(b, &now), SSQ_ERR_INVALID,
                "struct_size", "%s: set with struct_size 3", name);
    core_status(ssq_batches_position_get(b, &now), SSQ_ERR_INVALID,
                "struct_size", "%s: get with struct_size 3", name);
    ssq_batches_destroy(&b);
}

static void test_dtypes(ssq_queue *q, const char *name)
{
    const uint8_t bytes[2][2] = {{0, 51}, {255, 102}};
    const bool flags[2] = {true, false};
    ssq_array *u8 = NULL, *b8 = NULL;
    ssq_batches *b = NULL;
    const ssq_tensor *t[3];
    float x[2][2];
    uint8_t raw[2][2], f[2];
    NEED(ssq_array_create(SSQ_U8, 2, (int64_t[]){2, 2}, bytes, &u8));
    NEED(ssq_array_create(SSQ_BOOL, 1, (int64_t[]){2}, flags, &b8));
    NEED(ssq_batches_create(
        q,
        SSQ_BATCHES(.arrays = {u8, u8, b8}, .n = 3, .dtypes = {SSQ_F16},
                    .scale = {1 / 255.0}, .shift = {-0.5}, .batch = 2),
        &b));
    ssq_array_destroy(&u8);
    ssq_array_destroy(&b8);
    NEED(ssq_batches_next(b, t));
    tap_ok(ssq_tensor_dtype(t[0]) == SSQ_F16 &&
               ssq_tensor_dtype(t[1]) == SSQ_U8 &&
               ssq_tensor_dtype(t[2]) == SSQ_U8,
           "%s: dtypes", name);
    NEED(ssq_tensor_read(q, t[0], x, sizeof(x), SSQ_F32));
    NEED(ssq_tensor_read(q, t[1], raw, sizeof(raw), SSQ_U8));
    NEED(ssq_tensor_read(q, t[2], f, sizeof(f), SSQ_U8));
    NEED(ssq_queue_sync(q));
    tap_ok(x[0][0] == -0.5f && x[1][0] == 0.5f && x[0][1] > -0.3001f &&
               x[0][1] < -0.2999f,
           "%s: u8 as f16, scaled and shifted", name);
    tap_ok(memcmp(raw, bytes, sizeof(raw)) == 0 && f[0] == 1 && f[1] == 0,
           "%s: bytes and flags as they are", name);
    ssq_batches_destroy(&b);
}

/* A capture does not free what copies before it still read. */
static void test_capture(ssq_queue *q, const char *name)
{
    const ssq_tensor *t[2];
    float x[5][WIDTH];
    ssq_batches *b = make(q, 5, false, 0, false, 2);
    ssq_tensor *kept = NULL;
    ssq_graph *g = NULL;
    NEED(ssq_tensor_create(ssq_queue_device(q), SSQ_F32, 2,
                           (int64_t[]){5, WIDTH}, &kept));
    NEED(ssq_batches_next(b, t));
    NEED(ssq_copy(q, SSQ_COPY(.x = t[0], .y = kept)));
    NEED(ssq_graph_begin(q));
    ssq_batches_destroy(&b);
    NEED(ssq_graph_end(q, &g));
    ssq_graph_destroy(&g);
    NEED(ssq_tensor_read(q, kept, x, sizeof(x), SSQ_F32));
    NEED(ssq_queue_sync(q));
    tap_ok(x[0][0] == 0.0f && x[4][1] == 4.125f,
           "%s: destroyed in a capture, the copy is whole", name);
    ssq_tensor_destroy(&kept);
}

/* The caller's rounding does not matter. */
static void test_modes(ssq_queue *q, const char *name)
{
    float x[64], got[2][64];
    ssq_array *a = NULL;
    for (int i = 0; i < 64; i++)
        x[i] = (float)i / 3;
    NEED(ssq_array_create(SSQ_F32, 1, (int64_t[]){64}, x, &a));
    for (int i = 0; i < 2; i++) {
        ssq_batches *b = NULL;
        const ssq_tensor *t[1];
        fesetround(i == 0 ? FE_TONEAREST : FE_UPWARD);
        ssq_status st =
            ssq_batches_create(q,
                               SSQ_BATCHES(.arrays = {a}, .scale = {0.1},
                                           .shift = {1}, .batch = 64),
                               &b);
        if (st == SSQ_OK)
            st = ssq_batches_next(b, t);
        fesetround(FE_TONEAREST);
        core_need(st, "batches");
        NEED(ssq_tensor_read(q, t[0], got[i], sizeof(got[i]), SSQ_F32));
        NEED(ssq_queue_sync(q));
        ssq_batches_destroy(&b);
    }
    tap_ok(memcmp(got[0], got[1], sizeof(got[0])) == 0,
           "%s: the same bits with the caller's rounding upward", name);
    ssq_array_destroy(&a);
}

/* Tensors stay the same, and a training that does not wait sees each batch. */
static void test_ahead(ssq_queue *q, const char *name)
{
    const ssq_tensor *t[2], *first = NULL;
    ssq_batches *b = make(q, 1, false, 0, false, 3);
    ssq_tensor *sum = core_vector(ssq_queue_device(q), SSQ_F32, 1);
    ssq_tensor *part = NULL;
    float got;
    bool same = true;
    NEED(ssq_fill(q, SSQ_FILL(.x = sum)));
    for (int i = 0; i < 3 * ROWS; i++) {
        ssq_status st = ssq_batches_next(b, t);
        if (st == SSQ_ERR_NOT_FOUND)
            continue;
        core_need(st, "batches_next");
        first = first == NULL ? t[0] : first;
        same = same && t[0] == first;
        NEED(ssq_tensor_slice(t[0], 1, 0, 1, 1, &part));
        ssq_tensor *flat = NULL;
        NEED(ssq_tensor_reshape(part, 1, (int64_t[]){1}, &flat));
        NEED(ssq_add(q, SSQ_ADD(.a = sum, .b = flat, .y = sum)));
        ssq_tensor_destroy(&flat);
        ssq_tensor_destroy(&part);
    }
    ssq_batches_destroy(&b); /* with copies that have not run */
    NEED(ssq_tensor_read(q, sum, &got, sizeof(got), SSQ_F32));
    NEED(ssq_queue_sync(q));
    /* 3 epochs less the last batch of the third: its end takes two calls */
    tap_ok(same &&
               got == 3.0f * ROWS * (ROWS - 1) / 2 - (ROWS - 1) - (ROWS - 2),
           "%s: no batch is overwritten before its work: sum %g", name,
           (double)got);
    ssq_tensor_destroy(&sum);
}

/* ---- a queue at a collective ---- */

static struct group pair;
static ssq_tensor *reduced[2]; /* of its ranks */
static atomic_bool joined;

static void nap(long microseconds)
{
    nanosleep(&(struct timespec){0, 1000 * microseconds}, NULL);
}

/* Rank 1 comes late. */
static void *join(void *unused)
{
    (void)unused;
    nap(3000);
    atomic_store(&joined, true);
    NEED(reduce_one(&pair, 1, reduced[1], SSQ_COMM_SUM, NULL));
    return NULL;
}

/* Copies that a collective holds read their rows later. Until then the thread
 * overwrites none, and a destroy waits, also during a capture. */
static void test_held(const char *name, bool capture)
{
    const ssq_tensor *t[2];
    float x[2][WIDTH];
    pthread_t thread;
    group_of(&pair, 2, name, 60);
    ssq_queue *q = pair.queue[0];
    ssq_batches *b = make(q, 1, false, 0, false, 2);
    ssq_tensor *kept[2] = {NULL, NULL};
    atomic_store(&joined, false);
    for (unsigned r = 0; r < 2; r++)
        reduced[r] = group_vector(&pair, r, 10, 1);
    for (unsigned i = 0; i < 2; i++)
        NEED(ssq_tensor_create(pair.dev[0], SSQ_F32, 2, (int64_t[]){1, WIDTH},
                               &kept[i]));
    NEED(reduce_one(&pair, 0, reduced[0], SSQ_COMM_SUM, NULL));
    for (unsigned i = 0; i < 2; i++) {
        NEED(ssq_batches_next(b, t));
        NEED(ssq_copy(q, SSQ_COPY(.x = t[0], .y = kept[i])));
    }
    nap(2000); /* enough for the thread to prepare the next rows */
    if (pthread_create(&thread, NULL, join, NULL) != 0)
        tap_bail("no thread");
    ssq_graph *graph = NULL;
    if (capture)
        NEED(ssq_graph_begin(q));
    ssq_batches_destroy(&b);
    tap_ok(atomic_load(&joined), "%s: a destroy%s waits for held copies", name,
           capture ? " in a capture" : "");
    if (capture)
        NEED(ssq_graph_end(q, &graph));
    ssq_graph_destroy(&graph);
    for (unsigned i = 0; i < 2; i++)
        NEED(ssq_tensor_read(q, kept[i], x[i], sizeof(x[i]), SSQ_F32));
    NEED(ssq_queue_sync(q));
    tap_ok(x[0][1] == 0.125f && x[1][1] == 1.125f,
           "%s: held copies have rows 0 and 1: %g, %g", name, (double)x[0][0],
           (double)x[1][0]);
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < 2; i++) {
        ssq_tensor_destroy(&kept[i]);
        ssq_tensor_destroy(&reduced[i]);
    }
    group_close(&pair);
}

/* A queue that has failed, or fails while a position is set. */
static void test_failed(const char *name)
{
    const ssq_tensor *t[2];
    ssq_batches_position p = SSQ_BATCHES_POSITION_INIT;
    group_of(&pair, 2, name, 60);
    ssq_queue *q = pair.queue[0];
    ssq_batches *b = make(q, 5, false, 0, false, 2);
    NEED(ssq_batches_next(b, t));
    NEED(ssq_comm_barrier(q, pair.comm[0], NULL));
    NEED(ssq_batches_next(b, t));
    ssq_comm_destroy(&pair.comm[1]);
    for (int i = 0; i < 2; i++) {
        p.row = 0;
        core_status(ssq_batches_position_set(b, &p), SSQ_ERR_COMM, "rank 1",
                    "%s: a position on a queue that %s", name,
                    i == 0 ? "fails" : "has failed");
        NEED(ssq_batches_position_get(b, &p));
        tap_ok(p.epoch == 0 && p.row == 10, "%s: the position is as before",
               name);
    }
    core_status(ssq_batches_next(b, t), SSQ_ERR_COMM, "rank 1",
                "%s: the next batch on it", name);
    ssq_batches_destroy(&b);
    group_close(&pair);
}

static void test_misuse(ssq_queue *q, const char *name)
{
    const int64_t large[2] = {1, INT64_C(5000000000)};
    ssq_array *wide = NULL, *one = NULL, *scalar = NULL, *none = NULL;
    ssq_batches *b = NULL;
    const ssq_tensor *t[2];
    NEED(ssq_array_create(SSQ_I64, 1, (int64_t[]){2}, large, &wide));
    NEED(ssq_array_create(SSQ_F32, 1, (int64_t[]){1}, NULL, &one));
    NEED(ssq_array_create(SSQ_F32, 0, NULL, NULL, &scalar));
    NEED(ssq_array_create(SSQ_F32, 1, (int64_t[]){0}, NULL, &none));
#define BAD(PARTS, ...)                                                        \
    core_status(ssq_batches_create(q, SSQ_BATCHES(__VA_ARGS__), &b),           \
                SSQ_ERR_INVALID, PARTS, "%s: " PARTS, name)
    BAD("array 0 is NULL", .n = 1);
    BAD("n is 0", .arrays = {one}, .n = 0);
    BAD("n is 5", .arrays = {one}, .n = 5);
    BAD("batch is 0", .arrays = {one}, .batch = 0);
    BAD("prefetch is 0", .arrays = {one}, .prefetch = 0);
    BAD("prefetch is 65", .arrays = {one}, .prefetch = 65);
    BAD("no dimension", .arrays = {scalar});
    BAD("no rows", .arrays = {none});
    BAD("1 rows|23", .arrays = {images, one}, .n = 2);
    BAD("array 0, row 1|5000000000|i32", .arrays = {wide});
    BAD("dtype 0 is f64", .arrays = {one}, .dtypes = {SSQ_F64});
    BAD("scale 0 is 1e-60", .arrays = {one}, .scale = {1e-60});
    BAD("scale and shift", .arrays = {labels}, .scale = {2});
    BAD("drop_last", .arrays = {one}, .batch = 2, .drop_last = true);
#undef BAD
    tap_ok(b == NULL, "%s: nothing was made", name);
    core_status(ssq_batches_create(NULL, SSQ_BATCHES(.arrays = {one}), &b),
                SSQ_ERR_INVALID, "NULL", "%s: no queue", name);
    core_status(ssq_batches_next(NULL, t), SSQ_ERR_INVALID, "NULL",
                "%s: next of NULL", name);
    b = make(q, 5, false, 0, false, 2);
    core_status(ssq_batches_next(b, NULL), SSQ_ERR_INVALID, "tensors",
                "%s: no place for tensors", name);
    NEED(ssq_graph_begin(q));
    core_status(ssq_batches_next(b, t), SSQ_ERR_INVALID, "captured",
                "%s: in a capture", name);
    ssq_graph *g = NULL;
    NEED(ssq_graph_end(q, &g));
    ssq_graph_destroy(&g);
    int rows[ROWS];
    tap_ok(take(q, b, rows) == 5 && rows[0] == 0,
           "%s: the refused batch is the next one", name);
    ssq_batches_destroy(&b);
    ssq_batches_destroy(&b);
    ssq_batches_destroy(NULL);
    tap_ok(ssq_batches_count(NULL) == 0, "%s: count of NULL", name);
    ssq_array_destroy(&wide);
    ssq_array_destroy(&one);
    ssq_array_destroy(&scalar);
    ssq_array_destroy(&none);
}

static void test_fork(ssq_queue *q, const char *name)
{
    const ssq_tensor *t[2];
    ssq_batches *b = make(q, 5, false, 0, false, 2);
    NEED(ssq_batches_next(b, t));
    NEED(ssq_queue_sync(q));
    pid_t child = fork();
    if (child == 0) {
        ssq_status st = ssq_batches_next(b, t);
        ssq_batches_position p = SSQ_BATCHES_POSITION_INIT;
        ssq_status set = ssq_batches_position_set(b, &p);
        ssq_batches_destroy(&b);
        _exit(st == SSQ_ERR_DEVICE && set == SSQ_ERR_DEVICE ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    tap_ok(status == 0, "%s: a child of fork is told", name);
    int rows[ROWS];
    tap_ok(take(q, b, rows) == 5 && rows[0] == 5, "%s: the parent goes on",
           name);
    ssq_batches_destroy(&b);
}

int main(void)
{
    make_arrays();
    for (size_t i = 0; i < core_device_count(); i++) {
        const char *name = core_device(i);
        ssq_device *device = core_open(name);
        ssq_queue *q = core_queue(device);
        test_epochs(q, name);
        test_positions(q, name);
        test_dtypes(q, name);
        test_capture(q, name);
        test_modes(q, name);
        test_ahead(q, name);
        test_held(name, false);
        test_held(name, true);
        test_failed(name);
        test_misuse(q, name);
        if (strchr(name, ':') == NULL)
            test_fork(q, name);
        if (i == 0)
            test_golden(q);
        ssq_queue_destroy(&q);
        ssq_device_close(&device);
    }
    ssq_array_destroy(&images);
    ssq_array_destroy(&labels);
    return tap_done(100);
}
