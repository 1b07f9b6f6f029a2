/* SPDX-License-Identifier: Apache-2.0 */
/* batches.c - batches of labelled images, or a rank's share of each. */
#include "examples/common/batches.h"

#include "examples/common/run.h"

bool batches_open(struct batches *b, ssq_queue *queue,
                  const struct images *images, ssq_dtype dtype, int64_t batch,
                  bool shuffle, uint64_t seed)
{
    const int64_t shape[] = {images->n, images->size};
    ssq_array *x = NULL, *y = NULL;
    *b = (struct batches){.n = images->n};
    bool good = run_ok(ssq_array_create(SSQ_U8, 2, shape, images->pixel, &x),
                       "pixels") &&
                run_ok(ssq_array_create(SSQ_U8, 1, shape, images->label, &y),
                       "labels") &&
                run_ok(ssq_batches_create(
                           queue,
                           SSQ_BATCHES(.arrays = {x, y}, .n = 2,
                                       .dtypes = {dtype, SSQ_I32},
                                       .scale = {1.0 / 255.0}, .batch = batch,
                                       .shuffle = shuffle, .seed = seed),
                           &b->rows),
                       "batches");
    ssq_array_destroy(&x); /* the batches hold them */
    ssq_array_destroy(&y);
    return good;
}

void batches_close(struct batches *b)
{
    ssq_tensor_destroy(&b->part_x);
    ssq_tensor_destroy(&b->part_y);
    ssq_batches_destroy(&b->rows);
}

unsigned long batches_count(const struct batches *b)
{
    return (unsigned long)ssq_batches_count(b->rows);
}

bool batches_seek(struct batches *b, unsigned epoch)
{
    ssq_batches_position at = SSQ_BATCHES_POSITION_INIT;
    at.epoch = epoch;
    return run_ok(ssq_batches_position_set(b->rows, &at), "position");
}

/* Rows from..to of a tensor in place of the view that was there. */
static ssq_status slice(const ssq_tensor *t, int64_t from, int64_t to,
                        ssq_tensor **view)
{
    ssq_tensor_destroy(view);
    return ssq_tensor_slice(t, 0, from, to, 1, view);
}

ssq_status batches_next(struct batches *b, const ssq_tensor **x,
                        const ssq_tensor **y)
{
    const ssq_tensor *whole[2];
    int64_t from = 0, to = 0;
    *x = *y = NULL;
    ssq_status st = ssq_batches_next(b->rows, whole);
    if (st == SSQ_OK)
        to = ssq_tensor_size(whole[0], 0);
    const int64_t rows = to;
    if (st == SSQ_OK && b->trainer != NULL)
        st = ssq_trainer_share(b->trainer, rows, &from, &to);
    if (st != SSQ_OK || from == to)
        return st;
    *x = whole[0];
    *y = whole[1];
    if (to - from == rows)
        return SSQ_OK;
    st = slice(whole[0], from, to, &b->part_x);
    if (st == SSQ_OK)
        st = slice(whole[1], from, to, &b->part_y);
    *x = b->part_x;
    *y = b->part_y;
    return st;
}
