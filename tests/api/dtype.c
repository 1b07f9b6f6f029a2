/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.c - tests of dtype names and sizes, and of the values that
 * ssq_convert refuses and keeps. Its numbers are tested with the casts. */

#include <sesqui/dtype.h>

#include "tests/tap.h"

static bool refused(ssq_status st, ssq_status want, const char *part)
{
    return st == want && strstr(ssq_last_error(), part) != NULL;
}

static void test_names(void)
{
    static const struct {
        ssq_dtype dtype;
        unsigned bits;
        const char *names[4];
    } table[] = {
        {SSQ_F32, 32, {"f32", "float32", "float", NULL}},
        {SSQ_F16, 16, {"f16", "float16", "half", NULL}},
        {SSQ_BF16, 16, {"bf16", "bfloat16", NULL}},
        {SSQ_I32, 32, {"i32", "int32", NULL}},
        {SSQ_U8, 8, {"u8", "uint8", NULL}},
    };
    ssq_dtype d = SSQ_F32;

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        bool ok =
            ssq_dtype_bits(table[i].dtype) == table[i].bits &&
            strcmp(ssq_dtype_name(table[i].dtype), table[i].names[0]) == 0;

        for (int k = 0; table[i].names[k] != NULL; k++)
            ok = ok && ssq_dtype_from_name(table[i].names[k], &d) == SSQ_OK &&
                 d == table[i].dtype;
        tap_ok(ok, "%s has %u bits and all its names", table[i].names[0],
               table[i].bits);
    }
    tap_ok(ssq_dtype_bits((ssq_dtype)0) == 0 &&
               ssq_dtype_bits((ssq_dtype)15) == 0 &&
               strcmp(ssq_dtype_name((ssq_dtype)15), "invalid") == 0,
           "0 and 15 are no dtypes");
    d = SSQ_U8;
    tap_ok(refused(ssq_dtype_from_name("f17", &d), SSQ_ERR_NOT_FOUND, "f17") &&
               refused(ssq_dtype_from_name("", &d), SSQ_ERR_NOT_FOUND, "f32") &&
               d == SSQ_U8,
           "\"f17\" and \"\" are no names: %s", ssq_last_error());
    tap_ok(
        refused(ssq_dtype_from_name(NULL, &d), SSQ_ERR_INVALID, "NULL") &&
            refused(ssq_dtype_from_name("f32", NULL), SSQ_ERR_INVALID, "NULL"),
        "a name of NULL, a result of NULL");
}

/* The dtypes of host memory, and reserved ones, have numbers and names. */
static void test_reserved(void)
{
    for (int i = SSQ_BOOL; i <= SSQ_U16; i++) {
        ssq_dtype d = SSQ_F32;
        const char *name = ssq_dtype_name((ssq_dtype)i);

        tap_ok(ssq_dtype_bits((ssq_dtype)i) != 0 &&
                   ssq_dtype_from_name(name, &d) == SSQ_OK && (int)d == i,
               "%d is %s", i, name);
    }
}

static void test_convert_errors(void)
{
    float f[4] = {1, 2, 3, 4};
    uint16_t h[8] = {0};
    uint16_t before[8] = {0};

    tap_ok(
        refused(ssq_convert(NULL, SSQ_F16, f, SSQ_F32, 4, SSQ_ROUND_NEAREST, 0),
                SSQ_ERR_INVALID, "NULL") &&
            refused(
                ssq_convert(h, SSQ_F16, NULL, SSQ_F32, 4, SSQ_ROUND_NEAREST, 0),
                SSQ_ERR_INVALID, "NULL"),
        "4 elements from or into NULL");
    tap_ok(ssq_convert(NULL, SSQ_F16, NULL, SSQ_F32, 0, SSQ_ROUND_NEAREST, 0) ==
               SSQ_OK,
           "0 elements from NULL into NULL");
    tap_ok(
        refused(ssq_convert(h, SSQ_F8E4M3, f, SSQ_F32, 4, SSQ_ROUND_NEAREST, 0),
                SSQ_ERR_UNSUPPORTED, "f8e4m3") &&
            refused(
                ssq_convert(h, SSQ_F16, f, SSQ_F8E5M2, 4, SSQ_ROUND_NEAREST, 0),
                SSQ_ERR_UNSUPPORTED, "f8e5m2"),
        "reserved dtypes: %s", ssq_last_error());
    tap_ok(refused(ssq_convert(h, (ssq_dtype)77, f, SSQ_F32, 4,
                               SSQ_ROUND_NEAREST, 0),
                   SSQ_ERR_INVALID, "77"),
           "dtype 77: %s", ssq_last_error());
    tap_ok(refused(ssq_convert(h, SSQ_F16, f, SSQ_F32, 4, (ssq_rounding)9, 0),
                   SSQ_ERR_INVALID, "9"),
           "rounding 9: %s", ssq_last_error());
    tap_ok(
        refused(ssq_convert(f, SSQ_F32, h, SSQ_F16, 4, SSQ_ROUND_STOCHASTIC, 0),
                SSQ_ERR_INVALID, "f32"),
        "stochastic rounding to f32: %s", ssq_last_error());
    tap_ok(refused(ssq_convert((char *)f + 4, SSQ_F32, f, SSQ_I32, 3,
                               SSQ_ROUND_NEAREST, 0),
                   SSQ_ERR_INVALID, "overlap") &&
               refused(
                   ssq_convert(f, SSQ_F16, f, SSQ_F32, 4, SSQ_ROUND_NEAREST, 0),
                   SSQ_ERR_INVALID, "overlap"),
           "partial overlap, and in place with two sizes: %s",
           ssq_last_error());
    tap_ok(refused(ssq_convert(h, SSQ_F16, f, SSQ_F32, SIZE_MAX / 2,
                               SSQ_ROUND_NEAREST, 0),
                   SSQ_ERR_INVALID, ""),
           "2^63 elements: %s", ssq_last_error());
    tap_ok(memcmp(h, before, sizeof(h)) == 0, "nothing was written");
}

static void test_convert_in_place(void)
{
    union {
        float f[3];
        int32_t i[3];
    } u = {.f = {1.9f, -3e9f, 0}};

    tap_ok(ssq_convert(u.i, SSQ_I32, u.f, SSQ_F32, 3, SSQ_ROUND_NEAREST, 0) ==
                   SSQ_OK &&
               u.i[0] == 1 && u.i[1] == INT32_MIN && u.i[2] == 0,
           "f32 to i32 in place: 1.9, -3e9, 0 are %d, %d, %d", (int)u.i[0],
           (int)u.i[1], (int)u.i[2]);
}

int main(void)
{
    test_names();
    test_reserved();
    test_convert_errors();
    test_convert_in_place();
    return tap_done(27);
}
