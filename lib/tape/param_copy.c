/* SPDX-License-Identifier: Apache-2.0 */
/* param_copy.c - a copy of a parameter in another dtype, valid until the
 * parameter is written.
 *
 * The passes of an accumulation share it, and so does an evaluation between
 * steps. */
#include "lib/tape/params.h"

ssq_status param_copy_make(struct param *p, ssq_dtype dtype)
{
    struct param_copy *c = mem_alloc(sizeof(*c));
    if (c == NULL)
        return error_nomem("cast", sizeof(*c));
    const struct view *v = &p->tensor->view;
    ssq_status st =
        tensor_create(v->buffer->device, dtype, v->rank, v->shape, &c->tensor);
    if (st != SSQ_OK) {
        mem_free(c);
        return st;
    }
    observer_start(&c->source, v);
    observer_start(&c->self, &c->tensor->view);
    p->copy = c;
    return SSQ_OK;
}

bool param_copy_fresh(const struct param_copy *c)
{
    return c->made && atomic_load(&c->source.writes) == c->source_writes &&
           atomic_load(&c->self.writes) == c->self_writes;
}

void param_copy_free(struct param_copy *c)
{
    if (c == NULL)
        return;
    observer_stop(&c->source);
    observer_stop(&c->self);
    ssq_tensor_destroy(&c->tensor);
    mem_free(c);
}
