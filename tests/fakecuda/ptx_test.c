/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_test.c - the interpreter: each operation against results worked out by
 * hand, and every fault that it must find. */
#include "tests/fakecuda/ptx/ptx_cases.h"
#include "tests/fakecuda/ptx/ptx_code.h"
#include "tests/tap.h"

#define HEAD ".version 6.0\n.target sm_70\n.address_size 64\n"

static const struct op_case {
    const char *op, *classes;
    uint64_t a, b, c, d;
} cases[] = {
#define X(OP, CLASSES, A, B, C, D) {OP, CLASSES, A, B, C, D},
    PTX_CASES(X)
#undef X
};

/* Run one entry "t" with parameter p over data; false: why says it. */
static bool run(const char *text, void *data, size_t bytes, uint32_t groups,
                uint32_t items, const struct ptx_range *range, char *why,
                size_t room)
{
    uint64_t param = (uintptr_t)data;
    struct ptx_range all = {param, bytes, true, NULL};
    struct ptx_launch l = {
        groups, items, &param, 8, range == NULL ? &all : range, 1, 0, NULL};
    struct ptx_module *m = ptx_load(text, why, room);
    struct ptx_entry *e = m == NULL ? NULL : ptx_find(m, "t", why, room);
    bool ok = e != NULL && ptx_run(e, &l, why, room);

    ptx_unload(m);
    return ok;
}

/* The name of a register of a class. */
static const char *reg(char class)
{
    return class == 'p'   ? "%p"
           : class == 'h' ? "%rs"
           : class == 'r' ? "%r"
           : class == 'f' ? "%f"
                          : "%rd";
}

/* All operands are in registers of every class: a in number 1, b 2, c 3. */
static const char begin[] = HEAD
    ".visible .entry t(.param .u64 p)\n{\n.reg .pred %p<8>; .reg .b16 "
    "%rs<8>;\n"
    ".reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<12>;\n"
    "ld.param.u64 %rd10, [p];\nld.global.u64 %rd1, [%rd10];\n"
    "ld.global.u64 %rd2, [%rd10+8];\nld.global.u64 %rd3, [%rd10+16];\n"
    "cvt.u32.u64 %r1, %rd1; cvt.u32.u64 %r2, %rd2; cvt.u32.u64 %r3, %rd3;\n"
    "mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3;\n"
    "cvt.u16.u64 %rs1, %rd1; cvt.u16.u64 %rs2, %rd2;\n"
    "cvt.u16.u64 %rs3, %rd3;\n"
    "setp.ne.s64 %p1, %rd1, 0; setp.ne.s64 %p2, %rd2, 0;\n"
    "setp.ne.s64 %p3, %rd3, 0;\n";

static void test_operation(const struct op_case *c)
{
    char text[4096], why[512] = "";
    const char *source = strchr(c->classes, ':') + 1;
    uint64_t data[4] = {c->a, c->b, c->c, 0x1234};
    int n = snprintf(text, sizeof(text), "%s%s %s0", begin, c->op,
                     reg(c->classes[0]));

    for (int i = 0; source[i] != '\0'; i++)
        n += snprintf(text + n, sizeof(text) - (size_t)n, ", %s%d",
                      reg(source[i]), i + 1);
    n += snprintf(text + n, sizeof(text) - (size_t)n, ";\n");
    switch (c->classes[0]) {
    case 'p':
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      "selp.b64 %%rd0, 1, 0, %%p0;\n");
        break;
    case 'h':
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      "cvt.u64.u16 %%rd0, %%rs0;\n");
        break;
    case 'f':
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      "mov.b32 %%r0, %%f0;\ncvt.u64.u32 %%rd0, %%r0;\n");
        break;
    case 'r':
        n += snprintf(text + n, sizeof(text) - (size_t)n,
                      "cvt.u64.u32 %%rd0, %%r0;\n");
        break;
    default:
        break;
    }
    snprintf(text + n, sizeof(text) - (size_t)n,
             "st.global.u64 [%%rd10+24], %%rd0;\nret;\n}\n");
    if (!run(text, data, sizeof(data), 1, 1, NULL, why, sizeof(why)))
        tap_diag("%s", why);
    tap_ok(data[3] == c->d, "%s %#llx %#llx %#llx: %#llx, was %#llx", c->op,
           (unsigned long long)c->a, (unsigned long long)c->b,
           (unsigned long long)c->c, (unsigned long long)c->d,
           (unsigned long long)data[3]);
}

/* Each line of the list has a case; bfi and pack are in texts below. */
static void test_complete(void)
{
    static const char *const names[] = {
#define X(NAME, VALUE) #NAME,
        PTX_OPS(X)
#undef X
    };
    unsigned missing = 0;

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        bool met = strcmp(names[i], "bfi_b32") == 0 ||
                   strncmp(names[i], "pack_", 5) == 0;

        for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
            met = met || ptx_op_find(cases[k].op) == (int)i;
        if (!met)
            tap_diag("%s has no case", names[i]);
        missing += !met;
    }
    tap_ok(missing == 0, "each of %zu operations has a case",
           sizeof(names) / sizeof(names[0]));
}

/* Bodies over 64 items and data of 1024 bytes. what: part of the text that a
 * fault has to have, or NULL where all goes well. */
static const struct {
    const char *name, *body, *what;
} bodies[] = {
    {"vectors are moved whole",
     "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];\n"
     "st.global.v2.u32 [%rd1+16], {%r4, %r3};\n",
     NULL},
    {"halves, bit fields and predicates",
     "mov.b64 {%r1, %r2}, %rd1; mov.b64 %rd2, {%r1, %r2};\n"
     "setp.eq.s64 %p1, %rd1, %rd2; bfi.b32 %r3, 5, 0, 4, 3;\n"
     "setp.eq.s32 %p2, %r3, 80; and.pred %p1, %p1, %p2;\n"
     "@!%p1 st.shared.u32 [4000], %r1;\n",
     NULL},
    {"a race is no race with a barrier between",
     "st.shared.u32 [%r0], %r0; bar.sync 0;\n"
     "xor.b32 %r1, %r0, 4; ld.shared.u32 %r2, [%r1];\n",
     NULL},
    {"bytes of one word are no race", "st.shared.u8 [%r9], %r0;\n", NULL},
    {"a vector's address is that of its whole",
     "ld.global.v2.u32 {%r1, %r2}, [%rd1+4];\n", "not aligned"},
    {"a word at an odd address", "ld.global.u32 %r1, [%rd1+2];\n",
     "not aligned"},
    {"behind the end", "ld.global.u32 %r1, [%rd1+1024];\n",
     "in no range of this launch"},
    {"before the beginning", "st.global.u32 [%rd1+-4], %r0;\n",
     "in no range of this launch"},
    {"behind the end of shared memory", "st.shared.u32 [256], %r0;\n",
     "shared address 0x100, 4 bytes: out of range"},
    {"shared memory that nobody wrote", "ld.shared.u32 %r1, [%r0];\n",
     "nobody wrote it"},
    {"two items write a word", "st.shared.u32 [0], %r0;\n",
     "race: shared byte 0 was written by item 0 and is written"},
    {"one reads what another wrote",
     "st.shared.u32 [%r0], %r0;\nxor.b32 %r1, %r0, 4;\n"
     "setp.eq.s32 %p1, %r0, 4;\n@%p1 ld.shared.u32 %r2, [%r1];\n",
     "is read without a barrier between"},
    {"one writes what another read",
     "st.shared.u32 [%r0], %r0; bar.sync 0;\n"
     "setp.eq.s32 %p1, %r0, 0;\n@%p1 ld.shared.u32 %r2, [4];\n"
     "setp.eq.s32 %p2, %r0, 4;\n@%p2 st.shared.u32 [4], %r0;\n",
     "was read by item 0 and is written"},
    {"some items end before a barrier",
     "setp.eq.s32 %p1, %r0, 4;\n@%p1 ret;\nbar.sync 0;\n",
     "63 of 64 items wait"},
    {"items wait at two barriers",
     "setp.eq.s32 %p1, %r0, 4;\n@%p1 bra A;\nbar.sync 0;\nbra B;\nA:\n"
     "bar.sync 0;\nB:\n",
     "divergent barriers"},
    {"add.f32", "add.f32 %f1, %f2, %f3;\n", "add.f32 may be contracted"},
    {"fma.rn.ftz.f32", "fma.rn.ftz.f32 %f1, %f2, %f3, %f1;\n",
     "flushes subnormals"},
    {"div.approx.f32", "div.approx.f32 %f1, %f2, %f3;\n", "is approximate"},
    {"div.full.f32", "div.full.f32 %f1, %f2, %f3;\n", "is approximate"},
    {"ex2.approx.f32", "ex2.approx.f32 %f1, %f2;\n", "is approximate"},
    {"atom.global.add.u32", "atom.global.add.u32 %r1, [%rd1], 1;\n",
     "atom.global.add.u32 is not supported"},
    {"ld.volatile.global.u32", "ld.volatile.global.u32 %r1, [%rd1];\n",
     ".volatile is not supported"},
    {"shfl.sync", "shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;\n",
     "is not supported"},
    {"barriers of some items", "bar.sync 0, 32;\n", "only of all items"},
    {"a label that is nowhere", "bra NOWHERE;\n", "there is no label NOWHERE"},
    {"a register that is not declared", "mov.u32 %x1, 0;\n", "\"%x1\" where"}};

static void test_body(size_t k)
{
    static const char head[] =
        HEAD ".visible .entry t(.param .u64 p)\n.maxntid 64, 1, 1\n{\n"
             ".reg .pred %p<4>; .reg .b32 %r<10>; .reg .f32 %f<4>;\n"
             ".reg .b64 %rd<4>;\n.shared .align 4 .b8 s[256];\n"
             "ld.param.u64 %rd1, [p];\nmov.u32 %r9, %tid.x;\n"
             "shl.b32 %r0, %r9, 2;\n";
    _Alignas(16) unsigned char data[1024] = {1, 2, 3, 4};
    char text[2048], why[512] = "";
    bool ok;

    snprintf(text, sizeof(text), "%s%sret;\n}\n", head, bodies[k].body);
    ok = run(text, data, sizeof(data), 1, 64, NULL, why, sizeof(why));
    if (bodies[k].what == NULL)
        tap_ok(ok, "%s%s", bodies[k].name, why[0] == 'p' && !ok ? why : "");
    else
        tap_ok(!ok && strstr(why, bodies[k].what) != NULL &&
                   strstr(why, "line ") != NULL,
               "%s: %s", bodies[k].name, why);
}

/* Global memory in race mode, by two groups of 32 items. */
static void test_shadow(const char *name, const char *body, bool written,
                        bool write, const char *what)
{
    static const char head[] =
        HEAD ".visible .entry t(.param .u64 p)\n{\n"
             ".reg .b32 %r<8>; .reg .b64 %rd<6>;\n"
             "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n"
             "mov.u32 %r2, %ctaid.x;\nmad.lo.s32 %r3, %r2, 32, %r1;\n"
             "mul.wide.u32 %rd2, %r3, 4;\nadd.s64 %rd3, %rd1, %rd2;\n";
    uint32_t data[64] = {0};
    uint64_t base = (uintptr_t)data;
    struct ptx_shadow *s = ptx_shadow_create(base, sizeof(data));
    const struct ptx_range range = {base, sizeof(data), write, s};
    char text[2048], why[512] = "";
    bool ok;

    if (written)
        ptx_shadow_wrote(s, base, sizeof(data));
    snprintf(text, sizeof(text), "%s%sret;\n}\n", head, body);
    ok = run(text, data, sizeof(data), 2, 32, &range, why, sizeof(why));
    tap_ok(what == NULL ? ok : !ok && strstr(why, what) != NULL, "%s: %s", name,
           ok ? "no fault" : why);
    ptx_shadow_destroy(s);
}

static void test_shadows(void)
{
    test_shadow("each item its own word",
                "st.global.u32 [%rd3], %r3; ld.global.u32 %r4, [%rd3];\n",
                false, true, NULL);
    test_shadow("all read one word", "ld.global.u32 %r4, [%rd1];\n", true,
                false, NULL);
    test_shadow("a word that nobody wrote", "ld.global.u32 %r4, [%rd1];\n",
                false, true, "nobody wrote it");
    test_shadow("all write one word", "st.global.u32 [%rd1], %r3;\n", true,
                true, "race: byte 0");
    test_shadow("a group writes what another read",
                "ld.global.u32 %r4, [%rd1+128]; st.global.u32 [%rd3], %r3;\n",
                true, true, "without a barrier between");
    test_shadow("through the read-only cache",
                "st.global.u32 [%rd3], %r3; ld.global.nc.u32 %r4, [%rd3];\n",
                true, true, "ld.global.nc of what");
    test_shadow("what is bound to be read", "st.global.u32 [%rd3], %r3;\n",
                true, false, "bound to be read");
}

static void test_calls(void)
{
    static const char text[] =
        HEAD ".func (.param .b32 res) plus(.param .b32 a, .param .b32 b)\n{\n"
             ".reg .b32 %r<4>;\nld.param.u32 %r1, [a]; ld.param.u32 %r2, [b];\n"
             "add.s32 %r3, %r1, %r2; st.param.b32 [res], %r3; ret;\n}\n"
             ".visible .entry t(.param .u64 p)\n{\n.reg .b32 %r<4>;\n"
             ".reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\n"
             "{ .param .b32 x; .param .b32 y; .param .b32 z;\n"
             "st.param.b32 [x], 40; st.param.b32 [y], 2;\n"
             "call.uni (z), plus, (x, y);\nld.param.b32 %r1, [z]; }\n"
             "st.global.u32 [%rd1], %r1;\nret;\n}\n";
    uint32_t data[2] = {0};
    char why[512] = "";

    tap_ok(run(text, data, sizeof(data), 1, 1, NULL, why, sizeof(why)) &&
               data[0] == 42,
           "a call is expanded: %u", data[0]);
}

/* The text between an entry's parameters and its body. */
static void test_directives(const char *directives, const char *what)
{
    char text[512], why[512] = "";
    uint32_t data[2] = {0};
    bool ok;

    snprintf(text, sizeof(text),
             HEAD ".visible .entry t(.param .u64 p)\n%s\n{\nret;\n}\n",
             directives);
    ok = run(text, data, sizeof(data), 1, 64, NULL, why, sizeof(why));
    tap_ok(what == NULL ? ok : !ok && strstr(why, what) != NULL, "%s: %s",
           directives, ok ? "no fault" : why);
}

static void test_heads(void)
{
    test_directives(".maxntid 64, 1, 1 .minnctapersm 16", NULL);
    test_directives(".maxntid 256, 1, 1 .minnctapersm 5",
                    "5 groups of 256 items, a multiprocessor of sm_75 has "
                    "1024");
    test_directives(".maxntid 64, 1, 1 .minnctapersm 0", "0 groups");
    test_directives(".minnctapersm 4", "no .maxntid before it");
    test_directives(".maxntid 64, 2, 1", "one dimension");
    test_directives(".maxnreg 32", ".maxnreg of a function is not supported");
}

int main(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        test_operation(&cases[i]);
    test_complete();
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
        test_body(i);
    test_shadows();
    test_calls();
    test_heads();
    return tap_done(400);
}
