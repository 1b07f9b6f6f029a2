/* SPDX-License-Identifier: Apache-2.0 */
/* data.h - ops that move or convert elements: all of class B. */
#ifndef SESQUI_OPS_DATA_H
#define SESQUI_OPS_DATA_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_fill_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_fill_args));
    const ssq_tensor *x; /**< out, any dtype */
    double value; /**< converted as ssq_convert does from float32; integers
                       from the double itself, saturating */
} ssq_fill_args;
#define SSQ_FILL_DEFAULTS sizeof(ssq_fill_args), NULL, 0.0
#define SSQ_FILL_INIT                                                          \
    {                                                                          \
        SSQ_FILL_DEFAULTS                                                      \
    }
#define SSQ_FILL(...) SSQ_ARGS(ssq_fill_args, SSQ_FILL_DEFAULTS, __VA_ARGS__)

/** Fill: every element of x = value. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_fill(ssq_queue *queue,
                                           const ssq_fill_args *args);

typedef struct ssq_copy_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_copy_args));
    const ssq_tensor *x; /**< in, any dtype; broadcast to y's shape */
    const ssq_tensor *y; /**< out, the dtype of x; no overlap with x */
} ssq_copy_args;
#define SSQ_COPY_DEFAULTS sizeof(ssq_copy_args), NULL, NULL
#define SSQ_COPY_INIT                                                          \
    {                                                                          \
        SSQ_COPY_DEFAULTS                                                      \
    }
#define SSQ_COPY(...) SSQ_ARGS(ssq_copy_args, SSQ_COPY_DEFAULTS, __VA_ARGS__)

/** Copy: y = x, bit for bit, any strides. A transpose or slice is materialised
 *  by copying its view. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_copy(ssq_queue *queue,
                                           const ssq_copy_args *args);

typedef struct ssq_cast_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_cast_args));
    const ssq_tensor *x;    /**< in, any dtype; broadcast to y's shape */
    const ssq_tensor *y;    /**< out, any dtype; may be x when the dtypes have
                                 the same size */
    ssq_rounding rounding;  /**< of float to 16-bit float; see ssq_convert */
    uint64_t seed;          /**< stochastic only */
    uint32_t id;            /**< stochastic only: the stream's tensor */
    const ssq_tensor *step; /**< stochastic only: i32, one element; NULL: 0 */
} ssq_cast_args;
#define SSQ_CAST_DEFAULTS                                                      \
    sizeof(ssq_cast_args), NULL, NULL, SSQ_ROUND_NEAREST, 0, 0, NULL
#define SSQ_CAST_INIT                                                          \
    {                                                                          \
        SSQ_CAST_DEFAULTS                                                      \
    }
#define SSQ_CAST(...) SSQ_ARGS(ssq_cast_args, SSQ_CAST_DEFAULTS, __VA_ARGS__)

/** Cast: y = x in y's dtype, by the rules of ssq_convert. Element i in
 *  row-major order draws word i of its stream. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_cast(ssq_queue *queue,
                                           const ssq_cast_args *args);

typedef struct ssq_transpose_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_transpose_args));
    const ssq_tensor *x; /**< in, any dtype */
    const ssq_tensor *y; /**< out, the dtype of x, the permuted shape of x; no
                              overlap with x */
    int axes[SSQ_MAX_RANK]; /**< dimension i of y is dimension axes[i] of x;
                                 negative ones count from the end; where all
                                 are 0, x's dimensions are reversed */
} ssq_transpose_args;
#define SSQ_TRANSPOSE_DEFAULTS                                                 \
    sizeof(ssq_transpose_args), NULL, NULL,                                    \
    {                                                                          \
        0                                                                      \
    }
#define SSQ_TRANSPOSE_INIT                                                     \
    {                                                                          \
        SSQ_TRANSPOSE_DEFAULTS                                                 \
    }
#define SSQ_TRANSPOSE(...)                                                     \
    SSQ_ARGS(ssq_transpose_args, SSQ_TRANSPOSE_DEFAULTS, __VA_ARGS__)

/** Transpose: y = x with its dimensions permuted, bit for bit: a copy of
 *  what ssq_tensor_transpose views. Its backward is the inverse permutation.
 *  @return SSQ_ERR_INVALID axes is no permutation. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_transpose(ssq_queue *queue,
                                                const ssq_transpose_args *args);

typedef struct ssq_concat_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_concat_args));
    const ssq_tensor *const *x; /**< in: n tensors, any dtypes, converted as
                                     ssq_cast does to nearest; the list is
                                     read at the call */
    size_t n;                   /**< at least 1 */
    const ssq_tensor *y; /**< out, any dtype; the shape of every x but for
                              axis, where it is the sum of theirs; overlaps
                              none of them */
    int axis;            /**< negative: from the end */
} ssq_concat_args;
#define SSQ_CONCAT_DEFAULTS sizeof(ssq_concat_args), NULL, 0, NULL, 0
#define SSQ_CONCAT_INIT                                                        \
    {                                                                          \
        SSQ_CONCAT_DEFAULTS                                                    \
    }
#define SSQ_CONCAT(...)                                                        \
    SSQ_ARGS(ssq_concat_args, SSQ_CONCAT_DEFAULTS, __VA_ARGS__)

/** Concatenate: y = the tensors x[0..n-1], one after the other along an
 *  axis. Inputs may repeat and may be empty. Its backward copies slices. When
 *  memory runs out half-way, y is partly written. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_concat(ssq_queue *queue,
                                             const ssq_concat_args *args);

typedef struct ssq_slice_assign_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_slice_assign_args));
    const ssq_tensor *x; /**< in, any dtype, converted as ssq_cast does to
                              nearest; the rank of y */
    const ssq_tensor *y; /**< updated: other elements keep their bits; no
                              overlap with x */
    int64_t start[SSQ_MAX_RANK]; /**< >= 0, in each dimension of y */
    int64_t step[SSQ_MAX_RANK] SSQ_DEFAULT(
        {1, 1, 1, 1, 1, 1}); /**< >= 1 in each dimension, also where
                                  only those of others are named */
} ssq_slice_assign_args;
#define SSQ_SLICE_ASSIGN_DEFAULTS                                              \
    sizeof(ssq_slice_assign_args), NULL, NULL, {0},                            \
    {                                                                          \
        1, 1, 1, 1, 1, 1                                                       \
    }
#define SSQ_SLICE_ASSIGN_INIT                                                  \
    {                                                                          \
        SSQ_SLICE_ASSIGN_DEFAULTS                                              \
    }
#define SSQ_SLICE_ASSIGN(...)                                                  \
    SSQ_ARGS(ssq_slice_assign_args, SSQ_SLICE_ASSIGN_DEFAULTS, __VA_ARGS__)

/** Slice assign: y[start + i * step] = x[i] in every dimension.
 *  @return SSQ_ERR_INVALID start + (size of x - 1) * step is not in y.
 *  Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_slice_assign(ssq_queue *queue, const ssq_slice_assign_args *args);

typedef struct ssq_gather_rows_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_gather_rows_args));
    const ssq_tensor *x;     /**< in, any dtype, [rows, ...]: rank >= 1 */
    const ssq_tensor *index; /**< in, i32, any shape */
    const ssq_tensor *y;     /**< out, any dtype, converted as ssq_cast does to
                                  nearest; the shape of index, then that of a
                                  row; overlaps neither */
} ssq_gather_rows_args;
#define SSQ_GATHER_ROWS_DEFAULTS sizeof(ssq_gather_rows_args), NULL, NULL, NULL
#define SSQ_GATHER_ROWS_INIT                                                   \
    {                                                                          \
        SSQ_GATHER_ROWS_DEFAULTS                                               \
    }
#define SSQ_GATHER_ROWS(...)                                                   \
    SSQ_ARGS(ssq_gather_rows_args, SSQ_GATHER_ROWS_DEFAULTS, __VA_ARGS__)

/** Gather rows: y[i, ...] = x[index[i], ...]: an embedding. Indices live on
 *  the device, so the call cannot check them: one that is negative or >= rows
 *  (PyTorch fails there) reads a row of zeros, and ssq_scatter_add_rows
 *  ignores it; negative ones do not count from the end. ssq_index_check finds
 *  such indices. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gather_rows(ssq_queue *queue, const ssq_gather_rows_args *args);

typedef struct ssq_scatter_add_rows_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_scatter_add_rows_args));
    const ssq_tensor *dy;    /**< in, float: the shape of index, then that of
                                  a row of dx */
    const ssq_tensor *index; /**< in, i32, any shape */
    const ssq_tensor *dx;    /**< updated, float, [rows, ...]: rank >= 1;
                                  overlaps neither */
} ssq_scatter_add_rows_args;
#define SSQ_SCATTER_ADD_ROWS_DEFAULTS                                          \
    sizeof(ssq_scatter_add_rows_args), NULL, NULL, NULL
#define SSQ_SCATTER_ADD_ROWS_INIT                                              \
    {                                                                          \
        SSQ_SCATTER_ADD_ROWS_DEFAULTS                                          \
    }
#define SSQ_SCATTER_ADD_ROWS(...)                                              \
    SSQ_ARGS(ssq_scatter_add_rows_args, SSQ_SCATTER_ADD_ROWS_DEFAULTS,         \
             __VA_ARGS__)

/** Scatter-add rows: dx[index[i], ...] += dy[i, ...], the backward of
 *  ssq_gather_rows (fill dx with zeros first). Class B: an element starts from
 *  its old value and adds in float32, in the row-major order of index, then is
 *  rounded once, also when dx has 16 bits. Rows that no index names keep their
 *  bits; indices that are negative or >= rows are ignored. A NaN result is the
 *  quiet NaN without sign.
 *  @return SSQ_ERR_UNSUPPORTED rows or indices beyond 2^31 - 1. Uses
 *          4 * (rows + indices) bytes of scratch. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_scatter_add_rows(ssq_queue *queue, const ssq_scatter_add_rows_args *args);

typedef struct ssq_one_hot_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_one_hot_args));
    const ssq_tensor *index; /**< in, i32 */
    const ssq_tensor *y; /**< out, any dtype: the shape of index with one more
                              dimension, the classes, at axis; no overlap */
    int axis SSQ_DEFAULT(-1); /**< of y; negative: from the end */
    double on SSQ_DEFAULT(1.0), off
        SSQ_DEFAULT(0.0); /**< converted as ssq_fill does */
} ssq_one_hot_args;
#define SSQ_ONE_HOT_DEFAULTS sizeof(ssq_one_hot_args), NULL, NULL, -1, 1.0, 0.0
#define SSQ_ONE_HOT_INIT                                                       \
    {                                                                          \
        SSQ_ONE_HOT_DEFAULTS                                                   \
    }
#define SSQ_ONE_HOT(...)                                                       \
    SSQ_ARGS(ssq_one_hot_args, SSQ_ONE_HOT_DEFAULTS, __VA_ARGS__)

/** One-hot: y[.., c, ..] = index[..] == c ? on : off. An index that is no
 *  class makes all of its elements off; ssq_index_check finds it. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_one_hot(ssq_queue *queue,
                                              const ssq_one_hot_args *args);

typedef struct ssq_index_check_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_index_check_args));
    const ssq_tensor *index;  /**< in, i32, any shape and strides */
    const ssq_tensor *record; /**< updated, i32 [4], contiguous: see below; no
                                   overlap */
    int64_t n; /**< 0 .. n - 1 are valid: rows of a table, classes; 0 to
                    2^31 - 1 */
    int64_t ignore_index SSQ_DEFAULT(INT64_MIN); /**< valid as well */
} ssq_index_check_args;
#define SSQ_INDEX_CHECK_DEFAULTS                                               \
    sizeof(ssq_index_check_args), NULL, NULL, 0, INT64_MIN
#define SSQ_INDEX_CHECK_INIT                                                   \
    {                                                                          \
        SSQ_INDEX_CHECK_DEFAULTS                                               \
    }
#define SSQ_INDEX_CHECK(...)                                                   \
    SSQ_ARGS(ssq_index_check_args, SSQ_INDEX_CHECK_DEFAULTS, __VA_ARGS__)

/** Count the elements of index that are outside 0 .. n - 1 and are not
 *  ignore_index. Calls cannot check indices, which are device data; this call
 *  lets a program ask later, without waiting now. If there are such elements,
 *      record[0] += their number, modulo 2^32
 *      record[1] = the place of the first one in the row-major order of index
 *      record[2] = its value
 *      record[3] = n
 *  Otherwise record keeps its bits. Fill it with zeros first. For example, of
 *  labels of 10 classes:
 *
 *      int32_t r[4];
 *      CHECK(ssq_index_check(q, SSQ_INDEX_CHECK(.index = labels,
 *                                               .record = t, .n = 10)));
 *      ...
 *      CHECK(ssq_tensor_read(q, t, r, sizeof(r), SSQ_I32));
 *      CHECK(ssq_queue_sync(q));
 *      if (r[0] != 0)
 *          fail("label %d is %d, expected 0 to %d", r[1], r[2], r[3] - 1);
 *
 *  A trainer does this for the labels of its losses (trainer.h).
 *  @return SSQ_ERR_INVALID n is out of range, record is not a contiguous [4];
 *          SSQ_ERR_UNSUPPORTED index has more than 2^31 - 1 elements
 *  @note class B. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_index_check(ssq_queue *queue, const ssq_index_check_args *args);

#ifdef __cplusplus
}
#endif

#endif
