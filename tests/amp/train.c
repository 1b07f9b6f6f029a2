/* SPDX-License-Identifier: Apache-2.0 */
/* train.c - what the tests of optimizers share. */
#include "tests/amp/train.h"

const struct train_storage storages[STORAGES] = {
    {"f32", SSQ_F32, SSQ_F32, SSQ_MASTER_F32},
    {"f16 with masters", SSQ_F16, SSQ_F16, SSQ_MASTER_F32},
    {"bf16 with masters", SSQ_BF16, SSQ_BF16, SSQ_MASTER_F32},
    {"bf16 with remainders", SSQ_BF16, SSQ_BF16, SSQ_MASTER_SPLIT},
    {"f16 alone", SSQ_F16, SSQ_F16, SSQ_MASTER_NONE},
    {"bf16 alone, f32 gradients", SSQ_BF16, SSQ_F32, SSQ_MASTER_NONE},
};

const char *const kinds[KINDS] = {KIND_NAMES};

static const char *const names[TRAIN_PARAMS] = {"a", "empty", "b"};

ssq_optimizer_options train_options(const char *kind,
                                    const struct train_storage *s)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;

    o.lr = 0.01;
    o.weight_decay = 0.01;
    o.seed = 3;
    o.master = s->master;
    if (strcmp(kind, "sgd") == 0 || strcmp(kind, "rmsprop") == 0)
        o.momentum = 0.9;
    o.amsgrad = strncmp(kind, "adam", 4) == 0;
    o.centered = strcmp(kind, "rmsprop") == 0;
    return o;
}

bool train_tries(const struct rig *r, int kind, int storage)
{
    return strchr(r->name, ':') == NULL || tap_full() ||
           (kind + storage) % STORAGES == 0;
}

/* Parameter k in a tensor of 2 dimensions. */
static void add(struct train *t, int k, ssq_group *group)
{
    const int64_t shape[2] = {t->n[k] == 130 ? 13 : t->n[k] / 3,
                              t->n[k] == 130 ? 10 : 3};
    float start[130];

    for (int64_t i = 0; i < t->n[k]; i++)
        start[i] = (float)(train_gradient(1000, k, i) + 0.5);
    NEED(ssq_tensor_create(t->r->device, t->s->param, 2, shape, &t->param[k]));
    NEED(ssq_tensor_create(t->r->device, t->s->grad, 2, shape, &t->grad[k]));
    NEED(ssq_tensor_write(t->r->queue, t->param[k], start, sizeof(start),
                          SSQ_F32));
    NEED(ssq_queue_sync(t->r->queue));
    NEED(ssq_optimizer_add(t->o, names[k], t->param[k], t->grad[k], group));
}

void train_open(struct train *t, const struct rig *r, const char *kind,
                const struct train_storage *s,
                const ssq_optimizer_options *options)
{
    ssq_group *group = NULL;
    ssq_optimizer_options second = *options;

    *t = (struct train){.r = r, .s = s, .n = {130, 0, 33}};
    second.lr *= 3.0;
    second.weight_decay = 0.0;
    NEED(ssq_optimizer_create(r->device, kind, options, &t->o));
    NEED(ssq_optimizer_group(t->o, &second, &group));
    for (int k = 0; k < TRAIN_PARAMS; k++)
        add(t, k, k == 2 ? group : NULL);
}

void train_close(struct train *t)
{
    ssq_optimizer_destroy(&t->o);
    for (int k = 0; k < TRAIN_PARAMS; k++) {
        ssq_tensor_destroy(&t->param[k]);
        ssq_tensor_destroy(&t->grad[k]);
    }
}

double train_gradient(unsigned step, int k, int64_t i)
{
    uint64_t state = ((uint64_t)step << 32 | (uint64_t)k << 16) + (uint64_t)i +
                     UINT64_C(0x9e3779b97f4a7c15);

    for (int round = 0; round < 4; round++)
        (void)amp_random(&state);
    return ldexp((double)(amp_random(&state) >> 53), -10) - 1.0;
}

void train_send(const struct train *t, ssq_tensor *const *to, unsigned step,
                double scale, enum flaw flaw)
{
    float g[130];

    for (int k = 0; k < TRAIN_PARAMS; k++) {
        for (int64_t i = 0; i < t->n[k]; i++)
            g[i] = (float)(scale * train_gradient(step, k, i));
        if (k == 2 && flaw != FLAW_NONE)
            g[step % 33] = flaw == FLAW_INF ? -(float)INFINITY : (float)NAN;
        NEED(ssq_tensor_write(t->r->queue, to[k], g, sizeof(g), SSQ_F32));
        NEED(ssq_queue_sync(t->r->queue)); /* g is reused */
    }
}

void train_step(const struct train *t, ssq_scaler *scaler, unsigned step,
                double scale, enum flaw flaw)
{
    train_send(t, t->grad, step, scale, flaw);
    NEED(ssq_optimizer_step(t->r->queue, t->o, scaler));
    if (scaler != NULL)
        NEED(update_used(t->r->queue, scaler));
}

/* ---- images ---- */

struct transfer {
    ssq_queue *queue;
    struct train_image *i;
    size_t at;
    bool put;
};

static ssq_status transfer(void *user, const char *name, const ssq_tensor *x)
{
    struct transfer *m = user;
    ssq_dtype d = ssq_tensor_dtype(x);
    size_t bytes =
        (size_t)ssq_tensor_elements(x) * (size_t)ssq_dtype_bits(d) / 8;
    ssq_status st;

    (void)name;
    if (m->put) {
        st = ssq_tensor_write(m->queue, x, m->i->data + m->at, bytes, d);
    } else {
        m->i->data = realloc(m->i->data, m->at + bytes + 1);
        if (m->i->data == NULL)
            tap_bail("no memory");
        st = ssq_tensor_read(m->queue, x, m->i->data + m->at, bytes, d);
    }
    m->at += bytes;
    /* the next one may move the image */
    return st == SSQ_OK ? ssq_queue_sync(m->queue) : st;
}

static void transfer_all(const struct train *t, struct transfer *m)
{
    for (int k = 0; k < TRAIN_PARAMS; k++)
        core_need(transfer(m, "", t->param[k]), "a parameter");
    NEED(ssq_optimizer_visit(m->queue, t->o, transfer, m));
}

struct train_image image_take(const struct train *t)
{
    struct train_image i = {0, NULL};
    struct transfer m = {.queue = t->r->queue, .i = &i};

    transfer_all(t, &m);
    i.bytes = m.at;
    return i;
}

void image_put(const struct train *t, const struct train_image *i)
{
    struct train_image copy = *i;
    struct transfer m = {.queue = t->r->queue, .i = &copy, .put = true};

    transfer_all(t, &m);
}

bool image_equal(const struct train_image *a, const struct train_image *b)
{
    return a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0;
}

void image_free(struct train_image *i)
{
    free(i->data);
    *i = (struct train_image){0, NULL};
}

uint32_t train_t(const struct train *t)
{
    uint32_t now = 0;

    NEED(ssq_optimizer_norm(t->r->queue, t->o, NULL, &now));
    return now;
}

ssq_scaler *train_fixed(const struct rig *r, double scale)
{
    ssq_scaler_options o = rig_preset("fixed");

    o.init_scale = scale;
    if (o.min_scale > scale)
        o.min_scale = scale;
    return rig_scaler(r, NULL, &o);
}
