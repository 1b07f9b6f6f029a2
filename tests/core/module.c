/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - tests of loading backend modules, and of ops that run on the
 * host because a device cannot run them.
 *
 * A fake module takes the place of cuda.so in its own directory, named
 * by SSQ_MODULE_PATH. Every case is a child, for a process loads once. */

#include <sys/stat.h>

#include "lib/core/module/backend.h"
#include "tests/core/core.h"

static char dir[256]; /* holds cuda.so */
static char *fallback_log;

/* Why cuda is missing; NULL if it is not. */
static const char *cuda_reason(void)
{
    static ssq_device_entry e;

    for (size_t i = 0; i < ssq_device_count(); i++) {
        e = (ssq_device_entry)SSQ_DEVICE_ENTRY_INIT;
        NEED(ssq_device_list(i, &e));
        if (strcmp(e.backend, "cuda") == 0)
            return e.available ? NULL : e.reason;
    }
    return "not in the list";
}

/* In the child: 0 when every |-separated part is in the reason. */
static int reason_has(void *arg)
{
    const char *reason = cuda_reason();
    char parts[256];

    snprintf(parts, sizeof(parts), "%s", (const char *)arg);
    fprintf(stderr, "# cuda: %s\n", reason == NULL ? "available" : reason);
    for (char *p = strtok(parts, "|"); p != NULL; p = strtok(NULL, "|"))
        if (reason == NULL || !core_has(reason, p))
            return 1;
    return 0;
}

/* dir/cuda.so is this module of the build, or a copy of a file. */
static void install(const char *module)
{
    const char *build = getenv("builddir");
    char from[1024], to[300];

    snprintf(from, sizeof(from), "%s/tests/core/.libs/%s",
             build == NULL ? "." : build, module);
    snprintf(to, sizeof(to), "%s/cuda.so", dir);
    unlink(to);
    rmdir(to);
    if (access(from, R_OK) != 0 || symlink(from, to) != 0)
        tap_bail("no module %s", from);
}

static void install_text(const char *text)
{
    char to[300];
    FILE *f;

    snprintf(to, sizeof(to), "%s/cuda.so", dir);
    unlink(to);
    rmdir(to);
    f = fopen(to, "w");
    if (f == NULL)
        tap_bail("cannot write %s", to);
    fputs(text, f);
    fclose(f);
}

/* The first this many bytes of a module. */
static void install_part(const char *module, long bytes)
{
    const char *build = getenv("builddir");
    char from[1024], to[300], block[4096];
    FILE *in, *out;

    snprintf(from, sizeof(from), "%s/tests/core/.libs/%s",
             build == NULL ? "." : build, module);
    snprintf(to, sizeof(to), "%s/cuda.so", dir);
    unlink(to);
    in = fopen(from, "rb");
    out = fopen(to, "wb");
    if (in == NULL || out == NULL)
        tap_bail("cannot copy %s", from);
    while (bytes > 0) {
        size_t want = bytes < 4096 ? (size_t)bytes : sizeof(block);
        size_t n = fread(block, 1, want, in);

        if (n == 0)
            break;
        fwrite(block, 1, n, out);
        bytes -= (long)n;
    }
    fclose(in);
    fclose(out);
}

static void expect_reason(const char *parts, const char *name)
{
    char copy[256];
    int st;

    snprintf(copy, sizeof(copy), "%s", parts);
    st = tap_fork(reason_has, copy, 20);
    tap_ok(tap_exited(st, 0), "%s: the reason has %s: %s", name, parts,
           tap_status(st));
}

static void test_refusals(void)
{
    char abi[64], path[300];

    install("module_old.so");
    snprintf(abi, sizeof(abi), "cuda.so|999|%d", SSQ_BACKEND_ABI);
    expect_reason(abi, "a module of another ABI");
    install("module_mute.so");
    expect_reason("cuda.so|ssq_backend_module", "a module without the symbol");
    install_text("not a shared object");
    expect_reason("cuda.so", "a file that is no module");
    install_text("");
    expect_reason("cuda.so", "an empty file");
    snprintf(path, sizeof(path), "%s/cuda.so", dir);
    unlink(path);
    mkdir(path, 0700);
    expect_reason("cuda.so", "a directory");
    rmdir(path);
    expect_reason("cuda", "no file: what configure said");
    install("module_fake.so");
    setenv("FAKE_INIT_FAILS", "1", 1);
    expect_reason("driver version 3 is older than 7",
                  "a module that cannot start");
    unsetenv("FAKE_INIT_FAILS");
    setenv("FAKE_NO_DEVICES", "1", 1);
    expect_reason("no processor found", "a module without devices");
    setenv("FAKE_NO_DEVICES", "silent", 1);
    expect_reason("no devices", "a module that does not say why");
    unsetenv("FAKE_NO_DEVICES");
    install("module_alien.so");
    expect_reason("cuda.so|martian", "a module of another backend");
}

static long module_bytes(void)
{
    const char *build = getenv("builddir");
    char path[1024];
    struct stat s;

    snprintf(path, sizeof(path), "%s/tests/core/.libs/module_fake.so",
             build == NULL ? "." : build);
    return stat(path, &s) == 0 ? (long)s.st_size : 0;
}

/* Cut anywhere, a module is refused and not mapped: touching what is missing
 * would be a SIGBUS. */
static void test_cut(void)
{
    long n = module_bytes();
    int bad = 0, cuts = 0;

    for (long bytes = 1; bytes < n; bytes += n / 23, cuts++) {
        char parts[] = "cuda.so";

        install_part("module_fake.so", bytes);
        bad += !tap_exited(tap_fork(reason_has, parts, 20), 0);
    }
    tap_ok(bad == 0 && cuts > 20, "of %d cut modules %d are not refused", cuts,
           bad);
    install_part("module_fake.so", n / 2);
    expect_reason("cuda.so|cut off", "half a module");
}

/* SSQ_MODULE_PATH is this; then as expect_reason. */
static void expect_path(const char *value, const char *parts, const char *name)
{
    setenv("SSQ_MODULE_PATH", value, 1);
    expect_reason(parts, name);
    setenv("SSQ_MODULE_PATH", dir, 1);
}

static int is_there(void *path)
{
    setenv("SSQ_MODULE_PATH", path, 1);
    return cuda_reason() == NULL ? 0 : 1;
}

static void test_paths(void)
{
    char both[700], bad[300], from[300], path[320];
    int st;

    snprintf(path, sizeof(path), "%s/cuda.so", dir);
    install_part("module_fake.so", 1 << 30);
    if (chdir(dir) != 0)
        tap_bail("no directory %s", dir);
    expect_path(".", "relative", "a relative path");
    expect_path("", "", "an empty path");
    chmod(dir, 0777);
    expect_reason("other users", "a directory that everybody may write to");
    chmod(dir, 01777);
    expect_reason("other users", "a sticky one");
    chmod(dir, 0700);
    chmod(path, 0666);
    expect_reason("cuda.so|other users", "a file that everybody may write to");
    chmod(path, 0600);
    snprintf(bad, sizeof(bad), "%s/bad", dir);
    mkdir(bad, 0700);
    snprintf(from, sizeof(from), "%s/bad/cuda.so", dir);
    if (symlink("/dev/null", from) != 0)
        tap_bail("no link %s", from);
    snprintf(both, sizeof(both), "%s:.:%s", bad, dir);
    st = tap_fork(is_there, both, 20);
    tap_ok(tap_exited(st, 0), "a good module behind two bad ones is loaded: %s",
           tap_status(st));
    unlink(from);
    rmdir(bad);
}

/* A file that may not be read; root may read all, so it drops that right. */
static int reason_unreadable(void *arg)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/cuda.so", dir);
    chmod(dir, 0711);
    chmod(path, 0);
    if (geteuid() == 0 && setuid(65534) != 0)
        return 2;
    return reason_has(arg);
}

static void test_unreadable(void)
{
    char parts[] = "cuda.so|ermission";
    int st;

    install_text("secret");
    st = tap_fork(reason_unreadable, parts, 20);
    tap_ok(tap_exited(st, 0), "an unreadable file: the reason has %s: %s",
           parts, tap_status(st));
    chmod(dir, 0700);
}

static int use_module(void *arg)
{
    ssq_device *dev = NULL;
    ssq_queue *q = NULL;
    ssq_tensor *t = NULL;
    ssq_device_props p = SSQ_DEVICE_PROPS_INIT;
    float out[3] = {0};
    int64_t n = 3;
    ssq_fill_args fill = SSQ_FILL_INIT;

    (void)arg;
    if (cuda_reason() != NULL)
        return 1;
    NEED(ssq_device_open("cuda:1", NULL, &dev));
    NEED(ssq_device_props_get(dev, &p));
    if (strcmp(p.name, "cuda:1") != 0 || p.memory_bytes != 1001 ||
        p.binding_bytes != 1 << 20)
        return 2;
    ssq_device_close(&dev);
    NEED(ssq_device_open("cuda", NULL, &dev));
    NEED(ssq_device_props_get(dev, &p));
    if (strcmp(p.name, "cuda:0") != 0)
        return 3;
    NEED(ssq_queue_create(dev, NULL, &q));
    NEED(ssq_tensor_create(dev, SSQ_F32, 1, &n, &t));
    fill.x = t;
    fill.value = 2.5;
    NEED(ssq_fill(q, &fill));
    NEED(ssq_tensor_read(q, t, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(q));
    ssq_tensor_destroy(&t);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
    return out[2] == 2.5f ? 0 : 4;
}

static int auto_is_not_fake(void *arg)
{
    ssq_device *dev = core_open("auto");
    ssq_device_props p = SSQ_DEVICE_PROPS_INIT;

    (void)arg;
    NEED(ssq_device_props_get(dev, &p));
    ssq_device_close(&dev);
    return strcmp(p.backend, "cuda") != 0 ? 0 : 1;
}

static int path_is_a_list(void *arg)
{
    char path[600];

    (void)arg;
    snprintf(path, sizeof(path), "/nonexistent::%s:/tmp", dir);
    setenv("SSQ_MODULE_PATH", path, 1);
    return cuda_reason() == NULL ? 0 : 1;
}

/* A whole name of the list keeps a module away, a part of one does not. */
static int is_kept_away(void *list)
{
    setenv("SSQ_SKIP_BACKENDS", list, 1);
    return cuda_reason() == NULL ? 1 : 0;
}

static void test_skipped(void)
{
    char part[] = "cud,vulkan,cuda2,cpu,reference", empty[] = "";

    install("module_fake.so");
    setenv("SSQ_SKIP_BACKENDS", "opencl,cuda,vulkan", 1);
    expect_reason("SSQ_SKIP_BACKENDS names it", "a backend to be skipped");
    unsetenv("SSQ_SKIP_BACKENDS");
    tap_ok(tap_exited(tap_fork(is_kept_away, part, 20), 1),
           "SSQ_SKIP_BACKENDS=%s does not name it", part);
    tap_ok(tap_exited(tap_fork(is_kept_away, empty, 20), 1),
           "an empty one names none");
}

static void test_loaded(void)
{
    int st;

    install("module_fake.so");
    st = tap_fork(use_module, NULL, 20);
    tap_ok(tap_exited(st, 0),
           "a module of the right ABI: cuda:1 is opened, cuda:0 fills: %s",
           tap_status(st));
    st = tap_fork(auto_is_not_fake, NULL, 20);
    tap_ok(tap_exited(st, 0), "auto passes a preference of 0 over: %s",
           tap_status(st));
    st = tap_fork(path_is_a_list, NULL, 20);
    tap_ok(tap_exited(st, 0),
           "SSQ_MODULE_PATH is a list, empty and missing ones are passed "
           "over: %s",
           tap_status(st));
}

/* ---- what the device cannot do ---- */

static void keep_line(void *user, ssq_log_level level, const char *text)
{
    size_t at = strlen(fallback_log);

    (void)user;
    if (level <= SSQ_LOG_WARNING)
        snprintf(fallback_log + at, 4096 - at, "%s\n", text);
}

struct module_bench {
    ssq_device *dev;
    ssq_queue *q;
    ssq_tensor *x, *y, *h;
};

static struct module_bench bench_open(bool host_fallback)
{
    struct module_bench b = {NULL};
    ssq_device_options options = SSQ_DEVICE_OPTIONS_INIT;

    options.host_fallback = host_fallback;
    NEED(ssq_device_open("cuda", &options, &b.dev));
    b.q = core_queue(b.dev);
    b.x = core_vector(b.dev, SSQ_F32, 100);
    b.y = core_vector(b.dev, SSQ_F32, 100);
    b.h = core_vector(b.dev, SSQ_F16, 100);
    return b;
}

static void bench_close(struct module_bench *b)
{
    ssq_tensor_destroy(&b->x);
    ssq_tensor_destroy(&b->y);
    ssq_tensor_destroy(&b->h);
    ssq_queue_destroy(&b->q);
    ssq_device_close(&b->dev);
}

static ssq_status fill(struct module_bench *b, const ssq_tensor *x,
                       double value)
{
    ssq_fill_args args = SSQ_FILL_INIT;

    args.x = x;
    args.value = value;
    return ssq_fill(b->q, &args);
}

static ssq_status copy(struct module_bench *b, const ssq_tensor *x,
                       const ssq_tensor *y)
{
    ssq_copy_args args = SSQ_COPY_INIT;

    args.x = x;
    args.y = y;
    return ssq_copy(b->q, &args);
}

static int refuse_children(void *arg)
{
    struct module_bench b = bench_open(false);
    int bad = 0;

    (void)arg;
    bad += fill(&b, b.h, 1) != SSQ_ERR_UNSUPPORTED ||
           !core_has(ssq_last_error(), "vector: dtype 2 is not f32") ||
           !core_has(ssq_last_error(), "cuda:0");
    bad += copy(&b, b.x, b.y) != SSQ_ERR_UNSUPPORTED ||
           !core_has(ssq_last_error(), "copy: no implementation");
    bad += ssq_queue_sync(b.q) != SSQ_OK;
    bench_close(&b);
    return bad;
}

/* A pin is a wish for one implementation: no other, and no host. */
static int pinned(void *arg)
{
    struct module_bench b = bench_open(true);
    int bad = 0;

    (void)arg;
    bad += ssq_implementation_name(b.dev, "fill", 1) == NULL ||
           strcmp(ssq_implementation_name(b.dev, "fill", 1), "few") != 0;
    NEED(ssq_implementation_pin(b.dev, "fill", "vector"));
    bad += fill(&b, b.x, 1) != SSQ_OK;
    NEED(ssq_implementation_pin(b.dev, "fill", "few"));
    bad += fill(&b, b.x, 1) != SSQ_ERR_UNSUPPORTED ||
           !core_has(ssq_last_error(), "vector: few is pinned") ||
           !core_has(ssq_last_error(), "few: 100 elements are more than 4");
    NEED(ssq_implementation_pin(b.dev, "fill", NULL));
    bad += fill(&b, b.x, 1) != SSQ_OK;
    bench_close(&b);
    return bad;
}

static uint64_t fallbacks(const struct module_bench *b)
{
    ssq_memory_info info = SSQ_MEMORY_INFO_INIT;

    NEED(ssq_device_memory(b->dev, &info));
    return info.fallbacks;
}

static int count_lines(const char *text)
{
    int n = 0;

    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

static int fall_back(void *arg)
{
    struct module_bench b = bench_open(true);
    ssq_tensor *odd = NULL;
    float out[100] = {0}, half[100] = {0};
    int bad = 0;

    (void)arg;
    fallback_log = calloc(1, 4096);
    ssq_log_set(keep_line, NULL);
    NEED(fill(&b, b.x, 1));
    bad += fallbacks(&b) != 0;
    NEED(ssq_tensor_slice(b.x, 0, 1, 100, 2, &odd));
    NEED(fill(&b, odd, 7));   /* refused by fill's check: on the host */
    NEED(copy(&b, b.x, b.y)); /* absent: on the host */
    NEED(copy(&b, b.x, b.y));
    NEED(fill(&b, b.h, 3));
    NEED(ssq_tensor_read(b.q, b.y, out, sizeof(out), SSQ_F32));
    NEED(ssq_tensor_read(b.q, b.h, half, sizeof(half),
                         SSQ_F32)); /* a cast: on the host */
    NEED(ssq_queue_sync(b.q));
    bad += fallbacks(&b) != 5;
    for (int i = 0; i < 100; i++)
        bad += out[i] != (i % 2 == 0 ? 1 : 7) || half[i] != 3;
    fprintf(stderr, "# %d fallbacks:\n%s", (int)fallbacks(&b), fallback_log);
    /* two reasons of fill, one of copy, one of cast: a line each */
    bad += count_lines(fallback_log) != 4;
    bad += !core_has(fallback_log, "copy") || !core_has(fallback_log, "host");
    ssq_log_set(NULL, NULL);
    ssq_tensor_destroy(&odd);
    bench_close(&b);
    free(fallback_log);
    return bad > 255 ? 255 : bad;
}

static long calls, fail_at;

static void *fail_alloc(void *user, size_t bytes)
{
    (void)user;
    return ++calls == fail_at ? NULL : malloc(bytes);
}

static void fail_free(void *user, void *p)
{
    (void)user;
    free(p);
}

/* The Nth allocation of a fallback fails: y stays what it was. */
static int fall_back_without_memory(void *arg)
{
    static const ssq_allocator allocator = {sizeof(allocator), fail_alloc,
                                            fail_free, NULL};
    struct module_bench b;
    float out[100] = {0};
    ssq_status st;
    int bad = 0;

    (void)arg;
    NEED(ssq_allocator_set(&allocator));
    b = bench_open(true);
    NEED(fill(&b, b.x, 5));
    NEED(fill(&b, b.y, 1));
    for (long n = 1;; n++) {
        calls = 0;
        fail_at = n;
        st = copy(&b, b.x, b.y);
        bool failed = calls >= n;
        fail_at = 0;
        NEED(ssq_tensor_read(b.q, b.y, out, sizeof(out), SSQ_F32));
        NEED(ssq_queue_sync(b.q));
        if (!failed)
            break;
        /* the reason that is logged may be forgotten: then all is well */
        bad += st == SSQ_OK ? out[99] != 5 : out[99] != 1;
        bad += st != SSQ_OK && st != SSQ_ERR_NOMEM;
        NEED(fill(&b, b.y, 1));
    }
    bad += st != SSQ_OK || out[99] != 5;
    bench_close(&b);
    return bad + (ssq_allocator_set(NULL) != SSQ_OK);
}

/* y = x, x: two copies, each on the host. */
static ssq_status copy_twice(struct module_bench *b, const ssq_tensor *y)
{
    const ssq_tensor *x[] = {b->x, b->x};
    ssq_concat_args args = SSQ_CONCAT_INIT;

    args.x = x;
    args.n = 2;
    args.y = y;
    return ssq_concat(b->q, &args);
}

/* The Nth allocation of a call of two ops fails: either nothing was written, or
 * the queue has failed. */
static int fall_back_in_part(void *arg)
{
    static const ssq_allocator allocator = {sizeof(allocator), fail_alloc,
                                            fail_free, NULL};
    struct module_bench b;
    ssq_tensor *y;
    float out[200] = {0};
    int bad = 0, parts = 0;

    (void)arg;
    NEED(ssq_allocator_set(&allocator));
    b = bench_open(true);
    y = core_vector(b.dev, SSQ_F32, 200);
    NEED(fill(&b, b.x, 5));
    for (long n = 1;; n++) {
        NEED(fill(&b, y, 1));
        NEED(ssq_queue_sync(b.q));
        calls = 0;
        fail_at = n;
        ssq_status st = copy_twice(&b, y);
        bool failed = calls >= n;
        fail_at = 0;
        bool lost = fill(&b, b.h, 0) != SSQ_OK;
        bad += lost && (st != SSQ_ERR_NOMEM || ssq_queue_sync(b.q) != st);
        if (lost) {
            ssq_queue_destroy(&b.q);
            b.q = core_queue(b.dev);
        }
        NEED(ssq_tensor_read(b.q, y, out, sizeof(out), SSQ_F32));
        NEED(ssq_queue_sync(b.q));
        bad += (out[0] == 5 && out[199] != 5) != lost;
        parts += lost;
        if (!failed)
            break;
    }
    bad += parts == 0 || out[199] != 5;
    ssq_tensor_destroy(&y);
    bench_close(&b);
    return bad + (ssq_allocator_set(NULL) != SSQ_OK);
}

static int fall_back_in_capture(void *arg)
{
    struct module_bench b = bench_open(true);
    ssq_graph *g = NULL;
    int bad = 0;

    (void)arg;
    NEED(ssq_graph_begin(b.q));
    NEED(fill(&b, b.x, 1));
    bad += copy(&b, b.x, b.y) != SSQ_ERR_UNSUPPORTED ||
           !core_has(ssq_last_error(), "captured");
    NEED(ssq_graph_end(b.q, &g));
    bad += ssq_graph_ops(g) != 1 || fallbacks(&b) != 0;
    ssq_graph_destroy(&g);
    /* a dry one asks what would run, and this would */
    NEED(ssq_graph_begin_dry(b.q));
    bad += copy(&b, b.x, b.y) != SSQ_OK;
    NEED(ssq_graph_end(b.q, &g));
    bad += fallbacks(&b) != 0;
    bench_close(&b);
    return bad;
}

static void test_fallback(void)
{
    int st = tap_fork(refuse_children, NULL, 20);

    tap_ok(tap_exited(st, 0),
           "ops that a device has not are UNSUPPORTED, with reasons: %s",
           tap_status(st));
    st = tap_fork(pinned, NULL, 20);
    tap_ok(tap_exited(st, 0),
           "a pinned implementation is the only one, host or not: %s",
           tap_status(st));
    st = tap_fork(fall_back, NULL, 20);
    tap_ok(tap_exited(st, 0),
           "with host_fallback they run on the host, counted, logged once "
           "per reason: %s",
           tap_status(st));
    st = tap_fork(fall_back_without_memory, NULL, 20);
    tap_ok(tap_exited(st, 0),
           "each allocation of a fallback fails once: NOMEM, and the result "
           "is untouched: %s",
           tap_status(st));
    st = tap_fork(fall_back_in_part, NULL, 20);
    tap_ok(tap_exited(st, 0),
           "a call of two ops that fails between them fails the queue: %s",
           tap_status(st));
    st = tap_fork(fall_back_in_capture, NULL, 20);
    tap_ok(tap_exited(st, 0), "but not in a capture: %s", tap_status(st));
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    char path[300];

    setenv("SSQ_CACHE", "0", 1); /* fakes share a name */
    snprintf(dir, sizeof(dir), "%s/sesqui-module-XXXXXX",
             tmp == NULL ? "/tmp" : tmp);
    if (mkdtemp(dir) == NULL)
        tap_bail("no directory %s", dir);
    setenv("SSQ_MODULE_PATH", dir, 1);
    test_refusals();
    test_unreadable();
    test_cut();
    test_paths();
    test_loaded();
    test_skipped();
    test_fallback();
    snprintf(path, sizeof(path), "%s/cuda.so", dir);
    unlink(path);
    rmdir(dir);
    return tap_done(31);
}
