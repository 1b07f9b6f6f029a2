/* SPDX-License-Identifier: Apache-2.0 */
/* window.c - split ops along the dimensions that their operands share.
 *
 * A kernel sees at most binding_bytes of an operand, from a start that is
 * aligned to ALIGNMENT, and fewer than 2^31 elements. If an op walks its
 * operands together, it can run in windows. A window is a range of slices of
 * the outermost dimension. If one slice is still too large, the slice is split
 * further.
 *
 * If elements need not come in order, dimensions are sliced in the order that
 * makes the fewest windows. For example, each row of a transposed matrix spans
 * nearly the whole matrix, but each column does not. */
#include "lib/core/queue/window.h"

#include <string.h>

/* Bytes. A binding may have to start at a multiple of this, at or below the
 * operand's own start. The bytes between both starts count against the limit,
 * too. */
#define ALIGNMENT 256u

/* Most views of an op that is split: the gradients of attention have them. */
#define MOST_VIEWS 11

/* For each op, a bit for every operand that is sliced. 0: the op cannot be
 * split; BY_PLAN: it is not split here. Operands without a bit are passed whole
 * to every window. */
static const unsigned short walked[OP_COUNT] = {
#define X(NAME, WALKED, ...) [OP_##NAME] = WALKED,
    SSQ_OPS(X)
#undef X
};

/* True for ops that use a random number for each element. op->first counts them
 * over the whole call, so windows stay in row-major order. */
static bool is_numbered(enum op_id id)
{
    return id == OP_random || id == OP_dropout || id == OP_cast;
}

/* Transfers are not launches: no kernel binds their operand. */
static bool is_launch(const struct op *op)
{
    return op->id != OP_upload && op->id != OP_download;
}

bool window_view_fits(const struct view *v, uint64_t limit)
{
    uint64_t bytes = v->offset % ALIGNMENT;
    return v->buffer == NULL ||
           (size_add(bytes, view_span(v), &bytes) && bytes <= limit &&
            view_elements(v) <= WINDOW_ELEMENTS);
}

bool window_fits(const struct op *op, uint64_t binding_bytes)
{
    const struct view *v = op_views_const(op);
    if (!is_launch(op))
        return true;
    for (uint32_t i = 0; i < op->nviews; i++)
        if (!window_view_fits(&v[i], binding_bytes))
            return false;
    for (size_t i = 0; op->list != NULL && i < op->list->n; i++)
        if (!window_view_fits(&op->list->v[i], binding_bytes))
            return false;
    return true;
}

/* Refuse operand i; the text has its size and the limits. */
static ssq_status too_large(const struct op *op, const struct view *v, size_t i,
                            uint64_t limit)
{
    char t[160];
    return error_set(SSQ_ERR_UNSUPPORTED,
                     "%s: operand %zu, %s %s, spans %llu bytes and %lld "
                     "elements; a launch takes %llu bytes and %lld elements, "
                     "and this op is not split further",
                     op_name(op->id), i, ssq_dtype_name(v->dtype),
                     view_text(v, t, sizeof(t)),
                     (unsigned long long)view_span(v),
                     (long long)view_elements(v), (unsigned long long)limit,
                     (long long)WINDOW_ELEMENTS);
}

bool window_by_plan(const struct op *op)
{
    return op->id < OP_COUNT && walked[op->id] == BY_PLAN;
}

/* The caller knows that an operand does not fit, so the loop over the list
 * ends. */
ssq_status window_refuse(const struct op *op, uint64_t limit)
{
    const struct view *v = op_views_const(op);
    for (uint32_t i = 0; i < op->nviews; i++)
        if (!window_view_fits(&v[i], limit))
            return too_large(op, &v[i], i, limit);
    size_t i = 0;
    while (window_view_fits(&op->list->v[i], limit))
        i++;
    return too_large(op, &op->list->v[i], op->nviews + i, limit);
}

/* Values that do not change in the recursion of window_split(). */
struct split {
    struct window_cut cut;
    uint64_t limit; /* most bytes of an operand that a launch binds */
    window_fn each;
    void *user;
    int n;                   /* dimensions that may be sliced */
    int order[SSQ_MAX_RANK]; /* these dimensions, in the order of slicing */
};

static bool is_walked(const struct split *s, const struct op *op, uint32_t i)
{
    return (s->cut.walked >> i & 1u) != 0 &&
           op_views_const(op)[i].buffer != NULL;
}

/* Return how many leading dimensions all walked operands share. For example,
 * the operands of a sum have more dimensions than its result. */
static int shared_rank(const struct split *s, const struct op *op)
{
    int rank = SSQ_MAX_RANK;
    const struct view *v = op_views_const(op);
    for (uint32_t i = 0; i < op->nviews; i++)
        if (is_walked(s, op, i) && v[i].rank < rank)
            rank = v[i].rank;
    return rank;
}

/* Return the elements of the result in one slice of dimension from - 1. This is
 * the product of the shared dimensions after it that may be cut. It is the same
 * for every walked operand. op->first counts these elements. */
static int64_t result_elements(const struct split *s, const struct op *op,
                               int from)
{
    int64_t n = 1;
    const struct view *v = op_views_const(op);
    uint32_t i = 0;
    while (!is_walked(s, op, i))
        i++;
    for (int d = from; d < shared_rank(s, op); d++)
        if ((s->cut.dims >> d & 1u) != 0)
            n *= v[i].shape[d];
    return n;
}

/* Return how many slices of dimension d of operand v fit into one launch. Both
 * the elements and the bytes from the first slice to the end of the last are
 * limited. 0: not even one slice fits, so another dimension must be split, too.
 */
static int64_t window_slices(const struct view *v, int d, uint64_t limit)
{
    struct view one = *v;
    one.shape[d] = 1;
    if (!window_view_fits(&one, limit))
        return 0;
    int64_t elements = view_elements(&one);
    if (elements == 0)
        return v->shape[d];
    int64_t n = WINDOW_ELEMENTS / elements;
    uint64_t step = (uint64_t)v->stride[d] * dtype_bytes(v->dtype);
    uint64_t room = limit - v->offset % ALIGNMENT - view_span(&one);
    if (step > 0 && room / step < (uint64_t)n - 1)
        n = (int64_t)(room / step) + 1;
    return n;
}

/* Return how many slices fit for all operands, rounded down so that windows
 * keep their alignment. */
static int64_t slices_of_all(const struct split *s, const struct op *op, int d)
{
    int64_t n = INT64_MAX;
    const struct view *v = op_views_const(op);
    for (uint32_t i = 0; i < op->nviews; i++) {
        if (!is_walked(s, op, i))
            continue;
        int64_t m = window_slices(&v[i], d, s->limit);
        n = m < n ? m : n;
    }
    return n < ALIGNMENT ? n : n - n % ALIGNMENT;
}

/* Keep the n slices of dimension d that begin with slice start. */
static void slice(const struct split *s, struct op *op, int d, int64_t start,
                  int64_t n)
{
    struct view *v = op_views(op);
    for (uint32_t i = 0; i < op->nviews; i++) {
        if (!is_walked(s, op, i))
            continue;
        v[i].offset +=
            (uint64_t)(start * v[i].stride[d]) * dtype_bytes(v[i].dtype);
        v[i].shape[d] = n;
    }
}

static uint64_t fewest(const struct split *s, struct op *op, unsigned left,
                       int *order);

/* Return the number of windows if dimension d is sliced first. Sets rest to the
 * best order of the dimensions left after it. */
static uint64_t windows_of(const struct split *s, struct op *op, int d,
                           unsigned left, int *rest)
{
    uint32_t k = 0;
    while (!is_walked(s, op, k))
        k++;
    int64_t size = op_views(op)[k].shape[d], n = slices_of_all(s, op, d);
    slice(s, op, d, 0, 1);
    uint64_t each = fewest(s, op, left, rest), count;
    slice(s, op, d, 0, size);
    if (n > 0)
        return size_div_up((uint64_t)size, (uint64_t)n);
    return size_mul((uint64_t)size, each, &count) ? count : UINT64_MAX;
}

/* Set order to the order of slicing the dimensions left (a bit for each) that
 * makes the fewest windows, and return the number of windows. UINT64_MAX: there
 * are too many, or an element does not fit. With cut.in_order the order stays
 * row-major, and the number is UINT64_MAX. In a transposed matrix the columns
 * come first, because each row spans nearly the whole matrix. */
static uint64_t fewest(const struct split *s, struct op *op, unsigned left,
                       int *order)
{
    uint64_t best = UINT64_MAX;
    int rank = shared_rank(s, op), n = 0;
    for (int d = 0; d < rank; d++)
        if ((left >> d & 1u) != 0)
            order[n++] = d;
    if (s->cut.in_order)
        return best;
    for (int d = 0; d < rank; d++) {
        int rest[SSQ_MAX_RANK];
        if ((left >> d & 1u) == 0)
            continue;
        uint64_t count = windows_of(s, op, d, left & ~(1u << d), rest);
        if (count >= best)
            continue;
        best = count;
        order[0] = d;
        memcpy(order + 1, rest, (size_t)(n - 1) * sizeof(*rest));
    }
    return best;
}

/* Restore the views, and refuse their op. */
static ssq_status refuse_chunk(struct op *op, struct view *v,
                               const struct view *saved, const struct split *s)
{
    memcpy(v, saved, op->nviews * sizeof(*v));
    return window_refuse(op, s->limit);
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Reduce n slices of `row` places each to whole chunks, except at the end of
 * the dimension. A slice that ends within a chunk cannot be split further. 0
 * means that no chunk fits. */
static int64_t whole_chunks(const struct split *s, int64_t row, int64_t n,
                            bool end)
{
    if (s->cut.chunk == 0 || end)
        return n;
    return n - n % (s->cut.chunk / common_divisor(s->cut.chunk, row));
}

/* Split along the next dimension of the order, which is number `done`, in
 * windows of as many slices as fit. A slice that does not fit is split further.
 *
 * The number of slices is computed for every start. An odd start can move a
 * window's offset against the alignment, so that one slice less fits. The views
 * are restored after each window: the caller gets its op back unchanged. */
static ssq_status window_split(const struct split *s, struct op *op, int done)
{
    if (window_fits(op, s->limit))
        return s->each(s->user, op);
    if (done == s->n)
        return window_refuse(op, s->limit);
    int d = s->order[done];
    struct view saved[MOST_VIEWS], *v = op_views(op);
    uint64_t first = op->first;
    memcpy(saved, v, op->nviews * sizeof(*v));
    uint32_t k = 0;
    while (!is_walked(s, op, k))
        k++;
    int64_t size = v[k].shape[d], row = result_elements(s, op, d + 1);
    ssq_status st = SSQ_OK;
    for (int64_t start = 0, n; start < size && st == SSQ_OK; start += n) {
        slice(s, op, d, start, 1);
        n = size_least(slices_of_all(s, op, d), size - start);
        n = whole_chunks(s, row, n, start + n == size);
        if (n < 1 && s->cut.chunk != 0 && row % s->cut.chunk != 0)
            return refuse_chunk(op, v, saved, s);
        n = n < 1 ? 1 : n;
        slice(s, op, d, 0, n);
        op->first = first + (uint64_t)start * (uint64_t)row;
        st = window_split(s, op, done + 1);
        memcpy(v, saved, op->nviews * sizeof(*v));
    }
    op->first = first;
    return st;
}

ssq_status window_cuts(struct op *op, const struct window_cut *cut,
                       uint64_t binding_bytes, window_fn each, void *user)
{
    if (window_fits(op, binding_bytes))
        return each(user, op);
    struct split s = {*cut, binding_bytes, each, user, 0, {0}};
    int rank = shared_rank(&s, op);
    s.cut.dims &= (1u << rank) - 1u;
    for (int d = 0; d < rank; d++)
        s.n += (int)(s.cut.dims >> d & 1u);
    (void)fewest(&s, op, s.cut.dims, s.order);
    return window_split(&s, op, 0);
}

ssq_status window_each(struct op *op, uint64_t binding_bytes, window_fn each,
                       void *user)
{
    if (window_fits(op, binding_bytes))
        return each(user, op);
    if (walked[op->id] == 0 || walked[op->id] == BY_PLAN)
        return window_refuse(op, binding_bytes);
    const struct window_cut cut = {
        .walked = walked[op->id], .dims = ~0u, .in_order = is_numbered(op->id)};
    return window_cuts(op, &cut, binding_bytes, each, user);
}
