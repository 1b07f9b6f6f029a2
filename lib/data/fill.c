/* SPDX-License-Identifier: Apache-2.0 */
/* fill.c - the thread that prepares batches: it gathers rows, scales them and
 * converts them. */
#include "lib/data/batches.h"

#include <signal.h>
#include <string.h>

#include "lib/core/base/host.h"

/* splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
static uint64_t next_word(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Fisher and Yates. The high bits of a product choose among i: for the 2^31
 * rows that are possible at most, no row is preferred by more than 2^-32. */
void batches_order(uint32_t *order, uint32_t n, uint64_t seed, uint64_t epoch)
{
    uint64_t state = seed;
    state = next_word(&state) ^ epoch;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint64_t word = next_word(&state) >> 1; /* of 63 bits */
        uint32_t k = (uint32_t)((word >> 31) * i >> 32);
        uint32_t kept = order[i - 1];
        order[i - 1] = order[k];
        order[k] = kept;
    }
}

static void fill_row(const struct ssq_batches *b, const struct batch_field *f,
                     int64_t row, char *to)
{
    const ssq_array *a = f->array;
    const size_t n = (size_t)f->width;
    const char *from =
        (const char *)a->data + (size_t)row * n * array_element(a->dtype);
    if (!f->scaled) {
        host_convert(to, f->dtype, from, a->dtype, n, SSQ_ROUND_NEAREST, 0);
        return;
    }
    host_convert(b->floats, SSQ_F32, from, a->dtype, n, SSQ_ROUND_NEAREST, 0);
    for (size_t i = 0; i < n; i++)
        b->floats[i] = f->scale * b->floats[i] + f->shift;
    host_convert(to, f->dtype, b->floats, SSQ_F32, n, SSQ_ROUND_NEAREST, 0);
}

/* Fill a slot with the rows from fill_row on. */
static void fill_one_slot(struct ssq_batches *b, struct batch_slot *s)
{
    int64_t left = b->used - b->fill_row;
    s->rows = left < b->batch ? left : b->batch;
    for (unsigned k = 0; k < b->n; k++)
        for (int64_t i = 0; i < s->rows; i++) {
            int64_t at = b->fill_row + i;
            fill_row(b, &b->field[k], b->order == NULL ? at : b->order[at],
                     (char *)s->host[k] + (size_t)i * b->field[k].row_bytes);
        }
    b->fill_row += s->rows;
}

static void *fill_run(void *user)
{
    struct ssq_batches *b = user;
    bool ordered = false;
    /* a thread begins with the modes of the thread that started it */
    struct fpenv env = fpenv_enter();
    pthread_mutex_lock(&b->lock);
    while (!b->stop) {
        struct batch_slot *s = &b->slot[b->tail];
        if (s->state != SLOT_EMPTY) {
            pthread_cond_wait(&b->changed, &b->lock);
            continue;
        }
        pthread_mutex_unlock(&b->lock);
        if (b->fill_row >= b->used) {
            b->fill_epoch++;
            b->fill_row = 0;
            ordered = false;
        }
        if (!ordered && b->order != NULL)
            batches_order(b->order, (uint32_t)b->rows, b->seed, b->fill_epoch);
        ordered = true;
        fill_one_slot(b, s);
        pthread_mutex_lock(&b->lock);
        s->state = SLOT_READY;
        b->tail = (b->tail + 1) % b->nslots;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    fpenv_leave(env);
    return NULL;
}

ssq_status batches_start(struct ssq_batches *b)
{
    sigset_t all, before;
    b->stop = false;
    b->head = b->tail = 0;
    b->fill_epoch = b->epoch;
    b->fill_row = b->row;
    sigfillset(&all); /* signals must reach the program's own threads only */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&b->thread, NULL, fill_run, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    b->running = error == 0;
    return error == 0 ? SSQ_OK
                      : error_set(SSQ_ERR_NOMEM,
                                  "batches: no thread can be started: %s",
                                  strerror(error));
}

void batches_stop(struct ssq_batches *b)
{
    if (!b->running)
        return;
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    b->running = false;
}
