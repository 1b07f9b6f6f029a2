/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.h - a trainer's inside. */
#ifndef LIB_TRAIN_TRAINER_H
#define LIB_TRAIN_TRAINER_H

#include <sesqui/trainer.h>

#include "lib/core/core.h"

/** Parameters that are to have hyper-parameters of their own. */
struct wish {
    struct wish *next;
    char *pattern;
    ssq_group *group; /* the optimizer's */
};

enum due { DUE_NOTHING = 0, DUE_STEP, DUE_UPDATE };

struct ssq_trainer {
    ssq_queue *queue;
    ssq_params *params;
    ssq_tape *tape;
    ssq_optimizer *optimizer;
    ssq_scaler *scaler; /* NULL: none */
    struct wish *wishes, **wishes_end;
    uint32_t accumulate; /* passes to a step */
    uint32_t taken;      /* of them, so far */
    enum due due;        /* what has failed, and is still to be done */
    size_t given;        /* parameters that the optimizer has been offered */
    ssq_tensor *sum;     /* of losses, f32; NULL: none yet */
    uint32_t losses;     /* in it */
};

#endif
