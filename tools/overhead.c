/* SPDX-License-Identifier: Apache-2.0 */
/* overhead.c - the overhead of a tape: the same ops on one element are timed by
 * hand and on a tape, in turn.
 *
 * The ops form a chain, which runs forward and then backward. In the relu
 * chain the tape owns the values. In the mul chain each op also has a
 * parameter as an operand. The tape watches for writes to the parameter, and
 * its gradient is a sum. */
#include "tools/tool.h"

/* Length of the chain: its two ends must not matter. */
#define CALLS 256

struct overhead_chain {
    ssq_queue *queue;
    ssq_params *params;
    ssq_tape *tape;
    const ssq_tensor *p, *grad;               /* the parameter */
    ssq_tensor *x[CALLS + 1], *dx[CALLS + 1]; /* by hand */
    ssq_tensor *part;                         /* one term of grad */
    bool mul;
};

static const ssq_param_args one = {sizeof(one), 1, {1}, .init = SSQ_INIT_ONES};

/* ---- by hand ---- */

static ssq_status hand_forward(const struct overhead_chain *c)
{
    ssq_status st = SSQ_OK;
    for (int i = 0; i < CALLS && st == SSQ_OK; i++)
        st = c->mul
                 ? ssq_mul(c->queue,
                           SSQ_MUL(.a = c->x[i], .b = c->p, .y = c->x[i + 1]))
                 : ssq_relu(c->queue, SSQ_RELU(.x = c->x[i], .y = c->x[i + 1]));
    return st;
}

static ssq_status hand_mul_backward(const struct overhead_chain *c, int i)
{
    const ssq_tensor *db = i == CALLS - 1 ? c->grad : c->part;
    ssq_status st = ssq_mul_backward(
        c->queue, SSQ_MUL_BACKWARD(.a = c->x[i], .b = c->p, .dy = c->dx[i + 1],
                                   .da = c->dx[i], .db = db));
    return st == SSQ_OK && db == c->part
               ? ssq_add(c->queue,
                         SSQ_ADD(.a = c->grad, .b = c->part, .y = c->grad))
               : st;
}

static ssq_status hand_backward(const struct overhead_chain *c)
{
    ssq_status st = SSQ_OK;
    for (int i = CALLS - 1; i >= 0 && st == SSQ_OK; i--)
        st = c->mul ? hand_mul_backward(c, i)
                    : ssq_relu_backward(c->queue,
                                        SSQ_RELU_BACKWARD(.x = c->x[i],
                                                          .dy = c->dx[i + 1],
                                                          .dx = c->dx[i]));
    return st;
}

/* ---- on a tape ---- */

static ssq_var tape_forward(const struct overhead_chain *c)
{
    ssq_tape_begin(c->tape, true);
    const ssq_var p = ssq_var_param(c->tape, "p", &one);
    ssq_var x = p;
    for (int i = 0; i < CALLS; i++)
        x = c->mul ? ssq_mul_var(x, p) : ssq_relu_var(x);
    return x;
}

static ssq_status tape_backward(const struct overhead_chain *c, ssq_var loss)
{
    ssq_params_clean(c->params);
    return ssq_tape_backward(c->tape, loss, NULL);
}

/* ---- both ---- */

/* Time each of the four once. Waits for earlier work in between, so that no
 * call waits for a place in the queue. */
static ssq_status round_of(const struct overhead_chain *c, struct overhead *o,
                           int i)
{
    double at[5];
    at[0] = now();
    ssq_status st = hand_forward(c);
    at[1] = now();
    if (st == SSQ_OK)
        st = hand_backward(c);
    at[2] = now();
    ssq_status synced = ssq_queue_sync(c->queue);
    double began = now();
    ssq_var loss = tape_forward(c);
    at[3] = now();
    if (st == SSQ_OK)
        st = tape_backward(c, loss);
    at[4] = now();
    o->hand_forward[i] = (at[1] - at[0]) / CALLS;
    o->hand_backward[i] = (at[2] - at[1]) / CALLS;
    o->tape_forward[i] = (at[3] - began) / CALLS;
    o->tape_backward[i] = (at[4] - at[3]) / CALLS;
    if (st == SSQ_OK)
        st = synced;
    synced = ssq_queue_sync(c->queue);
    return st == SSQ_OK ? synced : st;
}

static ssq_status overhead_make(struct overhead_chain *c)
{
    ssq_device *d = ssq_queue_device(c->queue);
    const int64_t shape = 1;
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    ssq_status st = ssq_params_create(d, NULL, NULL, &c->params);
    if (st == SSQ_OK)
        st = ssq_tape_create(c->queue, c->params, &c->tape);
    for (int i = 0; i <= CALLS && st == SSQ_OK; i++) {
        st = ssq_tensor_create(d, SSQ_F32, 1, &shape, &c->x[i]);
        if (st == SSQ_OK)
            st = ssq_tensor_create(d, SSQ_F32, 1, &shape, &c->dx[i]);
    }
    if (st == SSQ_OK)
        st = ssq_tensor_create(d, SSQ_F32, 1, &shape, &c->part);
    if (st == SSQ_OK)
        st = ssq_fill(c->queue, SSQ_FILL(.x = c->x[0], .value = 1.0));
    if (st == SSQ_OK)
        st = ssq_fill(c->queue, SSQ_FILL(.x = c->dx[CALLS], .value = 1.0));
    if (st == SSQ_OK) /* creates the parameter and its gradient */
        st = tape_backward(c, tape_forward(c));
    if (st == SSQ_OK)
        st = ssq_params_get(c->params, 0, &info);
    c->p = info.tensor;
    c->grad = info.grad;
    return st;
}

static void overhead_drop(struct overhead_chain *c)
{
    ssq_tape_destroy(&c->tape);
    ssq_params_destroy(&c->params);
    ssq_tensor_destroy(&c->part);
    for (int i = 0; i <= CALLS; i++) {
        ssq_tensor_destroy(&c->x[i]);
        ssq_tensor_destroy(&c->dx[i]);
    }
}

/* ---- steps ---- */

static ssq_status one_step(ssq_trainer *trainer)
{
    ssq_tape *t = ssq_trainer_begin(trainer);
    ssq_var x = ssq_var_param(t, "p", &one);
    for (int i = 0; i < CALLS; i++)
        x = ssq_relu_var(x);
    return ssq_trainer_step(trainer, x);
}

bool step_measure(ssq_queue *queue, bool replay, double *seconds)
{
    ssq_trainer *trainer = NULL;
    ssq_status st =
        ssq_trainer_create(queue, SSQ_TRAINER(.replay = replay), &trainer);
    for (int i = -4; i < OVERHEAD_RUNS && st == SSQ_OK;
         i++) { /* < 0: warms up */
        double began = now();
        st = one_step(trainer);
        if (i >= 0)
            seconds[i] = (now() - began) / (2 * CALLS);
        if (st == SSQ_OK)
            st = ssq_queue_sync(queue);
    }
    ssq_trainer_destroy(&trainer);
    return st == SSQ_OK;
}

bool overhead_measure(ssq_queue *queue, bool mul, struct overhead *o)
{
    struct overhead_chain c = {.queue = queue, .mul = mul};
    ssq_status st = overhead_make(&c);
    for (int i = -1; i < OVERHEAD_RUNS && st == SSQ_OK; i++)
        st = round_of(&c, o, i < 0 ? 0 : i); /* the first one warms up */
    overhead_drop(&c);
    return st == SSQ_OK;
}
