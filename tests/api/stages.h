/* SPDX-License-Identifier: Apache-2.0 */
/* stages.h - the training program of training.h, from a stage to a stage. */
#ifndef TESTS_API_STAGES_H
#define TESTS_API_STAGES_H

#include "tests/api/training.h"
#include "tests/core/core.h"

/* The first of that name. */
static inline size_t stages_find(const char *name)
{
    for (size_t i = 0; i < TRAINING_STAGES; i++)
        if (strcmp(training_stages[i].name, name) == 0)
            return i;
    tap_bail("no stage %s", name);
    return 0;
}

/* All from one to the other, which have to work. */
static inline void stages_run(struct training *p, size_t first, size_t last)
{
    for (size_t i = first; i <= last; i++) {
        ssq_status st = training_stages[i].run(p);

        if (st != SSQ_OK && st != SSQ_ERR_NOT_READY)
            tap_bail("%s: %s", training_stages[i].name, ssq_last_error());
    }
}

#endif
