/* SPDX-License-Identifier: Apache-2.0 */
/* images.c - folders of PNG and JPEG files: classes, sizes, colours, and what
 * is refused. */
#include <sesqui/data.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/core/core.h"

#define HEIGHT 6
#define WIDTH  8

/* 8 x 6 pixels of (32 x, 40 y, 18 (x + y)), by libjpeg at quality 90. */
static const unsigned char jpeg[] = {
    0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10, 0x4a, 0x46, 0x49, 0x46, 0x00, 0x01,
    0x01, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x00, 0xff, 0xdb, 0x00, 0x43,
    0x00, 0x03, 0x02, 0x02, 0x03, 0x02, 0x02, 0x03, 0x03, 0x03, 0x03, 0x04,
    0x03, 0x03, 0x04, 0x05, 0x08, 0x05, 0x05, 0x04, 0x04, 0x05, 0x0a, 0x07,
    0x07, 0x06, 0x08, 0x0c, 0x0a, 0x0c, 0x0c, 0x0b, 0x0a, 0x0b, 0x0b, 0x0d,
    0x0e, 0x12, 0x10, 0x0d, 0x0e, 0x11, 0x0e, 0x0b, 0x0b, 0x10, 0x16, 0x10,
    0x11, 0x13, 0x14, 0x15, 0x15, 0x15, 0x0c, 0x0f, 0x17, 0x18, 0x16, 0x14,
    0x18, 0x12, 0x14, 0x15, 0x14, 0xff, 0xdb, 0x00, 0x43, 0x01, 0x03, 0x04,
    0x04, 0x05, 0x04, 0x05, 0x09, 0x05, 0x05, 0x09, 0x14, 0x0d, 0x0b, 0x0d,
    0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14,
    0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14,
    0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14,
    0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14, 0x14,
    0x14, 0x14, 0xff, 0xc0, 0x00, 0x11, 0x08, 0x00, 0x06, 0x00, 0x08, 0x03,
    0x01, 0x11, 0x00, 0x02, 0x11, 0x01, 0x03, 0x11, 0x01, 0xff, 0xc4, 0x00,
    0x1f, 0x00, 0x00, 0x01, 0x05, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05,
    0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0xff, 0xc4, 0x00, 0xb5, 0x10, 0x00,
    0x02, 0x01, 0x03, 0x03, 0x02, 0x04, 0x03, 0x05, 0x05, 0x04, 0x04, 0x00,
    0x00, 0x01, 0x7d, 0x01, 0x02, 0x03, 0x00, 0x04, 0x11, 0x05, 0x12, 0x21,
    0x31, 0x41, 0x06, 0x13, 0x51, 0x61, 0x07, 0x22, 0x71, 0x14, 0x32, 0x81,
    0x91, 0xa1, 0x08, 0x23, 0x42, 0xb1, 0xc1, 0x15, 0x52, 0xd1, 0xf0, 0x24,
    0x33, 0x62, 0x72, 0x82, 0x09, 0x0a, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x25,
    0x26, 0x27, 0x28, 0x29, 0x2a, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a,
    0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55, 0x56,
    0x57, 0x58, 0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a,
    0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x83, 0x84, 0x85, 0x86,
    0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99,
    0x9a, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xb2, 0xb3,
    0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6,
    0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9,
    0xda, 0xe1, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xf1,
    0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xff, 0xc4, 0x00,
    0x1f, 0x01, 0x00, 0x03, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05,
    0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0xff, 0xc4, 0x00, 0xb5, 0x11, 0x00,
    0x02, 0x01, 0x02, 0x04, 0x04, 0x03, 0x04, 0x07, 0x05, 0x04, 0x04, 0x00,
    0x01, 0x02, 0x77, 0x00, 0x01, 0x02, 0x03, 0x11, 0x04, 0x05, 0x21, 0x31,
    0x06, 0x12, 0x41, 0x51, 0x07, 0x61, 0x71, 0x13, 0x22, 0x32, 0x81, 0x08,
    0x14, 0x42, 0x91, 0xa1, 0xb1, 0xc1, 0x09, 0x23, 0x33, 0x52, 0xf0, 0x15,
    0x62, 0x72, 0xd1, 0x0a, 0x16, 0x24, 0x34, 0xe1, 0x25, 0xf1, 0x17, 0x18,
    0x19, 0x1a, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x35, 0x36, 0x37, 0x38, 0x39,
    0x3a, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x53, 0x54, 0x55,
    0x56, 0x57, 0x58, 0x59, 0x5a, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69,
    0x6a, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a, 0x82, 0x83, 0x84,
    0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97,
    0x98, 0x99, 0x9a, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa,
    0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xc2, 0xc3, 0xc4,
    0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7,
    0xd8, 0xd9, 0xda, 0xe2, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea,
    0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xff, 0xda, 0x00,
    0x0c, 0x03, 0x01, 0x00, 0x02, 0x11, 0x03, 0x11, 0x00, 0x3f, 0x00, 0xcb,
    0xf8, 0x2b, 0xfb, 0x24, 0xe8, 0x9f, 0xb8, 0xe6, 0x1e, 0xdf, 0xc2, 0x7f,
    0xc2, 0xa7, 0x2f, 0xc7, 0xcf, 0x43, 0xcf, 0xf0, 0xf7, 0xc4, 0x1c, 0x67,
    0xb9, 0xb9, 0xff, 0xd9,
};

static char top[64]; /* the folder of this test */
static char path[256];

static const char *in(const char *name)
{
    snprintf(path, sizeof(path), "%s/%s", top, name);
    return path;
}

static void folder(const char *name)
{
    if (mkdir(in(name), 0700) != 0)
        tap_bail("%s cannot be made", path);
}

static void put(const char *name, const void *data, size_t n)
{
    FILE *f = fopen(in(name), "wb");
    if (f == NULL || fwrite(data, 1, n, f) != n || fclose(f) != 0)
        tap_bail("%s cannot be written", path);
}

/* ---- a PNG file whose pixels are not compressed ---- */

static unsigned char png[65536];
static size_t png_bytes;

static void add(const void *data, size_t n)
{
    memcpy(png + png_bytes, data, n);
    png_bytes += n;
}

static void add_number(uint32_t x)
{
    const unsigned char b[] = {(unsigned char)(x >> 24),
                               (unsigned char)(x >> 16),
                               (unsigned char)(x >> 8), (unsigned char)x};
    add(b, 4);
}

static uint32_t crc(const unsigned char *p, size_t n)
{
    uint32_t c = 0xffffffff;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++)
            c = (c & 1) != 0 ? c >> 1 ^ 0xedb88320 : c >> 1;
    }
    return ~c;
}

static void add_chunk(const char *name, const void *data, size_t n)
{
    add_number((uint32_t)n);
    size_t at = png_bytes;
    add(name, 4);
    add(data, n);
    add_number(crc(png + at, png_bytes - at));
}

/* Rows of pixels of 1 (grey), 3, 4 or 6 (16 bits) bytes as a file. */
static void encode(const unsigned char *pixels, int width, int height,
                   int channels)
{
    static unsigned char data[32768], head[13];
    const size_t row = (size_t)width * (size_t)channels;
    const size_t n = (row + 1) * (size_t)height;
    uint32_t low = 1, high = 0; /* of Adler's sum */
    data[0] = 0x78;
    data[1] = 0x01;
    data[2] = 1; /* the last block, stored */
    data[3] = (unsigned char)n;
    data[4] = (unsigned char)(n >> 8);
    data[5] = (unsigned char)~n;
    data[6] = (unsigned char)(~n >> 8);
    for (int y = 0; y < height; y++) {
        data[7 + (size_t)y * (row + 1)] = 0;
        memcpy(data + 8 + (size_t)y * (row + 1), pixels + (size_t)y * row, row);
    }
    for (size_t i = 0; i < n; i++) {
        low = (low + data[7 + i]) % 65521;
        high = (high + low) % 65521;
    }
    png_bytes = 0;
    add("\x89PNG\r\n\x1a\n", 8);
    head[3] = (unsigned char)width;
    head[7] = (unsigned char)height;
    head[8] = channels == 6 ? 16 : 8;
    head[9] = channels == 1 ? 0 : channels == 4 ? 6 : 2;
    add_chunk("IHDR", head, 13);
    const uint32_t sum = high << 16 | low;
    for (int i = 0; i < 4; i++)
        data[7 + n + (size_t)i] = (unsigned char)(sum >> (24 - 8 * i));
    add_chunk("IDAT", data, n + 11);
    add_chunk("IEND", "", 0);
}

/* The colour of a pixel, as in the JPEG file. */
static int colour(int c, int y, int x)
{
    return c == 0 ? 32 * x : c == 1 ? 40 * y : 18 * (x + y);
}

static unsigned char pixels[HEIGHT * WIDTH * 6];

static void put_png(const char *name, int channels)
{
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        for (int c = 0; c < channels; c++)
            pixels[i * channels + c] =
                (unsigned char)(c == 3 ? i : colour(c, i / WIDTH, i % WIDTH));
    encode(pixels, WIDTH, HEIGHT, channels);
    put(name, png, png_bytes);
}

/* ---- tests ---- */

static bool can_decode = true;

static ssq_array_info info_of(const ssq_array *a)
{
    ssq_array_info i = SSQ_ARRAY_INFO_INIT;
    NEED(ssq_array_info_get(a, &i));
    return i;
}

/* Is row r of the images the picture of colour(), its channels in order? */
static bool is_picture(const ssq_array_info *i, int64_t r)
{
    const uint8_t *p = (const uint8_t *)i->data + r * 3 * HEIGHT * WIDTH;
    bool same = true;
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++)
                same = same && *p++ == colour(c, y, x);
    return same;
}

static void test_classes(void)
{
    ssq_array *images = NULL, *labels = NULL;
    folder("set");
    folder("set/cat");
    folder("set/dog");
    folder("set/.hidden");
    put_png("set/cat/b.png", 3);
    put_png("set/cat/a.png", 4);
    put_png("set/dog/1.PNG", 3);
    put("set/dog/.DS_Store", "x", 1);
    ssq_status st = ssq_images_read(in("set"), NULL, &images, &labels);
    if (st == SSQ_ERR_UNSUPPORTED) {
        tap_skip("there is no libpng16.so.16: install libpng16-16", "PNG");
        can_decode = false;
        return;
    }
    core_need(st, "images_read");
    ssq_array_info i = info_of(images), l = info_of(labels);
    const int32_t want[] = {0, 0, 1};
    tap_ok(i.dtype == SSQ_U8 && i.rank == 4 && i.shape[0] == 3 &&
               i.shape[1] == 3 && i.shape[2] == HEIGHT && i.shape[3] == WIDTH,
           "three pictures of 3 x 6 x 8");
    tap_ok(l.dtype == SSQ_I32 && l.rank == 1 && l.shape[0] == 3 &&
               memcmp(l.data, want, sizeof(want)) == 0,
           "labels are classes in order");
    tap_ok(is_picture(&i, 0) && is_picture(&i, 1) && is_picture(&i, 2),
           "every pixel, transparency ignored");
    const char *cat = ssq_array_class(labels, 0);
    const char *dog = ssq_array_class(labels, 1);
    tap_ok(cat != NULL && strcmp(cat, "cat") == 0 && dog != NULL &&
               strcmp(dog, "dog") == 0,
           "the names of classes");
    tap_ok(ssq_array_class(labels, 2) == NULL &&
               ssq_array_class(labels, 1000) == NULL &&
               ssq_array_class(labels, -1) == NULL &&
               ssq_array_class(images, 0) == NULL &&
               ssq_array_class(NULL, 0) == NULL,
           "no other classes");
    ssq_array_destroy(&images);
    ssq_array_destroy(&labels);
    core_status(ssq_images_read(in("set"), NULL, &images, NULL),
                SSQ_ERR_INVALID, "is a folder|pictures only",
                "folders where pictures are wanted");
    NEED(ssq_images_read(in("set/cat"), NULL, &images, NULL));
    i = info_of(images);
    tap_ok(i.shape[0] == 2 && is_picture(&i, 1), "a folder without classes");
    ssq_array_destroy(&images);
    core_status(ssq_images_read(in("set/cat"), NULL, &images, &labels),
                SSQ_ERR_INVALID, "a.png is not a folder",
                "pictures where classes are wanted");
    tap_ok(images == NULL && labels == NULL, "nothing is made");
}

/* A folder without pictures among classes. */
static void test_empty_class(void)
{
    ssq_array *images = NULL, *labels = NULL;
    folder("set/cow");
    NEED(ssq_images_read(in("set"), NULL, &images, &labels));
    ssq_array_info l = info_of(labels);
    const char *cow = ssq_array_class(labels, 1);
    tap_ok(l.shape[0] == 3 && ((const int32_t *)l.data)[2] == 2 &&
               cow != NULL && strcmp(cow, "cow") == 0,
           "a class without pictures has a label");
    ssq_array_destroy(&images);
    ssq_array_destroy(&labels);
    if (rmdir(in("set/cow")) != 0)
        tap_bail("%s cannot be removed", path);
}

static void test_grey(void)
{
    ssq_array *images = NULL;
    NEED(ssq_images_read(in("set/dog"), SSQ_IMAGES_READ(.channels = 1), &images,
                         NULL));
    ssq_array_info i = info_of(images);
    const uint8_t *p = i.data;
    bool same = i.shape[1] == 1;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            const double want = 0.299 * colour(0, y, x) +
                                0.587 * colour(1, y, x) +
                                0.114 * colour(2, y, x);
            const double off = p[y * WIDTH + x] - want;
            same = same && off <= 0.501 && off >= -0.501;
        }
    tap_ok(same, "luminance is rounded to the nearest");
    ssq_array_destroy(&images);
    folder("grey");
    put_png("grey/1", 1);
    NEED(ssq_images_read(in("grey"), NULL, &images, NULL));
    i = info_of(images);
    p = i.data;
    same = true;
    for (int k = 0; k < 3 * HEIGHT * WIDTH; k++)
        same = same && p[k] == 32 * (k % WIDTH);
    tap_ok(same, "grey becomes three equal channels");
    ssq_array_destroy(&images);
    NEED(ssq_images_read(in("grey"), SSQ_IMAGES_READ(.channels = 1), &images,
                         NULL));
    i = info_of(images);
    p = i.data;
    same = true;
    for (int k = 0; k < HEIGHT * WIDTH; k++)
        same = same && p[k] == 32 * (k % WIDTH);
    tap_ok(same, "and one with its own values");
    ssq_array_destroy(&images);
}

/* A file of 16 bits without a gamma: the upper byte of each value. */
static void test_deep(void)
{
    ssq_array *images = NULL;
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        for (int c = 0; c < 6; c++)
            pixels[i * 6 + c] =
                (unsigned char)colour(c / 2, i / WIDTH, i % WIDTH);
    encode(pixels, WIDTH, HEIGHT, 6);
    folder("deep");
    put("deep/1.png", png, png_bytes);
    NEED(ssq_images_read(in("deep"), NULL, &images, NULL));
    ssq_array_info i = info_of(images);
    tap_ok(is_picture(&i, 0), "16 bits become 8");
    ssq_array_destroy(&images);
}

/* Pillow 12: Image.resize((5, 4), BILINEAR), and ((11, 9), BILINEAR)'s red. */
static void test_resize(void)
{
    static const uint8_t small[4][5][3] = {{{13, 15, 14},
                                            {62, 15, 42},
                                            {112, 15, 70},
                                            {162, 15, 98},
                                            {211, 15, 126}},
                                           {{13, 71, 39},
                                            {62, 71, 67},
                                            {112, 71, 95},
                                            {162, 71, 123},
                                            {211, 71, 151}},
                                           {{13, 129, 65},
                                            {62, 129, 93},
                                            {112, 129, 121},
                                            {162, 129, 149},
                                            {211, 129, 177}},
                                           {{13, 185, 90},
                                            {62, 185, 118},
                                            {112, 185, 146},
                                            {162, 185, 174},
                                            {211, 185, 202}}};
    static const uint8_t wide[11] = {0,   19,  42,  65,  89, 112,
                                     135, 159, 182, 205, 224};
    ssq_array *images = NULL;
    NEED(ssq_images_read(in("set/dog"),
                         SSQ_IMAGES_READ(.height = 4, .width = 5), &images,
                         NULL));
    ssq_array_info i = info_of(images);
    const uint8_t *p = i.data;
    unsigned wrong = 0;
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 5; x++)
                wrong += *p++ != small[y][x][c];
    tap_ok(i.shape[2] == 4 && i.shape[3] == 5 && wrong == 0,
           "smaller, as Pillow: %u values differ", wrong);
    ssq_array_destroy(&images);
    NEED(ssq_images_read(in("set/dog"),
                         SSQ_IMAGES_READ(.height = 9, .width = 11), &images,
                         NULL));
    i = info_of(images);
    p = i.data;
    wrong = 0;
    for (int k = 0; k < 9 * 11; k++)
        wrong += p[k] != wide[k % 11];
    tap_ok(wrong == 0, "larger, as Pillow: %u values differ", wrong);
    ssq_array_destroy(&images);
}

/* 8 x 8 pixels of four components, which are CMYK. All coefficients are 0: a
 * code of one bit for each DC, and one for the end of each block. */
static void put_cmyk(const char *name)
{
    static const unsigned char begin[] = {0xff, 0xd8, 0xff, 0xdb, 0, 67, 0};
    static const unsigned char frame[] = {0xff, 0xc0, 0, 20,   8,    0, 8,    0,
                                          8,    4,    1, 0x11, 0,    2, 0x11, 0,
                                          3,    0x11, 0, 4,    0x11, 0};
    static const unsigned char code[] = {0xff, 0xc4, 0, 20, 0x00, 1};
    static const unsigned char scan[] = {0xff, 0xda, 0,    14,   4,   1, 0,
                                         2,    0,    3,    0,    4,   0, 0,
                                         63,   0,    0x00, 0xff, 0xd9};
    unsigned char file[156] = {0};
    memcpy(file, begin, sizeof(begin));
    memset(file + 7, 1, 64); /* the table of quantization */
    memcpy(file + 71, frame, sizeof(frame));
    memcpy(file + 93, code, sizeof(code)); /* of DC; its symbol is 0 */
    memcpy(file + 115, code, sizeof(code));
    file[115 + 4] = 0x10; /* of AC */
    memcpy(file + 137, scan, sizeof(scan));
    put(name, file, sizeof(file));
}

static void test_jpeg(void)
{
    static unsigned char copy[sizeof(jpeg)];
    ssq_array *images = NULL;
    folder("jpeg");
    put("jpeg/1.jpg", jpeg, sizeof(jpeg));
    ssq_status st = ssq_images_read(in("jpeg"), NULL, &images, NULL);
    if (st == SSQ_ERR_UNSUPPORTED) {
        tap_skip("there is no libturbojpeg.so.0: install libturbojpeg0",
                 "JPEG");
        return;
    }
    core_need(st, "images_read");
    ssq_array_info i = info_of(images);
    const uint8_t *p = i.data;
    unsigned sum = 0;
    for (int k = 0; k < 3 * HEIGHT * WIDTH; k++)
        sum += p[k];
    /* the accurate DCT has the same values in all releases */
    tap_ok(i.shape[2] == HEIGHT && i.shape[3] == WIDTH && p[0] == 3 &&
               p[WIDTH * HEIGHT - 1] == 227 && p[2 * WIDTH + 3] == 96 &&
               p[2 * WIDTH * HEIGHT + 2 * WIDTH + 3] == 91 && sum == 15387,
           "the pixels of a JPEG file");
    ssq_array_destroy(&images);
    unsigned taken = 0;
    for (size_t cut = 3; cut + 2 < sizeof(jpeg); cut += 7) {
        put("jpeg/1.jpg", jpeg, cut);
        taken += ssq_images_read(in("jpeg"), NULL, &images, NULL) == SSQ_OK;
        ssq_array_destroy(&images);
    }
    tap_ok(taken == 0, "a JPEG file that is cut is refused, but %u", taken);
    memcpy(copy, jpeg, sizeof(jpeg));
    for (size_t k = 0; k + 8 < sizeof(jpeg); k++)
        if (jpeg[k] == 0xff && jpeg[k + 1] == 0xc0)
            copy[k + 5] = copy[k + 7] = 0xff; /* 65286 x 65288 pixels */
    put("jpeg/1.jpg", copy, sizeof(copy));
    core_status(ssq_images_read(in("jpeg"), NULL, &images, NULL),
                SSQ_ERR_INVALID, "claims|652 bytes",
                "more pixels than the file can hold");
    put_cmyk("jpeg/1.jpg");
    core_status(ssq_images_read(in("jpeg"), NULL, &images, NULL),
                SSQ_ERR_UNSUPPORTED, "jpeg/1.jpg|CMYK", "a CMYK JPEG file");
}

static void test_damaged(void)
{
    static unsigned char copy[4096];
    ssq_array *images = NULL;
    folder("bad");
    put_png("bad/1.png", 3);
    unsigned taken = 0;
    for (size_t cut = 8; cut < png_bytes - 12; cut += 5) { /* before IEND */
        put("bad/1.png", png, cut);
        taken += ssq_images_read(in("bad"), NULL, &images, NULL) == SSQ_OK;
        ssq_array_destroy(&images);
    }
    tap_ok(taken == 0, "a PNG file that is cut is refused, but %u", taken);
    memcpy(copy, png, png_bytes);
    copy[60] ^= 1;
    put("bad/1.png", copy, png_bytes);
    core_status(ssq_images_read(in("bad"), NULL, &images, NULL),
                SSQ_ERR_INVALID, "bad/1.png", "a changed bit of a PNG file");
    put("bad/1.png", "hello, world", 12);
    core_status(ssq_images_read(in("bad"), NULL, &images, NULL),
                SSQ_ERR_UNSUPPORTED, "neither|bad/1.png", "a text");
    put("bad/1.png", "", 0);
    core_status(ssq_images_read(in("bad"), NULL, &images, NULL),
                SSQ_ERR_UNSUPPORTED, "neither|bad/1.png", "an empty file");
    put_png("bad/1.png", 3);
    encode(pixels, 4, 4, 3);
    put("bad/2.png", png, png_bytes);
    core_status(ssq_images_read(in("bad"), NULL, &images, NULL),
                SSQ_ERR_INVALID, "2.png has 4 x 4|6 x 8|resize",
                "pictures of two sizes");
    NEED(ssq_images_read(in("bad"), SSQ_IMAGES_READ(.height = 6, .width = 8),
                         &images, NULL));
    ssq_array_info i = info_of(images);
    tap_ok(i.shape[0] == 2 && is_picture(&i, 0),
           "they are resized; one of the right size keeps its pixels");
    ssq_array_destroy(&images);
    if (unlink(in("bad/1.png")) != 0 || mkfifo(path, 0600) != 0)
        tap_bail("%s cannot be made", path);
    core_status(ssq_images_read(in("bad"), NULL, &images, NULL), SSQ_ERR_IO,
                "images_read: |bad/1.png|no regular file", "a pipe");
}

static void test_refused(void)
{
    ssq_array *images = NULL, *labels = NULL;
    ssq_images_read_args args = SSQ_IMAGES_READ_INIT;
    folder("empty");
    core_status(ssq_images_read(in("empty"), NULL, &images, NULL),
                SSQ_ERR_INVALID, "no pictures", "an empty folder");
    core_status(ssq_images_read(in("empty"), NULL, &images, &labels),
                SSQ_ERR_INVALID, "no folders", "no classes");
    core_status(ssq_images_read(in("none"), NULL, &images, &labels),
                SSQ_ERR_NOT_FOUND, "none", "no folder");
    put("file", "x", 1);
    core_status(ssq_images_read(in("file"), NULL, &images, NULL),
                SSQ_ERR_INVALID, "file is not a folder", "a file of pictures");
    core_status(ssq_images_read(in("file"), NULL, &images, &labels),
                SSQ_ERR_INVALID, "file is not a folder", "a file of classes");
    static char longer[5000];
    memset(longer, 'a', sizeof(longer) - 1);
    core_status(ssq_images_read(longer, NULL, &images, &labels),
                SSQ_ERR_INVALID, "too long", "a path of 4999 bytes");
    core_status(ssq_images_read(NULL, NULL, &images, &labels), SSQ_ERR_INVALID,
                "folder is NULL", "a folder that is NULL");
    core_status(ssq_images_read(top, NULL, NULL, &labels), SSQ_ERR_INVALID,
                "images is NULL", "no result");
    args.channels = 4;
    core_status(ssq_images_read(top, &args, &images, &labels), SSQ_ERR_INVALID,
                "channels is 4", "four channels");
    args = (ssq_images_read_args)SSQ_IMAGES_READ_INIT;
    args.height = 3;
    core_status(ssq_images_read(top, &args, &images, &labels), SSQ_ERR_INVALID,
                "3|0", "a height without a width");
    args.height = args.width = 32769;
    core_status(ssq_images_read(top, &args, &images, &labels), SSQ_ERR_INVALID,
                "32768", "too large");
    args.struct_size--;
    core_status(ssq_images_read(top, &args, &images, &labels), SSQ_ERR_INVALID,
                "struct_size", "a wrong struct_size");
}

int main(void)
{
    char command[128];
    snprintf(top, sizeof(top), "images-%ld", (long)getpid());
    if (mkdir(top, 0700) != 0)
        tap_bail("%s cannot be made", top);
    test_classes();
    test_refused();
    if (can_decode) {
        test_empty_class();
        test_grey();
        test_deep();
        test_resize();
        test_jpeg();
        test_damaged();
    }
    snprintf(command, sizeof(command), "rm -rf %s", top);
    if (system(command) != 0)
        tap_diag("%s is left", top);
    return tap_done(10);
}
