/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - one call of an op, put together from bytes.
 *
 * In this order: scalars, shapes, axes, dtypes, places, one thing made wrong
 * now and then, tensors, and the call on both sides. Rules for
 * shapes that the table of ops lacks are in shape.c. */
#ifndef TESTS_FUZZ_CALL_H
#define TESTS_FUZZ_CALL_H

#include "tests/fuzz/ops.h"
#include "tests/fuzz/pair.h"

/* At most: tensors of a call, names of sizes, tensors of a list, bytes of
 * arguments. */
enum { OPERANDS = 24, SYMBOLS = 16, LISTED = 4, ARGS_BYTES = 512 };

/** A tensor of a call. */
struct fuzz_operand {
    const struct field *field; /* the member that it goes into */
    bool used;                 /* not NULL */
    bool shaped;               /* its shape has been chosen */
    ssq_dtype dtype;
    int rank;
    int64_t shape[SSQ_MAX_RANK], strides[SSQ_MAX_RANK];
    unsigned buffer;   /* which of the pair's */
    size_t at, extent; /* bytes, in the buffer */
    ssq_tensor *tensor[SIDES];
};

/** The value of a name in a contract's shapes, the m of [m,k]. */
struct fuzz_symbol {
    char name[12];
    int64_t size;
};

/** A call as it is put together. */
struct call {
    struct pair *pair;
    struct input *in;
    const struct fuzz_op *op;
    union {
        double align;
        uint8_t bytes[ARGS_BYTES];
    } args;
    struct fuzz_operand x[OPERANDS];
    unsigned n;
    unsigned listed; /* the last this many operands are FIELD_TENSORS' */
    struct fuzz_symbol symbols[SYMBOLS];
    unsigned nsymbols;
    bool small;     /* sizes so far made too large a tensor */
    bool integers;  /* where either will do */
    bool dense;     /* no strides but the plain ones */
    ssq_dtype half; /* the 16-bit float of most operands: two do not mix */
    int base_rank;  /* of operands of which nothing is said */
    int64_t base[SSQ_MAX_RANK];
};

/** Put a call of an op together. */
void call_compose(struct call *c, struct pair *p, struct input *in,
                  const struct fuzz_op *op);
/** Make a call and run it. */
void call_run(struct pair *p, struct input *in);

/** Its tensors are made, and the call on both sides; then compared. */
void call_perform(struct call *c);
/** Its tensors are made; the ones that it writes have no contents yet. */
void call_tensors(struct call *c);
/** Give an operand values, now and then. */
void call_prepare(struct call *c, struct fuzz_operand *x);
/** The arguments of one side, with their tensors: *list is for FIELD_TENSORS,
 *  of LISTED. */
void call_bind(const struct call *c, unsigned side, uint8_t *args,
               const ssq_tensor **list);
/** Its tensors are gone. */
void call_end(struct call *c);

/** The integer of this many bytes at a place. */
int64_t call_load(const void *at, size_t bytes);
/** The product of its sizes. */
int64_t operand_elements(const struct fuzz_operand *x);

/* For shape.c. */

/** The operand of a member; NULL if there is none of that name. */
struct fuzz_operand *call_operand(struct call *c, const char *name);
/** The value of an integer, bool or enum member; 0 if there is none. */
int64_t call_scalar(const struct call *c, const char *name);
void call_set(struct call *c, const char *name, int64_t value);
/** The size that a name represents in this call. */
int64_t call_size(struct call *c, const char *name);
/** The size that a name represents, from now on. */
void call_named(struct call *c, const char *name, int64_t size);
void operand_shape(struct fuzz_operand *x, int rank, const int64_t *shape);
/** A shape that broadcasts to another. */
void operand_broadcast(struct call *c, struct fuzz_operand *x, int rank,
                       const int64_t *shape);
/** Rules for the shapes of an op's operands that the table lacks. */
void shape_rules(struct call *c);

#endif
