/* SPDX-License-Identifier: Apache-2.0 */
/* draw.c - random words for the calls of a pass.
 *
 * The stream of a call is identified by the parameters' seed, the number of the
 * call in its pass, and the number of the pass. The last is a word on the
 * device. It is written in queue order before the first call of a pass that
 * draws, and is kept until the backward has read it.
 *
 * Training passes of a set of parameters are numbered from 1. If there are
 * several ranks, their passes alternate. Initial values of parameters use
 * number 0. */
#include "lib/core/queue/replay.h"
#include "lib/tape/params.h"
#include "lib/tape/tape.h"

#include <sesqui/ops/data.h>

/* Return the number of passes, one for each rank, that are counted together. */
static unsigned turns(const ssq_tape *t)
{
    return t->ranks > 1 ? t->ranks : 1;
}

void tape_rank(ssq_tape *t, unsigned rank, unsigned ranks)
{
    t->rank = rank;
    t->ranks = ranks;
}

/* If one pass has drawn, all passes are assumed to draw. */
void tape_turn(ssq_tape *t)
{
    uint32_t *draws = &t->params->draws;
    if (*draws > 0)
        *draws = *draws % INT32_MAX + turns(t);
}

ssq_status tape_draw(ssq_tape *t, struct drawing *d)
{
    ssq_status st = SSQ_OK;
    if (t->step == NULL)
        st = tensor_create(t->queue->device, SSQ_I32, 0, NULL, &t->step);
    if (st == SSQ_OK && t->draws == 0) {
        uint32_t before = t->params->draws % INT32_MAX;
        uint32_t pass = (before + t->rank) % INT32_MAX + 1;
        st = replay_pause(t->queue); /* the value differs each time */
        if (st == SSQ_OK) {
            st = ssq_fill(t->queue,
                          SSQ_FILL(.x = t->step, .value = (double)pass));
            replay_resume(t->queue);
        }
        if (st == SSQ_OK)
            t->params->draws = before + turns(t);
    }
    if (st != SSQ_OK)
        return st;
    *d = (struct drawing){t->params->options.seed, t->draws++, t->step};
    return SSQ_OK;
}
