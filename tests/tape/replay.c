/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - a trainer that replays its steps computes what one computes that
 * does not, bit for bit, for any events between two steps and within one. */
#include "tests/tape/tape.h"

#include <stdlib.h>
#include <unistd.h>

#define ROWS    6
#define SIDE    8
#define CLASSES 5
#define TOKENS  6
#define WIDTH   16
#define WORDS   100000

/* ---- nets ---- */

/* The inputs of a pass: rows of floats, words, and targets. */
struct replay_batch {
    ssq_tensor *x, *words, *y, *y_words;
    int64_t rows;
};

static ssq_var mlp(ssq_tape *t, const struct replay_batch *b, ssq_var *loss)
{
    ssq_var x = ssq_var_reshape(ssq_var_input(t, b->x), 2,
                                (const int64_t[]){-1, SIDE * SIDE});
    x = ssq_relu_var(ssq_nn_linear(t, "fc1", x, 12, NULL));
    x = ssq_nn_linear(t, "fc2", ssq_nn_dropout(t, x, 0.2), CLASSES, NULL);
    *loss = ssq_cross_entropy_var(x, SSQ_CROSS_ENTROPY(.target = b->y));
    return x;
}

static ssq_var cnn(ssq_tape *t, const struct replay_batch *b, ssq_var *loss)
{
    ssq_var x = ssq_var_input(t, b->x);
    x = ssq_nn_conv2d(t, "conv1", x, 4, 3, 3, NULL);
    x = ssq_relu_var(ssq_nn_batch_norm(t, "norm", x, NULL));
    x = ssq_nn_conv2d(t, "conv2", x, 3, 3, 3, NULL);
    x = ssq_var_reshape(ssq_gelu_var(x), 2, (const int64_t[]){b->rows, -1});
    x = ssq_nn_linear(t, "fc", x, CLASSES, NULL);
    *loss = ssq_cross_entropy_var(x, SSQ_CROSS_ENTROPY(.target = b->y));
    return x;
}

static ssq_var gpt(ssq_tape *t, const struct replay_batch *b, ssq_var *loss)
{
    ssq_var x = ssq_nn_embedding(t, "words", b->words, CLASSES, WIDTH, NULL);
    ssq_tape_push(t, "block");
    ssq_var y = ssq_nn_layer_norm(t, "ln1", x, NULL);
    y = ssq_nn_attention(
        t, "attention", y, 2,
        SSQ_NN_ATTENTION(.causal = true, .dropout = 0.1, .rotary = true));
    x = ssq_add_var(x, ssq_nn_dropout(t, y, 0.1));
    y = ssq_nn_layer_norm(t, "ln2", x, NULL);
    y = ssq_gelu_tanh_var(ssq_nn_linear(t, "up", y, 2 * WIDTH, NULL));
    x = ssq_add_var(x, ssq_nn_linear(t, "down", y, WIDTH, NULL));
    ssq_tape_pop(t);
    x = ssq_nn_linear(t, "words", x, CLASSES, SSQ_NN_LINEAR(.bias = false));
    x = ssq_var_reshape(x, 2, (const int64_t[]){-1, CLASSES});
    *loss = ssq_cross_entropy_var(x, SSQ_CROSS_ENTROPY(.target = b->y_words));
    return x;
}

typedef ssq_var net_fn(ssq_tape *t, const struct replay_batch *b,
                       ssq_var *loss);

/* ---- what happens ---- */

enum event {
    NOTHING = 0,
    WRITE = 1 << 0,      /* other values in the same tensors, before a pass */
    WRITE_LATE = 1 << 1, /* likewise, behind the begin */
    SHAPES = 1 << 2,     /* three numbers of rows in turns */
    LOOK = 1 << 3,       /* the loss is read within each fifth pass */
    EVALUATE = 1 << 4,   /* passes for evaluation in between */
    HOOK = 1 << 5,       /* a hook reads a gradient */
    OVERFLOW = 1 << 6,   /* a step is skipped */
    RATE = 1 << 7,       /* the program sets another learning rate */
    LEAVE = 1 << 8,      /* a pass is begun and not ended */
    CHECK = 1 << 9,      /* ssq_tape_check in each fifth */
    OTHERS = 1 << 10,    /* ops of the program's own on values and inputs */
    SAVE = 1 << 11,      /* the values go through a file */
    FRESH = 1 << 12      /* an op has another tensor each time */
};

struct replay_program {
    const char *name, *policy;
    net_fn *net;
    uint32_t accumulate;
    unsigned events;
    double clip;
    int passes;
    int least; /* passes that are replayed, at least */
};

struct replay_run {
    const struct replay_program *p;
    ssq_device *device;
    ssq_queue *queue;
    ssq_trainer *trainer;
    struct replay_batch batch[3];
    ssq_tensor *sum; /* the program's own */
    uint32_t word[WORDS];
    size_t n;
    uint64_t replayed, skipped;
};

static void keep(struct replay_run *r, const ssq_tensor *x)
{
    const size_t n = (size_t)ssq_tensor_elements(x);
    if (r->n + n > WORDS) {
        tap_ok(false, "room for %zu words", r->n + n);
        exit(1);
    }
    NEED(ssq_tensor_read(r->queue, x, r->word + r->n, n * sizeof(float),
                         SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    r->n += n;
}

static ssq_status look(void *user, ssq_trainer *trainer,
                       ssq_trainer_place place, ssq_var *var)
{
    struct replay_run *r = user;
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    (void)var;
    if (place != SSQ_PLACE_BACKWARD_END)
        return SSQ_OK;
    ssq_status st = ssq_params_get(ssq_trainer_params(trainer), 0, &info);
    if (st == SSQ_OK)
        keep(r, info.grad);
    return st;
}

static void write_batch(struct replay_run *r, struct replay_batch *b, int i)
{
    float x[ROWS * SIDE * SIDE];
    int32_t word[ROWS * TOKENS];
    const size_t n = (size_t)b->rows * SIDE * SIDE;
    const size_t k = (size_t)b->rows * TOKENS;
    for (size_t j = 0; j < n; j++)
        x[j] = (float)((j * 37 + (size_t)i * 11) % 64) / 32.0f - 1.0f;
    if ((r->p->events & OVERFLOW) != 0 && i % 7 == 5)
        for (size_t j = 0; j < n; j++)
            x[j] *= 1e6f;
    for (size_t j = 0; j < k; j++)
        word[j] = (int32_t)((j * 3 + (size_t)i) % CLASSES);
    NEED(ssq_tensor_write(r->queue, b->x, x, n * sizeof(float), SSQ_F32));
    NEED(ssq_tensor_write(r->queue, b->words, word, k * sizeof(word[0]),
                          SSQ_I32));
    NEED(ssq_queue_sync(r->queue));
}

static void make_batch(struct replay_run *r, struct replay_batch *b,
                       int64_t rows)
{
    const int64_t x[] = {rows, 1, SIDE, SIDE}, words[] = {rows, TOKENS};
    const int64_t all = rows * TOKENS;
    b->rows = rows;
    NEED(ssq_tensor_create(r->device, SSQ_F32, 4, x, &b->x));
    NEED(ssq_tensor_create(r->device, SSQ_I32, 2, words, &b->words));
    NEED(ssq_tensor_create(r->device, SSQ_I32, 1, &rows, &b->y));
    NEED(ssq_tensor_create(r->device, SSQ_I32, 1, &all, &b->y_words));
    NEED(ssq_fill(r->queue, SSQ_FILL(.x = b->y, .value = 2)));
    NEED(ssq_fill(r->queue, SSQ_FILL(.x = b->y_words, .value = 1)));
    write_batch(r, b, 0);
}

static void drop_batch(struct replay_batch *b)
{
    ssq_tensor_destroy(&b->x);
    ssq_tensor_destroy(&b->words);
    ssq_tensor_destroy(&b->y);
    ssq_tensor_destroy(&b->y_words);
}

/* The program's own calls within a pass. */
static void add_outputs(struct replay_run *r, ssq_var y)
{
    const ssq_tensor *x = ssq_var_tensor(y);
    ssq_tensor *fresh = NULL;
    NEED(ssq_sum(r->queue, SSQ_SUM(.x = x, .y = r->sum)));
    if ((r->p->events & FRESH) == 0)
        return;
    NEED(ssq_tensor_create(r->device, SSQ_F32, 0, NULL, &fresh));
    NEED(ssq_cast(r->queue, SSQ_CAST(.x = r->sum, .y = fresh)));
    NEED(ssq_cast(r->queue, SSQ_CAST(.x = fresh, .y = r->sum)));
    ssq_tensor_destroy(&fresh);
}

static void one_pass(struct replay_run *r, int i)
{
    const unsigned events = r->p->events;
    struct replay_batch *b = &r->batch[(events & SHAPES) != 0 ? i % 3 : 0];
    ssq_var loss;
    if ((events & (WRITE | OVERFLOW)) != 0)
        write_batch(r, b, i);
    ssq_tape *t = ssq_trainer_begin(r->trainer);
    if ((events & WRITE_LATE) != 0)
        write_batch(r, b, i);
    ssq_var y = r->p->net(t, b, &loss);
    if ((events & OTHERS) != 0)
        add_outputs(r, y);
    if ((events & LEAVE) != 0 && i % 5 == 3)
        return;
    if ((events & CHECK) != 0 && i % 5 == 2)
        NEED(ssq_tape_check(t, loss));
    if ((events & LOOK) != 0 && i % 5 == 4)
        keep(r, ssq_var_tensor(loss));
    ssq_status st = ssq_trainer_step(r->trainer, loss);
    if (st != SSQ_ERR_SCALE)
        NEED(st);
}

static void between(struct replay_run *r, int i, const char *path)
{
    const unsigned events = r->p->events;
    ssq_var loss;
    double mean = 0.0;
    NEED(ssq_trainer_loss(r->trainer, &mean));
    memcpy(r->word + r->n, &mean, sizeof(mean));
    r->n += 2;
    if ((events & EVALUATE) != 0 && i % 4 == 1) {
        ssq_tape *t = ssq_trainer_evaluate(r->trainer);
        (void)r->p->net(t, &r->batch[0], &loss);
        keep(r, ssq_var_tensor(loss));
    }
    if ((events & RATE) != 0 && i == 9)
        NEED(ssq_optimizer_set(r->queue, ssq_trainer_optimizer(r->trainer),
                               NULL, SSQ_HYPER_WEIGHT_DECAY, 0.05));
    if ((events & SAVE) != 0 && i % 10 == 9) {
        NEED(ssq_trainer_save(r->trainer, path));
        NEED(ssq_trainer_load(r->trainer, path));
    }
}

/* The result of a training. */
static void end_of(struct replay_run *r)
{
    keep(r, r->sum);
    ssq_tape *t = ssq_trainer_evaluate(r->trainer);
    ssq_tape_stats stats = SSQ_TAPE_STATS_INIT;
    NEED(ssq_tape_stats_get(t, &stats));
    r->replayed = stats.replayed;
    ssq_params *params = ssq_trainer_params(r->trainer);
    for (size_t i = 0; i < ssq_params_count(params); i++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(params, i, &info));
        keep(r, info.tensor);
    }
    if (ssq_trainer_scaler(r->trainer) != NULL) {
        ssq_scaler_state state = SSQ_SCALER_STATE_INIT;
        ssq_status st = ssq_scaler_state_get(
            r->queue, ssq_trainer_scaler(r->trainer), &state);
        if (st != SSQ_ERR_SCALE)
            NEED(st);
        r->skipped = state.skipped;
    }
}

static void train(struct replay_run *r, const char *path)
{
    for (int i = 0; i < r->p->passes; i++) {
        one_pass(r, i);
        if ((r->p->events & LEAVE) == 0 && r->p->accumulate == 1)
            between(r, i, path);
    }
    end_of(r);
}

static void open_run(struct replay_run *r, const char *device,
                     const struct replay_program *p, bool replay)
{
    static const int64_t rows[3] = {ROWS, 3, 5};
    const ssq_schedule schedule = {sizeof(schedule), SSQ_SCHEDULE_COSINE, 0.01,
                                   .warmup_steps = 3, .total_steps = 40};
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    o.clip_norm = 1.0;
    memset(r, 0, sizeof(*r));
    r->p = p;
    r->device = core_open(device);
    r->queue = core_queue(r->device);
    NEED(ssq_trainer_create(
        r->queue,
        SSQ_TRAINER(.policy = p->policy, .accumulate = p->accumulate,
                    .options = o, .clip_value = p->clip, .replay = replay),
        &r->trainer));
    NEED(ssq_trainer_schedule(r->trainer, SSQ_HYPER_LR, &schedule));
    for (int i = 0; i < 3; i++)
        make_batch(r, &r->batch[i], rows[i]);
    NEED(ssq_tensor_create(r->device, SSQ_F32, 0, NULL, &r->sum));
    NEED(ssq_fill(r->queue, SSQ_FILL(.x = r->sum, .value = 0)));
    if ((p->events & HOOK) != 0)
        NEED(ssq_trainer_hook_add(r->trainer, look, r));
}

static void close_run(struct replay_run *r)
{
    for (int i = 0; i < 3; i++)
        drop_batch(&r->batch[i]);
    ssq_tensor_destroy(&r->sum);
    ssq_trainer_destroy(&r->trainer);
    ssq_queue_destroy(&r->queue);
    ssq_device_close(&r->device);
}

static void run(struct replay_run *r, const char *device,
                const struct replay_program *p, bool replay, const char *path)
{
    open_run(r, device, p, replay);
    train(r, path);
    close_run(r);
}

static void compare(const char *device, const struct replay_program *p)
{
    static struct replay_run plain, replays;
    char path[] = "replay-XXXXXX";
    const int fd = mkstemp(path);
    run(&plain, device, p, false, path);
    run(&replays, device, p, true, path);
    close(fd);
    unlink(path);
    size_t differ = plain.n != replays.n;
    for (size_t i = 0; i < plain.n && i < replays.n; i++)
        differ += plain.word[i] != replays.word[i];
    tap_ok(differ == 0 && plain.replayed == 0 &&
               replays.replayed >= (uint64_t)p->least &&
               plain.skipped == replays.skipped &&
               ((p->events & OVERFLOW) == 0 || plain.skipped > 0),
           "%s: %s: %zu words, %zu differ; of %d passes %llu are replayed, of "
           "at least %d; %llu steps skipped",
           device, p->name, plain.n, differ, p->passes,
           (unsigned long long)replays.replayed, p->least,
           (unsigned long long)replays.skipped);
}

/* ---- misuse ---- */

/* The status of calls in a wrong order, and the training by the calls in
 * between, are the same. */
static void wrong_orders(struct replay_run *r)
{
    ssq_status *st = (ssq_status *)r->word;
    ssq_var loss, old, y;
    for (int i = 0; i < 4; i++)
        one_pass(r, i);
    st[r->n++] = ssq_trainer_step(r->trainer, SSQ_VAR_NONE);
    ssq_tape *t = ssq_trainer_begin(r->trainer);
    (void)mlp(t, &r->batch[0], &old);
    t = ssq_trainer_begin(r->trainer); /* the pass before is left */
    (void)mlp(t, &r->batch[0], &loss);
    st[r->n++] = ssq_trainer_step(r->trainer, old);
    st[r->n++] = ssq_trainer_step(r->trainer, loss);
    one_pass(r, 0);
    st[r->n++] = ssq_trainer_step(r->trainer, loss);
    /* a net that fails half way, and one whose shapes disagree */
    t = ssq_trainer_begin(r->trainer);
    y = mlp(t, &r->batch[0], &loss);
    y = ssq_add_var(y, ssq_var_reshape(y, 1, (const int64_t[]){7}));
    st[r->n++] = ssq_trainer_step(r->trainer, y);
    one_pass(r, 0);
}

/* A capture, an event, and a question within a pass. */
static void in_between(struct replay_run *r)
{
    ssq_status *st = (ssq_status *)r->word;
    ssq_graph *graph = NULL;
    ssq_event *event = NULL;
    ssq_var loss;
    NEED(ssq_event_create(r->device, &event));
    ssq_tape *t = ssq_trainer_begin(r->trainer);
    (void)mlp(t, &r->batch[0], &loss);
    st[r->n++] = ssq_event_record(event, r->queue);
    st[r->n++] = ssq_queue_wait(r->queue, event);
    st[r->n++] = ssq_queue_status(r->queue) == SSQ_ERR_INVALID;
    st[r->n++] = ssq_graph_begin(r->queue);
    st[r->n++] = ssq_fill(r->queue, SSQ_FILL(.x = r->sum, .value = 3));
    st[r->n++] = ssq_queue_sync(r->queue);
    st[r->n++] = ssq_graph_end(r->queue, &graph);
    st[r->n++] = ssq_trainer_step(r->trainer, loss);
    t = ssq_trainer_begin(r->trainer);
    (void)mlp(t, &r->batch[0], &loss);
    st[r->n++] = ssq_graph_launch(r->queue, graph);
    st[r->n++] = ssq_trainer_step(r->trainer, loss);
    for (int i = 0; i < 3; i++)
        one_pass(r, i);
    st[r->n++] = (ssq_status)(ssq_graph_ops(graph));
    ssq_graph_destroy(&graph);
    ssq_event_destroy(&event);
}

/* Another trainer on the queue, in the middle of a pass; the end of both. */
static void two_trainers(struct replay_run *r, bool replay)
{
    ssq_status *st = (ssq_status *)r->word;
    ssq_var loss, old;
    ssq_trainer *other = NULL;
    NEED(ssq_trainer_create(r->queue, SSQ_TRAINER(.replay = replay), &other));
    ssq_tape *t = ssq_trainer_begin(r->trainer);
    (void)mlp(t, &r->batch[0], &loss);
    (void)mlp(ssq_trainer_begin(other), &r->batch[0], &old);
    st[r->n++] = ssq_trainer_step(r->trainer, loss);
    st[r->n++] = ssq_trainer_step(other, old);
    ssq_trainer_destroy(&other);
    st[r->n++] = ssq_trainer_end(r->trainer);
    t = ssq_trainer_begin(r->trainer);
    (void)mlp(t, &r->batch[0], &loss);
    st[r->n++] = ssq_trainer_step(r->trainer, loss);
    st[r->n++] = ssq_trainer_end(r->trainer);
}

static void misuse(const char *device)
{
    static const struct replay_program p = {
        "misuse", "mixed_bfloat16", mlp, 1, 0, 0.0, 0, 0};
    static struct replay_run r[2];
    for (int i = 0; i < 2; i++) {
        open_run(&r[i], device, &p, i == 1);
        wrong_orders(&r[i]);
        in_between(&r[i]);
        two_trainers(&r[i], i == 1);
        end_of(&r[i]);
        if (i == 1) { /* work that waits in an open pass is released */
            ssq_var loss;
            (void)mlp(ssq_trainer_begin(r[i].trainer), &r[i].batch[0], &loss);
            ssq_queue_destroy(&r[i].queue);
        }
        close_run(&r[i]);
    }
    size_t differ = r[0].n != r[1].n;
    for (size_t i = 0; i < r[0].n && i < r[1].n; i++)
        differ += r[0].word[i] != r[1].word[i];
    tap_ok(differ == 0 && r[0].n > 100 && r[1].replayed > 3,
           "%s: wrong calls, and what comes between: %zu of %zu answers and "
           "words differ; %llu passes are replayed",
           device, differ, r[0].n, (unsigned long long)r[1].replayed);
}

int main(void)
{
    static const struct replay_program programs[] = {
        {"mlp, float32", "float32", mlp, 1, NOTHING, 0.0, 12, 10},
        {"cnn, float32", "float32", cnn, 1, WRITE, 0.0, 12, 10},
        {"gpt, bfloat16", "mixed_bfloat16", gpt, 1, WRITE, 0.0, 12, 10},
        {"cnn, float16, overflows", "mixed_float16", cnn, 1, OVERFLOW, 0.0, 24,
         20},
        {"gpt, float16, three shapes, four passes to a step", "mixed_float16",
         gpt, 4, SHAPES | WRITE_LATE, 0.0, 72, 40},
        {"mlp, float16, three passes to a step, clipped", "mixed_float16", mlp,
         3, WRITE, 0.5, 30, 20},
        {"mlp, looked at, hooks, rates, evaluation", "mixed_float16", mlp, 1,
         LOOK | EVALUATE | HOOK | RATE | WRITE_LATE, 0.0, 30, 15},
        {"mlp, passes that are left, checked, other ops", "mixed_bfloat16", mlp,
         1, LEAVE | CHECK | OTHERS, 0.0, 30, 10},
        {"mlp, another tensor in each pass", "float32", mlp, 1, OTHERS | FRESH,
         0.0, 60, 0},
        {"mlp, files", "mixed_float16", mlp, 1, SAVE | WRITE, 0.0, 30, 20},
    };
    int cases = 0;
    for (size_t i = 0; core_device(i) != NULL; i++) {
        misuse(core_device(i));
        cases++;
        for (size_t k = 0; k < sizeof(programs) / sizeof(programs[0]); k++) {
            compare(core_device(i), &programs[k]);
            cases++;
        }
    }
    return tap_done(cases);
}
