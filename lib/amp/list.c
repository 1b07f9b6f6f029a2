/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - the operands of ops over many tensors. */
#include "lib/amp/list.h"

#include "kernels/reduce/norm.h"
#include "lib/core/pool.h"
#include "lib/core/window.h"

/* Bytes that a binding's start may have to be below the operand's: no device
 * asks for a coarser alignment. */
#define ALIGNMENT 256u

struct cut cut_of(const ssq_device *device, const struct view *v)
{
    uint64_t limit = pool_binding_bytes(device->pool);
    int64_t n = view_elements(v), most = WINDOW_ELEMENTS;
    /* an element of any operand that is cut alike has at most 4 bytes */
    limit = limit < ALIGNMENT ? 0 : (limit - ALIGNMENT) / 4;
    if (limit < (uint64_t)most)
        most = (int64_t)limit;
    most -= most % FOLD_CHUNK;
    /* less than a chunk: left whole, and refused where it is too long */
    if (n <= most || most == 0)
        return (struct cut){n, n, 1};
    return (struct cut){n, most, (size_t)((n - 1) / most + 1)};
}

/* Flat, as pieces are of contiguous operands and need not respect rows. All but
 * the first say that they continue a tensor. */
struct view cut_piece(const struct cut *cut, const struct view *v, size_t i)
{
    struct view part = *v;
    if (cut->pieces == 1)
        return part;
    /* each: elements of this operand for one of the cut tensor, 2 of a
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
