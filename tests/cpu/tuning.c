/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.c - which product runs on cpu is decided by its shape, the processor's
 * instructions and the file that ssq_gemm_tune writes: never by the number of
 * threads, nor by what was kept of other instructions. A checkpoint names these
 * choices, and a load under others says so. */
#include <sesqui/checkpoint.h>
#include <sesqui/cpu.h>
#include <sesqui/tune.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/gemm/gemm.h"
#include "lib/op/gemm/tuned.h"
#include "tests/core/core.h"
#include "tests/cpu/sets.h"

#include <stdlib.h>
#include <unistd.h>

#define M 48
#define N 64
#define K 96

struct tuning_work {
    ssq_device *dev;
    ssq_queue *q;
    ssq_tensor *a, *b, *d;
    ssq_gemm_explanation e;
};

static char folder[256];

static ssq_tensor *matrix(struct tuning_work *w, int64_t rows, int64_t columns)
{
    const int64_t shape[] = {rows, columns};
    ssq_tensor *t = NULL;
    NEED(ssq_tensor_create(w->dev, SSQ_BF16, 2, shape, &t));
    NEED(ssq_random_normal(w->q, SSQ_RANDOM_NORMAL(.x = t, .seed = 7)));
    return t;
}

static void end(struct tuning_work *w)
{
    ssq_tensor_destroy(&w->a);
    ssq_tensor_destroy(&w->b);
    ssq_tensor_destroy(&w->d);
    ssq_queue_destroy(&w->q);
    ssq_device_close(&w->dev);
}

/* A device as it is opened now, and how it would multiply. */
static void begin(struct tuning_work *w, const char *instructions,
                  uint32_t threads)
{
    ssq_cpu_options o = SSQ_CPU_OPTIONS_INIT;
    o.instructions = instructions;
    o.threads = threads;
    *w = (struct tuning_work){.e = SSQ_GEMM_EXPLANATION_INIT};
    NEED(ssq_cpu_device_open(&o, NULL, &w->dev));
    w->q = core_queue(w->dev);
    w->a = matrix(w, M, K);
    w->b = matrix(w, K, N);
    w->d = matrix(w, M, N);
    NEED(ssq_gemm_explain(w->q, SSQ_GEMM(.a = w->a, .b = w->b, .d = w->d),
                          &w->e));
}

static ssq_gemm_tuning tune(struct tuning_work *w)
{
    ssq_gemm_tuning t = SSQ_GEMM_TUNING_INIT;
    NEED(ssq_gemm_tune(w->q, SSQ_GEMM(.a = w->a, .b = w->b, .d = w->d), &t));
    return t;
}

static unsigned kept(const ssq_device *dev)
{
    ssq_gemm_tuning t = SSQ_GEMM_TUNING_INIT;
    unsigned n = 0;
    while (ssq_gemm_tuning_get(dev, n, &t) == SSQ_OK)
        n++;
    return n;
}

static void test_tune(void)
{
    struct tuning_work w;
    begin(&w, NULL, 2);
    ssq_gemm_tuning t = tune(&w);
    tap_ok(t.tried >= 2 && t.kept && t.m == M && t.n == N && t.k == K,
           "%u implementations were timed, %s is kept", (unsigned)t.tried,
           t.implementation);
    end(&w);
    for (uint32_t threads = 1; threads <= 3; threads++) {
        begin(&w, NULL, threads);
        tap_ok(w.e.tuned && strcmp(w.e.implementation, t.implementation) == 0 &&
                   kept(w.dev) == 1,
               "%u threads take it, too: %s", (unsigned)threads,
               w.e.implementation);
        end(&w);
    }
}

/* Timings kept for the best instructions are not used for plain ones. */
static void test_instructions(void)
{
    char path[4096];
    struct tuning_work w;
    begin(&w, NULL, 2);
    ssq_cpu_info best = SSQ_CPU_INFO_INIT;
    NEED(ssq_cpu_info_get(w.dev, &best));
    snprintf(path, sizeof(path), "%s", ssq_gemm_tuning_path(w.dev));
    end(&w);
    const char *sets[SETS_MOST];
    if (strcmp(sets[sets_find(sets) - 1], "plain") != 0 ||
        strcmp(best.instructions, "plain") == 0)
        return; /* this build has no others for this processor */
    begin(&w, "plain", 2);
    tap_ok(!w.e.tuned && kept(w.dev) == 0 &&
               strcmp(path, ssq_gemm_tuning_path(w.dev)) != 0,
           "plain instructions have a file of their own: %s",
           ssq_gemm_tuning_path(w.dev));
    (void)tune(&w);
    end(&w);
    begin(&w, "plain", 2);
    tap_ok(w.e.tuned && kept(w.dev) == 1, "which is read by the next device");
    NEED(ssq_gemm_tuning_clear(w.dev));
    end(&w);
    begin(&w, NULL, 2);
    tap_ok(w.e.tuned && kept(w.dev) == 1, "%s has lost nothing by that",
           best.instructions);
    end(&w);
    setenv("SSQ_CPU_ISA", "plain", 1);
    begin(&w, NULL, 2);
    tap_ok(!w.e.tuned && kept(w.dev) == 0, "SSQ_CPU_ISA is one of them");
    end(&w);
    unsetenv("SSQ_CPU_ISA");
}

/* Write a choice into the device's file, as if it had been the fastest. */
static bool keep(const char *implementation)
{
    struct gemm_op op;
    struct tuning t;
    struct tuning_work w;
    begin(&w, NULL, 2);
    memset(&t, 0, sizeof(t));
    NEED(gemm_build(w.q, SSQ_GEMM(.a = w.a, .b = w.b, .d = w.d), false, "test",
                    &op));
    t.key = tuning_key_of(&op);
    snprintf(t.implementation, sizeof(t.implementation), "%s", implementation);
    t.seconds = t.rule_seconds = 1e-6;
    bool good = tuning_keep(w.dev, &t);
    end(&w);
    return good;
}

static void bits(struct tuning_work *w, float *out)
{
    NEED(ssq_gemm(w->q, SSQ_GEMM(.a = w->a, .b = w->b, .d = w->d)));
    NEED(ssq_tensor_read(w->q, w->d, out, M * N * sizeof(*out), SSQ_F32));
}

static void test_file(void)
{
    static float by_file[M * N], by_pin[M * N];
    struct tuning_work w;
    tap_ok(keep("packed"), "packed is kept, whatever it takes");
    begin(&w, NULL, 2);
    tap_ok(w.e.tuned && strcmp(w.e.implementation, "packed") == 0,
           "%s is chosen then", w.e.implementation);
    bits(&w, by_file);
    NEED(ssq_implementation_pin(w.dev, "gemm", "packed"));
    bits(&w, by_pin);
    tap_ok(memcmp(by_file, by_pin, sizeof(by_pin)) == 0,
           "with the bits of a pin");
    end(&w);
    tap_ok(keep("there-is-none"), "one that is not there is kept");
    begin(&w, NULL, 2);
    tap_ok(!w.e.tuned && strcmp(w.e.implementation, "there-is-none") != 0,
           "then the rules choose: %s", w.e.implementation);
    end(&w);
}

static long calls, fail_at; /* which allocation fails; 0: none */

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

/* Write a choice of a shape with this m. */
static bool keep_shape(const ssq_device *dev, int64_t m)
{
    struct tuning t;
    memset(&t, 0, sizeof(t));
    t.key.m = m;
    t.key.n = t.key.k = 1;
    snprintf(t.implementation, sizeof(t.implementation), "packed");
    t.seconds = t.rule_seconds = 1e-6;
    return tuning_keep(dev, &t);
}

static unsigned in_file(void)
{
    ssq_device *dev = core_open("cpu");
    unsigned n = kept(dev);
    ssq_device_close(&dev);
    return n;
}

/* If memory runs out, the tunings of other shapes stay in the file. */
static void test_short(void)
{
    const ssq_allocator failing = {sizeof(failing), fail_alloc, fail_free,
                                   NULL};
    unsigned wrong = 0;
    bool good = false;
    NEED(ssq_allocator_set(&failing));
    ssq_device *dev = core_open("cpu"), *none = NULL;
    bool made = keep_shape(dev, 1) && keep_shape(dev, 2);
    const unsigned before = in_file();
    for (long at = 1; !good && at < 100; at++) {
        calls = 0;
        fail_at = at;
        good = keep_shape(dev, 3);
        bool spared = calls < at;
        fail_at = 0;
        wrong += good != spared || in_file() != before + spared;
    }
    tap_ok(made && good && wrong == 0,
           "a block is refused: %u of the file's shapes stay", before);
    ssq_status st = SSQ_ERR_NOMEM;
    for (fail_at = 1; st == SSQ_ERR_NOMEM && fail_at < 10000; fail_at++) {
        calls = 0;
        st = ssq_device_open("cpu", NULL, &none);
    }
    fail_at = 0;
    tap_ok(st == SSQ_OK && kept(none) == before + 1,
           "and a device that opens nevertheless has them: %u", kept(none));
    ssq_device_close(&none);
    NEED(ssq_gemm_tuning_clear(dev));
    ssq_device_close(&dev);
    NEED(ssq_allocator_set(NULL));
}

/* On processors where it is not faster dot comes after packed, and exists to
 * be tried: a device of one is made up here. */
static void test_dot(void)
{
    const struct gemm_impl *dot = cpu_gemm;
    struct gemm_op op = {.k = 8};
    struct isa isa = {.name = "avx512"};
    struct backend_device d = {.isa = &isa};
    struct why why = {""};
    while (strcmp(dot->name, "dot") != 0)
        dot++;
    op.a.dtype = op.b.dtype = SSQ_BF16;
    isa.dot = (const struct gemm_kernels *)(const void *)&isa; /* some */
    d.features.avx512_bf16 = true;
    for (int amd = 0; amd < 2; amd++) {
        d.features.amd = amd;
        tap_ok(dot->check(&d, &op, &why) && dot->last(&d, &op) == !amd,
               "dot is admitted%s",
               amd ? " on AMD's processors" : " and last on others");
    }
    d.features.avx512_bf16 = false;
    tap_ok(!dot->check(&d, &op, &why) && core_has(why.text, "avx512_bf16"),
           "not without the instruction: %s", why.text);
    op.a.dtype = SSQ_F32;
    tap_ok(!dot->check(&d, &op, &why), "nor for f32: %s", why.text);
}

/* ---- checkpoints ---- */

static struct {
    unsigned lines;
    char text[2048];
} heard;

static void hear(void *user, ssq_log_level level, const char *text)
{
    (void)user;
    if (level != SSQ_LOG_WARNING || !core_has(text, "when it was saved"))
        return;
    heard.lines++;
    snprintf(heard.text + strlen(heard.text),
             sizeof(heard.text) - strlen(heard.text), "%s\n", text);
}

static const char *file(void)
{
    static char path[300];
    snprintf(path, sizeof(path), "%s/a.safetensors", folder);
    return path;
}

/* three: a device that allows three products of f16's halves. */
static ssq_status through(const char *device, bool three, const char *pin,
                          bool save)
{
    ssq_device_options options = SSQ_DEVICE_OPTIONS_INIT;
    options.allow_f16_three = three;
    ssq_device *dev = NULL;
    NEED(ssq_device_open(device, &options, &dev));
    ssq_queue *q = core_queue(dev);
    ssq_scaler *s = NULL;
    NEED(ssq_implementation_pin(dev, "gemm", pin));
    NEED(ssq_scaler_create(dev, "sesqui", NULL, &s));
    memset(&heard, 0, sizeof(heard));
    ssq_status st =
        save ? ssq_checkpoint_save(q, file(), SSQ_CHECKPOINT(.scaler = s))
             : ssq_checkpoint_load(q, file(), SSQ_CHECKPOINT(.scaler = s));
    ssq_scaler_destroy(&s);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
    return st;
}

/* Loads, and hears a line for each of these words. */
static void loads_on(const char *device, bool three, const char *pin,
                     unsigned lines, const char *words, const char *what)
{
    ssq_status st = through(device, three, pin, false);
    bool all = true;
    for (const char *at = words; *at != '\0';) {
        char word[64];
        size_t n = strcspn(at, "|");
        snprintf(word, sizeof(word), "%.*s", (int)n, at);
        all = all && core_has(heard.text, word);
        at += n + (at[n] == '|');
    }
    if (!tap_ok(st == SSQ_OK && heard.lines == lines && all,
                "%s: %u choices differ", what, heard.lines))
        tap_diag("%s: %s", ssq_status_name(st), heard.text);
}

static void loads(const char *device, const char *pin, unsigned lines,
                  const char *words, const char *what)
{
    loads_on(device, false, pin, lines, words, what);
}

static void test_checkpoints(void)
{
    static const char *const keys[] = {
        "sesqui.choice.library", "sesqui.choice.device", "sesqui.choice.driver",
        "sesqui.choice.gemm", "sesqui.choice.pins"};
    ssq_safetensors *f = NULL;
    NEED(through("cpu", false, NULL, true));
    NEED(ssq_safetensors_open(file(), &f));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *text = ssq_safetensors_metadata(f, keys[i]);
        tap_ok(text != NULL && text[0] != '\0', "%s is \"%s\"", keys[i],
               text == NULL ? "" : text);
    }
    ssq_safetensors_close(&f);
    loads("cpu", NULL, 0, "", "the same device");
    setenv("SSQ_NUM_THREADS", "1", 1);
    loads("cpu", NULL, 0, "", "with one thread");
    unsetenv("SSQ_NUM_THREADS");
    loads("cpu", "packed", 1, "pins was \"none\"|\"gemm:packed\" here",
          "with a pin");
    loads("reference", NULL, 3, "device was \"cpu\"|\"reference\" here|gemm|",
          "another device");
    loads_on("cpu", true, NULL, 1, "gemm was|f16 by three products\" here",
             "where three products of halves do");
    tap_ok(keep("packed"), "another choice is kept");
    loads("cpu", NULL, 1, "gemm was|tuned for 1 shapes", "tuned");
    const char *sets[SETS_MOST];
    if (strcmp(sets[sets_find(sets) - 1], "plain") != 0)
        return; /* not compiled */
    setenv("SSQ_CPU_ISA", "plain", 1);
    /* nothing is kept of plain instructions */
    loads("cpu", NULL, 2, "driver was|plain|gemm was", "plain instructions");
    unsetenv("SSQ_CPU_ISA");
}

int main(void)
{
    snprintf(folder, sizeof(folder), "/tmp/ssq-tuning-XXXXXX");
    if (mkdtemp(folder) == NULL)
        tap_bail("no folder for a cache");
    setenv("XDG_CACHE_HOME", folder, 1);
    unsetenv("SSQ_CACHE");
    unsetenv("SSQ_IMPL");
    unsetenv("SSQ_CPU_ISA");
    unsetenv("SSQ_NUM_THREADS");
    ssq_log_set(hear, NULL);
    test_tune();
    test_instructions();
    test_file();
    test_short();
    test_dot();
    test_checkpoints();
    char command[300];
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    tap_ok(system(command) == 0, "the folder is gone");
    return tap_done(27);
}
