/* SPDX-License-Identifier: Apache-2.0 */
/* signals.c - tests that a program's signals change nothing: no result, no
 * status, no file of the cache; and that the library changes none of theirs.
 *
 * Each run is its own process, which loads the driver itself. In those
 * that are interrupted a timer's handler runs every millisecond, without
 * SA_RESTART, and the library's calls on its own files answer EINTR at first,
 * and then one byte less than was asked. */
#define _GNU_SOURCE 1 /* RTLD_NEXT, MAP_ANONYMOUS */

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "tests/api/training.h"
#include "tests/core/core.h"

/** Seconds after which a child hangs. */
#define HANGS 240
/** Signals in a run. */
#define ENOUGH 50

/* ---- calls that a signal interrupts ---- */

static bool interrupt;
static bool ours[1024]; /* descriptors of the library's files */
static unsigned turn[5];
enum { OPEN, READ, WRITE, PREAD, FSYNC };

/* Every second call is interrupted. */
static bool interrupted(int call)
{
    if (turn[call]++ % 2 != 0)
        return false;
    errno = EINTR;
    return true;
}

static bool is_ours(int fd)
{
    return interrupt && fd >= 0 && fd < 1024 && ours[fd];
}

/* The real one, of a type that the caller has. */
#define REAL(F, NAME) (*(F *)&(void *){dlsym(RTLD_NEXT, NAME)})

static int opened(int at, const char *path, int flags, mode_t mode, bool mine)
{
    typedef int (*open_fn)(int, const char *, int, ...);

    if (interrupt && mine && interrupted(OPEN))
        return -1;
    int fd = REAL(open_fn, "openat")(at, path, flags, mode);
    if (fd >= 0 && fd < 1024)
        ours[fd] = mine;
    return fd;
}

SSQ_API int open(const char *path, int flags, ...)
{
    size_t n = strlen(path);
    va_list args;

    va_start(args, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    bool module = n > 10 && (strcmp(path + n - 10, "/opencl.so") == 0 ||
                             strcmp(path + n - 10, "/vulkan.so") == 0);
    return opened(AT_FDCWD, path, flags, mode, module);
}

/* The cache's folder, and its files. */
SSQ_API int openat(int at, const char *path, int flags, ...)
{
    size_t n = strlen(path);
    va_list args;

    va_start(args, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    bool folder = n > 7 && strcmp(path + n - 7, "/sesqui") == 0;
    return opened(at, path, flags, mode, folder || is_ours(at));
}

SSQ_API int close(int fd)
{
    typedef int (*close_fn)(int);

    if (fd >= 0 && fd < 1024)
        ours[fd] = false; /* the next one has the number */
    return REAL(close_fn, "close")(fd);
}

SSQ_API ssize_t read(int fd, void *to, size_t bytes)
{
    typedef ssize_t (*read_fn)(int, void *, size_t);

    if (is_ours(fd) && interrupted(READ))
        return -1;
    return REAL(read_fn, "read")(fd, to, bytes - (is_ours(fd) && bytes > 1));
}

SSQ_API ssize_t write(int fd, const void *from, size_t bytes)
{
    typedef ssize_t (*write_fn)(int, const void *, size_t);

    if (is_ours(fd) && interrupted(WRITE))
        return -1;
    return REAL(write_fn, "write")(fd, from,
                                   bytes - (is_ours(fd) && bytes > 1));
}

SSQ_API ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
    typedef ssize_t (*pread_fn)(int, void *, size_t, off_t);

    if (is_ours(fd) && interrupted(PREAD))
        return -1;
    return REAL(pread_fn, "pread")(fd, to, bytes - (is_ours(fd) && bytes > 1),
                                   at);
}

SSQ_API int fsync(int fd)
{
    typedef int (*fsync_fn)(int);

    if (is_ours(fd) && interrupted(FSYNC))
        return -1;
    return REAL(fsync_fn, "fsync")(fd);
}

/* ---- a run ---- */

struct signals_outcome {
    ssq_status status[64]; /* of each stage */
    float loss;
    ssq_scaler_state state;
    unsigned char tensor[T_COUNT][512];
    unsigned files; /* in the cache */
    unsigned signals, calls;
    unsigned threads;
    unsigned masked, handled; /* signals that are other than before */
    char which[256];
};

struct signals_run {
    const char *device;
    bool interrupt;
    struct signals_outcome *out; /* shared with the parent */
};

static volatile sig_atomic_t seen;

static void tick(int sig)
{
    (void)sig;
    seen++;
}

static void start_timer(void)
{
    const struct itimerval every = {{0, 1000}, {0, 1000}};
    struct sigaction act = {.sa_handler = tick};

    sigemptyset(&act.sa_mask);
    if (sigaction(SIGALRM, &act, NULL) != 0 ||
        setitimer(ITIMER_REAL, &every, NULL) != 0)
        tap_bail("no timer");
}

struct signals {
    sigset_t mask;
    struct sigaction act[65];
};

static void look(struct signals *s)
{
    memset(s, 0, sizeof(*s));
    sigprocmask(SIG_BLOCK, NULL, &s->mask);
    for (int i = 1; i <= 64; i++)
        (void)sigaction(i, NULL, &s->act[i]); /* two are the C library's */
}

static bool other_masks(const sigset_t *a, const sigset_t *b)
{
    for (int i = 1; i <= 64; i++)
        if (sigismember(a, i) != sigismember(b, i))
            return true;
    return false;
}

static void compare(const struct signals *before, struct signals_outcome *out)
{
    struct signals now;

    look(&now);
    for (int i = 1; i <= 64; i++) {
        const struct sigaction *a = &before->act[i], *b = &now.act[i];
        bool handled = a->sa_handler != b->sa_handler ||
                       a->sa_flags != b->sa_flags ||
                       other_masks(&a->sa_mask, &b->sa_mask);
        bool masked =
            sigismember(&before->mask, i) != sigismember(&now.mask, i);
        size_t at = strlen(out->which);

        out->handled += handled;
        out->masked += masked;
        if (handled || masked)
            snprintf(out->which + at, sizeof(out->which) - at, " %d", i);
    }
}

static unsigned entries(const char *path, const char *end)
{
    unsigned n = 0;
    DIR *d = opendir(path);

    if (d == NULL)
        return 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        size_t have = strlen(e->d_name), want = strlen(end);
        n += e->d_name[0] != '.' && have >= want &&
             strcmp(e->d_name + have - want, end) == 0;
    }
    closedir(d);
    return n;
}

static void read_tensors(struct training *p, struct signals_outcome *out)
{
    for (int i = 0; i < T_COUNT; i++) {
        int64_t n = 1;

        for (int k = 0; k < training_tensors[i].rank; k++)
            n *= training_tensors[i].shape[k];
        size_t bytes =
            (size_t)n * ssq_dtype_bits(training_tensors[i].dtype) / 8;
        if (bytes > sizeof(out->tensor[i]))
            tap_bail("a tensor of %zu bytes", bytes);
        NEED(ssq_tensor_read(p->q, p->t[i], out->tensor[i], bytes,
                             training_tensors[i].dtype));
    }
    NEED(ssq_queue_sync(p->q));
}

static void train_once(const struct signals_run *r)
{
    struct training p = {.name = r->device};
    struct signals_outcome *out = r->out;

    for (size_t i = 0; i < TRAINING_STAGES && i < 64; i++) {
        out->status[i] = training_stages[i].run(&p);
        if (out->status[i] != SSQ_OK)
            fprintf(stderr, "# %s: %s\n", training_stages[i].name,
                    ssq_last_error());
    }
    read_tensors(&p, out);
    out->loss = p.loss;
    out->state = p.state;
    out->threads = entries("/proc/self/task", "");
    training_close(&p);
}

/* Again and again until there were signals: the host's devices are quick. */
static int train(void *arg)
{
    const struct signals_run *r = arg;
    struct signals_outcome *out = r->out;
    struct signals before;
    char cache[512];

    interrupt = r->interrupt;
    if (r->interrupt)
        start_timer();
    look(&before);
    do
        train_once(r);
    while (r->interrupt && seen < ENOUGH);
    compare(&before, out);
    snprintf(cache, sizeof(cache), "%s/sesqui", getenv("XDG_CACHE_HOME"));
    out->files = entries(cache, "") - entries(cache, ".part");
    out->signals = (unsigned)seen;
    out->calls = turn[OPEN] + turn[READ] + turn[WRITE] + turn[PREAD];
    return 0;
}

/* ---- runs compared ---- */

static char caches[64] = "/tmp/ssq-signals-XXXXXX";

static const struct signals_outcome *run(const char *device, const char *cache,
                                         bool interrupt_it)
{
    char path[128];
    struct signals_run r = {.device = device, .interrupt = interrupt_it};

    r.out = mmap(NULL, sizeof(*r.out), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r.out == MAP_FAILED)
        tap_bail("no memory");
    snprintf(path, sizeof(path), "%s/%s-%s", caches, device, cache);
    setenv("XDG_CACHE_HOME", path, 1);
    int st = tap_fork(train, &r, HANGS);
    tap_ok(tap_exited(st, 0), "%s: %s, cache %s: %s", device,
           interrupt_it ? "signals" : "no signals", cache, tap_status(st));
    return r.out;
}

static bool same(const struct signals_outcome *a,
                 const struct signals_outcome *b)
{
    return memcmp(a->status, b->status, sizeof(a->status)) == 0 &&
           memcmp(&a->loss, &b->loss, sizeof(a->loss)) == 0 &&
           memcmp(&a->state, &b->state, sizeof(a->state)) == 0 &&
           memcmp(a->tensor, b->tensor, sizeof(a->tensor)) == 0;
}

static void test(const char *device, bool driver)
{
    const struct signals_outcome *quiet = run(device, "a", false);
    const struct signals_outcome *cold = run(device, "b", true);
    const struct signals_outcome *warm = run(device, "b", true);
    unsigned wrong = 0;

    for (size_t i = 0; i < TRAINING_STAGES; i++)
        wrong += quiet->status[i] != SSQ_OK;
    tap_ok(wrong == 0, "%s: without signals %u stages fail", device, wrong);
    tap_ok(same(quiet, cold), "%s: %u signals change no bit and no status",
           device, cold->signals);
    tap_ok(same(quiet, warm), "%s: nor %u with a cache that is warm", device,
           warm->signals);
    if (driver) {
        tap_ok(quiet->files > 0 && quiet->files == cold->files,
               "%s: the cache has %u files, of %u that were kept without "
               "signals; %u calls were interrupted or short",
               device, cold->files, quiet->files, cold->calls);
        tap_diag("%s: handlers that the driver changes: %u, masked: %u:%s; "
                 "threads: %u",
                 device, quiet->handled, quiet->masked, quiet->which,
                 quiet->threads);
    } else {
        tap_ok(quiet->handled == 0 && quiet->masked == 0,
               "%s: %u handlers and %u signals of the mask are other ones%s",
               device, quiet->handled, quiet->masked, quiet->which);
        tap_ok(quiet->threads == 1, "%s: %u threads", device, quiet->threads);
    }
}

/* The devices that core_device lists, asked in a child: drivers do not live on
 * in one. */
static int list(void *names)
{
    for (size_t i = 0; i < core_device_count(); i++)
        snprintf((char *)names + i * 32, 32, "%s", core_device(i));
    return 0;
}

int main(void)
{
    char *names = mmap(NULL, (size_t)CORE_MOST * 32, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char remove[128];

    if (names == MAP_FAILED || mkdtemp(caches) == NULL)
        tap_bail("no memory or no directory");
    setenv("SSQ_CACHE", "1", 1);
    unsetenv("SSQ_CACHE_PROGRAMS");
    NEED(tap_exited(tap_fork(list, names, HANGS), 0) ? SSQ_OK : SSQ_ERR_DEVICE);
    for (int i = 2; i < CORE_MOST && names[i * 32] != '\0'; i++)
        test(names + i * 32, true);
    setenv("SSQ_MODULE_PATH", "", 1); /* the library alone */
    test("reference", false);
    test("guard", false);
    snprintf(remove, sizeof(remove), "rm -rf %s", caches);
    if (system(remove) != 0)
        tap_diag("%s is left", caches);
    return tap_done(14);
}
