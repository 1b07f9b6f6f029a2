/* SPDX-License-Identifier: Apache-2.0 */
/* coopmat.comp - products of 16-bit floats by a subgroup's cooperative
 * matrices, summed in float32.
 *
 *                      TILE_N = ACROSS MATRICES N
 *                    +-----+-----+-----+-----+
 *              DEPTH |     |  b  |     |     |   a and b: raw bits in shared
 *                    +-----+-----+-----+-----+   memory, DEPTH of k; the next
 *     DEPTH                                      DEPTH is staged meanwhile.
 *    +------+        +--+--+-----+-----------+   Zeros past the edges
 *    |      |        |  |  |     |           |
 *    +------+        +--+--+     |           |   a subgroup sums a square of
 *    |  a   |        |  |  |     |           |   MATRICES by MATRICES, each M
 *    |      |        +--+--+-----+-----------+   by N, in its registers
 *    |      |        |subgroup   |           |
 *    +------+        |           |           |
 *     TILE_M         +-----------+-----------+
 *  = DOWN MATRICES M
 *
 * Both keep in shared memory the order they have in memory: lines of 8 elements
 * at a time, and 8 more so that lines begin in different banks. A line of a is
 * a row or, where a is transposed, a column; the matrices' loads know both.
 *
 * Then each subgroup puts its matrices one by one into shared memory, where the
 * epilogue of all gemm kernels reads them.
 *
 * This is no source of the dialect: Vulkan alone has these matrices. Their
 * shape and the subgroup's size are the device's and come as constants when a
 * pipeline is made. Nothing but the type of the matrices knows that elements
 * are f16, and float16 is named for nothing else, because
 * backends/vulkan/coopmat_words.c makes the module for bf16 of this one's
 * words. */
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

#define GROUP_IS_CONSTANT /* layout(local_size_x_id = 0) */
#include "kernels/gemm/gemm_epilogue.h"

layout(constant_id = 1) const uint M = 16;
layout(constant_id = 2) const uint N = 16;
layout(constant_id = 3) const uint K = 16;
layout(constant_id = 4) const uint SUBGROUP = 32;
layout(constant_id = 5) const uint DOWN = 2; /* subgroups */
layout(constant_id = 6) const uint ACROSS = 2;
layout(constant_id = 7) const uint MATRICES = 2;
layout(constant_id = 8) const uint DEPTH = 32;
layout(constant_id = 9) const uint A_ROOM = 320; /* uvec4s of one stage */
layout(constant_id = 10) const uint B_ROOM = 320;
const uint TILE_M = DOWN * MATRICES * M;
const uint TILE_N = ACROSS * MATRICES * N;

/* 16-bit elements of a uvec4, and float32s that an item finishes at a time */
#define PACKED 8u
#define LINE   4u

KERNEL(gemm_coopmat)
    GEMM_EPILOGUE_BUFFERS
    BUF_RO(6, u16, a16) SEP
    BUF_RO(7, uvec4, a128) SEP
    BUF_RO(8, u16, b16) SEP
    BUF_RO(9, uvec4, b128) SEP
    PARAMS(gemm_coopmat_args)
ENDARGS
SHARED(uvec4, a_part, 2 * A_ROOM)
SHARED(uvec4, b_part, 2 * B_ROOM)
SHARED(float, sums, DOWN * ACROSS * M * N)

#define LAYOUT_ROWS    gl_CooperativeMatrixLayoutRowMajor
#define LAYOUT_COLUMNS gl_CooperativeMatrixLayoutColumnMajor

/* Fill a stage: lines line_0 .. line_0 + lines - 1, `words` words of PACKED
 * elements of each from the element `first` on, go into PART at `to`. Element 0
 * of line 0 is at base, and `step` leads from line to line. Past line_end and
 * end, where the matrix ends, are zeros. Where all lines begin at multiples of
 * 16 bytes (whole), a full word is one load; else it is put together of
 * elements. */
#define STAGE(NAME, X16, X128, PART)                                           \
    void NAME(uint to, uint base, uint step, uint line_0, uint lines,          \
              uint line_end, uint first, uint words, uint end, bool whole)     \
    {                                                                          \
        for (uint e = LOCAL_ID; e < lines * words; e += gl_WorkGroupSize.x) {  \
            uint line = e / words;                                             \
            uint word = e - line * words;                                      \
            uint from = first + word * PACKED;                                 \
            uint at = base + (line_0 + line) * step + from;                    \
            uvec4 x = uvec4(0u);                                               \
            if (line_0 + line < line_end && from < end) {                      \
                if (whole && end - from >= PACKED) {                           \
                    x = AT(X128, at / PACKED);                                 \
                } else {                                                       \
                    [[unroll]] for (uint c = 0u; c < PACKED; c++)              \
                        if (c < end - from)                                    \
                            x[c / 2u] |= U32(AT(X16, at + c)) << c % 2u * 16u; \
                }                                                              \
            }                                                                  \
            PART[to + line * (words + 1u) + word] = x;                         \
        }                                                                      \
    }
STAGE(stage_a, a16, a128, a_part)
STAGE(stage_b, b16, b128, b_part)

#define WHOLE_A ((pc.g.types & GEMM_WHOLE_A) != 0u)
#define WHOLE_B ((pc.g.types & GEMM_WHOLE_B) != 0u)

/* Stage DEPTH of k from `from` on, for the tile at (i_0, j_0) of matrix z, into
 * the half `turn` of shared memory. What is a line depends on which way the
 * factor is. */
void stage(uint turn, uint z, uint i_0, uint j_0, uint from)
{
    uint a_0 = z * pc.g.a_batch;
    uint b_0 = z * pc.g.b_batch;
    if (pc.a_column == 1u)
        stage_a(turn * A_ROOM, a_0, pc.a_row, i_0, TILE_M, pc.g.m, from,
                DEPTH / PACKED, pc.g.k, WHOLE_A);
    else
        stage_a(turn * A_ROOM, a_0, pc.a_column, from, DEPTH, pc.g.k, i_0,
                TILE_M / PACKED, pc.g.m, WHOLE_A);
    if (pc.b_column == 1u)
        stage_b(turn * B_ROOM, b_0, pc.b_row, from, DEPTH, pc.g.k, j_0,
                TILE_N / PACKED, pc.g.n, WHOLE_B);
    else
        stage_b(turn * B_ROOM, b_0, pc.b_column, j_0, TILE_N, pc.g.n, from,
                DEPTH / PACKED, pc.g.k, WHOLE_B);
}

#define EACH_MATRIX(R) [[unroll]] for (uint R = 0u; R < MATRICES; R++)

/* X = the matrix at (LINE_0, WORD_0) of a stage whose lines have WORDS words,
 * and one that pads them. */
#define LOAD_MATRIX(X, PART, TO, LINE_0, WORD_0, WORDS, LAYOUT)                \
    coopMatLoad(X, PART, (TO) + (LINE_0) * ((WORDS) + 1u) + (WORD_0),          \
                (WORDS) + 1u, LAYOUT)

/* The matrices of a at row I and of b at column J, both at Q of the stage's
 * depth. A factor that is the other way is loaded as columns. */
#define LOAD_A(X, I, Q)                                                        \
    if (pc.a_column == 1u)                                                     \
        LOAD_MATRIX(X, a_part, turn * A_ROOM, I, (Q) / PACKED,                 \
                    DEPTH / PACKED, LAYOUT_ROWS);                              \
    else                                                                       \
        LOAD_MATRIX(X, a_part, turn * A_ROOM, Q, (I) / PACKED,                 \
                    TILE_M / PACKED, LAYOUT_COLUMNS);

#define LOAD_B(X, Q, J)                                                        \
    if (pc.b_column == 1u)                                                     \
        LOAD_MATRIX(X, b_part, turn * B_ROOM, Q, (J) / PACKED,                 \
                    TILE_N / PACKED, LAYOUT_ROWS);                             \
    else                                                                       \
        LOAD_MATRIX(X, b_part, turn * B_ROOM, J, (Q) / PACKED,                 \
                    DEPTH / PACKED, LAYOUT_COLUMNS);

#define MATRIX(T, R, C, USE) coopmat<T, gl_ScopeSubgroup, R, C, USE>
#define MATRIX_A             MATRIX(float16_t, M, K, gl_MatrixUseA)
#define MATRIX_B             MATRIX(float16_t, K, N, gl_MatrixUseB)
#define MATRIX_SUM           MATRIX(float, M, N, gl_MatrixUseAccumulator)

BODY
    /* Of another size than was asked for: leave, the self-test will see it. */
    if (gl_NumSubgroups != DOWN * ACROSS || gl_SubgroupSize != SUBGROUP)
        return;
    uint i_own = gl_SubgroupID / ACROSS * MATRICES * M;
    uint j_own = gl_SubgroupID % ACROSS * MATRICES * N;
    uint own = gl_SubgroupID * M * N;
    uint tall = (pc.g.m + TILE_M - 1u) / TILE_M;
    uint broad = (pc.g.n + TILE_N - 1u) / TILE_N;
    EACH_GROUP(task, pc.g.batch * tall * broad) {
        uint z = task / (tall * broad);
        uint i_0 = (task / broad - z * tall) * TILE_M;
        uint j_0 = task % broad * TILE_N;
        MATRIX_SUM sum[MATRICES * MATRICES];
        EACH_MATRIX(r) EACH_MATRIX(c) sum[r * MATRICES + c] = MATRIX_SUM(0.0);
        uint turn = 0u;
        stage(turn, z, i_0, j_0, 0u);
        BARRIER();
        for (uint from = 0u; from < pc.g.k; from += DEPTH) {
            if (pc.g.k - from > DEPTH)
                stage(1u - turn, z, i_0, j_0, from + DEPTH);
            for (uint q = 0u; q < DEPTH; q += K) {
                MATRIX_A a[MATRICES];
                EACH_MATRIX(r) {
                    LOAD_A(a[r], i_own + r * M, q)
                }
                EACH_MATRIX(c) {
                    MATRIX_B b;
                    LOAD_B(b, q, j_own + c * N)
                    EACH_MATRIX(r) sum[r * MATRICES + c] =
                        coopMatMulAdd(a[r], b, sum[r * MATRICES + c]);
                }
            }
            BARRIER();
            turn = 1u - turn;
        }
        [[dont_unroll]] for (uint f = 0u; f < MATRICES * MATRICES; f++) {
            /* Registers cannot be indexed by f: the loops pick the matrix. The
             * epilogue's code is then here only once. */
            EACH_MATRIX(r) EACH_MATRIX(c) if (r * MATRICES + c == f)
                coopMatStore(sum[r * MATRICES + c], sums, own, N, LAYOUT_ROWS);
            subgroupBarrier();
            for (uint e = gl_SubgroupInvocationID; e < M * N / LINE;
                 e += SUBGROUP) {
                uint row = i_0 + i_own + f / MATRICES * M + e / (N / LINE);
                uint column = e % (N / LINE) * LINE;
                uint at = own + e * LINE;
                column += j_0 + j_own + f % MATRICES * N;
                if (row < pc.g.m && column < pc.g.n) {
                    uint columns = min(pc.g.n - column, LINE);
                    float line[LINE];
                    [[unroll]] for (uint c = 0u; c < LINE; c++)
                        line[c] = sums[at + c];
                    GEMM_EPILOGUE(line, columns, z, row, column)
                }
            }
            subgroupBarrier();
        }
    }
END
