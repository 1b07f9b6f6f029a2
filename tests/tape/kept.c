/* SPDX-License-Identifier: Apache-2.0 */
/* kept.c - contracts of tapes and trainers that were once broken: each was
 * found by holding a header against the code. */
#include "tests/tape/tape.h"

#include <sesqui/gradcheck.h>

#include <math.h>
#include <stdlib.h>

/* ---- dtypes and shapes ---- */

static ssq_dtype dtype_of(ssq_var x)
{
    const ssq_tensor *is = ssq_var_tensor(x);
    return is == NULL ? (ssq_dtype)0 : ssq_tensor_dtype(is);
}

/* Where nothing is cast, f16 1 and f32 1e6 are not joined in f16. */
static void promotes(const char *name)
{
    static const int64_t two = 2;
    struct tape_rig r = rig_open(name, "float32");
    float y[2] = {0, 0};
    ssq_tensor *half = core_vector(r.device, SSQ_F16, two);
    ssq_tensor *full = rig_floats(&r, 1, &two, (const float[]){1e6f, 1e6f});
    ssq_tensor *no = core_vector(r.device, SSQ_U8, two);
    NEED(ssq_fill(r.queue, SSQ_FILL(.x = half, .value = 1.0)));
    NEED(ssq_fill(r.queue, SSQ_FILL(.x = no, .value = 0.0)));
    ssq_tape_begin(r.tape, false);
    ssq_tape_autocast_push(r.tape, NULL);
    ssq_var a = ssq_var_input(r.tape, half), b = ssq_var_input(r.tape, full);
    ssq_var where = ssq_where_var(a, b, SSQ_WHERE(.cond = no));
    ssq_var glu = ssq_glu_var(a, b, NULL);
    ssq_tape_autocast_pop(r.tape);
    NEED(ssq_tape_status(r.tape));
    NEED(
        ssq_tensor_read(r.queue, ssq_var_tensor(where), y, sizeof(y), SSQ_F32));
    NEED(ssq_queue_sync(r.queue));
    tap_ok(dtype_of(where) == SSQ_F32 && y[0] == 1e6f && y[1] == 1e6f,
           "%s: where(0, f16, f32) is f32, %g", name, (double)y[0]);
    tap_ok(dtype_of(glu) == SSQ_F32, "%s: glu of f16 and f32 is f32", name);
    ssq_tensor_destroy(&half);
    ssq_tensor_destroy(&full);
    ssq_tensor_destroy(&no);
    rig_close(&r);
}

/* After a backward a parameter is used again, whose cast the backward has
 * released. */
static void casts(const char *name)
{
    struct tape_rig r = rig_open(name, "mixed_float16");
    ssq_tape *t = r.tape;
    float z[4] = {0};
    ssq_tape_begin(t, true);
    ssq_var w = ssq_var_param(t, "w",
                              SSQ_PARAM(.rank = 2, .shape = {2, 2},
                                        .init = SSQ_INIT_CONSTANT, .value = 1.5,
                                        .full = true));
    ssq_var y = ssq_gemm_var(w, w, SSQ_VAR_NONE, NULL);
    NEED(ssq_tape_backward(t, ssq_mean_var(ssq_square_var(y), NULL), NULL));
    ssq_var again = ssq_gemm_var(w, w, SSQ_VAR_NONE, NULL);
    NEED(ssq_tape_status(t));
    NEED(
        ssq_tensor_read(r.queue, ssq_var_tensor(again), z, sizeof(z), SSQ_F32));
    NEED(ssq_queue_sync(r.queue));
    tap_ok(z[0] == 4.5f && z[3] == 4.5f,
           "%s: a parameter is cast again after the backward", name);
    rig_close(&r);
}

/* Channels that the groups do not divide: refused, and nothing is made. */
static void groups(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    static const float xs[48];
    ssq_tensor *x = rig_floats(&r, 3, (int64_t[]){2, 4, 6}, xs);
    for (int k = 0; k < 4; k++) {
        int64_t out = k % 2 == 0 ? 9 : 8, of = k % 2 == 0 ? 2 : 3;
        ssq_tape_begin(r.tape, true);
        ssq_var in = ssq_var_input(r.tape, x);
        (void)(k < 2 ? ssq_nn_conv1d(r.tape, "c", in, out, 3,
                                     SSQ_NN_CONV1D(.groups = of))
                     : ssq_nn_conv_transpose1d(r.tape, "c", in, out, 3,
                                               SSQ_NN_CONV1D(.groups = of)));
        core_status(ssq_tape_status(r.tape), SSQ_ERR_INVALID, "groups",
                    "%s: 4 channels to %lld in %lld groups", name,
                    (long long)out, (long long)of);
    }
    tap_ok(ssq_params_count(r.params) == 0, "%s: no parameter was made", name);
    ssq_tensor_destroy(&x);
    rig_close(&r);
}

/* The gradient of a slice of one element is right for every step. */
static void steps(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    static const float xs[6] = {1, 2, 3, 4, 5, 6};
    ssq_tensor *x = rig_floats(&r, 2, (int64_t[]){2, 3}, xs);
    float g[6] = {0};
    for (int k = 0; k < 3; k++) {
        int64_t step = k == 2 ? 3 : INT64_MAX - k;
        ssq_tape_begin(r.tape, true);
        ssq_var in = ssq_var_watch(ssq_var_input(r.tape, x));
        ssq_var y = ssq_var_slice(in, 1, 0, 3, step), dx;
        ssq_tape_grad(r.tape, ssq_sum_var(ssq_square_var(y), NULL), &in, 1,
                      NULL, &dx);
        NEED(ssq_tape_status(r.tape));
        NEED(ssq_tensor_read(r.queue, ssq_var_tensor(dx), g, sizeof(g),
                             SSQ_F32));
        NEED(ssq_queue_sync(r.queue));
        tap_ok(memcmp(g, (const float[6]){2, 0, 0, 8, 0, 0}, sizeof(g)) == 0,
               "%s: the gradient of a slice with step %lld: %g %g %g, %g %g %g",
               name, (long long)step, g[0], g[1], g[2], g[3], g[4], g[5]);
    }
    ssq_tensor_destroy(&x);
    rig_close(&r);
}

/* A transposed convolution of no columns has the result of the op. */
static void empty_images(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    const float none = 0.0f;
    ssq_tensor *x = rig_floats(&r, 3, (int64_t[]){2, 4, 0}, &none);
    ssq_tape_begin(r.tape, true);
    ssq_var y = ssq_nn_conv_transpose1d(r.tape, "c", ssq_var_input(r.tape, x),
                                        3, 1, SSQ_NN_CONV1D(.stride = 2));
    core_status(ssq_tape_status(r.tape), SSQ_OK, "",
                "%s: a transposed convolution of no columns", name);
    tap_ok(ssq_tensor_size(ssq_var_tensor(y), 2) == 0,
           "%s: its result has none", name);
    ssq_tensor_destroy(&x);
    rig_close(&r);
}

/* A matrix without a unit stride is copied, as inputs of other ranks are. */
static void strided_inputs(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    static const float xs[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const float half[6] = {1, 3, 5, 7, 9, 11};
    ssq_tensor *x = rig_floats(&r, 2, (int64_t[]){2, 6}, xs), *every = NULL;
    ssq_tensor *dense = rig_floats(&r, 2, (int64_t[]){2, 3}, half);
    float got[2][4] = {{0}, {1}};
    NEED(ssq_tensor_slice(x, 1, 0, 6, 2, &every));
    for (int k = 0; k < 2; k++) {
        ssq_tape_begin(r.tape, true);
        ssq_var y = ssq_nn_linear(r.tape, "fc",
                                  ssq_var_input(r.tape, k == 0 ? every : dense),
                                  2, NULL);
        core_status(ssq_tape_status(r.tape), SSQ_OK, "",
                    "%s: a layer of every %s column", name,
                    k == 0 ? "second" : "dense");
        NEED(ssq_tensor_read(r.queue, ssq_var_tensor(y), got[k], sizeof(got[k]),
                             SSQ_F32));
        NEED(ssq_queue_sync(r.queue));
    }
    tap_ok(memcmp(got[0], got[1], sizeof(got[0])) == 0,
           "%s: it has the result of the copy", name);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&every);
    ssq_tensor_destroy(&dense);
    rig_close(&r);
}

/* An image whose last stride is not 1 is copied, whether or not the new sizes
 * divide the old ones. */
static void strided_images(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    static const float xs[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const int axes[] = {0, 1, 3, 2};
    ssq_tensor *x = rig_floats(&r, 4, (int64_t[]){1, 1, 2, 4}, xs);
    float y[2] = {0, 0}, g[8] = {0};
    ssq_var dx;
    ssq_tape_begin(r.tape, true);
    ssq_var in = ssq_var_watch(ssq_var_input(r.tape, x));
    ssq_var means = ssq_nn_adaptive_avg_pool2d(
        r.tape, ssq_var_transpose(in, axes), 2, 1, SSQ_LAYOUT_NCHW);
    ssq_tape_grad(r.tape, ssq_sum_var(means, NULL), &in, 1, NULL, &dx);
    core_status(ssq_tape_status(r.tape), SSQ_OK, "",
                "%s: means of a transposed image", name);
    if (ssq_var_tensor(means) != NULL && ssq_var_tensor(dx) != NULL) {
        NEED(ssq_tensor_read(r.queue, ssq_var_tensor(means), y, sizeof(y),
                             SSQ_F32));
        NEED(ssq_tensor_read(r.queue, ssq_var_tensor(dx), g, sizeof(g),
                             SSQ_F32));
        NEED(ssq_queue_sync(r.queue));
    }
    tap_ok(y[0] == 3.5f && y[1] == 5.5f && g[0] == 0.25f && g[7] == 0.25f,
           "%s: they are %g and %g, the gradient %g", name, (double)y[0],
           (double)y[1], (double)g[7]);
    ssq_tensor_destroy(&x);
    rig_close(&r);
}

/* ---- gradients that the program writes ---- */

static float gradient_of(const struct tape_rig *r, size_t i, float set)
{
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    float g = -1.0f;
    NEED(ssq_params_get(r->params, i, &info));
    if (set != 0.0f)
        NEED(ssq_fill(r->queue, SSQ_FILL(.x = info.grad, .value = set)));
    NEED(ssq_tensor_read(r->queue, info.grad, &g, sizeof(g), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    return g;
}

/* A pass with two parameters, whose loss depends on one or on both. */
static void one_or_both(const struct tape_rig *r, bool both)
{
    ssq_tape *t = r->tape;
    ssq_tape_begin(t, true);
    const ssq_param_args one =
        *SSQ_PARAM(.rank = 1, .shape = {1}, .init = SSQ_INIT_CONSTANT,
                   .value = 2.0);
    ssq_var a = ssq_var_param(t, "a", &one), b = ssq_var_param(t, "b", &one);
    ssq_var y = ssq_square_var(a);
    if (both)
        y = ssq_add_var(y, ssq_square_var(b));
    NEED(ssq_tape_backward(t, ssq_sum_var(y, NULL), NULL));
}

/* Zeros that a backward has written are the program's to write again. */
static void written_zeros(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    one_or_both(&r, true);
    ssq_params_clean(r.params);
    one_or_both(&r, false);
    float was = gradient_of(&r, 1, 5.0f);
    one_or_both(&r, true);
    tap_ok(was == 5.0f && gradient_of(&r, 1, 0.0f) == 9.0f,
           "%s: a gradient is added to what the program wrote: %g", name,
           gradient_of(&r, 1, 0.0f));
    ssq_params_clean(r.params);
    one_or_both(&r, false);
    (void)gradient_of(&r, 1, 5.0f);
    ssq_params_clean(r.params);
    one_or_both(&r, false);
    tap_ok(gradient_of(&r, 1, 0.0f) == 0.0f,
           "%s: clean ones that are not reached become zeros: %g", name,
           gradient_of(&r, 1, 0.0f));
    rig_close(&r);
}

/* ---- regions to be recomputed ---- */

/* A region over memory outside of the tape: 0 concatenates an input with a
 * parameter, 1 makes a transposed parameter dense, 2 casts an input. The memory
 * is written after the region, or before it and after another op has read it.
 */
static ssq_status region(const struct tape_rig *r, ssq_tensor *x, int kind,
                         bool after)
{
    ssq_tape *t = r->tape;
    NEED(ssq_fill(r->queue, SSQ_FILL(.x = x, .value = 1.0)));
    ssq_tape_begin(t, true);
    ssq_var w =
        ssq_var_param(t, "w",
                      SSQ_PARAM(.rank = 2, .shape = {2, 3},
                                .init = SSQ_INIT_CONSTANT, .value = 3.0));
    ssq_var in = ssq_var_input(t, x), y;
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    NEED(ssq_params_get(r->params, 0, &info));
    const ssq_tensor *outside = kind == 1 ? info.tensor : x;
    (void)ssq_relu_var(kind == 1 ? w : in);
    if (!after)
        NEED(ssq_fill(r->queue, SSQ_FILL(.x = outside, .value = 2.0)));
    ssq_tape_recompute_push(t);
    if (kind == 0) {
        const ssq_var both[] = {in, w};
        y = ssq_square_var(ssq_var_concat(both, 2, 0));
    } else if (kind == 1) {
        y = ssq_square_var(ssq_var_reshape(ssq_var_transpose(w, NULL), 1,
                                           (const int64_t[]){6}));
    } else {
        y = ssq_mul_var(ssq_var_cast(ssq_var_cast(in, SSQ_F16), SSQ_F32), w);
    }
    y = ssq_tape_recompute_pop(t, ssq_sum_var(y, NULL));
    if (after)
        NEED(ssq_fill(r->queue, SSQ_FILL(.x = outside, .value = 100.0)));
    ssq_params_clean(r->params);
    return ssq_tape_backward(t, y, NULL);
}

static void written_regions(const char *name)
{
    static const char *const kinds[] = {"concat", "a copy by reshape",
                                        "a cast"};
    struct tape_rig r = rig_open(name, "float32");
    static const float ones[6] = {1, 1, 1, 1, 1, 1};
    ssq_tensor *x = rig_floats(&r, 2, (int64_t[]){2, 3}, ones);
    for (int kind = 0; kind < 3; kind++) {
        core_status(region(&r, x, kind, false), SSQ_OK, "",
                    "%s: an input that was written before %s", name,
                    kinds[kind]);
        if (kind < 2)
            core_status(region(&r, x, kind, true), SSQ_ERR_INVALID,
                        "was written between", "%s: and after it", name);
    }
    ssq_tensor_destroy(&x);
    rig_close(&r);
}

/* ---- ssq_gradcheck ---- */

static ssq_var square(ssq_tape *t, void *user)
{
    (void)user;
    ssq_var w =
        ssq_var_param(t, "w",
                      SSQ_PARAM(.rank = 1, .shape = {3},
                                .init = SSQ_INIT_CONSTANT, .value = 1.5));
    return ssq_square_var(w);
}

static void checker(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    ssq_graph *graph = NULL;
    NEED(ssq_gradcheck(r.tape, square, NULL, NULL, NULL));
    core_status(ssq_gradcheck(r.tape, square, NULL,
                              SSQ_GRADCHECK(.ulps = (double)INFINITY), NULL),
                SSQ_ERR_INVALID, "ulps", "%s: infinitely many ulps", name);
    core_status(
        ssq_gradcheck(r.tape, square, NULL, SSQ_GRADCHECK(.step = 1e-12), NULL),
        SSQ_ERR_INVALID, "step is 1e-12|\"w\"", "%s: a step that float32 loses",
        name);
    NEED(ssq_gradcheck(r.tape, square, NULL, NULL, NULL));
    NEED(ssq_graph_begin(r.queue));
    core_status(ssq_gradcheck(r.tape, square, NULL, NULL, NULL),
                SSQ_ERR_INVALID, "captured", "%s: in a capture", name);
    NEED(ssq_graph_end(r.queue, &graph));
    tap_ok(ssq_graph_ops(graph) == 0, "%s: nothing was captured", name);
    ssq_graph_destroy(&graph);
    rig_close(&r);
}

/* ---- trainers ---- */

static bool failing;

static void *alloc(void *user, size_t bytes)
{
    (void)user;
    return failing ? NULL : malloc(bytes);
}

static void release(void *user, void *p)
{
    (void)user;
    free(p);
}

static ssq_status pass(ssq_trainer *trainer, const ssq_tensor *x)
{
    ssq_tape *t = ssq_trainer_begin(trainer);
    ssq_var y = ssq_nn_linear(t, "fc", ssq_var_input(t, x), 3, NULL);
    return ssq_trainer_step(trainer, ssq_mean_var(ssq_square_var(y), NULL));
}

/* A poll that fails for lack of memory reports the passes that have arrived. */
static void polls(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    ssq_trainer *t = NULL;
    ssq_trainer_progress p = SSQ_TRAINER_PROGRESS_INIT;
    static const float xs[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3};
    ssq_tensor *x = rig_floats(&r, 2, (int64_t[]){4, 3}, xs);
    uint64_t all = 0;
    NEED(ssq_trainer_create(r.queue, NULL, &t));
    for (int i = 0; i < 6; i++) {
        NEED(pass(t, x));
        failing = i == 2;
        ssq_status st = ssq_trainer_poll(t, &p);
        failing = false;
        if (st != SSQ_OK && st != SSQ_ERR_NOMEM)
            core_need(st, "trainer_poll");
        all += p.passes;
        NEED(ssq_queue_sync(r.queue));
    }
    for (int i = 0; i < 3; i++) {
        NEED(ssq_trainer_poll(t, &p));
        all += p.passes;
        NEED(ssq_queue_sync(r.queue));
    }
    tap_ok(all == 6, "%s: polls report %llu of 6 passes", name,
           (unsigned long long)all);
    ssq_trainer_destroy(&t);
    ssq_tensor_destroy(&x);
    rig_close(&r);
}

/* The end of an epoch has no weight that the next pass could get. */
static void ends(const char *name)
{
    struct tape_rig r = rig_open(name, "float32");
    ssq_trainer *t = NULL;
    static const float xs[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3};
    ssq_tensor *x = rig_floats(&r, 2, (int64_t[]){4, 3}, xs);
    int64_t rows = -1;
    double loss = 0.0;
    NEED(ssq_trainer_create(r.queue, NULL, &t));
    NEED(ssq_trainer_announce(t, 0));
    NEED(ssq_trainer_next(t, &rows));
    NEED(pass(t, x));
    NEED(ssq_trainer_loss(t, &loss));
    tap_ok(rows == 0 && isfinite(loss) && loss > 0.0,
           "%s: after the end of an epoch a pass has its loss, %g", name, loss);
    ssq_trainer_destroy(&t);
    ssq_tensor_destroy(&x);
    rig_close(&r);
}

int main(void)
{
    const ssq_allocator short_of = {sizeof(short_of), alloc, release, NULL};
    NEED(ssq_allocator_set(&short_of));
    for (size_t i = 0; core_device(i) != NULL; i++) {
        promotes(core_device(i));
        casts(core_device(i));
        groups(core_device(i));
        checker(core_device(i));
        polls(core_device(i));
        ends(core_device(i));
        steps(core_device(i));
        empty_images(core_device(i));
        strided_inputs(core_device(i));
        strided_images(core_device(i));
        written_zeros(core_device(i));
        written_regions(core_device(i));
    }
    return tap_done(2 * 30);
}
