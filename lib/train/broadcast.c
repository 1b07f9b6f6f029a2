/* SPDX-License-Identifier: Apache-2.0 */
/* broadcast.c - copy rank 0's initial parameter values to all ranks.
 *
 * Parameters that exist when the training begins are broadcast as one list.
 * Parameters that the first pass creates are broadcast one by one when they are
 * created, because the pass reads them immediately.
 *
 * The float32 values are broadcast, also for 16-bit parameters, because masters
 * begin with these values. */
#include "lib/core/queue/replay.h"
#include "lib/tape/params.h"
#include "lib/train/trainer.h"

#include <sesqui/ops/data.h>

#include <stdio.h>
#include <string.h>

/* Longest tag of a collective. */
#define TAG_BYTES 32

/* Write the parameter's exact values to w->to. On all ranks except 0, the
 * broadcast overwrites them. */
static ssq_status broadcast_begin_param(ssq_trainer *t, size_t i,
                                        struct param_writing *w)
{
    struct param *p = param_of(t->params, (uint32_t)i);
    const ssq_tensor *value;
    ssq_tensor *made = NULL;
    ssq_status st = param_exact(p, t->queue, t->optimizer, &value, &made);
    if (st == SSQ_OK)
        st = param_write_begin(w, t->params, p, t->optimizer);
    if (st == SSQ_OK && value != w->to && view_elements(&value->view) > 0)
        st = ssq_cast(t->queue, SSQ_CAST(.x = value, .y = w->to));
    ssq_tensor_destroy(&made);
    return st;
}

/* Broadcast the values to all ranks. The tag is the end of the name, because
 * names usually differ at their end. */
static ssq_status broadcast_values(ssq_trainer *t,
                                   const struct param_writing *w,
                                   const ssq_tensor **to, size_t n)
{
    char tag[TAG_BYTES];
    const char *name = n == 1 ? w->param->name : "initial values";
    size_t length = strlen(name), most = TAG_BYTES - 1;
    (void)snprintf(tag, sizeof(tag), "%s",
                   name + (length > most ? length - most : 0));
    for (size_t i = 0; i < n; i++)
        to[i] = w[i].to;
    return ssq_comm_broadcast(
        t->queue, t->comm,
        SSQ_COMM_BROADCAST(.tensors = to, .n = n, .tag = tag));
}

/* Write n parameters, beginning with the first that does not have rank 0's
 * values. */
static ssq_status broadcast_params(ssq_trainer *t, struct param_writing *w,
                                   const ssq_tensor **to, size_t n)
{
    size_t begun = 0;
    ssq_status st = SSQ_OK;
    for (; begun < n && st == SSQ_OK; begun++)
        st = broadcast_begin_param(t, t->broadcast + begun, &w[begun]);
    if (st == SSQ_OK)
        st = broadcast_values(t, w, to, n);
    for (size_t i = 0; i < begun; i++) {
        ssq_status end = param_write_end(&w[i], t->queue, st);
        st = st == SSQ_OK ? end : st;
    }
    return st;
}

ssq_status trainer_broadcast_params(ssq_trainer *t)
{
    if (t->removals != t->params->removals)
        t->broadcast = 0; /* the first ones may be other parameters now */
    t->removals = t->params->removals;
    if (t->comm == NULL || t->broadcast == t->params->n)
        return SSQ_OK;
    size_t n = t->params->n - t->broadcast;
    struct param_writing *w = mem_alloc_array(n, sizeof(*w));
    const ssq_tensor **to = mem_alloc_array(n, sizeof(*to));
    ssq_status st = w == NULL || to == NULL
                        ? error_nomem("trainer_begin", n * sizeof(*w))
                        : replay_pause(t->queue);
    if (st == SSQ_OK) {
        st = broadcast_params(t, w, to, n);
        replay_resume(t->queue);
    }
    if (st == SSQ_OK)
        t->broadcast += n;
    mem_free(w);
    mem_free(to);
    return st;
}
