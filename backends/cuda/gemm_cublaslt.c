/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_cublaslt.c - matmuls by cuBLASLt, and the kernels that complete them.
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
 * (gemm_pad.k). This is worth its time only from a certain size: see
 * gemm_cublaslt_last(). */
#include "backends/cuda/lt.h"
#include "backends/cuda/mma.h"
#include "backends/cuda/queue.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "kernel_table.h"
#include "lib/op/gemm/product.h"

/** Float32 sums that fit into a queue's memory. All pieces except the last have
 *  a multiple of PIECE_ROW rows and columns, so they begin at multiples of 16
 *  bytes in any order. */
#define SUMS      (INT64_C(16) << 20)
#define PIECE_ROW 8
/** Elements of a copy of each factor that fit into a queue's memory. If a
 *  factor has more lines than a piece, the piece must have at least COPY_LINES:
 *  with fewer, the other factor is read too often. */
#define COPY       (INT64_C(16) << 20)
#define COPY_LINES 256
/** Elements that the finishing kernel can count in 32 bits. */
#define MOST_ELEMENTS (INT64_C(1) << 31)

/* Return the product with adjacent columns in d. If d is one column with
 * adjacent elements, it is transposed to a row. */
static struct product rows_first(const struct gemm_op *op)
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
static int64_t gemm_cublaslt_step(const struct view *v, int i)
{
    return v->buffer == NULL || v->shape[i] == 1 ? 0 : v->stride[i];
}

static uint32_t gemm_cublaslt_size_of(ssq_dtype dtype)
{
    return dtype == SSQ_F32 ? 4 : 2;
}

/* Describe a view whose rows or columns have adjacent elements. cuBLASLt gets
 * the transpose, whose columns are these rows. */
static struct lt_matrix gemm_cublaslt_matrix_of(const struct view *v)
{
    bool columns =
        v->shape[2] == 1 ? gemm_cublaslt_step(v, 1) == 1 : v->stride[2] != 1;
    int64_t line = columns ? v->shape[1] : v->shape[2];
    int64_t lines = columns ? v->shape[2] : v->shape[1];
    int64_t leading = columns ? v->stride[2] : v->stride[1];
    return (struct lt_matrix){.leading = lines == 1 ? line : leading,
                              .batch = gemm_cublaslt_step(v, 0),
                              .align = cuda_lt_align(cuda_address(v)),
                              .turned = columns};
}

/* Return whether lines follow each other without overlapping, and matrices have
 * no negative stride. */
static bool is_plain(const struct view *v, const struct lt_matrix *x)
{
    int64_t line = x->turned != 0 ? v->shape[1] : v->shape[2];
    return x->leading >= line && x->leading <= INT_MAX && x->batch >= 0;
}

/* Return whether all lines begin at multiples of 16 bytes. */
static bool gemm_cublaslt_is_aligned(ssq_dtype dtype, const struct lt_matrix *x)
{
    int64_t each = LT_ALIGN_LEAST / gemm_cublaslt_size_of(dtype);
    return x->align >= LT_ALIGN_LEAST && x->leading % each == 0 &&
           x->batch % each == 0;
}

/* Return whether cuBLASLt can write the view, or read it as its c. */
static bool is_result(const struct view *v)
{
    struct lt_matrix x = gemm_cublaslt_matrix_of(v);
    return x.turned == 0 && is_plain(v, &x) &&
           gemm_cublaslt_is_aligned(v->dtype, &x);
}

/* Return whether the library's epilogue can add the bias: a vector of d's type
 * along its rows, which begins at a multiple of 16 bytes. */
static bool is_bias(const struct product *g)
{
    return g->bias.dtype == g->d.dtype &&
           gemm_cublaslt_step(&g->bias, 0) == 0 &&
           gemm_cublaslt_step(&g->bias, 1) == 0 && g->bias.stride[2] == 1 &&
           cuda_address(&g->bias) % LT_ALIGN_LEAST == 0;
}

/* Return whether the library can compute all of d, so that no kernel need
 * complete it. */
static bool gemm_cublaslt_is_whole(const struct gemm_op *op,
                                   const struct product *g)
{
    bool c = g->c.buffer != NULL, bias = g->bias.buffer != NULL;
    return op->activation == SSQ_ACTIVATION_NONE &&
           (g->d.dtype == SSQ_F32 || g->d.dtype == g->a.dtype) &&
           is_result(&g->d) &&
           (!c || (g->c.dtype == g->d.dtype && is_result(&g->c))) &&
           (!bias || is_bias(g));
}

/* ---- routes ---- */

/** How a product is computed: which factors are copied first, and whether the
 *  library writes d. */
struct route {
    bool copy_a, copy_b;
    bool whole;             /* the library writes d itself */
    bool tf32;              /* it may cut float32 factors to TF32 */
    int64_t m, n, k;        /* sizes for the library, with padding */
    CUdeviceptr a, b, sums; /* addresses in the queue's memory */
};

static int64_t round_8(int64_t size)
{
    return (size + 7) / 8 * 8;
}

/* Choose the route of an op, from addresses and strides only. The addresses in
 * the queue's memory, which are aligned, are set later. NVIDIA requires
 * multiples of 8 for sizes along lines: for m only if a's lines are along m.
 * TF32 is not used if it failed its self-test or is missing. */
static struct route route_of(const struct backend_device *d,
                             const struct gemm_op *op, const struct product *g)
{
    struct route r = {.m = g->m, .n = g->n, .k = g->k};
    r.whole = gemm_cublaslt_is_whole(op, g);
    r.tf32 = op->tf32 && cuda_lt_kind(d->lt, SSQ_F32, true)->admitted;
    r.a = r.b = r.sums = LT_ALIGN_MOST;
    if (g->a.dtype == SSQ_F32)
        return r;
    struct lt_matrix a = gemm_cublaslt_matrix_of(&g->a),
                     b = gemm_cublaslt_matrix_of(&g->b);
    r.k = round_8(g->k);
    r.n = round_8(g->n);
    r.m = a.turned != 0 ? round_8(g->m) : g->m;
    r.copy_a =
        r.k != g->k || r.m != g->m || !gemm_cublaslt_is_aligned(g->a.dtype, &a);
    r.copy_b =
        r.k != g->k || r.n != g->n || !gemm_cublaslt_is_aligned(g->b.dtype, &b);
    r.whole = r.whole && r.m == g->m && r.n == g->n;
    return r;
}

static bool is_copied(const struct route *r)
{
    return r->copy_a || r->copy_b;
}

/* Return the route of a piece. The sizes that the route of the whole product
 * pads are padded here, too. */
static struct route route_piece(const struct route *r,
                                const struct product *all,
                                const struct product *piece)
{
    struct route p = *r;
    p.m = r->m == all->m ? piece->m : round_8(piece->m);
    p.n = r->n == all->n ? piece->n : round_8(piece->n);
    return p;
}

/* Describe the copy of a factor, with this many rows and columns. Its lines
 * have the same direction as x. */
static struct lt_matrix gemm_cublaslt_copy_of(const struct view *v,
                                              const struct lt_matrix *x,
                                              int64_t rows, int64_t columns)
{
    return (struct lt_matrix){
        .leading = x->turned != 0 ? rows : columns,
        .batch = gemm_cublaslt_step(v, 0) == 0 ? 0 : rows * columns,
        .align = LT_ALIGN_MOST,
        .turned = x->turned};
}

/* ---- the product for cuBLASLt ---- */

/* Set the factors. The library's a is b here, and its m is n. */
static void set_factors(struct lt_product *p, const struct product *g,
                        const struct route *r)
{
    memset(p, 0, sizeof(*p));
    p->shape.m = r->n;
    p->shape.n = r->m;
    p->shape.k = r->k;
    p->shape.batch = g->batch;
    p->shape.a = gemm_cublaslt_matrix_of(&g->b);
    p->shape.b = gemm_cublaslt_matrix_of(&g->a);
    p->shape.factors = (uint32_t)cuda_lt_type(g->a.dtype);
    p->shape.tf32 = r->tf32;
    p->a = cuda_address(&g->b);
    p->b = cuda_address(&g->a);
    if (r->copy_b) {
        p->shape.a = gemm_cublaslt_copy_of(&g->b, &p->shape.a, r->k, r->n);
        p->a = r->b;
    }
    if (r->copy_a) {
        p->shape.b = gemm_cublaslt_copy_of(&g->a, &p->shape.b, r->m, r->k);
        p->b = r->a;
    }
}

/* Return the product that computes all of a piece. */
static struct lt_product whole_of(const struct gemm_op *op,
                                  const struct product *g,
                                  const struct route *r)
{
    struct lt_product p;
    set_factors(&p, g, r);
    p.shape.result = (uint32_t)cuda_lt_type(g->d.dtype);
    p.shape.c = p.shape.d = gemm_cublaslt_matrix_of(&g->d);
    p.c = p.d = cuda_address(&g->d);
    p.alpha = op->alpha;
    if (g->c.buffer != NULL) {
        p.shape.c = gemm_cublaslt_matrix_of(&g->c);
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
static struct lt_product gemm_cublaslt_sums_of(const struct product *g,
                                               const struct route *r)
{
    struct lt_product p;
    set_factors(&p, g, r);
    p.shape.result = CUDA_R_32F;
    p.shape.d = (struct lt_matrix){
        .leading = r->n, .batch = r->m * r->n, .align = LT_ALIGN_MOST};
    p.shape.c = p.shape.d;
    p.c = p.d = r->sums;
    p.alpha = 1.0f;
    return p;
}

static struct lt_product gemm_cublaslt_told(const struct gemm_op *op,
                                            const struct product *g,
                                            const struct route *r)
{
    return r->whole ? whole_of(op, g, r) : gemm_cublaslt_sums_of(g, r);
}

/* ---- pieces ---- */

/* Return how many of a factor's lines a piece has: all, or as many as the
 * memory for copies holds. */
static int64_t gemm_cublaslt_lines_of(bool copied, const struct route *r,
                                      int64_t lines)
{
    return copied ? size_least(lines, COPY / r->k / PIECE_ROW * PIECE_ROW)
                  : lines;
}

/* Return how many of n matrices, with `each` elements, a piece has. If limited,
 * at most as many as `room` elements hold, but at least 1. */
static int64_t matrices_of(int64_t n, bool limited, int64_t room, int64_t each)
{
    return limited ? size_least(n, size_most(1, room / each)) : n;
}

/* Return the sizes of a piece, as large as the queue's memory allows. */
static struct product size_of_pieces(const struct product *g,
                                     const struct route *r)
{
    struct product s = {.batch = 1,
                        .m = gemm_cublaslt_lines_of(r->copy_a, r, g->m),
                        .n = gemm_cublaslt_lines_of(r->copy_b, r, g->n)};
    if (!r->whole && s.n > 0)
        s.m = size_least(s.m, SUMS / round_8(s.n) / PIECE_ROW * PIECE_ROW);
    if (s.m < g->m || s.n < g->n)
        return s;
    s.batch = matrices_of(g->batch, !r->whole, SUMS, r->m * r->n);
    s.batch =
        matrices_of(s.batch, r->copy_a && gemm_cublaslt_step(&g->a, 0) != 0,
                    COPY, r->m * r->k);
    s.batch =
        matrices_of(s.batch, r->copy_b && gemm_cublaslt_step(&g->b, 0) != 0,
                    COPY, r->n * r->k);
    return s;
}

/* ---- admission ---- */

static bool is_kind(const struct cuda_lt *lt, const struct gemm_op *op,
                    struct why *why)
{
    if (op->a.dtype != op->b.dtype)
        return cuda_refuse(why, "a and b must have the same dtype");
    const struct lt_kind *kind = cuda_lt_kind(lt, op->a.dtype, false);
    if (kind == NULL)
        return cuda_refuse(why, "a and b must be f16, bf16 or f32");
    return kind->admitted ? true : cuda_refuse(why, "%s", kind->why.text);
}

static bool is_factor(const struct view *v, const char *name, struct why *why)
{
    struct lt_matrix x = gemm_cublaslt_matrix_of(v);
    return is_plain(v, &x)
               ? true
               : cuda_refuse(why, "%s's lines overlap or run backwards", name);
}

static bool are_sizes(const struct gemm_op *op, struct why *why)
{
    const int64_t most = INT_MAX - 7;
    return op->m <= most && op->n <= most && op->k <= most && op->batch <= most
               ? true
               : cuda_refuse(why, "a size is over 2^31");
}

/* Return whether a kernel can count to the last element in 32 bits. */
static bool gemm_cublaslt_is_counted(const struct view *v)
{
    return v->buffer == NULL || product_span(v) <= MOST_ELEMENTS;
}

/* Return whether the product can be divided into pieces of these sizes, and d
 * computed from them. */
static bool are_pieces(const struct product *g, const struct route *r,
                       const struct product *size, struct why *why)
{
    if (!r->whole && (!gemm_cublaslt_is_counted(&g->c) ||
                      !gemm_cublaslt_is_counted(&g->bias) ||
                      !gemm_cublaslt_is_counted(&g->d)))
        return cuda_refuse(why, "an operand reaches over 2^31 elements");
    if ((r->copy_a && !gemm_cublaslt_is_counted(&g->a)) ||
        (r->copy_b && !gemm_cublaslt_is_counted(&g->b)))
        return cuda_refuse(why, "a factor to be copied reaches over 2^31 "
                                "elements");
    if ((size->m < g->m && size->m < COPY_LINES && r->copy_a) ||
        (size->n < g->n && size->n < COPY_LINES))
        return cuda_refuse(why, "k is %lld: a copy of %d lines has no room",
                           (long long)g->k, COPY_LINES);
    return size->m > 0 ? true
                       : cuda_refuse(why, "a row of d has over 2^21 elements");
}

/* Return whether the library has an algorithm for each piece. To know this, ask
 * for the first and the last along each dimension. */
static bool can_pieces(struct cuda_lt *lt, const struct gemm_op *op,
                       const struct product *g, const struct route *r,
                       struct why *why)
{
    const struct product size = size_of_pieces(g, r);
    if (!are_pieces(g, r, &size, why))
        return false;
    const int64_t last[] = {(g->batch - 1) / size.batch * size.batch,
                            (g->m - 1) / size.m * size.m,
                            (g->n - 1) / size.n * size.n};
    for (unsigned q = 0; q < 8; q++) {
        int64_t at[3] = {0, 0, 0};
        bool again = false; /* the last piece is also the first */
        for (unsigned i = 0; i < 3; i++)
            if ((q >> i & 1u) != 0) {
                at[i] = last[i];
                again = again || last[i] == 0;
            }
        if (again)
            continue;
        struct product piece = product_part(g, &size, at[0], at[1], at[2]);
        struct route here = route_piece(r, g, &piece);
        struct lt_product p = gemm_cublaslt_told(op, &piece, &here);
        if (!cuda_lt_can(lt, &p, why))
            return false;
    }
    return true;
}

static bool gemm_cublaslt_check(const struct backend_device *d,
                                const struct gemm_op *op, struct why *why)
{
    struct why unused;
    struct why *say = why != NULL ? why : &unused;
    if (d->lt == NULL)
        return cuda_refuse(why, "%s", d->lt_why.text);
    if (op->k == 0)
        return cuda_refuse(why, "k or alpha is 0: nothing is multiplied");
    if (op->d.rank != 3)
        return cuda_refuse(why, "it has one batch dimension");
    if (!is_kind(d->lt, op, why) || !are_sizes(op, why) ||
        !is_factor(&op->a, "a", why) || !is_factor(&op->b, "b", why))
        return false;
    if (cuda_enter(d) != SSQ_OK)
        return cuda_refuse(why, "%s", d->core->error_text());
    struct product g = rows_first(op);
    struct route r = route_of(d, op, &g);
    bool can = can_pieces(d->lt, op, &g, &r, say);
    cuda_leave(d);
    return can;
}

/** Sizes from which copies of the factors, and sums, are worth their time. They
 *  cost two or three launches, 4 bytes for each element of a and b, and 8 for
 *  each of d. The alternative is the plan without tensor cores, at a tenth of
 *  their rate or less. If all sides are at least 64, these bytes are less than
 *  a tenth of the bytes that the plan reads. With 2^26 products the matmul
 *  takes longer than the launches. Both numbers are estimates: `sesqui tune`
 *  measures. */
#define COPY_SIDE     64
#define COPY_PRODUCTS 0x1p26

static double products_of(const struct gemm_op *op)
{
    return (double)op->batch * (double)op->m * (double)op->n * (double)op->k;
}

/* Return whether a copy is needed that costs more than the plan. Pure: depends
 * only on sizes, strides and addresses. */
static bool gemm_cublaslt_last(const struct backend_device *d,
                               const struct gemm_op *op)
{
    if (d->lt == NULL || op->k == 0 || op->d.rank != 3 ||
        op->a.dtype != op->b.dtype)
        return false;
    struct product g = rows_first(op);
    struct route r = route_of(d, op, &g);
    int64_t side = size_least(op->m, size_least(op->n, op->k));
    return is_copied(&r) &&
           (side < COPY_SIDE || products_of(op) < COPY_PRODUCTS);
}

/* ---- the op ---- */

/** gemm_finish.k and gemm_pad.k, which have one variant each, without keys. */
static const uint8_t no_keys[1][LAUNCH_KEYS];
static const struct kernel finish = {.name = "gemm_finish",
                                     .id = KERNEL_gemm_finish,
                                     .nvariants = 1,
                                     .variants = no_keys};
static const struct kernel pad = {.name = "gemm_pad",
                                  .id = KERNEL_gemm_pad,
                                  .nvariants = 1,
                                  .variants = no_keys};

/* The kernels of an op. NULL if not needed. */
struct codes {
    const struct backend_kernel *pad, *finish;
};

/* Return the bytes from an operand's first element to its last. */
static uint64_t gemm_cublaslt_reach(const struct view *v)
{
    return (uint64_t)product_span(v) * gemm_cublaslt_size_of(v->dtype);
}

/* Bind an operand twice, as u16 and as float32. If it is absent, bind d in its
 * place, without access. */
static void gemm_cublaslt_bind(struct launch *l, const struct view *v,
                               enum access access)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct binding *b = &l->binding[l->nbindings++];
        if (v->buffer == NULL) {
            *b = l->binding[0];
            b->access = ACCESS_NONE;
            continue;
        }
        *b = (struct binding){v->buffer->mem, v->buffer->offset + v->offset,
                              gemm_cublaslt_reach(v), i == 0 ? 2 : 4, access};
    }
}

static uint32_t groups_of(uint64_t items)
{
    return (uint32_t)size_least(
        (int64_t)((items + CUDA_GROUP - 1) / CUDA_GROUP), LAUNCH_GROUPS);
}

/* Launch the kernel that computes d from the sums of a piece. */
static ssq_status launch_finish(struct backend_queue *q,
                                const struct product *g, const struct route *r,
                                const struct backend_kernel *code)
{
    struct launch l = {.code = code};
    struct gemm_finish_args x = {.g = product_shape(g),
                                 .sums_row = (uint32_t)r->n,
                                 .sums_matrix = (uint32_t)(r->m * r->n)};
    memcpy(l.param, &x, sizeof(x));
    l.nwords = sizeof(x) / sizeof(uint32_t);
    gemm_cublaslt_bind(&l, &g->d, ACCESS_WRITE);
    gemm_cublaslt_bind(&l, &g->c, ACCESS_READ);
    gemm_cublaslt_bind(&l, &g->bias, ACCESS_READ);
    l.binding[l.nbindings++] = (struct binding){
        q->lt_sums, 0, (uint64_t)(g->batch * r->m * r->n) * sizeof(float), 4,
        ACCESS_READ};
    l.groups = groups_of((uint64_t)(g->batch * g->m) *
                         (uint64_t)((g->n + CUDA_WIDTH - 1) / CUDA_WIDTH));
    return cuda_launch(q, &l);
}

/* Launch the copy of a factor. rows and columns include the zeros. */
static ssq_status launch_pad(struct backend_queue *q, const struct view *v,
                             int64_t rows, int64_t columns,
                             struct backend_mem *to,
                             const struct backend_kernel *code)
{
    struct launch l = {.code = code};
    struct lt_matrix from = gemm_cublaslt_matrix_of(v);
    bool turned = from.turned != 0;
    struct gemm_pad_args x = {
        .batch = from.batch == 0 ? 1 : (uint32_t)v->shape[0],
        .lines = (uint32_t)v->shape[turned ? 2 : 1],
        .columns = (uint32_t)v->shape[turned ? 1 : 2],
        .line = (uint32_t)from.leading,
        .matrix = (uint32_t)from.batch,
        .to_lines = (uint32_t)(turned ? columns : rows),
        .to_words = (uint32_t)((turned ? rows : columns) / 2)};
    uint64_t words = (uint64_t)x.batch * x.to_lines * x.to_words;
    memcpy(l.param, &x, sizeof(x));
    l.nwords = sizeof(x) / sizeof(uint32_t);
    l.binding[0] =
        (struct binding){v->buffer->mem, v->buffer->offset + v->offset,
                         gemm_cublaslt_reach(v), 2, ACCESS_READ};
    l.binding[1] = (struct binding){to, 0, words * 4, 4, ACCESS_WRITE};
    l.nbindings = 2;
    l.groups = groups_of(words);
    return cuda_launch(q, &l);
}

/* Enqueue the matmul. With the context. */
static ssq_status gemm_cublaslt_multiply(struct backend_queue *q,
                                         const struct lt_product *p)
{
    struct backend_device *d = q->device;
    struct why why;
    CUdeviceptr workspace = ((const struct cuda_mem *)q->lt_workspace)->address;
    ssq_status st = cuda_lt_multiply(d->lt, p, workspace, q->stream, &why);
    return st == SSQ_OK ? st : d->core->error_set(st, "cuda: %s", why.text);
}

static ssq_status run_piece(struct backend_queue *q, const struct gemm_op *op,
                            const struct product *g, const struct route *r,
                            const struct codes *code)
{
    struct lt_product p = gemm_cublaslt_told(op, g, r);
    p.algorithm = op->algorithm;
    ssq_status st = cuda_queue_enter(q);
    if (st != SSQ_OK)
        return st;
    st = gemm_cublaslt_multiply(q, &p);
    cuda_leave(q->device);
    return st == SSQ_OK && !r->whole ? launch_finish(q, g, r, code->finish)
                                     : st;
}

static ssq_status gemm_cublaslt_room(struct backend_queue *q, uint64_t bytes,
                                     struct backend_mem **mem)
{
    return *mem != NULL ? SSQ_OK : cuda_alloc(q->device, bytes, mem);
}

/* Allocate the queue's memory for a route, as far as it does not exist yet. */
static ssq_status route_room(struct backend_queue *q, bool copies, bool sums)
{
    ssq_status st =
        gemm_cublaslt_room(q, q->device->lt->workspace_bytes, &q->lt_workspace);
    if (st == SSQ_OK && sums)
        st = gemm_cublaslt_room(q, (uint64_t)SUMS * sizeof(float), &q->lt_sums);
    for (int i = 0; i < 2 && copies && st == SSQ_OK; i++)
        st = gemm_cublaslt_room(q, (uint64_t)COPY * 2, &q->lt_copy[i]);
    return st;
}

ssq_status cuda_gemm_room(struct backend_queue *q)
{
    return q->device->lt == NULL ? SSQ_OK : route_room(q, true, true);
}

/* Get kernels and memory before anything is enqueued, and set the route's
 * addresses. */
static ssq_status gemm_cublaslt_prepare(struct backend_queue *q,
                                        struct route *r, struct codes *code)
{
    const uint8_t key[LAUNCH_KEYS] = {0};
    ssq_status st = SSQ_OK;
    if (is_copied(r))
        st = cuda_kernel_get(q->device, &pad, key, &code->pad);
    if (st == SSQ_OK && !r->whole)
        st = cuda_kernel_get(q->device, &finish, key, &code->finish);
    if (st == SSQ_OK)
        st = route_room(q, is_copied(r), !r->whole);
    if (st != SSQ_OK)
        return st;
    if (is_copied(r)) {
        r->a = ((const struct cuda_mem *)q->lt_copy[0])->address;
        r->b = ((const struct cuda_mem *)q->lt_copy[1])->address;
    }
    if (!r->whole)
        r->sums = ((const struct cuda_mem *)q->lt_sums)->address;
    return SSQ_OK;
}

/* Copy the factors of the piece at row i and column j. b is copied once for all
 * rows. a is copied once if all rows are in one piece. */
static ssq_status copy_factors(struct backend_queue *q, const struct product *g,
                               const struct product *all, const struct route *r,
                               int64_t i, int64_t j, const struct codes *code)
{
    ssq_status st = SSQ_OK;
    if (r->copy_b && i == 0)
        st = launch_pad(q, &g->b, r->k, r->n, q->lt_copy[1], code->pad);
    if (st == SSQ_OK && r->copy_a && (j == 0 || g->m < all->m))
        st = launch_pad(q, &g->a, r->m, r->k, q->lt_copy[0], code->pad);
    return st;
}

static ssq_status gemm_cublaslt_run(struct backend_queue *q,
                                    const struct gemm_op *op)
{
    const struct product g = rows_first(op);
    struct route r = route_of(q->device, op, &g);
    const struct product size = size_of_pieces(&g, &r);
    struct codes code = {NULL, NULL};
    bool begun = false;
    ssq_status st = gemm_cublaslt_prepare(q, &r, &code);
    for (int64_t z = 0; st == SSQ_OK && z < g.batch; z += size.batch)
        for (int64_t j = 0; st == SSQ_OK && j < g.n; j += size.n)
            for (int64_t i = 0; st == SSQ_OK && i < g.m; i += size.m) {
                struct product piece = product_part(&g, &size, z, i, j);
                struct route here = route_piece(&r, &g, &piece);
                st = copy_factors(q, &piece, &g, &here, i, j, &code);
                if (st == SSQ_OK)
                    st = run_piece(q, op, &piece, &here, &code);
                if (st != SSQ_OK && begun)
                    return SSQ_ERR_DEVICE; /* d is partly written */
                begun = true;
            }
    return st;
}

const struct gemm_impl cuda_gemms[] = {{.name = "cublaslt",
                                        .check = gemm_cublaslt_check,
                                        .run = gemm_cublaslt_run,
                                        .last = gemm_cublaslt_last},
                                       {.name = "mma",
                                        .check = cuda_mma_check,
                                        .run = cuda_mma_run,
                                        .last = cuda_mma_last},
                                       {.name = NULL}};

/* ---- explanations ---- */

/* Return the algorithms of the first piece, which is the whole product if it
 * fits into the queue's memory. */
unsigned cuda_gemm_algorithms(const struct backend_device *d,
                              const struct gemm_op *op, unsigned impl,
                              uint64_t *names)
{
    if (cuda_gemms[impl].run != gemm_cublaslt_run || cuda_enter(d) != SSQ_OK)
        return 0;
    const struct product g = rows_first(op);
    const struct route r = route_of(d, op, &g);
    const struct product size = size_of_pieces(&g, &r);
    const struct product piece = product_part(&g, &size, 0, 0, 0);
    const struct route here = route_piece(&r, &g, &piece);
    const struct lt_product p = gemm_cublaslt_told(op, &piece, &here);
    unsigned n = cuda_lt_algorithms(d->lt, &p, names);
    cuda_leave(d);
    return n;
}

/* Return whether the library still has the algorithm that was tuned. */
static bool has_algorithm(const struct backend_device *d,
                          const struct gemm_op *op, unsigned impl)
{
    uint64_t names[GEMM_ALGORITHMS];
    unsigned n = cuda_gemm_algorithms(d, op, impl, names);
    for (unsigned i = 0; i < n; i++)
        if (names[i] == op->algorithm)
            return true;
    return op->algorithm == 0;
}

/* Return how many products tensor cores add before they cut the sum, as far as
 * known for the generation; half as many for TF32. */
static uint32_t gemm_cublaslt_block_of(const struct backend_device *d,
                                       bool tf32)
{
    uint32_t block = mma_block(d->found->capability);
    return tf32 ? block / 2 : block;
}

/* Explain, with the numbers of gemm_cublaslt_last(), why the library is not
 * tried first although it could do the op. */
static void explain_last(const struct backend_device *d,
                         const struct gemm_op *op, struct gemm_explanation *e)
{
    if (gemm_cublaslt_last(d, op) && gemm_cublaslt_check(d, op, NULL))
        (void)snprintf(e->condition, sizeof(e->condition),
                       "factors off 16 bytes are copied from sides of %d and "
                       "2^26 products on, here are %.0f",
                       COPY_SIDE, products_of(op));
}

/* Explain an op with float32 factors. Like 16-bit ones, TF32 matrix units need
 * lines that begin at multiples of 16 bytes. */
static void explain_f32(const struct backend_device *d,
                        const struct gemm_op *op, const struct route *r,
                        struct gemm_explanation *e)
{
    const struct lt_kind *kind = cuda_lt_kind(d->lt, SSQ_F32, true);
    struct lt_matrix a = gemm_cublaslt_matrix_of(&op->a),
                     b = gemm_cublaslt_matrix_of(&op->b);
    e->tf32 = r->tf32;
    e->matrix_units = r->tf32 && gemm_cublaslt_is_aligned(SSQ_F32, &a) &&
                      gemm_cublaslt_is_aligned(SSQ_F32, &b);
    if (!e->matrix_units)
        (void)snprintf(
            e->condition, sizeof(e->condition),
            "cublaslt multiplies f32 %s%.160s",
            !op->tf32  ? "without them, but where TF32 is allowed"
            : !r->tf32 ? "without them: "
                       : "as TF32 on them where lines begin at multiples of 16 "
                         "bytes",
            op->tf32 && !r->tf32 ? kind->why.text : "");
}

void cuda_gemm_explain(const struct backend_device *d, const struct gemm_op *op,
                       unsigned impl, struct gemm_explanation *e)
{
    if (impl == GEMM_BY_PLAN) {
        explain_last(d, op, e);
        return; /* for other reasons see gemm_cublaslt_check() */
    }
    if (cuda_gemms[impl].run !=
        gemm_cublaslt_run) { /* mma does not support f32 */
        e->matrix_units = true;
        e->block = gemm_cublaslt_block_of(d, false);
        return;
    }
    struct product g = rows_first(op);
    struct route r = route_of(d, op, &g);
    e->matrix_units = op->a.dtype != SSQ_F32;
    e->copied = is_copied(&r);
    e->tuned = e->tuned && has_algorithm(d, op, impl);
    if (!e->matrix_units)
        explain_f32(d, op, &r, e);
    if (e->matrix_units)
        e->block = gemm_cublaslt_block_of(d, op->a.dtype == SSQ_F32);
}
