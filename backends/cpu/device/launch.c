/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - kernels, which already exist, and their groups as a loop. */
#include "backends/cpu/cpu.h"

#include "lib/core/base/error.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Waking a thread costs as much as this many bytes of operands. */
#define BYTES_WORTH_A_THREAD 16384

/* A launch as its groups see it: every operand begins where its pointer says.
 */
struct launch_loop {
    const struct backend_kernel *code;
    uint32_t groups;
    void *operand[LAUNCH_BINDINGS];
    uint32_t words[LAUNCH_WORDS];
};

ssq_status cpu_kernel_get(struct backend_device *device,
                          const struct kernel *kernel,
                          const uint8_t key[LAUNCH_KEYS],
                          const struct backend_kernel **code)
{
    const struct backend_kernel *variants = device->isa->kernels[kernel->id];
    uint32_t i = 0;
    while (i < kernel->nvariants &&
           memcmp(kernel->variants[i], key, kernel->nkeys) != 0)
        i++;
    if (i == kernel->nvariants)
        return error_set(SSQ_ERR_DEVICE, "cpu: kernel %s has no such variant",
                         kernel->name);
    if (variants == NULL || variants[i].run == NULL)
        return error_set(SSQ_ERR_DEVICE,
                         "cpu: kernel %s is not linked into this program; the "
                         "library has it",
                         kernel->name);
    *code = &variants[i];
    return SSQ_OK;
}

/* Make data that a kernel wrote past the caches (kernels/dialect/stream.h) is
 * visible. */
static void cpu_launch_fence(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

static void cpu_launch_run_group(void *context, uint32_t i, uint32_t worker)
{
    const struct launch_loop *l = context;
    (void)worker;
    l->code->run(l->operand, l->words, i, l->groups);
    cpu_launch_fence();
}

ssq_status cpu_launch(struct backend_queue *queue, const struct launch *launch)
{
    struct launch_loop l = {launch->code, launch->groups, {NULL}, {0}};
    uint64_t bytes = 0;
    memcpy(l.words, launch->param, launch->nwords * sizeof(uint32_t));
    for (uint32_t i = 0; i < launch->nbindings; i++) {
        const struct binding *b = &launch->binding[i];
        l.operand[i] = b->mem == NULL ? NULL : (char *)b->mem->host + b->offset;
        l.words[i] = 0;
        bytes += b->bytes;
    }
    if (bytes < BYTES_WORTH_A_THREAD)
        for (uint32_t i = 0; i < l.groups; i++)
            cpu_launch_run_group(&l, i, 0);
    else
        parallel_for(queue->device->team, l.groups, cpu_launch_run_group, &l);
    return SSQ_OK;
}
