/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.c - training while the Nth allocation of host memory fails: the call
 * that needs it says so, the next pass is as good as ever, nothing is lost. */
#include "tests/tape/tape.h"

static struct {
    long calls, fail_at, refused, live;
} heap;

static void *heap_alloc(void *user, size_t bytes)
{
    (void)user;
    if (++heap.calls == heap.fail_at) {
        heap.refused++;
        return NULL;
    }
    void *p = malloc(bytes);
    heap.live += p != NULL;
    return p;
}

static void heap_free(void *user, void *p)
{
    (void)user;
    heap.live--;
    free(p);
}

/* What went wrong in all trials. */
static struct {
    long trials, refused, status, text, stuck, learnt, leak;
} seen;

static ssq_status answered(ssq_status st)
{
    if (st == SSQ_OK)
        return st;
    seen.refused++;
    seen.status += st != SSQ_ERR_NOMEM;
    seen.text += !core_has(ssq_last_error(), "memory");
    return st;
}

static ssq_status step(ssq_trainer *trainer, const ssq_tensor *x, bool training)
{
    ssq_tape *t =
        training ? ssq_trainer_begin(trainer) : ssq_trainer_evaluate(trainer);
    ssq_tape_push(t, "net");
    ssq_var y =
        ssq_relu_var(ssq_nn_linear(t, "fc1", ssq_var_input(t, x), 6, NULL));
    y = ssq_nn_layer_norm(t, "norm", ssq_nn_dropout(t, y, 0.1), NULL);
    y = ssq_var_reshape(ssq_var_transpose(y, NULL), 1, (int64_t[]){-1});
    ssq_tape_pop(t);
    ssq_var loss = ssq_mean_var(ssq_square_var(y), NULL);
    return training ? ssq_trainer_step(trainer, loss) : ssq_tape_status(t);
}

/* The program: what fails is tried once more, which must do. */
static void train(ssq_queue *q, const ssq_tensor *x, const char *policy)
{
    ssq_trainer *trainer = NULL;
    double loss = 0.0;
    for (int i = 0; i < 2 && trainer == NULL; i++)
        seen.stuck += answered(ssq_trainer_create(
                          q, SSQ_TRAINER(.policy = policy, .accumulate = 2),
                          &trainer)) != SSQ_OK &&
                      i == 1;
    if (trainer == NULL)
        return;
    for (int i = 0; i < 6; i++)
        if (answered(step(trainer, x, i % 3 != 2)) != SSQ_OK)
            seen.stuck += step(trainer, x, i % 3 != 2) != SSQ_OK;
    if (answered(ssq_trainer_loss(trainer, &loss)) != SSQ_OK)
        seen.stuck += ssq_trainer_loss(trainer, &loss) != SSQ_OK;
    seen.learnt += loss > 0.0 && loss < 10.0;
    ssq_trainer_destroy(&trainer);
}

static bool trial(ssq_device *d, const char *policy, long fail_at)
{
    const int64_t shape[] = {5, 4};
    ssq_queue *q = core_queue(d);
    ssq_tensor *x = NULL;
    NEED(ssq_tensor_create(d, SSQ_F32, 2, shape, &x));
    NEED(ssq_fill(q, SSQ_FILL(.x = x, .value = 0.5)));
    heap.calls = heap.refused = 0;
    heap.fail_at = fail_at;
    train(q, x, policy);
    heap.fail_at = 0;
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
    seen.trials++;
    return heap.refused > 0;
}

static void sweep(const char *device, const char *policy)
{
    ssq_allocator a = {sizeof(a), heap_alloc, heap_free, NULL};
    NEED(ssq_allocator_set(&a));
    memset(&seen, 0, sizeof(seen));
    ssq_device *d = core_open(device);
    trial(d, policy, 0); /* what a device makes once */
    long live = heap.live, trials = 1;
    for (long i = 1; trial(d, policy, i); i++)
        trials++;
    seen.leak = heap.live - live;
    ssq_device_close(&d);
    tap_ok(seen.status == 0 && seen.text == 0 && seen.stuck == 0 &&
               seen.learnt == seen.trials && seen.trials > 100 &&
               heap.live == 0,
           "%s: %s: each of %ld allocations fails once: %ld calls refused, %ld "
           "with another status, %ld without a text, %ld not repeated, %ld "
           "without a loss, %ld blocks lost",
           device, policy, trials, seen.refused, seen.status, seen.text,
           seen.stuck, seen.trials - seen.learnt, heap.live);
    NEED(ssq_allocator_set(NULL));
}

int main(void)
{
    sweep("reference", "mixed_float16");
    sweep("guard", "mixed_bfloat16");
    return tap_done(2);
}
