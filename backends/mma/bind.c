/* SPDX-License-Identifier: Apache-2.0 */
/* bind.c - what the kernel of mma is told of an operand: for products and for
 * the test of a variant. */
#include "backends/mma/mma.h"

void mma_bind(struct launch *l, struct backend_mem *mem, uint64_t offset,
              uint64_t bytes, unsigned forms, enum access access)
{
    for (unsigned i = 0; i < forms; i++) {
        struct binding *b = &l->binding[l->nbindings++];
        if (mem == NULL) {
            *b = l->binding[0];
            b->access = ACCESS_NONE;
        } else {
            *b = (struct binding){mem, offset, bytes, i == 0 ? 2 : 4, access};
        }
    }
}
