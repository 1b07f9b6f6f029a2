/* SPDX-License-Identifier: Apache-2.0 */
/* data.h - data sets in files, their rows as batches on a device, and running
 * means.
 *
 *     ssq_array *images = NULL, *labels = NULL;
 *     ssq_batches *batches = NULL;
 *     const ssq_tensor *batch[2];
 *     CHECK(ssq_array_read("train-images-idx3-ubyte.gz", NULL, &images));
 *     CHECK(ssq_array_read("train-labels-idx1-ubyte.gz", NULL, &labels));
 *     CHECK(ssq_batches_create(queue, SSQ_BATCHES(
 *               .arrays = {images, labels}, .n = 2, .dtypes = {SSQ_F32},
 *               .scale = {1 / 255.0}, .batch = 64, .shuffle = true),
 *               &batches));
 *     while ((st = ssq_batches_next(batches, batch)) == SSQ_OK)
 *         ..                           a step with batch[0] and batch[1]
 *     if (st != SSQ_ERR_NOT_FOUND)     it is SSQ_ERR_NOT_FOUND after an epoch
 *         return fail(ssq_last_error());
 *
 * sesqui.h does not include this header.
 *
 * An array is host memory with a dtype and a shape. Its first dimension is the
 * number of rows. Batches copy rows of arrays to a device, in an order that
 * depends on the seed, the epoch and the number of rows alone. A thread
 * prepares them while the device computes. A metric is a mean that is kept on
 * the device.
 *
 * Files are not trusted. If a file is not valid, it is refused with
 * SSQ_ERR_INVALID, and the message has its path and the reason. Memory is
 * allocated for the bytes that a file has, not for sizes that it claims. A
 * compressed file has the bytes that it contains, which can be a thousand times
 * as many.
 *
 * @sync host
 * @threads object */
#ifndef SESQUI_DATA_H
#define SESQUI_DATA_H

#include <sesqui/args.h>
#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays ---- */

typedef struct ssq_array ssq_array;

/** Description of an array; filled by ssq_array_info_get. */
typedef struct ssq_array_info {
    size_t struct_size;
    ssq_dtype dtype; /**< any except the reserved ones */
    int rank;
    int64_t shape[SSQ_MAX_RANK]; /**< 0 after the last */
    void *data; /**< row-major, aligned for any dtype; owned by the array. The
                     caller may write it while no batches use the array */
    uint64_t bytes;
} ssq_array_info;
#define SSQ_ARRAY_INFO_INIT                                                    \
    {                                                                          \
        sizeof(ssq_array_info), SSQ_F32, 0, {0}, NULL, 0                       \
    }

/** Create an array.
 *  @param dtype  any except the reserved ones
 *  @param rank   0 to SSQ_MAX_RANK
 *  @param shape  `rank` sizes, each at least 0; may be NULL if rank is 0
 *  @param data   row-major elements, which are copied; NULL: zeros, to be
 *                written through ssq_array_info.data
 *  @param array  out: owned by the caller; release it with
 *                ssq_array_destroy()
 *  @return
 *   - SSQ_ERR_INVALID      dtype, rank or a size is not valid; the product of
 *                          the sizes other than 0 gives more bytes than a
 *                          pointer can reach
 *   - SSQ_ERR_UNSUPPORTED  a reserved dtype
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_array_create(ssq_dtype dtype, int rank,
                                                   const int64_t *shape,
                                                   const void *data,
                                                   ssq_array **array);

/** Release an array. Batches that use it hold it. */
SSQ_API void ssq_array_destroy(ssq_array **array);

/** Describe an array.
 *  @param info  in: struct_size; out: the rest
 *  @return as every call
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_array_info_get(const ssq_array *array,
                                                     ssq_array_info *info);

typedef struct ssq_array_read_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_array_read_args));
    char separator SSQ_DEFAULT(','); /**< CSV: between values, for example ';'
                                          or a tab; not 0, a space, a letter,
                                          a digit, '+', '-', '.' or a line
                                          end. Other blanks around values are
                                          ignored */
    int64_t skip_rows;               /**< CSV: lines at the beginning, also
                                          empty ones, for example a header; 0 or
                                          more */
    ssq_dtype dtype SSQ_DEFAULT(SSQ_F32); /**< CSV: of the array: SSQ_F32,
                                               SSQ_F64, SSQ_I32 or SSQ_I64 */
    const char *name; /**< NPZ: of the array, for example "x_train"; NULL: the
                           file must have exactly one array. For other formats
                           NULL */
} ssq_array_read_args;
#define SSQ_ARRAY_READ_DEFAULTS                                                \
    sizeof(ssq_array_read_args), ',', 0, SSQ_F32, NULL
#define SSQ_ARRAY_READ_INIT                                                    \
    {                                                                          \
        SSQ_ARRAY_READ_DEFAULTS                                                \
    }
#define SSQ_ARRAY_READ(...)                                                    \
    SSQ_ARGS(ssq_array_read_args, SSQ_ARRAY_READ_DEFAULTS, __VA_ARGS__)

/** Read a file. Its contents decide about the format, not its name:
 *   - IDX, the format of MNIST, with elements of u8, i8, i16, i32, f32 or f64
 *   - NPY, the format of NumPy, in row-major order
 *   - NPZ, one array of an archive of numpy.savez or savez_compressed
 *   - otherwise CSV: lines with the same number of decimal numbers. Floats may
 *     also be nan or inf. Empty lines are left out. The array has rank 2
 *   - each of them compressed by gzip
 *  @param path   if the file does not exist, PATH.gz is read
 *  @param args   NULL: all defaults
 *  @param array  out: owned by the caller; release it with
 *                ssq_array_destroy()
 *  @return
 *   - SSQ_ERR_NOT_FOUND    no such file; an NPZ file has no array of args.name
 *   - SSQ_ERR_IO           it cannot be read, or it is not a regular file
 *   - SSQ_ERR_INVALID      it is not valid: for example it ends too early, has
 *                          more bytes than its header says; or a CSV file has
 *                          no values, or a value that is not a number, has
 *                          more than 1099 characters or does not fit the dtype;
 *                          then the message has the line
 *   - SSQ_ERR_INVALID      separator, skip_rows or dtype in args is not as
 *                          described there, also if the file is not CSV
 *   - SSQ_ERR_INVALID      args.name is set, and the file is not NPZ; it is
 *                          NULL, and an NPZ file has no or several arrays
 *   - SSQ_ERR_UNSUPPORTED  a dtype, more than SSQ_MAX_RANK dimensions, or
 *                          column-major order; it is compressed, and this
 *                          system has no libz.so.1; the array of an NPZ file is
 *                          encrypted, or compressed by another method than
 *                          deflate
 *  @threads any
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_array_read(
    const char *path, const ssq_array_read_args *args, ssq_array **array);

typedef struct ssq_images_read_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_images_read_args));
    int64_t height, width; /**< of the array, at most 32768 pixels. Pictures of
                                another size are resized: by a triangle filter
                                with antialiasing, as torchvision's Resize.
                                Both 0: all pictures must have the size of the
                                first */
    int channels SSQ_DEFAULT(3); /**< 3: red, green, blue; 1: the luminance of
                                      ITU-R BT.601 */
} ssq_images_read_args;
#define SSQ_IMAGES_READ_DEFAULTS sizeof(ssq_images_read_args), 0, 0, 3
#define SSQ_IMAGES_READ_INIT                                                   \
    {                                                                          \
        SSQ_IMAGES_READ_DEFAULTS                                               \
    }
#define SSQ_IMAGES_READ(...)                                                   \
    SSQ_ARGS(ssq_images_read_args, SSQ_IMAGES_READ_DEFAULTS, __VA_ARGS__)

/** Read a folder of PNG and JPEG files. Each folder in it is a class, and the
 *  files in that are its pictures:
 *
 *      folder/cat/1.jpg    label 0
 *      folder/cat/2.png    label 0
 *      folder/dog/1.jpg    label 1
 *
 *  Classes, and the pictures of a class, are sorted by their names, as strcmp.
 *  A class without pictures has a label, too. Entries whose names begin with a
 *  dot are ignored. The contents of a file decide about its format.
 *  Transparency and the orientation of EXIF are ignored. A PNG file of another
 *  gamma is converted to sRGB, and one of 16 bits to 8. With 3 channels a grey
 *  picture has three equal ones.
 *  @param args    NULL: all defaults
 *  @param images  out: u8 [n, channels, height, width]; owned by the caller;
 *                 release it with ssq_array_destroy()
 *  @param labels  out, optional: i32 [n]; owned by the caller; release it with
 *                 ssq_array_destroy(). NULL: the folder has no classes, and the
 *                 pictures are in folder itself
 *  @return
 *   - SSQ_ERR_NOT_FOUND    no such folder; a link in it leads nowhere
 *   - SSQ_ERR_IO           a folder or a file cannot be read
 *   - SSQ_ERR_INVALID      args are out of range, or only one of height and
 *                          width is 0; folder is a file; it contains no
 *                          pictures at all, a folder where a file must be, or a
 *                          file where a folder must be; a picture is damaged,
 *                          or has another size than the first (if args do not
 *                          resize); a path has more than 4095 bytes
 *   - SSQ_ERR_UNSUPPORTED  a file is neither PNG nor JPEG; the colours of a
 *                          JPEG file are CMYK; this system has no
 *                          libpng16.so.16 or no libturbojpeg.so.0, and a file
 *                          needs it
 *  The message has the path of the file.
 *  @threads any
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_images_read(
    const char *folder, const ssq_images_read_args *args, ssq_array **images,
    ssq_array **labels);

/** Return the name of class i of labels that ssq_images_read made; NULL if the
 *  array has no such class. It is valid as long as the array.
 *  @threads any */
SSQ_API const char *ssq_array_class(const ssq_array *labels, int64_t i);

/* ---- batches ---- */

typedef struct ssq_batches ssq_batches;

/** The maximum number of arrays whose rows belong together. */
#define SSQ_BATCH_ARRAYS 4

typedef struct ssq_batches_args {
    size_t struct_size SSQ_DEFAULT(sizeof(ssq_batches_args));
    const ssq_array *arrays[SSQ_BATCH_ARRAYS]; /**< the first n, with the same
                                    number of rows; held */
    unsigned n SSQ_DEFAULT(1);                 /**< 1 to SSQ_BATCH_ARRAYS */
    ssq_dtype dtypes[SSQ_BATCH_ARRAYS]; /**< of the tensors: one of the first
                                    five dtypes; 0: f32 for a float array, u8
                                    for u8 and bool, i32 for other integers */
    double scale[SSQ_BATCH_ARRAYS]; /**< tensors are scale x + shift, computed
                                    in float32, and rounded to nearest even to
                                    a 16-bit dtype; 0 means 1. Both must be
                                    finite
                                    as float32. If the tensor is an integer,
                                    scale and shift must be 0 */
    double shift[SSQ_BATCH_ARRAYS];
    int64_t batch SSQ_DEFAULT(1); /**< rows, at least 1; at most the rows of the
                                   arrays are used */
    bool shuffle; /**< a new order in each epoch; otherwise the order of the
                     arrays */
    uint64_t seed SSQ_DEFAULT(0); /**< of the orders */
    bool drop_last; /**< leave out a last batch of fewer rows. Then the arrays
                       must have at least `batch` rows */
    unsigned prefetch SSQ_DEFAULT(2); /**< batches that are prepared ahead, 1 to
                                   64 */
} ssq_batches_args;
#define SSQ_BATCHES_DEFAULTS                                                   \
    sizeof(ssq_batches_args), {NULL}, 1, {(ssq_dtype)0}, {0.0}, {0.0}, 1,      \
        false, 0, false, 2
#define SSQ_BATCHES_INIT                                                       \
    {                                                                          \
        SSQ_BATCHES_DEFAULTS                                                   \
    }
#define SSQ_BATCHES(...)                                                       \
    SSQ_ARGS(ssq_batches_args, SSQ_BATCHES_DEFAULTS, __VA_ARGS__)

/** Create batches of the rows of arrays, and start their thread.
 *  @param queue    it is held, and belongs to the batches for @threads
 *  @param batches  out: owned by the caller; release it with
 *                  ssq_batches_destroy()
 *  @return
 *   - SSQ_ERR_INVALID      n, batch, prefetch or a dtype is out of range; an
 *                          array has rank 0, no rows, or another number of rows
 *                          than the first; an element does not fit an integer
 *                          tensor, for example 0.5 or NaN (the message has its
 *                          row and value); scale
 *                          and shift with an integer tensor; this thread
 *                          captures a graph on the device
 *   - SSQ_ERR_INVALID      scale or shift is not finite as float32, or scale is
 *                          not 0 but its float32 is; drop_last with more rows
 *                          in a batch than the arrays have
 *   - SSQ_ERR_UNSUPPORTED  more than 2^31 - 1 rows
 *   - SSQ_ERR_NOMEM        also: no thread can be started
 *  @sync waits as ssq_tensor_create
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_batches_create(
    ssq_queue *queue, const ssq_batches_args *args, ssq_batches **batches);

/** End the thread, and release the batches. Enqueued work is finished normally.
 *  @sync waits for copies of batches that have not run yet, also for a
 *        collective that is pending before them */
SSQ_API void ssq_batches_destroy(ssq_batches **batches);

/** Return the number of batches in an epoch; 0 for NULL. */
SSQ_API int64_t ssq_batches_count(const ssq_batches *batches);

/** Copy the next batch to the device. If a collective is pending on the queue,
 *  the copy runs when it is done, on every device.
 *  @param tensors  out: n tensors of the shapes of the arrays, with the rows of
 *                  the batch in the first dimension. The batches own them, and
 *                  the pointers are valid until ssq_batches_destroy. Their
 *                  contents are valid for work that is enqueued on the
 *                  same queue before the next call. The last batch of an epoch
 *                  may have fewer rows
 *  @return
 *   - SSQ_ERR_NOT_FOUND  the epoch has ended. The next call returns the first
 *                        batch of the next epoch
 *   - SSQ_ERR_INVALID    a graph is being captured on the queue, or the caller
 *                        captures its stream (cuda.h)
 *   - SSQ_ERR_NOMEM      also: no thread can be started, after a failed
 *                        ssq_batches_position_set
 *   - SSQ_ERR_DEVICE     also in any child of fork
 *   - the queue's error
 *   After an error the same batch is the next one.
 *  @sync waits for the thread, if the batch is not prepared yet, and for the
 *        copy of an earlier batch, if `prefetch` copies have not run yet. On
 *        cuda it may also wait as ssq_tensor_write: the rows are not pinned
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_batches_next(ssq_batches *batches,
                                                   const ssq_tensor **tensors);

/** A place among batches. Keep it with a checkpoint. */
typedef struct ssq_batches_position {
    size_t struct_size;
    uint64_t epoch; /**< of the next batch or end of an epoch, from 0 */
    int64_t row;    /**< rows of that epoch that are done. If these are all
                         rows of its batches (with drop_last fewer than the
                         arrays have), its end is returned next */
} ssq_batches_position;
#define SSQ_BATCHES_POSITION_INIT                                              \
    {                                                                          \
        sizeof(ssq_batches_position), 0, 0                                     \
    }

/** Return where the next call of ssq_batches_next begins. Also usable in a
 *  child of fork.
 *  @param position  in: struct_size; out: the rest
 *  @return as every call
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_batches_position_get(
    const ssq_batches *batches, ssq_batches_position *position);

/** Go to a position, for example to continue a training. The order of its epoch
 *  is the same as before.
 *  @return
 *   - SSQ_ERR_INVALID  row is negative, after the end of an epoch, or neither
 *                      that end nor a multiple of the batch; a graph is being
 *                      captured on the queue
 *   - SSQ_ERR_NOMEM    no thread can be started
 *   - SSQ_ERR_DEVICE   also in any child of fork
 *   - the queue's error, also if the queue fails while the call waits
 *   After an error the position is as before.
 *  @sync waits for copies of batches that have not run yet
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_batches_position_set(
    ssq_batches *batches, const ssq_batches_position *position);

/* ---- metrics ---- */

typedef struct ssq_metric ssq_metric;

/** Create a metric: a weighted mean, which is kept on the device as two float32
 *  sums. It is NaN while the sum of the weights is 0. If additions are enqueued
 *  on several queues, order them by events.
 *  @param metric  out: owned by the caller; release it with
 *                 ssq_metric_destroy(). It holds the device
 *  @return SSQ_ERR_INVALID  this thread captures a graph on the device
 *  @sync waits for the upload of the state
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_metric_create(ssq_device *device,
                                                    ssq_metric **metric);

/** Release a metric. Additions that have been enqueued still run. */
SSQ_API void ssq_metric_destroy(ssq_metric **metric);

/** Add a value, for example the loss of a batch with its number of rows.
 *  @param value   one element, float
 *  @param weight  0 or more, finite; used as float32. 0 times an Inf or NaN
 *                 makes the mean NaN
 *  @return SSQ_ERR_INVALID  value is not one float element; weight is out of
 *                           range; a graph is being captured on the queue
 *  @sync async
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_metric_add(ssq_queue *queue,
                                                 ssq_metric *metric,
                                                 const ssq_tensor *value,
                                                 double weight);

/** Add the top-k accuracy of a batch, weighted by its rows. A batch without
 *  rows adds nothing. Counts of up to 2^24 rows are exact.
 *  @param logits, target  as ssq_top_k_accuracy; no target is ignored
 *  @param k               at least 1
 *  @return as ssq_top_k_accuracy and ssq_metric_add
 *  @sync async
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_metric_add_accuracy(
    ssq_queue *queue, ssq_metric *metric, const ssq_tensor *logits,
    const ssq_tensor *target, int64_t k);

/** Remove all values from the mean.
 *  @return SSQ_ERR_INVALID  a graph is being captured on the queue
 *  @sync async
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_metric_reset(ssq_queue *queue,
                                                   ssq_metric *metric);

/** Return the mean as far as it has arrived. The result may lag by some
 *  additions, and does not report the error of a queue. Additions in a graph
 *  that the caller captured (cuda.h) are seen after the next ssq_metric_add
 *  outside of it; a reset in the capture counts here immediately.
 *  @param mean    out: NaN if no weight above 0 has arrived since a reset
 *  @param weight  out, optional: the sum of the weights in mean
 *  @return as every call
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_metric_poll(ssq_metric *metric,
                                                  double *mean, double *weight);

/** Return the mean of all values.
 *  @param mean    out: NaN if no weight above 0 was added since a reset
 *  @param weight  out, optional: the sum of the weights
 *  @return SSQ_ERR_INVALID  a graph is being captured on the queue, or the
 *                           caller captures its stream (cuda.h)
 *  @sync waits for the queue
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_metric_read(ssq_queue *queue,
                                                  ssq_metric *metric,
                                                  double *mean, double *weight);

#ifdef __cplusplus
}
#endif

#endif
