/* SPDX-License-Identifier: Apache-2.0 */
/* conv_case.c - shapes, and the oracle of the conv family: float64, tap by
 * tap, independent of the library's arithmetic and of its index formulas. */
#include "conformance/conv/conv_case.h"

#include "conformance/bounds.h"
#include "conformance/activation.h"
#include "conformance/case.h"
#include "conformance/gemm/gemm_case.h"

const struct conv_shape conv_shapes[CONV_SHAPES] = {
    {"1x1", {5, 7}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
    {"one pixel", {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
    {"same", {8, 9}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {"even", {9, 6}, {3, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
    {"kernel over the image", {2, 3}, {5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}},
    {"one pixel, padded", {1, 1}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {"padding over kernel/2", {4, 4}, {3, 3}, {1, 1}, {3, 2, 2, 3}, {1, 1}},
    {"windows in the padding", {2, 1}, {2, 3}, {2, 1}, {5, 4, 3, 4}, {1, 1}},
    {"stride over kernel", {7, 8}, {2, 2}, {3, 4}, {0, 0, 0, 0}, {1, 1}},
    {"dilation", {9, 8}, {3, 3}, {1, 1}, {0, 0, 0, 0}, {2, 2}},
    {"dilation, padded", {8, 10}, {3, 2}, {1, 1}, {2, 1, 2, 1}, {3, 2}},
    {"asymmetric", {6, 5}, {3, 3}, {1, 1}, {0, 2, 1, 0}, {1, 1}},
    {"asymmetric, strided", {5, 6}, {4, 4}, {2, 2}, {1, 2, 2, 1}, {1, 1}},
    {"wide strides", {13, 11}, {5, 3}, {2, 3}, {2, 1, 2, 1}, {1, 1}},
    {"a row", {3, 17}, {1, 7}, {1, 2}, {0, 3, 0, 3}, {1, 1}},
    {"whole image", {7, 6}, {7, 6}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
    {"all at once", {10, 9}, {3, 2}, {4, 3}, {1, 0, 2, 3}, {2, 3}},
    {"long rows", {2, 601}, {1, 3}, {1, 1}, {0, 1, 0, 1}, {1, 1}},
};

static int64_t conv_case_positions(int64_t image, int64_t window,
                                   int64_t stride, int64_t before,
                                   int64_t after, int64_t dilation)
{
    int64_t n = 0, last = dilation * (window - 1);
    for (int64_t at = -before; at + last < image + after; at += stride)
        n++;
    return n;
}

struct conv_geometry conv_geometry(const struct conv_shape *s,
                                   struct conv_channels channels, int64_t n,
                                   ssq_layout layout)
{
    struct conv_geometry g = {.n = n,
                              .c = channels.c,
                              .o = channels.o,
                              .groups = channels.groups,
                              .layout = layout};
    memcpy(g.padding, s->padding, sizeof(g.padding));
    for (int i = 0; i < 2; i++) {
        g.image[i] = s->image[i];
        g.window[i] = s->window[i];
        g.stride[i] = s->stride[i];
        g.dilation[i] = s->dilation[i];
        g.map[i] = conv_case_positions(s->image[i], s->window[i], s->stride[i],
                                       s->padding[i], s->padding[i + 2],
                                       s->dilation[i]);
    }
    return g;
}

static void conv_case_shape_of(ssq_layout layout, int64_t n, int64_t c,
                               const int64_t *size, int64_t *shape)
{
    bool last = layout == SSQ_LAYOUT_NHWC;
    shape[0] = n;
    shape[last ? 3 : 1] = c;
    shape[last ? 1 : 2] = size[0];
    shape[last ? 2 : 3] = size[1];
}

void conv_image_shape(const struct conv_geometry *g, int64_t *shape)
{
    conv_case_shape_of(g->layout, g->n, g->c, g->image, shape);
}

void conv_filter_shape(const struct conv_geometry *g, int64_t *shape)
{
    conv_case_shape_of(g->layout, g->o, g->c / g->groups, g->window, shape);
}

void conv_map_shape(const struct conv_geometry *g, int64_t *shape)
{
    conv_case_shape_of(g->layout, g->n, g->o, g->map, shape);
}

void conv_describe(const struct conv_geometry *g, char *text, size_t bytes)
{
    const int64_t v[] = {
        g->n,          g->c,           g->image[0],    g->image[1],
        g->o,          g->window[0],   g->window[1],   g->stride[0],
        g->stride[1],  g->padding[0],  g->padding[1],  g->padding[2],
        g->padding[3], g->dilation[0], g->dilation[1], g->groups};
    static const char *const format[] = {
        "",  "x",         "x", "x", " by ", " of ",       "x", " stride ",
        "x", " padding ", ",", ",", ",",    " dilation ", "x", " groups "};
    size_t at = 0;
    for (size_t i = 0; i < COUNT(v) && at < bytes; i++)
        at += (size_t)snprintf(text + at, bytes - at, "%s%lld", format[i],
                               (long long)v[i]);
    if (at < bytes)
        snprintf(text + at, bytes - at, " %s",
                 g->layout == SSQ_LAYOUT_NHWC ? "NHWC" : "NCHW");
}

int64_t conv_elements(const struct conv_geometry *g, enum conv_made made)
{
    switch (made) {
    case MADE_MAP:
        return g->n * g->o * g->map[0] * g->map[1];
    case MADE_IMAGE:
        return g->n * g->c * g->image[0] * g->image[1];
    default:
        return g->o * (g->c / g->groups) * g->window[0] * g->window[1];
    }
}

double conv_depth(const struct conv_geometry *g, enum conv_made made)
{
    int64_t taps = g->window[0] * g->window[1];
    switch (made) {
    case MADE_MAP:
        return (double)(g->c / g->groups * taps);
    case MADE_IMAGE:
        return (double)(g->o / g->groups * taps);
    default:
        return (double)(g->n * g->map[0] * g->map[1]);
    }
}

/* Dense index of [n,c,h,w] in a layout. */
static int64_t conv_case_index_of(ssq_layout layout, int64_t channels,
                                  const int64_t *size, int64_t n, int64_t c,
                                  int64_t h, int64_t w)
{
    if (layout == SSQ_LAYOUT_NHWC)
        return ((n * size[0] + h) * size[1] + w) * channels + c;
    return ((n * channels + c) * size[0] + h) * size[1] + w;
}

static void conv_case_add(struct conv_sum *s, double x, double y)
{
    double p = x * y; /* exact: both are float32 */
    s->value += p;
    if (!isfinite(p))
        return;
    s->size += fabs(p);
    if (fabs(x) < 0x1p-126 || fabs(y) < 0x1p-126)
        s->subnormal += fabs(p);
}

/* Where one tap is; image is -1 in the padding. */
struct tap {
    int64_t image, filter, map;
};

/* The values at one tap, as they count for the result. */
static void add_tap(struct tap t, enum conv_made made, const double *image,
                    const double *filter, const double *map,
                    struct conv_sum *sums)
{
    if (made == MADE_IMAGE) {
        if (t.image >= 0)
            conv_case_add(&sums[t.image], map[t.map], filter[t.filter]);
        return;
    }
    double x = t.image < 0 ? 0.0 : image[t.image];
    if (made == MADE_MAP)
        conv_case_add(&sums[t.map], x, filter[t.filter]);
    else
        conv_case_add(&sums[t.filter], x, map[t.map]);
}

/* All taps of one element of the map, for one channel of its group. */
static void add_window(const struct conv_geometry *g, enum conv_made made,
                       const int64_t *at, int64_t channel, const double *image,
                       const double *filter, const double *map,
                       struct conv_sum *sums)
{
    int64_t n = at[0], o = at[1], per = g->c / g->groups;
    int64_t c = o / (g->o / g->groups) * per + channel;
    for (int64_t r = 0; r < g->window[0]; r++)
        for (int64_t s = 0; s < g->window[1]; s++) {
            int64_t h = at[2] * g->stride[0] - g->padding[0];
            int64_t w = at[3] * g->stride[1] - g->padding[1];
            h += r * g->dilation[0];
            w += s * g->dilation[1];
            bool inside =
                h >= 0 && h < g->image[0] && w >= 0 && w < g->image[1];
            struct tap t = {
                inside
                    ? conv_case_index_of(g->layout, g->c, g->image, n, c, h, w)
                    : -1,
                conv_case_index_of(g->layout, per, g->window, o, channel, r, s),
                conv_case_index_of(g->layout, g->o, g->map, n, o, at[2],
                                   at[3])};
            add_tap(t, made, image, filter, map, sums);
        }
}

void conv_sums(const struct conv_geometry *g, enum conv_made made,
               const double *image, const double *filter, const double *map,
               struct conv_sum *sums)
{
    int64_t at[4];
    int64_t elements = conv_elements(g, made);
    for (int64_t i = 0; i < elements; i++)
        sums[i] = (struct conv_sum){0.0, 0.0, 0.0};
    for (at[0] = 0; at[0] < g->n; at[0]++)
        for (at[1] = 0; at[1] < g->o; at[1]++)
            for (at[2] = 0; at[2] < g->map[0]; at[2]++)
                for (at[3] = 0; at[3] < g->map[1]; at[3]++)
                    for (int64_t c = 0; c < g->c / g->groups; c++)
                        add_window(g, made, at, c, image, filter, map, sums);
}

/* The channel of dense element i of the result. */
static int64_t conv_case_channel_of(const struct conv_check *c, int64_t i)
{
    const struct conv_geometry *g = c->g;
    int64_t channels = c->made == MADE_MAP ? g->o : g->c;
    const int64_t *size = c->made == MADE_MAP ? g->map : g->image;
    if (g->layout == SSQ_LAYOUT_NHWC)
        return i % channels;
    return i / (size[0] * size[1]) % channels;
}

static bool has_nonfinite(const struct operand *x)
{
    for (int64_t i = 0; i < x->n; i++)
        if (!isfinite(x->value[i]))
            return true;
    return false;
}

/* The value that one element must have before it is stored, and its error. */
struct conv_case_target {
    double want, error;
    bool open, exact;
};

static struct conv_case_target conv_case_aim(const struct harness *b,
                                             const struct conv_check *c,
                                             const struct conv_sum *s,
                                             int64_t i)
{
    bool flushed = b->props.f32_subnormals == SSQ_SUBNORMALS_FLUSHED;
    double k = conv_depth(c->g, c->made);
    double eta = bound_eta_product(c->a->dtype, c->b->dtype, flushed);
    double bias =
        c->bias == NULL ? 0.0 : c->bias->value[conv_case_channel_of(c, i)];
    double x = s->value + bias;
    double most = s->size + (isfinite(bias) ? fabs(bias) : 0.0);
    struct conv_case_target t = {.want = activation_oracle(x, c->activation),
                                 .open = most >= 0x1p127,
                                 .exact = c->integers && most < 0x1p24 &&
                                          c->activation <= SSQ_ACTIVATION_RELU};
    if (!isfinite(x))
        return t;
    t.error = bound_gemm(k, 0, s->size, 0, 1, eta, flushed);
    if (flushed)
        t.error += s->subnormal;
    t.error += 0x1p-39 * most; /* the oracle's own sums, of up to 8192 */
    if (c->bias != NULL)
        t.error = bound_add(t.error, x);
    if (c->activation != SSQ_ACTIVATION_NONE && isfinite(t.want))
        t.error = bound_activation(t.error, activation_lipschitz(c->activation),
                                   t.want);
    return t;
}

bool conv_compare(struct harness *b, const struct conv_check *c,
                  const struct operand *y, const struct conv_sum *sums)
{
    size_t bytes = (size_t)y->n * sizeof(double);
    double *want = harness_alloc(b, bytes), *error = harness_alloc(b, bytes);
    bool exact = y->n > 0;
    /* a tap that meets nothing may be multiplied by zero: NaN is allowed */
    bool spreads = c->made == MADE_IMAGE && has_nonfinite(c->b);
    int64_t open = 0;
    if (harness_over(b))
        return !b->failed;
    for (int64_t i = 0; i < y->n; i++) {
        struct conv_case_target t = conv_case_aim(b, c, &sums[i], i);
        bool may = t.open || (spreads && isnan(y->value[i]));
        exact = exact && t.exact;
        open += may && !isnan(t.want);
        want[i] = may ? y->value[i] : t.want;
        error[i] = t.error;
    }
    if (open > 0 && open == y->n)
        return harness_fail(b, "the case tests nothing: all may be anything");
    if (exact)
        gemm_exactly(b, y, want);
    return harness_bound(b, y, want, error);
}

double conv_linear(const void *data, const double *x)
{
    const struct conv_linear *l = data;
    conv_sums(l->g, l->made, l->image == NULL ? x : l->image,
              l->filter == NULL ? x : l->filter, l->map == NULL ? x : l->map,
              l->scratch);
    double sum = 0.0;
    int64_t n = conv_elements(l->g, l->made);
    for (int64_t i = 0; i < n; i++)
        sum += l->weights[i] * l->scratch[i].value;
    return sum;
}
