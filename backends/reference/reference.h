/* SPDX-License-Identifier: Apache-2.0 */
/* reference.h - the reference's lists, and how its ops walk elements.
 *
 * Every op here is a plain loop that a reader can check against the contract
 * in include/sesqui/ops/. Host backends may point their op tables at these
 * lists: run takes no device state. */
#ifndef BACKENDS_REFERENCE_REFERENCE_H
#define BACKENDS_REFERENCE_REFERENCE_H

#include "lib/core/backend.h"

#define X(NAME, ...) extern const struct NAME##_impl reference_##NAME[];
SSQ_OPS(X)
#undef X

extern const struct op_table reference_ops;

/** op_table.gemm_explain of the reference and of guard. */
void reference_gemm_explain(const struct backend_device *device,
                            const struct gemm_op *op, unsigned impl,
                            struct gemm_explanation *e);

/** Bytes; of all memory that reference_alloc gives. */
#define REFERENCE_ALIGNMENT 256u
ssq_status reference_alloc(struct backend_device *device, uint64_t bytes,
                           struct backend_mem **mem);
void reference_free(struct backend_device *device, struct backend_mem *mem);

/** Events of any device whose work is done when the call returns. */
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

/** The one list of an op with a single implementation, `reference`. */
#define REFERENCE_IMPL(NAME, RUN)                                              \
    const struct NAME##_impl reference_##NAME[] = {                            \
        {.name = "reference", .run = RUN}, {.name = NULL}}

/** Walks up to WALK_VIEWS views of one shape together, in row-major order:
 *  at[k] is the element offset of view k. Start with walk_begin, then
 *  `do { .. } while (walk_next(&w));` on a shape with elements. */
#define WALK_VIEWS 8
/* rank, n: dimensions and views; shape: of all of them; index: where the walk
 * is; stride: of each view, in elements */
struct walk {
    int rank, n;
    int64_t shape[SSQ_MAX_RANK];
    int64_t index[SSQ_MAX_RANK];
    int64_t stride[WALK_VIEWS][SSQ_MAX_RANK];
    int64_t at[WALK_VIEWS];
};
void walk_begin(struct walk *w, const struct view *const *views, int n);
bool walk_next(struct walk *w);

/** Element i (an offset in elements) as float32, from any dtype. i32 rounds
 *  to nearest even. */
float load_f32(const void *base, ssq_dtype dtype, int64_t i);
/** Store a float32 in any dtype, by the rules of ssq_convert, to nearest. */
void store_f32(void *base, ssq_dtype dtype, int64_t i, float value);
/** Raw bits of element i, zero-extended; and back. */
uint32_t load_bits(const void *base, ssq_dtype dtype, int64_t i);
void store_bits(void *base, ssq_dtype dtype, int64_t i, uint32_t bits);

#endif
