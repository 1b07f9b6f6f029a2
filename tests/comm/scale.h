/* SPDX-License-Identifier: Apache-2.0 */
/* scale.h - a scale for trainers that are compared. */
#ifndef TESTS_COMM_SCALE_H
#define TESTS_COMM_SCALE_H

#include <sesqui/trainer.h>

#include "tests/core/core.h"

/* One that no step of small nets is skipped for: gradients of a share are
 * larger than the whole batch's, so another step might be. Nothing where
 * the trainer has no scaler. */
static inline void scale_low(ssq_trainer *trainer)
{
    ssq_scaler_options o = SSQ_SCALER_OPTIONS_INIT;
    ssq_scaler *scaler = NULL;

    if (ssq_trainer_scaler(trainer) == NULL)
        return;
    NEED(ssq_scaler_options_preset("sesqui", &o));
    o.init_scale = 256;
    NEED(ssq_scaler_create(ssq_queue_device(ssq_trainer_queue(trainer)), NULL,
                           &o, &scaler));
    NEED(ssq_trainer_set_scaler(trainer, scaler));
    ssq_scaler_destroy(&scaler);
}

#endif
