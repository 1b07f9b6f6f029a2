/* SPDX-License-Identifier: Apache-2.0 */
/* windows.c - batches of windows of a text, on a device. */
#include "examples/gpt/windows.h"

#include "examples/common/run.h"

#include <stdlib.h>
#include <string.h>

/* Batches that are written at a time. */
#define CHUNK 32

bool windows_open(struct windows *w, ssq_queue *queue, const int32_t *token,
                  size_t n, int64_t batch, int64_t block, bool walking,
                  uint64_t seed)
{
    const int64_t shape[] = {CHUNK, batch, block};
    ssq_device *device = ssq_queue_device(queue);
    *w = (struct windows){.queue = queue,
                          .token = token,
                          .n = n,
                          .batch = batch,
                          .block = block,
                          .random = seed,
                          .walking = walking,
                          .at = CHUNK};
    if (n < (size_t)block + 1) {
        fprintf(stderr, "%zu tokens, a window has %lld and one more\n", n,
                (long long)block);
        return false;
    }
    w->host = malloc(2 * (size_t)(CHUNK * batch * block) * sizeof(*w->host));
    if (w->host == NULL)
        perror("windows");
    return w->host != NULL &&
           run_ok(ssq_tensor_create(device, SSQ_I32, 3, shape, &w->x),
                  "windows") &&
           run_ok(ssq_tensor_create(device, SSQ_I32, 3, shape, &w->y),
                  "windows");
}

void windows_close(struct windows *w)
{
    ssq_tensor_destroy(&w->x);
    ssq_tensor_destroy(&w->y);
    ssq_tensor_destroy(&w->part_x);
    ssq_tensor_destroy(&w->part_y);
    free(w->host);
    *w = (struct windows){0};
}

void windows_rewind(struct windows *w)
{
    w->place = 0;
    w->at = CHUNK;
}

/* Of splitmix64. */
#define GOLDEN 0x9e3779b97f4a7c15u

/* Where a window begins: splitmix64. */
static size_t begin(struct windows *w)
{
    const size_t places = w->n - (size_t)w->block;
    if (w->walking) {
        size_t at = w->place < places ? w->place : 0;
        w->place = at + (size_t)w->block;
        return at;
    }
    uint64_t z = w->random += GOLDEN;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (size_t)((z ^ (z >> 31)) % places);
}

/* The device has what was written before it is written over. */
static ssq_status refill(struct windows *w)
{
    const size_t block = (size_t)w->block;
    const size_t rows = CHUNK * (size_t)w->batch, n = rows * block;
    for (size_t i = 0; i < rows; i++) {
        const int32_t *from = w->token + begin(w);
        memcpy(w->host + i * block, from, block * sizeof(*from));
        memcpy(w->host + n + i * block, from + 1, block * sizeof(*from));
    }
    ssq_status st = ssq_tensor_write(w->queue, w->x, w->host,
                                     n * sizeof(*w->host), SSQ_I32);
    if (st == SSQ_OK)
        st = ssq_tensor_write(w->queue, w->y, w->host + n, n * sizeof(*w->host),
                              SSQ_I32);
    w->at = 0;
    return st == SSQ_OK ? ssq_queue_sync(w->queue) : st;
}

/* Rows from..to of batch number at, in a shape. */
static ssq_status view(const ssq_tensor *batches, int64_t at, int64_t from,
                       int64_t to, int rank, const int64_t *shape,
                       ssq_tensor **view)
{
    ssq_tensor *batch = NULL, *part = NULL;
    ssq_tensor_destroy(view);
    ssq_status st = ssq_tensor_slice(batches, 0, at, at + 1, 1, &batch);
    if (st == SSQ_OK)
        st = ssq_tensor_slice(batch, 1, from, to, 1, &part);
    if (st == SSQ_OK)
        st = ssq_tensor_reshape(part, rank, shape, view);
    ssq_tensor_destroy(&batch);
    ssq_tensor_destroy(&part);
    return st;
}

ssq_status windows_next(struct windows *w, const ssq_tensor **x,
                        const ssq_tensor **y)
{
    int64_t from = 0, to = w->batch;
    ssq_status st = w->at == CHUNK ? refill(w) : SSQ_OK;
    *x = *y = NULL;
    if (st == SSQ_OK && w->trainer != NULL)
        st = ssq_trainer_share(w->trainer, w->batch, &from, &to);
    const int64_t at = w->at++;
    if (st != SSQ_OK || from == to)
        return st;
    const int64_t shape[] = {to - from, w->block};
    const int64_t flat = shape[0] * shape[1];
    st = view(w->x, at, from, to, 2, shape, &w->part_x);
    if (st == SSQ_OK)
        st = view(w->y, at, from, to, 1, &flat, &w->part_y);
    *x = w->part_x;
    *y = w->part_y;
    return st;
}

/* Draws of whole chunks are only counted. */
ssq_status windows_skip(struct windows *w, unsigned long n)
{
    const ssq_tensor *x, *y;
    ssq_status st = SSQ_OK;
    w->random += n / CHUNK * CHUNK * (uint64_t)w->batch * GOLDEN;
    for (n %= CHUNK; n > 0 && st == SSQ_OK; n--)
        st = windows_next(w, &x, &y);
    return st;
}
