/* SPDX-License-Identifier: Apache-2.0 */
/* mma_count.c - the structure of gemm_mma.nv, by its PTX: the work of a
 * step of k, counted by the interpreter, and a sum of the bits that it
 * makes.
 *
 * The arguments are the PTX of variants, in files that have their numbers for
 * names, from 01 on. A tile is multiplied with 4 and with 8 steps of k. The
 * difference is 4 steps of the loop of k, without the rest. Bank conflicts are
 * counted over all of it, the epilogue included. */
#include "kernels/gemm/gemm_args.h"
#include "tests/fakecuda/ptx/ptx.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH 32
#define MOST  256 /* of k, in the test; of a tile's side 128 */

static _Alignas(16) uint16_t a[128 * MOST], b[128 * MOST];
static _Alignas(16) float d[128 * 128];

struct variant {
    bool async, bf16, a_turned, b_turned;
    uint32_t tile;
};

/* As the text lists them: LEVEL X A_TURNED B_TURNED LARGE. */
static struct variant variant_of(uint32_t i)
{
    return (struct variant){.async = i >= 8,
                            .bf16 = i >= 16,
                            .a_turned = (i & 4) != 0,
                            .b_turned = (i & 2) != 0,
                            .tile = (i & 1) != 0 ? 128 : 64};
}

/* Factors between 1/2 and 1, of either sign. */
static void fill(bool bf16)
{
    uint32_t x = 1;

    for (uint32_t i = 0; i < 2 * 128 * MOST; i++) {
        x = x * 1664525u + 1013904223u;
        uint16_t bits = (uint16_t)(bf16 ? 0x3f00u | (x >> 16 & 0x807fu)
                                        : 0x3800u | (x >> 16 & 0x83ffu));
        if (i < 128 * MOST)
            a[i] = bits;
        else
            b[i - 128 * MOST] = bits;
    }
}

/* Of all bits of d. */
static uint32_t sum_of_d(void)
{
    uint32_t sum = 2166136261u, bits;

    for (uint32_t i = 0; i < 128 * 128; i++) {
        memcpy(&bits, &d[i], sizeof(bits));
        sum = (sum ^ bits) * 16777619u;
    }
    return sum;
}

static bool run(struct ptx_entry *e, const struct variant *v, uint32_t k,
                struct ptx_counts *counts, char *why, size_t bytes)
{
    const struct ptx_shape *shape = ptx_entry_shape(e);
    struct gemm_mma_args x;
    unsigned char param[1024] = {0};
    uint64_t address[8] = {(uintptr_t)d, (uintptr_t)d, (uintptr_t)d,
                           (uintptr_t)d, (uintptr_t)d, (uintptr_t)d,
                           (uintptr_t)a, (uintptr_t)b};
    struct ptx_range range[3] = {{(uintptr_t)a, sizeof(a), false, NULL},
                                 {(uintptr_t)b, sizeof(b), false, NULL},
                                 {(uintptr_t)d, sizeof(d), true, NULL}};
    struct ptx_launch l = {.groups = 1,
                           .items = 256,
                           .param = param,
                           .param_bytes = shape->param_bytes,
                           .range = range,
                           .nrange = 3,
                           .counts = counts};

    if (shape->nparams != 9 || shape->param_bytes > sizeof(param))
        return false;
    memset(&x, 0, sizeof(x));
    x.g.m = x.g.n = x.g.d_row = v->tile;
    x.g.k = k;
    x.g.batch = 1;
    x.g.alpha = 1.0f;
    x.g.types = GEMM_TYPES(v->bf16 ? 3u : 2u, v->bf16 ? 3u : 2u, 0u, 0u, 1u);
    x.a_row = v->a_turned ? 1 : MOST;
    x.a_column = v->a_turned ? v->tile : 1;
    x.b_row = v->b_turned ? v->tile : 1;
    x.b_column = v->b_turned ? 1 : MOST;
    for (uint32_t i = 0; i < 8; i++)
        memcpy(param + shape->param[i].at, &address[i], 8);
    memcpy(param + shape->param[8].at, &x, sizeof(x));
    return ptx_run(e, &l, why, bytes);
}

/* Of one step: products; loads of matrices, 2 of 16 of k for each warp's rows
 * and columns; and bytes, each element of both factors once. */
static bool is_step(const struct variant *v, const struct ptx_counts *c)
{
    uint64_t side = v->tile, warps = 8, high = v->tile == 128 ? 4 : 1;

    return c->flops == 2 * side * side * DEPTH &&
           c->mma == side * side * DEPTH / (16 * 8 * (v->async ? 16 : 8)) &&
           c->ldmatrix == warps * 2 * (high + 2) &&
           c->copies == (v->async ? 2 * side * DEPTH / 8 / 32 : 0) &&
           c->global_bytes == 2 * side * DEPTH * 2;
}

static void count(const char *name, struct ptx_entry *e, uint32_t i)
{
    struct variant v = variant_of(i);
    struct ptx_counts few = {0}, many = {0}, step;
    char why[512] = "";
    fill(v.bf16);
    memset(d, 0, sizeof(d));
    bool ok = run(e, &v, 4 * DEPTH, &few, why, sizeof(why)) &&
              run(e, &v, 8 * DEPTH, &many, why, sizeof(why));

    step = (struct ptx_counts){.mma = (many.mma - few.mma) / 4,
                               .ldmatrix = (many.ldmatrix - few.ldmatrix) / 4,
                               .copies = (many.copies - few.copies) / 4,
                               .flops = (many.flops - few.flops) / 4,
                               .global_bytes =
                                   (many.global_bytes - few.global_bytes) / 4};
    tap_ok(ok && is_step(&v, &step),
           "%s: a step of a tile of %u: %llu mma, %llu ldmatrix, %llu "
           "cp.async, %llu bytes: one for %.0f operations; bits %08x%s",
           name, v.tile, (unsigned long long)step.mma,
           (unsigned long long)step.ldmatrix, (unsigned long long)step.copies,
           (unsigned long long)step.global_bytes,
           step.global_bytes == 0
               ? 0.0
               : (double)step.flops / (double)step.global_bytes,
           sum_of_d(), ok ? "" : why);
    tap_ok(ok && many.conflicts == 0, "%s: %llu bank conflicts", name,
           (unsigned long long)many.conflicts);
    /* the limit of every device; and the epilogue's line */
    tap_ok(ptx_entry_shape(e)->shared_bytes <= 48 * 1024 &&
               ptx_entry_shape(e)->local_bytes <= 4 * sizeof(float),
           "%s: %u bytes of shared memory, %u of local", name,
           ptx_entry_shape(e)->shared_bytes, ptx_entry_shape(e)->local_bytes);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        static char text[1 << 20];
        const char *name = strrchr(argv[i], '/') + 1;
        char why[512] = "";
        FILE *f = fopen(argv[i], "rb");
        size_t n = f == NULL ? 0 : fread(text, 1, sizeof(text) - 1, f);
        struct ptx_module *m;
        struct ptx_entry *e;

        if (f != NULL)
            fclose(f);
        text[n] = '\0';
        m = ptx_load(text, why, sizeof(why));
        e = m == NULL ? NULL : ptx_find(m, "gemm_mma", why, sizeof(why));
        if (e == NULL)
            tap_ok(false, "%s: %s", argv[i], why);
        else
            count(name, e, (uint32_t)strtoul(name, NULL, 10) - 1);
        ptx_unload(m);
    }
    return tap_done(3 * (argc - 1));
}
