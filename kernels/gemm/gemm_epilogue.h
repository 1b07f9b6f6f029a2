/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_epilogue.h - from sums of products to d, a part of a row at a time.
 *
 * Branches are uniform and outside of the loops, so that these become vector
 * instructions. Each step is rounded to float32, the store rounds once more. */
#ifndef KERNELS_GEMM_GEMM_EPILOGUE_H
#define KERNELS_GEMM_GEMM_EPILOGUE_H

#include "kernels/gemm/gemm_args.h"

/* The operands of the epilogue: bindings 0 to 5. */
#define GEMM_EPILOGUE_BUFFERS                                                  \
    BUF_RW(0, u16, d16) SEP BUF_RW(1, float, d32)                              \
    SEP BUF_RO(2, u16, c16)                                                    \
    SEP BUF_RO(3, float, c32)                                                  \
    SEP BUF_RO(4, u16, bias16)                                                 \
    SEP BUF_RO(5, float, bias32) SEP

#define GEMM_EACH(Q, N) for (u32 Q = 0u; Q < (N); Q++)

/* LINE[q] += SCALE times element AT_0 + q STEP of X32 or, by dtype, of X16;
 * nothing where the operand is absent. float32 neighbours have a loop of their
 * own. */
#define GEMM_ADD(LINE, N, DTYPE, X16, X32, AT_0, STEP, SCALE)                  \
    if (DTYPE == DT_F32) {                                                     \
        if (STEP == 1u) {                                                      \
            GEMM_EACH(q, N)                                                    \
            {                                                                  \
                EXACT float t = SCALE * AT(X32, AT_0 + q);                     \
                LINE[q] = LINE[q] + t;                                         \
            }                                                                  \
        } else {                                                               \
            GEMM_EACH(q, N)                                                    \
            {                                                                  \
                EXACT float t = SCALE * AT(X32, AT_0 + q * STEP);              \
                LINE[q] = LINE[q] + t;                                         \
            }                                                                  \
        }                                                                      \
    } else if (DTYPE != 0u) {                                                  \
        GEMM_EACH(q, N)                                                        \
        {                                                                      \
            EXACT float t =                                                    \
                SCALE * cell_2(U32(AT(X16, AT_0 + q * STEP)), DTYPE);          \
            LINE[q] = LINE[q] + t;                                             \
        }                                                                      \
    }

/* The activation of N sums. A NaN stays one: it is not less than 0. */
#define GEMM_ACTIVATE(LINE, N)                                                 \
    if (pc.g.activation == ACT_RELU) {                                         \
        GEMM_EACH(q, N) LINE[q] = LINE[q] < 0.0f ? 0.0f : LINE[q];             \
    } else if (pc.g.activation != ACT_NONE) {                                  \
        GEMM_EACH(q, N) LINE[q] = activate(LINE[q], pc.g.activation);          \
    }

/* Rounds N results to d's dtype and stores them: here and nowhere else a gemm's
 * result is rounded to 16 bits. A host may define it before, as vector
 * instructions of the same bits. */
#ifndef GEMM_PUT
#define GEMM_PUT(LINE, N, AT_0)                                                \
    if (GEMM_D == DT_F32) {                                                    \
        GEMM_EACH(q, N) AT(d32, AT_0 + q) = LINE[q];                           \
    } else if (GEMM_D == DT_F16) {                                             \
        GEMM_EACH(q, N) AT(d16, AT_0 + q) = U16(f16_store(LINE[q]));           \
    } else {                                                                   \
        GEMM_EACH(q, N) AT(d16, AT_0 + q) = U16(bf16_store(LINE[q]));          \
    }
#endif

/* From sums LINE[0 .. N - 1], of row I and the columns from J on of matrix Z,
 * to d. */
#define GEMM_EPILOGUE(LINE, N, Z, I, J)                                        \
    {                                                                          \
        u32 c_0 = (Z)*pc.g.c_batch + (I)*pc.g.c_row + (J)*pc.g.c_column;       \
        u32 bias_0 =                                                           \
            (Z)*pc.g.bias_batch + (I)*pc.g.bias_row + (J)*pc.g.bias_column;    \
        u32 d_0 = (Z)*pc.g.d_batch + (I)*pc.g.d_row + (J);                     \
        GEMM_EACH(q, N) LINE[q] = pc.g.alpha * LINE[q];                        \
        GEMM_ADD(LINE, N, GEMM_C, c16, c32, c_0, pc.g.c_column, pc.g.beta)     \
        GEMM_ADD(LINE, N, GEMM_BIAS, bias16, bias32, bias_0, pc.g.bias_column, \
                 1.0f)                                                         \
        GEMM_ACTIVATE(LINE, N)                                                 \
        GEMM_PUT(LINE, N, d_0)                                                 \
    }

#endif
