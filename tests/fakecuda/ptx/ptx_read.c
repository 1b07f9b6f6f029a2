/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_read.c - the words of a PTX text, and what its names represent. */
#include "tests/fakecuda/ptx/ptx_read.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void ptx_refuse(struct reader *r, const char *format, ...)
{
    char line[128] = "";
    va_list args;
    int n;

    ptx_line(r->m, r->line, line, sizeof(line));
    n = snprintf(r->why, r->why_bytes, "ptx: line %u \"%s\": ", r->line, line);
    va_start(args, format);
    if (n >= 0 && (size_t)n < r->why_bytes)
        vsnprintf(r->why + n, r->why_bytes - (size_t)n, format, args);
    va_end(args);
    longjmp(r->out, 1);
}

void *ptx_grown(struct reader *r, void *p, uint32_t n, uint32_t *room,
                size_t each)
{
    uint32_t more = *room == 0 ? 64 : 2 * *room;
    void *q;

    if (n < *room)
        return p;
    q = realloc(p, more * each);
    if (q == NULL)
        ptx_refuse(r, "no memory");
    *room = more;
    return q;
}

static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%' ||
           c == '.';
}

/* Past blanks and comments. */
static void skip(struct reader *r)
{
    for (;; r->p++) {
        if (r->p[0] == '/' && r->p[1] == '/')
            r->p += strcspn(r->p, "\n");
        if (*r->p == '\n')
            r->line++;
        else if (*r->p != ' ' && *r->p != '\t' && *r->p != '\r')
            return;
    }
}

const char *ptx_next(struct reader *r)
{
    size_t n;

    skip(r);
    n = *r->p != '\0';
    if (*r->p == '"')
        n = 1 + strcspn(r->p + 1, "\"\n");
    else if (n > 0 && in_name(*r->p))
        while (in_name(r->p[n]))
            n++;
    if (*r->p == '"' && r->p[n] == '"')
        n++;
    if (n >= sizeof(r->token))
        ptx_refuse(r, "a word of %zu characters", n);
    memcpy(r->token, r->p, n);
    r->token[n] = '\0';
    r->p += n;
    return r->token;
}

bool ptx_is(const struct reader *r, const char *s)
{
    return strcmp(r->token, s) == 0;
}

void ptx_expect(struct reader *r, const char *s)
{
    if (!ptx_is(r, s))
        ptx_refuse(r, "\"%s\" where \"%s\" was expected", r->token, s);
    ptx_next(r);
}

void ptx_skip_to(struct reader *r, const char *s)
{
    while (!ptx_is(r, s) && r->token[0] != '\0')
        ptx_next(r);
}

void ptx_go(struct reader *r, const char *p, uint32_t line)
{
    r->p = p;
    r->line = line;
    ptx_next(r);
}

struct place ptx_place(const struct reader *r)
{
    struct place at = {.p = r->p, .line = r->line};

    memcpy(at.token, r->token, sizeof(at.token));
    return at;
}

void ptx_back(struct reader *r, const struct place *at)
{
    r->p = at->p;
    r->line = at->line;
    memcpy(r->token, at->token, sizeof(r->token));
}

/* Also 0f3F800000, a float32's bits. */
int64_t ptx_number(struct reader *r)
{
    bool minus = ptx_is(r, "-");
    const char *t;
    char *end;
    bool bits;
    uint64_t v;

    if (minus)
        ptx_next(r);
    t = r->token;
    if (*t < '0' || *t > '9')
        ptx_refuse(r, "\"%s\" where a number was expected", t);
    if (t[0] == '0' && (t[1] == 'd' || t[1] == 'D'))
        ptx_refuse(r, "%s: float64 is not supported", t);
    bits = t[0] == '0' && (t[1] == 'f' || t[1] == 'F') && strlen(t) == 10;
    v = strtoull(bits ? t + 2 : t, &end, bits ? 16 : 0);
    if (*end != '\0' && strcmp(end, "U") != 0)
        ptx_refuse(r, "\"%s\" where a number was expected", t);
    ptx_next(r);
    return (int64_t)(minus ? 0 - v : v);
}

uint32_t ptx_type_bytes(struct reader *r, const char *type)
{
    unsigned long n;

    if (strcmp(type, ".pred") == 0)
        return 1;
    n = strlen(type) > 2 ? strtoul(type + 2, NULL, 10) : 0;
    if (n != 8 && n != 16 && n != 32 && n != 64)
        ptx_refuse(r, "\"%s\" where a type was expected", type);
    return (uint32_t)n / 8;
}

uint32_t ptx_variable(struct reader *r, uint32_t *align, char *name,
                      size_t room)
{
    uint64_t bytes = 0;

    *align = 1;
    while (r->token[0] == '.') {
        if (ptx_is(r, ".align")) {
            ptx_next(r);
            *align = (uint32_t)ptx_number(r);
            continue;
        }
        if (bytes == 0)
            bytes = ptx_type_bytes(r, r->token);
        ptx_next(r);
    }
    if (*align < bytes)
        *align = (uint32_t)bytes;
    if ((*align & (*align - 1)) != 0 || bytes == 0 || strlen(r->token) >= room)
        ptx_refuse(r, "\"%s\" where a variable was expected", r->token);
    memcpy(name, r->token, strlen(r->token) + 1);
    ptx_next(r);
    while (ptx_is(r, "[")) {
        ptx_next(r);
        bytes *= (uint32_t)ptx_number(r);
        if (bytes > UINT32_C(1) << 24)
            ptx_refuse(r, "%s: too large", name);
        ptx_expect(r, "]");
    }
    return (uint32_t)bytes;
}

struct symbol *ptx_declare(struct reader *r, const char *name, enum space space,
                           uint32_t at, uint32_t count)
{
    struct symbol *s;

    r->symbol = ptx_grown(r, r->symbol, r->nsymbols, &r->symbol_room,
                          sizeof(*r->symbol));
    s = &r->symbol[r->nsymbols];
    if (strlen(name) >= sizeof(s->name))
        ptx_refuse(r, "a name of %zu characters", strlen(name));
    r->nsymbols++;
    memcpy(s->name, name, strlen(name) + 1);
    s->space = space;
    s->at = at;
    s->count = count;
    return s;
}

const struct symbol *ptx_symbol(const struct reader *r, const char *name,
                                uint32_t *i)
{
    size_t n = strlen(name), stem = n;

    while (stem > 0 && name[stem - 1] >= '0' && name[stem - 1] <= '9')
        stem--;
    *i = stem < n ? (uint32_t)strtoul(name + stem, NULL, 10) : 0;
    for (uint32_t k = r->nsymbols; k-- > 0;) {
        const struct symbol *s = &r->symbol[k];

        if (s->count > 0 && *i < s->count &&
            strncmp(s->name, name, stem) == 0 && s->name[stem] == '\0')
            return s;
        if (s->count == 0 && strcmp(s->name, name) == 0) {
            *i = 0;
            return s;
        }
    }
    return NULL;
}
