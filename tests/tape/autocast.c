/* SPDX-License-Identifier: Apache-2.0 */
/* autocast.c - regions with different policies, nested and off; ops that a
 * policy moves to another class; the messages of SSQ_VERBOSE=autocast. */
#include "tests/tape/tape.h"

#define P(NAME, FULL, ...)                                                     \
    ssq_var_param(t, NAME,                                                     \
                  SSQ_PARAM(.rank = 2, .shape = {__VA_ARGS__},                 \
                            .init = SSQ_INIT_NORMAL, .value = 0.5,             \
                            .full = (FULL)))

static ssq_dtype dtype_of(ssq_var x)
{
    const ssq_tensor *is = ssq_var_tensor(x);
    return is == NULL ? (ssq_dtype)0 : ssq_tensor_dtype(is);
}

static ssq_dtype product(ssq_tape *t)
{
    return dtype_of(ssq_gemm_var(P("full", true, 4, 4), P("full", true, 4, 4),
                                 SSQ_VAR_NONE, NULL));
}

/* ---- regions ---- */

static void nesting(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    ssq_dtype is[7];
    ssq_tape_begin(t, true);
    is[0] = product(t);
    ssq_tape_autocast_push(t, "mixed_bfloat16");
    is[1] = product(t);
    ssq_tape_autocast_push(t, NULL);
    is[2] = product(t);
    ssq_tape_autocast_push(t, "mixed_float16");
    is[3] = product(t);
    ssq_tape_autocast_pop(t);
    is[4] = product(t);
    ssq_tape_autocast_pop(t);
    is[5] = product(t);
    ssq_tape_autocast_pop(t);
    is[6] = product(t);
    tap_ok(is[0] == SSQ_F16 && is[1] == SSQ_BF16 && is[2] == SSQ_F32 &&
               is[3] == SSQ_F16 && is[4] == SSQ_F32 && is[5] == SSQ_BF16 &&
               is[6] == SSQ_F16,
           "%s: f16, in it bf16, off, f16, and back: %s %s %s %s %s %s %s",
           r->name, ssq_dtype_name(is[0]), ssq_dtype_name(is[1]),
           ssq_dtype_name(is[2]), ssq_dtype_name(is[3]), ssq_dtype_name(is[4]),
           ssq_dtype_name(is[5]), ssq_dtype_name(is[6]));
    ssq_tape_autocast_push(t, NULL);
    ssq_tape_begin(t, true);
    tap_ok(product(t) == SSQ_F16, "%s: a pass begins outside of all regions",
           r->name);
}

/* A layer in float32 under mixed_float16: its parameters, its result, and those
 * of ops that are in no list. */
static void keras(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    ssq_param_info w = SSQ_PARAM_INFO_INIT;
    ssq_tape_begin(t, true);
    ssq_var x = ssq_nn_linear(t, "fc1", P("half", false, 4, 4), 4, NULL);
    ssq_var y =
        ssq_var_autocast(t, "float32", ssq_nn_linear(t, "fc2", x, 3, NULL));
    NEED(ssq_tape_status(t));
    NEED(ssq_params_find(r->params, "fc2.weight", &w));
    ssq_dtype relu = dtype_of(ssq_var_autocast(t, "float32", ssq_relu_var(x)));
    ssq_dtype after = dtype_of(ssq_relu_var(x));
    tap_ok(dtype_of(x) == SSQ_F16 && dtype_of(y) == SSQ_F32 &&
               ssq_tensor_dtype(w.tensor) == SSQ_F32 && relu == SSQ_F32 &&
               after == SSQ_F16,
           "%s: one layer in float32: weight %s, result %s, relu %s, then %s",
           r->name, ssq_dtype_name(ssq_tensor_dtype(w.tensor)),
           ssq_dtype_name(dtype_of(y)), ssq_dtype_name(relu),
           ssq_dtype_name(after));
    ssq_status st =
        ssq_tape_backward(t, ssq_mean_var(ssq_square_var(y), NULL), NULL);
    NEED(ssq_params_find(r->params, "fc1.weight", &w));
    tap_ok(st == SSQ_OK && w.grad != NULL &&
               ssq_tensor_dtype(w.grad) == SSQ_F16,
           "%s: and gradients go through it to the layer before", r->name);
}

/* Where nothing is cast: results as operands are, but losses in float32. */
static void off(const struct tape_rig *r, const ssq_tensor *target)
{
    ssq_tape *t = r->tape;
    ssq_tape_begin(t, true);
    ssq_var half = P("half", false, 4, 4), full = P("full", true, 4, 4);
    ssq_tape_autocast_push(t, NULL);
    ssq_dtype soft = dtype_of(ssq_softmax_var(half, NULL));
    ssq_dtype mixed = dtype_of(ssq_pow_var(half, full));
    ssq_dtype loss = dtype_of(ssq_mse_var(half, SSQ_MSE(.target = target)));
    ssq_dtype made = dtype_of(P("made.off", false, 4, 4));
    tap_ok(soft == SSQ_F16 && mixed == SSQ_F32 && loss == SSQ_F32 &&
               made == SSQ_F32,
           "%s: off: softmax of f16 is %s, pow of both %s, a loss %s, a new "
           "parameter %s",
           r->name, ssq_dtype_name(soft), ssq_dtype_name(mixed),
           ssq_dtype_name(loss), ssq_dtype_name(made));
    NEED(ssq_tape_status(t));
    ssq_dtype both = dtype_of(ssq_gemm_var(half, full, SSQ_VAR_NONE, NULL));
    ssq_dtype same = dtype_of(ssq_gemm_var(half, half, SSQ_VAR_NONE, NULL));
    tap_ok(both == SSQ_F32 && same == SSQ_F16,
           "%s: off: products of both are %s, of f16 %s", r->name,
           ssq_dtype_name(both), ssq_dtype_name(same));
}

/* The losses of a torch.amp program with float32 parameters, one region. */
static void losses(const struct tape_rig *r, const ssq_tensor *target)
{
    ssq_tape *t = r->tape;
    static const char *const policies[] = {"float32", "mixed_float16",
                                           "mixed_bfloat16", NULL,
                                           "mixed_float16,mse=half"};
    bool ok = true;
    for (size_t i = 0; i < 5; i++) {
        ssq_tape_begin(t, true);
        ssq_tape_autocast_push(t, policies[i]);
        ssq_var y = P("half", false, 4, 4);
        ok = ok &&
             dtype_of(ssq_mse_var(y, SSQ_MSE(.target = target))) == SSQ_F32;
        ok = ok && dtype_of(ssq_bce_with_logits_var(
                       y, SSQ_BCE_WITH_LOGITS(.target = target))) == SSQ_F32;
        NEED(ssq_tape_status(t));
    }
    tap_ok(ok, "%s: losses are float32 in every region", r->name);
}

/* ---- classes that a policy moves ---- */

static void moves(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    ssq_tape_begin(t, true);
    ssq_tape_autocast_push(
        t, "mixed_float16,gelu=float32,sum=any,add=half,gemm=float32,"
           "softmax=float32,softmax=half,attention=promote,concat=float32");
    ssq_var half = P("half", false, 4, 4), full = P("full", true, 4, 4);
    ssq_dtype gelu = dtype_of(ssq_gelu_var(half));
    ssq_dtype sum = dtype_of(ssq_sum_var(half, NULL));
    ssq_dtype add = dtype_of(ssq_add_var(full, half));
    ssq_dtype gemm = dtype_of(ssq_gemm_var(half, full, SSQ_VAR_NONE, NULL));
    ssq_dtype soft = dtype_of(ssq_softmax_var(full, NULL));
    ssq_dtype join = dtype_of(ssq_var_concat((ssq_var[]){half, half}, 2, 0));
    const int64_t cube[] = {1, 1, 4, 4};
    ssq_var q = ssq_var_reshape(half, 4, cube);
    ssq_dtype wide =
        dtype_of(ssq_attention_var(q, ssq_var_reshape(full, 4, cube), q, NULL));
    ssq_dtype all = dtype_of(ssq_attention_var(q, q, q, NULL));
    ssq_dtype relu = dtype_of(ssq_relu_var(half));
    tap_ok(gelu == SSQ_F32 && sum == SSQ_F16 && add == SSQ_F16 &&
               gemm == SSQ_F32 && soft == SSQ_F16 && join == SSQ_F32 &&
               wide == SSQ_F32 && all == SSQ_F16 && relu == SSQ_F16,
           "%s: moved: gelu %s, sum %s, add %s, gemm %s, softmax %s, concat "
           "%s, attention %s or %s; relu %s",
           r->name, ssq_dtype_name(gelu), ssq_dtype_name(sum),
           ssq_dtype_name(add), ssq_dtype_name(gemm), ssq_dtype_name(soft),
           ssq_dtype_name(join), ssq_dtype_name(wide), ssq_dtype_name(all),
           ssq_dtype_name(relu));
    core_status(ssq_tape_status(t), SSQ_OK, "", "%s: all of them run", r->name);
}

/* ---- casts are made once ---- */

static unsigned vars_of(const ssq_tape *t)
{
    ssq_tape_stats s = SSQ_TAPE_STATS_INIT;
    NEED(ssq_tape_stats_get(t, &s));
    return s.vars;
}

static void once(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    ssq_tape_begin(t, true);
    (void)product(t);
    unsigned first = vars_of(t);
    (void)product(t);
    unsigned second = vars_of(t);
    ssq_tape_autocast_push(t, "mixed_bfloat16");
    (void)product(t);
    ssq_tape_autocast_pop(t);
    unsigned other = vars_of(t);
    (void)product(t);
    tap_ok(first == 3 && second == 4 && other == 6 && vars_of(t) == 7,
           "%s: a parameter is cast once for each dtype: %u, %u, %u, %u vars",
           r->name, first, second, other, vars_of(t));
}

/* ---- what is said ---- */

struct heard {
    char text[8][1024];
    unsigned n;
};

static void hear(void *user, ssq_log_level level, const char *text)
{
    struct heard *h = user;
    (void)level;
    if (strncmp(text, "tests/tape/autocast.c:", 22) != 0 &&
        strstr(text, "autocast.c:") == NULL)
        return;
    snprintf(h->text[h->n % 8], sizeof(h->text[0]), "%s", text);
    h->n++;
}

static bool says(const struct heard *h, unsigned i, const char *text)
{
    bool ok = i < h->n && core_has(h->text[i % 8], text);
    if (!ok)
        tap_diag("\"%s\", wanted \"%s\"", i < h->n ? h->text[i % 8] : "", text);
    return ok;
}

static void verbose(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    struct heard h = {.n = 0};
    ssq_log_set(hear, &h);
    ssq_tape_begin(t, true);
    ssq_var half = P("half", false, 4, 4), full = P("told", true, 4, 4);
    ssq_var bias = ssq_var_param(
        t, "bias", SSQ_PARAM(.rank = 1, .shape = {4}, .full = true));
    ssq_tape_push(t, "block1");
    ssq_var y = ssq_gemm_var(half, full, bias, NULL);
    ssq_gemm_var(full, full, SSQ_VAR_NONE, NULL);
    ssq_tape_pop(t);
    ssq_tape_autocast_push(t, NULL);
    ssq_softmax_var(y, NULL);
    ssq_tape_autocast_push(t, "float32");
    ssq_relu_var(y);
    ssq_log_set(NULL, NULL);
    NEED(ssq_tape_status(t));
    bool ok = h.n == 4;
    ok = says(&h, 0,
              ": block1: gemm is half under mixed_float16: a f16, b f32 -> "
              "f16, bias f32 (left as it is); d f16") &&
         ok;
    ok =
        says(&h, 1, "a f32 -> f16 (made before), b f32 -> f16 (made before)") &&
        ok;
    ok = says(&h, 2, ": softmax: autocast is off: x f16; y f16") && ok;
    ok = says(&h, 3,
              ": relu is float32 as all ops under float32: x f16 -> f32; y "
              "f32") &&
         ok;
    tap_ok(ok, "%s: each decision is told, with line, scope and why: %u",
           r->name, h.n);
    ssq_tape_begin(t, true);
    (void)product(t);
    tap_ok(h.n == 4, "%s: to whom it was asked by, and no longer", r->name);
}

/* ---- misuse ---- */

static void misuse(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    static const struct {
        const char *policy, *text;
        ssq_status status;
    } wrong[] = {
        {"mixed_float8", "autocast.c:|mixed_float8|mixed_bfloat16",
         SSQ_ERR_NOT_FOUND},
        {"mixed_float16,gelo=half", "no op \"gelo\"", SSQ_ERR_NOT_FOUND},
        {"mixed_float16,gelu=full", "no class \"full\"", SSQ_ERR_NOT_FOUND},
        {"mixed_float16,gelu", "\"gelu\" has no class", SSQ_ERR_INVALID},
        {"mixed_float16,", "has no class", SSQ_ERR_INVALID},
        {"", "no policy \"\"", SSQ_ERR_NOT_FOUND},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ssq_tape_begin(t, true);
        ssq_tape_autocast_push(t, wrong[i].policy);
        core_status(ssq_tape_status(t), wrong[i].status, wrong[i].text,
                    "%s: a region of \"%s\"", r->name, wrong[i].policy);
    }
    ssq_tape_begin(t, true);
    ssq_tape_autocast_push(t, "float32");
    ssq_tape_autocast_pop(t);
    ssq_tape_autocast_pop(t);
    core_status(ssq_tape_status(t), SSQ_ERR_INVALID,
                "autocast.c:|tape_autocast_pop: nothing was pushed",
                "%s: a pop too many", r->name);
    ssq_var y = ssq_var_autocast(t, NULL, P("half", false, 4, 4));
    tap_ok(ssq_var_tensor(y) == NULL, "%s: which is not forgotten", r->name);
    ssq_tape_autocast_push(NULL, "float32");
    ssq_tape_autocast_pop(NULL);
    ssq_tape_begin(t, true);
    y = P("half", false, 4, 4);
    tap_ok(ssq_var_tensor(ssq_var_autocast_at("x", NULL, y)) == NULL,
           "%s: without a tape a var becomes inert", r->name);
    tap_ok(ssq_var_autocast_at("x", NULL, SSQ_VAR_NONE).tape == NULL,
           "%s: no tape has no regions", r->name);
    ssq_params *params = NULL;
    core_status(
        ssq_params_create(r->device, "mixed_float16,gelu=", NULL, &params),
        SSQ_ERR_NOT_FOUND, "no class \"\"",
        "%s: parameters with a class that there is none of", r->name);
}

/* Thousands of pushes of the same texts take no memory. */
static void flat(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    ssq_tape_stats s = SSQ_TAPE_STATS_INIT;
    uint64_t before = 0;
    for (int i = 0; i < 1000; i++) {
        ssq_tape_begin(t, true);
        ssq_tape_autocast_push(t, i % 2 == 0 ? "mixed_bfloat16,add=half"
                                             : "float32");
        (void)product(t);
        ssq_tape_autocast_pop(t);
        NEED(ssq_tape_stats_get(t, &s));
        if (i == 4)
            before = s.host_allocations + s.device_allocations;
    }
    tap_ok(before == s.host_allocations + s.device_allocations,
           "%s: 1000 regions of two texts: %llu, then %llu allocations",
           r->name, (unsigned long long)before,
           (unsigned long long)(s.host_allocations + s.device_allocations));
}

int main(void)
{
    static const int64_t shape[] = {4, 4};
    static const float zeros[16];
    for (size_t i = 0; core_device(i) != NULL; i++) {
        struct tape_rig r = rig_open(core_device(i), "mixed_float16");
        ssq_tensor *target = rig_floats(&r, 2, shape, zeros);
        nesting(&r);
        keras(&r);
        off(&r, target);
        losses(&r, target);
        moves(&r);
        once(&r);
        verbose(&r);
        misuse(&r);
        flat(&r);
        ssq_tensor_destroy(&target);
        rig_close(&r);
    }
    return tap_done(2 * 20);
}
