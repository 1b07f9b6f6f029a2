/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.c - memory of a device that an op has while it runs. */
#include "backends/cpu/threads/scratch.h"

#include "backends/cpu/cpu.h"
#include "lib/core/base/error.h"

ssq_status scratch_init(struct scratch *s)
{
    *s = (struct scratch){.idle = {NULL}};
    if (pthread_mutex_init(&s->lock, NULL) != 0)
        return error_nomem("cpu", sizeof(s->lock));
    return SSQ_OK;
}

void scratch_destroy(struct scratch *s)
{
    for (int i = 0; i < SCRATCH_KEPT; i++)
        if (s->idle[i] != NULL)
            cpu_free(NULL, s->idle[i]);
    pthread_mutex_destroy(&s->lock);
}

static uint64_t scratch_bytes_of(const struct backend_mem *block)
{
    return block == NULL ? 0 : block->bytes;
}

/* The largest block is what most ops fit into, and is in the caches if one op
 * follows the other. */
static struct backend_mem *take_largest(struct scratch *s)
{
    int most = 0;
    pthread_mutex_lock(&s->lock);
    for (int i = 1; i < SCRATCH_KEPT; i++)
        if (scratch_bytes_of(s->idle[i]) > scratch_bytes_of(s->idle[most]))
            most = i;
    struct backend_mem *block = s->idle[most];
    s->idle[most] = NULL;
    pthread_mutex_unlock(&s->lock);
    return block;
}

ssq_status scratch_take(struct scratch *s, size_t bytes,
                        struct backend_mem **block)
{
    struct backend_mem *b = take_largest(s);
    if (b != NULL && b->bytes >= bytes) {
        *block = b;
        return SSQ_OK;
    }
    if (b != NULL)
        cpu_free(NULL, b);
    return cpu_alloc(NULL, bytes, block);
}

/* In the place of the smallest, if that is smaller. */
void scratch_return(struct scratch *s, struct backend_mem *block)
{
    int least = 0;
    pthread_mutex_lock(&s->lock);
    for (int i = 1; i < SCRATCH_KEPT; i++)
        if (scratch_bytes_of(s->idle[i]) < scratch_bytes_of(s->idle[least]))
            least = i;
    if (scratch_bytes_of(s->idle[least]) < block->bytes) {
        struct backend_mem *smaller = s->idle[least];
        s->idle[least] = block;
        block = smaller;
    }
    pthread_mutex_unlock(&s->lock);
    if (block != NULL)
        cpu_free(NULL, block);
}

void scratch_hold(struct scratch *s)
{
    pthread_mutex_lock(&s->lock);
}

void scratch_let_go(struct scratch *s)
{
    pthread_mutex_unlock(&s->lock);
}
