/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_report.c - read an optimizer: state by name, masters, which
 * gradient overflowed, counts.
 *
 * All calls wait for the queue, except those that return masters. So none of
 * them is allowed in a capture. */
#include "lib/amp/optimizer/optimizer.h"
#include "lib/amp/optimizer/shards.h"

#include <stdio.h>
#include <string.h>

/* ---- state by name ---- */

/* Return the second half of a state tensor's name. */
static const char *slot_name(uint32_t kind, uint32_t master_kind, size_t slot)
{
    if (slot == SLOT_MASTER)
        return master_kind == MASTER_SPLIT ? "remainder" : "master";
    return optimizer_kinds[kind].slot[slot - SLOT_A].name;
}

/* Slots that the parameter does not have are left out, and have no name. All
 * names use the same memory, so a name is valid only during a call. A remainder
 * has two bytes for each element. */
static ssq_status states_of(const ssq_optimizer *o, size_t i, char *name,
                            size_t bytes, state_fn *fn, void *user)
{
    const struct parameter *p = &o->params[i];
    ssq_status st = SSQ_OK;
    for (int slot = 0; slot < SLOTS && st == SSQ_OK; slot++) {
        bool split = slot == SLOT_MASTER && p->master_kind == MASTER_SPLIT;
        bool there = slot == SLOT_MASTER ? split || p->master_kind == MASTER_F32
                                         : p->group->slot[slot];
        if (!there)
            continue;
        struct state_of s = {.name = name,
                             .here = o->state->slot[i * SLOTS + (size_t)slot],
                             .param = i,
                             .slot = slot,
                             .whole = p->param->view,
                             .from = shard_from(o->state, i)};
        s.whole.buffer = NULL;
        s.whole.dtype = split ? SSQ_U8 : SSQ_F32;
        if (split) {
            s.whole.rank = 1;
            s.whole.shape[0] = 2 * view_elements(&p->param->view);
            s.whole.stride[0] = 1;
            s.from *= 2;
        }
        snprintf(name, bytes, "%s.%s", p->name,
                 slot_name(o->kind, p->master_kind, (size_t)slot));
        st = fn(user, &s);
    }
    return st;
}

/* First "control", then the parameters' tensors. The buffer is as long as the
 * longest name of a parameter with the longest name of a slot. */
ssq_status optimizer_states(const ssq_optimizer *o, state_fn *fn, void *user)
{
    size_t longest = 0;
    for (size_t i = 0; i < o->n; i++) {
        size_t length = strlen(o->params[i].name);
        longest = length > longest ? length : longest;
    }
    size_t bytes = longest + sizeof(".momentum_buffer");
    char *name = mem_alloc(bytes);
    if (name == NULL)
        return error_nomem("optimizer_visit", bytes);
    const struct state_of control = {.name = "control",
                                     .here = o->state->counters,
                                     .slot = -1,
                                     .whole = o->state->counters->view};
    ssq_status st = fn(user, &control);
    for (size_t i = 0; i < o->n && st == SSQ_OK; i++)
        st = states_of(o, i, name, bytes, fn, user);
    mem_free(name);
    return st;
}

struct visit {
    ssq_optimizer_visit_fn fn;
    void *user;
};

/* If fn fails without setting an error text, set one, so that the text of an
 * older error is not reported. */
static ssq_status visit_one(void *user, const struct state_of *s)
{
    const struct visit *v = user;
    char before[ERROR_TEXT];
    if (s->here == NULL)
        return SSQ_OK;
    error_take(before);
    ssq_status st = v->fn(v->user, s->name, s->here);
    if (error_restore(before) && st != SSQ_OK)
        return error_set(st,
                         "optimizer_visit: fn returned %s for %.60s without a "
                         "text",
                         ssq_status_name(st), s->name);
    return st;
}

/* Read t and the random counter after all work on the queue. */
static ssq_status read_counters(ssq_queue *queue, const ssq_optimizer *o,
                                uint32_t words[2])
{
    ssq_status st = queue_download(queue, &o->state->counters->view, words,
                                   2 * sizeof(words[0]));
    ssq_status synced = queue_wait(queue); /* always: the words are ours */
    return st == SSQ_OK ? synced : st;
}

/* Restore the counters if fn has written a t that no run can reach. */
static ssq_status optimizer_report_check_counters(ssq_queue *queue,
                                                  const ssq_optimizer *o,
                                                  const uint32_t before[2])
{
    uint32_t now[2];
    ssq_status st = read_counters(queue, o, now);
    if (st != SSQ_OK || now[CONTROL_T] <= INT32_MAX)
        return st;
    st = queue_upload_now(queue, &o->state->counters->view, before,
                          2 * sizeof(before[0]));
    if (st != SSQ_OK)
        return st;
    return error_set(SSQ_ERR_INVALID,
                     "optimizer_visit: t is %d in \"control\", expected 0 to "
                     "%d: it stays %u",
                     (int)(int32_t)now[CONTROL_T], INT32_MAX,
                     (unsigned)before[CONTROL_T]);
}

/* t is checked after the visit, also if fn has failed, because fn may have
 * written it. If both fail, the status and the text of fn are returned. A
 * schedule that follows t gets the new one. */
ssq_status ssq_optimizer_visit(ssq_queue *queue, ssq_optimizer *optimizer,
                               ssq_optimizer_visit_fn fn, void *user)
{
    const ssq_optimizer *o = optimizer;
    uint32_t before[2];
    ssq_status st = optimizer_call(queue, o, "optimizer_visit");
    if (st == SSQ_OK && queue_capturing(queue))
        st = error_set(SSQ_ERR_INVALID,
                       "optimizer_visit: a graph is being captured");
    if (st == SSQ_OK && fn == NULL)
        st = error_set(SSQ_ERR_INVALID, "optimizer_visit: fn is NULL");
    if (st == SSQ_OK)
        st = optimizer_seal(queue, optimizer, "optimizer_visit");
    if (st == SSQ_OK)
        st = read_counters(queue, o, before);
    if (st != SSQ_OK)
        return st;
    struct visit v = {fn, user};
    ssq_status visited = optimizer_states(o, visit_one, &v);
    char text[ERROR_TEXT];
    if (visited != SSQ_OK)
        error_take(text);
    st = optimizer_report_check_counters(queue, o, before);
    optimizer_tell(queue, o);
    return visited != SSQ_OK ? error_set(visited, "%s", text) : st;
}

/* A NULL group means the default group, as in all calls. */
static ssq_status flat_master(const ssq_optimizer *o, const ssq_group *group,
                              const ssq_tensor **master)
{
    if (!o->options.flat_master)
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_master: name is NULL and flat_master was "
                         "not asked for");
    *master = o->state->flat[group == NULL ? 0 : group->index];
    return SSQ_OK;
}

/* The result is borrowed: the state exists as long as the optimizer. A float32
 * parameter without a master is its own. Split masters are not one tensor.
 * Without a master, the 16-bit parameter has the only value. */
ssq_status ssq_optimizer_master(ssq_optimizer *optimizer,
                                const ssq_group *group, const char *name,
                                const ssq_tensor **master)
{
    const ssq_optimizer *o = optimizer;
    if (o == NULL || master == NULL)
        return error_set(SSQ_ERR_INVALID, "optimizer_master: %s is NULL",
                         o == NULL ? "optimizer" : "master");
    if (group != NULL && group->optimizer != o)
        return error_set(
            SSQ_ERR_INVALID,
            "optimizer_master: the group belongs to another optimizer");
    if (o->state == NULL)
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_master: there are no masters before the "
                         "first step or ssq_optimizer_model_to_master");
    if (o->comm != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_master: the optimizer is distributed: rank "
                         "%u has a part of its masters",
                         ssq_comm_rank(o->comm));
    if (name == NULL)
        return flat_master(o, group, master);
    const struct parameter *p = optimizer_find(o, name);
    if (p == NULL || (group != NULL && p->group != group))
        return error_set(SSQ_ERR_NOT_FOUND,
                         "optimizer_master: no parameter %.40s%s", name,
                         p == NULL ? "" : " in this group");
    if (p->master_kind != MASTER_SELF && p->master_kind != MASTER_F32)
        return error_set(SSQ_ERR_INVALID,
                         "optimizer_master: %.40s has no float32 master: "
                         "masters are %s",
                         name,
                         p->master_kind == MASTER_SPLIT ? "split" : "none");
    *master = p->master_kind == MASTER_SELF
                  ? p->param
                  : o->state->slot[(size_t)(p - o->params) * SLOTS];
    return SSQ_OK;
}

/* ---- words read back ---- */

/* Check a call before it reads words. Without a state there are no words, and a
 * queue that captures does not run its work. */
static ssq_status report_call(ssq_queue *queue, const ssq_optimizer *o,
                              const char *what)
{
    ssq_status st = optimizer_call(queue, o, what);
    if (st == SSQ_OK && queue_capturing(queue))
        st = error_set(SSQ_ERR_INVALID, "%s: a graph is being captured", what);
    if (st == SSQ_OK && o->state == NULL)
        st = error_set(SSQ_ERR_INVALID,
                       "%s: nothing was checked or stepped yet", what);
    return st;
}

/* Read the record and t, after all work on the queue. */
static ssq_status read_now(ssq_queue *queue, ssq_optimizer *o, uint32_t *record,
                           uint32_t *t)
{
    uint32_t counters[2];
    ssq_status st = ssq_tensor_read(queue, o->state->record, record,
                                    RECORD_WORDS * sizeof(*record), SSQ_I32);
    if (st == SSQ_OK)
        st = ssq_tensor_read(queue, o->state->counters, counters,
                             sizeof(counters), SSQ_I32);
    ssq_status synced = queue_wait(queue); /* always: the words are ours */
    if (st == SSQ_OK)
        st = synced;
    if (st != SSQ_OK)
        return st;
    *t = counters[CONTROL_T];
    return SSQ_OK;
}

/* The record keeps the last bad check while later ones are clean, and has its
 * number. The number of the tensor is a device's word. If no parameter has this
 * number, the report has no name. */
ssq_status ssq_optimizer_overflow(ssq_queue *queue, ssq_optimizer *optimizer,
                                  ssq_overflow_report *report)
{
    const ssq_optimizer *o = optimizer;
    uint32_t r[RECORD_WORDS], t;
    if (report == NULL || report->struct_size != sizeof(*report))
        return error_set(SSQ_ERR_INVALID, "optimizer_overflow: report is %s",
                         report == NULL ? "NULL" : "of another struct_size");
    ssq_status st = report_call(queue, o, "optimizer_overflow");
    if (st == SSQ_OK)
        st = read_now(queue, optimizer, r, &t);
    if (st != SSQ_OK)
        return st;
    *report = (ssq_overflow_report)SSQ_OVERFLOW_REPORT_INIT;
    report->check = r[RECORD_BAD_CHECK];
    if (report->check == 0)
        return SSQ_OK;
    snprintf(report->name, sizeof(report->name), "%s",
             r[RECORD_TENSOR] < o->n ? o->params[r[RECORD_TENSOR]].name : "");
    report->index = (uint64_t)r[RECORD_INDEX_HI] << 32 | r[RECORD_INDEX_LO];
    report->nan = r[RECORD_IS_NAN] != 0;
    report->infs = r[RECORD_INFS];
    report->nans = r[RECORD_NANS];
    report->tensors = r[RECORD_TENSORS];
    return SSQ_OK;
}

/* Refused if no norm is measured: the record would contain 0, or a norm from
 * before clipping was switched off, which a caller would take for the norm. */
ssq_status ssq_optimizer_norm(ssq_queue *queue, ssq_optimizer *optimizer,
                              float *norm, uint32_t *t)
{
    uint32_t r[RECORD_WORDS], now;
    ssq_status st = report_call(queue, optimizer, "optimizer_norm");
    if (st == SSQ_OK && norm != NULL &&
        !optimizer_reads(optimizer->kind, OPTION_LAMB) &&
        optimizer->options.clip_norm == 0.0)
        st = error_set(SSQ_ERR_INVALID,
                       "optimizer_norm: clip_norm is 0, so no norm is measured "
                       "(INFINITY measures and never clips)");
    if (st == SSQ_OK)
        st = read_now(queue, optimizer, r, &now);
    if (st != SSQ_OK)
        return st;
    if (norm != NULL)
        *norm = AS_F32(r[RECORD_NORM]);
    if (t != NULL)
        *t = now;
    return SSQ_OK;
}

/* ---- statistics ---- */

/* Return a count that has two words, the lower one first. */
static uint64_t word_pair(const uint32_t *w)
{
    return (uint64_t)w[1] << 32 | w[0];
}

/* The exponent is a signed number in an unsigned word. A C cast of a value
 * above INT32_MAX need not give that number, so its bytes are copied. Counts
 * are added, and the largest exponent is taken, over all tensors. */
static void add_statistics(ssq_statistics *s, const struct parameter *p,
                           const uint32_t *w)
{
    int32_t exponent;
    memcpy(&exponent, &w[STAT_EXPONENT], sizeof(exponent));
    s->elements += (uint64_t)view_elements(&p->param->view);
    s->zeros += word_pair(w + STAT_ZEROS_LO);
    s->subnormals += word_pair(w + STAT_SUBNORMALS_LO);
    s->rounded_away += word_pair(w + STAT_ROUNDED_LO);
    if (exponent > s->max_exponent)
        s->max_exponent = exponent;
}

static ssq_status check_statistics(ssq_queue *queue, const ssq_optimizer *o,
                                   const ssq_statistics *statistics)
{
    if (statistics == NULL || statistics->struct_size != sizeof(*statistics))
        return error_set(
            SSQ_ERR_INVALID, "optimizer_statistics: statistics is %s",
            statistics == NULL ? "NULL" : "of another struct_size");
    ssq_status st = report_call(queue, o, "optimizer_statistics");
    if (st == SSQ_OK && o->state->stats == NULL)
        st = error_set(SSQ_ERR_INVALID,
                       "optimizer_statistics: the optimizer was made without "
                       "statistics");
    return st;
}

/* All words are read even for one parameter: there are eight for each. The copy
 * on the host is freed after the sync. The caller's struct is written as a
 * whole or not at all. */
ssq_status ssq_optimizer_statistics(ssq_queue *queue, ssq_optimizer *optimizer,
                                    const char *name,
                                    ssq_statistics *statistics)
{
    const ssq_optimizer *o = optimizer;
    ssq_status st = check_statistics(queue, o, statistics);
    if (st != SSQ_OK)
        return st;
    const struct parameter *only =
        name == NULL ? NULL : optimizer_find(o, name);
    if (name != NULL && only == NULL)
        return error_set(SSQ_ERR_NOT_FOUND,
                         "optimizer_statistics: no parameter %.40s", name);
    uint32_t *words = mem_alloc_array(o->n * STAT_WORDS, sizeof(*words));
    if (words == NULL)
        return error_nomem("optimizer_statistics",
                           o->n * STAT_WORDS * sizeof(*words));
    st = ssq_tensor_read(queue, o->state->stats, words,
                         o->n * STAT_WORDS * sizeof(*words), SSQ_I32);
    if (st == SSQ_OK)
        st = queue_wait(queue);
    ssq_statistics sum = SSQ_STATISTICS_INIT;
    sum.max_exponent = INT32_MIN;
    for (size_t i = 0; i < o->n && st == SSQ_OK; i++)
        if (only == NULL || only == &o->params[i])
            add_statistics(&sum, &o->params[i], words + i * STAT_WORDS);
    mem_free(words);
    if (st == SSQ_OK)
        *statistics = sum;
    return st;
}
