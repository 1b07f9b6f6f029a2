/* SPDX-License-Identifier: Apache-2.0 */
/* torch_lists.c - the dtypes of every op's operands and results under autocast,
 * beside what torch.amp.autocast makes of them on CUDA; each difference is
 * named, and has to be one. The same on every device.
 *
 * Torch's lists: aten/src/ATen/autocast_mode.h, AT_FORALL_LOWER_PRECISION_FP
 * and the others behind it; https://pytorch.org/docs/stable/amp.html has them
 * as text. What stands in none of them runs in the dtype that it gets, and
 * where several tensors meet, type promotion makes float32 of both kinds. */
#include "tests/tape/tape.h"

#include "lib/tape/ops.h"

/* LOWER: torch's lower_precision_fp. FP32: fp32, whose operands are cast.
 * FP32_SET: fp32_set_opt_dtype, whose result is. PROMOTE: promote, and what
 * type promotion does. NONE: in no list. */
enum torch { LOWER, FP32, FP32_SET, PROMOTE, NO_LIST };

/* Differences, each with its reason. */
#define SAME ""
#define SUMS                                                                   \
    "torch leaves the mean in float16, whose sum inside is float32; here it "  \
    "is float32, as that of sum: both end at 65504 else"
#define CHANNELS                                                               \
    "torch's batch_norm is in no list and gives the dtype of x; here all "     \
    "norms give float32"

/* A: the first operand, B: the others, BIAS: those that torch casts too. */
#define A(...)               value(t, "a" #__VA_ARGS__, dtype[0], __VA_ARGS__)
#define B(...)               value(t, "b" #__VA_ARGS__, dtype[1], __VA_ARGS__)
/* norms' are float32 under every policy */
#define GAMMA value(t, "gamma", SSQ_F32, 1, 4)
#define BETA                 value(t, "beta", SSQ_F32, 1, 4)
#define X                    A(2, 4, 4)
#define CUBE                 A(4, 2, 4, 4, 4)
#define ROW                  B(1, 4)
#define UNARY(C, NAME, LIST) C(NAME, LIST, ssq_##NAME##_var(X), SAME)
#define WITH(C, NAME, LIST)  C(NAME, LIST, ssq_##NAME##_var(X, NULL), SAME)
#define BOTH(C, NAME, LIST)                                                    \
    C(NAME, LIST, ssq_##NAME##_var(X, B(2, 4, 4)), SAME)
#define LOSS(C, NAME, UP)                                                      \
    C(NAME, FP32, ssq_##NAME##_var(X, SSQ_##UP(.target = d->target)), SAME)

/* clang-format off */
#define CASES(C)                                                               \
    UNARY(C, relu, NO_LIST) WITH(C, leaky_relu, NO_LIST)                       \
    WITH(C, elu, NO_LIST) UNARY(C, gelu, NO_LIST)                              \
    UNARY(C, gelu_tanh, NO_LIST) UNARY(C, silu, NO_LIST)                       \
    UNARY(C, sigmoid, NO_LIST) UNARY(C, tanh, NO_LIST)                         \
    UNARY(C, softsign, NO_LIST) WITH(C, softplus, FP32) UNARY(C, exp, FP32)    \
    UNARY(C, expm1, FP32) UNARY(C, log, FP32) UNARY(C, log1p, FP32)            \
    UNARY(C, sqrt, NO_LIST) UNARY(C, rsqrt, FP32) UNARY(C, reciprocal, FP32)   \
    UNARY(C, abs, NO_LIST) UNARY(C, neg, NO_LIST)                              \
    UNARY(C, square, FP32) /* torch's is a pow */                              \
    UNARY(C, sin, NO_LIST) UNARY(C, cos, NO_LIST) UNARY(C, erf, NO_LIST)       \
    C(clamp, NO_LIST, ssq_clamp_var(X, SSQ_CLAMP(.min = 0, .max = 1)), SAME)   \
    BOTH(C, add, PROMOTE) BOTH(C, sub, PROMOTE) BOTH(C, mul, PROMOTE)          \
    BOTH(C, div, PROMOTE) BOTH(C, maximum, PROMOTE)                            \
    BOTH(C, minimum, PROMOTE) BOTH(C, pow, FP32)                               \
    C(where, PROMOTE,                                                          \
      ssq_where_var(X, B(2, 4, 4), SSQ_WHERE(.cond = d->cond)), SAME)          \
    C(glu, PROMOTE, ssq_glu_var(X, B(2, 4, 4), NULL), SAME)                    \
    WITH(C, scale, NO_LIST) /* torch's product with a number */                \
    C(dropout, NO_LIST, ssq_nn_dropout(t, X, 0.5), SAME)                       \
    WITH(C, sum, FP32_SET) C(mean, NO_LIST, ssq_mean_var(X, NULL), SUMS)       \
    C(max, NO_LIST, ssq_max_var(X, SSQ_MAX(.n_axes = 1)), SAME)                \
    C(min, NO_LIST, ssq_min_var(X, SSQ_MIN(.n_axes = 1)), SAME)                \
    WITH(C, prod, FP32_SET)                                                    \
    C(gemm, LOWER, ssq_gemm_var(X, B(2, 4, 4), ROW, NULL), SAME)               \
    C(gemm_batched, LOWER,                                                     \
      ssq_gemm_batched_var(CUBE, B(4, 2, 4, 4, 4), SSQ_VAR_NONE, NULL), SAME)  \
    WITH(C, softmax, FP32_SET) WITH(C, log_softmax, FP32_SET)                  \
    C(cross_entropy, FP32,                                                     \
      ssq_cross_entropy_var(X, SSQ_CROSS_ENTROPY(.target = d->classes)), SAME) \
    C(nll_loss, FP32,                                                          \
      ssq_nll_loss_var(X, SSQ_NLL_LOSS(.target = d->classes)), SAME)           \
    LOSS(C, mse, MSE) LOSS(C, l1, L1) LOSS(C, smooth_l1, SMOOTH_L1)            \
    LOSS(C, huber, HUBER) LOSS(C, bce_with_logits, BCE_WITH_LOGITS)            \
    C(layer_norm, FP32, ssq_layer_norm_var(X, GAMMA, BETA, NULL), SAME)        \
    C(rms_norm, FP32, ssq_rms_norm_var(X, GAMMA, NULL), SAME)                  \
    C(batch_norm, NO_LIST, ssq_batch_norm_var(CUBE, GAMMA, BETA, NULL),        \
      CHANNELS)                                                                \
    C(group_norm, FP32,                                                        \
      ssq_group_norm_var(CUBE, GAMMA, BETA, SSQ_GROUP_NORM(.groups = 2)),      \
      SAME)                                                                    \
    C(conv2d, LOWER, ssq_conv2d_var(CUBE, B(4, 4, 4, 1, 1), ROW, NULL), SAME)  \
    C(conv_transpose2d, LOWER,                                                 \
      ssq_conv_transpose2d_var(CUBE, B(4, 4, 4, 1, 1), ROW, NULL), SAME)       \
    C(max_pool2d, NO_LIST,                                                     \
      ssq_max_pool2d_var(CUBE, SSQ_MAX_POOL2D(.kernel = {2, 2})), SAME)        \
    C(avg_pool2d, NO_LIST,                                                     \
      ssq_avg_pool2d_var(CUBE, SSQ_AVG_POOL2D(.kernel = {2, 2})), SAME)        \
    WITH_CUBE(C, global_avg_pool2d, NO_LIST)                                   \
    C(gather_rows, NO_LIST,                                                    \
      ssq_gather_rows_var(X, SSQ_GATHER_ROWS(.index = d->classes)), SAME)      \
    C(attention, LOWER,                                                        \
      ssq_attention_var(CUBE, B(4, 2, 4, 4, 4), B(4, 2, 4, 4, 4), NULL), SAME) \
    WITH_CUBE(C, rotary, NO_LIST)                                              \
    C(lstm, LOWER,                                                             \
      ssq_lstm_var(A(3, 2, 2, 4), B(2, 16, 4), B(2, 16, 4), B(1, 16),          \
                   B(1, 16), SSQ_VAR_NONE, SSQ_VAR_NONE, NULL, NULL, NULL),    \
      SAME)                                                                    \
    C(gru, LOWER,                                                              \
      ssq_gru_var(A(3, 2, 2, 4), B(2, 12, 4), B(2, 12, 4), B(1, 12), B(1, 12), \
                  SSQ_VAR_NONE, NULL, NULL), SAME)
/* clang-format on */
#define WITH_CUBE(C, NAME, LIST)                                               \
    C(NAME, LIST, ssq_##NAME##_var(CUBE, NULL), SAME)

struct data {
    ssq_tensor *target, *cond, *classes;
};

static ssq_var value(ssq_tape *t, const char *name, ssq_dtype dtype, int rank,
                     ...)
{
    char whole[64];
    size_t n = 0;
    ssq_param_args p = SSQ_PARAM_INIT;
    va_list sizes;
    /* names have no blanks */
    for (const char *c = name; *c != '\0' && n < sizeof(whole) - 8; c++)
        if (*c != ' ')
            whole[n++] = *c;
    snprintf(whole + n, sizeof(whole) - n, ":%d", (int)dtype);
    p.rank = rank;
    p.init = SSQ_INIT_CONSTANT;
    p.value = 0.5;
    p.full = dtype == SSQ_F32;
    va_start(sizes, rank);
    for (int i = 0; i < rank; i++)
        p.shape[i] = va_arg(sizes, int);
    va_end(sizes);
    return ssq_var_param(t, whole, &p);
}

/* What the log said of the last op: its operands' dtypes behind the casts. */
struct seen {
    char line[1024], operands[16];
    unsigned lines;
};

static void hear(void *user, ssq_log_level level, const char *text)
{
    struct seen *s = user;
    (void)level;
    if (strstr(text, " under ") == NULL)
        return;
    snprintf(s->line, sizeof(s->line), "%s", text);
    s->lines++;
    const char *at = strchr(strstr(text, " under "), ':');
    const char *end = strchr(text, ';');
    size_t n = 0;
    while (at != NULL && at < end && n < sizeof(s->operands) - 1) {
        char name[32], from[8], to[8];
        int got =
            sscanf(at + 1, " %31s %7[a-z0-9] -> %7[a-z0-9]", name, from, to);
        bool bias =
            (name[0] == 'b' && strlen(name) > 1) || strcmp(name, "gamma") == 0;
        const char *is = got == 3 ? to : from;
        s->operands[n++] = bias ? 'b' : strcmp(is, "f32") == 0 ? 'F' : 'h';
        at = strchr(at + 1, ',');
    }
    s->operands[n] = '\0';
}

/* What torch gives for these operands. */
static ssq_dtype torch_gives(enum torch list, const ssq_dtype *dtype)
{
    switch (list) {
    case LOWER:
        return SSQ_F16;
    case FP32:
    case FP32_SET:
        return SSQ_F32;
    case PROMOTE:
        return dtype[0] == dtype[1] ? dtype[0] : SSQ_F32;
    default:
        return dtype[0];
    }
}

/* Operands of products are all in float16, but for biases, which are added to
 * sums in float32 as they are (torch casts them, too). Operands of others go in
 * as they are: where torch casts them to float32 first, kernels here read 16
 * bits and compute in float32, which are the same values. */
static bool operands_ok(enum torch list, const struct seen *s,
                        const ssq_dtype *dtype)
{
    bool ok = s->operands[0] != '\0';
    for (size_t i = 0; s->operands[i] != '\0'; i++) {
        char as_given = dtype[i > 0] == SSQ_F32 ? 'F' : 'h';
        char want = list == LOWER ? 'h' : as_given;
        ok = ok && (s->operands[i] == want || s->operands[i] == 'b');
    }
    return ok;
}

static void check(const struct rig *r, const struct data *d)
{
    static const ssq_dtype ways[3][2] = {
        {SSQ_F16, SSQ_F16}, {SSQ_F32, SSQ_F32}, {SSQ_F16, SSQ_F32}};
    ssq_tape *t = r->tape;
    struct seen seen = {.lines = 0};
    ssq_log_set(hear, &seen);
#define CASE(NAME, LIST, VAR, DIFFERENCE)                                      \
    {                                                                          \
        bool good = true, differs = false;                                     \
        for (int w = 0; w < 3; w++) {                                          \
            const ssq_dtype *dtype = ways[w];                                  \
            ssq_tape_begin(t, true);                                           \
            seen.lines = 0;                                                    \
            const ssq_tensor *y = ssq_var_tensor(VAR);                         \
            if (y == NULL || seen.lines != 1) {                                \
                tap_diag("%s", y == NULL && ssq_tape_status(t) != SSQ_OK       \
                                   ? ssq_last_error()                          \
                                   : seen.line);                               \
                good = false;                                                  \
                continue;                                                      \
            }                                                                  \
            bool same = ssq_tensor_dtype(y) == torch_gives(LIST, dtype);       \
            bool norm = ssq_tensor_dtype(y) == SSQ_F32;                        \
            differs = differs || !same;                                        \
            good = good && operands_ok(LIST, &seen, dtype) &&                  \
                   (same || (norm && (DIFFERENCE)[0] != '\0'));                \
            if (!good)                                                         \
                tap_diag("%s", seen.line);                                     \
        }                                                                      \
        tap_ok(good &&differs == ((DIFFERENCE)[0] != '\0'), "%s: %s: %s",      \
               r->name, #NAME,                                                 \
               (DIFFERENCE)[0] == '\0' ? "as torch" : (DIFFERENCE));           \
    }
    CASES(CASE)
#undef CASE
    ssq_log_set(NULL, NULL);
}

static void all_listed(void)
{
#define CASE(NAME, LIST, VAR, DIFFERENCE) #NAME,
    static const char *const names[] = {CASES(CASE)};
#undef CASE
    const char *missing = NULL;
    size_t n = 0;
    for (; tape_ops[n] != NULL; n++) {
        bool found = false;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            found = found || strcmp(names[i], tape_ops[n]->name) == 0;
        if (!found)
            missing = tape_ops[n]->name;
    }
    tap_ok(missing == NULL && n > 60, "%zu ops are compared%s%s", n,
           missing == NULL ? "" : ", but not ", missing == NULL ? "" : missing);
}

int main(void)
{
    static const int64_t shape[] = {4, 4}, row[] = {4};
    static const float zeros[16];
    static const int classes[4] = {0, 3, 1, 2};
    all_listed();
    for (size_t i = 0; core_device(i) != NULL; i++) {
        struct rig r = rig_open(core_device(i), "mixed_float16");
        struct data d = {.target = rig_floats(&r, 2, shape, zeros),
                         .classes = rig_words(&r, 1, row, classes)};
        NEED(ssq_tensor_create(r.device, SSQ_U8, 2, shape, &d.cond));
        NEED(ssq_fill(r.queue, SSQ_FILL(.x = d.cond, .value = 1.0)));
        check(&r, &d);
        ssq_tensor_destroy(&d.target);
        ssq_tensor_destroy(&d.classes);
        ssq_tensor_destroy(&d.cond);
        rig_close(&r);
    }
    return tap_done(2 * 60);
}
