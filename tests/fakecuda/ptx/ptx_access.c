/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_access.c - decodes ld and st: the space, the type, the vector. */
#include "tests/fakecuda/ptx/ptx_emit.h"

enum { AT_GLOBAL, AT_NC, AT_SHARED, AT_LOCAL, AT_PARAM, AT_GENERIC };

struct ptx_access {
    bool load;
    unsigned space, type, bytes, count;
};

/* One word of the name behind "ld" or "st", without its dot. */
static bool word(struct ptx_access *x, const char *w, size_t n)
{
#define WORD(TEXT) (n == sizeof(TEXT) - 1 && memcmp(w, TEXT, n) == 0)
    static const struct {
        char name[4];
        uint8_t type, bytes;
    } types[] = {{"u8", 0, 1},  {"b8", 0, 1},  {"s8", 1, 1},  {"u16", 2, 2},
                 {"b16", 2, 2}, {"s16", 3, 2}, {"u32", 4, 4}, {"b32", 4, 4},
                 {"s32", 4, 4}, {"f32", 4, 4}, {"u64", 5, 8}, {"b64", 5, 8},
                 {"s64", 5, 8}};

    if (WORD("global"))
        x->space = AT_GLOBAL;
    else if (WORD("nc") && x->space == AT_GLOBAL && x->load)
        x->space = AT_NC;
    else if (WORD("shared"))
        x->space = AT_SHARED;
    else if (WORD("local"))
        x->space = AT_LOCAL;
    else if (WORD("param"))
        x->space = AT_PARAM;
    else if (WORD("v2") || WORD("v4"))
        x->count = (unsigned)(w[1] - '0');
    else {
        for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
            if (strlen(types[i].name) == n &&
                memcmp(types[i].name, w, n) == 0) {
                x->type = types[i].type;
                x->bytes = types[i].bytes;
                return true;
            }
        return false;
    }
    return true;
#undef WORD
}

static struct ptx_access parse(struct reader *r, const char *name)
{
    struct ptx_access x = {
        .load = name[0] == 'l', .space = AT_GENERIC, .count = 1};

    for (const char *w = name + 2; *w == '.';) {
        size_t n = strcspn(++w, ".");

        if (!word(&x, w, n))
            ptx_refuse(r, "%s: .%.*s is not supported", name, (int)n, w);
        w += n;
    }
    if (x.bytes == 0 || x.bytes * x.count > 16)
        ptx_refuse(r, "%s: not a type to load or store", name);
    return x;
}

/* The registers of a vector, or one. */
static void values(struct reader *r, const struct ptx_access *x, uint16_t v[4])
{
    if (x->count > 1)
        ptx_expect(r, "{");
    for (unsigned i = 0; i < x->count; i++) {
        v[i] = x->load ? ptx_target(r) : ptx_source(r);
        if (i + 1 < x->count)
            ptx_expect(r, ",");
    }
    if (x->count > 1)
        ptx_expect(r, "}");
}

/* A vector is aligned as a whole, and its address outlives its first load. */
static uint16_t vector(struct reader *r, const struct ptx_access *x, uint16_t a,
                       int32_t offset)
{
    struct insn *i = ptx_emit(r, OP_ALIGN, 0, a, 0, 0);

    i->b = (uint16_t)(x->bytes * x->count);
    i->imm = offset;
    if (x->load) {
        uint16_t copy = (uint16_t)ptx_new_slots(r, 1);

        ptx_emit(r, OP_mov_b64, copy, a, ZERO, ZERO);
        return copy;
    }
    return a;
}

void ptx_load_store(struct reader *r, const char *name)
{
    struct ptx_access x = parse(r, name);
    uint16_t v[4], a = ZERO;
    bool is_slot = false;
    int32_t offset = 0;

    if (!x.load) {
        a = ptx_address(r, &offset, &is_slot);
        ptx_expect(r, ",");
    }
    values(r, &x, v);
    if (x.load) {
        ptx_expect(r, ",");
        a = ptx_address(r, &offset, &is_slot);
    }
    if (is_slot && (x.count > 1 || offset != 0))
        ptx_refuse(r, "%s: a vector as parameter of a call", name);
    if (!x.load && x.space == AT_PARAM && !is_slot)
        ptx_refuse(r, "%s: parameters of an entry are constant", name);
    if (is_slot) {
        ptx_emit(r, OP_mov_b64, x.load ? v[0] : a, x.load ? a : v[0], ZERO,
                 ZERO);
        return;
    }
    if (x.count > 1)
        a = vector(r, &x, a, offset);
    if ((x.space == AT_SHARED || x.space == AT_GENERIC) && x.bytes < 4)
        r->e->grain = 0; /* items may share a word without a race */
    for (unsigned i = 0; i < x.count; i++) {
        unsigned op = (x.load ? PTX_LD_FIRST : PTX_ST_FIRST) +
                      x.space * PTX_NTYPES + x.type;
        struct insn *k =
            ptx_emit(r, op, x.load ? v[i] : 0, a, x.load ? 0 : v[i], 0);

        k->imm = offset + (int32_t)(i * x.bytes);
    }
}
