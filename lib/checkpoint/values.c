/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - read tensors of a file to tensors of a device. */
#include "lib/checkpoint/values.h"

#include "lib/checkpoint/digest.h"
#include "lib/checkpoint/disk.h"
#include "lib/core/base/host.h"
#include "lib/core/queue/queue.h"

#include <string.h>

void values_little(void *bytes, size_t n, unsigned element)
{
    const union {
        uint16_t word;
        unsigned char first;
    } order = {1};
    unsigned char *p = bytes;
    if (order.first == 1)
        return;
    for (size_t at = 0; at + element <= n; at += element)
        for (unsigned i = 0; i < element / 2; i++) {
            unsigned char x = p[at + i];
            p[at + i] = p[at + element - 1 - i];
            p[at + element - 1 - i] = x;
        }
}

/* ---- compatibility ---- */

static bool values_is_float(ssq_dtype d)
{
    return dtype_is_float(d) || d == SSQ_F64;
}

static ssq_status fit_dtype(const ssq_safetensors *f,
                            const struct safetensors_entry *e, ssq_dtype to)
{
    ssq_dtype from = e->spelling.dtype;
    if (from == NO_DTYPE)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "%s: %.300s: tensor \"%.100s\" is %s, which tensors "
                         "cannot have",
                         f->what, e->in->path, e->name, e->spelling.text);
    if (values_is_float(from) != values_is_float(to))
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s: tensor \"%.100s\" is %s, for a tensor of "
                         "%s",
                         f->what, e->in->path, e->name, e->spelling.text,
                         ssq_dtype_name(to));
    return SSQ_OK;
}

ssq_status values_fit(const ssq_safetensors *f,
                      const struct safetensors_entry *e, const int *axes,
                      const ssq_tensor *tensor, struct view *place)
{
    const struct view *v = &tensor->view;
    unsigned seen = 0;
    char theirs[200], ours[200];
    ssq_status st = fit_dtype(f, e, v->dtype);
    if (st != SSQ_OK)
        return st;
    *place = tensor_view(tensor, ACCESS_WRITE);
    bool same = e->rank == v->rank;
    int64_t permuted[SSQ_MAX_RANK] = {0};
    for (int i = 0; i < v->rank; i++) {
        int axis = axes == NULL ? i : axes[i];
        if (axis < 0 || axis >= v->rank || (seen >> axis & 1) != 0)
            return error_set(
                SSQ_ERR_INVALID,
                "%s: \"%.100s\": axes[%d] is %d: not a permutation", f->what,
                e->name, i, axis);
        seen |= 1u << axis;
        place->shape[i] = v->shape[axis];
        place->stride[i] = v->stride[axis];
        permuted[i] = v->shape[axis];
        same = same && e->shape[i] == permuted[i];
    }
    if (same)
        return SSQ_OK;
    return error_set(
        SSQ_ERR_INVALID, "%s: %.300s: tensor \"%.100s\" is %s, expected %s%s",
        f->what, e->in->path, e->name,
        shape_text(e->rank, e->shape, theirs, sizeof(theirs)),
        shape_text(v->rank, permuted, ours, sizeof(ours)),
        axes == NULL ? "" : ", the parameter's with axes permuted");
}

/* ---- pieces ---- */

/* An iteration over a place in the order of the file. A piece has whole
 * dimensions after `cut`, at most `run` elements along `cut`, and one index of
 * each dimension before it. */
struct values_way {
    const struct view *place;
    int cut;
    int64_t run, inner;
    int64_t at[SSQ_MAX_RANK];
};

static struct values_way way_of(const struct view *place, size_t element)
{
    struct values_way w = {.place = place, .cut = place->rank - 1, .inner = 1};
    int64_t most = (int64_t)(CHUNK / element);
    while (w.cut > 0 && w.inner * place->shape[w.cut] <= most)
        w.inner *= place->shape[w.cut--];
    w.run = w.inner > 0 ? most / w.inner : 1;
    return w;
}

/* Get the next piece. Returns false after the last one. No dimension may be
 * 0. */
static bool values_next_piece(struct values_way *w, struct view *piece)
{
    const struct view *p = w->place;
    int64_t left, offset = 0;
    *piece = *p;
    if (p->rank == 0)
        return w->cut++ < 0;
    left = p->shape[w->cut] - w->at[w->cut];
    if (w->at[0] >= p->shape[0])
        return false;
    for (int i = 0; i <= w->cut; i++) {
        offset += w->at[i] * p->stride[i];
        piece->shape[i] = 1;
    }
    piece->offset += (uint64_t)offset * dtype_bytes(p->dtype);
    piece->shape[w->cut] = size_least(left, w->run);
    w->at[w->cut] += piece->shape[w->cut];
    for (int i = w->cut; i > 0 && w->at[i] >= p->shape[i]; i--) {
        w->at[i] = 0;
        w->at[i - 1]++;
    }
    return true;
}

/* ---- reading ---- */

struct values_reading {
    ssq_queue *queue;
    const ssq_safetensors *f;
    const struct safetensors_entry *e;
    unsigned char *bytes; /* memory for a chunk */
    unsigned char *wide;  /* its values in float32; NULL: not converted */
    uint64_t at;
};

static ssq_status read_piece(struct values_reading *r, const struct view *piece)
{
    const struct safetensors_entry *e = r->e;
    size_t count = (size_t)view_elements(piece);
    size_t n = count * e->spelling.bytes;
    ssq_status st = disk_read(r->f->what, e->in->path, e->in->fd,
                              e->begin + r->at, r->bytes, n);
    if (st != SSQ_OK)
        return st;
    r->at += n;
    values_little(r->bytes, n, e->spelling.bytes);
    ssq_tensor to = {.view = *piece};
    if (r->wide == NULL) {
        st = ssq_tensor_write(r->queue, &to, r->bytes, n, e->spelling.dtype);
    } else {
        host_convert(r->wide, SSQ_F32, r->bytes, e->spelling.dtype, count,
                     SSQ_ROUND_NEAREST, 0);
        st = ssq_tensor_write(r->queue, &to, r->wide, count * sizeof(float),
                              SSQ_F32);
    }
    ssq_status synced = queue_wait(r->queue); /* the memory is reused */
    return st == SSQ_OK ? synced : st;
}

ssq_status values_read(ssq_queue *queue, const ssq_safetensors *f,
                       const struct safetensors_entry *e,
                       const struct view *place)
{
    ssq_dtype from = e->spelling.dtype;
    bool wide =
        values_is_float(from) && from != place->dtype && from != SSQ_F32;
    struct values_reading r = {.queue = queue, .f = f, .e = e};
    struct values_way w = way_of(place, sizeof(double));
    struct view piece;
    size_t room = e->bytes < CHUNK ? (size_t)e->bytes : CHUNK;
    if (e->bytes == 0)
        return SSQ_OK;
    r.bytes = mem_alloc(room);
    r.wide = wide ? mem_alloc(2 * room) : NULL;
    ssq_status st = SSQ_OK;
    if (r.bytes == NULL || (wide && r.wide == NULL))
        st = error_nomem(f->what, room);
    while (st == SSQ_OK && values_next_piece(&w, &piece))
        st = read_piece(&r, &piece);
    mem_free(r.bytes);
    mem_free(r.wide);
    return st;
}

/* Check that all values fit the tensor's integer dtype. ssq_tensor_write()
 * would refuse a piece before writing it, but earlier pieces would have been
 * written. */
static ssq_status values_check_values(const ssq_safetensors *f,
                                      const struct safetensors_entry *e,
                                      ssq_dtype to)
{
    ssq_dtype from = e->spelling.dtype;
    char value[32];
    size_t room = e->bytes < CHUNK ? (size_t)e->bytes : CHUNK;
    if (!host_may_misfit(from, to) || e->bytes == 0)
        return SSQ_OK;
    unsigned char *bytes = mem_alloc(room);
    ssq_status st = bytes != NULL ? SSQ_OK : error_nomem(f->what, room);
    for (uint64_t at = 0; at < e->bytes && st == SSQ_OK; at += room) {
        size_t n = e->bytes - at < room ? (size_t)(e->bytes - at) : room;
        st =
            disk_read(f->what, e->in->path, e->in->fd, e->begin + at, bytes, n);
        if (st != SSQ_OK)
            break;
        values_little(bytes, n, e->spelling.bytes);
        size_t i = host_misfit(bytes, from, to, n / e->spelling.bytes);
        if (i < n / e->spelling.bytes)
            st = error_set(SSQ_ERR_INVALID,
                           "%s: %.300s: tensor \"%.100s\": element %llu is %s, "
                           "which %s cannot hold",
                           f->what, e->in->path, e->name,
                           (unsigned long long)(at / e->spelling.bytes + i),
                           host_value(bytes, from, i, value, sizeof(value)),
                           ssq_dtype_name(to));
    }
    mem_free(bytes);
    return st;
}

ssq_status ssq_safetensors_read(ssq_queue *queue, ssq_safetensors *file,
                                const char *name, const int *axes,
                                const ssq_tensor *tensor)
{
    static const char what[] = "safetensors_read";
    struct crc64 crc;
    struct view place;
    ssq_status st = queue_check(queue, what);
    if (st != SSQ_OK)
        return st;
    if (file == NULL || name == NULL || tensor == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         file == NULL   ? "file"
                         : name == NULL ? "name"
                                        : "tensor");
    if (tensor->view.buffer->device != queue->device)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the tensor is of another device than the queue",
                         what);
    st = queue_check_runs(queue, what);
    if (st != SSQ_OK)
        return st;
    const struct safetensors_entry *e = entry_find(file, name);
    if (e == NULL)
        return error_set(SSQ_ERR_NOT_FOUND,
                         "%s: %.300s has no \"%.100s\" among %zu tensors", what,
                         file->path, name, file->n);
    file->what = what;
    crc64_begin(&crc);
    st = values_fit(file, e, axes, tensor, &place);
    if (st == SSQ_OK)
        st = digest_check(file, &crc, e);
    if (st == SSQ_OK)
        st = values_check_values(file, e, place.dtype);
    return st == SSQ_OK ? values_read(queue, file, e, &place) : st;
}
