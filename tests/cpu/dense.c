/* SPDX-License-Identifier: Apache-2.0 */
/* dense.c - casts, sums, products, relu and its gradient: the bits of the plans
 * with every set of instructions, of any bits; in place, of results that go
 * past the caches, and of the ones that begin nowhere in particular. */
#include "tests/core/core.h"
#include "tests/cpu/sets.h"

#include <stdlib.h>

/* More than 8 MiB of 16 bits, and an end that is no whole vector or chunk. */
#define MANY  ((4 << 20) + 1077)
#define FEW   2077
#define SPARE 3 /* elements before an operand that is placed unevenly */

static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};

struct dense_harness {
    ssq_device *device;
    ssq_queue *queue;
    const char *isa;
    int64_t n;
    ssq_tensor *a[3], *b[3], *y[3]; /* by dtype */
    char *got, *want;
};

typedef ssq_status binary_fn(ssq_queue *queue, const ssq_binary_args *args);

static void must(ssq_status st, const char *what)
{
    if (st != SSQ_OK)
        tap_bail("%s: %s", what, ssq_last_error());
}

static size_t bytes_of(const struct dense_harness *b, int dtype)
{
    return (size_t)b->n * (dtypes[dtype] == SSQ_F32 ? 4 : 2);
}

/* Elements from SPARE on of a tensor that is that much longer, if `uneven`. */
static ssq_tensor *made(struct dense_harness *b, int dtype, bool uneven)
{
    ssq_tensor *t = NULL, *view = NULL;
    int64_t all = b->n + (uneven ? SPARE : 0);
    must(ssq_tensor_create(b->device, dtypes[dtype], 1, &all, &t), "tensor");
    if (!uneven)
        return t;
    must(ssq_tensor_slice(t, 0, SPARE, all, 1, &view), "slice");
    ssq_tensor_destroy(&t);
    return view;
}

static void fill(struct dense_harness *b, ssq_tensor *t, int dtype,
                 uint32_t seed)
{
    uint32_t *w = (uint32_t *)(void *)b->got;
    for (size_t i = 0; i < bytes_of(b, dtype) / 4; i++)
        w[i] = ((uint32_t)i + seed) * 2654435761u ^ (uint32_t)i >> 5;
    must(ssq_tensor_write(b->queue, t, b->got, bytes_of(b, dtype),
                          dtypes[dtype]),
         "write");
    must(ssq_queue_sync(b->queue), "sync");
}

static void read_y(struct dense_harness *b, const ssq_tensor *y, int dtype,
                   char *to)
{
    must(ssq_tensor_read(b->queue, y, to, bytes_of(b, dtype), dtypes[dtype]),
         "read");
    must(ssq_queue_sync(b->queue), "sync");
}

static void pin(struct dense_harness *b, const char *impl)
{
    must(ssq_implementation_pin(b->device, "cast", impl), "pin");
    must(ssq_implementation_pin(b->device, "binary", impl), "pin");
    must(ssq_implementation_pin(b->device, "unary", impl), "pin");
    must(ssq_implementation_pin(b->device, "unary_backward", impl), "pin");
}

static void alike(struct dense_harness *b, const char *what, int from, int to)
{
    tap_ok(memcmp(b->want, b->got, bytes_of(b, to)) == 0,
           "%s: %s of %lld %s to %s has the plan's bits", b->isa, what,
           (long long)b->n, ssq_dtype_name(dtypes[from]),
           ssq_dtype_name(dtypes[to]));
}

static void check_cast(struct dense_harness *b, int from, int to)
{
    static const char *const impls[] = {"portable", "dense"};
    for (int i = 0; i < 2; i++) {
        pin(b, impls[i]);
        must(ssq_cast(b->queue, SSQ_CAST(.x = b->a[from], .y = b->y[to])),
             "cast");
        read_y(b, b->y[to], to, i == 0 ? b->want : b->got);
    }
    alike(b, "cast", from, to);
}

static void check_relu(struct dense_harness *b, int d)
{
    static const char *const impls[] = {"portable", "dense"};
    for (int i = 0; i < 2; i++) {
        pin(b, impls[i]);
        must(ssq_relu(b->queue, SSQ_UNARY(.x = b->a[d], .y = b->y[d])), "relu");
        read_y(b, b->y[d], d, i == 0 ? b->want : b->got);
    }
    alike(b, "relu", d, d);
}

/* The second time in place of a, which is lost. */
static void check_binary(struct dense_harness *b, const char *name,
                         binary_fn *run, int d)
{
    pin(b, "portable");
    must(run(b->queue, SSQ_BINARY(.a = b->a[d], .b = b->b[d], .y = b->y[d])),
         name);
    read_y(b, b->y[d], d, b->want);
    pin(b, "dense");
    must(run(b->queue, SSQ_BINARY(.a = b->a[d], .b = b->b[d], .y = b->y[d])),
         name);
    read_y(b, b->y[d], d, b->got);
    alike(b, name, d, d);
    must(run(b->queue, SSQ_BINARY(.a = b->a[d], .b = b->b[d], .y = b->a[d])),
         name);
    read_y(b, b->a[d], d, b->got);
    alike(b, "the same in place", d, d);
    fill(b, b->a[d], d, 1);
}

/* b is dy, and dx takes its place the second time. */
static void check_relu_backward(struct dense_harness *b, int d)
{
    static const char *const impls[] = {"portable", "dense", "dense"};
    for (int i = 0; i < 3; i++) {
        ssq_tensor *dx = i < 2 ? b->y[d] : b->b[d];
        pin(b, impls[i]);
        must(ssq_relu_backward(
                 b->queue,
                 SSQ_UNARY_BACKWARD(.x = b->a[d], .dy = b->b[d], .dx = dx)),
             "relu_backward");
        read_y(b, dx, d, i == 0 ? b->want : b->got);
        if (i > 0)
            alike(b, i == 1 ? "relu_backward" : "the same in place", d, d);
    }
    fill(b, b->b[d], d, 77777);
}

static void check(struct dense_harness *b, bool uneven)
{
    b->got = malloc((size_t)b->n * 4);
    b->want = malloc((size_t)b->n * 4);
    if (b->got == NULL || b->want == NULL)
        tap_bail("no memory");
    for (int d = 0; d < 3; d++) {
        b->a[d] = made(b, d, uneven);
        b->b[d] = made(b, d, uneven);
        b->y[d] = made(b, d, uneven);
        fill(b, b->a[d], d, 1);
        fill(b, b->b[d], d, 77777);
    }
    for (int d = 0; d < 3; d++) {
        for (int to = 0; to < 3; to++)
            if (to != d)
                check_cast(b, d, to);
        check_relu(b, d);
        check_relu_backward(b, d);
        check_binary(b, "add", ssq_add, d);
        check_binary(b, "sub", ssq_sub, d);
        check_binary(b, "mul", ssq_mul, d);
    }
    for (int d = 0; d < 3; d++) {
        ssq_tensor_destroy(&b->a[d]);
        ssq_tensor_destroy(&b->b[d]);
        ssq_tensor_destroy(&b->y[d]);
    }
    free(b->got);
    free(b->want);
}

int main(void)
{
    const char *isas[SETS_MOST];
    const size_t sets = sets_find(isas);
    for (size_t i = 0; i < sets; i++) {
        struct dense_harness b = {.isa = isas[i], .n = MANY};
        setenv("SSQ_CPU_ISA", isas[i], 1);
        must(ssq_device_open("cpu", NULL, &b.device), "open");
        must(ssq_queue_create(b.device, NULL, &b.queue), "queue");
        check(&b, false);
        b.n = FEW;
        check(&b, true);
        ssq_queue_destroy(&b.queue);
        ssq_device_close(&b.device);
    }
    return tap_done(66 * (long)sets);
}
