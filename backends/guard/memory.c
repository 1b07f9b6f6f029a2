/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - device memory that the host cannot touch, with canaries.
 *
 *     | no access | canary | data .......... | canary .. | no access |
 *     ^ map       ^ body   ^ 256 after body              ^ page
 *
 * Every buffer is a mapping of its own. Its body is PROT_NONE too, except
 * while a command runs that names it: PROT_READ for an operand that is read,
 * PROT_READ | PROT_WRITE for one that is written. An op that runs past a
 * buffer damages a canary or faults; one that writes its input faults. */

#include "backends/guard/guard.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* The pattern from its first byte on; the last of it is cut where bytes are not
 * a multiple of 4. */
static void fill(unsigned char *p, uint64_t bytes, uint32_t pattern)
{
    uint64_t i = 0;
    for (; i + 4 <= bytes; i += 4)
        memcpy(p + i, &pattern, 4);
    memcpy(p + i, &pattern, bytes - i);
}

/* How many bytes the body gets, whole pages with both canaries in them: 0 when
 * that or the two pages around it overflow. */
static uint64_t body_bytes(const struct backend_device *device, uint64_t bytes)
{
    uint64_t body;
    if (!size_add(bytes, 2 * (uint64_t)GUARD_ALIGN, &body) ||
        !size_align(body, device->page, &body) ||
        body > SIZE_MAX - 2 * device->page)
        return 0;
    return body;
}

/* Sets the text for a buffer; why is the system's reason or ours. */
static ssq_status no_memory(uint64_t bytes, const char *why)
{
    return guard_core->error_set(SSQ_ERR_NOMEM,
                                 "guard: no memory for a buffer of %llu bytes: "
                                 "%s",
                                 (unsigned long long)bytes, why);
}

/* Map m's pages and write what a fresh buffer holds. */
static ssq_status map(struct guard_mem *m, uint64_t bytes)
{
    size_t page = m->device->page;
    m->body_bytes = body_bytes(m->device, bytes);
    if (m->body_bytes == 0)
        return no_memory(bytes, "more than the address space");
    m->map_bytes = m->body_bytes + 2 * page;
    void *p =
        mmap(NULL, m->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return no_memory(bytes, strerror(errno));
    m->map = p;
    m->body = m->map + page;
    if (mprotect(m->body, m->body_bytes, PROT_READ | PROT_WRITE) != 0) {
        int error = errno;
        munmap(m->map, m->map_bytes);
        return no_memory(bytes, strerror(error));
    }
    fill(m->body, GUARD_ALIGN, GUARD_CANARY);
    fill(m->body + GUARD_ALIGN, bytes, GUARD_POISON);
    fill(m->body + GUARD_ALIGN + bytes, m->body_bytes - GUARD_ALIGN - bytes,
         GUARD_CANARY);
    m->mem.host = m->body + GUARD_ALIGN;
    m->mem.bytes = bytes;
    return SSQ_OK;
}

/* The body is open only while it is filled. Data begins GUARD_ALIGN bytes
 * behind the start of a page: it has that alignment and no greater one. */
ssq_status guard_alloc(struct backend_device *device, uint64_t bytes,
                       struct backend_mem **mem)
{
    struct guard_mem *m = guard_core->mem_alloc(sizeof(*m));
    if (m == NULL)
        return guard_core->error_set(
            SSQ_ERR_NOMEM, "guard: no host memory for %zu bytes", sizeof(*m));
    m->device = device;
    ssq_status st = map(m, bytes);
    if (st != SSQ_OK)
        goto out_free;
    if (mprotect(m->body, m->body_bytes, PROT_NONE) != 0) {
        st = no_memory(bytes, strerror(errno));
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

/* All memory of this backend's devices was made by guard_alloc. */
static struct guard_mem *mem_of(struct backend_mem *mem)
{
    return (struct guard_mem *)mem; /* its first member */
}

/* A command counts as done before what it used is closed: one thread may free
 * it while another still runs the queue, with this memory in its list. */
static void forget(struct backend_device *device, const struct guard_mem *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < device->open_count; i++)
        if (device->open[i] != m)
            device->open[kept++] = device->open[i];
    device->open_count = kept;
}

void guard_free(struct backend_device *device, struct backend_mem *mem)
{
    struct guard_mem *m = mem_of(mem);
    pthread_mutex_lock(&device->lock);
    forget(device, m);
    pthread_mutex_unlock(&device->lock);
    munmap(m->map, m->map_bytes);
    guard_core->mem_free(m);
}

/* Costs a system call only where the protection changes: the same buffers are
 * often those of the next command. */
static ssq_status protect(struct guard_mem *m, int prot)
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

/* The memory of an operand, or NULL. */
static struct guard_mem *operand(const struct view *v)
{
    if (v->buffer == NULL || v->buffer->mem == NULL)
        return NULL;
    return mem_of(v->buffer->mem);
}

/* Add what a view does to its memory to what its command does. */
static void name_view(struct backend_device *device, const struct view *v)
{
    struct guard_mem *m = operand(v);
    if (m == NULL)
        return;
    if (m->epoch != device->epoch) {
        m->epoch = device->epoch;
        m->access = 0;
    }
    m->access |= (unsigned)v->access;
}

/* The i-th operand of an op: its own views, then those of its list. */
static const struct view *op_operand(const struct op *op, size_t i)
{
    if (i < op->nviews)
        return &op_views_const(op)[i];
    return &op->list->v[i - op->nviews];
}

/* An op may have a list of tensors in addition to its views: an optimizer's. */
static size_t op_operands(const struct op *op)
{
    return op->nviews + (op->list != NULL ? op->list->n : 0);
}

/* The open list holds one command's buffers at a time. It grows when the
 * command is enqueued: running needs no memory. Twice what is needed, so that
 * it seldom grows again. */
ssq_status guard_reserve(struct backend_device *device, const struct op *op)
{
    size_t n = op_operands(op);
    if (n <= device->open_room)
        return SSQ_OK;
    size_t bytes = 2 * n * sizeof(struct guard_mem *);
    struct guard_mem **open = guard_core->mem_alloc(bytes);
    if (open == NULL)
        return guard_core->error_set(
            SSQ_ERR_NOMEM, "guard: no host memory for %zu bytes", bytes);
    /* between two runs nothing is open, so there is nothing to copy */
    guard_core->mem_free(device->open);
    device->open = open;
    device->open_room = 2 * n;
    return SSQ_OK;
}

/* Close what the last command opened and this one does not name. */
static ssq_status close_others(struct backend_device *device)
{
    size_t kept = 0;
    for (size_t i = 0; i < device->open_count; i++) {
        struct guard_mem *m = device->open[i];
        if (m->epoch == device->epoch) {
            device->open[kept++] = m;
            continue;
        }
        ssq_status st = protect(m, PROT_NONE);
        if (st != SSQ_OK) {
            /* the list stays whole: what was skipped is closed already */
            memmove(&device->open[kept], &device->open[i],
                    (device->open_count - i) * sizeof(device->open[0]));
            device->open_count -= i - kept;
            return st;
        }
    }
    device->open_count = kept;
    return SSQ_OK;
}

/* Accesses are collected over all operands before the first page is opened,
 * because one memory may hold several of them: it is writable if one of them is
 * written. */
ssq_status guard_unlock(struct backend_device *device, const struct op *op)
{
    size_t n = op_operands(op);
    device->epoch++;
    for (size_t i = 0; i < n; i++)
        name_view(device, op_operand(op, i));
    ssq_status st = close_others(device);
    for (size_t i = 0; i < n && st == SSQ_OK; i++) {
        struct guard_mem *m = operand(op_operand(op, i));
        if (m == NULL)
            continue;
        int prot = (m->access & ACCESS_WRITE) != 0 ? PROT_READ | PROT_WRITE
                                                   : PROT_READ;
        bool closed = m->prot == PROT_NONE;
        st = protect(m, prot);
        if (st == SSQ_OK && closed)
            device->open[device->open_count++] = m;
    }
    return st;
}

void guard_lock(struct backend_device *device)
{
    /* closing cannot split a mapping, and so does not fail */
    for (size_t i = 0; i < device->open_count; i++)
        (void)protect(device->open[i], PROT_NONE);
    device->open_count = 0;
}

/* The first byte that is not canary; bytes when all are. p is where a pattern
 * begins. */
static uint64_t first_damage(const unsigned char *p, uint64_t bytes)
{
    const uint32_t canary = GUARD_CANARY;
    unsigned char pattern[4];
    memcpy(pattern, &canary, 4);
    for (uint64_t i = 0; i < bytes; i++)
        if (p[i] != pattern[i % 4])
            return i;
    return bytes;
}

/* An error if an op wrote outside of a buffer. In front the first damaged byte
 * is the farthest from the data; behind, it is the nearest. */
static ssq_status check_ends(const struct guard_mem *m, const char *op)
{
    const unsigned char *back = m->body + GUARD_ALIGN + m->mem.bytes;
    uint64_t back_bytes = m->body_bytes - GUARD_ALIGN - m->mem.bytes;
    uint64_t at = first_damage(m->body, GUARD_ALIGN);
    if (at < GUARD_ALIGN)
        return guard_core->error_set(
            SSQ_ERR_DEVICE,
            "guard: %s wrote %u bytes before the start of a buffer of %llu "
            "bytes",
            op, GUARD_ALIGN - (unsigned)at, (unsigned long long)m->mem.bytes);
    at = first_damage(back, back_bytes);
    if (at < back_bytes)
        return guard_core->error_set(
            SSQ_ERR_DEVICE,
            "guard: %s wrote %llu bytes past the end of a buffer of %llu "
            "bytes",
            op, (unsigned long long)at, (unsigned long long)m->mem.bytes);
    return SSQ_OK;
}

/* Only memory that the command could write to: the rest is read-only or closed,
 * where a write faults. */
ssq_status guard_canaries(struct backend_device *device, const struct op *op)
{
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < device->open_count && st == SSQ_OK; i++)
        if ((device->open[i]->access & ACCESS_WRITE) != 0)
            st = check_ends(device->open[i], op_name(op->id));
    return st;
}
