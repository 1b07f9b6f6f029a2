/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - the operands of ops over many tensors. */
#include "lib/op/list.h"

#include "kernels/reduce/norm.h"
#include "lib/core/memory/pool.h"
#include "lib/core/queue/window.h"

/* Most bytes by which a binding may have to start before the operand: no device
 * requires a larger alignment. */
#define ALIGNMENT 256u

struct cut cut_of(const ssq_device *device, const struct view *v)
{
    uint64_t limit = pool_binding_bytes(device->pool);
    int64_t n = view_elements(v), most = WINDOW_ELEMENTS;
    /* operands that are cut like v have at most 4 bytes for an element */
    limit = limit < ALIGNMENT ? 0 : (limit - ALIGNMENT) / 4;
    if (limit < (uint64_t)most)
        most = (int64_t)limit;
    most -= most % FOLD_CHUNK;
    /* a limit below a chunk: leave it whole; it is refused if too long */
    if (n <= most || most == 0)
        return (struct cut){n, n, 1};
    return (struct cut){n, most, (size_t)((n - 1) / most + 1)};
}

/* Pieces have rank 1, because their operands are contiguous and need not
 * respect rows. All except the first are marked as continuing a tensor. */
struct view cut_piece(const struct cut *cut, const struct view *v, size_t i)
{
    struct view part = *v;
    if (cut->pieces == 1)
        return part;
    /* each: elements of this operand for an element of the cut tensor; 2 for a
     * remainder (u8 [2 n]) */
    int64_t from = (int64_t)i * cut->k, each = view_elements(v) / cut->n;
    int64_t n = cut->n - from < cut->k ? cut->n - from : cut->k;
    part.offset += (uint64_t)(from * each) * dtype_bytes(v->dtype);
    part.rank = 1;
    part.shape[0] = n * each;
    part.stride[0] = 1;
    part.continues = i > 0;
    return part;
}
