/* SPDX-License-Identifier: Apache-2.0 */
/* hand.c - training without a tape beside a trainer, and what both leave. */
#include "tests/tape/hand.h"

/* Every parameter of the trainer's, with its value of now. */
static void hand_open(struct hand *h, const ssq_params *params, bool scaled)
{
    const ssq_optimizer_options options = hand_options();
    h->queue = core_queue(h->device);
    NEED(ssq_optimizer_create(h->device, "adamw", &options, &h->optimizer));
    if (scaled)
        NEED(ssq_scaler_create(h->device, "pytorch", NULL, &h->scaler));
    h->params = ssq_params_count(params);
    if (h->params > HAND_PARAMS)
        printf("Bail out! %zu parameters\n", h->params);
    for (size_t i = 0; i < h->params; i++) {
        ssq_param_info p = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(params, i, &p));
        ssq_tensor_desc d = SSQ_TENSOR_DESC_INIT;
        NEED(ssq_tensor_desc_get(p.tensor, &d));
        h->name[i] = p.name;
        NEED(ssq_tensor_create(h->device, d.dtype, d.rank, d.shape,
                               &h->value[i]));
        NEED(ssq_copy(h->queue, SSQ_COPY(.x = p.tensor, .y = h->value[i])));
        if (strstr(p.name, "running_") != NULL)
            continue;
        NEED(ssq_tensor_create(h->device, d.dtype, d.rank, d.shape,
                               &h->grad[i]));
        NEED(ssq_optimizer_add(h->optimizer, p.name, h->value[i], h->grad[i],
                               NULL));
    }
    NEED(ssq_queue_sync(h->queue));
}

static void hand_end_step(struct hand *h)
{
    while (h->n > 0)
        ssq_tensor_destroy(&h->made[--h->n]);
}

static void hand_close(struct hand *h)
{
    hand_end_step(h);
    for (size_t i = 0; i < h->params; i++) {
        ssq_tensor_destroy(&h->value[i]);
        ssq_tensor_destroy(&h->grad[i]);
    }
    ssq_optimizer_destroy(&h->optimizer);
    ssq_scaler_destroy(&h->scaler);
    ssq_queue_destroy(&h->queue);
}

char *hand_saved(ssq_queue *q, ssq_optimizer *o, ssq_scaler *s, size_t *n)
{
    size_t a = 0, b = 0;
    NEED(ssq_queue_sync(q));
    NEED(ssq_optimizer_save(q, o, NULL, 0, &a));
    if (s != NULL)
        NEED(ssq_scaler_save(q, s, NULL, 0, &b));
    char *all = malloc(a + b + 1);
    NEED(ssq_optimizer_save(q, o, all, a, NULL));
    if (s != NULL)
        NEED(ssq_scaler_save(q, s, all + a, b, NULL));
    *n = a + b;
    return all;
}

bool hand_same(ssq_queue *q, const ssq_tensor *a, const ssq_tensor *b)
{
    const size_t n = (size_t)ssq_tensor_elements(a);
    float *x = malloc(n * sizeof(*x)), *y = malloc(n * sizeof(*y));
    NEED(ssq_tensor_read(q, a, x, n * sizeof(*x), SSQ_F32));
    NEED(ssq_tensor_read(q, b, y, n * sizeof(*y), SSQ_F32));
    NEED(ssq_queue_sync(q));
    bool same = memcmp(x, y, n * sizeof(*x)) == 0;
    free(x);
    free(y);
    return same;
}

/* The results of both; states, as running statistics, are not in the optimizer.
 */
static void judge(struct hand *h, ssq_trainer *trainer, const char *name,
                  const char *policy)
{
    ssq_queue *q = ssq_trainer_queue(trainer);
    size_t n = 0, m = 0;
    char *by_tape = hand_saved(q, ssq_trainer_optimizer(trainer),
                               ssq_trainer_scaler(trainer), &n);
    char *by_hand = hand_saved(h->queue, h->optimizer, h->scaler, &m);
    bool same = n == m && memcmp(by_tape, by_hand, n) == 0;
    const char *other = same ? "" : "the optimizer or the scaler";
    for (size_t i = 0; i < h->params; i++) {
        ssq_param_info p = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(ssq_trainer_params(trainer), i, &p));
        if (!hand_same(q, p.tensor, h->value[i]))
            other = p.name;
    }
    tap_ok(*other == '\0', "%s: %s: %d steps leave the same %zu bytes%s%s",
           name, policy, HAND_STEPS, n, *other == '\0' ? "" : ": not in ",
           other);
    free(by_tape);
    free(by_hand);
}

static void both_steps(const struct hand_net *net, struct hand *h,
                       ssq_trainer *trainer, const ssq_tensor *const *data,
                       bool first)
{
    ssq_queue *q = ssq_trainer_queue(trainer);
    ssq_tape *t = ssq_trainer_begin(trainer);
    if (first) { /* parameters as they begin, states before a pass */
        NEED(ssq_params_allow(ssq_trainer_params(trainer), "*"));
        ssq_trainer_evaluate(trainer);
        net->tape(t, data);
        NEED(ssq_tape_status(t));
        NEED(ssq_params_allow(ssq_trainer_params(trainer), NULL));
        NEED(ssq_queue_sync(q));
        hand_open(h, ssq_trainer_params(trainer),
                  ssq_trainer_scaler(trainer) != NULL);
        t = ssq_trainer_begin(trainer);
    }
    NEED(ssq_trainer_step(trainer, net->tape(t, data)));
    NEED(ssq_queue_sync(q));
    net->hand(h, data);
    NEED(ssq_optimizer_step(h->queue, h->optimizer, h->scaler));
    if (h->scaler != NULL)
        NEED(ssq_scaler_update(h->queue, h->scaler));
    NEED(ssq_queue_sync(h->queue));
    hand_end_step(h);
}

void hand_case(bool good, const char *name, ...)
{
    char text[256];
    va_list args;
    va_start(args, name);
    vsnprintf(text, sizeof(text), name, args);
    va_end(args);
    tap_ok(good, "%s", text);
}

/* ---- batches, trainers ---- */

struct hand_data hand_data_open(const struct hand_net *net, ssq_queue *queue)
{
    struct hand_data d = {.net = net, .queue = queue};
    for (int i = 0; i < 2; i++) {
        NEED(ssq_tensor_create(ssq_queue_device(queue), net->dtype[i],
                               net->rank[i], net->shape[i], &d.tensor[i]));
        d.host[i] = malloc((size_t)ssq_tensor_elements(d.tensor[i]) * 4);
    }
    return d;
}

void hand_data_close(struct hand_data *d)
{
    for (int i = 0; i < 2; i++) {
        ssq_tensor_destroy(&d->tensor[i]);
        free(d->host[i]);
    }
}

const ssq_tensor *const *hand_batch(struct hand_data *d, int step)
{
    d->net->batch(step, d->host);
    for (int i = 0; i < 2; i++)
        NEED(ssq_tensor_write(d->queue, d->tensor[i], d->host[i],
                              (size_t)ssq_tensor_elements(d->tensor[i]) * 4,
                              d->net->dtype[i]));
    NEED(ssq_queue_sync(d->queue));
    return (const ssq_tensor *const *)d->tensor;
}

ssq_trainer *hand_trainer(ssq_queue *queue, const char *policy)
{
    ssq_trainer *trainer = NULL;
    ssq_trainer_args args = SSQ_TRAINER_INIT;
    args.policy = policy;
    args.options = hand_options();
    args.scaler = strcmp(policy, "mixed_float16") == 0 ? "pytorch" : NULL;
    NEED(ssq_trainer_create(queue, &args, &trainer));
    return trainer;
}

void hand_compare(const struct hand_net *net, const char *device,
                  const char *policy, ssq_dtype dtype)
{
    struct hand h = {.device = core_open(device), .dtype = dtype};
    ssq_queue *q = core_queue(h.device);
    ssq_trainer *trainer = hand_trainer(q, policy);
    struct hand_data data = hand_data_open(net, q);
    for (int i = 0; i < HAND_STEPS; i++)
        both_steps(net, &h, trainer, hand_batch(&data, i), i == 0);
    char name[128];
    snprintf(name, sizeof(name), "%s: %s", device, net->name);
    judge(&h, trainer, name, policy);
    hand_data_close(&data);
    hand_close(&h);
    ssq_trainer_destroy(&trainer);
    ssq_queue_destroy(&q);
    ssq_device_close(&h.device);
}

int hand_main(const struct hand_net *net)
{
    bool full = getenv("SSQ_TEST_FULL") != NULL;
    size_t n = core_device_count();
    for (size_t i = 0; i < n; i++) {
        hand_compare(net, core_device(i), "mixed_float16", SSQ_F16);
        if (i >= 2 && !full)
            continue;
        hand_compare(net, core_device(i), "float32", SSQ_F32);
        hand_compare(net, core_device(i), "mixed_bfloat16", SSQ_BF16);
    }
    hand_resume(net, "mixed_float16");
    hand_resume(net, "mixed_bfloat16");
    return tap_done(2 * 3 + 2 * 2 * 2);
}
