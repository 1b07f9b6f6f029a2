/* SPDX-License-Identifier: Apache-2.0 */
/* runs.h - elementwise kernels: strided operands, any mix of dtypes.
 *
 * The elements are taken in runs of at most RUN_MOST neighbours along the last
 * dimension. A run goes through its own arrays, one step at a time: fetch
 * every operand, compute, put. So the loop that computes exists once, for
 * any dtypes and strides, and it and the loops of dense operands become
 * vector instructions of a processor. An item of a GPU has runs of one, and
 * where the dialect has quads (quads.h) of four, which it asks memory for at
 * once where they lie side by side. A source with few runs, and much to do for
 * each, defines RUN_ALONE before its headers: then a GPU's are of one.
 *
 *     EACH_RUN(i, run)
 *     {
 *         EXACT float v[RUN_MOST];
 *         RUN2(i, x, y)
 *         FETCH(v, x, run, 0u)
 *         IN_RUN(j, run) v[j] = f(v[j]);
 *         PUT(y, run, v, 1u)
 *     }
 *
 * Parameters: an x2_at and an x4_at for each operand x of 2 or 4 bytes, which
 * is bound twice; `STRUCT(run_shape) run;`, and `u32 x_steps[RUN_RANK];` for
 * each. Operand number k, in the order of those, has the dtype RUN_DTYPE(k).
 * lib/plan/runs.h fills them. */
#ifndef KERNELS_OPERANDS_RUNS_H
#define KERNELS_OPERANDS_RUNS_H

#include "kernels/operands/quads.h"
#include "kernels/operands/run_moves.h"

#if WG == 1
#define RUN_MOST 256
#elif QUADS && !defined(RUN_ALONE)
#define RUN_QUADS
#define RUN_MOST 4
#else
#define RUN_MOST 1
#endif

/* n elements; form holds the rank, dtypes and kind; size lacks the outermost
 * dimension, which n implies: three operands just fit into push constants. */
#define RUN_RANK 6
struct run_shape {
    u32 n;
    u32 form;
    u32 size[RUN_RANK - 1];
};
/* For sources that only use what is said here of dtypes. */
struct run_dtypes {
    u32 form;
};

#define RUN_DIMS     (pc.run.form & 7u)
#define RUN_DTYPE(K) ((pc.run.form >> (4u + 3u * (K))) & 7u)
#define RUN_KIND     (pc.run.form >> 16u)
/* Both sizes are loaded: of two places to load from, clang's CUDA would copy
 * all parameters to memory of each item. */
#define RUN_INNER                                                              \
    run_inner(RUN_DIMS, pc.run.size[RUN_DIMS > 1u ? RUN_DIMS - 2u : 0u],       \
              pc.run.n)
FN u32 run_inner(u32 dims, u32 last, u32 n)
{
    return dims > 1u ? last : n;
}

/* From i to the end of a row, of the chunk, or RUN_MOST. */
FN u32 run_length(u32 i, u32 end, u32 inner)
{
    u32 left = inner - i % inner;

    if (left > end - i)
        left = end - i;
    return left > U32(RUN_MOST) ? U32(RUN_MOST) : left;
}

/* EACH_RUN is for elements; EACH_RUN_OF for n of anything in rows of inner,
 * where neighbours of less than step are not worth dividing. */
#if WG == 1
#define EACH_RUN_OF(I, RUN, N, INNER, STEP)                                    \
    for (u32 I = each_begin(N, STEP, GROUP_COUNT, GROUP_ID),                   \
             I##_e = each_begin(N, STEP, GROUP_COUNT, GROUP_ID + 1u),          \
             RUN = run_length(I, I##_e, INNER);                                \
         I < I##_e; I += RUN, RUN = run_length(I, I##_e, INNER))
#define IN_RUN(J, RUN) LANES_LOOP for (INDEX J = 0u; J < RUN; J++)
#elif defined(RUN_QUADS)
/* Runs are numbered, with an equal count for each row: the number of an item's
 * run says where it begins. */
FN u32 run_begin(u32 r, u32 runs, u32 inner)
{
    u32 row = r / runs;

    return row * inner + (r - row * runs) * U32(RUN_MOST);
}
FN u32 run_size(u32 r, u32 runs, u32 inner)
{
    u32 left = inner - r % runs * U32(RUN_MOST);

    return left > U32(RUN_MOST) ? U32(RUN_MOST) : left;
}
#define EACH_RUN_OF(I, RUN, N, INNER, STEP)                                    \
    u32 I##_inner = INNER;                                                     \
    u32 I##_runs = (I##_inner + U32(RUN_MOST) - 1u) / U32(RUN_MOST);           \
    u32 I##_all = (N) / I##_inner * I##_runs;                                  \
    for (u32 I##_r = GLOBAL_ID, I = run_begin(I##_r, I##_runs, I##_inner),     \
             RUN = run_size(I##_r, I##_runs, I##_inner);                       \
         I##_r < I##_all;                                                      \
         I##_r += GLOBAL_SIZE, I = run_begin(I##_r, I##_runs, I##_inner),      \
             RUN = run_size(I##_r, I##_runs, I##_inner))
#define IN_RUN(J, RUN)                                                         \
    UNROLL for (u32 J = 0u; J < U32(RUN_MOST); J++) if (J < RUN)
#else
#define EACH_RUN_OF(I, RUN, N, INNER, STEP)                                    \
    for (u32 I = GLOBAL_ID; I < (N); I += GLOBAL_SIZE)
#define IN_RUN(J, RUN) FLAT for (u32 J = 0u; J < 1u; J++)
#endif
#define EACH_RUN(I, RUN) EACH_RUN_OF(I, RUN, pc.run.n, RUN_INNER, U32(RUN_MOST))

/* N_off and N_step of each operand, for the run that begins at I. */
#define RUN_OPERAND(N)                                                         \
    u32 N##_off = 0u;                                                          \
    u32 N##_step = pc.N##_steps[RUN_DIMS - 1u];
#define RUN_WALK(I)                                                            \
    u32 run_rest = I;                                                          \
    for (u32 run_d = RUN_DIMS; run_d > 0u; run_d--) {                          \
        u32 run_q = run_d > 1u ? run_rest / pc.run.size[run_d - 2u] : 0u;      \
        u32 run_r = run_d > 1u ? run_rest - run_q * pc.run.size[run_d - 2u]    \
                               : run_rest;                                     \
        run_rest = run_q;
#define RUN_ADD(N) N##_off += run_r * pc.N##_steps[run_d - 1u];
#define RUN2(I, A, B)                                                          \
    RUN_OPERAND(A)                                                             \
    RUN_OPERAND(B)                                                             \
    RUN_WALK(I)                                                                \
    RUN_ADD(A)                                                                 \
    RUN_ADD(B)                                                                 \
    }
#define RUN3(I, A, B, C)                                                       \
    RUN_OPERAND(A)                                                             \
    RUN_OPERAND(B)                                                             \
    RUN_OPERAND(C)                                                             \
    RUN_WALK(I)                                                                \
    RUN_ADD(A)                                                                 \
    RUN_ADD(B)                                                                 \
    RUN_ADD(C)                                                                 \
    }
#define RUN4(I, A, B, C, D)                                                    \
    RUN_OPERAND(A)                                                             \
    RUN_OPERAND(B)                                                             \
    RUN_OPERAND(C)                                                             \
    RUN_OPERAND(D)                                                             \
    RUN_WALK(I)                                                                \
    RUN_ADD(A)                                                                 \
    RUN_ADD(B)                                                                 \
    RUN_ADD(C)                                                                 \
    RUN_ADD(D)                                                                 \
    }

/* Elements of N, from cells called C: V = F(C), and C = F(V). */
#ifdef RUN_QUADS
#define RUN_IS_QUAD(N, C, RUN)                                                 \
    (RUN == 4u && N##_step == 1u && quad_aligned(&AT(C, N##_off)))
#define FETCH_CELLS(V, N, C, RUN, F)                                           \
    if (RUN_IS_QUAD(N, C, RUN)) {                                              \
        auto N##_quad = quad_load(&AT(C, N##_off));                            \
        V[0] = F(N##_quad.x);                                                  \
        V[1] = F(N##_quad.y);                                                  \
        V[2] = F(N##_quad.z);                                                  \
        V[3] = F(N##_quad.w);                                                  \
    } else {                                                                   \
        IN_RUN(N##_j, RUN) V[N##_j] = F(AT(C, N##_off + N##_j * N##_step));    \
    }
#define PUT_CELLS(N, C, RUN, V, F)                                             \
    if (RUN_IS_QUAD(N, C, RUN)) {                                              \
        quad_store(&AT(C, N##_off), F(V[0]), F(V[1]), F(V[2]), F(V[3]));       \
    } else {                                                                   \
        IN_RUN(N##_j, RUN) AT(C, N##_off + N##_j * N##_step) = F(V[N##_j]);    \
    }
#elif RUN_MOVES
/* A large result goes past a processor's caches: stream.h. Not of kernels whose
 * results are few, which do not say how many. */
#if STREAMED && !defined(RUN_ALONE)
#define PUT_PAST(N, C, RUN, V, F)                                              \
    if (N##_step == 1u && STREAMS(pc.run.n, *C))                               \
        past_##F(&AT(C, N##_off), V, RUN);                                     \
    else
#else
#define PUT_PAST(N, C, RUN, V, F)
#endif
#define FETCH_CELLS(V, N, C, RUN, F)                                           \
    fetch_##F(V, &AT(C, N##_off), N##_step, RUN);
#define PUT_CELLS(N, C, RUN, V, F)                                             \
    PUT_PAST(N, C, RUN, V, F)                                                  \
    put_##F(&AT(C, N##_off), V, N##_step, RUN);
#elif RUN_MOST == 1
/* Of one element it does not matter how far away the next one is. */
#define FETCH_CELLS(V, N, C, RUN, F)                                           \
    IN_RUN(N##_j, RUN) V[N##_j] = F(AT(C, N##_off + N##_j * N##_step));
#define PUT_CELLS(N, C, RUN, V, F)                                             \
    IN_RUN(N##_j, RUN) AT(C, N##_off + N##_j * N##_step) = F(V[N##_j]);
#else
#define FETCH_CELLS(V, N, C, RUN, F)                                           \
    if (N##_step == 1u) {                                                      \
        IN_RUN(N##_j, RUN) V[N##_j] = F(AT(C, N##_off + N##_j));               \
    } else {                                                                   \
        IN_RUN(N##_j, RUN) V[N##_j] = F(AT(C, N##_off + N##_j * N##_step));    \
    }
#define PUT_CELLS(N, C, RUN, V, F)                                             \
    if (N##_step == 1u) {                                                      \
        IN_RUN(N##_j, RUN) AT(C, N##_off + N##_j) = F(V[N##_j]);               \
    } else {                                                                   \
        IN_RUN(N##_j, RUN) AT(C, N##_off + N##_j * N##_step) = F(V[N##_j]);    \
    }
#endif

/* Floats of operand N, number K, as float32. */
#define FETCH(V, N, RUN, K)                                                    \
    if (RUN_DTYPE(K) == DT_F32) {                                              \
        FETCH_CELLS(V, N, N##4, RUN, RUN_AS_F32)                               \
    } else if (RUN_DTYPE(K) == DT_F16) {                                       \
        FETCH_CELLS(V, N, N##2, RUN, RUN_FROM_F16)                             \
    } else {                                                                   \
        FETCH_CELLS(V, N, N##2, RUN, RUN_FROM_BF16)                            \
    }
/* Integers, u8 extended with zeros. */
#define FETCH_INTS(V, N, RUN, K)                                               \
    if (RUN_DTYPE(K) == DT_I32) {                                              \
        FETCH_CELLS(V, N, N##4, RUN, RUN_U32)                                  \
    } else {                                                                   \
        FETCH_CELLS(V, N, N##1, RUN, RUN_FROM_U8)                              \
    }
/* Elements of any dtype as they are. */
#define FETCH_BITS(V, N, RUN, K)                                               \
    if (RUN_DTYPE(K) == DT_F32 || RUN_DTYPE(K) == DT_I32) {                    \
        FETCH_CELLS(V, N, N##4, RUN, RUN_U32)                                  \
    } else if (RUN_DTYPE(K) == DT_U8) {                                        \
        FETCH_CELLS(V, N, N##1, RUN, RUN_FROM_U8)                              \
    } else {                                                                   \
        FETCH_CELLS(V, N, N##2, RUN, RUN_FROM_U16)                             \
    }
#define PUT_BITS(N, RUN, V, K)                                                 \
    if (RUN_DTYPE(K) == DT_F32 || RUN_DTYPE(K) == DT_I32) {                    \
        PUT_CELLS(N, N##4, RUN, V, RUN_U32)                                    \
    } else if (RUN_DTYPE(K) == DT_U8) {                                        \
        PUT_CELLS(N, N##1, RUN, V, RUN_U8)                                     \
    } else {                                                                   \
        PUT_CELLS(N, N##2, RUN, V, RUN_U16)                                    \
    }
/* float32 values into operand N, number K, of floats. */
#define PUT(N, RUN, V, K)                                                      \
    if (RUN_DTYPE(K) == DT_F32) {                                              \
        PUT_CELLS(N, N##4, RUN, V, RUN_AS_U32)                                 \
    } else if (RUN_DTYPE(K) == DT_F16) {                                       \
        PUT_CELLS(N, N##2, RUN, V, RUN_TO_F16)                                 \
    } else {                                                                   \
        PUT_CELLS(N, N##2, RUN, V, RUN_TO_BF16)                                \
    }
#define PUT_INTS(N, RUN, V, K)                                                 \
    if (RUN_DTYPE(K) == DT_I32) {                                              \
        PUT_CELLS(N, N##4, RUN, V, RUN_U32)                                    \
    } else {                                                                   \
        PUT_CELLS(N, N##1, RUN, V, RUN_U8)                                     \
    }

#endif
