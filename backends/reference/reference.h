/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h - the reference's lists, and access to elements for its ops.
 *
 * Every op here is a plain loop that a reader can compare with the contract in
 * include/sesqui/ops/. Host backends may use these lists in their op tables,
 * because run uses no device state. */
#ifndef BACKENDS_REFERENCE_REFERENCE_H
#define BACKENDS_REFERENCE_REFERENCE_H

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

/** Define the list of an op with a single implementation, `reference`. */
#define REFERENCE_IMPL(NAME, RUN)                                              \
    const struct NAME##_impl reference_##NAME[] = {                            \
        {.name = "reference", .run = RUN}, {.name = NULL}}

/** A walk over up to WALK_VIEWS views of one shape, in row-major order. at[k]
 *  is the offset of the current element in view k, in elements. Call
 *  walk_begin(), then `do { .. } while (walk_next(&w));`. The shape must have
 *  elements. */
#define WALK_VIEWS 8
/* rank, n: numbers of dimensions and views; shape: of all views; index: of the
 * current element; stride: of each view, in elements */
struct walk {
    int rank, n;
    int64_t shape[SSQ_MAX_RANK];
    int64_t index[SSQ_MAX_RANK];
    int64_t stride[WALK_VIEWS][SSQ_MAX_RANK];
    int64_t at[WALK_VIEWS];
};
void walk_begin(struct walk *w, const struct view *const *views, int n);
bool walk_next(struct walk *w);

/** Load element i (an offset in elements) of any dtype as float32. i32 is
 *  rounded to nearest even. */
float load_f32(const void *base, ssq_dtype dtype, int64_t i);
/** Store a float32 in any dtype, by the rules of ssq_convert, rounded to
 *  nearest. */
void store_f32(void *base, ssq_dtype dtype, int64_t i, float value);
/** Load the raw bits of element i, zero-extended, or store them. */
uint32_t load_bits(const void *base, ssq_dtype dtype, int64_t i);
void store_bits(void *base, ssq_dtype dtype, int64_t i, uint32_t bits);

#endif
