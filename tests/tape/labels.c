/* SPDX-License-Identifier: Apache-2.0 */
/* labels.c - class labels out of range: the step is skipped, the error names
 * them, and training continues as if the batch had not been. */
#include "tests/tape/harness.h"

#include <math.h>

#define IN   4
#define OUT  3
#define ROWS 6
#define MOST 64 /* elements of all parameters */

struct labels_setup {
    const char *policy, *optimizer;
    bool replay, nll;
};

static const int32_t good[ROWS] = {0, 2, 1, -100, 1, 2};
/* row 1 is EMNIST's last letter, row 4 is below all classes */
static const int32_t wrong[ROWS] = {0, 26, 1, -100, -7, 2};
#define WRONG "row 1 of a loss has the label 26, expected 0 to 2, of 3 classes"

static ssq_trainer *trainer_of(const struct tape_harness *b,
                               const struct labels_setup *s,
                               uint32_t accumulate)
{
    ssq_trainer *t = NULL;
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    o.lr = 0.05;
    NEED(ssq_trainer_create(b->queue,
                            SSQ_TRAINER(.policy = s->policy,
                                        .optimizer = s->optimizer, .options = o,
                                        .replay = s->replay,
                                        .accumulate = accumulate),
                            &t));
    return t;
}

static ssq_var loss_of(const struct tape_harness *b,
                       const struct labels_setup *s, ssq_tape *t,
                       const ssq_tensor *labels)
{
    ssq_var y = ssq_nn_linear(t, "fc", ssq_var_input(t, b->x), OUT, NULL);
    if (!s->nll)
        return ssq_cross_entropy_var(y, SSQ_CROSS_ENTROPY(.target = labels));
    y = ssq_log_softmax_var(y, NULL);
    return ssq_nll_loss_var(y, SSQ_NLL_LOSS(.target = labels));
}

static ssq_status pass(const struct tape_harness *b,
                       const struct labels_setup *s, ssq_trainer *t, int batch,
                       const ssq_tensor *labels)
{
    NEED(ssq_random_uniform(
        b->queue,
        SSQ_RANDOM_UNIFORM(.x = b->x, .seed = 7, .id = (uint32_t)batch)));
    return ssq_trainer_step(t, loss_of(b, s, ssq_trainer_begin(t), labels));
}

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

/* The same parameters, all finite, and the same scale. */
static bool alike(const struct tape_harness *b, ssq_trainer *x, ssq_trainer *y)
{
    float p[MOST], q[MOST];
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT, r = SSQ_SCALER_STATE_INIT;
    size_t n = values(b, x, p);
    bool same = n > 0 && values(b, y, q) == n;
    same = same && memcmp(p, q, n * sizeof(*p)) == 0;
    for (size_t i = 0; i < n; i++)
        same = same && isfinite(p[i]);
    if (ssq_trainer_scaler(x) == NULL)
        return same;
    NEED(ssq_scaler_state_get(b->queue, ssq_trainer_scaler(x), &s));
    NEED(ssq_scaler_state_get(b->queue, ssq_trainer_scaler(y), &r));
    return same && s.scale == r.scale && r.good == s.good;
}

static ssq_tensor *labels_of(const struct tape_harness *b, const int32_t *v)
{
    ssq_tensor *t = core_vector(b->device, SSQ_I32, ROWS);
    NEED(ssq_tensor_write(b->queue, t, v, ROWS * sizeof(*v), SSQ_I32));
    NEED(ssq_queue_sync(b->queue));
    return t;
}

/* The step's, if it has arrived, or of the sync after it. */
static void told(const struct tape_harness *b, const struct labels_setup *s,
                 ssq_status st, const char *words, const char *what)
{
    char text[64];
    snprintf(text, sizeof(text), "%s, %s: %s", b->name, s->policy, what);
    if (st == SSQ_OK)
        st = ssq_queue_sync(b->queue);
    core_status(st, SSQ_ERR_INVALID, words, "%s", text);
    tap_ok(ssq_queue_sync(b->queue) == SSQ_OK, "%s: told once", text);
}

/* Batch 2 has wrong labels; y never sees it. */
static void skipped(const struct tape_harness *b, const struct labels_setup *s)
{
    ssq_trainer *x = trainer_of(b, s, 1), *y = trainer_of(b, s, 1);
    ssq_tensor *right = labels_of(b, good), *bad = labels_of(b, wrong);
    double loss[2] = {0, 0};
    for (int i = 0; i < 5; i++) {
        NEED(pass(b, s, y, i, right));
        if (i == 2)
            told(b, s, pass(b, s, x, 90, bad), WRONG "|skipped",
                 "labels out of range");
        NEED(pass(b, s, x, i, right));
    }
    tap_ok(alike(b, x, y),
           "%s, %s, %s%s: parameters and scale are those without the batch",
           b->name, s->policy, s->optimizer, s->replay ? ", replayed" : "");
    tap_ok(ssq_trainer_loss(x, &loss[0]) == SSQ_OK && isfinite(loss[0]),
           "%s, %s: the mean since the report is %g", b->name, s->policy,
           loss[0]);
    /* the wait of ssq_trainer_loss reports as well */
    NEED(pass(b, s, x, 5, right));
    NEED(pass(b, s, y, 5, right));
    NEED(ssq_trainer_loss(y, &loss[1]));
    ssq_status st = pass(b, s, x, 91, bad);
    loss[0] = -1.0;
    core_status(st == SSQ_OK ? ssq_trainer_loss(x, &loss[0]) : st,
                SSQ_ERR_INVALID, WRONG, "%s, %s: ssq_trainer_loss", b->name,
                s->policy);
    tap_ok(loss[0] == -1.0, "%s, %s: it writes no mean", b->name, s->policy);
    NEED(pass(b, s, x, 6, right));
    NEED(pass(b, s, y, 6, right));
    NEED(ssq_trainer_loss(x, &loss[0]));
    NEED(ssq_trainer_loss(y, &loss[1]));
    tap_ok(loss[0] == loss[1] && alike(b, x, y),
           "%s, %s: the next mean, %g, is that of the good passes", b->name,
           s->policy, loss[0]);
    ssq_trainer_destroy(&x);
    ssq_trainer_destroy(&y);
    tap_ok(ssq_queue_sync(b->queue) == SSQ_OK,
           "%s, %s: a queue outlives its trainers", b->name, s->policy);
    ssq_tensor_destroy(&right);
    ssq_tensor_destroy(&bad);
}

/* One pass of three: the step has all of them, and is skipped. */
static void accumulated(const struct tape_harness *b,
                        const struct labels_setup *s)
{
    ssq_trainer *x = trainer_of(b, s, 3), *y = trainer_of(b, s, 3);
    ssq_tensor *right = labels_of(b, good), *bad = labels_of(b, wrong);
    for (int i = 0; i < 3; i++) {
        NEED(pass(b, s, x, i, right));
        NEED(pass(b, s, y, i, right));
    }
    ssq_status st = pass(b, s, x, 90, bad);
    told(b, s, st, WRONG, "a pass of three");
    NEED(pass(b, s, x, 91, right));
    NEED(pass(b, s, x, 92, right));
    bool skip = alike(b, x, y);
    /* a dropped pass has no effect on the next step */
    st = pass(b, s, x, 93, bad);
    NEED(ssq_trainer_zero_grad(x));
    told(b, s, st, WRONG, "a pass that is dropped");
    for (int i = 3; i < 6; i++) {
        NEED(pass(b, s, x, i, right));
        NEED(pass(b, s, y, i, right));
    }
    tap_ok(skip && alike(b, x, y),
           "%s, %s: a step with it is skipped, the next ones are not", b->name,
           s->policy);
    ssq_trainer_destroy(&x);
    ssq_trainer_destroy(&y);
    ssq_tensor_destroy(&right);
    ssq_tensor_destroy(&bad);
}

/* Labels of an evaluation are reported and skip no step; a graph's are, at each
 * launch. */
static void evaluated(const struct tape_harness *b,
                      const struct labels_setup *s)
{
    ssq_trainer *x = trainer_of(b, s, 1), *y = trainer_of(b, s, 1);
    ssq_tensor *right = labels_of(b, good), *bad = labels_of(b, wrong);
    ssq_graph *g = NULL;
    for (int i = 0; i < 3; i++) {
        NEED(pass(b, s, y, i, right));
        NEED(pass(b, s, x, i, right));
        ssq_tape *t = ssq_trainer_evaluate(x);
        (void)loss_of(b, s, t, i == 1 ? bad : right);
        NEED(ssq_tape_status(t));
        if (i == 1)
            told(b, s, SSQ_OK, WRONG "|evaluation", "an evaluation");
    }
    tap_ok(alike(b, x, y), "%s, %s: an evaluation skips no step", b->name,
           s->policy);
    ssq_tape *t = ssq_trainer_evaluate(x);
    NEED(ssq_graph_begin(b->queue));
    (void)loss_of(b, s, t, bad);
    NEED(ssq_graph_end(b->queue, &g));
    tap_ok(ssq_queue_sync(b->queue) == SSQ_OK, "%s, %s: a capture runs nothing",
           b->name, s->policy);
    for (int i = 0; i < 2; i++) {
        NEED(ssq_graph_launch(b->queue, g));
        told(b, s, SSQ_OK, WRONG, "a launch of a graph");
    }
    ssq_graph_destroy(&g);
    ssq_trainer_destroy(&x);
    ssq_trainer_destroy(&y);
    ssq_tensor_destroy(&right);
    ssq_tensor_destroy(&bad);
}

/* Two trainers of a queue: each reports its own. */
static void shared(const struct tape_harness *b, const struct labels_setup *s)
{
    ssq_trainer *x = trainer_of(b, s, 1), *y = trainer_of(b, s, 1);
    ssq_tensor *bad = labels_of(b, wrong);
    int reports = 0;
    reports += pass(b, s, x, 0, bad) == SSQ_ERR_INVALID;
    reports += pass(b, s, y, 0, bad) == SSQ_ERR_INVALID;
    for (int i = 0; i < 3; i++)
        reports += ssq_queue_sync(b->queue) == SSQ_ERR_INVALID;
    tap_ok(reports == 2, "%s, %s: two trainers of a queue, %d reports", b->name,
           s->policy, reports);
    ssq_trainer_destroy(&x);
    ssq_trainer_destroy(&y);
    ssq_tensor_destroy(&bad);
}

/* A file that was saved right after such a step can be loaded. */
static void saved(const struct tape_harness *b, const struct labels_setup *s)
{
    static char path[64];
    ssq_trainer *x = trainer_of(b, s, 1), *y = trainer_of(b, s, 1);
    ssq_tensor *right = labels_of(b, good), *bad = labels_of(b, wrong);
    snprintf(path, sizeof(path), "labels-%ld", (long)getpid());
    NEED(pass(b, s, x, 0, right));
    told(b, s, pass(b, s, x, 90, bad), WRONG "|skipped", "before a save");
    NEED(ssq_trainer_save(x, path));
    core_status(ssq_trainer_load(y, path), SSQ_OK, "",
                "%s, %s: a load of a state after a skip for labels", b->name,
                s->policy);
    NEED(pass(b, s, x, 1, right));
    NEED(pass(b, s, y, 1, right));
    tap_ok(alike(b, x, y), "%s, %s: and it goes on alike", b->name, s->policy);
    if (ssq_trainer_scaler(x) != NULL) {
        ssq_scaler_state state = SSQ_SCALER_STATE_INIT;
        told(b, s, pass(b, s, x, 91, bad), WRONG, "before a state");
        NEED(ssq_scaler_state_get(b->queue, ssq_trainer_scaler(x), &state));
        core_status(
            ssq_scaler_state_set(b->queue, ssq_trainer_scaler(y), &state),
            SSQ_OK, "", "%s: its state may be set", b->name);
    }
    unlink(path);
    ssq_trainer_destroy(&x);
    ssq_trainer_destroy(&y);
    ssq_tensor_destroy(&right);
    ssq_tensor_destroy(&bad);
}

/* A label error that was told belongs to the losses of its training: a load
 * replaces both. One that was not told is told by a save, once. */
static void loaded(const struct tape_harness *b, const struct labels_setup *s)
{
    static char path[64];
    double want = 0, got = 0;
    ssq_trainer *x = trainer_of(b, s, 1), *y = trainer_of(b, s, 1);
    ssq_tensor *right = labels_of(b, good), *bad = labels_of(b, wrong);
    snprintf(path, sizeof(path), "labels-%ld", (long)getpid());
    for (int i = 0; i < 2; i++)
        NEED(pass(b, s, x, i, right));
    NEED(ssq_trainer_save(x, path));
    told(b, s, pass(b, s, x, 90, bad), WRONG "|skipped", "before a load");
    NEED(ssq_trainer_load(x, path));
    NEED(ssq_trainer_load(y, path));
    NEED(ssq_trainer_loss(x, &got));
    NEED(ssq_trainer_loss(y, &want));
    tap_ok(got == want && isfinite(got),
           "%s, %s: the mean of the losses that were loaded: %g, %g", b->name,
           s->policy, got, want);
    ssq_status st = pass(b, s, x, 91, bad);
    if (st == SSQ_OK)
        st = ssq_trainer_save(x, path);
    core_status(st, SSQ_ERR_INVALID, WRONG, "%s, %s: a save tells of a label",
                b->name, s->policy);
    NEED(ssq_trainer_save(x, path));
    NEED(ssq_trainer_load(y, path));
    NEED(pass(b, s, y, 2, right));
    tap_ok(ssq_trainer_loss(y, &got) == SSQ_OK && isfinite(got),
           "%s, %s: and the next one keeps no loss of it: %g", b->name,
           s->policy, got);
    unlink(path);
    ssq_trainer_destroy(&x);
    ssq_trainer_destroy(&y);
    ssq_tensor_destroy(&right);
    ssq_tensor_destroy(&bad);
}

int main(void)
{
    static const struct labels_setup list[] = {
        {"float32", "adamw", false, false},
        {"mixed_float16", "sgd", false, false},
        {"mixed_bfloat16", "lamb", false, true},
        {"float32", "sgd", true, true},
        {"mixed_float16", "adamw", true, false},
    };
    const size_t n = sizeof(list) / sizeof(list[0]);
    for (size_t i = 0; core_device(i) != NULL; i++) {
        struct tape_harness b = harness_open(core_device(i), ROWS, IN, OUT);
        for (size_t k = 0; k < n; k++) {
            skipped(&b, &list[k]);
            accumulated(&b, &list[k]);
            evaluated(&b, &list[k]);
            shared(&b, &list[k]);
            saved(&b, &list[k]);
            loaded(&b, &list[k]);
        }
        harness_close(&b);
    }
    return tap_done(200);
}
