/* SPDX-License-Identifier: Apache-2.0 */
/* attention_case.c - operands of attention cases, and what they say. */
#include "conformance/attention/attention.h"

#include "conformance/random/philox.h"

char *attention_text(const struct attention_case *c, char *text, size_t bytes)
{
    static const char *const places[] = {"dense", "padded", "tokens"};
    static const char *const masks[] = {"", ", f mask", ", key mask",
                                        ", head mask", ", u8 mask"};
    char more[96] = "";
    size_t at = 0;
    if (c->causal)
        at += (size_t)snprintf(more, sizeof(more), ", causal %lld",
                               (long long)c->causal_offset);
    if (c->dropout != 0.0)
        at += (size_t)snprintf(more + at, sizeof(more) - at, ", dropout %g",
                               c->dropout);
    if (c->scale != 0.0)
        at += (size_t)snprintf(more + at, sizeof(more) - at, ", scale %g",
                               c->scale);
    if (c->size != 0.0)
        at += (size_t)snprintf(more + at, sizeof(more) - at, ", q k times %g",
                               c->size);
    if (c->softcap != 0.0)
        (void)snprintf(more + at, sizeof(more) - at, ", softcap %g",
                       c->softcap);
    snprintf(text, bytes,
             "%s to %s %lldx%lld/%lldx%lldx%lld d %lld %lld %s%s%s",
             ssq_dtype_name(c->in), ssq_dtype_name(c->out), (long long)c->batch,
             (long long)c->heads, (long long)c->kv_heads, (long long)c->tq,
             (long long)c->tk, (long long)c->d, (long long)c->dv,
             places[c->place], masks[c->mask], more);
    return text;
}

/* ---- grids ---- */

/* Where element i of [batch, heads, t, d] is in its operand. */
static int64_t grid_at(const struct grid *g, int64_t i)
{
    if (g->place != PLACE_TOKENS)
        return i;
    const int64_t *s = g->o.shape; /* batch, t, heads, d */
    int64_t d = i % s[3], t = i / s[3] % s[1], h = i / s[3] / s[1] % s[2];
    int64_t b = i / s[3] / s[1] / s[2];
    return ((b * s[1] + t) * s[2] + h) * s[3] + d;
}

static void own_shape(const int64_t *shape, enum place place, int64_t *own)
{
    for (int i = 0; i < 4; i++)
        own[i] = shape[i];
    if (place == PLACE_TOKENS) {
        own[1] = shape[2];
        own[2] = shape[1];
    }
}

static enum layout layout_of(enum place place)
{
    return place == PLACE_PADDED ? LAYOUT_PADDED : LAYOUT_DENSE;
}

/* The tensor an op gets, and the values as it sees them. */
static void grid_finish(struct harness *b, struct grid *g)
{
    const int axes[] = {0, 2, 1, 3};
    g->t = g->o.t;
    g->view = NULL;
    g->value = harness_alloc(b, (size_t)g->o.n * sizeof(double));
    for (int64_t i = 0; i < g->o.n; i++)
        g->value[i] = g->o.value[grid_at(g, i)];
    if (g->place != PLACE_TOKENS || g->o.t == NULL)
        return;
    if (ssq_tensor_transpose(g->o.t, axes, &g->view) != SSQ_OK)
        harness_fail(b, "no view: %s", ssq_last_error());
    g->t = g->view;
}

void grid_values(struct harness *b, struct grid *g, ssq_dtype dtype,
                 const int64_t *shape, enum place place, const double *value)
{
    int64_t own[4], n = 1;
    own_shape(shape, place, own);
    for (int i = 0; i < 4; i++) {
        g->o.shape[i] = own[i];
        n *= own[i];
    }
    g->place = place;
    double *v = harness_alloc(b, (size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++)
        v[grid_at(g, i)] = value[i];
    harness_values(b, &g->o, dtype, 4, own, layout_of(place), v);
    grid_finish(b, g);
}

void grid_input(struct harness *b, struct grid *g, ssq_dtype dtype,
                const int64_t *shape, enum place place, double size)
{
    struct operand normal;
    harness_input(b, &normal, SSQ_F32, 4, shape, LAYOUT_DENSE, FILL_NORMAL);
    double *v = harness_alloc(b, (size_t)normal.n * sizeof(double));
    for (int64_t i = 0; i < normal.n; i++)
        v[i] = normal.value[i] * (size == 0.0 ? 1.0 : size);
    grid_values(b, g, dtype, shape, place, v);
}

void grid_output(struct harness *b, struct grid *g, ssq_dtype dtype,
                 const int64_t *shape, enum place place)
{
    int64_t own[4];
    own_shape(shape, place, own);
    g->place = place;
    harness_output(b, &g->o, dtype, 4, own, layout_of(place));
    grid_finish(b, g);
}

bool grid_bound(struct harness *b, struct grid *g, const double *want,
                const double *error)
{
    harness_read(b, &g->o);
    double *w = harness_alloc(b, (size_t)g->o.n * sizeof(double));
    double *e = harness_alloc(b, (size_t)g->o.n * sizeof(double));
    for (int64_t i = 0; i < g->o.n; i++) {
        w[grid_at(g, i)] = want[i];
        e[grid_at(g, i)] = error[i];
    }
    return harness_bound(b, &g->o, w, e);
}

void grid_done(struct grid *g)
{
    ssq_tensor_destroy(&g->view);
}

/* ---- the operands of a case ---- */

static void make_mask(struct harness *b, const struct attention_case *c,
                      struct operand *mask)
{
    const int64_t full[] = {c->batch, c->heads, c->tq, c->tk};
    const int64_t keys[] = {c->tk}, heads[] = {c->heads, 1, c->tk};
    const int64_t some[] = {c->batch, 1, c->tq, c->tk};
    const int64_t *shape[] = {NULL, full, keys, heads, some};
    const int rank[] = {0, 4, 1, 3, 4};
    const ssq_dtype dtype[] = {SSQ_F32, c->in, SSQ_F32, SSQ_F32, SSQ_U8};
    const enum layout layout[] = {LAYOUT_DENSE, LAYOUT_PADDED, LAYOUT_DENSE,
                                  LAYOUT_TRANSPOSED, LAYOUT_DENSE};
    int64_t n = 1;
    for (int i = 0; i < rank[c->mask]; i++)
        n *= shape[c->mask][i];
    double *v = harness_alloc(b, (size_t)n * sizeof(double));
    for (int64_t i = 0; i < n; i++) {
        v[i] = 4.0 * harness_uniform(b) - 2.0;
        if (c->mask == MASK_U8)
            v[i] = v[i] < 0.0 ? 0.0 : 3.0; /* a value that is not 0 keeps */
        if (c->mask == MASK_KEYS && i % 3 == 2)
            v[i] = -(double)INFINITY;
    }
    harness_values(b, mask, dtype[c->mask], rank[c->mask], shape[c->mask],
                   layout[c->mask], v);
}

/* The bias of the mask and causal for element (n, h, i, j). */
static double bias_at(const struct attention_case *c, const struct operand *m,
                      int64_t n, int64_t h, int64_t i, int64_t j)
{
    if (c->causal && (double)j > (double)i + (double)c->causal_offset)
        return -(double)INFINITY;
    switch (c->mask) {
    case MASK_FLOAT:
        return m->value[((n * c->heads + h) * c->tq + i) * c->tk + j];
    case MASK_KEYS:
        return m->value[j];
    case MASK_HEADS:
        return m->value[h * c->tk + j];
    case MASK_U8:
        return m->value[(n * c->tq + i) * c->tk + j] != 0.0 ? 0.0
                                                            : -(double)INFINITY;
    default:
        return 0.0;
    }
}

static void make_facts(struct harness *b, const struct attention_case *c,
                       struct attention_harness *a)
{
    size_t n = (size_t)(c->batch * c->heads * c->tq * c->tk), at = 0;
    struct attention_facts *f = &a->facts;
    f->c = c;
    f->q = a->q.value;
    f->k = a->k.value;
    f->v = a->v.value;
    f->bias = harness_alloc(b, n * sizeof(double));
    f->factor = harness_alloc(b, n * sizeof(double));
    double scale = c->scale != 0.0 ? c->scale : 1.0 / sqrt((double)c->d);
    f->scale = c->d == 0 ? 1.0 : (double)(float)scale;
    f->flushed = b->props.f32_subnormals == SSQ_SUBNORMALS_FLUSHED;
    double below = floor(c->dropout * 0x1p32 + 0.5);
    double keep = (double)(float)(1.0 / (1.0 - c->dropout));
    for (int64_t m = 0; m < c->batch; m++)
        for (int64_t h = 0; h < c->heads; h++)
            for (int64_t i = 0; i < c->tq; i++)
                for (int64_t j = 0; j < c->tk; j++, at++) {
                    f->bias[at] = bias_at(c, &a->mask, m, h, i, j);
                    bool kept = philox_word(99, 6, 4, 11 + at) >= below;
                    f->factor[at] = kept ? keep : 0.0;
                }
}

void attention_make(struct harness *b, const struct attention_case *c,
                    struct attention_harness *a)
{
    const double six = 6.0;
    const int64_t q[] = {c->batch, c->heads, c->tq, c->d};
    const int64_t k[] = {c->batch, c->kv_heads, c->tk, c->d};
    for (int i = 0; i < 4; i++) {
        a->q_shape[i] = a->y_shape[i] = q[i];
        a->k_shape[i] = a->v_shape[i] = k[i];
    }
    a->v_shape[3] = a->y_shape[3] = c->dv;
    grid_input(b, &a->q, c->in, a->q_shape, c->place, c->size);
    grid_input(b, &a->k, c->in, a->k_shape, c->place, c->size);
    grid_input(b, &a->v, c->in, a->v_shape, c->place, 0.0);
    make_mask(b, c, &a->mask);
    harness_values(b, &a->step, SSQ_I32, 0, NULL, LAYOUT_DENSE, &six);
    make_facts(b, c, a);
}
