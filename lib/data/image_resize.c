/* SPDX-License-Identifier: Apache-2.0 */
/* image_resize.c - resizing by a triangle filter, rows and then columns.
 *
 * An output pixel is a weighted mean of the input around its centre. The
 * weights fall linearly to 0 at a distance of one pixel, or of `ratio` pixels
 * if the picture shrinks by that ratio: bilinear, with antialiasing, as
 * Pillow's Image.resize(BILINEAR) and torchvision's Resize. */
#include "lib/data/images.h"

#include <math.h>

/* One direction: of `from` pixels `to` are made. */
struct axis {
    int64_t from, to;
    int64_t from_step, to_step; /* bytes from a pixel to the next */
};

/* The input of output pixel i. */
struct image_resize_window {
    int64_t first, end;
    double centre, reach;
};

static struct image_resize_window image_resize_window_of(const struct axis *a,
                                                         int64_t i)
{
    const double ratio = (double)a->from / (double)a->to;
    struct image_resize_window w = {.centre = ((double)i + 0.5) * ratio,
                                    .reach = ratio < 1.0 ? 1.0 : ratio};
    w.first = (int64_t)floor(w.centre - w.reach);
    w.end = (int64_t)ceil(w.centre + w.reach);
    w.first = w.first < 0 ? 0 : w.first;
    w.end = w.end > a->from ? a->from : w.end;
    return w;
}

static double image_resize_weight(const struct image_resize_window *w,
                                  int64_t k)
{
    const double far = fabs((double)k + 0.5 - w->centre) / w->reach;
    return far < 1.0 ? 1.0 - far : 0.0;
}

/* One line of pixels, three bytes each. */
static void resize_line(const struct axis *a, const unsigned char *from,
                        unsigned char *to)
{
    for (int64_t i = 0; i < a->to; i++) {
        const struct image_resize_window w = image_resize_window_of(a, i);
        double sum[3] = {0.0}, all = 0.0;
        for (int64_t k = w.first; k < w.end; k++) {
            const double share = image_resize_weight(&w, k);
            all += share;
            for (int c = 0; c < 3; c++)
                sum[c] += share * from[k * a->from_step + c];
        }
        for (int c = 0; c < 3; c++)
            to[i * a->to_step + c] = (unsigned char)(sum[c] / all + 0.5);
    }
}

ssq_status image_resize(struct image *image, int64_t height, int64_t width)
{
    if (height == image->height && width == image->width)
        return SSQ_OK;
    const struct axis across = {image->width, width, 3, 3};
    const struct axis down = {image->height, height, 3 * width, 3 * width};
    const size_t between = 3 * (size_t)image->height * (size_t)width;
    const size_t bytes = 3 * (size_t)height * (size_t)width;
    unsigned char *half = mem_alloc(between);
    unsigned char *whole = mem_alloc(bytes);
    if (half == NULL || whole == NULL) {
        mem_free(half);
        mem_free(whole);
        return error_nomem("images_read", between + bytes);
    }
    for (int64_t y = 0; y < image->height; y++)
        resize_line(&across, image->rgb + 3 * y * image->width,
                    half + 3 * y * width);
    for (int64_t x = 0; x < width; x++)
        resize_line(&down, half + 3 * x, whole + 3 * x);
    mem_free(half);
    image_free(image);
    *image = (struct image){height, width, whole};
    return SSQ_OK;
}
