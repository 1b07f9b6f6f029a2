/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h - the UCI handwritten digits in host memory. */
#ifndef EXAMPLES_COMMON_DATASET_H
#define EXAMPLES_COMMON_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIGITS_ROWS    1797
#define DIGITS_TRAIN   1500 /* the first rows train, the rest test */
#define DIGITS_PIXELS  64   /* 8 x 8 */
#define DIGITS_CLASSES 10

struct dataset {
    float pixel[DIGITS_ROWS][DIGITS_PIXELS]; /* 0..1 */
    int32_t label[DIGITS_ROWS];
};

/** Read a CSV (gzip or plain) of 1797 lines with 64 pixels 0..16 and a label
 *  0..9. Says on standard error what is wrong. */
bool dataset_load(const char *path, struct dataset *data);

#endif
