/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_finish.c - from a tile of sums to d: alpha, beta c, bias, activation and
 * the one rounding, with the text of the kernels. */
#include "backends/cpu/isa/gemm/gemm.h"

#include "backends/cpu/isa/half.h"

#define GEMM_PUT(LINE, N, AT_0)                                                \
    (void)(AT_0); /* row->d exists already */                                  \
    half_put(row->d, GEMM_D, LINE, N);
#include "kernels/gemm/gemm_epilogue.h"

/* Element i of an operand that may be absent. */
static const char *element(const void *base, uint32_t dtype, int64_t i)
{
    return base == NULL ? NULL
                        : (const char *)base + i * (dtype == DT_F32 ? 4 : 2);
}

/* Where one row of a tile goes, and what it needs. */
struct gemm_finish_row {
    const char *c, *bias;
    char *d;
};

/* n is a constant where a row is as long as a tile, so that its loops are. */
INLINE void finish_row(const struct gemm_finish_args *args,
                       const struct gemm_finish_row *row, const float *sums,
                       uint32_t n)
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
            half_put(d, dtype, sums, 2 * LANES);
    else
        for (uint32_t q = 0; q < rows; q++, d += d_row, sums += sums_row)
            half_put(d, dtype, sums, columns);
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

/* An operand of 16 bits whose columns are neighbours becomes a line of
 * float32s, by instructions, before the text adds it. */
struct gemm_finish_line {
    const char *from; /* NULL: the operand is read where it is */
    int64_t row;      /* bytes */
    uint32_t dtype;
    float values[GEMM_LINES];
};

/* Type number `shift` of args, if it is such an operand's, becomes float32. */
static void begin_line(struct gemm_finish_line *x,
                       struct gemm_finish_args *args, int shift,
                       const char *from, int64_t row, int64_t column)
{
    x->dtype = args->g.types >> shift & 15u;
    x->from = NULL;
    if (from == NULL || column != 1 || x->dtype == DT_F32)
        return;
    x->from = from;
    x->row = 2 * row;
    args->g.types ^= (x->dtype ^ DT_F32) << shift;
}

/* n elements of row q: where float32s are. */
INLINE const char *read_line(struct gemm_finish_line *x, int64_t q, uint32_t n)
{
    const char *p = x->from + q * x->row;
    for (uint32_t i = 0; i < n; i += LANES) {
        halves h = n - i >= LANES ? halves_load(p + 2 * i)
                                  : halves_part(p + 2 * i, n - i);
        floats_store(x->values + i,
                     x->dtype == DT_F16 ? floats_of_f16(h) : floats_of_bf16(h));
    }
    return (const char *)x->values;
}

INLINE void finish_rows(const struct gemm_result *r, const float *sums,
                        int64_t sums_row, uint32_t rows, uint32_t columns,
                        struct gemm_finish_row first)
{
    struct gemm_finish_args args = r->args;
    struct gemm_finish_line c, bias;
    int64_t c_row = r->c_row * (GEMM_TYPE_C(r) == DT_F32 ? 4 : 2);
    int64_t bias_row = r->bias_row * (GEMM_TYPE_BIAS(r) == DT_F32 ? 4 : 2);
    int64_t d_row = r->d_row * (GEMM_TYPE_D(r) == DT_F32 ? 4 : 2);
    begin_line(&c, &args, 8, first.c, r->c_row, r->c_column);
    begin_line(&bias, &args, 12, first.bias, r->bias_row, r->bias_column);
    for (uint32_t q = 0; q < rows; q++, sums += sums_row) {
        struct gemm_finish_row row = first;
        if (c.from != NULL)
            row.c = read_line(&c, q, columns);
        if (bias.from != NULL && (q == 0 || bias_row != 0))
            row.bias = read_line(&bias, q, columns);
        else if (bias.from != NULL)
            row.bias = (const char *)bias.values;
        finish_row(&args, &row, sums, columns);
        first.c = first.c == NULL ? NULL : first.c + c_row;
        first.bias = first.bias == NULL ? NULL : first.bias + bias_row;
        first.d += d_row;
    }
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
    struct gemm_finish_row first = {
        element(r->c, GEMM_TYPE_C(r), i * r->c_row + j * r->c_column),
        element(r->bias, GEMM_TYPE_BIAS(r),
                i * r->bias_row + j * r->bias_column),
        d};
    if (columns == 2 * LANES)
        finish_rows(r, sums, sums_row, rows, 2 * LANES, first);
    else
        finish_rows(r, sums, sums_row, rows, columns, first);
}
