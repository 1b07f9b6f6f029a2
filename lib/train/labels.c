/* SPDX-License-Identifier: Apache-2.0 */
/* labels.c - detect labels out of range: device words, reported as errors.
 *
 * A sync in any thread may call labels_send() and labels_get_error() while the
 * trainer's thread does. Only one thread at a time may do so, guarded by
 * `busy`. A thread that finds it taken returns without doing anything. */
#include "lib/train/labels.h"

#include "lib/amp/common/readback.h"
#include "lib/core/queue/queue.h"
#include "lib/core/queue/report.h"

#include <sesqui/ops/data.h>
#include <sesqui/ops/elementwise.h>

#include <stdio.h>

/* Words of the block. TRAINED and EVALUATED are records. Their counts only
 * grow, modulo 2^32. */
enum {
    CLEARED, /* TRAINED's count at the last step */
    TRAINED,
    EVALUATED = TRAINED + INDEX_WORDS,
    SUMMED = EVALUATED + INDEX_WORDS, /* f32: sum of the flags of all steps */
    WRONG,                            /* this rank's count in the current
                                         step */
    MAGIC,
    WORDS
};
#define MAGIC_VALUE 0x6c61626cu

struct labels {
    struct report report;
    struct readback *readback;
    ssq_tensor *block;               /* i32 [WORDS] */
    ssq_tensor *words;               /* CLEARED and TRAINED's count */
    ssq_tensor *cleared, *count;     /* views of CLEARED and TRAINED's count */
    ssq_tensor *trained, *evaluated; /* the records */
    ssq_tensor *summed, *wrong;      /* views of SUMMED and WRONG */
    ssq_tensor *flag;     /* f32 [2], the second is 0; NULL: only one rank */
    ssq_tensor *first;    /* view of flag[0] */
    bool checked;         /* labels were checked since the last step */
    atomic_bool stale;    /* the words may have changed since they were sent */
    atomic_bool captured; /* a graph has a check, which each launch repeats */
    atomic_bool nan;
    atomic_uint busy; /* 0, or 1 + fork_count() of the process in which a thread
                         sends or reports */
    uint32_t reported[WORDS]; /* the counts that were reported last */
};

/* Set `busy`. Return false if another thread has set it. In a child of fork(),
 * a thread of the parent does not count. */
static bool labels_try_lock(struct labels *l)
{
    unsigned mine = 1 + fork_count(), seen = 0;
    while (!atomic_compare_exchange_strong(&l->busy, &seen, mine))
        if (seen == mine)
            return false;
    return true;
}

static void labels_unlock(struct labels *l)
{
    atomic_store(&l->busy, 0);
}

/* ---- to the host ---- */

ssq_status labels_send(struct labels *l, ssq_queue *queue)
{
    bool recorded;
    ssq_status st = queue_recorded(queue, &recorded);
    if (st != SSQ_OK || recorded || queue_capturing(queue) ||
        !(atomic_load(&l->stale) || atomic_load(&l->captured)) ||
        !labels_try_lock(l))
        return st;
    atomic_store(&l->stale, false);
    st = readback_enqueue(l->readback, queue, NULL, l->block);
    if (st != SSQ_OK)
        atomic_store(&l->stale, true);
    labels_unlock(l);
    return st;
}

static ssq_status wrong_labels(const uint32_t *record, const char *then)
{
    unsigned n = record[INDEX_N];
    char range[64];
    if (n > 0)
        (void)snprintf(range, sizeof(range), "0 to %u, of %u classes", n - 1,
                       n);
    else
        (void)snprintf(range, sizeof(range), "none, of 0 classes");
    return error_set(SSQ_ERR_INVALID,
                     "trainer: row %u of a loss has the label %d, expected "
                     "%s: %s",
                     (unsigned)record[INDEX_PLACE],
                     (int)(int32_t)record[INDEX_VALUE], range, then);
}

/* Report the most useful error first; the next call reports the others. */
static ssq_status labels_new_error(struct labels *l, const uint32_t *now)
{
    uint32_t *reported = l->reported;
    if (now[TRAINED] != reported[TRAINED]) {
        reported[TRAINED] = now[TRAINED];
        reported[SUMMED] = now[SUMMED];
        atomic_store(&l->nan, true);
        return wrong_labels(now + TRAINED, "its step is skipped");
    }
    if (now[EVALUATED] != reported[EVALUATED]) {
        reported[EVALUATED] = now[EVALUATED];
        return wrong_labels(now + EVALUATED, "the loss of an evaluation is "
                                             "NaN");
    }
    if (now[SUMMED] != reported[SUMMED]) {
        reported[SUMMED] = now[SUMMED];
        return error_set(SSQ_ERR_INVALID,
                         "trainer: labels of another rank are out of range: "
                         "its step is skipped on all ranks");
    }
    return SSQ_OK;
}

ssq_status labels_get_error(struct labels *l)
{
    uint32_t now[WORDS];
    if (!labels_try_lock(l))
        return SSQ_OK;
    (void)readback_read(l->readback, now);
    ssq_status st = labels_new_error(l, now);
    labels_unlock(l);
    return st;
}

bool labels_take_nan(struct labels *l)
{
    return atomic_exchange(&l->nan, false);
}

static ssq_status report_send(struct report *r, ssq_queue *queue)
{
    return labels_send((struct labels *)r, queue);
}

static ssq_status report_get_error(struct report *r)
{
    return labels_get_error((struct labels *)r);
}

/* ---- on the device ---- */

const ssq_tensor *labels_words(const struct labels *l)
{
    return l->flag == NULL ? l->words : l->flag;
}

const ssq_tensor *labels_flag(const struct labels *l)
{
    return l->flag;
}

ssq_status labels_check(struct labels *l, ssq_queue *queue, bool training,
                        const ssq_tensor *target, int64_t n,
                        int64_t ignore_index)
{
    ssq_status st = ssq_index_check(
        queue, SSQ_INDEX_CHECK(.index = target,
                               .record = training ? l->trained : l->evaluated,
                               .n = n, .ignore_index = ignore_index));
    if (st != SSQ_OK)
        return st;
    bool recorded;
    l->checked = l->checked || training;
    atomic_store(&l->stale, true);
    st = queue_recorded(queue, &recorded);
    if (recorded || queue_capturing(queue))
        atomic_store(&l->captured, true);
    return st;
}

ssq_status labels_set_flag(struct labels *l, ssq_queue *queue)
{
    ssq_status st =
        ssq_sub(queue, SSQ_SUB(.a = l->count, .b = l->cleared, .y = l->wrong));
    if (st == SSQ_OK)
        st = ssq_cast(queue, SSQ_CAST(.x = l->wrong, .y = l->first));
    return st;
}

/* The call may be repeated: the sum of flags is only compared with its last
 * value. This rank does not know about another rank's labels until the words
 * have been sent. */
ssq_status labels_clear(struct labels *l, ssq_queue *queue, bool summed)
{
    ssq_status st = SSQ_OK;
    if (l->flag != NULL && summed) {
        st = ssq_add(queue,
                     SSQ_ADD(.a = l->summed, .b = l->first, .y = l->summed));
        atomic_store(&l->stale, true);
    }
    if (st == SSQ_OK && l->checked)
        st = ssq_copy(queue, SSQ_COPY(.x = l->count, .y = l->cleared));
    if (st == SSQ_OK)
        l->checked = false;
    return st;
}

/* ---- creation ---- */

static void labels_free(struct object *o)
{
    struct labels *l = (struct labels *)o;
    ssq_tensor **all[] = {&l->words,     &l->cleared, &l->count, &l->trained,
                          &l->evaluated, &l->summed,  &l->wrong, &l->first,
                          &l->flag,      &l->block};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        ssq_tensor_destroy(all[i]);
    readback_put(l->readback);
    mem_free(l);
}

void labels_destroy(struct labels *l, ssq_queue *queue)
{
    if (l == NULL)
        return;
    report_remove(queue, &l->report);
    object_put(&l->report.object);
}

static ssq_status labels_part(const struct labels *l, int64_t from, int64_t n,
                              ssq_tensor **part)
{
    return ssq_tensor_slice(l->block, 0, from, from + n, 1, part);
}

static ssq_status make_flag(struct labels *l, ssq_queue *queue)
{
    const int64_t two = 2, one = 1;
    ssq_status st =
        tensor_create(ssq_queue_device(queue), SSQ_F32, 1, &two, &l->flag);
    if (st == SSQ_OK)
        st = ssq_fill(queue, SSQ_FILL(.x = l->flag, .value = 0.0));
    if (st == SSQ_OK)
        st = ssq_tensor_slice(l->flag, 0, 0, 1, 1, &l->first);
    if (st == SSQ_OK)
        st = ssq_tensor_from_buffer(
            l->block->view.buffer, SSQ_F32, 1, &one, NULL,
            l->block->view.offset + SUMMED * sizeof(uint32_t), &l->summed);
    return st;
}

static ssq_status labels_create_views(struct labels *l, ssq_queue *queue,
                                      bool ranks)
{
    const uint32_t words[WORDS] = {[MAGIC] = MAGIC_VALUE};
    const int64_t n = WORDS;
    l->readback = readback_create(words, WORDS, MAGIC);
    ssq_status st = l->readback == NULL ? SSQ_ERR_NOMEM : SSQ_OK;
    if (st == SSQ_OK)
        st = tensor_create(ssq_queue_device(queue), SSQ_I32, 1, &n, &l->block);
    if (st == SSQ_OK)
        st = queue_upload_now(queue, &l->block->view, words, sizeof(words));
    if (st == SSQ_OK)
        st = labels_part(l, CLEARED, 2, &l->words);
    if (st == SSQ_OK)
        st = labels_part(l, CLEARED, 1, &l->cleared);
    if (st == SSQ_OK)
        st = labels_part(l, TRAINED, 1, &l->count);
    if (st == SSQ_OK)
        st = labels_part(l, TRAINED, INDEX_WORDS, &l->trained);
    if (st == SSQ_OK)
        st = labels_part(l, EVALUATED, INDEX_WORDS, &l->evaluated);
    if (st == SSQ_OK)
        st = labels_part(l, WRONG, 1, &l->wrong);
    return st == SSQ_OK && ranks ? make_flag(l, queue) : st;
}

ssq_status labels_create(ssq_queue *queue, bool ranks, struct labels **labels)
{
    struct labels *l = mem_alloc(sizeof(*l));
    if (l == NULL)
        return error_nomem("trainer_create", sizeof(*l));
    object_init(&l->report.object, labels_free);
    l->report.send = report_send;
    l->report.get_error = report_get_error;
    ssq_status st = labels_create_views(l, queue, ranks);
    if (st != SSQ_OK) {
        object_put(&l->report.object);
        return st;
    }
    report_add(queue, &l->report);
    *labels = l;
    return SSQ_OK;
}
