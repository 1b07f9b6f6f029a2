/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - tests of listing, choosing and opening devices, and of the
 * properties logged about it. */

#include "lib/core/base/env.h"
#include "lib/core/base/error.h"

#include "tests/core/core.h"

static void test_list(void)
{
    size_t n = ssq_device_count();
    int reference = 0, guard = 0, bad = 0;
    ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;

    for (size_t i = 0; i < n; i++) {
        NEED(ssq_device_list(i, &e));
        reference += strcmp(e.name, "reference") == 0 && e.available;
        guard += strcmp(e.name, "guard") == 0 && e.available;
        bad += e.name[0] == '\0' || e.backend[0] == '\0' ||
               (e.available ? e.description[0] == '\0' || e.reason[0] != '\0'
                            : e.reason[0] == '\0');
    }
    tap_ok(reference == 1 && guard == 1,
           "of %zu entries one is reference, one is guard", n);
    tap_ok(bad == 0, "the others have a description or a reason; %d have not",
           bad);
    core_status(ssq_device_list(n, &e), SSQ_ERR_NOT_FOUND, NULL,
                "entry %zu of %zu", n, n);
    core_status(ssq_device_list(SIZE_MAX, &e), SSQ_ERR_NOT_FOUND, NULL,
                "entry 2^64 - 1");
    core_status(ssq_device_list(0, NULL), SSQ_ERR_INVALID, "NULL",
                "an entry into NULL");
    e.struct_size = 3;
    core_status(ssq_device_list(0, &e), SSQ_ERR_INVALID, "struct_size",
                "an entry with struct_size 3");
}

/* Available ones first, and of those the better ones. */
static void test_order(void)
{
    int last = -1, reference = -1, guard = -1, gap = -1;

    for (int i = 0; i < (int)ssq_device_count(); i++) {
        ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;

        NEED(ssq_device_list((size_t)i, &e));
        if (e.available)
            last = i;
        else if (gap < 0)
            gap = i;
        if (strcmp(e.name, "reference") == 0)
            reference = i;
        if (strcmp(e.name, "guard") == 0)
            guard = i;
    }
    tap_ok(gap < 0 || last < gap, "what is not available comes last");
    tap_ok(reference < guard, "reference comes before guard");
}

static void test_unknown(void)
{
    ssq_device *dev = NULL;

    core_status(ssq_device_open("gpu", NULL, &dev), SSQ_ERR_NOT_FOUND,
                "\"gpu\"|reference|guard", "no device \"gpu\": those that are");
    core_status(ssq_device_open("guard:3", NULL, &dev), SSQ_ERR_NOT_FOUND,
                "guard:3|there are guard", "no fourth guard: those that are");
    for (size_t i = 0; i < ssq_device_count(); i++) {
        ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;

        NEED(ssq_device_list(i, &e));
        if (e.available)
            continue;
        core_status(ssq_device_open(e.name, NULL, &dev), SSQ_ERR_NOT_FOUND,
                    e.reason, "opening %s says why it is not", e.name);
    }
    core_status(ssq_device_open("", NULL, &dev), SSQ_ERR_NOT_FOUND, "\"\"",
                "no device \"\"");
    core_status(ssq_device_open("reference:1", NULL, &dev), SSQ_ERR_NOT_FOUND,
                "reference:1", "no second reference");
    core_status(ssq_device_open(NULL, NULL, &dev), SSQ_ERR_INVALID, "NULL",
                "a name of NULL");
    core_status(ssq_device_open("reference", NULL, NULL), SSQ_ERR_INVALID,
                "NULL", "a device into NULL");
    ssq_device_options options = SSQ_DEVICE_OPTIONS_INIT;
    options.struct_size = 3;
    core_status(ssq_device_open("reference", &options, &dev), SSQ_ERR_INVALID,
                "struct_size|3", "options with struct_size 3");
    tap_ok(dev == NULL, "no failed call wrote its result");
}

static ssq_device_props open_props(const char *name)
{
    ssq_device *dev = core_open(name);
    ssq_device_props props = SSQ_DEVICE_PROPS_INIT;

    NEED(ssq_device_props_get(dev, &props));
    ssq_device_close(&dev);
    return props;
}

static void test_auto(void)
{
    ssq_device_props p;
    ssq_device *dev = NULL;

    unsetenv("SSQ_DEVICE");
    p = open_props("auto");
    tap_ok(strcmp(p.backend, "guard") != 0 && core_has(p.choice, p.backend),
           "auto is not guard: %s", p.choice);
    setenv("SSQ_DEVICE", "guard", 1);
    p = open_props("auto");
    tap_ok(strcmp(p.name, "guard") == 0 && core_has(p.choice, "SSQ_DEVICE"),
           "unless SSQ_DEVICE says so: %s", p.choice);
    tap_ok(strcmp(open_props("reference").name, "reference") == 0,
           "a name is stronger than SSQ_DEVICE");
    setenv("SSQ_DEVICE", "nonsense", 1);
    core_status(ssq_device_open("auto", NULL, &dev), SSQ_ERR_NOT_FOUND,
                "nonsense", "SSQ_DEVICE=nonsense is not passed over");
    setenv("SSQ_DEVICE", "", 1);
    tap_ok(strcmp(open_props("auto").backend, "guard") != 0,
           "an empty SSQ_DEVICE is none");
    unsetenv("SSQ_DEVICE");
}

static void test_props(void)
{
    ssq_device *dev = core_open("reference");
    ssq_device_props props = {.struct_size = 3};

    core_status(ssq_device_props_get(dev, &props), SSQ_ERR_INVALID,
                "struct_size", "props with struct_size 3");
    core_status(ssq_device_props_get(dev, NULL), SSQ_ERR_INVALID, "NULL",
                "props into NULL");
    core_status(ssq_device_props_get(NULL, &props), SSQ_ERR_INVALID, "NULL",
                "props of NULL");
    ssq_device_close(&dev);
    for (size_t i = 0; i < core_device_count(); i++) {
        ssq_device_props p = open_props(core_device(i));

        tap_ok(strcmp(p.name, core_device(i)) == 0 &&
                   strncmp(p.name, p.backend, strlen(p.backend)) == 0 &&
                   p.description[0] != '\0' && p.choice[0] != '\0',
               "%s: %s, %s", p.name, p.description, p.choice);
        /* reference and cpu are done when a call returns */
        bool at_once = i == 0 || strcmp(p.name, "cpu") == 0;
        tap_ok(p.alignment == 256 && p.memory_bytes > 0 &&
                   p.binding_bytes > 0 && (p.host_memory || i > 1) &&
                   p.asynchronous == !at_once,
               "%s: aligned to %u, %llu bytes", p.name, p.alignment,
               (unsigned long long)p.memory_bytes);
        if (i > 1) /* the rest is the host's */
            continue;
        tap_ok((p.f16 & (SSQ_CAP_ARITHMETIC | SSQ_CAP_MATRIX)) == 0 &&
                   (p.f16 & SSQ_CAP_ARITHMETIC_EMULATED) != 0 &&
                   (p.f16 & SSQ_CAP_STORAGE_EMULATED) != 0 && p.bf16 == p.f16,
               "%s: f16 and bf16 are emulated, no matrix units", p.name);
        tap_ok(p.f32_subnormals == SSQ_SUBNORMALS_PRESERVED,
               "%s: float32 subnormals are kept", p.name);
    }
}

static char log_text[4096];
static int log_lines;

static void keep_line(void *user, ssq_log_level level, const char *text)
{
    size_t at = strlen(log_text);

    snprintf(log_text + at, sizeof(log_text) - at, "%d %s\n", (int)level, text);
    log_lines++;
    *(int *)user += 1;
}

static void test_log_callback(void)
{
    int calls = 0;
    ssq_device *dev;

    ssq_log_set(keep_line, &calls);
    dev = core_open("guard");
    ssq_log_set(NULL, NULL);
    tap_ok(calls > 0 && calls == log_lines && core_has(log_text, "guard"),
           "opening guard logs %d lines: %s", calls, log_text);
    tap_ok(strchr(log_text, '\n') == strrchr(log_text, '\n') || calls > 1,
           "a line has no newline of its own");
    ssq_device_close(&dev);
    calls = log_lines;
    dev = core_open("guard");
    ssq_device_close(&dev);
    tap_ok(calls == log_lines, "without a callback nothing is called");
}

struct verbose {
    const char *topics; /* of SSQ_VERBOSE; NULL: not set */
    FILE *file;         /* where standard error goes */
};

static int run_verbose(void *arg)
{
    const struct verbose *v = arg;
    ssq_fill_args args = SSQ_FILL_INIT;

    dup2(fileno(v->file), STDERR_FILENO);
    if (v->topics != NULL)
        setenv("SSQ_VERBOSE", v->topics, 1);
    ssq_device *dev = core_open("reference");
    ssq_queue *q = core_queue(dev);
    ssq_tensor *t = core_vector(dev, SSQ_F32, 4);
    args.x = t;
    NEED(ssq_fill(q, &args));
    NEED(ssq_queue_sync(q));
    ssq_tensor_destroy(&t);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
    return 0;
}

/* The output of a child on standard error with SSQ_VERBOSE. */
static const char *verbose(const char *topics, char *text, size_t bytes)
{
    struct verbose v = {topics, tmpfile()};
    size_t n;

    if (v.file == NULL)
        tap_bail("no temporary file");
    if (!tap_exited(tap_fork(run_verbose, &v, 20), 0))
        tap_bail("a program with SSQ_VERBOSE=%s failed",
                 topics == NULL ? "" : topics);
    rewind(v.file);
    n = fread(text, 1, bytes - 1, v.file);
    text[n] = '\0';
    fclose(v.file);
    return text;
}

static void test_verbose(void)
{
    char text[4096];

    unsetenv("SSQ_VERBOSE");
    tap_ok(verbose(NULL, text, sizeof(text))[0] == '\0',
           "without SSQ_VERBOSE nothing is written: %s", text);
    verbose("pool,dispatch", text, sizeof(text));
    tap_ok(core_has(text, "dispatch") && core_has(text, "fill") &&
               core_has(text, "reference") && !core_has(text, "device:"),
           "SSQ_VERBOSE=pool,dispatch writes decisions: %s", text);
    verbose("device", text, sizeof(text));
    tap_ok(core_has(text, "device:") && !core_has(text, "dispatch:"),
           "SSQ_VERBOSE=device writes devices: %s", text);
    verbose("all", text, sizeof(text));
    tap_ok(core_has(text, "device:") && core_has(text, "dispatch:"),
           "SSQ_VERBOSE=all writes both");
    tap_ok(verbose("dispatchers,dev,", text, sizeof(text))[0] == '\0',
           "SSQ_VERBOSE=dispatchers,dev, writes nothing: %s", text);
}

static void test_pins(void)
{
    ssq_device *dev = core_open("reference");

    tap_ok(ssq_implementation_name(dev, "fill", 0) != NULL &&
               strcmp(ssq_implementation_name(dev, "fill", 0), "reference") ==
                   0 &&
               ssq_implementation_name(dev, "fill", 1) == NULL,
           "fill has one implementation: reference");
    tap_ok(ssq_implementation_name(dev, "nonsense", 0) == NULL &&
               ssq_implementation_name(NULL, "fill", 0) == NULL &&
               ssq_implementation_name(dev, NULL, 0) == NULL,
           "no op, no device: no implementation");
    core_status(ssq_implementation_pin(dev, "fill", "reference"), SSQ_OK, NULL,
                "fill is pinned to reference");
    core_status(ssq_implementation_pin(dev, "fill", NULL), SSQ_OK, NULL,
                "and let go");
    core_status(ssq_implementation_pin(dev, "fill", "fast"), SSQ_ERR_NOT_FOUND,
                "fill|fast|reference", "fill has no implementation fast");
    core_status(ssq_implementation_pin(dev, "nonsense", "fast"),
                SSQ_ERR_NOT_FOUND, "nonsense", "no op nonsense");
    core_status(ssq_implementation_pin(dev, NULL, "fast"), SSQ_ERR_INVALID,
                "NULL", "an op of NULL");
    core_status(ssq_implementation_pin(NULL, "fill", "fast"), SSQ_ERR_INVALID,
                "NULL", "a device of NULL");
    ssq_device_close(&dev);
    setenv("SSQ_IMPL", "fill:reference,copy:reference", 1);
    core_status(ssq_device_open("reference", NULL, &dev), SSQ_OK, NULL,
                "SSQ_IMPL=fill:reference,copy:reference");
    ssq_device_close(&dev);
    setenv("SSQ_IMPL", "fill:fast", 1);
    core_status(ssq_device_open("reference", NULL, &dev), SSQ_ERR_NOT_FOUND,
                "SSQ_IMPL|fast", "SSQ_IMPL=fill:fast");
    setenv("SSQ_IMPL", "opencl/fill:fast,reference/fill:reference", 1);
    core_status(ssq_device_open("reference", NULL, &dev), SSQ_OK, NULL,
                "SSQ_IMPL of another backend does not matter");
    ssq_device_close(&dev);
    setenv("SSQ_IMPL", "reference/fill:fast", 1);
    core_status(ssq_device_open("reference", NULL, &dev), SSQ_ERR_NOT_FOUND,
                "SSQ_IMPL|fast", "SSQ_IMPL of this backend does");
    setenv("SSQ_IMPL", "fill", 1);
    core_status(ssq_device_open("reference", NULL, &dev), SSQ_ERR_NOT_FOUND,
                "SSQ_IMPL|\"fill\" is no op:implementation",
                "SSQ_IMPL=fill, no implementation");
    unsetenv("SSQ_IMPL");
}

/* A setuid program does not let its environment name paths. */
static void test_env_path(void)
{
    setenv("SSQ_TEST_PATH", "/tmp", 1);
    tap_ok(env_text("SSQ_TEST_PATH") != NULL &&
               strcmp(env_text("SSQ_TEST_PATH"), "/tmp") == 0,
           "a variable that names a path is read");
    tap_ok(env_text_secure("SSQ_TEST_PATH", true) == NULL &&
               env_text_secure("SSQ_TEST_PATH", false) != NULL,
           "but not when the kernel says secure");
    unsetenv("SSQ_TEST_PATH");
    tap_ok(env_text("SSQ_TEST_PATH") == NULL, "unset is NULL");
}

static int complaints;

static void count_complaints(void *user, ssq_log_level level, const char *text)
{
    (void)user;
    complaints += level == SSQ_LOG_WARNING && core_has(text, "SSQ_TEST_N");
}

/* A number is a whole one, or it is named. */
static void test_env_number(void)
{
    static const char *const wrong[] = {
        "12x",  "x",   " 7", "-1",  "+3",
        "0x10", "1e3", "4",  "101", "18446744073709551617"};
    uint64_t n = 55;
    bool flag = false;

    ssq_log_set(count_complaints, NULL);
    tap_ok(env_number("SSQ_TEST_N", 5, 100, &n) == SSQ_OK && n == 55,
           "no variable: nothing changes");
    setenv("SSQ_TEST_N", "", 1);
    tap_ok(env_number("SSQ_TEST_N", 5, 100, &n) == SSQ_OK && n == 55,
           "nor with an empty one");
    setenv("SSQ_TEST_N", "100", 1);
    tap_ok(env_number("SSQ_TEST_N", 5, 100, &n) == SSQ_OK && n == 100,
           "a number up to its limit");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        setenv("SSQ_TEST_N", wrong[i], 1);
        core_status(env_number("SSQ_TEST_N", 5, 100, &n), SSQ_ERR_INVALID,
                    "SSQ_TEST_N is|expected a number from 5 to 100", "\"%s\"",
                    wrong[i]);
    }
    tap_ok(n == 100 && complaints == 1, "%d complaint of them all", complaints);
    core_status(env_flag("SSQ_TEST_N", &flag), SSQ_ERR_INVALID,
                "expected 0 or 1", "a flag that is a number");
    unsetenv("SSQ_TEST_N");
    ssq_log_set(NULL, NULL);
}

/* And the call that needed it says so. */
static void test_env_garbage(void)
{
    static const char *const name[] = {"SSQ_LIMIT_BINDING",
                                       "SSQ_LIMIT_ITERATIONS"};
    ssq_device *dev = NULL;

    for (int i = 0; i < 2; i++) {
        setenv(name[i], "4096k", 1);
        core_status(ssq_device_open("reference", NULL, &dev), SSQ_ERR_INVALID,
                    "4096k|expected a number", "%s=4096k", name[i]);
        unsetenv(name[i]);
    }
}

static void test_status_names(void)
{
    int bad = 0;

    for (int s = SSQ_OK; s <= SSQ_ERR_SCALE; s++)
        bad += !core_has(ssq_status_name((ssq_status)s), "SSQ_");
    tap_ok(bad == 0 && ssq_status_name((ssq_status)99) != NULL,
           "every status has a name, and 99 has one");
    tap_ok(strcmp(ssq_version(), "0.1.0") == 0, "version %s", ssq_version());
}

int main(void)
{
    tap_ok(ssq_last_error()[0] == '\0', "no call failed yet: no text");
    test_list();
    test_order();
    test_unknown();
    test_auto();
    test_props();
    test_log_callback();
    test_verbose();
    test_pins();
    test_env_path();
    test_env_number();
    test_env_garbage();
    test_status_names();
    return tap_done(72);
}
