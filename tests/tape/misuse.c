/* SPDX-License-Identifier: Apache-2.0 */
/* misuse.c - an error is latched with its op, its scope and its line, changes
 * nothing, and ends with the pass. */
#include "tests/tape/tape.h"

#define P(T, NAME, RANK, ...)                                                  \
    ssq_var_param(T, NAME,                                                     \
                  SSQ_PARAM(.rank = (RANK), .shape = {__VA_ARGS__},            \
                            .init = SSQ_INIT_NORMAL, .value = 1.0))

/* The tape has latched this; and is well again. */
static void latched(const struct tape_rig *r, ssq_status want, const char *text,
                    const char *what)
{
    core_status(ssq_tape_status(r->tape), want, text, "%s: %s", r->name, what);
    ssq_tape_begin(r->tape, true);
    if (ssq_tape_status(r->tape) != SSQ_OK)
        tap_ok(false, "%s: begin forgets what was latched", what);
}

/* ---- vars ---- */

/* A result of 2^62 elements: of two columns and rows that repeat one element.
 */
static void huge_result(const struct tape_rig *r)
{
    const float zero = 0.0f;
    const int64_t one = 1, many = INT64_C(1) << 31;
    const int64_t tall[2] = {many, 1}, wide[2] = {1, many};
    const int64_t still[2] = {0, 0};
    ssq_buffer *b;
    ssq_tensor *x, *y, *z;
    NEED(ssq_buffer_create(r->device, sizeof(zero), &b));
    NEED(ssq_tensor_from_buffer(b, SSQ_F32, 1, &one, NULL, 0, &z));
    NEED(ssq_tensor_from_buffer(b, SSQ_F32, 2, tall, still, 0, &x));
    NEED(ssq_tensor_from_buffer(b, SSQ_F32, 2, wide, still, 0, &y));
    NEED(ssq_tensor_write(r->queue, z, &zero, sizeof(zero), SSQ_F32));
    ssq_tape_begin(r->tape, true);
    (void)ssq_minimum_var(ssq_var_input(r->tape, x), ssq_var_input(r->tape, y));
    latched(r, SSQ_ERR_INVALID, "minimum|larger than 64 bits",
            "a result that memory cannot have");
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_tensor_destroy(&z);
    ssq_buffer_destroy(&b);
}

static void vars(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    ssq_var x, y, z;

    ssq_tape_begin(t, true);
    x = P(t, "x", 2, 3, 4);
    ssq_tape_push(t, "block");
    ssq_tape_push(t, "head");
    y = ssq_gemm_var(x, x, SSQ_VAR_NONE, NULL);
    z = ssq_relu_var(ssq_mul_var(y, x));
    tap_ok(ssq_var_tensor(y) == NULL && ssq_var_tensor(z) == NULL &&
               ssq_var_rank(z) == 0,
           "%s: a failed op gives an inert var, and so do its users", r->name);
    latched(r, SSQ_ERR_INVALID, "misuse.c:|block.head: gemm:|4|3",
            "shapes that do not fit are told with line, scope and op");

    x = P(t, "x", 2, 3, 4);
    ssq_tape_begin(t, true);
    y = ssq_relu_var(x);
    latched(r, SSQ_ERR_INVALID, "var of pass", "a var of an earlier pass");

    y = ssq_add_var(P(t, "x", 2, 3, 4), SSQ_VAR_NONE);
    latched(r, SSQ_ERR_INVALID, "add: b is not a var",
            "an operand that is none");

    struct tape_rig other = rig_open(r->name, NULL);
    ssq_tape_begin(other.tape, true);
    y = ssq_add_var(P(t, "x", 2, 3, 4), P(other.tape, "x", 2, 3, 4));
    latched(r, SSQ_ERR_INVALID, "another tape", "a var of another tape");
    core_status(ssq_tape_status(other.tape), SSQ_OK, "",
                "%s: of which that one knows nothing", r->name);
    y = ssq_nn_linear(t, "a b", P(t, "x", 2, 3, 4), 2, NULL);
    latched(r, SSQ_ERR_INVALID, "misuse.c:|a b", "a layer's name with a space");
    y = ssq_nn_linear(t, "fc", P(other.tape, "x", 2, 3, 4), 2, NULL);
    latched(r, SSQ_ERR_INVALID, "nn_linear: x is a var of another tape",
            "a layer on another tape");
    rig_close(&other);

    x = P(t, "x", 2, 3, 4);
    y = ssq_sum_var(x, SSQ_SUM(.x = ssq_var_tensor(x)));
    latched(r, SSQ_ERR_INVALID, "x is set in the options",
            "an operand in the options");
    y = ssq_softmax_var(P(t, "x", 2, 3, 4), &(ssq_softmax_args){.axis = 1});
    latched(r, SSQ_ERR_INVALID, "struct_size is 0", "options without defaults");

    y = ssq_var_input(t, NULL);
    latched(r, SSQ_ERR_INVALID, "tensor is NULL", "an input that is none");
    x = ssq_var_reshape(P(t, "x", 2, 3, 4), 1, (int64_t[]){13});
    latched(r, SSQ_ERR_INVALID, "13", "a shape of other elements");
    x = ssq_var_transpose(P(t, "x", 2, 3, 4), (int[]){0, 0});
    latched(r, SSQ_ERR_INVALID, "var_transpose", "an axis twice");
    x = ssq_var_cast(P(t, "x", 2, 3, 4), SSQ_I32);
    latched(r, SSQ_ERR_INVALID, "no float", "a cast to integers");
    tap_ok(ssq_relu_var(SSQ_VAR_NONE).tape == NULL &&
               ssq_var_tensor(SSQ_VAR_NONE) == NULL &&
               ssq_var_size(SSQ_VAR_NONE, 0) == 0,
           "%s: no var makes no var", r->name);
}

/* A linear layer of vectors of size 0 has the bias as its result. */
static void linear_of_nothing(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    ssq_tensor *x = NULL;
    NEED(ssq_tensor_create(r->device, SSQ_F32, 3, (int64_t[]){2, 3, 0}, &x));
    ssq_tape_begin(t, true);
    const ssq_tensor *y = ssq_var_tensor(
        ssq_nn_linear(t, "nothing", ssq_var_input(t, x), 4, NULL));
    ssq_tensor_desc d = SSQ_TENSOR_DESC_INIT;
    tap_ok(ssq_tape_status(t) == SSQ_OK &&
               ssq_tensor_desc_get(y, &d) == SSQ_OK && d.rank == 3 &&
               d.shape[0] == 2 && d.shape[1] == 3 && d.shape[2] == 4,
           "%s: a linear layer of [2,3,0] gives [2,3,4]", r->name);
    ssq_tape_begin(t, true);
    ssq_tensor_destroy(&x);
}

/* Arguments that an op would find too late, or not at all. */
static void late(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    const ssq_var none = ssq_var_concat(NULL, 0, 0);
    ssq_tape_begin(t, true);
    (void)ssq_gemm_var(P(t, "s", 2, 4, 4), P(t, "s", 2, 4, 4),
                       ssq_relu_var(none), NULL);
    latched(r, SSQ_ERR_INVALID, "gemm: bias is not a var",
            "the result of a call without a tape is no omitted operand");
    (void)ssq_nn_conv2d(
        t, "c", ssq_var_reshape(P(t, "x", 2, 3, 4), 4, (int64_t[]){1, 3, 2, 2}),
        4, 1, 1, SSQ_NN_CONV2D(.groups = 2));
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    core_status(ssq_params_find(r->params, "c.weight", &info),
                SSQ_ERR_NOT_FOUND, "", "%s: filters that cannot be", r->name);
    latched(r, SSQ_ERR_INVALID, "nn_conv2d: 3 channels of x|in 2 groups",
            "channels that are no multiple of the groups");
    ssq_tape_begin(t, true);
    (void)ssq_nn_conv2d(
        t, "c", ssq_var_reshape(P(t, "x", 2, 3, 4), 4, (int64_t[]){1, 3, 2, 2}),
        -8, 1, 1, NULL);
    latched(r, SSQ_ERR_INVALID, "nn_conv2d: out is -8",
            "a negative number of channels");
    ssq_tape_begin(t, true);
    (void)ssq_softplus_var(P(t, "x", 2, 3, 4), SSQ_SOFTPLUS(.beta = 1e39));
    latched(r, SSQ_ERR_INVALID, "softplus: beta is 1e+39",
            "a sharpness above all float32");
    ssq_tape_begin(t, false);
    (void)ssq_nn_dropout(t, P(t, "x", 2, 3, 4), 7.0);
    latched(r, SSQ_ERR_INVALID, "p is 7", "a probability, in an evaluation");
}

/* Tapes and parameters are not created in a capture: each launch of the graph
 * would initialise them again. */
static void captures(const struct tape_rig *r)
{
    ssq_tape *t = r->tape, *other = NULL;
    ssq_graph *g = NULL;
    ssq_tape_begin(t, true);
    (void)P(t, "x", 2, 3, 4);
    NEED(ssq_graph_begin(r->queue));
    core_status(ssq_tape_create(r->queue, r->params, &other), SSQ_ERR_INVALID,
                "captured", "%s: a tape in a capture", r->name);
    (void)ssq_relu_var(P(t, "x", 2, 3, 4));
    core_status(ssq_tape_status(t), SSQ_OK, "",
                "%s: a parameter that exists may be in one", r->name);
    (void)P(t, "fresh", 1, 3);
    NEED(ssq_graph_end(r->queue, &g));
    latched(r, SSQ_ERR_INVALID, "fresh|captured", "one that does not, not");
    ssq_graph_destroy(&g);
}

/* Parts, repeats, joins and choices. */
static void parts(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    ssq_var x;

    ssq_tape_begin(t, true);
    x = ssq_var_slice(P(t, "x", 2, 3, 4), 1, 2, 5, 1);
    latched(r, SSQ_ERR_INVALID, "misuse.c:|var_slice|5", "a slice too long");
    x = ssq_var_slice(P(t, "x", 2, 3, 4), 2, 0, 1, 1);
    latched(r, SSQ_ERR_INVALID, "var_slice|axis 2", "a slice of no axis");
    x = ssq_var_slice(P(t, "x", 2, 3, 4), 1, 0, 1, 0);
    latched(r, SSQ_ERR_INVALID, "var_slice|0:1:0", "a slice without steps");
    x = ssq_var_broadcast(P(t, "x", 2, 3, 4), 2, (int64_t[]){6, 4});
    latched(r, SSQ_ERR_INVALID, "var_broadcast|6,4", "rows repeated in part");
    x = ssq_var_concat((ssq_var[]){P(t, "x", 2, 3, 4), P(t, "z", 2, 4, 3)}, 2,
                       0);
    latched(r, SSQ_ERR_INVALID, "var_concat|4,3", "columns that do not fit");
    x = ssq_var_concat((ssq_var[]){SSQ_VAR_NONE, P(t, "x", 2, 3, 4)}, 2, 0);
    latched(r, SSQ_ERR_INVALID, "x is not a var", "no first part");
    x = ssq_var_concat((ssq_var[]){P(t, "x", 2, 3, 4), P(t, "y", 1, 4)}, 2, 0);
    latched(r, SSQ_ERR_INVALID, "x[1] has rank 1", "a matrix and a row");
    x = ssq_var_concat((ssq_var[]){P(t, "x", 2, 3, 4)}, 1, -3);
    latched(r, SSQ_ERR_INVALID, "axis -3 of rank 2", "along no axis");
    x = ssq_var_concat((ssq_var[]){P(t, "x", 2, 3, 4), SSQ_VAR_NONE}, 2, 0);
    latched(r, SSQ_ERR_INVALID, "var_concat: x is not a var", "a var and none");
    tap_ok(ssq_var_concat(NULL, 1, 0).tape == NULL &&
               ssq_var_concat(&x, 0, 0).tape == NULL,
           "%s: nothing joined is not a var", r->name);
    x = ssq_where_var(P(t, "x", 2, 3, 4), P(t, "x", 2, 3, 4), NULL);
    latched(r, SSQ_ERR_INVALID, "where: cond is NULL", "a choice by nothing");
}

/* ---- layers ---- */

static void layers(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    ssq_var x, z;

    ssq_tape_begin(t, true);
    x = P(t, "cube", 3, 2, 3, 4);
    ssq_nn_attention(t, "at", x, 3, NULL);
    latched(r, SSQ_ERR_INVALID, "3 heads do not divide a width of 4",
            "heads that do not divide");
    x = P(t, "cube", 3, 2, 3, 4);
    ssq_nn_attention(t, "at", x, 4, SSQ_NN_ATTENTION(.kv_heads = 3));
    latched(r, SSQ_ERR_INVALID, "3 kv_heads do not divide 4 heads",
            "heads of keys that do not divide");
    ssq_nn_conv1d(t, "c", P(t, "x", 2, 3, 4), 5, 3, NULL);
    latched(r, SSQ_ERR_INVALID, "nn_conv1d: x has rank 2, expected 3",
            "a convolution of a matrix");
    ssq_nn_conv1d(t, "c", P(t, "cube", 3, 2, 3, 4), 5, 0, NULL);
    latched(r, SSQ_ERR_INVALID, "5 filters of length 0", "filters of nothing");
    ssq_nn_conv1d(t, "c", P(t, "cube", 3, 2, 3, 4), 5, INT64_MAX, NULL);
    latched(r, SSQ_ERR_INVALID, "9223372036854775807",
            "a filter of more elements than 63 bits count");
    ssq_nn_conv2d(t, "c", P(t, "image", 4, 2, 3, 4, 5), 5, INT64_MAX, 2, NULL);
    latched(r, SSQ_ERR_INVALID, "9223372036854775807", "also of an image");
    ssq_nn_conv_transpose1d(t, "c", P(t, "cube", 3, 2, 3, 4), 5, 3,
                            SSQ_NN_CONV1D(.groups = 0));
    latched(r, SSQ_ERR_INVALID, "nn_conv_transpose1d: groups is 0", "no group");
    ssq_nn_max_pool1d(t, P(t, "cube", 3, 2, 3, 4), 3,
                      SSQ_NN_POOL1D(.layout = (ssq_layout)7));
    latched(r, SSQ_ERR_INVALID, "nn_max_pool1d|layout", "no such layout");
    ssq_nn_avg_pool1d(t, P(t, "cube", 3, 2, 3, 4), 0, NULL);
    latched(r, SSQ_ERR_INVALID, "avg_pool2d", "windows of nothing");
    ssq_nn_avg_pool1d(t, P(t, "cube", 3, 2, 3, 4), 2, &(ssq_nn_pool1d_args){0});
    latched(r, SSQ_ERR_INVALID, "struct_size is 0", "pooling without a macro");
    ssq_nn_adaptive_avg_pool2d(t, P(t, "cube", 3, 2, 3, 4), 1, 1,
                               SSQ_LAYOUT_NCHW);
    latched(r, SSQ_ERR_INVALID, "nn_adaptive_avg_pool2d: x has rank 3",
            "an image of three dimensions");
    ssq_nn_adaptive_avg_pool2d(t, P(t, "image", 4, 2, 3, 4, 5), 0, 1,
                               SSQ_LAYOUT_NCHW);
    latched(r, SSQ_ERR_INVALID, "0x1 from 4x5", "an image without rows");
    ssq_nn_lstm(t, "l", P(t, "x", 2, 3, 4), 5, SSQ_VAR_NONE, SSQ_VAR_NONE, &z,
                NULL, NULL);
    latched(r, SSQ_ERR_INVALID, "nn_lstm: x has rank 2, expected 3",
            "steps without a batch");
    tap_ok(ssq_var_tensor(z) == NULL, "%s: its state is inert", r->name);
    ssq_nn_lstm(t, "l", P(t, "cube", 3, 2, 3, 4), INT64_C(1) << 62,
                SSQ_VAR_NONE, SSQ_VAR_NONE, NULL, NULL, NULL);
    latched(r, SSQ_ERR_INVALID, "nn_lstm: hidden is 4611686018427387904",
            "more gates than 63 bits count");
}

/* ---- parameters ---- */

static void params(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    char longest[SSQ_PARAM_NAME];
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    size_t n;

    ssq_tape_begin(t, true);
    P(t, "again", 2, 3, 4);
    n = ssq_params_count(r->params);
    P(t, "again", 2, 4, 3);
    latched(r, SSQ_ERR_INVALID, "\"again\"|3,4|4,3", "a name in another shape");
    ssq_var_param(t, "again",
                  SSQ_PARAM(.rank = 2, .shape = {3, 4}, .state = true));
    latched(r, SSQ_ERR_INVALID, "it is not a state", "a name as a state");
    P(t, "", 1, 2);
    latched(r, SSQ_ERR_INVALID, "name is empty", "no name");
    P(t, "a b", 1, 2);
    latched(r, SSQ_ERR_INVALID, "character 1 of \"a b\"", "a blank in a name");
    P(t, "a*", 1, 2);
    latched(r, SSQ_ERR_INVALID, "character 1 of \"a*\"", "a wild card");
    memset(longest, 'n', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    ssq_tape_push(t, "s");
    P(t, longest, 1, 2);
    latched(r, SSQ_ERR_INVALID, "is longer than 127", "a name and its scope");
    ssq_tape_push(t, NULL);
    latched(r, SSQ_ERR_INVALID, "name is NULL", "a scope without a name");
    ssq_tape_pop(t);
    latched(r, SSQ_ERR_INVALID, "nothing was pushed", "a pop too many");
    ssq_tape_resume(t);
    latched(r, SSQ_ERR_INVALID, "nothing was paused", "a resume too many");
    P(t, "rank", 9, 1);
    latched(r, SSQ_ERR_INVALID, "rank is 9", "too many dimensions");
    P(t, "negative", 1, -4);
    latched(r, SSQ_ERR_INVALID, "-4", "a negative size");
    ssq_var_param(t, "bare", &(ssq_param_args){.rank = 1, .shape = {2}});
    latched(r, SSQ_ERR_INVALID, "struct_size is 0", "without the macro");
    tap_ok(ssq_params_count(r->params) == n,
           "%s: nothing of that has made a parameter", r->name);
    core_status(ssq_params_find(r->params, "nobody", &info), SSQ_ERR_NOT_FOUND,
                "\"nobody\"", "%s: a name that nobody has", r->name);
    core_status(ssq_params_get(r->params, n, &info), SSQ_ERR_INVALID,
                "params_get", "%s: a number past the end", r->name);
}

/* If the first backward of a parameter fails, it has no gradient. */
static void first_fails(void)
{
    static const char op[] = "unary_backward";
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    struct tape_rig own = rig_open("cpu", NULL), *r = &own;
    ssq_tape *t = r->tape;
    for (int good = 0; good < 2; good++) {
        ssq_tape_begin(t, true);
        ssq_var loss = ssq_sum_var(ssq_relu_var(P(t, "first", 2, 3, 4)), NULL);
        NEED(ssq_implementation_pin(r->device, op, good == 1 ? NULL : "table"));
        ssq_status st = ssq_tape_backward(t, loss, NULL);
        NEED(ssq_implementation_pin(r->device, op, NULL));
        NEED(ssq_params_find(r->params, "first", &info));
        tap_ok((st == SSQ_OK) == (good == 1) &&
                   (info.grad != NULL) == (good == 1),
               "%s: the first backward of a parameter %s: %s", r->name,
               good == 1 ? "succeeds after that" : "fails",
               good == 1 ? "a gradient" : ssq_last_error());
    }
    rig_close(r);
}

/* Views of a released value are released, too: also those without a node. */
static void released_views(const struct tape_rig *r)
{
    static const char *const names[] = {"detach", "watch", "reshape in a pause",
                                        "a detach of a detach"};
    for (int k = 0; k < 4; k++) {
        ssq_tape *t = r->tape;
        ssq_tape_begin(t, true);
        ssq_var y = ssq_tanh_var(ssq_tanh_var(P(t, "x", 2, 3, 4))), v;
        if (k == 2)
            ssq_tape_pause(t);
        v = k == 1   ? ssq_var_watch(y)
            : k == 2 ? ssq_var_reshape(y, 1, (int64_t[]){12})
                     : ssq_var_detach(y);
        if (k == 2)
            ssq_tape_resume(t);
        if (k == 3)
            v = ssq_var_detach(v);
        ssq_var loss = ssq_sum_var(ssq_tanh_var(y), NULL);
        NEED(ssq_tape_backward(t, loss, NULL));
        tap_ok(ssq_var_tensor(v) == NULL, "%s: %s: released with its base",
               r->name, names[k]);
        ssq_mean_var(v, NULL);
        latched(r, SSQ_ERR_INVALID, "x was released by the backward", names[k]);
        ssq_tape_begin(t, true);
        y = ssq_tanh_var(P(t, "x", 2, 3, 4));
        v = ssq_var_detach(y);
        bool there = ssq_var_tensor(v) != NULL;
        NEED(ssq_tape_backward(t, ssq_sum_var(y, NULL), NULL));
        tap_ok(there && ssq_var_tensor(v) != NULL,
               "%s: %s: kept where it was asked for", r->name, names[k]);
    }
}

/* ---- backward ---- */

static void backward(const struct tape_rig *r)
{
    ssq_tape *t = r->tape;
    ssq_var x, y;

    ssq_tape_begin(t, true);
    x = P(t, "x", 2, 3, 4);
    core_status(ssq_tape_backward(t, ssq_relu_var(x), NULL), SSQ_ERR_INVALID,
                "expected one element", "%s: a loss of 12 elements", r->name);
    ssq_tape_begin(t, true);
    x = ssq_sum_var(ssq_var_detach(P(t, "x", 2, 3, 4)), NULL);
    core_status(ssq_tape_backward(t, x, NULL), SSQ_ERR_INVALID,
                "leads to no parameter", "%s: a loss behind a detach", r->name);
    ssq_tape_begin(t, false);
    x = ssq_sum_var(P(t, "x", 2, 3, 4), NULL);
    core_status(ssq_tape_backward(t, x, NULL), SSQ_ERR_INVALID,
                "for evaluation", "%s: in a pass for evaluation", r->name);
    ssq_tape_begin(t, true);
    y = ssq_tanh_var(P(t, "x", 2, 3, 4));
    x = ssq_sum_var(y, NULL);
    core_status(ssq_tape_backward(t, x, NULL), SSQ_OK, "",
                "%s: as it should be", r->name);
    core_status(ssq_tape_backward(t, x, NULL), SSQ_ERR_INVALID,
                "a second backward", "%s: twice", r->name);
    ssq_tape_begin(t, true);
    y = ssq_tanh_var(P(t, "x", 2, 3, 4));
    core_status(ssq_tape_backward(t, ssq_sum_var(y, NULL), NULL), SSQ_OK, "",
                "%s: again", r->name);
    tap_ok(ssq_var_tensor(y) == NULL, "%s: what nobody asked for is released",
           r->name);
    ssq_relu_var(y);
    latched(r, SSQ_ERR_INVALID, "x was released by the backward",
            "a released var");
    core_status(ssq_tape_backward(NULL, x, NULL), SSQ_ERR_INVALID,
                "tape is NULL", "%s: without a tape", r->name);
    released_views(r);
}

/* ---- trainers ---- */

static void trainers(const struct tape_rig *r)
{
    ssq_trainer *trainer = NULL;
    ssq_params_options odd = SSQ_PARAMS_OPTIONS_INIT;
    ssq_params *set = NULL;
    ssq_graph *graph = NULL;
    double mean = 0.0;
    ssq_tape *t;
    ssq_var x;

    odd.struct_size = 3;
    core_status(ssq_params_create(r->device, NULL, &odd, &set), SSQ_ERR_INVALID,
                "struct_size is 3", "%s: options of another size", r->name);
    core_status(ssq_params_create(r->device, "float8", NULL, &set),
                SSQ_ERR_NOT_FOUND, "float8", "%s: no such policy", r->name);
    core_status(
        ssq_trainer_create(r->queue, SSQ_TRAINER(.accumulate = 0), &trainer),
        SSQ_ERR_INVALID, "accumulate is 0", "%s: no pass to a step", r->name);
    core_status(ssq_trainer_create(r->queue, SSQ_TRAINER(.optimizer = "newton"),
                                   &trainer),
                SSQ_ERR_NOT_FOUND, "newton", "%s: no such optimizer", r->name);
    core_status(
        ssq_trainer_create(r->queue, SSQ_TRAINER(.scaler = "what"), &trainer),
        SSQ_ERR_NOT_FOUND, "what", "%s: no such scaler", r->name);
    NEED(ssq_graph_begin(r->queue));
    core_status(ssq_trainer_create(r->queue, NULL, &trainer), SSQ_ERR_INVALID,
                "trainer_create: a graph is being captured",
                "%s: a trainer in a capture", r->name);
    NEED(ssq_graph_end(r->queue, &graph));
    ssq_graph_destroy(&graph);
    tap_ok(trainer == NULL && set == NULL, "%s: nothing was made", r->name);
    NEED(ssq_trainer_create(r->queue, SSQ_TRAINER(.policy = "mixed_float16"),
                            &trainer));
    NEED(ssq_trainer_group(trainer, "*.bias", NULL, NULL));
    t = ssq_trainer_begin(trainer);
    x = ssq_sum_var(P(t, "w", 2, 3, 4), NULL);
    core_status(ssq_trainer_step(trainer, x), SSQ_ERR_NOT_FOUND, "\"*.bias\"",
                "%s: a pattern that matches nothing", r->name);
    ssq_trainer_destroy(&trainer);
    NEED(ssq_trainer_create(r->queue, NULL, &trainer));
    core_status(ssq_trainer_loss(trainer, &mean), SSQ_OK, "",
                "%s: a mean of nothing", r->name);
    tap_ok(mean != mean, "%s: which is NaN", r->name);
    t = ssq_trainer_begin(trainer);
    core_status(
        ssq_trainer_step(trainer, ssq_sum_var(P(t, "w", 2, 3, 4), NULL)),
        SSQ_OK, "", "%s: a step", r->name);
    core_status(ssq_trainer_group(trainer, "w", NULL, NULL), SSQ_ERR_INVALID,
                "the first step was made", "%s: a group after it", r->name);
    t = ssq_trainer_begin(trainer);
    x = ssq_sum_var(ssq_mul_var(P(t, "w", 2, 3, 4), P(t, "late", 1, 4)), NULL);
    core_status(ssq_trainer_step(trainer, x), SSQ_ERR_NOT_FOUND,
                "\"late\"|after the first step", "%s: a parameter after it",
                r->name);
    ssq_trainer_destroy(&trainer);
    ssq_trainer_destroy(&trainer);
    tap_ok(ssq_trainer_begin(NULL) == NULL && ssq_trainer_queue(NULL) == NULL,
           "%s: no trainer has no tape", r->name);
}

/* One schedule for all groups, and for none that comes later. */
static void schedules(const struct tape_rig *r)
{
    ssq_trainer *trainer = NULL;
    ssq_group *group[3] = {NULL, NULL, NULL};
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_schedule s = SSQ_SCHEDULE_INIT;
    double lr[3] = {0.0, 0.0, 0.0}, want = 0.0;

    o.lr = 0.25;
    s.kind = SSQ_SCHEDULE_STEP;
    s.base = 0.5;
    s.total_steps = 8;
    NEED(ssq_trainer_create(r->queue, NULL, &trainer));
    core_status(ssq_trainer_schedule(NULL, SSQ_HYPER_LR, &s), SSQ_ERR_INVALID,
                "trainer_schedule: trainer is NULL", "%s: no trainer", r->name);
    core_status(ssq_trainer_schedule(trainer, SSQ_HYPER_EPS, &s),
                SSQ_ERR_INVALID, "", "%s: eps has no schedule", r->name);
    NEED(ssq_trainer_group(trainer, "*.bias", &o, &group[1]));
    NEED(ssq_trainer_schedule(trainer, SSQ_HYPER_LR, &s));
    NEED(ssq_trainer_group(trainer, "late.*", &o, &group[2]));
    for (int i = 0; i < 3; i++) {
        ssq_tape *t = ssq_trainer_begin(trainer);
        ssq_var x = ssq_nn_linear(t, "fc", P(t, "x", 2, 3, 4), 2, NULL);
        x = ssq_mul_var(x, P(t, "late.w", 1, 2));
        NEED(ssq_trainer_step(trainer, ssq_mean_var(x, NULL)));
    }
    NEED(ssq_queue_sync(r->queue));
    for (int i = 0; i < 3; i++)
        NEED(ssq_optimizer_get(ssq_trainer_optimizer(trainer), group[i],
                               SSQ_HYPER_LR, &lr[i]));
    NEED(ssq_schedule_value(&s, 3, &want));
    tap_ok((float)lr[0] == (float)want && lr[1] == lr[0] && lr[2] == 0.25,
           "%s: rates of %g and %g by the schedule, %g by its own", r->name,
           lr[0], lr[1], lr[2]);
    NEED(ssq_trainer_schedule(trainer, SSQ_HYPER_LR, NULL));
    ssq_trainer_destroy(&trainer);
}

/* All groups take a schedule, or none. */
static void all_groups(const struct tape_rig *r)
{
    ssq_trainer *trainer = NULL;
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_schedule s = SSQ_SCHEDULE_INIT;
    double momentum = 0.0, table[2] = {0.5, -1.0};

    s.base = 0.5;
    s.total_steps = 8;
    NEED(ssq_trainer_create(
        r->queue, SSQ_TRAINER(.optimizer = "sgd", .options.momentum = 0.75),
        &trainer));
    o.momentum = 0.0;
    NEED(ssq_trainer_group(trainer, "fc.bias", &o, NULL));
    ssq_tape *t = ssq_trainer_begin(trainer);
    ssq_var x = ssq_nn_linear(t, "fc", P(t, "x", 2, 3, 4), 2, NULL);
    NEED(ssq_trainer_step(trainer, ssq_mean_var(x, NULL)));
    core_status(ssq_trainer_schedule(trainer, SSQ_HYPER_MOMENTUM, &s),
                SSQ_ERR_INVALID, "began without momentum",
                "%s: a group has no momentum", r->name);
    NEED(ssq_optimizer_get(ssq_trainer_optimizer(trainer), NULL,
                           SSQ_HYPER_MOMENTUM, &momentum));
    tap_ok(momentum == 0.75, "%s: and the others keep theirs, %g", r->name,
           momentum);
    s.base = 1e300;
    core_status(ssq_trainer_schedule(trainer, SSQ_HYPER_LR, &s),
                SSQ_ERR_INVALID, "lr is 1e+300 at step 0",
                "%s: a rate that is no float32", r->name);
    s.kind = SSQ_SCHEDULE_TABLE;
    s.table = table;
    s.total_steps = 2;
    core_status(ssq_trainer_schedule(trainer, SSQ_HYPER_LR, &s),
                SSQ_ERR_INVALID, "lr is -1 at step 1", "%s: a rate below 0",
                r->name);
    ssq_trainer_destroy(&trainer);
}

int main(void)
{
    for (size_t i = 0; i < 2; i++) {
        struct tape_rig r = rig_open(core_device(i), NULL);
        huge_result(&r);
        vars(&r);
        late(&r);
        linear_of_nothing(&r);
        captures(&r);
        parts(&r);
        layers(&r);
        params(&r);
        backward(&r);
        trainers(&r);
        schedules(&r);
        all_groups(&r);
        rig_close(&r);
    }
    first_fails();
    return tap_done(2 * 91);
}
