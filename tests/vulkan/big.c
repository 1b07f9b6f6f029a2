/* SPDX-License-Identifier: Apache-2.0 */
/* big.c - a tensor of 300 MiB where one binding has 128 MiB: ops go over it in
 * windows. */

#include "tests/core/driver.h"

#define N     (INT64_C(300) << 20) /* elements of one byte */
#define BYTES ((size_t)N)

static ssq_device *dev;
static ssq_queue *q;
static unsigned char *in, *out;

static ssq_tensor *vector_over(ssq_buffer *b, ssq_dtype dtype, int64_t n,
                               uint64_t offset)
{
    ssq_tensor *t = NULL;

    NEED(ssq_tensor_from_buffer(b, dtype, 1, &n, NULL, offset, &t));
    return t;
}

/* To the device and back, whole and at the seams of the windows. */
static void test_copies(ssq_buffer *x, ssq_buffer *y)
{
    ssq_tensor *tx = vector_over(x, SSQ_U8, N, 0),
               *ty = vector_over(y, SSQ_U8, N, 0);
    int64_t wrong = 0;

    NEED(ssq_tensor_write(q, tx, in, BYTES, SSQ_U8));
    driver_fill(q, ty, 0);
    driver_copy(q, tx, ty);
    NEED(ssq_tensor_read(q, ty, out, BYTES, SSQ_U8));
    NEED(ssq_queue_sync(q));
    for (int64_t i = 0; i < N; i++)
        wrong += in[i] != out[i];
    tap_ok(wrong == 0, "300 MiB are written, copied and read: %lld wrong",
           (long long)wrong);
    ssq_tensor_destroy(&tx);
    ssq_tensor_destroy(&ty);
}

/* y = 3 - x in place of float16s, each 1 or 2. */
static void test_elementwise(ssq_buffer *x)
{
    const int64_t n = N / 2;
    ssq_tensor *t = vector_over(x, SSQ_F16, n, 0);
    ssq_scale_args args = SSQ_SCALE_INIT;
    int64_t wrong = 0;

    driver_fill(q, t, 1.5);
    args.x = t;
    args.y = t;
    args.alpha = -2;
    NEED(ssq_scale(q, &args));
    memset(out, 0, BYTES);
    NEED(ssq_tensor_read(q, t, out, BYTES, SSQ_F16));
    NEED(ssq_queue_sync(q));
    for (int64_t i = 0; i < n; i++)
        wrong += out[2 * i] != 0x00 || out[2 * i + 1] != 0xc2;
    tap_ok(wrong == 0, "%lld float16s are scaled: %lld wrong", (long long)n,
           (long long)wrong);
    ssq_tensor_destroy(&t);
}

/* Of ones, with two at a seam. */
static void test_reductions(ssq_buffer *x)
{
    const int64_t n = N / 4;
    ssq_device_props p = SSQ_DEVICE_PROPS_INIT;
    ssq_tensor *t = vector_over(x, SSQ_F32, n, 0), *sum = NULL, *max = NULL;
    ssq_sum_args s = SSQ_SUM_INIT;
    ssq_max_args m = SSQ_MAX_INIT;
    float got[2] = {0, 0};

    NEED(ssq_device_props_get(dev, &p));
    const uint64_t seam = p.binding_bytes / 4 * 4;
    ssq_tensor *odd = vector_over(x, SSQ_F32, 2, seam - 4);
    NEED(ssq_tensor_create(dev, SSQ_F32, 0, NULL, &sum));
    NEED(ssq_tensor_create(dev, SSQ_F32, 0, NULL, &max));
    driver_fill(q, t, 1);
    driver_fill(q, odd, 2);
    s.x = m.x = t;
    s.y = sum;
    m.y = max;
    NEED(ssq_sum(q, &s));
    NEED(ssq_max(q, &m));
    NEED(ssq_tensor_read(q, sum, &got[0], sizeof(got[0]), SSQ_F32));
    NEED(ssq_tensor_read(q, max, &got[1], sizeof(got[1]), SSQ_F32));
    NEED(ssq_queue_sync(q));
    /* each addition of integers below 2^24 is exact, later ones within 2^-24
     * of the sum so far; there are less than 2^12 of them one after another */
    const double off = (double)got[0] - ((double)n + 2);
    tap_ok(off <= 0x1p-12 * (double)n && off >= -0x1p-12 * (double)n,
           "the sum of %lld float32s is %.9g", (long long)n, (double)got[0]);
    tap_ok(got[1] == 2, "their maximum is %g", (double)got[1]);
    ssq_tensor_destroy(&t);
    ssq_tensor_destroy(&odd);
    ssq_tensor_destroy(&sum);
    ssq_tensor_destroy(&max);
}

/* y = a b with a factor of 300 MiB, which is multiplied in blocks. Every sum is
 * exact: 9600 times 1 times 0.5. */
static void test_product(ssq_buffer *x)
{
    enum { ROWS = 8192, DEPTH = 9600, COLUMNS = 8 };
    const int64_t wide[] = {ROWS, DEPTH}, tall[] = {DEPTH, COLUMNS},
                  d[] = {ROWS, COLUMNS};
    static float got[ROWS * COLUMNS];
    ssq_tensor *a = NULL, *b = NULL, *y = NULL;
    int wrong = 0;

    NEED(ssq_tensor_from_buffer(x, SSQ_F32, 2, wide, NULL, 0, &a));
    NEED(ssq_tensor_create(dev, SSQ_F32, 2, tall, &b));
    NEED(ssq_tensor_create(dev, SSQ_F32, 2, d, &y));
    driver_fill(q, a, 1);
    driver_fill(q, b, 0.5);
    NEED(ssq_gemm(q, SSQ_GEMM(.a = a, .b = b, .d = y)));
    NEED(ssq_tensor_read(q, y, got, sizeof(got), SSQ_F32));
    NEED(ssq_queue_sync(q));
    for (int i = 0; i < ROWS * COLUMNS; i++)
        wrong += got[i] != DEPTH / 2;
    tap_ok(wrong == 0, "a product with a factor of 300 MiB: %d wrong", wrong);
    ssq_tensor_destroy(&a);
    ssq_tensor_destroy(&b);
    ssq_tensor_destroy(&y);
}

int main(void)
{
    ssq_device_props p = SSQ_DEVICE_PROPS_INIT;
    ssq_buffer *x = NULL, *y = NULL;

    if (driver_missing("vulkan"))
        return tap_done(0);
    dev = core_open("vulkan:0");
    q = core_queue(dev);
    NEED(ssq_device_props_get(dev, &p));
    tap_diag("a binding has %llu bytes", (unsigned long long)p.binding_bytes);
    in = malloc(BYTES);
    out = calloc(BYTES, 1);
    if (in == NULL || out == NULL)
        tap_bail("no memory for the test");
    for (int64_t i = 0; i < N; i++)
        in[i] = (unsigned char)(i * 251 >> 7);
    NEED(ssq_buffer_create(dev, BYTES, &x));
    NEED(ssq_buffer_create(dev, BYTES, &y));
    test_copies(x, y);
    test_elementwise(x);
    test_reductions(x);
    test_product(x);
    ssq_buffer_destroy(&x);
    ssq_buffer_destroy(&y);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
    free(in);
    free(out);
    return tap_done(5);
}
