/* SPDX-License-Identifier: Apache-2.0 */
/* clip.c - ssq_clip_grad_norm: torch's formula, the bits of a step that clips,
 * and the reference's on every device. */
#include "tests/amp/train.h"

#define N 3
static const int64_t sizes[N] = {20000, 1, 777};
#define MOST 20000

static float value(int k, int64_t i)
{
    uint64_t s =
        UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)k * 1000003 + (uint64_t)i;
    (void)amp_random(&s);
    return (float)(amp_uniform(&s) - 0.5);
}

struct clip_grads {
    ssq_tensor *t[N], *norm;
    float x[N][MOST]; /* as they are stored */
};

static struct clip_grads *make(const struct rig *r, ssq_dtype dtype,
                               bool strided)
{
    struct clip_grads *g = calloc(1, sizeof(*g));
    for (int k = 0; k < N; k++) {
        ssq_tensor *whole =
            core_vector(r->device, dtype, sizes[k] * (strided ? 3 : 1));
        NEED(ssq_tensor_slice(whole, 0, 0, sizes[k] * (strided ? 3 : 1),
                              strided ? 3 : 1, &g->t[k]));
        ssq_tensor_destroy(&whole);
        for (int64_t i = 0; i < sizes[k]; i++)
            g->x[k][i] = value(k, i);
        NEED(ssq_tensor_write(r->queue, g->t[k], g->x[k], sizeof(g->x[k]),
                              SSQ_F32));
        NEED(ssq_queue_sync(r->queue));
        NEED(ssq_tensor_read(r->queue, g->t[k], g->x[k], sizeof(g->x[k]),
                             SSQ_F32));
    }
    g->norm = core_vector(r->device, SSQ_F32, 1);
    NEED(ssq_queue_sync(r->queue));
    return g;
}

static void drop(struct clip_grads *g)
{
    for (int k = 0; k < N; k++)
        ssq_tensor_destroy(&g->t[k]);
    ssq_tensor_destroy(&g->norm);
    free(g);
}

static ssq_status clip(const struct rig *r, const struct clip_grads *g,
                       double most)
{
    return ssq_clip_grad_norm(r->queue, N, (const ssq_tensor *const *)g->t,
                              most, g->norm);
}

static float norm_of(const struct rig *r, const struct clip_grads *g)
{
    float norm = -1.0f;
    NEED(ssq_tensor_read(r->queue, g->norm, &norm, sizeof(norm), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    return norm;
}

static float rounded(float x, ssq_dtype dtype)
{
    uint16_t h;
    if (dtype == SSQ_F32)
        return x;
    NEED(ssq_convert(&h, dtype, &x, SSQ_F32, 1, SSQ_ROUND_NEAREST, 0));
    NEED(ssq_convert(&x, SSQ_F32, &h, dtype, 1, SSQ_ROUND_NEAREST, 0));
    return x;
}

/* torch: total_norm, coef = max / (total_norm + 1e-6), mul where below 1. */
static void formula(const struct rig *r, ssq_dtype dtype, bool strided,
                    double most)
{
    struct clip_grads *g = make(r, dtype, strided);
    static float y[MOST];
    double square = 0.0;
    for (int k = 0; k < N; k++)
        for (int64_t i = 0; i < sizes[k]; i++)
            square += (double)g->x[k][i] * (double)g->x[k][i];
    NEED(clip(r, g, most));
    float norm = norm_of(r, g);
    volatile float below = norm + 1e-6f;
    volatile float quotient = (float)most / below;
    float coef = quotient < 1.0f ? quotient : 1.0f;
    size_t wrong = 0;
    for (int k = 0; k < N; k++) {
        NEED(ssq_tensor_read(r->queue, g->t[k], y, sizeof(y), SSQ_F32));
        NEED(ssq_queue_sync(r->queue));
        for (int64_t i = 0; i < sizes[k]; i++) {
            volatile float want = g->x[k][i] * coef;
            wrong += rounded(want, dtype) != y[i];
        }
    }
    /* terms are rounded, and 8 + 8 + 1 levels of sums */
    tap_ok(wrong == 0 && fabs((double)norm - sqrt(square)) <=
                             sqrt(square) * 0x1p-24 * (6 + 80),
           "%s: %s%s clipped to %g: norm %g, all elements are torch's", r->name,
           ssq_dtype_name(dtype), strided ? ", strided," : "", most,
           (double)norm);
    drop(g);
}

/* Unscale, clip and step are the step that clips. */
static void as_the_step(const struct rig *r, const char *kind)
{
    const struct train_storage *s = &storages[0];
    struct train_image i[2];
    float norm[2];
    for (int way = 0; way < 2; way++) {
        ssq_optimizer_options o = train_options(kind, s);
        ssq_scaler_options fixed = rig_preset("fixed");
        struct train t;
        fixed.init_scale = 1000.0; /* 1 / scale is rounded */
        ssq_scaler *scaler = rig_scaler(r, NULL, &fixed);
        ssq_tensor *total = core_vector(r->device, SSQ_F32, 1);
        o.clip_norm = way == 0 ? 0.5 : 0.0;
        train_open(&t, r, kind, s, &o);
        for (unsigned step = 0; step < 3; step++) {
            const ssq_tensor *const *grads = (const ssq_tensor *const *)t.grad;
            train_send(&t, t.grad, step, 1000.0, FLAW_NONE);
            if (way == 1) {
                NEED(ssq_scaler_unscale(r->queue, scaler, TRAIN_PARAMS, grads,
                                        grads));
                NEED(ssq_clip_grad_norm(r->queue, TRAIN_PARAMS, grads, 0.5,
                                        total));
            }
            NEED(ssq_optimizer_step(r->queue, t.o, scaler));
            NEED(update_used(r->queue, scaler));
        }
        if (way == 0)
            NEED(ssq_optimizer_norm(r->queue, t.o, &norm[0], NULL));
        else
            NEED(ssq_tensor_read(r->queue, total, &norm[1], sizeof(norm[1]),
                                 SSQ_F32));
        i[way] = image_take(&t);
        train_close(&t);
        ssq_tensor_destroy(&total);
        ssq_scaler_destroy(&scaler);
    }
    tap_ok(image_equal(&i[0], &i[1]) &&
               memcmp(&norm[0], &norm[1], sizeof(norm[0])) == 0,
           "%s: %s: unscale, clip_grad_norm and step have the bits of "
           "clip_norm; norm %g",
           r->name, kind, (double)norm[1]);
    image_free(&i[0]);
    image_free(&i[1]);
}

static void special(const struct rig *r)
{
    struct clip_grads *g = make(r, SSQ_F32, false);
    const float nan = (float)NAN, inf = (float)INFINITY;
    float x[777], norm;
    ssq_tensor *first = NULL;
    NEED(ssq_tensor_slice(g->t[2], 0, 0, 1, 1, &first));
    NEED(clip(r, g, (double)INFINITY));
    norm = norm_of(r, g);
    NEED(ssq_tensor_read(r->queue, g->t[2], x, sizeof(x), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    tap_ok(norm > 40.0f && memcmp(x, g->x[2], sizeof(x)) == 0,
           "%s: INFINITY only measures", r->name);
    NEED(ssq_tensor_write(r->queue, first, &nan, sizeof(nan), SSQ_F32));
    NEED(clip(r, g, 1.0));
    norm = norm_of(r, g);
    NEED(ssq_tensor_read(r->queue, g->t[2], x, sizeof(x), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    tap_ok(isnan(norm) && isnan(x[0]) && x[1] == g->x[2][1],
           "%s: a norm of NaN clips nothing", r->name);
    NEED(ssq_tensor_write(r->queue, first, &inf, sizeof(inf), SSQ_F32));
    NEED(clip(r, g, 1.0));
    norm = norm_of(r, g);
    NEED(ssq_tensor_read(r->queue, g->t[2], x, sizeof(x), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    tap_ok(isinf(norm) && isnan(x[0]) && x[1] == 0.0f,
           "%s: an infinite one leaves 0 and NaN", r->name);
    NEED(ssq_clip_grad_norm(r->queue, 0, NULL, 1.0, g->norm));
    tap_ok(norm_of(r, g) == 0.0f, "%s: no gradients have the norm 0", r->name);
    NEED(ssq_clip_grad_norm(r->queue, 1, (const ssq_tensor *const *)g->t, 1e-3,
                            NULL));
    ssq_tensor_destroy(&first);
    drop(g);
}

static void captured(const struct rig *r)
{
    struct clip_grads *g = make(r, SSQ_F32, false);
    ssq_graph *graph = NULL;
    NEED(ssq_graph_begin(r->queue));
    NEED(clip(r, g, 8.0));
    NEED(ssq_graph_end(r->queue, &graph));
    NEED(clip(r, g, (double)INFINITY));
    float before = norm_of(r, g);
    NEED(ssq_graph_launch(r->queue, graph));
    float of = norm_of(r, g);
    NEED(ssq_graph_launch(r->queue, graph));
    float after = norm_of(r, g);
    tap_ok(before == of && after < 8.00001f && after > 7.9999f,
           "%s: captured and launched: %g becomes %g", r->name, (double)of,
           (double)after);
    ssq_graph_destroy(&graph);
    drop(g);
}

static void refusals(const struct rig *r)
{
    struct clip_grads *g = make(r, SSQ_F32, false);
    const ssq_tensor *twice[] = {g->t[0], g->t[0]}, *none = NULL;
    const ssq_tensor *one = g->t[1];
#define REFUSED(CALL, PARTS)                                                   \
    core_status(CALL, SSQ_ERR_INVALID, PARTS, "%s: refused: %s", r->name, PARTS)
    REFUSED(clip(r, g, 0.0), "clip_grad_norm: max_norm is 0");
    REFUSED(clip(r, g, -1.0), "max_norm is -1");
    REFUSED(clip(r, g, (double)NAN), "max_norm is");
    REFUSED(ssq_clip_grad_norm(r->queue, 2, twice, 1.0, g->norm),
            "grads[0] overlaps grads[1]");
    REFUSED(ssq_clip_grad_norm(r->queue, 1, &none, 1.0, g->norm),
            "grads[0] is NULL");
    REFUSED(ssq_clip_grad_norm(r->queue, 1, NULL, 1.0, g->norm),
            "grads is NULL, n is 1");
    REFUSED(ssq_clip_grad_norm(r->queue, 1, &one, 1.0, g->t[0]),
            "norm is [20000], expected one element");
    REFUSED(ssq_clip_grad_norm(r->queue, 1, &one, 1.0, one),
            "norm overlaps grads[0]");
    REFUSED(ssq_clip_grad_norm(NULL, 1, &one, 1.0, NULL), "queue is NULL");
    drop(g);
}

/* The same bits on all devices. */
static void everywhere(const struct rig *rigs, size_t n)
{
    static float want[N][MOST], got[MOST];
    for (size_t d = 0; d < n; d++) {
        struct clip_grads *g = make(&rigs[d], SSQ_F32, false);
        size_t same = 0;
        NEED(clip(&rigs[d], g, 3.0));
        for (int k = 0; k < N; k++) {
            size_t bytes = (size_t)sizes[k] * sizeof(float);
            NEED(ssq_tensor_read(rigs[d].queue, g->t[k], d == 0 ? want[k] : got,
                                 sizeof(got), SSQ_F32));
            NEED(ssq_queue_sync(rigs[d].queue));
            same += d == 0 || memcmp(want[k], got, bytes) == 0;
        }
        if (d > 0)
            tap_ok(same == N, "%s: clipped to the bits of the reference",
                   rigs[d].name);
        drop(g);
    }
}

int main(void)
{
    static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};
    struct rig rigs[CORE_MOST];
    size_t n = core_device_count();
    for (size_t d = 0; d < n; d++) {
        rigs[d] = rig_open(core_device(d));
        for (int k = 0; k < 3; k++) {
            formula(&rigs[d], dtypes[k], false, 1.0);
            formula(&rigs[d], dtypes[k], true, 0.001);
        }
        formula(&rigs[d], SSQ_F32, false, 1e6);
        for (int k = 0; k < KINDS; k++)
            if (strcmp(kinds[k], "lamb") != 0)
                as_the_step(&rigs[d], kinds[k]);
        special(&rigs[d]);
        captured(&rigs[d]);
        refusals(&rigs[d]);
    }
    everywhere(rigs, n);
    for (size_t d = 0; d < n; d++)
        rig_close(&rigs[d]);
    return tap_done(2 * (7 + 5 + 4 + 1 + 9) + 1);
}
