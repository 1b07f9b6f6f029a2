/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - plans: an op as launches of kernels, the same for every backend.
 *
 * A plan is built when the op is enqueued. Building only records launches, host
 * words to upload (tables), and the scratch that they use. Then the plan gets
 * memory and kernels. A queue keeps it until the device has finished it. A
 * graph keeps it and may run it several times.
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
 * here does nothing. The status is reported to the creator of the plan. */
#ifndef LIB_CORE_QUEUE_PLAN_H
#define LIB_CORE_QUEUE_PLAN_H

#include "kernel_table.h"
#include "lib/core/core.h"
#include "lib/core/queue/loops.h"

/* One typed list of plans per op, best first. A NULL name ends the list. check
 * has no side effects; NULL accepts every op. Every op has a list; the lists of
 * upload and download are empty. */
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

/** The same lists with uniform types, indexed by op: lib/plan/plans.c. Plan
 *  numbers begin with 0, and name returns NULL past the end. */
struct plan_list {
    const char *(*name)(unsigned i);
    bool (*admit)(unsigned i, const struct backend_limits *limits,
                  const struct op *op, struct why *why);
    void (*build)(unsigned i, struct plan *plan, const struct op *op);
};
extern const struct plan_list plan_lists[OP_COUNT];

/** Return the device's limits. Builders may read group, units, local_bytes,
 *  width, binding_bytes and iterations. */
const struct backend_limits *plan_limits(const struct plan *plan);
/** Return true after a failure. Builders need not call it, except to end a loop
 *  over launches early. */
bool plan_failed(const struct plan *plan);
/** Fail with status st and the text of the last error_set(). */
void plan_fail(struct plan *plan, ssq_status st);

/** Begin a launch of a kernel. key is a variant that the kernel's source lists:
 *  KEYS(value of the first key, ...). */
void plan_kernel(struct plan *plan, enum kernel_id kernel, const uint8_t *key);
#define KEYS(...) ((const uint8_t[LAUNCH_KEYS]){__VA_ARGS__})

/** Bind v as the next operand of the open launch, in the order of the kernel's
 *  BUF_ lines. A view without a buffer is an absent operand. Devices require
 *  memory for every operand that a kernel declares, so an absent operand is
 *  bound to the memory of the first one, with ACCESS_NONE. The kernel's
 *  parameters must say that the operand is absent; the kernel must not access
 *  it. The first operand must be present. */
void plan_bind(struct plan *plan, const struct view *v, enum access access);
/** As plan_bind(), but the kernel sees elements of `unit` bytes, independent of
 *  v's dtype: for example words. A kernel for elements of several sizes binds
 *  an operand once per size. */
void plan_bind_as(struct plan *plan, const struct view *v, uint32_t unit,
                  enum access access);
/** Bind `bytes` bytes of mem, beginning at byte `offset`, as the next operand.
 *  For memory that contains several views. mem NULL: the operand is absent. */
void plan_bind_range(struct plan *plan, struct backend_mem *mem,
                     uint64_t offset, uint64_t bytes, uint32_t unit,
                     enum access access);

/** End the launch. args are its parameters, `bytes` bytes of 4-byte words; the
 *  first words are reserved for the operands' offsets. loops is the largest
 *  number of iterations that one item needs for one of the n
 *  (lib/core/queue/loops.h). */
/** For EACH(i, n): n > 0 adjacent elements, independent of each other. */
void plan_items(struct plan *plan, const void *args, size_t bytes, uint64_t n,
                uint64_t loops);
/** For EACH_GROUP(g, n): n > 0 tasks. Each task is done by one group. */
void plan_groups(struct plan *plan, const void *args, size_t bytes, uint64_t n,
                 uint64_t loops);

/** Set *view to contiguous scratch of n > 0 elements. It exists as long as the
 *  plan does. */
void plan_scratch(struct plan *plan, ssq_dtype dtype, uint64_t n,
                  struct view *view);
/** Set *view to contiguous scratch of n words that the host fills. Return the
 *  host copy, which the builder must fill before it returns. The words are
 *  uploaded before the first launch. No launch may change them. NULL after a
 *  failure. */
uint32_t *plan_words(struct plan *plan, uint64_t n, struct view *view);

/* ---- for the core ---- */

/** Build the plan without scratch memory and kernels, and release it. Returns
 *  the error that plan_create() would return, except errors of device memory or
 *  the compiler. */
ssq_status plan_try(ssq_device *device, const struct op *op, unsigned i);
/** Build plan number i of an op. The caller owns one reference; release it with
 *  object_put(plan_object(plan)). */
ssq_status plan_create(ssq_device *device, const struct op *op, unsigned i,
                       struct plan **plan);
struct object *plan_object(struct plan *plan);
/** The steps of plan_create(), in the order of their calls.
 *
 *  - plan_begin() creates an empty plan. Its error texts begin with `what`.
 *  - The builder runs.
 *  - plan_status() returns the status of the first failure.
 *  - plan_loops() returns the largest number of iterations of an item, and sets
 *    *kernel to the name of that kernel.
 *  - plan_place() gets memory for the scratch, and the kernels. */
ssq_status plan_begin(ssq_device *device, const char *what, struct plan **plan);
ssq_status plan_status(const struct plan *plan);
uint64_t plan_loops(const struct plan *plan, const char **kernel);
ssq_status plan_place(const struct plan *plan);
/** Upload the host words of a plan, then pass its launches to a backend's
 *  queue. */
ssq_status plan_run(const struct plan *plan, const struct backend *backend,
                    struct backend_queue *queue);
/** The two parts of plan_run(). Launches never write the words that
 *  plan_write() uploads. A caller can therefore combine the parts of several
 *  plans. plan_launches() returns the number of launches and copies pointers to
 *  them into `launches`, unless it is NULL. */
ssq_status plan_write(const struct plan *plan, const struct backend *backend,
                      struct backend_queue *queue);
size_t plan_launches(const struct plan *plan, const struct launch **launches);
/** Return the name of plan i. NULL: no such plan, or the backend cannot run
 *  plans. */
const char *plan_name(const struct backend *backend, enum op_id op, unsigned i);
/** Check if plan i accepts an op. If an op is larger than a launch, or the
 *  device limits the loops of an item, this builds the plan without scratch
 *  memory and kernels.
 *  @return
 *  - SSQ_OK
 *  - SSQ_ERR_UNSUPPORTED  with the reason in *why: check refuses the op, an
 *    item would loop too often, or the large op cannot be cut
 *  - SSQ_ERR_NOMEM */
ssq_status plan_admits(ssq_device *device, const struct op *op, unsigned i,
                       struct why *why);

#endif
