/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.c - read the digits. */
#include "examples/common/dataset.h"

#include "examples/common/run.h"

#include <sesqui/data.h>

#include <math.h>
#include <stdio.h>

#define COLUMNS (DIGITS_PIXELS + 1) /* the last one is the label */

static bool is_whole(float x, int limit)
{
    return x >= 0.0f && x <= (float)limit && x == floorf(x);
}

/* 64 pixels and a label; pixels become 0..1, in exact sixteenths, which every
 * dtype represents. */
static bool take_row(const char *path, const float *row, int i,
                     struct dataset *data)
{
    for (int k = 0; k < DIGITS_PIXELS; k++) {
        if (!is_whole(row[k], 16)) {
            fprintf(stderr, "%s: line %d has the pixel %g, expected 0 to 16\n",
                    path, i + 1, (double)row[k]);
            return false;
        }
        data->pixel[i][k] = row[k] / 16.0f;
    }
    if (!is_whole(row[DIGITS_PIXELS], DIGITS_CLASSES - 1)) {
        fprintf(stderr,
                "%s: line %d has the label %g, expected 0 to %d, of %d "
                "classes\n",
                path, i + 1, (double)row[DIGITS_PIXELS], DIGITS_CLASSES - 1,
                DIGITS_CLASSES);
        return false;
    }
    data->label[i] = (int32_t)row[DIGITS_PIXELS];
    return true;
}

bool dataset_load(const char *path, struct dataset *data)
{
    ssq_array *array = NULL;
    ssq_array_info info = SSQ_ARRAY_INFO_INIT;
    bool good = run_ok(ssq_array_read(path, NULL, &array), "data") &&
                run_ok(ssq_array_info_get(array, &info), "data");
    if (good && (info.shape[0] != DIGITS_ROWS || info.shape[1] != COLUMNS)) {
        fprintf(stderr,
                "%s: it has %lld rows of %lld numbers, expected %d of %d\n",
                path, (long long)info.shape[0], (long long)info.shape[1],
                DIGITS_ROWS, COLUMNS);
        good = false;
    }
    for (int i = 0; i < DIGITS_ROWS && good; i++)
        good = take_row(path, (const float *)info.data + i * COLUMNS, i, data);
    ssq_array_destroy(&array);
    return good;
}
