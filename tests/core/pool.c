/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - tests of the pool: ranges, reuse, limits, exhaustion. */
#include "lib/core/core.h"

#include "tests/core/core.h"
#include "tests/core/space.h"

static size_t host_blocks; /* of the library, alive */

static void *count_alloc(void *user, size_t bytes)
{
    (void)user;
    host_blocks++;
    return malloc(bytes);
}

static void count_free(void *user, void *p)
{
    (void)user;
    host_blocks--;
    free(p);
}

static ssq_memory_info memory(const ssq_device *dev)
{
    ssq_memory_info info = SSQ_MEMORY_INFO_INIT;

    NEED(ssq_device_memory(dev, &info));
    return info;
}

/* A device whose slabs are at most this many bytes. */
static ssq_device *open_limited(const char *name, const char *binding,
                                uint64_t memory_limit)
{
    ssq_device_options options = SSQ_DEVICE_OPTIONS_INIT;
    ssq_device *dev = NULL;

    options.memory_limit = memory_limit;
    if (binding != NULL)
        setenv("SSQ_LIMIT_BINDING", binding, 1);
    NEED(ssq_device_open(name, &options, &dev));
    unsetenv("SSQ_LIMIT_BINDING");
    return dev;
}

static unsigned draw(unsigned n)
{
    static uint32_t state = 777;

    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

static bool overlap(const ssq_buffer *a, const ssq_buffer *b)
{
    return a->mem == b->mem && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

/* Random allocations and frees: aligned, disjoint, inside their slab, and
 * the books are right. */
static void test_random(const char *name)
{
    enum { LIVE = 100, STEPS = 20000 };
    ssq_device *dev = open_limited(name, "65536", 0);
    ssq_buffer *live[LIVE] = {NULL};
    int misaligned = 0, outside = 0, overlaps = 0, books = 0;
    uint64_t in_use = 0, peak = 0, buffers = 0;

    for (int step = 0; step < STEPS; step++) {
        unsigned i = draw(LIVE);

        if (live[i] != NULL) {
            in_use -= (ssq_buffer_bytes(live[i]) + 255) / 256 * 256;
            buffers--;
            ssq_buffer_destroy(&live[i]);
        } else {
            uint64_t bytes = 1 + draw(draw(8) == 0 ? 60000 : 4000);

            NEED(ssq_buffer_create(dev, bytes, &live[i]));
            in_use += (bytes + 255) / 256 * 256;
            buffers++;
            peak = in_use > peak ? in_use : peak;
            misaligned +=
                live[i]->offset % 256 != 0 ||
                (uintptr_t)((char *)live[i]->mem->host + live[i]->offset) %
                        256 !=
                    0;
            outside += live[i]->offset + bytes > live[i]->mem->bytes ||
                       live[i]->mem->bytes > 65536;
            for (unsigned k = 0; k < LIVE; k++)
                overlaps +=
                    k != i && live[k] != NULL && overlap(live[i], live[k]);
        }
        ssq_memory_info info = memory(dev);
        books += info.in_use != in_use || info.buffers != buffers ||
                 info.peak != peak;
    }
    tap_ok(misaligned == 0, "%s: of %d steps %d buffers not at 256 bytes", name,
           STEPS, misaligned);
    tap_ok(outside == 0 && overlaps == 0,
           "%s: %d outside of a slab of 65536 bytes, %d overlap", name, outside,
           overlaps);
    tap_ok(books == 0, "%s: bytes, buffers or peak wrong after %d steps", name,
           books);
    for (int i = 0; i < LIVE; i++)
        ssq_buffer_destroy(&live[i]);
    ssq_device_trim(dev);
    tap_ok(memory(dev).in_use == 0 && memory(dev).reserved == 0 &&
               memory(dev).buffers == 0 && memory(dev).peak == peak,
           "%s: all freed and trimmed: 0 bytes reserved", name);
    ssq_device_close(&dev);
}

/* Neighbours merge: a slab filled with small buffers serves a large one. */
static void test_merge(void)
{
    enum { N = 128 };
    ssq_device *dev = open_limited("reference", "65536", 0);
    ssq_buffer *b[N], *large = NULL;
    uint64_t reserved;

    for (int i = 0; i < N; i++)
        NEED(ssq_buffer_create(dev, 512, &b[i]));
    reserved = memory(dev).reserved;
    tap_ok(reserved == 65536, "128 buffers of 512 bytes fill one slab: %llu",
           (unsigned long long)reserved);
    for (int i = 0; i < N; i += 2)
        ssq_buffer_destroy(&b[i]);
    NEED(ssq_buffer_create(dev, 1024, &large));
    tap_ok(memory(dev).reserved == 131072,
           "holes of 512 bytes do not serve 1024: a second slab");
    ssq_buffer_destroy(&large);
    for (int i = 1; i < N; i += 2)
        ssq_buffer_destroy(&b[i]);
    ssq_device_trim(dev);
    NEED(ssq_buffer_create(dev, 512, &b[0]));
    NEED(ssq_buffer_create(dev, 32768, &large));
    NEED(ssq_buffer_create(dev, 32256, &b[1]));
    tap_ok(memory(dev).reserved == 65536,
           "512, 32768 and 32256 bytes share one slab again");
    ssq_buffer_destroy(&b[0]);
    ssq_buffer_destroy(&b[1]);
    ssq_buffer_destroy(&large);
    ssq_device_close(&dev);
}

/* Create and destroy a buffer; return the bytes that are reserved then. */
static uint64_t reserved_after(ssq_device *dev, uint64_t bytes)
{
    ssq_buffer *b = NULL;
    NEED(ssq_buffer_create(dev, bytes, &b));
    ssq_buffer_destroy(&b);
    return memory(dev).reserved;
}

/* A large buffer's slab stays for the next one of about its size. */
static void test_idle(void)
{
    ssq_device *dev = open_limited("reference", "65536", 0);
    uint64_t kept = reserved_after(dev, 100352), most = 0;
    tap_ok(kept == 100352, "a freed buffer's slab stays: %llu",
           (unsigned long long)kept);
    tap_ok(reserved_after(dev, 81920) == kept,
           "a buffer that is a fifth smaller takes it");
    kept = reserved_after(dev, 79872);
    tap_ok(kept == 100352 + 79872, "a smaller one gets its own: %llu",
           (unsigned long long)kept);
    for (uint64_t bytes = 33024; bytes <= 400000; bytes += 4352) {
        uint64_t now = reserved_after(dev, bytes);
        most += now > memory(dev).peak + memory(dev).peak / 4 + 65536;
    }
    tap_ok(most == 0, "sizes that never return: no more is kept than was used");
    ssq_device_trim(dev);
    tap_ok(memory(dev).reserved == 0, "a trim frees what is idle");
    ssq_device_close(&dev);

    dev = open_limited("reference", "65536", 200000);
    reserved_after(dev, 150000);
    reserved_after(dev, 190000);
    tap_ok(memory(dev).reserved == 190208,
           "an idle slab makes way where the limit leaves no memory: %llu",
           (unsigned long long)memory(dev).reserved);
    ssq_device_close(&dev);

    dev = open_limited("guard", "65536", 0);
    tap_ok(reserved_after(dev, 100352) == 0, "guard: memory is never reused");
    ssq_device_close(&dev);
}

/* A step's buffers come and go for ever: the pool's own records may not
 * grow. */
static void test_records(void)
{
    ssq_device *dev = open_limited("reference", "65536", 0);
    ssq_buffer *b[3] = {NULL};
    size_t after = 0;
    uint64_t reserved = 0;

    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < 3; i++)
            NEED(ssq_buffer_create(dev, i == 2 ? 32768 : 16384, &b[i]));
        for (int i = 0; i < 3; i++)
            ssq_buffer_destroy(&b[(i + round) % 3]);
        if (round == 10) {
            after = host_blocks;
            reserved = memory(dev).reserved;
        }
    }
    tap_ok(host_blocks == after && memory(dev).reserved == reserved,
           "2000 rounds of 3 buffers that fill a slab: %zu host blocks, %zu "
           "after 10",
           host_blocks, after);
    ssq_device_close(&dev);
}

/* The memory of a launch is limited, not the size of a buffer. */
static void test_binding(const char *name)
{
    ssq_device *dev = open_limited(name, "4096", 0);
    ssq_device_props props = SSQ_DEVICE_PROPS_INIT;
    ssq_buffer *small = NULL, *large = NULL;

    NEED(ssq_device_props_get(dev, &props));
    tap_ok(props.binding_bytes == 4096,
           "%s: SSQ_LIMIT_BINDING=4096 is a property: %llu", name,
           (unsigned long long)props.binding_bytes);
    NEED(ssq_buffer_create(dev, 512, &small));
    tap_ok(small->mem->bytes <= 4096, "%s: its slabs have %llu bytes", name,
           (unsigned long long)small->mem->bytes);
    core_status(ssq_buffer_create(dev, 1 << 20, &large), SSQ_OK, NULL,
                "%s: a buffer of 2^20 bytes can be made", name);
    ssq_buffer_destroy(&small);
    ssq_buffer_destroy(&large);
    ssq_device_close(&dev);
    setenv("SSQ_LIMIT_BINDING", "nonsense", 1);
    core_status(ssq_device_open(name, NULL, &dev), SSQ_ERR_INVALID,
                "SSQ_LIMIT_BINDING is|nonsense",
                "%s: SSQ_LIMIT_BINDING=nonsense is refused", name);
    unsetenv("SSQ_LIMIT_BINDING");
}

/* An allocation that the machine itself refuses. */
static int exhaust_machine(void *arg)
{
    ssq_device *dev = open_limited(arg, NULL, 0);
    ssq_buffer *b[64] = {NULL};
    ssq_status st = SSQ_OK;
    int n = 0, bad = 0;

    bad += !space_limit(512u << 20, NULL);
    while (n < 64 && st == SSQ_OK)
        st = ssq_buffer_create(dev, 32u << 20, &b[n++]);
    fprintf(stderr, "# %s\n", ssq_last_error());
    bad += st != SSQ_ERR_NOMEM || !core_has(ssq_last_error(), "33554432") ||
           !core_has(ssq_last_error(), "no memory for");
    for (int i = 0; i < n; i++)
        ssq_buffer_destroy(&b[i]);
    bad += ssq_buffer_create(dev, 32u << 20, &b[0]) != SSQ_OK;
    ssq_buffer_destroy(&b[0]);
    ssq_device_close(&dev);
    return bad;
}

static void test_machine(const char *name)
{
#ifdef SANITIZED
    (void)exhaust_machine;
    tap_skip("a sanitizer needs the address space", "%s: mmap fails", name);
#else
    char copy[16];
    int st;

    snprintf(copy, sizeof(copy), "%s", name);
    st = tap_fork(exhaust_machine, copy, 20);
    tap_ok(tap_exited(st, 0),
           "%s: with 512 MiB more of address space 64 buffers of 32 MiB end "
           "in NOMEM, and the pool works on: %s",
           name, tap_status(st));
#endif
}

static void test_exhaustion(const char *name)
{
    ssq_device *dev = open_limited(name, NULL, 1 << 20);
    ssq_buffer *b = NULL, *c = NULL;

    NEED(ssq_buffer_create(dev, 900000, &b));
    core_status(ssq_buffer_create(dev, 200000, &c), SSQ_ERR_NOMEM,
                "200000|900096|1048576",
                "%s: 200000 bytes more than the limit: asked, in use, limit",
                name);
    core_status(ssq_buffer_create(dev, UINT64_MAX, &c), SSQ_ERR_NOMEM,
                "18446744073709551615", "%s: 2^64 - 1 bytes", name);
    core_status(ssq_buffer_create(dev, INT64_MAX, &c), SSQ_ERR_NOMEM,
                "9223372036854775807", "%s: 2^63 - 1 bytes", name);
    ssq_buffer_destroy(&b);
    core_status(ssq_buffer_create(dev, 200000, &c), SSQ_OK, NULL,
                "%s: after a buffer is freed there is room", name);
    ssq_buffer_destroy(&c);
    core_status(ssq_buffer_create(dev, 1 << 20, &c), SSQ_OK, NULL,
                "%s: the whole limit, slabs without buffers are given back",
                name);
    ssq_buffer_destroy(&c);
    ssq_device_close(&dev);
    dev = open_limited(name, NULL, 0);
    core_status(ssq_buffer_create(dev, INT64_MAX, &c), SSQ_ERR_NOMEM,
                "9223372036854775807", "%s: 2^63 - 1 bytes without a limit",
                name);
    ssq_device_trim(dev);
    tap_ok(c == NULL && memory(dev).reserved == 0, "%s: nothing is held", name);
    ssq_device_close(&dev);
}

/* Small buffers must not need a whole slab when the limit is less. */
static void test_small_limit(void)
{
    ssq_device *dev = open_limited("reference", NULL, 100000);
    ssq_buffer *b = NULL, *c = NULL;

    core_status(ssq_buffer_create(dev, 50000, &b), SSQ_OK, NULL,
                "50000 bytes under a limit of 100000, less than a slab");
    core_status(ssq_buffer_create(dev, 40000, &c), SSQ_OK, NULL, "40000 more");
    ssq_buffer_destroy(&b);
    ssq_buffer_destroy(&c);
    ssq_device_close(&dev);
}

/* Buffers that only unfinished work holds are waited for. */
static void test_retire(void)
{
    ssq_device *dev = open_limited("guard", NULL, 100 * 4096);
    ssq_queue *q = core_queue(dev);
    float in[1024], out[1024] = {0};
    int failed = 0;

    for (int i = 0; i < 1024; i++)
        in[i] = (float)i;
    for (int i = 0; i < 1000; i++) {
        ssq_tensor *t = NULL;
        int64_t n = 1024;

        if (ssq_tensor_create(dev, SSQ_F32, 1, &n, &t) != SSQ_OK) {
            failed++;
            continue;
        }
        NEED(ssq_tensor_write(q, t, in, sizeof(in), SSQ_F32));
        if (i == 999)
            NEED(ssq_tensor_read(q, t, out, sizeof(out), SSQ_F32));
        ssq_tensor_destroy(&t);
    }
    NEED(ssq_queue_sync(q));
    tap_ok(failed == 0 && out[1023] == 1023,
           "1000 tensors of 4096 bytes in flight under a limit of 100: %d "
           "failed",
           failed);
    tap_ok(memory(dev).peak <= 100 * 4096, "the peak is %llu bytes",
           (unsigned long long)memory(dev).peak);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

/* Destroy each tensor before the work that writes it has run. The pool must not
 * grow until all of them have memory. */
static void test_ahead(const char *name)
{
    const uint64_t mib = UINT64_C(1) << 20;
    const int64_t n = INT64_C(2) << 20;
    ssq_device *dev = open_limited(name, NULL, 0);
    ssq_queue *q = core_queue(dev);
    uint64_t most = 0;

    for (int i = 0; i < 120; i++) {
        ssq_tensor *t = NULL;

        NEED(ssq_tensor_create(dev, SSQ_F32, 1, &n, &t));
        NEED(ssq_fill(q, SSQ_FILL(.x = t, .value = (double)i)));
        ssq_tensor_destroy(&t);
        if (memory(dev).reserved > most)
            most = memory(dev).reserved;
    }
    NEED(ssq_queue_sync(q));
    tap_ok(most <= 352 * mib, "%s: %llu MiB for 120 tensors of 8 MiB", name,
           (unsigned long long)(most / mib));
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

int main(void)
{
    const ssq_allocator allocator = {sizeof(allocator), count_alloc, count_free,
                                     NULL};

    NEED(ssq_allocator_set(&allocator));
    for (size_t i = 0; i < core_device_count(); i++) {
        test_random(core_device(i));
        test_binding(core_device(i));
        if (i < 2) /* a driver's threads do not survive the limit */
            test_machine(core_device(i));
        test_exhaustion(core_device(i));
        if (strcmp(core_device(i), "guard") != 0) /* has no slabs */
            test_ahead(core_device(i));
    }
    test_merge();
    test_idle();
    test_records();
    test_small_limit();
    test_retire();
    tap_ok(host_blocks == 0, "%zu host blocks are left", host_blocks);
    return tap_done(41); /* two more without a sanitizer */
}
