/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - what a trained model writes: token by token, each drawn by the
 * softmax of the logits behind the ones before it. */
#include "examples/gpt/sample.h"

#include "examples/common/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text under way: the last tokens, and where the next one stands. */
struct sample_writing {
    ssq_queue *queue;
    ssq_tensor *x;  /* i32 [1, block] */
    int32_t *token; /* what is in it */
    float *logits;  /* of one place */
    int64_t n;      /* of them are there; the rest is of no matter */
    uint64_t random;
};

/* 0 .. 1, splitmix64. */
static double uniform(uint64_t *random)
{
    uint64_t z = *random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* The logits of the last place. No token sees one behind it. */
static ssq_status ask(const struct sampling *s, struct sample_writing *w)
{
    const int64_t block = s->gpt->block, kinds = s->gpt->vocabulary;
    ssq_tensor *last = NULL;
    ssq_status st = ssq_tensor_write(
        w->queue, w->x, w->token, (size_t)block * sizeof(*w->token), SSQ_I32);
    ssq_tape *t = ssq_trainer_evaluate(s->trainer);
    ssq_var y = gpt_logits(t, s->gpt, w->x, s->place);
    if (st == SSQ_OK)
        st = ssq_tape_status(t);
    if (st == SSQ_OK)
        st = ssq_tensor_slice(ssq_var_tensor(y), 0, w->n - 1, w->n, 1, &last);
    if (st == SSQ_OK)
        st = ssq_tensor_read(w->queue, last, w->logits,
                             (size_t)kinds * sizeof(*w->logits), SSQ_F32);
    if (st == SSQ_OK)
        st = ssq_queue_sync(w->queue);
    ssq_tensor_destroy(&last);
    return st;
}

/* One of the kinds, by their logits. */
static int32_t choose(const struct sampling *s, struct sample_writing *w)
{
    const int64_t kinds = s->gpt->vocabulary;
    int32_t best = 0;
    double sum = 0.0;
    for (int64_t i = 1; i < kinds; i++)
        if (w->logits[i] > w->logits[best])
            best = (int32_t)i;
    if (s->temperature <= 0.0)
        return best;
    const double top = w->logits[best];
    for (int64_t i = 0; i < kinds; i++)
        sum += exp((w->logits[i] - top) / s->temperature);
    double u = uniform(&w->random) * sum;
    for (int64_t i = 0; i < kinds; i++) {
        u -= exp((w->logits[i] - top) / s->temperature);
        if (u < 0.0)
            return (int32_t)i;
    }
    return best;
}

static ssq_status put(const struct sampling *s, struct sample_writing *w)
{
    const int64_t block = s->gpt->block;
    ssq_status st = ask(s, w);
    if (st != SSQ_OK)
        return st;
    int32_t next = choose(s, w);
    putchar(s->text->to_byte[next]);
    if (w->n == block)
        memmove(w->token, w->token + 1,
                (size_t)(block - 1) * sizeof(*w->token));
    else
        w->n++;
    w->token[w->n - 1] = next;
    return SSQ_OK;
}

/* Text begins behind a line's end, where the text has one. */
bool sample_print(const struct sampling *s, size_t n)
{
    const int64_t shape[] = {1, s->gpt->block};
    struct sample_writing w = {
        .queue = ssq_trainer_queue(s->trainer), .n = 1, .random = s->seed};
    w.token = calloc((size_t)s->gpt->block, sizeof(*w.token));
    w.logits = malloc((size_t)s->gpt->vocabulary * sizeof(*w.logits));
    bool good = w.token != NULL && w.logits != NULL &&
                run_ok(ssq_tensor_create(ssq_queue_device(w.queue), SSQ_I32, 2,
                                         shape, &w.x),
                       "tokens");
    if (good && s->text->of_byte['\n'] >= 0)
        w.token[0] = s->text->of_byte['\n'];
    for (size_t i = 0; i < n && good; i++)
        good = run_ok(put(s, &w), "sample");
    putchar('\n');
    ssq_tensor_destroy(&w.x);
    free(w.token);
    free(w.logits);
    return good;
}
