/* SPDX-License-Identifier: Apache-2.0 */
/* scale_use.c - notify the owner of a loss scale that an op uses it. */
#include "lib/core/core.h"

ssq_status scale_bind(ssq_queue *queue, const ssq_tensor *dloss)
{
    struct scale_use *use = dloss == NULL ? NULL : dloss->view.buffer->use;
    return use == NULL ? SSQ_OK : use->bind(queue, use);
}

void scale_bound(const ssq_tensor *dloss)
{
    struct scale_use *use = dloss == NULL ? NULL : dloss->view.buffer->use;
    if (use != NULL)
        use->bound(use);
}
