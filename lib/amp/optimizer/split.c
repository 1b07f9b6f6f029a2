/* SPDX-License-Identifier: Apache-2.0 */
/* split.c - convert split masters to float32 and back, on the host, a megabyte
 * at a time. For work that is done once in a training. */
#include "lib/amp/optimizer/split.h"

#include "kernels/amp/optimizer.h"
#include "lib/core/queue/queue.h"

/* Elements that the host converts at a time. */
#define PIECE ((int64_t)1 << 18)

struct split_piece {
    ssq_queue *queue;
    uint32_t word[PIECE];
    uint16_t model[PIECE];
    uint8_t rest[2 * PIECE];
};

/* Return elements from `at` on of a contiguous view, in bytes. */
static struct view split_part(const ssq_tensor *t, int64_t at, int64_t n,
                              unsigned bytes, enum access access)
{
    struct view v = tensor_view(t, access);
    v.offset += (uint64_t)at * bytes;
    v.rank = 1;
    v.shape[0] = n * bytes / dtype_bytes(v.dtype);
    v.stride[0] = 1;
    return v;
}

static ssq_status amp_split_join(struct split_piece *p, const ssq_tensor *model,
                                 const ssq_tensor *rest,
                                 const ssq_tensor *whole, int64_t at, int64_t n)
{
    const struct view m = split_part(model, at, n, 2, ACCESS_READ),
                      r = split_part(rest, at, n, 2, ACCESS_READ),
                      w = split_part(whole, at, n, 4, ACCESS_WRITE);
    ssq_status st = queue_download(p->queue, &m, p->model, 2 * (uint64_t)n);
    if (st == SSQ_OK)
        st = queue_download(p->queue, &r, p->rest, 2 * (uint64_t)n);
    ssq_status synced = queue_wait(p->queue); /* always: the memory is ours */
    if (st != SSQ_OK || synced != SSQ_OK)
        return st != SSQ_OK ? st : synced;
    for (int64_t i = 0; i < n; i++)
        p->word[i] = split_join(p->model[i], split_load(p->rest, i));
    st = queue_upload(p->queue, &w, p->word, 4 * (uint64_t)n);
    synced = queue_wait(p->queue);
    return st != SSQ_OK ? st : synced;
}

static ssq_status split_divide(struct split_piece *p, const ssq_tensor *model,
                               const ssq_tensor *rest, const ssq_tensor *whole,
                               int64_t at, int64_t n)
{
    const struct view m = split_part(model, at, n, 2, ACCESS_WRITE),
                      r = split_part(rest, at, n, 2, ACCESS_WRITE),
                      w = split_part(whole, at, n, 4, ACCESS_READ);
    ssq_status st = queue_download(p->queue, &w, p->word, 4 * (uint64_t)n);
    ssq_status synced = queue_wait(p->queue);
    if (st != SSQ_OK || synced != SSQ_OK)
        return st != SSQ_OK ? st : synced;
    for (int64_t i = 0; i < n; i++) {
        p->model[i] = (uint16_t)split_model(p->word[i]);
        split_store(p->rest, i, split_rest(p->word[i]));
    }
    st = queue_upload(p->queue, &m, p->model, 2 * (uint64_t)n);
    if (st == SSQ_OK)
        st = queue_upload(p->queue, &r, p->rest, 2 * (uint64_t)n);
    synced = queue_wait(p->queue);
    return st != SSQ_OK ? st : synced;
}

typedef ssq_status way(struct split_piece *p, const ssq_tensor *model,
                       const ssq_tensor *rest, const ssq_tensor *whole,
                       int64_t at, int64_t n);

static ssq_status all(ssq_queue *queue, way *go, const ssq_tensor *model,
                      const ssq_tensor *rest, const ssq_tensor *whole)
{
    const int64_t n = view_elements(&model->view);
    if (n == 0)
        return SSQ_OK;
    struct split_piece *p = mem_alloc(sizeof(*p));
    if (p == NULL)
        return error_nomem("split master", sizeof(*p));
    p->queue = queue;
    ssq_status st = SSQ_OK;
    for (int64_t at = 0; at < n && st == SSQ_OK; at += PIECE)
        st = go(p, model, rest, whole, at, n - at < PIECE ? n - at : PIECE);
    mem_free(p);
    return st;
}

ssq_status split_read(ssq_queue *queue, const ssq_tensor *model,
                      const ssq_tensor *rest, const ssq_tensor *to)
{
    return all(queue, amp_split_join, model, rest, to);
}

ssq_status split_write(ssq_queue *queue, const ssq_tensor *from,
                       const ssq_tensor *model, const ssq_tensor *rest)
{
    return all(queue, split_divide, model, rest, from);
}
