/* SPDX-License-Identifier: Apache-2.0 */
/* dlpack.c - tensors out to other libraries and in from them. The other library
 * is this file: it fills structs itself, frees its memory in the deleter, and
 * puts a wrong value into every field. */
#include <sesqui/dlpack.h>
#include <sesqui/vulkan.h>

#include "tests/core/core.h"
#include "tests/core/driver.h"

#include <pthread.h>
#include <stdlib.h>

static ssq_device *dev;
static ssq_queue *queue;

/* ---- a producer ---- */

static int deleted;

/* A producer's struct, and memory for its elements. */
struct dlpack_lent {
    DLManagedTensorVersioned dl;
    int64_t shape[8], strides[8];
    _Alignas(64) unsigned char memory[256];
};

static void forget(DLManagedTensorVersioned *self)
{
    deleted++;
    free(self->manager_ctx);
}

/* A row-major f32 tensor [2, 3] of 0 to 5. */
static struct dlpack_lent *lend(void)
{
    struct dlpack_lent *l = calloc(1, sizeof(*l));
    if (l == NULL)
        tap_bail("no memory");
    for (int i = 0; i < 6; i++)
        ((float *)l->memory)[i] = (float)i;
    memcpy(l->shape, (const int64_t[]){2, 3}, 2 * sizeof(int64_t));
    memcpy(l->strides, (const int64_t[]){3, 1}, 2 * sizeof(int64_t));
    l->dl = (DLManagedTensorVersioned){.version = {1, 0},
                                       .manager_ctx = l,
                                       .deleter = forget,
                                       .dl_tensor = {.data = l->memory,
                                                     .device = {kDLCPU, 0},
                                                     .ndim = 2,
                                                     .dtype = {kDLFloat, 32, 1},
                                                     .shape = l->shape,
                                                     .strides = l->strides}};
    deleted = 0;
    return l;
}

/* Import it, and spoil what the library must not read any more. */
static ssq_tensor *take(struct dlpack_lent *l, const ssq_from_dlpack_args *args)
{
    ssq_tensor *x = NULL;
    NEED(ssq_tensor_from_dlpack(queue, &l->dl, args, &x));
    if (deleted == 0) {
        memset(l->shape, 0xff, sizeof(l->shape));
        memset(l->strides, 0xff, sizeof(l->strides));
        memset(&l->dl.dl_tensor, 0xff, sizeof(l->dl.dl_tensor));
    }
    return x;
}

static void never(DLManagedTensorVersioned *self)
{
    (void)self;
    deleted = 1000;
}

/* A struct without a deleter may be gone after the import. */
static void no_deleter(void)
{
    struct dlpack_lent *l = lend();
    ssq_tensor *x = NULL;
    l->dl.deleter = NULL;
    NEED(ssq_tensor_from_dlpack(queue, &l->dl, NULL, &x));
    l->dl.deleter = never;
    ssq_tensor_destroy(&x);
    NEED(ssq_queue_sync(queue));
    tap_ok(deleted == 0, "a struct without a deleter is not read again");
    free(l);
}

/* The elements of a tensor are these. */
static void holds(const ssq_tensor *x, const float *want, size_t n,
                  const char *what)
{
    float is[16] = {0};
    NEED(ssq_tensor_read(queue, x, is, sizeof(is), SSQ_F32));
    NEED(ssq_queue_sync(queue));
    tap_ok(ssq_tensor_elements(x) == (int64_t)n &&
               memcmp(is, want, n * sizeof(*is)) == 0,
           "%s: %g %g %g ..", what, (double)is[0], (double)is[1],
           (double)is[2]);
}

static void gone(ssq_tensor **x, const char *what)
{
    tap_ok(deleted == 0, "%s: the deleter waits for the tensor", what);
    ssq_tensor_destroy(x);
    tap_ok(deleted == 1, "%s: it is called once", what);
}

/* ---- imports that succeed ---- */

static void aliases(void)
{
    const float in[6] = {0, 1, 2, 3, 4, 5}, turned[6] = {0, 3, 1, 4, 2, 5};
    struct dlpack_lent *l = lend();
    float *memory = (float *)l->memory;
    bool copied = true;
    ssq_tensor *x = take(l, SSQ_FROM_DLPACK(.copied = &copied)), *row = NULL;
    holds(x, in, 6, "a tensor");
    tap_ok(!copied, "no copy is made");
    NEED(ssq_tensor_slice(x, 0, 1, 2, 1, &row));
    NEED(ssq_scale(queue, SSQ_SCALE(.x = row, .y = row, .alpha = 2.0)));
    NEED(ssq_queue_sync(queue));
    tap_ok(memory[2] == 2.0f && memory[3] == 6.0f && memory[5] == 10.0f,
           "it is the producer's memory that is written");
    ssq_tensor_destroy(&x);
    gone(&row, "a view of it");

    l = lend();
    l->dl.dl_tensor.strides = NULL;
    x = take(l, NULL);
    holds(x, in, 6, "without strides");
    gone(&x, "without strides");

    l = lend();
    memcpy(l->shape, (const int64_t[]){3, 2}, 2 * sizeof(int64_t));
    memcpy(l->strides, (const int64_t[]){1, 3}, 2 * sizeof(int64_t));
    x = take(l, NULL);
    holds(x, turned, 6, "transposed");
    gone(&x, "transposed");

    l = lend();
    l->dl.dl_tensor.byte_offset = 4;
    l->dl.dl_tensor.ndim = 1;
    l->strides[0] = 1;
    l->dl.dl_tensor.device.device_type = kDLCUDAHost;
    x = take(l, NULL);
    holds(x, in + 1, 2, "from byte 4, in pinned memory");
    gone(&x, "from byte 4");

    l = lend();
    l->dl.dl_tensor.ndim = 0;
    l->dl.dl_tensor.shape = l->dl.dl_tensor.strides = NULL;
    x = take(l, NULL);
    holds(x, in, 1, "a scalar");
    gone(&x, "a scalar");
}

static void empty(void)
{
    struct dlpack_lent *l = lend();
    l->shape[1] = 0;
    l->dl.dl_tensor.data = NULL;
    ssq_tensor *x = take(l, NULL);
    tap_ok(deleted == 1 && ssq_tensor_rank(x) == 2 &&
               ssq_tensor_size(x, 0) == 2 && ssq_tensor_elements(x) == 0,
           "a size of 0: the deleter is called at once");
    ssq_tensor_destroy(&x);
    tap_ok(deleted == 1, "and never again");

    l = lend();
    l->dl.deleter = NULL;
    x = take(l, NULL);
    ssq_tensor_destroy(&x);
    tap_ok(deleted == 0, "a struct without a deleter");
    free(l);
}

static void copies(void)
{
    const float in[6] = {0, 1, 2, 3, 4, 5};
    bool copied = false;
    struct dlpack_lent *l = lend();
    memmove(l->memory + 1, l->memory, 24);
    l->dl.dl_tensor.byte_offset = 1;
    ssq_tensor *x = NULL;
    core_status(ssq_tensor_from_dlpack(queue, &l->dl, NULL, &x),
                SSQ_ERR_INVALID, "1 bytes after a multiple of its size, 4",
                "unaligned memory");
    x = take(l, SSQ_FROM_DLPACK(.copy = SSQ_DLPACK_COPY_IF_NEEDED,
                                .copied = &copied));
    NEED(ssq_queue_sync(queue));
    tap_ok(copied && deleted == 1, "it is copied, and given back");
    holds(x, in, 6, "the copy");
    ssq_tensor_destroy(&x);
}

static void protected(void)
{
    const float in[6] = {0, 1, 2, 3, 4, 5};
    bool copied = false;
    ssq_tensor *x = NULL;
    struct dlpack_lent *l = lend();
    l->dl.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    core_status(ssq_tensor_from_dlpack(queue, &l->dl, NULL, &x),
                SSQ_ERR_INVALID, "read-only",
                "memory that must not be written");
    x = take(l, SSQ_FROM_DLPACK(.read_only = true, .copied = &copied));
    tap_ok(!copied, "the caller promises");
    DLManagedTensorVersioned *again = NULL;
    DLManagedTensor *old = NULL;
    NEED(ssq_tensor_to_dlpack(x, NULL, &again));
    tap_ok(again->flags == DLPACK_FLAG_BITMASK_READ_ONLY,
           "it is read-only when it is exported again");
    again->deleter(again);
    core_status(ssq_tensor_to_dlpack_unversioned(x, NULL, &old),
                SSQ_ERR_INVALID, "read-only",
                "which the old struct cannot say");
    gone(&x, "read-only");

    l = lend();
    l->dl.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
    x = take(l, SSQ_FROM_DLPACK(.copy = SSQ_DLPACK_COPY_IF_NEEDED,
                                .copied = &copied));
    NEED(ssq_queue_sync(queue));
    tap_ok(copied && deleted == 1, "or takes a copy");
    holds(x, in, 6, "of read-only memory");
    ssq_tensor_destroy(&x);
}

static void more_copies(void)
{
    const float in[6] = {0, 1, 2, 3, 4, 5};
    bool copied = false;
    ssq_tensor *x = NULL;
    struct dlpack_lent *l = lend();
    x = take(
        l, SSQ_FROM_DLPACK(.copy = SSQ_DLPACK_COPY_ALWAYS, .copied = &copied));
    NEED(ssq_queue_sync(queue));
    tap_ok(copied && deleted == 1, "a copy that is asked for");
    ssq_tensor_destroy(&x);

    /* a repeated row, unaligned: in the copy no elements share memory */
    const float rows[6] = {0, 1, 2, 0, 1, 2};
    l = lend();
    memmove(l->memory + 1, l->memory, 24);
    l->dl.dl_tensor.byte_offset = 1;
    l->strides[0] = 0;
    x = take(l, SSQ_FROM_DLPACK(.copy = SSQ_DLPACK_COPY_IF_NEEDED));
    holds(x, rows, 6, "a repeated row");
    NEED(ssq_fill(queue, SSQ_FILL(.x = x, .value = 5.0)));
    ssq_tensor_destroy(&x);

    l = lend();
    l->shape[0] = 1;
    l->strides[0] = -3;
    x = take(l, NULL);
    holds(x, in, 3, "a stride that is never used");
    gone(&x, "a stride that is never used");
}

/* ---- imports that are refused ---- */

/* The call refuses, names these parts, and leaves the struct to its owner. */
static void refused(struct dlpack_lent *l, ssq_status want, const char *parts)
{
    ssq_tensor *x = NULL;
    core_status(ssq_tensor_from_dlpack(queue, &l->dl, NULL, &x), want, parts,
                "%s", parts);
    tap_ok(x == NULL && deleted == 0, "%s: the caller still owns it", parts);
    l->dl.deleter(&l->dl);
}

static void lies(void)
{
    struct dlpack_lent *l = lend();
    l->dl.version.major = 2;
    memset(&l->dl.dl_tensor, 0xff, sizeof(l->dl.dl_tensor));
    refused(l, SSQ_ERR_UNSUPPORTED, "DLPack 2.0");
    l = lend();
    l->dl.dl_tensor.ndim = 7;
    refused(l, SSQ_ERR_INVALID, "ndim is 7");
    l = lend();
    l->dl.dl_tensor.ndim = -1;
    refused(l, SSQ_ERR_INVALID, "ndim is -1");
    l = lend();
    l->dl.dl_tensor.shape = NULL;
    refused(l, SSQ_ERR_INVALID, "shape is NULL");
    l = lend();
    l->shape[1] = -3;
    refused(l, SSQ_ERR_INVALID, "-3, negative");
    l = lend();
    l->shape[0] = l->shape[1] = INT64_MAX / 2;
    refused(l, SSQ_ERR_INVALID, "larger than 64 bits");
    l = lend();
    l->strides[0] = INT64_MAX;
    l->shape[0] = 3;
    refused(l, SSQ_ERR_INVALID, "dimension 0 with stride 9223372036854775807");
    l = lend();
    l->strides[1] = -1;
    refused(l, SSQ_ERR_UNSUPPORTED, "dimension 1 has stride -1, negative");
    l = lend();
    l->dl.dl_tensor.data = NULL;
    refused(l, SSQ_ERR_INVALID, "data is NULL");
    l = lend();
    l->dl.dl_tensor.byte_offset = UINT64_MAX - 3;
    refused(l, SSQ_ERR_INVALID, "byte_offset");
    l = lend();
    l->dl.dl_tensor.device = (DLDevice){kDLCUDA, 1};
    refused(l, SSQ_ERR_INVALID, "the tensor is on kDLCUDA 1|kDLCPU");
    l = lend();
    l->dl.dl_tensor.device.device_type = (DLDeviceType)77;
    refused(l, SSQ_ERR_INVALID, "an unknown kind");
}

/* Every code, with some widths and lanes: six are tensors, the others are told
 * by a text. */
static void dtypes(void)
{
    static const uint8_t bits[] = {0, 1, 4, 8, 16, 32, 64, 128, 255};
    static const uint16_t lanes[] = {0, 1, 4, 65535};
    size_t good = 0, told = 0, all = 0;
    for (unsigned code = 0; code < 256; code++)
        for (size_t i = 0; i < sizeof(bits); i++)
            for (size_t k = 0; k < 4; k++) {
                struct dlpack_lent *l = lend();
                ssq_tensor *x = NULL;
                l->dl.dl_tensor.dtype =
                    (DLDataType){(uint8_t)code, bits[i], lanes[k]};
                ssq_status st = ssq_tensor_from_dlpack(queue, &l->dl, NULL, &x);
                good += st == SSQ_OK;
                told += st == SSQ_ERR_UNSUPPORTED &&
                        core_has(ssq_last_error(), "the dtype is ") &&
                        core_has(ssq_last_error(), "expected float32");
                all++;
                if (st == SSQ_OK)
                    ssq_tensor_destroy(&x);
                else
                    forget(&l->dl);
            }
    tap_ok(good == 6 && good + told == all,
           "of %zu dtypes %zu are tensors, %zu are named", all, good, told);
    struct dlpack_lent *l = lend();
    l->dl.dl_tensor.dtype = (DLDataType){kDLInt, 64, 1};
    refused(l, SSQ_ERR_UNSUPPORTED, "the dtype is int64, expected float32");
    l = lend();
    l->dl.dl_tensor.dtype = (DLDataType){kDLFloat8_e4m3fn, 8, 2};
    refused(l, SSQ_ERR_UNSUPPORTED, "float8_e4m3fn of 2 lanes");
}

/* Structs at random, over memory that is large enough for the ones that
 * succeed: each is taken over, and deleted once, or refused with a text. */
static void at_random(void)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 7, -1, INT64_MAX, INT64_MIN};
    static const int64_t steps[] = {0, 1, 2, 3, 5, -1, INT64_MAX, 1000};
    static const uint64_t offsets[] = {0, 1, 2, 4, 8, UINT64_MAX, 1u << 20};
    static const uint8_t bits[] = {8, 16, 32, 64};
    static unsigned char room[1 << 20];
    uint64_t r = 1;
    size_t taken = 0, told = 0, wrong = 0;
#define NEXT(N)                                                                \
    ((r = r * 6364136223846793005u + 1442695040888963407u) >> 33) % (N)
    for (int i = 0; i < 20000; i++) {
        struct dlpack_lent *l = lend();
        DLTensor *t = &l->dl.dl_tensor;
        ssq_tensor *x = NULL;
        bool usual = NEXT(2) == 0; /* else any kind of lie */
        t->ndim = usual ? (int)(NEXT(5)) : (int)(NEXT(12)) - 2;
        for (int k = 0; k < 8; k++) {
            l->shape[k] = sizes[NEXT(usual ? 5 : 8)];
            l->strides[k] = steps[NEXT(usual ? 5 : 8)];
        }
        t->data = NEXT(9) == 0 ? NULL : room;
        t->byte_offset = offsets[NEXT(usual ? 5 : 7)];
        t->dtype = (DLDataType){(uint8_t)(NEXT(usual ? 7 : 20)), bits[NEXT(4)],
                                (uint16_t)(NEXT(9) == 0 ? 2 : 1)};
        if (NEXT(5) == 0)
            t->strides = NULL;
        if (NEXT(20) == 0)
            t->shape = NULL;
        if (NEXT(20) == 0)
            t->device.device_type = (DLDeviceType)(NEXT(20));
        l->dl.flags = NEXT(8);
        l->dl.version.major = NEXT(20) == 0 ? 0 : 1;
        ssq_status st = ssq_tensor_from_dlpack(
            queue, &l->dl, SSQ_FROM_DLPACK(.read_only = NEXT(2) == 0), &x);
        if (st == SSQ_OK)
            ssq_tensor_destroy(&x);
        else if (*ssq_last_error() != '\0' && x == NULL && deleted == 0)
            forget(&l->dl), told++;
        wrong += deleted != 1;
        taken += st == SSQ_OK;
    }
#undef NEXT
    tap_ok(wrong == 0 && taken > 500 && taken + told == 20000,
           "of 20000 structs %zu are taken, %zu refused, %zu lost", taken, told,
           wrong);
}

static void misuse(void)
{
    struct dlpack_lent *l = lend();
    ssq_tensor *x = NULL;
    ssq_from_dlpack_args in = SSQ_FROM_DLPACK_INIT;
    ssq_to_dlpack_args out = SSQ_TO_DLPACK_INIT;
    DLManagedTensorVersioned *dl = NULL;
    core_status(ssq_tensor_from_dlpack(NULL, &l->dl, NULL, &x), SSQ_ERR_INVALID,
                "queue is NULL", "no queue");
    core_status(ssq_tensor_from_dlpack(queue, NULL, NULL, &x), SSQ_ERR_INVALID,
                "dl is NULL", "no struct");
    core_status(ssq_tensor_from_dlpack(queue, &l->dl, NULL, NULL),
                SSQ_ERR_INVALID, "tensor is NULL", "no result");
    core_status(ssq_tensor_from_dlpack_unversioned(queue, NULL, NULL, &x),
                SSQ_ERR_INVALID, "unversioned: dl is NULL", "no old struct");
    in.copy = (ssq_dlpack_copy)3;
    core_status(ssq_tensor_from_dlpack(queue, &l->dl, &in, &x), SSQ_ERR_INVALID,
                "3 is not an ssq_dlpack_copy", "copy 3");
    in.struct_size--;
    core_status(ssq_tensor_from_dlpack(queue, &l->dl, &in, &x), SSQ_ERR_INVALID,
                "struct_size", "another struct_size");
    tap_ok(deleted == 0, "nothing is taken over");
    x = take(l, NULL);
    core_status(ssq_tensor_to_dlpack(NULL, NULL, &dl), SSQ_ERR_INVALID,
                "tensor is NULL", "no tensor");
    core_status(ssq_tensor_to_dlpack(x, NULL, NULL), SSQ_ERR_INVALID,
                "dl is NULL", "no out");
    core_status(ssq_tensor_to_dlpack(x, SSQ_TO_DLPACK(.copy = true), &dl),
                SSQ_ERR_INVALID, "copy needs a producer", "a copy by nobody");
    core_status(ssq_tensor_to_dlpack(x, SSQ_TO_DLPACK(.consumer = queue), &dl),
                SSQ_ERR_INVALID, "consumer needs a producer",
                "an order of one");
    out.struct_size++;
    core_status(ssq_tensor_to_dlpack(x, &out, &dl), SSQ_ERR_INVALID,
                "struct_size", "another struct_size");
    ssq_device *guard = core_open("guard");
    ssq_queue *other = core_queue(guard);
    ssq_tensor *g = core_vector(guard, SSQ_F32, 3);
    core_status(ssq_tensor_to_dlpack(x, SSQ_TO_DLPACK(.producer = other), &dl),
                SSQ_ERR_INVALID, "the producer queue on guard",
                "a queue of another device");
    core_status(ssq_tensor_to_dlpack(g, NULL, &dl), SSQ_ERR_UNSUPPORTED,
                "memory of guard", "guard lends nothing");
    tap_ok(dl == NULL, "no struct was made");
    ssq_tensor_destroy(&g);
    ssq_queue_destroy(&other);
    ssq_device_close(&guard);
    ssq_dlpack_capsule_release(l);
    tap_ok(deleted == 0, "a program without Python has no capsules");
    ssq_tensor_destroy(&x);
}

/* ---- exports ---- */

static void *call_deleter(void *dl)
{
    ((DLManagedTensorVersioned *)dl)->deleter(dl);
    return NULL;
}

/* The fields of a struct that is exported from cpu. */
static void described(void)
{
    const int64_t shape[2] = {2, 3}, wide[2] = {4, 3};
    const float in[6] = {0, 1, 2, 3, 4, 5};
    ssq_tensor *x = NULL, *t = NULL, *many = NULL, *row = NULL;
    DLManagedTensorVersioned *dl = NULL;
    DLManagedTensor *old = NULL;
    NEED(ssq_tensor_create(dev, SSQ_F16, 2, shape, &x));
    NEED(ssq_tensor_write(queue, x, in, sizeof(in), SSQ_F32));
    NEED(ssq_tensor_transpose(x, NULL, &t));
    NEED(ssq_tensor_to_dlpack(t, SSQ_TO_DLPACK(.producer = queue), &dl));
    const DLTensor *d = &dl->dl_tensor;
    tap_ok(dl->version.major == 1 && dl->flags == 0 &&
               d->device.device_type == kDLCPU && d->device.device_id == 0 &&
               d->ndim == 2 && d->shape[0] == 3 && d->shape[1] == 2 &&
               d->strides[0] == 1 && d->strides[1] == 3 &&
               d->dtype.code == kDLFloat && d->dtype.bits == 16 &&
               d->dtype.lanes == 1 && d->byte_offset == 0,
           "a transposed tensor");
    tap_ok(((const uint16_t *)d->data)[5] == 0x4500, "its data: %#x",
           ((const uint16_t *)d->data)[5]);
    ssq_tensor_destroy(&t);
    dl->deleter(dl);

    NEED(ssq_tensor_slice(x, 0, 0, 1, 1, &row));
    NEED(ssq_tensor_broadcast(row, 2, wide, &many));
    NEED(ssq_tensor_to_dlpack(many, NULL, &dl));
    tap_ok(dl->flags == DLPACK_FLAG_BITMASK_READ_ONLY &&
               dl->dl_tensor.strides[0] == 0,
           "elements that share memory are read-only");
    dl->deleter(dl);
    core_status(ssq_tensor_to_dlpack_unversioned(many, NULL, &old),
                SSQ_ERR_INVALID, "elements share memory",
                "which the old struct cannot say");
    NEED(ssq_tensor_to_dlpack_unversioned(
        many, SSQ_TO_DLPACK(.producer = queue, .copy = true), &old));
    tap_ok(old->dl_tensor.strides[0] == 3 && old->dl_tensor.shape[0] == 4 &&
               ((const uint16_t *)old->dl_tensor.data)[11] == 0x4000,
           "but a copy can");
    old->deleter(old);
    NEED(ssq_tensor_to_dlpack(x, SSQ_TO_DLPACK(.producer = queue, .copy = true),
                              &dl));
    tap_ok(dl->flags == DLPACK_FLAG_BITMASK_IS_COPIED, "a copy says so");
    dl->deleter(dl);
    ssq_tensor_destroy(&many);
    ssq_tensor_destroy(&row);
    ssq_tensor_destroy(&x);
}

/* Out, and in again on the same device: the same memory. */
static void round_trip(const char *name)
{
    const float in[5] = {1, -2, 3, -4, 5};
    const float doubled[5] = {2, -4, 6, -8, 10};
    ssq_queue *second = core_queue(dev);
    ssq_tensor *x = core_vector(dev, SSQ_F32, 8), *part = NULL, *y = NULL;
    DLManagedTensorVersioned *dl = NULL;
    DLManagedTensor *old = NULL;
    pthread_t thread;
    NEED(ssq_tensor_slice(x, 0, 3, 8, 1, &part));
    NEED(ssq_tensor_write(queue, part, in, sizeof(in), SSQ_F32));
    NEED(ssq_tensor_to_dlpack(part, SSQ_TO_DLPACK(.producer = queue), &dl));
    NEED(ssq_tensor_from_dlpack(second, dl, NULL, &y));
    NEED(ssq_scale(second, SSQ_SCALE(.x = y, .y = y, .alpha = 2.0)));
    NEED(ssq_queue_sync(second));
    holds(part, doubled, 5, name);
    ssq_tensor_destroy(&y);

    NEED(ssq_tensor_to_dlpack_unversioned(
        part, SSQ_TO_DLPACK(.producer = queue, .consumer = second), &old));
    ssq_tensor_destroy(&part);
    ssq_tensor_destroy(&x);
    NEED(ssq_tensor_from_dlpack_unversioned(second, old, NULL, &y));
    NEED(ssq_queue_sync(second));
    holds(y, doubled, 5, "the struct holds the memory");
    NEED(ssq_tensor_to_dlpack(y, NULL, &dl));
    ssq_tensor_destroy(&y);
    ssq_queue_destroy(&second);
    ssq_queue_destroy(&queue);
    ssq_device_close(&dev);
    if (pthread_create(&thread, NULL, call_deleter, dl) != 0)
        tap_bail("no thread");
    pthread_join(thread, NULL);
    tap_ok(true, "%s: a deleter on another thread, when the device is closed",
           name);
}

/* The deleter of an import destroys the queue whose semaphore the import waits
 * for, while work is in flight: once it was called under a lock that it needs,
 * and once before the wait was over. */
static void late_queue(const char *name)
{
    ssq_device *d = core_open(name);
    ssq_queue *one = core_queue(d), *two = core_queue(d);
    ssq_tensor *x = core_vector(d, SSQ_F32, 8), *y = NULL;
    ssq_tensor *z = core_vector(d, SSQ_F32, 8);
    DLManagedTensorVersioned *dl = NULL;
    NEED(ssq_fill(one, SSQ_FILL(.x = x, .value = 1.0)));
    NEED(ssq_tensor_to_dlpack(x, SSQ_TO_DLPACK(.producer = one), &dl));
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&one);
    NEED(ssq_tensor_from_dlpack(two, dl, NULL, &y));
    ssq_tensor_destroy(&y);
    NEED(ssq_fill(two, SSQ_FILL(.x = z, .value = 2.0)));
    while (ssq_queue_status(two) == SSQ_ERR_NOT_READY)
        continue;
    ssq_device_trim(d);
    NEED(ssq_queue_sync(two));
    tap_ok(true, "%s: the producer's queue ends with the import", name);
    ssq_tensor_destroy(&z);
    ssq_queue_destroy(&two);
    ssq_device_close(&d);
}

/* Vulkan's struct, also with wrong values. */
static void vulkan(void)
{
    ssq_vulkan_info info = SSQ_VULKAN_INFO_INIT;
    ssq_tensor *x = core_vector(dev, SSQ_F32, 8), *y = NULL;
    DLManagedTensorVersioned *dl = NULL;
    NEED(ssq_fill(queue, SSQ_FILL(.x = x, .value = 1.0)));
    NEED(ssq_vulkan_info_get(dev, &info));
    NEED(ssq_tensor_to_dlpack(x, SSQ_TO_DLPACK(.producer = queue), &dl));
    ssq_dlpack_vulkan *v = dl->dl_tensor.data;
    tap_ok(dl->dl_tensor.device.device_type == kDLVulkan &&
               memcmp(&v->magic, "DLVULKAN", 8) == 0 && v->version == 1 &&
               v->device == info.device && v->family == info.family &&
               v->buffer != 0 && v->offset + 32 <= v->bytes &&
               (v->semaphore != 0) == info.timelines &&
               (v->value != 0) == info.timelines,
           "Vulkan's struct, with a semaphore: %d", (int)info.timelines);
    const ssq_dlpack_vulkan good = *v;
    v->magic++;
    core_status(ssq_tensor_from_dlpack(queue, dl, NULL, &y), SSQ_ERR_INVALID,
                "not an ssq_dlpack_vulkan", "another magic");
    *v = good;
    v->device = (struct VkDevice_T *)(uintptr_t)64;
    core_status(ssq_tensor_from_dlpack(queue, dl, NULL, &y), SSQ_ERR_INVALID,
                "another VkDevice", "another device");
    *v = good;
    v->version = 0;
    core_status(ssq_tensor_from_dlpack(queue, dl, NULL, &y), SSQ_ERR_INVALID,
                "version 0", "version 0");
    *v = good;
    v->instance = (struct VkInstance_T *)(uintptr_t)64;
    core_status(ssq_tensor_from_dlpack(queue, dl, NULL, &y), SSQ_ERR_INVALID,
                "another VkDevice", "another instance");
    *v = good;
    v->family = good.family + 1;
    core_status(ssq_tensor_from_dlpack(queue, dl, NULL, &y), SSQ_ERR_INVALID,
                "queue family", "another family");
    *v = good;
    v->buffer = 0;
    core_status(ssq_tensor_from_dlpack(queue, dl, NULL, &y), SSQ_ERR_INVALID,
                "buffer is 0", "no buffer");
    *v = good;
    v->bytes = v->offset + 31;
    core_status(ssq_tensor_from_dlpack(queue, dl, NULL, &y), SSQ_ERR_INVALID,
                "tensor_from_dlpack: ends at byte",
                "a buffer that is too short");
    *v = good;
    v->offset = UINT64_MAX;
    dl->dl_tensor.byte_offset = 8;
    core_status(ssq_tensor_from_dlpack(queue, dl, NULL, &y), SSQ_ERR_INVALID,
                "offset 18446744073709551615 plus byte_offset 8",
                "an offset past 64 bits");
    *v = good;
    dl->deleter(dl);
    ssq_tensor_destroy(&x);
}

/* A copy in a capture would not run now: the tensor would have no values. */
static void captured(void)
{
    struct dlpack_lent *l = lend();
    ssq_tensor *x = NULL;
    ssq_graph *graph = NULL;
    NEED(ssq_graph_begin_dry(queue));
    core_status(
        ssq_tensor_from_dlpack(
            queue, &l->dl, SSQ_FROM_DLPACK(.copy = SSQ_DLPACK_COPY_ALWAYS), &x),
        SSQ_ERR_INVALID, "captured", "a copy in a dry capture");
    tap_ok(deleted == 0 && x == NULL, "the caller still owns the struct");
    NEED(ssq_tensor_from_dlpack(queue, &l->dl, NULL, &x));
    NEED(ssq_graph_end(queue, &graph));
    gone(&x, "without a copy");
}

static void on(const char *name)
{
    dev = core_open(name);
    queue = core_queue(dev);
    if (strcmp(name, "cpu") == 0 || strcmp(name, "reference") == 0) {
        aliases();
        empty();
        no_deleter();
        copies();
        protected();
        more_copies();
        lies();
        dtypes();
        at_random();
        misuse();
        captured();
        described();
    }
    if (strncmp(name, "vulkan", 6) == 0)
        vulkan();
    late_queue(name);
    round_trip(name);
}

/* The first device of every backend that lends memory. Drivers do not take
 * turns here, because each has its own struct. */
int main(void)
{
    ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;
    for (size_t i = 0; ssq_device_list(i, &e) == SSQ_OK; i++) {
        const char *colon = strchr(e.name, ':');
        if (e.available && strcmp(e.backend, "guard") != 0 &&
            (colon == NULL || strcmp(colon, ":0") == 0))
            on(e.name);
    }
    return tap_done(150);
}
