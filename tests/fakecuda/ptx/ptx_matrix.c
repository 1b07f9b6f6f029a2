/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_matrix.c - mma.sync and ldmatrix: matrices that a warp's items hold
 * together, each some elements, as the PTX ISA lays them out. */
#include "tests/fakecuda/tensor_core.h"
#include "tests/fakecuda/ptx/ptx_warp.h"

#define M 16u
#define N 8u
#define K 16u /* at most */

enum ptx_mma_wrong ptx_mma_wrong;

static float f16_value(uint32_t h)
{
    uint32_t part = h & 1023, field = h >> 10 & 31;
    float x;

    if (field == 31)
        x = part != 0 ? NAN : INFINITY;
    else if (field == 0)
        x = (float)part * 0x1p-24f;
    else
        x = f32((field + 112) << 23 | part << 13);
    return (h & 0x8000) != 0 ? -x : x;
}

static float value(uint16_t factors, uint32_t h)
{
    return factors == FACTORS_BF16 ? f32(h << 16) : f16_value(h);
}

/* Two neighbours of a register. */
static void halves(uint16_t factors, uint64_t x, float *first, float *second)
{
    *first = value(factors, (uint32_t)x & 0xffff);
    *second = value(factors, (uint32_t)x >> 16 & 0xffff);
}

/* a: row g of a lane's four, and 8 below it; k by twos, and 8 further. b the
 * same with its columns. */
static void gather(const struct insn *i, const struct warp *w,
                   const uint16_t *list, float a[M][K], float b[N][K])
{
    for (uint32_t lane = 0; lane < PTX_WARP; lane++) {
        uint32_t g = lane / 4, t = lane % 4 * 2;

        for (uint32_t q = 0; q < i->c / 4u; q++) {
            float *row = &a[g + q % 2 * 8][t + q / 2 * 8];

            halves(i->b, *warp_slot(w, lane, list[LIST_A + q]), row, row + 1);
        }
        for (uint32_t q = 0; q < i->c / 8u; q++) {
            float *row = &b[g][t + q * 8];

            halves(i->b, *warp_slot(w, lane, list[LIST_B + q]), row, row + 1);
        }
    }
}

/* A wrong unit, for tests that it is noticed: one that rounds its sums to 11
 * bits, or forgets the last of k. */
static float spoil(float sum)
{
    return f32((bits(sum) + 0x1000) & ~UINT64_C(0x1fff));
}

static float element(uint32_t k, float sum, const float *a, const float *b)
{
    uint32_t end = ptx_mma_wrong == PTX_MMA_TAIL ? k - 1 : k;

    for (uint32_t q = 0; q < end; q += 8)
        sum = tensor_add(sum, a + q, b + q, end - q < 8 ? end - q : 8);
    return ptx_mma_wrong == PTX_MMA_HALF ? spoil(sum) : sum;
}

void ptx_mma(struct ptx_run *r, const struct insn *i, const struct warp *w)
{
    const uint16_t *list = r->entry->list + i->imm;
    float a[M][K], b[N][K], d[M][N];
    bool turned = ptx_mma_wrong == PTX_MMA_TURNED;

    gather(i, w, list, a, b);
    for (uint32_t lane = 0; lane < PTX_WARP; lane++)
        for (uint32_t q = 0; q < 4; q++) {
            uint32_t row = lane / 4 + q / 2 * 8, column = lane % 4 * 2 + q % 2;
            float c = f32(*warp_slot(w, lane, list[LIST_C + q]));

            d[row][column] =
                element(i->c, c, a[turned ? row ^ 8 : row], b[column]);
        }
    for (uint32_t lane = 0; lane < PTX_WARP; lane++)
        for (uint32_t q = 0; q < 4; q++)
            *warp_slot(w, lane, list[LIST_D + q]) =
                bits(d[lane / 4 + q / 2 * 8][lane % 4 * 2 + q % 2]);
    if (r->counts != NULL) {
        r->counts->mma++;
        r->counts->flops += UINT64_C(2) * M * N * i->c;
    }
}

/* Lane 8 j + s has the address of row s of matrix j; a lane gets two neighbours
 * of a row, or of a column where the matrix is turned. */
void ptx_ldmatrix(struct ptx_run *r, struct insn *i, const struct warp *w)
{
    const uint16_t *list = r->entry->list + i->imm;
    /* registers come last: one of them may hold the address */
    uint32_t loaded[PTX_WARP][4];

    for (uint32_t j = 0; j < i->b; j++) {
        uint16_t matrix[8][8];
        uint64_t at[8];

        for (uint32_t s = 0; s < 8; s++) {
            at[s] = *warp_slot(w, 8 * j + s, i->a);
            r->item = w->first + 8 * j + s;
            memcpy(matrix[s], at_shared(r, i, at[s], 16, false), 16);
        }
        if (r->counts != NULL)
            r->counts->conflicts += ptx_row_conflicts(at);
        for (uint32_t lane = 0; lane < PTX_WARP; lane++) {
            uint32_t g = lane / 4, t = lane % 4 * 2;
            uint32_t low = i->c != 0 ? matrix[t][g] : matrix[g][t];
            uint32_t high = i->c != 0 ? matrix[t + 1][g] : matrix[g][t + 1];

            loaded[lane][j] = low | high << 16;
        }
    }
    for (uint32_t lane = 0; lane < PTX_WARP; lane++)
        for (uint32_t j = 0; j < i->b; j++)
            *warp_slot(w, lane, list[LIST_D + j]) = loaded[lane][j];
    if (r->counts != NULL)
        r->counts->ldmatrix++;
}
