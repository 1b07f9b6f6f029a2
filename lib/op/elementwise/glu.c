/* SPDX-License-Identifier: Apache-2.0 */
/* glu.c - gated linear units, y = a f(b), and their gradients: check and
 * enqueue. da = dy f(b) is the same op, with dy in place of a. */
#include <sesqui/ops/binary.h>

#include "lib/core/core.h"

/* Refuse an activation that the kernel does not have as a gate. NONE is
 * refused, too: y = a b is ssq_mul(). */
static ssq_status check_gate(ssq_activation gate, const char *name)
{
    if (gate >= SSQ_ACTIVATION_RELU && gate <= SSQ_ACTIVATION_TANH)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID,
                     "%s: activation is %d (%s), expected relu, gelu, "
                     "gelu_tanh, silu, sigmoid or tanh",
                     name, (int)gate, ssq_activation_name(gate));
}

/* Check an input: floats, in the shape of like. */
static ssq_status check_input(const ssq_queue *queue, const ssq_tensor *t,
                              const char *what, const ssq_tensor *like,
                              const char *like_what, const char *name)
{
    ssq_status st = check_operand(queue, t, name, what);
    if (st == SSQ_OK)
        st = check_dtype(t, DTYPES_FLOAT, name, what);
    return st == SSQ_OK ? check_same_shape(t, what, like, like_what, name) : st;
}

/* Check an output: floats, in the shape of like. */
static ssq_status check_result(const ssq_queue *queue, const ssq_tensor *t,
                               const char *what, const ssq_tensor *like,
                               const char *like_what, const char *name)
{
    ssq_status st = check_output(queue, t, name, what);
    if (st == SSQ_OK)
        st = check_dtype(t, DTYPES_FLOAT, name, what);
    return st == SSQ_OK ? check_same_shape(t, what, like, like_what, name) : st;
}

/* y = a f(b) */
static ssq_status glu_enqueue(ssq_queue *queue, ssq_activation gate,
                              const ssq_tensor *a, const ssq_tensor *b,
                              const ssq_tensor *y)
{
    struct glu_op op = {.op = OP_HEADER(glu, a), .gate = (uint32_t)gate};
    op.a = tensor_view(a, ACCESS_READ);
    op.b = tensor_view(b, ACCESS_READ);
    op.y = tensor_view(y, ACCESS_WRITE);
    struct view *v[] = {&op.a, &op.b, &op.y};
    views_collapse(v, 3);
    return queue_enqueue(queue, &op.op);
}

ssq_status ssq_glu(ssq_queue *queue, const ssq_glu_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "glu");
    if (st == SSQ_OK)
        st = check_input(queue, args->a, "a", args->a, "a", "glu");
    if (st == SSQ_OK)
        st = check_input(queue, args->b, "b", args->a, "a", "glu");
    if (st == SSQ_OK)
        st = check_result(queue, args->y, "y", args->a, "a", "glu");
    if (st == SSQ_OK)
        st = check_alias(args->y, "y", args->a, "a", true, "glu");
    if (st == SSQ_OK)
        st = check_alias(args->y, "y", args->b, "b", true, "glu");
    if (st == SSQ_OK)
        st = check_gate(args->activation, "glu");
    if (st != SSQ_OK || view_elements(&args->y->view) == 0)
        return st;
    return glu_enqueue(queue, args->activation, args->a, args->b, args->y);
}

/* The launch for db runs first and reads a, b and dy. The launch for da then
 * reads b and dy. So da may be exactly any of them. If da is given, db may be
 * exactly a only, because a is not read again. */
static ssq_status glu_check_gradients(const ssq_queue *queue,
                                      const ssq_glu_backward_args *args,
                                      const char *name)
{
    const struct {
        const ssq_tensor *t;
        const char *what;
    } in[] = {{args->a, "a"}, {args->b, "b"}, {args->dy, "dy"}};
    ssq_status st = SSQ_OK;
    if (args->da != NULL)
        st = check_result(queue, args->da, "da", args->b, "b", name);
    if (st == SSQ_OK && args->db != NULL)
        st = check_result(queue, args->db, "db", args->b, "b", name);
    if (st == SSQ_OK)
        st = check_alias(args->da, "da", args->db, "db", false, name);
    for (int k = 0; k < 3 && st == SSQ_OK; k++) {
        st = check_alias(args->da, "da", in[k].t, in[k].what, true, name);
        if (st == SSQ_OK)
            st = check_alias(args->db, "db", in[k].t, in[k].what,
                             k == 0 || args->da == NULL, name);
    }
    return st;
}

/* Run all checks of ssq_glu_backward(). Shapes are compared with b, because a
 * may be NULL: only db reads it. */
static ssq_status glu_check_backward(const ssq_queue *queue,
                                     const ssq_glu_backward_args *args,
                                     const char *name)
{
    if (args->da == NULL && args->db == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: da and db are NULL", name);
    ssq_status st = check_input(queue, args->b, "b", args->b, "b", name);
    if (st == SSQ_OK)
        st = check_input(queue, args->dy, "dy", args->b, "b", name);
    if (st == SSQ_OK && (args->a != NULL || args->db != NULL))
        st = check_input(queue, args->a, "a", args->b, "b", name);
    if (st == SSQ_OK)
        st = glu_check_gradients(queue, args, name);
    return st == SSQ_OK ? check_gate(args->activation, name) : st;
}

/* db = dy a f'(b) */
static ssq_status enqueue_gate(ssq_queue *queue,
                               const ssq_glu_backward_args *args)
{
    struct glu_backward_op op = {.op = OP_HEADER(glu_backward, a),
                                 .gate = (uint32_t)args->activation};
    op.a = tensor_view(args->a, ACCESS_READ);
    op.b = tensor_view(args->b, ACCESS_READ);
    op.dy = tensor_view(args->dy, ACCESS_READ);
    op.db = tensor_view(args->db, ACCESS_WRITE);
    struct view *v[] = {&op.a, &op.b, &op.dy, &op.db};
    views_collapse(v, 4);
    return queue_enqueue(queue, &op.op);
}

ssq_status ssq_glu_backward(ssq_queue *queue, const ssq_glu_backward_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "glu_backward");
    if (st == SSQ_OK)
        st = glu_check_backward(queue, args, "glu_backward");
    if (st != SSQ_OK || view_elements(&args->b->view) == 0)
        return st;
    /* db first: see glu_check_gradients(). */
    st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    if (args->db != NULL)
        st = enqueue_gate(queue, args);
    if (st == SSQ_OK && args->da != NULL)
        st = glu_enqueue(queue, args->activation, args->dy, args->b, args->da);
    return queue_bundle_end(queue, st);
}
