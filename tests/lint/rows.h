/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h - what surrounds the rows of doc/coming-from.md: rows.sh includes it,
 * and rows.awk makes a function of each row. */
#ifndef TESTS_LINT_ROWS_H
#define TESTS_LINT_ROWS_H

#include "tests/lint/page.h"

/* What the page promises its rows, made anew for each. */
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
ssq_tensor *view;
ssq_mse_args mse; /* of backward() */
uint32_t t;
float norm;
double value;
static float host[64];
static unsigned char blob[1 << 14]; /* more than either takes */
static size_t bytes;

/* A row is an expression of whatever type the call has: a status, or a pointer
 * that must not be NULL. ROW chooses by the type. */
static inline ssq_status row_status(ssq_status st)
{
    return st;
}

static inline ssq_status row_pointer(const void *p)
{
    return p != NULL ? SSQ_OK : SSQ_ERR_NOT_FOUND;
}

#define ROW(call)                                                              \
    TRY(_Generic((call), const char *                                          \
                 : row_pointer, const ssq_tensor *                             \
                 : row_pointer, default                                        \
                 : row_status)(call))

#define ROW_TRUE(condition)                                                    \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "# not true: %s; %s\n", #condition,                \
                    ssq_last_error());                                         \
            return SSQ_ERR_INVALID;                                            \
        }                                                                      \
    } while (0)

struct row {
    ssq_status (*run)(void);
    const char *name;
};

static ssq_status your_hook(ssq_queue *on, const ssq_tensor *verdict,
                            void *user)
{
    (void)on, (void)verdict, (void)user;
    return SSQ_OK; /* one rank */
}

static ssq_status your_visit(void *user, const char *name,
                             const ssq_tensor *tensor)
{
    (void)user, (void)tensor;
    return name != NULL ? SSQ_OK : SSQ_ERR_INVALID;
}

/* One step has been done, and the next one is under way up to its gradients. */
static ssq_status row_open(const char *name)
{
    TRY(page_open(name));
    policy = (ssq_policy)SSQ_POLICY_INIT;
    options = (ssq_scaler_options)SSQ_SCALER_OPTIONS_INIT;
    TRY(ssq_scaler_options_preset("pytorch", &options));
    state = (ssq_scaler_state)SSQ_SCALER_STATE_INIT;
    fields = (ssq_torch_scaler_state)SSQ_TORCH_SCALER_STATE_INIT;
    hyper = (ssq_optimizer_options)SSQ_OPTIMIZER_INIT;
    statistics = (ssq_statistics)SSQ_STATISTICS_INIT;
    schedule = (ssq_schedule)SSQ_SCHEDULE_INIT;
    mse = (ssq_mse_args)SSQ_MSE_INIT;
    mse.x = y, mse.target = target, mse.loss = loss, mse.dx = dy;
    mine = NULL, made = NULL, group = NULL, master = NULL, view = NULL;
    TRY(forward());
    TRY(backward(scaler));
    TRY(ssq_optimizer_step(q, opt, scaler));
    TRY(ssq_optimizer_step(q, opt2, scaler));
    TRY(ssq_scaler_update(q, scaler));
    TRY(forward());
    return backward(scaler);
}

/* Everything that a row may have made, too; destroy takes NULL. */
static void row_close(void)
{
    ssq_tensor **all[] = {&x,   &y,  &dy,  &target, &w,     &dw,   &w2,
                          &dw2, &w3, &dw3, &bias,   &dbias, &loss, &view};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        ssq_tensor_destroy(all[i]);
    ssq_optimizer_destroy(&opt);
    ssq_optimizer_destroy(&opt2);
    ssq_optimizer_destroy(&opt3);
    ssq_optimizer_destroy(&made);
    ssq_scaler_destroy(&scaler);
    ssq_scaler_destroy(&mine);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

/* argv[1]: the device. "ok", or "not ok" and why, for each row. */
static int rows_main(const char *name, const struct row *rows, size_t n)
{
    int failed = 0;
    for (size_t i = 0; i < n; i++) {
        ssq_status st = row_open(name);
        if (st == SSQ_OK)
            st = rows[i].run();
        if (st == SSQ_OK)
            st = ssq_queue_sync(q);
        if (st != SSQ_OK) {
            printf("%s: %s: %s\n", rows[i].name, ssq_status_name(st),
                   ssq_last_error());
            failed = 1;
        }
        row_close();
    }
    return failed;
}

#endif
