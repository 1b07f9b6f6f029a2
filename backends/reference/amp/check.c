/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - reference: check, unscale, accumulate, master.
 *
 * The counts of a check do not depend on any order. The norm and the position
 * of the first bad element do. The list is therefore walked from start to end,
 * and each view in row-major order, as the kernels number elements. */
#include "lib/amp/optimizer/optimizer.h"

#include "backends/reference/amp/parts.h"
#include "backends/reference/reduce/fold.h"
#include "backends/reference/reference.h"
#include "kernels/amp/grad_args.h"
#include "kernels/scalar/convert.h"

/* Return the words of an i32 view as unsigned, as the kernels read them. NULL
 * if the view is absent. */
static uint32_t *check_words(const struct view *v)
{
    return view_host(v);
}

/* Return whether a number is finite, from its stored bits. Nothing is computed
 * from the number, so modes of the processor have no influence. */
static bool bits_finite(uint32_t bits, ssq_dtype dtype)
{
    switch (dtype) {
    case SSQ_F16:
        return f16_is_finite(bits);
    case SSQ_BF16:
        return bf16_is_finite(bits);
    default:
        return is_finite_bits(bits);
    }
}

/* Return the least positive normal number of a dtype, as bits of a float32:
 * 2^-14 for f16, 2^-126 for bf16 and float32, which have the same exponents. */
static uint32_t least_normal(ssq_dtype dtype)
{
    return dtype == SSQ_F16 ? 0x38800000u : 0x00800000u;
}

/* The results of one check. */
struct finding {
    uint32_t infs, nans, tensors;
    size_t tensor; /* tensor of the first bad element */
    uint64_t index;
    bool nan;
    bool norm; /* compute the norm, too */
    float factor;
    struct norm_fold fold;
};

/* The statistics of one tensor, over all its views. Only finite elements are
 * counted. */
struct check_counts {
    uint64_t zeros, subnormals;
    uint32_t exponent; /* largest one; 0x80000000: none yet */
};

/* Add an element to the statistics. magnitude is its absolute value as bits of
 * a float32, which represents 16-bit floats exactly. It is subnormal if it is
 * below the least normal number of its dtype. Exponents are compared as signed
 * numbers, because exponents of numbers below 1 are negative. */
static void check_count(struct check_counts *c, uint32_t magnitude,
                        ssq_dtype dtype)
{
    if (magnitude == 0) {
        c->zeros++;
        return;
    }
    if (magnitude < least_normal(dtype))
        c->subnormals++;
    uint32_t e = magnitude_exponent(magnitude);
    if ((int32_t)e > (int32_t)c->exponent)
        c->exponent = e;
}

/* Store the statistics of a tensor. The count of lost updates is set to 0: the
 * step that follows the check counts them. */
static void check_put_counts(uint32_t *w, const struct check_counts *c)
{
    w[STAT_ZEROS_LO] = (uint32_t)c->zeros;
    w[STAT_ZEROS_HI] = (uint32_t)(c->zeros >> 32);
    w[STAT_SUBNORMALS_LO] = (uint32_t)c->subnormals;
    w[STAT_SUBNORMALS_HI] = (uint32_t)(c->subnormals >> 32);
    w[STAT_EXPONENT] = c->exponent;
    w[STAT_ROUNDED_LO] = w[STAT_ROUNDED_HI] = 0;
}

/* Count a bad element, and store the position of the first one. The counts stop
 * at the largest u32 and do not wrap, so that they are above 0 if there was
 * one. */
static void check_note_bad(struct finding *f, size_t tensor, uint64_t index,
                           bool nan)
{
    if (f->infs + f->nans == 0) {
        f->tensor = tensor;
        f->index = index;
        f->nan = nan;
    }
    if (nan)
        f->nans += f->nans < UINT32_MAX;
    else
        f->infs += f->infs < UINT32_MAX;
}

/* Return whether an element is finite, and still is after the multiplication by
 * factor in the step. For a scale below 2^-127 the factor is infinite. If the
 * element is bad, *nan is true for a NaN and false for an infinity. */
static bool check_good(uint32_t bits, ssq_dtype dtype, float x, float factor,
                       bool *nan)
{
    uint32_t applied = AS_U32(x * factor);
    bool finite = bits_finite(bits, dtype);
    *nan = is_nan_bits(finite ? applied : AS_U32(x));
    return finite && is_finite_bits(applied);
}

/* Check a gradient, or a piece of it that begins at element *index, and advance
 * *index. Returns whether an element is bad. The bits are checked as they are
 * stored, still scaled.
 *
 * The norm is over true gradients, so each element is multiplied by the factor
 * before it is squared. A norm of scaled gradients, divided afterwards, would
 * be rounded differently. */
static bool check_elements(struct finding *f, const struct view *v,
                           size_t tensor, struct check_counts *c,
                           uint64_t *index)
{
    struct walk w;
    const struct view *views[] = {v};
    const void *g = view_host(v);
    bool bad = false;
    if (view_elements(v) == 0)
        return false;
    walk_begin(&w, views, 1);
    do {
        uint32_t bits = load_bits(g, v->dtype, w.at[0]);
        float x = bits_to_f32(bits, v->dtype);
        bool nan;
        if (!check_good(bits, v->dtype, x, f->factor, &nan)) {
            check_note_bad(f, tensor, *index, nan);
            bad = true;
        } else {
            check_count(c, AS_U32(x) & 0x7fffffffu, v->dtype);
        }
        if (f->norm)
            norm_fold_add(&f->fold, x * f->factor);
        ++*index;
    } while (walk_next(&w));
    return bad;
}

/* Check all views of the gradient that begins with view i, and return the index
 * of the next gradient. The pieces of a gradient are one tensor to the caller:
 * elements are numbered across them, and a bad tensor counts once.
 *
 * The fold of the norm continues across pieces, because they consist of whole
 * chunks. It is broken between tensors, each of which begins a new chunk
 * (kernels/reduce/norm.h). */
static size_t check_tensor(struct finding *f, const struct view_list *list,
                           size_t i, size_t tensor, struct check_counts *c)
{
    uint64_t index = 0;
    bool bad = false;
    do {
        bad = check_elements(f, &list->v[i++], tensor, c, &index) || bad;
    } while (i < list->n && list->v[i].continues);
    f->tensors += bad;
    if (f->norm)
        norm_fold_break(&f->fold);
    return i;
}

/* Store the results of a check. If labels were out of range, the flag is
 * VERDICT_LABELS even if gradients are bad, because such gradients say nothing
 * about the scale. Unless the flag is VERDICT_BAD, the details of the last
 * bad check are not changed, so that a caller can read them later.
 * RECORD_BAD_CHECK is the number of that check. */
static void check_put_record(uint32_t *r, const struct finding *f,
                             const uint32_t *labels)
{
    r[RECORD_CHECKS]++;
    r[RECORD_VERDICT] = f->tensors != 0 ? VERDICT_BAD : VERDICT_GOOD;
    if (labels != NULL && labels[0] != labels[1])
        r[RECORD_VERDICT] = VERDICT_LABELS;
    if (r[RECORD_VERDICT] != VERDICT_BAD)
        return;
    r[RECORD_BAD_CHECK] = r[RECORD_CHECKS];
    r[RECORD_TENSOR] = (uint32_t)f->tensor;
    r[RECORD_INDEX_LO] = (uint32_t)f->index;
    r[RECORD_INDEX_HI] = (uint32_t)(f->index >> 32);
    r[RECORD_IS_NAN] = f->nan;
    r[RECORD_INFS] = f->infs;
    r[RECORD_NANS] = f->nans;
    r[RECORD_TENSORS] = f->tensors;
}

/* Return 1 / scale times the factor of accumulation. The product is rounded
 * before it multiplies a gradient, as in the kernels. Without a block, that is
 * without a scaler, the scale is 1. */
static float check_factor(const struct view *block, float factor)
{
    const uint32_t *b = check_words(block);
    return b == NULL ? factor : AS_F32(b[SCALER_INVERSE]) * factor;
}

/* ---- a check in two ops: this rank's chunks, then all chunks ---- */

/* Check a chunk, elements from .. end of a contiguous view, and store its words
 * as partial i. */
static void check_chunk(const struct finding *f, const struct view *v,
                        int64_t from, int64_t end, const struct amp_parts *p,
                        size_t i)
{
    struct finding found = {.index = 0};
    struct check_counts c = {.exponent = 0x80000000u};
    struct norm_fold fold;
    uint32_t largest = 0;
    norm_fold_begin(&fold);
    for (int64_t k = from; k < end; k++) {
        uint32_t bits = load_bits(view_host(v), v->dtype, k);
        float x = bits_to_f32(bits, v->dtype);
        uint32_t magnitude = AS_U32(x) & 0x7fffffffu;
        bool nan;
        if (!check_good(bits, v->dtype, x, f->factor, &nan)) {
            check_note_bad(&found, 0, (uint64_t)(k - from), nan);
        } else {
            check_count(&c, magnitude, v->dtype);
            largest = magnitude > largest ? magnitude : largest;
        }
        if (f->norm)
            norm_fold_add(&fold, x * f->factor);
    }
    *parts_at(p, PART_INFS, i) = found.infs;
    *parts_at(p, PART_NANS, i) = found.nans;
    *parts_at(p, PART_FIRST, i) =
        found.infs + found.nans == 0
            ? PART_NONE
            : 2 * (uint32_t)found.index + (found.nan ? 1 : 0);
    *parts_at(p, PART_ZEROS, i) = (uint32_t)c.zeros;
    *parts_at(p, PART_SUBNORMALS, i) = (uint32_t)c.subnormals;
    *parts_at(p, PART_LARGEST, i) = largest;
    parts_put(p, PART_NORM, i, &fold);
}

static void check_chunks(const struct finding *f, const struct check_op *op,
                         const struct amp_parts *p)
{
    const struct view_list *list = op->op.list;
    size_t at = op->first;
    uint32_t tensor = 0;
    for (size_t i = 0; i < list->n; i++) {
        const struct view *v = &list->v[i];
        int64_t n = view_elements(v);
        tensor += i > 0 && !v->continues;
        for (int64_t from = 0; from < n; from += FOLD_CHUNK, at++) {
            int64_t left = n - from;
            *parts_at(p, PART_TENSOR, at) = tensor;
            check_chunk(f, v, from,
                        from + (left < FOLD_CHUNK ? left : FOLD_CHUNK), p, at);
        }
    }
}

static uint32_t check_add(uint32_t a, uint32_t b)
{
    return a + b < a ? UINT32_MAX : a + b;
}

/* Add the partials of a tensor to the results. f->tensors counts it if one of
 * them is bad. */
static void check_fold_tensor(struct finding *f, struct check_counts *c,
                              const struct amp_parts *p, size_t from,
                              size_t end)
{
    uint32_t largest = 0;
    bool bad = false;
    for (size_t i = from; i < end; i++) {
        uint32_t first = *parts_at(p, PART_FIRST, i);
        if (first != PART_NONE && f->infs + f->nans == 0) {
            f->tensor = *parts_at(p, PART_TENSOR, i);
            f->index = (uint64_t)(i - from) * FOLD_CHUNK + (first >> 1);
            f->nan = (first & 1) != 0;
        }
        bad = bad || first != PART_NONE;
        f->infs = check_add(f->infs, *parts_at(p, PART_INFS, i));
        f->nans = check_add(f->nans, *parts_at(p, PART_NANS, i));
        c->zeros += *parts_at(p, PART_ZEROS, i);
        c->subnormals += *parts_at(p, PART_SUBNORMALS, i);
        if (*parts_at(p, PART_LARGEST, i) > largest)
            largest = *parts_at(p, PART_LARGEST, i);
    }
    f->tensors += bad;
    if (largest > 0)
        c->exponent = magnitude_exponent(largest);
}

/* Combine all partials, tensor by tensor. The list is used only for sizes. */
static void check_fold(struct finding *f, const struct check_op *op,
                       const struct amp_parts *p, uint32_t *stats)
{
    const struct view_list *list = op->op.list;
    size_t at = 0, tensor = 0;
    for (size_t i = 0; i < list->n; tensor++) {
        struct check_counts c = {.exponent = 0x80000000u};
        size_t from = at;
        do
            at += parts_chunks(&list->v[i++]);
        while (i < list->n && list->v[i].continues);
        check_fold_tensor(f, &c, p, from, at);
        if (stats != NULL)
            check_put_counts(stats + tensor * STAT_WORDS, &c);
    }
}

static ssq_status check_parts(struct finding *f, const struct check_op *op)
{
    const struct amp_parts p = parts_of(&op->parts, PART_WORDS);
    uint32_t *record = check_words(&op->record);
    if (record == NULL) {
        check_chunks(f, op, &p);
        return SSQ_OK;
    }
    check_fold(f, op, &p, check_words(&op->stats));
    check_put_record(record, f, check_words(&op->labels));
    if (f->norm)
        record[RECORD_NORM] = AS_U32(parts_norm(&p, PART_NORM, 0, p.n));
    return SSQ_OK;
}

/* ---- check ---- */

/* Run a check. control belongs to an optimizer, and says whether a norm is
 * wanted. A check of a scaler alone has no control and computes no norm. stats
 * has a row of words for each tensor, not for each view. */
static ssq_status reference_check_run(struct backend_queue *queue,
                                      const struct check_op *op)
{
    (void)queue;
    const uint32_t *control = check_words(&op->control);
    uint32_t *record = check_words(&op->record),
             *stats = check_words(&op->stats);
    struct finding f = {.factor = check_factor(&op->block, op->factor),
                        .norm =
                            control != NULL && control[CONTROL_WANT_NORM] != 0};
    if (op->parts.buffer != NULL)
        return check_parts(&f, op);
    norm_fold_begin(&f.fold);
    for (size_t i = 0, tensor = 0; i < op->op.list->n; tensor++) {
        struct check_counts c = {.exponent = 0x80000000u};
        i = check_tensor(&f, op->op.list, i, tensor, &c);
        if (stats != NULL)
            check_put_counts(stats + tensor * STAT_WORDS, &c);
    }
    check_put_record(record, &f, check_words(&op->labels));
    if (f.norm) {
        float total[3];
        norm_fold_end(&f.fold, total);
        record[RECORD_NORM] = AS_U32(norm_root(total[0], total[1], total[2]));
    }
    return SSQ_OK;
}

/* Multiply gradients by the factor. The list has n gradients, then n outs. An
 * out may be the same view as its gradient: both are walked together, and an
 * element is loaded before its position is written. */
static ssq_status reference_unscale_run(struct backend_queue *queue,
                                        const struct unscale_op *op)
{
    (void)queue;
    float factor = check_factor(&op->block, op->factor);
    for (uint32_t i = 0; i < op->n; i++) {
        const struct view *g = &op->op.list->v[i];
        const struct view *y = &op->op.list->v[op->n + i];
        const struct view *views[] = {g, y};
        struct walk w;
        if (view_elements(g) == 0)
            continue;
        walk_begin(&w, views, 2);
        do {
            float x = load_f32(view_host(g), g->dtype, w.at[0]);
            store_f32(view_host(y), y->dtype, w.at[1],
                      gradient_unscale(x, factor));
        } while (walk_next(&w));
    }
    return SSQ_OK;
}

/* Add gradients to their sums. Sums are float32 for every dtype of gradients,
 * because a 16-bit sum would lose many small terms. The first gradient
 * overwrites its sum, which saves a launch that fills it with zeros. In mode
 * ACCUMULATE_ZERO gradients are set to 0, and the list has no sums. All views
 * are contiguous, so element k is at offset k. */
static ssq_status reference_accumulate_run(struct backend_queue *queue,
                                           const struct accumulate_op *op)
{
    (void)queue;
    for (uint32_t i = 0; i < op->n; i++) {
        const struct view *g = &op->op.list->v[i];
        int64_t n = view_elements(g);
        if (op->mode == ACCUMULATE_ZERO) {
            for (int64_t k = 0; k < n; k++)
                store_bits(view_host(g), g->dtype, k, 0);
            continue;
        }
        float *sum = view_host(&op->op.list->v[op->n + i]);
        for (int64_t k = 0; k < n; k++) {
            float x = load_f32(view_host(g), g->dtype, k);
            sum[k] =
                op->mode == ACCUMULATE_FIRST ? x : accumulate_add(sum[k], x);
        }
    }
    return SSQ_OK;
}

/* Copy between models and masters. The list has pairs, from and to. A copy from
 * the model to a master is exact. A copy to the model rounds to nearest. */
static ssq_status reference_master_run(struct backend_queue *queue,
                                       const struct master_op *op)
{
    (void)queue;
    for (uint32_t i = 0; i < op->n; i++) {
        const struct view *from = &op->op.list->v[2 * (size_t)i];
        const struct view *to = &op->op.list->v[2 * (size_t)i + 1];
        int64_t n = view_elements(to);
        for (int64_t k = 0; k < n; k++) {
            uint32_t bits = 0; /* a remainder: 0, because the model is the exact
                                  value */
            if (to->dtype != SSQ_U8)
                bits = convert_bits(load_bits(view_host(from), from->dtype, k),
                                    from->dtype, to->dtype, ROUND_NEAREST, 0);
            store_bits(view_host(to), to->dtype, k, bits);
        }
    }
    return SSQ_OK;
}

REFERENCE_IMPL(check);
REFERENCE_IMPL(unscale);
REFERENCE_IMPL(accumulate);
REFERENCE_IMPL(master);
