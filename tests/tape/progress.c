/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - what a loop shows of a training: losses and accuracies without a
 * wait, and the number of steps. */
#include "tests/tape/harness.h"

#include <sesqui/checkpoint.h>

#include <math.h>

#define IN     4
#define OUT    3
#define ROWS   6
#define PASSES 23

static const int32_t labels[ROWS] = {0, 2, 1, -100, 1, 2};
static const int32_t wrong[ROWS] = {0, 2, 1, -100, 3, 2};

/* The expected state of a pass. */
struct pass {
    float loss, accuracy;
};

static ssq_trainer *trainer_of(const struct tape_harness *b, const char *policy,
                               uint32_t accumulate, bool accuracy)
{
    ssq_trainer *t = NULL;
    NEED(ssq_trainer_create(b->queue,
                            SSQ_TRAINER(.policy = policy, .options.lr = 0.05,
                                        .accumulate = accumulate,
                                        .accuracy = accuracy),
                            &t));
    return t;
}

static ssq_tensor *labels_of(const struct tape_harness *b, const int32_t *v)
{
    ssq_tensor *t = core_vector(b->device, SSQ_I32, ROWS);
    NEED(ssq_tensor_write(b->queue, t, v, ROWS * sizeof(*v), SSQ_I32));
    NEED(ssq_queue_sync(b->queue));
    return t;
}

/* Hits among the rows that are not ignored, as float32. */
static float accuracy_of(const float *logits)
{
    float hits = 0, rows = 0;
    for (int r = 0; r < ROWS; r++) {
        const float *x = logits + (ptrdiff_t)r * OUT;
        int best = 0;
        if (labels[r] < 0)
            continue;
        for (int k = 1; k < OUT; k++)
            best = x[k] > x[best] ? k : best;
        hits += (float)(best == labels[r]);
        rows += 1;
    }
    return hits / rows;
}

/* *is: the expected state of the pass; NULL: nothing is read, and nothing
 * waits. */
static ssq_status pass(const struct tape_harness *b, ssq_trainer *t, int i,
                       const ssq_tensor *target, struct pass *is)
{
    float logits[ROWS * OUT];
    NEED(ssq_random_uniform(
        b->queue, SSQ_RANDOM_UNIFORM(.x = b->x, .seed = 7, .id = (uint32_t)i)));
    ssq_tape *tape = ssq_trainer_begin(t);
    ssq_var y = ssq_nn_linear(tape, "fc", ssq_var_input(tape, b->x), OUT, NULL);
    ssq_var loss =
        ssq_cross_entropy_var(y, SSQ_CROSS_ENTROPY(.target = target));
    if (is != NULL) {
        NEED(ssq_tensor_read(b->queue, ssq_var_tensor(y), logits,
                             sizeof(logits), SSQ_F32));
        NEED(ssq_tensor_read(b->queue, ssq_var_tensor(loss), &is->loss,
                             sizeof(is->loss), SSQ_F32));
        NEED(ssq_queue_sync(b->queue));
        is->accuracy = accuracy_of(logits);
    }
    return ssq_trainer_step(t, loss);
}

/* A report against the passes from *at on. */
static bool matches(const ssq_trainer_progress *p, const struct pass *pass,
                    int *at)
{
    float loss = 0, accuracy = 0;
    if (p->passes == 0)
        return isnan(p->loss) && isnan(p->accuracy);
    for (uint64_t i = 0; i < p->passes; i++) {
        loss = i == 0 ? pass[*at].loss : loss + pass[*at].loss;
        accuracy = i == 0 ? pass[*at].accuracy : accuracy + pass[*at].accuracy;
        ++*at;
    }
    double n = (double)p->passes;
    return p->loss == (double)loss / n && p->accuracy == (double)accuracy / n &&
           p->steps >= (uint64_t)*at;
}

/* A poll after every third pass, and two after a sync. */
static void polled(const struct tape_harness *b, const char *policy)
{
    ssq_trainer *t = trainer_of(b, policy, 1, true);
    ssq_trainer *twin = trainer_of(b, policy, 1, false);
    ssq_tensor *target = labels_of(b, labels);
    ssq_trainer_progress p = SSQ_TRAINER_PROGRESS_INIT;
    struct pass seen[PASSES];
    bool good = true;
    int at = 0, reports = 0;
    double mean = 0;
    for (int i = 0; i < PASSES; i++)
        NEED(pass(b, twin, i, target, &seen[i]));
    NEED(ssq_trainer_poll(t, &p));
    good = p.passes == 0 && isnan(p.loss);
    for (int i = 0; i < PASSES - 1; i++) {
        NEED(pass(b, t, i, target, NULL));
        if (i % 3 != 2)
            continue;
        NEED(ssq_trainer_poll(t, &p));
        good = matches(&p, seen, &at) && good;
        reports += p.passes > 0;
    }
    for (int i = 0; i < 2; i++) {
        NEED(ssq_queue_sync(b->queue));
        NEED(ssq_trainer_poll(t, &p));
        good = matches(&p, seen, &at) && good;
    }
    NEED(ssq_queue_sync(b->queue));
    NEED(ssq_trainer_poll(t, &p));
    good = matches(&p, seen, &at) && good;
    tap_ok(good && at == PASSES - 1,
           "%s, %s: each pass is in one report: %d of %d, %d on the way",
           b->name, policy, at, PASSES - 1, reports);
    NEED(pass(b, t, PASSES - 1, target, NULL));
    NEED(ssq_trainer_loss(t, &mean));
    tap_ok(mean == (double)seen[PASSES - 1].loss,
           "%s, %s: ssq_trainer_loss has the rest: %g", b->name, policy, mean);
    NEED(pass(b, twin, PASSES, target, NULL));
    NEED(ssq_trainer_poll(twin, &p));
    NEED(ssq_queue_sync(b->queue));
    if (p.passes == 0)
        NEED(ssq_trainer_poll(twin, &p));
    tap_ok(p.passes == PASSES + 1 && isfinite(p.loss) && isnan(p.accuracy),
           "%s, %s: without .accuracy it is NaN", b->name, policy);
    ssq_trainer_destroy(&t);
    ssq_trainer_destroy(&twin);
    ssq_tensor_destroy(&target);
}

/* Labels out of range are told of, and spoil no report. */
static void spoilt(const struct tape_harness *b)
{
    ssq_trainer *t = trainer_of(b, "float32", 1, true);
    ssq_tensor *target = labels_of(b, labels), *bad = labels_of(b, wrong);
    ssq_trainer_progress p = SSQ_TRAINER_PROGRESS_INIT;
    bool finite = true;
    NEED(pass(b, t, 0, target, NULL));
    ssq_status st = pass(b, t, 1, bad, NULL);
    p.passes = 77;
    for (int i = 0; i < 2 && st == SSQ_OK; i++) {
        st = ssq_trainer_poll(t, &p);
        if (st == SSQ_OK)
            st = ssq_queue_sync(b->queue);
    }
    core_status(st, SSQ_ERR_INVALID, "row 4 of a loss has the label 3",
                "%s: a poll of labels out of range", b->name);
    for (int i = 0; i < 3; i++) {
        NEED(pass(b, t, i + 2, target, NULL));
        NEED(ssq_queue_sync(b->queue));
        NEED(ssq_trainer_poll(t, &p));
        finite = finite && (p.passes == 0 || isfinite(p.loss));
    }
    tap_ok(finite && p.passes > 0 && ssq_trainer_steps(t) == 5,
           "%s: reports behind them are finite: %g", b->name, p.loss);
    ssq_trainer_destroy(&t);
    ssq_tensor_destroy(&target);
    ssq_tensor_destroy(&bad);
}

static void misuse(const struct tape_harness *b)
{
    ssq_trainer *t = trainer_of(b, "float32", 1, false);
    ssq_trainer_progress p = SSQ_TRAINER_PROGRESS_INIT;
    ssq_graph *g = NULL;
    core_status(ssq_trainer_poll(NULL, &p), SSQ_ERR_INVALID,
                "trainer_poll: trainer is NULL", "%s: a poll of NULL", b->name);
    core_status(ssq_trainer_poll(t, NULL), SSQ_ERR_INVALID, "progress is NULL",
                "%s: a poll into NULL", b->name);
    p.struct_size = 8;
    core_status(ssq_trainer_poll(t, &p), SSQ_ERR_INVALID, "struct_size is 8",
                "%s: a poll of another struct", b->name);
    p.struct_size = sizeof(p);
    NEED(ssq_graph_begin(b->queue));
    core_status(ssq_trainer_poll(t, &p), SSQ_ERR_INVALID, "being captured",
                "%s: a poll in a capture", b->name);
    NEED(ssq_graph_end(b->queue, &g));
    ssq_graph_destroy(&g);
    tap_ok(ssq_trainer_steps(NULL) == 0 && ssq_trainer_steps(t) == 0,
           "%s: no steps", b->name);
    ssq_trainer_destroy(&t);
}

/* Steps, not passes; through a file; flushed ones too. */
static void steps(const struct tape_harness *b)
{
    char path[64];
    snprintf(path, sizeof(path), "progress-%ld", (long)getpid());
    ssq_trainer *t = trainer_of(b, "mixed_float16", 2, false);
    ssq_trainer *u = trainer_of(b, "mixed_float16", 2, false);
    ssq_tensor *target = labels_of(b, labels);
    double x = 0, y = 0;
    for (int i = 0; i < 6; i++)
        NEED(pass(b, t, i, target, NULL));
    bool three = ssq_trainer_steps(t) == 3;
    NEED(pass(b, t, 6, target, NULL));
    three = three && ssq_trainer_steps(t) == 3;
    NEED(ssq_trainer_flush(t));
    tap_ok(three && ssq_trainer_steps(t) == 4, "%s: %llu steps of 7 passes",
           b->name, (unsigned long long)ssq_trainer_steps(t));
    NEED(ssq_trainer_save(t, path));
    NEED(pass(b, u, 0, target, NULL));
    NEED(pass(b, u, 1, target, NULL));
    NEED(ssq_trainer_load(u, path));
    bool loaded = ssq_trainer_steps(u) == 4;
    for (int i = 7; i < 9; i++) {
        NEED(pass(b, t, i, target, NULL));
        NEED(pass(b, u, i, target, NULL));
    }
    NEED(ssq_trainer_loss(t, &x));
    NEED(ssq_trainer_loss(u, &y));
    tap_ok(loaded && ssq_trainer_steps(u) == 5 && x == y,
           "%s: a load goes on at the step of the file", b->name);
    unlink(path);
    ssq_trainer_destroy(&t);
    ssq_trainer_destroy(&u);
    ssq_tensor_destroy(&target);
}

/* A load that is refused in a capture leaves nothing in the graph, and the sums
 * as they were. */
static void captured(const struct tape_harness *b)
{
    ssq_trainer *t = trainer_of(b, "float32", 1, false);
    ssq_tensor *target = labels_of(b, labels);
    ssq_trainer_progress p = SSQ_TRAINER_PROGRESS_INIT;
    struct pass first;
    ssq_graph *g = NULL;
    NEED(ssq_graph_begin(b->queue));
    core_status(ssq_trainer_load(t, "progress-none"), SSQ_ERR_INVALID,
                "trainer_load: a graph is being captured",
                "%s: a load in a capture", b->name);
    NEED(ssq_graph_end(b->queue, &g));
    size_t ops = ssq_graph_ops(g);
    ssq_graph_destroy(&g);
    NEED(pass(b, t, 0, target, &first));
    NEED(ssq_trainer_poll(t, &p));
    NEED(ssq_queue_sync(b->queue));
    if (p.passes == 0)
        NEED(ssq_trainer_poll(t, &p));
    tap_ok(ops == 0 && p.passes == 1 && p.loss == (double)first.loss,
           "%s: it records %zu ops, and a loss of %g arrives as %g", b->name,
           ops, (double)first.loss, p.loss);
    ssq_trainer_destroy(&t);
    ssq_tensor_destroy(&target);
}

int main(void)
{
    for (size_t i = 0; core_device(i) != NULL; i++) {
        struct tape_harness b = harness_open(core_device(i), ROWS, IN, OUT);
        polled(&b, "float32");
        polled(&b, "mixed_float16");
        spoilt(&b);
        steps(&b);
        misuse(&b);
        captured(&b);
        harness_close(&b);
    }
    return tap_done(44);
}
