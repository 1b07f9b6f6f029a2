/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_code.h - the decoded form of a module and of its entries.
 *
 * Registers, constants and the parameters of calls are slots of 64 bits. Calls
 * are expanded where they stand, and a predicate on anything but a branch is a
 * branch around it. */
#ifndef TESTS_FAKECUDA_PTX_PTX_CODE_H
#define TESTS_FAKECUDA_PTX_PTX_CODE_H

#include <pthread.h>

#include "tests/fakecuda/ptx/ptx.h"
#include "tests/fakecuda/ptx/ptx_ops.h"

struct insn {
    uint16_t op, d, a, b, c; /* an operation and its slots */
    uint8_t seen;            /* an item came here by a branch, or at first */
    int32_t imm;             /* offset of an address; target of a branch */
    uint32_t hint;           /* the range that an access fell into last */
    uint32_t line;
};

/* The data of an instruction of a warp beyond an insn's slots, at imm of the
 * entry's list. Of mma: registers of d, a, b and c; of ldmatrix: d. */
enum { LIST_D = 0, LIST_A = 4, LIST_B = 8, LIST_C = 10, LIST_N = 14 };

/* insn.b of an mma: the type of the factors, and c: their k. Of ldmatrix: b
 * matrices, and whether they are turned in c. */
enum { FACTORS_F16, FACTORS_BF16 };

/* Slots that are the same in every entry. */
enum { ZERO, TID, CTAID, NTID, NCTAID, SPECIALS };

struct ptx_entry {
    struct ptx_entry *next;
    const struct ptx_module *module;
    const char *name;
    struct insn *code;
    uint32_t n, room;
    uint64_t *slot; /* the first contents of the slots */
    bool *is_const;
    uint32_t nslots, slot_room;
    uint32_t grain; /* shared memory is shadowed in pieces of 1 << grain */
    uint16_t *list; /* of LIST_N for each instruction of a warp */
    uint32_t nlist, list_room;
    bool warps;  /* there are such, so that items go side by side */
    bool copies; /* there is cp.async, so that memory may be in flight */
    struct ptx_shape shape;
    pthread_mutex_t lock; /* of seen */
    uint8_t *seen;        /* an instruction of any launch */
};

struct ptx_function {
    char *name;
    bool entry;
    uint32_t items; /* of .maxntid */
    /* behind the parenthesis or brace; NULL: there is none */
    const char *results, *params, *body;
    uint32_t results_line, params_line, body_line;
};

struct ptx_module {
    char *text;
    struct ptx_function *function;
    uint32_t nfunctions, room;
    const char *global[64]; /* .shared declarations outside of functions */
    uint32_t global_line[64];
    uint32_t nglobals;
    struct ptx_entry *entries;
};

/* The operation of that name, or -1. */
int ptx_op_find(const char *name);
/* Line number line of the module's text without the blanks around it. */
void ptx_line(const struct ptx_module *m, uint32_t line, char *text,
              size_t bytes);
/* Decode function f into e. False: why says what is refused. */
bool ptx_decode(const struct ptx_module *m, const struct ptx_function *f,
                struct ptx_entry *e, char *why, size_t bytes);

#endif
