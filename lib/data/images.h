/* SPDX-License-Identifier: Apache-2.0 */
/* images.h - pictures: decoding and resizing. */
#ifndef LIB_DATA_IMAGES_H
#define LIB_DATA_IMAGES_H

#include "lib/data/array.h"

/** A decoded picture: rows of pixels of red, green and blue. */
struct image {
    int64_t height, width;
    unsigned char *rgb; /* owned */
};

/** Decode the contents of a PNG or JPEG file. Release it with image_free(). */
ssq_status image_decode(const struct contents *c, struct image *image);
void image_free(struct image *image);

/** Change the size: bilinear, and averaged if it becomes smaller. */
ssq_status image_resize(struct image *image, int64_t height, int64_t width);

/** Write the picture into an array's row: channels first, 1 (luminance) or 3.
 */
void image_store(const struct image *image, int channels, unsigned char *to);

#endif
