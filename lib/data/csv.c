/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - lines of numbers. The decimal point is a point in every locale. */
#include "lib/data/array.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a value, with its terminating NUL: the decimal digits of a double
 * are up to 1074, and a message shows the first ones. */
#define LONGEST 1100
#define SHOWN   64

/* Where the reader is: line is for messages, from 1. */
struct csv_place {
    const char *at, *end; /* of the file */
    int64_t line;
};

/* Blanks around values: the separator is none. */
static bool is_blank(char c, char separator)
{
    return c != separator && (c == ' ' || c == '\t' || c == '\r');
}

/* Set *from and *to to the next line, without its end. */
static bool any_line(struct csv_place *p, const char **from, const char **to)
{
    if (p->at == p->end)
        return false;
    const char *end = memchr(p->at, '\n', (size_t)(p->end - p->at));
    *from = p->at;
    *to = end == NULL ? p->end : end;
    p->at = end == NULL ? p->end : end + 1;
    p->line++;
    return true;
}

/* The same for the next line that is not empty. */
static bool next_line(struct csv_place *p, char separator, const char **from,
                      const char **to)
{
    while (any_line(p, from, to)) {
        while (*from < *to && is_blank(**from, separator))
            ++*from;
        if (*from < *to)
            return true;
    }
    return false;
}

/* Cut the next value of a line: without blanks, or false if it is too long.
 * *at becomes NULL after the last one. */
static bool next_value(const char **at, const char *to, char separator,
                       char value[LONGEST], size_t *n)
{
    const char *from = *at, *end = memchr(from, separator, (size_t)(to - from));
    *at = end == NULL ? NULL : end + 1;
    end = end == NULL ? to : end;
    while (from < end && is_blank(*from, separator))
        from++;
    while (end > from && is_blank(end[-1], separator))
        end--;
    if ((size_t)(end - from) >= LONGEST)
        return false;
    *n = (size_t)(end - from);
    memcpy(value, from, *n);
    value[*n] = '\0';
    return true;
}

/* Store a float as element i. A number that overflows is refused; "inf" is not.
 * strtod() also reads hexadecimal numbers: they are refused. */
static bool store_float(ssq_array *a, size_t i, const char *text, size_t n)
{
    char *end;
    double v = strtod(text, &end);
    const double stored = a->dtype == SSQ_F32 ? (double)(float)v : v;
    if (end == text || end != text + n || strpbrk(text, "xX(") != NULL ||
        (isinf(stored) && strpbrk(text, "iI") == NULL))
        return false;
    if (a->dtype == SSQ_F32)
        ((float *)a->data)[i] = (float)v;
    else
        ((double *)a->data)[i] = v;
    return true;
}

/* Store a value of n characters as element i. False: it is not a number, or the
 * dtype cannot hold it. */
static bool csv_store(ssq_array *a, size_t i, const char *text, size_t n)
{
    char *end;
    if (a->dtype == SSQ_F32 || a->dtype == SSQ_F64)
        return store_float(a, i, text, n);
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || end != text + n || errno == ERANGE)
        return false;
    if (a->dtype == SSQ_I64)
        ((int64_t *)a->data)[i] = v;
    else if (v < INT32_MIN || v > INT32_MAX)
        return false;
    else
        ((int32_t *)a->data)[i] = (int32_t)v;
    return true;
}

static ssq_status bad_value(const struct contents *c, const struct csv_place *p,
                            int64_t column, const char *text, ssq_dtype dtype)
{
    char shown[SHOWN];
    size_t n = 0;
    for (; text[n] != '\0' && n + 1 < SHOWN;
         n++) /* printable characters only */
        shown[n] = text[n] >= ' ' && text[n] <= '~' ? text[n] : '?';
    shown[n] = '\0';
    return error_set(SSQ_ERR_INVALID,
                     "array_read: %s, line %lld: value %lld is '%s', which is "
                     "not a number of the dtype %s",
                     c->path, (long long)p->line, (long long)column + 1, shown,
                     ssq_dtype_name(dtype));
}

/* Count the values of a line. */
static int64_t count_values(const char *from, const char *to, char separator)
{
    int64_t n = 1;
    while ((from = memchr(from, separator, (size_t)(to - from))) != NULL) {
        from++;
        n++;
    }
    return n;
}

/* Start after a byte order mark and the lines that are skipped. */
static void csv_begin(struct csv_place *p, const struct contents *c,
                      int64_t skipped)
{
    const char *from, *to;
    const bool mark = c->n >= 3 && memcmp(c->data, "\xef\xbb\xbf", 3) == 0;
    const char *data = (const char *)c->data;
    *p = (struct csv_place){c->n == 0 ? data : data + (mark ? 3 : 0),
                            c->n == 0 ? data : data + c->n, 0};
    while (skipped-- > 0 && any_line(p, &from, &to))
        ;
}

/* Count the lines, and check that all have as many values as the first. So the
 * array is not larger than the values of the file. */
static ssq_status csv_measure(const struct contents *c,
                              const ssq_array_read_args *args, int64_t shape[2])
{
    struct csv_place p;
    const char *from, *to;
    shape[0] = shape[1] = 0;
    for (csv_begin(&p, c, args->skip_rows);
         next_line(&p, args->separator, &from, &to); shape[0]++) {
        int64_t n = count_values(from, to, args->separator);
        if (shape[0] == 0)
            shape[1] = n;
        else if (n != shape[1])
            return error_set(SSQ_ERR_INVALID,
                             "array_read: %s, line %lld: it has %lld values, "
                             "expected %lld as in the first line",
                             c->path, (long long)p.line, (long long)n,
                             (long long)shape[1]);
    }
    return shape[0] > 0
               ? SSQ_OK
               : error_set(SSQ_ERR_INVALID, "array_read: %s: it has no values",
                           c->path);
}

static ssq_status csv_fill(const struct contents *c,
                           const ssq_array_read_args *args, ssq_array *a)
{
    struct csv_place p;
    const char *from, *to;
    char text[LONGEST];
    size_t i = 0, length = 0;
    for (csv_begin(&p, c, args->skip_rows);
         next_line(&p, args->separator, &from, &to);)
        for (int64_t k = 0; k < a->shape[1]; k++) {
            if (!next_value(&from, to, args->separator, text, &length))
                return error_set(SSQ_ERR_INVALID,
                                 "array_read: %s, line %lld: value %lld is "
                                 "longer than %d characters",
                                 c->path, (long long)p.line, (long long)k + 1,
                                 LONGEST - 1);
            if (!csv_store(a, i++, text, length))
                return bad_value(c, &p, k, text, a->dtype);
        }
    return SSQ_OK;
}

ssq_status csv_read(const struct contents *c, const ssq_array_read_args *args,
                    ssq_array **array)
{
    int64_t shape[2];
    ssq_array *a = NULL;
    ssq_status st = csv_measure(c, args, shape);
    if (st == SSQ_OK)
        st = array_create("array_read", args->dtype, 2, shape, &a);
    locale_t plain =
        st == SSQ_OK ? newlocale(LC_ALL_MASK, "C", (locale_t)0) : (locale_t)0;
    if (st == SSQ_OK && plain == (locale_t)0)
        st = error_set(SSQ_ERR_NOMEM, "array_read: no memory for a locale");
    if (st == SSQ_OK) {
        locale_t before = uselocale(plain);
        struct fpenv env = fpenv_enter();
        st = csv_fill(c, args, a);
        fpenv_leave(env);
        uselocale(before);
    }
    if (plain != (locale_t)0)
        freelocale(plain);
    if (st == SSQ_OK)
        *array = a;
    else
        ssq_array_destroy(&a);
    return st;
}
