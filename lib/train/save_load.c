/* SPDX-License-Identifier: Apache-2.0 */
/* save_load.c - save a trainer to a file, and load it. */
#include <sesqui/checkpoint.h>

#include "lib/amp/optimizer/optimizer.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/core/queue/queue.h"
#include "lib/tape/params.h"
#include "lib/train/trainer.h"

#include <string.h>

/* The trainer's words in a checkpoint: the number of losses in the current
 * window, their sum, and the number of steps, lower half first. Older files
 * contain only the first two. */
#define WORDS       4
#define WORDS_LEAST 2

static ssq_status save_check(const ssq_trainer *t, const char *what)
{
    if (t == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: trainer is NULL", what);
    if (t->ended)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the training has ended: ssq_checkpoint_save "
                         "takes the parameters",
                         what);
    if (t->passes > 0 || t->due != DUE_NOTHING)
        return trainer_refuse_accumulating(t, what);
    return SSQ_OK;
}

static struct checkpoint save_parts_of(ssq_trainer *t, const char *what,
                                       uint32_t words[WORDS])
{
    return (struct checkpoint){.what = what,
                               .queue = t->queue,
                               .params = t->params,
                               .optimizer = t->optimizer,
                               .scaler = t->scaler,
                               .words = words,
                               .n_words = WORDS,
                               .least_words = WORDS_LEAST,
                               .whole = true,
                               .elsewhere =
                                   t->shard && ssq_comm_rank(t->comm) > 0,
                               .user = t};
}

/* Refuse to save if the optimizer lacks a parameter: such a file could not be
 * loaded. */
static ssq_status check_params_added(const ssq_trainer *t, const char *what)
{
    for (size_t i = t->params_added; t->params_added > 0 && i < t->params->n;
         i++) {
        const struct param *p = param_of(t->params, (uint32_t)i);
        if (!p->state)
            return trainer_refuse_param(p, what);
    }
    return SSQ_OK;
}

ssq_status ssq_trainer_save(ssq_trainer *trainer, const char *path)
{
    static const char what[] = "trainer_save";
    uint32_t words[WORDS] = {0};
    ssq_status st = save_check(trainer, what);
    if (st != SSQ_OK)
        return st;
    if (trainer->load_failed)
        return trainer_refuse_failed_load(what);
    st = check_params_added(trainer, what);
    if (st != SSQ_OK)
        return st;
    float sum = 0.0f;
    trainer_drop_nan_losses(trainer);
    st = labels_send(trainer->labels, trainer->queue);
    if (st == SSQ_OK && trainer->window.losses > 0)
        st = ssq_tensor_read(trainer->queue, trainer->sum_loss, &sum,
                             sizeof(sum), SSQ_F32);
    ssq_status synced = queue_wait(trainer->queue);
    st = st != SSQ_OK ? st : synced;
    if (st == SSQ_OK)
        st = labels_get_error(trainer->labels);
    if (st != SSQ_OK)
        return st;
    words[0] = trainer->window.losses;
    words[2] = (uint32_t)trainer->steps;
    words[3] = (uint32_t)(trainer->steps >> 32);
    memcpy(&words[1], &sum, sizeof(sum));
    struct checkpoint c = save_parts_of(trainer, what, words);
    if (trainer->params_added == 0) /* the first step adds parameters to it */
        c.optimizer = NULL;
    st = trainer_write_weights(trainer, &c.weights);
    if (st == SSQ_OK)
        st = checkpoint_save(&c, path);
    mem_free(c.weights);
    return st;
}

struct save_loading {
    ssq_trainer *trainer;
    struct checkpoint c;
    double *weights; /* of the ranks; owned; NULL if all are equal */
};

/* If a pattern of ssq_trainer_group() matches no parameter, change the status:
 * of a load, NOT_FOUND means that the file does not exist. */
static ssq_status save_add_params(void *user)
{
    const struct save_loading *l = user;
    ssq_trainer *t = l->trainer;
    ssq_status st = t->params_added == 0 ? trainer_add_params(t) : SSQ_OK;
    return st == SSQ_ERR_NOT_FOUND ? error_set(SSQ_ERR_INVALID, "%s: %s",
                                               l->c.what, ssq_last_error())
                                   : st;
}

static ssq_status save_check_weights(void *user)
{
    struct save_loading *l = user;
    return trainer_read_weights(l->trainer, l->c.weights, &l->weights);
}

/* Undo trainer_add_params() after a failed load. The optimizer no longer has
 * the parameters that the load added, but may have some that the program added.
 */
static void save_undo_add_params(ssq_trainer *t, size_t added,
                                 const char *closed)
{
    t->params->closed = closed;
    for (size_t i = added; i < t->params->n; i++) {
        struct param *p = param_of(t->params, (uint32_t)i);
        p->given = optimizer_find(t->optimizer, p->name) != NULL;
    }
    t->params_added = added;
}

ssq_status ssq_trainer_load(ssq_trainer *trainer, const char *path)
{
    static const char what[] = "trainer_load";
    uint32_t words[WORDS] = {0};
    float sum;
    ssq_status st = trainer_check_not_inside(trainer, what);
    if (st == SSQ_OK)
        st = save_check(trainer, what);
    if (st != SSQ_OK)
        return st;
    struct save_loading l = {trainer, save_parts_of(trainer, what, words),
                             NULL};
    struct checkpoint *c = &l.c;
    c->elsewhere = false; /* every rank reads */
    const char *closed = trainer->params->closed;
    size_t added = trainer->params_added;
    c->give = save_add_params;
    c->check = save_check_weights;
    c->user = &l;
    ssq_tape_begin(trainer->tape, false);
    st = checkpoint_load(c, path);
    if (st == SSQ_OK) {
        memcpy(&sum, &words[1], sizeof(sum));
        st = ssq_tensor_write(trainer->queue, trainer->sum_loss, &sum,
                              sizeof(sum), SSQ_F32);
        ssq_status synced = queue_wait(trainer->queue);
        st = st == SSQ_OK ? synced : st;
        c->written = true;
        memcpy(trainer->loaded, c->digest, sizeof(c->digest));
    }
    if (st == SSQ_OK)
        trainer_replace_weights(trainer, &l.weights);
    mem_free(l.weights);
    mem_free(c->weights);
    if (st != SSQ_OK)
        save_undo_add_params(trainer, added, closed);
    if (c->written) { /* other ranks have loaded too: compare again */
        trainer->broadcast = 0;
        trainer->facts_compared = trainer->stepped = false;
        trainer->load_failed = st != SSQ_OK;
    }
    if (st != SSQ_OK)
        return st;
    trainer->steps = (uint64_t)words[3] << 32 | words[2];
    (void)labels_take_nan(trainer->labels); /* of losses that are replaced */
    trainer->window =
        (struct window){.losses = words[0], .steps = trainer->steps};
    trainer->sent.losses = 0;
    ssq_params_clean(trainer->params);
    return SSQ_OK;
}
