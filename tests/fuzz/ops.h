/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h - what tests/fuzz/table.awk says about an op. */
#ifndef TESTS_FUZZ_OPS_H
#define TESTS_FUZZ_OPS_H

#include <sesqui.h>

enum field_kind {
    FIELD_TENSOR,  /* const ssq_tensor * */
    FIELD_TENSORS, /* a list of them; the next member is its length */
    FIELD_TEXT,    /* const char * */
    FIELD_AXES,    /* int[SSQ_MAX_RANK]; perhaps n_axes follows */
    FIELD_SIZES,   /* int64_t[SSQ_MAX_RANK]: a value for each dimension */
    FIELD_DOUBLE,
    FIELD_BOOL,
    FIELD_SIGNED, /* one or, in an array, several */
    FIELD_UNSIGNED,
    FIELD_ENUM
};

enum field_role { ROLE_IN, ROLE_OUT };

enum {
    DTYPE_F32 = 1 << SSQ_F32,
    DTYPE_FLOAT = 1 << SSQ_F32 | 1 << SSQ_F16 | 1 << SSQ_BF16,
    DTYPE_I32 = 1 << SSQ_I32,
    DTYPE_U8 = 1 << SSQ_U8,
    DTYPE_EITHER = DTYPE_FLOAT | DTYPE_I32 | DTYPE_U8,
    DTYPE_ANY = DTYPE_EITHER | 1 /* each by itself */
};

/* B: the same bits on every device. R: within a bound. */
enum op_class { CLASS_B, CLASS_R };

/** A member of an op's arguments. The list ends with the name "". */
struct field {
    const char *name;
    size_t at, bytes; /* bytes: of all its values */
    unsigned count;
    enum field_kind kind;
    unsigned values; /* of an enum */
    /* of tensors, as far as the comment says */
    enum field_role role;
    bool optional;
    unsigned dtypes;   /* 0: not said */
    bool as_another;   /* the dtype is that of another operand */
    const char *shape; /* "[m,k]", "=x", "1", "~": see table.awk */
};

/** An op, as the headers declare it. */
struct fuzz_op {
    const char *name; /* "gemm" */
    const char *type; /* "ssq_gemm_args" */
    ssq_status (*call)(ssq_queue *queue, const void *args);
    size_t bytes;               /* of its arguments */
    const void *init;           /* SSQ_<OP>_INIT */
    const struct field *fields; /* of its arguments, in their order */
    enum op_class class_of;
    bool integers; /* the comment of the call: floats or integers */
    bool to_bytes; /* the comment of the call: y is u8 */
};

extern const struct fuzz_op *const fuzz_ops;
extern const size_t fuzz_ops_count;

#endif
