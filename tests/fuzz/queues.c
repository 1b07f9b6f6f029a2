/* SPDX-License-Identifier: Apache-2.0 */
/* queues.c - actions on queues: graphs, events, copies, views. */

#include <string.h>

#include "tests/fuzz/action.h"
#include "tests/fuzz/values.h"

static ssq_status graph_begin(struct objects *o, unsigned side,
                              const struct fuzz_choice *k, struct got *g)
{
    (void)k;
    (void)g;
    ssq_status st = ssq_graph_begin(o->pair->queue[side]);
    if (side == 1 && st == SSQ_OK)
        o->pair->capturing = true;
    return st;
}

static ssq_status graph_end(struct objects *o, unsigned side,
                            const struct fuzz_choice *k, struct got *g)
{
    ssq_graph_destroy(&o->graph[k->slot][side]);
    ssq_status st =
        ssq_graph_end(o->pair->queue[side], &o->graph[k->slot][side]);
    if (side == 1)
        o->pair->capturing = false;
    got_number(g, (double)ssq_graph_ops(o->graph[k->slot][side]));
    return st;
}

static ssq_status graph_launch(struct objects *o, unsigned side,
                               const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_graph_launch(o->pair->queue[side], o->graph[k->slot][side]);
}

static ssq_status graph_drop(struct objects *o, unsigned side,
                             const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    ssq_graph_destroy(&o->graph[k->slot][side]);
    return SSQ_OK;
}

static void choose_queue(struct objects *o, struct fuzz_choice *k)
{
    k->kind = input_below(o->in, QUEUES);
    if (!o->pair->capturing)
        pair_switch(o->pair, k->kind);
}

static ssq_status queue_sync(struct objects *o, unsigned side,
                             const struct fuzz_choice *k, struct got *g)
{
    (void)k;
    (void)g;
    return ssq_queue_sync(o->pair->queue[side]);
}

static ssq_status queue_status(struct objects *o, unsigned side,
                               const struct fuzz_choice *k, struct got *g)
{
    (void)k;
    (void)g;
    return ssq_queue_status(o->pair->queue[side]);
}

static ssq_status event_record(struct objects *o, unsigned side,
                               const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    ssq_event **event = &o->event[k->slot][side];
    ssq_status st = SSQ_OK;
    if (*event == NULL)
        st = ssq_event_create(o->pair->device[side], event);
    return st != SSQ_OK ? st : ssq_event_record(*event, o->pair->queue[side]);
}

static ssq_status event_wait(struct objects *o, unsigned side,
                             const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_queue_wait(o->pair->queue[side], o->event[k->slot][side]);
}

static ssq_status event_query(struct objects *o, unsigned side,
                              const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_event_query(o->event[k->slot][side]);
}

static ssq_status event_sync(struct objects *o, unsigned side,
                             const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    return ssq_event_sync(o->event[k->slot][side]);
}

static ssq_status event_elapsed(struct objects *o, unsigned side,
                                const struct fuzz_choice *k, struct got *g)
{
    (void)k;
    (void)g;
    double seconds;
    return ssq_event_elapsed(o->event[0][side], o->event[1][side], &seconds);
}

static ssq_status event_drop(struct objects *o, unsigned side,
                             const struct fuzz_choice *k, struct got *g)
{
    (void)g;
    ssq_event_destroy(&o->event[k->slot][side]);
    return SSQ_OK;
}

static void choose_fill(struct objects *o, struct fuzz_choice *k)
{
    k->kind = input_below(o->in, VALUE_KINDS);
    k->word = input_byte(o->in);
    k->count = input_below(o->in, BUFFERS);
}

/* The initial state of a program, written again. */
static ssq_status fill(struct objects *o, unsigned side,
                       const struct fuzz_choice *k, struct got *g)
{
    static uint8_t bytes[BUFFER_BYTES];
    (void)g;
    values_make(bytes, sizeof(bytes), k->kind, (uint32_t)k->word);
    ssq_status st =
        ssq_tensor_write(o->pair->queue[side], o->pair->whole[k->count][side],
                         bytes, sizeof(bytes), SSQ_U8);
    return st != SSQ_OK ? st : ssq_queue_sync(o->pair->queue[side]);
}

static void choose_copy(struct objects *o, struct fuzz_choice *k)
{
    static const ssq_dtype list[] = {SSQ_F32, SSQ_F16, SSQ_BF16, SSQ_I32,
                                     SSQ_U8,  SSQ_I64, SSQ_F64,  SSQ_BOOL};
    choose_shape(o, k);
    choose_tensor(o, k, 0, list[input_below(o->in, 5)], false);
    k->kind = list[input_below(o->in, 8)];
    k->word = input_byte(o->in);
}

/* Bytes of a host copy, a few less now and then. */
static size_t host_bytes(const struct fuzz_choice *k, unsigned side)
{
    int64_t n = ssq_tensor_elements(k->tensor[0][side]);
    size_t bytes = (size_t)n * (ssq_dtype_bits((ssq_dtype)k->kind) / 8);
    return k->word >= 240 && bytes > 0 ? bytes - 1 : bytes;
}

static ssq_status read_tensor(struct objects *o, unsigned side,
                              const struct fuzz_choice *k, struct got *g)
{
    ssq_status st =
        ssq_tensor_read(o->pair->queue[side], k->tensor[0][side], g->looked,
                        host_bytes(k, side), (ssq_dtype)k->kind);
    if (st == SSQ_OK)
        st = ssq_queue_sync(o->pair->queue[side]);
    g->bytes = st == SSQ_OK ? (unsigned)host_bytes(k, side) : 0;
    return st;
}

static ssq_status write_tensor(struct objects *o, unsigned side,
                               const struct fuzz_choice *k, struct got *g)
{
    values_make(g->looked, 4096, (unsigned)k->word, (uint32_t)k->word);
    ssq_status st =
        ssq_tensor_write(o->pair->queue[side], k->tensor[0][side], g->looked,
                         host_bytes(k, side), (ssq_dtype)k->kind);
    return st != SSQ_OK ? st : ssq_queue_sync(o->pair->queue[side]);
}

static void choose_view(struct objects *o, struct fuzz_choice *k)
{
    choose_shape(o, k);
    choose_tensor(o, k, 0, SSQ_F32, false);
    k->kind = input_below(o->in, 4);
    k->word = input_u64(o->in);
    k->rank = (int)input_below(o->in, SSQ_MAX_RANK + 1);
    for (int i = 0; i < k->rank; i++)
        k->shape[i] = (int)input_below(o->in, 9) - 1;
}

static ssq_status make_view(const struct fuzz_choice *k, unsigned side,
                            ssq_tensor **view)
{
    const ssq_tensor *t = k->tensor[0][side];
    int axes[SSQ_MAX_RANK];
    for (unsigned i = 0; i < SSQ_MAX_RANK; i++)
        axes[i] = (int)(k->word >> 8 * i & 7);
    switch (k->kind) {
    case 0:
        return ssq_tensor_reshape(t, k->rank, k->shape, view);
    case 1:
        return ssq_tensor_slice(t, axes[0] - 3, axes[1], axes[1] + axes[2],
                                axes[3], view);
    case 2:
        return ssq_tensor_transpose(t, (k->word & 128) != 0 ? NULL : axes,
                                    view);
    default:
        return ssq_tensor_broadcast(t, k->rank, k->shape, view);
    }
}

static ssq_status view(struct objects *o, unsigned side,
                       const struct fuzz_choice *k, struct got *g)
{
    (void)o;
    ssq_tensor *view = NULL;
    ssq_tensor_desc d = SSQ_TENSOR_DESC_INIT;
    ssq_status st = make_view(k, side, &view);
    if (st == SSQ_OK)
        st = ssq_tensor_desc_get(view, &d);
    if (st == SSQ_OK && d.offset + 4 * (uint64_t)d.elements > 0) {
        got_number(g, d.rank);
        got_number(g, (double)d.offset);
        got_number(g, (double)d.elements);
        got_number(g, d.contiguous);
        for (int i = 0; i < d.rank; i++) {
            got_number(g, (double)d.shape[i]);
            got_number(g, (double)d.strides[i]);
        }
    }
    ssq_tensor_destroy(&view);
    return st;
}

static ssq_status trim(struct objects *o, unsigned side,
                       const struct fuzz_choice *k, struct got *g)
{
    (void)k;
    (void)g;
    ssq_device_trim(o->pair->device[side]);
    return SSQ_OK;
}

const struct action queue_actions[] = {
    {"graph_begin", NULL, graph_begin, false},
    {"graph_end", NULL, graph_end, false},
    {"graph_launch", NULL, graph_launch, false},
    {"graph_drop", NULL, graph_drop, false},
    {"queue_switch", choose_queue, queue_status, true},
    {"queue_sync", NULL, queue_sync, false},
    {"event_record", NULL, event_record, false},
    {"event_wait", NULL, event_wait, false},
    {"event_query", NULL, event_query, true},
    {"event_sync", NULL, event_sync, false},
    {"event_elapsed", NULL, event_elapsed, true},
    {"event_drop", NULL, event_drop, false},
    {"fill", choose_fill, fill, false},
    {"tensor_read", choose_copy, read_tensor, false},
    {"tensor_write", choose_copy, write_tensor, false},
    {"view", choose_view, view, false},
    {"trim", NULL, trim, false},
};
const size_t queue_actions_count =
    sizeof(queue_actions) / sizeof(queue_actions[0]);
