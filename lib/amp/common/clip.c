/* SPDX-License-Identifier: Apache-2.0 */
/* clip.c - clip a list of gradients by their global norm.
 *
 * This does the same as a step with clip_norm, on its own words. check measures
 * the norm, tick computes the coefficient from it, and unscale multiplies. The
 * latter reads its factor from a scaler's word SCALER_INVERSE. Here this word
 * is the coefficient. */
#include "lib/amp/optimizer/optimizer.h"

#include "lib/core/core.h"

#include <math.h>

static const char *const what = "clip_grad_norm";

#define WORDS (CONTROL_WORDS + GROUP_WORDS)
/* Where in the words a block begins whose SCALER_INVERSE is the coefficient.
 * unscale reads no other word of a block. */
#define BLOCK_AT (CONTROL_COEF - SCALER_INVERSE)
_Static_assert(CONTROL_COEF >= SCALER_INVERSE, "a block inside the words");
_Static_assert(WORDS * sizeof(uint32_t) <= UPLOAD_INLINE,
               "the words are uploaded at the call");

/* Check norm. It is written after the gradients, so it must not overlap one. */
static ssq_status check_norm(const ssq_queue *queue, const ssq_tensor *norm,
                             size_t n, const ssq_tensor *const *grads)
{
    if (norm == NULL)
        return SSQ_OK;
    ssq_status st = check_output(queue, norm, what, "norm");
    if (st == SSQ_OK)
        st = check_dtype(norm, DTYPE_BIT(SSQ_F32), what, "norm");
    char text[128];
    if (st == SSQ_OK && view_elements(&norm->view) != 1)
        st = error_set(SSQ_ERR_INVALID, "%s: norm is %s, expected one element",
                       what, view_text(&norm->view, text, sizeof(text)));
    for (size_t i = 0; i < n && st == SSQ_OK; i++)
        if (view_overlap(&norm->view, &grads[i]->view))
            st = error_set(SSQ_ERR_INVALID, "%s: norm overlaps grads[%zu]",
                           what, i);
    return st;
}

/* Gradients are clipped in place, so each is its own out. Any float dtype is
 * allowed, because no scale is divided out. */
static ssq_status check_call_of(const ssq_queue *queue, size_t n,
                                const ssq_tensor *const *grads, double max_norm,
                                const ssq_tensor *norm)
{
    ssq_status st = queue_check(queue, what);
    if (st == SSQ_OK && !(max_norm > 0.0))
        st = error_set(SSQ_ERR_INVALID, "%s: max_norm is %g, expected > 0",
                       what, max_norm);
    if (st == SSQ_OK)
        st = grads_check(queue, n, grads, what);
    if (st == SSQ_OK)
        st = grads_check_outs(queue, n, grads, grads, DTYPES_FLOAT, what);
    return st == SSQ_OK ? check_norm(queue, norm, n, grads) : st;
}

/* Make the words of a step that clips. A group of zeros does nothing. */
static ssq_status make_words(ssq_queue *queue, double max_norm,
                             ssq_tensor **control)
{
    const int64_t n = WORDS;
    uint32_t words[WORDS] = {0};
    words[CONTROL_CLIP] = optimizer_clip_word(max_norm);
    words[CONTROL_WANT_NORM] = 1;
    ssq_status st =
        tensor_create(ssq_queue_device(queue), SSQ_I32, 1, &n, control);
    return st == SSQ_OK ? upload_words(queue, *control, 0, words, WORDS) : st;
}

/* Enqueue the tick of a step with one group, without schedules and without a
 * scaler. It skips nothing and only computes the coefficient. */
static ssq_status enqueue_tick(ssq_queue *queue, const ssq_tensor *record,
                               const ssq_tensor *control)
{
    struct view_list *schedules = list_create(2, what);
    if (schedules == NULL)
        return SSQ_ERR_NOMEM;
    struct tick_op op = {.op = OP_HEADER(tick, record),
                         .kind = OPT_sgd,
                         .groups = 1,
                         .factor = 1.0f,
                         .unscaled = 1,
                         .record = tensor_view(record, ACCESS_READ),
                         .control = tensor_view(control, ACCESS_UPDATE)};
    op.op.list = schedules;
    ssq_status st = queue_enqueue(queue, &op.op);
    object_put(&schedules->object);
    return st;
}

/* grads *= coefficient, by the op that otherwise multiplies by 1 / scale. */
static ssq_status enqueue_coefficient(ssq_queue *queue, size_t n,
                                      const ssq_tensor *const *grads,
                                      const ssq_tensor *control)
{
    ssq_tensor *block = NULL;
    ssq_status st = ssq_tensor_slice(control, 0, BLOCK_AT, WORDS, 1, &block);
    if (st != SSQ_OK)
        return st;
    struct view_list *pairs = grads_pairs(n, grads, grads, what);
    st = pairs == NULL ? SSQ_ERR_NOMEM
                       : enqueue_unscale(queue, pairs, 1.0f, block);
    if (pairs != NULL)
        object_put(&pairs->object);
    object_put(&block->object);
    return st;
}

/* Copy the record's word, whose bits are a float32, to the caller's tensor. */
static ssq_status clip_enqueue_norm(ssq_queue *queue, const ssq_tensor *record,
                                    const ssq_tensor *norm)
{
    if (norm == NULL)
        return SSQ_OK;
    struct view from = tensor_view(record, ACCESS_READ);
    struct view to = tensor_view(norm, ACCESS_WRITE);
    from.dtype = SSQ_F32;
    from.offset += RECORD_NORM * sizeof(uint32_t);
    from.rank = to.rank = 1;
    from.shape[0] = to.shape[0] = from.stride[0] = to.stride[0] = 1;
    return enqueue_copy(queue, &from, &to);
}

/* Enqueue everything between the begin and the end of a bundle. The ops hold
 * what they need, so the record and the words may be released before they run.
 */
static ssq_status clip_run(ssq_queue *queue, size_t n,
                           const ssq_tensor *const *grads, double max_norm,
                           const ssq_tensor *norm)
{
    ssq_tensor *record = NULL, *control = NULL;
    struct view_list *list = grads_list(n, grads, what);
    if (list == NULL)
        return SSQ_ERR_NOMEM;
    ssq_status st = record_create(queue, &record);
    if (st == SSQ_OK)
        st = make_words(queue, max_norm, &control);
    if (st == SSQ_OK)
        st = enqueue_check(queue, list, 1.0f, record, NULL, control, NULL);
    if (st == SSQ_OK)
        st = enqueue_tick(queue, record, control);
    if (st == SSQ_OK && n > 0)
        st = enqueue_coefficient(queue, n, grads, control);
    if (st == SSQ_OK)
        st = clip_enqueue_norm(queue, record, norm);
    object_put(&list->object);
    ssq_tensor_destroy(&record);
    ssq_tensor_destroy(&control);
    return st;
}

ssq_status ssq_clip_grad_norm(ssq_queue *queue, size_t n,
                              const ssq_tensor *const *grads, double max_norm,
                              const ssq_tensor *norm)
{
    ssq_status st = check_call_of(queue, n, grads, max_norm, norm);
    if (st == SSQ_OK)
        st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    return queue_bundle_end(queue, clip_run(queue, n, grads, max_norm, norm));
}
