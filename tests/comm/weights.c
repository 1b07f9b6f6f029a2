/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c - rates of devices as a cache keeps them, and ranks' weights of
 * them: the same bits on all ranks, or the same words about the rank that has
 * none. Rates are made up here.
 *
 * usage: weights keep DEVICE DTYPE RATE, for other tests: the rate kept in the
 * cache of the environment. */
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sesqui/cpu.h>
#include <sesqui/tune.h>

#include "tests/comm/comm.h"
#include "tests/comm/short.h"

static char folder[64];

static void keep(const char *device, ssq_dtype dtype, double rate)
{
    ssq_device *dev = core_open(device);
    NEED(ssq_training_rate_keep(dev, dtype, rate));
    ssq_device_close(&dev);
}

/* ---- a group ---- */

static const char *const names[] = {"reference", "guard", "reference"};

/* A rank of the group, in a thread: the call waits for the others. */
struct asking {
    struct group *g;
    unsigned rank;
    ssq_dtype dtype;
    ssq_status st;
    double weight[MOST_RANKS];
    char text[1100];
    pthread_t thread;
};

static void *ask(void *of)
{
    struct asking *a = of;
    for (unsigned r = 0; r < MOST_RANKS; r++)
        a->weight[r] = -1.0;
    a->st = ssq_comm_weights(a->g->queue[a->rank], a->g->comm[a->rank],
                             a->dtype, a->weight);
    snprintf(a->text, sizeof(a->text), "%s", ssq_last_error());
    return NULL;
}

/* All ranks ask, the last one for another dtype. */
static void ask_both(struct group *g, ssq_dtype dtype, ssq_dtype last,
                     struct asking *a)
{
    for (unsigned r = 0; r < g->n; r++) {
        a[r] = (struct asking){
            .g = g, .rank = r, .dtype = r + 1 < g->n ? dtype : last};
        if (pthread_create(&a[r].thread, NULL, ask, &a[r]) != 0)
            tap_bail("no thread");
    }
    for (unsigned r = 0; r < g->n; r++)
        pthread_join(a[r].thread, NULL);
}

/* Every rank has these weights, bit for bit. */
static void weighs(struct group *g, ssq_dtype dtype, const double *want,
                   const char *what)
{
    struct asking a[MOST_RANKS];
    unsigned good = 0;
    ask_both(g, dtype, dtype, a);
    for (unsigned r = 0; r < g->n; r++) {
        bool same = memcmp(a[r].weight, want, g->n * sizeof(*want)) == 0;
        good += a[r].st == SSQ_OK && same && a[r].weight[g->n] == -1.0;
        if (a[r].st != SSQ_OK || !same)
            tap_diag("rank %u: %s, %g, %g: %s", r, ssq_status_name(a[r].st),
                     a[r].weight[0], a[r].weight[1], a[r].text);
    }
    tap_ok(good == g->n, "%s: on %u ranks", what, good);
}

/* Every rank has this status, and these words, and no weights. */
static void refuses(struct group *g, ssq_dtype dtype, ssq_status want,
                    const char *words, const char *what)
{
    struct asking a[MOST_RANKS];
    unsigned good = 0;
    ask_both(g, dtype, dtype, a);
    for (unsigned r = 0; r < g->n; r++) {
        bool fine = a[r].st == want && strstr(a[r].text, words) != NULL &&
                    strcmp(a[r].text, a[0].text) == 0 && a[r].weight[0] == -1.0;
        good += fine;
        if (!fine)
            tap_diag("rank %u: %s: %s", r, ssq_status_name(a[r].st), a[r].text);
    }
    tap_ok(good == g->n, "%s: %u ranks say: %s", what, good, a[0].text);
}

static void test_group(void)
{
    ssq_comm_options options = SSQ_COMM_OPTIONS_INIT;
    struct group g;
    struct asking a[MOST_RANKS];
    options.timeout = 60.0;
    group_open(&g, 2, names, &options);
    refuses(&g, SSQ_F32, SSQ_ERR_NOT_FOUND,
            "rank 0 has no rate of its device in f32; `sesqui tune --train "
            "--device reference --types f32` measures it",
            "an empty cache");
    keep("reference", SSQ_F32, 3.0);
    refuses(&g, SSQ_F32, SSQ_ERR_NOT_FOUND, "rank 1 has no rate",
            "one has none");
    keep("guard", SSQ_F32, 1.0);
    weighs(&g, SSQ_F32, (const double[]){1.0, 1.0 / 3.0}, "3 and 1");
    refuses(&g, SSQ_BF16, SSQ_ERR_NOT_FOUND, "--types bf16` measures",
            "another dtype is measured for itself");
    keep("reference", SSQ_BF16, 0.1);
    keep("guard", SSQ_BF16, 0.7);
    weighs(&g, SSQ_BF16, (const double[]){0.1 / 0.7, 1.0}, "0.1 and 0.7");
    weighs(&g, SSQ_F32, (const double[]){1.0, 1.0 / 3.0}, "which stays");
    keep("guard", SSQ_BF16, 1e-8);
    refuses(&g, SSQ_BF16, SSQ_ERR_INVALID,
            "rank 1 makes 1e-08 steps a second while rank 0 makes 0.1",
            "more than a million times as slow");
    NEED(ssq_comm_status(g.comm[0]));
    ask_both(&g, SSQ_F32, SSQ_BF16, a);
    tap_ok(a[0].st == SSQ_ERR_COMM && a[1].st == SSQ_ERR_COMM &&
               core_has(a[0].text, "weights f32") &&
               core_has(a[1].text, "weights bf16"),
           "ranks that ask for two dtypes: %s", a[0].text);
    group_close(&g);
    group_open(&g, 3, names, &options);
    weighs(&g, SSQ_F32, (const double[]){1.0, 1.0 / 3.0, 1.0}, "three ranks");
    group_close(&g);
    group_open(&g, 1, names, &options);
    weighs(&g, SSQ_F32, (const double[]){1.0}, "a rank alone");
    group_close(&g);
}

/* ---- misuse ---- */

static void test_misuse(void)
{
    struct group g;
    double w[MOST_RANKS] = {-1.0}, rate = -1.0;
    group_of(&g, 1, "reference", 60);
    ssq_device *dev = g.dev[0], *guard = core_open("guard");
    ssq_queue *q = g.queue[0], *other = core_queue(guard);
    ssq_comm *c = g.comm[0];
    core_status(ssq_comm_weights(NULL, c, SSQ_F32, w), SSQ_ERR_INVALID,
                "comm_weights", "no queue");
    core_status(ssq_comm_weights(q, NULL, SSQ_F32, w), SSQ_ERR_INVALID,
                "comm is NULL", "no communicator");
    core_status(ssq_comm_weights(q, c, SSQ_F32, NULL), SSQ_ERR_INVALID,
                "weights is NULL", "no place for weights");
    core_status(ssq_comm_weights(q, c, SSQ_I32, w), SSQ_ERR_INVALID, "dtype is",
                "weights in i32");
    core_status(ssq_comm_weights(other, c, SSQ_F32, w), SSQ_ERR_INVALID,
                "reference|guard", "a queue of another device");
    const double bad[] = {-1.0, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        core_status(ssq_training_rate_keep(dev, SSQ_F32, bad[i]),
                    SSQ_ERR_INVALID, "rate is", "a rate of %g", bad[i]);
    core_status(ssq_training_rate_keep(NULL, SSQ_F32, 1.0), SSQ_ERR_INVALID,
                "device is NULL", "a rate of no device");
    core_status(ssq_training_rate_keep(dev, SSQ_U8, 1.0), SSQ_ERR_INVALID,
                "dtype is", "a rate in u8");
    core_status(ssq_training_rate_get(NULL, SSQ_F32, &rate), SSQ_ERR_INVALID,
                "device is NULL", "none to be got");
    core_status(ssq_training_rate_get(dev, (ssq_dtype)99, &rate),
                SSQ_ERR_INVALID, "dtype is 99", "in no dtype");
    core_status(ssq_training_rate_get(dev, SSQ_F32, NULL), SSQ_ERR_INVALID,
                "rate is NULL", "nowhere");
    tap_ok(w[0] == -1.0 && rate == -1.0, "nothing was written");
    pid_t child = fork();
    if (child == 0)
        _exit(ssq_training_rate_keep(dev, SSQ_F16, 9.0) == SSQ_OK &&
                      ssq_training_rate_get(dev, SSQ_F32, &rate) == SSQ_OK &&
                      rate == 3.0
                  ? 0
                  : 1);
    int status = -1;
    (void)waitpid(child, &status, 0);
    NEED(ssq_training_rate_get(dev, SSQ_F16, &rate));
    tap_ok(status == 0 && rate == 9.0, "a child of fork reads and keeps");
    ssq_queue_destroy(&other);
    ssq_device_close(&guard);
    group_close(&g);
}

/* ---- host memory that is short ---- */

/* A rank alone asks while block `at` is refused: *spared, none was. False: it
 * has received wrong weights, has written some in spite of an error, or got
 * SSQ_ERR_NOT_FOUND. */
static bool ask_short(long at, bool *spared)
{
    struct group g;
    double w[MOST_RANKS] = {-1.0};
    group_of(&g, 1, "reference", 60);
    atomic_store(&left, at);
    ssq_status st = ssq_comm_weights(g.queue[0], g.comm[0], SSQ_F32, w);
    *spared = atomic_exchange(&left, 0) > 0;
    group_close(&g);
    if ((*spared && st != SSQ_OK) || st == SSQ_ERR_NOT_FOUND)
        return false;
    return w[0] == (st == SSQ_OK ? 1.0 : -1.0);
}

static void test_short(void)
{
    const ssq_allocator counting = {sizeof(counting), count_alloc, count_free,
                                    NULL};
    bool spared = false;
    long at = 1, wrong = 0;
    keep("reference", SSQ_F32, 3.0);
    NEED(ssq_allocator_set(&counting));
    for (; at < 1000 && !spared; at++)
        wrong += !ask_short(at, &spared);
    NEED(ssq_allocator_set(NULL));
    tap_ok(wrong == 0 && at > 10 && spared,
           "block 1 to %ld of the host's is refused: %ld wrong weights, and "
           "all is given back",
           at - 1, wrong);
}

/* No rate is lost, and none is reported missing, because a block was refused:
 * the rate of another dtype stays, and is found. */
static void test_short_rates(void)
{
    const ssq_allocator counting = {sizeof(counting), count_alloc, count_free,
                                    NULL};
    long at = 0, wrong = 0;
    bool spared = false;
    NEED(ssq_allocator_set(&counting));
    ssq_device *dev = core_open("reference");
    while (!spared && at < 100) {
        double f32 = -1.0, f16 = -1.0, found = -1.0;
        NEED(ssq_training_rate_keep(dev, SSQ_F32, 12.5));
        NEED(ssq_training_rate_keep(dev, SSQ_F16, 2.0));
        atomic_store(&left, ++at);
        ssq_status kept = ssq_training_rate_keep(dev, SSQ_F16, 3.0);
        spared = atomic_exchange(&left, at) > 0;
        ssq_status got = ssq_training_rate_get(dev, SSQ_F32, &found);
        wrong += kept != (spared ? SSQ_OK : SSQ_ERR_NOMEM);
        wrong +=
            got != (atomic_exchange(&left, 0) > 0 ? SSQ_OK : SSQ_ERR_NOMEM);
        NEED(ssq_training_rate_get(dev, SSQ_F32, &f32));
        NEED(ssq_training_rate_get(dev, SSQ_F16, &f16));
        wrong += f32 != 12.5 || f16 != (spared ? 3.0 : 2.0);
    }
    ssq_device_close(&dev);
    NEED(ssq_allocator_set(NULL));
    tap_ok(wrong == 0 && at > 1 && spared,
           "one of %ld blocks of a rate is refused: %ld errors", at - 1, wrong);
}

/* ---- files ---- */

/* The kept rate in f32 of the device; -1: none. */
static double kept(const ssq_device *dev)
{
    double rate = -1.0;
    ssq_status st = ssq_training_rate_get(dev, SSQ_F32, &rate);
    if (st != SSQ_OK && st != SSQ_ERR_NOT_FOUND)
        tap_bail("training_rate_get: %s", ssq_last_error());
    return rate;
}

/* Change a byte near the end of each file of reference's rates: how many there
 * were. */
static unsigned damage(void)
{
    char path[512];
    unsigned n = 0;
    snprintf(path, sizeof(path), "%s/sesqui", folder);
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        if (strncmp(e->d_name, "rate-reference-", 15) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/sesqui/%.200s", folder, e->d_name);
        FILE *f = fopen(path, "r+b");
        if (f == NULL || fseek(f, -4, SEEK_END) != 0 || fputc(0x55, f) == EOF ||
            fclose(f) != 0)
            tap_bail("%s cannot be damaged", path);
        n++;
    }
    if (dir != NULL)
        closedir(dir);
    return n;
}

static void test_files(void)
{
    ssq_device *dev = core_open("reference"), *again = core_open("reference");
    NEED(ssq_training_rate_keep(dev, SSQ_F32, 0.0));
    NEED(ssq_training_rate_keep(dev, SSQ_F32, 0.0));
    tap_ok(kept(dev) == -1.0, "what was forgotten, twice, is not there");
    NEED(ssq_training_rate_keep(dev, SSQ_F32, 0.1));
    tap_ok(kept(again) == 0.1, "a device that was open before sees it: %g",
           kept(again));
    NEED(ssq_training_rate_keep(again, SSQ_F32, 7.0));
    tap_ok(kept(dev) == 7.0, "the last one counts: %g", kept(dev));
    unsigned n = damage();
    tap_ok(n == 1 && kept(dev) == -1.0, "a damaged file is as none: %u", n);
    NEED(ssq_training_rate_keep(dev, SSQ_F32, 2.0));
    tap_ok(kept(dev) == 2.0, "and is replaced: %g", kept(dev));
    setenv("SSQ_CACHE", "0", 1);
    core_status(ssq_training_rate_keep(dev, SSQ_F32, 1.0), SSQ_ERR_IO,
                "no cache", "without a cache");
    tap_ok(kept(dev) == -1.0, "it has nothing");
    unsetenv("SSQ_CACHE");
    tap_ok(kept(dev) == 2.0, "it is there as before: %g", kept(dev));
    ssq_device_close(&dev);
    ssq_device_close(&again);
}

static ssq_device *processor(uint32_t threads)
{
    ssq_cpu_options o = SSQ_CPU_OPTIONS_INIT;
    ssq_device *dev = NULL;
    o.threads = threads;
    NEED(ssq_cpu_device_open(&o, NULL, &dev));
    return dev;
}

/* A part of the processor is another device. */
static void test_threads(void)
{
    ssq_device *one = processor(1), *two = processor(2);
    double rate;
    NEED(ssq_training_rate_keep(one, SSQ_F32, 5.0));
    tap_ok(kept(one) == 5.0, "cpu with a thread: %g", kept(one));
    core_status(ssq_training_rate_get(two, SSQ_F32, &rate), SSQ_ERR_NOT_FOUND,
                "of cpu|`sesqui tune --train --device cpu --threads 2 --types "
                "f32`",
                "with two it has not been measured");
    ssq_device_close(&one);
    ssq_device_close(&two);
}

/* ---- for other tests ---- */

static int keep_words(char **word)
{
    ssq_dtype dtype;
    NEED(ssq_dtype_from_name(word[1], &dtype));
    keep(word[0], dtype, strtod(word[2], NULL));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "keep") == 0)
        return keep_words(argv + 2);
    snprintf(folder, sizeof(folder), "/tmp/ssq-weights-XXXXXX");
    if (mkdtemp(folder) == NULL)
        tap_bail("no folder for a cache");
    setenv("XDG_CACHE_HOME", folder, 1);
    unsetenv("SSQ_CACHE");
    unsetenv("SSQ_NUM_THREADS");
    test_group();
    test_misuse();
    test_short();
    test_short_rates();
    test_files();
    test_threads();
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    tap_ok(system(command) == 0, "the folder is gone");
    return tap_done(39);
}
