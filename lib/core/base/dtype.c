/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.c - names and sizes of element types. */
#include "lib/core/base/error.h"
#include "lib/core/base/view.h"

#include <string.h>

/** Every dtype that has a number, including dtypes that no device supports.
 *  Messages use name; other and third are also accepted as input. */
static const struct {
    ssq_dtype dtype;
    unsigned bits;                    /* of an element */
    const char *name, *other, *third; /* NULL: there is none */
} dtypes[] = {
    {SSQ_F32, 32, "f32", "float32", "float"},
    {SSQ_F16, 16, "f16", "float16", "half"},
    {SSQ_BF16, 16, "bf16", "bfloat16", NULL},
    {SSQ_I32, 32, "i32", "int32", NULL},
    {SSQ_U8, 8, "u8", "uint8", NULL},
    {SSQ_BOOL, 8, "bool", NULL, NULL},
    {SSQ_I8, 8, "i8", "int8", NULL},
    {SSQ_I64, 64, "i64", "int64", NULL},
    {SSQ_U32, 32, "u32", "uint32", NULL},
    {SSQ_F64, 64, "f64", "float64", "double"},
    {SSQ_F8E4M3, 8, "f8e4m3", "float8_e4m3", NULL},
    {SSQ_F8E5M2, 8, "f8e5m2", "float8_e5m2", NULL},
    {SSQ_I16, 16, "i16", "int16", NULL},
    {SSQ_U16, 16, "u16", "uint16", NULL},
};

#define DTYPES (sizeof(dtypes) / sizeof(dtypes[0]))

unsigned ssq_dtype_bits(ssq_dtype dtype)
{
    for (size_t i = 0; i < DTYPES; i++)
        if (dtypes[i].dtype == dtype)
            return dtypes[i].bits;
    return 0;
}

const char *ssq_dtype_name(ssq_dtype dtype)
{
    for (size_t i = 0; i < DTYPES; i++)
        if (dtypes[i].dtype == dtype)
            return dtypes[i].name;
    return "invalid";
}

static bool dtype_same(const char *a, const char *b)
{
    return b != NULL && strcmp(a, b) == 0;
}

ssq_status ssq_dtype_from_name(const char *name, ssq_dtype *dtype)
{
    if (name == NULL || dtype == NULL)
        return error_set(SSQ_ERR_INVALID, "dtype_from_name: %s is NULL",
                         name == NULL ? "name" : "dtype");
    for (size_t i = 0; i < DTYPES; i++) {
        if (dtype_same(name, dtypes[i].name) ||
            dtype_same(name, dtypes[i].other) ||
            dtype_same(name, dtypes[i].third)) {
            *dtype = dtypes[i].dtype;
            return SSQ_OK;
        }
    }
    return error_set(
        SSQ_ERR_NOT_FOUND,
        "dtype_from_name: \"%.32s\" is not a dtype: f32, f16, bf16, "
        "i32 and u8 are",
        name);
}

size_t dtype_bytes(ssq_dtype dtype)
{
    return ssq_dtype_bits(dtype) / 8;
}

/* True for float dtypes of tensors: f64 exists in host memory only. */
bool dtype_is_float(ssq_dtype dtype)
{
    return dtype == SSQ_F32 || dtype == SSQ_F16 || dtype == SSQ_BF16;
}
