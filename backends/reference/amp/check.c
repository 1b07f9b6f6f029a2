/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - reference: check, unscale, accumulate, master. What a check counts
 * is independent of any order; the norm and the first bad element are not, so
 * the list is walked from its begin to its end, each view in row-major order,
 * as the kernels number elements. */
#include "lib/amp/optimizer.h"

#include "backends/reference/amp/parts.h"
#include "backends/reference/reduce/fold.h"
#include "backends/reference/reference.h"
#include "kernels/amp/grad_args.h"
#include "kernels/dialect/convert.h"

/* The words of an i32 view as the kernels see them, unsigned; NULL where the
 * view is absent. */
static uint32_t *words_of(const struct view *v)
{
    return view_host(v);
}

/* By the bits as they are stored: nothing is computed from a number that is
 * looked at, and so no mode of the processor decides about it. */
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

/* The least positive normal number of a dtype, as float32: 2^-14 of f16, 2^-126
 * of bf16 and float32, which have the same exponents. */
static uint32_t least_normal(ssq_dtype dtype)
{
    return dtype == SSQ_F16 ? 0x38800000u : 0x00800000u;
}

/* What one check finds. */
struct finding {
    uint32_t infs, nans, tensors;
    size_t tensor; /* of the first bad element */
    uint64_t index;
    bool nan;
    bool norm; /* fold the norm too */
    float factor;
    struct norm_fold fold;
};

/* The statistics of one tensor, over all its views. Non-finite elements are
 * counted in none of them. */
struct counts {
    uint64_t zeros, subnormals;
    uint32_t exponent; /* 0x80000000: none yet */
};

/* magnitude is the element as float32 without its sign: a 16-bit float is exact
 * there, but it has to be called subnormal by its own dtype's least normal
 * number. Exponents are compared as signed numbers, as those below 2^0 are
 * negative. */
static void count(struct counts *c, uint32_t magnitude, ssq_dtype dtype)
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

/* What was rounded away is counted by the step that follows the check: until
 * then it is 0. */
static void put_counts(uint32_t *w, const struct counts *c)
{
    w[STAT_ZEROS_LO] = (uint32_t)c->zeros;
    w[STAT_ZEROS_HI] = (uint32_t)(c->zeros >> 32);
    w[STAT_SUBNORMALS_LO] = (uint32_t)c->subnormals;
    w[STAT_SUBNORMALS_HI] = (uint32_t)(c->subnormals >> 32);
    w[STAT_EXPONENT] = c->exponent;
    w[STAT_ROUNDED_LO] = w[STAT_ROUNDED_HI] = 0;
}

/* Of the first bad element the place is kept, of all of them the number. The
 * counts stop at the largest u32 and do not begin anew, so that a sum above 0
 * still says that there was one. */
static void note_bad(struct finding *f, size_t tensor, uint64_t index, bool nan)
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

/* Are the bits finite, and will they be when a step applies them, times factor?
 * Of a scale below 2^-127 the factor is inf. *nan: which of both it is. */
static bool good(uint32_t bits, ssq_dtype dtype, float x, float factor,
                 bool *nan)
{
    uint32_t applied = AS_U32(x * factor);
    bool finite = bits_finite(bits, dtype);
    *nan = is_nan_bits(finite ? applied : AS_U32(x));
    return finite && is_finite_bits(applied);
}

/* A gradient, or a piece of it that begins at element *index: is it bad? The
 * bits are judged as they were loaded, still scaled. The norm is that of true
 * gradients, so each element is multiplied by the factor before it is squared:
 * a norm of the scaled ones, divided afterwards, would have other roundings. */
static bool look(struct finding *f, const struct view *v, size_t tensor,
                 struct counts *c, uint64_t *index)
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
        if (!good(bits, v->dtype, x, f->factor, &nan)) {
            note_bad(f, tensor, *index, nan);
            bad = true;
        } else {
            count(c, AS_U32(x) & 0x7fffffffu, v->dtype);
        }
        if (f->norm)
            norm_fold_add(&f->fold, x * f->factor);
        ++*index;
    } while (walk_next(&w));
    return bad;
}

/* All views of the gradient that begins with view i; returns the next one. Its
 * pieces are one tensor to the caller: elements are numbered through, and it
 * counts once among the bad. The fold goes on over them, as they are whole
 * chunks, and is broken between tensors, each of which begins a new chunk
 * (kernels/reduce/norm.h). */
static size_t look_whole(struct finding *f, const struct view_list *list,
                         size_t i, size_t tensor, struct counts *c)
{
    uint64_t index = 0;
    bool bad = false;
    do {
        bad = look(f, &list->v[i++], tensor, c, &index) || bad;
    } while (i < list->n && list->v[i].continues);
    f->tensors += bad;
    if (f->norm)
        norm_fold_break(&f->fold);
    return i;
}

/* Gradients of labels out of range are not looked into: they say nothing of the
 * scale. A clean check leaves the words of the last bad one, so that a caller
 * may ask later what went wrong. RECORD_BAD_CHECK tells which check these
 * belong to. */
static void put_record(uint32_t *r, const struct finding *f,
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

/* 1 / scale, times the factor of accumulation: the product is rounded before
 * any gradient sees it, as the kernels do. Without a block, that is without a
 * scaler, the scale is 1. */
static float true_factor(const struct view *block, float factor)
{
    const uint32_t *b = words_of(block);
    return b == NULL ? factor : AS_F32(b[SCALER_INVERSE]) * factor;
}

/* ---- in two ops: this rank's chunks, then those of all ---- */

/* A chunk's words: elements from .. end of a contiguous view. */
static void look_chunk(const struct finding *f, const struct view *v,
                       int64_t from, int64_t end, const struct parts *p,
                       size_t i)
{
    struct finding found = {.index = 0};
    struct counts c = {.exponent = 0x80000000u};
    struct norm_fold fold;
    uint32_t largest = 0;
    norm_fold_begin(&fold);
    for (int64_t k = from; k < end; k++) {
        uint32_t bits = load_bits(view_host(v), v->dtype, k);
        float x = bits_to_f32(bits, v->dtype);
        uint32_t magnitude = AS_U32(x) & 0x7fffffffu;
        bool nan;
        if (!good(bits, v->dtype, x, f->factor, &nan)) {
            note_bad(&found, 0, (uint64_t)(k - from), nan);
        } else {
            count(&c, magnitude, v->dtype);
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

static void look_parts(const struct finding *f, const struct check_op *op,
                       const struct parts *p)
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
            look_chunk(f, v, from,
                       from + (left < FOLD_CHUNK ? left : FOLD_CHUNK), p, at);
        }
    }
}

static uint32_t add_most(uint32_t a, uint32_t b)
{
    return a + b < a ? UINT32_MAX : a + b;
}

/* The partials of a tensor. */
static void fold_tensor(struct finding *f, struct counts *c,
                        const struct parts *p, size_t from, size_t end)
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
        f->infs = add_most(f->infs, *parts_at(p, PART_INFS, i));
        f->nans = add_most(f->nans, *parts_at(p, PART_NANS, i));
        c->zeros += *parts_at(p, PART_ZEROS, i);
        c->subnormals += *parts_at(p, PART_SUBNORMALS, i);
        if (*parts_at(p, PART_LARGEST, i) > largest)
            largest = *parts_at(p, PART_LARGEST, i);
    }
    f->tensors += bad;
    if (largest > 0)
        c->exponent = magnitude_exponent(largest);
}

/* All partials, tensor by tensor. */
static void fold_parts(struct finding *f, const struct check_op *op,
                       const struct parts *p, uint32_t *stats)
{
    const struct view_list *list = op->op.list;
    size_t at = 0, tensor = 0;
    for (size_t i = 0; i < list->n; tensor++) {
        struct counts c = {.exponent = 0x80000000u};
        size_t from = at;
        do
            at += parts_chunks(&list->v[i++]);
        while (i < list->n && list->v[i].continues);
        fold_tensor(f, &c, p, from, at);
        if (stats != NULL)
            put_counts(stats + tensor * STAT_WORDS, &c);
    }
}

static ssq_status check_parts(struct finding *f, const struct check_op *op)
{
    const struct parts p = parts_of(&op->parts, PART_WORDS);
    uint32_t *record = words_of(&op->record);
    if (record == NULL) {
        look_parts(f, op, &p);
        return SSQ_OK;
    }
    fold_parts(f, op, &p, words_of(&op->stats));
    put_record(record, f, words_of(&op->labels));
    if (f->norm)
        record[RECORD_NORM] = AS_U32(parts_norm(&p, PART_NORM, 0, p.n));
    return SSQ_OK;
}

/* ---- check ---- */

/* control belongs to an optimizer, and says whether a norm is wanted; a
 * scaler's own check has none and measures none. stats has a row of words for
 * each tensor, not for each view. */
static ssq_status check(struct backend_queue *queue, const struct check_op *op)
{
    (void)queue;
    const uint32_t *control = words_of(&op->control);
    uint32_t *record = words_of(&op->record), *stats = words_of(&op->stats);
    struct finding f = {.factor = true_factor(&op->block, op->factor),
                        .norm =
                            control != NULL && control[CONTROL_WANT_NORM] != 0};
    if (op->parts.buffer != NULL)
        return check_parts(&f, op);
    norm_fold_begin(&f.fold);
    for (size_t i = 0, tensor = 0; i < op->op.list->n; tensor++) {
        struct counts c = {.exponent = 0x80000000u};
        i = look_whole(&f, op->op.list, i, tensor, &c);
        if (stats != NULL)
            put_counts(stats + tensor * STAT_WORDS, &c);
    }
    put_record(record, &f, words_of(&op->labels));
    if (f.norm) {
        float total[3];
        norm_fold_end(&f.fold, total);
        record[RECORD_NORM] = AS_U32(norm_root(total[0], total[1], total[2]));
    }
    return SSQ_OK;
}

/* The list has n gradients, then n outs. An out may be its own gradient: both
 * are walked at once, and an element is loaded before its place is stored
 * to. */
static ssq_status unscale(struct backend_queue *queue,
                          const struct unscale_op *op)
{
    (void)queue;
    float factor = true_factor(&op->block, op->factor);
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

/* Sums are float32 whatever the gradients are, as a sum of many small terms
 * would lose them in 16 bits. The first gradient overwrites its sum, which
 * saves a launch of zeros. To zero gradients the list has no sums. All are
 * contiguous, so that element k is at place k. */
static ssq_status accumulate(struct backend_queue *queue,
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

/* The list has pairs, from and to. Both directions are one op: from the model
 * to a master the conversion is exact, and back to the model it rounds to
 * nearest. */
static ssq_status master(struct backend_queue *queue,
                         const struct master_op *op)
{
    (void)queue;
    for (uint32_t i = 0; i < op->n; i++) {
        const struct view *from = &op->op.list->v[2 * (size_t)i];
        const struct view *to = &op->op.list->v[2 * (size_t)i + 1];
        int64_t n = view_elements(to);
        for (int64_t k = 0; k < n; k++) {
            uint32_t bits = 0; /* a remainder: the model is exact */
            if (to->dtype != SSQ_U8)
                bits = convert_bits(load_bits(view_host(from), from->dtype, k),
                                    from->dtype, to->dtype, ROUND_NEAREST, 0);
            store_bits(view_host(to), to->dtype, k, bits);
        }
    }
    return SSQ_OK;
}

REFERENCE_IMPL(check, check);
REFERENCE_IMPL(unscale, unscale);
REFERENCE_IMPL(accumulate, accumulate);
REFERENCE_IMPL(master, master);
