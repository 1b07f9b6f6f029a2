/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - write a header, followed by the bytes of tensors.
 *
 * Digests are known only after all bytes have been written. Until then their
 * digits are zeros. The header is then written a second time. */
#include "lib/checkpoint/write.h"

#include "lib/checkpoint/disk.h"
#include "lib/checkpoint/json.h"
#include "lib/checkpoint/values.h"
#include "lib/core/queue/queue.h"

#include <stdio.h>
#include <string.h>

void writing_begin(struct writing *w, const char *what, ssq_queue *queue)
{
    *w = (struct writing){.what = what, .queue = queue};
    w->items_end = &w->items;
    w->notes_end = &w->notes;
    crc64_begin(&w->crc);
}

void writing_free(struct writing *w)
{
    for (struct item *i = w->items, *next; i != NULL; i = next) {
        next = i->next;
        mem_free(i->name);
        mem_free(i->bytes);
        mem_free(i);
    }
    for (struct note *i = w->notes, *next; i != NULL; i = next) {
        next = i->next;
        mem_free(i->key);
        mem_free(i->text);
        mem_free(i);
    }
    names_free(&w->names);
    w->items = NULL;
    w->notes = NULL;
}

/* ---- items and notes ---- */

static char *write_joined(const char *prefix, const char *name)
{
    size_t n = strlen(prefix), m = strlen(name);
    char *at = mem_alloc(n + m + 1);
    if (at != NULL) {
        memcpy(at, prefix, n);
        memcpy(at + n, name, m);
    }
    return at;
}

static ssq_status write_check_name(const struct writing *w, const char *name)
{
    for (size_t n = strlen(name), at = 0, k; at < n; at += k) {
        k = utf8_length((const unsigned char *)name + at, n - at);
        if (k == 0)
            return error_set(SSQ_ERR_INVALID,
                             "%s: byte %zu of the name \"%.100s\" is not UTF-8",
                             w->what, at, name);
    }
    if (strcmp(name, "__metadata__") == 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: a tensor cannot be called \"%s\"", w->what, name);
    if (names_find(&w->names, name) != NAME_NONE)
        return error_set(SSQ_ERR_INVALID,
                         "%s: two tensors are called \"%.100s\"", w->what,
                         name);
    return SSQ_OK;
}

/* Append an item with a name and a dtype. The caller must set its other
 * members. */
static ssq_status item_of(struct writing *w, const char *prefix,
                          const char *name, ssq_dtype dtype, struct item **item)
{
    char *whole = write_joined(prefix, name);
    struct item *i = mem_alloc(sizeof(*i));
    ssq_status st = whole != NULL && i != NULL
                        ? write_check_name(w, whole)
                        : error_nomem(w->what, sizeof(*i));
    if (st == SSQ_OK)
        st = names_reserve(&w->names, w->what);
    if (st != SSQ_OK) {
        mem_free(whole);
        mem_free(i);
        return st;
    }
    i->name = whole;
    i->e.name = whole;
    i->e.spelling = *spelling_of_dtype(dtype);
    names_add(&w->names, whole, 0);
    *w->items_end = i;
    w->items_end = &i->next;
    *item = i;
    return SSQ_OK;
}

ssq_status writing_tensor(struct writing *w, const char *prefix,
                          const char *name, const ssq_tensor *tensor)
{
    const struct view *v = &tensor->view;
    struct item *i;
    if (!view_contiguous(v))
        return error_set(SSQ_ERR_INVALID, "%s: \"%.100s\" is not contiguous",
                         w->what, name);
    ssq_status st = item_of(w, prefix, name, v->dtype, &i);
    if (st != SSQ_OK)
        return st;
    i->tensor = tensor;
    i->e.rank = v->rank;
    memcpy(i->e.shape, v->shape, sizeof(i->e.shape));
    i->e.bytes = (uint64_t)view_elements(v) * dtype_bytes(v->dtype);
    return SSQ_OK;
}

ssq_status writing_values(struct writing *w, const char *prefix,
                          const char *name, ssq_dtype dtype, int rank,
                          const int64_t *shape, item_values *values,
                          const void *user)
{
    struct item *i;
    ssq_status st = item_of(w, prefix, name, dtype, &i);
    if (st != SSQ_OK)
        return st;
    i->values = values;
    i->user = user;
    i->e.rank = rank;
    i->e.bytes = i->e.spelling.bytes;
    for (int k = 0; k < rank; k++) {
        i->e.shape[k] = shape[k];
        i->e.bytes *= (uint64_t)shape[k];
    }
    return SSQ_OK;
}

ssq_status writing_bytes(struct writing *w, const char *name, ssq_dtype dtype,
                         size_t n, const void *host)
{
    struct item *i;
    ssq_status st = item_of(w, "", name, dtype, &i);
    if (st != SSQ_OK)
        return st;
    i->e.rank = 1;
    i->e.shape[0] = (int64_t)n;
    i->e.bytes = n * i->e.spelling.bytes;
    i->bytes = mem_alloc_array(n, i->e.spelling.bytes);
    if (i->bytes == NULL)
        return error_nomem(w->what, n);
    memcpy(i->bytes, host, (size_t)i->e.bytes);
    values_little(i->bytes, (size_t)i->e.bytes, i->e.spelling.bytes);
    return SSQ_OK;
}

ssq_status writing_note(struct writing *w, const char *prefix, const char *key,
                        const char *text)
{
    struct note *n = mem_alloc(sizeof(*n));
    if (n == NULL)
        return error_nomem(w->what, sizeof(*n));
    *w->notes_end = n;
    w->notes_end = &n->next;
    n->key = write_joined(prefix, key);
    n->text = mem_strdup(text);
    return n->key != NULL && n->text != NULL ? SSQ_OK
                                             : error_nomem(w->what, sizeof(*n));
}

/* ---- the header ---- */

struct head_text {
    char *at; /* NULL: bytes are only counted */
    size_t n;
};

static void write_put(struct head_text *t, const char *bytes, size_t n)
{
    if (t->at != NULL)
        memcpy(t->at + t->n, bytes, n);
    t->n += n;
}

static void put_text(struct head_text *t, const char *s)
{
    write_put(t, s, strlen(s));
}

static void put_number(struct head_text *t, uint64_t x)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%llu", (unsigned long long)x);
    put_text(t, digits);
}

/* Append a string in JSON's syntax, without quotes. */
static void put_escaped(struct head_text *t, const char *s)
{
    for (; *s != '\0'; s++) {
        char escape[8];
        if (*s == '"' || *s == '\\')
            snprintf(escape, sizeof(escape), "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            snprintf(escape, sizeof(escape), "\\u%04x", (unsigned char)*s);
        else
            snprintf(escape, sizeof(escape), "%c", *s);
        put_text(t, escape);
    }
}

static void put_metadata(struct writing *w, struct head_text *t)
{
    put_text(t, HEADER_BEGIN "0000000000000000\",\"format\":\"pt\"");
    for (const struct note *n = w->notes; n != NULL; n = n->next) {
        put_text(t, ",\"");
        put_escaped(t, n->key);
        put_text(t, "\":\"");
        put_escaped(t, n->text);
        put_text(t, "\"");
    }
    for (struct item *i = w->items; i != NULL; i = i->next) {
        put_text(t, ",\"" DIGEST_KEY);
        put_escaped(t, i->e.name);
        put_text(t, "\":\"");
        i->digits = t->n;
        put_text(t, "0000000000000000\"");
    }
    put_text(t, "}");
}

/* Write the header. It ends with spaces, so that the data begin at a multiple
 * of 8 bytes. */
static void put_header(struct writing *w, struct head_text *t)
{
    put_metadata(w, t);
    for (const struct item *i = w->items; i != NULL; i = i->next) {
        put_text(t, ",\"");
        put_escaped(t, i->e.name);
        put_text(t, "\":{\"dtype\":\"");
        put_text(t, i->e.spelling.text);
        put_text(t, "\",\"shape\":[");
        for (int k = 0; k < i->e.rank; k++) {
            put_text(t, k > 0 ? "," : "");
            put_number(t, (uint64_t)i->e.shape[k]);
        }
        put_text(t, "],\"data_offsets\":[");
        put_number(t, i->e.begin);
        put_text(t, ",");
        put_number(t, i->e.begin + i->e.bytes);
        put_text(t, "]}");
    }
    put_text(t, "}");
    while (t->n % 8 != 0)
        put_text(t, " ");
}

/* Place larger elements first, so that each tensor is aligned for readers that
 * map the file. */
static void write_place(struct writing *w)
{
    uint64_t at = 0;
    for (unsigned size = 8; size > 0; size /= 2)
        for (struct item *i = w->items; i != NULL; i = i->next)
            if (i->e.spelling.bytes == size) {
                i->e.begin = at;
                at += i->e.bytes;
            }
}

/* ---- bytes ---- */

static ssq_status write_ask(struct writing *w, struct item *i,
                            const ssq_tensor **values, ssq_tensor **made)
{
    i->asked = true;
    return i->values(i->user, w->queue, values, made);
}

ssq_status writing_ask(struct writing *w)
{
    ssq_status st = SSQ_OK;
    for (struct item *i = w->items; i != NULL; i = i->next) {
        const ssq_tensor *values = NULL;
        ssq_tensor *made = NULL;
        if (i->values == NULL || i->asked || i->e.bytes == 0)
            continue;
        ssq_status one = write_ask(w, i, &values, &made);
        st = st == SSQ_OK ? one : st;
        ssq_tensor_destroy(&made);
    }
    return st;
}

void writing_rest(struct writing *w)
{
    char text[ERROR_TEXT];
    (void)snprintf(text, sizeof(text), "%s", ssq_last_error());
    (void)writing_ask(w);
    (void)error_set(SSQ_ERR_INVALID, "%s", text); /* only the text matters */
}

static ssq_status write_item(struct writing *w, struct replacement *r,
                             struct item *i, uint64_t data,
                             unsigned char *chunk)
{
    size_t element = i->e.spelling.bytes;
    const ssq_tensor *tensor = i->tensor;
    ssq_tensor *made = NULL;
    ssq_status st = SSQ_OK;
    if (i->values != NULL && i->e.bytes > 0)
        st = write_ask(w, i, &tensor, &made);
    i->sum = digest_begin(&w->crc, &i->e);
    for (uint64_t at = 0; at < i->e.bytes && st == SSQ_OK; at += CHUNK) {
        uint64_t left = i->e.bytes - at;
        size_t n = left < CHUNK ? (size_t)left : CHUNK;
        const unsigned char *from = chunk;
        if (tensor != NULL) {
            ssq_tensor part = {.view = tensor->view};
            part.view.rank = 1;
            part.view.shape[0] = (int64_t)(n / element);
            part.view.stride[0] = 1;
            part.view.offset += at;
            st = ssq_tensor_read(w->queue, &part, chunk, n, part.view.dtype);
            ssq_status synced = queue_wait(w->queue);
            st = st == SSQ_OK ? synced : st;
            values_little(chunk, n, (unsigned)element);
        } else
            from = i->bytes + at;
        if (st == SSQ_OK)
            st = replacement_write(r, data + i->e.begin + at, from, n);
        i->sum = crc64_add(&w->crc, i->sum, from, n);
    }
    ssq_tensor_destroy(&made);
    return st;
}

static void fill_digests(const struct writing *w, struct head_text *t)
{
    char whole[DIGEST_DIGITS + 1];
    for (const struct item *i = w->items; i != NULL; i = i->next) {
        char digits[DIGEST_DIGITS + 1];
        digest_text(i->sum, digits);
        memcpy(t->at + i->digits, digits, DIGEST_DIGITS);
    }
    digest_text(crc64_add(&w->crc, 0, t->at, t->n), whole);
    memcpy(t->at + sizeof(HEADER_BEGIN) - 1, whole, DIGEST_DIGITS);
}

static ssq_status checkpoint_write_all(struct writing *w, struct replacement *r,
                                       struct head_text *t,
                                       unsigned char *chunk)
{
    unsigned char length[8];
    uint64_t data = sizeof(length) + t->n;
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)t->n >> 8 * i);
    ssq_status st = replacement_write(r, 0, length, sizeof(length));
    if (st == SSQ_OK)
        st = replacement_write(r, sizeof(length), t->at, t->n);
    for (struct item *i = w->items; i != NULL && st == SSQ_OK; i = i->next)
        st = write_item(w, r, i, data, chunk);
    fill_digests(w, t);
    if (st == SSQ_OK)
        st = replacement_write(r, sizeof(length), t->at, t->n);
    return st == SSQ_OK ? replacement_commit(r) : st;
}

ssq_status writing_end(struct writing *w, const char *path)
{
    struct head_text t = {NULL, 0};
    struct replacement r = {.fd = -1};
    write_place(w);
    put_header(w, &t);
    if (t.n > HEADER_MOST)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the header has %zu bytes, which is more than %u",
                         w->what, t.n, HEADER_MOST);
    t.at = mem_alloc(t.n);
    unsigned char *chunk = mem_alloc(CHUNK);
    ssq_status st =
        t.at != NULL && chunk != NULL ? SSQ_OK : error_nomem(w->what, CHUNK);
    if (st == SSQ_OK) {
        t.n = 0;
        put_header(w, &t);
        st = replacement_begin(&r, w->what, path);
    }
    if (st == SSQ_OK)
        st = checkpoint_write_all(w, &r, &t, chunk);
    replacement_end(&r);
    mem_free(t.at);
    mem_free(chunk);
    return st;
}

/* ---- tensors of the caller ---- */

static ssq_status check_write(ssq_queue *queue, const char *what,
                              const char *path, bool lists)
{
    ssq_status st = queue_check(queue, what);
    if (st != SSQ_OK)
        return st;
    st = disk_path_check(what, path);
    if (st != SSQ_OK)
        return st;
    if (!lists)
        return error_set(SSQ_ERR_INVALID, "%s: names or tensors is NULL", what);
    return queue_check_runs(queue, what);
}

ssq_status ssq_safetensors_write(ssq_queue *queue, const char *path, size_t n,
                                 const char *const *names,
                                 const ssq_tensor *const *tensors)
{
    static const char what[] = "safetensors_write";
    struct writing w;
    ssq_status st = check_write(queue, what, path,
                                n == 0 || (names != NULL && tensors != NULL));
    if (st != SSQ_OK)
        return st;
    writing_begin(&w, what, queue);
    for (size_t i = 0; i < n && st == SSQ_OK; i++) {
        if (names[i] == NULL || tensors[i] == NULL)
            st = error_set(SSQ_ERR_INVALID, "%s: %s[%zu] is NULL", what,
                           names[i] == NULL ? "names" : "tensors", i);
        else if (tensors[i]->view.buffer->device != queue->device)
            st = error_set(SSQ_ERR_INVALID,
                           "%s: \"%.100s\" is of another device than the queue",
                           what, names[i]);
        else
            st = writing_tensor(&w, "", names[i], tensors[i]);
    }
    if (st == SSQ_OK)
        st = writing_end(&w, path);
    writing_free(&w);
    return st;
}
