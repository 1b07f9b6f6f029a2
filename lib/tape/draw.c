/* SPDX-License-Identifier: Apache-2.0 */
/* draw.c - random words for the calls of a pass.
 *
 * The stream is the parameters' seed, the number of the call in its pass, and a
 * word on the device that says which of all training passes of the parameters
 * this is: it is written in order before the first call of a pass that draws,
 * and stays until the backward has read it. Passes count from 1, those of
 * several ranks in turn; parameters draw their initial values at 0. */
#include "lib/core/repeat.h"
#include "lib/tape/params.h"
#include "lib/tape/tape.h"

#include <sesqui/ops/data.h>

/* Passes of all ranks that this one's is counted with. */
static unsigned turns(const ssq_tape *t)
{
    return t->ranks > 1 ? t->ranks : 1;
}

void tape_rank(ssq_tape *t, unsigned rank, unsigned ranks)
{
    t->rank = rank;
    t->ranks = ranks;
}

/* What draws once does so in each pass. */
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
        st = repeat_pause(t->queue); /* another value each time */
        if (st == SSQ_OK) {
            st = ssq_fill(t->queue,
                          SSQ_FILL(.x = t->step, .value = (double)pass));
            repeat_resume(t->queue);
        }
        if (st == SSQ_OK)
            t->params->draws = before + turns(t);
    }
    if (st != SSQ_OK)
        return st;
    *d = (struct drawing){t->params->options.seed, t->draws++, t->step};
    return SSQ_OK;
}
