/* SPDX-License-Identifier: Apache-2.0 */
/* dlpack.c - fuzz target: any DLPack struct, imported, read and exported again.
 *
 * A producer's data is in a block of host memory. An import cannot know the
 * size of the block, so a tensor that is accepted although it leaves the block
 * is not read. All others must read as the strides say, and an export must
 * describe the same elements. A deleter runs once, or never if the struct was
 * refused. */

#include <stdlib.h>
#include <string.h>

#include <sesqui/dlpack.h>

#include "tests/fuzz/pair.h"

enum { BLOCK = 4096, RANKS = 8 };

/** The producer of an import. */
struct producer {
    _Alignas(64) uint8_t block[BLOCK];
    int64_t shape[RANKS], strides[RANKS];
    unsigned deleted;
};

static void must(ssq_status st, const char *what)
{
    if (st != SSQ_OK)
        fuzz_fail("%s: %s", what, ssq_status_name(st));
}

static void delete_versioned(DLManagedTensorVersioned *self)
{
    ((struct producer *)self->manager_ctx)->deleted++;
}

static void delete_unversioned(DLManagedTensor *self)
{
    ((struct producer *)self->manager_ctx)->deleted++;
}

/* Most fields of most programs are valid: otherwise no import succeeds. */
static void choose_tensor(struct input *in, struct producer *p, DLTensor *t)
{
    static const DLDataType types[] = {
        {kDLFloat, 32, 1},  {kDLFloat, 16, 1}, {kDLBfloat, 16, 1},
        {kDLInt, 32, 1},    {kDLUInt, 8, 1},   {kDLBool, 8, 1},
        {kDLFloat, 64, 1},  {kDLInt, 64, 1},   {kDLFloat, 32, 2},
        {kDLFloat, 255, 0}, {255, 8, 1}};
    static const int kinds[] = {kDLCPU,      kDLCPU,  kDLCPU,    kDLCPU,
                                kDLCUDAHost, kDLCUDA, kDLOpenCL, kDLVulkan,
                                0,           255};
    t->device.device_type = (DLDeviceType)kinds[input_below(in, 10)];
    t->device.device_id = input_once(in, 16) ? -1 : 0;
    t->dtype = types[input_below(in, input_once(in, 4) ? 11 : 6)];
    t->data = input_once(in, 16) ? NULL : p->block + input_once(in, 8);
    t->ndim = (int)input_below(in, 4);
    if (input_once(in, 16))
        t->ndim = (int)input_byte(in) - 128;
    t->byte_offset = input_once(in, 4) ? input_byte(in) : 0;
    if (input_once(in, 32))
        t->byte_offset = input_u64(in);
    for (unsigned i = 0; i < RANKS; i++) {
        p->shape[i] = 1 + input_below(in, 4);
        p->strides[i] = input_below(in, 12);
        if (input_once(in, 32))
            p->shape[i] = (int64_t)input_u64(in);
        if (input_once(in, 32))
            p->strides[i] = (int64_t)input_u64(in);
        if (input_once(in, 16))
            p->shape[i] = 0;
    }
    t->shape = input_once(in, 16) ? NULL : p->shape;
    t->strides = input_once(in, 4) ? NULL : p->strides;
}

/* The strides of a tensor; if it has none, of contiguous elements. */
static void strides_of(const DLTensor *t, int64_t strides[])
{
    int64_t stride = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        strides[i] = t->strides != NULL ? t->strides[i] : stride;
        stride *= t->shape[i];
    }
}

/* Is the tensor in the block? Only of one that was accepted: no overflow. */
static bool inside(const struct producer *p, const DLTensor *t)
{
    int64_t strides[RANKS];
    uint64_t bytes = t->dtype.bits / 8, last = 0, n = 1;
    strides_of(t, strides);
    for (int i = 0; i < t->ndim; i++) {
        n *= (uint64_t)t->shape[i];
        if (t->shape[i] > 0)
            last += (uint64_t)(t->shape[i] - 1) * (uint64_t)strides[i];
    }
    if (n == 0)
        return true;
    uint64_t from = (uint64_t)((uint8_t *)t->data - p->block);
    return t->byte_offset <= BLOCK && last <= BLOCK && n <= BLOCK &&
           from + t->byte_offset + (last + 1) * bytes <= BLOCK;
}

/* The elements of a tensor in host memory, one after the other.
 * @return how many bytes */
static size_t gather(const DLTensor *t, uint8_t *to)
{
    int64_t strides[RANKS], at[RANKS] = {0};
    size_t bytes = t->dtype.bits / 8, done = 0;
    int64_t n = 1;
    strides_of(t, strides);
    for (int i = 0; i < t->ndim; i++)
        n *= t->shape[i];
    for (int64_t k = 0; k < n; k++) {
        int64_t offset = 0;
        for (int i = 0; i < t->ndim; i++)
            offset += at[i] * strides[i];
        memcpy(to + done,
               (uint8_t *)t->data + t->byte_offset + (size_t)offset * bytes,
               bytes);
        done += bytes;
        for (int i = t->ndim - 1; i >= 0 && ++at[i] == t->shape[i]; i--)
            at[i] = 0;
    }
    return done;
}

static void exported(const DLTensor *t, const uint8_t *want, size_t bytes)
{
    static uint8_t got[4 * BLOCK];
    if (gather(t, got) != bytes || memcmp(want, got, bytes) != 0)
        fuzz_fail("an exported tensor has other elements");
}

/* The library must read and export the elements of the producer. */
static void look(ssq_queue *q, const ssq_tensor *x, const DLTensor *t)
{
    static uint8_t want[4 * BLOCK], got[4 * BLOCK]; /* strides may be 0 */
    ssq_tensor_desc d = SSQ_TENSOR_DESC_INIT;
    DLManagedTensorVersioned *dl = NULL;
    DLManagedTensor *old = NULL;
    must(ssq_tensor_desc_get(x, &d), "desc");
    size_t bytes = gather(t, want);
    must(ssq_tensor_read(q, x, got, bytes, d.dtype), "read");
    must(ssq_queue_sync(q), "sync");
    if (memcmp(want, got, bytes) != 0)
        fuzz_fail("an imported tensor has other elements");
    must(ssq_tensor_to_dlpack(x, SSQ_TO_DLPACK(.producer = q), &dl), "export");
    exported(&dl->dl_tensor, want, bytes);
    /* The old struct cannot say that a tensor is read-only. */
    ssq_status st =
        ssq_tensor_to_dlpack_unversioned(x, SSQ_TO_DLPACK(.producer = q), &old);
    if ((st == SSQ_OK) == ((dl->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0))
        fuzz_fail("exported unversioned: %s, flags %llx", ssq_status_name(st),
                  (unsigned long long)dl->flags);
    dl->deleter(dl);
    if (st == SSQ_OK) {
        exported(&old->dl_tensor, want, bytes);
        old->deleter(old);
    }
}

/* If an import is refused, the caller still owns the struct. */
static bool accepted(ssq_status st, const ssq_tensor *x,
                     const struct producer *p)
{
    fuzz_counts.calls++;
    fuzz_counts.done += st == SSQ_OK;
    fuzz_counts.refused += st != SSQ_OK;
    fuzz_counts.unsupported += st == SSQ_ERR_UNSUPPORTED;
    if (st == SSQ_OK)
        return true;
    if (x != NULL || p->deleted != 0)
        fuzz_fail("refused, with a tensor or %u deletions", p->deleted);
    if (strstr(ssq_last_error(), "tensor") == NULL)
        fuzz_fail("from_dlpack: %s", ssq_last_error());
    return false;
}

static void one(ssq_queue *q, struct input *in)
{
    static struct producer p;
    static DLManagedTensorVersioned v;
    static DLManagedTensor u;
    DLTensor t;
    ssq_tensor *x = NULL;
    ssq_from_dlpack_args args = SSQ_FROM_DLPACK_INIT;
    bool copied = false, old = input_once(in, 4), keeps = !input_once(in, 8);
    for (unsigned i = 0; i < BLOCK; i++)
        p.block[i] = (uint8_t)(i * 7 + i / 256);
    p.deleted = 0;
    choose_tensor(in, &p, &t);
    args.copy = (ssq_dlpack_copy)input_below(in, input_once(in, 16) ? 256 : 3);
    args.read_only = input_once(in, 2);
    args.copied = &copied;
    memset(&v, 0, sizeof(v));
    v.version.major = input_once(in, 16) ? input_byte(in) : 1;
    v.version.minor = input_byte(in);
    v.flags = input_below(in, 8);
    v.manager_ctx = u.manager_ctx = &p;
    v.deleter = keeps ? delete_versioned : NULL;
    u.deleter = keeps ? delete_unversioned : NULL;
    v.dl_tensor = u.dl_tensor = t;
    /* A copy reads the memory immediately: the tensor must be in the block. */
    bool there = t.ndim >= 0 && t.ndim <= 3 && t.shape != NULL &&
                 t.dtype.bits % 8 == 0 && t.data != NULL;
    for (int i = 0; there && i < t.ndim; i++)
        there =
            t.shape[i] >= 0 && t.shape[i] <= BLOCK &&
            (t.strides == NULL || (t.strides[i] >= 0 && t.strides[i] <= BLOCK));
    if (!there || !inside(&p, &t))
        args.copy = SSQ_DLPACK_COPY_NEVER;
    ssq_status st = old ? ssq_tensor_from_dlpack_unversioned(q, &u, &args, &x)
                        : ssq_tensor_from_dlpack(q, &v, &args, &x);
    if (accepted(st, x, &p)) {
        if (there && inside(&p, &t))
            look(q, x, &t);
        else if (copied)
            fuzz_fail("a copy was made that was not asked for");
        ssq_tensor_destroy(&x);
        if (p.deleted != keeps)
            fuzz_fail("%u deletions", p.deleted);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static ssq_device *devices[2];
    struct input in = {data, data + bytes};
    if (fuzz_counts.programs++ == 0 && getenv("SSQ_FUZZ_COUNTS") != NULL)
        atexit(fuzz_counts_print);
    for (unsigned i = 0; i < 2; i++) {
        static const char *const names[] = {"reference", "cpu"};
        ssq_memory_info info = SSQ_MEMORY_INFO_INIT;
        struct input again = in;
        ssq_queue *q = NULL;
        if (devices[i] == NULL)
            must(ssq_device_open(names[i], NULL, &devices[i]), "open");
        must(ssq_queue_create(devices[i], NULL, &q), "queue");
        one(q, &again);
        ssq_queue_destroy(&q);
        must(ssq_device_memory(devices[i], &info), "memory");
        if (info.buffers != 0)
            fuzz_fail("%llu buffers are left",
                      (unsigned long long)info.buffers);
    }
    return 0;
}
