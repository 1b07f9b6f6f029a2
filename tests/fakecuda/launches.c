/* SPDX-License-Identifier: Apache-2.0 */
/* launches.c - how often a step launches: a thousand parameters are checked,
 * clipped and stepped by as many launches as one is, except for a few. */
#include "tests/amp/amp.h"
#include "tests/core/driver.h"
#include "tests/fakecuda/driver/fakecuda.h"

#define TENSORS 1000
/* Seven where all is in one memory: the check and its fold, the join, tick,
 * the pass, its end, the update. Each further memory of the pool has a check
 * and its own pass. */
#define MOST 12

static struct {
    ssq_device *device;
    ssq_queue *queue;
    ssq_optimizer *optimizer;
    ssq_scaler *scaler;
    ssq_tensor *param[TENSORS], *grad[TENSORS];
} here;

/* Sizes are odd: a tensor of 4096 elements is a task, a longer one several. */
static void make(size_t n, ssq_dtype dtype)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;

    o.clip_norm = 1.0;
    NEED(ssq_optimizer_create(here.device, "adamw", &o, &here.optimizer));
    NEED(ssq_scaler_create(here.device, "pytorch", NULL, &here.scaler));
    NEED(scale_used(here.queue, here.scaler));
    for (size_t i = 0; i < n; i++) {
        int64_t length = 1 + (int64_t)(i * 37 % 300);
        ssq_fill_args fill = SSQ_FILL_INIT;
        char name[32];

        snprintf(name, sizeof(name), "p%zu", i);
        here.param[i] = core_vector(here.device, dtype, length);
        here.grad[i] = core_vector(here.device, dtype, length);
        fill.value = 0.5;
        fill.x = here.param[i];
        NEED(ssq_fill(here.queue, &fill));
        fill.x = here.grad[i];
        NEED(ssq_fill(here.queue, &fill));
        NEED(ssq_optimizer_add(here.optimizer, name, here.param[i],
                               here.grad[i], NULL));
    }
    NEED(ssq_queue_sync(here.queue));
}

static void end(size_t n)
{
    ssq_optimizer_destroy(&here.optimizer);
    ssq_scaler_destroy(&here.scaler);
    for (size_t i = 0; i < n; i++) {
        ssq_tensor_destroy(&here.param[i]);
        ssq_tensor_destroy(&here.grad[i]);
    }
}

/* The second step's launches: the first one makes masters and moments. */
static unsigned long launches(size_t n, ssq_dtype dtype)
{
    unsigned long before = 0;

    make(n, dtype);
    for (int i = 0; i < 2; i++) {
        before = fakecuda_calls("cuLaunchKernel");
        NEED(ssq_optimizer_step(here.queue, here.optimizer, here.scaler));
        NEED(update_used(here.queue, here.scaler));
        NEED(ssq_queue_sync(here.queue));
    }
    before = fakecuda_calls("cuLaunchKernel") - before;
    end(n);
    return before;
}

static void test(const char *name, ssq_dtype dtype)
{
    unsigned long one = launches(1, dtype), all = launches(TENSORS, dtype);

    tap_ok(one >= 4 && all <= MOST,
           "cuda:0: a step of %d %s parameters, checked and clipped: %lu "
           "launches, of one %lu",
           TENSORS, name, all, one);
}

int main(void)
{
    if (driver_missing("cuda"))
        return tap_done(0);
    here.device = core_open("cuda:0");
    NEED(ssq_queue_create(here.device, NULL, &here.queue));
    test("float32", SSQ_F32);
    test("bfloat16", SSQ_BF16);
    ssq_queue_destroy(&here.queue);
    ssq_device_close(&here.device);
    return tap_done(2);
}
