/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_schedule.c - a group's schedules and their device tables.
 *
 * A captured step reads the table that its list had at the capture. So a new
 * schedule is written into the old one's table if it fits, and captured steps
 * follow it. A longer schedule gets a new table, which only later steps and
 * captures read. */
#include "lib/amp/optimizer/optimizer.h"

#include "lib/core/core.h"

#include <float.h>
#include <string.h>

void optimizer_tell(ssq_queue *queue, const ssq_optimizer *o)
{
    /* Only ssq_optimizer_get needs t on the host, and only with a schedule. A
     * capture has not changed t; its launches call this function. */
    bool follows = false;
    for (const ssq_group *g = o->groups; g != NULL; g = g->next)
        follows = follows || g->schedule[SCHEDULE_LR].on ||
                  g->schedule[SCHEDULE_MOMENTUM].on;
    if (follows && o->state != NULL && !queue_capturing(queue))
        (void)readback_enqueue(o->state->readback, queue, NULL,
                               o->state->control);
}

/* Without a state no step has been made. A read of the readback returns the
 * newest words that have arrived, or the initial ones. */
uint32_t optimizer_known_t(const ssq_optimizer *o)
{
    uint32_t words[CONTROL_WORDS] = {0};
    if (o->state != NULL)
        (void)readback_read(o->state->readback, words);
    return words[CONTROL_T];
}

/* Write the existing table with one command, because captured steps read it.
 * The words are first uploaded to another table, which takes several commands.
 * If one of them fails, the old schedule is unchanged. Values after the new end
 * stay, and are not read: the first word is the number of values. */
static ssq_status rewrite(ssq_queue *queue, const ssq_tensor *table,
                          const uint32_t *words)
{
    ssq_tensor *staged = NULL;
    ssq_status st = schedule_table(queue, words, &staged);
    if (st != SSQ_OK)
        return st;
    struct view to = table->view;
    to.shape[0] = staged->view.shape[0];
    st = enqueue_copy(queue, &staged->view, &to);
    object_put(&staged->object);
    return st;
}

/* Create a new table, and a list that contains it. Lists are never changed,
 * because queues and graphs hold them. The state gets a new list, which is
 * created before the old one is dropped. */
static ssq_status optimizer_schedule_replace(ssq_queue *queue, ssq_group *g,
                                             int which, const uint32_t *words,
                                             ssq_tensor **table)
{
    struct state *state = g->optimizer->state;
    ssq_status st = schedule_table(queue, words, table);
    if (st != SSQ_OK)
        return st;
    struct view_list *list = schedules_list(g->optimizer, g, which, *table);
    if (list == NULL) {
        object_put(&(*table)->object);
        *table = NULL;
        return SSQ_ERR_NOMEM;
    }
    object_put(&state->schedules->object);
    state->schedules = list;
    return SSQ_OK;
}

/* Write the schedule to the device, and set *table to the table to keep. A
 * table has one word more than values, so it is long enough if it has more
 * words than there are values. If the old table is replaced, it is dropped only
 * when nothing can fail any more. */
static ssq_status put_on_device(ssq_queue *queue, ssq_group *g, int which,
                                const ssq_schedule *what, ssq_tensor **table)
{
    const struct schedule *old = &g->schedule[which];
    if (g->optimizer->state == NULL) { /* created with the state, from `what` */
        if (old->words != NULL)
            object_put(&old->words->object);
        *table = NULL;
        return SSQ_OK;
    }
    *table = old->words;
    uint32_t *words = NULL;
    ssq_status st = schedule_words(what, &words);
    if (st != SSQ_OK)
        return st;
    bool fits = old->words != NULL &&
                view_elements(&old->words->view) > (int64_t)words[0];
    st = fits ? rewrite(queue, old->words, words)
              : optimizer_schedule_replace(queue, g, which, words, table);
    if (st == SSQ_OK && !fits && old->words != NULL)
        object_put(&old->words->object);
    mem_free(words);
    return st;
}

/* A scheduled beta1 must be below 1, because the step divides by 1 - beta1^t.
 * It is float32 on the device, and from 1 - 2^-25 on it is rounded to 1.
 * Computing every value also finds errors of the schedule itself. The value at
 * 0 is computed even if there are no steps, for its error. */
static ssq_status optimizer_schedule_check_values(const ssq_group *g, int which,
                                                  const ssq_schedule *s)
{
    uint32_t kind = g->optimizer->kind;
    bool beta =
        which == SCHEDULE_MOMENTUM && optimizer_reads(kind, OPTION_BETAS);
    double value;
    ssq_status st = ssq_schedule_value(s, 0, &value);
    for (uint32_t t = 0; st == SSQ_OK && (t == 0 || t < s->total_steps); t++) {
        value = schedule_at(s, t);
        if (!(value >= 0.0 && value <= (double)FLT_MAX))
            st = error_set(SSQ_ERR_INVALID,
                           "optimizer_schedule: %s is %g at step %u, expected "
                           "0 or more, and a float32",
                           which == SCHEDULE_LR ? "lr" : "momentum", value,
                           (unsigned)t);
        if (st == SSQ_OK && beta && value >= 1.0 - 0x1p-25)
            st = error_set(SSQ_ERR_INVALID,
                           "optimizer_schedule: beta1 is %.9g at step %u, "
                           "expected < 1",
                           value, (unsigned)t);
    }
    return st;
}

/* The caller may free its table after the call, so it is copied, and the stored
 * schedule points to the copy. The group changes last. */
static ssq_status set_schedule(ssq_queue *queue, ssq_group *g, int which,
                               const ssq_schedule *what)
{
    struct schedule fresh = {.on = true, .what = *what};
    if (what->kind == SSQ_SCHEDULE_TABLE) {
        fresh.table = mem_alloc_array(what->total_steps, sizeof(double));
        if (fresh.table == NULL)
            return error_nomem("optimizer_schedule",
                               what->total_steps * sizeof(double));
        memcpy(fresh.table, what->table, what->total_steps * sizeof(double));
        fresh.what.table = fresh.table;
    }
    ssq_status st = put_on_device(queue, g, which, &fresh.what, &fresh.words);
    if (st != SSQ_OK) {
        mem_free(fresh.table);
        return st;
    }
    mem_free(g->schedule[which].table);
    g->schedule[which] = fresh;
    return SSQ_OK;
}

/* The table stays, with 0 values: tick then uses the group's own word. So
 * captured steps see it too, and a later schedule may fit into the table. */
static ssq_status remove_schedule(ssq_queue *queue, struct schedule *s)
{
    const uint32_t none = 0;
    ssq_status st = SSQ_OK;
    if (s->words != NULL)
        st = upload_words(queue, s->words, 0, &none, 1);
    if (st == SSQ_OK) {
        mem_free(s->table);
        s->table = NULL;
        s->on = false;
    }
    return st;
}

/* Set *which for a schedule of this hyper-parameter. A schedule of momentum may
 * be removed even if the group has no slot. To be followed it needs the slot,
 * which will exist if the state does not exist yet. */
static ssq_status check_which(const ssq_group *g, ssq_hyper hyper,
                              const ssq_schedule *what, int *which)
{
    uint32_t kind = g->optimizer->kind;
    if (hyper != SSQ_HYPER_LR && hyper != SSQ_HYPER_MOMENTUM)
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_schedule: hyper is %d: lr and momentum "
                         "have schedules",
                         (int)hyper);
    if (hyper == SSQ_HYPER_MOMENTUM &&
        !optimizer_reads(kind, OPTION_MOMENTUM | OPTION_BETAS))
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_schedule: %s has no momentum",
                         optimizer_kinds[kind].name);
    if (hyper == SSQ_HYPER_MOMENTUM && what != NULL && momentum_missing(g))
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_schedule: the group began without momentum "
                         "and has no buffer for it");
    *which = hyper == SSQ_HYPER_LR ? SCHEDULE_LR : SCHEDULE_MOMENTUM;
    return SSQ_OK;
}

ssq_status optimizer_schedule_check(ssq_queue *queue, ssq_optimizer *optimizer,
                                    ssq_group **group, ssq_hyper hyper,
                                    const ssq_schedule *schedule, int *which)
{
    ssq_status st = optimizer_call(queue, optimizer, "optimizer_schedule");
    if (st == SSQ_OK && queue_capturing(queue))
        st = error_set(SSQ_ERR_INVALID,
                       "optimizer_schedule: a graph is being captured");
    if (st != SSQ_OK)
        return st;
    if (*group == NULL)
        *group = optimizer->groups;
    if ((*group)->optimizer != optimizer)
        return error_set(
            SSQ_ERR_INVALID,
            "optimizer_schedule: the group belongs to another optimizer");
    st = check_which(*group, hyper, schedule, which);
    return st == SSQ_OK && schedule != NULL
               ? optimizer_schedule_check_values(*group, *which, schedule)
               : st;
}

/* After the change t is sent to the host, which did not get it while there was
 * no schedule. */
ssq_status ssq_optimizer_schedule(ssq_queue *queue, ssq_optimizer *optimizer,
                                  ssq_group *group, ssq_hyper hyper,
                                  const ssq_schedule *schedule)
{
    ssq_group *g = group;
    int which = 0;
    ssq_status st =
        optimizer_schedule_check(queue, optimizer, &g, hyper, schedule, &which);
    if (st != SSQ_OK)
        return st;
    st = schedule == NULL ? remove_schedule(queue, &g->schedule[which])
                          : set_schedule(queue, g, which, schedule);
    if (st == SSQ_OK)
        optimizer_tell(queue, optimizer);
    return st;
}
