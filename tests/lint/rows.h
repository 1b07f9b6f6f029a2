/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - what surrounds the rows of doc/coming-from/: rows.sh includes it,
 * and rows.awk makes a function of each row. */
#ifndef TESTS_LINT_ROWS_H
#define TESTS_LINT_ROWS_H

#include "tests/lint/page.h"

/* The objects that the pages promise their rows, made again for each. By hand,
 * after one whole step, with the gradients of the next one there: */
ssq_policy policy;
ssq_op_class class;
ssq_scaler *mine;
ssq_scaler_options options; /* the preset "pytorch" */
ssq_scaler_state state;
ssq_torch_scaler_state fields;
ssq_optimizer *made;
ssq_optimizer_options hyper;
ssq_group *group;
const ssq_tensor *master;
ssq_schedule schedule;
ssq_statistics statistics;
ssq_overflow_report report;
ssq_tensor *view;
ssq_tensor *ema;    /* f32 [8,8] */
ssq_tensor *labels; /* i32 [32] */
ssq_graph *graph;
ssq_mse_args mse; /* of backward() */
uint32_t taken;
float norm;
double value;
float host[64];
unsigned char blob[1 << 14], more[1 << 12]; /* larger than the saved object */
size_t bytes;

/* By a tape, after one whole step, with the next pass recorded up to its loss:
 */
ssq_trainer *trainer, *fresh; /* fresh: for a row to make */
ssq_trainer *wide;            /* of float32, before its first step */
ssq_device *dev2;             /* likewise */
ssq_tape *plain;              /* of float32 parameters */
ssq_params *params;
ssq_tape *t;
ssq_var v, out, loss; /* x, net(t, v), a mean of squares */
ssq_param_info info;
ssq_tape_stats stats;
ssq_params_stats total;

/* Two layers and a norm between them. */
static ssq_var net(ssq_tape *tape, ssq_var in)
{
    in = ssq_relu_var(ssq_nn_linear(tape, "fc1", in, 8, NULL));
    in = ssq_nn_layer_norm(tape, "norm", in, NULL);
    return ssq_nn_linear(tape, "fc2", in, 8, NULL);
}

/* A function for ssq_gradcheck. */
static ssq_var your_function(ssq_tape *tape, void *user)
{
    (void)user;
    return ssq_tanh_var(net(tape, ssq_var_input(tape, target)));
}

/* A row is an expression of the call's type: a status, a pointer
 * that must not be NULL, or a var. ROW chooses by the type. */
static inline ssq_status row_status(ssq_status st)
{
    return st;
}

static inline ssq_status row_pointer(const void *p)
{
    return p != NULL ? SSQ_OK : SSQ_ERR_NOT_FOUND;
}

static inline ssq_status row_var(ssq_var var)
{
    return ssq_tape_status(var.tape);
}

#define ROW(call)                                                              \
    TRY(_Generic((call), const char *                                          \
                 : row_pointer, const ssq_tensor *                             \
                 : row_pointer, ssq_tape *                                     \
                 : row_pointer, ssq_optimizer *                                \
                 : row_pointer, ssq_scaler *                                   \
                 : row_pointer, ssq_var                                        \
                 : row_var, default                                            \
                 : row_status)(call))

#define ROW_TRUE(condition)                                                    \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "not true: %s\n", #condition);                     \
            return SSQ_ERR_INVALID;                                            \
        }                                                                      \
    } while (0)

struct row {
    ssq_status (*run)(void);
    const char *name;
};

/* ---- callbacks that rows name ---- */

static unsigned calls; /* of your_hook and your_visit */

static ssq_status your_hook(ssq_queue *on, const ssq_tensor *verdict,
                            void *user)
{
    (void)on, (void)verdict, (void)user;
    calls++;
    return SSQ_OK; /* one rank */
}

static unsigned places[12]; /* how often your_place came to each */

static ssq_status your_place(void *user, ssq_trainer *of,
                             ssq_trainer_place place, ssq_var *var)
{
    (void)user, (void)of, (void)var;
    places[place]++;
    return SSQ_OK;
}

static ssq_status your_visit(void *user, const char *name,
                             const ssq_tensor *tensor)
{
    (void)user, (void)tensor;
    calls++;
    return name != NULL ? SSQ_OK : SSQ_ERR_INVALID;
}

/* ---- what has happened: for the comments that begin with "then" ---- */

/* Element i of a tensor of at most 1024; NaN for none. */
static double at(const ssq_tensor *tensor, int64_t i)
{
    static float all[1024];
    int64_t n = tensor == NULL ? 0 : ssq_tensor_elements(tensor);
    if (i >= n || n > 1024 ||
        ssq_tensor_read(q, tensor, all, (size_t)n * sizeof(float), SSQ_F32) !=
            SSQ_OK ||
        ssq_queue_sync(q) != SSQ_OK)
        return (double)NAN;
    return (double)all[i];
}

/* The state of a scaler; all zeros with one that cannot be read. */
static ssq_scaler_state state_of(ssq_scaler *s)
{
    ssq_scaler_state seen = SSQ_SCALER_STATE_INIT;
    if (ssq_scaler_state_get(q, s, &seen) != SSQ_OK)
        return (ssq_scaler_state)SSQ_SCALER_STATE_INIT;
    return seen;
}

static double scale_of(ssq_scaler *s)
{
    return state_of(s).scale;
}

/* The factors and the interval of a scaler, as torch has them. */
static ssq_torch_scaler_state torch_of(ssq_scaler *s)
{
    ssq_torch_scaler_state seen = SSQ_TORCH_SCALER_STATE_INIT;
    if (ssq_scaler_torch_save(q, s, &seen) != SSQ_OK)
        return (ssq_torch_scaler_state)SSQ_TORCH_SCALER_STATE_INIT;
    return seen;
}

/* A parameter of a trainer, its value and its gradient; NULL for none. */
static const ssq_tensor *param_of(const ssq_trainer *of, const char *name)
{
    ssq_param_info i = SSQ_PARAM_INFO_INIT;
    ssq_status st = ssq_params_find(ssq_trainer_params(of), name, &i);
    return st == SSQ_OK ? i.tensor : NULL;
}

static const ssq_tensor *grad_of(const ssq_trainer *of, const char *name)
{
    ssq_param_info i = SSQ_PARAM_INFO_INIT;
    ssq_status st = ssq_params_find(ssq_trainer_params(of), name, &i);
    return st == SSQ_OK ? i.grad : NULL;
}

/* The first float32 value of a parameter of at most 64. */
static double exact_of(const ssq_trainer *of, const char *name)
{
    static float all[64];
    int64_t n = ssq_tensor_elements(param_of(of, name));
    ssq_status st =
        ssq_params_read(ssq_trainer_params(of), q, ssq_trainer_optimizer(of),
                        name, all, n > 64 ? 0 : (size_t)n);
    return st == SSQ_OK ? (double)all[0] : (double)NAN;
}

/* How often an optimizer has stepped. */
static uint32_t steps_of(ssq_optimizer *of)
{
    uint32_t n = 0;
    return ssq_optimizer_norm(q, of, NULL, &n) == SSQ_OK ? n : UINT32_MAX;
}

static double hyper_of(const ssq_optimizer *of, ssq_hyper which)
{
    double now = (double)NAN;
    if (ssq_queue_sync(q) != SSQ_OK ||
        ssq_optimizer_get(of, NULL, which, &now) != SSQ_OK)
        return (double)NAN;
    return now;
}

/* Elements of w and fc2.bias as the row found them. */
static double w_before, bias_before;

static bool moved(void)
{
    return at(w, 0) != w_before;
}

static bool trained(void)
{
    return at(param_of(trainer, "fc2.bias"), 0) != bias_before;
}

/* A whole step of a trainer that a row has made. */
static ssq_status step_of(ssq_trainer *of)
{
    ssq_tape *tape = ssq_trainer_begin(of);
    ssq_var y_ = net(tape, ssq_var_input(tape, x));
    return ssq_trainer_step(of, ssq_mse_var(y_, SSQ_MSE(.target = target)));
}

/* A whole step of an optimizer, by hand. */
static ssq_status step_by_hand(ssq_optimizer *of, ssq_scaler *with)
{
    TRY(forward());
    TRY(backward(with));
    TRY(ssq_optimizer_step(q, of, with));
    return ssq_scaler_update(q, with);
}

/* After every row that is not about an error: its result works. A scaler
 * takes a check and an update, an optimizer a step, a trainer too, and on the
 * tapes nothing is latched. */
static ssq_status row_use(void)
{
    ssq_scaler *one = NULL;
    TRY(ssq_tape_status(t));
    if (mine != NULL) {
        TRY(backward(mine));
        TRY(ssq_scaler_check(q, mine, 1, (const ssq_tensor *[]){dw2}));
        TRY(ssq_scaler_update(q, mine));
    }
    if (fresh != NULL)
        TRY(step_of(fresh));
    if (made == NULL)
        return SSQ_OK;
    /* A made optimizer may have been given w, or stepped with the scaler. */
    (void)!ssq_optimizer_add(made, "w", w, dw, NULL);
    (void)!ssq_scaler_update(q, scaler);
    TRY(ssq_scaler_create(dev, "check", NULL, &one));
    ssq_status st = step_by_hand(made, one);
    ssq_scaler_destroy(&one);
    return st;
}

/* ---- what a row begins with: for the comments "with" ---- */

/* An element of w's gradient has overflowed. */
static ssq_status with_overflow(void)
{
    return ssq_fill(q, SSQ_FILL(.x = dw, .value = (double)INFINITY));
}

/* A scaler whose next clean step is the last before it grows. */
static ssq_status with_growth(void)
{
    return ssq_scaler_set_growth_interval(q, scaler, 2);
}

/* A new trainer of mixed precision. */
static ssq_status with_fresh(void)
{
    return ssq_trainer_create(q, SSQ_TRAINER(.policy = "mixed_float16"),
                              &fresh);
}

/* One that has taken a step. */
static ssq_status with_trained(void)
{
    TRY(with_fresh());
    return step_of(fresh);
}

/* One of float32, whose parameters exist. */
static ssq_status with_wide(void)
{
    TRY(ssq_trainer_create(q, NULL, &wide));
    TRY(ssq_params_allow(ssq_trainer_params(wide), "*"));
    ssq_tape *tape = ssq_trainer_evaluate(wide);
    (void)net(tape, ssq_var_input(tape, x));
    return ssq_tape_status(tape);
}

/* A new optimizer of w. */
static ssq_status with_made(void)
{
    TRY(ssq_optimizer_create(dev, "adamw", NULL, &made));
    return ssq_optimizer_add(made, "w", w, dw, NULL);
}

/* A tape of float32 parameters. */
static ssq_status with_plain(void)
{
    ssq_params *float32 = NULL;
    TRY(ssq_params_create(dev, "float32", NULL, &float32));
    ssq_status st = ssq_tape_create(q, float32, &plain);
    ssq_params_destroy(&float32); /* the tape holds it */
    return st;
}

/* ---- one row after the other ---- */

static void row_clear(void)
{
    policy = (ssq_policy)SSQ_POLICY_INIT;
    options = (ssq_scaler_options)SSQ_SCALER_OPTIONS_INIT;
    state = (ssq_scaler_state)SSQ_SCALER_STATE_INIT;
    fields = (ssq_torch_scaler_state)SSQ_TORCH_SCALER_STATE_INIT;
    hyper = (ssq_optimizer_options)SSQ_OPTIMIZER_INIT;
    statistics = (ssq_statistics)SSQ_STATISTICS_INIT;
    report = (ssq_overflow_report)SSQ_OVERFLOW_REPORT_INIT;
    schedule = (ssq_schedule)SSQ_SCHEDULE_INIT;
    info = (ssq_param_info)SSQ_PARAM_INFO_INIT;
    stats = (ssq_tape_stats)SSQ_TAPE_STATS_INIT;
    total = (ssq_params_stats)SSQ_PARAMS_STATS_INIT;
    mse = (ssq_mse_args)SSQ_MSE_INIT;
    mse.x = y, mse.target = target, mse.loss = scalar, mse.dx = dy;
    mine = NULL, made = NULL, group = NULL, master = NULL, view = NULL;
    fresh = wide = NULL, graph = NULL, dev2 = NULL, plain = NULL;
    calls = 0;
    memset(places, 0, sizeof(places));
    memset(host, 0, sizeof(host));
}

static ssq_status row_open_tape(void)
{
    ssq_scaler *small = NULL; /* so that no gradient here overflows */
    ssq_scaler_options from_1024 = options;
    from_1024.init_scale = 1024.0;
    TRY(ssq_trainer_create(q, SSQ_TRAINER(.policy = "mixed_float16"),
                           &trainer));
    TRY(ssq_scaler_create(dev, NULL, &from_1024, &small));
    ssq_status st = ssq_trainer_set_scaler(trainer, small);
    ssq_scaler_destroy(&small); /* the trainer holds it */
    TRY(st);
    TRY(step_of(trainer));
    params = ssq_trainer_params(trainer);
    TRY(ssq_params_allow(params, "*")); /* rows add layers to it */
    bias_before = at(param_of(trainer, "fc2.bias"), 0);
    t = ssq_trainer_begin(trainer);
    v = ssq_var_input(t, x);
    out = net(t, v);
    loss = ssq_mse_var(out, SSQ_MSE(.target = target));
    return ssq_tape_status(t);
}

static ssq_status row_open(const char *name)
{
    TRY(page_open(name));
    row_clear();
    TRY(ssq_scaler_options_preset("pytorch", &options));
    TRY(forward());
    TRY(backward(scaler));
    TRY(ssq_optimizer_step(q, opt, scaler));
    TRY(ssq_optimizer_step(q, opt2, scaler));
    TRY(ssq_scaler_update(q, scaler));
    TRY(forward());
    TRY(backward(scaler));
    TRY(page_tensor(SSQ_F32, 2, 8, 0.0, &ema));
    TRY(page_tensor(SSQ_I32, 1, 32, 0.0, &labels));
    w_before = at(w, 0);
    return row_open_tape();
}

/* Everything that a row may have made, too; destroy takes NULL. */
static void row_close(void)
{
    ssq_tensor **all[] = {&x,      &y,    &dy,  &target, &w,    &dw,
                          &w2,     &dw2,  &w3,  &dw3,    &bias, &dbias,
                          &scalar, &view, &ema, &labels};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        ssq_tensor_destroy(all[i]);
    ssq_graph_destroy(&graph);
    ssq_tape_destroy(&plain);
    ssq_trainer_destroy(&trainer);
    ssq_trainer_destroy(&fresh);
    ssq_trainer_destroy(&wide);
    ssq_optimizer_destroy(&opt);
    ssq_optimizer_destroy(&opt2);
    ssq_optimizer_destroy(&opt3);
    ssq_optimizer_destroy(&made);
    ssq_scaler_destroy(&scaler);
    ssq_scaler_destroy(&mine);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
    ssq_device_close(&dev2);
}

/* argv[1]: the device. A line "0 NAME" for each row, or "1 NAME" and why. */
static int rows_main(const char *name, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ssq_status st = row_open(name);
        if (st == SSQ_OK)
            st = rows[i].run();
        if (st == SSQ_OK)
            st = ssq_queue_sync(q);
        printf("%d %s\n", st != SSQ_OK, rows[i].name);
        fflush(stdout);
        if (st != SSQ_OK)
            fprintf(stderr, "%s: %s: %s\n", rows[i].name, ssq_status_name(st),
                    ssq_last_error());
        row_close();
    }
    return 0;
}

#endif
