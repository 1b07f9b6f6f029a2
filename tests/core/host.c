/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - tests of the dtypes that host memory has and tensors do not: their
 * conversion, and copies from and to every device. The result from C's own
 * types is the judge, and for 16-bit floats the middle between two neighbours.
 */
#include <math.h>

#include "tests/core/core.h"
#include "tests/core/driver.h"

#define DTYPES 12

static const ssq_dtype host_dtypes[DTYPES] = {
    SSQ_F32, SSQ_F16, SSQ_BF16, SSQ_I32, SSQ_U8,  SSQ_BOOL,
    SSQ_I8,  SSQ_I64, SSQ_U32,  SSQ_F64, SSQ_I16, SSQ_U16};

static const int64_t integers[] = {0,
                                   1,
                                   -1,
                                   2,
                                   127,
                                   128,
                                   -128,
                                   -129,
                                   255,
                                   256,
                                   300,
                                   32767,
                                   32768,
                                   -32768,
                                   -32769,
                                   65535,
                                   65536,
                                   2147483647,
                                   2147483648,
                                   -2147483648LL,
                                   -2147483649LL,
                                   4294967295LL,
                                   4294967296LL,
                                   1099511627776LL,
                                   INT64_MAX,
                                   INT64_MIN};
#define INTEGERS (sizeof(integers) / sizeof(integers[0]))

static ssq_device *dev;
static ssq_queue *queue;

union element {
    float f32;
    double f64;
    int64_t i64;
    int32_t i32;
    uint32_t u32;
    int16_t i16;
    uint16_t u16;
    int8_t i8;
    uint8_t u8;
};

static bool is_float(ssq_dtype d)
{
    return d == SSQ_F32 || d == SSQ_F16 || d == SSQ_BF16 || d == SSQ_F64;
}

static size_t size_of(ssq_dtype d)
{
    return ssq_dtype_bits(d) / 8;
}

/* The least and the greatest integer of a dtype. */
static void range_of(ssq_dtype d, int64_t *min, int64_t *max)
{
    unsigned bits = ssq_dtype_bits(d);
    bool sign = d == SSQ_I8 || d == SSQ_I16 || d == SSQ_I32 || d == SSQ_I64;

    *max = d == SSQ_BOOL ? 1 : INT64_MAX >> (64 - bits - !sign);
    if (!sign && d != SSQ_BOOL)
        *max = (INT64_C(1) << bits) - 1;
    *min = sign ? -*max - 1 : 0;
}

static bool holds(ssq_dtype d, int64_t value)
{
    int64_t min, max;

    range_of(d, &min, &max);
    return value >= min && value <= max;
}

static union element integer(ssq_dtype d, int64_t value)
{
    union element e = {.i64 = 0};

    if (d == SSQ_I64)
        e.i64 = value;
    else if (d == SSQ_I32)
        e.i32 = (int32_t)value;
    else if (d == SSQ_U32)
        e.u32 = (uint32_t)value;
    else if (d == SSQ_I16)
        e.i16 = (int16_t)value;
    else if (d == SSQ_U16)
        e.u16 = (uint16_t)value;
    else if (d == SSQ_I8)
        e.i8 = (int8_t)value;
    else
        e.u8 = (uint8_t)value;
    return e;
}

static union element convert(union element x, ssq_dtype from, ssq_dtype to)
{
    union element y = {.i64 = 0};

    NEED(ssq_convert(&y, to, &x, from, 1, SSQ_ROUND_NEAREST, 0));
    return y;
}

static bool same(union element a, union element b, ssq_dtype d)
{
    return memcmp(&a, &b, size_of(d)) == 0;
}

/* Saturating, and to bool whether it is not 0. */
static void test_integers(void)
{
    long wrong = 0, pairs = 0;

    for (int i = 0; i < DTYPES; i++)
        for (int k = 0; k < DTYPES; k++) {
            ssq_dtype from = host_dtypes[i], to = host_dtypes[k];
            int64_t min, max;

            if (is_float(from) || is_float(to))
                continue;
            range_of(to, &min, &max);
            pairs++;
            for (size_t v = 0; v < INTEGERS; v++) {
                int64_t x = integers[v], y = x < min ? min : x > max ? max : x;

                if (!holds(from, x))
                    continue;
                if (to == SSQ_BOOL)
                    y = x != 0;
                wrong += !same(convert(integer(from, x), from, to),
                               integer(to, y), to);
            }
        }
    tap_ok(wrong == 0 && pairs == 64, "%ld pairs of integers: %ld wrong", pairs,
           wrong);
}

static uint64_t word = 1;

static uint64_t draw(void)
{
    word ^= word << 13;
    word ^= word >> 7;
    word ^= word << 17;
    return word;
}

/* The processor's own conversions round once, too. */
static void test_wide(void)
{
    long wrong[4] = {0};

    for (int i = 0; i < 200000; i++) {
        union element x = {.i64 = (int64_t)draw()}, y;

        x.i64 >>= i % 64;
        y.f32 = (float)x.i64;
        wrong[0] += !same(convert(x, SSQ_I64, SSQ_F32), y, SSQ_F32);
        y.f64 = (double)x.i64;
        wrong[1] += !same(convert(x, SSQ_I64, SSQ_F64), y, SSQ_F64);
        x.f64 = ldexp((double)draw(), (int)(draw() % 360) - 244);
        y.f32 = (float)x.f64;
        wrong[2] += !same(convert(x, SSQ_F64, SSQ_F32), y, SSQ_F32);
        y.i64 = x.f64 >= 0x1p63 ? INT64_MAX : (int64_t)x.f64;
        wrong[3] += !same(convert(x, SSQ_F64, SSQ_I64), y, SSQ_I64);
    }
    tap_ok(wrong[0] == 0 && wrong[1] == 0, "i64 to f32 and f64: %ld, %ld wrong",
           wrong[0], wrong[1]);
    tap_ok(wrong[2] == 0 && wrong[3] == 0, "f64 to f32 and i64: %ld, %ld wrong",
           wrong[2], wrong[3]);
}

static double value_of(ssq_dtype d, uint16_t bits)
{
    union element x = {.u16 = bits};

    return (double)convert(x, d, SSQ_F32).f32;
}

static bool becomes(double x, ssq_dtype d, unsigned bits)
{
    union element e = {.f64 = x};

    return convert(e, SSQ_F64, d).u16 == bits;
}

/* Every finite positive number and its negative: itself, the middle to the
 * next one, and what is next to the middle, which f32 cannot tell from it. */
static void test_halves(ssq_dtype d, unsigned infinity)
{
    long wrong = 0;

    for (unsigned h = 0; h < infinity; h++) {
        double a = value_of(d, (uint16_t)h);
        double b = h + 1 == infinity ? 2.0 * a - value_of(d, (uint16_t)(h - 1))
                                     : value_of(d, (uint16_t)(h + 1));
        double middle = a / 2.0 + b / 2.0;

        wrong += !becomes(a, d, h) || !becomes(-a, d, h | 0x8000) ||
                 !becomes(middle, d, h + (h & 1)) ||
                 !becomes(nextafter(middle, 0.0), d, h) ||
                 !becomes(nextafter(middle, INFINITY), d, h + 1) ||
                 !becomes(-nextafter(middle, INFINITY), d, (h + 1) | 0x8000);
        if (middle < 0x1p62 && a >= 0x1p30) { /* integers of 64 bits as well */
            union element m = {.i64 = (int64_t)middle}, up = {.i64 = m.i64 + 1};

            wrong += convert(m, SSQ_I64, d).u16 != h + (h & 1) ||
                     convert(up, SSQ_I64, d).u16 != h + 1;
        }
    }
    wrong += !becomes(1e300, d, infinity) ||
             !becomes(-1e300, d, infinity | 0x8000) || !becomes(5e-324, d, 0) ||
             !becomes((double)INFINITY, d, infinity);
    tap_ok(wrong == 0, "f64 to %s rounds once: %ld of %u wrong",
           ssq_dtype_name(d), wrong, infinity);
}

/* All elements of 16 bits, to f64 and i64 and back. */
static void test_16_bits(void)
{
    static const ssq_dtype d[4] = {SSQ_F16, SSQ_BF16, SSQ_I16, SSQ_U16};

    for (int k = 0; k < 4; k++) {
        long wrong = 0;

        for (unsigned bits = 0; bits < 65536; bits++) {
            union element x = {.u16 = (uint16_t)bits};
            double v = k == 2 ? x.i16 : k == 3 ? bits : value_of(d[k], x.u16);
            union element wide = convert(x, d[k], SSQ_F64);
            union element f = {.f32 = (float)v};

            wrong += isnan(v) ? !isnan(wide.f64) : wide.f64 != v;
            if (!isnan(v))
                wrong += !same(convert(wide, SSQ_F64, d[k]), x, d[k]) ||
                         !same(convert(x, d[k], SSQ_F32), f, SSQ_F32);
            if (k >= 2)
                wrong += convert(x, d[k], SSQ_I64).i64 != (int64_t)v ||
                         convert(x, d[k], SSQ_I32).i32 != (int32_t)v;
        }
        tap_ok(wrong == 0, "all %s to wider ones and back: %ld wrong",
               ssq_dtype_name(d[k]), wrong);
    }
}

static void test_rounding(void)
{
    const double x[4] = {65519.9, 1e300, -1.0 - 0x1p-11, NAN};
    uint16_t h[4];
    uint8_t b[4];
    long up = 0;

    NEED(ssq_convert(h, SSQ_F16, x, SSQ_F64, 4, SSQ_ROUND_TOWARD_ZERO, 0));
    tap_ok(h[0] == 0x7bff && h[1] == 0x7bff && h[2] == 0xbc00 && h[3] == 0x7e00,
           "toward zero: %04x %04x %04x %04x", h[0], h[1], h[2], h[3]);
    NEED(ssq_convert(b, SSQ_BOOL, x, SSQ_F64, 4, SSQ_ROUND_NEAREST, 0));
    tap_ok(b[0] == 1 && b[2] == 1 && b[3] == 1, "to bool: not 0, NaN too");
    for (uint64_t seed = 0; seed < 10000; seed++) {
        const double quarter = 1.0 + 0x1p-12, tiny = 0x1p-26;

        NEED(ssq_convert(h, SSQ_F16, &quarter, SSQ_F64, 1, SSQ_ROUND_STOCHASTIC,
                         seed));
        up += h[0] == 0x3c01;
        NEED(ssq_convert(h + 1, SSQ_F16, &tiny, SSQ_F64, 1,
                         SSQ_ROUND_STOCHASTIC, seed));
        up += h[1] == 1;
    }
    /* 5 sigma of 20000 draws with a chance of 1/4 */
    tap_ok(labs(up - 5000) < 307, "stochastic: %ld of 20000 are rounded up",
           up);
    NEED(ssq_convert(h, SSQ_F16, x + 1, SSQ_F64, 1, SSQ_ROUND_STOCHASTIC, 1));
    tap_ok(h[0] == 0x7c00, "1e300 is infinite in f16: %04x", h[0]);
}

/* ---- tensors ---- */

/* Write one value in a host dtype, read it in another: value, or an error. */
static long pair(ssq_dtype host, ssq_dtype t, int64_t value)
{
    union element in[3], out[3];
    unsigned char packed[24] = {0}, back[24];
    ssq_tensor *x = core_vector(dev, t, 3);
    size_t size = size_of(host);
    char number[32];

    driver_fill(queue, x, 1);
    in[0] = integer(host, 1);
    in[1] = integer(host, 0);
    in[2] = integer(host, value);
    for (int i = 0; i < 3; i++)
        memcpy(packed + size * (size_t)i, &in[i], size);
    snprintf(number, sizeof(number), "element 2 is %lld,", (long long)value);
    ssq_status st = ssq_tensor_write(queue, x, packed, 3 * size, host);
    long wrong =
        is_float(t) || holds(t, value)
            ? st != SSQ_OK
            : st != SSQ_ERR_INVALID || strstr(ssq_last_error(), number) == NULL;
    bool kept = st != SSQ_OK;
    st = ssq_tensor_read(queue, x, back, sizeof(back), SSQ_I64);
    if (!kept && is_float(t)) { /* may be infinite in f16 */
        ssq_tensor_destroy(&x);
        return wrong + (ssq_queue_sync(queue) != SSQ_OK);
    }
    wrong += st != SSQ_OK || ssq_queue_sync(queue) != SSQ_OK;
    memcpy(out, back, sizeof(back));
    wrong += out[0].i64 != 1 || out[1].i64 != (kept ? 1 : 0) ||
             out[2].i64 != (kept ? 1 : value);
    ssq_tensor_destroy(&x);
    return wrong;
}

static void test_writes(void)
{
    long wrong = 0;

    for (int i = 0; i < DTYPES; i++)
        for (int k = 0; k < 5; k++)
            for (size_t v = 0; v < INTEGERS; v++)
                if (!is_float(host_dtypes[i]) &&
                    holds(host_dtypes[i], integers[v]))
                    wrong += pair(host_dtypes[i], host_dtypes[k], integers[v]);
    tap_ok(wrong == 0, "integers into tensors of every dtype: %ld wrong",
           wrong);
}

/* The results of i32 and f32 tensors as every dtype of the host. */
static void test_reads(ssq_dtype t)
{
    long wrong = 0;

    for (int i = 0; i < DTYPES; i++)
        for (size_t v = 0; v < INTEGERS; v++) {
            ssq_dtype d = host_dtypes[i];
            int64_t value = integers[v];
            union element in = {.i64 = value}, out = {.i64 = 0x5a}, got;
            ssq_tensor *x = core_vector(dev, t, 1);
            bool fits = is_float(d) || holds(d, value);

            if (!holds(SSQ_I32, value) ||
                (t == SSQ_F32 && (float)value != (double)value)) {
                ssq_tensor_destroy(&x);
                continue;
            }
            NEED(ssq_tensor_write(queue, x, &in, sizeof(in), SSQ_I64));
            ssq_status st = ssq_tensor_read(queue, x, &out, sizeof(out), d);
            if (st == SSQ_OK)
                st = ssq_queue_sync(queue);
            else
                NEED(ssq_queue_sync(queue));
            wrong += fits ? st != SSQ_OK : st != SSQ_ERR_INVALID;
            got = is_float(d) ? convert(in, SSQ_I64, d) : integer(d, value);
            wrong += fits ? !same(out, got, d) : out.i64 != 0x5a;
            ssq_tensor_destroy(&x);
        }
    tap_ok(wrong == 0, "%s tensors as every dtype: %ld wrong",
           ssq_dtype_name(t), wrong);
}

static void test_errors(void)
{
    const double bad[4] = {1, 0.5, (double)NAN, 1e300};
    const uint8_t no_bool[2] = {1, 7};
    uint8_t flags[4] = {9, 9, 9, 9};
    float out[4];
    ssq_tensor *i = core_vector(dev, SSQ_I32, 4),
               *h = core_vector(dev, SSQ_F16, 4);
    ssq_tensor *two = NULL, *empty = NULL;
    const int64_t none = 0;

    core_status(ssq_tensor_write(queue, i, bad, sizeof(bad), SSQ_F64),
                SSQ_ERR_INVALID, "tensor_write: |element 1 is 0.5,|i32",
                "a fraction into i32");
    NEED(ssq_tensor_slice(i, 0, 0, 2, 1, &two));
    core_status(ssq_tensor_write(queue, two, bad + 2, 16, SSQ_F64),
                SSQ_ERR_INVALID, "element 0 is nan,", "a NaN into i32");
    core_status(ssq_tensor_write(queue, two, no_bool, 2, SSQ_BOOL),
                SSQ_ERR_INVALID, "element 1 is 7,|bool", "7 is no bool");
    NEED(ssq_tensor_write(queue, h, bad, sizeof(bad), SSQ_F64));
    NEED(ssq_tensor_read(queue, h, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(queue));
    tap_ok(out[1] == 0.5f && isnan(out[2]) && isinf(out[3]),
           "1e300 is infinite in f16, NaN stays");
    core_status(ssq_tensor_read(queue, h, flags, sizeof(flags), SSQ_BOOL),
                SSQ_ERR_INVALID, "tensor_read: |element 1 is 0.5,|bool",
                "a read of 0.5 as bool");
    tap_ok(flags[0] == 9, "leaves the host as it was");
    NEED(ssq_tensor_create(dev, SSQ_I32, 1, &none, &empty));
    core_status(ssq_tensor_write(queue, empty, NULL, 0, SSQ_I64), SSQ_OK, NULL,
                "0 elements of i64");
    core_status(ssq_tensor_read(queue, empty, NULL, 0, SSQ_BOOL), SSQ_OK, NULL,
                "0 elements as bool");
    core_status(ssq_tensor_write(queue, i, bad, sizeof(bad), SSQ_F8E4M3),
                SSQ_ERR_UNSUPPORTED, "f8e4m3", "reserved is reserved");
    ssq_graph *g = NULL;
    NEED(ssq_graph_begin(queue));
    core_status(ssq_tensor_write(queue, h, bad, sizeof(bad), SSQ_F64),
                SSQ_ERR_INVALID, "captured", "a write in a capture");
    core_status(ssq_tensor_read(queue, i, flags, sizeof(flags), SSQ_U8),
                SSQ_ERR_INVALID, "captured", "a read in a capture");
    NEED(ssq_graph_end(queue, &g));
    ssq_graph_destroy(&g);
    ssq_tensor_destroy(&two);
    ssq_tensor_destroy(&empty);
    ssq_tensor_destroy(&i);
    ssq_tensor_destroy(&h);
}

/* A transposed view, and reads that land at an event, a query, a status. */
static void test_landing(const char *name)
{
    const int64_t shape[2] = {2, 3};
    int64_t in[6] = {0, 1, 2, 3, 4, 5}, out[6];
    double later[6] = {-1, -1, -1, -1, -1, -1};
    ssq_tensor *x = NULL, *t = NULL;
    ssq_event *e = NULL;
    bool late = strcmp(name, "guard") == 0;

    NEED(ssq_event_create(dev, &e));
    NEED(ssq_tensor_create(dev, SSQ_I32, 2, shape, &x));
    NEED(ssq_tensor_transpose(x, NULL, &t));
    NEED(ssq_tensor_write(queue, t, in, sizeof(in), SSQ_I64));
    NEED(ssq_tensor_read(queue, x, out, sizeof(out), SSQ_I64));
    NEED(ssq_tensor_read(queue, t, later, sizeof(later), SSQ_F64));
    tap_ok(!late || later[5] == -1, "%s: a read that always fits is late: %g",
           name, later[5]);
    NEED(ssq_event_record(e, queue));
    NEED(ssq_event_sync(e));
    tap_ok(out[1] == 2 && out[2] == 4 && out[5] == 5 && later[1] == 1 &&
               later[5] == 5,
           "%s: it has landed at the event, through views", name);
    later[0] = later[5] = -1;
    NEED(ssq_tensor_read(queue, t, later, sizeof(later), SSQ_F64));
    NEED(ssq_event_record(e, queue));
    if (late)
        NEED(ssq_queue_sync(queue));
    while (ssq_event_query(e) == SSQ_ERR_NOT_READY)
        continue;
    tap_ok(later[5] == 5, "%s: when a query finds the event", name);
    later[5] = -1;
    NEED(ssq_tensor_read(queue, t, later, sizeof(later), SSQ_F64));
    if (late)
        NEED(ssq_queue_sync(queue));
    while (ssq_queue_status(queue) == SSQ_ERR_NOT_READY)
        continue;
    tap_ok(later[5] == 5, "%s: and when the queue is idle", name);
    ssq_event_destroy(&e);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&t);
    /* a queue's end waits, too */
    ssq_queue *q = core_queue(dev);
    x = core_vector(dev, SSQ_F32, 6);
    driver_fill(q, x, 3);
    NEED(ssq_tensor_read(q, x, later, sizeof(later), SSQ_F64));
    ssq_queue_destroy(&q);
    tap_ok(later[5] == 3, "%s: and when the queue is gone", name);
    ssq_tensor_destroy(&x);
}

int main(void)
{
    test_integers();
    test_wide();
    test_halves(SSQ_F16, 0x7c00);
    test_halves(SSQ_BF16, 0x7f80);
    test_16_bits();
    test_rounding();
    for (size_t i = 0; i < core_device_count(); i++) {
        dev = core_open(core_device(i));
        queue = core_queue(dev);
        tap_diag("%s", core_device(i));
        test_writes();
        test_reads(SSQ_I32);
        test_reads(SSQ_F32);
        test_errors();
        test_landing(core_device(i));
        ssq_queue_destroy(&queue);
        ssq_device_close(&dev);
    }
    return tap_done(48);
}
