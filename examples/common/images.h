/* SPDX-License-Identifier: Apache-2.0 */
/* images.h - labelled images, in the files of MNIST and Fashion-MNIST. */
#ifndef EXAMPLES_COMMON_IMAGES_H
#define EXAMPLES_COMMON_IMAGES_H

#include <sesqui.h>
#include <sesqui/data.h>

struct images {
    ssq_array *pixels, *labels; /* u8 [n, ...], u8 [n]; owned */
    int64_t n, size;            /* images that are used, and bytes of each */
    uint8_t *pixel, *label;     /* the arrays' memory */
};

/** Read FOLDER/PART-images-idx3-ubyte and FOLDER/PART-labels-idx1-ubyte, PART
 *  being "train" or "t10k", with or without .gz. Labels must be
 *  0 .. classes - 1. Prints what is wrong. */
bool images_read(const char *folder, const char *part, int classes,
                 struct images *images);
void images_free(struct images *images);

#endif
