/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h - the reference's lists of ops, its memory and events.
 *
 * Every op here is a plain loop that a reader can compare with the contract in
 * include/sesqui/ops/. Host backends may use these lists in their op tables,
 * because run uses no device state. */
#ifndef BACKENDS_REFERENCE_REFERENCE_H
#define BACKENDS_REFERENCE_REFERENCE_H

#include "backends/reference/walk.h"
#include "lib/core/module/backend.h"

#define X(NAME, ...) extern const struct NAME##_impl reference_##NAME[];
SSQ_OPS(X)
#undef X

extern const struct op_table reference_ops;

/** op_table.gemm_explain of the reference and of guard. */
void reference_gemm_explain(const struct backend_device *device,
                            const struct gemm_op *op, unsigned impl,
                            struct gemm_explanation *e);

/** Alignment of all memory that reference_alloc() returns, in bytes. */
#define REFERENCE_ALIGNMENT 256u
ssq_status reference_alloc(struct backend_device *device, uint64_t bytes,
                           struct backend_mem **mem);
void reference_free(struct backend_device *device, struct backend_mem *mem);
ssq_status reference_import(struct backend_device *device, const void *handle,
                            struct backend_mem **mem);
void *reference_mem_handle(const struct backend_mem *mem);

/** Events for any device whose calls return when their work is done. */
ssq_status reference_event_open(struct backend_device *device,
                                struct backend_event **event);
void reference_event_close(struct backend_event *event);
ssq_status reference_event_record(struct backend_event *event,
                                  struct backend_queue *queue);
ssq_status reference_event_wait(struct backend_queue *queue,
                                struct backend_event *event);
ssq_status reference_event_finished(struct backend_event *event);
ssq_status reference_event_elapsed(struct backend_event *from,
                                   struct backend_event *to, double *seconds);

/** Define the list of an op with a single implementation, `reference`, which is
 *  reference_NAME_run(). */
#define REFERENCE_IMPL(NAME)                                                   \
    const struct NAME##_impl reference_##NAME[] = {                            \
        {.name = "reference", .run = reference_##NAME##_run}, {.name = NULL}}

#endif
