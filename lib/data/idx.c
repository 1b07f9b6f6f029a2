/* SPDX-License-Identifier: Apache-2.0 */
/* idx.c - the format of MNIST: two zeros, a byte for the dtype, a byte for the
 * rank, the sizes as 32 bits each, and the values; all in big-endian order. */
#include "lib/data/array.h"

static ssq_dtype idx_dtype_of(unsigned char code)
{
    switch (code) {
    case 0x08:
        return SSQ_U8;
    case 0x09:
        return SSQ_I8;
    case 0x0b:
        return SSQ_I16;
    case 0x0c:
        return SSQ_I32;
    case 0x0d:
        return SSQ_F32;
    case 0x0e:
        return SSQ_F64;
    default:
        return (ssq_dtype)0;
    }
}

bool idx_is(const struct contents *c)
{
    return c->n >= 4 && c->data[0] == 0 && c->data[1] == 0;
}

ssq_status idx_read(const struct contents *c, ssq_array **array)
{
    const ssq_dtype dtype = idx_dtype_of(c->data[2]);
    const int rank = c->data[3];
    int64_t shape[SSQ_MAX_RANK] = {0};
    if (dtype == 0)
        return error_set(SSQ_ERR_INVALID,
                         "array_read: %s: it is no IDX file: its third byte is "
                         "0x%02x",
                         c->path, (unsigned)c->data[2]);
    if (rank > SSQ_MAX_RANK)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "array_read: %s: it has %d dimensions, at most %d",
                         c->path, rank, SSQ_MAX_RANK);
    const size_t header = 4 + 4 * (size_t)rank;
    if (c->n < header)
        return error_set(SSQ_ERR_INVALID,
                         "array_read: %s: it ends in its header", c->path);
    for (int i = 0; i < rank; i++) {
        const unsigned char *p = c->data + 4 + 4 * i;
        shape[i] = (int64_t)p[0] << 24 | (int64_t)p[1] << 16 |
                   (int64_t)p[2] << 8 | p[3];
    }
    return array_from_file(c, header, dtype, rank, shape, array_little_endian(),
                           array);
}
