/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c - fuzz target: the environment of a process.
 *
 * variables  any value of every SSQ_ variable: a device opens and computes, or
 *            is refused with a text; without them it opens again
 * cache      a file of the cache that is damaged is as good as none, and one
 *            that is whole gives what was stored */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/core/module/disk_cache.h"
#include "tests/fuzz/pair.h"

static const char *const variables[] = {
    "SSQ_DEVICE",           "SSQ_IMPL",
    "SSQ_VERBOSE",          "SSQ_LIMIT_BINDING",
    "SSQ_LIMIT_ITERATIONS", "SSQ_CACHE",
    "SSQ_CACHE_PROGRAMS",   "SSQ_UNCERTIFIED",
    "SSQ_SKIP_BACKENDS",
};
enum { VARIABLES = sizeof(variables) / sizeof(variables[0]), STORED = 64 };

/* Pieces of values that mean something, and their neighbours. */
static const char *const pieces[] = {
    "reference",  "guard",    "gemm",
    ":",          ",",        "/",
    "all",        "dispatch", "0",
    "1",          "-1",       "64",
    "4294967296", "0x10",     " ",
    "auto",       "pool",     "fill",
    "add",        "binary",   "18446744073709551616",
    "cuda",       "%s%n",     "\xff\xfe",
    "unary",      "opencl:7", "1e3",
    "12abc",      "=",        ".",
    "device"};
enum { PIECES = sizeof(pieces) / sizeof(pieces[0]) };

static void must(ssq_status st, const char *what)
{
    if (st != SSQ_OK)
        fuzz_fail("%s: %s", what, ssq_status_name(st));
}

/* Log lines are text, and one line each. */
static void check_line(void *user, ssq_log_level level, const char *text)
{
    (void)user;
    (void)level;
    if (text == NULL || text[0] == '\0' || strchr(text, '\n') != NULL)
        fuzz_fail("a log line is \"%s\"", text == NULL ? "NULL" : text);
}

static void set_variable(struct input *in)
{
    char value[512];
    size_t n = 0;
    const char *name = variables[input_byte(in) % VARIABLES];
    unsigned parts = input_byte(in) % 6;
    for (unsigned i = 0; i < parts && n < 400; i++) {
        unsigned b = input_byte(in);
        if (b < 224) {
            n += (size_t)snprintf(value + n, sizeof(value) - n, "%s",
                                  pieces[b % PIECES]);
        } else {
            for (unsigned k = 0; k < b % 16; k++)
                value[n++] = (char)(1 + input_byte(in) % 255);
        }
    }
    value[n] = '\0';
    fuzz_trace("%s=%s", name, value);
    setenv(name, value, 1);
}

/* An op on a device that opened. */
static void compute(ssq_device *device)
{
    ssq_queue *queue = NULL;
    ssq_tensor *t = NULL;
    const int64_t shape[] = {5};
    float got[5] = {0};
    must(ssq_queue_create(device, NULL, &queue), "queue");
    must(ssq_tensor_create(device, SSQ_F32, 1, shape, &t), "tensor");
    ssq_fill_args args = SSQ_FILL_INIT;
    args.x = t;
    args.value = 3.0;
    ssq_status st = ssq_fill(queue, &args);
    if (st == SSQ_OK)
        st = ssq_tensor_read(queue, t, got, sizeof(got), SSQ_F32);
    if (st == SSQ_OK)
        st = ssq_queue_sync(queue);
    if (st == SSQ_OK && got[4] != 3.0f)
        fuzz_fail("fill answered %g", (double)got[4]);
    if (st != SSQ_OK && ssq_last_error()[0] == '\0')
        fuzz_fail("fill: %s without a text", ssq_status_name(st));
    ssq_tensor_destroy(&t);
    ssq_queue_destroy(&queue);
}

static void open_device(struct input *in)
{
    static const char *const names[] = {"reference", "auto",        "guard",
                                        "",          "reference:1", "none"};
    ssq_device *device = NULL;
    const char *name = names[input_byte(in) % 6];
    ssq_status st = ssq_device_open(name, NULL, &device);
    fuzz_trace("open %s: %s: %s", name, ssq_status_name(st),
               st == SSQ_OK ? "" : ssq_last_error());
    fuzz_counts.calls++;
    if (st == SSQ_OK) {
        fuzz_counts.done++;
        compute(device);
    } else {
        fuzz_counts.refused++;
        if (ssq_last_error()[0] == '\0' || device != NULL)
            fuzz_fail("open %s: %s, without a text or with a device", name,
                      ssq_status_name(st));
    }
    ssq_device_close(&device);
}

static void clear_variables(void)
{
    for (unsigned i = 0; i < VARIABLES; i++)
        unsetenv(variables[i]);
}

static void set_variables(struct input *in)
{
    unsigned n = 1 + input_byte(in) % 3;
    ssq_log_set(check_line, NULL);
    for (unsigned i = 0; i < n; i++)
        set_variable(in);
    open_device(in);
    clear_variables();
    ssq_device *device = NULL;
    must(ssq_device_open("reference", NULL, &device), "open without any");
    compute(device);
    ssq_device_close(&device);
    ssq_log_set(NULL, NULL);
}

static char home[64];

static const char *home_text(const char *name)
{
    return strcmp(name, "XDG_CACHE_HOME") == 0 ? home : NULL;
}

static ssq_status no_number(const char *name, uint64_t least, uint64_t most,
                            uint64_t *value)
{
    (void)name;
    (void)least;
    (void)most;
    (void)value;
    return SSQ_OK;
}

static ssq_status no_flag(const char *name, bool *value)
{
    (void)name;
    (void)value;
    return SSQ_OK;
}

static const struct services services = {.mem_alloc = malloc,
                                         .mem_free = free,
                                         .env_text = home_text,
                                         .env_number = no_number,
                                         .env_flag = no_flag};

static void remove_home(void)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/sesqui", home);
    DIR *d = opendir(path);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        char file[1024];
        snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
        unlink(file);
    }
    if (d != NULL)
        closedir(d);
    rmdir(path);
    rmdir(home);
}

static void make_home(void)
{
    if (home[0] != '\0')
        return;
    const char *tmp = getenv("TMPDIR");
    snprintf(home, sizeof(home), "%.40s/ssq-fuzz-XXXXXX",
             tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(home) == NULL)
        fuzz_fail("no directory like %s", home);
    atexit(remove_home);
}

/* Change, cut or lengthen the file; false: it is as it was. */
#define PROGRAM "program-0123456789abcdef"

static bool damage(struct input *in, const char *path)
{
    static uint8_t bytes[4096], was[4096];
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        fuzz_fail("nothing was stored as %s", path);
    size_t n = fread(bytes, 1, sizeof(bytes) / 2, f), before = n;
    fclose(f);
    memcpy(was, bytes, n);
    for (int i = 0; i < 8 && input_once(in, 2); i++) {
        uint8_t *at = &bytes[(input_byte(in) << 8 | input_byte(in)) % before];
        *at = (uint8_t)input_byte(in);
    }
    if (input_once(in, 4))
        n = (input_byte(in) << 8 | input_byte(in)) % sizeof(bytes);
    f = fopen(path, "wb");
    if (f == NULL || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
        fuzz_fail("%s is not written", path);
    return n != before || memcmp(bytes, was, n) != 0;
}

static void cache(struct input *in)
{
    char key[32], path[512];
    unsigned char stored[STORED];
    size_t n = input_byte(in) % STORED, got_bytes = 0;
    make_home();
    snprintf(key, sizeof(key), "key %u", input_byte(in) % 4);
    for (size_t i = 0; i < n; i++)
        stored[i] = (unsigned char)(i * 37 + n);
    snprintf(path, sizeof(path), "%s/sesqui/" PROGRAM, home);
    (void)unlink(
        path); /* the cache does not replace a file with a damaged magic */
    disk_cache_store(&services, PROGRAM, key, stored, n);
    bool damaged = damage(in, path);
    if (input_once(in, 8))
        snprintf(key, sizeof(key), "another");
    unsigned char *got = disk_cache_load(&services, PROGRAM, key, &got_bytes);
    fuzz_trace("cache: %zu bytes, %sdamaged: %s", n, damaged ? "" : "not ",
               got == NULL ? "nothing" : "something");
    fuzz_counts.calls++;
    fuzz_counts.done += got != NULL;
    fuzz_counts.refused += got == NULL;
    bool whole = strcmp(key, "another") != 0 && !damaged;
    if (got == NULL && whole)
        fuzz_fail("cache: what was stored is not loaded");
    if (got != NULL &&
        (!whole || got_bytes != n || memcmp(got, stored, n) != 0))
        fuzz_fail("cache: %zu bytes, %zu were stored", got_bytes, n);
    free(got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct input in = {data, data + bytes};
    if (fuzz_counts.programs++ == 0) {
        clear_variables();
        if (getenv("SSQ_FUZZ_COUNTS") != NULL)
            atexit(fuzz_counts_print);
    }
    for (int i = 0; i < 8 && !input_done(&in); i++) {
        if (input_byte(&in) % 2 == 0)
            set_variables(&in);
        else
            cache(&in);
    }
    return 0;
}
