/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.c - files of tensors: files of other programs are read, data that
 * is malformed is refused with a text that says why, and what we write is a
 * file of the format, byte by byte. */
#include "tests/tape/tape.h"

#include <unistd.h>

static char path[64];

/* A file: its header's length as said (0: as it is), the header, n bytes. */
static void put(uint64_t said, const char *header, size_t n)
{
    FILE *f = fopen(path, "wb");
    size_t length = strlen(header);
    uint64_t says = said == 0 ? length : said;
    if (f == NULL)
        tap_bail("cannot write %s", path);
    for (int i = 0; i < 8; i++)
        fputc((int)(says >> 8 * i & 0xff), f);
    fwrite(header, 1, length, f);
    for (size_t i = 0; i < n; i++)
        fputc((int)(i & 0xff), f);
    fclose(f);
}

/* ---- malformed ---- */

#define T(DTYPE, SHAPE, FROM, TO)                                              \
    "{\"dtype\":\"" DTYPE "\",\"shape\":" SHAPE ",\"data_offsets\":[" FROM     \
    "," TO "]}"

#define TEN "[[[[[[[[[["

static const struct {
    const char *header;
    size_t n;
    const char *text;
} bad[] = {
    {"", 0, "header has 0 bytes"},
    {"{", 0, "header has 1 bytes"},
    {"  ", 0, "expected '{'"},
    {"[]", 0, "'[', expected '{'"},
    {"{}x", 0, "'x', expected spaces to its end"},
    {"{,}", 0, "expected a string"},
    {"{\"a\"}", 0, "expected ':'"},
    {"{\"a\":1}", 0, "'1', expected '{'"},
    {"{\"a\":[[[[]]]]}", 0, "expected '{'"},
    {"{\"a\":{\"b\":{\"c\":{}}}}", 0, "\"a\" has no dtype"},
    {"{\"a\":{\"b\":[[1,-2.5e3,true],{\"c\":null}}}", 0, "expected ',' or ']'"},
    {"{\"a\":{\"b\":nothing}}", 0, "expected a value"},
    {"{\"a\":{\"b\":" TEN TEN TEN TEN TEN TEN TEN "1", 0,
     "expected fewer nested values"},
    {"{\"__metadata__\":nil}", 0, "'n', expected a value"},
    {"{\"a\":{\"b\":--}}", 0, "'-', expected a value"},
    {"{\"a\":{\"b\":01}}", 0, "expected a value"},
    {"{\"a\":{\"b\":.5}}", 0, "'.', expected a value"},
    {"{\"a\":{\"b\":1.}}", 0, "'}', expected a digit"},
    {"{\"a\":{\"b\":1e+}}", 0, "'}', expected a digit"},
    {"{\"a\":{\"b\":1-2}}", 0, "'-', expected ',' or '}'"},
    {"{\"a\":{}}", 0, "\"a\" has no dtype"},
    {"{\"a\":{\"dtype\":\"F32\"}}", 0, "\"a\" has no shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", 0, "has no data_offsets"},
    {"{\"a\":" T("F4", "[3]", "0", "2") "}", 2, "needs 12 bits, and has 2"},
    {"{\"a\":" T("F6_E2M3", "[4]", "0", "4") "}", 4, "needs 3 bytes"},
    {"{\"a\":" T("F32", "[1]", "0", "5") "}", 5, "needs 4 bytes, and has 5"},
    {"{\"a\":" T("F32", "[2]", "0", "4") "}", 4, "[2] needs 8 bytes"},
    {"{\"a\":" T("F32", "[1]", "0", "4") "}", 3, "ends at byte 4 of 3"},
    {"{\"a\":" T("F32", "[1]", "0", "4") "}", 5, "4 bytes, the file has 5"},
    {"{\"a\":" T("F32", "[1]", "4", "0") "}", 4, "has bytes 4 to 0"},
    {"{\"a\":" T("F32", "[1]", "4", "8") "}", 8, "begins at byte 4, behind 0"},
    {"{\"a\":" T("F32", "[1]", "0", "4") ",\"b\":" T("F32", "[1]", "0",
                                                     "4") "}",
     4, "begins at byte 0, before 4"},
    {"{\"a\":" T("F32", "[2]", "0", "8") ",\"b\":" T("F32", "[1]", "4",
                                                     "8") "}",
     8, "begins at byte 4, before 8"},
    {"{\"a\":" T("F32", "[1]", "0", "4") ",\"b\":" T("F32", "[1]", "8",
                                                     "12") "}",
     12, "begins at byte 8, behind 4"},
    {"{\"a\":" T("F32", "[1]", "0", "4") ",\"a\":" T("F32", "[1]", "4",
                                                     "8") "}",
     8, "tensor \"a\" occurs twice"},
    {"{\"a\":" T("F32", "[1]", "0", "4") ",\"\\u0061\":" T("F32", "[1]", "4",
                                                           "8") "}",
     8, "tensor \"a\" occurs twice"},
    {"{\"a\":" T("F32", "[4294967296,4294967296]", "0", "0") "}", 0,
     "overflows"},
    {"{\"a\":" T("F32", "[4294967296,4294967296,0]", "0", "0") "}", 0,
     "overflows"},
    {"{\"a\":" T("F32", "[9223372036854775808]", "0", "0") "}", 0,
     "a dimension of 9223372036854775808"},
    {"{\"a\":" T("F32", "[18446744073709551616]", "0", "0") "}", 0,
     "a number below 2^64"},
    {"{\"a\":" T("F32", "[-1]", "0", "4") "}", 4, "'-', expected a whole"},
    {"{\"a\":" T("F32", "[1.0]", "0", "4") "}", 4, "'.', expected the end"},
    {"{\"a\":" T("F32", "[1e0]", "0", "4") "}", 4, "'e', expected the end"},
    {"{\"a\":" T("F32", "[01]", "0", "4") "}", 4, "leading zeros"},
    {"{\"a\":" T("F32", "[1,]", "0", "4") "}", 4, "expected a whole number"},
    {"{\"a\":{\"shape\":[1\"}}", 0, "'\"', expected ',' or ']'"},
    {"{\"a\":" T("U8", "[1,1,1,1,1,1,2,1,1]", "0", "1") "}", 1,
     "[1,1,1,1,1,1,..] needs 2 bytes"},
    {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 0, "two \"dtype\""},
    {"{\"a\":{\"shape\":[],\"shape\":[]}}", 0, "two \"shape\""},
    {"{\"a\":{\"data_offsets\":[0,0],\"data_offsets\":[0,0]}}", 0,
     "two \"data_offsets\""},
    {"{\"a\":{\"data_offsets\":[0]}}", 0, "']', expected ','"},
    {"{\"a\":{\"data_offsets\":[0,1,2]}}", 0, "',', expected ']'"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "two \"__metadata__\""},
    {"{\"__metadata__\":{\"a\":1}}", 0, "expected a string"},
    {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0,
     "key \"a\" occurs twice"},
    {"{\"__metadata__\":{\"a\":\"1\",}}", 0, "expected a string"},
    {"{\"\\x\":0}", 0, "an escape of JSON"},
    {"{\"\\u12g4\":0}", 0, "'g', expected a digit of \\u"},
    {"{\"\\u0000\":0}", 0, "no \\u0000"},
    {"{\"\\ud800\":0}", 0, "the second half of a pair"},
    {"{\"\\ud800\\u0041\":0}", 0, "the second half of a pair"},
    {"{\"\\udc00\":0}", 0, "the first half of a pair"},
    {"{\"\x01\":0}", 0, "byte 0x01, expected no control"},
    {"{\"\xc0\xaf\":0}", 0, "byte 0xc0, expected a character of UTF-8"},
    {"{\"\xed\xa0\x80\":0}", 0, "expected a character of UTF-8"},
    {"{\"\xf4\x90\x80\x80\":0}", 0, "expected a character of UTF-8"},
    {"{\"\xe2\x82\":0}", 0, "expected a character of UTF-8"},
    {"{\"abc", 0, "the end, expected the end of a string"},
    {"{\"abc\\", 0, "the end, expected an escape"},
    {"{\"a\":nul}", 0, "'n', expected '{'"},
    {"{'a':{}}", 0, "expected a string"},
    {"{\"a\":" T("F32", "[1]", "0", "4"), 4, "the end, expected ',' or '}'"},
};

/* Files of later versions, and of others: unknown members are listed, and
 * an error only when it is read. */
static void unknown(ssq_queue *q)
{
    static const char header[] =
        "{\"__metadata__\":null,\"a\":{\"dtype\":\"F32\",\"quantized\":"
        "{\"by\":["
        "1,-2.5e3,0,-0.25E-7,true,null,\"x\"]},\"shape\":[2],\"data_offsets\":["
        "0,"
        "8]},"
        "\"f4\":" T("F4", "[6]", "8", "11") ",\"f6\":" T(
            "F6_E3M2", "[4]", "11",
            "14") ",\"fnuz\":" T("F8_E4M3FNUZ", "[2]", "14",
                                 "16") ",\"new\":" T("X7", "[5]", "16",
                                                     "19") ",\"wide\""
                                                           ":" T("F32",
                                                                 "[1,1,"
                                                                 "1,1,"
                                                                 "1,1,"
                                                                 "2]",
                                                                 "19",
                                                                 "27") "}";
    static const char *const names[] = {"f4", "f6", "fnuz", "new", "wide"};
    static const int ranks[] = {1, 1, 1, 1, 7};
    ssq_safetensors *f = NULL;
    ssq_safetensors_info info = SSQ_SAFETENSORS_INFO_INIT;
    ssq_tensor *t = NULL;
    const int64_t n = 2;
    put(0, header, 27);
    if (!core_status(ssq_safetensors_open(path, &f), SSQ_OK, "",
                     "a file with dtypes, ranks and members of others"))
        return;
    NEED(ssq_tensor_create(ssq_queue_device(q), SSQ_F32, 1, &n, &t));
    tap_ok(ssq_safetensors_count(f) == 6 &&
               ssq_safetensors_read(q, f, "a", NULL, t) == SSQ_OK,
           "the tensor that is known is read");
    for (size_t i = 0; i < 5; i++) {
        bool listed = ssq_safetensors_find(f, names[i], &info) == SSQ_OK &&
                      info.rank == ranks[i] && info.bytes > 0;
        ssq_status st = ssq_safetensors_read(q, f, names[i], NULL, t);
        tap_ok(listed && st == (i == 4 ? SSQ_ERR_INVALID : SSQ_ERR_UNSUPPORTED),
               "%s is listed as %s, and not read: %s", names[i], info.dtype,
               ssq_last_error());
    }
    ssq_tensor_destroy(&t);
    ssq_safetensors_close(&f);
}

/* A wrong file in place of weights is reported by its name. */
static void other_files(void)
{
    static const char *const files[][2] = {
        {"version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
         "a pointer of Git LFS"},
        {"<!DOCTYPE html><html><body>404</body></html>", "a page of HTML"},
        {"<html><body>Not found</body></html>", "a page of HTML"},
        {"PK\x03\x04zzzzzzzzzzzzzzzzz", "a zip file, as torch.save"},
        {"\x80\x02}q\x01(X\x05xxxxxxxxxx", "a pickle"},
        {"\x89HDF\r\n\x1a\nxxxxxxxxxx", "an HDF5 file"},
        {"GGUF\x03xxxxxxxxxxxxx", "a GGUF file"}};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        ssq_safetensors *f = NULL;
        FILE *out = fopen(path, "wb");
        if (out == NULL || fputs(files[i][0], out) < 0 || fclose(out) != 0)
            tap_bail("cannot write %s", path);
        (void)core_status(ssq_safetensors_open(path, &f), SSQ_ERR_INVALID,
                          files[i][1], "it says: %s", files[i][1]);
    }
}

static void malformed(void)
{
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ssq_safetensors *f = NULL;
        put(0, bad[i].header, bad[i].n);
        (void)core_status(ssq_safetensors_open(path, &f), SSQ_ERR_INVALID,
                          bad[i].text, "malformed: %s", bad[i].text);
        if (f != NULL)
            tap_ok(false, "no file comes of it");
        ssq_safetensors_close(&f);
    }
    static const uint64_t lengths[] = {3, 100000001, UINT64_MAX, UINT64_MAX - 7,
                                       INT64_MAX};
    for (size_t i = 0; i < 5; i++) {
        ssq_safetensors *f = NULL;
        put(lengths[i], "{}", 0);
        (void)core_status(ssq_safetensors_open(path, &f), SSQ_ERR_INVALID,
                          "expected 2 to 2", "a header of %llu bytes",
                          (unsigned long long)lengths[i]);
    }
}

/* ---- memory ---- */

static struct {
    size_t most, calls, fail_at, live;
} heap;

static void *heap_alloc(void *user, size_t bytes)
{
    (void)user;
    if (++heap.calls == heap.fail_at)
        return NULL;
    heap.most = bytes > heap.most ? bytes : heap.most;
    heap.live++;
    return malloc(bytes);
}

static void heap_free(void *user, void *p)
{
    (void)user;
    heap.live--;
    free(p);
}

/* A file that is long, sparse and claims much: no more memory than a header of
 * the format may have; and each allocation that fails is told. */
static void memory(void)
{
    ssq_allocator a = {sizeof(a), heap_alloc, heap_free, NULL};
    ssq_safetensors *f = NULL;
    NEED(ssq_allocator_set(&a));
    put(UINT64_C(1) << 39, "{}", 0);
    if (truncate(path, (off_t)1 << 40) == 0)
        (void)core_status(ssq_safetensors_open(path, &f), SSQ_ERR_INVALID,
                          "expected 2 to 100000000",
                          "a header of 2^39 bytes in a sparse file");
    put(0, "{\"a\":" T("F32", "[1]", "0", "4") "}", 4);
    bool told = true;
    size_t fails = 0;
    for (heap.fail_at = 1;; heap.fail_at++, fails++) {
        heap.calls = 0;
        ssq_status st = ssq_safetensors_open(path, &f);
        if (st == SSQ_OK)
            break;
        told =
            told && st == SSQ_ERR_NOMEM && core_has(ssq_last_error(), "memory");
    }
    ssq_safetensors_close(&f);
    tap_ok(told && fails == heap.calls && fails > 3 && heap.live == 0 &&
               heap.most < 10000,
           "%zu allocations fail once each; at most %zu bytes", fails,
           heap.most);
    NEED(ssq_allocator_set(NULL));
}

/* ---- what others write ---- */

static void put_bytes(const char *header, const void *bytes, size_t n)
{
    put(0, header, n);
    FILE *f = fopen(path, "r+b");
    fseek(f, (long)(8 + strlen(header)), SEEK_SET);
    fwrite(bytes, 1, n, f);
    fclose(f);
}

/* Convert n elements to little-endian, which files use. */
static void to_little_endian(unsigned char *x, size_t n, size_t bytes)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    for (size_t i = 0; i < n && first == 0; i++)
        for (size_t k = 0; k < bytes / 2; k++) {
            unsigned char *a = &x[i * bytes + k];
            unsigned char *b = &x[(i + 1) * bytes - 1 - k], c = *a;
            *a = *b;
            *b = c;
        }
}

/* 2 x 3 of each kind of float, and its transpose, into floats of each kind. */
static void floats(const struct tape_rig *r)
{
    static const float want[] = {0.0f, 1.0f, -2.5f, 0.1f, 65504.0f, 1e-7f};
    static const struct {
        const char *name;
        ssq_dtype dtype;
        size_t bytes;
    } kinds[] = {{"F32", SSQ_F32, 4},
                 {"F16", SSQ_F16, 2},
                 {"BF16", SSQ_BF16, 2},
                 {"F64", SSQ_F64, 8}};
    static const int axes[] = {1, 0};
    const int64_t shape[] = {2, 3}, turned[] = {3, 2};
    for (size_t k = 0; k < 4; k++)
        for (size_t to = 0; to < 3; to++) {
            unsigned char bytes[6 * 8];
            char header[200];
            float plain[6], turn[6], wide[6], expect[6];
            ssq_safetensors *f = NULL;
            ssq_tensor *t[2] = {NULL, NULL};
            snprintf(header, sizeof(header),
                     "{\"w\":{\"shape\":[2,3],"
                     "\"dtype\":\"%s\",\"data_offsets\":[0,%zu]}}  ",
                     kinds[k].name, 6 * kinds[k].bytes);
            NEED(ssq_convert(bytes, kinds[k].dtype, want, SSQ_F32, 6,
                             SSQ_ROUND_NEAREST, 0));
            NEED(ssq_convert(wide, SSQ_F32, bytes, kinds[k].dtype, 6,
                             SSQ_ROUND_NEAREST, 0));
            unsigned char narrow[6 * 4];
            NEED(ssq_convert(narrow, kinds[to].dtype, wide, SSQ_F32, 6,
                             SSQ_ROUND_NEAREST, 0));
            NEED(ssq_convert(expect, SSQ_F32, narrow, kinds[to].dtype, 6,
                             SSQ_ROUND_NEAREST, 0));
            to_little_endian(bytes, 6, kinds[k].bytes);
            put_bytes(header, bytes, 6 * kinds[k].bytes);
            NEED(
                ssq_tensor_create(r->device, kinds[to].dtype, 2, shape, &t[0]));
            NEED(ssq_tensor_create(r->device, kinds[to].dtype, 2, turned,
                                   &t[1]));
            NEED(ssq_safetensors_open(path, &f));
            NEED(ssq_safetensors_read(r->queue, f, "w", NULL, t[0]));
            NEED(ssq_safetensors_read(r->queue, f, "w", axes, t[1]));
            NEED(
                ssq_tensor_read(r->queue, t[0], plain, sizeof(plain), SSQ_F32));
            NEED(ssq_tensor_read(r->queue, t[1], turn, sizeof(turn), SSQ_F32));
            NEED(ssq_queue_sync(r->queue));
            bool same = memcmp(plain, expect, sizeof(plain)) == 0;
            for (int i = 0; i < 6; i++)
                same = same && turn[i % 3 * 2 + i / 3] == expect[i];
            tap_ok(same, "%s: %s into %s, plain and transposed", r->name,
                   kinds[k].name, ssq_dtype_name(kinds[to].dtype));
            ssq_safetensors_close(&f);
            ssq_tensor_destroy(&t[0]);
            ssq_tensor_destroy(&t[1]);
        }
}

static void misuse(const struct tape_rig *r)
{
    const int64_t two[] = {2}, three[] = {3};
    const int twice[] = {0, 0};
    ssq_safetensors *f = NULL;
    ssq_safetensors_info info = SSQ_SAFETENSORS_INFO_INIT;
    ssq_tensor *t = NULL, *x = NULL;
    put(0,
        "{\"__metadata__\":{\"k\":\"\\u20ac\\ud83d\\ude00\\n\"},"
        "\"b\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[4,16]},"
        "\"a/\\\"b\\\"\":{\"dtype\":\"U64\",\"shape\":[],"
        "\"data_offsets\":[16,24]},"
        "\"i\":{\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[0,4]},"
        "\"e\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}",
        24);
    NEED(ssq_tensor_create(r->device, SSQ_F32, 1, two, &t));
    NEED(ssq_tensor_create(r->device, SSQ_F32, 1, three, &x));
    NEED(ssq_safetensors_open(path, &f));
    const char *text = ssq_safetensors_metadata(f, "k");
    tap_ok(text != NULL && strcmp(text, "\xe2\x82\xac\xf0\x9f\x98\x80\n") == 0,
           "escapes of metadata are read");
    tap_ok(ssq_safetensors_metadata(f, "x") == NULL &&
               ssq_safetensors_metadata(NULL, "k") == NULL &&
               ssq_safetensors_count(NULL) == 0 &&
               ssq_safetensors_count(f) == 4,
           "four tensors, one key");
    NEED(ssq_safetensors_get(f, 1, &info));
    tap_ok(strcmp(info.name, "i") == 0 && info.bytes == 4 && info.rank == 1 &&
               strcmp(info.dtype, "I16") == 0 && info.shape[0] == 2,
           "tensors come in the order of their bytes");
    (void)core_status(ssq_safetensors_get(f, 4, &info), SSQ_ERR_INVALID,
                      "4 of 4", "past the end");
    (void)core_status(ssq_safetensors_find(f, "zz", &info), SSQ_ERR_NOT_FOUND,
                      "zz|4 tensors", "no such name");
    (void)core_status(ssq_safetensors_read(r->queue, f, "b", NULL, t),
                      SSQ_ERR_INVALID, "[3], expected [2]", "another shape");
    (void)core_status(ssq_safetensors_read(r->queue, f, "b", twice + 1, x),
                      SSQ_OK, NULL, "axes of one dimension");
    (void)core_status(ssq_safetensors_read(r->queue, f, "i", NULL, t),
                      SSQ_ERR_INVALID, "I16, for a tensor of f32",
                      "integers into floats");
    (void)core_status(ssq_safetensors_read(r->queue, f, "a/\"b\"", NULL, t),
                      SSQ_ERR_UNSUPPORTED, "U64", "what no tensor has");
    info.struct_size--;
    (void)core_status(ssq_safetensors_find(f, "b", &info), SSQ_ERR_INVALID,
                      "struct_size", "wrong struct_size");
    ssq_safetensors_close(&f);
    ssq_safetensors_close(&f);
    ssq_safetensors_close(NULL);
    ssq_tensor_destroy(&t);
    ssq_tensor_destroy(&x);
}

/* ---- what we write ---- */

static void written(const struct tape_rig *r)
{
    static const float x[] = {1, 2, 3};
    const int64_t shape[] = {3};
    const char *names[] = {"b\"\n", "a"};
    const char *same[] = {"a", "a"};
    unsigned char file[1024];
    ssq_tensor *t[2] = {NULL, NULL};
    ssq_safetensors *f = NULL;
    NEED(ssq_tensor_create(r->device, SSQ_BF16, 1, shape, &t[0]));
    NEED(ssq_tensor_create(r->device, SSQ_F32, 1, shape, &t[1]));
    for (int i = 0; i < 2; i++)
        NEED(ssq_tensor_write(r->queue, t[i], x, sizeof(x), SSQ_F32));
    const ssq_tensor *const list[] = {t[0], t[1]};
    NEED(ssq_safetensors_write(r->queue, path, 2, names, list));
    FILE *in = fopen(path, "rb");
    size_t n = fread(file, 1, sizeof(file) - 1, in);
    fclose(in);
    file[n] = 0;
    size_t length = file[0] | (size_t)file[1] << 8;
    static const unsigned char want[] = {0,    0,    0x80, 0x3f, 0,    0,
                                         0,    0x40, 0,    0,    0x40, 0x40,
                                         0x80, 0x3f, 0,    0x40, 0x40, 0x40};
    tap_ok(length % 8 == 0 && n == 8 + length + sizeof(want) &&
               memcmp(file + 8 + length, want, sizeof(want)) == 0 &&
               core_has((char *)file + 8,
                        "\"b\\\"\\u000a\":{\"dtype\":\"BF16\",\"shape\":[3],"
                        "\"data_offsets\":[12,18]}") &&
               core_has((char *)file + 8, "\"crc64/a\":\""),
           "%s: a file, byte by byte, larger elements first", r->name);
    file[n - 1] ^= 1;
    put(0, "{}", 0);
    in = fopen(path, "wb");
    fwrite(file, 1, n, in);
    fclose(in);
    NEED(ssq_safetensors_open(path, &f));
    (void)core_status(ssq_safetensors_read(r->queue, f, names[0], NULL, t[0]),
                      SSQ_ERR_INVALID, "damaged", "a digest that differs");
    ssq_safetensors_close(&f);
    (void)core_status(ssq_safetensors_write(r->queue, path, 2, same, list),
                      SSQ_ERR_INVALID, "two tensors", "a name twice");
    same[0] = "\xff";
    (void)core_status(ssq_safetensors_write(r->queue, path, 2, same, list),
                      SSQ_ERR_INVALID, "not UTF-8", "a name that is not UTF-8");
    same[0] = "__metadata__";
    (void)core_status(ssq_safetensors_write(r->queue, path, 2, same, list),
                      SSQ_ERR_INVALID, "__metadata__", "a reserved name");
    ssq_tensor_destroy(&t[0]);
    ssq_tensor_destroy(&t[1]);
}

/* Several pieces, and back with the axes turned. */
static void large(const struct tape_rig *r)
{
    const int64_t many[] = {1500, 1001};
    const char *name = "a";
    ssq_tensor *t = NULL, *back = NULL;
    ssq_safetensors *f = NULL;
    NEED(ssq_tensor_create(r->device, SSQ_F32, 2, many, &t));
    NEED(ssq_random_uniform(
        r->queue, SSQ_RANDOM_UNIFORM(.x = t, .seed = 5, .high = 1.0)));
    const ssq_tensor *const one[] = {t};
    NEED(ssq_safetensors_write(r->queue, path, 1, &name, one));
    const int64_t turned[] = {1001, 1500};
    static const int axes[] = {1, 0};
    NEED(ssq_tensor_create(r->device, SSQ_F32, 2, turned, &back));
    NEED(ssq_safetensors_open(path, &f));
    NEED(ssq_safetensors_read(r->queue, f, "a", axes, back));
    const size_t all = 1500 * 1001;
    float *a = malloc(all * 4), *b = malloc(all * 4);
    NEED(ssq_tensor_read(r->queue, t, a, all * 4, SSQ_F32));
    NEED(ssq_tensor_read(r->queue, back, b, all * 4, SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    size_t differ = 0;
    for (size_t i = 0; i < all; i++)
        differ += a[i] != b[i % 1001 * 1500 + i / 1001];
    tap_ok(differ == 0 && a[0] != a[1], "%s: 6 MB go out and come back turned",
           r->name);
    free(a);
    free(b);
    ssq_safetensors_close(&f);
    ssq_tensor_destroy(&back);
    ssq_tensor_destroy(&t);
}

int main(void)
{
    snprintf(path, sizeof(path), "safetensors-%ld", (long)getpid());
    malformed();
    other_files();
    memory();
    for (size_t i = 0; core_device(i) != NULL; i++) {
        struct tape_rig r = rig_open(core_device(i), "float32");
        floats(&r);
        if (i == 0) {
            unknown(r.queue);
            misuse(&r);
        }
        written(&r);
        large(&r);
        rig_close(&r);
    }
    unlink(path);
    return tap_done(100);
}
