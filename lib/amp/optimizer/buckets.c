/* SPDX-License-Identifier: Apache-2.0 */
/* buckets.c - gradients in buckets, and the sums of buckets over ranks. */
#include "lib/amp/optimizer/buckets.h"

#include "lib/op/list.h"
#include "lib/amp/optimizer/optimizer.h"

/* ---- dividing ---- */

static uint64_t sum_bytes(const ssq_optimizer *o, size_t i)
{
    return (uint64_t)view_elements(&o->params[i].param->view) * sizeof(float);
}

/* Take parameters from the one before *end towards the first, until they make a
 * bucket. Sets *n to how many of them the optimizer has, and *end to the last
 * one taken. */
static void buckets_take(const ssq_optimizer *o, const size_t *which,
                         uint64_t bytes, size_t *end, size_t *n)
{
    uint64_t had = 0;
    for (*n = 0; *end > 0 && (*n == 0 || had < bytes); --*end) {
        size_t i = which[*end - 1];
        if (i == SIZE_MAX)
            continue;
        had += sum_bytes(o, i);
        ++*n;
    }
}

static size_t buckets_count(const ssq_optimizer *o, const size_t *which,
                            size_t n, uint64_t bytes)
{
    size_t buckets = 0, in = 0;
    for (size_t end = n; end > 0; buckets += in > 0)
        buckets_take(o, which, bytes, &end, &in);
    return buckets;
}

/* ---- making ---- */

static void put_piece(struct view_list *l, size_t at, const struct cut *cut,
                      const ssq_tensor *t, size_t k, enum access access)
{
    struct view piece = cut_piece(cut, &t->view, k);
    list_set(l, at, &piece, access);
}

/* Make the list of gradients and sums, cut like the optimizer's own list. */
static ssq_status make_pairs(const ssq_optimizer *o, const size_t *params,
                             struct bucket *b)
{
    size_t pieces = 0, at = 0;
    for (size_t i = 0; i < b->n; i++)
        pieces += cut_of(o->device, &o->params[params[i]].grad->view).pieces;
    b->pairs = list_create(2 * pieces, "optimizer");
    if (b->pairs == NULL)
        return SSQ_ERR_NOMEM;
    for (size_t i = 0; i < b->n; i++) {
        const ssq_tensor *g = o->params[params[i]].grad;
        struct cut cut = cut_of(o->device, &g->view);
        for (size_t k = 0; k < cut.pieces; k++, at++) {
            put_piece(b->pairs, at, &cut, g, k, ACCESS_READ);
            put_piece(b->pairs, pieces + at, &cut, b->sums[i], k,
                      ACCESS_UPDATE);
        }
    }
    return SSQ_OK;
}

static ssq_status make_bucket(const ssq_optimizer *o, const size_t *params,
                              size_t n, struct bucket *b)
{
    b->n = b->tensors = n;
    b->sums = mem_alloc_array(n + 1, sizeof(*b->sums));
    if (b->sums == NULL)
        return error_nomem("optimizer", (n + 1) * sizeof(*b->sums));
    for (size_t i = 0; i < n; i++)
        b->sums[i] = o->state->sum[params[i]];
    return make_pairs(o, params, b);
}

/* Make all buckets. params: working memory for n numbers. */
static ssq_status buckets_make(const ssq_optimizer *o, const size_t *which,
                               size_t n, uint64_t bytes, size_t *params,
                               struct buckets *b)
{
    ssq_status st = SSQ_OK;
    for (size_t end = n, in; end > 0 && st == SSQ_OK;) {
        size_t last = end;
        buckets_take(o, which, bytes, &end, &in);
        if (in == 0)
            break;
        in = 0;
        for (size_t i = last; i-- > end;)
            if (which[i] != SIZE_MAX) {
                b->of[i] = (uint32_t)b->n;
                params[in++] = which[i];
            }
        st = make_bucket(o, params, in, &b->at[b->n++]);
        b->params += in;
    }
    return st;
}

ssq_status buckets_create(ssq_optimizer *o, const size_t *which, size_t n,
                          uint64_t bytes, const ssq_tensor *also)
{
    struct buckets *b = mem_alloc(sizeof(*b));
    if (b == NULL)
        return error_nomem("optimizer", sizeof(*b));
    size_t most = buckets_count(o, which, n, bytes);
    size_t *params = mem_alloc_array(n, sizeof(*params));
    b->at = mem_alloc_array(most, sizeof(*b->at));
    b->of = mem_alloc_array(n, sizeof(*b->of));
    ssq_status st = SSQ_OK;
    if (params == NULL || b->at == NULL || b->of == NULL)
        st = error_nomem("optimizer", most * sizeof(*b->at));
    for (; b->of_n < n && st == SSQ_OK; b->of_n++)
        b->of[b->of_n] = BUCKET_NONE;
    if (st == SSQ_OK)
        st = buckets_make(o, which, n, bytes, params, b);
    if (st == SSQ_OK && b->n > 0) {
        struct bucket *last = &b->at[b->n - 1];
        last->sums[last->tensors++] = also;
    }
    mem_free(params);
    if (st == SSQ_OK)
        o->state->buckets = b;
    else
        buckets_free(b);
    return st;
}

static void bucket_free(struct bucket *b)
{
    ssq_comm_work_destroy(&b->work);
    if (b->pairs != NULL)
        object_put(&b->pairs->object);
    mem_free(b->sums);
}

void buckets_free(struct buckets *b)
{
    if (b == NULL)
        return;
    for (size_t i = 0; i < b->n; i++)
        bucket_free(&b->at[i]);
    mem_free(b->at);
    mem_free(b->of);
    mem_free(b);
}

/* ---- a step ---- */

void buckets_reset(struct buckets *b)
{
    b->next = 0;
    for (size_t i = 0; i < b->n; i++) {
        struct bucket *k = &b->at[i];
        k->left = k->n;
        k->added = k->begun = false;
        ssq_comm_work_destroy(&k->work); /* of an abandoned step */
    }
}

ssq_status bucket_begin(ssq_queue *queue, ssq_comm *comm, struct bucket *b)
{
    if (b->begun)
        return SSQ_OK;
    ssq_status st = ssq_comm_all_reduce(
        queue, comm,
        SSQ_COMM_ALL_REDUCE(.tensors = b->sums, .n = b->tensors,
                            .tag = "gradients", .work = &b->work));
    b->begun = st == SSQ_OK;
    return st;
}

ssq_status bucket_wait(ssq_queue *queue, struct bucket *b)
{
    return b->work == NULL ? SSQ_OK : ssq_comm_wait(queue, &b->work);
}
