/* SPDX-License-Identifier: Apache-2.0 */
/* image_decode.c - PNG by the system's libpng, JPEG by its libturbojpeg.
 *
 * Both are opened at the first file of their format. The few declarations that
 * are needed stand here: libpng's simplified interface checks its version, and
 * TurboJPEG's functions have been the same since 2.0. */
#include "lib/data/foreign.h"
#include "lib/data/images.h"

#include <pthread.h>
#include <string.h>

/* A file of n bytes cannot hold more pixels than this: deflate makes at most
 * 1032 bytes of one, of 8 pixels each. */
#define PIXELS_OF_A_BYTE 8256u

/* png_image of png.h. */
struct png_image {
    void *opaque;
    uint32_t version, width, height, format, flags, colormap_entries;
    uint32_t warning_or_error;
    char message[64];
};
#define PNG_IMAGE_VERSION         1
#define PNG_FORMAT_RGBA           3 /* PNG_FORMAT_FLAG_ALPHA and _COLOR */
#define PNG_IMAGE_FLAG_16BIT_sRGB 4 /* if 16 bits have no gamma */

static struct {
    bool open;
    int (*begin)(struct png_image *, const void *, size_t);
    int (*finish)(struct png_image *, const void *, void *, int32_t, void *);
    void (*free)(struct png_image *);
} png;

static void png_open(void)
{
    const struct foreign f[] = {
        {"png_image_begin_read_from_memory", &png.begin},
        {"png_image_finish_read", &png.finish},
        {"png_image_free", &png.free}};
    png.open = foreign_open("libpng16.so.16", f, sizeof(f) / sizeof(f[0]));
}

#define TJPF_RGB             0
#define TJCS_CMYK            3
#define TJCS_YCCK            4
#define TJFLAG_ACCURATEDCT   4096
#define TJFLAG_STOPONWARNING 8192

static struct {
    bool open;
    void *(*init)(void);
    int (*header)(void *, const unsigned char *, unsigned long, int *, int *,
                  int *, int *);
    int (*decompress)(void *, const unsigned char *, unsigned long,
                      unsigned char *, int, int, int, int, int);
    char *(*error)(void *);
    int (*destroy)(void *);
} jpeg;

static void jpeg_open(void)
{
    const struct foreign f[] = {{"tjInitDecompress", &jpeg.init},
                                {"tjDecompressHeader3", &jpeg.header},
                                {"tjDecompress2", &jpeg.decompress},
                                {"tjGetErrorStr2", &jpeg.error},
                                {"tjDestroy", &jpeg.destroy}};
    jpeg.open = foreign_open("libturbojpeg.so.0", f, sizeof(f) / sizeof(f[0]));
}

static ssq_status image_decode_missing(const struct contents *c,
                                       const char *format, const char *library,
                                       const char *package)
{
    return error_set(SSQ_ERR_UNSUPPORTED,
                     "images_read: %s is a %s file, and this system has no %s: "
                     "install %s",
                     c->path, format, library, package);
}

static ssq_status damaged(const struct contents *c, const char *why)
{
    return error_set(SSQ_ERR_INVALID, "images_read: %s: %s", c->path, why);
}

/* Allocate the pixels, of `size` bytes each. Refuse a size of the picture that
 * a file of this length cannot have. */
static ssq_status image_decode_reserve(const struct contents *c,
                                       struct image *image, int64_t height,
                                       int64_t width, size_t size)
{
    uint64_t pixels = (uint64_t)height * (uint64_t)width;
    if (height < 1 || width < 1 || pixels > (uint64_t)c->n * PIXELS_OF_A_BYTE)
        return error_set(SSQ_ERR_INVALID,
                         "images_read: %s: it claims %lld x %lld pixels, in "
                         "%zu bytes",
                         c->path, (long long)height, (long long)width, c->n);
    image->height = height;
    image->width = width;
    image->rgb = mem_alloc_array((size_t)pixels, size);
    return image->rgb == NULL
               ? error_nomem("images_read", (size_t)pixels * size)
               : SSQ_OK;
}

/* The pixels lose their fourth byte, which says how opaque they are. */
static void drop_alpha(struct image *image)
{
    unsigned char *p = image->rgb;
    for (int64_t i = 0; i < image->height * image->width; i++)
        for (int k = 0; k < 3; k++)
            p[3 * i + k] = p[4 * i + k];
}

static ssq_status decode_png(const struct contents *c, struct image *image)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct png_image p = {.version = PNG_IMAGE_VERSION};
    pthread_once(&once, png_open);
    if (!png.open)
        return image_decode_missing(c, "PNG", "libpng16.so.16", "libpng16-16");
    if (png.begin(&p, c->data, c->n) == 0)
        return damaged(c, p.message);
    p.format = PNG_FORMAT_RGBA;
    p.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
    ssq_status st = image_decode_reserve(c, image, p.height, p.width, 4);
    if (st == SSQ_OK && png.finish(&p, NULL, image->rgb, 0, NULL) == 0)
        st = damaged(c, p.message);
    png.free(&p);
    if (st == SSQ_OK)
        drop_alpha(image);
    return st;
}

static ssq_status decode_with(void *handle, const struct contents *c,
                              struct image *image)
{
    int width, height, sampling, space;
    const unsigned long n = (unsigned long)c->n;
    if (jpeg.header(handle, c->data, n, &width, &height, &sampling, &space) !=
        0)
        return damaged(c, jpeg.error(handle));
    if (space == TJCS_CMYK || space == TJCS_YCCK)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "images_read: %s: its colours are CMYK, expected RGB "
                         "or grey: convert it to RGB",
                         c->path);
    ssq_status st = image_decode_reserve(c, image, height, width, 3);
    if (st == SSQ_OK &&
        jpeg.decompress(handle, c->data, n, image->rgb, width, 0, height,
                        TJPF_RGB,
                        TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING) != 0)
        st = damaged(c, jpeg.error(handle));
    return st;
}

static ssq_status decode_jpeg(const struct contents *c, struct image *image)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, jpeg_open);
    if (!jpeg.open)
        return image_decode_missing(c, "JPEG", "libturbojpeg.so.0",
                                    "libturbojpeg0");
    void *handle = jpeg.init();
    if (handle == NULL)
        return error_set(SSQ_ERR_NOMEM, "images_read: TurboJPEG cannot start");
    ssq_status st = decode_with(handle, c, image);
    jpeg.destroy(handle);
    return st;
}

ssq_status image_decode(const struct contents *c, struct image *image)
{
    ssq_status st;
    *image = (struct image){0};
    if (c->n >= 8 && memcmp(c->data, "\x89PNG\r\n\x1a\n", 8) == 0)
        st = decode_png(c, image);
    else if (c->n >= 3 && memcmp(c->data, "\xff\xd8\xff", 3) == 0)
        st = decode_jpeg(c, image);
    else
        st = error_set(SSQ_ERR_UNSUPPORTED,
                       "images_read: %s is neither a PNG nor a JPEG file",
                       c->path);
    if (st != SSQ_OK)
        image_free(image);
    return st;
}

void image_free(struct image *image)
{
    mem_free(image->rgb);
    image->rgb = NULL;
}

/* The luminance of ITU-R BT.601, in 65536ths: a grey pixel keeps its value. */
static unsigned char luminance(const unsigned char *rgb)
{
    return (unsigned char)((19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] +
                            0x8000u) >>
                           16);
}

void image_store(const struct image *image, int channels, unsigned char *to)
{
    const int64_t n = image->height * image->width;
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *p = image->rgb + 3 * i;
        if (channels == 1) {
            to[i] = luminance(p);
            continue;
        }
        for (int k = 0; k < 3; k++)
            to[k * n + i] = p[k];
    }
}
