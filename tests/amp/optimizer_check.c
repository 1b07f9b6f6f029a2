/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_check.c - verdict, report, statistics and unscale. */
#include "tests/amp/train.h"

/* ---- one bad element among many tensors ---- */

#define MANY       300
#define COUNT_EACH 5

struct many {
    ssq_optimizer *o;
    ssq_tensor *grad[MANY];
    ssq_scaler *scaler;
};

static void many_open(struct many *m, const struct rig *r, ssq_dtype d)
{
    static const float zeros[COUNT_EACH];
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    char name[32];

    NEED(ssq_optimizer_create(r->device, "sgd", &o, &m->o));
    for (int i = 0; i < MANY; i++) {
        ssq_tensor *p = core_vector(r->device, d, COUNT_EACH);

        m->grad[i] = core_vector(r->device, d, COUNT_EACH);
        NEED(ssq_tensor_write(r->queue, p, zeros, sizeof(zeros), SSQ_F32));
        NEED(ssq_tensor_write(r->queue, m->grad[i], zeros, sizeof(zeros),
                              SSQ_F32));
        snprintf(name, sizeof(name), "layer%d.weight", i);
        NEED(ssq_optimizer_add(m->o, name, p, m->grad[i], NULL));
        ssq_tensor_destroy(&p);
    }
    NEED(ssq_queue_sync(r->queue));
    m->scaler = train_fixed(r, 1.0);
}

static void many_close(struct many *m)
{
    ssq_optimizer_destroy(&m->o);
    ssq_scaler_destroy(&m->scaler);
    for (int i = 0; i < MANY; i++)
        ssq_tensor_destroy(&m->grad[i]);
}

static ssq_overflow_report report(const struct rig *r, ssq_optimizer *o)
{
    ssq_overflow_report it = SSQ_OVERFLOW_REPORT_INIT;

    NEED(ssq_optimizer_overflow(r->queue, o, &it));
    return it;
}

static void test_one_bad(const struct rig *r, struct many *m, ssq_dtype d,
                         int tensor, int element, float bad)
{
    float g[COUNT_EACH] = {0};
    char name[32];
    ssq_overflow_report it;
    uint32_t t0 = 0, t1 = 0;

    snprintf(name, sizeof(name), "layer%d.weight", tensor);
    g[element] = bad;
    NEED(ssq_tensor_write(r->queue, m->grad[tensor], g, sizeof(g), SSQ_F32));
    NEED(ssq_optimizer_check(r->queue, m->o, m->scaler));
    NEED(ssq_optimizer_norm(r->queue, m->o, NULL, &t0));
    NEED(ssq_optimizer_step(r->queue, m->o, m->scaler));
    NEED(update_used(r->queue, m->scaler));
    NEED(ssq_optimizer_norm(r->queue, m->o, NULL, &t1));
    it = report(r, m->o);
    tap_ok(t1 == t0 && rig_state(r, m->scaler).action == SSQ_SCALE_HOLD,
           "%s: %s: %f in element %d of tensor %d of %d is found", r->name,
           ssq_dtype_name(d), (double)bad, element, tensor, MANY);
    tap_ok(strcmp(it.name, name) == 0 && it.index == (uint64_t)element &&
               it.nan == isnan(bad) && it.infs == !isnan(bad) &&
               it.nans == isnan(bad) && it.tensors == 1,
           "%s: %s: and reported: %s[%llu], %u inf, %u nan", r->name,
           ssq_dtype_name(d), it.name, (unsigned long long)it.index, it.infs,
           it.nans);
    g[element] = 0.0f;
    NEED(ssq_tensor_write(r->queue, m->grad[tensor], g, sizeof(g), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
}

static void test_many(const struct rig *r, ssq_dtype d)
{
    static const int tensors[] = {0, MANY / 2 - 1, MANY - 1};
    static const int elements[] = {0, 2, COUNT_EACH - 1};
    static const float bads[] = {(float)INFINITY, -(float)INFINITY, (float)NAN};
    struct many m;
    ssq_overflow_report last, clean;
    uint32_t t0 = 0, t1 = 0;

    many_open(&m, r, d);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            test_one_bad(r, &m, d, tensors[i], elements[k], bads[(i + k) % 3]);
    NEED(ssq_optimizer_norm(r->queue, m.o, NULL, &t0));
    last = report(r, m.o);
    NEED(ssq_optimizer_step(r->queue, m.o, m.scaler));
    NEED(update_used(r->queue, m.scaler));
    NEED(ssq_optimizer_norm(r->queue, m.o, NULL, &t1));
    clean = report(r, m.o);
    tap_ok(t1 == t0 + 1 && clean.check == last.check && last.check == 9 &&
               strcmp(clean.name, last.name) == 0,
           "%s: %s: a clean check steps and keeps the last report", r->name,
           ssq_dtype_name(d));
    many_close(&m);
}

/* Several in several tensors: the first by tensor, then by element. */
static void test_counts(const struct rig *r)
{
    const struct train_storage *s = &storages[1];
    ssq_optimizer_options o = train_options("sgd", s);
    ssq_scaler *scaler = train_fixed(r, 1.0);
    struct train t;
    float g[130] = {0};
    ssq_overflow_report it;

    train_open(&t, r, "sgd", s, &o);
    train_send(&t, t.grad, 0, 1.0, FLAW_INF); /* one in "b" */
    g[7] = (float)NAN;
    g[8] = g[129] = (float)INFINITY;
    g[9] = 65520.0f; /* rounds to infinity in f16 */
    g[10] = 65519.0f;
    NEED(ssq_tensor_write(r->queue, t.grad[0], g, sizeof(g), SSQ_F32));
    NEED(ssq_optimizer_check(r->queue, t.o, scaler));
    it = report(r, t.o);
    tap_ok(strcmp(it.name, "a") == 0 && it.index == 7 && it.nan &&
               it.nans == 1 && it.infs == 4 && it.tensors == 2 && it.check == 1,
           "%s: %s[%llu] first, %u nan, %u inf in %u tensors", r->name, it.name,
           (unsigned long long)it.index, it.nans, it.infs, it.tensors);
    train_close(&t);
    ssq_scaler_destroy(&scaler);
}

/* Without a scaler a check has no verdict, but it is reported. */
static void test_without_scaler(const struct rig *r)
{
    ssq_optimizer_options o = train_options("sgd", &storages[0]);
    struct train t;

    train_open(&t, r, "sgd", &storages[0], &o);
    train_send(&t, t.grad, 0, 1.0, FLAW_INF); /* one in "b" */
    NEED(ssq_optimizer_step(r->queue, t.o, NULL));
    const ssq_overflow_report it = report(r, t.o);
    tap_ok(strcmp(it.name, "b") == 0 && it.infs == 1 && it.check == 1 &&
               train_t(&t) == 1,
           "%s: without a scaler %s is reported, and the step is made", r->name,
           it.name);
    train_close(&t);
}

/* ---- unscale ---- */

static void test_unscale_f16(const struct rig *r)
{
    ssq_optimizer_options o = train_options("sgd", &storages[1]);
    ssq_scaler *scaler = train_fixed(r, 8.0);
    struct train t;

    train_open(&t, r, "sgd", &storages[1], &o);
    train_send(&t, t.grad, 0, 8.0, FLAW_NONE);
    core_status(ssq_optimizer_unscale(r->queue, t.o, scaler), SSQ_ERR_INVALID,
                "optimizer_unscale: |f16",
                "%s: f16 gradients are not unscaled in place", r->name);
    tap_ok(ssq_optimizer_step(r->queue, t.o, scaler) == SSQ_OK,
           "%s: and the refusal leaves the step possible", r->name);
    NEED(update_used(r->queue, scaler));
    train_close(&t);
    ssq_scaler_destroy(&scaler);
}

static float rounded(float x, ssq_dtype d)
{
    uint32_t bits = 0;

    NEED(ssq_convert(&bits, d, &x, SSQ_F32, 1, SSQ_ROUND_NEAREST, 0));
    NEED(ssq_convert(&x, SSQ_F32, &bits, d, 1, SSQ_ROUND_NEAREST, 0));
    return x;
}

/* f32 and bf16: g / scale is written, rounded once. If rounding changed
 * nothing, the step that follows is the same as without unscaling. */
static void test_unscale(const struct rig *r, const struct train_storage *s,
                         double scale, bool accumulate)
{
    ssq_optimizer_options o = train_options("adamw", s);
    ssq_scaler *scaler = train_fixed(r, scale);
    struct train t, u;
    struct train_image a, b;
    float g[130];
    bool same = true;

    train_open(&t, r, "adamw", s, &o);
    train_open(&u, r, "adamw", s, &o);
    train_send(&t, t.grad, 0, scale, FLAW_NONE);
    if (accumulate)
        for (int i = 0; i < 2; i++)
            NEED(ssq_optimizer_accumulate(r->queue, t.o, 0.5));
    train_step(&u, scaler, 0, scale, FLAW_NONE);
    NEED(ssq_optimizer_unscale(r->queue, t.o, scaler));
    for (int k = 0; k < TRAIN_PARAMS; k++) {
        NEED(ssq_tensor_read(r->queue, t.grad[k], g, sizeof(g), SSQ_F32));
        NEED(ssq_queue_sync(r->queue));
        for (int64_t i = 0; i < t.n[k]; i++) {
            float scaled = (float)(scale * train_gradient(0, k, i));
            float inverse = (float)(1.0 / scale);
            float want = rounded(rounded(scaled, s->grad) * inverse, s->grad);
            same = same && g[i] == want;
        }
    }
    tap_ok(same, "%s: %s: unscale writes g / %g%s", r->name, s->name, scale,
           accumulate ? " of the accumulated mean" : "");
    NEED(ssq_optimizer_step(r->queue, t.o, scaler));
    NEED(update_used(r->queue, scaler));
    train_step(&t, scaler, 1, scale, FLAW_NONE);
    train_step(&u, scaler, 1, scale, FLAW_NONE);
    a = image_take(&t);
    b = image_take(&u);
    if (scale == 1024.0) /* a power of two: nothing was rounded */
        tap_ok(image_equal(&a, &b),
               "%s: %s: and this step and the next are the plain ones%s",
               r->name, s->name, accumulate ? ", accumulated" : "");
    image_free(&a);
    image_free(&b);
    train_close(&t);
    train_close(&u);
    ssq_scaler_destroy(&scaler);
}

/* Non-finite gradients are written too, and the step skips. */
static void test_unscale_bad(const struct rig *r)
{
    ssq_optimizer_options o = train_options("adamw", &storages[0]);
    ssq_scaler *scaler = train_fixed(r, 4.0);
    struct train t;
    float g[33];

    train_open(&t, r, "adamw", &storages[0], &o);
    train_send(&t, t.grad, 3, 4.0, FLAW_NAN);
    NEED(ssq_optimizer_unscale(r->queue, t.o, scaler));
    NEED(ssq_optimizer_step(r->queue, t.o, scaler));
    NEED(update_used(r->queue, scaler));
    NEED(ssq_tensor_read(r->queue, t.grad[2], g, sizeof(g), SSQ_F32));
    tap_ok(train_t(&t) == 0 && isnan(g[3]) &&
               g[4] == (float)train_gradient(3, 2, 4),
           "%s: unscale writes NaN, and the step skips", r->name);
    train_close(&t);
    ssq_scaler_destroy(&scaler);
}

/* ---- statistics ---- */

static ssq_statistics count(const struct train *t, const char *name)
{
    ssq_statistics s = SSQ_STATISTICS_INIT;

    NEED(ssq_optimizer_statistics(t->r->queue, t->o, name, &s));
    return s;
}

static void test_statistics(const struct rig *r, const struct train_storage *s,
                            float subnormal)
{
    ssq_optimizer_options o = train_options("sgd", s);
    ssq_scaler *scaler = train_fixed(r, 1.0);
    struct train t;
    float g[130];
    ssq_statistics a, b, all, empty;

    o.statistics = true;
    train_open(&t, r, "sgd", s, &o);
    for (int i = 0; i < 130; i++)
        g[i] = i < 10 ? 0.0f : i < 25 ? subnormal : i < 30 ? -48.0f : 0.25f;
    g[0] = -0.0f;
    NEED(ssq_tensor_write(r->queue, t.grad[0], g, sizeof(g), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    for (int i = 0; i < 33; i++)
        g[i] = i == 0 ? (float)NAN : 0.0f;
    NEED(ssq_tensor_write(r->queue, t.grad[2], g, sizeof(g), SSQ_F32));
    NEED(ssq_optimizer_check(r->queue, t.o, scaler));
    a = count(&t, "a");
    b = count(&t, "b");
    empty = count(&t, "empty");
    all = count(&t, NULL);
    tap_ok(a.elements == 130 && a.zeros == 10 && a.subnormals == 15 &&
               a.max_exponent == 5,
           "%s: %s: of %llu gradients %llu are 0, %llu subnormal, the largest "
           "has exponent %d",
           r->name, s->name, (unsigned long long)a.elements,
           (unsigned long long)a.zeros, (unsigned long long)a.subnormals,
           a.max_exponent);
    tap_ok(b.zeros == 32 && b.max_exponent == INT32_MIN &&
               empty.elements == 0 && empty.max_exponent == INT32_MIN &&
               all.zeros == 42 && all.elements == 163 && all.max_exponent == 5,
           "%s: %s: NaN is not counted, and NULL sums up", r->name, s->name);
    train_close(&t);
    ssq_scaler_destroy(&scaler);
}

/* Weights at 1, gradients of three kinds: lost in 16 bits, seen, and 0. */
static void test_rounded(const struct rig *r, const struct train_storage *s,
                         uint64_t want)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_scaler *scaler = train_fixed(r, 1.0);
    struct train t;
    float p[130], g[130];
    ssq_statistics a;

    o.lr = 0x1p-12;
    o.statistics = true;
    o.master = s->master;
    train_open(&t, r, "sgd", s, &o);
    train_send(&t, t.grad, 0, 1.0, FLAW_NONE);
    for (int i = 0; i < 130; i++) {
        p[i] = 1.0f;
        g[i] = i < 40 ? 1.0f : i < 70 ? 512.0f : 0.0f;
    }
    NEED(ssq_tensor_write(r->queue, t.param[0], p, sizeof(p), SSQ_F32));
    NEED(ssq_tensor_write(r->queue, t.grad[0], g, sizeof(g), SSQ_F32));
    NEED(ssq_optimizer_step(r->queue, t.o, scaler));
    NEED(update_used(r->queue, scaler));
    a = count(&t, "a");
    tap_ok(a.rounded_away == want, "%s: %s: %llu updates were rounded away",
           r->name, s->name, (unsigned long long)a.rounded_away);
    train_step(&t, scaler, 1, 1.0, FLAW_NAN);
    tap_ok(count(&t, NULL).rounded_away == 0,
           "%s: %s: a skipped step rounds nothing away", r->name, s->name);
    train_close(&t);
    ssq_scaler_destroy(&scaler);
}

/* Decay alone, too small for 16 bits, is an update that is lost too. */
static void test_rounded_decay(const struct rig *r)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    struct train t;
    ssq_fill_args f = SSQ_FILL_INIT;
    ssq_statistics a;

    o.weight_decay = 0x1p-4;
    o.lr = 0x1p-10;
    o.statistics = true;
    train_open(&t, r, "adamw", &storages[2], &o);
    for (int k = 0; k < TRAIN_PARAMS; k++) {
        f.x = t.grad[k];
        NEED(ssq_fill(r->queue, &f));
    }
    NEED(ssq_optimizer_step(r->queue, t.o, NULL));
    a = count(&t, "a");
    tap_ok(a.zeros == 130 && a.rounded_away >= 129,
           "%s: decay without gradients: %llu of 130 updates were rounded away",
           r->name, (unsigned long long)a.rounded_away);
    train_close(&t);
}

int main(void)
{
    for (size_t d = 0; d < core_device_count(); d++) {
        struct rig r = rig_open(core_device(d));

        test_many(&r, SSQ_F32);
        test_many(&r, SSQ_F16);
        test_many(&r, SSQ_BF16);
        test_counts(&r);
        test_without_scaler(&r);
        test_unscale_f16(&r);
        test_unscale(&r, &storages[0], 1024.0, false);
        test_unscale(&r, &storages[0], 1024.0, true);
        test_unscale(&r, &storages[0], 1000.0, false);
        test_unscale(&r, &storages[3], 1024.0, false);
        test_unscale_bad(&r);
        test_statistics(&r, &storages[0], 1e-40f);
        test_statistics(&r, &storages[1], -6e-8f);
        test_statistics(&r, &storages[2], 1e-40f);
        test_rounded(&r, &storages[0], 0);
        test_rounded(&r, &storages[1], 40);
        test_rounded(&r, &storages[2], 40);
        test_rounded(&r, &storages[3], 40);
        test_rounded_decay(&r);
        rig_close(&r);
    }
    return tap_done(2 * (3 * 19 + 2 + 2 + 7 + 1 + 6 + 8 + 1));
}
