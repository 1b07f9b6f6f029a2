/* SPDX-License-Identifier: Apache-2.0 */
/* mixed.c - every op of a tape with parameters of 16 bits in every operand:
 * no op refuses them, and each gradient belongs to its parameter. The same with
 * a policy that moves the op to another class of autocast, and with a result
 * that is used with its dimensions reversed, so that its gradient is strided.
 */
#include "tests/tape/cases.h"

#include <stdio.h>

static void check(const char *device, const char *policy, size_t i,
                  bool reversed)
{
    struct tape_rig r = rig_open(device, policy);
    struct data d;
    size_t without = 0, wrong = 0;
    data_fill(&r, &d);
    ssq_tape_begin(r.tape, true);
    ssq_var y = cases[i].fn(r.tape, &d);
    if (reversed)
        y = ssq_var_transpose(y, NULL);
    ssq_status st =
        ssq_tape_backward(r.tape, ssq_mean_var(ssq_square_var(y), NULL), NULL);
    for (size_t k = 0; k < ssq_params_count(r.params) && st == SSQ_OK; k++) {
        ssq_param_info p = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(r.params, k, &p));
        without += p.grad == NULL && strstr(p.name, "running_") == NULL;
        wrong += p.grad != NULL &&
                 ssq_tensor_dtype(p.grad) != ssq_tensor_dtype(p.tensor);
    }
    tap_ok(st == SSQ_OK && without == 0 && wrong == 0,
           "%s: %s: %s%s: %zu gradients are missing, %zu of another dtype%s%s",
           device, policy, cases[i].name, reversed ? " reversed" : "", without,
           wrong, st == SSQ_OK ? "" : ": ",
           st == SSQ_OK ? "" : ssq_last_error());
    data_drop(&d);
    rig_close(&r);
}

/* Set op to the op of a case: its name, or the part before an underscore.
 * False: it consists of several ops. */
static bool op_of(size_t i, char *op, size_t bytes)
{
    ssq_op_class is;
    snprintf(op, bytes, "%s", cases[i].name);
    while (ssq_policy_op_class(op, &is) != SSQ_OK) {
        char *end = strrchr(op, '_');
        if (end == NULL)
            return false;
        *end = '\0';
    }
    return true;
}

/* Move the op of case i to every class. Returns the number of tests. */
static long check_moved(const char *device, size_t i)
{
    static const char *const classes[] = {"half", "float32", "promote", "any"};
    char op[64], policy[128];
    if (!op_of(i, op, sizeof(op)))
        return 0;
    for (size_t k = 0; k < 4; k++) {
        snprintf(policy, sizeof(policy), "mixed_%s,%s=%s",
                 (i + k) % 2 == 0 ? "float16" : "bfloat16", op, classes[k]);
        check(device, policy, i, false);
    }
    return 4;
}

int main(void)
{
    static const char *const policies[] = {"mixed_float16", "mixed_bfloat16"};
    long moved = 0;
    for (size_t i = 0; i < N; i++) {
        for (size_t d = 0; d < 2; d++)
            check(core_device(d), policies[(i + d) % 2], i, false);
        check(core_device(i % 2), policies[i % 2], i, true);
        moved += check_moved(core_device(i % 2), i);
    }
    return tap_done(3 * (long)N + moved);
}
