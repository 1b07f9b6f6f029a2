/* SPDX-License-Identifier: Apache-2.0 */
/* index_check.c - reference: find indices that are out of range. */
#include "lib/core/module/data.h"

#include "backends/reference/reference.h"

/* Count invalid indices, and store the first one of this op in the record. The
 * count is a u32 and may wrap. A place is an index's number in row-major
 * order. */
static ssq_status reference_index_check_run(struct backend_queue *queue,
                                            const struct index_check_op *op)
{
    (void)queue;
    const struct view *v[] = {&op->index};
    const int32_t *index = view_host(&op->index);
    uint32_t *record = view_host(&op->record);
    uint32_t place = 0, wrong = 0;
    struct walk w;
    walk_begin(&w, v, 1);
    do {
        int64_t i = index[w.at[0]];
        bool valid = (i >= 0 && i < op->n) || i == op->ignore_index;
        if (!valid && wrong++ == 0) {
            record[INDEX_PLACE] = place;
            record[INDEX_VALUE] = (uint32_t)i;
            record[INDEX_N] = (uint32_t)op->n;
        }
        place++;
    } while (walk_next(&w));
    record[INDEX_WRONG] += wrong;
    return SSQ_OK;
}

REFERENCE_IMPL(index_check);
