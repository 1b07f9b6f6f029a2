/* SPDX-License-Identifier: Apache-2.0 */
/* params.c - parameters of launches in buffers, for kernels that read them from
 * constant memory.
 *
 * A buffer is never written after it was made. Launches with the same words
 * therefore share one, and a training step, whose launches repeat, makes
 * buffers only for words that change, such as a step's number. */
#include "backends/opencl/opencl.h"

#include <string.h>

#include "lib/core/module/disk_cache.h"

/* Words have WAYS places of the table. If all are taken, the buffer that was
 * used longest ago makes room. */
#define PLACES 1024u
#define WAYS   4u

struct opencl_params {
    pthread_mutex_t lock; /* guards the rest */
    uint64_t uses;
    struct params_place {
        cl_mem cl; /* with a reference; NULL: the place is empty */
        uint64_t used;
        uint32_t nwords;
        uint32_t word[LAUNCH_WORDS];
    } place[PLACES];
};

ssq_status opencl_params_open(struct backend_device *d)
{
    struct opencl_params *p = d->core->mem_alloc(sizeof(*p));
    if (p == NULL || pthread_mutex_init(&p->lock, NULL) != 0) {
        d->core->mem_free(p);
        return opencl_no_memory(d->core, sizeof(*p));
    }
    d->params = p;
    return SSQ_OK;
}

void opencl_params_close(struct backend_device *d)
{
    struct opencl_params *p = d->params;
    if (p == NULL)
        return;
    for (uint32_t i = 0; i < PLACES; i++)
        if (p->place[i].cl != NULL)
            (void)CL(ReleaseMemObject)(p->place[i].cl);
    pthread_mutex_destroy(&p->lock);
    d->core->mem_free(p);
    d->params = NULL;
}

/* The place of these words; or the one that they should take. With the lock. */
static struct params_place *params_find(struct opencl_params *p,
                                        const uint32_t *word, uint32_t nwords)
{
    uint64_t hash =
        disk_cache_hash(DISK_CACHE_HASH, word, nwords * sizeof(*word));
    struct params_place *way = &p->place[hash % (PLACES / WAYS) * WAYS];
    struct params_place *oldest = way;
    for (uint32_t i = 0; i < WAYS; i++) {
        if (way[i].cl != NULL && way[i].nwords == nwords &&
            memcmp(way[i].word, word, nwords * sizeof(*word)) == 0)
            return &way[i];
        if (way[i].used < oldest->used)
            oldest = &way[i];
    }
    return oldest;
}

/* Put words into a place, unless it has them already. With the lock. */
static cl_int params_put(const struct backend_device *d,
                         struct params_place *place, uint32_t *word,
                         uint32_t nwords)
{
    cl_int e = CL_SUCCESS;
    size_t bytes = nwords * sizeof(*word);
    if (place->cl != NULL && place->nwords == nwords &&
        memcmp(place->word, word, bytes) == 0)
        return CL_SUCCESS;
    cl_mem made = CL(CreateBuffer)(
        d->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, word, &e);
    if (made == NULL)
        return e;
    /* launches that still read the old one keep it alive */
    if (place->cl != NULL)
        (void)CL(ReleaseMemObject)(place->cl);
    place->cl = made;
    place->nwords = nwords;
    memcpy(place->word, word, bytes);
    return CL_SUCCESS;
}

cl_int opencl_params_get(const struct backend_device *d, uint32_t *word,
                         uint32_t nwords, cl_mem *params, const char **call)
{
    struct opencl_params *p = d->params;
    pthread_mutex_lock(&p->lock);
    struct params_place *place = params_find(p, word, nwords);
    *call = "clCreateBuffer";
    cl_int e = params_put(d, place, word, nwords);
    if (e == CL_SUCCESS) {
        *call = "clRetainMemObject";
        e = CL(RetainMemObject)(place->cl);
    }
    if (e == CL_SUCCESS) {
        place->used = ++p->uses;
        *params = place->cl;
    }
    pthread_mutex_unlock(&p->lock);
    return e;
}
