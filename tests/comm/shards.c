/* SPDX-License-Identifier: Apache-2.0 */
/* shards.c - optimizers that are distributed: the bits of whole ones, in
 * memory and in files, and files for other numbers of ranks. */

#include <math.h>
#include <pthread.h>
#include <sesqui/checkpoint.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/comm/comm.h"
#include "tests/comm/files.h"
#include "tests/comm/short.h"

enum { PARAMS = 6, STEPS = 3, MORE = 2, LARGEST = 60000 };

/* Two and three shards are cut within the first; one has no elements. */
static const int64_t sizes[PARAMS] = {LARGEST, 5, 16384, 20001, 0, 1};

struct shards_setup {
    const char *kind;
    ssq_dtype dtype; /* of parameters and gradients */
    ssq_master_kind master;
    double clip, momentum;
    unsigned passes; /* of a rank, to a step */
    bool overflow;   /* on the last rank, in step 1 */
};

/* ---- one rank, or a whole optimizer ---- */

struct shards_member {
    ssq_queue *queue;
    ssq_optimizer *optimizer;
    ssq_scaler *scaler;
    ssq_tensor *param[PARAMS], *grad[PARAMS];
};

static float random_of(uint32_t seed)
{
    seed = (seed ^ 61u) ^ (seed >> 16);
    seed *= 9u;
    seed ^= seed >> 4;
    seed *= 0x27d4eb2du;
    seed ^= seed >> 15;
    return (float)(int32_t)(seed % 2001u - 1000u) / 1024.0f;
}

/* Multiples of 2^-10 of at most 11 bits: exact in f16, rounded in bf16. */
static void fill(float *x, int64_t n, uint32_t seed)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = random_of(seed * 7919u + (uint32_t)i);
}

static void put(const struct shards_member *m, const ssq_tensor *t, float *x)
{
    size_t n = (size_t)ssq_tensor_elements(t);

    NEED(ssq_tensor_write(m->queue, t, x, n * sizeof(*x), SSQ_F32));
    NEED(ssq_queue_sync(m->queue));
}

static void member_make(struct shards_member *m, ssq_queue *queue,
                        ssq_comm *comm, const struct shards_setup *s, bool wide)
{
    static float x[LARGEST];
    ssq_device *device = ssq_queue_device(queue);
    ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
    ssq_group *group = NULL;
    char name[16];

    *m = (struct shards_member){.queue = queue};
    options.clip_norm = s->clip;
    options.momentum = s->momentum;
    options.master = s->master;
    options.lr = 0.01;
    NEED(ssq_optimizer_create(device, s->kind, &options, &m->optimizer));
    options.lr = 0.02;
    options.weight_decay = 0;
    NEED(ssq_optimizer_group(m->optimizer, &options, &group));
    if (comm != NULL)
        NEED(ssq_optimizer_distribute(m->optimizer, comm));
    if (s->dtype == SSQ_F16)
        NEED(ssq_scaler_create(device, "sesqui", NULL, &m->scaler));
    for (int i = 0; i < PARAMS; i++) {
        m->param[i] = core_vector(device, s->dtype, sizes[i]);
        m->grad[i] = core_vector(device, wide ? SSQ_F32 : s->dtype, sizes[i]);
        fill(x, sizes[i], 100 + (uint32_t)i);
        if (sizes[i] > 0)
            put(m, m->param[i], x);
        snprintf(name, sizeof(name), "p%d", i);
        NEED(ssq_optimizer_add(m->optimizer, name, m->param[i], m->grad[i],
                               i == 1 || i == 3 ? group : NULL));
    }
}

static void member_free(struct shards_member *m)
{
    ssq_optimizer_destroy(&m->optimizer);
    ssq_scaler_destroy(&m->scaler);
    for (int i = 0; i < PARAMS; i++) {
        ssq_tensor_destroy(&m->param[i]);
        ssq_tensor_destroy(&m->grad[i]);
    }
}

/* ---- gradients ---- */

/* Of a pass of rank r. The third parameter has no gradient in any. */
static void grad_of(const struct shards_setup *s, float *g, int i, int step,
                    unsigned r, unsigned n, unsigned pass)
{
    fill(g, sizes[i],
         (uint32_t)(step * 64 + (int)(r * 8 + pass)) * 8u + (uint32_t)i + 1);
    for (int64_t k = 0; k < sizes[i] && i == 2; k++)
        g[k] = 0;
    if (s->dtype == SSQ_BF16) /* the range of 8 bits */
        for (int64_t k = 0; k < sizes[i]; k++)
            g[k] = rintf(g[k] * 64.0f) / 64.0f;
    if (s->overflow && step == 1 && r == n - 1 && i == 3)
        g[17000] = INFINITY;
}

/* The sum over all ranks, in their order. */
static void sum_of(const struct shards_setup *s, float *sum, int i, int step,
                   unsigned n)
{
    static float g[LARGEST], own[LARGEST];

    for (unsigned r = 0; r < n; r++) {
        for (unsigned pass = 0; pass < s->passes; pass++) {
            grad_of(s, pass == 0 ? own : g, i, step, r, n, pass);
            for (int64_t k = 0; k < sizes[i] && pass > 0; k++)
                own[k] += g[k];
        }
        for (int64_t k = 0; k < sizes[i]; k++)
            sum[k] = r == 0 ? own[k] : sum[k] + own[k];
    }
}

/* Gradients count as scaled by it. */
static void use_scale(struct shards_member *m)
{
    ssq_tensor *x = core_vector(ssq_queue_device(m->queue), SSQ_F32, 1);

    NEED(ssq_fill(m->queue, SSQ_FILL(.x = x, .value = 1)));
    NEED(ssq_scaler_scale_grad(m->queue, m->scaler, x, x));
    ssq_tensor_destroy(&x);
}

/* Behind the sums: check, update, and the scale's update. */
static void step_member(struct shards_member *m)
{
    if (m->scaler != NULL)
        use_scale(m);
    NEED(ssq_optimizer_step(m->queue, m->optimizer, m->scaler));
    if (m->scaler != NULL)
        NEED(ssq_scaler_update(m->queue, m->scaler));
}

/* n ranks' step as one sum: `mine` of a group of others, whose are zeros. */
static void step_sum(struct shards_member *m, const struct shards_setup *s,
                     int step, unsigned n, bool mine)
{
    static float sum[LARGEST];

    for (int i = 0; i < PARAMS; i++) {
        if (sizes[i] == 0)
            continue;
        sum_of(s, sum, i, step, n);
        for (int64_t k = 0; k < sizes[i] && !mine; k++)
            sum[k] = 0;
        put(m, m->grad[i], sum);
    }
    NEED(ssq_optimizer_accumulate(m->queue, m->optimizer,
                                  1.0 / (n * s->passes)));
    step_member(m);
}

static void step_rank(struct shards_member *m, const struct shards_setup *s,
                      int step, unsigned r, unsigned n)
{
    static float g[LARGEST];

    for (unsigned pass = 0; pass < s->passes; pass++) {
        for (int i = 0; i < PARAMS; i++) {
            if (sizes[i] == 0)
                continue;
            grad_of(s, g, i, step, r, n, pass);
            NEED(ssq_tensor_write(m->queue, m->grad[i], g,
                                  (size_t)sizes[i] * sizeof(*g), SSQ_F32));
            NEED(ssq_queue_sync(m->queue));
        }
        NEED(ssq_optimizer_accumulate(m->queue, m->optimizer,
                                      1.0 / (n * s->passes)));
    }
    step_member(m);
}

/* ---- comparing ---- */

static bool same_values(const struct shards_member *a,
                        const struct shards_member *b)
{
    static float x[LARGEST], y[LARGEST];
    bool same = true;

    for (int i = 0; i < PARAMS; i++) {
        size_t bytes = (size_t)sizes[i] * sizeof(float);
        if (bytes == 0)
            continue;
        NEED(ssq_tensor_read(a->queue, a->param[i], x, bytes, SSQ_F32));
        NEED(ssq_tensor_read(b->queue, b->param[i], y, bytes, SSQ_F32));
        NEED(ssq_queue_sync(a->queue));
        NEED(ssq_queue_sync(b->queue));
        same = same && memcmp(x, y, bytes) == 0;
    }
    return same;
}

/* t, the norm where there is one, and the scale. */
static bool same_words(const struct shards_member *a,
                       const struct shards_member *b, bool norms)
{
    float norm[2] = {0, 0};
    uint32_t t[2];
    ssq_scaler_state s[2] = {SSQ_SCALER_STATE_INIT, SSQ_SCALER_STATE_INIT};

    for (int k = 0; k < 2; k++) {
        const struct shards_member *m = k == 0 ? a : b;
        NEED(ssq_optimizer_norm(m->queue, m->optimizer, norms ? &norm[k] : NULL,
                                &t[k]));
        if (m->scaler != NULL)
            NEED(ssq_scaler_state_get(m->queue, m->scaler, &s[k]));
    }
    bool same = t[0] == t[1] && memcmp(&norm[0], &norm[1], sizeof(float)) == 0;
    same = same && s[0].scale == s[1].scale;
    if (!same)
        tap_diag("t %u and %u, norm %a and %a", t[0], t[1], (double)norm[0],
                 (double)norm[1]);
    return same;
}

/* The state that a file does not keep. */
static bool same_overflow(const struct shards_member *a,
                          const struct shards_member *b)
{
    ssq_overflow_report x = SSQ_OVERFLOW_REPORT_INIT,
                        y = SSQ_OVERFLOW_REPORT_INIT;

    NEED(ssq_optimizer_overflow(a->queue, a->optimizer, &x));
    NEED(ssq_optimizer_overflow(b->queue, b->optimizer, &y));
    return x.check == y.check && x.index == y.index && x.nan == y.nan &&
           x.infs == y.infs && x.nans == y.nans && x.tensors == y.tensors &&
           strcmp(x.name, y.name) == 0;
}

static ssq_status save(const struct shards_member *m, const char *path)
{
    return ssq_checkpoint_save(m->queue, path,
                               SSQ_CHECKPOINT(.optimizer = m->optimizer));
}

/* ---- cases ---- */

static const char ours[] = "tests/comm/shards.ranks";
static const char whole[] = "tests/comm/shards.whole";

struct shards_run {
    unsigned n;
    struct group g;
    struct shards_member rank[MOST_RANKS];
};

static double seconds = 60; /* that ranks wait for others */

static void run_make(struct shards_run *run, const char *const *devices,
                     unsigned n, const struct shards_setup *s, bool wide)
{
    ssq_comm_options options = SSQ_COMM_OPTIONS_INIT;

    options.timeout = seconds;
    options.piece_bytes = 50000; /* several of them, not of whole tensors */
    run->n = n;
    group_open(&run->g, n, devices, &options);
    for (unsigned r = 0; r < n; r++)
        member_make(&run->rank[r], run->g.queue[r],
                    n == 1 ? NULL : run->g.comm[r], s, wide);
}

static void run_free(struct shards_run *run)
{
    for (unsigned r = 0; r < run->n; r++)
        member_free(&run->rank[r]);
    group_close(&run->g);
}

/* This many ranks with the file's state, and the parameters and scale of
 * another. */
static void run_load(struct shards_run *run, const char *const *devices,
                     unsigned n, const struct shards_setup *s,
                     const struct shards_member *from)
{
    static float x[LARGEST];
    ssq_scaler_state state = SSQ_SCALER_STATE_INIT;

    run_make(run, devices, n, s, true);
    if (from->scaler != NULL)
        NEED(ssq_scaler_state_get(from->queue, from->scaler, &state));
    for (unsigned r = 0; r < n; r++) {
        struct shards_member *m = &run->rank[r];
        for (int i = 0; i < PARAMS; i++) {
            if (sizes[i] == 0)
                continue;
            NEED(ssq_tensor_read(from->queue, from->param[i], x,
                                 (size_t)sizes[i] * sizeof(*x), SSQ_F32));
            NEED(ssq_queue_sync(from->queue));
            put(m, m->param[i], x);
        }
        NEED(ssq_checkpoint_load(m->queue, ours,
                                 SSQ_CHECKPOINT(.optimizer = m->optimizer)));
        if (m->scaler != NULL)
            NEED(ssq_scaler_state_set(m->queue, m->scaler, &state));
    }
}

/* They continue with the sums that n ranks had. */
static size_t run_on(struct shards_run *run, const struct shards_setup *s,
                     unsigned n, const struct shards_member *want)
{
    size_t wrong = 0;

    for (int step = STEPS; step < STEPS + MORE; step++)
        for (unsigned r = 0; r < run->n; r++)
            step_sum(&run->rank[r], s, step, n, r == 0);
    for (unsigned r = 0; r < run->n; r++)
        wrong += !same_values(want, &run->rank[r]) ||
                 !same_words(want, &run->rank[r], s->clip > 0);
    run_free(run);
    return wrong;
}

static void test_bits(const char *name, const char *const *devices, unsigned n,
                      struct shards_setup s)
{
    struct shards_run run, one, others;
    struct shards_member want;
    size_t wrong = 0;
    bool mixed = strcmp(devices[0], devices[n - 1]) != 0;

    run_make(&run, devices, n, &s, false);
    ssq_device *device = core_open(devices[0]);
    ssq_queue *queue = core_queue(device);
    member_make(&want, queue, NULL, &s, true);
    for (int step = 0; step < STEPS; step++) {
        for (unsigned r = 0; r < n; r++)
            step_rank(&run.rank[r], &s, step, r, n);
        step_sum(&want, &s, step, n, true);
    }
    for (unsigned r = 0; r < n; r++)
        wrong += !same_values(&want, &run.rank[r]) ||
                 !same_words(&want, &run.rank[r], s.clip > 0) ||
                 !same_overflow(&want, &run.rank[r]);
    tap_ok(wrong == 0, "%s, %u ranks from %s to %s: the bits of a whole one",
           name, n, devices[0], devices[n - 1]);
    for (unsigned r = n - 1; r > 0; r--)
        NEED(save(&run.rank[r], NULL));
    NEED(save(&run.rank[0], ours));
    NEED(save(&want, whole));
    tap_ok(same_files(ours, whole) || mixed,
           "%s: %u ranks save what a whole one does", name, n);
    run_load(&one, devices, 1, &s, &want);
    run_load(&others, devices, 5 - n, &s, &want);
    for (int step = STEPS; step < STEPS + MORE; step++)
        step_sum(&want, &s, step, n, true);
    wrong = run_on(&one, &s, n, &want) + run_on(&others, &s, n, &want);
    tap_ok(wrong == 0, "%s: a whole one and %u ranks go on from the file", name,
           5 - n);
    member_free(&want);
    run_free(&run);
    ssq_queue_destroy(&queue);
    ssq_device_close(&device);
    unlink(ours);
    unlink(whole);
}

/* ---- what each rank holds ---- */

static void test_memory(void)
{
    const char *const devices[] = {"reference", "reference", "reference"};
    const struct shards_setup s = {"adamw", SSQ_BF16, SSQ_MASTER_F32, 0,
                                   0,       1,        false};
    struct shards_run run;
    uint64_t own = 0, all = 0, most = 0;
    bool right = true;

    run_make(&run, devices, 3, &s, false);
    for (unsigned r = 0; r < 3; r++)
        step_rank(&run.rank[r], &s, 0, r, 3);
    for (unsigned r = 0; r < 3; r++) {
        ssq_memory_report m = SSQ_MEMORY_REPORT_INIT;
        NEED(ssq_optimizer_memory(run.rank[r].optimizer, &m));
        own += m.own;
        all = m.elements;
        most = m.own > most ? m.own : most;
        right = right && m.masters == 4 * m.own && m.moments == 8 * m.own &&
                m.params == 2 * all && m.grads == 2 * all &&
                m.sums == 4 * all && m.other > 0;
    }
    tap_ok(right && own == all && most <= all / 3 + 16384,
           "three ranks hold %llu of %llu elements, at most %llu each",
           (unsigned long long)own, (unsigned long long)all,
           (unsigned long long)most);
    run_free(&run);
}

/* ---- files that fail ---- */

/* Rank 0 still takes all parts: the group continues, and the old file exists.
 */
static void test_failing_file(void)
{
    const char *const devices[] = {"cpu", "cpu"};
    const struct shards_setup s = {"sgd", SSQ_F32, SSQ_MASTER_F32, 0,
                                   0.9,   1,       false};
    struct shards_run run;
    struct shards_member *m = run.rank;

    run_make(&run, devices, 2, &s, false);
    for (unsigned r = 0; r < 2; r++)
        step_rank(&m[r], &s, 0, r, 2);
    NEED(save(&m[1], "no such place/is looked at"));
    core_status(save(&m[0], "tests/comm/no such folder/x"), SSQ_ERR_NOT_FOUND,
                "no such folder", "a folder that is not there");
    for (unsigned r = 0; r < 2; r++)
        step_rank(&m[r], &s, 1, r, 2);
    NEED(save(&m[1], NULL));
    NEED(save(&m[0], ours));
    tap_ok(same_values(&m[0], &m[1]), "and the ranks go on");
    NEED(truncate(ours, 1000) == 0 ? SSQ_OK : SSQ_ERR_IO);
    core_status(
        ssq_checkpoint_load(m[1].queue, ours,
                            SSQ_CHECKPOINT(.optimizer = m[1].optimizer)),
        SSQ_ERR_INVALID, "shards.ranks", "a file that ends too early");
    unlink(ours);
    core_status(
        ssq_checkpoint_load(m[1].queue, ours,
                            SSQ_CHECKPOINT(.optimizer = m[1].optimizer)),
        SSQ_ERR_NOT_FOUND, "shards.ranks", "a file that is missing");
    run_free(&run);
}

/* ---- ranks that differ, and masters ---- */

static void test_difference(void)
{
    const char *const devices[] = {"reference", "cpu"};
    const struct shards_setup s = {"adamw", SSQ_BF16, SSQ_MASTER_F32, 0,
                                   0,       1,        false};
    struct shards_run run;
    float value = 3;

    run_make(&run, devices, 2, &s, true);
    struct shards_member *m = run.rank;
    for (unsigned r = 0; r < 2; r++) /* the rank that owns it, and the other */
        NEED(ssq_optimizer_model_to_master(m[r].queue, m[r].optimizer));
    for (unsigned r = 0; r < 2;
         r++) { /* parameters that only one has changed */
        if (r == 1)
            NEED(
                ssq_fill(m[r].queue, SSQ_FILL(.x = m[r].param[0], .value = 9)));
        NEED(ssq_optimizer_master_to_model(m[r].queue, m[r].optimizer));
    }
    tap_ok(same_values(&m[0], &m[1]), "master_to_model gathers parameters");
    ssq_tensor *x = core_vector(run.g.dev[1], SSQ_BF16, 1);
    ssq_tensor *g = core_vector(run.g.dev[1], SSQ_F32, 1);
    ssq_optimizer *o = NULL;
    NEED(ssq_optimizer_create(run.g.dev[1], "adamw", NULL, &o));
    NEED(ssq_optimizer_distribute(o, run.g.comm[1]));
    NEED(ssq_optimizer_add(o, "other", x, g, NULL));
    NEED(ssq_tensor_write(m[1].queue, x, &value, sizeof(value), SSQ_F32));
    NEED(ssq_fill(m[1].queue, SSQ_FILL(.x = g, .value = 1)));
    for (unsigned r = 0; r < 2; r++) {
        ssq_optimizer *each = r == 0 ? m[0].optimizer : o;
        NEED(ssq_optimizer_accumulate(m[r].queue, each, 0.5));
        ssq_status st = ssq_optimizer_step(m[r].queue, each, NULL);
        NEED(st == SSQ_ERR_COMM ? SSQ_OK : st); /* it may know already */
    }
    for (unsigned r = 0; r < 2; r++)
        core_status(ssq_queue_sync(m[r].queue), SSQ_ERR_COMM,
                    "reduce_scatter sum|\"gradients\"|rank 1",
                    "other parameters: rank %u is told", r);
    ssq_optimizer_destroy(&o);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&g);
    run_free(&run);
}

/* ---- ranks that cannot be reached ---- */

/* If ranks cannot gather, nothing is recorded or written: rank 0's part of its
 * first parameter stays 5. */
static void test_unreached(void)
{
    const char *const devices[] = {"reference", "reference"};
    const struct shards_setup s = {"sgd", SSQ_BF16, SSQ_MASTER_F32, 0,
                                   0,     1,        false};
    static float x[LARGEST];
    ssq_graph *graph = NULL;
    struct shards_run run;

    run_make(&run, devices, 2, &s, true);
    struct shards_member *m = &run.rank[0];
    for (unsigned r = 0; r < 2; r++) {
        struct shards_member *each = &run.rank[r];
        NEED(ssq_optimizer_accumulate(each->queue, each->optimizer, 0.5));
        NEED(ssq_optimizer_check(each->queue, each->optimizer, NULL));
    }
    NEED(ssq_fill(m->queue, SSQ_FILL(.x = m->param[0], .value = 5)));
    NEED(ssq_queue_sync(m->queue));
    NEED(ssq_graph_begin(m->queue));
    core_status(ssq_optimizer_master_to_model(m->queue, m->optimizer),
                SSQ_ERR_INVALID, "optimizer_master_to_model: |captured",
                "master_to_model in a capture");
    core_status(ssq_optimizer_step(m->queue, m->optimizer, NULL),
                SSQ_ERR_INVALID, "optimizer_step: |captured",
                "a step in a capture");
    NEED(ssq_graph_end(m->queue, &graph));
    tap_ok(ssq_graph_ops(graph) == 0, "nothing of them is recorded: %zu",
           ssq_graph_ops(graph));
    ssq_graph_destroy(&graph);
    ssq_comm_destroy(&run.g.comm[0]);
    core_status(ssq_optimizer_master_to_model(m->queue, m->optimizer),
                SSQ_ERR_COMM, "destroyed",
                "master_to_model without a communicator");
    core_status(ssq_optimizer_step(m->queue, m->optimizer, NULL), SSQ_ERR_COMM,
                "destroyed", "a step without one");
    NEED(ssq_tensor_read(m->queue, m->param[0], x, sizeof(x), SSQ_F32));
    NEED(ssq_queue_sync(m->queue));
    tap_ok(x[0] == 5.0f, "the model is as before: %g", (double)x[0]);
    run_free(&run);
}

/* ---- misuse ---- */

static void test_refusals(void)
{
    const char *const devices[] = {"reference", "reference"};
    const struct shards_setup s = {"adamw", SSQ_BF16, SSQ_MASTER_F32, 1,
                                   0,       1,        false};
    ssq_optimizer_options flat = SSQ_OPTIMIZER_INIT;
    ssq_memory_report report = SSQ_MEMORY_REPORT_INIT;
    const ssq_tensor *master = NULL;
    ssq_optimizer *o = NULL;
    struct shards_run run;
    size_t needed = 0;

    run_make(&run, devices, 2, &s, false);
    struct shards_member *m = run.rank;
    core_status(ssq_optimizer_distribute(NULL, run.g.comm[0]), SSQ_ERR_INVALID,
                "optimizer is NULL", "no optimizer");
    core_status(ssq_optimizer_distribute(m[0].optimizer, NULL), SSQ_ERR_INVALID,
                "comm is NULL", "no communicator");
    core_status(ssq_optimizer_distribute(m[0].optimizer, run.g.comm[0]),
                SSQ_ERR_INVALID, "already", "twice");
    flat.flat_master = true;
    NEED(ssq_optimizer_create(run.g.dev[0], "sgd", &flat, &o));
    core_status(ssq_optimizer_distribute(o, run.g.comm[0]), SSQ_ERR_INVALID,
                "flat_master", "flat masters");
    ssq_optimizer_destroy(&o);
    NEED(ssq_optimizer_create(run.g.dev[0], "sgd", NULL, &o));
    core_status(ssq_optimizer_distribute(o, run.g.comm[1]), SSQ_ERR_INVALID,
                "rank 1", "another rank's device");
    ssq_optimizer_destroy(&o);
    core_status(ssq_optimizer_memory(m[0].optimizer, &report), SSQ_ERR_INVALID,
                "before the first step", "memory before there is some");
    core_status(ssq_optimizer_step(m[0].queue, m[0].optimizer, NULL),
                SSQ_ERR_INVALID, "ssq_optimizer_accumulate",
                "a step without sums");
    core_status(ssq_optimizer_unscale(m[0].queue, m[0].optimizer, NULL),
                SSQ_ERR_INVALID, "ssq_optimizer_accumulate",
                "unscale without sums");
    for (unsigned r = 0; r < 2; r++)
        step_rank(&m[r], &s, 0, r, 2);
    core_status(ssq_optimizer_distribute(m[0].optimizer, run.g.comm[0]),
                SSQ_ERR_INVALID, "already", "after the first use");
    core_status(ssq_optimizer_master(m[1].optimizer, NULL, "p0", &master),
                SSQ_ERR_INVALID, "rank 1 has a part", "a master");
    core_status(
        ssq_optimizer_save(m[1].queue, m[1].optimizer, NULL, 0, &needed),
        SSQ_ERR_INVALID, "ssq_checkpoint_save", "a blob");
    report.struct_size = 1;
    core_status(ssq_optimizer_memory(m[0].optimizer, &report), SSQ_ERR_INVALID,
                "struct_size", "another header's report");
    run_free(&run);
}

/* ---- memory of the host that is short ---- */

static _Thread_local bool mine; /* this thread's are counted */

static void *count_mine(void *user, size_t bytes)
{
    return mine ? count_alloc(user, bytes) : malloc(bytes);
}

/* A step of both ranks, repeated where a block was refused. What the threads
 * are refused ends the group, which calls answer, too. False: none was refused.
 */
static bool step_short(struct shards_run *run, long at)
{
    bool ended = false;

    for (unsigned r = 0; r < 2; r++)
        NEED(ssq_optimizer_accumulate(run->rank[r].queue,
                                      run->rank[r].optimizer, 0.5));
    atomic_store(&left, at);
    for (unsigned r = 0; r < 2; r++) {
        struct shards_member *m = &run->rank[r];
        ssq_status st = SSQ_ERR_NOMEM;
        for (int i = 0; i < 2 && st == SSQ_ERR_NOMEM; i++)
            st = ssq_optimizer_step(m->queue, m->optimizer, NULL);
        ended = ended || st != SSQ_OK;
    }
    for (unsigned r = 0; r < 2; r++)
        ended = ssq_queue_sync(run->rank[r].queue) != SSQ_OK || ended;
    bool spared = atomic_exchange(&left, 0) > 0;
    if (!ended && !same_values(&run->rank[0], &run->rank[1]))
        tap_bail("block %ld: ranks differ", at);
    if (spared && ended)
        tap_bail("the group has ended without a reason");
    return !spared;
}

static void test_short(void)
{
    const char *const devices[] = {"reference", "reference"};
    const struct shards_setup s = {"lamb", SSQ_BF16, SSQ_MASTER_F32, 1,
                                   0,      1,        false};
    const ssq_allocator counting = {sizeof(counting), count_alloc, count_free,
                                    NULL};
    const long step = tap_full() ? 1 : 7; /* each time two ranks are made */
    long at = 1;

    seconds = 1;
    NEED(ssq_allocator_set(&counting));
    for (bool more = true; more && at < 2000; at += step) {
        struct shards_run run;
        atomic_store(&left, 0);
        run_make(&run, devices, 2, &s, true);
        for (unsigned r = 0; r < 2; r++)
            step_sum(&run.rank[r], &s, 0, 2, r == 0);
        more = step_short(&run, at);
        run_free(&run);
    }
    NEED(ssq_allocator_set(NULL));
    seconds = 60;
    tap_ok(at > 10 && at < 2000,
           "of blocks 1 to %ld of a step one is refused: it is repeated, or "
           "the group "
           "has ended",
           at - 1);
}

/* Rank 0's step is refused a block, the scaler is updated, and the rank goes
 * on: a step that could not gather is not lost, and not taken for the next one.
 * False: none was refused. */
static bool step_updated(struct shards_run *run, long at, long *found)
{
    struct shards_member *m = run->rank;

    for (unsigned r = 0; r < 2; r++)
        NEED(ssq_optimizer_accumulate(m[r].queue, m[r].optimizer, 0.5));
    use_scale(m);
    mine = true;
    atomic_store(&left, at);
    ssq_status st = ssq_optimizer_step(m->queue, m->optimizer, m->scaler);
    bool spared = atomic_exchange(&left, 0) > 0;
    mine = false;
    if (st != SSQ_OK && st != SSQ_ERR_NOMEM)
        tap_bail("block %ld: %s", at, ssq_last_error());
    if (st != SSQ_ERR_NOMEM || ssq_scaler_update(m->queue, m->scaler) != SSQ_OK)
        return !spared;
    st = ssq_optimizer_accumulate(m->queue, m->optimizer, 0.5);
    if (st == SSQ_OK)
        return true; /* the step has not been: its sums are given up */
    if (!core_has(ssq_last_error(), "gathered"))
        tap_bail("block %ld: %s", at, ssq_last_error());
    ++*found;
    NEED(ssq_optimizer_step(m->queue, m->optimizer, m->scaler));
    step_member(&m[1]);
    for (unsigned r = 0; r < 2; r++) {
        NEED(ssq_optimizer_accumulate(m[r].queue, m[r].optimizer, 0.5));
        step_member(&m[r]);
    }
    if (!same_values(&m[0], &m[1]) || !same_words(&m[0], &m[1], false))
        tap_bail("block %ld: ranks differ", at);
    return true;
}

static void test_updated(void)
{
    const char *const devices[] = {"reference", "reference"};
    const struct shards_setup s = {"adamw", SSQ_F16, SSQ_MASTER_F32, 0,
                                   0,       1,       false};
    const ssq_allocator counting = {sizeof(counting), count_mine, count_free,
                                    NULL};
    long at = 1, found = 0;

    NEED(ssq_allocator_set(&counting));
    for (bool more = true; more && at < 2000; at++) {
        struct shards_run run;
        run_make(&run, devices, 2, &s, true);
        for (unsigned r = 0; r < 2; r++)
            step_sum(&run.rank[r], &s, 0, 2, r == 0);
        more = step_updated(&run, at, &found);
        run_free(&run);
    }
    NEED(ssq_allocator_set(NULL));
    tap_ok(found > 0 && at < 2000,
           "%ld of the %ld blocks of a step are its gathering's", found,
           at - 2);
}

int main(void)
{
    const char *const reference[] = {"reference", "reference", "reference"};
    const char *const cpu[] = {"cpu", "cpu", "cpu"};
    const char *const mixture[] = {"reference", "guard", "cpu"};

    test_bits(
        "sgd, f32", reference, 2,
        (struct shards_setup){"sgd", SSQ_F32, SSQ_MASTER_F32, 0.5, 0.9, 1, 0});
    test_bits(
        "adamw, bf16, 2 passes", cpu, 3,
        (struct shards_setup){"adamw", SSQ_BF16, SSQ_MASTER_F32, 0.5, 0, 2, 0});
    test_bits(
        "lamb, bf16, split", reference, 3,
        (struct shards_setup){"lamb", SSQ_BF16, SSQ_MASTER_SPLIT, 0, 0, 1, 0});
    test_bits(
        "adamw, f16, overflow", cpu, 2,
        (struct shards_setup){"adamw", SSQ_F16, SSQ_MASTER_F32, 0.5, 0, 1, 1});
    test_bits(
        "lamb, f16, overflow", cpu, 3,
        (struct shards_setup){"lamb", SSQ_F16, SSQ_MASTER_F32, 0.5, 0, 1, 1});
    test_bits(
        "sgd, bf16, no masters", cpu, 2,
        (struct shards_setup){"sgd", SSQ_BF16, SSQ_MASTER_NONE, 0, 0.9, 1, 0});
    test_bits(
        "adamw, bf16", mixture, 3,
        (struct shards_setup){"adamw", SSQ_BF16, SSQ_MASTER_F32, 0.5, 0, 1, 0});
    test_short();
    test_updated();
    test_memory();
    test_failing_file();
    test_difference();
    test_unreached();
    test_refusals();
    return tap_done(21 + 1 + 1 + 1 + 4 + 3 + 6 + 12);
}
