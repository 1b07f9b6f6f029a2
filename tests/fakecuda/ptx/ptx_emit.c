/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_emit.c - what decoding writes: slots, instructions, labels; operands. */
#include "tests/fakecuda/ptx/ptx_emit.h"

#include <stdio.h>
#include <stdlib.h>

/* A register that no one wrote holds this: no number that looks right. */
#define NEVER UINT64_C(0xa5a5a5a5)

uint32_t ptx_new_slots(struct reader *r, uint32_t n)
{
    struct ptx_entry *e = r->e;
    uint32_t at = e->nslots, room = e->slot_room;

    if (n > 65535 || at + n > 65535)
        ptx_refuse(r, "more than 65535 registers and constants");
    while (at + n > room)
        room = room == 0 ? 256 : 2 * room;
    if (room != e->slot_room) {
        uint64_t *slot = realloc(e->slot, room * sizeof(*slot));
        bool *is_const;

        if (slot == NULL)
            ptx_refuse(r, "no memory");
        e->slot = slot;
        is_const = realloc(e->is_const, room * sizeof(*is_const));
        if (is_const == NULL)
            ptx_refuse(r, "no memory");
        e->is_const = is_const;
        e->slot_room = room;
    }
    for (uint32_t i = at; i < at + n; i++) {
        e->slot[i] = NEVER;
        e->is_const[i] = false;
    }
    e->nslots += n;
    return at;
}

uint16_t ptx_constant(struct reader *r, uint64_t value)
{
    struct ptx_entry *e = r->e;
    uint32_t i = 0;

    while (i < e->nslots && !(e->is_const[i] && e->slot[i] == value))
        i++;
    if (i == e->nslots)
        i = ptx_new_slots(r, 1);
    e->slot[i] = value;
    e->is_const[i] = true;
    return (uint16_t)i;
}

struct insn *ptx_emit(struct reader *r, unsigned op, uint16_t d, uint16_t a,
                      uint16_t b, uint16_t c)
{
    struct ptx_entry *e = r->e;
    struct insn *i;

    e->code = ptx_grown(r, e->code, e->n, &e->room, sizeof(*e->code));
    i = &e->code[e->n++];
    *i = (struct insn){
        .op = (uint16_t)op, .d = d, .a = a, .b = b, .c = c, .line = r->line};
    e->shape.barriers += op == OP_BAR;
    e->warps = e->warps || (op >= OP_MMA && op <= OP_CP_ASYNC);
    e->copies = e->copies || op == OP_CP_ASYNC;
    return i;
}

static void named(struct reader *r, struct label *l, const char *name)
{
    if (strlen(name) >= sizeof(l->name))
        ptx_refuse(r, "a label of %zu characters", strlen(name));
    memcpy(l->name, name, strlen(name) + 1);
    l->scope = r->scope;
    l->at = r->e->n;
}

void ptx_jump(struct reader *r, unsigned op, uint16_t p, const char *name)
{
    r->jump = ptx_grown(r, r->jump, r->njumps, &r->jump_room, sizeof(*r->jump));
    named(r, &r->jump[r->njumps++], name);
    ptx_emit(r, op, 0, p, 0, 0);
}

void ptx_label(struct reader *r, const char *name)
{
    r->label =
        ptx_grown(r, r->label, r->nlabels, &r->label_room, sizeof(*r->label));
    named(r, &r->label[r->nlabels++], name);
}

void ptx_resolve(struct reader *r)
{
    for (uint32_t i = 0; i < r->njumps; i++) {
        const struct label *j = &r->jump[i];
        uint32_t k = 0;

        while (k < r->nlabels && (r->label[k].scope != j->scope ||
                                  strcmp(r->label[k].name, j->name) != 0))
            k++;
        if (k == r->nlabels) {
            r->line = r->e->code[j->at].line;
            ptx_refuse(r, "there is no label %s", j->name);
        }
        r->e->code[j->at].imm = (int32_t)r->label[k].at;
    }
}

uint16_t ptx_source(struct reader *r)
{
    static const struct {
        const char *name;
        uint16_t slot;
    } special[] = {{"%tid.x", TID},
                   {"%ctaid.x", CTAID},
                   {"%ntid.x", NTID},
                   {"%nctaid.x", NCTAID}};
    const struct symbol *s;
    uint32_t i;

    if (ptx_is(r, "-") || (r->token[0] >= '0' && r->token[0] <= '9'))
        return ptx_constant(r, (uint64_t)ptx_number(r));
    for (i = 0; i < sizeof(special) / sizeof(special[0]); i++)
        if (ptx_is(r, special[i].name)) {
            ptx_next(r);
            return special[i].slot;
        }
    s = ptx_symbol(r, r->token, &i);
    if (s == NULL || s->space == IS_SLOT)
        ptx_refuse(r, "\"%s\" where an operand was expected", r->token);
    ptx_next(r);
    return s->space == IS_REG ? (uint16_t)(s->at + i) : ptx_constant(r, s->at);
}

uint16_t ptx_target(struct reader *r)
{
    uint32_t i;
    const struct symbol *s = ptx_symbol(r, r->token, &i);

    if (s == NULL || s->space != IS_REG)
        ptx_refuse(r, "\"%s\" where a register was expected", r->token);
    ptx_next(r);
    return (uint16_t)(s->at + i);
}

uint16_t ptx_address(struct reader *r, int32_t *offset, bool *is_slot)
{
    uint16_t slot = ZERO;
    int64_t sum = 0;

    ptx_expect(r, "[");
    *is_slot = false;
    if (r->token[0] != '-' && (r->token[0] < '0' || r->token[0] > '9')) {
        uint32_t i;
        const struct symbol *s = ptx_symbol(r, r->token, &i);

        if (s == NULL)
            ptx_refuse(r, "\"%s\" where an address was expected", r->token);
        if (s->space == IS_REG || s->space == IS_SLOT)
            slot = (uint16_t)(s->at + i);
        else
            sum = s->at;
        *is_slot = s->space == IS_SLOT;
        ptx_next(r);
        if (ptx_is(r, "+"))
            ptx_next(r);
    }
    if (!ptx_is(r, "]"))
        sum += ptx_number(r);
    ptx_expect(r, "]");
    if (sum < INT32_MIN || sum > INT32_MAX)
        ptx_refuse(r, "an offset of %lld", (long long)sum);
    *offset = (int32_t)sum;
    return slot;
}
