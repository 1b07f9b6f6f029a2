/* SPDX-License-Identifier: Apache-2.0 */
/* accumulate.c - accumulations that are ended early or dropped, and steps in a
 * capture of a graph. */
#include "tests/tape/harness.h"

#include <math.h>

#define IN   4
#define OUT  3
#define ROWS 5
#define MOST 128 /* elements of all parameters */

struct accumulate_setup {
    const char *policy, *optimizer;
    double clip_value;
    bool replay;
};

static ssq_trainer *trainer_of(const struct tape_harness *b,
                               const struct accumulate_setup *s,
                               uint32_t accumulate)
{
    ssq_trainer *t = NULL;
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    o.lr = 0.05;
    o.clip_norm = 0.5;
    NEED(ssq_trainer_create(
        b->queue,
        SSQ_TRAINER(.policy = s->policy, .optimizer = s->optimizer,
                    .options = o, .clip_value = s->clip_value,
                    .replay = s->replay, .accumulate = accumulate),
        &t));
    return t;
}

static ssq_var loss_of(const struct tape_harness *b, ssq_tape *t)
{
    ssq_var y = ssq_nn_linear(t, "fc1", ssq_var_input(t, b->x), 6, NULL);
    y = ssq_nn_linear(t, "fc2", ssq_tanh_var(y), OUT, NULL);
    return ssq_mse_var(y, SSQ_MSE(.target = b->target));
}

/* Each micro-batch has other values of x. */
static void passes(const struct tape_harness *b, ssq_trainer *t, int from,
                   int n)
{
    for (int i = from; i < from + n; i++) {
        NEED(ssq_random_uniform(
            b->queue,
            SSQ_RANDOM_UNIFORM(.x = b->x, .seed = 7, .id = (uint32_t)i)));
        ssq_status st = ssq_trainer_step(t, loss_of(b, ssq_trainer_begin(t)));
        if (st != SSQ_ERR_SCALE)
            NEED(st);
    }
}

/* All parameters as float32; returns how many elements. */
static size_t values(const struct tape_harness *b, ssq_trainer *t, float *to)
{
    ssq_params *params = ssq_trainer_params(t);
    size_t n = 0;
    for (size_t i = 0; i < ssq_params_count(params); i++) {
        ssq_param_info p = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(params, i, &p));
        size_t k = (size_t)ssq_tensor_elements(p.tensor);
        NEED(ssq_tensor_read(b->queue, p.tensor, to + n, k * sizeof(*to),
                             SSQ_F32));
        n += k;
    }
    NEED(ssq_queue_sync(b->queue));
    return n;
}

static bool alike(const struct tape_harness *b, ssq_trainer *x, ssq_trainer *y)
{
    float p[MOST], q[MOST];
    size_t n = values(b, x, p);
    return n > 0 && values(b, y, q) == n && memcmp(p, q, n * sizeof(*p)) == 0;
}

static ssq_status count_steps(void *user, ssq_trainer *trainer,
                              ssq_trainer_place place, ssq_var *var)
{
    (void)trainer;
    (void)var;
    *(int *)user += place == SSQ_PLACE_STEP_END;
    return SSQ_OK;
}

static void flush(const struct tape_harness *b,
                  const struct accumulate_setup *s)
{
    ssq_trainer *two = trainer_of(b, s, 2), *four = trainer_of(b, s, 4);
    int steps = 0;
    bool counted = true;
    NEED(ssq_trainer_hook_add(four, count_steps, &steps));
    passes(b, two, 0, 6);
    for (int i = 0; i < 6; i += 2) {
        counted = counted && ssq_trainer_accumulated(four) == 0;
        passes(b, four, i, 2);
        counted = counted && ssq_trainer_accumulated(four) == 2;
        NEED(ssq_trainer_flush(four));
    }
    tap_ok(counted && steps == 3 && alike(b, two, four),
           "%s, %s, %s: two passes of four, flushed, have the bits of two of "
           "two",
           b->name, s->policy, s->optimizer);
    NEED(ssq_trainer_flush(four));
    tap_ok(steps == 3 && alike(b, two, four),
           "%s, %s: a flush of nothing does nothing", b->name, s->policy);
    /* the next pass begins a new accumulation */
    passes(b, two, 6, 4);
    passes(b, four, 6, 2);
    NEED(ssq_trainer_flush(four));
    passes(b, four, 8, 2);
    NEED(ssq_trainer_flush(four));
    tap_ok(steps == 5 && alike(b, two, four), "%s, %s: and it goes on", b->name,
           s->policy);
    ssq_trainer_destroy(&two);
    ssq_trainer_destroy(&four);
}

static void drop(const struct tape_harness *b, const struct accumulate_setup *s)
{
    ssq_trainer *x = trainer_of(b, s, 3), *y = trainer_of(b, s, 3);
    passes(b, x, 0, 6);
    passes(b, y, 0, 3);
    passes(b, y, 20, 2);
    NEED(ssq_trainer_zero_grad(y));
    NEED(ssq_trainer_zero_grad(y));
    bool none = ssq_trainer_accumulated(y) == 0;
    passes(b, y, 3, 3);
    tap_ok(none && alike(b, x, y),
           "%s, %s, %s: passes that were dropped have left nothing", b->name,
           s->policy, s->optimizer);
    ssq_trainer_destroy(&x);
    ssq_trainer_destroy(&y);
}

/* A call that is refused within an accumulation says how to end it. */
static void refused(const struct tape_harness *b,
                    const struct accumulate_setup *s)
{
    char path[64];
    snprintf(path, sizeof(path), "accumulate-%ld", (long)getpid());
    ssq_trainer *t = trainer_of(b, s, 4);
    passes(b, t, 0, 6);
    core_status(ssq_trainer_save(t, path), SSQ_ERR_INVALID,
                "2 of 4 passes|ssq_trainer_flush|ssq_trainer_zero_grad",
                "%s: a save within an accumulation", b->name);
    core_status(ssq_trainer_end(t), SSQ_ERR_INVALID, "ssq_trainer_flush",
                "%s: the end within an accumulation", b->name);
    NEED(ssq_trainer_flush(t));
    tap_ok(ssq_trainer_save(t, path) == SSQ_OK, "%s: a save behind a flush",
           b->name);
    passes(b, t, 6, 1);
    NEED(ssq_trainer_zero_grad(t));
    tap_ok(ssq_trainer_load(t, path) == SSQ_OK && ssq_trainer_end(t) == SSQ_OK,
           "%s: a load and the end behind a drop", b->name);
    core_status(ssq_trainer_flush(NULL), SSQ_ERR_INVALID, "trainer is NULL",
                "%s: a flush of NULL", b->name);
    core_status(ssq_trainer_zero_grad(NULL), SSQ_ERR_INVALID, "trainer is NULL",
                "%s: a drop of NULL", b->name);
    tap_ok(ssq_trainer_accumulated(NULL) == 0, "%s: NULL has no passes",
           b->name);
    unlink(path);
    ssq_trainer_destroy(&t);
}

/* A step that is only captured would be counted, and may never be launched. */
static void captured(const struct tape_harness *b,
                     const struct accumulate_setup *s)
{
    ssq_trainer *x = trainer_of(b, s, 2), *y = trainer_of(b, s, 2);
    ssq_graph *g = NULL;
    double loss[2] = {0, 0};
    passes(b, x, 0, 4);
    passes(b, y, 0, 3);
    NEED(ssq_graph_begin(b->queue));
    core_status(ssq_tape_status(ssq_trainer_begin(y)), SSQ_ERR_INVALID,
                "trainer_begin: a graph is being captured",
                "%s: a pass in a capture", b->name);
    core_status(ssq_trainer_flush(y), SSQ_ERR_INVALID, "being captured",
                "%s: a flush in a capture", b->name);
    core_status(ssq_trainer_zero_grad(y), SSQ_ERR_INVALID, "being captured",
                "%s: a drop in a capture", b->name);
    NEED(ssq_graph_end(b->queue, &g));
    ssq_graph_destroy(&g);
    NEED(ssq_random_uniform(b->queue,
                            SSQ_RANDOM_UNIFORM(.x = b->x, .seed = 7, .id = 3)));
    ssq_var last = loss_of(b, ssq_trainer_begin(y));
    NEED(ssq_graph_begin(b->queue));
    core_status(ssq_trainer_step(y, last), SSQ_ERR_INVALID,
                "trainer_step: a graph is being captured",
                "%s: a step in a capture", b->name);
    NEED(ssq_graph_end(b->queue, &g));
    ssq_graph_destroy(&g);
    ssq_status st = ssq_trainer_step(y, last);
    NEED(ssq_trainer_loss(x, &loss[0]));
    NEED(ssq_trainer_loss(y, &loss[1]));
    tap_ok(st == SSQ_OK && loss[0] == loss[1] && isfinite(loss[0]) &&
               alike(b, x, y),
           "%s: then it is taken, and counts once: %g", b->name, loss[1]);
    ssq_trainer_destroy(&x);
    ssq_trainer_destroy(&y);
}

int main(void)
{
    static const struct accumulate_setup list[] = {
        {"float32", "adamw", 0.0, false},
        {"mixed_float16", "sgd", 0.01, false},
        {"mixed_bfloat16", "lamb", 0.0, true},
    };
    const size_t n = sizeof(list) / sizeof(list[0]);
    for (size_t i = 0; core_device(i) != NULL; i++) {
        struct tape_harness b = harness_open(core_device(i), ROWS, IN, OUT);
        for (size_t k = 0; k < n; k++) {
            flush(&b, &list[k]);
            drop(&b, &list[k]);
        }
        refused(&b, &list[0]);
        captured(&b, &list[0]);
        harness_close(&b);
    }
    return tap_done(40);
}
