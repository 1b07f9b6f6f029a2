/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - train a model on handwritten digits in mixed precision.
 *
 * The order of a step is the whole lesson:
 *
 *     forward      gemms in the compute dtype, logits in float32
 *     loss         float32; its gradient is multiplied by the loss scale
 *     backward     gemms in the compute dtype
 *     all_reduce   the mean of the ranks' gradients, where there are several;
 *                  with --shard the step sums them, each rank for its part
 *     step         check, unscale, update float32 masters, round the model
 *     update       move the loss scale
 *
 * Nothing in it waits for the device. */
#include "examples/common/train.h"

#include "examples/common/curve.h"
#include "examples/common/dataset.h"

#include <stdlib.h>
#include <string.h>

/** Everything of one training run. */
struct train_state {
    struct member *member;
    const struct run_options *o; /* the member's */
    const struct model_kind *kind;
    ssq_policy policy;
    ssq_device *device;
    ssq_queue *queue;
    ssq_scaler *scaler; /* NULL: the policy needs none */
    ssq_optimizer *adamw;
    ssq_graph *graph;            /* one step, with --graph */
    struct model model, test;    /* the second shares the first's parameters */
    ssq_tensor *pixels, *labels; /* the training set, on the device */
    /* a permutation of the rows; its part in use, always in the same memory, as
     * a captured step reads where it read when it was captured */
    ssq_tensor *order, *batch_index;
    ssq_tensor *x, *target, *test_x; /* one batch; the test set */
    ssq_tensor *loss, *loss_sum;     /* float32 scalars */
    ssq_tensor *weight, *seed;       /* of the gradient: float32 scalars */
    const ssq_tensor *grads[TRAIN_PARAMETERS];
    size_t n_grads;
    int32_t host_order[DIGITS_TRAIN];
    int64_t rows;         /* of a batch that are this rank's */
    struct history *seen; /* for --plot: a point for each epoch */
    unsigned long steps;
};

/* What the last line says of a run. */
struct train_result {
    char device[32];
    double accuracy;
    unsigned long steps;
    ssq_scaler_state scale;
};

bool train_tensor(ssq_device *device, ssq_dtype dtype, int rank,
                  const int64_t *shape, ssq_tensor **t)
{
    return run_ok(ssq_tensor_create(device, dtype, rank, shape, t), "tensor");
}

bool train_share(const ssq_tensor *from, ssq_tensor **to)
{
    ssq_tensor_desc d = SSQ_TENSOR_DESC_INIT;
    return run_ok(ssq_tensor_desc_get(from, &d), "tensor") &&
           run_ok(ssq_tensor_reshape(from, d.rank, d.shape, to), "view");
}

static bool make(struct train_state *t, ssq_dtype dtype, int rank, int64_t a,
                 int64_t b, ssq_tensor **out)
{
    int64_t shape[2] = {a, b};
    return train_tensor(t->device, dtype, rank, shape, out);
}

/* The data set on the device, once, and what one batch needs. Writes are
 * asynchronous: data has to live until the first sync, and lives longer. */
static bool make_data(struct train_state *t, const struct dataset *data)
{
    ssq_fill_args weight = SSQ_FILL_INIT;
    weight.value = t->o->loss_weight;
    int64_t batch = t->rows, tests = DIGITS_ROWS - DIGITS_TRAIN;
    ssq_dtype compute = t->policy.compute;
    return make(t, compute, 2, DIGITS_TRAIN, DIGITS_PIXELS, &t->pixels) &&
           make(t, SSQ_I32, 1, DIGITS_TRAIN, 0, &t->labels) &&
           make(t, SSQ_I32, 1, DIGITS_TRAIN, 0, &t->order) &&
           make(t, SSQ_I32, 1, batch, 0, &t->batch_index) &&
           make(t, compute, 2, batch, DIGITS_PIXELS, &t->x) &&
           make(t, SSQ_I32, 1, batch, 0, &t->target) &&
           make(t, compute, 2, tests, DIGITS_PIXELS, &t->test_x) &&
           make(t, SSQ_F32, 0, 0, 0, &t->loss) &&
           make(t, SSQ_F32, 0, 0, 0, &t->loss_sum) &&
           make(t, SSQ_F32, 0, 0, 0, &t->weight) &&
           make(t, SSQ_F32, 0, 0, 0, &t->seed) &&
           /* float32 on the host, rounded to the compute dtype on the way */
           run_ok(ssq_tensor_write(t->queue, t->pixels, data->pixel,
                                   DIGITS_TRAIN * sizeof(data->pixel[0]),
                                   SSQ_F32),
                  "pixels") &&
           (weight.x = t->weight,
            run_ok(ssq_fill(t->queue, &weight), "fill")) &&
           run_ok(ssq_tensor_write(t->queue, t->labels, data->label,
                                   DIGITS_TRAIN * sizeof(data->label[0]),
                                   SSQ_I32),
                  "labels") &&
           run_ok(ssq_tensor_write(
                      t->queue, t->test_x, data->pixel[DIGITS_TRAIN],
                      (DIGITS_ROWS - DIGITS_TRAIN) * sizeof(data->pixel[0]),
                      SSQ_F32),
                  "test pixels");
}

/* Two sets of activations over the same parameters. */
static bool make_models(struct train_state *t)
{
    int64_t tests = DIGITS_ROWS - DIGITS_TRAIN;
    return t->kind->create(&t->model, t->queue, t->policy.compute, t->o,
                           t->rows, t->x, NULL) &&
           t->kind->create(&t->test, t->queue, t->policy.compute, t->o, tests,
                           t->test_x, &t->model);
}

static bool add_parameters(struct train_state *t)
{
    struct train_parameter list[TRAIN_PARAMETERS];
    bool good = true;
    t->n_grads = t->kind->parameters(&t->model, list);
    for (size_t i = 0; i < t->n_grads && good; i++) {
        t->grads[i] = list[i].grad;
        good = run_ok(ssq_optimizer_add(t->adamw, list[i].name, list[i].value,
                                        list[i].grad, NULL),
                      list[i].name);
    }
    return good;
}

/* AdamW over all parameters, its learning rate by one cycle over the whole run:
 * the schedule is on the device, so a replayed step has the right one. */
static bool make_optimizer(struct train_state *t)
{
    unsigned steps = t->o->epochs * (DIGITS_TRAIN / t->o->batch);
    ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
    options.lr = t->o->lr;
    options.statistics = t->o->statistics;
    ssq_schedule cycle = SSQ_SCHEDULE_INIT;
    cycle.kind = SSQ_SCHEDULE_ONE_CYCLE;
    cycle.base = t->o->lr;
    cycle.total_steps = steps > 1 ? steps : 2;
    return run_ok(ssq_optimizer_create(t->device, "adamw", &options, &t->adamw),
                  "adamw") &&
           (!t->o->shard ||
            run_ok(ssq_optimizer_distribute(t->adamw, t->member->comm),
                   "shards")) &&
           add_parameters(t) &&
           run_ok(ssq_optimizer_schedule(t->queue, t->adamw, NULL, SSQ_HYPER_LR,
                                         &cycle),
                  "schedule");
}

/* Everything of a run; on failure training_destroy frees what there is. */
static bool training_create(struct train_state *t, const char *policy,
                            const struct dataset *data)
{
    const struct run_options *o = t->o;
    const char *never = NULL;
    if (o->graph && t->member->comm != NULL)
        never = "--graph: a graph cannot have a collective";
    if (o->statistics && o->shard)
        never = "--statistics: with --shard a rank knows those of its part";
    if (never != NULL) {
        fprintf(stderr, "%s: %s\n", o->program, never);
        return false;
    }
    return group_part(t->member, o->batch, &t->rows) &&
           run_ok(ssq_policy_from_name(policy, &t->policy), "policy") &&
           run_ok(ssq_queue_create(t->device, NULL, &t->queue), "queue") &&
           run_scaler_create(t->device, o, policy, &t->scaler) &&
           make_data(t, data) && make_models(t) && make_optimizer(t);
}

/* Also after a creation that failed half-way: destroy takes NULL. */
static void training_destroy(struct train_state *t)
{
    ssq_graph_destroy(&t->graph);
    ssq_optimizer_destroy(&t->adamw);
    ssq_scaler_destroy(&t->scaler);
    t->kind->destroy(&t->model);
    t->kind->destroy(&t->test);
    ssq_tensor **all[] = {&t->pixels,   &t->labels, &t->order,  &t->batch_index,
                          &t->x,        &t->target, &t->test_x, &t->loss,
                          &t->loss_sum, &t->weight, &t->seed};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        ssq_tensor_destroy(all[i]);
    ssq_queue_destroy(&t->queue);
}

/* The rows of batch_index into x and target. */
static ssq_status gather_batch(struct train_state *t)
{
    ssq_status st = ssq_gather_rows(
        t->queue,
        SSQ_GATHER_ROWS(.x = t->pixels, .index = t->batch_index, .y = t->x));
    if (st != SSQ_OK)
        return st;
    return ssq_gather_rows(t->queue, SSQ_GATHER_ROWS(.x = t->labels,
                                                     .index = t->batch_index,
                                                     .y = t->target));
}

/* The loss of the batch, added to the epoch's sum, and its gradient. */
static ssq_status loss_and_gradient(struct train_state *t)
{
    /* The gradient begins with the loss's weight times the loss scale, which
     * only the device knows, and is multiplied by it while it is float32. */
    ssq_status st = SSQ_OK;
    if (t->scaler != NULL)
        st = ssq_scaler_scale_grad(t->queue, t->scaler, t->weight, t->seed);
    if (st != SSQ_OK)
        return st;
    st = ssq_cross_entropy(
        t->queue,
        SSQ_CROSS_ENTROPY(.logits = t->model.logits, .target = t->target,
                          .loss = t->loss, .dlogits = t->model.dlogits,
                          .dloss = t->scaler == NULL ? t->weight : t->seed));
    if (st != SSQ_OK)
        return st;
    return ssq_add(t->queue,
                   SSQ_ADD(.a = t->loss_sum, .b = t->loss, .y = t->loss_sum));
}

/* What all ranks have of their gradients. */
static ssq_status reduce(struct train_state *t)
{
    const struct member *m = t->member;
    if (m->comm == NULL)
        return SSQ_OK;
    if (t->o->shard)
        return ssq_optimizer_accumulate(t->queue, t->adamw, 1.0 / m->size);
    return ssq_comm_all_reduce(
        t->queue, m->comm,
        SSQ_COMM_ALL_REDUCE(.tensors = t->grads, .n = t->n_grads,
                            .reduction = SSQ_COMM_MEAN, .tag = "gradients"));
}

/* One training step, as at the head of this file. Enqueued, and not waited
 * for. */
static ssq_status step(struct train_state *t)
{
    ssq_status st = gather_batch(t);
    if (st == SSQ_OK)
        st = t->kind->forward(&t->model, t->queue, true);
    if (st == SSQ_OK)
        st = loss_and_gradient(t);
    if (st == SSQ_OK)
        st = t->kind->backward(&t->model, t->queue);
    if (st == SSQ_OK)
        st = reduce(t);
    if (st == SSQ_OK)
        st = ssq_optimizer_step(t->queue, t->adamw, t->scaler);
    if (st == SSQ_OK && t->scaler != NULL)
        st = ssq_scaler_update(t->queue, t->scaler);
    return st;
}

/* The first step runs as it is, so that whatever is made at its first use is
 * there; the second is captured, which runs nothing; it and all later ones are
 * launches of the graph. */
static ssq_status step_or_replay(struct train_state *t)
{
    if (!t->o->graph || t->steps == 0)
        return step(t);
    if (t->graph == NULL) {
        ssq_status st = ssq_graph_begin(t->queue);
        if (st == SSQ_OK)
            st = step(t);
        if (st == SSQ_OK)
            st = ssq_graph_end(t->queue, &t->graph);
        if (st != SSQ_OK)
            return st;
    }
    return ssq_graph_launch(t->queue, t->graph);
}

/* splitmix64: the order of the rows needs no better. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* A fresh permutation, by Fisher and Yates; the bias of % over 1500 rows is one
 * part in 2^53. */
static void shuffle(int32_t *order, uint64_t *random)
{
    for (int i = 0; i < DIGITS_TRAIN; i++)
        order[i] = i;
    for (int i = DIGITS_TRAIN - 1; i > 0; i--) {
        int j = (int)(next_random(random) % (uint64_t)(i + 1));
        int32_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

/* All whole batches in a fresh order; the sum of their losses is left in
 * loss_sum. */
static bool train_epoch(struct train_state *t, uint64_t *random)
{
    /* read late by the device: it lives until the sync at the epoch's end */
    int32_t *order = t->host_order;
    shuffle(order, random);
    if (!run_ok(ssq_tensor_write(t->queue, t->order, order,
                                 sizeof(t->host_order), SSQ_I32),
                "order") ||
        !run_ok(ssq_fill(t->queue, SSQ_FILL(.x = t->loss_sum)), "fill"))
        return false;
    const int64_t batch = t->o->batch, first = t->rows * t->member->rank;
    for (int64_t at = 0; at + batch <= DIGITS_TRAIN; at += batch) {
        ssq_tensor *part = NULL;
        if (!run_ok(ssq_tensor_slice(t->order, 0, at + first,
                                     at + first + t->rows, 1, &part),
                    "slice"))
            return false;
        bool ok =
            run_ok(ssq_copy(t->queue, SSQ_COPY(.x = part, .y = t->batch_index)),
                   "copy") &&
            run_ok(step_or_replay(t), "step");
        ssq_tensor_destroy(&part);
        if (!ok)
            return false;
        t->steps++;
    }
    return true;
}

/* How many of the test set's rows the model gets right. */
static bool evaluate(struct train_state *t, const struct dataset *data,
                     double *accuracy)
{
    enum { TESTS = DIGITS_ROWS - DIGITS_TRAIN };
    int32_t guess[TESTS];
    ssq_tensor *best = NULL;
    if (!make(t, SSQ_I32, 1, TESTS, 0, &best))
        return false;
    bool ok =
        run_ok(t->kind->forward(&t->test, t->queue, false), "forward") &&
        run_ok(ssq_argmax(t->queue, SSQ_ARGMAX(.x = t->test.logits, .y = best)),
               "argmax") &&
        run_ok(ssq_tensor_read(t->queue, best, guess, sizeof(guess), SSQ_I32),
               "read") &&
        run_ok(ssq_queue_sync(t->queue), "sync");
    ssq_tensor_destroy(&best);
    int right = 0;
    for (int i = 0; i < TESTS; i++)
        right += guess[i] == data->label[DIGITS_TRAIN + i];
    *accuracy = (double)right / TESTS;
    return ok;
}

/* Wait for the epoch, and show it: the only time that the host reads. */
static bool show_epoch(struct train_state *t, const struct dataset *data,
                       unsigned epoch, FILE *log, struct train_result *r)
{
    float sum = 0.0f;
    struct run_epoch e = {.epoch = epoch + 1,
                          .epochs = t->o->epochs,
                          .steps = t->steps,
                          .scale = SSQ_SCALER_STATE_INIT};
    if (!run_ok(
            ssq_tensor_read(t->queue, t->loss_sum, &sum, sizeof(sum), SSQ_F32),
            "loss") ||
        !evaluate(t, data, &e.accuracy))
        return false;
    e.loss = sum / (double)(DIGITS_TRAIN / t->o->batch) / t->member->size;
    if (!group_sum(t->member, &e.loss, 1))
        return false;
    e.train_loss = e.loss;
    e.scale.scale = 1.0;
    if (t->scaler != NULL) {
        /* the floor is worth a word, and no reason to stop here */
        ssq_status st = ssq_scaler_state_get(t->queue, t->scaler, &e.scale);
        if (st != SSQ_ERR_SCALE && !run_ok(st, "scaler"))
            return false;
    }
    run_progress(t->o, &e, log);
    const double at = (double)t->steps;
    if (!curve_add(&t->seen->loss, at, e.loss) ||
        !curve_add(&t->seen->accuracy, at, e.accuracy) ||
        (t->scaler != NULL && !curve_add(&t->seen->scale, at, e.scale.scale)))
        return false;
    r->accuracy = e.accuracy;
    r->scale = e.scale;
    r->steps = t->steps;
    return true;
}

/* The parameters of an optimizer, by the names of its first moments. */
struct parameters {
    char name[64][64];
    int n;
};

/* Called for each tensor of the state: of AdamW every parameter has one whose
 * name is its own and ".exp_avg". */
static ssq_status note_parameter(void *user, const char *name,
                                 const ssq_tensor *state)
{
    struct parameters *p = user;
    const char *end = strstr(name, ".exp_avg");
    (void)state;
    if (end != NULL && strcmp(end, ".exp_avg") == 0 && p->n < 64)
        snprintf(p->name[p->n++], sizeof(p->name[0]), "%.*s", (int)(end - name),
                 name);
    return SSQ_OK;
}

/* What the last step's gradients were, as they came out of backward. */
static bool show_statistics(struct train_state *t)
{
    struct parameters p = {.n = 0};
    if (!run_ok(ssq_optimizer_visit(t->queue, t->adamw, note_parameter, &p),
                "parameters"))
        return false;
    for (int i = 0; i < p.n; i++) {
        ssq_statistics s = SSQ_STATISTICS_INIT;
        if (!run_ok(ssq_optimizer_statistics(t->queue, t->adamw, p.name[i], &s),
                    p.name[i]))
            return false;
        double percent = 100.0 / (double)s.elements;
        printf("gradients of %-12s %5.1f%% zero, %5.1f%% subnormal, ",
               p.name[i], percent * (double)s.zeros,
               percent * (double)s.subnormals);
        if (s.zeros == s.elements)
            printf("nothing is left\n");
        else
            printf("the largest from 2^%d\n", (int)s.max_exponent);
    }
    return true;
}

/* What ranks have in common. */
struct train_job {
    const struct model_kind *kind;
    const struct dataset *data;
};

/* A whole run under a policy; *r is what it came to, *seen its curves. */
static bool train(struct member *m, const struct run_options *o,
                  const struct train_job *job, const char *policy,
                  struct train_result *r, struct history *seen)
{
    struct train_state t = {.member = m,
                            .o = o,
                            .kind = job->kind,
                            .policy = SSQ_POLICY_INIT,
                            .device = m->device,
                            .seen = seen};
    const struct dataset *data = job->data;
    FILE *log = NULL;
    ssq_device_props props = SSQ_DEVICE_PROPS_INIT;
    uint64_t random = o->seed;
    bool ok = training_create(&t, policy, data) &&
              run_ok(ssq_device_props_get(t.device, &props), "device") &&
              run_log_open(o, &log);
    if (ok && !o->quiet)
        printf("%s on %s (%s)\n", policy, props.name, props.choice);
    for (unsigned i = 0; ok && i < o->epochs; i++)
        ok = train_epoch(&t, &random) && show_epoch(&t, data, i, log, r);
    if (ok && o->statistics && m->rank == 0)
        ok = show_statistics(&t);
    ok = ok && group_show(m, t.adamw);
    snprintf(r->device, sizeof(r->device), "%s", props.name);
    if (log != NULL && fclose(log) != 0) {
        perror(o->log);
        ok = false;
    }
    training_destroy(&t);
    return ok;
}

/* A run and, with --compare, one in float32. */
struct train_runs {
    struct train_result mixed, plain;
    struct history seen[2];
};

static bool run_both(struct member *m, const struct train_job *job,
                     struct train_runs *u)
{
    const struct run_options *o = m->o;
    struct run_options again = *o;
    bool draws = m->rank == 0 && o->plot != NULL;
    again.log = NULL; /* it belongs to the run that was asked for */
    u->seen[0].label = o->policy;
    u->seen[1].label = "float32";
    return (!draws || plot_begin(o->plot)) &&
           train(m, o, job, o->policy, &u->mixed, &u->seen[0]) &&
           (!o->compare ||
            train(m, &again, job, "float32", &u->plain, &u->seen[1])) &&
           (!draws ||
            plot_write(o->plot, o->program, u->seen, o->compare ? 2 : 1));
}

static bool rank_main(struct member *m, const void *of_all)
{
    const struct run_options *o = m->o;
    struct train_runs u = {.mixed = {.scale = SSQ_SCALER_STATE_INIT},
                           .plain = {.scale = SSQ_SCALER_STATE_INIT}};
    char compared[32] = "";
    bool good = run_both(m, of_all, &u);
    history_free(&u.seen[0]);
    history_free(&u.seen[1]);
    if (!good)
        return false;
    if (o->compare)
        snprintf(compared, sizeof(compared), " (float32 %.2f%%)",
                 100.0 * u.plain.accuracy);
    if (m->rank == 0)
        printf("%s %s on %s: test accuracy %.2f%%%s, %lu steps, %u skipped, "
               "loss scale %g\n",
               o->program, o->policy, u.mixed.device, 100.0 * u.mixed.accuracy,
               compared, u.mixed.steps, u.mixed.scale.skipped,
               u.mixed.scale.scale);
    return true;
}

int train_main(int argc, char **argv, const struct model_kind *kind,
               struct run_options o)
{
    static struct dataset data;
    const struct train_job job = {.kind = kind, .data = &data};
    o.loss_weight = 1.0;
    int stop = run_options_parse(argc, argv, &o);
    if (stop != 0)
        return stop == 1 ? 0 : stop;
    if (o.batch == 0 || o.batch > DIGITS_TRAIN || o.epochs == 0) {
        fprintf(stderr, "%s: %u rows a batch, %u epochs\n", o.program, o.batch,
                o.epochs);
        return 2;
    }
    return dataset_load(o.data, &data) ? group_run(&o, rank_main, &job) : 1;
}
