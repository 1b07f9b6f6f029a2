/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_warp_test.c - the interpreter's mma.sync, ldmatrix and cp.async against
 * products worked out here, and every fault of theirs that it must
 * find. */
#include "tests/fakecuda/ptx/ptx.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

#define M 16
#define N 8
#define K 16

/* a and b as the program finds them, then d. */
struct ptx_warp_data {
    uint16_t a[M * K], b[K * N];
    float d[M * N];
};

/* Integers from -3 to 3, in either type. */
static uint16_t f16_of(int x)
{
    static const uint16_t most[] = {0, 0x3c00, 0x4000, 0x4200};

    return (uint16_t)(most[x < 0 ? -x : x] | (x < 0 ? 0x8000 : 0));
}

static uint16_t bf16_of(int x)
{
    static const uint16_t most[] = {0, 0x3f80, 0x4000, 0x4040};

    return (uint16_t)(most[x < 0 ? -x : x] | (x < 0 ? 0x8000 : 0));
}

static int a_value(int i, int q)
{
    return (i * 5 + q * 3 + i * q) % 7 - 3;
}

static int b_value(int q, int j)
{
    return (j * 4 + q * 2 + j * q * 3) % 7 - 3;
}

/* A warp copies a and b into shared memory; nothing but the barrier is left to
 * do. r1 is the item, rd1 the data. */
#define HEAD                                                                   \
    ".version 7.0\n.target sm_80\n.address_size 64\n"                          \
    ".visible .entry t(.param .u64 p)\n{\n"                                    \
    ".reg .pred %p<4>; .reg .b32 %r<40>; .reg .f32 %f<8>;\n"                   \
    ".reg .b64 %rd<8>;\n.shared .align 16 .b8 s[4096];\n"                      \
    "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 4;\n"      \
    "cvt.u64.u32 %rd2, %r2; add.s64 %rd3, %rd1, %rd2;\n"
#define COPY                                                                   \
    "setp.lt.u32 %p1, %r1, 16; selp.b32 %r3, 16, 0, %p1;\n"                    \
    "cp.async.cg.shared.global [%r2], [%rd3], 16;\n"                           \
    "cp.async.cg.shared.global [%r2+512], [%rd3+512], 16, %r3;\n"              \
    "cp.async.commit_group;\n"
#define WAIT "cp.async.wait_group 0;\nbar.sync 0;\n"

/* Matrices of rows, k along them; and turned ones. */
#define ROWS                                                                   \
    "and.b32 %r4, %r1, 15; shl.b32 %r4, %r4, 5; shr.u32 %r5, %r1, 4;\n"        \
    "shl.b32 %r5, %r5, 4; add.u32 %r4, %r4, %r5;\n"                            \
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, "      \
    "[%r4];\n"                                                                 \
    "and.b32 %r4, %r1, 7; shl.b32 %r4, %r4, 5; shr.u32 %r5, %r1, 3;\n"         \
    "and.b32 %r5, %r5, 1; shl.b32 %r5, %r5, 4; add.u32 %r4, %r4, %r5;\n"       \
    "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r14, %r15}, [%r4+512];\n"
#define COLUMNS                                                                \
    "and.b32 %r4, %r1, 7; shr.u32 %r5, %r1, 4; shl.b32 %r5, %r5, 3;\n"         \
    "add.u32 %r4, %r4, %r5; shl.b32 %r4, %r4, 5; shr.u32 %r5, %r1, 3;\n"       \
    "and.b32 %r5, %r5, 1; shl.b32 %r5, %r5, 4; add.u32 %r4, %r4, %r5;\n"       \
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "                          \
    "{%r10, %r11, %r12, %r13}, [%r4];\n"                                       \
    "and.b32 %r4, %r1, 15; shl.b32 %r4, %r4, 4;\n"                             \
    "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r14, %r15}, "            \
    "[%r4+512];\n"

#define ZERO4                                                                  \
    "mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1;\n"           \
    "mov.f32 %f4, %f1;\n"
#define D4 "{%f1, %f2, %f3, %f4}"
#define MMA_16(T)                                                              \
    ZERO4 "mma.sync.aligned.m16n8k16.row.col.f32." T "." T ".f32 " D4          \
          ", {%r10, %r11, %r12, %r13}, {%r14, %r15}, " D4 ";\n"
#define MMA_8                                                                  \
    ZERO4 "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " D4               \
          ", {%r10, %r11}, {%r14}, " D4 ";\n"                                  \
          "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 " D4               \
          ", {%r12, %r13}, {%r15}, " D4 ";\n"
/* d by rows: a lane has two neighbours, and two 8 rows below */
#define STORE                                                                  \
    "shr.u32 %r4, %r1, 2; shl.b32 %r4, %r4, 5; and.b32 %r5, %r1, 3;\n"         \
    "shl.b32 %r5, %r5, 3; add.u32 %r4, %r4, %r5; cvt.u64.u32 %rd4, %r4;\n"     \
    "add.s64 %rd4, %rd1, %rd4; st.global.f32 [%rd4+768], %f1;\n"               \
    "st.global.f32 [%rd4+772], %f2; st.global.f32 [%rd4+1024], %f3;\n"         \
    "st.global.f32 [%rd4+1028], %f4;\n"
#define TAIL "ret;\n}\n"

static bool run(const char *text, struct ptx_warp_data *data,
                struct ptx_counts *counts, char *why, size_t room)
{
    uint64_t param = (uintptr_t)data;
    struct ptx_range all = {param, sizeof(*data), true, NULL};
    struct ptx_launch l = {1, 32, &param, 8, &all, 1, 0, counts};
    struct ptx_module *m = ptx_load(text, why, room);
    struct ptx_entry *e = m == NULL ? NULL : ptx_find(m, "t", why, room);
    bool ok = e != NULL && ptx_run(e, &l, why, room);

    ptx_unload(m);
    return ok;
}

static void fill(struct ptx_warp_data *x, bool bf16, bool turned)
{
    uint16_t (*of)(int) = bf16 ? bf16_of : f16_of;

    memset(x, 0, sizeof(*x));
    for (int q = 0; q < K; q++) {
        for (int i = 0; i < M; i++)
            x->a[turned ? q * M + i : i * K + q] = of(a_value(i, q));
        for (int j = 0; j < N; j++)
            x->b[turned ? q * N + j : j * K + q] = of(b_value(q, j));
    }
}

static int wrong(const struct ptx_warp_data *x)
{
    int n = 0;

    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int sum = 0;

            for (int q = 0; q < K; q++)
                sum += a_value(i, q) * b_value(q, j);
            n += x->d[i * N + j] != (float)sum;
        }
    return n;
}

static const struct {
    const char *name, *text;
    bool bf16, turned;
} products[] = {
    {"m16n8k16 of f16", HEAD COPY WAIT ROWS MMA_16("f16") STORE TAIL, false,
     false},
    {"m16n8k16 of bf16", HEAD COPY WAIT ROWS MMA_16("bf16") STORE TAIL, true,
     false},
    {"m16n8k8 of f16", HEAD COPY WAIT ROWS MMA_8 STORE TAIL, false, false},
    {"matrices turned as they are loaded",
     HEAD COPY WAIT COLUMNS MMA_16("f16") STORE TAIL, false, true}};

static void test_products(void)
{
    _Alignas(16) struct ptx_warp_data x;
    char why[512] = "";

    for (size_t k = 0; k < sizeof(products) / sizeof(products[0]); k++) {
        fill(&x, products[k].bf16, products[k].turned);
        bool ok = run(products[k].text, &x, NULL, why, sizeof(why));

        tap_ok(ok && wrong(&x) == 0, "%s: %d of %d wrong%s", products[k].name,
               ok ? wrong(&x) : M * N, M * N, ok ? "" : why);
    }
    for (int k = PTX_MMA_HALF; k <= PTX_MMA_TAIL; k++) {
        static const char *const names[] = {"", "sums of 11 bits",
                                            "rows that changed places",
                                            "the last of k forgotten"};

        _Alignas(16) struct ptx_warp_data spoilt;

        fill(&x, false, false);
        x.a[0] = 0x6401; /* 1025: its sums want more than 11 bits */
        spoilt = x;
        (void)run(products[0].text, &x, NULL, why, sizeof(why));
        ptx_mma_wrong = (enum ptx_mma_wrong)k;
        (void)run(products[0].text, &spoilt, NULL, why, sizeof(why));
        ptx_mma_wrong = PTX_MMA_RIGHT;
        tap_ok(memcmp(spoilt.d, x.d, sizeof(x.d)) != 0, "at fault: %s",
               names[k]);
    }
}

/* Sums are truncated, as tensor cores do. */
static void test_rounding(void)
{
    _Alignas(16) struct ptx_warp_data x;
    char why[512] = "";

    memset(&x, 0, sizeof(x));
    x.a[0] = x.b[0] = 0x3c00;         /* 1 1 + */
    x.a[1] = 0x0e00, x.b[1] = 0x0c00; /* 1.5 2^-12 2^-12 */
    x.a[8 * K] = 0x7c00;              /* inf 1 */
    x.a[9 * K] = 0x7c00;              /* inf 1 + inf -1 */
    x.a[9 * K + 2] = 0x7c00, x.b[2] = 0xbc00;
    (void)run(products[0].text, &x, NULL, why, sizeof(why));
    tap_ok(x.d[0] == 1.0f, "a sum is cut off: %a", (double)x.d[0]);
    tap_ok(isinf(x.d[8 * N]) && isnan(x.d[9 * N]), "infinities: %g %g",
           (double)x.d[8 * N], (double)x.d[9 * N]);
    x.a[8 * K] = 0x7e00; /* a NaN that other products follow */
    x.a[8 * K + 1] = x.b[1] = 0x3c00;
    (void)run(products[0].text, &x, NULL, why, sizeof(why));
    tap_ok(isnan(x.d[8 * N]), "a NaN: %g", (double)x.d[8 * N]);
}

static void test_counts(void)
{
    static const char banks[] =
        HEAD "shl.b32 %r3, %r1, 7; st.shared.u32 [%r3], %r1;\n"
             "mov.u32 %r4, %r1; bar.sync 0;\n"
             "st.shared.v4.u32 [%r2], {%r1, %r1, %r1, %r1};\n" TAIL;
    _Alignas(16) struct ptx_warp_data x;
    struct ptx_counts c;
    char why[512] = "";

    fill(&x, false, false);
    bool ok = run(products[0].text, &x, &c, why, sizeof(why));
    tap_ok(ok && c.mma == 1 && c.ldmatrix == 2 && c.copies == 2 &&
               c.flops == 2 * M * N * K && c.global_bytes == 768,
           "counts: %llu, %llu, %llu, %llu operations, %llu bytes",
           (unsigned long long)c.mma, (unsigned long long)c.ldmatrix,
           (unsigned long long)c.copies, (unsigned long long)c.flops,
           (unsigned long long)c.global_bytes);
    /* rows of 32 bytes: the fifth of a matrix is in the banks of the first */
    tap_ok(c.conflicts == 6, "rows of matrices: %llu conflicts",
           (unsigned long long)c.conflicts);
    ok = run(banks, &x, &c, why, sizeof(why));
    tap_ok(ok && c.conflicts == 31,
           "a column has 31, a row of vectors none: %llu%s",
           (unsigned long long)c.conflicts, ok ? "" : why);
}

static const struct {
    const char *name, *text, *what;
} faults[] = {
    {"read before it is waited for",
     HEAD COPY "ld.shared.u32 %r4, [%r2];\n" TAIL,
     "is read while a copy to it is in flight"},
    {"written while it is on its way",
     HEAD COPY "st.shared.u32 [%r2], %r1;\n" TAIL,
     "is written while a copy to it is in flight"},
    {"a barrier is no wait", HEAD COPY "bar.sync 0;\n" ROWS TAIL,
     "while a copy to it is in flight"},
    {"a wait for the group before",
     HEAD COPY "cp.async.wait_group 1;\nbar.sync 0;\n" ROWS TAIL,
     "while a copy to it is in flight"},
    {"of no group yet",
     HEAD "cp.async.cg.shared.global [%r2], [%rd3], 16;\n" WAIT ROWS TAIL,
     "while a copy to it is in flight"},
    {"a wait is no barrier",
     HEAD COPY "cp.async.wait_all;\nxor.b32 %r2, %r2, 16;\n"
               "ld.shared.u32 %r4, [%r2];\n" TAIL,
     "race: shared byte"},
    {"two copies to one place",
     HEAD "cp.async.cg.shared.global [0], [%rd3], 16;\n" TAIL,
     "is written while a copy to it is in flight"},
    {"copied over what another item reads",
     HEAD COPY WAIT "xor.b32 %r4, %r2, 16; ld.shared.u32 %r5, [%r4];\n"
                    "cp.async.cg.shared.global [%r2], [%rd3], 16;\n" TAIL,
     "is written without a barrier between"},
    {"never waited for", HEAD COPY TAIL, "copies in flight"},
    {"from an odd address",
     HEAD "cp.async.cg.shared.global [%r2], [%rd3+8], 16;\n" TAIL,
     "not aligned"},
    {"to an odd address",
     HEAD "cp.async.cg.shared.global [%r2+8], [%rd3], 16;\n" TAIL,
     "not aligned"},
    {"from nowhere",
     HEAD "cp.async.cg.shared.global [%r2], [%rd3+4096], 16;\n" TAIL,
     "in no range of this launch"},
    {"more than it has",
     HEAD "cp.async.cg.shared.global [%r2], [%rd3], 16, 17;\n" TAIL,
     "17 bytes of a copy of 16"},
    {"a matrix's row at an odd address",
     HEAD COPY WAIT
     "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2+2];\n" TAIL,
     "not aligned"},
    {"a matrix that nobody wrote",
     HEAD "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r2];\n" TAIL,
     "nobody wrote it"},
    {"half of a warp",
     HEAD COPY WAIT ROWS
     "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra OVER;\n" MMA_16("f16") "OVER:\n" TAIL,
     "not all items of the warp"},
    {"products of another type",
     HEAD "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1, %r2}, "
          "{%r1, %r2, %r3, %r4}, {%r1, %r2}, {%r1, %r2};\n" TAIL,
     "is not supported"},
    {"copies through the other cache",
     HEAD "cp.async.ca.shared.global [%r2], [%rd3], 4;\n" TAIL,
     "is not supported"}};

static void test_faults(void)
{
    _Alignas(16) struct ptx_warp_data x;

    for (size_t k = 0; k < sizeof(faults) / sizeof(faults[0]); k++) {
        char why[512] = "";

        fill(&x, false, false);
        bool ok = run(faults[k].text, &x, NULL, why, sizeof(why));
        tap_ok(!ok && strstr(why, faults[k].what) != NULL, "%s: %s",
               faults[k].name, ok ? "no fault" : why);
    }
}

int main(void)
{
    test_products();
    test_rounding();
    test_counts();
    test_faults();
    return tap_done(31);
}
