/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_route.c - how cuBLASLt computes a matmul.
 *
 * The library rounds a float32 result once to the factors' type, or not at all.
 * It can add a c and a bias of the result's type. If the op needs nothing else,
 * the library writes d itself. Otherwise it writes float32 sums into memory of
 * the queue, and the kernel gemm_finish.k computes d from them. If the memory
 * is too small for all sums, this is done for a number of rows at a time.
 *
 * Its other epilogues are never used. NVIDIA's documentation says of RELU only
 * that it is a "point-wise max(x, 0)", and nothing of a NaN, which must stay a
 * NaN here. Of GELU it says only that it is applied, but not by which formula
 * or how exactly. It has none for silu, sigmoid and tanh. Fusion is therefore
 * the kernel that follows the matmul, with one pass over the sums.
 *
 * Tensor cores need 16-bit factors whose lines begin at multiples of 16 bytes,
 * and whose sizes along the lines are multiples of 8. Other factors are first
 * copied into memory of the queue, with zeros appended to each line
 * (gemm_pad.k). */
#include "backends/cuda/gemm_route.h"

#include <limits.h>
#include <string.h>

/** All pieces except the last have a multiple of PIECE_ROW rows and columns, so
 *  they begin at multiples of 16 bytes in any order. */
#define PIECE_ROW 8

/* Return the product with adjacent columns in d. If d is one column with
 * adjacent elements, it is transposed to a row. */
struct product cuda_gemm_product(const struct gemm_op *op)
{
    struct product g = product_of(op);
    bool rows = g.n == 1 ? g.m == 1 || g.d.stride[1] != 1 : g.d.stride[2] == 1;
    if (!rows)
        product_transpose(&g);
    return g;
}

/* ---- operands ---- */

/* Return the stride of dimension i in elements; 0 if its size is 1 or the
 * operand is absent. */
static int64_t route_step(const struct view *v, int i)
{
    return v->buffer == NULL || v->shape[i] == 1 ? 0 : v->stride[i];
}

/* Describe a view whose rows or columns have adjacent elements. cuBLASLt gets
 * the transpose, whose columns are these rows. */
struct lt_matrix cuda_lt_matrix(const struct view *v)
{
    bool columns = v->shape[2] == 1 ? route_step(v, 1) == 1 : v->stride[2] != 1;
    int64_t line = columns ? v->shape[1] : v->shape[2];
    int64_t lines = columns ? v->shape[2] : v->shape[1];
    int64_t leading = columns ? v->stride[2] : v->stride[1];
    return (struct lt_matrix){.leading = lines == 1 ? line : leading,
                              .batch = route_step(v, 0),
                              .align = cuda_lt_align(cuda_address(v)),
                              .turned = columns};
}

/* Return whether lines follow each other without overlapping, and matrices have
 * no negative stride. */
bool cuda_lt_plain(const struct view *v, const struct lt_matrix *x)
{
    int64_t line = x->turned != 0 ? v->shape[1] : v->shape[2];
    return x->leading >= line && x->leading <= INT_MAX && x->batch >= 0;
}

/* Return whether all lines begin at multiples of 16 bytes. */
bool cuda_lt_aligned(ssq_dtype dtype, const struct lt_matrix *x)
{
    int64_t each = LT_ALIGN_LEAST / factor_bytes(dtype);
    return x->align >= LT_ALIGN_LEAST && x->leading % each == 0 &&
           x->batch % each == 0;
}

/* Return whether cuBLASLt can write the view, or read it as its c. */
static bool route_is_result(const struct view *v)
{
    struct lt_matrix x = cuda_lt_matrix(v);
    return x.turned == 0 && cuda_lt_plain(v, &x) &&
           cuda_lt_aligned(v->dtype, &x);
}

/* Return whether the library's epilogue can add the bias: a vector of d's type
 * along its rows, which begins at a multiple of 16 bytes. */
static bool route_is_bias(const struct product *g)
{
    return g->bias.dtype == g->d.dtype && route_step(&g->bias, 0) == 0 &&
           route_step(&g->bias, 1) == 0 && g->bias.stride[2] == 1 &&
           cuda_address(&g->bias) % LT_ALIGN_LEAST == 0;
}

/* Return whether the library can compute all of d, so that no kernel need
 * complete it. */
static bool route_is_whole(const struct gemm_op *op, const struct product *g)
{
    bool c = g->c.buffer != NULL, bias = g->bias.buffer != NULL;
    return op->activation == SSQ_ACTIVATION_NONE &&
           (g->d.dtype == SSQ_F32 || g->d.dtype == g->a.dtype) &&
           route_is_result(&g->d) &&
           (!c || (g->c.dtype == g->d.dtype && route_is_result(&g->c))) &&
           (!bias || route_is_bias(g));
}

/* ---- routes ---- */

static int64_t route_round_8(int64_t size)
{
    return (size + 7) / 8 * 8;
}

/* Choose the route of an op, from addresses and strides only. The addresses in
 * the queue's memory, which are aligned, are set later. NVIDIA requires
 * multiples of 8 for sizes along lines: for m only if a's lines are along m.
 * TF32 is not used if it failed its self-test or is missing. */
struct route cuda_route_of(const struct backend_device *d,
                           const struct gemm_op *op, const struct product *g)
{
    struct route r = {.m = g->m, .n = g->n, .k = g->k};
    r.whole = route_is_whole(op, g);
    r.tf32 = op->tf32 && cuda_lt_kind(d->lt, SSQ_F32, true)->admitted;
    r.a = r.b = r.sums = LT_ALIGN_MOST;
    if (g->a.dtype == SSQ_F32)
        return r;
    struct lt_matrix a = cuda_lt_matrix(&g->a), b = cuda_lt_matrix(&g->b);
    r.k = route_round_8(g->k);
    r.n = route_round_8(g->n);
    r.m = a.turned != 0 ? route_round_8(g->m) : g->m;
    r.copy_a = r.k != g->k || r.m != g->m || !cuda_lt_aligned(g->a.dtype, &a);
    r.copy_b = r.k != g->k || r.n != g->n || !cuda_lt_aligned(g->b.dtype, &b);
    r.whole = r.whole && r.m == g->m && r.n == g->n;
    return r;
}

/* Return the route of a piece. The sizes that the route of the whole product
 * pads are padded here, too. */
struct route cuda_route_piece(const struct route *r, const struct product *all,
                              const struct product *piece)
{
    struct route p = *r;
    p.m = r->m == all->m ? piece->m : route_round_8(piece->m);
    p.n = r->n == all->n ? piece->n : route_round_8(piece->n);
    return p;
}

/* Describe the copy of a factor, with this many rows and columns. Its lines
 * have the same direction as x. */
static struct lt_matrix route_copy_of(const struct view *v,
                                      const struct lt_matrix *x, int64_t rows,
                                      int64_t columns)
{
    return (struct lt_matrix){.leading = x->turned != 0 ? rows : columns,
                              .batch =
                                  route_step(v, 0) == 0 ? 0 : rows * columns,
                              .align = LT_ALIGN_MOST,
                              .turned = x->turned};
}

/* ---- the product for cuBLASLt ---- */

/* Set the factors. The library's a is b here, and its m is n. */
static void route_set_factors(struct lt_product *p, const struct product *g,
                              const struct route *r)
{
    memset(p, 0, sizeof(*p));
    p->shape.m = r->n;
    p->shape.n = r->m;
    p->shape.k = r->k;
    p->shape.batch = g->batch;
    p->shape.a = cuda_lt_matrix(&g->b);
    p->shape.b = cuda_lt_matrix(&g->a);
    p->shape.factors = (uint32_t)cuda_lt_type(g->a.dtype);
    p->shape.tf32 = r->tf32;
    p->a = cuda_address(&g->b);
    p->b = cuda_address(&g->a);
    if (r->copy_b) {
        p->shape.a = route_copy_of(&g->b, &p->shape.a, r->k, r->n);
        p->a = r->b;
    }
    if (r->copy_a) {
        p->shape.b = route_copy_of(&g->a, &p->shape.b, r->m, r->k);
        p->b = r->a;
    }
}

/* Return the product that computes all of a piece. */
static struct lt_product route_whole_product(const struct gemm_op *op,
                                             const struct product *g,
                                             const struct route *r)
{
    struct lt_product p;
    route_set_factors(&p, g, r);
    p.shape.result = (uint32_t)cuda_lt_type(g->d.dtype);
    p.shape.c = p.shape.d = cuda_lt_matrix(&g->d);
    p.c = p.d = cuda_address(&g->d);
    p.alpha = op->alpha;
    if (g->c.buffer != NULL) {
        p.shape.c = cuda_lt_matrix(&g->c);
        p.c = cuda_address(&g->c);
        p.beta = op->beta;
    }
    if (g->bias.buffer != NULL) {
        p.bias = cuda_address(&g->bias);
        p.shape.bias = 1;
        p.shape.bias_align = cuda_lt_align(p.bias);
    }
    return p;
}

/* Return the product that computes only the float32 sums of a piece, contiguous
 * in the queue's memory. */
static struct lt_product route_sums_product(const struct product *g,
                                            const struct route *r)
{
    struct lt_product p;
    route_set_factors(&p, g, r);
    p.shape.result = CUDA_R_32F;
    p.shape.d = (struct lt_matrix){
        .leading = r->n, .batch = r->m * r->n, .align = LT_ALIGN_MOST};
    p.shape.c = p.shape.d;
    p.c = p.d = r->sums;
    p.alpha = 1.0f;
    return p;
}

struct lt_product cuda_route_product(const struct gemm_op *op,
                                     const struct product *g,
                                     const struct route *r)
{
    return r->whole ? route_whole_product(op, g, r) : route_sums_product(g, r);
}

/* ---- pieces ---- */

/* Return how many of a factor's lines a piece has: all, or as many as the
 * memory for copies holds. */
static int64_t route_lines_of(bool copied, const struct route *r, int64_t lines)
{
    return copied ? size_least(lines, ROUTE_COPY / r->k / PIECE_ROW * PIECE_ROW)
                  : lines;
}

/* Return how many of n matrices, with `each` elements, a piece has. If limited,
 * at most as many as `room` elements hold, but at least 1. */
static int64_t route_matrices_of(int64_t n, bool limited, int64_t room,
                                 int64_t each)
{
    return limited ? size_least(n, size_most(1, room / each)) : n;
}

/* Return the sizes of a piece, as large as the queue's memory allows. */
struct product cuda_route_sizes(const struct product *g, const struct route *r)
{
    struct product s = {.batch = 1,
                        .m = route_lines_of(r->copy_a, r, g->m),
                        .n = route_lines_of(r->copy_b, r, g->n)};
    if (!r->whole && s.n > 0)
        s.m = size_least(s.m, ROUTE_SUMS / route_round_8(s.n) / PIECE_ROW *
                                  PIECE_ROW);
    if (s.m < g->m || s.n < g->n)
        return s;
    s.batch = route_matrices_of(g->batch, !r->whole, ROUTE_SUMS, r->m * r->n);
    s.batch = route_matrices_of(s.batch, r->copy_a && route_step(&g->a, 0) != 0,
                                ROUTE_COPY, r->m * r->k);
    s.batch = route_matrices_of(s.batch, r->copy_b && route_step(&g->b, 0) != 0,
                                ROUTE_COPY, r->n * r->k);
    return s;
}
