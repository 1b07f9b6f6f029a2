/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - a trainer of a rank with its batches, for tests of training. */
#ifndef TESTS_COMM_MODEL_H
#define TESTS_COMM_MODEL_H

#include <math.h>
#include <sesqui/trainer.h>

#include "tests/comm/comm.h"

enum { BATCH = 6, WIDTH = 10, CLASSES = 3, MOST_STEPS = 5 };

struct comm_model {
    ssq_queue *queue;
    ssq_trainer *trainer;
    ssq_tensor *x, *y;
    double deviation; /* of fc1's initial weights; 0: 0.3 */
    int reports;      /* of labels out of range */
    char text[256];   /* of the last report */
};

static inline void model_make(struct comm_model *m, ssq_queue *queue,
                              const ssq_trainer_args *args)
{
    const int64_t shape[] = {BATCH, WIDTH};

    *m = (struct comm_model){.queue = queue};
    NEED(ssq_trainer_create(queue, args, &m->trainer));
    NEED(ssq_tensor_create(ssq_queue_device(queue), SSQ_F32, 2, shape, &m->x));
    m->y = core_vector(ssq_queue_device(queue), SSQ_I32, BATCH);
}

static inline void model_free(struct comm_model *m)
{
    ssq_trainer_destroy(&m->trainer);
    ssq_tensor_destroy(&m->x);
    ssq_tensor_destroy(&m->y);
}

/** The error in a batch. */
enum flaw { NO_FLAW, NOT_FINITE, WRONG_LABEL };

/** Write batch b of a step, in the queue's order. */
static inline void model_feed(struct comm_model *m, int step, unsigned b,
                              enum flaw flaw)
{
    static float x[MOST_RANKS * MOST_STEPS][BATCH * WIDTH];
    static int32_t y[MOST_RANKS * MOST_STEPS][BATCH];
    int place = step * MOST_RANKS + (int)b;

    for (int i = 0; i < BATCH * WIDTH; i++)
        x[place][i] = (float)((i * 7 + place * 13) % 19 - 9) / 8;
    for (int i = 0; i < BATCH; i++)
        y[place][i] = (i + place) % CLASSES;
    if (flaw == NOT_FINITE)
        x[place][3] = NAN;
    if (flaw == WRONG_LABEL)
        y[place][4] = CLASSES;
    NEED(ssq_tensor_write(m->queue, m->x, x[place], sizeof(x[place]), SSQ_F32));
    NEED(ssq_tensor_write(m->queue, m->y, y[place], sizeof(y[place]), SSQ_I32));
}

#endif
