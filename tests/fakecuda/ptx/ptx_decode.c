/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_decode.c - instructions, calls and bodies of functions, decoded. */
#include "tests/fakecuda/ptx/ptx_emit.h"

#include <stdio.h>
#include <stdlib.h>

#define CALL_PARAMS 32 /* parameters of one call */
#define CALL_DEPTH  16
#define BRACES      16

/* Why an instruction that is not listed is refused. */
static const char *reason(const char *name)
{
    static const char *const loose[] = {"add.f32", "sub.f32", "mul.f32",
                                        "mad.f32", "mad.rn.f32"};

    if (strstr(name, ".ftz") != NULL)
        return "flushes subnormals";
    if (strstr(name, ".approx") != NULL || strstr(name, ".full") != NULL)
        return "is approximate";
    for (size_t i = 0; i < sizeof(loose) / sizeof(loose[0]); i++)
        if (strcmp(name, loose[i]) == 0)
            return "may be contracted: .rn is missing";
    return "is not supported";
}

static void body(struct reader *r);

/* The parameters of a function that is expanded are the call's. */
static void bind(struct reader *r, const char *list, uint32_t line,
                 char names[][256], uint32_t n)
{
    struct place at = ptx_place(r);
    uint32_t k = 0;

    if (list == NULL)
        return;
    ptx_go(r, list, line);
    while (ptx_is(r, ".param") || ptx_is(r, ".reg")) {
        uint32_t i, align, slot;
        char name[256];
        const struct symbol *s;

        ptx_next(r);
        ptx_variable(r, &align, name, sizeof(name));
        s = k < n ? ptx_symbol(r, names[k++], &i) : NULL;
        if (s == NULL || s->space != IS_SLOT)
            ptx_refuse(r, "%s: the call gives no such parameter", name);
        slot = s->at;
        ptx_declare(r, name, IS_SLOT, slot, 0);
        if (ptx_is(r, ","))
            ptx_next(r);
    }
    ptx_back(r, &at);
}

static uint32_t names_of(struct reader *r, char names[][256])
{
    uint32_t n = 0;

    ptx_expect(r, "(");
    while (!ptx_is(r, ")")) {
        if (n == CALL_PARAMS || r->token[0] == '\0')
            ptx_refuse(r, "more than %d parameters of a call", CALL_PARAMS);
        memcpy(names[n++], r->token, sizeof(r->token));
        ptx_next(r);
        if (ptx_is(r, ","))
            ptx_next(r);
    }
    ptx_next(r);
    return n;
}

static const struct ptx_function *callee(struct reader *r, const char *name)
{
    for (uint32_t i = 0; i < r->m->nfunctions; i++) {
        const struct ptx_function *f = &r->m->function[i];

        if (strcmp(f->name, name) == 0 && f->body != NULL)
            return f;
    }
    ptx_refuse(r, "%s: no such function is in the text", name);
}

/* call.uni (results), name, (arguments); */
static void call(struct reader *r)
{
    char results[CALL_PARAMS][256], arguments[CALL_PARAMS][256];
    uint32_t nresults = 0, narguments = 0, symbols, scope = r->scope;
    const struct ptx_function *f;
    struct place caller;

    if (ptx_is(r, "(")) {
        nresults = names_of(r, results);
        ptx_expect(r, ",");
    }
    f = callee(r, r->token);
    if (++r->depth > CALL_DEPTH)
        ptx_refuse(r, "calls %d deep", CALL_DEPTH);
    ptx_next(r);
    if (ptx_is(r, ",")) {
        ptx_next(r);
        narguments = names_of(r, arguments);
    }
    caller = ptx_place(r);
    symbols = r->nsymbols;
    r->scope = ++r->scopes;
    bind(r, f->results, f->results_line, results, nresults);
    bind(r, f->params, f->params_line, arguments, narguments);
    ptx_go(r, f->body, f->body_line);
    body(r);
    ptx_label(r, "ret"); /* no label of PTX has the name of an instruction */
    r->nsymbols = symbols;
    r->scope = scope;
    r->depth--;
    ptx_back(r, &caller);
}

static uint16_t halves(struct reader *r, uint16_t *second, bool written)
{
    uint16_t first;

    ptx_expect(r, "{");
    first = written ? ptx_target(r) : ptx_source(r);
    ptx_expect(r, ",");
    *second = written ? ptx_target(r) : ptx_source(r);
    ptx_expect(r, "}");
    return first;
}

/* mov.b32 and mov.b64 of two halves; false: it is another instruction. */
static bool move_halves(struct reader *r, const char *name)
{
    struct place before = ptx_place(r);
    bool wide = strcmp(name, "mov.b64") == 0;
    uint16_t low, high, whole;

    if (!wide && strcmp(name, "mov.b32") != 0)
        return false;
    if (ptx_is(r, "{")) {
        uint16_t copy = (uint16_t)ptx_new_slots(r, 1);

        low = halves(r, &high, true);
        ptx_expect(r, ",");
        whole = ptx_source(r);
        ptx_emit(r, OP_mov_b64, copy, whole, ZERO, ZERO);
        ptx_emit(r, wide ? OP_cvt_u32_u64 : OP_cvt_u16_u32, low, copy, ZERO,
                 ZERO);
        ptx_emit(r, wide ? OP_shr_u64 : OP_shr_u32, high, copy,
                 ptx_constant(r, wide ? 32 : 16), ZERO);
        return true;
    }
    whole = ptx_target(r);
    ptx_expect(r, ",");
    if (ptx_is(r, "{")) {
        low = halves(r, &high, false);
        ptx_emit(r, wide ? OP_pack_32 : OP_pack_16, whole, low, high, ZERO);
        return true;
    }
    ptx_back(r, &before);
    return false;
}

/* Constants are written with as many bits as the reader has. Registers hold
 * the bits of their type: the compiler has checked that. */
static void operation(struct reader *r, const char *name)
{
    int op = ptx_op_find(name);
    uint16_t s[5] = {ZERO, ZERO, ZERO, ZERO, ZERO};
    uint32_t n = 1;

    if (op < 0)
        ptx_refuse(r, "%s %s", name, reason(name));
    s[0] = ptx_target(r);
    while (ptx_is(r, ",")) {
        ptx_next(r);
        if (n == 5)
            ptx_refuse(r, "%s: more than five operands", name);
        s[n++] = ptx_source(r);
    }
    if (n == 5) { /* bfi: position and length as one constant */
        const struct ptx_entry *e = r->e;

        if (op != OP_bfi_b32 || !e->is_const[s[3]] || !e->is_const[s[4]])
            ptx_refuse(r, "%s is not supported with these operands", name);
        s[3] =
            ptx_constant(r, (e->slot[s[3]] & 255) | (e->slot[s[4]] & 255) << 8);
    } else if (op == OP_bfi_b32) {
        ptx_refuse(r, "%s: five operands were expected", name);
    }
    ptx_emit(r, (unsigned)op, s[0], s[1], s[2], s[3]);
}

static void barrier(struct reader *r, const char *name)
{
    if (!ptx_is(r, "0"))
        ptx_refuse(r, "%s: only barrier 0 is supported", name);
    ptx_next(r);
    if (!ptx_is(r, ";"))
        ptx_refuse(r, "%s: only of all items", name);
    ptx_emit(r, OP_BAR, 0, 0, 0, 0);
}

static void unguarded(struct reader *r, const char *name)
{
    if (strncmp(name, "ld.", 3) == 0 || strncmp(name, "st.", 3) == 0)
        ptx_load_store(r, name);
    else if (strcmp(name, "call") == 0 || strcmp(name, "call.uni") == 0)
        call(r);
    else if (strcmp(name, "exit") == 0 ||
             (strcmp(name, "ret") == 0 && r->scope == 0))
        ptx_emit(r, OP_EXIT, 0, 0, 0, 0);
    else if (strcmp(name, "ret") == 0)
        ptx_jump(r, OP_BRA, 0, "ret");
    else if (strcmp(name, "bar.sync") == 0 || strcmp(name, "barrier.sync") == 0)
        barrier(r, name);
    else if (!ptx_warp_op(r, name) && !move_halves(r, name))
        operation(r, name);
}

static void instruction(struct reader *r)
{
    bool guarded = ptx_is(r, "@"), not = false;
    char name[256], over[32];
    uint16_t p = ZERO;

    if (guarded) {
        ptx_next(r);
        not = ptx_is(r, "!");
        if (not )
            ptx_next(r);
        p = ptx_source(r);
    }
    memcpy(name, r->token, sizeof(name));
    ptx_next(r);
    if (strcmp(name, "bra") == 0 || strcmp(name, "bra.uni") == 0) {
        ptx_jump(r, !guarded ? OP_BRA : not ? OP_BRF : OP_BRT, p, r->token);
        ptx_next(r);
        ptx_expect(r, ";");
        return;
    }
    if (guarded) {
        snprintf(over, sizeof(over), "over %u", r->e->n);
        ptx_jump(r, not ? OP_BRT : OP_BRF, p, over);
    }
    unguarded(r, name);
    ptx_expect(r, ";");
    if (guarded)
        ptx_label(r, over);
}

/* .reg .b32 %r<7>; .reg .b64 %SP, %SPL; */
static void registers(struct reader *r)
{
    do {
        char name[256];
        uint32_t n = 0;

        memcpy(name, ptx_next(r), sizeof(name));
        ptx_next(r);
        if (ptx_is(r, "<")) {
            ptx_next(r);
            n = (uint32_t)ptx_number(r);
            ptx_expect(r, ">");
        }
        r->e->shape.registers += n == 0 ? 1 : n;
        ptx_declare(r, name, IS_REG, ptx_new_slots(r, n == 0 ? 1 : n), n);
    } while (ptx_is(r, ","));
    ptx_expect(r, ";");
}

static uint32_t placed(uint32_t *end, uint32_t bytes, uint32_t align)
{
    uint32_t at = (*end + align - 1) / align * align;

    *end = at + bytes;
    return at;
}

/* .shared and .local: token is the word behind. */
static void memory(struct reader *r, bool shared)
{
    struct ptx_shape *shape = &r->e->shape;
    char name[256];
    uint32_t align, bytes = ptx_variable(r, &align, name, sizeof(name));
    uint32_t *end = shared ? &shape->shared_bytes : &shape->local_bytes;

    ptx_declare(r, name, shared ? IS_SHARED : IS_LOCAL,
                placed(end, bytes, align), 0);
    ptx_expect(r, ";");
}

/* .reg, .param, .shared, .local, .pragma, .loc */
static void directive(struct reader *r)
{
    uint32_t line = r->line, align;
    char name[256];

    if (ptx_is(r, ".reg")) {
        ptx_next(r); /* the type: the instructions say it again */
        registers(r);
    } else if (ptx_is(r, ".param")) {
        ptx_next(r);
        if (ptx_variable(r, &align, name, sizeof(name)) > 8)
            ptx_refuse(r, "%s: a structure as parameter of a call", name);
        ptx_declare(r, name, IS_SLOT, ptx_new_slots(r, 1), 0);
        ptx_expect(r, ";");
    } else if (ptx_is(r, ".shared") || ptx_is(r, ".local")) {
        bool shared = ptx_is(r, ".shared");

        ptx_next(r);
        memory(r, shared);
    } else if (ptx_is(r, ".loc")) {
        while (r->line == line && r->token[0] != '\0')
            ptx_next(r);
    } else if (ptx_is(r, ".pragma")) {
        ptx_skip_to(r, ";");
        ptx_next(r);
    } else {
        ptx_refuse(r, "%s is not supported", r->token);
    }
}

/* Up to the closing brace; blocks end the scope of their declarations. */
static void body(struct reader *r)
{
    uint32_t open = 1, outer[BRACES];

    while (open > 0) {
        if (ptx_is(r, "{")) {
            if (open == BRACES)
                ptx_refuse(r, "braces %d deep", BRACES);
            outer[open++] = r->nsymbols;
            ptx_next(r);
        } else if (ptx_is(r, "}")) {
            open--;
            if (open > 0) {
                r->nsymbols = outer[open];
                ptx_next(r);
            }
        } else if (r->token[0] == '.') {
            directive(r);
        } else if (r->token[0] == '\0') {
            ptx_refuse(r, "the text ends in a function");
        } else if (*r->p == ':') {
            ptx_label(r, r->token);
            r->p++;
            ptx_next(r);
        } else {
            instruction(r);
        }
    }
}

static void entry(struct reader *r, const struct ptx_function *f)
{
    struct ptx_entry *e = r->e;
    struct ptx_shape *shape = &e->shape;

    ptx_new_slots(r, SPECIALS);
    e->slot[ZERO] = 0;
    e->is_const[ZERO] = true;
    for (uint32_t i = 0; i < r->m->nglobals; i++) {
        ptx_go(r, r->m->global[i], r->m->global_line[i]);
        memory(r, true);
    }
    if (f->params != NULL)
        ptx_go(r, f->params, f->params_line);
    while (f->params != NULL && ptx_is(r, ".param")) {
        struct ptx_parameter *p = &shape->param[shape->nparams];
        uint32_t align;
        char name[256];

        if (shape->nparams == PTX_PARAMS)
            ptx_refuse(r, "more than %d parameters", PTX_PARAMS);
        ptx_next(r);
        p->bytes = ptx_variable(r, &align, name, sizeof(name));
        p->at = placed(&shape->param_bytes, p->bytes, align);
        ptx_declare(r, name, IS_PARAM, p->at, 0);
        shape->nparams++;
        if (ptx_is(r, ","))
            ptx_next(r);
    }
    ptx_go(r, f->body, f->body_line);
    body(r);
    ptx_emit(r, OP_EXIT, 0, 0, 0, 0);
    ptx_resolve(r);
}

bool ptx_decode(const struct ptx_module *m, const struct ptx_function *f,
                struct ptx_entry *e, char *why, size_t bytes)
{
    struct reader *r = calloc(1, sizeof(*r));
    volatile bool ok = false;

    if (r == NULL) {
        snprintf(why, bytes, "ptx: no memory");
        return false;
    }
    r->m = m;
    r->e = e;
    r->why = why;
    r->why_bytes = bytes;
    e->grain = 2;
    e->shape.items = f->items;
    if (setjmp(r->out) == 0) {
        entry(r, f);
        ok = true;
    }
    free(r->symbol);
    free(r->label);
    free(r->jump);
    free(r);
    return ok;
}
