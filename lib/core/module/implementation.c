/* SPDX-License-Identifier: Apache-2.0 */
/* implementation.c - the typed lists of a backend, by the op's number. */
#include "lib/core/module/implementation.h"

#include "lib/core/base/fpenv.h"

/* For each op: the name of implementation i (NULL past the end), its check, its
 * last and its run. The macro keeps the lists typed: each function casts the op
 * to the struct that its list expects. op->id guarantees this type. */
#define X(NAME, ...)                                                           \
    static const char *name_##NAME(const struct op_table *t, unsigned i)       \
    {                                                                          \
        return t->NAME == NULL ? NULL : t->NAME[i].name;                       \
    }                                                                          \
    static bool admit_##NAME(const struct op_table *t, unsigned i,             \
                             const struct backend_device *d,                   \
                             const struct op *op, struct why *why)             \
    {                                                                          \
        const struct NAME##_impl *impl = &t->NAME[i];                          \
        return impl->check == NULL ||                                          \
               impl->check(d, (const struct NAME##_op *)op, why);              \
    }                                                                          \
    static bool last_##NAME(const struct op_table *t, unsigned i,              \
                            const struct backend_device *d,                    \
                            const struct op *op)                               \
    {                                                                          \
        const struct NAME##_impl *impl = &t->NAME[i];                          \
        return impl->last != NULL &&                                           \
               impl->last(d, (const struct NAME##_op *)op);                    \
    }                                                                          \
    static ssq_status run_##NAME(const struct op_table *t, unsigned i,         \
                                 struct backend_queue *q, const struct op *op) \
    {                                                                          \
        return t->NAME[i].run(q, (const struct NAME##_op *)op);                \
    }
SSQ_OPS(X)
#undef X

/** The same functions, indexed by the op's number. */
static const struct {
    const char *(*name)(const struct op_table *, unsigned);
    bool (*admit)(const struct op_table *, unsigned,
                  const struct backend_device *, const struct op *,
                  struct why *);
    bool (*last)(const struct op_table *, unsigned,
                 const struct backend_device *, const struct op *);
    ssq_status (*run)(const struct op_table *, unsigned, struct backend_queue *,
                      const struct op *);
} ops[OP_COUNT] = {
#define X(NAME, ...) {name_##NAME, admit_##NAME, last_##NAME, run_##NAME},
    SSQ_OPS(X)
#undef X
};

const char *implementation_name(const struct op_table *table, enum op_id op,
                                unsigned i)
{
    return ops[op].name(table, i);
}

bool implementation_admits(const struct op_table *table, unsigned i,
                           const struct backend_device *device,
                           const struct op *op, struct why *why)
{
    return ops[op->id].admit(table, i, device, op, why);
}

bool implementation_last(const struct op_table *table, unsigned i,
                         const struct backend_device *device,
                         const struct op *op)
{
    return ops[op->id].last(table, i, device, op);
}

/* Host backends compute in the calling thread, which may have any modes. */
ssq_status command_run(const struct op_table *table,
                       struct backend_queue *queue, const struct command *c)
{
    struct fpenv env = fpenv_enter();
    ssq_status st = ops[c->op->id].run(table, c->impl, queue, c->op);
    fpenv_leave(env);
    return st;
}
