/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.c - open one file, and look up tensors of a file or an index. */
#include "lib/checkpoint/safetensors.h"

#include "lib/checkpoint/disk.h"
#include "lib/core/base/object.h"

#include <stdlib.h>
#include <string.h>

static uint64_t little_u64(const unsigned char b[8])
{
    uint64_t x = 0;
    for (int i = 7; i >= 0; i--)
        x = x << 8 | b[i];
    return x;
}

/* ---- order ---- */

/* Order tensors by position. An empty tensor comes before a tensor that begins
 * at the same byte. */
static int safetensors_by_place(const void *a, const void *b)
{
    const struct safetensors_entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int safetensors_by_name(const void *a, const void *b)
{
    const struct safetensors_entry *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int safetensors_by_key(const void *a, const void *b)
{
    const struct metadata *x = a, *y = b;
    return strcmp(x->key, y->key);
}

static ssq_status twice(const ssq_safetensors *f, const char *sort,
                        const char *name)
{
    return error_set(SSQ_ERR_INVALID, "%s: %.300s: %s \"%.100s\" occurs twice",
                     f->what, f->path, sort, name);
}

static ssq_status safetensors_check_ranges(const ssq_safetensors *f,
                                           uint64_t data)
{
    uint64_t end = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct safetensors_entry *e = &f->entry[i];
        if (e->begin != end)
            return error_set(
                SSQ_ERR_INVALID,
                "%s: %.300s: tensor \"%.100s\" begins at byte "
                "%llu, %s %llu, where \"%.100s\" ends",
                f->what, f->path, e->name, (unsigned long long)e->begin,
                e->begin < end ? "before" : "behind", (unsigned long long)end,
                i == 0 ? "the header" : e[-1].name);
        end += e->bytes;
    }
    if (end != data)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s: tensors have %llu bytes, the file has "
                         "%llu after its header",
                         f->what, f->path, (unsigned long long)end,
                         (unsigned long long)data);
    return SSQ_OK;
}

ssq_status names_order(ssq_safetensors *f)
{
    f->by_name = mem_alloc_array(f->n, sizeof(struct safetensors_entry *));
    if (f->by_name == NULL)
        return error_nomem(f->what, f->n * sizeof(struct safetensors_entry *));
    for (size_t i = 0; i < f->n; i++)
        f->by_name[i] = &f->entry[i];
    if (f->n > 0)
        qsort(f->by_name, f->n, sizeof(struct safetensors_entry *),
              safetensors_by_name);
    for (size_t i = 1; i < f->n; i++)
        if (strcmp(f->by_name[i - 1]->name, f->by_name[i]->name) == 0)
            return twice(f, "tensor", f->by_name[i]->name);
    return SSQ_OK;
}

ssq_status header_order(ssq_safetensors *f, uint64_t data)
{
    if (f->n > 0)
        qsort(f->entry, f->n, sizeof(*f->entry), safetensors_by_place);
    if (f->metas > 0)
        qsort(f->meta, f->metas, sizeof(*f->meta), safetensors_by_key);
    ssq_status st = names_order(f);
    if (st != SSQ_OK)
        return st;
    for (size_t i = 1; i < f->metas; i++)
        if (strcmp(f->meta[i - 1].key, f->meta[i].key) == 0)
            return twice(f, "key", f->meta[i].key);
    return safetensors_check_ranges(f, data);
}

/* ---- open ---- */

/* Identify, by its first bytes, a file that is often found in place of weights.
 * Returns "" for other files. */
static const char *looks_like(const unsigned char *begin, size_t n)
{
    static const struct {
        const char *begin, *says;
    } known[] = {
        {"version ", ": it is a pointer of Git LFS: `git lfs pull` fetches the "
                     "file"},
        {"<!DOCTYP", ": it is a page of HTML, not the file"},
        {"<!doctyp", ": it is a page of HTML, not the file"},
        {"<html", ": it is a page of HTML, not the file"},
        {"PK\3\4", ": it is a zip file, as torch.save writes"},
        {"\x80\2", ": it is a pickle, as old versions of torch.save write"},
        {"\x80\3", ": it is a pickle"},
        {"\x80\4", ": it is a pickle"},
        {"\x80\5", ": it is a pickle"},
        {"\x89HDF", ": it is an HDF5 file, as Keras writes"},
        {"GGUF", ": it is a GGUF file"},
        {"{", ": it is JSON, not a file of tensors"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t length = strlen(known[i].begin);
        if (n >= length && memcmp(begin, known[i].begin, length) == 0)
            return known[i].says;
    }
    return "";
}

/* Read the first 8 bytes, which are the header's length. */
static ssq_status read_length(const ssq_safetensors *f, uint64_t size,
                              unsigned char length[8])
{
    if (size < 8)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s has %llu bytes, and no header", f->what,
                         f->path, (unsigned long long)size);
    return disk_read(f->what, f->path, f->fd, 0, length, 8);
}

ssq_status file_header(ssq_safetensors *f, uint64_t size,
                       const unsigned char length[8])
{
    ssq_status st;
    uint64_t n = little_u64(length), left = size - 8;
    if (n > left || n > HEADER_MOST || n < 2)
        return error_set(
            SSQ_ERR_INVALID,
            "%s: %.300s: its header has %llu bytes, expected 2 to %llu%s",
            f->what, f->path, (unsigned long long)n,
            (unsigned long long)(left < HEADER_MOST ? left : HEADER_MOST),
            looks_like(length, 8));
    f->header = mem_alloc((size_t)n);
    f->header_bytes = (size_t)n;
    if (f->header == NULL)
        return error_nomem(f->what, (size_t)n);
    st = disk_read(f->what, f->path, f->fd, 8, f->header, (size_t)n);
    if (st == SSQ_OK)
        st = header_parse(f, (size_t)n, left - n);
    if (st == SSQ_OK)
        st = header_order(f, left - n);
    for (size_t i = 0; i < f->n && st == SSQ_OK; i++)
        f->entry[i].begin += 8 + n;
    return st;
}

ssq_status file_begin(const char *what, const char *path,
                      ssq_safetensors **file, uint64_t *size,
                      unsigned char length[8])
{
    ssq_safetensors *f = mem_alloc(sizeof(*f));
    if (f == NULL)
        return error_nomem(what, sizeof(*f));
    f->fd = -1;
    f->what = what;
    f->path = mem_strdup(path);
    ssq_status st = f->path != NULL ? disk_open(what, path, &f->fd, size)
                                    : error_nomem(what, strlen(path) + 1);
    if (st == SSQ_OK)
        st = read_length(f, *size, length);
    if (st == SSQ_OK)
        *file = f;
    else
        ssq_safetensors_close(&f);
    return st;
}

void ssq_safetensors_close(ssq_safetensors **file)
{
    if (file == NULL || *file == NULL)
        return;
    ssq_safetensors *f = *file;
    if (f->fd >= 0)
        disk_close(f->fd);
    for (size_t i = 0; i < f->shards; i++)
        ssq_safetensors_close(&f->shard[i]);
    mem_free(f->shard);
    mem_free(f->by_name);
    mem_free(f->entry);
    mem_free(f->meta);
    mem_free(f->header);
    mem_free(f->path);
    mem_free(f);
    *file = NULL;
}

/* ---- queries ---- */

size_t ssq_safetensors_count(const ssq_safetensors *file)
{
    return file == NULL ? 0 : file->n;
}

static ssq_status safetensors_check_info(const char *what,
                                         const ssq_safetensors *file,
                                         const ssq_safetensors_info *info)
{
    if (file == NULL || info == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         file == NULL ? "file" : "info");
    if (info->struct_size != sizeof(*info))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         info->struct_size, sizeof(*info));
    return SSQ_OK;
}

static void safetensors_tell(const struct safetensors_entry *e,
                             ssq_safetensors_info *info)
{
    info->name = e->name;
    info->dtype = e->spelling.text;
    info->rank = e->rank;
    memcpy(info->shape, e->shape, sizeof(info->shape));
    info->bytes = e->bytes;
}

ssq_status ssq_safetensors_get(const ssq_safetensors *file, size_t i,
                               ssq_safetensors_info *info)
{
    static const char what[] = "safetensors_get";
    ssq_status st = safetensors_check_info(what, file, info);
    if (st != SSQ_OK)
        return st;
    if (i >= file->n)
        return error_set(SSQ_ERR_INVALID, "%s: %zu of %zu tensors", what, i,
                         file->n);
    safetensors_tell(&file->entry[i], info);
    return SSQ_OK;
}

const struct safetensors_entry *entry_find(const ssq_safetensors *file,
                                           const char *name)
{
    const struct safetensors_entry key = {.name = name}, *wanted = &key;
    if (file->n == 0)
        return NULL;
    struct safetensors_entry **found =
        bsearch(&wanted, file->by_name, file->n,
                sizeof(struct safetensors_entry *), safetensors_by_name);
    return found == NULL ? NULL : *found;
}

ssq_status ssq_safetensors_find(const ssq_safetensors *file, const char *name,
                                ssq_safetensors_info *info)
{
    static const char what[] = "safetensors_find";
    ssq_status st = safetensors_check_info(what, file, info);
    if (st != SSQ_OK)
        return st;
    if (name == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: name is NULL", what);
    const struct safetensors_entry *e = entry_find(file, name);
    if (e == NULL)
        return error_set(SSQ_ERR_NOT_FOUND,
                         "%s: %.300s has no \"%.100s\" among %zu tensors", what,
                         file->path, name, file->n);
    safetensors_tell(e, info);
    return SSQ_OK;
}

const char *ssq_safetensors_metadata(const ssq_safetensors *file,
                                     const char *key)
{
    const struct metadata wanted = {key, NULL};
    if (file == NULL || key == NULL)
        return NULL;
    for (size_t i = 0; i < file->shards; i++) {
        const char *text = ssq_safetensors_metadata(file->shard[i], key);
        if (text != NULL)
            return text;
    }
    if (file->metas == 0)
        return NULL;
    const struct metadata *found = bsearch(&wanted, file->meta, file->metas,
                                           sizeof(wanted), safetensors_by_key);
    return found == NULL ? NULL : found->text;
}
