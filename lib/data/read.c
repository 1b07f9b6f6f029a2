/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - ssq_array_read: which format a file has. */
#include "lib/data/array.h"

#include <ctype.h>
#include <string.h>

static ssq_status read_check_args(const char *path,
                                  const ssq_array_read_args *args,
                                  ssq_array **array)
{
    if (path == NULL || array == NULL)
        return error_set(SSQ_ERR_INVALID, "array_read: %s is NULL",
                         path == NULL ? "path" : "array");
    if (args->struct_size != sizeof(*args))
        return error_set(SSQ_ERR_INVALID,
                         "array_read: struct_size is %zu, expected %zu",
                         args->struct_size, sizeof(*args));
    if (args->skip_rows < 0)
        return error_set(SSQ_ERR_INVALID,
                         "array_read: skip_rows is %lld, expected at least 0",
                         (long long)args->skip_rows);
    if (args->separator == '\0' || isalnum((unsigned char)args->separator) ||
        strchr("+-. \n\r", args->separator) != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "array_read: separator 0x%02x is a blank, or a part "
                         "of numbers or lines",
                         (unsigned)(unsigned char)args->separator);
    switch (args->dtype) {
    case SSQ_F32:
    case SSQ_F64:
    case SSQ_I32:
    case SSQ_I64:
        return SSQ_OK;
    default:
        return error_set(SSQ_ERR_INVALID,
                         "array_read: dtype of CSV is %s, expected f32, f64, "
                         "i32 or i64",
                         ssq_dtype_name(args->dtype));
    }
}

static ssq_status read_format(const struct contents *c,
                              const ssq_array_read_args *args,
                              ssq_array **array)
{
    if (npz_is(c))
        return npz_read(c, args->name, array);
    if (args->name != NULL)
        return error_set(
            SSQ_ERR_INVALID,
            "array_read: %s is not a NPZ file, and the name \"%s\" "
            "is of an array in one",
            c->path, args->name);
    return npy_is(c)   ? npy_read(c, array)
           : idx_is(c) ? idx_read(c, array)
                       : csv_read(c, args, array);
}

ssq_status ssq_array_read(const char *path, const ssq_array_read_args *args,
                          ssq_array **array)
{
    const ssq_array_read_args plain = SSQ_ARRAY_READ_INIT;
    struct contents c;
    args = args == NULL ? &plain : args;
    ssq_status st = read_check_args(path, args, array);
    if (st != SSQ_OK)
        return st;
    st = contents_read(&c, path);
    if (st == SSQ_OK)
        st = read_format(&c, args, array);
    contents_free(&c);
    return st;
}
