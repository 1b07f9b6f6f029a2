/* SPDX-License-Identifier: Apache-2.0 */
/* thousands.c - as many small parameters as no one writes by hand: nothing
 * searches all of them for each of them.
 *
 * Times are not compared. With a search for each, the slices and the pool's
 * buffers take a minute and longer, in place of parts of a second. */
#include "tests/tape/tape.h"

#include <unistd.h>

#define PARAMS  3000
#define LENGTH  4
#define SLICES  30000
#define BUFFERS 30000

static char path[64];

static ssq_var net(ssq_tape *t)
{
    ssq_var loss = SSQ_VAR_NONE;
    for (int i = 0; i < PARAMS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "layer%d.w", i);
        ssq_var w = ssq_var_param(t, name,
                                  SSQ_PARAM(.rank = 1, .shape = {LENGTH},
                                            .init = SSQ_INIT_CONSTANT,
                                            .value = 1.0 + i));
        ssq_var one = ssq_sum_var(ssq_square_var(w), NULL);
        loss = i == 0 ? one : ssq_add_var(loss, one);
    }
    return loss;
}

static void step(ssq_trainer *t)
{
    NEED(ssq_trainer_step(t, net(ssq_trainer_begin(t))));
}

static float *values(ssq_trainer *t)
{
    size_t n = (size_t)PARAMS * LENGTH;
    float *x = calloc(n, sizeof(*x));
    NEED(ssq_params_read(ssq_trainer_params(t), ssq_trainer_queue(t),
                         ssq_trainer_optimizer(t), NULL, x, n));
    return x;
}

/* A trainer that continues from a file has the bits of one that was not cut. */
static void train(const char *device)
{
    struct tape_rig r = rig_open(device, "float32");
    ssq_trainer *t = NULL, *other = NULL;
    NEED(ssq_trainer_create(r.queue, SSQ_TRAINER(.policy = "mixed_bfloat16"),
                            &t));
    NEED(ssq_trainer_create(r.queue, SSQ_TRAINER(.policy = "mixed_bfloat16"),
                            &other));
    step(t);
    NEED(ssq_trainer_save(t, path));
    NEED(ssq_trainer_load(other, path));
    step(t);
    step(other);
    float *a = values(t), *b = values(other);
    tap_ok(memcmp(a, b, (size_t)PARAMS * LENGTH * sizeof(*a)) == 0,
           "%s: %d parameters come back from a file, and go on", device,
           PARAMS);
    free(a);
    free(b);
    ssq_trainer_destroy(&t);
    ssq_trainer_destroy(&other);
    rig_close(&r);
}

/* Slice i of a tensor, of LENGTH elements from LENGTH * i + shift on. */
static ssq_tensor *slice(const ssq_tensor *whole, int64_t i, int64_t shift)
{
    ssq_tensor *part = NULL;
    int64_t from = LENGTH * i + shift;
    NEED(ssq_tensor_slice(whole, 0, from, from + LENGTH, 1, &part));
    return part;
}

static ssq_status add(ssq_optimizer *o, const char *name, const ssq_tensor *w,
                      int64_t i, const ssq_tensor *g, int64_t j, int64_t shift)
{
    ssq_tensor *a = slice(w, i, 0), *b = slice(g, j, shift);
    ssq_status st = ssq_optimizer_add(o, name, a, b, NULL);
    ssq_tensor_destroy(&a);
    ssq_tensor_destroy(&b);
    return st;
}

/* Slices of one tensor, added from both ends, with one place left free. */
static void slices(void)
{
    struct tape_rig r = rig_open("reference", "float32");
    const int64_t n = (int64_t)LENGTH * (SLICES + 1);
    ssq_tensor *w = core_vector(r.device, SSQ_F32, n);
    ssq_tensor *g = core_vector(r.device, SSQ_F32, n);
    ssq_optimizer *o = NULL;
    char name[32];
    NEED(ssq_optimizer_create(r.device, "sgd", NULL, &o));
    for (int64_t i = 0; i < SLICES; i++) {
        int64_t at = i % 2 == 0 ? i / 2 : SLICES - i / 2;
        snprintf(name, sizeof(name), "w%d", (int)at);
        NEED(add(o, name, w, at, g, at, 0));
    }
    const int64_t left = SLICES / 2;
    core_status(add(o, "w77", w, left, g, left, 0), SSQ_ERR_INVALID,
                "the name w77 is taken", "one of %d names is taken", SLICES);
    core_status(add(o, "new", w, 9999, g, left, 0), SSQ_ERR_INVALID,
                "param of new overlaps the parameter of w9999",
                "one of %d parameters overlaps", SLICES);
    core_status(add(o, "new", w, left, g, 20000, 0), SSQ_ERR_INVALID,
                "grad of new overlaps the gradient of w20000",
                "one of %d gradients overlaps", SLICES);
    core_status(add(o, "new", w, left, w, 123, 1), SSQ_ERR_INVALID,
                "grad of new overlaps the parameter of w123",
                "a gradient overlaps two parameters: the first that was added");
    core_status(add(o, "new", w, left, g, left - 1, 3), SSQ_ERR_INVALID,
                "grad of new overlaps the gradient of w14999",
                "a gradient overlaps another's last element");
    core_status(add(o, "new", w, left, g, left, 0), SSQ_OK, NULL,
                "the place that is left is taken");
    ssq_optimizer_destroy(&o);
    ssq_tensor_destroy(&w);
    ssq_tensor_destroy(&g);
    rig_close(&r);
}

/* Buffers that are freed in no order leave all of their memory in one piece. */
static void buffers(const char *device, size_t n)
{
    static ssq_buffer *b[BUFFERS];
    struct tape_rig r = rig_open(device, "float32");
    ssq_memory_info before = SSQ_MEMORY_INFO_INIT, after = before;
    uint32_t state = 5;
    NEED(ssq_device_memory(r.device, &before));
    for (size_t i = 0; i < n; i++)
        NEED(ssq_buffer_create(r.device, 16, &b[i]));
    for (size_t i = n; i > 1; i--) {
        state = state * 1664525u + 1013904223u;
        size_t k = (state >> 8) % i;
        ssq_buffer *last = b[i - 1];
        b[i - 1] = b[k];
        b[k] = last;
        ssq_buffer_destroy(&b[i - 1]);
    }
    ssq_buffer_destroy(&b[0]);
    ssq_device_trim(r.device);
    NEED(ssq_device_memory(r.device, &after));
    tap_ok(after.in_use == before.in_use && after.buffers == before.buffers &&
               after.reserved <= before.reserved,
           "%s: %zu buffers are freed in no order, and all memory is free",
           device, n);
    rig_close(&r);
}

int main(void)
{
    snprintf(path, sizeof(path), "thousands-%ld", (long)getpid());
    train("reference");
    train("cpu");
    slices();
    buffers("reference", BUFFERS);
    buffers("guard", 5000); /* each has its own pages */
    (void)remove(path);
    return tap_done(1);
}
