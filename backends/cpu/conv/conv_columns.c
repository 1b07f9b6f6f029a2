/* SPDX-License-Identifier: Apache-2.0 */
/* conv_columns.c - positions of a band as the columns of a GEMM. */
#include "backends/cpu/conv/conv_columns.h"

#include "lib/core/base/size.h"

/* Go to the position after `count` more of this row. */
static void columns_advance(struct conv_columns *c, int64_t count)
{
    c->x += count;
    if (c->x < c->wide)
        return;
    c->x = 0;
    if (++c->y < (c->n == 0 ? c->rows : c->others))
        return;
    c->y = 0;
    c->n++;
}

uint32_t conv_columns_next(struct conv_columns *c, uint32_t count,
                           uint32_t vector, struct conv_move *moves)
{
    const uint32_t step = vector / c->bytes;
    uint32_t n = 0, done = 0;
    while (done < count) {
        uint32_t some = (uint32_t)size_least(count - done, c->wide - c->x);
        int64_t at = c->first + c->n * c->image + c->y * c->pitch + c->x;
        for (uint32_t i = 0; i < some; i += step)
            moves[n++] =
                (struct conv_move){(done + i) * c->bytes, (at + i) * c->bytes};
        columns_advance(c, some);
        done += some;
    }
    return n;
}
