/* SPDX-License-Identifier: Apache-2.0 */
/* case.c - cases as texts of three words, and the case lists of suites. */
#include "tools/bench/bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct bench_family *const bench_families[] = {
    &gemm_family, &memory_family, &optimizer_family,
    &ops_family,  &train_family,  NULL};

static bool case_read_dtype(const char *name, size_t n, ssq_dtype *dtype)
{
    static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        const char *known = ssq_dtype_name(dtypes[i]);
        *dtype = dtypes[i];
        if (strlen(known) == n && memcmp(known, name, n) == 0)
            return true;
    }
    return false;
}

static bool read_dtypes(const char *word, struct bench_case *c)
{
    const char *colon = strchr(word, ':');
    size_t n = colon == NULL ? strlen(word) : (size_t)(colon - word);
    if (!case_read_dtype(word, n, &c->dtype))
        return false;
    c->result = c->dtype;
    return colon == NULL ||
           case_read_dtype(colon + 1, strlen(colon + 1), &c->result);
}

static bool case_read_sizes(const char *word, struct bench_case *c)
{
    for (c->sizes = 0; c->sizes < CASE_SIZES; word++) {
        char *end = NULL;
        errno = 0;
        long long n =
            *word >= '0' && *word <= '9' ? strtoll(word, &end, 10) : 0;
        /* Networks multiply neighbouring sizes, which must not overflow. */
        const int64_t last = c->sizes == 0 ? 1 : c->size[c->sizes - 1];
        if (errno != 0 || n < 1 || n > 1LL << 40 || n > (1LL << 60) / last)
            return false;
        c->size[c->sizes++] = n;
        word = end;
        if (*word != 'x')
            return *word == '\0';
    }
    return false;
}

bool case_read(const char *text, struct bench_case *c)
{
    char dtypes[16], sizes[64], more;
    memset(c, 0, sizeof(*c));
    if (sscanf(text, "%31s %15s %63s %c", c->op, dtypes, sizes, &more) != 3)
        return false;
    snprintf(c->text, sizeof(c->text), "%s %s %s", c->op, dtypes, sizes);
    return read_dtypes(dtypes, c) && case_read_sizes(sizes, c);
}

static size_t case_count(const char *words)
{
    size_t n = 1;
    for (; *words != '\0'; words++)
        n += *words == ' ';
    return n;
}

/* Return word i of a list; *n is its length, for "%.*s". */
static const char *case_word(const char *words, size_t i, int *n)
{
    for (; i > 0; i--)
        words = strchr(words, ' ') + 1;
    *n = (int)strcspn(words, " ");
    return words;
}

bool family_case(const struct bench_family *f, size_t i, struct bench_case *c)
{
    for (const struct bench_grid *g = f->grids; g->ops != NULL; g++) {
        const size_t d = case_count(g->dtypes), s = case_count(g->sizes);
        const size_t all = case_count(g->ops) * d * s;
        if (i < all) {
            char text[128];
            int o, t, z;
            const char *op = case_word(g->ops, i / (d * s), &o);
            const char *dtype = case_word(g->dtypes, i % d, &t);
            const char *size = case_word(g->sizes, i / d % s, &z);
            snprintf(text, sizeof(text), "%.*s %.*s %.*s", o, op, t, dtype, z,
                     size);
            return case_read(text, c);
        }
        i -= all;
    }
    return false;
}
