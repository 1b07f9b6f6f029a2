/* SPDX-License-Identifier: Apache-2.0 */
/* schedule_words.c - schedules as the device reads them: i32 [1 + n], the
 * number of values, then their bits.
 *
 * All values are computed in advance, because only the device knows the number
 * of the next step: a skipped step does not change t. */
#include "lib/amp/optimizer/optimizer.h"

/* The struct belongs to a group, and has no schedule afterwards. */
void schedule_free(struct schedule *s)
{
    mem_free(s->table);
    if (s->words != NULL)
        object_put(&s->words->object);
    *s = (struct schedule){.on = false};
}

ssq_status upload_words(ssq_queue *queue, const ssq_tensor *tensor, uint64_t at,
                        const uint32_t *words, uint64_t n)
{
    /* bytes up to UPLOAD_INLINE are copied at the call, so the caller may free
     * the words on return; this costs an upload for each 128 of them */
    const uint64_t most = UPLOAD_INLINE / sizeof(*words);
    ssq_status st = SSQ_OK;
    for (uint64_t i = 0; i < n && st == SSQ_OK; i += most) {
        uint64_t part = n - i < most ? n - i : most;
        struct view v = tensor->view;
        v.rank = 1;
        v.shape[0] = (int64_t)part;
        v.stride[0] = 1;
        v.offset += (at + i) * sizeof(*words);
        st = queue_upload_now(queue, &v, words + i, part * sizeof(*words));
    }
    return st;
}

/* Each value is rounded to float32 once, in default modes: a small lr near the
 * end may be subnormal. */
ssq_status schedule_words(const ssq_schedule *s, uint32_t **words)
{
    uint32_t *w = mem_alloc_array((size_t)s->total_steps + 1, sizeof(*w));
    if (w == NULL)
        return error_nomem("optimizer_schedule",
                           ((size_t)s->total_steps + 1) * sizeof(*w));
    w[0] = s->total_steps;
    for (uint32_t t = 0; t < s->total_steps; t++) {
        double value = schedule_at(s, t);
        struct fpenv env = fpenv_enter();
        FPENV_KEEP(value);
        w[t + 1] = AS_U32((float)value);
        fpenv_leave(env);
    }
    *words = w;
    return SSQ_OK;
}

/* The tensor is on the queue's device, and allowed in a capture. *table changes
 * only if all words were enqueued. */
ssq_status schedule_table(ssq_queue *queue, const uint32_t *words,
                          ssq_tensor **table)
{
    const int64_t n = (int64_t)words[0] + 1;
    ssq_tensor *t;
    ssq_status st = tensor_create(ssq_queue_device(queue), SSQ_I32, 1, &n, &t);
    if (st != SSQ_OK)
        return st;
    st = upload_words(queue, t, 0, words, (uint64_t)n);
    if (st == SSQ_OK)
        *table = t;
    else
        object_put(&t->object);
    return st;
}

ssq_status schedule_upload(ssq_queue *queue, const struct schedule *s,
                           ssq_tensor **table)
{
    uint32_t *words = NULL;
    ssq_status st = schedule_words(&s->what, &words);
    if (st == SSQ_OK)
        st = schedule_table(queue, words, table);
    mem_free(words);
    return st;
}

/* List all groups' own schedules, except that group's schedule `which` is
 * `words`. The group gets it only after this list was created. */
struct view_list *schedules_list(const ssq_optimizer *o, const ssq_group *group,
                                 int which, const ssq_tensor *words)
{
    struct view_list *l = list_create(2 * (size_t)o->n_groups, "optimizer");
    if (l == NULL)
        return NULL;
    for (const ssq_group *g = o->groups; g != NULL; g = g->next)
        for (int k = 0; k < 2; k++) {
            const ssq_tensor *t =
                g == group && k == which ? words : g->schedule[k].words;
            if (t != NULL)
                list_set(l, 2 * (size_t)g->index + (size_t)k, &t->view,
                         ACCESS_READ);
        }
    return l;
}
