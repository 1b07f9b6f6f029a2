/* SPDX-License-Identifier: Apache-2.0 */
/* batches.c - batches of rows: creation, the next one, and positions. */
#include "lib/data/batches.h"

#include <math.h>
#include <string.h>

#include "lib/core/queue/deferred.h"
#include "lib/core/base/host.h"
#include "lib/core/queue/queue.h"
#include "lib/core/base/size.h"

#define PREFETCH_MOST 64

/* ---- creation ---- */

static ssq_dtype default_dtype(ssq_dtype of)
{
    switch (of) {
    case SSQ_U8:
    case SSQ_BOOL:
        return SSQ_U8;
    case SSQ_F32:
    case SSQ_F16:
    case SSQ_BF16:
    case SSQ_F64:
        return SSQ_F32;
    default:
        return SSQ_I32;
    }
}

static bool batches_is_float(ssq_dtype d)
{
    return d == SSQ_F32 || d == SSQ_F16 || d == SSQ_BF16;
}

/* Check one array, its dtype and its scale. */
static ssq_status check_array(const ssq_batches_args *args, unsigned k)
{
    const ssq_array *a = args->arrays[k];
    const ssq_dtype dtype = args->dtypes[k];
    const double scale = args->scale[k], shift = args->shift[k];
    if (a == NULL)
        return error_set(SSQ_ERR_INVALID, "batches_create: array %u is NULL",
                         k);
    if (a->rank == 0 || a->shape[0] == 0)
        return error_set(SSQ_ERR_INVALID, "batches_create: array %u has no %s",
                         k, a->rank == 0 ? "dimension" : "rows");
    if (a->shape[0] != args->arrays[0]->shape[0])
        return error_set(SSQ_ERR_INVALID,
                         "batches_create: array %u has %lld rows, expected "
                         "%lld as in array 0",
                         k, (long long)a->shape[0],
                         (long long)args->arrays[0]->shape[0]);
    if (dtype != 0 && !dtype_on_device(dtype))
        return error_set(SSQ_ERR_INVALID,
                         "batches_create: dtype %u is %s, expected f32, f16, "
                         "bf16, i32 or u8",
                         k, ssq_dtype_name(dtype));
    if (!isfinite((float)scale) || !isfinite((float)shift) ||
        (scale != 0.0 && (float)scale == 0.0f))
        return error_set(SSQ_ERR_INVALID,
                         "batches_create: scale %u is %g, shift is %g", k,
                         scale, shift);
    const ssq_dtype to = dtype == 0 ? default_dtype(a->dtype) : dtype;
    if (!batches_is_float(to) && (scale != 0.0 || shift != 0.0))
        return error_set(SSQ_ERR_INVALID,
                         "batches_create: scale and shift of %u must be 0: its "
                         "tensor is %s",
                         k, ssq_dtype_name(to));
    return SSQ_OK;
}

static ssq_status batches_check_args(const ssq_queue *queue,
                                     const ssq_batches_args *args,
                                     ssq_batches **batches)
{
    ssq_status st = CHECK_CALL(queue, args, "batches_create");
    if (st != SSQ_OK)
        return st;
    if (batches == NULL)
        return error_set(SSQ_ERR_INVALID, "batches_create: batches is NULL");
    if (args->n < 1 || args->n > SSQ_BATCH_ARRAYS)
        return error_set(SSQ_ERR_INVALID,
                         "batches_create: n is %u, expected 1 to %d", args->n,
                         SSQ_BATCH_ARRAYS);
    if (args->batch < 1)
        return error_set(SSQ_ERR_INVALID,
                         "batches_create: batch is %lld, expected at least 1",
                         (long long)args->batch);
    if (args->prefetch < 1 || args->prefetch > PREFETCH_MOST)
        return error_set(SSQ_ERR_INVALID,
                         "batches_create: prefetch is %u, expected 1 to %d",
                         args->prefetch, PREFETCH_MOST);
    for (unsigned k = 0; k < args->n && st == SSQ_OK; k++)
        st = check_array(args, k);
    if (st != SSQ_OK)
        return st;
    const int64_t rows = args->arrays[0]->shape[0];
    if (rows > INT32_MAX)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "batches_create: %lld rows, at most 2^31 - 1",
                         (long long)rows);
    if (args->drop_last && args->batch > rows)
        return error_set(SSQ_ERR_INVALID,
                         "batches_create: batch is %lld, the arrays have %lld "
                         "rows, and drop_last leaves none",
                         (long long)args->batch, (long long)rows);
    return SSQ_OK;
}

/* An integer tensor must hold every element. */
static ssq_status batches_check_values(const struct batch_field *f, unsigned k)
{
    const ssq_array *a = f->array;
    char text[64];
    if (batches_is_float(f->dtype) || !host_may_misfit(a->dtype, f->dtype))
        return SSQ_OK;
    const size_t n = (size_t)a->bytes / array_element(a->dtype);
    const size_t i = host_misfit(a->data, a->dtype, f->dtype, n);
    return i == n
               ? SSQ_OK
               : error_set(SSQ_ERR_INVALID,
                           "batches_create: array %u, row %zu: %s does not "
                           "fit %s",
                           k, i / (size_t)f->width,
                           host_value(a->data, a->dtype, i, text, sizeof(text)),
                           ssq_dtype_name(f->dtype));
}

/* Take an array, and create its tensor and the view for the last batch. */
static ssq_status make_field(struct ssq_batches *b, unsigned k,
                             const ssq_batches_args *args)
{
    struct batch_field *f = &b->field[k];
    const ssq_array *a = args->arrays[k];
    int64_t shape[SSQ_MAX_RANK];
    f->array = a;
    object_get((struct object *)(uintptr_t)&a->object);
    f->dtype = args->dtypes[k] == 0 ? default_dtype(a->dtype) : args->dtypes[k];
    f->scale = args->scale[k] == 0.0 ? 1.0f : (float)args->scale[k];
    f->shift = (float)args->shift[k];
    f->scaled = f->scale != 1.0f || f->shift != 0.0f;
    memcpy(shape, a->shape, sizeof(shape));
    shape[0] = b->batch;
    f->width = 1;
    for (int i = 1; i < a->rank; i++)
        f->width *= a->shape[i];
    f->row_bytes = (size_t)f->width * array_element(f->dtype);
    ssq_status st = f->width == 0 ? SSQ_OK : batches_check_values(f, k);
    if (st == SSQ_OK)
        st = ssq_tensor_create(b->queue->device, f->dtype, a->rank, shape,
                               &f->tensor);
    const int64_t rest = b->used % b->batch;
    if (st == SSQ_OK && rest > 0)
        st = ssq_tensor_slice(f->tensor, 0, 0, rest, 1, &f->rest);
    return st;
}

/* Allocate the slots, the order, and a row for scaling. */
static ssq_status make_memory(struct ssq_batches *b)
{
    int64_t widest = 0;
    b->slot = mem_alloc_array(b->nslots, sizeof(b->slot[0]));
    if (b->slot == NULL)
        return error_nomem("batches_create", b->nslots * sizeof(b->slot[0]));
    for (unsigned k = 0; k < b->n; k++) {
        const struct batch_field *f = &b->field[k];
        uint64_t bytes = 0;
        widest = f->scaled && f->width > widest ? f->width : widest;
        if (!size_mul((uint64_t)b->batch, f->row_bytes, &bytes))
            return error_nomem("batches_create", SIZE_MAX);
        for (unsigned i = 0; i < b->nslots; i++)
            if ((b->slot[i].host[k] = mem_alloc_array(1, (size_t)bytes)) ==
                NULL)
                return error_nomem("batches_create", (size_t)bytes);
    }
    for (unsigned i = 0; i < b->nslots; i++) {
        ssq_status st = ssq_event_create(b->queue->device, &b->slot[i].copied);
        if (st != SSQ_OK)
            return st;
    }
    b->floats = mem_alloc_array((size_t)widest, sizeof(float));
    if (b->shuffle)
        b->order = mem_alloc_array((size_t)b->rows, sizeof(b->order[0]));
    return b->floats == NULL || (b->shuffle && b->order == NULL)
               ? error_nomem("batches_create", (size_t)b->rows * 4)
               : SSQ_OK;
}

static void batches_release(struct ssq_batches *b)
{
    for (unsigned i = 0; b->slot != NULL && i < b->nslots; i++) {
        for (unsigned k = 0; k < b->n; k++)
            mem_free(b->slot[i].host[k]);
        ssq_event_destroy(&b->slot[i].copied);
    }
    for (unsigned k = 0; k < b->n; k++) {
        ssq_tensor_destroy(&b->field[k].rest);
        ssq_tensor_destroy(&b->field[k].tensor);
        if (b->field[k].array != NULL)
            object_put((struct object *)(uintptr_t)b->field[k].array);
    }
    mem_free(b->slot);
    mem_free(b->order);
    mem_free(b->floats);
    if (b->forks == fork_count()) { /* a child may have copied a held lock */
        pthread_cond_destroy(&b->changed);
        pthread_mutex_destroy(&b->lock);
    }
    object_put(&b->queue->object);
    mem_free(b);
}

ssq_status ssq_batches_create(ssq_queue *queue, const ssq_batches_args *args,
                              ssq_batches **batches)
{
    ssq_status st = batches_check_args(queue, args, batches);
    if (st == SSQ_OK)
        st = capture_check(queue->device, "batches_create");
    if (st != SSQ_OK)
        return st;
    struct ssq_batches *b = mem_alloc(sizeof(*b));
    if (b == NULL)
        return error_nomem("batches_create", sizeof(*b));
    b->queue = queue;
    object_get(&queue->object);
    b->n = args->n;
    b->nslots = args->prefetch;
    b->rows = args->arrays[0]->shape[0];
    b->batch = size_least(args->batch, b->rows);
    b->used = args->drop_last ? b->rows - b->rows % b->batch : b->rows;
    b->shuffle = args->shuffle;
    b->seed = args->seed;
    b->forks = fork_count();
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    for (unsigned k = 0; k < b->n && st == SSQ_OK; k++)
        st = make_field(b, k, args);
    if (st == SSQ_OK)
        st = make_memory(b);
    if (st == SSQ_OK)
        st = batches_start(b);
    if (st == SSQ_OK)
        *batches = b;
    else
        batches_release(b);
    return st;
}

/* ---- the caller's side ---- */

/* A child of fork has no thread, and its lock may be held forever. */
static ssq_status check_fork(const ssq_batches *b, const char *what)
{
    return b->forks == fork_count()
               ? SSQ_OK
               : error_set(SSQ_ERR_DEVICE,
                           "%s: the batches belong to the parent of this "
                           "process",
                           what);
}

/* Check that this process may use the queue now. */
static ssq_status batches_check_use(const ssq_batches *b, const char *what)
{
    ssq_status st = check_fork(b, what);
    if (st == SSQ_OK)
        st = queue_check(b->queue, what);
    if (st == SSQ_OK && queue_capturing(b->queue))
        st = error_set(SSQ_ERR_INVALID,
                       "%s: a graph is being captured on the queue", what);
    return st;
}

static void set_state(ssq_batches *b, struct batch_slot *s, int state)
{
    pthread_mutex_lock(&b->lock);
    s->state = state;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

static bool is_sent(ssq_batches *b, const struct batch_slot *s)
{
    pthread_mutex_lock(&b->lock);
    const bool sent = s->state == SLOT_SENT;
    pthread_mutex_unlock(&b->lock);
    return sent;
}

/* Empty the slots whose copies have run. wait: the slot whose copies are waited
 * for; NULL: none. A queue that has failed no longer reads host memory. */
static void recycle(ssq_batches *b, struct batch_slot *wait)
{
    for (unsigned i = 0; i < b->nslots; i++) {
        struct batch_slot *s = &b->slot[i];
        if (!is_sent(b, s))
            continue;
        ssq_status st =
            s == wait ? ssq_event_sync(s->copied) : ssq_event_query(s->copied);
        if (st == SSQ_OK || queue_check(b->queue, "batches_next") != SSQ_OK)
            set_state(b, s, SLOT_EMPTY);
    }
}

/* Enqueue the copies of a slot: all or none. */
static ssq_status batches_send(ssq_batches *b, const struct batch_slot *s)
{
    ssq_status st = queue_bundle_begin(b->queue);
    if (st != SSQ_OK)
        return st;
    for (unsigned k = 0; k < b->n && st == SSQ_OK; k++) {
        const struct batch_field *f = &b->field[k];
        const ssq_tensor *to = s->rows == b->batch ? f->tensor : f->rest;
        st = ssq_tensor_write(b->queue, to, s->host[k],
                              (size_t)s->rows * f->row_bytes, f->dtype);
    }
    return queue_bundle_end(b->queue, st);
}

/* Wait until the slot at the head is ready. */
static ssq_status batches_await(ssq_batches *b)
{
    struct batch_slot *s = &b->slot[b->head];
    if (!b->running) { /* a position_set could not start the thread */
        ssq_status st = batches_start(b);
        if (st != SSQ_OK)
            return st;
        s = &b->slot[b->head];
    }
    recycle(b, NULL);
    if (is_sent(b, s))
        recycle(b, s);
    if (is_sent(b, s))
        return error_set(SSQ_ERR_NOMEM,
                         "batches_next: an earlier copy cannot be waited for");
    pthread_mutex_lock(&b->lock);
    while (s->state != SLOT_READY)
        pthread_cond_wait(&b->changed, &b->lock);
    pthread_mutex_unlock(&b->lock);
    return SSQ_OK;
}

static ssq_status check_next(const ssq_batches *b, const ssq_tensor **tensors)
{
    if (b == NULL || tensors == NULL)
        return error_set(SSQ_ERR_INVALID, "batches_next: %s is NULL",
                         b == NULL ? "batches" : "tensors");
    return batches_check_use(b, "batches_next");
}

ssq_status ssq_batches_next(ssq_batches *batches, const ssq_tensor **tensors)
{
    ssq_batches *b = batches;
    ssq_status st = check_next(b, tensors);
    if (st != SSQ_OK)
        return st;
    if (b->row >= b->used) {
        b->epoch++;
        b->row = 0;
        return error_set(SSQ_ERR_NOT_FOUND,
                         "batches_next: epoch %llu has ended",
                         (unsigned long long)b->epoch - 1);
    }
    st = batches_await(b);
    struct batch_slot *s = &b->slot[b->head];
    if (st == SSQ_OK)
        st = batches_send(b, s);
    if (st != SSQ_OK)
        return st;
    const int64_t rows = s->rows;
    for (unsigned k = 0; k < b->n; k++)
        tensors[k] = rows == b->batch ? b->field[k].tensor : b->field[k].rest;
    b->row += rows;
    b->head = (b->head + 1) % b->nslots;
    /* Any device runs the copies later if a collective holds them. Without an
     * event the copies are waited for. If that fails, the queue has failed, and
     * its next call says so */
    const bool pending =
        b->queue->device->props.asynchronous || deferred_any(b->queue);
    const bool later =
        pending && ssq_event_record(s->copied, b->queue) == SSQ_OK;
    if (pending && !later)
        st = queue_wait(b->queue);
    set_state(b, s, later ? SLOT_SENT : SLOT_EMPTY);
    return SSQ_OK;
}

int64_t ssq_batches_count(const ssq_batches *batches)
{
    return batches == NULL
               ? 0
               : (batches->used + batches->batch - 1) / batches->batch;
}

ssq_status ssq_batches_position_get(const ssq_batches *batches,
                                    ssq_batches_position *position)
{
    if (batches == NULL || position == NULL)
        return error_set(SSQ_ERR_INVALID, "batches_position_get: %s is NULL",
                         batches == NULL ? "batches" : "position");
    if (position->struct_size != sizeof(*position))
        return error_set(SSQ_ERR_INVALID,
                         "batches_position_get: struct_size is %zu, expected "
                         "%zu",
                         position->struct_size, sizeof(*position));
    position->epoch = batches->epoch;
    position->row = batches->row;
    return SSQ_OK;
}

/* End the thread, and wait for the copies of all slots. An event cannot be
 * waited for while its queue is captured. Wait for all deferred work of the
 * queue instead, and for all work of the device. */
static void batches_quiet(ssq_batches *b)
{
    batches_stop(b);
    for (unsigned i = 0; i < b->nslots; i++) {
        struct batch_slot *s = &b->slot[i];
        if (s->state == SLOT_SENT && ssq_event_sync(s->copied) != SSQ_OK) {
            (void)deferred_wait(b->queue, DEFERRED_ALL, "batches");
            device_retire(b->queue->device, true);
        }
        s->state = SLOT_EMPTY;
    }
}

ssq_status ssq_batches_position_set(ssq_batches *batches,
                                    const ssq_batches_position *position)
{
    if (batches == NULL || position == NULL)
        return error_set(SSQ_ERR_INVALID, "batches_position_set: %s is NULL",
                         batches == NULL ? "batches" : "position");
    if (position->struct_size != sizeof(*position))
        return error_set(SSQ_ERR_INVALID,
                         "batches_position_set: struct_size is %zu, expected "
                         "%zu",
                         position->struct_size, sizeof(*position));
    if (position->row < 0 || position->row > batches->used)
        return error_set(SSQ_ERR_INVALID,
                         "batches_position_set: row is %lld, expected 0 to "
                         "%lld",
                         (long long)position->row, (long long)batches->used);
    if (position->row % batches->batch != 0 && position->row != batches->used)
        return error_set(SSQ_ERR_INVALID,
                         "batches_position_set: row is %lld, expected a "
                         "multiple of the batch of %lld",
                         (long long)position->row, (long long)batches->batch);
    ssq_status st = batches_check_use(batches, "batches_position_set");
    if (st != SSQ_OK)
        return st;
    const uint64_t epoch = batches->epoch;
    const int64_t row = batches->row;
    batches_quiet(batches);
    /* the work that was waited for may have failed */
    st = queue_check(batches->queue, "batches_position_set");
    if (st != SSQ_OK)
        return st;
    batches->epoch = position->epoch;
    batches->row = position->row;
    st = batches_start(batches);
    if (st != SSQ_OK) { /* the next call tries to start again */
        batches->epoch = epoch;
        batches->row = row;
    }
    return st;
}

void ssq_batches_destroy(ssq_batches **batches)
{
    if (batches == NULL || *batches == NULL)
        return;
    ssq_batches *b = *batches;
    *batches = NULL;
    if (b->forks == fork_count()) /* a child has no thread */
        batches_quiet(b);
    batches_release(b);
}
