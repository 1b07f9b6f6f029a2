/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_warp.c - decodes mma.sync, ldmatrix and cp.async. */
#include "tests/fakecuda/ptx/ptx_emit.h"

#include <stdio.h>

/* Room of an instruction's list, filled with a slot that is always there. */
static uint16_t *list(struct reader *r, uint32_t *at)
{
    struct ptx_entry *e = r->e;

    *at = e->nlist;
    while (e->nlist + LIST_N > e->list_room)
        e->list = ptx_grown(r, e->list, e->list_room, &e->list_room,
                            sizeof(*e->list));
    e->nlist += LIST_N;
    for (uint32_t i = 0; i < LIST_N; i++)
        e->list[*at + i] = ZERO;
    return e->list + *at;
}

/* Between braces, or one without. */
static void registers(struct reader *r, uint16_t *slot, uint32_t n, bool write)
{
    bool braces = ptx_is(r, "{");

    if (braces || n > 1)
        ptx_expect(r, "{");
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0)
            ptx_expect(r, ",");
        slot[i] = write ? ptx_target(r) : ptx_source(r);
    }
    if (braces)
        ptx_expect(r, "}");
}

/* "[base+offset]" as one slot of this many bits. */
static uint16_t address(struct reader *r, bool wide)
{
    bool is_slot;
    int32_t offset;
    uint16_t base = ptx_address(r, &offset, &is_slot), sum;

    if (is_slot)
        ptx_refuse(r, "a parameter of a call as an address");
    if (offset == 0)
        return base;
    sum = (uint16_t)ptx_new_slots(r, 1);
    ptx_emit(r, wide ? OP_add_u64 : OP_add_u32, sum, base,
             ptx_constant(r, (uint64_t)(int64_t)offset), ZERO);
    return sum;
}

static void mma(struct reader *r, const char *name)
{
    static const struct {
        const char *name;
        uint16_t factors, k;
    } kinds[] = {{"m16n8k8.row.col.f32.f16.f16.f32", FACTORS_F16, 8},
                 {"m16n8k16.row.col.f32.f16.f16.f32", FACTORS_F16, 16},
                 {"m16n8k16.row.col.f32.bf16.bf16.f32", FACTORS_BF16, 16}};
    const char *shape = name + strlen("mma.sync.aligned.");
    uint32_t k = 0, at;
    uint16_t *slot;
    struct insn *i;

    while (k < 3 && strcmp(shape, kinds[k].name) != 0)
        k++;
    if (k == 3)
        ptx_refuse(r, "%s is not supported", name);
    slot = list(r, &at);
    registers(r, slot + LIST_D, 4, true);
    ptx_expect(r, ",");
    registers(r, slot + LIST_A, kinds[k].k / 4u, false);
    ptx_expect(r, ",");
    registers(r, slot + LIST_B, kinds[k].k / 8u, false);
    ptx_expect(r, ",");
    registers(r, slot + LIST_C, 4, false);
    i = ptx_emit(r, OP_MMA, 0, 0, kinds[k].factors, kinds[k].k);
    i->imm = (int32_t)at;
}

/* ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {...}, [...]; */
static void ldmatrix(struct reader *r, const char *name)
{
    const char *p = name + strlen("ldmatrix.sync.aligned.m8n8.x");
    uint32_t n = (uint32_t)(*p - '0'), at;
    bool trans = strncmp(p + 1, ".trans", 6) == 0;
    uint16_t *slot, a;
    struct insn *i;

    if ((n != 1 && n != 2 && n != 4) ||
        strcmp(p + (trans ? 7 : 1), ".shared.b16") != 0)
        ptx_refuse(r, "%s is not supported", name);
    slot = list(r, &at);
    registers(r, slot + LIST_D, n, true);
    ptx_expect(r, ",");
    a = address(r, false);
    i = ptx_emit(r, OP_LDMATRIX, 0, a, (uint16_t)n, trans);
    i->imm = (int32_t)at;
}

/* cp.async.cg.shared.global [to], [from], 16, bytes; the last may be left out.
 * Fewer bytes than 16: the others become 0. */
static void copy(struct reader *r, const char *name)
{
    uint16_t to, from, bytes;

    if (strcmp(name, "cp.async.cg.shared.global") != 0)
        ptx_refuse(r, "%s is not supported", name);
    to = address(r, false);
    ptx_expect(r, ",");
    from = address(r, true);
    ptx_expect(r, ",");
    ptx_expect(r, "16");
    bytes = ptx_constant(r, 16);
    if (ptx_is(r, ",")) {
        ptx_next(r);
        bytes = ptx_source(r);
    }
    ptx_emit(r, OP_CP_ASYNC, to, from, bytes, 0);
}

bool ptx_warp_op(struct reader *r, const char *name)
{
    if (strncmp(name, "mma.sync.aligned.", 17) == 0)
        mma(r, name);
    else if (strncmp(name, "ldmatrix.sync.aligned.m8n8.x", 28) == 0)
        ldmatrix(r, name);
    else if (strcmp(name, "cp.async.commit_group") == 0)
        ptx_emit(r, OP_CP_COMMIT, 0, 0, 0, 0);
    else if (strcmp(name, "cp.async.wait_all") == 0)
        ptx_emit(r, OP_CP_WAIT, 0, 0, 0, 0)->imm = -1;
    else if (strcmp(name, "cp.async.wait_group") == 0) {
        int64_t left = ptx_number(r);

        if (left < 0 || left > 64)
            ptx_refuse(r, "%s %lld", name, (long long)left);
        ptx_emit(r, OP_CP_WAIT, 0, 0, 0, 0)->imm = (int32_t)left;
    } else if (strncmp(name, "cp.async", 8) == 0) {
        copy(r, name);
    } else {
        return false;
    }
    return true;
}
