/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_finish.c - from a tile of sums to d: alpha, beta c, bias, activation and
 * the one rounding, with the text of the kernels. */
#include "backends/cpu/isa/gemm.h"

#include "backends/cpu/isa/half.h"

/* 2 LANES of a line, in 16 bits. */
INLINE void put_two(char *d, uint32_t dtype, const float *line)
{
    floats x = floats_load(line), y = floats_load(line + LANES);
    if (dtype == SSQ_F16)
        f16_store_two(d, x, y);
    else
        bf16_store_two(d, x, y);
}

/* The first n of a line to d. */
INLINE void put(char *d, uint32_t dtype, const float *line, uint32_t n)
{
    uint32_t q = 0;
    if (dtype == SSQ_F32) {
        memcpy(d, line, n * sizeof(*line));
        return;
    }
    for (; q + 2 * LANES <= n; q += 2 * LANES)
        put_two(d + 2 * q, dtype, line + q);
    if (q < n) {
        float rest[2 * LANES] = {0};
        uint16_t bits[2 * LANES];
        memcpy(rest, line + q, (n - q) * sizeof(*line));
        put_two((char *)bits, dtype, rest);
        memcpy(d + 2 * q, bits, (n - q) * sizeof(*bits));
    }
}

#define GEMM_PUT(LINE, N, AT_0)                                                \
    (void)(AT_0); /* row->d is there already */                                \
    put(row->d, GEMM_D, LINE, N);
#include "kernels/gemm/gemm_epilogue.h"

/* Element i of an operand that may be absent. */
static const char *element(const void *base, uint32_t dtype, int64_t i)
{
    return base == NULL ? NULL
                        : (const char *)base + i * (dtype == DT_F32 ? 4 : 2);
}

/* Where one row of a tile goes, and what it needs. */
struct row {
    const char *c, *bias;
    char *d;
};

/* n is a constant where a row is as long as a tile, so that its loops are. */
INLINE void finish_row(const struct gemm_finish_args *args,
                       const struct row *row, const float *sums, uint32_t n)
{
#define pc (*args)
    const u16 *c16 = (const u16 *)row->c, *bias16 = (const u16 *)row->bias;
    const float *c32 = (const float *)row->c,
                *bias32 = (const float *)row->bias;
    float line[GEMM_LINES];
    for (uint32_t q = 0; q < n; q++)
        line[q] = sums[q];
    GEMM_EPILOGUE(line, n, 0u, 0u, 0u)
#undef pc
}

/* Sums that are only rounded: dtype is a constant. */
INLINE void put_rows(char *d, int64_t d_row, uint32_t dtype, const float *sums,
                     int64_t sums_row, uint32_t rows, uint32_t columns)
{
    d_row *= dtype == SSQ_F32 ? 4 : 2;
    if (columns == 2 * LANES)
        for (uint32_t q = 0; q < rows; q++, d += d_row, sums += sums_row)
            put(d, dtype, sums, 2 * LANES);
    else
        for (uint32_t q = 0; q < rows; q++, d += d_row, sums += sums_row)
            put(d, dtype, sums, columns);
}

static void finish_plain(char *d, int64_t d_row, uint32_t dtype,
                         const float *sums, int64_t sums_row, uint32_t rows,
                         uint32_t columns)
{
    if (dtype == SSQ_F32)
        put_rows(d, d_row, SSQ_F32, sums, sums_row, rows, columns);
    else if (dtype == SSQ_F16)
        put_rows(d, d_row, SSQ_F16, sums, sums_row, rows, columns);
    else
        put_rows(d, d_row, SSQ_BF16, sums, sums_row, rows, columns);
}

void ISA_NAME(gemm_finish)(const struct gemm_result *r, const float *sums,
                           int64_t sums_row, uint32_t rows, uint32_t columns,
                           int64_t i, int64_t j)
{
    const uint32_t dtype = GEMM_TYPE_D(r);
    const int64_t bytes = dtype == SSQ_F32 ? 4 : 2;
    char *d = (char *)r->d + (i * r->d_row + j) * bytes;
    if (r->plain) {
        finish_plain(d, r->d_row, dtype, sums, sums_row, rows, columns);
        return;
    }
    for (uint32_t q = 0; q < rows; q++, sums += sums_row) {
        int64_t at = i + q;
        struct row row = {
            element(r->c, GEMM_TYPE_C(r), at * r->c_row + j * r->c_column),
            element(r->bias, GEMM_TYPE_BIAS(r),
                    at * r->bias_row + j * r->bias_column),
            d + q * r->d_row * bytes};
        if (columns == 2 * LANES)
            finish_row(&r->args, &row, sums, 2 * LANES);
        else
            finish_row(&r->args, &row, sums, columns);
    }
}
