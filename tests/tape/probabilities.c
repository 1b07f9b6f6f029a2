/* SPDX-License-Identifier: Apache-2.0 */
/* probabilities.c - losses of probabilities, as Keras has them, made of vars:
 * values and gradients against float64.
 *
 * y = clamp(p, 1e-7, 1 - 1e-7) is exact, and l = log(y) is off by 2u |l|. The
 * loss sees l as logits, so that it divides by the sum of y. u = 2^-24. */
#include "tests/tape/tape.h"

#include <math.h>

#include "conformance/bounds_rows.h"

#define ROWS    6
#define CLASSES 5
#define N       (ROWS * CLASSES)
#define EPSILON 1e-7

/* Rows of softmaxes, one with all of its weight in one place, and one whose sum
 * is not 1. */
static const float p[N] = {
    0.1f,  0.2f,    0.3f,  0.25f,   0.15f,   /* */
    0.5f,  0.125f,  0.25f, 0.0625f, 0.0625f, /* */
    0.0f,  1.0f,    0.0f,  0.0f,    0.0f,    /* */
    1e-4f, 0.9996f, 1e-4f, 1e-4f,   1e-4f,   /* */
    3e-8f, 0.25f,   0.5f,  0.25f,   2e-7f,   /* */
    0.3f,  0.4f,    0.1f,  0.9f,    0.6f,
};
static const int labels[ROWS] = {3, 0, 2, 1, 0, -100};
static const float aims[N] = {
    0.0f, 0.5f, 0.25f, 0.25f, 0.0f, 1.0f, 0.0f, 0.0f,  0.0f,  0.0f,
    0.2f, 0.2f, 0.2f,  0.2f,  0.2f, 0.0f, 0.9f, 0.05f, 0.05f, 0.0f,
    0.5f, 0.0f, 0.0f,  0.0f,  0.5f, 0.1f, 0.2f, 0.3f,  0.4f,  0.0f,
};

enum kind { SPARSE, CATEGORICAL, BINARY, KINDS };
static const char *const words[] = {"sparse_categorical_crossentropy",
                                    "categorical_crossentropy",
                                    "binary_crossentropy"};

struct probabilities_result {
    double loss, loss_error;
    double dx[N], error[N];
};

static double clamped(int i)
{
    double low = (double)(float)EPSILON, high = (double)(float)(1.0 - EPSILON);
    return fmin(fmax((double)p[i], low), high);
}

/* The clamp is the identity within its bounds, and has no slope outside. */
static bool within(int i)
{
    return clamped(i) == (double)p[i];
}

/* One row: l are its logits; q sums to 1. */
static void row_of(int r, const double *q, double count,
                   struct probabilities_result *o)
{
    struct softmax_facts f = {.n = CLASSES, .max = -INFINITY};
    double y[CLASSES], l[CLASSES], m = 0.0, all = 0.0;
    for (int k = 0; k < CLASSES; k++) {
        y[k] = clamped(r * CLASSES + k);
        l[k] = log(y[k]);
        f.max = fmax(f.max, l[k]);
    }
    for (int k = 0; k < CLASSES; k++)
        f.total += exp(l[k] - f.max);
    f.log_total = log(f.total);
    for (int k = 0; k < CLASSES; k++) {
        double s = exp(l[k] - f.max) / f.total;
        f.spread += s * fabs(l[k] - f.max);
        all += s * fabs(l[k]); /* the effect of errors of l on the sum's log */
    }
    for (int k = 0; k < CLASSES; k++) {
        double t = l[k] - f.max, s = exp(t) / f.total;
        int i = r * CLASSES + k;
        o->loss -= q[k] * (t - f.log_total) / count;
        m += q[k] * (1.0 + fabs(t) + fabs(f.log_total) + f.spread);
        o->loss_error += q[k] * 2.0 * U_F32 * (fabs(l[k]) + all) / count;
        double g = (s - q[k]) / count;
        double error = bound_row_gradient(&f, ROWS, s, t, q[k], 1.0,
                                          1.0 / count, bound_tiny(true));
        error += s * 2.0 * U_F32 * (fabs(l[k]) + all) / count;
        o->dx[i] = within(i) ? g / y[k] : 0.0;
        /* the quotient, and the clamp's product */
        o->error[i] = within(i) ? (error + 2.0 * U_F32 * fabs(g)) / y[k] : 0.0;
    }
    o->loss_error += bound_mean_loss(CLASSES, ROWS, m / count);
}

static void of_classes(enum kind kind, struct probabilities_result *o)
{
    for (int r = 0; r < ROWS; r++) {
        double q[CLASSES] = {0};
        if (kind == SPARSE && labels[r] < 0)
            continue;
        for (int k = 0; k < CLASSES; k++)
            q[k] = kind == SPARSE ? (double)(labels[r] == k)
                                  : (double)aims[r * CLASSES + k];
        row_of(r, q, kind == SPARSE ? ROWS - 1 : ROWS, o);
    }
}

/* Logits z = log(y) - log1p(-y), off by d = 2u (|log y| + |log(1 - y)|) + u
 * |z|; the loss's slope by z is at most 1, its second derivative 1/4. */
static void of_elements(struct probabilities_result *o)
{
    double m = 0.0;
    for (int i = 0; i < N; i++) {
        double y = clamped(i), t = (double)aims[i];
        double a = log(y), b = log1p(-y), z = a - b;
        double d = U_F32 * (2.0 * (fabs(a) + fabs(b)) + fabs(z));
        double up = -b, down = -a; /* softplus(z), softplus(-z) */
        double g = y - t, slope = (1.0 - t) * y + t * (1.0 - y);
        o->loss += (t * down + (1.0 - t) * up) / N;
        m += t * down + (1.0 - t) * up;
        o->loss_error += d / N;
        double by_z = (bound_loss_slope(slope, 1.0, bound_tiny(true)) + d) / N;
        /* the slopes 1 / y and 1 / (1 - y) of z, with opposite signs */
        double whole = 1.0 / y + 1.0 / (1.0 - y);
        o->dx[i] = within(i) ? g / N * whole : 0.0;
        o->error[i] =
            within(i) ? (by_z + 6.0 * U_F32 * fabs(g) / N) * whole : 0.0;
    }
    o->loss_error += bound_loss_total(N, m / N, bound_tiny(true));
}

static ssq_var loss_of(enum kind kind, ssq_var x, const ssq_tensor *classes,
                       const ssq_tensor *target)
{
    ssq_var y =
        ssq_clamp_var(x, SSQ_CLAMP(.min = EPSILON, .max = 1.0 - EPSILON));
    ssq_var l = ssq_log_var(y);
    switch (kind) {
    case SPARSE:
        return ssq_cross_entropy_var(l, SSQ_CROSS_ENTROPY(.target = classes));
    case CATEGORICAL:
        return ssq_cross_entropy_var(l,
                                     SSQ_CROSS_ENTROPY(.target_prob = target));
    default:
        l = ssq_sub_var(l, ssq_log1p_var(ssq_neg_var(y)));
        return ssq_bce_with_logits_var(l,
                                       SSQ_BCE_WITH_LOGITS(.target = target));
    }
}

static void check(const struct tape_rig *r, enum kind kind)
{
    const int64_t shape[] = {ROWS, CLASSES};
    static struct probabilities_result want;
    ssq_tensor *in = rig_floats(r, 2, shape, p);
    ssq_tensor *target = rig_floats(r, 2, shape, aims);
    ssq_tensor *classes = rig_words(r, 1, shape, labels);
    float loss, dx[N];
    ssq_var grad;
    int wrong = 0;
    double worst = 0.0;
    want = (struct probabilities_result){0};
    if (kind == BINARY)
        of_elements(&want);
    else
        of_classes(kind, &want);
    ssq_tape_begin(r->tape, true);
    ssq_var x = ssq_var_watch(ssq_var_input(r->tape, in));
    ssq_var y = loss_of(kind, x, classes, target);
    const ssq_tensor *value = ssq_var_tensor(y);
    ssq_tape_grad(r->tape, y, &x, 1, NULL, &grad);
    NEED(ssq_tape_status(r->tape));
    NEED(ssq_tensor_read(r->queue, value, &loss, sizeof(loss), SSQ_F32));
    NEED(ssq_tensor_read(r->queue, ssq_var_tensor(grad), dx, sizeof(dx),
                         SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    double off = fabs((double)loss - want.loss);
    tap_ok(off <= want.loss_error, "%s: %s is %.9g, expected %.9g within %.3g",
           r->name, words[kind], (double)loss, want.loss, want.loss_error);
    for (int i = 0; i < N; i++) {
        double e = fabs((double)dx[i] - want.dx[i]);
        wrong += !(e <= want.error[i]);
        if (want.error[i] > 0.0)
            worst = fmax(worst, e / want.error[i]);
    }
    tap_ok(wrong == 0,
           "%s: %s: %d of %d gradients are off, at most %.2f bounds", r->name,
           words[kind], wrong, N, worst);
    ssq_tensor_destroy(&in);
    ssq_tensor_destroy(&target);
    ssq_tensor_destroy(&classes);
}

int main(void)
{
    for (size_t i = 0; core_device(i) != NULL; i++) {
        struct tape_rig r = rig_open(core_device(i), "float32");
        for (int k = 0; k < KINDS; k++)
            check(&r, (enum kind)k);
        rig_close(&r);
    }
    return tap_done(18);
}
