/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - plans: an op as launches of kernels, the same for every backend.
 *
 * A plan is built when the op is enqueued and does nothing but note: launches,
 * writes of host bytes (tables), and the scratch they use. Then it gets memory
 * and kernels. The queue, or a graph, keeps it until the device has finished
 * it; a graph runs it again.
 *
 *     static void build(struct plan *p, const struct unary_op *op)
 *     {
 *         struct unary_args a = {.kind = op->kind, .n = n};
 *         plan_kernel(p, KERNEL_unary, KEYS(op->kind, op->x.dtype));
 *         plan_bind(p, &op->x, ACCESS_READ);
 *         plan_bind(p, &op->y, ACCESS_WRITE);
 *         plan_items(p, &a, sizeof(a), n, LOOPS_FEW);
 *     }
 *     const struct unary_plan unary_plans[] = {{"portable", NULL, build},
 *                                              {NULL}};
 *
 * After a failure (no memory, a kernel that does not compile) every function
 * here does nothing; the plan's creator sees the status. */
#ifndef LIB_PLAN_PLAN_H
#define LIB_PLAN_PLAN_H

#include "kernel_table.h"
#include "lib/core/core.h"
#include "lib/plan/loops.h"

/* One typed list of plans per op, best first, ended by a NULL name. check is
 * pure, and NULL admits everything. Every op has a list; those of upload and
 * download are empty. */
#define X(NAME, ...)                                                           \
    struct NAME##_plan {                                                       \
        const char *name;                                                      \
        bool (*check)(const struct backend_limits *, const struct NAME##_op *, \
                      struct why *);                                           \
        void (*build)(struct plan *, const struct NAME##_op *);                \
    };                                                                         \
    extern const struct NAME##_plan NAME##_plans[];
SSQ_OPS(X)
#undef X

/** What builders may read: group, units, local_bytes, width, binding_bytes,
 *  iterations. */
const struct backend_limits *plan_limits(const struct plan *plan);
/** True once something has failed. Builders need not ask, but where they would
 *  loop over launches for nothing. */
bool plan_failed(const struct plan *plan);
/** Give up: st with the text that error_set has just made. */
void plan_fail(struct plan *plan, ssq_status st);

/** Begin a launch of a kernel in a variant, which must be one of those that
 *  the kernel's text lists: KEYS(value of the first key, ...). */
void plan_kernel(struct plan *plan, enum kernel_id kernel, const uint8_t *key);
#define KEYS(...) ((const uint8_t[LAUNCH_KEYS]){__VA_ARGS__})

/** Bind v as the next operand of the launch that was begun, in the order of the
 *  kernel's BUF_ lines. Devices want memory for every operand that a text
 *  declares: an absent view, one without a buffer, has its place filled by the
 *  launch's first operand, bound once more with ACCESS_NONE. The kernel learns
 *  from its parameters that the operand is absent, and must not touch it. So
 *  the first operand itself has to be present. */
void plan_bind(struct plan *plan, const struct view *v, enum access access);
/** The same, but the kernel sees elements of `unit` bytes, whatever v's dtype:
 *  as words, or once for each width that the elements may have. */
void plan_bind_as(struct plan *plan, const struct view *v, uint32_t unit,
                  enum access access);
/** The same of `bytes` bytes of mem, from byte `offset` on, for memory that
 *  several views lie in. mem NULL: the operand is absent. */
void plan_bind_range(struct plan *plan, struct backend_mem *mem,
                     uint64_t offset, uint64_t bytes, uint32_t unit,
                     enum access access);

/** End the launch: its parameters (bytes of 4-byte words, of which the first
 *  are the operands' places), how the work is divided, and the most iterations
 *  that the loops of an item count as for one of the n (lib/plan/loops.h): */
/** for EACH(i, n): neighbours that are independent; n > 0 */
void plan_items(struct plan *plan, const void *args, size_t bytes, uint64_t n,
                uint64_t loops);
/** for EACH_GROUP(g, n): n > 0 tasks, each of one group at a time */
void plan_groups(struct plan *plan, const void *args, size_t bytes, uint64_t n,
                 uint64_t loops);

/** Contiguous scratch of n > 0 elements, alive as long as the plan. */
void plan_scratch(struct plan *plan, ssq_dtype dtype, uint64_t n,
                  struct view *view);
/** Host words for the device, in contiguous scratch: *words is the host's
 *  side, n of them, to be filled before the builder returns; the device has
 *  them before the first launch, and no launch may change them. NULL after a
 *  failure. */
uint32_t *plan_words(struct plan *plan, uint64_t n, struct view *view);

/* ---- for the core ---- */

/** Would plan_create find all that it needs, but for memory and a compiler?
 *  The plan is built without scratch or kernels, and let go. */
ssq_status plan_try(ssq_device *device, const struct op *op, unsigned i);
/** Build plan number i of an op. One reference: object_put(&plan->object). */
ssq_status plan_create(ssq_device *device, const struct op *op, unsigned i,
                       struct plan **plan);
struct object *plan_object(struct plan *plan);
/** The parts of plan_create, in the order of their calls. plan_begin makes a
 *  plan with nothing in it, for errors that begin with `what`. When the builder
 *  is through, plan_status is what it came to, and plan_loops the most
 *  iterations that an item loops, with the name of the kernel that does; then
 *  plan_place gets memory for the scratch, and the kernels. */
ssq_status plan_begin(ssq_device *device, const char *what, struct plan **plan);
ssq_status plan_status(const struct plan *plan);
uint64_t plan_loops(const struct plan *plan, const char **kernel);
ssq_status plan_place(const struct plan *plan);
/** Hand the launches to a backend's queue. */
ssq_status plan_run(const struct plan *plan, const struct backend *backend,
                    struct backend_queue *queue);
/** The two halves of plan_run: no launch of a plan writes what the other half
 *  does, so that the halves of several plans may be put together. */
ssq_status plan_write(const struct plan *plan, const struct backend *backend,
                      struct backend_queue *queue);
size_t plan_launches(const struct plan *plan, const struct launch **launches);
/** Name of plan i; NULL past the end, or where plans cannot run. */
const char *plan_name(const struct backend *backend, enum op_id op, unsigned i);
/** SSQ_OK, or SSQ_ERR_UNSUPPORTED with why: also where an item would loop for
 *  longer than the device lets it, or where an op that is too large for a
 *  launch cannot be cut, to see which the plan is built, without scratch or
 *  kernels; or SSQ_ERR_NOMEM. */
ssq_status plan_admits(ssq_device *device, const struct op *op, unsigned i,
                       struct why *why);

#endif
