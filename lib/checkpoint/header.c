/* SPDX-License-Identifier: Apache-2.0 */
/* header.c - parse the header of a safetensors file. */
#include "lib/checkpoint/json.h"
#include "lib/checkpoint/safetensors.h"
#include "lib/core/base/object.h"
#include "lib/core/base/size.h"

#include <stdio.h>
#include <string.h>

static const struct spelling spellings[] = {{"F32", SSQ_F32, 32, 4},
                                            {"F16", SSQ_F16, 16, 2},
                                            {"BF16", SSQ_BF16, 16, 2},
                                            {"I32", SSQ_I32, 32, 4},
                                            {"U8", SSQ_U8, 8, 1},
                                            {"BOOL", SSQ_BOOL, 8, 1},
                                            {"I8", SSQ_I8, 8, 1},
                                            {"I64", SSQ_I64, 64, 8},
                                            {"U32", SSQ_U32, 32, 4},
                                            {"F64", SSQ_F64, 64, 8},
                                            {"I16", SSQ_I16, 16, 2},
                                            {"U16", SSQ_U16, 16, 2},
                                            {"U64", NO_DTYPE, 64, 8},
                                            {"F8_E4M3", NO_DTYPE, 8, 1},
                                            {"F8_E5M2", NO_DTYPE, 8, 1},
                                            {"F8_E8M0", NO_DTYPE, 8, 1},
                                            {"F8_E4M3FNUZ", NO_DTYPE, 8, 1},
                                            {"F8_E5M2FNUZ", NO_DTYPE, 8, 1},
                                            {"F6_E2M3", NO_DTYPE, 6, 0},
                                            {"F6_E3M2", NO_DTYPE, 6, 0},
                                            {"F4", NO_DTYPE, 4, 0},
                                            {"C64", NO_DTYPE, 64, 8}};
#define SPELLINGS (sizeof(spellings) / sizeof(spellings[0]))

const struct spelling *spelling_of(const char *text)
{
    for (size_t i = 0; i < SPELLINGS; i++)
        if (strcmp(spellings[i].text, text) == 0)
            return &spellings[i];
    return NULL;
}

const struct spelling *spelling_of_dtype(ssq_dtype dtype)
{
    for (size_t i = 0; i < SPELLINGS; i++)
        if (dtype != NO_DTYPE && spellings[i].dtype == dtype)
            return &spellings[i];
    return NULL;
}

const char *shape_text(int rank, const int64_t *shape, char *buf, size_t bytes)
{
    size_t at = (size_t)snprintf(buf, bytes, "[");
    for (int i = 0; i < rank && i < SSQ_MAX_RANK && at + 24 < bytes; i++)
        at += (size_t)snprintf(buf + at, bytes - at, i > 0 ? ",%lld" : "%lld",
                               (long long)shape[i]);
    snprintf(buf + at, bytes - at, rank > SSQ_MAX_RANK ? ",..]" : "]");
    return buf;
}

/* ---- lists that grow ---- */

/* Make room for one more element in a list of n. All elements come from the
 * file's header, so the list needs at most a few times the header's size. */
ssq_status list_grow(const char *what, void **list, size_t n, size_t *room,
                     size_t size)
{
    if (n < *room)
        return SSQ_OK;
    size_t more = *room == 0 ? 16 : 2 * *room;
    void *at = mem_alloc_array(more, size);
    if (at == NULL)
        return error_nomem(what, more * size);
    if (n > 0)
        memcpy(at, *list, n * size);
    mem_free(*list);
    *list = at;
    *room = more;
    return SSQ_OK;
}

/* ---- a tensor ---- */

struct description {
    char *dtype;
    uint64_t from, to;
    uint64_t elements;
    bool has_shape, has_range, overflows;
};

static ssq_status header_bad(const ssq_safetensors *f,
                             const struct safetensors_entry *e,
                             const char *says, unsigned long long a,
                             unsigned long long b)
{
    char text[200];
    snprintf(text, sizeof(text), says, a, b);
    return error_set(SSQ_ERR_INVALID, "%s: %.300s: tensor \"%.100s\" %s",
                     f->what, f->path, e->name, text);
}

/* Dimensions are multiplied in order, as other readers do: an overflow is an
 * error even if a later dimension is 0. */
static ssq_status shape(ssq_safetensors *f, struct json *j,
                        struct safetensors_entry *e, struct description *d)
{
    d->elements = 1;
    ssq_status st = json_take(j, '[');
    bool more = !json_is(j, ']');
    if (st == SSQ_OK && !more)
        return json_take(j, ']');
    while (st == SSQ_OK && more) {
        uint64_t size = 0;
        st = json_number(j, &size);
        if (st == SSQ_OK && size > INT64_MAX)
            return header_bad(f, e, "has a dimension of %llu", size, 0);
        if (st != SSQ_OK)
            return st;
        if (e->rank < SSQ_MAX_RANK)
            e->shape[e->rank] = (int64_t)size;
        e->rank++;
        d->overflows =
            d->overflows || !size_mul(d->elements, size, &d->elements);
        st = json_more(j, ']', &more);
    }
    return st;
}

static ssq_status header_range(struct json *j, struct description *d)
{
    ssq_status st = json_take(j, '[');
    if (st == SSQ_OK)
        st = json_number(j, &d->from);
    if (st == SSQ_OK)
        st = json_take(j, ',');
    if (st == SSQ_OK)
        st = json_number(j, &d->to);
    return st == SSQ_OK ? json_take(j, ']') : st;
}

/* Parse one member of a tensor's description. Each member may occur once. */
static ssq_status member(ssq_safetensors *f, struct json *j,
                         struct safetensors_entry *e, struct description *d)
{
    char *key;
    ssq_status st = json_string(j, &key);
    if (st == SSQ_OK)
        st = json_take(j, ':');
    if (st != SSQ_OK)
        return st;
    bool twice = false;
    if (strcmp(key, "dtype") == 0) {
        twice = d->dtype != NULL;
        st = json_string(j, &d->dtype);
    } else if (strcmp(key, "shape") == 0) {
        twice = d->has_shape;
        d->has_shape = true;
        st = twice ? st : shape(f, j, e, d);
    } else if (strcmp(key, "data_offsets") == 0) {
        twice = d->has_range;
        d->has_range = true;
        st = header_range(j, d);
    } else {
        st = json_skip(j); /* a member of a later version */
    }
    if (st == SSQ_OK && twice)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s: tensor \"%.100s\" has two \"%.40s\"",
                         f->what, f->path, e->name, key);
    return st;
}

/* Return the spelling of a dtype. A tensor whose dtype is not in the table is
 * listed, but cannot be read. */
static struct spelling spelled(char *text)
{
    const struct spelling *known = spelling_of(text);
    return known != NULL ? *known : (struct spelling){text, NO_DTYPE, 0, 0};
}

static ssq_status header_tensor_check(ssq_safetensors *f,
                                      struct safetensors_entry *e,
                                      const struct description *d,
                                      uint64_t data)
{
    char text[200];
    uint64_t bits, has = d->to - d->from;
    if (d->dtype == NULL || !d->has_shape || !d->has_range)
        return header_bad(f, e,
                          d->dtype == NULL ? "has no dtype"
                          : d->has_shape   ? "has no data_offsets"
                                           : "has no shape",
                          0, 0);
    e->spelling = spelled(d->dtype);
    if (d->from > d->to || d->to > data)
        return header_bad(f, e,
                          d->from > d->to ? "has bytes %llu to %llu"
                                          : "ends at byte %llu of %llu",
                          d->from > d->to ? d->from : d->to,
                          d->from > d->to ? d->to : data);
    shape_text(e->rank, e->shape, text, sizeof(text));
    if (d->overflows || !size_mul(d->elements, e->spelling.bits, &bits) ||
        bits / 8 > INT64_MAX)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s: tensor \"%.100s\" of %s overflows",
                         f->what, f->path, e->name, text);
    bool whole = bits % 8 == 0;
    if (e->spelling.bits > 0 && (!whole || bits / 8 != has))
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s: tensor \"%.100s\" of %s %s needs %llu "
                         "%s, and has %llu bytes",
                         f->what, f->path, e->name, e->spelling.text, text,
                         (unsigned long long)(whole ? bits / 8 : bits),
                         whole ? "bytes" : "bits", (unsigned long long)has);
    e->begin = d->from;
    e->bytes = has;
    return SSQ_OK;
}

static ssq_status header_tensor(ssq_safetensors *f, struct json *j,
                                const char *name, uint64_t data)
{
    struct description d = {0};
    void *list = f->entry;
    ssq_status st =
        list_grow(f->what, &list, f->n, &f->room, sizeof(*f->entry));
    f->entry = list;
    if (st != SSQ_OK)
        return st;
    struct safetensors_entry *e = &f->entry[f->n];
    *e = (struct safetensors_entry){.name = name, .in = f};
    st = json_take(j, '{');
    bool more = st == SSQ_OK && !json_is(j, '}');
    if (st == SSQ_OK && !more)
        st = json_take(j, '}');
    while (st == SSQ_OK && more) {
        st = member(f, j, e, &d);
        if (st == SSQ_OK)
            st = json_more(j, '}', &more);
    }
    if (st == SSQ_OK)
        st = header_tensor_check(f, e, &d, data);
    if (st == SSQ_OK)
        f->n++;
    return st;
}

/* ---- the header ---- */

static ssq_status metadata(ssq_safetensors *f, struct json *j)
{
    if (json_is(j, 'n')) /* null means no metadata */
        return json_skip(j);
    ssq_status st = json_take(j, '{');
    bool more = st == SSQ_OK && !json_is(j, '}');
    if (st == SSQ_OK && !more)
        st = json_take(j, '}');
    while (st == SSQ_OK && more) {
        char *key = NULL, *text = NULL;
        st = json_string(j, &key);
        if (st == SSQ_OK)
            st = json_take(j, ':');
        if (st == SSQ_OK)
            st = json_string(j, &text);
        if (st == SSQ_OK)
            st = json_more(j, '}', &more);
        void *list = f->meta;
        if (st == SSQ_OK)
            st = list_grow(f->what, &list, f->metas, &f->metas_room,
                           sizeof(*f->meta));
        f->meta = list;
        if (st == SSQ_OK)
            f->meta[f->metas++] = (struct metadata){key, text};
    }
    return st;
}

ssq_status header_parse(ssq_safetensors *f, size_t bytes, uint64_t data)
{
    unsigned char *text = (unsigned char *)f->header;
    struct json j = {text, text, text + bytes, f->what, f->path};
    bool has_metadata = false;
    ssq_status st = json_take(&j, '{');
    bool more = st == SSQ_OK && !json_is(&j, '}');
    if (st == SSQ_OK && !more)
        st = json_take(&j, '}');
    while (st == SSQ_OK && more) {
        char *name = NULL;
        st = json_string(&j, &name);
        if (st == SSQ_OK)
            st = json_take(&j, ':');
        if (st != SSQ_OK)
            return st;
        if (strcmp(name, "__metadata__") != 0)
            st = header_tensor(f, &j, name, data);
        else if (!has_metadata)
            st = metadata(f, &j);
        else
            st = error_set(SSQ_ERR_INVALID,
                           "%s: %.300s: there are two \"__metadata__\"",
                           f->what, f->path);
        has_metadata = has_metadata || strcmp(name, "__metadata__") == 0;
        if (st == SSQ_OK)
            st = json_more(&j, '}', &more);
    }
    return st == SSQ_OK ? json_done(&j) : st;
}
