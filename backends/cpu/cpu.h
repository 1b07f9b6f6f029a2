/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - a device of the cpu backend.
 *
 * Ops run before the call returns, on the caller's thread and the threads of
 * the team. They are plans whose kernels were compiled as C. An op that can be
 * done better than by its plan has an implementation of this backend. */
#ifndef BACKENDS_CPU_CPU_H
#define BACKENDS_CPU_CPU_H

#include "backends/cpu/isa.h"
#include "backends/cpu/threads/parallel.h"
#include "backends/cpu/threads/scratch.h"
#include "backends/cpu/table.h"
#include "backends/cpu/gemm/tiles.h"
#include "lib/core/module/backend.h"

struct backend_device {
    struct cpu_features features;
    const struct isa *isa;
    struct tiles tiles;
    struct team *team;
    struct scratch scratch;
    struct tables tables;
    ssq_subnormals subnormals; /* result of the self-test */
};

struct backend_queue {
    struct backend_device *device;
};

/** Bytes; of all memory that cpu_alloc gives: a line of the cache, and enough
 *  for the promises of other devices. */
#define CPU_ALIGNMENT 256u

/* The slots of struct backend, by the names they have there. */
unsigned cpu_count(struct backend_instance *instance, struct why *reason);
void cpu_describe(const struct backend_instance *instance, unsigned i,
                  char *text, size_t bytes);
ssq_status cpu_open(struct backend_instance *instance, unsigned i,
                    struct backend_device **device);
ssq_status cpu_open_native(struct backend_instance *instance,
                           const void *const *handles, unsigned *i,
                           struct backend_device **device);
void cpu_info(const struct backend_device *device, void *info);
void cpu_close(struct backend_device *device);
void cpu_fork_hold(struct backend_device *device);
void cpu_fork_let_go(struct backend_device *device);
void cpu_props(const struct backend_device *device, ssq_device_props *props);
void cpu_limits(const struct backend_device *device,
                struct backend_limits *limits);
void cpu_identify(const struct backend_device *device, char *text,
                  size_t bytes);
void cpu_certified(struct backend_device *device,
                   const struct findings *findings);
ssq_status cpu_queue_open(struct backend_device *device,
                          struct backend_queue **queue);
void cpu_queue_close(struct backend_queue *queue);
ssq_status cpu_queue_sync(struct backend_queue *queue);
ssq_status cpu_alloc(struct backend_device *device, uint64_t bytes,
                     struct backend_mem **mem);
void cpu_free(struct backend_device *device, struct backend_mem *mem);
/** Device memory. */
struct cpu_mem {
    struct backend_mem mem;
    bool borrowed; /* the caller owns it, and frees it */
};
ssq_status cpu_import(struct backend_device *device, const void *handle,
                      struct backend_mem **mem);
void *cpu_mem_handle(const struct backend_mem *mem);

ssq_status cpu_kernel_get(struct backend_device *device,
                          const struct kernel *kernel,
                          const uint8_t key[LAUNCH_KEYS],
                          const struct backend_kernel **code);
ssq_status cpu_launch(struct backend_queue *queue, const struct launch *launch);

#endif
