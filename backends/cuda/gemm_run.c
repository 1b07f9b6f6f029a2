/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_run.c - run a matmul by cuBLASLt, with the kernels that copy its factors
 * and complete its result, piece by piece. */
#include "backends/cuda/gemm_route.h"
#include "backends/cuda/queue.h"

#include "kernel_table.h"

#include <string.h>

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
static uint64_t reach_bytes(const struct view *v)
{
    return (uint64_t)product_span(v) * factor_bytes(v->dtype);
}

/* Bind an operand twice, as u16 and as float32. If it is absent, bind d in its
 * place, without access. */
static void bind_twice(struct launch *l, const struct view *v,
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
                              reach_bytes(v), i == 0 ? 2 : 4, access};
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
    bind_twice(&l, &g->d, ACCESS_WRITE);
    bind_twice(&l, &g->c, ACCESS_READ);
    bind_twice(&l, &g->bias, ACCESS_READ);
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
    struct lt_matrix from = cuda_lt_matrix(v);
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
                         reach_bytes(v), 2, ACCESS_READ};
    l.binding[1] = (struct binding){to, 0, words * 4, 4, ACCESS_WRITE};
    l.nbindings = 2;
    l.groups = groups_of(words);
    return cuda_launch(q, &l);
}

/* Enqueue the matmul. With the context. */
static ssq_status launch_multiply(struct backend_queue *q,
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
    struct lt_product p = cuda_route_product(op, g, r);
    p.algorithm = op->algorithm;
    ssq_status st = cuda_queue_enter(q);
    if (st != SSQ_OK)
        return st;
    st = launch_multiply(q, &p);
    cuda_leave(q->device);
    return st == SSQ_OK && !r->whole ? launch_finish(q, g, r, code->finish)
                                     : st;
}

static ssq_status memory_room(struct backend_queue *q, uint64_t bytes,
                              struct backend_mem **mem)
{
    return *mem != NULL ? SSQ_OK : cuda_alloc(q->device, bytes, mem);
}

/* Allocate the queue's memory for a route, as far as it does not exist yet. */
static ssq_status route_room(struct backend_queue *q, bool copies, bool sums)
{
    ssq_status st =
        memory_room(q, q->device->lt->workspace_bytes, &q->lt_workspace);
    if (st == SSQ_OK && sums)
        st = memory_room(q, (uint64_t)ROUTE_SUMS * sizeof(float), &q->lt_sums);
    for (int i = 0; i < 2 && copies && st == SSQ_OK; i++)
        st = memory_room(q, (uint64_t)ROUTE_COPY * 2, &q->lt_copy[i]);
    return st;
}

ssq_status cuda_gemm_room(struct backend_queue *q)
{
    return q->device->lt == NULL ? SSQ_OK : route_room(q, true, true);
}

/* Get kernels and memory before anything is enqueued, and set the route's
 * addresses. */
static ssq_status route_prepare(struct backend_queue *q, struct route *r,
                                struct codes *code)
{
    const uint8_t key[LAUNCH_KEYS] = {0};
    ssq_status st = SSQ_OK;
    if (route_copies(r))
        st = cuda_kernel_get(q->device, &pad, key, &code->pad);
    if (st == SSQ_OK && !r->whole)
        st = cuda_kernel_get(q->device, &finish, key, &code->finish);
    if (st == SSQ_OK)
        st = route_room(q, route_copies(r), !r->whole);
    if (st != SSQ_OK)
        return st;
    if (route_copies(r)) {
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

ssq_status cuda_lt_gemm_run(struct backend_queue *q, const struct gemm_op *op)
{
    const struct product g = cuda_gemm_product(op);
    struct route r = cuda_route_of(q->device, op, &g);
    const struct product size = cuda_route_sizes(&g, &r);
    struct codes code = {NULL, NULL};
    bool begun = false;
    ssq_status st = route_prepare(q, &r, &code);
    for (int64_t z = 0; st == SSQ_OK && z < g.batch; z += size.batch)
        for (int64_t j = 0; st == SSQ_OK && j < g.n; j += size.n)
            for (int64_t i = 0; st == SSQ_OK && i < g.m; i += size.m) {
                struct product piece = product_part(&g, &size, z, i, j);
                struct route here = cuda_route_piece(&r, &g, &piece);
                st = copy_factors(q, &piece, &g, &here, i, j, &code);
                if (st == SSQ_OK)
                    st = run_piece(q, op, &piece, &here, &code);
                if (st != SSQ_OK && begun)
                    return SSQ_ERR_DEVICE; /* d is partly written */
                begun = true;
            }
    return st;
}
