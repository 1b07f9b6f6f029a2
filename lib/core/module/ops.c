/* SPDX-License-Identifier: Apache-2.0 */
/* ops.c - names of ops, and copies of ops that hold their operands. */
#include "lib/core/module/backend.h"

#include "lib/core/base/error.h"

#include <string.h>

static const char *const names[OP_COUNT] = {
#define X(NAME, ...) #NAME,
    SSQ_OPS(X)
#undef X
};

const char *op_name(enum op_id id)
{
    return id < OP_COUNT ? names[id] : "call";
}

enum op_id op_from_name(const char *name)
{
    for (int i = 0; i < OP_COUNT; i++)
        if (strcmp(names[i], name) == 0)
            return (enum op_id)i;
    return OP_COUNT;
}

const char *ssq_op_name(size_t i)
{
    return i < OP_COUNT ? names[i] : NULL;
}

/* A queue or a graph keeps the copy, because the original may be on the stack
 * of the public call. op_release() drops each reference taken here. */
struct op *op_hold(const struct op *op)
{
    struct op *copy = mem_alloc(op->bytes);
    if (copy == NULL) {
        (void)error_nomem(op_name(op->id), op->bytes);
        return NULL;
    }
    memcpy(copy, op, op->bytes);
    struct view *v = op_views(copy);
    for (uint32_t i = 0; i < copy->nviews; i++)
        if (v[i].buffer != NULL)
            object_get(&v[i].buffer->object);
    if (copy->list != NULL)
        object_get(&copy->list->object);
    if (copy->keep != NULL)
        object_get(copy->keep);
    return copy;
}

void op_release(struct op *op)
{
    struct view *v = op_views(op);
    for (uint32_t i = 0; i < op->nviews; i++)
        if (v[i].buffer != NULL)
            object_put(&v[i].buffer->object);
    if (op->list != NULL)
        object_put(&op->list->object);
    object_put(op->keep);
    mem_free(op);
}
