/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - tests of vulkan's memory: writes and reads, on idle and
 * on busy queues; with timelines, with fences, and with submissions as short
 * as they get. */

#include "tests/vulkan/count.h"

#define N 100000

static ssq_device *dev;
static const char *mode;
static float in[N], out[N];

static void test_memory(void)
{
    ssq_queue *q = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, N);
    bool unified;

    count_begin();
    NEED(ssq_tensor_write(q, x, in, sizeof(in), SSQ_F32));
    NEED(ssq_tensor_read(q, x, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(q));
    tap_ok(memcmp(in, out, sizeof(in)) == 0,
           "%s: %d float32s come back as they went", mode, N);
    unified = vk.copies == 0;
    tap_diag("memory of the device is %s the host's", unified ? "" : "not");
    tap_ok(unified ? vk.submits == 0 : vk.submits == 1,
           "%s: by %ld copies and %ld submissions", mode, vk.copies,
           vk.submits);

    count_compiled(dev);
    count_begin(); /* behind something that may still run */
    driver_fill(q, x, 1);
    memset(out, 0, sizeof(out));
    NEED(ssq_tensor_write(q, x, in, sizeof(in), SSQ_F32));
    NEED(ssq_tensor_read(q, x, out, sizeof(out), SSQ_F32));
    tap_ok(vk.copies == 2 && vk.waits == 0,
           "%s: a busy queue copies later: %ld copies, %ld waits", mode,
           vk.copies, vk.waits);
    NEED(ssq_queue_sync(q));
    tap_ok(memcmp(in, out, sizeof(in)) == 0 && vk.submits <= 2,
           "%s: in order, in %ld submissions", mode, vk.submits);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
}

/* More than all staging memory of a queue, from and to odd bytes. */
static void test_large(bool busy)
{
    const int64_t bytes = (41 << 20) + 13, offset = 7;
    unsigned char *from = malloc((size_t)bytes + 2),
                  *to = calloc((size_t)bytes + 2, 1);
    ssq_queue *q = core_queue(dev);
    ssq_tensor *t = NULL, *x = core_vector(dev, SSQ_F32, N);
    ssq_buffer *b = NULL;

    if (from == NULL || to == NULL)
        tap_bail("no memory");
    for (int64_t i = 0; i < bytes + 2; i++)
        from[i] = (unsigned char)(i * 251 >> 3);
    NEED(ssq_buffer_create(dev, (uint64_t)(bytes + 64), &b));
    NEED(ssq_tensor_from_buffer(b, SSQ_U8, 1, &bytes, NULL, offset, &t));
    if (busy)
        driver_fill(q, x, 1);
    NEED(ssq_tensor_write(q, t, from + 1, (size_t)bytes, SSQ_U8));
    if (busy)
        driver_fill(q, x, 2);
    NEED(ssq_tensor_read(q, t, to + 1, (size_t)bytes, SSQ_U8));
    NEED(ssq_queue_sync(q));
    tap_ok(to[0] == 0 && to[bytes + 1] == 0 &&
               memcmp(from + 1, to + 1, (size_t)bytes) == 0,
           "%s: %lld bytes at an odd place, %s queue", mode, (long long)bytes,
           busy ? "a busy" : "an idle");
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&t);
    ssq_buffer_destroy(&b);
    ssq_queue_destroy(&q);
    free(from);
    free(to);
}

static void test_too_large(void)
{
    ssq_buffer *b = NULL;

    core_status(ssq_buffer_create(dev, UINT64_C(1) << 60, &b), SSQ_ERR_NOMEM,
                "vulkan|1152921504606846976", "%s: a buffer of 2^60 bytes",
                mode);
}

static void test_all(const char *name)
{
    mode = name;
    dev = core_open("vulkan:0");
    test_memory();
    test_large(false);
    test_large(true);
    test_too_large();
    ssq_device_close(&dev);
}

int main(void)
{
    if (driver_missing("vulkan"))
        return tap_done(0);
    for (int i = 0; i < N; i++)
        in[i] = (float)i;
    count_between();
    /* the load of other processors has no effect */
    setenv("SSQ_VULKAN_SUBMIT_MS", "100000", 1);
    test_all("timelines");
    setenv("SSQ_VULKAN_TIMELINE", "0", 1);
    test_all("fences");
    unsetenv("SSQ_VULKAN_TIMELINE");
    setenv("SSQ_VULKAN_SUBMIT_MS", "1", 1);
    test_all("1 ms");
    return tap_done(21);
}
