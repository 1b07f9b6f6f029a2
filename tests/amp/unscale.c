/* SPDX-License-Identifier: Apache-2.0 */
/* unscale.c - gradients that ssq_scaler_unscale has divided and an optimizer
 * then steps: they are divided once, through any tensor of the same memory. If
 * only some gradients of a step are divided, it is refused. */
#include "tests/amp/amp.h"

#include <sesqui/dlpack.h>

#define SCALE 1024.0f
#define N     6 /* elements of both parameters: "a" has 4, "b" 2 */

/* Two parameters, whose gradients are parts of one buffer. */
struct unscale_pair {
    const struct rig *r;
    ssq_scaler *scaler;
    ssq_optimizer *o;
    ssq_tensor *param, *flat, *half; /* [N]; half: f16 */
    ssq_tensor *pa, *pb, *ga, *gb;
};

static ssq_tensor *part(const ssq_tensor *t, int64_t from, int64_t to)
{
    ssq_tensor *p = NULL;
    NEED(ssq_tensor_slice(t, 0, from, to, 1, &p));
    return p;
}

static struct unscale_pair pair_open(const struct rig *r,
                                     const ssq_optimizer_options *options)
{
    ssq_scaler_options fixed = rig_preset("fixed");
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    struct unscale_pair p = {.r = r};
    fixed.init_scale = (double)SCALE;
    o.lr = 1.0;
    p.scaler = rig_scaler(r, NULL, &fixed);
    p.param = core_vector(r->device, SSQ_F32, N);
    p.flat = core_vector(r->device, SSQ_F32, N);
    p.half = core_vector(r->device, SSQ_F16, N);
    p.pa = part(p.param, 0, 4);
    p.pb = part(p.param, 4, N);
    p.ga = part(p.flat, 0, 4);
    p.gb = part(p.flat, 4, N);
    NEED(ssq_optimizer_create(r->device, "sgd", options ? options : &o, &p.o));
    NEED(ssq_optimizer_add(p.o, "a", p.pa, p.ga, NULL));
    NEED(ssq_optimizer_add(p.o, "b", p.pb, p.gb, NULL));
    return p;
}

static void pair_close(struct unscale_pair *p)
{
    ssq_tensor **all[] = {&p->param, &p->flat, &p->half, &p->pa,
                          &p->pb,    &p->ga,   &p->gb};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        ssq_tensor_destroy(all[i]);
    ssq_optimizer_destroy(&p->o);
    ssq_scaler_destroy(&p->scaler);
}

static const float truth[N] = {1.0f, -2.0f, 0.5f, 3.0f, -0.25f, 8.0f};

/* Parameters 0, and what a backward pass gives. */
static void send(const struct unscale_pair *p)
{
    static const float zeros[N];
    float scaled[N];
    for (int i = 0; i < N; i++)
        scaled[i] = truth[i] * SCALE;
    NEED(
        ssq_tensor_write(p->r->queue, p->param, zeros, sizeof(zeros), SSQ_F32));
    NEED(ssq_tensor_write(p->r->queue, p->flat, scaled, sizeof(scaled),
                          SSQ_F32));
    NEED(ssq_tensor_write(p->r->queue, p->half, scaled, sizeof(scaled),
                          SSQ_F32));
    NEED(ssq_queue_sync(p->r->queue));
}

/* The parameters are -times * truth. */
static bool stepped(const struct unscale_pair *p, float times)
{
    float x[N];
    bool ok = true;
    NEED(ssq_tensor_read(p->r->queue, p->param, x, sizeof(x), SSQ_F32));
    NEED(ssq_queue_sync(p->r->queue));
    for (int i = 0; i < N; i++)
        ok = ok && x[i] == -times * truth[i];
    if (!ok)
        tap_diag("parameter 0 is %g, expected %g", (double)x[0],
                 (double)(-times * truth[0]));
    return ok;
}

static ssq_status unscale(const struct unscale_pair *p, const ssq_tensor *grad,
                          const ssq_tensor *out)
{
    return ssq_scaler_unscale(p->r->queue, p->scaler, 1, &grad, &out);
}

static ssq_status step(const struct unscale_pair *p)
{
    return ssq_optimizer_step(p->r->queue, p->o, p->scaler);
}

/* Return a tensor of another buffer over the same memory. */
static ssq_tensor *twin(const struct rig *r, const ssq_tensor *x)
{
    struct DLManagedTensorVersioned *dl = NULL;
    ssq_tensor *y = NULL;
    NEED(ssq_tensor_to_dlpack(x, NULL, &dl));
    NEED(ssq_tensor_from_dlpack(r->queue, dl, NULL, &y));
    return y;
}

/* Unscaled as these, then a step: divided once. */
static void once(const struct rig *r, const char *how)
{
    struct unscale_pair p = pair_open(r, NULL);
    const ssq_tensor *both[] = {p.ga, p.gb};
    ssq_tensor *x = NULL, *y = NULL;
    const int64_t matrix[2] = {3, 2}, square[2] = {2, 2};
    send(&p);
    if (strcmp(how, "its own tensors") == 0) {
        NEED(ssq_scaler_unscale(r->queue, p.scaler, 2, both, both));
    } else if (strcmp(how, "from f16 into them") == 0) {
        NEED(unscale(&p, p.half, p.flat));
    } else if (strcmp(how, "another buffer over the same memory") == 0) {
        x = twin(r, p.flat);
        NEED(unscale(&p, x, x));
        tap_ok(unscale(&p, p.ga, p.ga) == SSQ_ERR_INVALID,
               "%s: %s: a second division is refused", r->name, how);
    } else if (strcmp(how, "one matrix over both") == 0) {
        NEED(ssq_tensor_reshape(p.flat, 2, matrix, &x));
        NEED(unscale(&p, x, x));
    } else if (strcmp(how, "columns of a matrix") == 0) {
        ssq_tensor *m = NULL;
        NEED(ssq_tensor_reshape(p.ga, 2, square, &m));
        NEED(ssq_tensor_slice(m, 1, 0, 1, 1, &x));
        NEED(ssq_tensor_slice(m, 1, 1, 2, 1, &y));
        NEED(unscale(&p, x, x));
        NEED(unscale(&p, y, y));
        NEED(unscale(&p, p.gb, p.gb));
        ssq_tensor_destroy(&m);
    } else { /* pieces, not as the parameters are cut */
        x = part(p.flat, 0, 1);
        y = part(p.flat, 1, N);
        NEED(unscale(&p, y, y));
        NEED(unscale(&p, x, x));
    }
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    NEED(step(&p));
    NEED(update_used(r->queue, p.scaler));
    tap_ok(stepped(&p, 1.0f), "%s: unscaled as %s, then a step: divided once",
           r->name, how);
    send(&p);
    NEED(step(&p));
    NEED(update_used(r->queue, p.scaler));
    tap_ok(stepped(&p, 1.0f), "%s: %s: the next step's are scaled again",
           r->name, how);
    pair_close(&p);
}

#define REFUSED(CALL, PARTS)                                                   \
    core_status(CALL, SSQ_ERR_INVALID, PARTS, "%s: %s: %s", r->name, #CALL,    \
                PARTS)

static void mixtures(const struct rig *r)
{
    struct unscale_pair p = pair_open(r, NULL);
    ssq_tensor *piece = part(p.flat, 1, 3), *rest = part(p.flat, 0, 1);
    send(&p);
    NEED(unscale(&p, p.gb, p.gb));
    REFUSED(step(&p), "optimizer_step: the gradient of b was unscaled|that of "
                      "a was not");
    REFUSED(ssq_optimizer_check(r->queue, p.o, p.scaler),
            "optimizer_check: the gradient of b was unscaled");
    NEED(unscale(&p, piece, piece));
    REFUSED(step(&p), "a part of the gradient of a was unscaled");
    REFUSED(unscale(&p, p.ga, p.ga), "a part of grads[0] was unscaled already");
    REFUSED(unscale(&p, p.half, p.flat), "a part of outs[0] was unscaled");
    NEED(unscale(&p, rest, rest));
    ssq_tensor_destroy(&rest);
    rest = part(p.flat, 3, 4);
    NEED(unscale(&p, rest, rest));
    NEED(step(&p));
    NEED(update_used(r->queue, p.scaler));
    tap_ok(stepped(&p, 1.0f), "%s: what was missing unscaled, it steps",
           r->name);
    ssq_tensor_destroy(&piece);
    ssq_tensor_destroy(&rest);
    pair_close(&p);
}

static void twice(const struct rig *r)
{
    struct unscale_pair p = pair_open(r, NULL);
    send(&p);
    NEED(unscale(&p, p.flat, p.flat));
    REFUSED(unscale(&p, p.flat, p.flat), "grads[0] was unscaled already");
    REFUSED(unscale(&p, p.gb, p.gb), "grads[0] was unscaled already");
    REFUSED(ssq_optimizer_unscale(r->queue, p.o, p.scaler),
            "optimizer_unscale: the gradient of a was unscaled already");
    REFUSED(ssq_optimizer_accumulate(r->queue, NULL, 1.0), "is NULL");
    REFUSED(ssq_scaler_scale_grad(r->queue, p.scaler, p.ga, p.ga),
            "y was unscaled");
    NEED(
        ssq_scaler_check(r->queue, p.scaler, 1, &(const ssq_tensor *){p.flat}));
    NEED(step(&p));
    NEED(update_used(r->queue, p.scaler));
    tap_ok(stepped(&p, 1.0f), "%s: refusals have divided nothing", r->name);
    send(&p);
    NEED(ssq_optimizer_unscale(r->queue, p.o, p.scaler));
    REFUSED(unscale(&p, p.gb, p.gb), "grads[0] was unscaled already");
    NEED(unscale(&p, p.half, p.flat)); /* true ones over true ones */
    NEED(step(&p));
    NEED(update_used(r->queue, p.scaler));
    tap_ok(stepped(&p, 1.0f), "%s: the optimizer's own unscale is known too",
           r->name);
    send(&p);
    NEED(ssq_optimizer_check(r->queue, p.o, p.scaler));
    NEED(unscale(&p, p.gb, p.gb));
    REFUSED(step(&p), "the gradient of b was unscaled after they were checked");
    NEED(update_used(r->queue, p.scaler));
    send(&p);
    NEED(ssq_optimizer_accumulate(r->queue, p.o, 1.0));
    NEED(unscale(&p, p.ga, p.ga));
    REFUSED(step(&p), "the gradient of a was unscaled|accumulate");
    NEED(update_used(r->queue, p.scaler));
    NEED(step(&p)); /* on the sum */
    tap_ok(stepped(&p, 1.0f), "%s: each is forgotten by the update", r->name);
    pair_close(&p);
}

/* A skip, the norm and the clipping are a step alone's. */
static void clipped(const struct rig *r)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    float norm[2], x[2][N];
    o.lr = 1.0;
    o.clip_norm = 3.0;
    for (int k = 0; k < 2; k++) {
        struct unscale_pair p = pair_open(r, &o);
        send(&p);
        if (k == 1)
            NEED(unscale(&p, p.flat, p.flat));
        NEED(step(&p));
        NEED(update_used(r->queue, p.scaler));
        NEED(ssq_optimizer_norm(r->queue, p.o, &norm[k], NULL));
        NEED(ssq_tensor_read(r->queue, p.param, x[k], sizeof(x[k]), SSQ_F32));
        NEED(ssq_queue_sync(r->queue));
        pair_close(&p);
    }
    tap_ok(memcmp(x[0], x[1], sizeof(x[0])) == 0 && norm[0] == norm[1] &&
               norm[0] > 8.0f && norm[0] < 10.0f,
           "%s: norm %g and clipping of unscaled gradients are the step's own",
           r->name, (double)norm[1]);
    struct unscale_pair p = pair_open(r, NULL);
    const float inf = (float)INFINITY;
    send(&p);
    ssq_tensor *last = part(p.flat, 5, N);
    NEED(ssq_tensor_write(r->queue, last, &inf, sizeof(inf), SSQ_F32));
    ssq_tensor_destroy(&last);
    NEED(unscale(&p, p.flat, p.flat));
    NEED(step(&p));
    NEED(update_used(r->queue, p.scaler));
    tap_ok(stepped(&p, 0.0f) && rig_state(r, p.scaler).skipped == 1,
           "%s: an overflow is skipped", r->name);
    pair_close(&p);
}

/* A captured step that unscales, replayed; and another memory of the size. */
static void captured(const struct rig *r)
{
    struct unscale_pair p = pair_open(r, NULL);
    ssq_tensor *one = core_vector(r->device, SSQ_F32, N);
    ssq_graph *graph = NULL;
    send(&p);
    NEED(ssq_tensor_write(r->queue, one, truth, sizeof(truth), SSQ_F32));
    NEED(ssq_optimizer_model_to_master(r->queue, p.o));
    NEED(ssq_queue_sync(r->queue));
    NEED(ssq_graph_begin(r->queue));
    NEED(ssq_scaler_scale_grad(r->queue, p.scaler, one, p.flat));
    NEED(unscale(&p, p.flat, p.flat));
    core_status(ssq_graph_end(r->queue, &graph), SSQ_ERR_INVALID, "scaler",
                "%s: a capture of an unscale without update", r->name);
    NEED(ssq_graph_begin(r->queue));
    NEED(ssq_scaler_scale_grad(r->queue, p.scaler, one, p.flat));
    NEED(unscale(&p, p.flat, p.flat));
    NEED(step(&p));
    NEED(ssq_scaler_update(r->queue, p.scaler));
    NEED(ssq_graph_end(r->queue, &graph));
    for (int i = 0; i < 3; i++)
        NEED(ssq_graph_launch(r->queue, graph));
    tap_ok(stepped(&p, 3.0f), "%s: three replays of unscale and step", r->name);
    send(&p);
    NEED(scale_used(r->queue, p.scaler));
    NEED(step(&p));
    NEED(update_used(r->queue, p.scaler));
    tap_ok(stepped(&p, 1.0f), "%s: and then a step on scaled ones", r->name);
    ssq_graph_destroy(&graph);
    ssq_tensor_destroy(&one);
    pair_close(&p);
}

/* Many gradients, in their own order. */
static void many(const struct rig *r)
{
    enum { MANY = 300 };
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_scaler_options fixed = rig_preset("fixed");
    ssq_optimizer *opt = NULL;
    fixed.init_scale = 8.0;
    o.lr = 1.0;
    ssq_scaler *scaler = rig_scaler(r, NULL, &fixed);
    ssq_tensor *p = core_vector(r->device, SSQ_F32, 2 * MANY);
    ssq_tensor *g = core_vector(r->device, SSQ_F32, 2 * MANY), *grad[MANY];
    ssq_fill_args f = SSQ_FILL_INIT;
    static float x[2 * MANY];
    NEED(ssq_optimizer_create(r->device, "sgd", &o, &opt));
    f.x = g;
    f.value = 8.0;
    NEED(ssq_fill(r->queue, &f));
    f.x = p;
    f.value = 0.0;
    NEED(ssq_fill(r->queue, &f));
    for (int i = 0; i < MANY; i++) {
        char name[16];
        ssq_tensor *param = part(p, 2 * i, 2 * i + 2);
        snprintf(name, sizeof(name), "%d", i);
        grad[i] = part(g, 2 * i, 2 * i + 2);
        NEED(ssq_optimizer_add(opt, name, param, grad[i], NULL));
        ssq_tensor_destroy(&param);
    }
    for (int i = 0; i < MANY; i++) {
        const ssq_tensor *t = grad[i * 7 % MANY];
        if (i == MANY - 1)
            REFUSED(ssq_optimizer_step(r->queue, opt, scaler),
                    "the gradient of 0 was unscaled|that of 293 was not");
        NEED(ssq_scaler_unscale(r->queue, scaler, 1, &t, &t));
    }
    NEED(ssq_optimizer_step(r->queue, opt, scaler));
    NEED(ssq_tensor_read(r->queue, p, x, sizeof(x), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    int ok = 0;
    for (int i = 0; i < 2 * MANY; i++)
        ok += x[i] == -1.0f;
    tap_ok(ok == 2 * MANY, "%s: %d gradients unscaled one by one", r->name,
           MANY);
    for (int i = 0; i < MANY; i++)
        ssq_tensor_destroy(&grad[i]);
    ssq_tensor_destroy(&p);
    ssq_tensor_destroy(&g);
    ssq_optimizer_destroy(&opt);
    ssq_scaler_destroy(&scaler);
}

int main(void)
{
    static const char *const ways[] = {"its own tensors", "from f16 into them",
                                       "one matrix over both",
                                       "columns of a matrix", "pieces"};
    for (size_t d = 0; d < core_device_count(); d++) {
        struct rig r = rig_open(core_device(d));
        for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
            once(&r, ways[i]);
        if (strcmp(r.name, "cpu") == 0 || strcmp(r.name, "reference") == 0)
            once(&r, "another buffer over the same memory");
        mixtures(&r);
        twice(&r);
        clipped(&r);
        captured(&r);
        many(&r);
        rig_close(&r);
    }
    return tap_done(68);
}
