/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - functions of 16 bits by a table have the bits of the kernels: for
 * all 65,536 x, in place, without memory for a table, and with more tables than
 * a device keeps. */
#include "kernels/elementwise/unary_kinds.h"
#include "tests/core/core.h"

/* All x several times, and an end that is not a whole chunk or block. */
#define N (4 * 65536 + 40777)

typedef ssq_status unary_fn(ssq_queue *queue, const ssq_unary_args *args);
typedef ssq_status backward_fn(ssq_queue *queue,
                               const ssq_unary_backward_args *args);

/* The kinds without parameters, with their traits. */
static const struct function {
    const char *name;
    unary_fn *forward;
    backward_fn *backward;
    unsigned traits;
} functions[] = {
#define ROW_none(NAME, TRAITS)                                                 \
    {#NAME, ssq_##NAME, ssq_##NAME##_backward, TRAITS},
#define ROW_alpha(NAME, TRAITS)
#define ROW_beta(NAME, TRAITS)
#define ROW_bounds(NAME, TRAITS)
#define ROW(N, NAME, WITH, CLASS, TRAITS, ...) ROW_##WITH(NAME, TRAITS)
#define NO_ROW(...)
    UNARY_KINDS(ROW, ROW, NO_ROW, NO_ROW)};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* Return function number i of those whose y has a table, or NULL. */
static const struct function *with_table(size_t i)
{
    for (size_t k = 0; k < FUNCTIONS; k++)
        if ((functions[k].traits & Y_BY_TABLE) != 0 && i-- == 0)
            return &functions[k];
    return NULL;
}

/* Large blocks are refused while this is so. */
static struct {
    bool on;
    unsigned refused;
} poor;

static void *poor_alloc(void *user, size_t bytes)
{
    (void)user;
    if (poor.on && bytes >= 65536) {
        poor.refused++;
        return NULL;
    }
    return malloc(bytes);
}

static void poor_free(void *user, void *p)
{
    (void)user;
    free(p);
}

struct table_harness {
    ssq_device *device;
    ssq_queue *queue;
    ssq_tensor *x[2], *g[3], *y[3]; /* of f16, bf16, and f32 */
    char *want, *got;
};

static const ssq_dtype dtypes[] = {SSQ_F16, SSQ_BF16, SSQ_F32};

static size_t bytes_of(int dtype)
{
    return N * (dtypes[dtype] == SSQ_F32 ? sizeof(float) : sizeof(uint16_t));
}

static void must(ssq_status st, const char *what)
{
    if (st != SSQ_OK)
        tap_bail("%s: %s", what, ssq_last_error());
}

static ssq_tensor *made(struct table_harness *b, int dtype)
{
    ssq_tensor *t = NULL;
    must(ssq_tensor_create(b->device, dtypes[dtype], 1, (int64_t[]){N}, &t),
         "tensor");
    return t;
}

/* Every x in its turn; gradients are some of all that there are. */
static void fill(struct table_harness *b)
{
    uint16_t *h = malloc(N * sizeof(*h));
    float *f = malloc(N * sizeof(*f));
    if (h == NULL || f == NULL)
        tap_bail("no memory");
    for (int t = 0; t < 2; t++) {
        for (uint32_t i = 0; i < N; i++)
            h[i] = (uint16_t)(i * 40503u);
        must(ssq_tensor_write(b->queue, b->x[t], h, N * sizeof(*h), dtypes[t]),
             "write x");
        must(ssq_queue_sync(b->queue), "sync");
        for (uint32_t i = 0; i < N; i++)
            h[i] = (uint16_t)(i * 2654435761u >> 7);
        must(ssq_tensor_write(b->queue, b->g[t], h, N * sizeof(*h), dtypes[t]),
             "write dy");
        must(ssq_queue_sync(b->queue), "sync");
    }
    for (uint32_t i = 0; i < N; i++)
        f[i] = (float)(i * 2654435761u >> 8) * 0x1p-22f - 2;
    must(ssq_tensor_write(b->queue, b->g[2], f, N * sizeof(*f), SSQ_F32),
         "write dy");
    must(ssq_queue_sync(b->queue), "sync");
    free(h);
    free(f);
}

static void pin(struct table_harness *b, const char *impl)
{
    must(ssq_implementation_pin(b->device, "unary", impl), "pin");
    must(ssq_implementation_pin(b->device, "unary_backward", impl), "pin");
}

static void read_y(struct table_harness *b, const ssq_tensor *y, int dtype,
                   char *to)
{
    must(ssq_tensor_read(b->queue, y, to, bytes_of(dtype), dtypes[dtype]),
         "read");
    must(ssq_queue_sync(b->queue), "sync");
}

static void forward(struct table_harness *b, const struct function *f,
                    const char *impl, int x, int y, char *to)
{
    pin(b, impl);
    must(f->forward(b->queue, SSQ_UNARY(.x = b->x[x], .y = b->y[y])), f->name);
    read_y(b, b->y[y], y, to);
}

static void backward(struct table_harness *b, const struct function *f,
                     const char *impl, const int k[3], char *to)
{
    pin(b, impl);
    must(f->backward(b->queue,
                     SSQ_UNARY_BACKWARD(.x = b->x[k[0]], .dy = b->g[k[1]],
                                        .dx = b->y[k[2]])),
         f->name);
    read_y(b, b->y[k[2]], k[2], to);
}

static bool alike(const struct table_harness *b, int dtype)
{
    return memcmp(b->want, b->got, bytes_of(dtype)) == 0;
}

static void check_forward(struct table_harness *b, const struct function *f)
{
    for (int x = 0; x < 2; x++) {
        for (int y = 0; y < 2; y++) {
            forward(b, f, "portable", x, y, b->want);
            forward(b, f, "table", x, y, b->got);
            tap_ok(alike(b, y), "%s: %s of every %s has the kernel's bits",
                   f->name, ssq_dtype_name(dtypes[y]),
                   ssq_dtype_name(dtypes[x]));
        }
    }
}

static void check_backward(struct table_harness *b, const struct function *f)
{
    static const int mixes[][3] = {{0, 0, 0}, {0, 2, 2}, {0, 1, 2}, {0, 2, 1},
                                   {1, 1, 1}, {1, 2, 2}, {1, 0, 0}, {1, 2, 0}};
    for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++) {
        const int *k = mixes[i];
        backward(b, f, "portable", k, b->want);
        backward(b, f, "table", k, b->got);
        tap_ok(alike(b, k[2]),
               "%s backward: x %s, dy %s, dx %s have the kernel's bits",
               f->name, ssq_dtype_name(dtypes[k[0]]),
               ssq_dtype_name(dtypes[k[1]]), ssq_dtype_name(dtypes[k[2]]));
    }
}

/* y or dx in the memory of an operand. */
static void check_in_place(struct table_harness *b)
{
    const struct function *f = with_table(0);
    forward(b, f, "portable", 0, 0, b->want);
    must(ssq_copy(b->queue, SSQ_COPY(.x = b->x[0], .y = b->y[0])), "copy");
    pin(b, "table");
    must(f->forward(b->queue, SSQ_UNARY(.x = b->y[0], .y = b->y[0])), f->name);
    read_y(b, b->y[0], 0, b->got);
    tap_ok(alike(b, 0), "%s of f16 in place", f->name);
    backward(b, f, "portable", (int[]){0, 0, 0}, b->want);
    must(ssq_copy(b->queue, SSQ_COPY(.x = b->g[0], .y = b->y[0])), "copy");
    pin(b, "table");
    must(f->backward(b->queue, SSQ_UNARY_BACKWARD(.x = b->x[0], .dy = b->y[0],
                                                  .dx = b->y[0])),
         f->name);
    read_y(b, b->y[0], 0, b->got);
    tap_ok(alike(b, 0), "%s backward of f16, dx in the place of dy", f->name);
}

/* Without memory for it, an op has the same bits without a table. The last
 * functions have tables already; the first have none any more. */
static void check_poor(struct table_harness *b)
{
    for (size_t i = 0; i < 2; i++) {
        const struct function *f = with_table(i);
        unsigned before = poor.refused;
        forward(b, f, "portable", 1, 1, b->want);
        poor.on = true;
        forward(b, f, "table", 1, 1, b->got);
        poor.on = false;
        tap_ok(alike(b, 1) && poor.refused > before,
               "%s: the same bits without memory for a table", f->name);
        before = poor.refused;
        backward(b, f, "portable", (int[]){1, 2, 0}, b->want);
        poor.on = true;
        backward(b, f, "table", (int[]){1, 2, 0}, b->got);
        poor.on = false;
        tap_ok(alike(b, 0) && poor.refused > before,
               "%s backward: the same bits without memory for a table",
               f->name);
    }
}

int main(void)
{
    struct table_harness b = {0};
    must(ssq_allocator_set(&(ssq_allocator){sizeof(ssq_allocator), poor_alloc,
                                            poor_free, NULL}),
         "allocator");
    must(ssq_device_open("cpu", NULL, &b.device), "cpu");
    must(ssq_queue_create(b.device, NULL, &b.queue), "queue");
    for (int i = 0; i < 3; i++) {
        if (i < 2)
            b.x[i] = made(&b, i);
        b.g[i] = made(&b, i);
        b.y[i] = made(&b, i);
    }
    b.want = malloc(bytes_of(2));
    b.got = malloc(bytes_of(2));
    if (b.want == NULL || b.got == NULL)
        tap_bail("no memory");
    fill(&b);
    for (size_t i = 0; with_table(i) != NULL; i++) {
        check_forward(&b, with_table(i));
        if ((with_table(i)->traits & BY_TABLE) == BY_TABLE)
            check_backward(&b, with_table(i));
    }
    check_in_place(&b);
    check_poor(&b);
    for (int i = 0; i < 3; i++) {
        if (i < 2)
            ssq_tensor_destroy(&b.x[i]);
        ssq_tensor_destroy(&b.g[i]);
        ssq_tensor_destroy(&b.y[i]);
    }
    ssq_queue_destroy(&b.queue);
    ssq_device_close(&b.device);
    free(b.want);
    free(b.got);
    return tap_done(130);
}
