/* SPDX-License-Identifier: Apache-2.0 */
/* args_use.h - calls with argument macros, as C and as C++20, built and run by
 * args.sh: the op here is a function that looks at what it was given. */
#ifndef TESTS_LINT_ARGS_USE_H
#define TESTS_LINT_ARGS_USE_H

#include <sesqui.h>

#include <stdio.h>

#if defined(__cplusplus)
#include <array>
#define LIST(...) std::array<const ssq_tensor *, 3>{__VA_ARGS__}.data()
#else
#define LIST(...)                                                              \
    (const ssq_tensor *const[])                                                \
    {                                                                          \
        __VA_ARGS__                                                            \
    }
#endif

#define TRY(CALL)                                                              \
    do {                                                                       \
        ssq_status st_ = (CALL);                                               \
        if (st_ != SSQ_OK)                                                     \
            return 1;                                                          \
    } while (0)

/* A product whose alpha and beta are these. */
static ssq_status product(const ssq_gemm_args *g, double alpha, double beta)
{
    return g->struct_size == sizeof(*g) && g->alpha == alpha && g->beta == beta
               ? SSQ_OK
               : SSQ_ERR_INVALID;
}

static ssq_status window(const ssq_conv2d_args *c, int64_t stride, int64_t left)
{
    return c->stride[1] == stride && c->padding[1] == left &&
                   c->dilation[0] == 1 && c->groups == 1
               ? SSQ_OK
               : SSQ_ERR_INVALID;
}

static ssq_status over(const ssq_sum_args *s, int n, int first, int second)
{
    return s->n_axes == n && s->axes[0] == first && s->axes[1] == second &&
                   s->axes[SSQ_MAX_RANK - 1] == 0
               ? SSQ_OK
               : SSQ_ERR_INVALID;
}

/* A slice from start in dimension 1 whose steps are first, and then these. */
static ssq_status slice(const ssq_slice_assign_args *s, int64_t start,
                        int64_t first, int64_t others)
{
    bool good = s->start[0] == 0 && s->start[1] == start;

    for (int i = 0; i < SSQ_MAX_RANK; i++)
        good = good && s->step[i] == (i == 0 ? first : others);
    return good ? SSQ_OK : SSQ_ERR_INVALID;
}

/* Use the stack where a list might be that has ended. */
static int scribble(int n)
{
    volatile int used[512];

    for (int i = 0; i < 512; i++)
        used[i] = n + i;
    return used[n];
}

/* A list of three: those at a, a + 1 and a + 2. */
static ssq_status joined(const ssq_concat_args *c, const char *a)
{
    bool good = c->n == 3 && scribble((int)c->n) == 6;

    for (size_t i = 0; i < 3; i++)
        good = good && (const void *)c->x[i] == (const void *)(a + i);
    return good ? SSQ_OK : SSQ_ERR_INVALID;
}

/* A trainer whose scaler begins here, with the other options' defaults. */
static ssq_status scaled(const ssq_trainer_args *t, double scale)
{
    const ssq_scaler_options *o = t->scaler_options;

    return t->struct_size == sizeof(*t) && t->bucket_bytes == 26214400 &&
                   o->struct_size == sizeof(*o) && o->init_scale == scale &&
                   o->growth_interval == 2000 && o->hysteresis == 2 &&
                   o->reset_on_inf
               ? SSQ_OK
               : SSQ_ERR_INVALID;
}

static bool falls(const ssq_schedule *s, uint32_t steps)
{
    return s->struct_size == sizeof(*s) && s->kind == SSQ_SCHEDULE_COSINE &&
           s->base == 1e-3 && s->total_steps == steps && s->pct_start == 0.3;
}

static bool decays(const ssq_optimizer_options *o, double decay)
{
    return o->struct_size == sizeof(*o) && o->lr == -1.0 && o->beta1 == 0.9 &&
           o->weight_decay == decay && o->bias_correction;
}

/* Of the address that a macro gave: for macros inside of macros. */
static double alpha_of(const ssq_gemm_args *g)
{
    return g->alpha;
}

/* A literal inside of a macro lives as long as the macro's result. */
static inline int use_lists(void)
{
    static const char place[3] = "";
    const ssq_tensor *t[3];

    for (int i = 0; i < 3; i++)
        t[i] = (const ssq_tensor *)(const void *)&place[i];
    TRY(joined(SSQ_CONCAT(.x = LIST(t[0], t[1], t[2]), .n = 3), place));
    for (int i = 0; i < 2; i++)
        TRY(joined(SSQ_CONCAT(.x = LIST(t[0], t[1], t[2]), .n = 3, .axis = i),
                   place));
    TRY(scaled(
        SSQ_TRAINER(.accumulate = 2,
                    .scaler_options = SSQ_SCALER_OPTIONS(.init_scale = 64)),
        64));
    if (!falls(SSQ_SCHEDULE(.kind = SSQ_SCHEDULE_COSINE, .total_steps = 9), 9))
        return 1;
    if (!decays(SSQ_OPTIMIZER(.weight_decay = 0.5), 0.5))
        return 1;
    TRY(over(SSQ_SUM(.x = t[0]), 0, 0, 0));
    TRY(over(SSQ_SUM(.x = t[0], .axes = {0, -1}, .n_axes = 2), 2, 0, -1));
    TRY(over(SSQ_SUM(.n_axes = SSQ_AXES_NONE), -1, 0, 0));
    TRY(slice(SSQ_SLICE_ASSIGN(.x = t[0]), 0, 1, 1));
    TRY(slice(SSQ_SLICE_ASSIGN(.x = t[0], .start = {0, 3}), 3, 1, 1));
    TRY(slice(SSQ_SLICE_ASSIGN(.step = {5}), 0, 5, 0));
    return SSQ_TRANSPOSE(.axes = {2, 0, 1})->axes[2] != 1;
}

static inline int use(const ssq_tensor *x)
{
    double sum = 0;

    TRY(product(SSQ_GEMM(.a = x, .d = x, .trans_b = true), 1, 0));
    TRY(product(SSQ_GEMM(.a = x, .alpha = 2, .beta = 3), 2, 3));
    TRY(product(SSQ_GEMM(.alpha = 0), 0, 0));
    TRY(product(SSQ_GEMM(), 1, 0));
    TRY(product(SSQ_GEMM_BATCHED(.alpha = alpha_of(SSQ_GEMM(.alpha = 7))), 7,
                0));
    TRY(window(SSQ_CONV2D(.x = x), 1, 0));
    TRY(window(SSQ_CONV2D(.stride = {2, 3}, .padding = {4, 5, 6, 7}), 3, 5));
    for (int i = 0; i < 3; i++)
        sum += alpha_of(SSQ_GEMM(.alpha = i + 0.5));
    if (sum != 4.5 || use_lists() != 0 ||
        SSQ_LEAKY_RELU(.x = x)->alpha != 0.01 || SSQ_RELU(.x = x)->x != x)
        return 1;
    return product(SSQ_GEMM(.b = x), 1, 0) ||
           window(SSQ_CONV2D(.stride = {3, 3}), 3, 0);
}

#endif
