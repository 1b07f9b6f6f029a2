/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - a training program on cuda:0, with any driver that the loader finds:
 * devices.sh runs it with drivers that lack something. Its output is the loss,
 * bit for bit. */
#include <stdio.h>

#include "tests/api/training.h"

static ssq_status run(struct training *p)
{
    ssq_status st = SSQ_OK;

    for (size_t i = 0; i < TRAINING_STAGES; i++) {
        st = training_stages[i].run(p);
        if (st == SSQ_ERR_NOT_READY)
            st = SSQ_OK;
        if (st != SSQ_OK) {
            printf("%s: %s\n", training_stages[i].name, ssq_last_error());
            break;
        }
    }
    return st;
}

int main(void)
{
    struct training p = {.name = "cuda:0"};
    ssq_status st = run(&p);

    if (st == SSQ_OK)
        printf("loss %a\n", (double)p.loss);
    training_close(&p);
    return st == SSQ_OK ? 0 : 1;
}
