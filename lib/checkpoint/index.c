/* SPDX-License-Identifier: Apache-2.0 */
/* index.c - open a file of tensors, or an index of several such files, its
 * shards.
 *
 * Large models come as model-00001-of-00005.safetensors and so on, with an
 * index that names the shard of each tensor. Tensors that the index does not
 * name are not listed. All shards must be in the directory of the index, so
 * that an index cannot make the library read other files.
 *
 * A wrong total_size is not an error: some writers count tied weights twice, or
 * count parameters instead of bytes. The headers of the shards decide, and a
 * difference is logged. */
#include "lib/checkpoint/disk.h"
#include "lib/checkpoint/json.h"
#include "lib/checkpoint/safetensors.h"
#include "lib/core/base/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A member of the weight_map; both texts are in the index. */
struct placed {
    const char *name, *shard;
};

struct index {
    ssq_safetensors *f;
    struct placed *map; /* sorted by name */
    size_t n, room;
    const char **shard; /* each once, sorted */
    size_t shards;
    double total; /* total_size; negative: missing */
    bool has_map;
};

/* ---- the text ---- */

static ssq_status read_map(struct index *x, struct json *j)
{
    const char *what = x->f->what;
    ssq_status st = json_take(j, '{');
    bool more = st == SSQ_OK && !json_is(j, '}');
    x->has_map = true;
    if (st == SSQ_OK && !more)
        st = json_take(j, '}');
    while (st == SSQ_OK && more) {
        char *name = NULL, *shard = NULL;
        st = json_string(j, &name);
        if (st == SSQ_OK)
            st = json_take(j, ':');
        if (st == SSQ_OK)
            st = json_string(j, &shard);
        if (st == SSQ_OK)
            st = json_more(j, '}', &more);
        void *list = x->map;
        if (st == SSQ_OK)
            st = list_grow(what, &list, x->n, &x->room, sizeof(*x->map));
        x->map = list;
        if (st == SSQ_OK)
            x->map[x->n++] = (struct placed){name, shard};
    }
    return st;
}

/* Some writers write 13476835328.0. A value that is not a whole number is
 * treated like a missing total. */
static ssq_status read_total(struct index *x, struct json *j)
{
    double total = 0.0;
    (void)json_is(j, '0'); /* skips white space */
    const unsigned char *at = j->at, *from = at;
    ssq_status st = json_skip(j);
    for (; at < j->at && *at >= '0' && *at <= '9'; at++)
        total = 10.0 * total + (*at - '0');
    const bool number = at > from;
    if (at < j->at && *at == '.')
        for (at++; at < j->at && *at == '0'; at++) {
        }
    if (st == SSQ_OK && number && at == j->at)
        x->total = total;
    return st;
}

static ssq_status read_metadata(struct index *x, struct json *j)
{
    if (!json_is(j, '{'))
        return json_skip(j); /* null means no metadata */
    ssq_status st = json_take(j, '{');
    bool more = st == SSQ_OK && !json_is(j, '}');
    if (st == SSQ_OK && !more)
        st = json_take(j, '}');
    while (st == SSQ_OK && more) {
        char *key = NULL;
        st = json_string(j, &key);
        if (st == SSQ_OK)
            st = json_take(j, ':');
        if (st == SSQ_OK)
            st = strcmp(key, "total_size") == 0 ? read_total(x, j)
                                                : json_skip(j);
        if (st == SSQ_OK)
            st = json_more(j, '}', &more);
    }
    return st;
}

static ssq_status index_parse(struct index *x)
{
    ssq_safetensors *f = x->f;
    unsigned char *text = (unsigned char *)f->header;
    struct json j = {text, text, text + f->header_bytes, f->what, f->path};
    ssq_status st = json_take(&j, '{');
    bool more = st == SSQ_OK && !json_is(&j, '}');
    if (st == SSQ_OK && !more)
        st = json_take(&j, '}');
    while (st == SSQ_OK && more) {
        char *key = NULL;
        st = json_string(&j, &key);
        if (st == SSQ_OK)
            st = json_take(&j, ':');
        if (st != SSQ_OK)
            return st;
        if (strcmp(key, "weight_map") == 0 && x->has_map)
            return error_set(SSQ_ERR_INVALID,
                             "%s: %.300s: there are two \"weight_map\"",
                             f->what, f->path);
        st = strcmp(key, "weight_map") == 0 ? read_map(x, &j)
             : strcmp(key, "metadata") == 0 ? read_metadata(x, &j)
                                            : json_skip(&j);
        if (st == SSQ_OK)
            st = json_more(&j, '}', &more);
    }
    if (st == SSQ_OK && !x->has_map)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s: JSON without \"weight_map\" is not an "
                         "index of shards",
                         f->what, f->path);
    return st == SSQ_OK ? json_done(&j) : st;
}

/* ---- names ---- */

static int index_by_name(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int by_text(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static bool plain_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Sort the map, refuse names that occur twice, and list the shards. */
static ssq_status list_shards(struct index *x)
{
    const ssq_safetensors *f = x->f;
    if (x->n > 0)
        qsort(x->map, x->n, sizeof(*x->map), index_by_name);
    x->shard = mem_alloc_array(x->n, sizeof(*x->shard));
    if (x->shard == NULL)
        return error_nomem(f->what, x->n * sizeof(*x->shard));
    for (size_t i = 0; i < x->n; i++) {
        const struct placed *p = &x->map[i];
        if (i > 0 && strcmp(p[-1].name, p->name) == 0)
            return error_set(SSQ_ERR_INVALID,
                             "%s: %.300s: tensor \"%.100s\" occurs twice, in "
                             "%.100s and %.100s",
                             f->what, f->path, p->name, p[-1].shard, p->shard);
        if (!plain_name(p->shard))
            return error_set(SSQ_ERR_INVALID,
                             "%s: %.300s: tensor \"%.100s\" is in \"%.100s\", "
                             "which is not the name of a file beside the index",
                             f->what, f->path, p->name, p->shard);
        x->shard[i] = p->shard;
    }
    if (x->n > 0)
        qsort(x->shard, x->n, sizeof(*x->shard), by_text);
    for (size_t i = 0; i < x->n; i++)
        if (x->shards == 0 || strcmp(x->shard[x->shards - 1], x->shard[i]) != 0)
            x->shard[x->shards++] = x->shard[i];
    return SSQ_OK;
}

static size_t shard_number(const struct index *x, const char *name)
{
    const char **found =
        bsearch(&name, x->shard, x->shards, sizeof(*x->shard), by_text);
    return (size_t)(found - x->shard);
}

/* ---- shards ---- */

static ssq_status open_shard(const struct index *x, const char *name,
                             ssq_safetensors **shard)
{
    const ssq_safetensors *f = x->f;
    const char *slash = strrchr(f->path, '/');
    const size_t folder = slash == NULL ? 0 : (size_t)(slash - f->path) + 1;
    const size_t bytes = folder + strlen(name) + 1;
    unsigned char length[8];
    uint64_t size;
    char *path = mem_alloc(bytes);
    if (path == NULL)
        return error_nomem(f->what, bytes);
    snprintf(path, bytes, "%.*s%s", (int)folder, f->path, name);
    ssq_status st = file_begin(f->what, path, shard, &size, length);
    if (st == SSQ_OK)
        st = file_header(*shard, size, length);
    mem_free(path);
    /* NOT_FOUND would mean that the model does not exist */
    if (st == SSQ_ERR_NOT_FOUND)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s: the shard %.100s, of %zu, is missing",
                         f->what, f->path, name, x->shards);
    return st;
}

static ssq_status open_shards(struct index *x)
{
    ssq_safetensors *f = x->f;
    f->shard = mem_alloc_array(x->shards, sizeof(ssq_safetensors *));
    if (f->shard == NULL)
        return error_nomem(f->what, x->shards * sizeof(ssq_safetensors *));
    ssq_status st = SSQ_OK;
    while (st == SSQ_OK && f->shards < x->shards) {
        ssq_safetensors *shard = NULL;
        st = open_shard(x, x->shard[f->shards], &shard);
        if (shard != NULL)
            f->shard[f->shards++] = shard;
    }
    return st;
}

/* Check that each tensor of the index is in its shard. */
static ssq_status index_check_places(const struct index *x)
{
    const ssq_safetensors *f = x->f;
    for (size_t i = 0; i < x->n; i++) {
        const struct placed *p = &x->map[i];
        const size_t at = shard_number(x, p->shard);
        if (entry_find(f->shard[at], p->name) != NULL)
            continue;
        size_t other = 0;
        while (other < f->shards &&
               entry_find(f->shard[other], p->name) == NULL)
            other++;
        return error_set(
            SSQ_ERR_INVALID,
            "%s: %.300s: tensor \"%.100s\" should be in %.100s, and is in "
            "%.100s",
            f->what, f->path, p->name, p->shard,
            other == f->shards ? "no shard" : x->shard[other]);
    }
    return SSQ_OK;
}

/* Return the index's entry for a tensor of a shard, or NULL if the index does
 * not name it. */
static const struct placed *index_place_of(const struct index *x,
                                           const char *name)
{
    const struct placed key = {name, NULL};
    return x->n == 0
               ? NULL
               : bsearch(&key, x->map, x->n, sizeof(*x->map), index_by_name);
}

/* List all tensors that the index names, ordered by shard and then by position.
 * A tensor that is also in another shard is refused, because either may be the
 * right one. */
static ssq_status index_merge(struct index *x)
{
    ssq_safetensors *f = x->f;
    f->entry = mem_alloc_array(x->n, sizeof(*f->entry));
    if (f->entry == NULL)
        return error_nomem(f->what, x->n * sizeof(*f->entry));
    for (size_t s = 0; s < f->shards; s++)
        for (size_t i = 0; i < f->shard[s]->n; i++) {
            const struct safetensors_entry *e = &f->shard[s]->entry[i];
            const struct placed *p = index_place_of(x, e->name);
            if (p == NULL)
                continue;
            if (strcmp(p->shard, x->shard[s]) != 0)
                return error_set(SSQ_ERR_INVALID,
                                 "%s: %.300s: tensor \"%.100s\" is in %.100s "
                                 "and in %.100s",
                                 f->what, f->path, e->name, p->shard,
                                 x->shard[s]);
            f->entry[f->n++] = *e;
        }
    return names_order(f);
}

static void compare_total(const struct index *x)
{
    const ssq_safetensors *f = x->f;
    double bytes = 0.0;
    for (size_t i = 0; i < f->n; i++)
        bytes += (double)f->entry[i].bytes;
    if (x->total >= 0.0 && x->total != bytes)
        log_line(SSQ_LOG_INFO, "checkpoint",
                 "%s: %.300s: total_size is %.0f, and its tensors have %.0f "
                 "bytes",
                 f->what, f->path, x->total, bytes);
}

/* ---- opening ---- */

/* Return whether a file with these first bytes is JSON. They cannot be the
 * length of a valid header: its upper bytes would be 0, and a text contains no
 * 0. */
static bool index_is(const unsigned char begin[8])
{
    size_t i = 0;
    while (i < 8 && strchr(" \t\r\n", begin[i]) != NULL && begin[i] != '\0')
        i++;
    return i < 8 && begin[i] == '{' &&
           (begin[4] | begin[5] | begin[6] | begin[7]) != 0;
}

/** Size of the first piece of an index that is read. Later pieces are as large
 *  as all pieces before them. */
#define PIECE 65536u

/* Read the next piece of the text to larger memory. Refuses a text that
 * contains a 0. */
static ssq_status read_more(ssq_safetensors *f, size_t bytes)
{
    const size_t at = f->header_bytes;
    char *text = mem_alloc(at + bytes);
    if (text == NULL)
        return error_nomem(f->what, at + bytes);
    if (at > 0)
        memcpy(text, f->header, at);
    mem_free(f->header);
    f->header = text;
    f->header_bytes = at + bytes;
    ssq_status st = disk_read(f->what, f->path, f->fd, at, text + at, bytes);
    const char *zero = st == SSQ_OK ? memchr(text + at, 0, bytes) : NULL;
    return zero == NULL ? st
                        : error_set(SSQ_ERR_INVALID,
                                    "%s: %.300s: byte %zu of the index is 0",
                                    f->what, f->path, (size_t)(zero - text));
}

/* Read the text in growing pieces. A sparse file contains a 0, so it is refused
 * before much memory is allocated. */
static ssq_status read_text(ssq_safetensors *f, size_t size)
{
    ssq_status st = SSQ_OK;
    while (st == SSQ_OK && f->header_bytes < size) {
        const size_t left = size - f->header_bytes;
        const size_t more = f->header_bytes > PIECE ? f->header_bytes : PIECE;
        st = read_more(f, more < left ? more : left);
    }
    return st;
}

static ssq_status index_read(ssq_safetensors *f, uint64_t size)
{
    struct index x = {.f = f, .total = -1.0};
    if (size > HEADER_MOST)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s: an index of %llu bytes, expected at most "
                         "%u",
                         f->what, f->path, (unsigned long long)size,
                         HEADER_MOST);
    ssq_status st = read_text(f, (size_t)size);
    if (st == SSQ_OK)
        st = index_parse(&x);
    if (st == SSQ_OK)
        st = list_shards(&x);
    if (st == SSQ_OK)
        st = open_shards(&x);
    if (st == SSQ_OK)
        st = index_check_places(&x);
    if (st == SSQ_OK)
        st = index_merge(&x);
    if (st == SSQ_OK)
        compare_total(&x);
    mem_free(x.map);
    mem_free(x.shard);
    return st;
}

ssq_status file_open(const char *what, const char *path, ssq_safetensors **file)
{
    ssq_safetensors *f = NULL;
    unsigned char begin[8];
    uint64_t size;
    ssq_status st = file_begin(what, path, &f, &size, begin);
    if (st == SSQ_OK)
        st =
            index_is(begin) ? index_read(f, size) : file_header(f, size, begin);
    if (st == SSQ_OK)
        *file = f;
    else
        ssq_safetensors_close(&f);
    return st;
}

ssq_status ssq_safetensors_open(const char *path, ssq_safetensors **file)
{
    static const char what[] = "safetensors_open";
    ssq_status st = disk_path_check(what, path);
    if (st == SSQ_OK && file == NULL)
        st = error_set(SSQ_ERR_INVALID, "%s: file is NULL", what);
    return st == SSQ_OK ? file_open(what, path, file) : st;
}
