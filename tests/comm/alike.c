/* SPDX-License-Identifier: Apache-2.0 */
/* alike.c - error messages if the trainers of ranks differ, for every option
 * that decides a step, and if a communicator was destroyed. */

#include <sesqui/trainer.h>

#include "tests/comm/comm.h"

enum { BATCH = 3, WIDTH = 4, CLASSES = 2, RANKS = 2 };

/* Two ranks of one thread. */
struct alike_pair {
    struct group g;
    ssq_trainer *trainer[RANKS];
    ssq_tensor *x[RANKS], *y[RANKS];
};

static void pair_make(struct alike_pair *p, const ssq_trainer_args args[RANKS])
{
    const int64_t shape[] = {BATCH, WIDTH};

    group_of(&p->g, RANKS, "reference", 60);
    for (unsigned r = 0; r < RANKS; r++) {
        ssq_trainer_args a = args[r];
        ssq_queue *queue = p->g.queue[r];
        a.comm = p->g.comm[r];
        NEED(ssq_trainer_create(queue, &a, &p->trainer[r]));
        NEED(ssq_tensor_create(p->g.dev[r], SSQ_F32, 2, shape, &p->x[r]));
        p->y[r] = core_vector(p->g.dev[r], SSQ_I32, BATCH);
        NEED(
            ssq_random_normal(queue, SSQ_RANDOM_NORMAL(.x = p->x[r], .id = r)));
        NEED(ssq_fill(queue, SSQ_FILL(.x = p->y[r], .value = r)));
    }
}

static void pair_free(struct alike_pair *p)
{
    for (unsigned r = 0; r < RANKS; r++) {
        ssq_trainer_destroy(&p->trainer[r]);
        ssq_tensor_destroy(&p->x[r]);
        ssq_tensor_destroy(&p->y[r]);
    }
    group_close(&p->g);
}

/* One step of all; a rank that gets an error gets it again. */
static void pair_step(struct alike_pair *p)
{
    for (unsigned r = 0; r < RANKS; r++) {
        ssq_tape *t = ssq_trainer_begin(p->trainer[r]);
        ssq_var h = ssq_nn_linear(t, "fc1", ssq_var_input(t, p->x[r]), 5, NULL);
        h = ssq_nn_linear(t, "fc2", ssq_relu_var(h), CLASSES, NULL);
        ssq_status st = ssq_trainer_step(
            p->trainer[r],
            ssq_cross_entropy_var(h, SSQ_CROSS_ENTROPY(.target = p->y[r])));
        if (st != SSQ_ERR_COMM)
            NEED(st);
    }
}

/* Every rank has the error, with all parts. */
static void pair_told(struct alike_pair *p, const char *parts, const char *what)
{
    for (unsigned r = 0; r < RANKS; r++)
        core_status(ssq_queue_sync(p->g.queue[r]), SSQ_ERR_COMM, parts,
                    "%s: rank %u", what, r);
}

/* ---- what args say ---- */

static ssq_trainer_args args_of(const char *optimizer)
{
    ssq_trainer_args a = SSQ_TRAINER_INIT;

    a.optimizer = optimizer;
    if (strcmp(optimizer, "sgd") == 0)
        a.options.momentum = 0.5;
    return a;
}

static void differ(const char *what, ssq_trainer_args a, ssq_trainer_args b,
                   const char *parts)
{
    const ssq_trainer_args args[RANKS] = {a, b};
    struct alike_pair p;

    pair_make(&p, args);
    pair_step(&p);
    pair_told(&p, parts, what);
    pair_free(&p);
}

#define DIFFER(kind, field, other, parts)                                      \
    do {                                                                       \
        ssq_trainer_args b_ = args_of(kind);                                   \
        b_.field = other;                                                      \
        differ(#field, args_of(kind), b_, parts);                              \
    } while (0)

static void test_options(void)
{
    DIFFER("adamw", options.lr, 0.5, "lr is \"0.001");
    DIFFER("adamw", options.beta1, 0.5, "beta1 is \"0.9|\"0.5\" on rank 1");
    DIFFER("adamw", options.beta2, 0.5, "beta2 is \"0.999");
    DIFFER("adamw", options.eps, 0.5, "eps is \"1");
    DIFFER("adamw", options.amsgrad, true, "amsgrad is \"false");
    DIFFER("adamw", options.maximize, true, "maximize is \"false");
    DIFFER("adamw", options.form, SSQ_ADAM_APEX, "form is \"0");
    DIFFER("adamw", options.seed, 7, "optimizer's seed is \"0\"");
    DIFFER("adamw", options.flat_master, true, "master is \"0\"|\"0, flat\"");
    DIFFER("sgd", options.momentum, 0.25, "momentum is \"0.5\"|\"0.25\"");
    DIFFER("sgd", options.dampening, 0.5, "dampening is \"0\"|\"0.5\"");
    DIFFER("sgd", options.nesterov, true, "nesterov is \"false\"");
    DIFFER("rmsprop", options.alpha, 0.5, "alpha is \"0.98");
    DIFFER("rmsprop", options.centered, true, "centered is \"false\"");
    DIFFER("adagrad", options.lr_decay, 0.5, "lr_decay is \"0\"");
    DIFFER("adagrad", options.initial_accumulator, 1,
           "initial_accumulator is \"0\"|\"1\"");
    DIFFER("lamb", options.max_grad_norm, 0.5, "max_grad_norm is \"1\"");
    DIFFER("lamb", options.use_nvlamb, true, "use_nvlamb is \"false\"");
    DIFFER("lamb", options.grad_averaging, false, "grad_averaging is \"true\"");
    DIFFER("lamb", options.bias_correction, false, "bias_correction is \"tr");
    DIFFER("sgd", params.float32_gradients, true, "float32_gradients is \"f");
}

/* Only the last class differs, behind what a message shows of a policy. */
static void test_policy(void)
{
    ssq_trainer_args a = args_of("sgd"), b = a;

    a.policy = "float32,gelu=float32,relu=float32,silu=float32,tanh=float32,"
               "exp=float32,softmax=half";
    b.policy = "float32,gelu=float32,relu=float32,silu=float32,tanh=float32,"
               "exp=float32,softmax=float32";
    differ("policy", a, b, "policy is \"float32,gelu=float32,|.. (|on rank 1");
}

/* ---- what is set before the first step, or later ---- */

static const ssq_optimizer_options *lr_of(double lr)
{
    static ssq_optimizer_options o;

    o = (ssq_optimizer_options)SSQ_OPTIMIZER_INIT;
    o.lr = lr;
    return &o;
}

static void group_at(struct alike_pair *p, unsigned r, const char *pattern,
                     double lr)
{
    NEED(ssq_trainer_group(p->trainer[r], pattern, lr_of(lr), NULL));
}

/* Two values, the second of which is last. */
static void schedule_at(struct alike_pair *p, unsigned r, double last)
{
    const double table[] = {0.125, last};
    ssq_schedule s = SSQ_SCHEDULE_INIT;

    s.kind = SSQ_SCHEDULE_TABLE;
    s.total_steps = 2;
    s.table = table;
    NEED(ssq_trainer_schedule(p->trainer[r], SSQ_HYPER_LR, &s));
}

static void scaler_at(struct alike_pair *p, unsigned r, uint32_t hysteresis)
{
    ssq_scaler_options o = SSQ_SCALER_OPTIONS_INIT;
    ssq_scaler *scaler = NULL;

    o.hysteresis = hysteresis;
    NEED(ssq_scaler_create(p->g.dev[r], NULL, &o, &scaler));
    NEED(ssq_trainer_set_scaler(p->trainer[r], scaler));
    ssq_scaler_destroy(&scaler);
}

static void pair_plain(struct alike_pair *p)
{
    const ssq_trainer_args args[RANKS] = {args_of("adamw"), args_of("adamw")};

    pair_make(p, args);
}

static void test_groups(void)
{
    struct alike_pair p;

    pair_plain(&p);
    group_at(&p, 1, "*.bias", 0.5);
    pair_step(&p);
    pair_told(&p, "groups is \"1\" on rank 0, \"2\"", "a group of one rank's");
    pair_free(&p);
    pair_plain(&p);
    group_at(&p, 0, "*.bias", 0.5);
    group_at(&p, 1, "*.bias", 0.25);
    pair_step(&p);
    pair_told(&p, "group 1: lr is \"0.5\" on rank 0, \"0.25\"", "a group's lr");
    pair_free(&p);
    pair_plain(&p);
    group_at(&p, 0, "*.bias", 0.5);
    group_at(&p, 1, "*.weight", 0.5);
    pair_step(&p);
    pair_told(&p,
              "fc1.weight is \"f32 [5,4]\" on rank 0, \"f32 [5,4] of group 1",
              "a group of other parameters");
    pair_free(&p);
}

static void test_schedules(void)
{
    struct alike_pair p;

    pair_plain(&p);
    schedule_at(&p, 1, 0.5);
    pair_step(&p);
    pair_told(&p, "lr's schedule is \"none\" on rank 0, \"2 steps from 0.125 (",
              "a schedule of one rank's");
    pair_free(&p);
    pair_plain(&p);
    for (unsigned r = 0; r < RANKS; r++) {
        group_at(&p, r, "*.bias", 0.5);
        schedule_at(&p, r, r == 0 ? 0.5 : 0.25);
    }
    pair_step(&p);
    pair_told(&p, "lr's schedule is \"2 steps from 0.125 (|\"2 steps",
              "a schedule's last value");
    pair_free(&p);
}

static void test_scalers(void)
{
    struct alike_pair p;

    pair_plain(&p);
    for (unsigned r = 0; r < RANKS; r++)
        scaler_at(&p, r, 2 + r);
    pair_step(&p);
    pair_told(&p, "scaler is \"scale 65536, |\"scale 65536, ",
              "a scaler's hysteresis");
    pair_free(&p);
}

/* After the first step calls are compared that all ranks make, and a call of
 * one alone is a comparison that the other does not come to. */
static void test_later(void)
{
    struct alike_pair p;

    pair_plain(&p);
    pair_step(&p);
    pair_step(&p);
    for (unsigned r = 0; r < RANKS; r++) {
        schedule_at(&p, r, 0.5);
        scaler_at(&p, r, 2);
    }
    pair_step(&p);
    pair_step(&p);
    for (unsigned r = 0; r < RANKS; r++)
        core_status(ssq_queue_sync(p.g.queue[r]), SSQ_OK, "",
                    "rank %u goes on with a new schedule and scaler", r);
    schedule_at(&p, 1, 0.25);
    pair_step(&p);
    pair_told(&p, "rank 0 calls all_reduce sum|rank 1 compare",
              "a schedule that one rank has later");
    pair_free(&p);
    pair_plain(&p);
    pair_step(&p);
    for (unsigned r = 0; r < RANKS; r++)
        schedule_at(&p, r, 0.5 + r);
    pair_step(&p);
    pair_told(&p, "lr's schedule is", "other schedules later");
    pair_free(&p);
}

/* ---- a communicator that is gone ---- */

/* Others, that may lie where it was, are none of the trainer's. */
static void test_destroyed(bool shard)
{
    ssq_trainer_args args[RANKS] = {args_of("adamw"), args_of("adamw")};
    ssq_comm *others[RANKS];
    struct alike_pair p;

    for (unsigned r = 0; r < RANKS; r++)
        args[r].shard = shard;
    pair_make(&p, args);
    pair_step(&p);
    for (unsigned r = 0; r < RANKS; r++)
        NEED(ssq_queue_sync(p.g.queue[r]));
    ssq_comm_destroy(&p.g.comm[0]);
    NEED(ssq_comm_local_create(p.g.dev, RANKS, NULL, others));
    core_status(ssq_tape_status(ssq_trainer_begin(p.trainer[0])), SSQ_ERR_COMM,
                "rank 0 was destroyed", "a pass, shard %d", shard);
    core_status(ssq_trainer_idle(p.trainer[0]), SSQ_ERR_COMM,
                "rank 0 was destroyed", "a pass without rows, shard %d", shard);
    core_status(ssq_tape_status(ssq_trainer_evaluate(p.trainer[0])), SSQ_OK, "",
                "an evaluation, shard %d", shard);
    for (unsigned r = 0; r < RANKS; r++)
        ssq_comm_destroy(&others[r]);
    pair_free(&p);
}

int main(void)
{
    test_options();
    test_policy();
    test_groups();
    test_schedules();
    test_scalers();
    test_later();
    test_destroyed(false);
    test_destroyed(true);
    return tap_done(68);
}
