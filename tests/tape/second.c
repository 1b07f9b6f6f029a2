/* SPDX-License-Identifier: Apache-2.0 */
/* second.c - gradients of gradients: of every op that has them against
 * difference quotients; every other op says so by its name. */
#include "tests/tape/penalty.h"

/* Where two operands are equal the gradient of an extreme jumps: that no step
 * reaches such a place. */
static double least_step(const char *name)
{
    return strcmp(name, "minimum") == 0 ? 0x1p-10 : 0x1p-6;
}

static void check(const char *device, size_t i)
{
    struct tape_rig r = rig_open(device, NULL);
    struct data d;
    struct penalty p = {.rig = &r, .data = &d, .i = i};
    ssq_gradcheck_report worst = SSQ_GRADCHECK_REPORT_INIT;
    data_fill(&r, &d);
    ssq_status st = ssq_gradcheck(
        r.tape, penalty_fn, &p,
        SSQ_GRADCHECK(.samples = 6, .step = least_step(cases[i].name)), &worst);
    if (cases[i].once)
        core_status(st, SSQ_ERR_UNSUPPORTED, "no second derivative",
                    "%s: %s says that it has none", device, cases[i].name);
    else
        tap_ok(st == SSQ_OK,
               "%s: %s: %llu elements, worst %s[%llu] %g, by differences %g, "
               "tolerance %g%s%s",
               device, cases[i].name, (unsigned long long)worst.tried,
               worst.name, (unsigned long long)worst.index, worst.gradient,
               worst.difference, worst.tolerance, st == SSQ_OK ? "" : ": ",
               st == SSQ_OK ? "" : ssq_last_error());
    ssq_tensor_destroy(&p.w);
    data_drop(&d);
    rig_close(&r);
}

int main(void)
{
    for (size_t i = 0; i < N; i++)
        for (size_t d = 0; d < 2; d++)
            check(core_device(d), i);
    return tap_done(2 * (long)N);
}
