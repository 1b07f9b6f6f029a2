/* SPDX-License-Identifier: Apache-2.0 */
/* shards_whole.c - gather the parts of ranks, and distribute whole tensors. For
 * rare work, such as a checkpoint. */
#include <sesqui/ops/data.h>

#include "lib/amp/optimizer/optimizer.h"
#include "lib/amp/optimizer/shards.h"
#include "lib/amp/optimizer/split.h"
#include "lib/comm/parts.h"

/* Copy this rank's part of a slot to or from the whole tensor. */
static ssq_status copy_part(ssq_queue *queue, const ssq_optimizer *o,
                            const struct state *s, size_t i, int slot,
                            const ssq_tensor *whole, bool to_whole)
{
    const ssq_tensor *here = s->slot[i * SLOTS + (size_t)slot];
    if (here == NULL || view_elements(&here->view) == 0)
        return SSQ_OK;
    ssq_tensor part = {.view = shard_view(o, s, i, &whole->view)};
    ssq_tensor flat = {.view = here->view};
    part.view.rank = flat.view.rank = 1;
    part.view.shape[0] = flat.view.shape[0] = view_elements(&here->view);
    part.view.stride[0] = flat.view.stride[0] = 1;
    return ssq_copy(queue, SSQ_COPY(.x = to_whole ? &flat : &part,
                                    .y = to_whole ? &part : &flat));
}

/* A remainder has two bytes for each element. */
ssq_status shards_whole(ssq_queue *queue, const ssq_optimizer *o, size_t i,
                        int slot, uint32_t root, const ssq_tensor *whole)
{
    const struct shards *s = o->state->shards;
    size_t row = ssq_comm_size(o->comm) + (size_t)1;
    int64_t each = whole->view.dtype == SSQ_U8 ? 2 : 1;
    int64_t *bounds = mem_alloc_array(row, sizeof(*bounds));
    if (bounds == NULL)
        return error_nomem("optimizer", row * sizeof(*bounds));
    for (size_t r = 0; r < row; r++)
        bounds[r] = each * s->bounds[i * row + r];
    ssq_status st = copy_part(queue, o, o->state, i, slot, whole, true);
    if (st == SSQ_OK)
        st =
            comm_gather_parts(queue, o->comm, &whole, 1, bounds, root, "state");
    mem_free(bounds);
    return st;
}

static ssq_status make_rest(const ssq_optimizer *o, size_t i, ssq_tensor **rest)
{
    const int64_t n = 2 * view_elements(&o->params[i].param->view);
    return tensor_create(o->device, SSQ_U8, 1, &n, rest);
}

ssq_status shards_exact(ssq_queue *queue, const ssq_optimizer *o, size_t i,
                        ssq_tensor **made)
{
    const struct parameter *p = &o->params[i];
    const struct view *v = &p->param->view;
    ssq_tensor *rest = NULL;
    ssq_status st = tensor_create(o->device, SSQ_F32, v->rank, v->shape, made);
    if (st == SSQ_OK && p->master_kind == MASTER_F32)
        st = shards_whole(queue, o, i, SLOT_MASTER, COMM_ALL, *made);
    else if (st == SSQ_OK) {
        st = make_rest(o, i, &rest);
        if (st == SSQ_OK)
            st = shards_whole(queue, o, i, SLOT_MASTER, COMM_ALL, rest);
        if (st == SSQ_OK)
            st = split_read(queue, p->param, rest, *made);
    }
    ssq_tensor_destroy(&rest);
    if (st != SSQ_OK)
        ssq_tensor_destroy(made);
    return st;
}

/* Without a master, only the parameter is written. */
ssq_status shards_write(ssq_queue *queue, const ssq_optimizer *o,
                        const struct state *s, size_t i, const ssq_tensor *from)
{
    const struct parameter *p = &o->params[i];
    ssq_tensor *rest = NULL;
    if (view_elements(&p->param->view) == 0)
        return SSQ_OK;
    if (p->master_kind != MASTER_SPLIT) {
        ssq_status st = ssq_cast(queue, SSQ_CAST(.x = from, .y = p->param));
        return st == SSQ_OK
                   ? copy_part(queue, o, s, i, SLOT_MASTER, from, false)
                   : st;
    }
    ssq_status st = make_rest(o, i, &rest);
    if (st == SSQ_OK)
        st = split_write(queue, from, p->param, rest);
    if (st == SSQ_OK)
        st = copy_part(queue, o, s, i, SLOT_MASTER, rest, false);
    ssq_tensor_destroy(&rest);
    return st;
}
