/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_read.h - the words of a PTX text, and what its names represent. */
#ifndef TESTS_FAKECUDA_PTX_PTX_READ_H
#define TESTS_FAKECUDA_PTX_PTX_READ_H

#include <setjmp.h>

#include "tests/fakecuda/ptx/ptx_code.h"

enum space { IS_REG, IS_SLOT, IS_PARAM, IS_SHARED, IS_LOCAL };

struct symbol {
    char name[128];
    enum space space; /* IS_SLOT: a parameter of a call */
    uint32_t at;      /* the first slot, or an address */
    uint32_t count;   /* of registers "%r<8>"; 0: the name alone */
};

struct label {
    char name[128];
    uint32_t scope, at;
};

struct reader {
    const char *p;
    uint32_t line;
    char token[256]; /* "": the end of the text */
    const struct ptx_module *m;
    struct ptx_entry *e;
    struct symbol *symbol;
    uint32_t nsymbols, symbol_room;
    struct label *label, *jump; /* of a jump, at is the branch */
    uint32_t nlabels, njumps, label_room, jump_room;
    /* labels are of one expansion of a function: a scope */
    uint32_t scope, scopes, depth;
    char *why;
    size_t why_bytes;
    /* A text is refused from deep inside of expanded calls. */
    jmp_buf out;
};

/* Where the reader stands, to return to. */
struct place {
    const char *p;
    uint32_t line;
    char token[256];
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3), noreturn))
#endif
void ptx_refuse(struct reader *r, const char *format, ...);

/* p with room for one element more than n. */
void *ptx_grown(struct reader *r, void *p, uint32_t n, uint32_t *room,
                size_t each);

const char *ptx_next(struct reader *r);
bool ptx_is(const struct reader *r, const char *s);
void ptx_expect(struct reader *r, const char *s);
void ptx_skip_to(struct reader *r, const char *s);
/* Go to p on a line, and read the first word there. */
void ptx_go(struct reader *r, const char *p, uint32_t line);
struct place ptx_place(const struct reader *r);
void ptx_back(struct reader *r, const struct place *at);

int64_t ptx_number(struct reader *r);
/* Bytes of a type such as ".f32". */
uint32_t ptx_type_bytes(struct reader *r, const char *type);
/* ".align 4 .b8 name[100]", ".u64 .ptr .global .align 4 name": bytes. */
uint32_t ptx_variable(struct reader *r, uint32_t *align, char *name,
                      size_t room);

struct symbol *ptx_declare(struct reader *r, const char *name, enum space space,
                           uint32_t at, uint32_t count);
/* The newest symbol of that name; "%r7" is also the 7th (*i) of "%r<8>". */
const struct symbol *ptx_symbol(const struct reader *r, const char *name,
                                uint32_t *i);

#endif
