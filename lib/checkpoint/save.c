/* SPDX-License-Identifier: Apache-2.0 */
/* save.c - a training becomes a file. */
#include "lib/amp/optimizer.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/checkpoint/write.h"
#include "lib/core/choices.h"
#include "lib/core/queue.h"
#include "lib/tape/params.h"

#include <stdio.h>
#include <string.h>

static ssq_status add_params(const struct checkpoint *c, struct writing *w)
{
    const ssq_params *p = c->params;
    const uint32_t words[PARAMS_WORDS] = {p->draws, (uint32_t)p->options.seed,
                                          (uint32_t)(p->options.seed >> 32)};
    ssq_status st = writing_note(w, "", "sesqui.policy", p->policy_name);
    if (st == SSQ_OK)
        st = writing_bytes(w, OWN_PARAMS, SSQ_U32, PARAMS_WORDS, words);
    for (size_t i = 0; i < p->n && st == SSQ_OK; i++) {
        const struct param *x = &p->at[i];
        char number[40];
        if (strncmp(x->name, OWN, sizeof(OWN) - 1) == 0)
            return error_set(SSQ_ERR_INVALID,
                             "%s: the name of parameter \"%.100s\" begins with "
                             "\"" OWN "\"",
                             c->what, x->name);
        snprintf(number, sizeof(number), "%zu%s%s", i,
                 x->state ? PARAM_STATE : "", x->full ? PARAM_FULL : "");
        st = writing_tensor(w, "", x->name, x->tensor);
        if (st == SSQ_OK)
            st = writing_note(w, PARAM_KEY, x->name, number);
    }
    return st;
}

static ssq_status add_state(void *user, const char *name,
                            const ssq_tensor *tensor)
{
    return writing_tensor(user, OWN_OPTIMIZER, name, tensor);
}

static ssq_status add_scaler(const struct checkpoint *c, struct writing *w)
{
    size_t bytes = 0;
    ssq_status st = ssq_scaler_save(c->queue, c->scaler, NULL, 0, &bytes);
    if (st != SSQ_OK)
        return st;
    unsigned char *blob = mem_alloc_array(bytes, 1);
    if (blob == NULL)
        return error_nomem(c->what, bytes);
    st = ssq_scaler_save(c->queue, c->scaler, blob, bytes, NULL);
    if (st == SSQ_OK)
        st = writing_bytes(w, OWN_SCALER, SSQ_U8, bytes, blob);
    mem_free(blob);
    return st;
}

/* What decides the bits of the training that goes on from here. */
static ssq_status add_choices(const struct checkpoint *c, struct writing *w)
{
    struct choices choice;
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < CHOICES && st == SSQ_OK; i++) {
        choices_of(ssq_queue_device(c->queue), i, &choice);
        st = writing_note(w, CHOICE_KEY, choice.name, choice.text);
    }
    return st;
}

static ssq_status add_all(const struct checkpoint *c, struct writing *w)
{
    ssq_status st = writing_note(w, "", "sesqui.version", CHECKPOINT_VERSION);
    if (st == SSQ_OK && c->weights != NULL)
        st = writing_note(w, "", "sesqui.weights", c->weights);
    if (st == SSQ_OK)
        st = add_choices(c, w);
    if (st == SSQ_OK && c->params != NULL)
        st = add_params(c, w);
    if (st == SSQ_OK && c->optimizer != NULL) {
        st = writing_note(w, "", "sesqui.optimizer",
                          optimizer_kinds[c->optimizer->kind].name);
        if (st == SSQ_OK)
            st = ssq_optimizer_visit(c->queue, c->optimizer, add_state, w);
    }
    if (st == SSQ_OK && c->scaler != NULL)
        st = add_scaler(c, w);
    if (st == SSQ_OK && c->words != NULL)
        st = writing_bytes(w, OWN_TRAINER, SSQ_U32, c->n_words, c->words);
    return st;
}

ssq_status checkpoint_save(const struct checkpoint *c, const char *path)
{
    struct writing w;
    ssq_status st = checkpoint_call(c, path);
    if (st != SSQ_OK)
        return st;
    writing_begin(&w, c->what, c->queue);
    st = add_all(c, &w);
    if (st == SSQ_OK)
        st = writing_end(&w, path);
    writing_free(&w);
    return st;
}

/* ---- the public call ---- */

ssq_status ssq_checkpoint_save(ssq_queue *queue, const char *path,
                               const ssq_checkpoint_args *args)
{
    struct checkpoint c;
    ssq_status st = checkpoint_parts(&c, "checkpoint_save", queue, args);
    return st == SSQ_OK ? checkpoint_save(&c, path) : st;
}
