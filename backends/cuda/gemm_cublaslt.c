/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_cublaslt.c - products by cuBLASLt, and what it leaves of them.
 *
 * The library rounds a result once, from float32, to the factors' type or not
 * at all, and adds a c and a bias of the result's type: where that is all that
 * the op asks for it writes d itself. Otherwise it writes float32 sums into
 * memory of the queue, and a kernel of ours makes d of them (gemm_finish.k), as
 * many rows at a time as have room there. Its own relu and gelu are never used:
 * nothing says what they make of a NaN, or how exact they are. */
#include "backends/cuda/lt.h"
#include "backends/cuda/mma.h"
#include "backends/cuda/queue.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "kernel_table.h"
#include "lib/op/gemm/product.h"

/** Float32 sums that a queue has room for, and rows of a piece, which begin at
 *  multiples of 16 bytes whatever the order. */
#define SUMS      (INT64_C(16) << 20)
#define PIECE_ROW 8
/** Elements that the finishing kernel can count to, in 32 bits. */
#define MOST_ELEMENTS (INT64_C(1) << 31)

/* The op with d's columns as neighbours, or with the one column that it has as
 * its row. */
static struct product rows_first(const struct gemm_op *op)
{
    struct product g = product_of(op);
    bool rows = g.n == 1 ? g.m == 1 || g.d.stride[1] != 1 : g.d.stride[2] == 1;
    if (!rows)
        product_transpose(&g);
    return g;
}

/* ---- operands ---- */

/* Elements to the next place along dimension i: 0 where there is no next one,
 * or the operand is absent. */
static int64_t step(const struct view *v, int i)
{
    return v->buffer == NULL || v->shape[i] == 1 ? 0 : v->stride[i];
}

static CUdeviceptr address(const struct view *v)
{
    return ((const struct cuda_mem *)v->buffer->mem)->address +
           v->buffer->offset + v->offset;
}

static uint32_t size_of(ssq_dtype dtype)
{
    return dtype == SSQ_F32 ? 4 : 2;
}

/* A matrix of rows whose elements are neighbours, or of such columns. What
 * cuBLASLt sees is its transpose, whose columns are these rows. */
static struct lt_matrix matrix_of(const struct view *v)
{
    bool columns = v->shape[2] == 1 ? step(v, 1) == 1 : v->stride[2] != 1;
    int64_t line = columns ? v->shape[1] : v->shape[2];
    int64_t lines = columns ? v->shape[2] : v->shape[1];
    int64_t leading = columns ? v->stride[2] : v->stride[1];
    return (struct lt_matrix){.leading = lines == 1 ? line : leading,
                              .batch = step(v, 0),
                              .align = cuda_lt_align(address(v)),
                              .turned = columns};
}

/* Do lines lie behind each other, and not in each other? */
static bool is_plain(const struct view *v, const struct lt_matrix *x)
{
    int64_t line = x->turned != 0 ? v->shape[1] : v->shape[2];
    return x->leading >= line && x->leading <= INT_MAX && x->batch >= 0;
}

/* Do all lines begin at multiples of 16 bytes? */
static bool is_aligned(ssq_dtype dtype, const struct lt_matrix *x)
{
    int64_t each = LT_ALIGN_LEAST / size_of(dtype);
    return x->align >= LT_ALIGN_LEAST && x->leading % each == 0 &&
           x->batch % each == 0;
}

/* May cuBLASLt write it, or read it as what is added to it? */
static bool is_result(const struct view *v)
{
    struct lt_matrix x = matrix_of(v);
    return x.turned == 0 && is_plain(v, &x) && is_aligned(v->dtype, &x);
}

/* A vector of d's type along its rows, that begins at a multiple of 16 bytes:
 * what the library's epilogue adds. */
static bool is_bias(const struct product *g)
{
    return g->bias.dtype == g->d.dtype && step(&g->bias, 0) == 0 &&
           step(&g->bias, 1) == 0 && g->bias.stride[2] == 1 &&
           address(&g->bias) % LT_ALIGN_LEAST == 0;
}

/* Is d what the library makes, with nothing left to do? */
static bool is_whole(const struct gemm_op *op, const struct product *g)
{
    bool c = g->c.buffer != NULL, bias = g->bias.buffer != NULL;
    return op->activation == SSQ_ACTIVATION_NONE &&
           (g->d.dtype == SSQ_F32 || g->d.dtype == g->a.dtype) &&
           is_result(&g->d) &&
           (!c || (g->c.dtype == g->d.dtype && is_result(&g->c))) &&
           (!bias || is_bias(g));
}

/* ---- what cuBLASLt is told ---- */

/* Its a is our b, and its m our n. */
static void set_factors(struct lt_product *p, const struct product *g)
{
    memset(p, 0, sizeof(*p));
    p->shape.m = g->n;
    p->shape.n = g->m;
    p->shape.k = g->k;
    p->shape.batch = g->batch;
    p->shape.a = matrix_of(&g->b);
    p->shape.b = matrix_of(&g->a);
    p->shape.factors = (uint32_t)cuda_lt_type(g->a.dtype);
    p->a = address(&g->b);
    p->b = address(&g->a);
}

/* All of the op. */
static struct lt_product whole_of(const struct gemm_op *op,
                                  const struct product *g)
{
    struct lt_product p;
    set_factors(&p, g);
    p.shape.result = (uint32_t)cuda_lt_type(g->d.dtype);
    p.shape.c = p.shape.d = matrix_of(&g->d);
    p.c = p.d = address(&g->d);
    p.alpha = op->alpha;
    if (g->c.buffer != NULL) {
        p.shape.c = matrix_of(&g->c);
        p.c = address(&g->c);
        p.beta = op->beta;
    }
    if (g->bias.buffer != NULL) {
        p.bias = address(&g->bias);
        p.shape.bias = 1;
        p.shape.bias_align = cuda_lt_align(p.bias);
    }
    return p;
}

/* Sums alone, of a piece, one row of them behind the other. */
static struct lt_product sums_of(const struct product *g, CUdeviceptr sums)
{
    struct lt_product p;
    set_factors(&p, g);
    p.shape.result = CUDA_R_32F;
    p.shape.d = (struct lt_matrix){
        .leading = g->n, .batch = g->m * g->n, .align = LT_ALIGN_MOST};
    p.shape.c = p.shape.d;
    p.c = p.d = sums;
    p.alpha = 1.0f;
    return p;
}

/* ---- pieces ---- */

/* Rows of a piece of a matrix, or all of it; and matrices of a piece. */
static int64_t rows_of(const struct product *g)
{
    int64_t rows = SUMS / g->n / PIECE_ROW * PIECE_ROW;
    return rows < g->m ? rows : g->m;
}

static int64_t matrices_of(const struct product *g)
{
    int64_t n = rows_of(g) < g->m ? 1 : SUMS / (g->m * g->n);
    return n < g->batch ? n : g->batch;
}

/* The piece that begins with row i of matrix z. */
static struct product piece_of(const struct product *g, int64_t z, int64_t i)
{
    const struct product size = {
        .batch = matrices_of(g), .m = rows_of(g), .n = g->n};
    return product_part(g, &size, z, i, 0);
}

/* ---- admission ---- */

static bool is_kind(const struct cuda_lt *lt, const struct gemm_op *op,
                    struct why *why)
{
    if (op->a.dtype != op->b.dtype)
        return cuda_refuse(why, "a and b must have the same dtype");
    const struct lt_kind *kind = cuda_lt_kind(lt, op->a.dtype);
    if (kind == NULL)
        return cuda_refuse(why, "a and b must be f16, bf16 or f32");
    return kind->admitted ? true : cuda_refuse(why, "%s", kind->why.text);
}

static bool is_factor(const struct view *v, const char *name, struct why *why)
{
    struct lt_matrix x = matrix_of(v);
    if (!is_plain(v, &x))
        return cuda_refuse(why, "%s's lines overlap or lie backwards", name);
    if (v->dtype == SSQ_F32 || is_aligned(v->dtype, &x))
        return true;
    return cuda_refuse(why,
                       "%s's address and steps must be multiples of 16 bytes: "
                       "address of %u, leading dimension %lld, batch %lld",
                       name, x.align, (long long)x.leading, (long long)x.batch);
}

static bool are_sizes(const struct gemm_op *op, struct why *why)
{
    if (op->m > INT_MAX || op->n > INT_MAX || op->k > INT_MAX ||
        op->batch > INT_MAX)
        return cuda_refuse(why, "a size is over 2^31");
    if (op->a.dtype == SSQ_F32 ||
        (op->m % 8 == 0 && op->n % 8 == 0 && op->k % 8 == 0))
        return true;
    return cuda_refuse(why,
                       "m, n and k must be multiples of 8: %lld, %lld, %lld",
                       (long long)op->m, (long long)op->n, (long long)op->k);
}

/* Can the kernel that finishes count to the end of this? */
static bool is_counted(const struct view *v)
{
    int64_t n = 1;
    if (v->buffer == NULL)
        return true;
    for (int i = 0; i < v->rank; i++)
        n += (v->shape[i] - 1) * v->stride[i];
    return n <= MOST_ELEMENTS;
}

/* Can it be done piece by piece? The first and the last say it for all. */
static bool can_finish(struct cuda_lt *lt, const struct product *g,
                       struct why *why)
{
    const CUdeviceptr aligned = LT_ALIGN_MOST;
    if (!is_counted(&g->c) || !is_counted(&g->bias) || !is_counted(&g->d))
        return cuda_refuse(why, "an operand reaches over 2^31 elements");
    if (g->n > SUMS / PIECE_ROW)
        return cuda_refuse(why, "a row of d has over 2^21 elements");
    struct product first = piece_of(g, 0, 0);
    struct product last =
        piece_of(g, (g->batch - 1) / first.batch * first.batch,
                 (g->m - 1) / first.m * first.m);
    struct lt_product p = sums_of(&first, aligned), q = sums_of(&last, aligned);
    return cuda_lt_can(lt, &p, why) && cuda_lt_can(lt, &q, why);
}

static bool check(const struct backend_device *d, const struct gemm_op *op,
                  struct why *why)
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
    struct lt_product p;
    bool can;
    if (is_whole(op, &g)) {
        p = whole_of(op, &g);
        can = cuda_lt_can(d->lt, &p, say);
    } else {
        can = can_finish(d->lt, &g, say);
    }
    cuda_leave(d);
    return can;
}

/* ---- the op ---- */

/** gemm_finish.k, which has no keys. */
static const uint8_t no_keys[1][LAUNCH_KEYS];
static const struct kernel finish = {.name = "gemm_finish",
                                     .id = KERNEL_gemm_finish,
                                     .nvariants = 1,
                                     .variants = no_keys};

/* Bind an operand as u16 and as float32; where it is absent, d. */
static void bind(struct launch *l, const struct view *v, enum access access)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct binding *b = &l->binding[l->nbindings++];
        if (v->buffer == NULL) {
            *b = l->binding[0];
            b->access = ACCESS_NONE;
            continue;
        }
        int64_t n = 1;
        for (int q = 0; q < 3; q++)
            n += (v->shape[q] - 1) * step(v, q);
        *b = (struct binding){v->buffer->mem, v->buffer->offset + v->offset,
                              (uint64_t)n * size_of(v->dtype), i == 0 ? 2 : 4,
                              access};
    }
}

/* The launch that makes d of a piece's sums. */
static void fill(struct launch *l, const struct product *g,
                 struct backend_mem *sums)
{
    struct gemm_finish_args x;
    memset(&x, 0, sizeof(x));
    x.g = product_shape(g);
    memcpy(l->param, &x, sizeof(x));
    l->nwords = sizeof(x) / sizeof(uint32_t);
    bind(l, &g->d, ACCESS_WRITE);
    bind(l, &g->c, ACCESS_READ);
    bind(l, &g->bias, ACCESS_READ);
    l->binding[l->nbindings++] = (struct binding){
        sums, 0, (uint64_t)(g->batch * g->m * g->n) * sizeof(float), 4,
        ACCESS_READ};
    uint64_t groups = ((uint64_t)(g->batch * g->m) *
                           (uint64_t)((g->n + CUDA_WIDTH - 1) / CUDA_WIDTH) +
                       CUDA_GROUP - 1) /
                      CUDA_GROUP;
    l->groups = groups > LAUNCH_GROUPS ? LAUNCH_GROUPS : (uint32_t)groups;
}

/* With the context: the product, or the first thing that went wrong. */
static ssq_status multiply(struct backend_queue *q, const struct lt_product *p)
{
    struct backend_device *d = q->device;
    struct why why;
    CUdeviceptr workspace = ((const struct cuda_mem *)q->lt_workspace)->address;
    ssq_status st = cuda_lt_multiply(d->lt, p, workspace, q->stream, &why);
    return st == SSQ_OK ? st : d->core->error_set(st, "cuda: %s", why.text);
}

static ssq_status run_piece(struct backend_queue *q, const struct product *g,
                            const struct backend_kernel *code)
{
    struct lt_product p =
        sums_of(g, ((const struct cuda_mem *)q->lt_sums)->address);
    struct launch l = {.code = code};
    ssq_status st = cuda_queue_enter(q);
    if (st != SSQ_OK)
        return st;
    st = multiply(q, &p);
    cuda_leave(q->device);
    if (st != SSQ_OK)
        return st;
    fill(&l, g, q->lt_sums);
    return cuda_launch(q, &l);
}

static ssq_status room(struct backend_queue *q, uint64_t bytes,
                       struct backend_mem **mem)
{
    return *mem != NULL ? SSQ_OK : cuda_alloc(q->device, bytes, mem);
}

ssq_status cuda_gemm_room(struct backend_queue *q)
{
    const struct cuda_lt *lt = q->device->lt;
    if (lt == NULL)
        return SSQ_OK;
    ssq_status st = room(q, lt->workspace_bytes, &q->lt_workspace);
    return st == SSQ_OK ? room(q, (uint64_t)SUMS * sizeof(float), &q->lt_sums)
                        : st;
}

static ssq_status run_pieces(struct backend_queue *q, const struct product *g)
{
    const uint8_t key[LAUNCH_KEYS] = {0};
    const struct backend_kernel *code;
    bool begun = false;
    ssq_status st = cuda_kernel_get(q->device, &finish, key, &code);
    if (st == SSQ_OK)
        st = cuda_gemm_room(q);
    for (int64_t z = 0; st == SSQ_OK && z < g->batch; z += matrices_of(g))
        for (int64_t i = 0; st == SSQ_OK && i < g->m; i += rows_of(g)) {
            struct product piece = piece_of(g, z, i);
            st = run_piece(q, &piece, code);
            if (st != SSQ_OK && begun)
                return SSQ_ERR_DEVICE; /* d is half done */
            begun = true;
        }
    return st;
}

static ssq_status run(struct backend_queue *q, const struct gemm_op *op)
{
    struct product g = rows_first(op);
    if (!is_whole(op, &g))
        return run_pieces(q, &g);
    ssq_status st = room(q, q->device->lt->workspace_bytes, &q->lt_workspace);
    if (st != SSQ_OK)
        return st;
    const struct lt_product p = whole_of(op, &g);
    st = cuda_queue_enter(q);
    if (st != SSQ_OK)
        return st;
    st = multiply(q, &p);
    cuda_leave(q->device);
    return st;
}

const struct gemm_impl cuda_gemms[] = {
    {.name = "cublaslt", .check = check, .run = run},
    {.name = "mma",
     .check = cuda_mma_check,
     .run = cuda_mma_run,
     .last = cuda_mma_last},
    {.name = NULL}};

/* Products that tensor cores add before they cut off: what is known of them,
 * by the generation. */
static uint32_t block_of(const struct backend_device *d)
{
    int capability = d->found->capability;
    return capability < 80 ? 4 : capability < 90 ? 8 : 16;
}

void cuda_gemm_explain(const struct backend_device *d, const struct gemm_op *op,
                       unsigned impl, struct gemm_explanation *e)
{
    if (impl == GEMM_BY_PLAN)
        return; /* check() tells why it was not this one */
    e->matrix_units = op->a.dtype != SSQ_F32;
    if (e->matrix_units)
        e->block = block_of(d);
    else
        (void)snprintf(e->condition, sizeof(e->condition),
                       "cublaslt multiplies f32 without them");
}
