/* SPDX-License-Identifier: Apache-2.0 */
/* grad.c - ssq_tape_grad: its values are a backward's, bit for bit, and
 * a later backward is not changed by it; sets of variables, scales, orders of
 * calls, and refusals. */
#include "tests/tape/penalty.h"

#include <math.h>

/* ---- as a backward ---- */

static void read_bytes(const struct tape_rig *r, const ssq_tensor *t, void *x,
                       size_t bytes)
{
    NEED(ssq_tensor_read(r->queue, t, x, bytes, ssq_tensor_dtype(t)));
    NEED(ssq_queue_sync(r->queue));
}

static bool same(const struct tape_rig *r, const ssq_tensor *a,
                 const ssq_tensor *b)
{
    size_t bytes = (size_t)ssq_tensor_elements(b) *
                   (ssq_tensor_dtype(b) == SSQ_F32 ? 4 : 2);
    bool equal = ssq_tensor_dtype(a) == ssq_tensor_dtype(b) &&
                 ssq_tensor_elements(a) == ssq_tensor_elements(b);
    char *x = malloc(bytes + 1), *y = malloc(bytes + 1);
    if (x == NULL || y == NULL)
        tap_bail("no memory");
    if (equal) {
        read_bytes(r, a, x, bytes);
        read_bytes(r, b, y, bytes);
        equal = memcmp(x, y, bytes) == 0;
    }
    free(x);
    free(y);
    return equal;
}

/* Cases with operands that are float32 only. */
static bool is_full(const char *name)
{
    return strncmp(name, "batch_norm", 10) == 0 ||
           strcmp(name, "group_norm") == 0 || strcmp(name, "lstm") == 0;
}

/* The gradients of a case's parameters by ssq_tape_grad, and then by a backward
 * of the same pass: how many are the same. */
static void as_backward(const char *device, const char *policy, bool wide,
                        size_t i)
{
    struct tape_rig r = rig_open(device, policy);
    struct data d;
    struct penalty p = {.rig = &r, .data = &d, .i = i};
    ssq_params_options options = SSQ_PARAMS_OPTIONS_INIT;
    ssq_var vars[16], grads[16];
    size_t n = 0, equal = 0;
    ssq_tape_destroy(&r.tape);
    ssq_params_destroy(&r.params);
    options.float32_gradients = wide;
    NEED(ssq_params_create(r.device, policy, &options, &r.params));
    NEED(ssq_tape_create(r.queue, r.params, &r.tape));
    data_fill(&r, &d);
    ssq_tape_begin(r.tape, true);
    (void)penalty_loss(r.tape, &p);
    ssq_tape_begin(r.tape, true);
    ssq_var loss = penalty_loss(r.tape, &p);
    for (size_t k = 0; k < ssq_params_count(r.params); k++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(r.params, k, &info));
        if (strstr(info.name, "running_") == NULL)
            vars[n++] = ssq_var_named(r.tape, info.name);
    }
    ssq_tape_grad(r.tape, loss, vars, n, NULL, grads);
    for (size_t k = 0; k < n; k++)
        (void)ssq_var_tensor(grads[k]);
    ssq_status st = ssq_tape_backward(r.tape, loss, NULL);
    for (size_t k = 0, at = 0; k < ssq_params_count(r.params); k++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(r.params, k, &info));
        if (strstr(info.name, "running_") == NULL && st == SSQ_OK)
            equal += same(&r, ssq_var_tensor(grads[at++]), info.grad);
    }
    tap_ok(st == SSQ_OK && equal == n,
           "%s: %s%s: %s: %zu of %zu gradients are a backward's%s%s", device,
           policy, wide ? ", float32 gradients" : "", cases[i].name, equal, n,
           st == SSQ_OK ? "" : ": ", st == SSQ_OK ? "" : ssq_last_error());
    ssq_tensor_destroy(&p.w);
    data_drop(&d);
    rig_close(&r);
}

/* Gradients of a batch norm's parameters alone, over x and dy whose channels
 * are adjacent in memory, where dx's are not. */
static void norm_alone(const char *device)
{
    static const int64_t shape[] = {2, 7, 7, 4};
    static const char *const names[] = {"bn.weight", "bn.bias"};
    static float xs[2 * 7 * 7 * 4];
    struct tape_rig r = rig_open(device, NULL);
    ssq_tape *t = r.tape;
    size_t equal = 0;
    for (int i = 0; i < 2 * 7 * 7 * 4; i++)
        xs[i] = (float)((i * 37) % 101 - 50) / 13.0f;
    ssq_tensor *in = rig_floats(&r, 4, shape, xs);
    ssq_tape_begin(t, true);
    ssq_var v = ssq_nn_linear(t, "fc", ssq_var_input(t, in), 16, NULL), g[2];
    v = ssq_var_transpose(v, (int[]){0, 3, 1, 2});
    v = ssq_nn_batch_norm(t, "bn", v, NULL);
    v = ssq_var_transpose(v, (int[]){0, 2, 3, 1});
    ssq_var loss = ssq_mean_var(ssq_exp_var(v), NULL);
    for (int k = 0; k < 2; k++) {
        ssq_var w = ssq_var_named(t, names[k]);
        ssq_tape_grad(t, loss, &w, 1, NULL, &g[k]);
        (void)ssq_var_tensor(g[k]);
    }
    ssq_status st = ssq_tape_backward(t, loss, NULL);
    for (int k = 0; k < 2 && st == SSQ_OK; k++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_find(r.params, names[k], &info));
        equal += same(&r, ssq_var_tensor(g[k]), info.grad);
    }
    tap_ok(equal == 2,
           "%s: %zu of 2 gradients of a batch norm, asked for alone, are a "
           "backward's",
           device, equal);
    ssq_tensor_destroy(&in);
    rig_close(&r);
}

/* ---- small nets of which everything is known ---- */

static ssq_var scalar(ssq_tape *t, const char *name, double value)
{
    return ssq_var_param(t, name,
                         SSQ_PARAM(.init = SSQ_INIT_CONSTANT, .value = value));
}

static double number(const struct tape_rig *r, const ssq_tensor *t)
{
    float x = NAN;
    if (t == NULL || ssq_tensor_elements(t) != 1)
        return NAN;
    NEED(ssq_tensor_read(r->queue, t, &x, sizeof(x), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    return (double)x;
}

static double gradient(const struct tape_rig *r, const char *name)
{
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    NEED(ssq_params_find(r->params, name, &info));
    return number(r, info.grad);
}

#define GRAPH SSQ_TAPE_GRAD(.create_graph = true)

static ssq_var derivative(ssq_tape *t, ssq_var y, ssq_var x)
{
    ssq_var g = SSQ_VAR_NONE;
    ssq_tape_grad(t, y, &x, 1, GRAPH, &g);
    return g;
}

/* x^4 at 2: 32, 48, 48, 24; and the backward makes the last one. */
static void orders(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    ssq_tape_begin(t, true);
    ssq_var x = scalar(t, "s", 2.0);
    ssq_var y = ssq_square_var(ssq_square_var(x));
    ssq_var one = derivative(t, y, x), two = derivative(t, one, x),
            three = derivative(t, two, x);
    double got[] = {number(r, ssq_var_tensor(one)),
                    number(r, ssq_var_tensor(two)),
                    number(r, ssq_var_tensor(three))};
    ssq_params_clean(r->params);
    ssq_status st = ssq_tape_backward(t, three, NULL);
    tap_ok(st == SSQ_OK && got[0] == 32.0 && got[1] == 48.0 && got[2] == 48.0 &&
               gradient(r, "s") == 24.0,
           "%s: four derivatives of x^4: %g %g %g %g", r->name, got[0], got[1],
           got[2], st == SSQ_OK ? gradient(r, "s") : NAN);
}

/* a^b at b = 0: along a and then b as along b and then a, 1 / a. */
static void powers(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    ssq_tape_begin(t, true);
    ssq_var a = scalar(t, "two", 2.0), b = scalar(t, "none", 0.0);
    ssq_var y = ssq_pow_var(a, b), zero = ssq_pow_var(b, b);
    ssq_var ab = derivative(t, derivative(t, y, a), b);
    ssq_var ba = derivative(t, derivative(t, y, b), a);
    double x[] = {number(r, ssq_var_tensor(ab)), number(r, ssq_var_tensor(ba)),
                  number(r, ssq_var_tensor(derivative(t, zero, b)))};
    tap_ok(x[0] == 0.5 && x[1] == 0.5 && x[2] == 0.0,
           "%s: powers of 0: %g %g, of 0 itself %g", r->name, x[0], x[1], x[2]);
}

/* y = x^2 a, z = y^2: at a value in progress, at it twice, at the loss itself,
 * at a parameter of which it is not made, and at an input. */
static void asked(const struct tape_rig *r, bool graph)
{
    ssq_tape *t = r->tape;
    const float half = 0.5f;
    ssq_tensor *in = rig_floats(r, 0, NULL, &half);
    ssq_tape_begin(t, true);
    ssq_var x = scalar(t, "s", 2.0), other = scalar(t, "o", 3.0);
    ssq_var a = ssq_var_watch(ssq_var_input(t, in));
    ssq_var y = ssq_mul_var(ssq_square_var(x), a), z = ssq_square_var(y);
    ssq_var vars[] = {y, x, z, y, a, other}, g[6];
    ssq_tape_grad(t, z, vars, 6,
                  SSQ_TAPE_GRAD(.create_graph = graph, .allow_unused = true),
                  g);
    static const double want[] = {4.0, 8.0, 1.0, 4.0, 16.0};
    double got[5];
    bool good = g[5].tape == NULL;
    for (int i = 0; i < 5; i++) {
        got[i] = number(r, ssq_var_tensor(g[i]));
        good = good && got[i] == want[i];
    }
    tap_ok(good && ssq_tape_status(t) == SSQ_OK,
           "%s: %s: of a value %g, a parameter %g, the loss %g, again %g, an "
           "input %g; what it is not made of has none",
           r->name, graph ? "create_graph" : "values", got[0], got[1], got[2],
           got[3], got[4]);
    ssq_params_clean(r->params);
    ssq_status st = ssq_tape_backward(t, z, NULL);
    tap_ok(st == SSQ_OK && gradient(r, "s") == 8.0,
           "%s: and the backward is as ever", r->name);
    ssq_tensor_destroy(&in);
}

/* A vector times itself, gradients in other shapes: the gradient may be asked
 * for in place, and a watched input alone leads to no parameter. */
static void inputs(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    const float x[] = {1.0f, -2.0f, 3.0f};
    const int64_t three = 3;
    float got[3] = {0};
    ssq_tensor *in = rig_floats(r, 1, &three, x);
    ssq_tape_begin(t, true);
    ssq_var v = ssq_var_watch(ssq_var_input(t, in));
    ssq_var loss = ssq_sum_var(ssq_square_var(v), NULL), g = v;
    ssq_tape_grad(t, loss, &g, 1, GRAPH, &g);
    if (ssq_var_tensor(g) != NULL)
        read_bytes(r, ssq_var_tensor(g), got, sizeof(got));
    tap_ok(got[0] == 2.0f && got[1] == -4.0f && got[2] == 6.0f,
           "%s: an input's gradient: %g %g %g", r->name, (double)got[0],
           (double)got[1], (double)got[2]);
    core_status(ssq_tape_backward(t, loss, NULL), SSQ_ERR_INVALID,
                "leads to no parameter", "%s: a backward has nothing to do",
                r->name);
    ssq_tape_begin(t, true);
    ssq_tape_pause(t);
    v = ssq_var_watch(ssq_var_input(t, in));
    loss = ssq_sum_var(ssq_square_var(v), NULL);
    ssq_tape_resume(t);
    ssq_tape_grad(t, loss, &v, 1, SSQ_TAPE_GRAD(.allow_unused = true), &g);
    tap_ok(g.tape == NULL && ssq_tape_status(t) == SSQ_OK,
           "%s: nothing goes out of a pause", r->name);
    ssq_tensor_destroy(&in);
}

/* Layer norm of a row of one number: of the gradient w of every other element
 * only rstd (w - mean(w)) is left, whether it is a var or not. 2u of rsqrt, and
 * of eps, the sum with it and the product u each. */
static void of_one_number(const struct tape_rig *r, bool graph)
{
    enum { LONG = 1000 };
    ssq_tape *t = r->tape;
    const int64_t row = LONG;
    const double rstd = 1.0 / sqrt(1e-5);
    float x[LONG], w[LONG], got[LONG] = {0};
    double worst = 0.0;
    for (int i = 0; i < LONG; i++) {
        x[i] = 1677721.75f;
        w[i] = (float)(i % 2);
    }
    ssq_tensor *in = rig_floats(r, 1, &row, x), *by = rig_floats(r, 1, &row, w);
    ssq_tape_begin(t, true);
    ssq_var v = ssq_var_watch(ssq_var_input(t, in)), none = SSQ_VAR_NONE, g = v;
    ssq_var y = ssq_layer_norm_var(v, none, none, NULL);
    ssq_var loss = ssq_sum_var(ssq_mul_var(y, ssq_var_input(t, by)), NULL);
    ssq_tape_grad(t, loss, &v, 1, SSQ_TAPE_GRAD(.create_graph = graph), &g);
    if (ssq_var_tensor(g) != NULL)
        read_bytes(r, ssq_var_tensor(g), got, sizeof(got));
    for (int i = 0; i < LONG; i++)
        worst = fmax(worst,
                     fabs((double)got[i] / rstd - (i % 2 == 0 ? -0.5 : 0.5)));
    tap_ok(worst <= 0.5 * 5.0 * 0x1p-24,
           "%s: %s: a layer norm of one number, off by %.3g", r->name,
           graph ? "create_graph" : "values", worst);
    ssq_tensor_destroy(&in);
    ssq_tensor_destroy(&by);
}

/* ---- scales ---- */

/* f16 gradients of 2^-26 x are there because of the scale, and true ones in
 * float32 after it. */
static void scales(const char *device)
{
    struct tape_rig r = rig_open(device, "mixed_float16");
    ssq_tape *t = r.tape;
    ssq_scaler *scaler = NULL;
    ssq_scaler_options o = SSQ_SCALER_OPTIONS_INIT;
    o.init_scale = 65536.0;
    NEED(ssq_scaler_create(r.device, NULL, &o, &scaler));
    for (int graph = 0; graph < 2; graph++) {
        ssq_var g[2];
        ssq_tape_begin(t, true);
        ssq_var x = scalar(t, "s", 2.0);
        ssq_var y =
            ssq_scale_var(ssq_square_var(x), SSQ_SCALE(.alpha = 0x1p-28));
        ssq_tape_grad(t, y, &x, 1, SSQ_TAPE_GRAD(.create_graph = graph), &g[0]);
        ssq_tape_grad(t, y, &x, 1,
                      SSQ_TAPE_GRAD(.create_graph = graph, .scaler = scaler),
                      &g[1]);
        double bare = number(&r, ssq_var_tensor(g[0]));
        double scaled = number(&r, ssq_var_tensor(g[1]));
        tap_ok(bare == 0.0 && scaled == 0x1p-26 &&
                   ssq_tensor_dtype(ssq_var_tensor(g[0])) == SSQ_F16 &&
                   ssq_tensor_dtype(ssq_var_tensor(g[1])) == SSQ_F32,
               "%s: %s: a gradient of 2^-26: %g in f16, %g by way of a scale",
               device, graph ? "create_graph" : "values", bare, scaled);
    }
    core_status(ssq_scaler_check(r.queue, scaler, 0, NULL), SSQ_ERR_INVALID,
                "scale", "%s: the scale does not count as used", device);
    ssq_scaler_destroy(&scaler);
    rig_close(&r);
}

/* torch's recipe: loss + |true gradient|, backward of that times the scale. At
 * loss = x^3 / 3 with x = 2 it is 4 + 4: 65536 (4 + 4). */
static void recipe(const char *device)
{
    struct tape_rig r = rig_open(device, NULL);
    ssq_tape *t = r.tape;
    ssq_scaler *scaler = NULL;
    NEED(ssq_scaler_create(r.device, "pytorch", NULL, &scaler));
    ssq_tape_begin(t, true);
    ssq_var x = scalar(t, "s", 2.0), g;
    ssq_var cube = ssq_mul_var(ssq_square_var(x), x);
    ssq_var loss = ssq_div_var(cube, ssq_var_detach(scalar(t, "three", 3.0)));
    ssq_tape_grad(t, loss, &x, 1,
                  SSQ_TAPE_GRAD(.create_graph = true, .scaler = scaler), &g);
    ssq_var norm = ssq_sqrt_var(ssq_sum_var(ssq_square_var(g), NULL));
    ssq_params_clean(r.params);
    ssq_status st = ssq_tape_backward(t, ssq_add_var(loss, norm), scaler);
    double got = st == SSQ_OK ? gradient(&r, "s") : NAN;
    /* 1/3 and a few products: 16 roundings */
    tap_ok(fabs(got / 524288.0 - 1.0) <= 16 * 0x1p-24,
           "%s: a penalty of unscaled gradients: %.9g", device, got);
    ssq_scaler_destroy(&scaler);
    rig_close(&r);
}

/* A net of small whole numbers, which 16 bits hold as well as 32: a penalty of
 * gradients for weights and an input has the same gradient under every policy.
 */
static void whole_numbers(const char *device, const char *policy, float *dw)
{
    struct tape_rig r = rig_open(device, policy);
    ssq_tape *t = r.tape;
    static const int64_t square[] = {2, 2};
    static const float x[] = {1.0f, -1.0f, 2.0f, 1.0f};
    static const float w[] = {1.0f, 2.0f, -1.0f, 1.0f};
    ssq_tensor *in = rig_floats(&r, 2, square, x);
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    ssq_tape_begin(t, true);
    (void)ssq_var_param(t, "w", SSQ_PARAM(.rank = 2, .shape = {2, 2}));
    NEED(ssq_params_find(r.params, "w", &info));
    NEED(ssq_tensor_write(r.queue, info.tensor, w, sizeof(w), SSQ_F32));
    NEED(ssq_queue_sync(r.queue));
    ssq_tape_begin(t, true);
    ssq_var v[] = {ssq_var_named(t, "w"), ssq_var_watch(ssq_var_input(t, in))};
    ssq_var y = ssq_gemm_var(
        v[1], v[0], SSQ_VAR_NONE,
        SSQ_GEMM(.trans_b = true, .activation = SSQ_ACTIVATION_RELU));
    ssq_var loss = ssq_mean_var(ssq_square_var(y), NULL);
    ssq_tape_grad(t, loss, v, 2, GRAPH, v);
    loss = ssq_add_var(ssq_sum_var(ssq_square_var(v[0]), NULL),
                       ssq_sum_var(ssq_mul_var(v[1], v[1]), NULL));
    memset(dw, 0, sizeof(w));
    if (ssq_tape_backward(t, loss, NULL) != SSQ_OK)
        tap_diag("%s", ssq_last_error());
    NEED(ssq_params_find(r.params, "w", &info));
    if (info.grad != NULL)
        NEED(ssq_tensor_read(r.queue, info.grad, dw, sizeof(w), SSQ_F32));
    NEED(ssq_queue_sync(r.queue));
    ssq_tensor_destroy(&in);
    rig_close(&r);
}

static void exact(const char *device)
{
    float dw[3][4];
    whole_numbers(device, "float32", dw[0]);
    whole_numbers(device, "mixed_float16", dw[1]);
    whole_numbers(device, "mixed_bfloat16", dw[2]);
    tap_ok(memcmp(dw[0], dw[1], sizeof(dw[0])) == 0 &&
               memcmp(dw[0], dw[2], sizeof(dw[0])) == 0 && dw[0][0] != 0.0f,
           "%s: whole numbers are the same under every policy: %g %g %g %g",
           device, (double)dw[0][0], (double)dw[0][1], (double)dw[0][2],
           (double)dw[0][3]);
}

/* ---- regions that are recomputed ---- */

static ssq_var block(ssq_tape *t, ssq_var x)
{
    x = ssq_silu_var(ssq_nn_linear(t, "a", x, 6, NULL));
    x = ssq_nn_dropout(t, ssq_var_transpose(x, NULL), 0.25);
    return ssq_nn_linear(t, "b", ssq_var_transpose(x, NULL), 4, NULL);
}

/* Gradients of a's weights by ssq_tape_grad, and by the backward of a penalty
 * of them: 24 and 24 numbers. */
static void made_again(const char *device, bool region, bool graph, float *got)
{
    struct tape_rig r = rig_open(device, NULL);
    ssq_tape *t = r.tape;
    static const int64_t shape[] = {3, 4};
    static const float x[] = {1, -1, 2, 0.5f, -3, 1, 0.25f, 1, 2, 2, -1, 0};
    ssq_tensor *in = rig_floats(&r, 2, shape, x);
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    ssq_tape_begin(t, true);
    ssq_var y = ssq_var_input(t, in);
    y = region ? ssq_var_recompute(t, block(t, y)) : block(t, y);
    ssq_var loss = ssq_mean_var(ssq_square_var(y), NULL);
    ssq_var w = ssq_var_named(t, "a.weight"), g;
    ssq_tape_grad(t, loss, &w, 1, SSQ_TAPE_GRAD(.create_graph = graph), &g);
    loss = ssq_add_var(loss, ssq_sum_var(ssq_mul_var(g, g), NULL));
    memset(got, 0, 48 * sizeof(*got));
    if (ssq_var_tensor(g) != NULL)
        NEED(ssq_tensor_read(r.queue, ssq_var_tensor(g), got, 24 * sizeof(*got),
                             SSQ_F32));
    if (ssq_tape_backward(t, loss, NULL) != SSQ_OK)
        tap_diag("%s", ssq_last_error());
    NEED(ssq_params_find(r.params, "a.weight", &info));
    if (info.grad != NULL)
        NEED(ssq_tensor_read(r.queue, info.grad, got + 24, 24 * sizeof(*got),
                             SSQ_F32));
    NEED(ssq_queue_sync(r.queue));
    ssq_tensor_destroy(&in);
    rig_close(&r);
}

static void regions(const char *device)
{
    for (int graph = 0; graph < 2; graph++) {
        float plain[48], again[48];
        made_again(device, false, graph, plain);
        made_again(device, true, graph, again);
        tap_ok(memcmp(plain, again, sizeof(plain)) == 0 && plain[0] != 0.0f &&
                   (memcmp(plain, plain + 24, 24 * sizeof(*plain)) == 0) ==
                       (graph == 0),
               "%s: %s: through a region that is recomputed the same: %g %g",
               device, graph ? "create_graph" : "values", (double)plain[0],
               (double)plain[24]);
    }
}

/* ---- misuse ---- */

static void latched(const struct tape_rig *r, ssq_var g, ssq_status want,
                    const char *text, const char *what)
{
    bool inert = ssq_var_tensor(g) == NULL;
    core_status(ssq_tape_status(r->tape), want, text, "%s: %s", r->name, what);
    ssq_tape_begin(r->tape, true);
    if (!inert || ssq_tape_status(r->tape) != SSQ_OK)
        tap_ok(false, "%s: its gradient is inert, and begin forgets it", what);
}

static void misuse(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    ssq_var g = SSQ_VAR_NONE, x, y;
    const float one = 1.0f;
    ssq_tensor *in = rig_floats(r, 0, NULL, &one);
    ssq_tape_grad(NULL, g, &g, 1, NULL, &g);
    tap_ok(g.tape == NULL, "%s: no tape, no gradient", r->name);
    ssq_tape_begin(t, true);
    x = scalar(t, "s", 2.0);
    ssq_tape_grad(t, ssq_square_var(x), NULL, 0, NULL, NULL);
    core_status(ssq_tape_status(t), SSQ_OK, "", "%s: of nothing nothing",
                r->name);
    ssq_tape_grad(t, ssq_square_var(x), NULL, 1, NULL, &g);
    latched(r, g, SSQ_ERR_INVALID, "grad.c:|tape_grad: vars is NULL",
            "no vars");
    x = scalar(t, "s", 2.0);
    ssq_tape_grad(t, ssq_square_var(x), &x, 1, NULL, NULL);
    latched(r, SSQ_VAR_NONE, SSQ_ERR_INVALID, "grads is NULL", "no grads");
    x = scalar(t, "s", 2.0);
    ssq_tape_grad(t, ssq_square_var(x), &x, 1, &(ssq_tape_grad_args){0}, &g);
    latched(r, g, SSQ_ERR_INVALID, "struct_size is 0", "no struct_size");
    x = scalar(t, "s", 2.0);
    ssq_tape_grad(t, SSQ_VAR_NONE, &x, 1, NULL, &g);
    latched(r, g, SSQ_ERR_INVALID, "loss is not a var", "no loss");
    x = ssq_var_param(t, "v", SSQ_PARAM(.rank = 1, .shape = {3}));
    ssq_tape_grad(t, x, &x, 1, NULL, &g);
    latched(r, g, SSQ_ERR_INVALID, "[3]|one element", "a loss of three");
    x = scalar(t, "s", 2.0);
    y = ssq_var_input(t, in);
    ssq_tape_grad(t, ssq_mul_var(x, y), &y, 1, NULL, &g);
    latched(r, g, SSQ_ERR_INVALID, "vars[0]|ssq_var_watch", "an input");
    x = scalar(t, "s", 2.0);
    y = ssq_square_var(x);
    ssq_tape_grad(t, ssq_mul_var(x, x), &y, 1, NULL, &g);
    latched(r, g, SSQ_ERR_INVALID, "does not depend on vars[0]|allow_unused",
            "a value of which the loss is not made");
    x = scalar(t, "s", 2.0);
    ssq_tape_begin(t, true);
    y = ssq_square_var(scalar(t, "s", 2.0));
    ssq_tape_grad(t, y, &x, 1, NULL, &g);
    latched(r, g, SSQ_ERR_INVALID, "var of pass", "a var of an earlier pass");
    ssq_tape_begin(t, false);
    x = scalar(t, "s", 2.0);
    ssq_tape_grad(t, ssq_square_var(x), &x, 1, NULL, &g);
    latched(r, g, SSQ_ERR_INVALID, "for evaluation", "an evaluation");
    y = ssq_square_var(x = scalar(t, "s", 2.0));
    NEED(ssq_tape_backward(t, y, NULL));
    ssq_tape_grad(t, y, &x, 1, NULL, &g);
    latched(r, g, SSQ_ERR_INVALID, "values were released", "behind a backward");
    x = scalar(t, "s", 2.0);
    ssq_tape_recompute_push(t);
    ssq_tape_grad(t, ssq_square_var(x), &x, 1, NULL, &g);
    latched(r, g, SSQ_ERR_INVALID, "has no pop yet", "in an open region");
    g = ssq_var_named(t, "t");
    latched(r, g, SSQ_ERR_NOT_FOUND, "var_named: there is no \"t\"",
            "a name that nobody has");
    g = ssq_var_named(t, NULL);
    latched(r, g, SSQ_ERR_INVALID, "var_named: name is NULL", "no name");
    g = ssq_var_watch(SSQ_VAR_NONE);
    tap_ok(g.tape == NULL, "%s: no var, nothing to watch", r->name);
    ssq_tensor_destroy(&in);
}

/* Two devices, memory that was written, and ops without second derivatives. */
static void refused(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    ssq_var g, x, y;
    const float one = 1.0f;
    const int words = 1;
    ssq_scaler *other = NULL;
    ssq_device *d = core_open(r->name);
    NEED(ssq_scaler_create(d, NULL, NULL, &other));
    ssq_tape_begin(t, true);
    x = scalar(t, "s", 2.0);
    ssq_tape_grad(t, ssq_square_var(x), &x, 1, SSQ_TAPE_GRAD(.scaler = other),
                  &g);
    latched(r, g, SSQ_ERR_INVALID, "scaler", "a scaler of another device");
    ssq_scaler_destroy(&other);
    ssq_device_close(&d);
    ssq_tensor *in = rig_floats(r, 0, NULL, &one),
               *i32 = rig_words(r, 0, NULL, &words);
    g = ssq_var_watch(ssq_var_input(t, i32));
    latched(r, g, SSQ_ERR_INVALID, "var_watch: x is i32",
            "words are no floats");
    for (int graph = 0; graph < 2; graph++) {
        const ssq_tape_grad_args *args = SSQ_TAPE_GRAD(.create_graph = graph);
        x = scalar(t, "s", 2.0);
        y = ssq_mul_var(x, ssq_var_input(t, in));
        NEED(ssq_tensor_write(r->queue, in, &one, sizeof(one), SSQ_F32));
        ssq_tape_grad(t, y, &x, 1, args, &g);
        latched(r, g, SSQ_ERR_INVALID, "mul: b|written between",
                "an input that was written");
        x = scalar(t, "s", 2.0);
        y = ssq_scale_var(x, SSQ_SCALE(.scale = in));
        NEED(ssq_tensor_write(r->queue, in, &one, sizeof(one), SSQ_F32));
        ssq_tape_grad(t, y, &x, 1, args, &g);
        latched(r, g, SSQ_ERR_INVALID, "scale: scale|written between",
                "an option that was written");
        x = scalar(t, "s", 2.0);
        ssq_tape_push(t, "block");
        y = ssq_max_var(x, NULL);
        ssq_tape_pop(t);
        if (graph) {
            ssq_tape_grad(t, ssq_square_var(y), &x, 1, args, &g);
            latched(r, g, SSQ_ERR_UNSUPPORTED,
                    "grad.c:|block: max: it has no second",
                    "an op without a second derivative");
            x = scalar(t, "s", 2.0);
            y = ssq_max_var(x, NULL);
        }
        ssq_tape_grad(t, ssq_square_var(y), &y, 1, args, &g);
        tap_ok(number(r, ssq_var_tensor(g)) == 4.0,
               "%s: which does not matter where it is not gone through",
               r->name);
        ssq_tape_begin(t, true);
    }
    ssq_tensor_destroy(&in);
    ssq_tensor_destroy(&i32);
}

int main(void)
{
    static const char *const policies[] = {"float32", "mixed_float16",
                                           "mixed_bfloat16"};
    long n = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < 3 && (k == 0 || !is_full(cases[i].name)); k++) {
            as_backward(core_device(k % 2), policies[k], k == 2, i);
            n++;
        }
    for (size_t k = 0; k < core_device_count(); k++) {
        struct tape_rig r = rig_open(core_device(k), NULL);
        orders(&r);
        powers(&r);
        asked(&r, false);
        asked(&r, true);
        inputs(&r);
        of_one_number(&r, false);
        of_one_number(&r, true);
        misuse(&r);
        refused(&r);
        rig_close(&r);
        scales(core_device(k));
        recipe(core_device(k));
        exact(core_device(k));
        regions(core_device(k));
        norm_alone(core_device(k));
    }
    return tap_done(n + (long)core_device_count() * 43);
}
