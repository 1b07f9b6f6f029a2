/* SPDX-License-Identifier: Apache-2.0 */
/* copies.c - two copies of the library in one process, as two plugins bring
 * them: both load the same files of modules, each hears what is its own, and
 * one continues when the other is gone. */
#include <dlfcn.h>
#include <pthread.h>

#include "tests/api/plugin.h"
#include "tests/tap.h"

#define COPIES 2
#define ROUNDS 2

struct copy {
    char path[300];
    void *module;
    const struct plugin *plugin;
};

static struct copy copies[COPIES];

/* Its own file: the loader knows a shared object by its inode. */
static void copy_file(const char *from, const char *to)
{
    static char block[1 << 16];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    size_t n;

    if (in == NULL || out == NULL)
        tap_bail("cannot copy %s to %s", from, to);
    while ((n = fread(block, 1, sizeof(block), in)) > 0)
        fwrite(block, 1, n, out);
    if (ferror(in) || fclose(out) != 0)
        tap_bail("cannot copy %s to %s", from, to);
    fclose(in);
}

static void load(struct copy *c, const char *dir, int i)
{
    const char *build = getenv("builddir");
    char from[1024];

    snprintf(from, sizeof(from), "%s/tests/api/.libs/plugin.so",
             build == NULL ? "." : build);
    snprintf(c->path, sizeof(c->path), "%s/plugin%d.so", dir, i);
    copy_file(from, c->path);
    c->module = dlopen(c->path, RTLD_NOW | RTLD_LOCAL);
    const plugin_get_fn *get =
        c->module == NULL ? NULL : dlsym(c->module, "plugin_get");
    c->plugin = get == NULL ? NULL : (*get)();
    if (c->plugin == NULL)
        tap_bail("%s does not load: %s", c->path, dlerror());
}

static bool train(const struct plugin *p, const char *device,
                  struct learnt *end)
{
    char text[256];

    if (p->train(device, end, text, sizeof(text)))
        return true;
    fprintf(stderr, "# %s: %s\n", device, text);
    return false;
}

/* Blocks and lines that went astray since the copies were loaded. */
static long astray(void)
{
    long n = 0;

    for (int i = 0; i < COPIES; i++)
        if (copies[i].plugin != NULL)
            n += atomic_load(&copies[i].plugin->seen->live) +
                 atomic_load(&copies[i].plugin->seen->wrong);
    return n;
}

static long lines(int i)
{
    return atomic_load(&copies[i].plugin->seen->lines);
}

static void test_turns(const char *device, bool module, struct learnt *want)
{
    static struct learnt end[COPIES];
    bool ok = true, same = true, heard = true;

    for (int round = 0; round < 1 + !module; round++)
        for (int i = 0; i < COPIES; i++) {
            long mine = lines(i), other = lines(1 - i);

            ok = ok && train(copies[i].plugin, device, &end[i]);
            heard = heard && lines(i) > mine - !module && lines(1 - i) == other;
        }
    same = learnt_same(&end[0], &end[1]);
    tap_ok(ok && same, "%s: two copies train in turns and learn the same",
           device);
    tap_ok(heard, "%s: each hears its own lines", device);
    tap_ok(astray() == 0, "%s: each has its own blocks: %ld are astray", device,
           astray());
    *want = end[0];
}

static void test_errors(const char *device)
{
    for (int i = 0; i < COPIES; i++) {
        const struct plugin *p = copies[i].plugin, *q = copies[1 - i].plugin;
        char before[1024];

        snprintf(before, sizeof(before), "%s", q->last_error());
        ssq_status st = p->ask_too_much(device);
        tap_ok(st == SSQ_ERR_NOMEM &&
                   strstr(p->last_error(), "1125899906842624") != NULL &&
                   strstr(p->last_error(), device) != NULL &&
                   strcmp(q->last_error(), before) == 0,
               "%s: copy %d has the text of its error, the other does not",
               device, i);
        if (p->last_error()[0] == '\0')
            tap_diag("%s", q->last_error());
    }
}

struct copies_worker {
    pthread_t thread;
    const struct plugin *plugin;
    const char *device;
    bool ok;
    struct learnt end;
};

static void *work(void *arg)
{
    struct copies_worker *w = arg;

    w->ok = true;
    for (int i = 0; i < ROUNDS && w->ok; i++)
        w->ok = train(w->plugin, w->device, &w->end);
    return NULL;
}

static void test_threads(const char *device, const struct learnt *want)
{
    static struct copies_worker w[COPIES];
    bool ok = true;

    for (int i = 0; i < COPIES; i++) {
        w[i].plugin = copies[i].plugin;
        w[i].device = device;
        if (pthread_create(&w[i].thread, NULL, work, &w[i]) != 0)
            tap_bail("no thread %d", i);
    }
    for (int i = 0; i < COPIES; i++) {
        pthread_join(w[i].thread, NULL);
        ok = ok && w[i].ok && learnt_same(&w[i].end, want);
    }
    tap_ok(ok && astray() == 0,
           "%s: %d threads, a copy each, train %d times: %ld blocks are astray",
           device, COPIES, ROUNDS, astray());
}

static int nothing(void *unused)
{
    (void)unused;
    return 0;
}

int main(void)
{
    setenv("SSQ_CACHE", "0", 1); /* to certify is what each has to say */
    enum { DEVICES = 4, BUILT_IN = 2 };
    static const char *const devices[DEVICES] = {"guard", "cpu", "opencl:0",
                                                 "vulkan:0"};
    static struct learnt want[DEVICES], end;
    const char *tmp = getenv("TMPDIR");
    char dir[256];
    bool there[DEVICES] = {false};

    snprintf(dir, sizeof(dir), "%s/sesqui-copies-XXXXXX",
             tmp == NULL ? "/tmp" : tmp);
    if (mkdtemp(dir) == NULL)
        tap_bail("no directory %s", dir);
    for (int i = 0; i < COPIES; i++)
        load(&copies[i], dir, i);
    /* copies share host state only; drivers, slow to open, are in check-full */
    for (int d = 0; d < (tap_full() ? DEVICES : BUILT_IN); d++) {
        char backend[8];

        snprintf(backend, sizeof(backend), "%.6s", devices[d]);
        there[d] = copies[0].plugin->has(devices[d]);
        if (!there[d] && d > 0 && tap_required(backend))
            tap_ok(false, "%s is required, and not there", devices[d]);
        else if (!there[d])
            tap_skip("no device", "%s", devices[d]);
        if (!there[d])
            continue;
        test_turns(devices[d], d >= BUILT_IN, &want[d]);
        test_errors(devices[d]);
        test_threads(devices[d], &want[d]);
    }
    long blocks = atomic_load(&copies[0].plugin->seen->blocks);
    copies[0].plugin = NULL;
    dlclose(copies[0].module);
    int st = tap_fork(nothing, NULL, 20);
    tap_ok(tap_exited(st, 0),
           "a copy that is closed leaves no handler of forks: %s",
           tap_status(st));
    for (int d = 0; d < DEVICES; d++)
        if (there[d])
            tap_ok(train(copies[1].plugin, devices[d], &end) &&
                       learnt_same(&end, &want[d]) && astray() == 0,
                   "%s: one trains on when the other, of %ld blocks, is closed",
                   devices[d], blocks);
    for (int i = 0; i < COPIES; i++)
        unlink(copies[i].path);
    rmdir(dir);
    return tap_done(8);
}
