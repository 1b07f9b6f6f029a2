/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.c - training, and its files, while the Nth allocation of host memory
 * fails: the call that needs it says so, the next is as good as ever, nothing
 * is lost. */
#include "tests/tape/tape.h"

#include <unistd.h>

static struct {
    bool armed; /* calls are counted */
    long calls, fail_at, refused, live;
} heap;

static void *heap_alloc(void *user, size_t bytes)
{
    (void)user;
    if (heap.armed && ++heap.calls == heap.fail_at) {
        heap.refused++;
        return NULL;
    }
    void *p = malloc(bytes);
    heap.live += p != NULL;
    return p;
}

static void heap_free(void *user, void *p)
{
    (void)user;
    heap.live--;
    free(p);
}

/* The errors in all trials. */
static struct {
    long trials, refused, status, text, stuck, learnt;
    long counted;    /* passes that count, though the call has failed */
    long kept, torn; /* loads that failed: nothing changed; the rest */
} seen;

static ssq_status answered(ssq_status st)
{
    if (st == SSQ_OK)
        return st;
    seen.refused++;
    seen.status += st != SSQ_ERR_NOMEM;
    seen.text += !core_has(ssq_last_error(), "memory");
    return st;
}

static ssq_status step(ssq_trainer *trainer, const ssq_tensor *x, bool training)
{
    ssq_tape *t =
        training ? ssq_trainer_begin(trainer) : ssq_trainer_evaluate(trainer);
    ssq_tape_push(t, "net");
    ssq_var y =
        ssq_relu_var(ssq_nn_linear(t, "fc1", ssq_var_input(t, x), 6, NULL));
    ssq_var more = ssq_mean_var(ssq_square_var(y), NULL);
    ssq_var w = ssq_var_named(t, "net.fc1.weight");
    if (training) { /* by both walks */
        ssq_tape_grad(t, more, &w, 1, NULL, &more);
        more = ssq_mean_var(ssq_mul_var(more, ssq_var_watch(w)), NULL);
        ssq_tape_grad(t, ssq_mean_var(ssq_square_var(y), NULL), &w, 1,
                      SSQ_TAPE_GRAD(.create_graph = true), &w);
        more = ssq_add_var(more, ssq_mean_var(ssq_square_var(w), NULL));
    }
    y = ssq_nn_layer_norm(t, "norm", ssq_nn_dropout(t, y, 0.1), NULL);
    y = ssq_var_reshape(ssq_var_transpose(y, NULL), 1, (int64_t[]){-1});
    ssq_tape_pop(t);
    ssq_var loss = ssq_add_var(ssq_mean_var(ssq_square_var(y), NULL), more);
    return training ? ssq_trainer_step(trainer, loss) : ssq_tape_status(t);
}

static ssq_status count_batches(void *user, ssq_trainer *trainer,
                                ssq_trainer_place place, ssq_var *var)
{
    (void)trainer;
    (void)var;
    *(long *)user += place == SSQ_PLACE_BATCH_END;
    return SSQ_OK;
}

/* The program: a failed call is tried once more, which must succeed. */
static void steps(ssq_queue *q, const ssq_tensor *x, const char *policy,
                  bool replay)
{
    ssq_trainer *trainer = NULL;
    double loss = 0.0;
    long batches = 0;
    heap.armed = true;
    for (int i = 0; i < 2 && trainer == NULL; i++)
        seen.stuck += answered(ssq_trainer_create(q,
                                                  SSQ_TRAINER(.policy = policy,
                                                              .accumulate = 2,
                                                              .replay = replay),
                                                  &trainer)) != SSQ_OK &&
                      i == 1;
    if (trainer == NULL)
        return;
    heap.armed = false;
    NEED(ssq_trainer_hook_add(trainer, count_batches, &batches));
    heap.armed = true;
    for (int i = 0; i < (replay ? 18 : 6); i++) {
        const long before = batches;
        const uint32_t taken = ssq_trainer_accumulated(trainer);
        if (answered(step(trainer, x, i % 3 != 2)) == SSQ_OK)
            continue;
        /* a pass whose last graph is not launched counts */
        seen.counted +=
            !replay && (batches > before ||
                        (taken == 0 && ssq_trainer_accumulated(trainer) == 1));
        seen.stuck += step(trainer, x, i % 3 != 2) != SSQ_OK;
    }
    if (answered(ssq_trainer_loss(trainer, &loss)) != SSQ_OK)
        seen.stuck += ssq_trainer_loss(trainer, &loss) != SSQ_OK;
    seen.learnt += loss > 0.0 && loss < 10.0;
    ssq_trainer_destroy(&trainer);
}

static void train(ssq_queue *q, const ssq_tensor *x, const char *policy)
{
    steps(q, x, policy, false);
}

static void replay(ssq_queue *q, const ssq_tensor *x, const char *policy)
{
    steps(q, x, policy, true);
}

/* ---- files ---- */

enum { SAVED, BEFORE, AFTER, PATHS };
static char path[PATHS][64];

static bool same_files(int a, int b)
{
    static char x[2][1 << 16];
    size_t n[2];
    for (int i = 0; i < 2; i++) {
        FILE *f = fopen(path[i == 0 ? a : b], "rb");
        n[i] = f == NULL ? 0 : fread(x[i], 1, sizeof(x[i]), f);
        if (f != NULL)
            fclose(f);
    }
    return n[0] > 0 && n[0] < sizeof(x[0]) && n[0] == n[1] &&
           memcmp(x[0], x[1], n[0]) == 0;
}

static void save(ssq_trainer *t)
{
    heap.armed = true;
    bool good = answered(ssq_trainer_save(t, path[SAVED])) == SSQ_OK;
    heap.armed = false;
    if (!good)
        seen.stuck += !same_files(SAVED, BEFORE) ||
                      ssq_trainer_save(t, path[SAVED]) != SSQ_OK;
}

/* A load that has failed has changed nothing, or the trainer says that it has
 * to be done again. */
static void load(ssq_trainer *t)
{
    NEED(ssq_trainer_save(t, path[BEFORE]));
    heap.armed = true;
    bool good = answered(ssq_trainer_load(t, path[SAVED])) == SSQ_OK;
    heap.armed = false;
    if (good)
        return;
    ssq_status st = ssq_trainer_save(t, path[AFTER]);
    bool torn =
        st == SSQ_ERR_INVALID && core_has(ssq_last_error(), "load again");
    seen.torn += torn;
    seen.stuck += torn && ssq_trainer_end(t) != SSQ_ERR_INVALID;
    seen.kept += st == SSQ_OK && same_files(BEFORE, AFTER);
    seen.stuck +=
        (st != SSQ_OK && !torn) || ssq_trainer_load(t, path[SAVED]) != SSQ_OK;
}

/* A trainer is saved, continues, goes back, and another begins where it was. */
static void go_on(ssq_queue *q, const ssq_tensor *x, const char *policy)
{
    ssq_trainer *t[2] = {NULL, NULL};
    bool same = true;
    for (int i = 0; i < 2; i++)
        NEED(ssq_trainer_create(q, SSQ_TRAINER(.policy = policy), &t[i]));
    NEED(step(t[0], x, true));
    NEED(ssq_trainer_save(t[0], path[SAVED]));
    NEED(ssq_trainer_save(t[0], path[BEFORE]));
    NEED(step(t[0], x, true));
    save(t[0]);
    NEED(step(t[0], x, true));
    for (int i = 0; i < 2; i++) {
        load(t[i]);
        NEED(ssq_trainer_save(t[i], path[AFTER]));
        same = same && same_files(SAVED, AFTER);
        NEED(step(t[i], x, true));
    }
    seen.learnt += same;
    ssq_trainer_destroy(&t[0]);
    ssq_trainer_destroy(&t[1]);
}

/* ---- values ---- */

#define VALUES (6 * 4 + 6 + 6 + 6) /* of step's layers */

/* A trainer begins with a float32 set, is given other values, makes masters of
 * them, and gives them back at the end. */
static void values(ssq_queue *q, const ssq_tensor *x, const char *policy)
{
    const bool split = strcmp(policy, "mixed_bfloat16") == 0;
    const ssq_params_rule rules[] = {
        {"*.fc1.weight", "*.kernel", (int[]){1, 0}, 2}, {"*", "x.*", NULL, 0}};
    ssq_params_file_args there = SSQ_PARAMS_FILE_INIT;
    ssq_trainer *wide = NULL, *t = NULL;
    float want[VALUES], got[VALUES];
    NEED(ssq_trainer_create(q, NULL, &wide));
    NEED(ssq_params_allow(ssq_trainer_params(wide), "*"));
    NEED(step(wide, x, false));
    ssq_params *from = ssq_trainer_params(wide);
    NEED(ssq_params_read(from, q, NULL, NULL, want, VALUES));
    ssq_trainer_args args = SSQ_TRAINER_INIT;
    args.policy = policy;
    args.options.master = split ? SSQ_MASTER_SPLIT : SSQ_MASTER_F32;
    args.from = from;
    heap.armed = true;
    for (int i = 0; i < 2 && t == NULL; i++)
        seen.stuck +=
            answered(ssq_trainer_create(q, &args, &t)) != SSQ_OK && i == 1;
    ssq_params *p = ssq_trainer_params(t);
    ssq_optimizer *o = ssq_trainer_optimizer(t);
    there.optimizer = o;
    there.rules = rules;
    there.count = 2;
#define TWICE(CALL)                                                            \
    do {                                                                       \
        if (answered(CALL) != SSQ_OK)                                          \
            seen.stuck += (CALL) != SSQ_OK;                                    \
    } while (0)
    TWICE(ssq_params_read(p, q, o, NULL, got, VALUES));
    bool same = memcmp(want, got, sizeof(got)) == 0;
    want[1] = 0x1.23456p-3f;
    TWICE(ssq_params_write(p, q, o, NULL, want, VALUES));
    TWICE(ssq_params_optimize(p, o, NULL, NULL));
    TWICE(ssq_optimizer_model_to_master(q, o));
    TWICE(ssq_params_save(p, q, path[SAVED], &there));
    want[1] = 0.0f;
    TWICE(ssq_params_write(p, q, o, NULL, want, VALUES));
    TWICE(ssq_params_load(p, q, path[SAVED], &there));
    want[1] = 0x1.23456p-3f;
    want[2] = 0x1.23456p-4f;
    TWICE(ssq_params_write(p, q, o, NULL, want, VALUES));
    TWICE(ssq_trainer_end(t));
    heap.armed = false;
    NEED(ssq_params_read(p, q, NULL, NULL, got, VALUES));
    seen.learnt += same && memcmp(want, got, sizeof(got)) == 0;
    ssq_trainer_destroy(&t);
    ssq_trainer_destroy(&wide);
}

/* ---- trials ---- */

typedef void program(ssq_queue *q, const ssq_tensor *x, const char *policy);

static bool trial(ssq_device *d, program *run, const char *policy, long fail_at)
{
    const int64_t shape[] = {5, 4};
    ssq_queue *q = core_queue(d);
    ssq_tensor *x = NULL;
    NEED(ssq_tensor_create(d, SSQ_F32, 2, shape, &x));
    NEED(ssq_fill(q, SSQ_FILL(.x = x, .value = 0.5)));
    heap.calls = heap.refused = 0;
    heap.fail_at = fail_at;
    run(q, x, policy);
    heap.armed = false;
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
    seen.trials++;
    return heap.refused > 0;
}

static void sweep(const char *device, program *run, const char *policy)
{
    const bool files = run == go_on;
    const char *name = files           ? "files"
                       : run == train  ? "steps"
                       : run == replay ? "steps that are replayed"
                                       : "values";
    ssq_allocator a = {sizeof(a), heap_alloc, heap_free, NULL};
    NEED(ssq_allocator_set(&a));
    memset(&seen, 0, sizeof(seen));
    ssq_device *d = core_open(device);
    trial(d, run, policy, 0); /* objects that a device makes once */
    /* Unless there is time for all: of replayed steps, which make thousands,
     * one in 37; of the others one in three, and on guard the next one. */
    const long stride = tap_full() ? 1 : run == replay ? 37 : 3;
    const long first = !tap_full() && strcmp(device, "guard") == 0 ? 2 : 1;
    for (long i = first; trial(d, run, policy, i); i += stride)
        ;
    ssq_device_close(&d);
    tap_ok(
        seen.status == 0 && seen.text == 0 && seen.stuck == 0 &&
            seen.counted == 0 && seen.learnt == seen.trials &&
            seen.trials > (run == replay && stride > 1 ? 15 : 30) &&
            heap.live == 0 && (!files || (seen.torn > 0 && seen.kept > 0)),
        "%s: %s, %s: %ld allocations fail, one at a time: %ld calls refused, "
        "%ld with another status, %ld without a text, %ld not repeated, "
        "%ld that count, %ld of another end, %ld blocks lost",
        device, policy, name, seen.trials, seen.refused, seen.status, seen.text,
        seen.stuck, seen.counted, seen.trials - seen.learnt, heap.live);
    if (files)
        tap_diag("%ld loads changed nothing, %ld have to be repeated",
                 seen.kept, seen.torn);
    NEED(ssq_allocator_set(NULL));
}

/* ---- one accumulation ---- */

#define FEW (2 * 4 + 2) /* of fc */

/* A batch with class labels. */
struct alloc_batch {
    ssq_tensor *x, *target;
};

static ssq_status simple(ssq_trainer *t, const struct alloc_batch *b)
{
    ssq_tape *tape = ssq_trainer_begin(t);
    ssq_var y = ssq_nn_linear(tape, "fc", ssq_var_input(tape, b->x), 2, NULL);
    return ssq_trainer_step(
        t, ssq_cross_entropy_var(y, SSQ_CROSS_ENTROPY(.target = b->target)));
}

/* A step of three passes. Memory runs out in the third pass, or in a drop of
 * the first two; false: it did not. *p: the losses of the passes. */
static bool third(ssq_queue *q, const struct alloc_batch *b, bool drops,
                  long fail_at, float *values, ssq_trainer_progress *p)
{
    ssq_trainer *t = NULL;
    NEED(ssq_trainer_create(q, SSQ_TRAINER(.optimizer = "sgd", .accumulate = 3),
                            &t));
    for (int i = 0; i < 2; i++)
        NEED(simple(t, b));
    heap.calls = heap.refused = 0;
    heap.fail_at = fail_at;
    heap.armed = true;
    (void)!(drops ? ssq_trainer_zero_grad(t) : simple(t, b));
    heap.armed = false;
    if (ssq_trainer_accumulated(t) == 3) /* its step is due */
        NEED(ssq_tape_status(ssq_trainer_begin(t)));
    while (ssq_trainer_steps(t) == 0)
        NEED(simple(t, b));
    NEED(ssq_queue_sync(q));
    *p = (ssq_trainer_progress)SSQ_TRAINER_PROGRESS_INIT;
    NEED(ssq_trainer_poll(t, p));
    NEED(ssq_queue_sync(q));
    if (p->passes == 0)
        NEED(ssq_trainer_poll(t, p));
    NEED(ssq_params_read(ssq_trainer_params(t), q, NULL, NULL, values, FEW));
    ssq_trainer_destroy(&t);
    return heap.refused > 0;
}

/* A call that fails keeps the passes and their losses, each once. */
static void once(const char *device, bool drops)
{
    const int64_t shape[] = {5, 4};
    ssq_allocator a = {sizeof(a), heap_alloc, heap_free, NULL};
    NEED(ssq_allocator_set(&a));
    ssq_device *d = core_open(device);
    ssq_queue *q = core_queue(d);
    struct alloc_batch b = {NULL, core_vector(d, SSQ_I32, 5)};
    ssq_trainer_progress p, want;
    float values[2][FEW];
    long fail_at = 1, bad = 0;
    NEED(ssq_tensor_create(d, SSQ_F32, 2, shape, &b.x));
    NEED(ssq_fill(q, SSQ_FILL(.x = b.x, .value = 0.5)));
    NEED(ssq_fill(q, SSQ_FILL(.x = b.target, .value = 1)));
    (void)third(q, &b, false, 0, values[0], &want);
    for (; third(q, &b, drops, fail_at, values[1], &p); fail_at++)
        bad += p.passes != 3 || p.loss != want.loss ||
               memcmp(values[0], values[1], sizeof(values[0])) != 0;
    tap_ok(bad == 0 && want.passes == 3 && fail_at > 1,
           "%s: %s fails at each of %ld allocations: %ld steps of other passes",
           device, drops ? "a drop of two passes" : "the third pass",
           fail_at - 1, bad);
    ssq_tensor_destroy(&b.x);
    ssq_tensor_destroy(&b.target);
    ssq_queue_destroy(&q);
    ssq_device_close(&d);
    NEED(ssq_allocator_set(NULL));
}

int main(void)
{
    for (int i = 0; i < PATHS; i++)
        snprintf(path[i], sizeof(path[i]), "alloc-%ld.%d", (long)getpid(), i);
    sweep("reference", train, "mixed_float16");
    sweep("guard", train, "mixed_bfloat16");
    sweep("reference", go_on, "mixed_bfloat16");
    sweep("guard", go_on, "mixed_float16");
    sweep("reference", values, "mixed_bfloat16");
    sweep("guard", values, "mixed_float16");
    sweep("reference", replay, "mixed_bfloat16");
    sweep("guard", replay, "mixed_float16");
    for (int i = 0; i < PATHS; i++)
        unlink(path[i]);
    once("reference", false);
    once("guard", false);
    once("guard", true);
    return tap_done(11);
}
