/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - files of IDX, NPY and CSV, plain and compressed, and what is
 * refused. */
#include <sesqui/data.h>

#include <locale.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/core/core.h"

static char path[64];

static void put(const char *name, const void *data, size_t n)
{
    FILE *f = fopen(name, "wb");
    if (f == NULL || fwrite(data, 1, n, f) != n || fclose(f) != 0)
        tap_bail("%s cannot be written", name);
}

static ssq_array_info read_file(const ssq_array_read_args *args, ssq_array **a)
{
    ssq_array_info info = SSQ_ARRAY_INFO_INIT;
    ssq_status st = ssq_array_read(path, args, a);
    if (st == SSQ_OK)
        st = ssq_array_info_get(*a, &info);
    if (st != SSQ_OK)
        tap_diag("%s", ssq_last_error());
    return info;
}

static void refused(const void *data, size_t n, const ssq_array_read_args *args,
                    ssq_status want, const char *parts, const char *what)
{
    ssq_array *a = NULL;
    put(path, data, n);
    ssq_status st = ssq_array_read(path, args, &a);
    core_status(st, want, parts, "%s", what);
    if (st != SSQ_OK)
        tap_ok(a == NULL && core_has(ssq_last_error(), path),
               "%s: no array, and the path is named", what);
    ssq_array_destroy(&a);
}

static void test_arrays(void)
{
    ssq_array *a = NULL;
    ssq_array_info info = SSQ_ARRAY_INFO_INIT;
    const int32_t x[2][3] = {{1, 2, 3}, {4, 5, 6}};
    NEED(ssq_array_create(SSQ_I32, 2, (int64_t[]){2, 3}, x, &a));
    NEED(ssq_array_info_get(a, &info));
    tap_ok(info.rank == 2 && info.shape[0] == 2 && info.shape[1] == 3 &&
               info.shape[2] == 0 && info.bytes == sizeof(x) &&
               info.dtype == SSQ_I32 && memcmp(info.data, x, sizeof(x)) == 0,
           "an array has what was copied");
    ssq_array_destroy(&a);
    NEED(ssq_array_create(SSQ_F64, 1, (int64_t[]){5}, NULL, &a));
    NEED(ssq_array_info_get(a, &info));
    tap_ok(a != NULL && ((double *)info.data)[4] == 0.0, "or zeros");
    ssq_array_destroy(&a);
    NEED(ssq_array_create(SSQ_U8, 2, (int64_t[]){0, 7}, NULL, &a));
    NEED(ssq_array_info_get(a, &info));
    tap_ok(info.bytes == 0, "no elements");
    info.struct_size--;
    core_status(ssq_array_info_get(a, &info), SSQ_ERR_INVALID, "struct_size",
                "a wrong struct_size");
    ssq_array_destroy(&a);
    ssq_array_destroy(&a);
    ssq_array_destroy(NULL);
    core_status(ssq_array_create(SSQ_F8E4M3, 1, (int64_t[]){1}, NULL, &a),
                SSQ_ERR_UNSUPPORTED, "reserved", "a reserved dtype");
    core_status(ssq_array_create((ssq_dtype)99, 1, (int64_t[]){1}, NULL, &a),
                SSQ_ERR_INVALID, "99", "no dtype");
    core_status(ssq_array_create(SSQ_F32, 7, (int64_t[]){1}, NULL, &a),
                SSQ_ERR_INVALID, "7|6", "rank 7");
    core_status(ssq_array_create(SSQ_F32, 1, (int64_t[]){-1}, NULL, &a),
                SSQ_ERR_INVALID, "-1", "a negative size");
    core_status(
        ssq_array_create(SSQ_F32, 2, (int64_t[]){INT64_MAX / 2, INT64_MAX},
                         NULL, &a),
        SSQ_ERR_INVALID, "too large", "a size that 64 bits cannot count");
    const int64_t huge = INT64_C(1) << 62;
    const int64_t empty[][3] = {
        {huge, huge, 0}, {huge, 0, huge}, {0, huge, huge}};
    for (int i = 0; i < 3; i++)
        core_status(ssq_array_create(SSQ_U8, 3, empty[i], NULL, &a),
                    SSQ_ERR_INVALID, "too large",
                    "sizes that 64 bits cannot count, size %d is 0", 2 - i);
    NEED(ssq_array_create(SSQ_U8, 2, (int64_t[]){huge, 0}, NULL, &a));
    ssq_array_destroy(&a);
    core_status(ssq_array_create(SSQ_F32, 1, NULL, NULL, &a), SSQ_ERR_INVALID,
                "shape is NULL", "no shape");
    core_status(ssq_array_create(SSQ_F32, 0, NULL, NULL, NULL), SSQ_ERR_INVALID,
                "array is NULL", "no result");
}

static void test_idx(void)
{
    static const unsigned char bytes[] = {0, 0, 8, 2, 0, 0, 0, 2, 0,
                                          0, 0, 3, 1, 2, 3, 4, 5, 255};
    static const unsigned char halves[] = {0, 0, 11, 1, 0,   0,
                                           0, 2, 1,  2, 255, 254};
    static const unsigned char floats[] = {0, 0, 13,   1,    0, 0,
                                           0, 1, 0x3f, 0xc0, 0, 0};
    static const unsigned char huge[] = {0,    0,    8,    3,    0xff, 0xff,
                                         0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                         0xff, 0xff, 0xff, 0xff};
    ssq_array *a = NULL;
    put(path, bytes, sizeof(bytes));
    ssq_array_info i = read_file(NULL, &a);
    tap_ok(i.dtype == SSQ_U8 && i.rank == 2 && i.shape[0] == 2 &&
               i.shape[1] == 3 && ((uint8_t *)i.data)[5] == 255,
           "IDX of bytes");
    ssq_array_destroy(&a);
    put(path, halves, sizeof(halves));
    i = read_file(NULL, &a);
    tap_ok(i.dtype == SSQ_I16 && ((int16_t *)i.data)[0] == 0x102 &&
               ((int16_t *)i.data)[1] == -2,
           "IDX of i16, which is big-endian");
    ssq_array_destroy(&a);
    put(path, floats, sizeof(floats));
    i = read_file(NULL, &a);
    tap_ok(i.dtype == SSQ_F32 && ((float *)i.data)[0] == 1.5f, "IDX of f32");
    ssq_array_destroy(&a);
    refused(bytes, 7, NULL, SSQ_ERR_INVALID, "header", "an IDX header is cut");
    refused(bytes, 17, NULL, SSQ_ERR_INVALID, "6 bytes|5",
            "IDX ends too early");
    unsigned char more[sizeof(bytes) + 1] = {0};
    memcpy(more, bytes, sizeof(bytes));
    refused(more, sizeof(more), NULL, SSQ_ERR_INVALID, "6 bytes|7",
            "IDX has more than it says");
    more[2] = 7;
    refused(more, sizeof(bytes), NULL, SSQ_ERR_INVALID, "0x07", "IDX of 7");
    more[2] = 8, more[3] = 7;
    refused(more, sizeof(bytes), NULL, SSQ_ERR_UNSUPPORTED, "7 dimensions",
            "IDX of rank 7");
    refused(huge, sizeof(huge), NULL, SSQ_ERR_INVALID, "promises",
            "IDX promises 2^96 bytes");
}

/* A NPY file of version 1: header and values. */
static size_t npy(unsigned char *out, const char *header, const void *values,
                  size_t bytes)
{
    size_t n = strlen(header);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (unsigned char)(n & 255);
    out[9] = (unsigned char)(n >> 8);
    memcpy(out + 10, header, n);
    memcpy(out + 10 + n, values, bytes);
    return 10 + n + bytes;
}

static void test_npy(void)
{
    static const char *const bad[] = {
        "",
        "{",
        "{}",
        "{'descr': '<f4', 'shape': (2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, }",
        "{'descr': '<f4', 'fortran_order': No, 'shape': (2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': "
        "(99999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}"};
    const float x[2] = {1.5f, -2.0f};
    static const unsigned char little[8] = {0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0};
    unsigned char file[512];
    ssq_array *a = NULL;
    size_t n = npy(file,
                   "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), "
                   "}   \n",
                   little, sizeof(little));
    put(path, file, n);
    ssq_array_info i = read_file(NULL, &a);
    tap_ok(i.dtype == SSQ_F32 && i.rank == 2 && i.shape[1] == 2 &&
               memcmp(i.data, x, sizeof(x)) == 0,
           "NPY of f32");
    ssq_array_destroy(&a);
    file[7] = 0, file[6] = 4;
    refused(file, n, NULL, SSQ_ERR_INVALID, "header", "NPY of version 4");
    n = npy(file, "{'shape':(),\"descr\":'>i4','fortran_order':True}",
            "\0\0\1\2", 4);
    put(path, file, n);
    i = read_file(NULL, &a);
    tap_ok(i.dtype == SSQ_I32 && i.rank == 0 && *(int32_t *)i.data == 258,
           "NPY of one i32, big-endian");
    ssq_array_destroy(&a);
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        n = npy(file, bad[k], x, sizeof(x));
        refused(file, n, NULL, SSQ_ERR_INVALID, "header", bad[k]);
    }
}

/* Valid files that arrays cannot hold. */
static void test_npy_unsupported(void)
{
    const float x[2] = {1.5f, -2.0f};
    const unsigned char flags[2] = {1, 2};
    unsigned char file[512];
    size_t n;
    n = npy(file,
            "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), "
            "}",
            x, sizeof(x));
    refused(file, n, NULL, SSQ_ERR_UNSUPPORTED, "fields", "NPY of fields");
    n = npy(file,
            "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,), }", x,
            sizeof(x));
    refused(file, n, NULL, SSQ_ERR_UNSUPPORTED, "M8[ns]", "NPY of dates");
    n = npy(file, "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }",
            x, sizeof(x));
    refused(file, n, NULL, SSQ_ERR_UNSUPPORTED, "<c8", "NPY of complex");
    n = npy(file, "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }",
            x, sizeof(x));
    refused(file, n, NULL, SSQ_ERR_UNSUPPORTED, "column-major",
            "NPY of columns");
    n = npy(file, "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }",
            flags, sizeof(flags));
    refused(file, n, NULL, SSQ_ERR_INVALID, "bool 1 is 2", "NPY of a bool 2");
    n = npy(file,
            "{'descr': '|u1', 'fortran_order': False, 'shape': "
            "(1,1,1,1,1,1,2), }",
            flags, sizeof(flags));
    refused(file, n, NULL, SSQ_ERR_UNSUPPORTED, "7 dimensions",
            "NPY of rank 7");
}

#define TEXT(S) S, sizeof(S) - 1

static void test_csv(void)
{
    ssq_array *a = NULL;
    put(path, TEXT("a;b\n\n 1.5 ;-2e1\r\n;3\n"));
    ssq_status st = ssq_array_read(
        path, SSQ_ARRAY_READ(.separator = ';', .skip_rows = 1), &a);
    core_status(st, SSQ_ERR_INVALID, "line 4|value 1", "an empty value");
    put(path, TEXT("a;b\n\n 1.5 ;-2e1\r\n4;3"));
    /* a comma for the decimal point, where the system has such a locale */
    const char *locale = setlocale(LC_ALL, "de_DE.UTF-8");
    ssq_array_info i =
        read_file(SSQ_ARRAY_READ(.separator = ';', .skip_rows = 1), &a);
    setlocale(LC_ALL, "C");
    const float *x = i.data;
    tap_ok(i.dtype == SSQ_F32 && i.shape[0] == 2 && i.shape[1] == 2 &&
               x[0] == 1.5f && x[1] == -20.0f && x[2] == 4.0f && x[3] == 3.0f,
           "CSV with a header, blanks and an empty line (%s)",
           locale == NULL ? "C" : locale);
    ssq_array_destroy(&a);
    put(path, TEXT("9223372036854775807,-1\n"));
    i = read_file(SSQ_ARRAY_READ(.dtype = SSQ_I64), &a);
    tap_ok(a != NULL && ((int64_t *)i.data)[0] == INT64_MAX, "CSV of i64");
    ssq_array_destroy(&a);
    put(path, TEXT("\xef\xbb\xbf"
                   "1\t-inf\n"));
    i = read_file(SSQ_ARRAY_READ(.separator = '\t'), &a);
    tap_ok(a != NULL && i.shape[1] == 2 && ((float *)i.data)[0] == 1.0f &&
               ((float *)i.data)[1] < -1e38f,
           "a byte order mark, tabs and -inf");
    ssq_array_destroy(&a);
    put(path, TEXT("title\n\n1,2\n3,4\n"));
    i = read_file(SSQ_ARRAY_READ(.skip_rows = 2), &a);
    tap_ok(a != NULL && i.shape[0] == 2, "an empty line is skipped, too");
    ssq_array_destroy(&a);
    refused(TEXT(""), NULL, SSQ_ERR_INVALID, "no values", "an empty file");
    refused(TEXT("1\0junk,2\n"), NULL, SSQ_ERR_INVALID, "value 1",
            "bytes behind a NUL");
    refused(TEXT("1e39\n"), NULL, SSQ_ERR_INVALID, "1e39", "an overflow");
    refused(TEXT("0x10\n"), NULL, SSQ_ERR_INVALID, "0x10", "hexadecimal");
    refused(TEXT("\t5\n"), SSQ_ARRAY_READ(.separator = '\t'), SSQ_ERR_INVALID,
            "value 1", "an empty value before a tab");
    refused(TEXT("1,2\n3\n"), NULL, SSQ_ERR_INVALID, "line 2|1 values|2",
            "a short line");
    refused(TEXT("1,2\n3,x\n"), NULL, SSQ_ERR_INVALID, "line 2|value 2|'x'",
            "a word");
    refused(TEXT("1\n2147483648\n"), SSQ_ARRAY_READ(.dtype = SSQ_I32),
            SSQ_ERR_INVALID, "line 2|2147483648", "an i32 that does not fit");
    refused(TEXT("1.5\n"), SSQ_ARRAY_READ(.dtype = SSQ_I32), SSQ_ERR_INVALID,
            "1.5", "a fraction as i32");
    refused(TEXT("<html>\n"), NULL, SSQ_ERR_INVALID, "<html>", "a page");
}

/* Every decimal digit of the least double; one that is longer than any. */
static void test_csv_long(void)
{
    static char text[1200];
    ssq_array *a = NULL;
    int n = snprintf(text, sizeof(text), "%.1074f", 5e-324);
    put(path, text, (size_t)n);
    ssq_array_info i = read_file(SSQ_ARRAY_READ(.dtype = SSQ_F64), &a);
    tap_ok(a != NULL && ((double *)i.data)[0] == 5e-324,
           "a number of %d characters", n);
    ssq_array_destroy(&a);
    memset(text, '1', sizeof(text));
    refused(text, sizeof(text), NULL, SSQ_ERR_INVALID, "line 1|longer than",
            "a number of 1200 characters");
}

static void test_csv_arguments(void)
{
    ssq_array *a = NULL;
    put(path, TEXT("1"));
    core_status(ssq_array_read(path, SSQ_ARRAY_READ(.separator = '.'), &a),
                SSQ_ERR_INVALID, "0x2e", "a point as a separator");
    core_status(ssq_array_read(path, SSQ_ARRAY_READ(.separator = ' '), &a),
                SSQ_ERR_INVALID, "0x20", "a space as a separator");
    core_status(ssq_array_read(path, SSQ_ARRAY_READ(.dtype = SSQ_F16), &a),
                SSQ_ERR_INVALID, "f16", "CSV as f16");
    core_status(ssq_array_read(path, SSQ_ARRAY_READ(.skip_rows = -1), &a),
                SSQ_ERR_INVALID, "skip_rows is -1", "skip_rows -1");
}

static void test_gzip(void)
{
    /* "1,2\n" by gzip -n */
    static const unsigned char packed[] = {
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x33, 0xd4,
        0x31, 0xe2, 0x02, 0x00, 0x33, 0x42, 0x21, 0x55, 0x04, 0x00, 0x00, 0x00};
    unsigned char two[2 * sizeof(packed) + 1] = {0};
    char name[80];
    ssq_array *a = NULL;
    memcpy(two, packed, sizeof(packed));
    memcpy(two + sizeof(packed), packed, sizeof(packed));
    snprintf(name, sizeof(name), "%s.gz", path);
    unlink(path);
    put(name, packed, sizeof(packed));
    ssq_status st = ssq_array_read(path, NULL, &a);
    if (st == SSQ_ERR_UNSUPPORTED) {
        tap_skip("there is no libz.so.1: install zlib1g", "gzip");
        unlink(name);
        return;
    }
    core_need(st, "array_read");
    ssq_array_info i = SSQ_ARRAY_INFO_INIT;
    NEED(ssq_array_info_get(a, &i));
    tap_ok(i.shape[0] == 1 && ((float *)i.data)[1] == 2.0f,
           "the name without .gz");
    ssq_array_destroy(&a);
    unlink(name);
    put(path, two, 2 * sizeof(packed));
    i = read_file(NULL, &a);
    tap_ok(i.shape[0] == 2, "two members of gzip");
    ssq_array_destroy(&a);
    refused(packed, sizeof(packed) - 9, NULL, SSQ_ERR_INVALID, "gzip",
            "gzip ends too early");
    two[12] ^= 0x20;
    refused(two, sizeof(packed), NULL, SSQ_ERR_INVALID, "gzip", "damaged gzip");
    memcpy(two, packed, sizeof(packed));
    refused(two, sizeof(packed) + 1, NULL, SSQ_ERR_INVALID, "gzip",
            "a byte behind gzip");
}

static void test_files(void)
{
    ssq_array *a = NULL;
    unlink(path);
    core_status(ssq_array_read(path, NULL, &a), SSQ_ERR_NOT_FOUND, path,
                "no file");
    core_status(ssq_array_read("/", NULL, &a), SSQ_ERR_IO, "folder",
                "a folder");
    core_status(ssq_array_read("/dev/zero", NULL, &a), SSQ_ERR_IO,
                "regular file", "a file without an end");
    core_status(ssq_array_read(NULL, NULL, &a), SSQ_ERR_INVALID, "path is NULL",
                "no path");
    core_status(ssq_array_read(path, NULL, NULL), SSQ_ERR_INVALID,
                "array is NULL", "no result");
}

int main(void)
{
    snprintf(path, sizeof(path), "read-%ld.data", (long)getpid());
    test_arrays();
    test_idx();
    test_npy();
    test_npy_unsupported();
    test_csv();
    test_csv_long();
    test_csv_arguments();
    test_gzip();
    test_files();
    unlink(path);
    return tap_done(80);
}
