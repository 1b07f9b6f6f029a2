/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - check the arguments of saving and loading. */
#include "lib/amp/optimizer/optimizer.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/checkpoint/disk.h"
#include "lib/core/queue/queue.h"
#include "lib/tape/params.h"

ssq_status checkpoint_parts(struct checkpoint *c, const char *what,
                            ssq_queue *queue, const ssq_checkpoint_args *args)
{
    *c = (struct checkpoint){.what = what, .queue = queue};
    if (queue == NULL || args == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         queue == NULL ? "queue" : "args");
    if (args->struct_size != sizeof(*args))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         args->struct_size, sizeof(*args));
    if (args->params == NULL && args->optimizer == NULL && args->scaler == NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: params, optimizer and scaler are all NULL", what);
    c->params = args->params;
    c->optimizer = args->optimizer;
    c->scaler = args->scaler;
    return SSQ_OK;
}

ssq_status checkpoint_call(const struct checkpoint *c, const char *path)
{
    ssq_status st = queue_check(c->queue, c->what);
    if (st != SSQ_OK)
        return st;
    if (!c->elsewhere)
        st = disk_path_check(c->what, path);
    if (st == SSQ_OK)
        st = queue_check_runs(c->queue, c->what);
    if (st != SSQ_OK)
        return st;
    if (c->params != NULL && c->params->device != c->queue->device)
        return error_set(SSQ_ERR_INVALID,
                         "%s: params and queue are of different devices",
                         c->what);
    if (c->optimizer != NULL && (!c->whole || c->optimizer->n > 0))
        st = optimizer_at_rest(c->queue, c->optimizer, c->what);
    size_t bytes; /* a call without a blob only checks that no update is
                     pending */
    if (st == SSQ_OK && c->scaler != NULL)
        st = ssq_scaler_save(c->queue, c->scaler, NULL, 0, &bytes);
    return st;
}
