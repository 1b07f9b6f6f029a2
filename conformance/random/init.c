/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - cases of the initialisers: each is the random op with the bound or
 * deviation that its paper says, so its bits are compared with that op's. */
#include "conformance/case.h"

enum shape_of { CONSTANT, UNIFORM, NORMAL, TRUNCATED };

static const struct {
    const char *text;
    ssq_init_kind kind;
    enum shape_of family;
    struct shape shape;
    double spread; /* or the constant */
    double value, gain, slope;
    const char *nonlinearity;
    ssq_fan fan;
} rows[] = {
    {"zeros", SSQ_INIT_ZEROS, CONSTANT, {1, {7}}, 0.0, 0, 0, 0, NULL, 0},
    {"ones", SSQ_INIT_ONES, CONSTANT, {2, {3, 5}}, 1.0, 0, 0, 0, NULL, 0},
    {"constant",
     SSQ_INIT_CONSTANT,
     CONSTANT,
     {1, {9}},
     -2.5,
     -2.5,
     0,
     0,
     NULL,
     0},
    {"uniform", SSQ_INIT_UNIFORM, UNIFORM, {1, {99}}, 0.3, 0.3, 0, 0, NULL, 0},
    {"normal", SSQ_INIT_NORMAL, NORMAL, {1, {99}}, 0.02, 0.02, 0, 0, NULL, 0},
    {"truncated normal",
     SSQ_INIT_TRUNCATED_NORMAL,
     TRUNCATED,
     {0, {0}},
     0.02,
     0.02,
     0,
     0,
     NULL,
     0},
    /* [out, in]: fan_in 20, fan_out 30 */
    {"xavier uniform",
     SSQ_INIT_XAVIER_UNIFORM,
     UNIFORM,
     {2, {30, 20}},
     0.34641016151377546,
     0,
     0,
     0,
     NULL,
     0},
    {"xavier uniform tanh",
     SSQ_INIT_XAVIER_UNIFORM,
     UNIFORM,
     {2, {30, 20}},
     0.57735026918962576,
     0,
     0,
     0,
     "tanh",
     0},
    {"xavier normal gain 2",
     SSQ_INIT_XAVIER_NORMAL,
     NORMAL,
     {2, {30, 20}},
     0.4,
     0,
     2.0,
     0,
     NULL,
     0},
    {"xavier normal sigmoid",
     SSQ_INIT_XAVIER_NORMAL,
     NORMAL,
     {2, {30, 20}},
     0.2,
     0,
     0,
     0,
     "sigmoid",
     0},
    {"kaiming uniform",
     SSQ_INIT_KAIMING_UNIFORM,
     UNIFORM,
     {2, {30, 20}},
     0.54772255750516607,
     0,
     0,
     0,
     NULL,
     SSQ_FAN_IN},
    /* torch.nn.Linear: a = sqrt 5 gives 1 / sqrt(fan_in) */
    {"kaiming uniform as torch.nn.Linear",
     SSQ_INIT_KAIMING_UNIFORM,
     UNIFORM,
     {2, {30, 25}},
     0.2,
     0,
     0,
     2.23606797749978969,
     NULL,
     SSQ_FAN_IN},
    {"kaiming normal fan_out relu",
     SSQ_INIT_KAIMING_NORMAL,
     NORMAL,
     {2, {32, 20}},
     0.25,
     0,
     0,
     0,
     "relu",
     SSQ_FAN_OUT},
    {"kaiming normal linear",
     SSQ_INIT_KAIMING_NORMAL,
     NORMAL,
     {2, {30, 25}},
     0.2,
     0,
     0,
     0,
     "linear",
     SSQ_FAN_IN},
    {"kaiming normal selu",
     SSQ_INIT_KAIMING_NORMAL,
     NORMAL,
     {2, {30, 25}},
     0.15,
     0,
     0,
     0,
     "selu",
     SSQ_FAN_IN},
    /* OIHW: fan_in 2 * 15, fan_out 4 * 15 */
    {"kaiming uniform of a convolution",
     SSQ_INIT_KAIMING_UNIFORM,
     UNIFORM,
     {4, {4, 2, 3, 5}},
     0.31622776601683794,
     0,
     1.0,
     0,
     NULL,
     SSQ_FAN_IN},
    {"kaiming normal fan_out of a convolution",
     SSQ_INIT_KAIMING_NORMAL,
     NORMAL,
     {4, {4, 2, 3, 5}},
     0.18257418583505536,
     0,
     0,
     0,
     "relu",
     SSQ_FAN_OUT},
    {"lecun uniform",
     SSQ_INIT_LECUN_UNIFORM,
     UNIFORM,
     {2, {10, 12}},
     0.5,
     0,
     0,
     0,
     NULL,
     0},
    {"lecun normal",
     SSQ_INIT_LECUN_NORMAL,
     TRUNCATED,
     {2, {10, 25}},
     0.2273694468677113,
     0,
     0,
     0,
     NULL,
     0},
    {"xavier uniform of nothing",
     SSQ_INIT_XAVIER_UNIFORM,
     UNIFORM,
     {2, {0, 0}},
     0.0,
     0,
     0,
     0,
     NULL,
     0},
};

/* The same elements by the op that the initialiser represents. */
static ssq_status direct(struct harness *b, size_t i, const ssq_tensor *x,
                         const ssq_tensor *step)
{
    double s = rows[i].spread;
    if (rows[i].family == CONSTANT) {
        ssq_fill_args a = {sizeof(a), x, s};
        return ssq_fill(b->queue, &a);
    }
    if (rows[i].family == UNIFORM) {
        ssq_random_uniform_args a = {sizeof(a), x, 5, 6, step, 7, -s, s};
        return ssq_random_uniform(b->queue, &a);
    }
    ssq_random_normal_args a = {sizeof(a), x, 5, 6, step, 7, 0.0, s};
    return rows[i].family == NORMAL ? ssq_random_normal(b->queue, &a)
                                    : ssq_random_truncated_normal(b->queue, &a);
}

static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};

#define TABLE (COUNT(rows) * COUNT(dtypes))

/* The spreads above have 17 digits, so both calls round to the same float32
 * arguments and give the same bits. */
static bool init_run_row(struct harness *b, size_t i)
{
    const ssq_dtype dtype = dtypes[pick(&i, COUNT(dtypes))];
    const struct shape *s = &rows[i].shape;
    const double three = 3.0;
    struct operand x, y, step;
    harness_output(b, &x, dtype, s->rank, s->d, LAYOUT_TRANSPOSED);
    harness_output(b, &y, SSQ_F32, s->rank, s->d, LAYOUT_DENSE);
    harness_values(b, &step, SSQ_I32, 0, NULL, LAYOUT_DENSE, &three);
    ssq_init_args args = SSQ_INIT_INIT;
    args.x = x.t;
    args.seed = 5;
    args.id = 6;
    args.step = step.t;
    args.offset = 7;
    args.kind = rows[i].kind;
    args.fan = rows[i].fan;
    args.value = rows[i].value;
    args.gain = rows[i].gain;
    args.nonlinearity = rows[i].nonlinearity;
    args.slope = rows[i].slope;
    HARNESS_OP(b, ssq_init(b->queue, &args));
    harness_status(b, direct(b, i, y.t, step.t));
    harness_read(b, &x);
    harness_read(b, &y);
    double *want = harness_alloc(b, (size_t)x.n * sizeof(double));
    for (int64_t k = 0; k < x.n; k++)
        want[k] = harness_round(y.value[k], dtype);
    return harness_exact(b, &x, want) && harness_same(b, &x);
}

static bool init_run_refused(struct harness *b)
{
    const int64_t n = 4, shape[] = {2, 2};
    struct operand x, w, i;
    harness_output(b, &x, SSQ_F32, 1, &n, LAYOUT_DENSE);
    harness_output(b, &w, SSQ_F32, 2, shape, LAYOUT_DENSE);
    harness_output(b, &i, SSQ_I32, 2, shape, LAYOUT_DENSE);
    ssq_init_args a = SSQ_INIT_INIT;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_init(b->queue, &a), "x is NULL");
    a.x = i.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_init(b->queue, &a), "x is i32");
    a.x = x.t;
    a.kind = SSQ_INIT_XAVIER_NORMAL;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_init(b->queue, &a),
                       "x has rank 1, a fan needs");
    a.x = w.t;
    a.nonlinearity = "cubic";
    harness_refused_as(b, SSQ_ERR_NOT_FOUND, ssq_init(b->queue, &a),
                       "no nonlinearity \"cubic\"");
    a.nonlinearity = NULL;
    a.gain = -1.0;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_init(b->queue, &a),
                       "gain is -1");
    a.gain = 0.0;
    a.kind = SSQ_INIT_NORMAL;
    a.value = -1.0;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_init(b->queue, &a),
                       "value is -1");
    a.value = (double)NAN;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_init(b->queue, &a),
                       "value is nan");
    a.kind = SSQ_INIT_CONSTANT;
    a.value = -1e39;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_init(b->queue, &a),
                       "value is -1e+39");
    a.kind = SSQ_INIT_UNIFORM;
    a.value = 2e38;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_init(b->queue, &a),
                       "init: the bound is 2e+38");
    a.kind = SSQ_INIT_XAVIER_NORMAL;
    a.value = 0.0;
    a.gain = 1e300;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_init(b->queue, &a),
                       "init: the deviation is");
    a.gain = 0.0;
    a.kind = (ssq_init_kind)12;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_init(b->queue, &a), "kind, 12");
    a.kind = SSQ_INIT_LAYER;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_init(b->queue, &a), "kind, -1");
    a.kind = SSQ_INIT_KAIMING_NORMAL;
    a.fan = (ssq_fan)2;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_init(b->queue, &a), "fan, 2");
    return harness_unchanged(b, &x) && harness_unchanged(b, &w) &&
           harness_unchanged(b, &i);
}

static void init_describe(size_t i, char *text, size_t bytes)
{
    char shape[64];
    if (i == TABLE) {
        snprintf(text, bytes, "init refuses misuse");
        return;
    }
    size_t dtype = pick(&i, COUNT(dtypes));
    snprintf(text, bytes, "init %s %s: %s, spread %.9g",
             ssq_dtype_name(dtypes[dtype]),
             shape_text(&rows[i].shape, shape, sizeof(shape)), rows[i].text,
             rows[i].spread);
}

static bool init_run(struct harness *b, size_t i)
{
    return i < TABLE ? init_run_row(b, i) : init_run_refused(b);
}

const struct suite init_suite = {.op = "random",
                                 .name = "init",
                                 .n = TABLE + 1,
                                 .describe = init_describe,
                                 .run = init_run,
                                 .bit_equal = true,
                                 .floor = 122};
