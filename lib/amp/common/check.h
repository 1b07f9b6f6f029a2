/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - read every gradient once, for the overflow flag, the norm and the
 * statistics; and write unscaled gradients. For scalers and optimizers.
 *
 * A list op without views of its own (accumulate, master) begins with
 * OP_LIST_HEADER: its views begin at the end of the struct, and their number is
 * 0. */
#ifndef LIB_AMP_COMMON_CHECK_H
#define LIB_AMP_COMMON_CHECK_H

#include "kernels/amp/optimizer.h"
#include "lib/op/list.h"

#define OP_LIST_HEADER(NAME, LIST)                                             \
    {                                                                          \
        OP_##NAME, sizeof(struct NAME##_op), sizeof(struct NAME##_op), 0,      \
            (LIST), 0, NULL                                                    \
    }

/** Read every gradient once and fill a record. The list has gradients, which
 * are read, of any strides; some may be empty. A view that continues another
 * one belongs to the same tensor: the record and stats count tensors, and
 * elements in them. The overflow flag depends on the raw bits of the scaled
 * gradients, so flushed subnormals and large factors cannot change it.
 *
 *  If each of several ranks has a part of the gradients, two ops are used. One
 *  without a record writes the partial sums of this rank's chunks among those
 * of all ranks. These are whole chunks of kernels/reduce/norm.h, except for the
 *  last of a tensor. The other op, with both, reads all partial sums, and uses
 *  only the sizes of its list. */
struct check_op {
    struct op op;
    float factor;        /* an unscaled gradient is g * (1 / scale * factor) */
    uint32_t first;      /* the number of the list's first chunk among all */
    struct view record;  /* i32 [RECORD_WORDS], updated; see above */
    struct view block;   /* optional: a scaler's words; else scale 1 */
    struct view control; /* optional: an optimizer's words, which say whether
                            the norm is wanted; absent: it is not */
    struct view stats;   /* optional: i32 [tensors, STAT_WORDS], updated */
    struct view parts;   /* optional: i32 [PART_WORDS, chunks]; see above */
    struct view labels;  /* optional: two words; if they differ, labels were
                            out of range, and the flag is VERDICT_LABELS */
};

/** outs[i] = grads[i] * (1 / scale * factor), rounded once. List: n gradients,
 *  read, then n outs, written; outs[i] may be exactly grads[i]. */
struct unscale_op {
    struct op op;
    uint32_t n; /* gradients, or pieces of them */
    float factor;
    struct view block; /* optional: only its word SCALER_INVERSE is read */
};

/** Return a whole check. block, control and stats may be NULL: absent. */
struct check_op check_op_of(struct view_list *list, float factor,
                            const ssq_tensor *record, const ssq_tensor *block,
                            const ssq_tensor *control, const ssq_tensor *stats);
/** Enqueue a check. block, control and stats may be NULL: absent. The op takes
 *  its own reference of the list; the caller keeps its reference. */
ssq_status enqueue_check(ssq_queue *queue, struct view_list *list, float factor,
                         const ssq_tensor *record, const ssq_tensor *block,
                         const ssq_tensor *control, const ssq_tensor *stats);
/** Enqueue an unscale of the list's first half into its second. */
ssq_status enqueue_unscale(ssq_queue *queue, struct view_list *list,
                           float factor, const ssq_tensor *block);
/** Create a record, i32 [RECORD_WORDS], and enqueue zeros for it. */
ssq_status record_create(ssq_queue *queue, ssq_tensor **record);

#endif
