/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_norm.c - the global norm, and clipping by it. */
#include "tests/amp/train.h"

#include "conformance/bounds.h"

static float norm_of(const struct rig *r, ssq_optimizer *o)
{
    float norm = -1.0f;

    NEED(ssq_optimizer_norm(r->queue, o, &norm, NULL));
    return norm;
}

/* Two float32 gradients of n and 100 elements, all of value x * scale. */
static void test_norm(const struct rig *r, int64_t n, double x, double scale)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_scaler *scaler = train_fixed(r, scale);
    ssq_optimizer *opt = NULL;
    const int64_t sizes[2] = {n, 100};
    float *g = malloc((size_t)(n + 100) * sizeof(*g));
    double squares = 0.0, want, chain;

    o.clip_norm = (double)INFINITY;
    NEED(ssq_optimizer_create(r->device, "sgd", &o, &opt));
    for (int k = 0; k < 2; k++) {
        ssq_tensor *p = core_vector(r->device, SSQ_F32, sizes[k]);
        ssq_tensor *grad = core_vector(r->device, SSQ_F32, sizes[k]);

        for (int64_t i = 0; i < sizes[k]; i++) {
            g[i] = (float)(x * scale * (1.0 + 0.5 * train_gradient(1, k, i)));
            squares += ((double)g[i] / scale / x) * ((double)g[i] / scale / x);
        }
        NEED(ssq_tensor_write(r->queue, grad, g, (size_t)(n + 100) * sizeof(*g),
                              SSQ_F32));
        NEED(ssq_tensor_write(r->queue, p, g, (size_t)(n + 100) * sizeof(*g),
                              SSQ_F32));
        NEED(ssq_queue_sync(r->queue));
        NEED(ssq_optimizer_add(opt, k == 0 ? "p" : "q", p, grad, NULL));
        ssq_tensor_destroy(&p);
        ssq_tensor_destroy(&grad);
    }
    NEED(ssq_optimizer_check(r->queue, opt, scaler));
    want = x * sqrt(squares);
    /* ssq_norm's bound, (chain + 2 + 8) / 2 + 1 roundings: 64 terms and a tree
     * of 8 for a chunk, and a second such fold for the partials */
    chain = 2.0 * (64.0 + 8.0);
    tap_ok(fabs((double)norm_of(r, opt) - want) <=
               ((chain + 10.0) / 2.0 + 1.0) * U_F32 * want,
           "%s: the norm of %lld elements near %g, scale %g, is %.9g (%.9g)",
           r->name, (long long)n + 100, x, scale, (double)norm_of(r, opt),
           want);
    ssq_optimizer_destroy(&opt);
    ssq_scaler_destroy(&scaler);
    free(g);
}

/* The norm of one gradient is ssq_norm's, bit for bit. */
static void test_norm_op(const struct rig *r)
{
    const struct train_storage *s = &storages[0];
    ssq_optimizer_options o = train_options("sgd", s);
    struct train t;
    ssq_tensor *y = core_vector(r->device, SSQ_F32, 1);
    ssq_norm_args args = SSQ_NORM_INIT;
    float want = 0.0f, got;
    static const float none[33];

    o.clip_norm = (double)INFINITY;
    train_open(&t, r, "sgd", s, &o);
    train_send(&t, t.grad, 5, 1.0, FLAW_NONE);
    NEED(ssq_tensor_write(r->queue, t.grad[2], none, sizeof(none), SSQ_F32));
    NEED(ssq_optimizer_check(r->queue, t.o, NULL));
    args.x = t.grad[0];
    args.y = y;
    NEED(ssq_norm(r->queue, &args));
    NEED(ssq_tensor_read(r->queue, y, &want, sizeof(want), SSQ_F32));
    got = norm_of(r, t.o);
    tap_ok(got == want && got > 1.0f, "%s: the norm is ssq_norm's: %a and %a",
           r->name, (double)got, (double)want);
    train_close(&t);
    ssq_tensor_destroy(&y);
}

/* ---- gradients of all magnitudes ---- */

#define MIXED 40007 /* two chunks of a norm, and an odd part of a third */

/* Element i, and what it is counted as. Neighbours are alike for thousands of
 * elements: of one size; zeros; of one size except for a few; of one size up to
 * the end. small and large are the ends of a dtype. */
static float mixed(int i, float small, float large)
{
    if (i >= 3000 && i < 9000)
        return i % 2 == 0 ? 0.0f : -0.0f;
    if (i == 9500 || i == 16385 || i == 24000)
        return small;
    if (i == 12345 || i == 24001)
        return -large;
    return (float)(1 + i % 7) * (i % 3 == 0 ? -0.25f : 0.5f);
}

/* A gradient of dtype, which sgd checks with the loss scale 2^30: its norm is
 * ssq_norm's of the same values in float32, and its statistics are counts. */
static void test_mixed(const struct rig *r, ssq_dtype dtype, float small,
                       float large)
{
    static float g[MIXED], x[MIXED];
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_statistics count = SSQ_STATISTICS_INIT;
    ssq_scaler *scaler = train_fixed(r, 0x1p30);
    ssq_optimizer *opt = NULL;
    ssq_tensor *p = core_vector(r->device, dtype, MIXED),
               *grad = core_vector(r->device, dtype, MIXED),
               *wide = core_vector(r->device, SSQ_F32, MIXED),
               *y = core_vector(r->device, SSQ_F32, 1);
    float want = 0.0f, got;

    for (int i = 0; i < MIXED; i++) {
        g[i] = mixed(i, small, large);
        x[i] = g[i] * 0x1p-30f;
    }
    o.clip_norm = (double)INFINITY;
    o.statistics = true;
    NEED(ssq_optimizer_create(r->device, "sgd", &o, &opt));
    NEED(ssq_tensor_write(r->queue, grad, g, sizeof(g), SSQ_F32));
    NEED(ssq_tensor_write(r->queue, wide, x, sizeof(x), SSQ_F32));
    NEED(ssq_optimizer_add(opt, "p", p, grad, NULL));
    NEED(ssq_optimizer_check(r->queue, opt, scaler));
    NEED(ssq_norm(r->queue, SSQ_NORM(.x = wide, .y = y)));
    NEED(ssq_tensor_read(r->queue, y, &want, sizeof(want), SSQ_F32));
    NEED(ssq_optimizer_statistics(r->queue, opt, "p", &count));
    got = norm_of(r, opt);
    tap_ok(got == want && got > 0.0f,
           "%s: %s: the norm of all magnitudes is ssq_norm's: %a and %a",
           r->name, ssq_dtype_name(dtype), (double)got, (double)want);
    tap_ok(count.zeros == 6000 && count.subnormals == 3 &&
               count.max_exponent == ilogbf(large),
           "%s: %s: %llu are 0, %llu subnormal, the largest has exponent %d",
           r->name, ssq_dtype_name(dtype), (unsigned long long)count.zeros,
           (unsigned long long)count.subnormals, count.max_exponent);
    ssq_optimizer_destroy(&opt);
    ssq_scaler_destroy(&scaler);
    ssq_tensor_destroy(&p);
    ssq_tensor_destroy(&grad);
    ssq_tensor_destroy(&wide);
    ssq_tensor_destroy(&y);
}

/* The fixed order of kernels/reduce/norm.h, said again: chunks of 16384, 256
 * lanes ascending, a halving tree. Returns how many partials n terms became. */
static size_t fold(float *x, size_t n)
{
    size_t chunks = 0;

    for (size_t at = 0; at < n; at += 16384, chunks++) {
        size_t end = n - at < 16384 ? n - at : 16384;
        volatile float lane[256] = {0};

        for (size_t i = 0; i < end; i++)
            lane[i % 256] = lane[i % 256] + x[at + i];
        for (int s = 128; s >= 1; s /= 2)
            for (int l = 0; l < s; l++)
                lane[l] = lane[l] + lane[l + s];
        x[chunks] = lane[0];
    }
    return chunks;
}

#define ORDER_TENSORS 4

static const int64_t order_sizes[ORDER_TENSORS] = {40000, 5, 16384, 777};

/* The norm that the order gives; sets the gradients. */
static float order_want(const struct rig *r, ssq_tensor *const *grad,
                        unsigned seed)
{
    float *g = malloc(40000 * sizeof(*g)), partial[6];
    size_t n = 0;

    for (int k = 0; k < ORDER_TENSORS; k++) {
        size_t parts;

        for (int64_t i = 0; i < order_sizes[k]; i++)
            g[i] = (float)train_gradient(seed, k, i) * 1.1f;
        NEED(ssq_tensor_write(r->queue, grad[k], g, 40000 * sizeof(*g),
                              SSQ_F32));
        NEED(ssq_queue_sync(r->queue));
        for (int64_t i = 0; i < order_sizes[k]; i++)
            g[i] = g[i] * g[i];
        parts = fold(g, (size_t)order_sizes[k]);
        for (size_t i = 0; i < parts; i++)
            partial[n++] = g[i];
    }
    (void)fold(partial, n);
    free(g);
    return sqrtf(partial[0]);
}

/* The norm of several tensors, bit for bit: each begins a chunk. Eight times,
 * since the root may hide a difference in the last place. */
static void test_norm_order(const struct rig *r)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_optimizer *opt = NULL;
    ssq_tensor *grad[ORDER_TENSORS];
    int same = 0;

    o.clip_norm = (double)INFINITY;
    NEED(ssq_optimizer_create(r->device, "sgd", &o, &opt));
    for (int k = 0; k < ORDER_TENSORS; k++) {
        ssq_tensor *p = core_vector(r->device, SSQ_F32, order_sizes[k]);
        const char name[2] = {(char)('a' + k), '\0'};

        grad[k] = core_vector(r->device, SSQ_F32, order_sizes[k]);
        ssq_fill_args zeros = SSQ_FILL_INIT;
        zeros.x = p;
        NEED(ssq_fill(r->queue, &zeros));
        NEED(ssq_optimizer_add(opt, name, p, grad[k], NULL));
        ssq_tensor_destroy(&p);
    }
    for (unsigned seed = 0; seed < 8; seed++) {
        float want = order_want(r, grad, seed);

        NEED(ssq_optimizer_check(r->queue, opt, NULL));
        same += norm_of(r, opt) == want;
        NEED(ssq_optimizer_step(r->queue, opt, NULL));
    }
    tap_ok(same == 8, "%s: %d of 8 norms of 4 tensors have the fixed order",
           r->name, same);
    for (int k = 0; k < ORDER_TENSORS; k++)
        ssq_tensor_destroy(&grad[k]);
    ssq_optimizer_destroy(&opt);
}

/* Clipping in the step, and torch's three passes: unscale, multiply by the
 * coefficient, step. The host computes in float32 as torch does. */
static void test_clip(const struct rig *r, const char *kind, double clip,
                      double scale)
{
    const struct train_storage *s = &storages[0];
    ssq_optimizer_options o = train_options(kind, s), plain = o;
    ssq_scaler *scaler = train_fixed(r, scale);
    struct train t, u;
    struct train_image a, b;
    bool clipped = false;

    o.clip_norm = clip;
    train_open(&t, r, kind, s, &o);
    train_open(&u, r, kind, s, &plain);
    for (unsigned step = 0; step < 3; step++) {
        float coef, g[130];

        train_step(&t, scaler, step, scale, FLAW_NONE);
        coef = (float)clip / (norm_of(r, t.o) + 1e-6f);
        clipped = clipped || coef < 1.0f;
        coef = coef < 1.0f ? coef : 1.0f;
        for (int k = 0; k < TRAIN_PARAMS; k++) {
            for (int64_t i = 0; i < u.n[k]; i++) {
                float scaled = (float)(scale * train_gradient(step, k, i));
                float inverse = 1.0f / (float)scale;
                volatile float unscaled = scaled * inverse;
                g[i] = unscaled * coef;
            }
            NEED(ssq_tensor_write(r->queue, u.grad[k], g, sizeof(g), SSQ_F32));
            NEED(ssq_queue_sync(r->queue));
        }
        NEED(ssq_optimizer_step(r->queue, u.o, NULL));
    }
    a = image_take(&t);
    b = image_take(&u);
    tap_ok(image_equal(&a, &b) && clipped == (clip < 5.0),
           "%s: %s, scale %g: clip %g in the step is torch's order bit for bit",
           r->name, kind, scale, clip);
    image_free(&a);
    image_free(&b);
    train_close(&t);
    train_close(&u);
    ssq_scaler_destroy(&scaler);
}

/* LAMB needs the norm for itself: clip_norm set to 0 does not end it. */
static void test_lamb(const struct rig *r)
{
    const struct train_storage *s = &storages[0];
    ssq_optimizer_options o = train_options("lamb", s);
    struct train t, u;
    struct train_image a, b;

    o.max_grad_norm = 0.5;
    train_open(&t, r, "lamb", s, &o);
    train_open(&u, r, "lamb", s, &o);
    NEED(ssq_optimizer_model_to_master(r->queue, t.o));
    NEED(ssq_optimizer_set(r->queue, t.o, NULL, SSQ_HYPER_CLIP_NORM, 0.0));
    train_step(&t, NULL, 0, 1.0, FLAW_NONE);
    train_step(&u, NULL, 0, 1.0, FLAW_NONE);
    a = image_take(&t);
    b = image_take(&u);
    tap_ok(image_equal(&a, &b) && norm_of(r, t.o) > 0.5f,
           "%s: lamb measures the norm without clip_norm too", r->name);
    image_free(&a);
    image_free(&b);
    train_close(&t);
    train_close(&u);
}

int main(void)
{
    for (size_t d = 0; d < core_device_count(); d++) {
        struct rig r = rig_open(core_device(d));

        test_norm(&r, 7, 300.0, 65536.0);
        test_norm(&r, 40000, 1.0, 1.0);
        test_norm(&r, 40000, 1e30, 1.0);
        test_norm(&r, 40000, 1e-30, 65536.0);
        test_norm_op(&r);
        test_norm_order(&r);
        test_mixed(&r, SSQ_F32, 0x1p-130f, 0x1p120f);
        test_mixed(&r, SSQ_F16, 0x1p-24f, 0x1p15f);
        test_mixed(&r, SSQ_BF16, 0x1p-130f, 0x1p120f);
        test_clip(&r, "sgd", 1.0, 1024.0);
        test_clip(&r, "sgd", 1.0, 1000.0);
        test_clip(&r, "adamw", 0.25, 3e5);
        test_clip(&r, "sgd", 1e-46, 1024.0); /* below float32's range */
        test_clip(&r, "rmsprop", 1e6, 0x1p30);
        test_lamb(&r);
        rig_close(&r);
    }
    return tap_done(2 * (4 + 2 + 6 + 4 + 1));
}
