/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_module.c - a module: which functions a text has, and entries on demand.
 */
#include "tests/fakecuda/ptx/ptx_read.h"

#include <stdio.h>
#include <stdlib.h>

/* What runs on one multiprocessor at a time: the least of all generations. */
#define MULTIPROCESSOR_ITEMS 1024u

/* How the list spells what it computes. */
static const char *const names[] = {
#define X(NAME, VALUE) #NAME,
    PTX_OPS(X)
#undef X
};

static const char *const spaces[] = {
#define X(SPACE) #SPACE,
    PTX_SPACES(X)
#undef X
};

static const char *const types[] = {
#define X(TYPE, C, BYTES) #TYPE,
    PTX_TYPES(X)
#undef X
};

int ptx_op_find(const char *name)
{
    for (int i = 0; i < PTX_OPS_END; i++) {
        const char *a = names[i], *b = name;

        while (*a != '\0' && (*a == *b || (*a == '_' && *b == '.')))
            a++, b++;
        if (*a == '\0' && *b == '\0')
            return i;
    }
    return -1;
}

void ptx_opcodes(const struct ptx_entry *e,
                 void (*see)(const char *name, void *arg), void *arg)
{
    static const char *const others[] = {
        "vector",          "mma.sync",      "ldmatrix.sync", "cp.async",
        "cp.async.commit", "cp.async.wait", "bra",           "@bra",
        "@!bra",           "bar.sync",      "exit"};
    char text[64];

    for (uint32_t k = 0; k < e->n; k++) {
        unsigned op = e->code[k].op;

        if (op < PTX_OPS_END) {
            snprintf(text, sizeof(text), "%s", names[op]);
        } else if (op >= OP_ALIGN) {
            snprintf(text, sizeof(text), "%s", others[op - OP_ALIGN]);
        } else {
            bool load = op < PTX_ST_FIRST;
            unsigned q = op - (load ? PTX_LD_FIRST : PTX_ST_FIRST);

            snprintf(text, sizeof(text), "%s_%s_%s", load ? "ld" : "st",
                     spaces[q / PTX_NTYPES], types[q % PTX_NTYPES]);
        }
        for (char *c = text; *c != '\0'; c++)
            if (*c == '_')
                *c = '.';
        see(text, arg);
    }
}

void ptx_line(const struct ptx_module *m, uint32_t line, char *text,
              size_t bytes)
{
    const char *p = m->text;
    size_t n;

    for (uint32_t k = 1; k < line && p != NULL; k++) {
        p = strchr(p, '\n');
        p += p != NULL;
    }
    if (p == NULL)
        return;
    p += strspn(p, " \t");
    n = strcspn(p, "\r\n");
    if (n >= bytes)
        n = bytes - 1;
    for (size_t i = 0; i < n; i++)
        text[i] = p[i];
    text[n] = '\0';
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\t')
            *c = ' ';
}

/* .maxntid 64, 1, 1 */
static uint32_t maxntid(struct reader *r)
{
    uint32_t n;

    ptx_next(r);
    n = (uint32_t)ptx_number(r);
    while (ptx_is(r, ",")) {
        ptx_next(r);
        if (ptx_number(r) != 1)
            ptx_refuse(r, ".maxntid: groups have one dimension");
    }
    return n;
}

/* .minnctapersm 4: as many groups on a multiprocessor, for which registers are
 * kept low. An assembler drops what it cannot do with a warning; here it is an
 * error, since it would be a promise that no one keeps. */
static void minnctapersm(struct reader *r, const struct ptx_function *f)
{
    uint32_t groups;

    ptx_next(r);
    groups = (uint32_t)ptx_number(r);
    if (f->items == 0)
        ptx_refuse(r, ".minnctapersm: there is no .maxntid before it");
    if (groups == 0 || groups > MULTIPROCESSOR_ITEMS / f->items)
        ptx_refuse(r,
                   ".minnctapersm: %u groups of %u items, a multiprocessor "
                   "of sm_75 has %u",
                   groups, f->items, MULTIPROCESSOR_ITEMS);
}

/* Behind the parameters: directives, then a body or a semicolon. */
static void definition(struct reader *r, struct ptx_function *f)
{
    while (!ptx_is(r, "{") && !ptx_is(r, ";") && r->token[0] != '\0') {
        if (ptx_is(r, ".maxntid"))
            f->items = maxntid(r);
        else if (ptx_is(r, ".minnctapersm"))
            minnctapersm(r, f);
        else if (r->token[0] == '.' && !ptx_is(r, ".noreturn"))
            ptx_refuse(r, "%s of a function is not supported", r->token);
        else
            ptx_next(r);
    }
    if (ptx_is(r, "{")) {
        f->body = r->p;
        f->body_line = r->line;
        for (uint32_t open = 1; open > 0 && r->token[0] != '\0';) {
            ptx_next(r);
            open += ptx_is(r, "{");
            open -= ptx_is(r, "}");
        }
        if (r->token[0] == '\0')
            ptx_refuse(r, "the text ends in %s", f->name);
    }
    ptx_next(r);
}

/* token is .entry or .func. */
static void function(struct reader *r, struct ptx_module *m)
{
    struct ptx_function *f;
    size_t n;

    m->function = ptx_grown(r, m->function, m->nfunctions, &m->room,
                            sizeof(*m->function));
    f = &m->function[m->nfunctions];
    *f = (struct ptx_function){.entry = ptx_is(r, ".entry")};
    ptx_next(r);
    if (ptx_is(r, "(")) {
        f->results = r->p;
        f->results_line = r->line;
        ptx_skip_to(r, ")");
        ptx_next(r);
    }
    n = strlen(r->token) + 1;
    f->name = malloc(n);
    if (f->name == NULL)
        ptx_refuse(r, "no memory");
    memcpy(f->name, r->token, n);
    m->nfunctions++;
    ptx_next(r);
    if (ptx_is(r, "(")) {
        f->params = r->p;
        f->params_line = r->line;
        ptx_skip_to(r, ")");
        ptx_next(r);
    }
    definition(r, f);
}

static void scan(struct reader *r, struct ptx_module *m)
{
    ptx_next(r);
    if (!ptx_is(r, ".version"))
        ptx_refuse(r, "\"%s\" where .version was expected", r->token);
    while (r->token[0] != '\0') {
        if (ptx_is(r, ".shared")) {
            if (m->nglobals == 64)
                ptx_refuse(r, "more than 64 shared variables");
            m->global[m->nglobals] = r->p;
            m->global_line[m->nglobals++] = r->line;
            ptx_skip_to(r, ";");
            ptx_next(r);
        } else if (ptx_is(r, ".global") || ptx_is(r, ".const")) {
            ptx_refuse(r, "%s variables are not supported", r->token);
        } else if (ptx_is(r, ".entry") || ptx_is(r, ".func")) {
            function(r, m);
        } else {
            ptx_next(r);
        }
    }
}

static bool scanned(struct reader *r, struct ptx_module *m)
{
    if (setjmp(r->out) != 0)
        return false;
    scan(r, m);
    return true;
}

struct ptx_module *ptx_load(const char *text, char *why, size_t bytes)
{
    struct ptx_module *m = calloc(1, sizeof(*m));
    struct reader *r = calloc(1, sizeof(*r));
    size_t n = strlen(text) + 1;
    bool ok = false;

    snprintf(why, bytes, "ptx: no memory");
    if (m != NULL)
        m->text = malloc(n);
    if (m != NULL && m->text != NULL && r != NULL) {
        memcpy(m->text, text, n);
        r->p = m->text;
        r->line = 1;
        r->m = m;
        r->why = why;
        r->why_bytes = bytes;
        ok = scanned(r, m);
    }
    free(r);
    if (ok)
        return m;
    ptx_unload(m);
    return NULL;
}

static void entry_free(struct ptx_entry *e)
{
    pthread_mutex_destroy(&e->lock);
    free(e->code);
    free(e->slot);
    free(e->is_const);
    free(e->list);
    free(e->seen);
    free(e);
}

void ptx_unload(struct ptx_module *m)
{
    if (m == NULL)
        return;
    while (m->entries != NULL) {
        struct ptx_entry *e = m->entries;

        m->entries = e->next;
        entry_free(e);
    }
    for (uint32_t i = 0; i < m->nfunctions; i++)
        free(m->function[i].name);
    free(m->function);
    free(m->text);
    free(m);
}

const char *ptx_entry_name(const struct ptx_module *m, uint32_t i)
{
    for (uint32_t k = 0; k < m->nfunctions; k++)
        if (m->function[k].entry && i-- == 0)
            return m->function[k].name;
    return NULL;
}

const struct ptx_shape *ptx_entry_shape(const struct ptx_entry *e)
{
    return &e->shape;
}

struct ptx_entry *ptx_find(struct ptx_module *m, const char *name, char *why,
                           size_t bytes)
{
    const struct ptx_function *f = NULL;
    struct ptx_entry *e;

    if (bytes > 0)
        why[0] = '\0';
    for (e = m->entries; e != NULL; e = e->next)
        if (strcmp(e->name, name) == 0)
            return e;
    for (uint32_t i = 0; i < m->nfunctions; i++)
        if (m->function[i].entry && m->function[i].body != NULL &&
            strcmp(m->function[i].name, name) == 0)
            f = &m->function[i];
    if (f == NULL)
        return NULL;
    e = calloc(1, sizeof(*e));
    if (e == NULL || pthread_mutex_init(&e->lock, NULL) != 0) {
        free(e);
        snprintf(why, bytes, "ptx: no memory");
        return NULL;
    }
    e->module = m;
    e->name = f->name;
    if (!ptx_decode(m, f, e, why, bytes) ||
        (e->seen = calloc(e->n, 1)) == NULL) {
        entry_free(e);
        return NULL;
    }
    e->next = m->entries;
    m->entries = e;
    return e;
}
