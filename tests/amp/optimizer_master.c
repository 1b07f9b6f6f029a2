/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_master.c - masters: split words, stochastic rounding, flat ones,
 * and eps in 16-bit parameters. */
#include "tests/amp/train.h"

#include "kernels/amp/optimizer.h"

/* ---- split words ---- */

/* The magnitude rounded half up, and the sign: half away from zero. Only the
 * NaNs that this would carry past 0x7fff have another model. */
static bool word_right(uint32_t word)
{
    uint32_t model = split_model(word), magnitude = word & 0x7fffffff;
    uint32_t want = (word >> 31) << 15 | (magnitude + 0x8000) >> 16;

    return split_join(model, split_rest(word)) == word &&
           (magnitude >= 0x7fff8000 || model == want);
}

static void test_words(void)
{
    static const uint32_t lows[] = {0,      1,      2,      0x7ffe, 0x7fff,
                                    0x8000, 0x8001, 0xfffe, 0xffff};
    uint64_t wrong = 0, seen = 0, state = 1;

    for (uint64_t w = 0; tap_full() && w < UINT64_C(1) << 32; w++, seen++)
        wrong += !word_right((uint32_t)w);
    for (uint32_t high = 0; high < 65536 && !tap_full(); high++) {
        for (size_t k = 0; k < sizeof(lows) / sizeof(lows[0]); k++, seen++)
            wrong += !word_right(high << 16 | lows[k]);
        for (int k = 0; k < 64; k++, seen++)
            wrong +=
                !word_right(high << 16 | (uint32_t)(amp_random(&state) >> 48));
    }
    tap_ok(wrong == 0, "split words: %llu of %llu come back exactly",
           (unsigned long long)(seen - wrong), (unsigned long long)seen);
}

/* ---- one vector under sgd ---- */

struct vector {
    const struct rig *r;
    ssq_optimizer *o;
    ssq_tensor *p, *g;
    int64_t n;
};

static void vector_open(struct vector *v, const struct rig *r, ssq_dtype d,
                        int64_t n, const char *name,
                        const ssq_optimizer_options *options)
{
    *v = (struct vector){.r = r, .n = n};
    NEED(ssq_optimizer_create(r->device, "sgd", options, &v->o));
    v->p = core_vector(r->device, d, n);
    v->g = core_vector(r->device, SSQ_F32, n);
    NEED(ssq_optimizer_add(v->o, name, v->p, v->g, NULL));
}

static void vector_close(struct vector *v)
{
    ssq_optimizer_destroy(&v->o);
    ssq_tensor_destroy(&v->p);
    ssq_tensor_destroy(&v->g);
}

/* Gradients first .. first + n of one long vector, and a step. */
static void vector_step(const struct vector *v, unsigned step, int64_t first)
{
    float *g = malloc((size_t)v->n * sizeof(*g));

    for (int64_t i = 0; i < v->n; i++)
        g[i] = (float)train_gradient(step, 0, first + i);
    NEED(ssq_tensor_write(v->r->queue, v->g, g, (size_t)v->n * sizeof(*g),
                          SSQ_F32));
    NEED(ssq_optimizer_step(v->r->queue, v->o, NULL));
    NEED(ssq_queue_sync(v->r->queue));
    free(g);
}

static void fill(const struct rig *r, const ssq_tensor *x, double value)
{
    ssq_fill_args args = SSQ_FILL_INIT;

    args.x = x;
    args.value = value;
    NEED(ssq_fill(r->queue, &args));
}

static ssq_optimizer_options sgd_options(ssq_master_kind master, double lr)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;

    o.lr = lr;
    o.master = master;
    o.seed = UINT64_C(0x123456789abcdef0);
    return o;
}

/* Every bf16 word as a parameter: a step of length 0 changes none, and steps
 * move the master as a float32 parameter moves. */
static void test_split(const struct rig *r)
{
    ssq_optimizer_options o = sgd_options(SSQ_MASTER_SPLIT, 0x1p-9);
    uint16_t *bits = malloc(65536 * sizeof(*bits));
    uint16_t *back = malloc(65536 * sizeof(*back));
    struct vector v, w;
    int wrong = 0;

    for (uint32_t i = 0; i < 65536; i++)
        bits[i] = (uint16_t)((i & 0x7fff) > 0x7f80 ? i | 0x40 : i);
    vector_open(&v, r, SSQ_BF16, 65536, "v", &o);
    NEED(
        ssq_tensor_write(r->queue, v.p, bits, 65536 * sizeof(*bits), SSQ_BF16));
    fill(r, v.g, 0.0);
    NEED(ssq_optimizer_step(r->queue, v.o, NULL));
    NEED(ssq_tensor_read(r->queue, v.p, back, 65536 * sizeof(*back), SSQ_BF16));
    NEED(ssq_queue_sync(r->queue));
    for (int i = 0; i < 65536; i++)
        wrong += back[i] != bits[i] && (bits[i] & 0x7fff) <= 0x7f80;
    tap_ok(wrong == 0, "%s: split: a step of 0 keeps every bf16 word", r->name);
    vector_open(&w, r, SSQ_F32, 65536, "v", &o);
    NEED(
        ssq_tensor_write(r->queue, w.p, bits, 65536 * sizeof(*bits), SSQ_BF16));
    for (unsigned step = 0; step < 5; step++) {
        vector_step(&v, step, 0);
        vector_step(&w, step, 0);
    }
    {
        uint32_t *word = malloc(65536 * sizeof(*word));

        NEED(ssq_tensor_read(r->queue, v.p, back, 65536 * sizeof(*back),
                             SSQ_BF16));
        NEED(ssq_tensor_read(r->queue, w.p, word, 65536 * sizeof(*word),
                             SSQ_F32));
        NEED(ssq_queue_sync(r->queue));
        for (int i = 0; i < 65536; i++)
            wrong += back[i] != ((word[i] + 0x8000) >> 16 & 0xffff) &&
                     (word[i] & 0x7fffffff) <= 0x7f800000;
        tap_ok(wrong == 0,
               "%s: split: 5 steps are those of a float32 parameter, rounded "
               "half away",
               r->name);
        free(word);
    }
    vector_close(&v);
    vector_close(&w);
    free(bits);
    free(back);
}

/* ---- stochastic rounding ---- */

/* 2^16 weights of 1 moved by a part of the last place: up is a Bernoulli
 * variable, the mean of n is within 5 sigma of the part. */
static void test_mean(const struct rig *r, ssq_dtype d, double part)
{
    const int64_t n = 65536;
    double ulp = d == SSQ_F16 ? 0x1p-10 : 0x1p-7, mean = 0.0, sigma;
    ssq_optimizer_options o = sgd_options(SSQ_MASTER_NONE, 1.0);
    float *p = malloc((size_t)n * sizeof(*p));
    struct vector v;
    bool neighbours = true;

    vector_open(&v, r, d, n, "w", &o);
    fill(r, v.p, 1.0);
    fill(r, v.g, -part * ulp);
    NEED(ssq_optimizer_step(r->queue, v.o, NULL));
    NEED(ssq_tensor_read(r->queue, v.p, p, (size_t)n * sizeof(*p), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    for (int64_t i = 0; i < n; i++) {
        mean += ((double)p[i] - 1.0) / ulp / (double)n;
        neighbours = neighbours && (p[i] == 1.0f || p[i] == (float)(1.0 + ulp));
    }
    sigma = sqrt(part * (1.0 - part) / (double)n);
    tap_ok(neighbours && fabs(mean - part) <= 5.0 * sigma,
           "%s: %s: %lld stores of 1 + %g ulp have mean 1 + %.4f ulp, sigma "
           "%.4f",
           r->name, ssq_dtype_name(d), (long long)n, part, mean, sigma);
    vector_close(&v);
    free(p);
}

/* The vector w of 1000 after 5 steps: whole, or as shards. */
static void shard(const struct rig *r, ssq_dtype d, const char *name,
                  uint64_t seed, int64_t first, int64_t n, uint64_t base,
                  uint16_t *bits)
{
    ssq_optimizer_options o = sgd_options(SSQ_MASTER_NONE, 0x1p-8);
    float start[1000];
    struct vector v;

    o.seed += seed;
    vector_open(&v, r, d, n, name, &o);
    for (int64_t i = 0; i < n; i++)
        start[i] = (float)train_gradient(99, 1, first + i);
    NEED(ssq_tensor_write(r->queue, v.p, start, sizeof(start), SSQ_F32));
    NEED(ssq_optimizer_shard(v.o, name, base + (uint64_t)first));
    for (unsigned step = 0; step < 5; step++)
        vector_step(&v, step, first);
    NEED(ssq_tensor_read(r->queue, v.p, bits + first, (size_t)n * sizeof(*bits),
                         d));
    NEED(ssq_queue_sync(r->queue));
    vector_close(&v);
}

static void test_shards(const struct rig *r, ssq_dtype d)
{
    uint16_t whole[1000], parts[1000];
    const int64_t cuts[] = {0, 1, 333, 702, 1000};

    shard(r, d, "w", 0, 0, 1000, 0, whole);
    for (int i = 0; i < 4; i++)
        shard(r, d, "w", 0, cuts[i], cuts[i + 1] - cuts[i], 0, parts);
    tap_ok(memcmp(whole, parts, sizeof(whole)) == 0,
           "%s: %s: 4 shards draw what the whole draws", r->name,
           ssq_dtype_name(d));
    shard(r, d, "v", 0, 0, 1000, 0, parts);
    tap_ok(memcmp(whole, parts, sizeof(whole)) != 0,
           "%s: %s: another name draws other numbers", r->name,
           ssq_dtype_name(d));
    shard(r, d, "w", 1, 0, 1000, 0, parts);
    tap_ok(memcmp(whole, parts, sizeof(whole)) != 0,
           "%s: %s: another seed draws other numbers", r->name,
           ssq_dtype_name(d));
    shard(r, d, "w", 0, 0, 1000, UINT64_C(1) << 32, parts);
    tap_ok(memcmp(whole, parts, sizeof(whole)) != 0,
           "%s: %s: element 2^32 + i is not element i", r->name,
           ssq_dtype_name(d));
}

/* Each of two steps with equal inputs draws anew. */
static void test_steps(const struct rig *r)
{
    ssq_optimizer_options o = sgd_options(SSQ_MASTER_NONE, 1.0);
    uint16_t a[512], b[512];
    struct vector v;

    vector_open(&v, r, SSQ_BF16, 512, "w", &o);
    for (int i = 0; i < 2; i++) {
        fill(r, v.p, 1.0);
        fill(r, v.g, -0x1p-8);
        NEED(ssq_optimizer_step(r->queue, v.o, NULL));
        NEED(ssq_tensor_read(r->queue, v.p, i == 0 ? a : b, sizeof(a),
                             SSQ_BF16));
    }
    NEED(ssq_queue_sync(r->queue));
    tap_ok(memcmp(a, b, sizeof(a)) != 0, "%s: another step draws other numbers",
           r->name);
    vector_close(&v);
}

/* ---- eps ---- */

/* A gradient of 0: 1e-8 is 0 in f16, where 0 / (0 + eps) would be NaN. */
static void test_eps(const struct rig *r, const char *kind,
                     const struct train_storage *s)
{
    ssq_optimizer_options o = train_options(kind, s);
    struct train t;
    float p[33], start[33];
    bool same = true;

    o.weight_decay = 0.0;
    o.momentum = 0.0;
    o.use_nvlamb = strcmp(kind, "lamb") == 0; /* |p| / |u|, u is 0 */
    train_open(&t, r, kind, s, &o);
    NEED(ssq_tensor_read(r->queue, t.param[2], start, sizeof(start), SSQ_F32));
    for (int k = 0; k < 3; k++)
        fill(r, t.grad[k], 0.0);
    NEED(ssq_optimizer_step(r->queue, t.o, NULL));
    NEED(ssq_optimizer_step(r->queue, t.o, NULL));
    NEED(ssq_tensor_read(r->queue, t.param[2], p, sizeof(p), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    for (int i = 0; i < 33; i++)
        same = same && p[i] == start[i];
    tap_ok(same, "%s: %s, %s: gradients of 0 move nothing", r->name, kind,
           s->name);
    train_close(&t);
}

/* Equal gradients, so that the variance of a centered rmsprop vanishes: it is
 * rounded to both sides of 0, and torch's root of it is NaN. */
static void test_variance(const struct rig *r)
{
    const struct train_storage *s = &storages[0];
    ssq_optimizer_options o = train_options("rmsprop", s);
    struct train t;
    float p[130];
    bool finite = true;

    o.momentum = 0.0;
    o.weight_decay = 0.0;
    o.alpha = 0.3;
    train_open(&t, r, "rmsprop", s, &o);
    train_send(&t, t.grad, 1, 1.1, FLAW_NONE);
    for (int step = 0; step < 60; step++)
        NEED(ssq_optimizer_step(r->queue, t.o, NULL));
    NEED(ssq_tensor_read(r->queue, t.param[0], p, sizeof(p), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    for (int i = 0; i < 130; i++)
        finite = finite && isfinite(p[i]);
    tap_ok(finite,
           "%s: a centered rmsprop whose variance vanishes stays finite",
           r->name);
    train_close(&t);
}

/* ---- flat masters ---- */

static void test_flat(const struct rig *r, const struct train_storage *s)
{
    ssq_optimizer_options o = train_options("adamw", s);
    const ssq_tensor *flat = NULL, *a = NULL, *b = NULL;
    struct train t, u;
    float host[130], model[130], part[33];
    bool same = true;

    o.flat_master = true;
    train_open(&t, r, "adamw", s, &o);
    o.flat_master = false;
    train_open(&u, r, "adamw", s, &o);
    core_status(ssq_optimizer_master(t.o, NULL, NULL, &flat), SSQ_ERR_INVALID,
                "optimizer_master: |before the first",
                "%s: %s: there is no master before the first use", r->name,
                s->name);
    NEED(ssq_optimizer_model_to_master(r->queue, t.o));
    NEED(ssq_optimizer_master(t.o, NULL, NULL, &flat));
    NEED(ssq_optimizer_master(t.o, NULL, "a", &a));
    NEED(ssq_optimizer_master(t.o, NULL, "b", &b));
    tap_ok(ssq_tensor_rank(flat) == 1 && ssq_tensor_elements(flat) == 130 &&
               ssq_tensor_elements(b) == 33 && ssq_tensor_rank(a) == 2,
           "%s: %s: the default group's flat master has its 130 elements",
           r->name, s->name);
    train_step(&t, NULL, 0, 1.0, FLAW_NONE);
    train_step(&u, NULL, 0, 1.0, FLAW_NONE);
    NEED(ssq_tensor_read(r->queue, flat, host, sizeof(host), SSQ_F32));
    NEED(ssq_optimizer_master(u.o, NULL, "a", &a));
    NEED(ssq_tensor_read(r->queue, a, model, sizeof(model), SSQ_F32));
    NEED(ssq_tensor_read(r->queue, b, part, sizeof(part), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    for (int i = 0; i < 130; i++)
        same = same && host[i] == model[i];
    tap_ok(same, "%s: %s: a flat master steps as single ones do", r->name,
           s->name);
    /* model to master and back */
    NEED(ssq_tensor_write(r->queue, t.param[0], model, sizeof(model), SSQ_F32));
    NEED(ssq_optimizer_model_to_master(r->queue, t.o));
    NEED(ssq_tensor_read(r->queue, flat, host, sizeof(host), SSQ_F32));
    NEED(ssq_tensor_read(r->queue, t.param[0], model, sizeof(model), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    tap_ok(memcmp(host, model, sizeof(host)) == 0,
           "%s: %s: model_to_master copies the model", r->name, s->name);
    for (int i = 0; i < 130; i++)
        host[i] = (float)i / 8.0f;
    NEED(ssq_tensor_write(r->queue, flat, host, sizeof(host), SSQ_F32));
    NEED(ssq_optimizer_master_to_model(r->queue, t.o));
    NEED(ssq_tensor_read(r->queue, t.param[0], model, sizeof(model), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    tap_ok(memcmp(host, model, sizeof(host)) == 0,
           "%s: %s: master_to_model copies the master", r->name, s->name);
    train_close(&t);
    train_close(&u);
}

static void test_no_master(const struct rig *r)
{
    const ssq_tensor *m = NULL;
    struct train t;

    for (int s = 3; s < 5; s++) {
        ssq_optimizer_options o = train_options("sgd", &storages[s]);

        train_open(&t, r, "sgd", &storages[s], &o);
        NEED(ssq_optimizer_model_to_master(r->queue, t.o));
        core_status(ssq_optimizer_master(t.o, NULL, "a", &m), SSQ_ERR_INVALID,
                    s == 3 ? "split" : "none",
                    "%s: %s: no float32 master to hand out", r->name,
                    storages[s].name);
        core_status(ssq_optimizer_master(t.o, NULL, "c", &m), SSQ_ERR_NOT_FOUND,
                    "no parameter c", "%s: %s: no such master", r->name,
                    storages[s].name);
        train_close(&t);
    }
}

int main(void)
{
    static const double parts[] = {0.001, 0.25, 0.5, 0.9};

    test_words();
    for (size_t d = 0; d < core_device_count(); d++) {
        struct rig r = rig_open(core_device(d));

        test_split(&r);
        for (int i = 0; i < 4; i++) {
            test_mean(&r, SSQ_F16, parts[i]);
            test_mean(&r, SSQ_BF16, parts[i]);
        }
        test_shards(&r, SSQ_F16);
        test_shards(&r, SSQ_BF16);
        test_steps(&r);
        for (int k = 0; k < KINDS; k++)
            for (int s = 0; s < STORAGES; s++)
                if (train_tries(&r, k, s))
                    test_eps(&r, kinds[k], &storages[s]);
        test_variance(&r);
        for (int s = 0; s < 3; s++)
            test_flat(&r, &storages[s]);
        test_no_master(&r);
        rig_close(&r);
    }
    return tap_done(1 + 2 * (2 + 8 + 8 + 1 + KINDS * STORAGES + 1 + 15 + 4));
}
