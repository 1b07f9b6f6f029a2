/* SPDX-License-Identifier: Apache-2.0 */
/* tape.c - tapes, passes, scopes, and regions that are not recorded. */
#include "lib/tape/tape.h"

#include <sesqui/ops/data.h>

#include "lib/tape/params.h"

#include <string.h>

/* ---- the object ---- */

static void tape_let_go(ssq_tape *t)
{
    written_reset(t);
    ssq_buffer *const *held = t->buffers.at;
    for (size_t i = 0; i < t->buffers.n; i++)
        object_put(&held[i]->object);
    t->buffers.n = 0;
}

static void tape_free(struct object *o)
{
    ssq_tape *t = (ssq_tape *)o;
    struct value *const *blocks = t->blocks.at;
    tape_let_go(t);
    for (size_t i = 0; i < t->blocks.n; i++)
        mem_free(blocks[i]);
    list_free(&t->blocks);
    list_free(&t->nodes);
    list_free(&t->bytes);
    list_free(&t->scopes);
    list_free(&t->texts);
    list_free(&t->used);
    list_free(&t->scratch);
    list_free(&t->stretches);
    list_free(&t->buffers);
    arena_free(&t->arena);
    autocast_free(t);
    ssq_tensor_destroy(&t->one);
    ssq_tensor_destroy(&t->step);
    if (t->params != NULL)
        object_put(&t->params->object);
    object_put(&t->queue->object);
    mem_free(t);
}

/* Create the gradient of a loss without a scaler. */
static ssq_status tape_make_one(ssq_tape *t)
{
    ssq_status st = tensor_create(t->queue->device, SSQ_F32, 0, NULL, &t->one);
    return st == SSQ_OK
               ? ssq_fill(t->queue, SSQ_FILL(.x = t->one, .value = 1.0))
               : st;
}

ssq_status ssq_tape_create(ssq_queue *queue, ssq_params *params,
                           ssq_tape **tape)
{
    static const char what[] = "tape_create";
    if (params == NULL || tape == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         params == NULL ? "params" : "tape");
    ssq_status st = queue_check(queue, what);
    if (st == SSQ_OK)
        st = queue_check_runs(queue, what);
    if (st != SSQ_OK)
        return st;
    if (params->device != queue->device)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the queue and the parameters are of different "
                         "devices",
                         what);
    ssq_tape *t = mem_alloc(sizeof(*t));
    if (t == NULL)
        return error_nomem(what, sizeof(*t));
    object_init(&t->object, tape_free);
    object_get(&queue->object);
    t->queue = queue;
    object_get(&params->object);
    t->params = params;
    t->removals = params->removals;
    st = autocast_begin(t, tape_ops, params->policy_name);
    if (st == SSQ_OK)
        st = tape_make_one(t);
    if (st != SSQ_OK) {
        object_put(&t->object);
        return st;
    }
    *tape = t;
    return SSQ_OK;
}

void ssq_tape_destroy(ssq_tape **tape)
{
    if (tape == NULL || *tape == NULL)
        return;
    object_put(&(*tape)->object);
    *tape = NULL;
}

/* ---- passes ---- */

void ssq_tape_begin(ssq_tape *tape, bool training)
{
    if (tape == NULL)
        return;
    tape_let_go(tape);
    params_drop_origins(tape->params);
    arena_reset(&tape->arena);
    tape->nvalues = 0;
    tape->texts.n = tape->nodes.n = tape->bytes.n = tape->scopes.n =
        tape->used.n = 0;
    tape->pass++;
    tape->training = training;
    tape->removals = tape->params->removals;
    tape->walked = false;
    tape->quiet = tape->draws = tape->recomputing = 0;
    tape->stretches.n = 0;
    tape->telling = log_enabled("autocast");
    autocast_reset(tape);
    tape->status = SSQ_OK;
    tape->text[0] = tape->scope[0] = '\0';
}

/* ---- regions ---- */

/* The length of the scope before each push is stored for the pop. */
void tape_push(ssq_tape *tape, const char *name, const char *where)
{
    static const char op[] = "tape_push";
    if (tape == NULL || tape->status != SSQ_OK)
        return;
    char inner[SSQ_PARAM_NAME];
    size_t *was = list_add(&tape->scopes, 1, sizeof(*was));
    ssq_status st =
        was == NULL ? SSQ_ERR_NOMEM : scope_join(tape, name, op, inner);
    if (st != SSQ_OK) {
        latch(tape, st, where, op);
        return;
    }
    *was = strlen(tape->scope);
    memcpy(tape->scope, inner, sizeof(inner));
}

void ssq_tape_push(ssq_tape *tape, const char *name)
{
    tape_push(tape, name, "push");
}

void ssq_tape_pop(ssq_tape *tape)
{
    static const char op[] = "tape_pop";
    if (tape == NULL || tape->status != SSQ_OK)
        return;
    if (tape->scopes.n == 0) {
        latch(tape, error_set(SSQ_ERR_INVALID, "%s: nothing was pushed", op),
              "pop", op);
        return;
    }
    const size_t *was = tape->scopes.at;
    tape->scope[was[--tape->scopes.n]] = '\0';
}

void ssq_tape_pause(ssq_tape *tape)
{
    if (tape != NULL)
        tape->quiet++;
}

void ssq_tape_resume(ssq_tape *tape)
{
    static const char op[] = "tape_resume";
    if (tape == NULL)
        return;
    if (tape->quiet > 0)
        tape->quiet--;
    else
        latch(tape, error_set(SSQ_ERR_INVALID, "%s: nothing was paused", op),
              "resume", op);
}

/* ---- figures ---- */

ssq_status ssq_tape_stats_get(const ssq_tape *tape, ssq_tape_stats *stats)
{
    static const char what[] = "tape_stats_get";
    if (tape == NULL || stats == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         tape == NULL ? "tape" : "stats");
    if (stats->struct_size != sizeof(*stats))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         stats->struct_size, sizeof(*stats));
    const struct arena *a = &tape->arena;
    stats->vars = tape->nvalues;
    stats->nodes = (uint32_t)tape->nodes.n;
    stats->bytes = a->used;
    stats->peak_bytes = a->peak;
    stats->device_bytes = a->taken;
    stats->passes = tape->pass;
    stats->replayed = tape->replayed;
    stats->device_allocations = a->allocations;
    stats->host_allocations =
        a->host_allocations + tape->blocks.n + tape->blocks.grown +
        tape->nodes.grown + tape->bytes.grown + tape->scopes.grown +
        tape->used.grown + tape->buffers.grown + tape->scratch.grown +
        tape->stretches.grown + tape->regions.grown + tape->texts.grown +
        tape->policies.grown + 2 * tape->policies.n;
    return SSQ_OK;
}
