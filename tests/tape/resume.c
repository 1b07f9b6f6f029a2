/* SPDX-License-Identifier: Apache-2.0 */
/* resume.c - steps that a file cuts in two leave the bits of steps that nothing
 * cuts: parameters, states, masters, moments, scaler; on the device that has
 * saved, and exactly what was saved on every other. */
#include "tests/tape/hand.h"

#include <unistd.h>

#define HALF (HAND_STEPS / 2)

/* The state of a trainer, apart from files. */
struct left {
    char *bytes; /* optimizer and scaler */
    size_t n;
    float **value; /* of each parameter */
    size_t *elements, params;
};

static struct left left_of(ssq_trainer *t)
{
    const ssq_params *p = ssq_trainer_params(t);
    ssq_queue *q = ssq_trainer_queue(t);
    struct left l = {.params = ssq_params_count(p)};
    l.bytes =
        hand_saved(q, ssq_trainer_optimizer(t), ssq_trainer_scaler(t), &l.n);
    l.value = calloc(l.params, sizeof(*l.value));
    l.elements = calloc(l.params, sizeof(*l.elements));
    for (size_t i = 0; i < l.params; i++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(p, i, &info));
        l.elements[i] = (size_t)ssq_tensor_elements(info.tensor);
        l.value[i] = malloc(l.elements[i] * sizeof(float));
        NEED(ssq_tensor_read(q, info.tensor, l.value[i],
                             l.elements[i] * sizeof(float), SSQ_F32));
    }
    NEED(ssq_queue_sync(q));
    return l;
}

static void left_free(struct left *l)
{
    for (size_t i = 0; i < l->params; i++)
        free(l->value[i]);
    free(l->value);
    free(l->elements);
    free(l->bytes);
}

static bool same(const struct left *a, const struct left *b)
{
    bool good = a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0 &&
                a->params == b->params;
    for (size_t i = 0; i < a->params && good; i++)
        good = a->elements[i] == b->elements[i] &&
               memcmp(a->value[i], b->value[i],
                      a->elements[i] * sizeof(float)) == 0;
    return good;
}

static void steps(struct hand_data *d, ssq_trainer *t, int from, int to)
{
    for (int i = from; i < to; i++) {
        const ssq_tensor *const *data = hand_batch(d, i);
        NEED(ssq_trainer_step(t, d->net->tape(ssq_trainer_begin(t), data)));
    }
}

/* A new trainer that has loaded a file, and what it has then. */
static ssq_trainer *loaded(ssq_queue *q, const char *policy, const char *path,
                           struct left *now)
{
    ssq_trainer *t = hand_trainer(q, policy);
    NEED(ssq_trainer_load(t, path));
    *now = left_of(t);
    return t;
}

struct resume_harness {
    const struct hand_net *net;
    const char *policy;
    char path[64];
    struct left half, end; /* of the first device */
};

/* On the device that has saved. */
static void on_one(struct resume_harness *b, const char *device, ssq_queue *q)
{
    struct hand_data d = hand_data_open(b->net, q);
    struct left now, end;
    ssq_trainer *t = hand_trainer(q, b->policy), *second;
    steps(&d, t, 0, HALF);
    b->half = left_of(t);
    NEED(ssq_trainer_save(t, b->path));
    steps(&d, t, HALF, HAND_STEPS);
    b->end = left_of(t);
    second = loaded(q, b->policy, b->path, &now);
    steps(&d, second, HALF, HAND_STEPS);
    end = left_of(second);
    hand_case(
        same(&b->half, &now) && same(&b->end, &end) && !same(&b->half, &b->end),
        "%s: %s, %s: %d steps are %d, a file, and %d in a new trainer", device,
        b->net->name, b->policy, HAND_STEPS, HALF, HAND_STEPS - HALF);
    left_free(&now);
    left_free(&end);
    ssq_trainer_destroy(&t);
    ssq_trainer_destroy(&second);
    hand_data_close(&d);
}

/* The checkpoint of another; goes_on: its steps have the same bits here too. */
static void on_other(const struct resume_harness *b, const char *device,
                     ssq_queue *q, bool goes_on)
{
    struct hand_data d = hand_data_open(b->net, q);
    struct left now, end;
    ssq_trainer *t = loaded(q, b->policy, b->path, &now);
    steps(&d, t, HALF, HAND_STEPS);
    end = left_of(t);
    hand_case(
        same(&b->half, &now) && (!goes_on || same(&b->end, &end)),
        "%s: %s, %s: what another device has saved is loaded bit by bit%s",
        device, b->net->name, b->policy, goes_on ? ", and goes on so" : "");
    left_free(&now);
    left_free(&end);
    ssq_trainer_destroy(&t);
    hand_data_close(&d);
}

/* Each device continues from its own file and from the reference's, which
 * continues from its: guard has the arithmetic of the reference. */
void hand_resume(const struct hand_net *net, const char *policy)
{
    struct resume_harness first = {.net = net, .policy = policy};
    ssq_device *reference = core_open("reference");
    ssq_queue *home = core_queue(reference);
    snprintf(first.path, sizeof(first.path), "resume-%ld.0", (long)getpid());
    for (size_t i = 0; core_device(i) != NULL; i++) {
        const char *name = core_device(i);
        struct resume_harness own = first;
        ssq_device *device = core_open(name);
        ssq_queue *q = core_queue(device);
        own.path[strlen(own.path) - 1] = (char)('0' + i);
        on_one(&own, name, q);
        if (i == 0)
            first = own;
        else {
            on_other(&first, name, q, i == 1);
            on_other(&own, "reference", home, i == 1);
            left_free(&own.half);
            left_free(&own.end);
            unlink(own.path);
        }
        ssq_queue_destroy(&q);
        ssq_device_close(&device);
    }
    left_free(&first.half);
    left_free(&first.end);
    unlink(first.path);
    ssq_queue_destroy(&home);
    ssq_device_close(&reference);
}
