/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_apply.c - ssq_optimizer_apply has the bits of an optimizer object
 * with float32 parameters, skips what found_inf says, and refuses misuse. */
#include "lib/core/core.h"
#include "tests/amp/train.h"

#include <math.h>

#define SCALE   1024.0
#define MOMENTS 3
#define LIMIT   ((size_t)44739242)

/** The state of training, kept by the program. */
struct own_state {
    const struct rig *r;
    const char *kind;
    ssq_optimizer_options options[2]; /* of parameters 0 and 1, and of 2 */
    ssq_tensor *param[TRAIN_PARAMS], *t[TRAIN_PARAMS];
    ssq_tensor *moment[TRAIN_PARAMS][MOMENTS];
    ssq_tensor *scale, *found;
};

static ssq_tensor *copy_of(const struct rig *r, const ssq_tensor *x, bool zero)
{
    ssq_tensor *y = NULL;
    NEED(
        ssq_tensor_create(r->device, SSQ_F32, x->view.rank, x->view.shape, &y));
    if (zero)
        NEED(ssq_fill(r->queue, SSQ_FILL(.x = y, .value = 0.0)));
    else
        NEED(ssq_copy(r->queue, SSQ_COPY(.x = x, .y = y)));
    return y;
}

/* One element, of any rank. */
static ssq_tensor *number(const struct rig *r, int rank, float value)
{
    const int64_t ones[] = {1, 1, 1};
    ssq_tensor *y = NULL;
    NEED(ssq_tensor_create(r->device, SSQ_F32, rank, ones, &y));
    NEED(ssq_fill(r->queue, SSQ_FILL(.x = y, .value = (double)value)));
    return y;
}

static void own_open(struct own_state *o, const struct train *t,
                     const char *kind, const ssq_optimizer_options *options)
{
    *o = (struct own_state){
        .r = t->r, .kind = kind, .options = {*options, *options}};
    o->options[1].lr *= 3.0;
    o->options[1].weight_decay = 0.0;
    for (int k = 0; k < TRAIN_PARAMS; k++) {
        o->param[k] = copy_of(t->r, t->param[k], false);
        o->t[k] = number(t->r, k, 0.0f);
        for (int m = 0; m < MOMENTS; m++)
            o->moment[k][m] = copy_of(t->r, t->param[k], true);
    }
    o->scale = number(t->r, 0, (float)SCALE);
    o->found = number(t->r, 2, 0.0f);
}

static void own_close(struct own_state *o)
{
    for (int k = 0; k < TRAIN_PARAMS; k++) {
        ssq_tensor_destroy(&o->param[k]);
        ssq_tensor_destroy(&o->t[k]);
        for (int m = 0; m < MOMENTS; m++)
            ssq_tensor_destroy(&o->moment[k][m]);
    }
    ssq_tensor_destroy(&o->scale);
    ssq_tensor_destroy(&o->found);
}

/* Parameters from .. from + n - 1, which have the same options. */
static ssq_status own_apply(const struct own_state *o, const struct train *t,
                            int from, size_t n, const uint32_t *steps)
{
    const ssq_tensor *params[2], *grads[2], *moments[2 * MOMENTS], *counts[2];
    for (size_t i = 0; i < n; i++) {
        params[i] = o->param[from + (int)i];
        grads[i] = t->grad[from + (int)i];
        counts[i] = o->t[from + (int)i];
        for (size_t m = 0; m < MOMENTS; m++)
            moments[m * n + i] = o->moment[from + (int)i][m];
    }
    return ssq_optimizer_apply(
        o->r->queue,
        SSQ_OPTIMIZER_APPLY(.kind = o->kind, .options = &o->options[from == 2],
                            .n = n, .params = params, .grads = grads,
                            .moments = moments, .t = steps ? NULL : counts,
                            .steps = steps ? *steps : 0, .scale = o->scale,
                            .found_inf = o->found));
}

/* A step as a program makes it; a parameter's t is counted by the program. */
static void own_step(const struct own_state *o, const struct train *t,
                     uint32_t step, bool counted)
{
    NEED(own_apply(o, t, 0, 2, counted ? NULL : &step));
    NEED(own_apply(o, t, 2, 1, counted ? NULL : &step));
    for (int k = 0; k < TRAIN_PARAMS; k++)
        NEED(
            ssq_fill(o->r->queue, SSQ_FILL(.x = o->t[k], .value = step + 1.0)));
}

/* Return how many elements differ from an optimizer object's parameters. */
static int64_t differences(const struct own_state *o, ssq_tensor *const *other)
{
    int64_t n = 0;
    for (int k = 0; k < TRAIN_PARAMS; k++) {
        float a[130], b[130];
        int64_t count = k == 0 ? 130 : k == 1 ? 0 : 33;
        NEED(ssq_tensor_read(o->r->queue, o->param[k], a, sizeof(a), SSQ_F32));
        NEED(ssq_tensor_read(o->r->queue, other[k], b, sizeof(b), SSQ_F32));
        NEED(ssq_queue_sync(o->r->queue));
        for (int64_t i = 0; i < count; i++)
            n += memcmp(&a[i], &b[i], sizeof(float)) != 0;
    }
    return n;
}

static void test_bits(const struct rig *r, const char *kind, bool counted)
{
    const struct train_storage *s = &storages[0];
    ssq_optimizer_options options = train_options(kind, s);
    ssq_scaler *scaler = train_fixed(r, SCALE);
    struct train t;
    struct own_state o;
    train_open(&t, r, kind, s, &options);
    own_open(&o, &t, kind, &options);
    for (uint32_t step = 0; step < 4; step++) {
        train_send(&t, t.grad, step, SCALE, FLAW_NONE);
        own_step(&o, &t, step, counted);
        train_step(&t, scaler, step, SCALE, FLAW_NONE);
    }
    int64_t n = differences(&o, t.param);
    tap_ok(n == 0, "%s: %s, %s: 4 steps have an optimizer's bits, %lld differ",
           r->name, kind, counted ? "t of each parameter" : "steps",
           (long long)n);
    NEED(ssq_fill(r->queue, SSQ_FILL(.x = o.found, .value = 1.0)));
    train_send(&t, t.grad, 9, SCALE, FLAW_NONE);
    own_step(&o, &t, 4, counted);
    NEED(ssq_fill(r->queue, SSQ_FILL(.x = o.found, .value = 0.0)));
    n = differences(&o, t.param);
    train_send(&t, t.grad, 10, SCALE, FLAW_NONE);
    own_step(&o, &t, 4, false);
    train_step(&t, scaler, 10, SCALE, FLAW_NONE);
    int64_t later = differences(&o, t.param);
    tap_ok(n == 0 && later == 0,
           "%s: %s: found_inf skips a step: %lld differ, %lld after the next",
           r->name, kind, (long long)n, (long long)later);
    own_close(&o);
    train_close(&t);
    ssq_scaler_destroy(&scaler);
}

/* ---- graphs ---- */

/* A launch reads t, scale and found_inf as they are then. */
static void test_captured(const struct rig *r)
{
    const struct train_storage *s = &storages[0];
    ssq_optimizer_options options = train_options("adamw", s);
    struct train t;
    struct own_state calls, launches;
    ssq_graph *graph = NULL;
    train_open(&t, r, "adamw", s, &options);
    own_open(&calls, &t, "adamw", &options);
    own_open(&launches, &t, "adamw", &options);
    NEED(ssq_graph_begin(r->queue));
    NEED(own_apply(&launches, &t, 0, 2, NULL));
    NEED(own_apply(&launches, &t, 2, 1, NULL));
    NEED(ssq_graph_end(r->queue, &graph));
    for (uint32_t step = 0; step < 4; step++) {
        const double found = step == 2 ? (double)NAN : 0.0;
        const struct own_state *both[] = {&calls, &launches};
        for (int i = 0; i < 2; i++) {
            NEED(ssq_fill(r->queue,
                          SSQ_FILL(.x = both[i]->found, .value = found)));
            NEED(ssq_fill(r->queue, SSQ_FILL(.x = both[i]->scale,
                                             .value = SCALE * (1 + step))));
            for (int k = 0; k < TRAIN_PARAMS; k++)
                NEED(ssq_fill(r->queue,
                              SSQ_FILL(.x = both[i]->t[k], .value = step)));
        }
        train_send(&t, t.grad, step, SCALE, FLAW_NONE);
        NEED(own_apply(&calls, &t, 0, 2, NULL));
        NEED(own_apply(&calls, &t, 2, 1, NULL));
        NEED(ssq_graph_launch(r->queue, graph));
        int64_t n = differences(&launches, calls.param);
        tap_ok(n == 0, "%s: step %u by a graph: %lld differ", r->name, step,
               (long long)n);
    }
    ssq_graph_destroy(&graph);
    own_close(&launches);
    own_close(&calls);
    train_close(&t);
}

/* ---- misuse ---- */

static void refused(ssq_status st, ssq_status expected, const char *text)
{
    const char *error = ssq_last_error();
    tap_ok(st == expected && strstr(error, text) != NULL, "%s: %s", text,
           st == SSQ_OK ? "accepted" : error);
}

/* A change of the good call. */
#define REFUSED(CHANGE, STATUS, TEXT)                                          \
    a = good;                                                                  \
    CHANGE;                                                                    \
    refused(ssq_optimizer_apply(r->queue, &a), STATUS, TEXT)

/* Element i of a contiguous tensor, as a vector. */
static ssq_tensor *element(const ssq_tensor *x, int64_t i)
{
    const int64_t n = ssq_tensor_elements(x);
    ssq_tensor *flat = NULL, *y = NULL;
    NEED(ssq_tensor_reshape(x, 1, &n, &flat));
    NEED(ssq_tensor_slice(flat, 0, i, i + 1, 1, &y));
    ssq_tensor_destroy(&flat);
    return y;
}

static void test_misuse(const struct rig *r)
{
    const int64_t shape[2] = {3, 4}, other[2] = {4, 3};
    ssq_tensor *p = NULL, *g = NULL, *m = NULL, *v = NULL, *h = NULL;
    ssq_tensor *turned = NULL;
    NEED(ssq_tensor_create(r->device, SSQ_F32, 2, shape, &p));
    NEED(ssq_tensor_create(r->device, SSQ_F16, 2, shape, &g));
    NEED(ssq_tensor_create(r->device, SSQ_F32, 2, shape, &m));
    NEED(ssq_tensor_create(r->device, SSQ_F32, 2, shape, &v));
    NEED(ssq_tensor_create(r->device, SSQ_F32, 2, other, &turned));
    NEED(ssq_tensor_create(r->device, SSQ_F16, 2, shape, &h));
    const ssq_tensor *params[] = {p}, *grads[] = {g}, *moments[] = {m, v};
    const ssq_tensor *halves[] = {h}, *same[] = {m, m}, *odd[] = {turned};
    const ssq_tensor *none[] = {NULL}, *counts[] = {p};
    ssq_optimizer_options clip = SSQ_OPTIMIZER_INIT, beta = clip;
    clip.clip_norm = 1.0;
    beta.beta1 = 1.0;
    ssq_optimizer_apply_args good = SSQ_OPTIMIZER_APPLY_INIT, a;
    good.kind = "adamw";
    good.n = 1;
    good.params = params;
    good.grads = grads;
    good.moments = moments;
    REFUSED(a.struct_size = 8, SSQ_ERR_INVALID, "struct_size");
    REFUSED(a.kind = NULL, SSQ_ERR_INVALID, "kind is NULL");
    REFUSED(a.kind = "adamax", SSQ_ERR_NOT_FOUND, "no optimizer \"adamax\"");
    REFUSED(a.kind = "lamb", SSQ_ERR_UNSUPPORTED, "lamb");
    REFUSED(a.options = &clip, SSQ_ERR_INVALID, "clip_norm");
    REFUSED(a.options = &beta, SSQ_ERR_INVALID, "beta1 is 1");
    REFUSED(a.params = NULL, SSQ_ERR_INVALID, "params is NULL");
    REFUSED(a.grads = NULL, SSQ_ERR_INVALID, "grads is NULL");
    REFUSED(a.moments = NULL, SSQ_ERR_INVALID, "moments is NULL");
    REFUSED(a.params = none, SSQ_ERR_INVALID, "params[0] is NULL");
    REFUSED(a.params = halves, SSQ_ERR_INVALID, "params[0]");
    REFUSED(a.grads = odd, SSQ_ERR_INVALID, "grads[0]");
    REFUSED(a.grads = params, SSQ_ERR_INVALID, "grads[0] overlaps params[0]");
    REFUSED(a.moments = same, SSQ_ERR_INVALID,
            "moments[1] overlaps moments[0]");
    REFUSED(a.t = none, SSQ_ERR_INVALID, "t[0] is NULL");
    REFUSED(a.t = counts, SSQ_ERR_INVALID, "t[0] has 12 elements");
    REFUSED(a.scale = p, SSQ_ERR_INVALID, "scale has 12 elements");
    REFUSED(a.found_inf = h, SSQ_ERR_INVALID, "found_inf");
    a = good;
    a.n = 0;
    a.params = NULL;
    tap_ok(ssq_optimizer_apply(r->queue, &a) == SSQ_OK,
           "no parameter: nothing");
    tap_ok(ssq_optimizer_apply(r->queue, &good) == SSQ_OK, "the good one: %s",
           ssq_last_error());
    ssq_tensor_destroy(&p);
    ssq_tensor_destroy(&g);
    ssq_tensor_destroy(&m);
    ssq_tensor_destroy(&v);
    ssq_tensor_destroy(&h);
    ssq_tensor_destroy(&turned);
}

/* Numbers on the device that the call would write, and its limit. */
static void test_numbers(const struct rig *r)
{
    ssq_tensor *p = core_vector(r->device, SSQ_F32, 4);
    ssq_tensor *m = core_vector(r->device, SSQ_F32, 4);
    ssq_tensor *first = element(p, 0), *last = element(m, 3);
    ssq_tensor *g = core_vector(r->device, SSQ_F32, 4);
    const ssq_tensor *params[] = {p}, *grads[] = {g}, *moments[] = {m};
    const ssq_tensor *none[] = {NULL}, *t[] = {first};
    ssq_optimizer_apply_args good = SSQ_OPTIMIZER_APPLY_INIT, a;
    good.kind = "adagrad";
    good.n = 1;
    good.params = params;
    good.grads = grads;
    good.moments = moments;
    REFUSED(a.t = t, SSQ_ERR_INVALID, "t[0] overlaps params[0]");
    REFUSED(a.scale = last, SSQ_ERR_INVALID, "scale overlaps moments[0]");
    REFUSED(a.found_inf = last, SSQ_ERR_INVALID,
            "found_inf overlaps moments[0]");
    REFUSED(a.n = LIMIT + 1, SSQ_ERR_UNSUPPORTED, "at most 44739242");
    REFUSED((a.n = LIMIT, a.params = none), SSQ_ERR_INVALID,
            "params[0] is NULL");
    ssq_tensor_destroy(&first);
    ssq_tensor_destroy(&last);
    ssq_tensor_destroy(&g);
    ssq_tensor_destroy(&m);
    ssq_tensor_destroy(&p);
}

int main(void)
{
    for (size_t d = 0; d < core_device_count(); d++) {
        struct rig r = rig_open(core_device(d));
        for (int k = 0; k < KINDS; k++)
            if (strcmp(kinds[k], "lamb") != 0 && train_tries(&r, k, 0)) {
                test_bits(&r, kinds[k], false);
                test_bits(&r, kinds[k], true);
            }
        test_captured(&r);
        test_misuse(&r);
        test_numbers(&r);
        rig_close(&r);
    }
    return tap_done(2 * (4 * (KINDS - 1) + 29));
}
