/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c - tests of tensors and their views through the public API. */

#include "tests/core/core.h"

#define S(...) ((const int64_t[]){__VA_ARGS__})

static ssq_device *dev;
static ssq_queue *queue;

/* The elements of a tensor as small numbers "0 1 2", in buf. */
static const char *elements(const ssq_tensor *t, char *buf, size_t bytes)
{
    float host[64];
    size_t at = 0;

    buf[0] = '\0';
    NEED(ssq_tensor_read(queue, t, host, sizeof(host), SSQ_F32));
    NEED(ssq_queue_sync(queue));
    for (int64_t i = 0; i < ssq_tensor_elements(t) && at < bytes; i++)
        at += (size_t)snprintf(buf + at, bytes - at, "%s%g", i > 0 ? " " : "",
                               (double)host[i]);
    return buf;
}

/* One case: a view was made and has these elements; frees it. */
static void has(ssq_status st, ssq_tensor **view, const char *want,
                const char *name)
{
    char text[256] = "";

    if (st != SSQ_OK)
        snprintf(text, sizeof(text), "%s", ssq_last_error());
    else
        elements(*view, text, sizeof(text));
    tap_ok(st == SSQ_OK && strcmp(text, want) == 0, "%s: %s", name, text);
    ssq_tensor_destroy(view);
}

/* 0, 1, 2, .. in a shape. */
static ssq_tensor *iota(int rank, const int64_t *shape)
{
    float host[64];
    ssq_tensor *t = NULL;

    for (int i = 0; i < 64; i++)
        host[i] = (float)i;
    NEED(ssq_tensor_create(dev, SSQ_F32, rank, shape, &t));
    NEED(ssq_tensor_write(queue, t, host, sizeof(host), SSQ_F32));
    NEED(ssq_queue_sync(queue));
    return t;
}

static void test_fields(void)
{
    ssq_tensor_desc desc = SSQ_TENSOR_DESC_INIT;
    ssq_tensor *t = iota(3, S(2, 3, 4));

    NEED(ssq_tensor_desc_get(t, &desc));
    tap_ok(desc.rank == 3 && desc.elements == 24 && desc.contiguous &&
               desc.offset == 0 && desc.strides[0] == 12 &&
               desc.strides[1] == 4 && desc.strides[2] == 1,
           "[2,3,4] is contiguous with strides 12,4,1");
    tap_ok(ssq_tensor_dtype(t) == SSQ_F32 && ssq_tensor_rank(t) == 3 &&
               ssq_tensor_elements(t) == 24 && ssq_tensor_size(t, 0) == 2 &&
               ssq_tensor_size(t, -1) == 4 && ssq_tensor_size(t, -3) == 2 &&
               ssq_tensor_size(t, 3) == -1 && ssq_tensor_size(t, -4) == -1 &&
               ssq_tensor_device(t) == dev,
           "single fields of [2,3,4]; sizes -1, -3, 3 and -4");
    tap_ok(ssq_tensor_dtype(NULL) == SSQ_F32 && ssq_tensor_rank(NULL) == 0 &&
               ssq_tensor_elements(NULL) == 0 &&
               ssq_tensor_size(NULL, 0) == -1 &&
               ssq_tensor_device(NULL) == NULL,
           "single fields of NULL");
    desc.struct_size = 3;
    core_status(ssq_tensor_desc_get(t, &desc), SSQ_ERR_INVALID, "struct_size|3",
                "desc with struct_size 3");
    core_status(ssq_tensor_desc_get(NULL, &desc), SSQ_ERR_INVALID, "NULL",
                "desc of NULL");
    ssq_tensor_destroy(&t);
    ssq_tensor_destroy(&t);
    ssq_tensor_destroy(NULL);
    tap_ok(t == NULL, "destroy sets NULL, takes NULL and a pointer to NULL");
}

static void test_create(void)
{
    ssq_tensor *t = NULL;

    core_status(ssq_tensor_create(dev, SSQ_F32, 7, S(1, 1, 1, 1, 1, 1, 1), &t),
                SSQ_ERR_INVALID, "rank|7|6", "rank 7");
    core_status(ssq_tensor_create(dev, SSQ_F32, -1, NULL, &t), SSQ_ERR_INVALID,
                "rank|-1", "rank -1");
    core_status(ssq_tensor_create(dev, SSQ_F32, 2, S(3, -2), &t),
                SSQ_ERR_INVALID, "-2", "shape [3,-2]");
    core_status(ssq_tensor_create(dev, SSQ_F32, 1, NULL, &t), SSQ_ERR_INVALID,
                "NULL", "rank 1 and no shape");
    core_status(ssq_tensor_create(dev, SSQ_F64, 1, S(3), &t),
                SSQ_ERR_UNSUPPORTED, "f64|host",
                "dtype f64, of host memory alone");
    core_status(ssq_tensor_create(dev, (ssq_dtype)99, 1, S(3), &t),
                SSQ_ERR_INVALID, "99", "dtype 99");
    core_status(ssq_tensor_create(NULL, SSQ_F32, 1, S(3), &t), SSQ_ERR_INVALID,
                "NULL", "no device");
    core_status(ssq_tensor_create(dev, SSQ_F32, 1, S(3), NULL), SSQ_ERR_INVALID,
                "NULL", "no result pointer");
    core_status(ssq_tensor_create(dev, SSQ_F32, 2,
                                  S(INT64_C(1) << 40, INT64_C(1) << 40), &t),
                SSQ_ERR_INVALID, "64 bits", "2^40 x 2^40 elements overflow");
    core_status(ssq_tensor_create(dev, SSQ_F32, 3,
                                  S(INT64_C(1) << 40, 0, INT64_C(1) << 40), &t),
                SSQ_ERR_INVALID, "64 bits",
                "2^40 x 0 x 2^40: strides overflow although it is empty");
    core_status(ssq_tensor_create(dev, SSQ_U8, 1, S(INT64_MAX), &t),
                SSQ_ERR_INVALID, "64 bits", "2^63 - 1 bytes");
    tap_ok(t == NULL, "no failed call wrote its result");
}

static void test_empty(void)
{
    ssq_tensor *t = NULL, *v = NULL;

    has(ssq_tensor_create(dev, SSQ_F32, 2, S(0, 3), &t), &t, "",
        "[0,3] is legal, written and read");
    NEED(ssq_tensor_create(dev, SSQ_F32, 2, S(0, 3), &t));
    core_status(ssq_tensor_write(queue, t, NULL, 0, SSQ_F32), SSQ_OK, NULL,
                "0 elements are written from NULL");
    core_status(ssq_tensor_read(queue, t, NULL, 0, SSQ_F16), SSQ_OK, NULL,
                "0 elements are read into NULL, converted");
    has(ssq_tensor_reshape(t, 3, S(5, 0, 7), &v), &v, "", "[0,3] as [5,0,7]");
    core_status(ssq_tensor_reshape(t, 2, S(0, -1), &v), SSQ_ERR_INVALID,
                "reshape", "[0,3] as [0,-1]: any size would do");
    has(ssq_tensor_slice(t, 1, 2, 2, 1, &v), &v, "", "[0,3] sliced 2:2");
    has(ssq_tensor_transpose(t, NULL, &v), &v, "", "[0,3] transposed");
    ssq_tensor_destroy(&t);
    NEED(ssq_tensor_create(dev, SSQ_F32, 2, S(1, 3), &t));
    has(ssq_tensor_broadcast(t, 2, S(0, 3), &v), &v, "",
        "[1,3] broadcast to [0,3]");
    ssq_tensor_destroy(&t);
}

static void test_scalar(void)
{
    ssq_tensor *t = iota(0, NULL), *v = NULL;

    has(ssq_tensor_reshape(t, 0, NULL, &v), &v, "0", "rank 0 as rank 0");
    has(ssq_tensor_reshape(t, 2, S(1, -1), &v), &v, "0", "rank 0 as [1,-1]");
    has(ssq_tensor_transpose(t, NULL, &v), &v, "0", "rank 0 transposed");
    has(ssq_tensor_broadcast(t, 2, S(2, 2), &v), &v, "0 0 0 0",
        "rank 0 broadcast to [2,2]");
    core_status(ssq_tensor_slice(t, 0, 0, 1, 1, &v), SSQ_ERR_INVALID, "axis",
                "rank 0 has no axis 0");
    ssq_tensor_destroy(&t);
}

static void test_reshape(void)
{
    ssq_tensor *t = iota(2, S(2, 6)), *v = NULL, *cut = NULL;

    has(ssq_tensor_reshape(t, 3, S(3, -1, 2), &v), &v,
        "0 1 2 3 4 5 6 7 8 9 10 11", "[2,6] as [3,-1,2]");
    core_status(ssq_tensor_reshape(t, 2, S(5, -1), &v), SSQ_ERR_INVALID,
                "[2,6]|12", "[2,6] as [5,-1]");
    core_status(ssq_tensor_reshape(t, 2, S(-1, -1), &v), SSQ_ERR_INVALID, "-1",
                "[2,6] as [-1,-1]");
    core_status(ssq_tensor_reshape(t, 1, S(-2), &v), SSQ_ERR_INVALID, "-2",
                "[2,6] as [-2]");
    core_status(ssq_tensor_reshape(t, 1, S(13), &v), SSQ_ERR_INVALID, "12|13",
                "[2,6] as [13]");
    core_status(ssq_tensor_reshape(t, 2, S(INT64_MAX, INT64_MAX), &v),
                SSQ_ERR_INVALID, "overflow", "[2,6] as [2^63-1,2^63-1]");
    core_status(ssq_tensor_reshape(t, 7, S(1, 1, 1, 1, 1, 1, 12), &v),
                SSQ_ERR_INVALID, "rank 7", "[2,6] as rank 7");
    core_status(ssq_tensor_reshape(NULL, 1, S(1), &v), SSQ_ERR_INVALID, "NULL",
                "reshape of NULL");
    NEED(ssq_tensor_slice(t, 1, 0, 4, 1, &cut));
    has(ssq_tensor_reshape(cut, 3, S(2, 2, 2), &v), &v, "0 1 2 3 6 7 8 9",
        "columns 0..3 of [2,6] as [2,2,2], a view");
    has(ssq_tensor_reshape(cut, 4, S(2, 1, 4, 1), &v), &v, "0 1 2 3 6 7 8 9",
        "columns 0..3 of [2,6] as [2,1,4,1], a view");
    core_status(ssq_tensor_reshape(cut, 2, S(4, 2), &v), SSQ_ERR_INVALID,
                "copy|[2,4]", "as [4,2]: its rows are not evenly spaced");
    core_status(ssq_tensor_reshape(cut, 1, S(8), &v), SSQ_ERR_INVALID,
                "copy|[2,4]", "columns 0..3 of [2,6] as [8] need a copy");
    ssq_tensor_destroy(&cut);
    ssq_tensor_destroy(&t);
    tap_ok(v == NULL, "no failed reshape wrote its result");
}

static void test_slice(void)
{
    ssq_tensor *t = iota(2, S(3, 4)), *v = NULL;

    has(ssq_tensor_slice(t, 0, 1, 3, 1, &v), &v, "4 5 6 7 8 9 10 11",
        "rows 1:3 of [3,4]");
    has(ssq_tensor_slice(t, -1, 0, 4, 3, &v), &v, "0 3 4 7 8 11",
        "columns 0:4:3 of [3,4]");
    has(ssq_tensor_slice(t, 1, 1, 4, INT64_MAX, &v), &v, "1 5 9",
        "columns 1:4:(2^63 - 1)");
    has(ssq_tensor_slice(t, 0, 3, 3, 1, &v), &v, "", "rows 3:3");
    core_status(ssq_tensor_slice(t, 0, 2, 1, 1, &v), SSQ_ERR_INVALID, "2:1",
                "rows 2:1");
    core_status(ssq_tensor_slice(t, 0, 0, 4, 1, &v), SSQ_ERR_INVALID, "4|3",
                "rows 0:4");
    core_status(ssq_tensor_slice(t, 0, -1, 2, 1, &v), SSQ_ERR_INVALID, "-1",
                "rows -1:2");
    core_status(ssq_tensor_slice(t, 0, 0, 2, 0, &v), SSQ_ERR_INVALID, ":0",
                "step 0");
    core_status(ssq_tensor_slice(t, 2, 0, 1, 1, &v), SSQ_ERR_INVALID,
                "tensor_slice|2", "axis 2");
    core_status(ssq_tensor_slice(t, -3, 0, 1, 1, &v), SSQ_ERR_INVALID,
                "tensor_slice|-3", "axis -3");
    ssq_tensor_destroy(&t);
}

static void test_transpose(void)
{
    ssq_tensor *t = iota(3, S(2, 3, 2)), *v = NULL;

    has(ssq_tensor_transpose(t, NULL, &v), &v, "0 6 2 8 4 10 1 7 3 9 5 11",
        "[2,3,2] reversed");
    has(ssq_tensor_transpose(t, (const int[]){1, 0, -1}, &v), &v,
        "0 1 6 7 2 3 8 9 4 5 10 11", "[2,3,2] with axes 1,0,-1");
    core_status(ssq_tensor_transpose(t, (const int[]){0, 1, 1}, &v),
                SSQ_ERR_INVALID, "1 appears twice", "axes 0,1,1");
    core_status(ssq_tensor_transpose(t, (const int[]){0, 1, 3}, &v),
                SSQ_ERR_INVALID, "3", "axes 0,1,3");
    ssq_tensor_destroy(&t);
}

static void test_broadcast(void)
{
    ssq_tensor *t = iota(2, S(2, 1)), *v = NULL;

    has(ssq_tensor_broadcast(t, 3, S(2, 2, 3), &v), &v,
        "0 0 0 1 1 1 0 0 0 1 1 1", "[2,1] to [2,2,3]");
    core_status(ssq_tensor_broadcast(t, 2, S(3, 3), &v), SSQ_ERR_INVALID,
                "[2,1]|[3,3]", "[2,1] to [3,3]");
    core_status(ssq_tensor_broadcast(t, 1, S(2), &v), SSQ_ERR_INVALID,
                "[2,1]|[2]", "[2,1] to [2]");
    core_status(ssq_tensor_broadcast(t, 7, S(1, 1, 1, 1, 1, 2, 1), &v),
                SSQ_ERR_INVALID, "7", "[2,1] to rank 7");
    NEED(ssq_tensor_broadcast(t, 2, S(2, 3), &v));
    float host[6] = {0};
    core_status(ssq_tensor_write(queue, v, host, sizeof(host), SSQ_F32),
                SSQ_ERR_INVALID, NULL, "a write to [2,1] broadcast to [2,3]");
    ssq_tensor_destroy(&v);
    ssq_tensor_destroy(&t);
}

static void test_from_buffer(void)
{
    ssq_buffer *b = NULL;
    ssq_tensor *t = NULL;

    NEED(ssq_buffer_create(dev, 64, &b));
    tap_ok(ssq_buffer_bytes(b) == 64 && ssq_buffer_bytes(NULL) == 0,
           "a buffer of 64 bytes says so; NULL has 0");
    core_status(ssq_tensor_from_buffer(b, SSQ_F32, 2, S(2, 3), S(8, 1), 20, &t),
                SSQ_OK, NULL, "[2,3] with strides 8,1 from byte 20 ends at 64");
    ssq_tensor_destroy(&t);
    core_status(ssq_tensor_from_buffer(b, SSQ_F32, 2, S(2, 3), S(8, 1), 24, &t),
                SSQ_ERR_INVALID, "68|64", "from byte 24 it does not fit");
    core_status(ssq_tensor_from_buffer(b, SSQ_F32, 1, S(2), NULL, 2, &t),
                SSQ_ERR_INVALID, "2|f32", "f32 at byte 2");
    core_status(ssq_tensor_from_buffer(b, SSQ_F16, 1, S(31), NULL, 2, &t),
                SSQ_OK, NULL, "31 f16 at byte 2");
    ssq_tensor_destroy(&t);
    core_status(ssq_tensor_from_buffer(b, SSQ_F32, 1, S(2), S(-1), 0, &t),
                SSQ_ERR_INVALID, "-1", "a stride of -1");
    core_status(ssq_tensor_from_buffer(b, SSQ_F32, 2, S(3, 3),
                                       S(INT64_MAX, INT64_MAX), 0, &t),
                SSQ_ERR_INVALID, "overflow", "strides of 2^63 - 1");
    core_status(
        ssq_tensor_from_buffer(b, SSQ_F32, 1, S(1), NULL, UINT64_MAX - 3, &t),
        SSQ_ERR_INVALID, "64", "an offset of 2^64 - 4");
    core_status(ssq_tensor_from_buffer(b, SSQ_U8, 1, S(0), NULL, 64, &t),
                SSQ_OK, NULL, "0 elements at the buffer's end");
    ssq_tensor_destroy(&t);
    core_status(ssq_tensor_from_buffer(b, SSQ_U8, 1, S(0), NULL, 65, &t),
                SSQ_ERR_INVALID, "65|64", "0 elements behind the end");
    core_status(ssq_tensor_from_buffer(NULL, SSQ_U8, 1, S(0), NULL, 0, &t),
                SSQ_ERR_INVALID, "NULL", "a tensor of no buffer");
    ssq_buffer_destroy(&b);
    core_status(ssq_buffer_create(dev, 0, &b), SSQ_OK, NULL,
                "a buffer of 0 bytes");
    core_status(ssq_tensor_from_buffer(b, SSQ_F32, 2, S(0, 4), NULL, 0, &t),
                SSQ_OK, NULL, "[0,4] in it");
    ssq_buffer_destroy(&b);
    ssq_buffer_destroy(&b);
    ssq_buffer_destroy(NULL);
    ssq_tensor_destroy(&t);
}

/* Views keep the buffer when the tensor is gone, and copies go through any
 * strides. */
static void test_strided_copies(void)
{
    static const float in[6] = {10, 11, 12, 13, 14, 15};
    ssq_tensor *t = iota(2, S(3, 4)), *v = NULL, *w = NULL;
    char text[128];

    NEED(ssq_tensor_slice(t, 1, 1, 3, 1, &v));
    NEED(ssq_tensor_transpose(v, NULL, &w));
    ssq_tensor_destroy(&v);
    NEED(ssq_tensor_write(queue, w, in, sizeof(in), SSQ_F32));
    NEED(ssq_queue_sync(queue));
    elements(t, text, sizeof(text));
    ssq_tensor_destroy(&t);
    tap_ok(strcmp(text, "0 10 13 3 4 11 14 7 8 12 15 11") == 0,
           "a write through columns 1..2, transposed: %s", text);
    elements(w, text, sizeof(text));
    tap_ok(strcmp(text, "10 11 12 13 14 15") == 0,
           "read through the view, the tensor gone: %s", text);
    ssq_tensor_destroy(&w);
}

/* Host elements of another dtype are rounded on the way. */
static void test_converting_copies(void)
{
    static const float in[4] = {1, 2049, 65520, -1e-8f};
    uint16_t half[4];
    float out[4];
    ssq_tensor *t = core_vector(dev, SSQ_F16, 4);

    NEED(ssq_tensor_write(queue, t, in, sizeof(in), SSQ_F32));
    NEED(ssq_tensor_read(queue, t, half, sizeof(half), SSQ_F16));
    NEED(ssq_tensor_read(queue, t, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(queue));
    tap_ok(half[0] == 0x3c00 && half[1] == 0x6800 && half[2] == 0x7c00 &&
               half[3] == 0x8000,
           "1, 2049, 65520, -1e-8 are 3c00 6800 7c00 8000 in f16: %04x %04x "
           "%04x %04x",
           half[0], half[1], half[2], half[3]);
    tap_ok(out[0] == 1 && out[1] == 2048 && out[2] > 3e38f && out[3] == 0,
           "and 1, 2048, inf, -0 read back as f32");
    core_status(ssq_tensor_write(queue, t, in, sizeof(in), SSQ_F8E4M3),
                SSQ_ERR_UNSUPPORTED, "f8e4m3",
                "host elements of f8e4m3, reserved");
    core_status(ssq_tensor_write(queue, t, in, sizeof(in), (ssq_dtype)77),
                SSQ_ERR_INVALID, "77", "host elements of dtype 77");
    core_status(ssq_tensor_write(queue, t, NULL, 16, SSQ_F32), SSQ_ERR_INVALID,
                "NULL", "4 elements from NULL");
    core_status(ssq_tensor_read(queue, t, NULL, 16, SSQ_F32), SSQ_ERR_INVALID,
                "NULL", "4 elements into NULL");
    core_status(ssq_tensor_write(NULL, t, in, sizeof(in), SSQ_F32),
                SSQ_ERR_INVALID, "NULL", "a write on no queue");
    core_status(ssq_tensor_read(queue, NULL, out, sizeof(out), SSQ_F32),
                SSQ_ERR_INVALID, "NULL", "a read of no tensor");
    ssq_tensor_destroy(&t);
}

/* The host buffer's bytes: too small a buffer is refused, bytes after the
 * elements stay as they were. */
static void test_host_bytes(void)
{
    float in[6] = {1, 2, 3, 4, 5, 6}, out[6] = {0, 0, 0, 0, 7, 8};
    ssq_tensor *t = core_vector(dev, SSQ_F16, 4), *v = NULL, *many = NULL;
    int64_t one = 1;

    core_status(ssq_tensor_write(queue, t, in, 15, SSQ_F32), SSQ_ERR_INVALID,
                "tensor_write: |4 elements of f32|16 bytes|has 15",
                "a write from one byte too few");
    core_status(ssq_tensor_read(queue, t, out, 7, SSQ_F16), SSQ_ERR_INVALID,
                "tensor_read: |4 elements of f16|8 bytes|has 7",
                "a read into one byte too few");
    NEED(ssq_tensor_write(queue, t, in, 16, SSQ_F32));
    NEED(ssq_tensor_read(queue, t, out, sizeof(out), SSQ_F32));
    NEED(ssq_queue_sync(queue));
    tap_ok(out[3] == 4 && out[4] == 7 && out[5] == 8,
           "a larger buffer keeps what is behind the elements");
    NEED(ssq_tensor_slice(t, 0, 0, 4, 2, &v));
    core_status(ssq_tensor_read(queue, v, out, 7, SSQ_F32), SSQ_ERR_INVALID,
                "2 elements|8 bytes|has 7", "a view counts its own elements");
    ssq_tensor_destroy(&v);
    ssq_tensor_destroy(&t);
    NEED(ssq_tensor_create(dev, SSQ_U8, 1, &one, &t));
    NEED(ssq_tensor_broadcast(t, 1, S(INT64_C(1) << 59), &many));
    core_status(ssq_tensor_read(queue, many, out, sizeof(out), SSQ_F32),
                SSQ_ERR_INVALID, "tensor_read: |2305843009213693952 bytes",
                "more bytes than there are");
    ssq_tensor_destroy(&many);
    ssq_tensor_destroy(&t);
}

static void test_other_device(void)
{
    ssq_device *other = core_open("reference");
    ssq_tensor *t = core_vector(other, SSQ_F32, 4);
    float host[4] = {0};

    core_status(ssq_tensor_write(queue, t, host, sizeof(host), SSQ_F32),
                SSQ_ERR_INVALID, "device",
                "a write to another device's tensor");
    core_status(ssq_tensor_read(queue, t, host, sizeof(host), SSQ_F32),
                SSQ_ERR_INVALID, "device", "a read of another device's tensor");
    ssq_tensor_destroy(&t);
    ssq_device_close(&other);
}

int main(void)
{
    for (size_t i = 0; i < core_device_count(); i++) {
        dev = core_open(core_device(i));
        queue = core_queue(dev);
        tap_diag("%s", core_device(i));
        test_fields();
        test_create();
        test_empty();
        test_scalar();
        test_reshape();
        test_slice();
        test_transpose();
        test_broadcast();
        test_from_buffer();
        test_strided_copies();
        test_converting_copies();
        test_host_bytes();
        test_other_device();
        ssq_queue_destroy(&queue);
        ssq_device_close(&dev);
    }
    return tap_done(176);
}
