/* SPDX-License-Identifier: Apache-2.0 */
/* onednn.c - products by oneDNN 3's matmul, weights as they lie:
 * PEER_ONEDNN: the path of the library. */
#include "bench/peers/peer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* The declarations of dnnl.h and dnnl_types.h. */
#define CPU         1
#define IN_ORDER    1
#define ARG_SRC     1
#define ARG_DST     17
#define ARG_WEIGHTS 33

struct argument {
    int arg;
    void *memory;
};

static int (*engine_create)(void **engine, int kind, size_t index);
static int (*stream_create)(void **stream, void *engine, unsigned flags);
static int (*stream_wait)(void *stream);
static int (*desc_create)(void **desc, int ndims, const int64_t *dims,
                          int dtype, const int64_t *strides);
static int (*desc_destroy)(void *desc);
static int (*matmul_create)(void **pd, void *engine, const void *src,
                            const void *weights, const void *bias,
                            const void *dst, const void *attr);
static int (*pd_destroy)(void *pd);
static int (*primitive_create)(void **primitive, const void *pd);
static int (*primitive_execute)(const void *primitive, void *stream, int n,
                                const struct argument *args);
static int (*primitive_destroy)(void *primitive);
static int (*memory_create)(void **memory, const void *desc, void *engine,
                            void *handle);
static int (*memory_destroy)(void *memory);

static const struct {
    const char *name;
    void *place;
} functions[] = {
    {"dnnl_engine_create", &engine_create},
    {"dnnl_stream_create", &stream_create},
    {"dnnl_stream_wait", &stream_wait},
    {"dnnl_memory_desc_create_with_strides", &desc_create},
    {"dnnl_memory_desc_destroy", &desc_destroy},
    {"dnnl_matmul_primitive_desc_create", &matmul_create},
    {"dnnl_primitive_desc_destroy", &pd_destroy},
    {"dnnl_primitive_create", &primitive_create},
    {"dnnl_primitive_execute", &primitive_execute},
    {"dnnl_primitive_destroy", &primitive_destroy},
    {"dnnl_memory_create", &memory_create},
    {"dnnl_memory_destroy", &memory_destroy},
};

static void *engine, *stream;

/* A product that can be executed. */
struct matmul {
    void *primitive, *memory[3];
};

static const char *load(int threads)
{
    static const char *const names[] = {"libdnnl.so.3", NULL};
    char number[16];
    snprintf(number, sizeof(number), "%d", threads);
    if (threads > 0 && setenv("OMP_NUM_THREADS", number, 1) != 0)
        return "no memory";
    void *library = peer_load("PEER_ONEDNN", names);
    if (library == NULL)
        return "no libdnnl.so.3";
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *f = dlsym(library, functions[i].name);
        if (f == NULL)
            return "a libdnnl without the functions of version 3";
        *(void **)functions[i].place = f;
    }
    return engine_create(&engine, CPU, 0) != 0 ||
                   stream_create(&stream, engine, IN_ORDER) != 0
               ? "no engine for the processor"
               : NULL;
}

/* A row-major matrix, or as many as the batch has. */
static int describe(const struct peer_gemm *g, int64_t rows, int64_t columns,
                    void **desc)
{
    static const int dtypes[] = {3, 1, 2}; /* dnnl_f32, dnnl_f16, dnnl_bf16 */
    const int64_t dims[12] = {g->batch, rows, columns};
    const int64_t strides[12] = {rows * columns, columns, 1};
    const int flat = g->batch > 1 ? 0 : 1;
    return desc_create(desc, 3 - flat, dims + flat, dtypes[g->dtype],
                       strides + flat);
}

static const char *make(struct peer_gemm *g)
{
    struct matmul *x = calloc(1, sizeof(*x));
    void *desc[3] = {NULL, NULL, NULL}, *pd = NULL;
    void *const data[3] = {g->a, g->b, g->d};
    g->state = x;
    bool ok = x != NULL && describe(g, g->m, g->k, &desc[0]) == 0 &&
              describe(g, g->k, g->n, &desc[1]) == 0 &&
              describe(g, g->m, g->n, &desc[2]) == 0 &&
              matmul_create(&pd, engine, desc[0], desc[1], NULL, desc[2],
                            NULL) == 0 &&
              primitive_create(&x->primitive, pd) == 0;
    for (int i = 0; i < 3 && ok; i++)
        ok = memory_create(&x->memory[i], desc[i], engine, data[i]) == 0;
    if (pd != NULL)
        pd_destroy(pd);
    for (int i = 0; i < 3; i++)
        if (desc[i] != NULL)
            desc_destroy(desc[i]);
    return ok ? NULL : "no implementation";
}

static bool run(struct peer_gemm *g)
{
    const struct matmul *x = g->state;
    const struct argument args[3] = {{ARG_SRC, x->memory[0]},
                                     {ARG_WEIGHTS, x->memory[1]},
                                     {ARG_DST, x->memory[2]}};
    return primitive_execute(x->primitive, stream, 3, args) == 0 &&
           stream_wait(stream) == 0;
}

static void drop(struct peer_gemm *g)
{
    struct matmul *x = g->state;
    for (int i = 0; x != NULL && i < 3; i++)
        if (x->memory[i] != NULL)
            memory_destroy(x->memory[i]);
    if (x != NULL && x->primitive != NULL)
        primitive_destroy(x->primitive);
    free(x);
}

int main(int argc, char **argv)
{
    const struct peer p = {
        .name = "onednn", .open = load, .make = make, .run = run, .drop = drop};
    return peer_main(argc, argv, &p);
}
