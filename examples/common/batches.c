/* SPDX-License-Identifier: Apache-2.0 */
/* batches.c - a labelled set of images on a device, batch by batch. */
#include "examples/common/batches.h"

#include "examples/common/run.h"

#include <stdlib.h>

/* Pixels as bytes become numbers of 0..1 on the device. */
static bool upload(struct batches *b, const struct images *images,
                   ssq_dtype dtype)
{
    const int64_t shape[] = {images->n, images->pixels};
    ssq_device *device = ssq_queue_device(b->queue);
    ssq_tensor *bytes = NULL;
    bool good =
        run_ok(ssq_tensor_create(device, SSQ_U8, 2, shape, &bytes), "pixels") &&
        run_ok(ssq_tensor_create(device, dtype, 2, shape, &b->pixels),
               "pixels") &&
        run_ok(ssq_tensor_create(device, SSQ_I32, 1, shape, &b->labels),
               "labels") &&
        run_ok(ssq_tensor_write(b->queue, bytes, images->pixel,
                                (size_t)(shape[0] * shape[1]), SSQ_U8),
               "pixels") &&
        run_ok(ssq_tensor_write(b->queue, b->labels, images->label,
                                (size_t)images->n, SSQ_U8),
               "labels") &&
        run_ok(ssq_cast(b->queue, SSQ_CAST(.x = bytes, .y = b->pixels)),
               "cast") &&
        run_ok(ssq_scale(b->queue, SSQ_SCALE(.x = b->pixels, .y = b->pixels,
                                             .alpha = 1.0 / 255.0)),
               "scale") &&
        run_ok(ssq_queue_sync(b->queue), "sync");
    ssq_tensor_destroy(&bytes);
    return good;
}

bool batches_open(struct batches *b, ssq_queue *queue,
                  const struct images *images, ssq_dtype dtype, int64_t batch,
                  uint64_t seed)
{
    const int64_t x[] = {batch, images->pixels};
    ssq_device *device = ssq_queue_device(queue);
    *b = (struct batches){.queue = queue,
                          .n = images->n,
                          .batch = batch,
                          .at = images->n,
                          .random = seed};
    b->shuffled = malloc((size_t)images->n * sizeof(*b->shuffled));
    if (b->shuffled == NULL)
        perror("order");
    return b->shuffled != NULL && upload(b, images, dtype) &&
           run_ok(ssq_tensor_create(device, SSQ_I32, 1, &b->n, &b->order),
                  "order") &&
           run_ok(ssq_tensor_create(device, dtype, 2, x, &b->x), "batch") &&
           run_ok(ssq_tensor_create(device, SSQ_I32, 1, x, &b->y), "batch");
}

void batches_close(struct batches *b)
{
    ssq_tensor **all[] = {&b->pixels, &b->labels, &b->order, &b->x,
                          &b->y,      &b->part_x, &b->part_y};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        ssq_tensor_destroy(all[i]);
    free(b->shuffled);
    *b = (struct batches){0};
}

unsigned long batches_count(const struct batches *b)
{
    return (unsigned long)((b->n + b->batch - 1) / b->batch);
}

/* splitmix64, and a permutation by Fisher and Yates. */
bool batches_shuffle(struct batches *b)
{
    for (int64_t i = 0; i < b->n; i++)
        b->shuffled[i] = (int32_t)i;
    for (int64_t i = b->n - 1; i > 0; i--) {
        uint64_t z = b->random += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        int64_t j = (int64_t)((z ^ (z >> 31)) % (uint64_t)(i + 1));
        int32_t swap = b->shuffled[i];
        b->shuffled[i] = b->shuffled[j];
        b->shuffled[j] = swap;
    }
    b->at = 0;
    return run_ok(ssq_tensor_write(b->queue, b->order, b->shuffled,
                                   (size_t)b->n * sizeof(*b->shuffled),
                                   SSQ_I32),
                  "order") &&
           run_ok(ssq_queue_sync(b->queue), "order");
}

void batches_rewind(struct batches *b)
{
    b->at = 0;
}

/* Rows from..to of a tensor in place of the view that was there. */
static ssq_status rows(const ssq_tensor *t, int64_t from, int64_t to,
                       ssq_tensor **view)
{
    ssq_tensor_destroy(view);
    return ssq_tensor_slice(t, 0, from, to, 1, view);
}

/* The rows of the next batch, or a share of them. */
static ssq_status take(struct batches *b, int64_t *from, int64_t *to)
{
    const int64_t at = b->at;
    int64_t n = b->n - at < b->batch ? b->n - at : b->batch;
    ssq_status st = SSQ_OK;
    if (n == 0)
        return SSQ_ERR_NOT_FOUND;
    b->at += n;
    *from = 0;
    *to = n;
    if (b->trainer != NULL)
        st = ssq_trainer_share(b->trainer, n, from, to);
    *from += at;
    *to += at;
    return st;
}

static ssq_status gather(struct batches *b, int64_t from, int64_t to)
{
    ssq_tensor *order = NULL;
    ssq_status st = rows(b->order, from, to, &order);
    if (st == SSQ_OK)
        st = rows(b->x, 0, to - from, &b->part_x);
    if (st == SSQ_OK)
        st = rows(b->y, 0, to - from, &b->part_y);
    if (st == SSQ_OK)
        st = ssq_gather_rows(
            b->queue,
            SSQ_GATHER_ROWS(.x = b->pixels, .index = order, .y = b->part_x));
    if (st == SSQ_OK)
        st = ssq_gather_rows(
            b->queue,
            SSQ_GATHER_ROWS(.x = b->labels, .index = order, .y = b->part_y));
    ssq_tensor_destroy(&order);
    return st;
}

ssq_status batches_next(struct batches *b, const ssq_tensor **x,
                        const ssq_tensor **y)
{
    int64_t from, to;
    ssq_status st = take(b, &from, &to);
    *x = *y = NULL;
    if (st != SSQ_OK || from == to)
        return st;
    st = gather(b, from, to);
    *x = b->part_x;
    *y = b->part_y;
    return st;
}

ssq_status batches_walk(struct batches *b, const ssq_tensor **x,
                        const ssq_tensor **y)
{
    int64_t from, to;
    ssq_status st = take(b, &from, &to);
    *x = *y = NULL;
    if (st != SSQ_OK || from == to)
        return st;
    st = rows(b->pixels, from, to, &b->part_x);
    if (st == SSQ_OK)
        st = rows(b->labels, from, to, &b->part_y);
    *x = b->part_x;
    *y = b->part_y;
    return st;
}
