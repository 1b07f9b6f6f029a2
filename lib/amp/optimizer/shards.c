/* SPDX-License-Identifier: Apache-2.0 */
/* shards.c - the part of an optimizer on each rank, and what ranks exchange for
 * a step. */
#include "lib/amp/optimizer/shards.h"

#include "kernels/amp/grad_args.h"
#include "kernels/reduce/norm.h"
#include "lib/op/list.h"
#include "lib/amp/optimizer/optimizer.h"
#include "lib/comm/parts.h"
#include "lib/core/core.h"

/* ---- the elements of each rank ---- */

static int64_t shards_elements(const ssq_optimizer *o, size_t i)
{
    return view_elements(&o->params[i].param->view);
}

static int64_t *bounds_of(const struct shards *s, size_t i)
{
    return s->bounds + i * (ssq_comm_size(s->comm) + (size_t)1);
}

int64_t shard_from(const struct state *s, size_t i)
{
    return s->shards == NULL
               ? 0
               : bounds_of(s->shards, i)[ssq_comm_rank(s->shards->comm)];
}

int64_t shard_count(const ssq_optimizer *o, const struct state *s, size_t i)
{
    if (s->shards == NULL)
        return shards_elements(o, i);
    const int64_t *b = bounds_of(s->shards, i);
    unsigned rank = ssq_comm_rank(s->shards->comm);
    return b[rank + 1] - b[rank];
}

struct view shard_view(const ssq_optimizer *o, const struct state *s, size_t i,
                       const struct view *v)
{
    struct view part = *v;
    int64_t all = shards_elements(o, i), n = shard_count(o, s, i);
    if (n == all)
        return part;
    int64_t each = view_elements(v) / all;
    part.offset += (uint64_t)(shard_from(s, i) * each) * dtype_bytes(v->dtype);
    part.rank = 1;
    part.shape[0] = n * each;
    part.stride[0] = 1;
    return part;
}

/* ---- dividing ---- */

/* The chunks of rank r begin with the first chunk that has at least as many
 * elements before it as r of `size` equal parts have. */
struct dividing {
    struct shards *s;
    unsigned size, rank; /* rank: the one that gets chunks at present */
    int64_t before;      /* elements of all chunks so far */
    uint32_t chunk;
};

static void begin_runs(struct dividing *d, unsigned end)
{
    while (d->rank < end) {
        d->rank++;
        for (size_t word = 0; word < PART_WORDS; word++)
            d->s->row_bounds[word * (d->size + (size_t)1) + d->rank] = d->chunk;
    }
}

/* Return the lowest rank to which a chunk after this many elements can belong.
 */
static unsigned run_of(const struct dividing *d)
{
    unsigned r = d->rank;
    while (r + 1 < d->size &&
           d->before * d->size >= d->s->all * (r + (int64_t)1))
        r++;
    return r;
}

static void divide_param(struct dividing *d, int64_t n, int64_t *bounds)
{
    unsigned began = 0;
    for (int64_t at = 0; at < n; at += FOLD_CHUNK, d->chunk++) {
        begin_runs(d, run_of(d));
        while (began < d->rank)
            bounds[++began] = at;
        d->before += size_least(FOLD_CHUNK, n - at);
    }
    while (began < d->size)
        bounds[++began] = n;
}

static void shards_divide(const ssq_optimizer *o, struct shards *s)
{
    struct dividing d = {.s = s, .size = ssq_comm_size(s->comm)};
    unsigned rank = ssq_comm_rank(s->comm);
    for (size_t i = 0; i < o->n; i++)
        s->all += shards_elements(o, i);
    for (size_t i = 0; i < o->n; i++)
        divide_param(&d, shards_elements(o, i), bounds_of(s, i));
    s->chunks = d.chunk;
    begin_runs(&d, d.size);
    s->first = (uint32_t)s->row_bounds[rank];
    for (size_t i = 0; i < o->n; i++)
        s->own += bounds_of(s, i)[rank + 1] - bounds_of(s, i)[rank];
}

/* ---- making ---- */

static void shards_put_rows(ssq_tensor **rows, size_t n)
{
    for (size_t i = 0; rows != NULL && i < n; i++)
        ssq_tensor_destroy(&rows[i]);
    mem_free(rows);
}

void shards_free(struct shards *s)
{
    if (s == NULL)
        return;
    shards_put_rows(s->part_rows, PART_WORDS);
    shards_put_rows(s->norm_rows, LAMB_PART_WORDS);
    ssq_tensor_destroy(&s->parts);
    ssq_tensor_destroy(&s->norms);
    if (s->sizes != NULL)
        object_put(&s->sizes->object);
    mem_free(s->params);
    mem_free(s->bounds);
    mem_free(s->row_bounds);
    mem_free(s);
}

/* Filled with zeros: ranks exchange all words, also those never written. */
static ssq_status shards_make_rows(ssq_queue *queue, const struct shards *s,
                                   size_t words, ssq_tensor **whole,
                                   ssq_tensor ***rows)
{
    const int64_t shape[2] = {(int64_t)words, s->chunks == 0 ? 1 : s->chunks};
    *rows = mem_alloc_array(words, sizeof(ssq_tensor *));
    if (*rows == NULL)
        return error_nomem("optimizer", words * sizeof(ssq_tensor *));
    ssq_status st =
        tensor_create(ssq_queue_device(queue), SSQ_I32, 2, shape, whole);
    if (st != SSQ_OK)
        return st;
    struct fill_op op = {.op = OP_HEADER(fill, y),
                         .y = tensor_view(*whole, ACCESS_WRITE)};
    st = queue_enqueue(queue, &op.op);
    for (size_t i = 0; i < words && st == SSQ_OK; i++)
        st = ssq_tensor_slice(*whole, 0, (int64_t)i, (int64_t)i + 1, 1,
                              &(*rows)[i]);
    return st;
}

static ssq_status make_sizes(const ssq_optimizer *o, struct shards *s)
{
    size_t pieces = 0, at = 0;
    for (size_t i = 0; i < o->n; i++)
        pieces += cut_of(o->device, &o->params[i].param->view).pieces;
    s->sizes = list_create(pieces, "optimizer");
    if (s->sizes == NULL)
        return SSQ_ERR_NOMEM;
    for (size_t i = 0; i < o->n; i++) {
        const struct view *v = &o->params[i].param->view;
        struct cut cut = cut_of(o->device, v);
        s->params[i] = o->params[i].param;
        for (size_t k = 0; k < cut.pieces; k++) {
            struct view piece = cut_piece(&cut, v, k);
            list_set(s->sizes, at++, &piece, ACCESS_READ);
        }
    }
    return SSQ_OK;
}

static ssq_status shards_make(ssq_queue *queue, const ssq_optimizer *o,
                              struct shards *s)
{
    size_t row = ssq_comm_size(s->comm) + (size_t)1;
    s->bounds = mem_alloc_array(o->n * row, sizeof(*s->bounds));
    s->row_bounds = mem_alloc_array(PART_WORDS * row, sizeof(*s->row_bounds));
    s->params = mem_alloc_array(o->n, sizeof(const ssq_tensor *));
    if (s->bounds == NULL || s->row_bounds == NULL || s->params == NULL)
        return error_nomem("optimizer", o->n * row * sizeof(*s->bounds));
    shards_divide(o, s);
    ssq_status st = make_sizes(o, s);
    if (st == SSQ_OK)
        st = shards_make_rows(queue, s, PART_WORDS, &s->parts, &s->part_rows);
    if (st == SSQ_OK && optimizer_reads(o->kind, OPTION_LAMB))
        st = shards_make_rows(queue, s, LAMB_PART_WORDS, &s->norms,
                              &s->norm_rows);
    return st;
}

ssq_status shards_create(ssq_queue *queue, const ssq_optimizer *o,
                         struct shards **shards)
{
    struct shards *s = mem_alloc(sizeof(*s));
    if (s == NULL)
        return error_nomem("optimizer", sizeof(*s));
    s->comm = o->comm;
    s->n = o->n;
    ssq_status st = shards_make(queue, o, s);
    if (st == SSQ_OK)
        *shards = s;
    else
        shards_free(s);
    return st;
}

/* ---- a step's exchanges ---- */

ssq_status shards_ready(ssq_queue *queue, const ssq_optimizer *o,
                        const char *what)
{
    return o->comm == NULL ? SSQ_OK : comm_ready(queue, o->comm, what);
}

ssq_status shards_reduce(ssq_queue *queue, const ssq_optimizer *o)
{
    return comm_reduce_parts(queue, o->comm,
                             (const ssq_tensor *const *)o->state->sum, o->n,
                             o->state->shards->bounds, "gradients");
}

ssq_status shards_gather(ssq_queue *queue, const ssq_optimizer *o)
{
    const struct shards *s = o->state->shards;
    return comm_gather_parts(queue, o->comm, s->params, s->n, s->bounds,
                             COMM_ALL, "parameters");
}

static ssq_status shards_gather_rows(ssq_queue *queue, const struct shards *s,
                                     ssq_tensor *const *rows, size_t words,
                                     const char *tag)
{
    return comm_gather_parts(queue, s->comm, (const ssq_tensor *const *)rows,
                             words, s->row_bounds, COMM_ALL, tag);
}

/* A rank without an element has no chunks to check. */
ssq_status shards_look(ssq_queue *queue, const ssq_optimizer *o,
                       const struct check_op *op)
{
    const struct shards *s = o->state->shards;
    struct check_op look = *op;
    look.first = s->first;
    look.record.buffer = look.stats.buffer = NULL;
    look.parts = tensor_view(s->parts, ACCESS_UPDATE);
    ssq_status st = s->own == 0 ? SSQ_OK : queue_enqueue(queue, &look.op);
    return st == SSQ_OK ? shards_gather_rows(queue, s, s->part_rows, PART_WORDS,
                                             "verdict")
                        : st;
}

ssq_status shards_judge(ssq_queue *queue, const ssq_optimizer *o,
                        const struct check_op *op)
{
    const struct shards *s = o->state->shards;
    struct check_op fold = *op;
    fold.op.list = s->sizes;
    fold.parts = tensor_view(s->parts, ACCESS_READ);
    return queue_enqueue(queue, &fold.op);
}

/* Return the op for norms, without a list or partial sums. */
static struct lamb_op lamb_of(const struct state *state)
{
    return (struct lamb_op){.op = OP_HEADER(lamb, control),
                            .control = tensor_view(state->control, ACCESS_READ),
                            .table = tensor_view(state->table, ACCESS_READ)};
}

ssq_status shards_norm(ssq_queue *queue, const ssq_optimizer *o,
                       struct view_list *list)
{
    const struct shards *s = o->state->shards;
    struct lamb_op op = lamb_of(o->state);
    op.op.list = list;
    op.n = (uint32_t)o->state->pieces;
    op.first = s->first;
    op.parts = tensor_view(s->norms, ACCESS_UPDATE);
    ssq_status st = s->own == 0 ? SSQ_OK : queue_enqueue(queue, &op.op);
    return st == SSQ_OK ? shards_gather_rows(queue, s, s->norm_rows,
                                             LAMB_PART_WORDS, "norms")
                        : st;
}

ssq_status shards_lengths(ssq_queue *queue, const ssq_optimizer *o)
{
    const struct shards *s = o->state->shards;
    struct lamb_op op = lamb_of(o->state);
    op.op.list = s->sizes;
    op.n = (uint32_t)s->sizes->n;
    op.ratio = tensor_view(o->state->ratio, ACCESS_WRITE);
    op.parts = tensor_view(s->norms, ACCESS_READ);
    return queue_enqueue(queue, &op.op);
}
