/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - functions through exponentials, which run in steps, have the bits
 * of kernels/scalar/ element by element, and so have their gradients: of every
 * 5003rd float32, every 61st with SSQ_TEST_FULL=1, and of those about the
 * places where another formula begins, with every set of instructions. */
#include "tests/core/core.h"

#include "kernels/elementwise/unary_kinds.h"
#include "tests/cpu/sets.h"

#include <stdlib.h>

#define ABOUT 64 /* floats on either side of such a place */

typedef ssq_status unary_fn(ssq_queue *queue, const ssq_unary_args *args);
typedef ssq_status backward_fn(ssq_queue *queue,
                               const ssq_unary_backward_args *args);

static const struct function {
    const char *name;
    u32 kind;
    unary_fn *forward;
    backward_fn *backward;
} functions[] = {
    {"sigmoid", UNARY_sigmoid, ssq_sigmoid, ssq_sigmoid_backward},
    {"silu", UNARY_silu, ssq_silu, ssq_silu_backward},
    {"tanh", UNARY_tanh, ssq_tanh, ssq_tanh_backward},
    {"gelu", UNARY_gelu, ssq_gelu, ssq_gelu_backward},
    {"gelu_tanh", UNARY_gelu_tanh, ssq_gelu_tanh, ssq_gelu_tanh_backward},
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static const float places[] = {
    0.0f,  0x1p-126f, 0x1p-100f, 0x1p-25f, 0x1p-24f, 0.25f,  0.5f,    0.55f,
    0.75f, 0.78f,     1.25f,     1.28f,    1.77f,    10.0f,  11.0f,   15.0f,
    16.0f, 87.3f,     88.0f,     104.0f,   110.0f,   120.0f, 0x1p64f, INFINITY,
};
#define PLACES (sizeof(places) / sizeof(places[0]))

struct steps_harness {
    ssq_device *device;
    ssq_queue *queue;
    size_t n;
    float *x, *dy, *want, *got;
    ssq_tensor *t_x, *t_dy, *t_y;
};

static void must(ssq_status st, const char *what)
{
    if (st != SSQ_OK)
        tap_bail("%s: %s", what, ssq_last_error());
}

static float *numbers(size_t n)
{
    float *x = malloc(n * sizeof(*x));
    if (x == NULL)
        tap_bail("no memory for %zu floats", n);
    return x;
}

static void make_numbers(struct steps_harness *b, u32 step)
{
    const size_t spread = (size_t)((UINT64_C(1) << 32) / step);
    b->n = spread + PLACES * 4 * ABOUT;
    b->x = numbers(b->n);
    b->dy = numbers(b->n);
    b->want = numbers(b->n);
    b->got = numbers(b->n);
    size_t i = 0;
    for (; i < spread; i++)
        b->x[i] = AS_F32((u32)i * step);
    for (size_t p = 0; p < PLACES; p++)
        for (u32 k = 0; k < 4 * ABOUT; k++)
            b->x[i++] = AS_F32((AS_U32(places[p]) + k / 2 - ABOUT) ^ k << 31);
    for (i = 0; i < b->n; i++)
        b->dy[i] = AS_F32((u32)i * 2654435761u);
}

static void open_harness(struct steps_harness *b, const char *isa)
{
    const int64_t n = (int64_t)b->n;
    setenv("SSQ_CPU_ISA", isa, 1);
    must(ssq_device_open("cpu", NULL, &b->device), "open");
    must(ssq_queue_create(b->device, NULL, &b->queue), "queue");
    must(ssq_tensor_create(b->device, SSQ_F32, 1, &n, &b->t_x), "x");
    must(ssq_tensor_create(b->device, SSQ_F32, 1, &n, &b->t_dy), "dy");
    must(ssq_tensor_create(b->device, SSQ_F32, 1, &n, &b->t_y), "y");
    must(ssq_tensor_write(b->queue, b->t_x, b->x, b->n * 4, SSQ_F32), "x");
    must(ssq_tensor_write(b->queue, b->t_dy, b->dy, b->n * 4, SSQ_F32), "dy");
}

static void close_harness(struct steps_harness *b)
{
    ssq_tensor_destroy(&b->t_x);
    ssq_tensor_destroy(&b->t_dy);
    ssq_tensor_destroy(&b->t_y);
    ssq_queue_destroy(&b->queue);
    ssq_device_close(&b->device);
}

/* The value of f, or of its gradient, for element i. */
static float scalar(const struct steps_harness *b, const struct function *f,
                    bool back, size_t i)
{
    if (back)
        return unary_grad(f->kind, b->x[i], b->dy[i], 0.0f, 0.0f);
    return unary_value(f->kind, b->x[i], 0.0f, 0.0f);
}

static void check(struct steps_harness *b, const struct function *f, bool back,
                  const char *isa)
{
    size_t bad = 0, first = 0;
    must(back ? f->backward(b->queue,
                            SSQ_UNARY_BACKWARD(.x = b->t_x, .dy = b->t_dy,
                                               .dx = b->t_y))
              : f->forward(b->queue, SSQ_UNARY(.x = b->t_x, .y = b->t_y)),
         f->name);
    must(ssq_tensor_read(b->queue, b->t_y, b->got, b->n * 4, SSQ_F32), "read");
    must(ssq_queue_sync(b->queue), "sync");
    for (size_t i = 0; i < b->n; i++)
        if (AS_U32(b->got[i]) != AS_U32(b->want[i]) && bad++ == 0)
            first = i;
    tap_ok(bad == 0,
           "%s: %s%s of %zu floats has the scalar text's bits: %zu differ, the "
           "first of 0x%08x: 0x%08x, expected 0x%08x",
           isa, f->name, back ? "'s gradient" : "", b->n, bad,
           AS_U32(b->x[first]), AS_U32(b->got[first]), AS_U32(b->want[first]));
}

int main(void)
{
    const char *isas[SETS_MOST];
    const size_t sets = sets_find(isas);
    struct steps_harness b[SETS_MOST] = {{0}};
    make_numbers(&b[0], tap_full() ? 61 : 5003);
    for (size_t k = 0; k < sets; k++) {
        b[k] = b[0];
        open_harness(&b[k], isas[k]);
    }
    for (size_t i = 0; i < 2 * FUNCTIONS; i++) {
        const struct function *f = &functions[i / 2];
        for (size_t j = 0; j < b[0].n; j++)
            b[0].want[j] = scalar(&b[0], f, i % 2 == 1, j);
        for (size_t k = 0; k < sets; k++)
            check(&b[k], f, i % 2 == 1, isas[k]);
    }
    for (size_t k = 0; k < sets; k++)
        close_harness(&b[k]);
    free(b[0].x);
    free(b[0].dy);
    free(b[0].want);
    free(b[0].got);
    return tap_done(2 * FUNCTIONS * (long)sets);
}
