/* SPDX-License-Identifier: Apache-2.0 */
/* announced.c - row counts of future passes, exchanged between all ranks.
 *
 * The sum over the ranks is a collective on a separate queue. The communicator
 * runs it after the collectives that were called before it. No other work of
 * the program is enqueued on this queue.
 *
 * ssq_trainer_next() waits for the sum. It need not wait if a step was enqueued
 * after the announcement, and if the device has finished all work before that
 * step. */
#include "lib/train/trainer.h"

#include <stdio.h>

/* Maximum number of passes that are announced and not yet returned by
 * ssq_trainer_next(): enough for prefetching. */
#define MAX_ANNOUNCED 8

/* Rows are sent as digits in base 2^14. A float32 represents the sum of a digit
 * over all ranks exactly, in any order of addition. */
#define DIGITS     4
#define DIGIT_BITS 14
#define DIGIT_MASK (((int64_t)1 << DIGIT_BITS) - 1)
_Static_assert(DIGIT_MASK *SSQ_COMM_MAX_SIZE < (int64_t)1 << 24,
               "a float32 has a sum of digits exactly");
_Static_assert(TRAINER_ROWS < (int64_t)1 << (DIGITS * DIGIT_BITS),
               "digits have all rows");

/* An announced pass. Its tensor x is reused by later passes. */
struct announced_pass {
    int64_t rows;         /* of this rank */
    float digits[DIGITS]; /* of rows, as the device reads them */
    float sums[DIGITS];   /* of all ranks */
    ssq_tensor *x;        /* the digits, then their sums, on the device */
    ssq_comm_work *work;  /* the sum; NULL: was waited for */
};

/* A ring buffer. */
struct announced {
    ssq_queue *queue; /* NULL: there is only one rank */
    struct announced_pass at[MAX_ANNOUNCED];
    size_t first, n;
};

/* Destroy the queue first, because it reads the digits. */
void trainer_free_announced(ssq_trainer *t)
{
    struct announced *a = t->announced;
    if (a == NULL)
        return;
    ssq_queue_destroy(&a->queue);
    for (size_t i = 0; i < MAX_ANNOUNCED; i++) {
        ssq_comm_work_destroy(&a->at[i].work);
        ssq_tensor_destroy(&a->at[i].x);
    }
    mem_free(a);
    t->announced = NULL;
}

static ssq_status announced_create(ssq_trainer *t, const char *what)
{
    if (t->announced != NULL)
        return SSQ_OK;
    struct announced *a = mem_alloc(sizeof(*a));
    if (a == NULL)
        return error_nomem(what, sizeof(*a));
    ssq_status st = t->comm == NULL ? SSQ_OK
                                    : ssq_queue_create(ssq_comm_device(t->comm),
                                                       NULL, &a->queue);
    t->announced = st == SSQ_OK ? a : NULL;
    if (st != SSQ_OK)
        mem_free(a);
    return st;
}

/* Begin the sum over ranks. After an error, no enqueued work reads the
 * digits. */
static ssq_status announced_start_sum(const struct announced *a, ssq_comm *comm,
                                      struct announced_pass *p)
{
    const int64_t n = DIGITS;
    ssq_status st = SSQ_OK;
    if (p->x == NULL)
        st = ssq_tensor_create(ssq_comm_device(comm), SSQ_F32, 1, &n, &p->x);
    if (st != SSQ_OK)
        return st;
    for (int i = 0; i < DIGITS; i++)
        p->digits[i] = (float)(p->rows >> (i * DIGIT_BITS) & DIGIT_MASK);
    st =
        ssq_tensor_write(a->queue, p->x, p->digits, sizeof(p->digits), SSQ_F32);
    if (st != SSQ_OK)
        return st;
    const ssq_tensor *const list[] = {p->x};
    st = ssq_comm_all_reduce(a->queue, comm,
                             SSQ_COMM_ALL_REDUCE(.tensors = list, .n = 1,
                                                 .tag = "rows",
                                                 .work = &p->work));
    if (st == SSQ_OK)
        return SSQ_OK;
    char text[ERROR_TEXT];
    (void)snprintf(text, sizeof(text), "%s", ssq_last_error());
    ssq_status synced = queue_wait(a->queue);
    return synced != SSQ_OK ? synced : error_set(st, "%s", text);
}

/* Wait for the sum and decode it. After an error, the call may be repeated. */
static ssq_status announced_finish_sum(const struct announced *a,
                                       ssq_comm *comm, struct announced_pass *p,
                                       int64_t *rows)
{
    ssq_status st = ssq_comm_status(comm);
    if (st == SSQ_OK && p->work != NULL)
        st = ssq_comm_wait(a->queue, &p->work);
    if (st == SSQ_OK)
        st = ssq_tensor_read(a->queue, p->x, p->sums, sizeof(p->sums), SSQ_F32);
    if (st == SSQ_OK)
        st = queue_wait(a->queue);
    if (st != SSQ_OK)
        return st;
    *rows = 0;
    for (int i = 0; i < DIGITS; i++)
        *rows += (int64_t)p->sums[i] << (i * DIGIT_BITS);
    return SSQ_OK;
}

ssq_status ssq_trainer_announce(ssq_trainer *trainer, int64_t rows)
{
    static const char what[] = "trainer_announce";
    if (trainer == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: trainer is NULL", what);
    ssq_status st = trainer_check_rows(what, rows);
    if (st == SSQ_OK && trainer->comm != NULL)
        st = capture_check(ssq_comm_device(trainer->comm), what);
    if (st == SSQ_OK)
        st = announced_create(trainer, what);
    if (st != SSQ_OK)
        return st;
    struct announced *a = trainer->announced;
    if (a->n == MAX_ANNOUNCED)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %d passes are announced, and none was asked for",
                         what, MAX_ANNOUNCED);
    struct announced_pass *p = &a->at[(a->first + a->n) % MAX_ANNOUNCED];
    p->rows = rows;
    if (trainer->comm != NULL)
        st = announced_start_sum(a, trainer->comm, p);
    a->n += st == SSQ_OK;
    return st;
}

ssq_status ssq_trainer_next(ssq_trainer *trainer, int64_t *rows)
{
    static const char what[] = "trainer_next";
    if (trainer == NULL || rows == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         trainer == NULL ? "trainer" : "rows");
    struct announced *a = trainer->announced;
    if (a == NULL || a->n == 0)
        return error_set(SSQ_ERR_INVALID, "%s: no pass is announced", what);
    struct announced_pass *p = &a->at[a->first];
    int64_t all = p->rows;
    ssq_status st = SSQ_OK;
    if (trainer->comm != NULL)
        st = announced_finish_sum(a, trainer->comm, p, &all);
    if (st != SSQ_OK)
        return st;
    a->first = (a->first + 1) % MAX_ANNOUNCED;
    a->n--;
    if (all > 0) /* 0: the batches have ended, and no pass follows */
        trainer_set_weight_by_rows(trainer, p->rows, all);
    *rows = all;
    return SSQ_OK;
}
