/* SPDX-License-Identifier: Apache-2.0 */
/* data.h - ops that move or convert elements: all of class B.
 *
 *     ssq_fill(queue, SSQ_FILL(.x = dx, .value = 0.0));
 *     ssq_gather_rows(queue, SSQ_GATHER_ROWS(.x = table, .index = tokens,
 *                                            .y = y));
 *     ...                                       // gradient dy of y
 *     ssq_scatter_add_rows(queue, SSQ_SCATTER_ADD_ROWS(.dy = dy,
 *                                     .index = tokens, .dx = dx));
 *
 * The rules of all ops (ops.h) hold here, too. For example, a call returns
 * SSQ_ERR_UNSUPPORTED if no implementation of the device runs the op.
 *
 * A call returns SSQ_ERR_INVALID if a shape, dtype, axis or rounding is not as
 * below, or if an output overlaps another operand and "may be" does not allow
 * it. For example, ssq_transpose cannot work in place.
 *
 * Indices are on the device, so calls cannot check them. Use ssq_index_check.
 *
 * @sync async
 * @threads object */
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
    double value; /**< a float x: rounded to float32, then as in ssq_convert; an
                       integer x: truncated and saturated; NaN is 0 */
} ssq_fill_args;
#define SSQ_FILL_DEFAULTS sizeof(ssq_fill_args), NULL, 0.0
#define SSQ_FILL_INIT                                                          \
    {                                                                          \
        SSQ_FILL_DEFAULTS                                                      \
    }
#define SSQ_FILL(...) SSQ_ARGS(ssq_fill_args, SSQ_FILL_DEFAULTS, __VA_ARGS__)

/** Fill x: every element is value. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_fill(ssq_queue *queue,
                                           const ssq_fill_args *args);

typedef struct ssq_copy_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_copy_args));
    const ssq_tensor *x; /**< in, any dtype; broadcast to y's shape */
    const ssq_tensor *y; /**< out, the dtype of x; must not overlap x */
} ssq_copy_args;
#define SSQ_COPY_DEFAULTS sizeof(ssq_copy_args), NULL, NULL
#define SSQ_COPY_INIT                                                          \
    {                                                                          \
        SSQ_COPY_DEFAULTS                                                      \
    }
#define SSQ_COPY(...) SSQ_ARGS(ssq_copy_args, SSQ_COPY_DEFAULTS, __VA_ARGS__)

/** Copy: y = x, bit for bit, with any strides. To materialize a transpose or a
 *  slice, copy its view. Other dtypes are refused: use ssq_cast. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_copy(ssq_queue *queue,
                                           const ssq_copy_args *args);

typedef struct ssq_cast_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_cast_args));
    const ssq_tensor *x;    /**< in, any dtype; broadcast to y's shape */
    const ssq_tensor *y;    /**< out, any dtype; may be x if the dtypes have the
                                 same size */
    ssq_rounding rounding;  /**< of float to 16-bit float, see ssq_convert;
                                 stochastic: only if y is f16 or bf16. Integers
                                 become floats to nearest with any rounding */
    uint64_t seed;          /**< used only if stochastic */
    uint32_t id;            /**< used only if stochastic: which stream of this
                                 seed and step */
    const ssq_tensor *step; /**< i32, one element; NULL: 0; must not overlap y;
                                 used only if stochastic, but always checked */
} ssq_cast_args;
#define SSQ_CAST_DEFAULTS                                                      \
    sizeof(ssq_cast_args), NULL, NULL, SSQ_ROUND_NEAREST, 0, 0, NULL
#define SSQ_CAST_INIT                                                          \
    {                                                                          \
        SSQ_CAST_DEFAULTS                                                      \
    }
#define SSQ_CAST(...) SSQ_ARGS(ssq_cast_args, SSQ_CAST_DEFAULTS, __VA_ARGS__)

/** Cast: y = x in y's dtype, by the rules of ssq_convert. With stochastic
 *  rounding element i in row-major order uses word i of the stream (random.h).
 *  Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_cast(ssq_queue *queue,
                                           const ssq_cast_args *args);

typedef struct ssq_transpose_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_transpose_args));
    const ssq_tensor *x; /**< in, any dtype */
    const ssq_tensor *y; /**< out, the dtype of x, the permuted shape of x; must
                              not overlap x */
    int axes[SSQ_MAX_RANK]; /**< dimension i of y is dimension axes[i] of x;
                                 negative: from the end; all 0: the dimensions
                                 are reversed. Entries after the rank of x are
                                 not read */
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

/** Transpose: y = x with its dimensions permuted, bit for bit. It copies the
 *  view of ssq_tensor_transpose. Its gradient is the inverse permutation.
 *  @return SSQ_ERR_INVALID  also if axes is not a permutation, for example
 *                           {1, 1, 0}
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_transpose(ssq_queue *queue,
                                                const ssq_transpose_args *args);

typedef struct ssq_concat_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_concat_args));
    const ssq_tensor *const *x; /**< in: n tensors, any dtypes, converted as in
                                     ssq_cast to nearest; the list is read
                                     during the call */
    size_t n;                   /**< at least 1 */
    const ssq_tensor *y; /**< out, any dtype; the shape of every x, but along
                              axis the sum of their sizes; must not overlap any
                              x */
    int axis;            /**< negative: from the end */
} ssq_concat_args;
#define SSQ_CONCAT_DEFAULTS sizeof(ssq_concat_args), NULL, 0, NULL, 0
#define SSQ_CONCAT_INIT                                                        \
    {                                                                          \
        SSQ_CONCAT_DEFAULTS                                                    \
    }
#define SSQ_CONCAT(...)                                                        \
    SSQ_ARGS(ssq_concat_args, SSQ_CONCAT_DEFAULTS, __VA_ARGS__)

/** Concatenate: y = the tensors x[0..n-1], one after the other along an axis.
 *  Inputs may repeat and may be empty. To compute the gradient, copy slices of
 *  dy.
 *  @return SSQ_ERR_INVALID  also if n is 0
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_concat(ssq_queue *queue,
                                             const ssq_concat_args *args);

typedef struct ssq_slice_assign_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_slice_assign_args));
    const ssq_tensor *x; /**< in, any dtype, converted as in ssq_cast to
                              nearest; the rank of y */
    const ssq_tensor *y; /**< updated, any dtype: other elements keep their
                              bits; must not overlap x */
    int64_t start[SSQ_MAX_RANK]; /**< >= 0, in each dimension of y */
    int64_t step[SSQ_MAX_RANK] SSQ_DEFAULT(
        {1, 1, 1, 1, 1, 1}); /**< >= 1, in each dimension of y: a list that you
                                  write must name all of them */
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

/** Assign to a slice: y[start + i * step] = x[i] in every dimension.
 *  @return SSQ_ERR_INVALID  also if start + (size of x - 1) * step is outside
 *                           y, or start < 0, or step < 1. For example, .step =
 *                           {2} is 0 in dimension 1. If the size of x is 0,
 *                           start may be 0 to the size of y.
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_slice_assign(ssq_queue *queue, const ssq_slice_assign_args *args);

typedef struct ssq_gather_rows_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_gather_rows_args));
    const ssq_tensor *x;     /**< in, any dtype, [rows, ...]: rank >= 1 */
    const ssq_tensor *index; /**< in, i32, any shape */
    const ssq_tensor *y;     /**< out, any dtype, converted as in ssq_cast to
                                  nearest; the shape of index, then the shape of
                                  a row; must not overlap x or index */
} ssq_gather_rows_args;
#define SSQ_GATHER_ROWS_DEFAULTS sizeof(ssq_gather_rows_args), NULL, NULL, NULL
#define SSQ_GATHER_ROWS_INIT                                                   \
    {                                                                          \
        SSQ_GATHER_ROWS_DEFAULTS                                               \
    }
#define SSQ_GATHER_ROWS(...)                                                   \
    SSQ_ARGS(ssq_gather_rows_args, SSQ_GATHER_ROWS_DEFAULTS, __VA_ARGS__)

/** Gather rows: y[i, ...] = x[index[i], ...], for example for an embedding. An
 *  index that is negative or >= rows gives a row of zeros (PyTorch fails);
 *  negative indices do not count from the end. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_gather_rows(ssq_queue *queue, const ssq_gather_rows_args *args);

typedef struct ssq_scatter_add_rows_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_scatter_add_rows_args));
    const ssq_tensor *dy;    /**< in, float: the shape of index, then the shape
                                  of a row of dx */
    const ssq_tensor *index; /**< in, i32, any shape */
    const ssq_tensor *dx;    /**< updated, float, [rows, ...]: rank >= 1; must
                                  not overlap dy or index */
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

/** Add to rows: dx[index[i], ...] += dy[i, ...], the gradient of
 *  ssq_gather_rows. Fill dx with zeros first. An element starts from its old
 *  value, adds in float32, in the row-major order of index, and is rounded
 *  once, also if dx has 16 bits.
 *
 *  Rows that no index names keep their bits. Indices that are negative or >=
 *  rows are ignored. A NaN result is the quiet NaN without sign. Uses scratch:
 *  4 * (rows + indices) bytes. All devices but reference and guard use about 20
 *  bytes more for each index and up to 8 bytes for each element of a row.
 *  @return SSQ_ERR_UNSUPPORTED  more than 2^31 - 1 rows or indices; dx has 16
 *                               bits, and dy is too large for a launch
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_scatter_add_rows(ssq_queue *queue, const ssq_scatter_add_rows_args *args);

typedef struct ssq_one_hot_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_one_hot_args));
    const ssq_tensor *index; /**< in, i32 */
    const ssq_tensor *y; /**< out, any dtype: the shape of index with one more
                              dimension, the classes, at axis; must not overlap
                              index */
    int axis SSQ_DEFAULT(-1); /**< of y; negative: from the end */
    double on SSQ_DEFAULT(1.0), off
        SSQ_DEFAULT(0.0); /**< converted as in ssq_fill */
} ssq_one_hot_args;
#define SSQ_ONE_HOT_DEFAULTS sizeof(ssq_one_hot_args), NULL, NULL, -1, 1.0, 0.0
#define SSQ_ONE_HOT_INIT                                                       \
    {                                                                          \
        SSQ_ONE_HOT_DEFAULTS                                                   \
    }
#define SSQ_ONE_HOT(...)                                                       \
    SSQ_ARGS(ssq_one_hot_args, SSQ_ONE_HOT_DEFAULTS, __VA_ARGS__)

/** Encode indices: y[.., c, ..] = index[..] == c ? on : off. For an index that
 *  is not a class all elements are off. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_one_hot(ssq_queue *queue,
                                              const ssq_one_hot_args *args);

typedef struct ssq_index_check_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_index_check_args));
    const ssq_tensor *index;  /**< in, i32, any shape and strides */
    const ssq_tensor *record; /**< updated, i32 [4], contiguous: see below; must
                                   not overlap index */
    int64_t n; /**< 0 .. n - 1 are valid: rows of a table, classes; 0 to
                    2^31 - 1 */
    int64_t ignore_index SSQ_DEFAULT(INT64_MIN); /**< valid, too */
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
 *  ignore_index. The program can read the result later, without waiting now. If
 *  there are such elements,
 *
 *      record[0] += their number, modulo 2^32
 *      record[1] = the position of the first one, row-major in index
 *      record[2] = its value
 *      record[3] = n
 *
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
 *  @return
 *   - SSQ_ERR_INVALID      also if n is out of range or record is not a
 *                          contiguous [4]
 *   - SSQ_ERR_UNSUPPORTED  index has more than 2^31 - 1 elements
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_index_check(ssq_queue *queue, const ssq_index_check_args *args);

#ifdef __cplusplus
}
#endif

#endif
