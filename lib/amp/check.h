/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - one look at every gradient: verdict, norm, statistics; and true
 * gradients written out. For scalers and optimizers.
 *
 * A list op without views of its own (accumulate, master) begins with
 * OP_LIST_HEADER, by which its views begin at the struct's end and there are
 * none. */
#ifndef LIB_AMP_CHECK_H
#define LIB_AMP_CHECK_H

#include "kernels/amp/optimizer.h"
#include "lib/amp/list.h"

#define OP_LIST_HEADER(NAME, LIST)                                             \
    {                                                                          \
        OP_##NAME, sizeof(struct NAME##_op), sizeof(struct NAME##_op), 0,      \
            (LIST), 0, NULL                                                    \
    }

/** Read every gradient once and fill a record. List: gradients, read, of any
 *  strides; some may be empty. Views that continue one are of its tensor: the
 *  record and stats count tensors, and elements in them. The verdict is over
 *  the raw bits of the gradients as they are, still scaled: what a device does
 *  to subnormals, or a factor to large numbers, cannot change it.
 *
 *  Where several ranks have a part of the gradients each, it is two ops: one
 *  without a record leaves the partials of this rank's chunks, which are whole
 *  ones of kernels/reduce/norm.h but for a tensor's last, among those of all;
 *  one with both reads all of them, and of its list the sizes alone. */
struct check_op {
    struct op op;
    float factor;        /* a true gradient is g * (1 / scale * factor) */
    uint32_t first;      /* the number of the list's first chunk among all */
    struct view record;  /* i32 [RECORD_WORDS], updated; see above */
    struct view block;   /* optional: a scaler's words; else scale 1 */
    struct view control; /* optional: an optimizer's words, which say whether
                            the norm is wanted; else it is not */
    struct view stats;   /* optional: i32 [tensors, STAT_WORDS], updated */
    struct view parts;   /* optional: i32 [PART_WORDS, chunks]; see above */
    struct view labels;  /* optional: two words; where they differ, labels were
                            out of range, and the verdict is VERDICT_LABELS */
};

/** outs[i] = grads[i] * (1 / scale * factor), rounded once. List: n gradients,
 *  read, then n outs, written; outs[i] may be exactly grads[i]. */
struct unscale_op {
    struct op op;
    uint32_t n; /* gradients, or pieces of them */
    float factor;
    struct view block; /* optional: only its word SCALER_INVERSE is read */
};

/** A whole check; block, control and stats may be NULL, and are then absent. */
struct check_op check_op_of(struct view_list *list, float factor,
                            const ssq_tensor *record, const ssq_tensor *block,
                            const ssq_tensor *control, const ssq_tensor *stats);
/** Enqueue a check; block, control and stats may be NULL, and are then absent
 *  from the op. The op takes a reference of the list; the caller keeps its
 *  own. */
ssq_status enqueue_check(ssq_queue *queue, struct view_list *list, float factor,
                         const ssq_tensor *record, const ssq_tensor *block,
                         const ssq_tensor *control, const ssq_tensor *stats);
/** Enqueue an unscale of the list's first half into its second. */
ssq_status enqueue_unscale(ssq_queue *queue, struct view_list *list,
                           float factor, const ssq_tensor *block);
/** A new record, i32 [RECORD_WORDS], zeroed on the queue. */
ssq_status record_create(ssq_queue *queue, ssq_tensor **record);

#endif
