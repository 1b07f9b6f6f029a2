/* SPDX-License-Identifier: Apache-2.0 */
/* staging.c - pinned memory for transfers between the host and a stream.
 *
 * A transfer from or to pageable memory may wait, even if the call is named
 * Async. Small transfers, such as the overflow flag of a step, therefore use
 * pinned memory. */
#include "backends/cuda/queue.h"

/** Alignment of pieces, in bytes. */
#define PIECE_ALIGN 16u

/* Return whether the staging memory exists; the first call allocates it. If
 * that fails it is not tried again: the queue copies directly. With the
 * context. */
static bool staging_is_there(struct backend_queue *q)
{
    struct cuda_staging *s = &q->staging;
    void *base = NULL;
    if (s->base != NULL || s->failed)
        return s->base != NULL;
    CUstreamCaptureMode mode = cuda_relax(q->device);
    s->failed =
        CU(q->device, MemHostAlloc)(&base, STAGING_BYTES, 0) != CUDA_SUCCESS;
    cuda_relaxed(q->device, mode);
    s->base = s->failed ? NULL : base;
    return !s->failed;
}

struct cuda_piece *cuda_stage(struct backend_queue *q, uint64_t bytes)
{
    struct cuda_staging *s = &q->staging;
    if (bytes > STAGING_BYTES / 4 || s->count == STAGING_PIECES ||
        !staging_is_there(q))
        return NULL;
    uint32_t whole =
        ((uint32_t)bytes + PIECE_ALIGN - 1u) & ~(uint32_t)(PIECE_ALIGN - 1u);
    uint32_t at = s->next, skipped = 0;
    if (at + whole > STAGING_BYTES) { /* continue at the start of the ring */
        skipped = STAGING_BYTES - at;
        at = 0;
    }
    if (s->used + skipped + whole > STAGING_BYTES)
        return NULL;
    struct cuda_piece *p = &s->piece[(s->first + s->count) % STAGING_PIECES];
    *p = (struct cuda_piece){.memory = s->base + at,
                             .bytes = (uint32_t)bytes,
                             .span = skipped + whole,
                             .sequence = q->submitted + 1};
    s->count++;
    s->used += p->span;
    s->next = at + whole;
    return p;
}

void cuda_unstage(struct backend_queue *q, uint64_t sequence)
{
    struct cuda_staging *s = &q->staging;
    for (; s->count > 0; s->count--) {
        const struct cuda_piece *p = &s->piece[s->first];
        if (p->sequence > sequence)
            return;
        s->used -= p->span;
        s->first = (s->first + 1) % STAGING_PIECES;
    }
}
