/* SPDX-License-Identifier: Apache-2.0 */
/* origin.c - the float32 values that a 16-bit parameter was rounded from. */
#include "lib/amp/common/origin.h"

#include <sesqui/ops/data.h>

static void origin_free(struct object *o)
{
    struct origin *origin = (struct origin *)o;
    observer_stop(&origin->source);
    ssq_tensor_destroy(&origin->tensor);
    object_put(&origin->param->object);
    mem_free(origin);
}

ssq_status origin_create(const ssq_tensor *param, struct origin **origin)
{
    const struct view *v = &param->view;
    struct origin *o = mem_alloc(sizeof(*o));
    if (o == NULL)
        return error_nomem("parameter", sizeof(*o));
    ssq_status st = tensor_create(v->buffer->device, SSQ_F32, v->rank, v->shape,
                                  &o->tensor);
    if (st != SSQ_OK) {
        mem_free(o);
        return st;
    }
    object_init(&o->object, origin_free);
    object_get(&v->buffer->object);
    o->param = v->buffer;
    observer_start(&o->source, v);
    *origin = o;
    return SSQ_OK;
}

void origin_settle(struct origin *o)
{
    o->writes = atomic_load(&o->source.writes);
    o->rounded = true;
}

ssq_status origin_round(ssq_queue *queue, struct origin *o,
                        const ssq_tensor *param)
{
    ssq_status st = SSQ_OK;
    o->rounded = false;
    if (view_elements(&param->view) > 0)
        st = ssq_cast(queue, SSQ_CAST(.x = o->tensor, .y = param));
    if (st == SSQ_OK)
        origin_settle(o);
    return st;
}

bool origin_fresh(const struct origin *o)
{
    return o != NULL && o->rounded &&
           atomic_load(&o->source.writes) == o->writes;
}

void origin_put(struct origin *o)
{
    if (o != NULL)
        object_put(&o->object);
}
