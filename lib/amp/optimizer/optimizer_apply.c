/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_apply.c - one step on parameters and moments of the program.
 *
 * It enqueues the two ops of an optimizer's step: tick, which computes the
 * words of the step, and the pass over all parameters. Their control block,
 * table and record are made for this call. Ops copy the words that only the
 * device knows: t, scale and found_inf. */
#include "lib/amp/optimizer/optimizer.h"

#include <sesqui/ops/data.h>
#include <sesqui/ops/elementwise.h>

#include <stdio.h>

static const char what[] = "optimizer_apply";

/* Most parameters, as of an optimizer: an i32 counts the words of a table. */
#define APPLY_MOST ((size_t)INT32_MAX / (PARAM_VIEWS * TABLE_WORDS))

struct apply {
    const ssq_optimizer_apply_args *args;
    uint32_t kind;
    ssq_optimizer_options options;
    unsigned slots;       /* moments of a parameter */
    unsigned slot[SLOTS]; /* which: SLOT_A or a following one */
    uint32_t groups;      /* of options: one for each t, or one */
    size_t pieces;
    /* owned */
    ssq_tensor *control, *record, *block, *table;
    struct view_list *step, *schedules;
};

static void apply_put(struct apply *x)
{
    ssq_tensor_destroy(&x->control);
    ssq_tensor_destroy(&x->record);
    ssq_tensor_destroy(&x->block);
    ssq_tensor_destroy(&x->table);
    if (x->step != NULL)
        object_put(&x->step->object);
    if (x->schedules != NULL)
        object_put(&x->schedules->object);
}

/* ---- arguments ---- */

static void apply_find_slots(struct apply *x)
{
    ssq_optimizer of = {.kind = x->kind};
    const ssq_group group = {.optimizer = &of, .options = x->options};
    for (int slot = SLOT_A; slot < SLOTS; slot++)
        if (slot_used(&group, slot))
            x->slot[x->slots++] = (unsigned)slot;
}

/* Options of a whole optimizer would be ignored. */
static ssq_status apply_check_options(struct apply *x)
{
    const ssq_optimizer_options *given = x->args->options;
    x->options = (ssq_optimizer_options)SSQ_OPTIMIZER_INIT;
    if (given != NULL && given->struct_size != sizeof(*given))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size of options is %zu, expected %zu",
                         what, given->struct_size, sizeof(*given));
    if (given != NULL)
        x->options = *given;
    if (x->options.clip_norm != 0.0 || x->options.flat_master ||
        x->options.statistics || x->options.master != SSQ_MASTER_F32)
        return error_set(SSQ_ERR_INVALID,
                         "%s: clip_norm, master, flat_master and statistics "
                         "are options of ssq_optimizer_create",
                         what);
    ssq_status st = options_resolve(x->kind, what, &x->options);
    if (st == SSQ_OK && optimizer_reads(x->kind, OPTION_LAMB))
        st = error_set(SSQ_ERR_UNSUPPORTED,
                       "%s: lamb: use ssq_optimizer_create", what);
    apply_find_slots(x);
    return st;
}

static ssq_status apply_check_tensor(const ssq_queue *queue,
                                     const ssq_tensor *t, const char *name,
                                     const ssq_tensor *param)
{
    ssq_status st = check_operand(queue, t, what, name);
    if (st == SSQ_OK && t != param)
        st = check_same_shape(param, "its parameter", t, name, what);
    if (st == SSQ_OK && !view_contiguous(&t->view))
        st = error_set(SSQ_ERR_INVALID, "%s: %s is not contiguous", what, name);
    return st;
}

static ssq_status apply_check_f32(const ssq_tensor *t, const char *name)
{
    return check_dtype(t, DTYPE_BIT(SSQ_F32), what, name);
}

/* Operand k of parameter i: itself, its gradient, its moments. */
static const ssq_tensor *operand_of(const struct apply *x, size_t i, unsigned k)
{
    const ssq_optimizer_apply_args *a = x->args;
    return k == 0   ? a->params[i]
           : k == 1 ? a->grads[i]
                    : a->moments[(k - 2) * a->n + i];
}

static void operand_name(const struct apply *x, size_t i, unsigned k,
                         char text[48])
{
    if (k < 2)
        snprintf(text, 48, "%s[%zu]", k == 0 ? "params" : "grads", i);
    else
        snprintf(text, 48, "moments[%zu]", (k - 2) * x->args->n + i);
}

static ssq_status apply_check_operands(const ssq_queue *queue,
                                       const struct apply *x)
{
    char name[48];
    for (size_t i = 0; i < x->args->n; i++)
        for (unsigned k = 0; k < 2 + x->slots; k++) {
            const ssq_tensor *t = operand_of(x, i, k);
            operand_name(x, i, k, name);
            ssq_status st =
                apply_check_tensor(queue, t, name, operand_of(x, i, 0));
            if (st == SSQ_OK && k != 1)
                st = apply_check_f32(t, name);
            else if (st == SSQ_OK)
                st = check_dtype(t, DTYPES_FLOAT, what, name);
            if (st != SSQ_OK)
                return st;
        }
    return SSQ_OK;
}

/* A number on the device. */
static ssq_status apply_check_scalar(const ssq_queue *queue,
                                     const ssq_tensor *t, const char *name)
{
    if (t == NULL)
        return SSQ_OK;
    ssq_status st = check_operand(queue, t, what, name);
    if (st == SSQ_OK)
        st = apply_check_f32(t, name);
    if (st == SSQ_OK && view_elements(&t->view) != 1)
        st = error_set(SSQ_ERR_INVALID, "%s: %s has %llu elements, expected 1",
                       what, name, (unsigned long long)view_elements(&t->view));
    return st;
}

static ssq_status apply_check_t(const ssq_queue *queue,
                                const ssq_optimizer_apply_args *a)
{
    for (size_t i = 0; i < a->n; i++) {
        char name[32];
        snprintf(name, sizeof(name), "t[%zu]", i);
        ssq_status st = a->t[i] == NULL
                            ? check_operand(queue, NULL, what, name)
                            : apply_check_scalar(queue, a->t[i], name);
        if (st != SSQ_OK)
            return st;
    }
    return SSQ_OK;
}

static ssq_status apply_check(const ssq_queue *queue, struct apply *x)
{
    const ssq_optimizer_apply_args *a = x->args;
    if (a->kind == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: kind is NULL", what);
    ssq_status st = optimizer_kind_of(a->kind, what, &x->kind);
    if (st == SSQ_OK)
        st = apply_check_options(x);
    if (st == SSQ_OK && a->n > 0 &&
        (a->params == NULL || a->grads == NULL ||
         (a->moments == NULL && x->slots > 0)))
        st = error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                       a->params == NULL  ? "params"
                       : a->grads == NULL ? "grads"
                                          : "moments");
    if (st == SSQ_OK && a->n > APPLY_MOST)
        st = error_set(SSQ_ERR_UNSUPPORTED,
                       "%s: %zu parameters, expected at most %zu", what, a->n,
                       APPLY_MOST);
    if (st == SSQ_OK)
        st = apply_check_operands(queue, x);
    x->groups = a->t == NULL ? 1 : (uint32_t)a->n;
    if (st == SSQ_OK && a->t != NULL)
        st = apply_check_t(queue, a);
    if (st == SSQ_OK)
        st = apply_check_scalar(queue, a->scale, "scale");
    return st == SSQ_OK ? apply_check_scalar(queue, a->found_inf, "found_inf")
                        : st;
}

/* ---- memory that overlaps ---- */

/* The bytes of a tensor. One tree has all tensors, another the written ones. */
struct apply_place {
    struct interval interval;
    size_t i;
    unsigned k;
};

static bool apply_overlap(void *user, struct interval *s)
{
    const struct apply_place **found = user;
    *found = (const struct apply_place *)s;
    return false;
}

/* Return a place of a tree that shares bytes with v; NULL: there is none.
 * Ranges are compared, as strides cannot interleave: all are contiguous. */
static const struct apply_place *apply_place_find(struct interval *tree,
                                                  const struct view *v)
{
    const struct byte_range r = view_bytes(v);
    const struct apply_place *found = NULL;
    (void)interval_overlapping(tree, r.space, r.from, r.to, apply_overlap,
                               &found);
    return found;
}

/* Refuse a number on the device that the call writes; NULL passes. */
static ssq_status apply_check_number(const struct apply *x,
                                     struct interval *written,
                                     const ssq_tensor *t, const char *name)
{
    const struct apply_place *other =
        t == NULL ? NULL : apply_place_find(written, &t->view);
    char text[48];
    if (other == NULL)
        return SSQ_OK;
    operand_name(x, other->i, other->k, text);
    return error_set(SSQ_ERR_INVALID, "%s: %s overlaps %s", what, name, text);
}

static ssq_status apply_check_numbers(const struct apply *x,
                                      struct interval *written)
{
    const ssq_optimizer_apply_args *a = x->args;
    ssq_status st = apply_check_number(x, written, a->scale, "scale");
    if (st == SSQ_OK)
        st = apply_check_number(x, written, a->found_inf, "found_inf");
    for (size_t i = 0; i < a->n && a->t != NULL && st == SSQ_OK; i++) {
        char name[32];
        snprintf(name, sizeof(name), "t[%zu]", i);
        st = apply_check_number(x, written, a->t[i], name);
    }
    return st;
}

/* All that is only read may overlap: gradients, scale, found_inf and t. */
static ssq_status apply_find_overlap(const struct apply *x,
                                     struct apply_place *places)
{
    struct interval *written = NULL, *all = NULL;
    const size_t operands = 2 + x->slots;
    for (size_t at = 0; at < x->args->n * operands; at++) {
        const size_t i = at / operands;
        const unsigned k = (unsigned)(at % operands);
        const struct view *v = &operand_of(x, i, k)->view;
        if (view_span(v) == 0)
            continue;
        const struct byte_range r = view_bytes(v);
        const struct apply_place *other =
            apply_place_find(k == 1 ? written : all, v);
        if (other != NULL) {
            char a[48], b[48];
            operand_name(x, i, k, a);
            operand_name(x, other->i, other->k, b);
            return error_set(SSQ_ERR_INVALID, "%s: %s overlaps %s", what, a, b);
        }
        for (int tree = 0; tree < (k == 1 ? 1 : 2); tree++) {
            struct apply_place *p = &places[2 * at + (size_t)tree];
            *p = (struct apply_place){.i = i, .k = k};
            p->interval.space = r.space;
            p->interval.from = r.from;
            p->interval.to = r.to;
            interval_add(tree == 0 ? &all : &written, &p->interval);
        }
    }
    return apply_check_numbers(x, written);
}

static ssq_status apply_check_apart(const struct apply *x)
{
    const size_t n = 2 * x->args->n * (2 + x->slots);
    struct apply_place *places = mem_alloc_array(n, sizeof(*places));
    if (places == NULL && n > 0)
        return error_nomem(what, n * sizeof(*places));
    ssq_status st = apply_find_overlap(x, places);
    mem_free(places);
    return st;
}

/* ---- words ---- */

static ssq_status words_upload(ssq_queue *queue, const uint32_t *words,
                               int64_t n, ssq_tensor **t)
{
    ssq_status st = tensor_create(ssq_queue_device(queue), SSQ_I32, 1, &n, t);
    return st == SSQ_OK ? upload_words(queue, *t, 0, words, (uint64_t)n) : st;
}

/* Return n words from `at` on, `step` apart, as a tensor. */
static ssq_status words_of(const ssq_tensor *words, uint32_t at, int64_t n,
                           int64_t step, ssq_dtype dtype, ssq_tensor **t)
{
    return ssq_tensor_from_buffer(words->view.buffer, dtype, 1, &n, &step,
                                  words->view.offset + at * sizeof(uint32_t),
                                  t);
}

static ssq_status word_of(const ssq_tensor *words, uint32_t at, ssq_dtype dtype,
                          ssq_tensor **word)
{
    return words_of(words, at, 1, 1, dtype, word);
}

/* Write t to the groups' words `to`. concat requires vectors, and t may have
 * any rank. */
static ssq_status apply_counts(ssq_queue *queue, const struct apply *x,
                               const ssq_tensor *to)
{
    const size_t n = x->args->n;
    const size_t bytes = sizeof(ssq_tensor) + sizeof(ssq_tensor *);
    ssq_tensor *vectors = mem_alloc_array(n, bytes);
    if (vectors == NULL)
        return error_nomem(what, n * bytes);
    const ssq_tensor **t = (const ssq_tensor **)(void *)(vectors + n);
    for (size_t i = 0; i < n; i++) {
        vectors[i].view = x->args->t[i]->view;
        vectors[i].view.rank = 1;
        vectors[i].view.shape[0] = vectors[i].view.stride[0] = 1;
        t[i] = &vectors[i];
    }
    ssq_status st = ssq_concat(queue, SSQ_CONCAT(.x = t, .n = n, .y = to));
    mem_free(vectors);
    return st;
}

/* If there are t, each parameter has its own group: a copy of the first group
 * with another number of steps. */
static ssq_status apply_groups(ssq_queue *queue, const struct apply *x)
{
    const int64_t n = (int64_t)x->args->n;
    struct view to = x->control->view;
    to.offset += (CONTROL_WORDS + GROUP_WORDS) * sizeof(uint32_t);
    to.rank = 2;
    to.shape[0] = n - 1;
    to.shape[1] = GROUP_WORDS;
    to.stride[0] = GROUP_WORDS;
    to.stride[1] = 1;
    struct view from = to;
    from.offset -= GROUP_WORDS * sizeof(uint32_t);
    from.stride[0] = 0;
    ssq_status st = n > 1 ? enqueue_copy(queue, &from, &to) : SSQ_OK;
    ssq_tensor *t = NULL;
    if (st == SSQ_OK)
        st = words_of(x->control, CONTROL_WORDS + GROUP_T, n, GROUP_WORDS,
                      SSQ_I32, &t);
    if (st == SSQ_OK)
        st = apply_counts(queue, x, t);
    ssq_tensor_destroy(&t);
    return st;
}

static ssq_status apply_control(ssq_queue *queue, struct apply *x)
{
    const int64_t n = CONTROL_WORDS + (int64_t)x->groups * GROUP_WORDS;
    uint32_t words[CONTROL_WORDS + GROUP_WORDS] = {
        [CONTROL_T] = x->args->t == NULL ? x->args->steps : 0,
        [CONTROL_MAGIC] = CONTROL_MAGIC_VALUE};
    group_words(x->kind, &x->options, words + CONTROL_WORDS);
    ssq_status st =
        tensor_create(ssq_queue_device(queue), SSQ_I32, 1, &n, &x->control);
    if (st == SSQ_OK)
        st = upload_words(queue, x->control, 0, words,
                          CONTROL_WORDS + GROUP_WORDS);
    return st == SSQ_OK && x->args->t != NULL ? apply_groups(queue, x) : st;
}

/* The verdict is bad if found_inf is not 0. */
static ssq_status apply_record(ssq_queue *queue, struct apply *x)
{
    const uint32_t words[RECORD_WORDS] = {0};
    const int64_t one = 1;
    ssq_tensor *found = NULL, *zero = NULL, *bad = NULL, *to = NULL;
    ssq_status st = words_upload(queue, words, RECORD_WORDS, &x->record);
    if (st != SSQ_OK || x->args->found_inf == NULL)
        return st;
    st = ssq_tensor_reshape(x->args->found_inf, 1, &one, &found);
    if (st == SSQ_OK)
        st = word_of(x->record, RECORD_NORM, SSQ_F32, &zero);
    if (st == SSQ_OK)
        st = word_of(x->record, RECORD_VERDICT, SSQ_I32, &to);
    if (st == SSQ_OK)
        st = tensor_create(ssq_queue_device(queue), SSQ_U8, 1, &one, &bad);
    if (st == SSQ_OK)
        st = ssq_ne(queue, SSQ_COMPARE(.a = found, .b = zero, .y = bad));
    if (st == SSQ_OK)
        st = ssq_cast(queue, SSQ_CAST(.x = bad, .y = to));
    ssq_tensor_destroy(&bad);
    ssq_tensor_destroy(&to);
    ssq_tensor_destroy(&zero);
    ssq_tensor_destroy(&found);
    return st;
}

/* As of a scaler: the gradients are multiplied by the inverse of its scale. */
static ssq_status apply_block(ssq_queue *queue, struct apply *x)
{
    const uint32_t words[SCALER_WORDS] = {
        [SCALER_INVERSE] = AS_U32(1.0f), [SCALER_MAGIC] = SCALER_MAGIC_VALUE};
    const int64_t one = 1;
    ssq_tensor *scale = NULL, *to = NULL;
    ssq_status st = words_upload(queue, words, SCALER_WORDS, &x->block);
    if (st != SSQ_OK || x->args->scale == NULL)
        return st;
    st = ssq_tensor_reshape(x->args->scale, 1, &one, &scale);
    if (st == SSQ_OK)
        st = word_of(x->block, SCALER_INVERSE, SSQ_F32, &to);
    if (st == SSQ_OK)
        st = ssq_reciprocal(queue, SSQ_UNARY(.x = scale, .y = to));
    ssq_tensor_destroy(&to);
    ssq_tensor_destroy(&scale);
    return st;
}

/* All parameters are their own masters. */
static ssq_status apply_table(ssq_queue *queue, struct apply *x)
{
    const size_t n = x->args->n * TABLE_WORDS;
    uint32_t *words = mem_alloc_array(n, sizeof(*words));
    if (words == NULL)
        return error_nomem(what, n * sizeof(*words));
    for (size_t i = 0; x->groups > 1 && i < x->args->n; i++)
        words[i * TABLE_WORDS + TABLE_GROUP] = (uint32_t)i;
    ssq_status st = words_upload(queue, words, (int64_t)n, &x->table);
    mem_free(words);
    return st;
}

/* ---- lists ---- */

static ssq_status apply_lists(struct apply *x)
{
    ssq_device *device = x->args->params[0]->view.buffer->device;
    const size_t n = x->args->n;
    for (size_t i = 0; i < n; i++)
        x->pieces += cut_of(device, &x->args->params[i]->view).pieces;
    x->step = list_create(x->pieces * PARAM_VIEWS, what);
    x->schedules = list_create(2 * (size_t)x->groups, what);
    if (x->step == NULL || x->schedules == NULL)
        return SSQ_ERR_NOMEM;
    for (size_t i = 0, at = 0; i < n; i++) {
        const struct cut cut = cut_of(device, &x->args->params[i]->view);
        for (size_t p = 0; p < cut.pieces; p++, at += PARAM_VIEWS)
            for (unsigned k = 0; k < 2 + x->slots; k++) {
                struct view piece =
                    cut_piece(&cut, &operand_of(x, i, k)->view, p);
                list_set(x->step, at + (k < 2 ? k : 2 + x->slot[k - 2]), &piece,
                         k == 1 ? ACCESS_READ : ACCESS_UPDATE);
            }
    }
    return SSQ_OK;
}

/* ---- the step ---- */

static ssq_status apply_step(ssq_queue *queue, const struct apply *x)
{
    struct tick_op tick = {.op = OP_HEADER(tick, record),
                           .kind = x->kind,
                           .groups = x->groups,
                           .factor = 1.0f,
                           .record = tensor_view(x->record, ACCESS_READ),
                           .block = tensor_view(x->block, ACCESS_READ),
                           .control = tensor_view(x->control, ACCESS_UPDATE)};
    tick.op.list = x->schedules;
    ssq_status st = queue_enqueue(queue, &tick.op);
    if (st != SSQ_OK)
        return st;
    struct optimizer_op pass = {.op = OP_HEADER(optimizer, control),
                                .kind = x->kind,
                                .n = (uint32_t)x->pieces,
                                .control =
                                    tensor_view(x->control, ACCESS_UPDATE),
                                .table = tensor_view(x->table, ACCESS_READ)};
    pass.op.list = x->step;
    return queue_enqueue(queue, &pass.op);
}

/* Only the last op writes the caller's tensors. If something fails before it,
 * nothing has changed. */
ssq_status ssq_optimizer_apply(ssq_queue *queue,
                               const ssq_optimizer_apply_args *args)
{
    struct apply x = {.args = args};
    ssq_status st = CHECK_CALL(queue, args, what);
    if (st == SSQ_OK)
        st = apply_check(queue, &x);
    if (st == SSQ_OK)
        st = apply_check_apart(&x);
    if (st != SSQ_OK || args->n == 0)
        return st;
    st = apply_lists(&x);
    if (st == SSQ_OK)
        st = queue_bundle_begin(queue);
    if (st == SSQ_OK) {
        st = apply_control(queue, &x);
        if (st == SSQ_OK)
            st = apply_record(queue, &x);
        if (st == SSQ_OK)
            st = apply_block(queue, &x);
        if (st == SSQ_OK)
            st = apply_table(queue, &x);
        if (st == SSQ_OK)
            st = apply_step(queue, &x);
        st = queue_bundle_end(queue, st);
    }
    apply_put(&x);
    return st;
}
