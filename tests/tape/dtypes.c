/* SPDX-License-Identifier: Apache-2.0 */
/* dtypes.c - what autocast makes of operands: the dtype of every result, of
 * parameters and of their gradients, under each policy. */
#include "tests/tape/tape.h"

#define P(NAME, FULL, RANK, ...)                                               \
    ssq_var_param(t, NAME,                                                     \
                  SSQ_PARAM(.rank = (RANK), .shape = {__VA_ARGS__},            \
                            .init = SSQ_INIT_NORMAL, .value = 0.5,             \
                            .full = (FULL)))
#define HALF P("half", false, 2, 4, 4) /* in the compute dtype */
#define FULL P("full", true, 2, 4, 4)  /* float32 */
#define CUBE P("cube", false, 4, 2, 2, 4, 4)

/* Results as torch's autocast has them on CUDA
 * (https://pytorch.org/docs/stable/amp.html, op lists), except for sums and
 * means, which are float32 here: f16 ends at 65504. HALF_: the compute dtype,
 * FULL_: float32. */
#define CASES(C)                                                               \
    C(gemm of both, ssq_gemm_var(HALF, FULL, SSQ_VAR_NONE, NULL), HALF_)       \
    C(gemm with a bias, ssq_gemm_var(FULL, FULL, P("b", true, 1, 4), NULL),    \
      HALF_)                                                                   \
    C(gemm_batched, ssq_gemm_batched_var(CUBE, CUBE, SSQ_VAR_NONE, NULL),      \
      HALF_)                                                                   \
    C(conv2d,                                                                  \
      ssq_conv2d_var(CUBE, P("w", true, 4, 2, 2, 1, 1), SSQ_VAR_NONE, NULL),   \
      HALF_)                                                                   \
    C(attention, ssq_attention_var(CUBE, CUBE, CUBE, NULL), HALF_)             \
    C(softmax, ssq_softmax_var(HALF, NULL), FULL_)                             \
    C(log_softmax, ssq_log_softmax_var(HALF, NULL), FULL_)                     \
    C(exp, ssq_exp_var(HALF), FULL_)                                           \
    C(pow, ssq_pow_var(ssq_exp_var(HALF), HALF), FULL_)                        \
    C(sum, ssq_sum_var(HALF, NULL), FULL_)                                     \
    C(mean, ssq_mean_var(HALF, NULL), FULL_)                                   \
    C(layer_norm, ssq_nn_layer_norm(t, "ln", HALF, NULL), FULL_)               \
    C(batch_norm, ssq_nn_batch_norm(t, "bn", CUBE, NULL), FULL_)               \
    C(mse, ssq_mse_var(HALF, SSQ_MSE(.target = target)), FULL_)                \
    C(add of halves, ssq_add_var(HALF, HALF), HALF_)                           \
    C(add of both, ssq_add_var(HALF, FULL), FULL_)                             \
    C(mul of both, ssq_mul_var(FULL, HALF), FULL_)                             \
    C(relu, ssq_relu_var(HALF), HALF_)                                         \
    C(relu of full, ssq_relu_var(FULL), FULL_)                                 \
    C(gelu, ssq_gelu_var(HALF), HALF_)                                         \
    C(dropout, ssq_nn_dropout(t, HALF, 0.5), HALF_)                            \
    C(max_pool2d, ssq_max_pool2d_var(CUBE, SSQ_MAX_POOL2D(.kernel = {2, 2})),  \
      HALF_)                                                                   \
    C(reshape, ssq_var_reshape(HALF, 1, (int64_t[]){16}), HALF_)               \
    C(cast, ssq_var_cast(HALF, SSQ_F32), FULL_)                                \
    C(detach, ssq_var_detach(HALF), HALF_)                                     \
    C(linear, ssq_nn_linear(t, "fc", FULL, 3, NULL), HALF_)                    \
    C(self attention,                                                          \
      ssq_nn_attention(t, "at",                                                \
                       ssq_var_reshape(HALF, 3, (int64_t[]){1, 4, 4}), 2,      \
                       SSQ_NN_ATTENTION(.rotary = true)),                      \
      HALF_)                                                                   \
    C(lstm,                                                                    \
      ssq_nn_lstm(t, "l", ssq_var_reshape(HALF, 3, (int64_t[]){2, 2, 4}), 3,   \
                  SSQ_VAR_NONE, SSQ_VAR_NONE, NULL, NULL, NULL),               \
      HALF_)

enum { HALF_, FULL_ };

static void check(const struct tape_rig *r, const char *policy,
                  ssq_dtype compute)
{
    const int64_t shape[] = {4, 4};
    float zeros[16] = {0};
    ssq_tensor *target = rig_floats(r, 2, shape, zeros);
    ssq_tape *t = r->tape;
#define CASE(NAME, VAR, WANT)                                                  \
    {                                                                          \
        ssq_tape_begin(t, true);                                               \
        ssq_var y = VAR;                                                       \
        const ssq_tensor *made = ssq_var_tensor(y);                            \
        ssq_dtype is = ssq_tensor_dtype(made);                                 \
        ssq_dtype want = (WANT) == HALF_ ? compute : SSQ_F32;                  \
        ssq_status st = ssq_tape_status(t);                                    \
        if (st == SSQ_OK)                                                      \
            st = ssq_tape_backward(t, ssq_mean_var(ssq_square_var(y), NULL),   \
                                   NULL);                                      \
        bool leads = strcmp(#NAME, "detach") != 0;                             \
        tap_ok(made != NULL && is == want && (st == SSQ_OK) == leads,          \
               "%s: %s: %s is %s, and has a gradient%s%s", r->name, policy,    \
               #NAME, ssq_dtype_name(is), st == SSQ_OK ? "" : ": ",            \
               st == SSQ_OK ? "" : ssq_last_error());                          \
    }
    CASES(CASE)
#undef CASE
    ssq_tensor_destroy(&target);
}

/* Every gradient has the dtype of its parameter, or float32 where asked. */
static void params(const struct tape_rig *r, const char *policy,
                   ssq_dtype compute, bool full)
{
    size_t half = 0, wide = 0, wrong = 0;
    for (size_t i = 0; i < ssq_params_count(r->params); i++) {
        ssq_param_info p = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(r->params, i, &p));
        ssq_dtype is = ssq_tensor_dtype(p.tensor);
        half += is == compute;
        wide += is == SSQ_F32;
        if (p.grad != NULL)
            wrong += ssq_tensor_dtype(p.grad) != (full ? SSQ_F32 : is);
    }
    tap_ok(half > 10 && wide >= 8 && wrong == 0,
           "%s: %s: %zu parameters are %s, %zu f32, gradients %s", r->name,
           policy, half, ssq_dtype_name(compute), wide,
           full ? "f32" : "as they are");
}

int main(void)
{
    static const struct {
        const char *policy;
        ssq_dtype compute;
    } policies[] = {{"float32", SSQ_F32},
                    {"mixed_float16", SSQ_F16},
                    {"mixed_bfloat16", SSQ_BF16}};
    for (size_t d = 0; d < 2; d++)
        for (size_t i = 0; i < 3; i++)
            for (int full = 0; full < 2; full++) {
                ssq_params_options o = SSQ_PARAMS_OPTIONS_INIT;
                struct tape_rig r = {.name = core_device(d)};
                o.float32_gradients = full == 1;
                r.device = core_open(r.name);
                r.queue = core_queue(r.device);
                NEED(ssq_params_create(r.device, policies[i].policy, &o,
                                       &r.params));
                NEED(ssq_tape_create(r.queue, r.params, &r.tape));
                check(&r, policies[i].policy, policies[i].compute);
                params(&r, policies[i].policy, policies[i].compute, full == 1);
                rig_close(&r);
            }
    return tap_done(2 * 3 * 2 * 29);
}
