/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c - float32 values come into parameters of 16 bits and out of them
 * without losing a bit: a trainer that begins with a float32 set, values that
 * the host writes and reads, masters of every kind, the end of a training. */
#include "tests/tape/harness.h"

#include <math.h>

#define IN   6
#define OUT  5
#define ROWS 4
#define MOST 256 /* elements of the set */

/* Matrices, both norms, a state, a parameter without elements. */
static ssq_var net(const struct tape_harness *b, ssq_tape *t)
{
    ssq_var y = ssq_nn_linear(t, "fc1", ssq_var_input(t, b->x), 7, NULL);
    y = ssq_nn_batch_norm(t, "bn", y, NULL);
    y = ssq_nn_layer_norm(t, "ln", ssq_tanh_var(y), NULL);
    y = ssq_nn_linear(t, "fc2", y, OUT, NULL);
    (void)ssq_var_param(t, "empty", SSQ_PARAM(.rank = 2, .shape = {3, 0}));
    return ssq_mse_var(y, SSQ_MSE(.target = b->target));
}

static ssq_status step(const struct tape_harness *b, ssq_trainer *t)
{
    return ssq_trainer_step(t, net(b, ssq_trainer_begin(t)));
}

struct weights_setup {
    const char *policy;
    ssq_dtype dtype;
    ssq_master_kind master;
    bool flat;
};

static ssq_trainer *trainer_of(const struct tape_harness *b,
                               const struct weights_setup *s,
                               const ssq_params *from)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_trainer *t = NULL;
    o.lr = 0.01;
    o.master = s->master;
    o.flat_master = s->flat;
    NEED(ssq_trainer_create(b->queue,
                            SSQ_TRAINER(.policy = s->policy, .options = o,
                                        .scaler = "pytorch", .from = from),
                            &t));
    return t;
}

/* A float32 set with all that is hard to round: ties to and from even, values
 * below and above what float16 has, subnormals, -0. */
static ssq_trainer *source(const struct tape_harness *b, float *values,
                           size_t *n)
{
    static const float hard[] = {
        0x1.008p0f, 0x1.018p0f, 0x1.002p0f,   0x1.006p0f, 70000.0f,
        65519.0f,   -0.0f,      0x1.234p-24f, 0x1p-140f,  0x1.fffffep9f};
    const struct weights_setup s = {"float32", SSQ_F32, SSQ_MASTER_F32, false};
    ssq_trainer *t = trainer_of(b, &s, NULL);
    ssq_params_stats all = SSQ_PARAMS_STATS_INIT;
    ssq_params *p = ssq_trainer_params(t);
    NEED(ssq_params_allow(p, "*"));
    ssq_tape *tape = ssq_trainer_evaluate(t);
    (void)net(b, tape);
    NEED(ssq_tape_status(tape));
    NEED(ssq_params_allow(p, NULL));
    NEED(ssq_params_stats_get(p, &all));
    *n = (size_t)all.elements;
    NEED(ssq_params_read(p, b->queue, NULL, NULL, values, *n));
    for (size_t i = 0; i < sizeof(hard) / sizeof(hard[0]); i++)
        values[3 * i] = hard[i];
    NEED(ssq_params_write(p, b->queue, NULL, NULL, values, *n));
    return t;
}

/* Bits of a parameter, as it is. */
static void words(const struct tape_harness *b, const ssq_tensor *t,
                  uint16_t *to)
{
    const size_t n = (size_t)ssq_tensor_elements(t);
    NEED(ssq_tensor_read(b->queue, t, to, 2 * n, ssq_tensor_dtype(t)));
    NEED(ssq_queue_sync(b->queue));
}

/* How many parameters of a set are not values, rounded to nearest even where
 * they are not full; bf16 under split masters half away from zero. */
static int misfits(const struct tape_harness *b, const ssq_params *p,
                   const struct weights_setup *s, bool away,
                   const float *values)
{
    int bad = 0;
    for (size_t i = 0; i < ssq_params_count(p); i++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        uint16_t got[MOST], want[MOST];
        float wide[MOST];
        NEED(ssq_params_get(p, i, &info));
        const size_t n = (size_t)ssq_tensor_elements(info.tensor);
        const bool full = strncmp(info.name, "bn.", 3) == 0 ||
                          strncmp(info.name, "ln.", 3) == 0;
        const ssq_dtype dtype = full ? SSQ_F32 : s->dtype;
        bad += ssq_tensor_dtype(info.tensor) != dtype;
        if (dtype == SSQ_F32) {
            NEED(ssq_tensor_read(b->queue, info.tensor, wide, n * 4, SSQ_F32));
            NEED(ssq_queue_sync(b->queue));
            bad += memcmp(wide, values, n * 4) != 0;
        } else if (n > 0) {
            words(b, info.tensor, got);
            NEED(ssq_convert(want, dtype, values, SSQ_F32, n, SSQ_ROUND_NEAREST,
                             0));
            for (size_t k = 0; k < n && away; k++) {
                uint32_t bits;
                memcpy(&bits, &values[k], 4);
                want[k] = (uint16_t)((bits + 0x8000u) >> 16);
            }
            bad += memcmp(got, want, 2 * n) != 0;
        }
        values += n;
    }
    return bad;
}

/* The values read equal the values written, to the last bit. */
static bool reads(const struct tape_harness *b, ssq_trainer *t,
                  const float *values, size_t n)
{
    float got[MOST];
    NEED(ssq_params_read(ssq_trainer_params(t), b->queue,
                         ssq_trainer_optimizer(t), NULL, got, n));
    return memcmp(got, values, n * sizeof(*got)) == 0;
}

/* Masters as the optimizer shows them: each equal to the values, bit by bit. */
static bool masters(const struct tape_harness *b, ssq_trainer *t,
                    const float *values)
{
    bool same = true;
    const ssq_params *p = ssq_trainer_params(t);
    for (size_t i = 0; i < ssq_params_count(p); i++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        const ssq_tensor *m = NULL;
        float got[MOST];
        NEED(ssq_params_get(p, i, &info));
        const size_t n = (size_t)ssq_tensor_elements(info.tensor);
        if (strstr(info.name, "running_") == NULL) {
            NEED(ssq_optimizer_master(ssq_trainer_optimizer(t), NULL, info.name,
                                      &m));
            NEED(ssq_tensor_read(b->queue, m, got, n * 4, SSQ_F32));
            NEED(ssq_queue_sync(b->queue));
            same = same && memcmp(got, values, n * 4) == 0;
        }
        values += n;
    }
    return same;
}

static const char *kind_of(const struct weights_setup *s)
{
    static const char *const kinds[] = {"float32 masters", "split masters",
                                        "no masters"};
    return s->flat ? "a flat master" : kinds[s->master];
}

/* ---- a trainer that begins with a float32 set ---- */

static void end_of(const struct tape_harness *b, ssq_trainer *t, float *got,
                   size_t n)
{
    NEED(ssq_trainer_end(t));
    NEED(ssq_params_read(ssq_trainer_params(t), b->queue, NULL, NULL, got, n));
}

/* A pass for training moves running statistics, even if the step is skipped.
 */
static bool same_but_states(const ssq_params *p, const float *x, const float *y)
{
    bool same = true;
    for (size_t i = 0; i < ssq_params_count(p); i++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(p, i, &info));
        const size_t n = (size_t)ssq_tensor_elements(info.tensor);
        if (strstr(info.name, "running_") == NULL)
            same = same && memcmp(x, y, n * sizeof(*x)) == 0;
        x += n;
        y += n;
    }
    return same;
}

static void begin_with(const struct tape_harness *b,
                       const struct weights_setup *s)
{
    float values[MOST], got[MOST], x[ROWS * IN];
    size_t n = 0;
    ssq_trainer *wide = source(b, values, &n);
    ssq_trainer *t = trainer_of(b, s, ssq_trainer_params(wide));
    const bool split = s->master == SSQ_MASTER_SPLIT;
    ssq_params *p = ssq_trainer_params(t);
    ssq_optimizer *o = ssq_trainer_optimizer(t);
    tap_ok(misfits(b, p, s, false, values) == 0 && reads(b, t, values, n),
           "%s: %s, %s: %zu values are rounded but those of norms", b->name,
           s->policy, kind_of(s), n);
    NEED(ssq_params_optimize(p, o, NULL, NULL));
    NEED(ssq_optimizer_model_to_master(b->queue, o));
    tap_ok((s->master != SSQ_MASTER_F32 || masters(b, t, values)) &&
               misfits(b, p, s, split, values) == 0,
           "%s: %s, %s: are those of before, not rounded ones", b->name,
           s->policy, kind_of(s));
    ssq_trainer_destroy(&t);

    t = trainer_of(b, s, ssq_trainer_params(wide));
    p = ssq_trainer_params(t);
    NEED(ssq_tensor_read(b->queue, b->x, x, sizeof(x), SSQ_F32));
    NEED(ssq_fill(b->queue, SSQ_FILL(.x = b->x, .value = INFINITY)));
    NEED(step(b, t));
    NEED(step(b, t));
    NEED(ssq_tensor_write(b->queue, b->x, x, sizeof(x), SSQ_F32));
    end_of(b, t, got, n);
    if (s->master == SSQ_MASTER_NONE)
        tap_ok(!same_but_states(p, values, got),
               "%s: %s: without masters low bits are gone", b->name, s->policy);
    else
        tap_ok(same_but_states(p, values, got),
               "%s: %s, %s: steps that are skipped, and at the end float32: "
               "all bits are there",
               b->name, s->policy, kind_of(s));
    ssq_trainer_destroy(&t);
    ssq_trainer_destroy(&wide);
}

/* A step that is skipped, a checkpoint that is refused, and a pass between: the
 * values wait. A value written to a parameter has priority. */
static void waiting(const struct tape_harness *b)
{
    const struct weights_setup s = {"mixed_bfloat16", SSQ_BF16, SSQ_MASTER_F32,
                                    false};
    float values[MOST];
    size_t n = 0;
    ssq_trainer *wide = source(b, values, &n);
    ssq_trainer *t = trainer_of(b, &s, ssq_trainer_params(wide));
    ssq_params *p = ssq_trainer_params(t);
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    NEED(ssq_trainer_save(wide, "weights-other"));
    (void)core_status(ssq_trainer_load(t, "weights-other"), SSQ_ERR_INVALID,
                      "policy", "%s: a file of another policy", b->name);
    remove("weights-other");
    (void)net(b, ssq_trainer_evaluate(t));
    tap_ok(reads(b, t, values, n), "%s: behind it all values are there",
           b->name);
    NEED(ssq_params_find(p, "fc2.bias", &info));
    NEED(ssq_fill(b->queue, SSQ_FILL(.x = info.tensor, .value = 0.3)));
    NEED(ssq_params_optimize(p, ssq_trainer_optimizer(t), NULL, NULL));
    NEED(ssq_optimizer_model_to_master(b->queue, ssq_trainer_optimizer(t)));
    float got[OUT], first[7 * IN];
    NEED(ssq_params_read(p, b->queue, ssq_trainer_optimizer(t), "fc2.bias", got,
                         OUT));
    NEED(ssq_params_read(p, b->queue, ssq_trainer_optimizer(t), "fc1.weight",
                         first, 7 * IN));
    tap_ok(got[0] == 0x1.34p-2f && memcmp(first, values, sizeof(first)) == 0,
           "%s: masters begin with what was written last: %g", b->name,
           (double)got[0]);
    ssq_trainer_destroy(&t);
    ssq_trainer_destroy(&wide);
}

/* The set of a file knows which parameters are full. */
static void by_file(const struct tape_harness *b)
{
    const struct weights_setup s = {"mixed_float16", SSQ_F16, SSQ_MASTER_F32,
                                    false};
    float values[MOST];
    size_t n = 0;
    ssq_trainer *wide = source(b, values, &n);
    ssq_params *p = NULL;
    NEED(ssq_params_create(b->device, "float32", NULL, &p));
    NEED(ssq_checkpoint_save(
        b->queue, "weights-file",
        SSQ_CHECKPOINT(.params = ssq_trainer_params(wide))));
    NEED(ssq_checkpoint_load(b->queue, "weights-file",
                             SSQ_CHECKPOINT(.params = p)));
    remove("weights-file");
    ssq_trainer *t = trainer_of(b, &s, p);
    tap_ok(misfits(b, ssq_trainer_params(t), &s, false, values) == 0 &&
               reads(b, t, values, n),
           "%s: a set out of a file begins a trainer as well", b->name);
    ssq_trainer_destroy(&t);
    ssq_params_destroy(&p);
    ssq_trainer_destroy(&wide);
}

/* Of the same policy and optimizer it is the same training. */
static void same_steps(const struct tape_harness *b)
{
    const struct weights_setup s = {"float32", SSQ_F32, SSQ_MASTER_F32, false};
    float values[MOST], x[MOST], y[MOST];
    size_t n = 0;
    ssq_trainer *t[2] = {source(b, values, &n)};
    ssq_trainer *first = trainer_of(b, &s, ssq_trainer_params(t[0]));
    t[1] = trainer_of(b, &s, ssq_trainer_params(first));
    for (int i = 0; i < 3; i++) {
        NEED(step(b, first));
        NEED(step(b, t[1]));
    }
    end_of(b, first, x, n);
    end_of(b, t[1], y, n);
    tap_ok(memcmp(x, y, n * sizeof(*x)) == 0 &&
               memcmp(x, values, n * sizeof(*x)) != 0,
           "%s: float32 of float32: three steps leave the same bits", b->name);
    ssq_trainer_destroy(&first);
    ssq_trainer_destroy(&t[0]);
    ssq_trainer_destroy(&t[1]);
}

/* ---- values of the host ---- */

/* All moments in one number. */
struct moments {
    ssq_queue *queue;
    uint64_t sum;
};

static ssq_status sum_moments(void *user, const char *name, const ssq_tensor *t)
{
    struct moments *m = user;
    uint32_t bits[MOST];
    const size_t n = (size_t)ssq_tensor_elements(t);
    if (!core_has(name, ".exp_avg"))
        return SSQ_OK;
    NEED(ssq_tensor_read(m->queue, t, bits, n * 4, SSQ_F32));
    NEED(ssq_queue_sync(m->queue));
    for (size_t i = 0; i < n; i++)
        m->sum = (m->sum ^ bits[i]) * 0x100000001b3u;
    return SSQ_OK;
}

static void write_all(const struct tape_harness *b,
                      const struct weights_setup *s)
{
    struct moments before = {b->queue, 1}, after = before;
    float values[MOST];
    size_t n = 0;
    const bool split = s->master == SSQ_MASTER_SPLIT;
    ssq_trainer *wide = source(b, values, &n);
    ssq_trainer *t = trainer_of(b, s, NULL);
    ssq_optimizer *o = ssq_trainer_optimizer(t);
    for (int i = 0; i < 2; i++)
        NEED(step(b, t));
    NEED(ssq_optimizer_visit(b->queue, o, sum_moments, &before));
    tap_ok(!reads(b, t, values, n), "%s: %s: values of its own", b->name,
           s->policy);
    NEED(ssq_params_write(ssq_trainer_params(t), b->queue, o, NULL, values, n));
    NEED(ssq_optimizer_visit(b->queue, o, sum_moments, &after));
    tap_ok((s->master == SSQ_MASTER_NONE || reads(b, t, values, n)) &&
               (s->master != SSQ_MASTER_F32 || masters(b, t, values)) &&
               misfits(b, ssq_trainer_params(t), s, split, values) == 0 &&
               before.sum == after.sum,
           "%s: %s, %s: written after steps: masters follow", b->name,
           s->policy, kind_of(s));
    /* one of them, by name */
    float bias[OUT] = {0x1.555556p-2f, -1, 2, -3, 4}, got[OUT];
    NEED(ssq_params_write(ssq_trainer_params(t), b->queue, o, "fc2.bias", bias,
                          OUT));
    NEED(ssq_params_read(ssq_trainer_params(t), b->queue, o, "fc2.bias", got,
                         OUT));
    tap_ok(s->master == SSQ_MASTER_NONE ? got[0] != bias[0] && got[4] == bias[4]
                                        : memcmp(got, bias, sizeof(got)) == 0,
           "%s: %s, %s: one by its name", b->name, s->policy, kind_of(s));
    NEED(step(b, t));
    ssq_trainer_destroy(&t);
    ssq_trainer_destroy(&wide);
}

/* ---- how much there is ---- */

static void amounts(const struct tape_harness *b)
{
    const struct weights_setup s = {"mixed_float16", SSQ_F16, SSQ_MASTER_F32,
                                    false};
    ssq_params_stats a = SSQ_PARAMS_STATS_INIT, none = SSQ_PARAMS_STATS_INIT;
    ssq_trainer *t = trainer_of(b, &s, NULL);
    NEED(ssq_params_stats_get(ssq_trainer_params(t), &none));
    NEED(step(b, t));
    NEED(ssq_params_stats_get(ssq_trainer_params(t), &a));
    const uint64_t narrow = 7 * IN + 7 + OUT * 7 + OUT, full = 4 * 7;
    tap_ok(none.params == 0 && none.elements == 0 && a.params == 9 &&
               a.states == 2 && a.trainable == narrow + full &&
               a.elements == narrow + full + 2 * 7 &&
               a.bytes == 2 * narrow + 4 * (full + 2 * 7) &&
               a.gradient_bytes == 2 * narrow + 4 * full,
           "%s: %zu parameters and %zu states of %llu elements, %llu bytes",
           b->name, a.params, a.states, (unsigned long long)a.elements,
           (unsigned long long)a.bytes);
    ssq_trainer_destroy(&t);
}

/* ---- misuse ---- */

static void misuse(const struct tape_harness *b,
                   const struct tape_harness *other)
{
    const struct weights_setup s = {"mixed_float16", SSQ_F16, SSQ_MASTER_F32,
                                    false};
    const struct weights_setup wide = {"float32", SSQ_F32, SSQ_MASTER_F32,
                                       false};
    float x[MOST] = {0};
    ssq_trainer *t = trainer_of(b, &s, NULL), *no = NULL;
    ssq_trainer *far = trainer_of(other, &wide, NULL);
    ssq_params *p = ssq_trainer_params(t);
    ssq_optimizer *o = ssq_trainer_optimizer(t);
    (void)core_status(ssq_trainer_create(b->queue, SSQ_TRAINER(.from = p), &no),
                      SSQ_ERR_INVALID, "trainer_create|from has no parameters",
                      "a trainer that begins with nothing");
    NEED(step(b, t));
    NEED(step(other, far));
    (void)core_status(
        ssq_trainer_create(b->queue,
                           SSQ_TRAINER(.from = ssq_trainer_params(far)), &no),
        SSQ_ERR_INVALID, "different devices", "or with another device's");
    (void)core_status(ssq_params_read(NULL, b->queue, o, NULL, x, 1),
                      SSQ_ERR_INVALID, "params_read|params is NULL", "no set");
    (void)core_status(ssq_params_read(p, NULL, o, NULL, x, 1), SSQ_ERR_INVALID,
                      "queue is NULL", "no queue");
    (void)core_status(ssq_params_read(p, b->queue, o, "ln.bias", NULL, 7),
                      SSQ_ERR_INVALID, "host is NULL", "nowhere to read to");
    (void)core_status(ssq_params_write(p, b->queue, o, "ln.bias", NULL, 7),
                      SSQ_ERR_INVALID, "host is NULL", "nothing to write");
    (void)core_status(ssq_params_read(p, b->queue, o, "fc9", x, 1),
                      SSQ_ERR_NOT_FOUND, "no \"fc9\"", "no such name");
    (void)core_status(ssq_params_write(p, b->queue, o, "fc9", x, 1),
                      SSQ_ERR_NOT_FOUND, "no \"fc9\"", "nor to write");
    (void)core_status(ssq_params_read(p, b->queue, o, "ln.bias", x, 6),
                      SSQ_ERR_INVALID, "ln.bias has 7 elements, n is 6",
                      "too few");
    (void)core_status(ssq_params_write(p, b->queue, o, NULL, x, 6),
                      SSQ_ERR_INVALID, "the set has 131 elements, n is 6",
                      "too few of all");
    (void)core_status(ssq_params_write(p, other->queue, NULL, "ln.bias", x, 7),
                      SSQ_ERR_INVALID, "different devices",
                      "another device's queue");
    (void)core_status(ssq_params_write(p, b->queue, ssq_trainer_optimizer(far),
                                       "ln.bias", x, 7),
                      SSQ_ERR_INVALID, "the optimizer is on",
                      "another device's optimizer");
    ssq_trainer_destroy(&t);
    ssq_trainer_destroy(&far);
}

/* In a capture, of no size, between a forward part and its backward. */
static void out_of_place(const struct tape_harness *b)
{
    const struct weights_setup s = {"mixed_float16", SSQ_F16, SSQ_MASTER_F32,
                                    false};
    float x[MOST] = {0};
    ssq_trainer *t = trainer_of(b, &s, NULL), *no = NULL;
    ssq_params *p = ssq_trainer_params(t);
    ssq_optimizer *o = ssq_trainer_optimizer(t);
    ssq_params_stats a = SSQ_PARAMS_STATS_INIT;
    ssq_graph *graph = NULL;
    NEED(step(b, t));
    NEED(ssq_graph_begin(b->queue));
    (void)core_status(ssq_params_read(p, b->queue, o, "ln.bias", x, 7),
                      SSQ_ERR_INVALID, "captured", "read in a capture");
    (void)core_status(ssq_params_write(p, b->queue, o, "ln.bias", x, 7),
                      SSQ_ERR_INVALID, "captured", "write in a capture");
    (void)core_status(ssq_trainer_create(b->queue, SSQ_TRAINER(.from = p), &no),
                      SSQ_ERR_INVALID, "captured",
                      "begin with a set in a capture");
    NEED(ssq_fill(b->queue, SSQ_FILL(.x = b->x)));
    NEED(ssq_graph_end(b->queue, &graph));
    ssq_graph_destroy(&graph);
    (void)core_status(ssq_params_stats_get(NULL, &a), SSQ_ERR_INVALID, "params",
                      "amounts of nothing");
    (void)core_status(ssq_params_stats_get(p, NULL), SSQ_ERR_INVALID, "stats",
                      "amounts to nowhere");
    a.struct_size = 1;
    (void)core_status(ssq_params_stats_get(p, &a), SSQ_ERR_INVALID,
                      "struct_size is 1", "amounts of another size");
    /* between a forward part and its backward */
    ssq_var loss = net(b, ssq_trainer_begin(t));
    NEED(ssq_params_read(p, b->queue, o, "fc2.weight", x, 7 * OUT));
    NEED(ssq_params_write(p, b->queue, o, "fc2.weight", x, 7 * OUT));
    (void)core_status(ssq_trainer_step(t, loss), SSQ_ERR_INVALID, "fc2",
                      "written between forward and backward");
    (void)core_status(step(b, t), SSQ_OK, "", "and on");
    ssq_trainer_destroy(&t);
}

int main(void)
{
    static const struct weights_setup list[] = {
        {"mixed_float16", SSQ_F16, SSQ_MASTER_F32, false},
        {"mixed_bfloat16", SSQ_BF16, SSQ_MASTER_SPLIT, false},
        {"mixed_bfloat16", SSQ_BF16, SSQ_MASTER_F32, true},
        {"mixed_bfloat16", SSQ_BF16, SSQ_MASTER_NONE, false},
        {"float32", SSQ_F32, SSQ_MASTER_F32, true},
    };
    for (size_t i = 0; core_device(i) != NULL; i++) {
        struct tape_harness b = harness_open(core_device(i), ROWS, IN, OUT);
        for (size_t k = 0; k < sizeof(list) / sizeof(list[0]); k++) {
            begin_with(&b, &list[k]);
            write_all(&b, &list[k]);
        }
        waiting(&b);
        by_file(&b);
        same_steps(&b);
        amounts(&b);
        harness_close(&b);
    }
    struct tape_harness b = harness_open("reference", ROWS, IN, OUT),
                        other = harness_open("guard", ROWS, IN, OUT);
    misuse(&b, &other);
    out_of_place(&b);
    harness_close(&b);
    harness_close(&other);
    return tap_done(2 * 36 + 20);
}
