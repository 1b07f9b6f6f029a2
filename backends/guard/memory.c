/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - device memory that the host cannot access, with canaries.
 *
 *     | no access | canary | data .......... | canary .. | no access |
 *     ^ map       ^ body   ^ 256 after body              ^ page
 *
 * Each buffer has a separate mapping. Its body is PROT_NONE, too, except while
 * a command runs with the buffer as an operand. It is then PROT_READ for an
 * operand that is read, and PROT_READ | PROT_WRITE for one that is written. An
 * op that writes past a buffer damages a canary or faults. An op that writes
 * its input faults. */

#include "backends/guard/guard.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Fill memory with a pattern. The last copy is cut if bytes is not a multiple
 * of 4. */
static void guard_memory_fill(unsigned char *p, uint64_t bytes,
                              uint32_t pattern)
{
    uint64_t i = 0;
    for (; i + 4 <= bytes; i += 4)
        memcpy(p + i, &pattern, 4);
    memcpy(p + i, &pattern, bytes - i);
}

/* Return the size of the body: whole pages that contain the data and both
 * canaries. 0: it overflows, or does with the two pages around it. */
static uint64_t guard_memory_body_bytes(const struct backend_device *device,
                                        uint64_t bytes)
{
    uint64_t body;
    if (!size_add(bytes, 2 * (uint64_t)GUARD_ALIGN, &body) ||
        !size_align(body, device->page, &body) ||
        body > SIZE_MAX - 2 * device->page)
        return 0;
    return body;
}

/* Set the error text for a buffer, and return SSQ_ERR_NOMEM. why is the
 * reason. */
static ssq_status guard_memory_none(uint64_t bytes, const char *why)
{
    return guard_core->error_set(SSQ_ERR_NOMEM,
                                 "guard: no memory for a buffer of %llu bytes: "
                                 "%s",
                                 (unsigned long long)bytes, why);
}

/* Map m's pages, and write the patterns of a new buffer. */
static ssq_status guard_memory_map(struct guard_mem *m, uint64_t bytes)
{
    size_t page = m->device->page;
    m->body_bytes = guard_memory_body_bytes(m->device, bytes);
    if (m->body_bytes == 0)
        return guard_memory_none(bytes, "more than the address space");
    m->map_bytes = m->body_bytes + 2 * page;
    void *p =
        mmap(NULL, m->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return guard_memory_none(bytes, strerror(errno));
    m->map = p;
    m->body = m->map + page;
    if (mprotect(m->body, m->body_bytes, PROT_READ | PROT_WRITE) != 0) {
        int error = errno;
        munmap(m->map, m->map_bytes);
        return guard_memory_none(bytes, strerror(error));
    }
    guard_memory_fill(m->body, GUARD_ALIGN, GUARD_CANARY);
    guard_memory_fill(m->body + GUARD_ALIGN, bytes, GUARD_POISON);
    guard_memory_fill(m->body + GUARD_ALIGN + bytes,
                      m->body_bytes - GUARD_ALIGN - bytes, GUARD_CANARY);
    m->mem.host = m->body + GUARD_ALIGN;
    m->mem.bytes = bytes;
    return SSQ_OK;
}

/* Allocate a buffer. Its body is open only while it is filled. Data begins
 * GUARD_ALIGN bytes after the start of a page, so it has that alignment and no
 * greater one. */
ssq_status guard_alloc(struct backend_device *device, uint64_t bytes,
                       struct backend_mem **mem)
{
    struct guard_mem *m = guard_core->mem_alloc(sizeof(*m));
    if (m == NULL)
        return guard_core->error_set(
            SSQ_ERR_NOMEM, "guard: no host memory for %zu bytes", sizeof(*m));
    m->device = device;
    ssq_status st = guard_memory_map(m, bytes);
    if (st != SSQ_OK)
        goto out_free;
    if (mprotect(m->body, m->body_bytes, PROT_NONE) != 0) {
        st = guard_memory_none(bytes, strerror(errno));
        goto out_unmap;
    }
    m->prot = PROT_NONE;
    *mem = &m->mem;
    return SSQ_OK;

out_unmap:
    munmap(m->map, m->map_bytes);
out_free:
    guard_core->mem_free(m);
    return st;
}

/* Convert a pointer of the core. guard_alloc() created all memory of this
 * backend's devices. */
static struct guard_mem *guard_memory_mem_of(struct backend_mem *mem)
{
    return (struct guard_mem *)mem; /* mem is the first member */
}

/* Remove memory from the list of open memory. A command counts as finished
 * before its memory is closed. A thread may therefore free memory while another
 * still runs the queue. */
static void guard_memory_forget(struct backend_device *device,
                                const struct guard_mem *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < device->open_count; i++)
        if (device->open[i] != m)
            device->open[kept++] = device->open[i];
    device->open_count = kept;
}

void guard_free(struct backend_device *device, struct backend_mem *mem)
{
    struct guard_mem *m = guard_memory_mem_of(mem);
    pthread_mutex_lock(&device->lock);
    guard_memory_forget(device, m);
    pthread_mutex_unlock(&device->lock);
    munmap(m->map, m->map_bytes);
    guard_core->mem_free(m);
}

/* Set the protection of memory. Makes no system call if it does not change:
 * consecutive commands often use the same buffers. */
static ssq_status guard_memory_protect(struct guard_mem *m, int prot)
{
    if (m->prot == prot)
        return SSQ_OK;
    if (mprotect(m->body, m->body_bytes, prot) != 0)
        return guard_core->error_set(SSQ_ERR_DEVICE,
                                     "guard: mprotect of a buffer of %llu "
                                     "bytes: %s",
                                     (unsigned long long)m->mem.bytes,
                                     strerror(errno));
    m->prot = prot;
    return SSQ_OK;
}

/* Return the memory of an operand, or NULL. */
static struct guard_mem *guard_memory_operand(const struct view *v)
{
    if (v->buffer == NULL || v->buffer->mem == NULL)
        return NULL;
    return guard_memory_mem_of(v->buffer->mem);
}

/* Add the accesses of a view to the accesses of the current command to its
 * memory. */
static void guard_memory_name(struct backend_device *device,
                              const struct view *v)
{
    struct guard_mem *m = guard_memory_operand(v);
    if (m == NULL)
        return;
    if (m->epoch != device->epoch) {
        m->epoch = device->epoch;
        m->access = 0;
    }
    m->access |= (unsigned)v->access;
}

/* Return the i-th operand of an op: first its views, then its list. */
static const struct view *guard_op_operand(const struct op *op, size_t i)
{
    if (i < op->nviews)
        return &op_views_const(op)[i];
    return &op->list->v[i - op->nviews];
}

/* Return the number of operands. An op may have a list of tensors in addition
 * to its views, for example an optimizer's. */
static size_t guard_op_operands(const struct op *op)
{
    return op->nviews + (op->list != NULL ? op->list->n : 0);
}

/* The list of open memory contains one command's buffers at a time. It grows
 * when a command is enqueued, so that running needs no memory. Its size is
 * doubled so that it seldom grows. */
ssq_status guard_reserve(struct backend_device *device, const struct op *op)
{
    size_t n = guard_op_operands(op);
    if (n <= device->open_capacity)
        return SSQ_OK;
    size_t bytes = 2 * n * sizeof(struct guard_mem *);
    struct guard_mem **open = guard_core->mem_alloc(bytes);
    if (open == NULL)
        return guard_core->error_set(
            SSQ_ERR_NOMEM, "guard: no host memory for %zu bytes", bytes);
    /* no memory is open between two runs, so there is nothing to copy */
    guard_core->mem_free(device->open);
    device->open = open;
    device->open_capacity = 2 * n;
    return SSQ_OK;
}

/* Close memory that the last command used and this one does not. */
static ssq_status guard_memory_close_others(struct backend_device *device)
{
    size_t kept = 0;
    for (size_t i = 0; i < device->open_count; i++) {
        struct guard_mem *m = device->open[i];
        if (m->epoch == device->epoch) {
            device->open[kept++] = m;
            continue;
        }
        ssq_status st = guard_memory_protect(m, PROT_NONE);
        if (st != SSQ_OK) {
            /* the list stays complete: skipped memory is already closed */
            memmove(&device->open[kept], &device->open[i],
                    (device->open_count - i) * sizeof(device->open[0]));
            device->open_count -= i - kept;
            return st;
        }
    }
    device->open_count = kept;
    return SSQ_OK;
}

/* Accesses of all operands are collected before the first memory is opened. A
 * memory may contain several operands, and must be writable if one of them is
 * written. */
ssq_status guard_unlock(struct backend_device *device, const struct op *op)
{
    size_t n = guard_op_operands(op);
    device->epoch++;
    for (size_t i = 0; i < n; i++)
        guard_memory_name(device, guard_op_operand(op, i));
    ssq_status st = guard_memory_close_others(device);
    for (size_t i = 0; i < n && st == SSQ_OK; i++) {
        struct guard_mem *m = guard_memory_operand(guard_op_operand(op, i));
        if (m == NULL)
            continue;
        int prot = (m->access & ACCESS_WRITE) != 0 ? PROT_READ | PROT_WRITE
                                                   : PROT_READ;
        bool closed = m->prot == PROT_NONE;
        st = guard_memory_protect(m, prot);
        if (st == SSQ_OK && closed)
            device->open[device->open_count++] = m;
    }
    return st;
}

void guard_lock(struct backend_device *device)
{
    /* closing does not split a mapping, and therefore cannot fail */
    for (size_t i = 0; i < device->open_count; i++)
        (void)guard_memory_protect(device->open[i], PROT_NONE);
    device->open_count = 0;
}

/* Return the offset of the first byte that is not the canary; bytes if all are.
 * p must be at the start of a pattern. */
static uint64_t guard_memory_damage(const unsigned char *p, uint64_t bytes)
{
    const uint32_t canary = GUARD_CANARY;
    unsigned char pattern[4];
    memcpy(pattern, &canary, 4);
    for (uint64_t i = 0; i < bytes; i++)
        if (p[i] != pattern[i % 4])
            return i;
    return bytes;
}

/* Return an error if an op wrote outside a buffer. Before the data the first
 * damaged byte is the farthest from it; after the data it is the nearest. */
static ssq_status guard_memory_check(const struct guard_mem *m, const char *op)
{
    const unsigned char *back = m->body + GUARD_ALIGN + m->mem.bytes;
    uint64_t back_bytes = m->body_bytes - GUARD_ALIGN - m->mem.bytes;
    uint64_t at = guard_memory_damage(m->body, GUARD_ALIGN);
    if (at < GUARD_ALIGN)
        return guard_core->error_set(
            SSQ_ERR_DEVICE,
            "guard: %s wrote %u bytes before the start of a buffer of %llu "
            "bytes",
            op, GUARD_ALIGN - (unsigned)at, (unsigned long long)m->mem.bytes);
    at = guard_memory_damage(back, back_bytes);
    if (at < back_bytes)
        return guard_core->error_set(
            SSQ_ERR_DEVICE,
            "guard: %s wrote %llu bytes past the end of a buffer of %llu "
            "bytes",
            op, (unsigned long long)at, (unsigned long long)m->mem.bytes);
    return SSQ_OK;
}

/* Check only memory that the command could write. Other memory is read-only or
 * closed, and a write to it faults. */
ssq_status guard_canaries(struct backend_device *device, const struct op *op)
{
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < device->open_count && st == SSQ_OK; i++)
        if ((device->open[i]->access & ACCESS_WRITE) != 0)
            st = guard_memory_check(device->open[i], op_name(op->id));
    return st;
}
