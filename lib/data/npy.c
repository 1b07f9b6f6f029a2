/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c - the format of NumPy, versions 1 to 3: a header that is a dict of
 * Python with the keys descr, fortran_order and shape, and the values.
 * https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#include "lib/data/array.h"

#include <string.h>

#define MAGIC "\x93NUMPY"

bool npy_is(const struct contents *c)
{
    return c->n >= 10 && memcmp(c->data, MAGIC, sizeof(MAGIC) - 1) == 0;
}

/* The header, and what was found in it. */
struct npy_header {
    const char *at, *end;
    char descr[32];
    bool structured; /* descr is a list of fields */
    bool has_descr, has_order, has_shape, columns;
    int rank; /* may be more than SSQ_MAX_RANK */
    int64_t shape[SSQ_MAX_RANK];
};

static void npy_skip(struct npy_header *h)
{
    while (h->at < h->end && *h->at != '\0' &&
           strchr(" \t\n\r", *h->at) != NULL)
        h->at++;
}

/* Skip blanks and this character. */
static bool npy_take(struct npy_header *h, char c)
{
    npy_skip(h);
    if (h->at == h->end || *h->at != c)
        return false;
    h->at++;
    return true;
}

/* Skip blanks and this word. */
static bool npy_take_word(struct npy_header *h, const char *word)
{
    size_t n = strlen(word);
    npy_skip(h);
    if ((size_t)(h->end - h->at) < n || memcmp(h->at, word, n) != 0)
        return false;
    h->at += n;
    return true;
}

static bool take_text(struct npy_header *h, char *text, size_t bytes)
{
    size_t n = 0;
    npy_skip(h);
    if (h->at == h->end || (*h->at != '\'' && *h->at != '"'))
        return false;
    const char quote = *h->at++;
    while (h->at < h->end && *h->at != quote) {
        if (n + 1 == bytes)
            return false;
        text[n++] = *h->at++;
    }
    text[n] = '\0';
    return npy_take(h, quote);
}

static bool take_size(struct npy_header *h, int64_t *size)
{
    int64_t n = 0;
    npy_skip(h);
    const char *first = h->at;
    for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++) {
        if (n > INT64_MAX / 16)
            return false;
        n = 10 * n + (*h->at - '0');
    }
    *size = n;
    return h->at > first;
}

/* "(2, 3)", "(2,)" or "()" */
static bool take_shape(struct npy_header *h)
{
    h->rank = 0;
    if (!npy_take(h, '('))
        return false;
    while (!npy_take(h, ')')) {
        int64_t size;
        if (!take_size(h, &size))
            return false;
        if (h->rank < SSQ_MAX_RANK)
            h->shape[h->rank] = size;
        h->rank++;
        if (!npy_take(h, ',') && (h->at == h->end || *h->at != ')'))
            return false;
    }
    return true;
}

static bool take_entry(struct npy_header *h)
{
    char key[16];
    if (!take_text(h, key, sizeof(key)) || !npy_take(h, ':'))
        return false;
    if (strcmp(key, "descr") == 0 && npy_take(h, '[')) {
        h->structured = true;
        return false;
    }
    if (strcmp(key, "descr") == 0)
        return h->has_descr = take_text(h, h->descr, sizeof(h->descr));
    if (strcmp(key, "shape") == 0)
        return h->has_shape = take_shape(h);
    if (strcmp(key, "fortran_order") != 0)
        return false;
    h->columns = npy_take_word(h, "True");
    return h->has_order = h->columns || npy_take_word(h, "False");
}

static bool npy_parse(struct npy_header *h)
{
    if (!npy_take(h, '{'))
        return false;
    while (!npy_take(h, '}')) {
        if (!take_entry(h))
            return false;
        if (!npy_take(h, ',') && (h->at == h->end || *h->at != '}'))
            return false;
    }
    return h->has_descr && h->has_order && h->has_shape;
}

static ssq_dtype npy_dtype_of(const char *descr)
{
    static const struct {
        const char *name;
        ssq_dtype dtype;
    } known[] = {{"f4", SSQ_F32}, {"f2", SSQ_F16}, {"f8", SSQ_F64},
                 {"i4", SSQ_I32}, {"i8", SSQ_I64}, {"i2", SSQ_I16},
                 {"i1", SSQ_I8},  {"u1", SSQ_U8},  {"u2", SSQ_U16},
                 {"u4", SSQ_U32}, {"b1", SSQ_BOOL}};
    if (descr[0] == '\0' || strchr("<>|=", descr[0]) == NULL)
        return (ssq_dtype)0;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(descr + 1, known[i].name) == 0)
            return known[i].dtype;
    return (ssq_dtype)0;
}

/* Find the header: *values is where it ends. */
static bool npy_find(const struct contents *c, struct npy_header *h,
                     size_t *values)
{
    const unsigned char *p = c->data + 8;
    const bool wide = c->data[6] > 1;
    if (c->data[6] < 1 || c->data[6] > 3 || c->n < 12)
        return false;
    const size_t first = wide ? 12 : 10;
    size_t n = p[0] | (size_t)p[1] << 8;
    if (wide)
        n |= (size_t)p[2] << 16 | (size_t)p[3] << 24;
    if (n > c->n - first)
        return false;
    h->at = (const char *)c->data + first;
    h->end = h->at + n;
    *values = first + n;
    return npy_parse(h);
}

static ssq_status check_bools(const struct contents *c, const ssq_array *a)
{
    const unsigned char *p = a->data;
    for (uint64_t i = 0; i < a->bytes; i++)
        if (p[i] > 1)
            return error_set(SSQ_ERR_INVALID,
                             "array_read: %s: bool %llu is %u, expected 0 or 1",
                             c->path, (unsigned long long)i, (unsigned)p[i]);
    return SSQ_OK;
}

ssq_status npy_read(const struct contents *c, ssq_array **array)
{
    struct npy_header h = {.rank = 0};
    size_t values;
    const bool valid = npy_find(c, &h, &values);
    if (h.structured)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "array_read: %s: its dtype has fields", c->path);
    if (!valid)
        return error_set(SSQ_ERR_INVALID,
                         "array_read: %s: its NPY header is not valid",
                         c->path);
    const ssq_dtype dtype = npy_dtype_of(h.descr);
    if (dtype == 0)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "array_read: %s: its dtype is '%s'", c->path, h.descr);
    if (h.rank > SSQ_MAX_RANK)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "array_read: %s: it has %d dimensions, at most %d",
                         c->path, h.rank, SSQ_MAX_RANK);
    if (h.columns && h.rank > 1)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "array_read: %s: it is in column-major order: save "
                         "numpy.ascontiguousarray(x)",
                         c->path);
    const bool swap = h.descr[0] == '>'   ? array_little_endian()
                      : h.descr[0] == '<' ? !array_little_endian()
                                          : false;
    ssq_array *a = NULL;
    ssq_status st =
        array_from_file(c, values, dtype, h.rank, h.shape, swap, &a);
    if (st == SSQ_OK && dtype == SSQ_BOOL)
        st = check_bools(c, a);
    if (st == SSQ_OK)
        *array = a;
    else
        ssq_array_destroy(&a);
    return st;
}
