/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.c - devices whose arithmetic is wrong, one primitive each.
 *
 * The device is a fake: its kernels are the texts of the certificate compiled
 * as C, and what they answer is then made wrong. It takes the place of the
 * backend "cuda", which is not built. */
#include "lib/certify/certificate.h"
#include "lib/certify/certify.h"
#include "lib/core/module/registry.h"
#include "lib/core/core.h"
#include "tests/core/cache_file.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "kernel_table.h"

#define ROW(INDEX, NAME, TRAIT, VALUE) [INDEX] = #NAME,
static const char *const of_floats[] = {CERTIFY_FLOAT_LIST(ROW)};
static const char *const of_bits[] = {CERTIFY_BITS_LIST(ROW)};
static const char *const of_groups[] = {CERTIFY_GROUP_LIST(ROW)};

enum fault {
    HONEST,
    WORDS,   /* one word of the answers is wrong */
    FLUSHES, /* all that is subnormal is a zero */
    NATIVE_WRONG,
    LEAVES_OUT, /* kernels that store nothing */
    NO_COMPILER,
    NO_LAUNCH,
    WAITS /* the first kernel runs until the test says so */
};

static struct {
    enum fault fault;
    size_t at; /* of the byte of struct certify_answers that is wrong */
    long launches;
    const char *driver; /* its version */
    struct findings given;
    atomic_bool waits, go_on;
} fake;

/* ---- the backend ---- */

struct backend_device {
    int unused;
};
struct backend_queue {
    int unused;
};
struct backend_kernel {
    uint32_t id;
};

static struct backend_device the_device;
static struct backend_queue the_queue;

static ssq_status fake_open(struct backend_instance *instance, unsigned i,
                            struct backend_device **d)
{
    (void)instance;
    (void)i;
    *d = &the_device;
    return SSQ_OK;
}

static void fake_close(struct backend_device *d)
{
    (void)d;
}

static void fake_describe(const struct backend_instance *instance, unsigned i,
                          char *text, size_t bytes)
{
    (void)instance;
    snprintf(text, bytes, "fake %u", i);
}

static void fake_props(const struct backend_device *d, ssq_device_props *p)
{
    (void)d;
    p->f32_subnormals = fake.given.subnormals ? SSQ_SUBNORMALS_PRESERVED
                                              : SSQ_SUBNORMALS_FLUSHED;
}

static void fake_limits(const struct backend_device *d,
                        struct backend_limits *l)
{
    (void)d;
    l->binding_bytes = 1 << 20;
    l->group = 1;
}

static void fake_identify(const struct backend_device *d, char *text,
                          size_t bytes)
{
    (void)d;
    snprintf(text, bytes, "fake driver %s", fake.driver);
}

static void fake_certified(struct backend_device *d, const struct findings *f)
{
    (void)d;
    fake.given = *f;
}

/* It may be used in a child of fork. */
static void fake_fork(struct backend_device *d)
{
    (void)d;
}

static ssq_status fake_alloc(struct backend_device *d, uint64_t bytes,
                             struct backend_mem **mem)
{
    struct backend_mem *m = malloc(sizeof(*m) + (size_t)bytes);

    (void)d;
    if (m == NULL)
        tap_bail("no memory");
    m->bytes = bytes;
    m->host = m + 1;
    *mem = m;
    return SSQ_OK;
}

static void fake_free(struct backend_device *d, struct backend_mem *mem)
{
    (void)d;
    free(mem);
}

static ssq_status fake_queue_open(struct backend_device *d,
                                  struct backend_queue **q)
{
    (void)d;
    *q = &the_queue;
    return SSQ_OK;
}

static void fake_queue_close(struct backend_queue *q)
{
    (void)q;
}

static ssq_status fake_sync(struct backend_queue *q)
{
    (void)q;
    return SSQ_OK;
}

static ssq_status fake_kernel_get(struct backend_device *d,
                                  const struct kernel *kernel,
                                  const uint8_t key[LAUNCH_KEYS],
                                  const struct backend_kernel **code)
{
    static struct backend_kernel k[KERNEL_COUNT];

    (void)d;
    (void)key;
    if (fake.fault == NO_COMPILER && kernel->id == KERNEL_certify_bits)
        return error_set(SSQ_ERR_DEVICE, "fake: the compiler is out of order");
    k[kernel->id].id = kernel->id;
    *code = &k[kernel->id];
    return SSQ_OK;
}

static void flush(uint32_t *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((w[i] & 0x7f800000u) == 0)
            w[i] &= 0x80000000u;
}

static void copy_part(struct certify_answers *to,
                      const struct certify_answers *from, uint32_t id)
{
    if (id == KERNEL_certify_float) {
        memcpy(to->floats, from->floats, sizeof(to->floats));
    } else if (id == KERNEL_certify_group) {
        memcpy(to->groups, from->groups, sizeof(to->groups));
    } else {
        memcpy(to->bits, from->bits, sizeof(to->bits));
        memcpy(to->native, from->native, sizeof(to->native));
        memcpy(to->narrow2, from->narrow2, sizeof(to->narrow2));
        memcpy(to->narrow1, from->narrow1, sizeof(to->narrow1));
    }
}

static ssq_status fake_launch(struct backend_queue *q, const struct launch *l)
{
    static struct certify_answers made;
    uint32_t id = l->code->id;
    bool bits = id == KERNEL_certify_bits;

    (void)q;
    if (fake.fault == NO_LAUNCH)
        return error_set(SSQ_ERR_DEVICE, "fake: the device is on fire");
    fake.launches++;
    if (fake.fault == WAITS && !atomic_exchange(&fake.waits, true))
        while (!atomic_load(&fake.go_on))
            sched_yield();
    if (fake.fault == LEAVES_OUT)
        return SSQ_OK;
    certify_reference(l->binding[0].mem->host, &made);
    memset(made.native, 0, sizeof(made.native));
    if (fake.fault == NATIVE_WRONG)
        made.native[3] = made.native[300] = 1;
    if (fake.fault == FLUSHES) {
        flush(made.floats, CERTIFY_FLOATS * CERTIFY_N);
        flush(made.groups + 2 * CERTIFY_N, CERTIFY_N);
        flush(made.groups + 5 * CERTIFY_N, CERTIFY_N);
    }
    if (fake.fault == WORDS)
        ((unsigned char *)&made)[fake.at] ^= 1;
    copy_part(l->binding[bits ? 3 : 1].mem->host, &made, id);
    return SSQ_OK;
}

static ssq_status fake_upload(struct backend_queue *q,
                              const struct upload_op *op)
{
    (void)q;
    memcpy(view_host(&op->dst), op->host, (size_t)op->bytes);
    return SSQ_OK;
}

static ssq_status fake_download(struct backend_queue *q,
                                const struct download_op *op)
{
    (void)q;
    memcpy(op->host, view_host(&op->src), (size_t)op->bytes);
    return SSQ_OK;
}

static const struct upload_impl uploads[] = {
    {.name = "fake", .run = fake_upload}, {.name = NULL}};
static const struct download_impl downloads[] = {
    {.name = "fake", .run = fake_download}, {.name = NULL}};
static const struct op_table ops = {.upload = uploads, .download = downloads};

static const struct backend backend = {.abi = SSQ_BACKEND_ABI,
                                       .name = "cuda",
                                       .preference = 100,
                                       .describe = fake_describe,
                                       .open = fake_open,
                                       .close = fake_close,
                                       .fork_hold = fake_fork,
                                       .fork_let_go = fake_fork,
                                       .props = fake_props,
                                       .limits = fake_limits,
                                       .alloc = fake_alloc,
                                       .free = fake_free,
                                       .queue_open = fake_queue_open,
                                       .queue_close = fake_queue_close,
                                       .queue_sync = fake_sync,
                                       .identify = fake_identify,
                                       .certified = fake_certified,
                                       .kernel_get = fake_kernel_get,
                                       .launch = fake_launch,
                                       .ops = &ops};

/* The registry's entry of cuda, wherever it is, is ours; it comes to be. */
static void take_place(void)
{
    const struct registry_entry *e = registry_find("cuda", 4);

    if (e == NULL)
        tap_bail("no place for a backend");
    /* the table itself is not const */
    struct registry_entry *mine = (struct registry_entry *)(uintptr_t)e;
    mine->backend = &backend;
    mine->devices = 1;
}

/* ---- tests ---- */

/* Open again; the status, and the text or what the device says is wrong. */
static ssq_status try_open(const char *name, const ssq_device_options *options,
                           char *text, size_t bytes)
{
    ssq_device *d = NULL;
    ssq_device_props p = SSQ_DEVICE_PROPS_INIT;

    certificate_forget();
    ssq_status st = ssq_device_open(name, options, &d);
    if (st == SSQ_OK) {
        NEED(ssq_device_props_get(d, &p));
        snprintf(text, bytes, "%s: %s", p.name, p.failed);
    } else {
        snprintf(text, bytes, "%s", ssq_last_error());
    }
    ssq_device_close(&d);
    return st;
}

/* Only this primitive is named. */
static bool refused_by_name(const char *primitive)
{
    char text[1024], want[128];

    snprintf(want, sizeof(want), "wrong are: %s;", primitive);
    for (char *c = want; *c != '\0'; c++)
        if (*c == '_')
            *c = ' ';
    ssq_status st = try_open("cuda:0", NULL, text, sizeof(text));
    bool ok = st == SSQ_ERR_UNSUPPORTED && core_has(text, want);
    if (!ok)
        tap_diag("%s: %s", ssq_status_name(st), text);
    return ok;
}

static void test_list(const char *const *names, size_t n, size_t from,
                      size_t word)
{
    for (size_t k = 0; k < n; k++) {
        fake.fault = WORDS;
        fake.at = from + (k * CERTIFY_N + word) * sizeof(uint32_t);
        tap_ok(refused_by_name(names[k]), "wrong in word %zu: %s", word,
               names[k]);
    }
}

static void test_primitives(void)
{
    size_t floats = offsetof(struct certify_answers, floats);
    size_t bits = offsetof(struct certify_answers, bits);
    size_t groups = offsetof(struct certify_answers, groups);

    test_list(of_floats, CERTIFY_FLOATS, floats, 100);
    test_list(of_floats, CERTIFY_FLOATS, floats, 7);
    test_list(of_bits, CERTIFY_BITS, bits, 0);
    test_list(of_bits, CERTIFY_BITS, bits, CERTIFY_N - 1);
    /* subnormals in a tile are measured: the last of the list is left out */
    test_list(of_groups, CERTIFY_GROUPS - 1, groups, 3);
    fake.fault = WORDS;
    fake.at = offsetof(struct certify_answers, narrow2) + 2 * 77;
    tap_ok(refused_by_name("store of 16 bits"), "a 16-bit word is lost");
    fake.at = offsetof(struct certify_answers, narrow1) + 77;
    tap_ok(refused_by_name("store of 8 bits"), "a byte is lost");
}

static void test_all_at_once(void)
{
    char text[1024];

    fake.fault = LEAVES_OUT;
    core_status(try_open("cuda:0", NULL, text, sizeof(text)),
                SSQ_ERR_UNSUPPORTED,
                "cuda:0 fails|sum, difference|...|uncertified",
                "kernels that store nothing");
}

static bool open_says(const char *want, bool subnormals, bool half)
{
    char text[1024];
    ssq_status st = try_open("cuda:0", NULL, text, sizeof(text));
    bool ok = st == SSQ_OK && strcmp(text, want) == 0 &&
              fake.given.subnormals == subnormals &&
              fake.given.half_load == half && fake.given.half_store == half;

    if (!ok)
        tap_diag("%s: %s", ssq_status_name(st), text);
    return ok;
}

static void test_findings(void)
{
    /* a product among the last words, which have subnormals */
    size_t tiny = offsetof(struct certify_answers, floats) +
                  (2 * CERTIFY_N + CERTIFY_N - 1) * sizeof(uint32_t);

    fake.fault = HONEST;
    tap_ok(open_says("cuda:0: ", true, true), "nothing is wrong");
    fake.fault = NATIVE_WRONG;
    tap_ok(open_says("cuda:0: ", true, false),
           "conversions of the device's own are wrong: they are not used");
    fake.fault = FLUSHES;
    tap_ok(open_says("cuda:0: ", false, true),
           "subnormals are flushed: the device says so");
    fake.fault = WORDS;
    fake.at = tiny;
    tap_ok(open_says("cuda:0: ", false, true),
           "one product of a subnormal is wrong: they are taken for flushed");
    fake.at = offsetof(struct certify_answers, groups) +
              (5 * CERTIFY_N + 9) * sizeof(uint32_t);
    tap_ok(open_says("cuda:0: ", false, true),
           "one in a tile of a product is wrong: they are taken for flushed");
    fake.at = tiny + (7 - 2) * CERTIFY_N * sizeof(uint32_t);
    tap_ok(refused_by_name("division"),
           "only the division of a subnormal is wrong: it is named");
}

static void test_insists(void)
{
    ssq_device_options options = SSQ_DEVICE_OPTIONS_INIT;
    char text[1024];

    fake.fault = WORDS;
    fake.at = offsetof(struct certify_answers, floats) +
              12 * CERTIFY_N * sizeof(uint32_t);
    options.uncertified = true;
    ssq_status st = try_open("cuda:0", &options, text, sizeof(text));
    tap_ok(st == SSQ_OK && strcmp(text, "cuda:0: ceil") == 0,
           "who insists has it opened, and told: %s", text);
    setenv("SSQ_UNCERTIFIED", "1", 1);
    st = try_open("cuda:0", NULL, text, sizeof(text));
    tap_ok(st == SSQ_OK && strcmp(text, "cuda:0: ceil") == 0,
           "SSQ_UNCERTIFIED=1 insists too");
    setenv("SSQ_UNCERTIFIED", "yes", 1);
    core_status(try_open("cuda:0", NULL, text, sizeof(text)), SSQ_ERR_INVALID,
                "SSQ_UNCERTIFIED|expected 0 or 1", "and \"yes\" is no answer");
    unsetenv("SSQ_UNCERTIFIED");
    tap_ok(refused_by_name("ceil"), "and not without it");
}

static bool auto_says(const char *parts, const char *not_this)
{
    ssq_device *d = NULL;
    ssq_device_props p = SSQ_DEVICE_PROPS_INIT;

    certificate_forget();
    NEED(ssq_device_open("auto", NULL, &d));
    NEED(ssq_device_props_get(d, &p));
    ssq_device_close(&d);
    tap_diag("%s", p.choice);
    return core_has(p.choice, parts) &&
           (not_this == NULL || !core_has(p.choice, not_this));
}

static void test_auto(void)
{
    char text[1024];

    fake.fault = HONEST;
    tap_ok(auto_says("auto chose cuda:0", NULL), "auto takes the best device");
    fake.fault = WORDS;
    fake.at = offsetof(struct certify_answers, floats) +
              13 * CERTIFY_N * sizeof(uint32_t);
    tap_ok(auto_says("; not cuda:0: fails its self-test: round;",
                     "auto chose cuda"),
           "auto passes over what fails, and says why");
    setenv("SSQ_DEVICE", "cuda:0", 1);
    core_status(try_open("auto", NULL, text, sizeof(text)), SSQ_ERR_UNSUPPORTED,
                "round", "SSQ_DEVICE names it: refused");
    unsetenv("SSQ_DEVICE");
}

static void test_failures(void)
{
    char text[1024];

    fake.fault = NO_COMPILER;
    tap_ok(refused_by_name("certify bits"), "a kernel that is not compiled");
    fake.fault = NO_LAUNCH;
    core_status(try_open("cuda:0", NULL, text, sizeof(text)), SSQ_ERR_DEVICE,
                "on fire", "a launch that fails is the driver's failure");
    fake.fault = HONEST;
    tap_ok(open_says("cuda:0: ", true, true), "and is not remembered");
    fake.launches = 0;
    ssq_device *d = core_open("cuda:0");
    tap_ok(fake.launches == 0, "one test for a process: %ld launches",
           fake.launches);
    ssq_device_close(&d);
}

/* ---- a fork in the middle of a self-test ---- */

static void *open_in_thread(void *unused)
{
    ssq_device *d = core_open("cuda:0");

    ssq_device_close(&d);
    return unused;
}

static int open_in_child(void *unused)
{
    ssq_device *d = NULL;

    (void)unused;
    fake.launches = 0;
    if (ssq_device_open("cuda:0", NULL, &d) != SSQ_OK || fake.launches != 3)
        return 1;
    ssq_device_close(&d);
    return 0;
}

static void test_fork(void)
{
    pthread_t thread;

    certificate_forget();
    fake.fault = WAITS;
    if (pthread_create(&thread, NULL, open_in_thread, NULL) != 0)
        tap_bail("no thread");
    while (!atomic_load(&fake.waits))
        sched_yield();
    int st = tap_fork(open_in_child, NULL, 20);
    tap_ok(tap_exited(st, 0),
           "a child forked while another thread tests a device tests it, too: "
           "%s",
           tap_status(st));
    atomic_store(&fake.go_on, true);
    pthread_join(thread, NULL);
    fake.launches = 0;
    ssq_device *d = core_open("cuda:0");
    tap_ok(fake.launches == 0, "the parent remembers what its thread found");
    ssq_device_close(&d);
}

/* ---- on disk ---- */

/* fake.fault is what the parent set. */
static int open_once(void *arg)
{
    ssq_device *d = NULL;

    (void)arg;
    certificate_forget();
    fake.launches = 0;
    if (ssq_device_open("cuda:0", NULL, &d) != SSQ_OK) {
        fprintf(stderr, "%s\n", ssq_last_error());
        return CACHE_FAILED;
    }
    ssq_device_close(&d);
    return fake.launches == 3   ? CACHE_MADE
           : fake.launches == 0 ? CACHE_USED
                                : CACHE_FAILED;
}

/* What is on disk may say nothing that no library wrote, even with a right
 * checksum. */
static void test_implausible(void)
{
    struct certificate c = {.found = {true, true, true}};

    fake.fault = HONEST;
    certificate_forget();
    ssq_device *d = core_open("cuda:0");
    ssq_device_close(&d);
    snprintf(c.failed, sizeof(c.failed), "\033[31mred");
    (void)certificate_keep(&backend, &the_device, &c);
    cache_expect(CACHE_MADE, "a certificate that rings");
    cache_expect(CACHE_USED, "then");
}

static void test_disk(void)
{
    fake.fault = HONEST;
    fake.driver = "1.0";
    cache_file.certificate = true;
    cache_begin("the certificate comes", open_once);
    cache_damage("a flipped bit of the magic", 0, 1);
    cache_damage("a flipped bit of the checksum", 24, 1);
    cache_damage("a flipped bit of the key", 40, 1);
    cache_damage("a flipped bit of what it says", -1, 1);
    cache_damage("and in the middle", -3000, 16);
    cache_lengths();
    cache_no_directory();
    cache_processes();
    test_implausible();
    fake.fault = WORDS; /* the disk says it is right: it is not tested */
    fake.at = 0;
    cache_expect(CACHE_USED, "a driver that was certified");
    fake.driver = "1.1";
    cache_expect(CACHE_FAILED, "the next version of it");
    tap_ok(cache_count() == 2, "each version has a certificate");
    unlink(cache_file.path);
    cache_end();
}

int main(void)
{
    setenv("SSQ_CACHE", "0", 1);
    fake.driver = "1.0";
    take_place();
    test_findings();
    test_primitives();
    test_all_at_once();
    test_insists();
    test_auto();
    test_failures();
    test_fork();
    test_disk();
    return tap_done(0);
}
