/* SPDX-License-Identifier: Apache-2.0 */
/* settled.c - a step of a trainer allocates nothing, once each of its shapes
 * has been seen: no host memory, counted where the library asks the system for
 * it, and no memory of the device. How much a driver's queue holds at a time
 * depends on how far its device is behind; there less than a block is left for
 * each round of the shapes. */
#include "tests/tape/tape.h"

#include "lib/core/base/object.h"

#define SHAPES 3
#define WIDTH  16
#define HEADS  2
#define WORDS  13

/* ---- models ---- */

static ssq_var mlp(ssq_tape *t, const ssq_tensor *tokens)
{
    ssq_var x = ssq_nn_embedding(t, "words", tokens, WORDS, WIDTH, NULL);
    x = ssq_relu_var(ssq_nn_linear(t, "fc1", x, 24, NULL));
    return ssq_nn_linear(t, "fc2", x, WORDS, NULL);
}

static ssq_var gpt(ssq_tape *t, const ssq_tensor *tokens)
{
    ssq_var x = ssq_nn_embedding(t, "words", tokens, WORDS, WIDTH, NULL);
    ssq_tape_push(t, "block");
    ssq_var y = ssq_nn_layer_norm(t, "ln1", x, NULL);
    y = ssq_nn_attention(t, "attention", y, HEADS,
                         SSQ_NN_ATTENTION(.causal = true));
    x = ssq_add_var(x, ssq_nn_dropout(t, y, 0.1));
    y = ssq_nn_layer_norm(t, "ln2", x, NULL);
    y = ssq_gelu_tanh_var(ssq_nn_linear(t, "up", y, 4 * WIDTH, NULL));
    x = ssq_add_var(x, ssq_nn_linear(t, "down", y, WIDTH, NULL));
    ssq_tape_pop(t);
    x = ssq_nn_layer_norm(t, "ln", x, NULL);
    return ssq_nn_linear(t, "head", x, WORDS, NULL);
}

struct settled_model {
    const char *name, *policy;
    ssq_var (*net)(ssq_tape *t, const ssq_tensor *tokens);
    uint32_t accumulate;
    bool replay;
};

/* ---- steps ---- */

struct settled_batch {
    ssq_tensor *x, *y;
};

static ssq_tape *train(ssq_trainer *trainer, const struct settled_model *m,
                       const struct settled_batch *b)
{
    ssq_tape *t = ssq_trainer_begin(trainer);
    ssq_var logits =
        ssq_var_reshape(m->net(t, b->x), 2, (const int64_t[]){-1, WORDS});
    ssq_var loss =
        ssq_cross_entropy_var(logits, SSQ_CROSS_ENTROPY(.target = b->y));
    NEED(ssq_trainer_step(trainer, loss));
    return t;
}

/* What is taken of host and device. The device is waited for, since what it has
 * not finished is held. */
struct settled_use {
    size_t taken, live; /* of the host: times, blocks */
    bool keeps;
    ssq_memory_info device;
    ssq_tape_stats tape;
};

static struct settled_use use_of(ssq_queue *q, const ssq_tape *tape)
{
    struct settled_use u = {.device = SSQ_MEMORY_INFO_INIT,
                            .tape = SSQ_TAPE_STATS_INIT};
    NEED(ssq_queue_sync(q));
    NEED(ssq_device_memory(ssq_queue_device(q), &u.device));
    NEED(ssq_tape_stats_get(tape, &u.tape));
    u.keeps = mem_count(&u.taken, &u.live);
    return u;
}

static void settled(ssq_device *d, const char *name,
                    const struct settled_model *m, int steps)
{
    const bool is_driver = strchr(name, ':') != NULL;
    const size_t leak = is_driver ? (size_t)(steps / SHAPES) : 1;
    static const int64_t shape[SHAPES][2] = {{2, 8}, {3, 5}, {1, 16}};
    ssq_queue *q = core_queue(d);
    ssq_trainer *trainer = NULL;
    struct settled_batch b[SHAPES];
    NEED(ssq_trainer_create(q,
                            SSQ_TRAINER(.policy = m->policy,
                                        .accumulate = m->accumulate,
                                        .replay = m->replay),
                            &trainer));
    for (int i = 0; i < SHAPES; i++) {
        NEED(ssq_tensor_create(d, SSQ_I32, 2, shape[i], &b[i].x));
        NEED(ssq_tensor_create(d, SSQ_I32, 1,
                               &(int64_t){shape[i][0] * shape[i][1]}, &b[i].y));
        NEED(ssq_fill(q, SSQ_FILL(.x = b[i].x, .value = i)));
        NEED(ssq_fill(q, SSQ_FILL(.x = b[i].y, .value = i + 1)));
    }
    ssq_tape *tape = NULL;
    struct settled_use before, after;
    const int first = 4 * SHAPES * (int)m->accumulate;
    for (int i = 0; i < first; i++) {
        tape = train(trainer, m, &b[i % SHAPES]);
        NEED(ssq_queue_sync(q));
    }
    before = use_of(q, tape);
    for (int i = 0; i < steps; i++) {
        train(trainer, m, &b[i % SHAPES]);
        NEED(ssq_queue_sync(q));
    }
    after = use_of(q, tape);
    tap_ok((is_driver || !after.keeps || after.taken == before.taken) &&
               after.live < before.live + leak &&
               after.device.reserved == before.device.reserved &&
               after.device.in_use == before.device.in_use &&
               (is_driver || after.device.peak == before.device.peak) &&
               after.device.buffers == before.device.buffers &&
               after.tape.device_bytes == before.tape.device_bytes &&
               after.tape.peak_bytes == before.tape.peak_bytes &&
               after.tape.device_allocations ==
                   before.tape.device_allocations &&
               after.tape.host_allocations == before.tape.host_allocations,
           "%s: %s of %s, %u passes to a step, %d passes of %d shapes: %zu "
           "allocations of the host, %lld bytes of the device",
           name, m->name, m->policy, m->accumulate, steps, SHAPES,
           after.taken - before.taken,
           (long long)(after.device.reserved - before.device.reserved));
    for (int i = 0; i < SHAPES; i++) {
        ssq_tensor_destroy(&b[i].x);
        ssq_tensor_destroy(&b[i].y);
    }
    ssq_trainer_destroy(&trainer);
    ssq_queue_destroy(&q);
}

int main(void)
{
    static const struct settled_model models[] = {
        {"mlp", "float32", mlp, 1},
        {"mlp", "mixed_float16", mlp, 2},
        {"gpt", "mixed_float16", gpt, 1},
        {"gpt", "mixed_bfloat16", gpt, 2},
        {"replayed gpt", "mixed_float16", gpt, 2, true},
    };
    const int steps = tap_full() ? 9999 : 147;
    int cases = 0;
    for (size_t i = 0; core_device(i) != NULL; i++) {
        ssq_device *d = core_open(core_device(i));
        for (size_t k = 0; k < sizeof(models) / sizeof(models[0]); k++) {
            settled(d, core_device(i), &models[k], steps);
            cases++;
        }
        ssq_device_close(&d);
    }
    return tap_done(cases);
}
