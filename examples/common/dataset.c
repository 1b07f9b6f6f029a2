/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.c - read the digits with zlib, trusting nothing. */
#include "examples/common/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

/* The next number of a line; it must be 0..most and end at `end`. */
static bool next_number(char **at, long most, char end, long *value)
{
    char *stop;
    if (**at < '0' || **at > '9')
        return false;
    *value = strtol(*at, &stop, 10);
    if (*value > most || (*stop != end && !(end == '\n' && *stop == '\r')))
        return false;
    *at = stop + 1;
    return true;
}

/* 64 pixels and a label; pixels become 0..1, in exact sixteenths, which every
 * dtype represents. */
static bool parse_line(char *line, float *pixel, int32_t *label)
{
    long value;
    for (int i = 0; i < DIGITS_PIXELS; i++) {
        if (!next_number(&line, 16, ',', &value))
            return false;
        pixel[i] = (float)value / 16.0f;
    }
    if (!next_number(&line, INT32_MAX, '\n', &value))
        return false;
    *label = (int32_t)value;
    return true;
}

/* Refuse a label that is not a class. */
static bool check_label(const char *path, int row, int32_t label)
{
    if (label < DIGITS_CLASSES)
        return true;
    fprintf(stderr,
            "%s: line %d has the label %d, expected 0 to %d, of %d classes\n",
            path, row + 1, (int)label, DIGITS_CLASSES - 1, DIGITS_CLASSES);
    return false;
}

bool dataset_load(const char *path, struct dataset *data)
{
    gzFile file = gzopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s: cannot be opened\n", path);
        return false;
    }
    char line[512];
    int row = 0;
    while (row < DIGITS_ROWS && gzgets(file, line, sizeof(line)) != NULL &&
           parse_line(line, data->pixel[row], &data->label[row]))
        row++;
    gzclose(file);
    if (row != DIGITS_ROWS)
        fprintf(stderr, "%s: line %d is not 64 pixels 0..16 and a label\n",
                path, row + 1);
    bool good = row == DIGITS_ROWS;
    for (int i = 0; i < row && good; i++)
        good = check_label(path, i, data->label[i]);
    return good;
}
