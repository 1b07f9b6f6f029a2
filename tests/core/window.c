/* SPDX-License-Identifier: Apache-2.0 */
/* window.c - ops larger than a launch: split in order, or refused with the
 * numbers. */
#include "lib/core/queue/window.h"

#include "lib/core/core.h"
#include "lib/op/elementwise/elementwise.h"
#include "tests/core/core.h"

/* Never touched: only its address is used. */
static ssq_buffer buffer;

static struct view view(ssq_dtype dtype, uint64_t offset, int rank,
                        const int64_t *shape, const int64_t *stride)
{
    struct view v = {.buffer = &buffer,
                     .offset = offset,
                     .dtype = dtype,
                     .rank = rank,
                     .access = ACCESS_READ};
    for (int i = 0; i < rank; i++) {
        v.shape[i] = shape[i];
        v.stride[i] = stride[i];
    }
    return v;
}

#define MOST 5000
/* The memory that the windows of an op touch: byte offsets of all its views'
 * elements, in the order of the windows. */
struct window_trace {
    uint64_t limit;
    unsigned walked;
    size_t windows, n;
    uint64_t at[MOST][3];
    bool fits, counted; /* every window, so far */
};

/* The byte offset of element i of v. */
static uint64_t place(const struct view *v, int64_t i)
{
    uint64_t at = v->offset;
    for (int d = v->rank - 1; d >= 0; d--) {
        at +=
            (uint64_t)(i % v->shape[d] * v->stride[d]) * dtype_bytes(v->dtype);
        i /= v->shape[d];
    }
    return at;
}

static ssq_status record(void *user, struct op *op)
{
    struct window_trace *t = user;
    const struct view *v = op_views(op);
    t->windows++;
    t->counted = t->counted && op->first == t->n;
    for (uint32_t k = 0; k < op->nviews; k++)
        t->fits = t->fits && v[k].offset % 256 + view_span(&v[k]) <= t->limit;
    for (int64_t i = 0; i < view_elements(&v[0]) && t->n < MOST; i++, t->n++)
        for (uint32_t k = 0; k < op->nviews && k < 3; k++)
            t->at[t->n][k] =
                (t->walked >> k & 1) != 0 ? place(&v[k], i) : v[k].offset;
    return SSQ_OK;
}

static uint64_t seed = 1;

static uint64_t below(uint64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

/* A view of a shape with its dimensions in a random order in memory, with
 * random gaps; now and then a dimension is repeated. */
static struct view scatter(ssq_dtype dtype, int rank, const int64_t *shape,
                           bool repeat)
{
    int order[SSQ_MAX_RANK];
    int64_t stride[SSQ_MAX_RANK] = {0}, step = 1;
    for (int i = 0; i < rank; i++) {
        int j = (int)below((uint64_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < rank; i++) {
        step += (int64_t)below(3);
        stride[order[i]] = step;
        step *= shape[order[i]];
        if (repeat && below(4) == 0)
            stride[order[i]] = 0;
    }
    return view(dtype, below(100) * 4, rank, shape, stride);
}

/* An element's places, as a key of a sort. */
static int by_place(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    for (int k = 0; k < 3; k++)
        if (x[k] != y[k])
            return x[k] < y[k] ? -1 : 1;
    return 0;
}

/* Does an op come out whole, in windows that fit; its elements in order, or
 * each of them once? op is put back, as copy says it was. */
static bool comes_out(struct op *op, const void *copy, size_t bytes,
                      uint64_t limit, bool in_order, struct window_trace *t)
{
    static struct window_trace whole;
    unsigned walked = in_order ? 3 : 7;
    *t = (struct window_trace){limit, walked, 0, 0, {{0}}, true, true};
    whole = (struct window_trace){UINT64_MAX, walked, 0, 0, {{0}}, true, true};
    (void)record(&whole, op);
    if (window_each(op, limit, record, t) != SSQ_OK || t->n != whole.n)
        return false;
    if (!in_order) {
        qsort(t->at, t->n, sizeof(t->at[0]), by_place);
        qsort(whole.at, t->n, sizeof(t->at[0]), by_place);
    }
    return t->fits && (t->counted || !in_order) &&
           memcmp(t->at, whole.at, t->n * sizeof(t->at[0])) == 0 &&
           memcmp(op, copy, bytes) == 0;
}

/* A random op: a cast, whose elements are numbered, or a sum of two. */
static bool splits(uint64_t limit, int rank, bool in_order,
                   struct window_trace *t)
{
    static const uint64_t most[] = {0, 4000, 60, 16, 8}; /* per dimension */
    const ssq_dtype types[] = {SSQ_F32, SSQ_F16, SSQ_U8};
    int64_t shape[SSQ_MAX_RANK];
    for (int i = 0; i < rank; i++)
        shape[i] = 1 + (int64_t)below(most[rank]);
    struct view x = scatter(types[below(3)], rank, shape, true);
    struct view y = scatter(types[below(3)], rank, shape, false);
    if (in_order) {
        struct cast_op op = {.op = OP_HEADER(cast, x), .x = x, .y = y};
        struct cast_op before = op;
        return comes_out(&op.op, &before, sizeof(op), limit, true, t);
    }
    struct binary_op op = {.op = OP_HEADER(binary, a), .a = x, .y = y};
    op.b = scatter(types[below(3)], rank, shape, true);
    struct binary_op before = op;
    return comes_out(&op.op, &before, sizeof(op), limit, false, t);
}

static void test_order(bool in_order)
{
    static struct window_trace t;
    static const uint64_t limits[] = {512, 700, 1024, 4096};
    for (int rank = 1; rank <= 4; rank++)
        for (size_t k = 0; k < 4; k++) {
            size_t good = 0, windows = 0;
            for (int i = 0; i < 50; i++) {
                good += splits(limits[k], rank, in_order, &t);
                windows += t.windows;
            }
            tap_ok(good == 50 && windows > 50,
                   "50 ops of rank %d in %zu windows of at most %llu bytes are "
                   "whole%s: %zu",
                   rank, windows, (unsigned long long)limits[k],
                   in_order ? " and in order" : "", good);
        }
}

/* A row of the transposed operand spans all of it: columns are cut, or there
 * would be a window for every row. */
static void test_widest(void)
{
    static struct window_trace t;
    const int64_t shape[] = {1000, 3}, dense[] = {3, 1}, turned[] = {1, 1000};
    struct copy_op op = {.op = OP_HEADER(copy, x),
                         .x = view(SSQ_F32, 0, 2, shape, dense),
                         .y = view(SSQ_F32, 0, 2, shape, turned)};
    struct copy_op before = op;
    t = (struct window_trace){1024, 3, 0, 0, {{0}}, true, true};
    /* 1024 bytes are 85 rows of x, and a column of y is 4000 bytes */
    ssq_status st = window_each(&op.op, 1024, record, &t);
    tap_ok(st == SSQ_OK && t.fits && t.n == 3000 && t.windows == 36 &&
               memcmp(&op, &before, sizeof(op)) == 0,
           "a transpose of 1000 x 3 within 1024 bytes is %zu windows, not 1000",
           t.windows);
}

struct window_count {
    size_t windows;
    uint64_t elements;
    int64_t largest;
    bool aligned;
};

static ssq_status tally(void *user, struct op *op)
{
    struct window_count *c = user;
    const struct view *v = op_views(op);
    int64_t n = view_elements(v);
    c->aligned = c->aligned && op->first == c->elements && v->offset % 256 == 0;
    c->windows++;
    c->elements += (uint64_t)n;
    c->largest = n > c->largest ? n : c->largest;
    return SSQ_OK;
}

static void test_huge(void)
{
    const int64_t n = (int64_t)1 << 33, one = 1;
    struct fill_op op = {.op = OP_HEADER(fill, y),
                         .y = view(SSQ_F32, 512, 1, &n, &one)};
    struct window_count c = {0, 0, 0, true};
    ssq_status st = window_each(&op.op, INT64_MAX, tally, &c);
    tap_ok(st == SSQ_OK && c.elements == (uint64_t)n && c.windows == 5 &&
               c.largest <= WINDOW_ELEMENTS && c.aligned,
           "2^33 elements are %zu windows of at most %lld, 256-byte aligned",
           c.windows, (long long)c.largest);
    c = (struct window_count){0, 0, 0, true};
    st = window_each(&op.op, (uint64_t)1 << 32, tally, &c);
    tap_ok(st == SSQ_OK && c.elements == (uint64_t)n && c.windows == 8,
           "2^35 bytes are %zu windows of at most 2^32", c.windows);
}

static void test_scalars(void)
{
    static struct window_trace t;
    const int64_t n = 1000, one = 1;
    struct scale_op op = {.op = OP_HEADER(scale, x),
                          .x = view(SSQ_F32, 0, 1, &n, &one),
                          .y = view(SSQ_F16, 4096, 1, &n, &one),
                          .scale = view(SSQ_F32, 8192, 0, &n, &one)};
    t = (struct window_trace){1024, 3, 0, 0, {{0}}, true, true};
    bool still = window_each(&op.op, 1024, record, &t) == SSQ_OK;
    for (size_t i = 0; i < t.n; i++)
        still = still && t.at[i][0] == 4 * i && t.at[i][1] == 4096 + 2 * i &&
                t.at[i][2] == 8192;
    tap_ok(still && t.fits && t.windows == 4 && t.n == 1000,
           "every one of %zu windows of scale [1000] has the scale", t.windows);
    op.scale.buffer = NULL;
    t = (struct window_trace){1024, 3, 0, 0, {{0}}, true, true};
    tap_ok(window_each(&op.op, 1024, record, &t) == SSQ_OK && t.windows == 4,
           "an absent operand does not matter");
}

static void test_sums(void)
{
    static struct window_trace t;
    const int64_t shape[] = {10, 40}, stride[] = {40, 1}, n = 10, one = 1;
    struct binary_backward_op op = {.op = OP_HEADER(binary_backward, a),
                                    .dx = view(SSQ_F32, 0, 1, &n, &one)};
    op.a = op.b = op.dy = view(SSQ_F32, 0, 2, shape, stride);
    t = (struct window_trace){512, 15, 0, 0, {{0}}, true, true};
    ssq_status st = window_each(&op.op, 512, record, &t);
    tap_ok(st == SSQ_OK && t.windows == 5 && t.fits,
           "10 sums of 40 terms are %zu windows of at most 3 sums", t.windows);
    op.dx.rank = 0;
    core_status(window_each(&op.op, 512, record, &t), SSQ_ERR_UNSUPPORTED,
                "binary_backward: operand 0, f32 [10,40], spans 1600 bytes|"
                "400 elements|512 bytes|2147483647 elements",
                "one sum of 400 terms is not split");
}

static void test_refusals(void)
{
    struct window_trace t = {3, 3, 0, 0, {{0}}, true, true};
    const int64_t n = 1000, one = 1;
    struct copy_op op = {.op = OP_HEADER(copy, x),
                         .x = view(SSQ_F32, 0, 1, &n, &one),
                         .y = view(SSQ_F32, 4096, 1, &n, &one)};
    core_status(window_each(&op.op, 3, record, &t), SSQ_ERR_UNSUPPORTED,
                "copy: operand 0, f32 [1], spans 4 bytes|3 bytes",
                "an element of 4 bytes does not fit 3");
    struct upload_op upload = {.op = OP_HEADER(upload, dst),
                               .dst = view(SSQ_U8, 0, 1, &n, &one)};
    tap_ok(window_fits(&upload.op, 10), "a transfer is no launch");
}

/* The same through the public API, with the limit from the environment. */
static void test_device(const char *name)
{
    const int64_t shape[] = {1000};
    setenv("SSQ_LIMIT_BINDING", "1024", 1);
    ssq_device *device = core_open(name);
    unsetenv("SSQ_LIMIT_BINDING");
    ssq_queue *queue = core_queue(device);
    ssq_tensor *x = core_vector(device, SSQ_F32, 1000), *y = NULL, *s = NULL;
    NEED(ssq_tensor_create(device, SSQ_F16, 1, shape, &y));
    NEED(ssq_tensor_create(device, SSQ_F32, 0, NULL, &s));
    ssq_unary_args relu = SSQ_UNARY_INIT;
    relu.x = x;
    relu.y = y;
    ssq_graph *graph = NULL;
    NEED(ssq_graph_begin(queue));
    NEED(ssq_relu(queue, &relu));
    NEED(ssq_graph_end(queue, &graph));
    tap_ok(ssq_graph_ops(graph) == 4,
           "%s: relu of 1000 f32 within 1024 bytes is 4 ops: %zu", name,
           ssq_graph_ops(graph));
    ssq_binary_backward_args sum = SSQ_BINARY_BACKWARD_INIT;
    sum.dy = x;
    sum.da = s;
    core_status(ssq_add_backward(queue, &sum), SSQ_ERR_UNSUPPORTED,
                "binary_backward: operand|4000 bytes|1024 bytes",
                "%s: a sum of 4000 bytes is refused", name);
    NEED(ssq_queue_sync(queue));
    ssq_graph_destroy(&graph);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_tensor_destroy(&s);
    ssq_queue_destroy(&queue);
    ssq_device_close(&device);
}

int main(void)
{
    test_order(true);
    test_order(false);
    test_widest();
    test_huge();
    test_scalars();
    test_sums();
    test_refusals();
    for (size_t i = 0; i < core_device_count(); i++)
        test_device(core_device(i));
    return tap_done(45);
}
