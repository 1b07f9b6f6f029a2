/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.c - ssq_gemm_tune on the stand-in: timings are kept, read by the
 * next device and used; damage to a file, or a file of another device, is
 * survived; two processes lose nothing of each other's.
 *
 * FAKEBLAS_SLOW says which algorithms take 20 ms more, so that it is known what
 * is found. */
#include <sesqui/tune.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/core/driver.h"
#include "tests/fakecuda/blas/fakeblas.h"

#define M 16
#define N 24
#define K 32

/* A device, and a product on it. */
struct fakecuda_tuning_work {
    ssq_device *dev;
    ssq_queue *q;
    ssq_tensor *a, *b, *d;
    ssq_gemm_args args;
};

static char home[256], file[4096];
static unsigned warned; /* log lines about a damaged file */
static bool quiet;

static void hear(void *user, ssq_log_level level, const char *text)
{
    (void)user;
    if (level != SSQ_LOG_WARNING || !core_has(text, "damaged"))
        return;
    warned++;
    if (!quiet)
        tap_diag("%s", text);
}

static ssq_tensor *ones(struct fakecuda_tuning_work *w, ssq_dtype dtype,
                        int64_t rows, int64_t columns)
{
    const int64_t shape[] = {rows, columns};
    ssq_tensor *t = NULL;

    NEED(ssq_tensor_create(w->dev, dtype, 2, shape, &t));
    NEED(ssq_fill(w->q, SSQ_FILL(.x = t, .value = 1.0)));
    return t;
}

static void begin_of(struct fakecuda_tuning_work *w, const char *device,
                     ssq_dtype dtype, int64_t m)
{
    memset(w, 0, sizeof(*w));
    NEED(ssq_device_open(device, NULL, &w->dev));
    NEED(ssq_queue_create(w->dev, NULL, &w->q));
    w->args = (ssq_gemm_args)SSQ_GEMM_INIT;
    w->args.a = w->a = ones(w, dtype, m, K);
    w->args.b = w->b = ones(w, dtype, K, N);
    w->args.d = w->d = ones(w, dtype, m, N);
}

static void begin(struct fakecuda_tuning_work *w)
{
    begin_of(w, "cuda:0", SSQ_F16, M);
}

static void end(struct fakecuda_tuning_work *w)
{
    ssq_tensor_destroy(&w->a);
    ssq_tensor_destroy(&w->b);
    ssq_tensor_destroy(&w->d);
    ssq_queue_destroy(&w->q);
    ssq_device_close(&w->dev);
}

static ssq_gemm_explanation explained(struct fakecuda_tuning_work *w)
{
    ssq_gemm_explanation x = SSQ_GEMM_EXPLANATION_INIT;

    NEED(ssq_gemm_explain(w->q, &w->args, &x));
    return x;
}

static size_t kept(const ssq_device *dev)
{
    ssq_gemm_tuning t = SSQ_GEMM_TUNING_INIT;
    size_t n = 0;

    while (ssq_gemm_tuning_get(dev, n, &t) == SSQ_OK)
        n++;
    return n;
}

/* Is the product right, and by which algorithm of the library's list? */
static bool multiplies(struct fakecuda_tuning_work *w, unsigned *algorithm)
{
    static float x[1024 * N];
    unsigned long tf32;
    size_t n = (size_t)ssq_tensor_size(w->d, 0) * N;

    NEED(ssq_fill(w->q, SSQ_FILL(.x = w->d, .value = 0.0)));
    NEED(ssq_gemm(w->q, &w->args));
    NEED(ssq_tensor_read(w->q, w->d, x, n * 4, SSQ_F32));
    NEED(ssq_queue_sync(w->q));
    fakeblas_last(&tf32, algorithm);
    for (size_t i = 0; i < n; i++)
        if (x[i] != (float)K)
            return false;
    return true;
}

/* A device that is opened now: does it use what is kept? */
static bool is_used(const char *what)
{
    struct fakecuda_tuning_work w;
    unsigned algorithm = 99;

    warned = 0;
    begin(&w);
    ssq_gemm_explanation x = explained(&w);
    bool right = multiplies(&w, &algorithm);
    bool used = x.tuned && algorithm == 2;
    tap_ok(right && x.tuned == (algorithm == 2) &&
               strcmp(x.implementation, "cublaslt") == 0,
           "%s: %zu kept, %s by %s, algorithm %u", what, kept(w.dev),
           x.tuned ? "tuned" : "ruled", x.implementation, algorithm);
    end(&w);
    return used;
}

/* ---- what is found, and used ---- */

static void test_kept(void)
{
    ssq_gemm_tuning t = SSQ_GEMM_TUNING_INIT, got = SSQ_GEMM_TUNING_INIT;
    struct fakecuda_tuning_work w;
    unsigned algorithm;

    setenv("FAKEBLAS_SLOW", "1", 1);
    begin(&w);
    snprintf(file, sizeof(file), "%s", ssq_gemm_tuning_path(w.dev));
    tap_ok(strncmp(file, home, strlen(home)) == 0 && access(file, F_OK) != 0 &&
               kept(w.dev) == 0,
           "there is no %s yet", file);
    NEED(ssq_gemm_tune(w.q, &w.args, &t));
    tap_ok(t.kept && strcmp(t.implementation, "cublaslt") == 0 &&
               t.algorithm != 0 && t.tried >= 3 && t.m == M && t.n == N &&
               t.k == K && t.batch == 1 && t.a == SSQ_F16 && t.d == SSQ_F16 &&
               t.seconds > 0.0 && t.seconds < 0.8 * t.rule_seconds &&
               access(file, F_OK) == 0,
           "%s %016llx of %u: %.3g s, by the rules %.3g s", t.implementation,
           (unsigned long long)t.algorithm, t.tried, t.seconds, t.rule_seconds);
    tap_ok(!explained(&w).tuned && multiplies(&w, &algorithm) &&
               algorithm == 0 && kept(w.dev) == 0,
           "the device that was open goes on as it was");
    end(&w);
    unsetenv("FAKEBLAS_SLOW");
    tap_ok(is_used("the next one uses it"), "by the algorithm that was kept");
    begin(&w);
    NEED(ssq_gemm_tuning_get(w.dev, 0, &got));
    tap_ok(got.batch == 1 && got.m == M && got.n == N && got.k == K &&
               got.a == t.a && got.b == t.b && got.d == t.d && !got.trans_a &&
               !got.trans_b && !got.trans_d && !got.tf32 &&
               strcmp(got.implementation, t.implementation) == 0 &&
               got.algorithm == t.algorithm && got.seconds == t.seconds &&
               got.rule_seconds == t.rule_seconds && got.tried == 0 && got.kept,
           "and tells what it has read");
    w.args.alpha = 0.5; /* no part of the shape */
    tap_ok(explained(&w).tuned, "whatever alpha is");
    w.args.trans_a = true;
    ssq_tensor_destroy(&w.a);
    w.args.a = w.a = ones(&w, SSQ_F16, K, M);
    tap_ok(!explained(&w).tuned, "another order of a is another shape");
    end(&w);
}

/* A caller's choice comes first. */
static void test_forced(void)
{
    struct fakecuda_tuning_work w;
    unsigned algorithm;

    begin(&w);
    NEED(ssq_implementation_pin(w.dev, "gemm", "tiled"));
    ssq_gemm_explanation x = explained(&w);
    tap_ok(strcmp(x.implementation, "tiled") == 0 && !x.tuned,
           "a pin goes before it");
    NEED(ssq_implementation_pin(w.dev, "gemm", "cublaslt"));
    tap_ok(!explained(&w).tuned && multiplies(&w, &algorithm) && algorithm == 0,
           "and before the algorithm, where it names the implementation");
    end(&w);
    setenv("SSQ_IMPL", "cuda/gemm:tiled", 1);
    begin(&w);
    x = explained(&w);
    tap_ok(strcmp(x.implementation, "tiled") == 0 && !x.tuned,
           "so does SSQ_IMPL");
    end(&w);
    unsetenv("SSQ_IMPL");
}

/* A choice without matrix units, for a call that requires them. */
static void test_required(void)
{
    ssq_gemm_tuning t = SSQ_GEMM_TUNING_INIT;
    struct fakecuda_tuning_work w;
    unsigned algorithm;

    setenv("FAKEBLAS_SLOW", "99", 1);
    begin_of(&w, "cuda:0", SSQ_F32, 8);
    w.args.flags = SSQ_GEMM_ALLOW_TF32;
    NEED(ssq_gemm_tune(w.q, &w.args, &t));
    end(&w);
    unsetenv("FAKEBLAS_SLOW");
    begin_of(&w, "cuda:0", SSQ_F32, 8);
    tap_ok(!explained(&w).tuned, "without TF32 it is another shape");
    w.args.flags = SSQ_GEMM_ALLOW_TF32;
    ssq_gemm_explanation x = explained(&w);
    tap_ok(t.tf32 && x.tuned && strcmp(x.implementation, "tiled") == 0,
           "all algorithms are slow: %s is kept", t.implementation);
    w.args.flags |= SSQ_GEMM_REQUIRE_MATRIX_UNITS;
    tap_ok(multiplies(&w, &algorithm),
           "a call that requires matrix units has them all the same");
    end(&w);
}

/* ---- what happens to files ---- */

static size_t read_file(unsigned char *to, size_t room)
{
    FILE *f = fopen(file, "rb");
    size_t n = f == NULL ? 0 : fread(to, 1, room, f);

    if (f != NULL)
        fclose(f);
    return n;
}

static void write_file(const unsigned char *from, size_t n)
{
    FILE *f = fopen(file, "wb");

    if (f == NULL || fwrite(from, 1, n, f) != n || fclose(f) != 0)
        tap_bail("cannot write %s", file);
}

/* Opened, it has read this many shapes, and said this many things. */
static bool reads(size_t shapes, unsigned lines)
{
    ssq_device *dev = NULL;

    warned = 0;
    NEED(ssq_device_open("cuda:0", NULL, &dev));
    size_t n = kept(dev);
    ssq_device_close(&dev);
    return n == shapes && warned == lines;
}

/* A file whose checksum is right, and what it says cannot be: the last byte of
 * an implementation's name, which is 0, is not. */
static void test_implausible(const unsigned char *whole, size_t n)
{
    /* magic, two lengths, the checksum; then the key, and a shape's entry */
    const size_t head = 32, entry = 96, name_ends = 40 + 31;
    static unsigned char bad[8192];
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    if (n < head + entry || n > sizeof(bad))
        tap_bail("%s has %zu bytes", file, n);
    memcpy(bad, whole, n);
    memset(bad + n - entry + 40, 'a', 32);
    tap_ok(whole[n - entry + name_ends] == 0 &&
               memcmp(whole + n - entry + 40, "cublaslt", 9) == 0,
           "the file is as the test thinks");
    for (size_t i = head; i < n; i++) /* FNV-1a */
        sum = (sum ^ bad[i]) * UINT64_C(0x100000001b3);
    memcpy(bad + 24, &sum, sizeof(sum));
    write_file(bad, n);
    tap_ok(reads(0, 1), "a checksum alone is not believed");
    write_file(whole, n);
    tap_ok(reads(1, 0), "the whole one is");
}

static void test_damaged(void)
{
    static unsigned char whole[8192], bad[8192];
    size_t n = read_file(whole, sizeof(whole)), wrong = 0, tries = 0;

    quiet = true;
    test_implausible(whole, n);
    for (size_t i = 0; i < n; i += n / 16, tries++) {
        memcpy(bad, whole, n);
        bad[i] ^= 0x10;
        write_file(bad, n);
        wrong += !reads(0, 1);
    }
    tap_ok(wrong == 0 && tries >= 16,
           "a bit of %zu changed: no file, and one line (%zu wrong)", n, wrong);
    wrong = 0;
    for (size_t i = 0; i < n; i += n / 8) {
        write_file(whole, i);
        wrong += !reads(0, 1);
    }
    memcpy(bad, whole, n);
    bad[n] = 0;
    write_file(bad, n + 1);
    wrong += !reads(0, 1);
    tap_ok(wrong == 0, "too short, empty, or too long: the same (%zu wrong)",
           wrong);
    write_file(bad, n / 2);
    struct fakecuda_tuning_work w;
    ssq_gemm_tuning t = SSQ_GEMM_TUNING_INIT;
    setenv("FAKEBLAS_SLOW", "1", 1);
    begin(&w);
    NEED(ssq_gemm_tune(w.q, &w.args, &t));
    end(&w);
    unsetenv("FAKEBLAS_SLOW");
    tap_ok(t.kept && reads(1, 0), "to tune writes it anew");
    (void)unlink(file);
    tap_ok(symlink("/etc/hostname", file) == 0 && reads(0, 1),
           "a link is not followed");
    (void)unlink(file);
    tap_ok(reads(0, 0), "no file is no line");
    write_file(whole, n);
    quiet = false;
    tap_ok(is_used("and the whole one is there again"), "as it was");
}

/* Another version of the library, and other algorithms of the same one. */
static void test_others(void)
{
    setenv("FAKEBLAS_PATCH", "1", 1);
    tap_ok(reads(0, 0), "another cuBLASLt has read nothing, and says nothing");
    unsetenv("FAKEBLAS_PATCH");
    setenv("FAKEBLAS_LIST", "1", 1);
    tap_ok(!is_used("a list without the algorithm"), "its own first is taken");
    unsetenv("FAKEBLAS_LIST");
    setenv("FAKEBLAS_FAIL", "first", 1);
    tap_ok(is_used("a library whose first refuses"), "the kept one does it");
    unsetenv("FAKEBLAS_FAIL");
    setenv("FAKEBLAS_FAIL", "create", 1);
    struct fakecuda_tuning_work w;
    unsigned algorithm;
    begin(&w);
    ssq_gemm_explanation x = explained(&w);
    tap_ok(!x.tuned && strcmp(x.implementation, "cublaslt") != 0 &&
               multiplies(&w, &algorithm),
           "without the library %s has it", x.implementation);
    end(&w);
    unsetenv("FAKEBLAS_FAIL");
    tap_ok(is_used("the same one again"), "uses it again");
}

/* All algorithms refuse, but only after open: the kept one is passed over. */
static void test_late(void)
{
    struct fakecuda_tuning_work w;
    unsigned algorithm;

    begin(&w);
    setenv("FAKEBLAS_REFUSE", "1", 1);
    bool right = multiplies(&w, &algorithm) && multiplies(&w, &algorithm);
    unsetenv("FAKEBLAS_REFUSE");
    tap_ok(right && !explained(&w).tuned, "where each refuses, others do it");
    end(&w);
}

static void test_nowhere(void)
{
    char path[300];
    ssq_gemm_tuning t = SSQ_GEMM_TUNING_INIT;
    struct fakecuda_tuning_work w;

    snprintf(path, sizeof(path), "%s/plain", home);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    setenv("XDG_CACHE_HOME", path, 1); /* root writes to what is read-only */
    begin_of(&w, "cuda:0", SSQ_F16, 8);
    NEED(ssq_gemm_tune(w.q, &w.args, &t));
    tap_ok(!t.kept && t.tried >= 2, "a cache that cannot be written: not kept");
    NEED(ssq_gemm_tuning_clear(w.dev));
    end(&w);
    setenv("XDG_CACHE_HOME", home, 1);
    setenv("SSQ_CACHE", "0", 1);
    begin_of(&w, "cuda:0", SSQ_F16, 8);
    NEED(ssq_gemm_tune(w.q, &w.args, &t));
    tap_ok(!t.kept && ssq_gemm_tuning_path(w.dev)[0] == '\0' &&
               kept(w.dev) == 0,
           "SSQ_CACHE=0: nothing is kept, nothing is read");
    end(&w);
    unsetenv("SSQ_CACHE");
    begin_of(&w, "reference", SSQ_F16, 8);
    NEED(ssq_gemm_tune(w.q, &w.args, &t));
    tap_ok(!t.kept && t.tried == 1 &&
               strcmp(t.implementation, "reference") == 0,
           "reference has one implementation, and no file");
    end(&w);
}

/* In a child: tune three shapes. */
static int tune_three(void *from)
{
    for (int64_t i = 0; i < 3; i++) {
        ssq_gemm_tuning t = SSQ_GEMM_TUNING_INIT;
        struct fakecuda_tuning_work w;
        begin_of(&w, "cuda:0", SSQ_F16, 8 * (i + *(const int64_t *)from));
        bool ok = ssq_gemm_tune(w.q, &w.args, &t) == SSQ_OK && t.kept;
        end(&w);
        if (!ok)
            return 1;
    }
    return 0;
}

/* Before this process opens a device: a driver does not survive a fork. */
static void test_at_once(void)
{
    static const int64_t from[] = {1, 4};
    pid_t pid[2];
    int status, good = 0;

    for (int i = 0; i < 2; i++) {
        pid[i] = fork();
        if (pid[i] == 0)
            _exit(tune_three((void *)(uintptr_t)&from[i]));
    }
    for (int i = 0; i < 2; i++)
        good += waitpid(pid[i], &status, 0) == pid[i] && tap_exited(status, 0);
    tap_ok(good == 2, "two processes tune at once");
    ssq_device *dev = NULL;
    NEED(ssq_device_open("cuda:0", NULL, &dev));
    tap_ok(kept(dev) == 6, "and keep all that both found: %zu", kept(dev));
    NEED(ssq_gemm_tuning_clear(dev));
    tap_ok(access(ssq_gemm_tuning_path(dev), F_OK) != 0 && kept(dev) == 6 &&
               ssq_gemm_tuning_clear(dev) == SSQ_OK,
           "what is cleared is gone, but from devices that are open");
    ssq_device_close(&dev);
    tap_ok(reads(0, 0), "the next one has nothing");
}

/* Remove a directory and its files. */
static void empty(const char *path)
{
    DIR *d = opendir(path);

    if (d == NULL)
        return;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        (void)unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    (void)rmdir(path);
}

/* ---- misuse ---- */

static void test_misuse(void)
{
    ssq_gemm_tuning t = SSQ_GEMM_TUNING_INIT;
    struct fakecuda_tuning_work w;
    ssq_graph *g = NULL;

    begin(&w);
    core_status(ssq_gemm_tune(w.q, &w.args, NULL), SSQ_ERR_INVALID, "NULL",
                "to nowhere");
    core_status(ssq_gemm_tune(NULL, &w.args, &t), SSQ_ERR_INVALID, "NULL",
                "without a queue");
    core_status(ssq_gemm_tune(w.q, NULL, &t), SSQ_ERR_INVALID, "NULL",
                "without arguments");
    t.struct_size = 8;
    core_status(ssq_gemm_tune(w.q, &w.args, &t), SSQ_ERR_INVALID, "struct_size",
                "into another struct");
    core_status(ssq_gemm_tuning_get(w.dev, 0, &t), SSQ_ERR_INVALID,
                "struct_size", "read into another struct");
    t.struct_size = sizeof(t);
    core_status(ssq_gemm_tuning_get(w.dev, 999, &t), SSQ_ERR_NOT_FOUND, "999",
                "a shape past the last");
    core_status(ssq_gemm_tuning_get(NULL, 0, &t), SSQ_ERR_INVALID, "NULL",
                "of no device");
    core_status(ssq_gemm_tuning_clear(NULL), SSQ_ERR_INVALID, "NULL",
                "no device to be cleared");
    tap_ok(ssq_gemm_tuning_path(NULL)[0] == '\0', "no device has no file");
    w.args.alpha = 0.0;
    core_status(ssq_gemm_tune(w.q, &w.args, &t), SSQ_ERR_INVALID, "alpha",
                "nothing to be multiplied");
    w.args.alpha = 1.0;
    w.args.b = w.d;
    core_status(ssq_gemm_tune(w.q, &w.args, &t), SSQ_ERR_INVALID, "gemm_tune",
                "what ssq_gemm refuses");
    w.args.b = w.b;
    NEED(ssq_implementation_pin(w.dev, "gemm", "tiled"));
    core_status(ssq_gemm_tune(w.q, &w.args, &t), SSQ_ERR_INVALID,
                "pinned to tiled", "a pin");
    NEED(ssq_implementation_pin(w.dev, "gemm", NULL));
    NEED(ssq_graph_begin(w.q));
    core_status(ssq_gemm_tune(w.q, &w.args, &t), SSQ_ERR_INVALID, "captured",
                "a capture");
    NEED(ssq_graph_end(w.q, &g));
    ssq_graph_destroy(&g);
    tap_ok(t.tried == 0 && !t.kept, "none of them wrote anything");
    end(&w);
}

int main(void)
{
    char text[512];

    if (driver_missing("cuda"))
        return tap_done(0);
    const char *tmp = getenv("TMPDIR");
    snprintf(home, sizeof(home), "%s/sesqui-tune-XXXXXX",
             tmp == NULL ? "/tmp" : tmp);
    if (mkdtemp(home) == NULL)
        tap_bail("no directory %s", home);
    setenv("XDG_CACHE_HOME", home, 1);
    unsetenv("SSQ_CACHE");
    setenv("FAKECUDA_QUIET", "1", 1);
    ssq_log_set(hear, NULL);
    test_at_once();
    test_kept();
    test_damaged();
    test_others();
    test_late();
    test_forced();
    test_required();
    test_nowhere();
    test_misuse();
    tap_ok(fakeblas_faults(text, sizeof(text)) == 0,
           "nothing was against the documentation: %s", text);
    tap_ok(fakeblas_live() == 0, "nothing is left");
    snprintf(text, sizeof(text), "%s/sesqui", home);
    empty(text);
    empty(home);
    return tap_done(56);
}
