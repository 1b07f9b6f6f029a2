/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.c - memory of a device that an op has while it runs. */
#include "backends/cpu/scratch.h"

#include "backends/cpu/cpu.h"
#include "lib/core/error.h"

ssq_status scratch_init(struct scratch *s)
{
    s->mem = NULL;
    if (pthread_mutex_init(&s->lock, NULL) != 0)
        return error_nomem("cpu", sizeof(s->lock));
    return SSQ_OK;
}

void scratch_destroy(struct scratch *s)
{
    if (s->mem != NULL)
        cpu_free(NULL, s->mem);
    pthread_mutex_destroy(&s->lock);
}

ssq_status scratch_take(struct scratch *s, size_t bytes, void **memory)
{
    pthread_mutex_lock(&s->lock);
    if (s->mem == NULL || s->mem->bytes < bytes) {
        if (s->mem != NULL)
            cpu_free(NULL, s->mem);
        s->mem = NULL;
        ssq_status st = cpu_alloc(NULL, bytes, &s->mem);
        if (st != SSQ_OK) {
            s->mem = NULL;
            pthread_mutex_unlock(&s->lock);
            return st;
        }
    }
    *memory = s->mem->host;
    return SSQ_OK;
}

void scratch_return(struct scratch *s)
{
    pthread_mutex_unlock(&s->lock);
}

void scratch_hold(struct scratch *s)
{
    pthread_mutex_lock(&s->lock);
}

void scratch_let_go(struct scratch *s)
{
    pthread_mutex_unlock(&s->lock);
}
