/* SPDX-License-Identifier: Apache-2.0 */
/* idx.h - images and labels in the IDX format of MNIST and Fashion-MNIST. */
#ifndef EXAMPLES_COMMON_IDX_H
#define EXAMPLES_COMMON_IDX_H

#include <stdbool.h>
#include <stdint.h>

struct images {
    int64_t n, pixels; /* images, and bytes of each */
    uint8_t *pixel;    /* 0..255, row by row; owned */
    uint8_t *label;    /* n of them; owned */
};

/** Read FOLDER/PART-images-idx3-ubyte.gz and FOLDER/PART-labels-idx1-ubyte.gz,
 *  PART being "train" or "t10k"; gzip or plain, with or without .gz. Labels
 *  must be 0 .. classes - 1. Says on standard error what is wrong, in the
 *  file's name. */
bool images_read(const char *folder, const char *part, int classes,
                 struct images *images);
void images_free(struct images *images);

#endif
