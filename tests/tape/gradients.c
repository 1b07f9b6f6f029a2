/* SPDX-License-Identifier: Apache-2.0 */
/* gradients.c - every op of a tape, with its options, against difference
 * quotients; and that those find gradients that are wrong. */
#include "tests/tape/cases.h"

/* Cases have their own parameters. */
static void check(const char *device, size_t i)
{
    struct tape_rig r = rig_open(device, NULL);
    struct data d;
    ssq_gradcheck_report worst = SSQ_GRADCHECK_REPORT_INIT;
    data_fill(&r, &d);
    ssq_status st = ssq_gradcheck(r.tape, cases[i].fn, &d,
                                  SSQ_GRADCHECK(.samples = 6), &worst);
    tap_ok(st == SSQ_OK,
           "%s: %s: %llu elements, worst %s[%llu] %g, by differences %g, "
           "tolerance %g%s%s",
           device, cases[i].name, (unsigned long long)worst.tried, worst.name,
           (unsigned long long)worst.index, worst.gradient, worst.difference,
           worst.tolerance, st == SSQ_OK ? "" : ": ",
           st == SSQ_OK ? "" : ssq_last_error());
    data_drop(&d);
    rig_close(&r);
}

/* ---- gradients that are wrong ---- */

static ssq_var half(ssq_tape *t, void *user)
{
    (void)user;
    return ssq_mul_var(X, ssq_var_detach(X));
}

static ssq_var nothing(ssq_tape *t, void *user)
{
    (void)user;
    return ssq_add_var(ssq_square_var(ssq_var_detach(X)), Y);
}

static ssq_var whole(ssq_tape *t, void *user)
{
    (void)user;
    ssq_tape_pause(t);
    ssq_var x = ssq_square_var(X);
    ssq_tape_resume(t);
    return ssq_add_var(x, Y);
}

static void wrong(void)
{
    static const ssq_gradcheck_fn fns[] = {half, nothing, whole};
    static const char *const names[] = {"half of a square's gradient",
                                        "none behind a detach",
                                        "none out of a pause"};
    for (int i = 0; i < 3; i++) {
        struct tape_rig r = rig_open("reference", NULL);
        core_status(ssq_gradcheck(r.tape, fns[i], NULL, NULL, NULL),
                    SSQ_ERR_INVALID, "\"x\"|difference quotient", "%s",
                    names[i]);
        rig_close(&r);
    }
}

/* ---- results that no gradient can be of ---- */

static ssq_var integers(ssq_tape *t, void *user)
{
    (void)X;
    return ssq_var_input(t, user);
}

static ssq_var none(ssq_tape *t, void *user)
{
    (void)t;
    (void)user;
    return SSQ_VAR_NONE;
}

static void results(void)
{
    struct tape_rig r = rig_open("reference", NULL);
    ssq_tensor *words = rig_words(&r, 1, (int64_t[]){2}, (int[]){1, 2});
    core_status(ssq_gradcheck(r.tape, integers, words, NULL, NULL),
                SSQ_ERR_INVALID, "gradcheck: the function's result is i32",
                "a function of integers");
    core_status(ssq_gradcheck(r.tape, none, NULL, NULL, NULL), SSQ_ERR_INVALID,
                "the function's result is not a var", "a function of nothing");
    tap_ok(strncmp(ssq_last_error(), "gradcheck: the", 14) == 0,
           "a text names its call once: %s", ssq_last_error());
    ssq_tensor_destroy(&words);
    rig_close(&r);
}

/* Parameters that come only later: the array of all grows meanwhile. */
static ssq_var growing(ssq_tape *t, void *user)
{
    int *calls = user;
    if (--*calls != 0)
        return ssq_square_var(X);
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof(name), "late%d", i);
        ssq_var v = ssq_var_param(
            t, name, SSQ_PARAM(.rank = 1, .shape = {3}, .value = 1.0));
        (void)v;
    }
    return ssq_square_var(X);
}

static void grown(void)
{
    for (int call = 2; call <= 8; call++) {
        struct tape_rig r = rig_open("reference", NULL);
        int calls = call;
        core_status(ssq_gradcheck(r.tape, growing, &calls, NULL, NULL),
                    SSQ_ERR_INVALID, "made parameter \"late0\" only in a later",
                    "parameters that call %d makes", call);
        rig_close(&r);
    }
}

/* Parameters that are removed while they are checked. */
struct shrinking {
    ssq_params *params;
    int calls;
};

static ssq_var shrinking(ssq_tape *t, void *user)
{
    struct shrinking *s = user;
    ssq_var y = ssq_add_var(ssq_square_var(X), Y);
    if (--s->calls == 0)
        NEED(ssq_params_remove(s->params, "*", NULL));
    return y;
}

static void shrunk(void)
{
    for (int call = 2; call <= 8; call++) {
        struct tape_rig r = rig_open("reference", NULL);
        struct shrinking s = {r.params, call};
        core_status(ssq_gradcheck(r.tape, shrinking, &s, NULL, NULL),
                    SSQ_ERR_INVALID, "removed parameters",
                    "parameters that call %d removes", call);
        rig_close(&r);
    }
}

/* A model with running statistics, which a check must not move. */
static ssq_var with_states(ssq_tape *t, void *user)
{
    (void)user;
    ssq_var x = ssq_var_param(t, "b",
                              SSQ_PARAM(.rank = 2, .shape = {4, 3},
                                        .init = SSQ_INIT_NORMAL, .value = 1.0));
    return ssq_square_var(ssq_nn_batch_norm(t, "norm", x, NULL));
}

static void states(void)
{
    struct tape_rig r = rig_open("reference", NULL);
    static const char *const names[] = {"norm.running_mean",
                                        "norm.running_var"};
    float before[2][3], after[2][3];
    ssq_tape_begin(r.tape, true);
    (void)with_states(r.tape, NULL);
    NEED(ssq_tape_status(r.tape));
    for (int i = 0; i < 2; i++)
        NEED(ssq_params_read(r.params, r.queue, NULL, names[i], before[i], 3));
    core_status(ssq_gradcheck(r.tape, with_states, NULL, NULL, NULL), SSQ_OK,
                "", "a model with running statistics");
    for (int i = 0; i < 2; i++)
        NEED(ssq_params_read(r.params, r.queue, NULL, names[i], after[i], 3));
    tap_ok(memcmp(before, after, sizeof(before)) == 0,
           "has the statistics of before: %g, %g", (double)before[0][0],
           (double)after[0][0]);
    rig_close(&r);
}

/* Of several wrong elements the worst is reported, wherever it is. */
static ssq_var badly(ssq_tape *t, void *user)
{
    (void)user;
    ssq_var p =
        ssq_var_param(t, "p",
                      SSQ_PARAM(.rank = 1, .shape = {3},
                                .init = SSQ_INIT_CONSTANT, .value = 1.0));
    const ssq_var part[] = {
        ssq_scale_var(ssq_var_detach(ssq_var_slice(p, 0, 0, 1, 1)),
                      SSQ_SCALE(.alpha = 1.0)),
        ssq_scale_var(ssq_var_detach(ssq_var_slice(p, 0, 1, 2, 1)),
                      SSQ_SCALE(.alpha = 100.0)),
        ssq_var_slice(p, 0, 2, 3, 1)};
    return ssq_var_concat(part, 3, 0);
}

static void worst(void)
{
    struct tape_rig r = rig_open("reference", NULL);
    ssq_gradcheck_report report = SSQ_GRADCHECK_REPORT_INIT;
    core_status(ssq_gradcheck(r.tape, badly, NULL, NULL, &report),
                SSQ_ERR_INVALID, "\"p\"[1]", "the worst of two wrong ones");
    rig_close(&r);
}

int main(void)
{
    for (size_t i = 0; i < N; i++)
        for (size_t d = 0; d < 2; d++)
            check(core_device(d), i);
    wrong();
    results();
    grown();
    shrunk();
    states();
    worst();
    return tap_done(2 * (long)N + 23);
}
