/* SPDX-License-Identifier: Apache-2.0 */
/* images.c - labelled images, in the files of MNIST and Fashion-MNIST. */
#include "examples/common/images.h"

#include "examples/common/run.h"

#include <stdio.h>
#include <string.h>

/* Read an array of bytes, and check that it has `rank` dimensions. */
static bool read_bytes(const char *folder, const char *part, const char *kind,
                       int rank, ssq_array **array, ssq_array_info *info)
{
    char path[512];
    int n = snprintf(path, sizeof(path), "%s/%s-%s", folder, part, kind);
    if (n < 0 || (size_t)n >= sizeof(path)) {
        fprintf(stderr, "%s: the name is too long\n", folder);
        return false;
    }
    *info = (ssq_array_info)SSQ_ARRAY_INFO_INIT;
    if (!run_ok(ssq_array_read(path, NULL, array), "data") ||
        !run_ok(ssq_array_info_get(*array, info), "data"))
        return false;
    if (info->dtype != SSQ_U8 || info->rank != rank || info->bytes == 0)
        fprintf(stderr,
                "%s: it has %s of rank %d, %llu bytes, expected u8 of rank "
                "%d\n",
                path, ssq_dtype_name(info->dtype), info->rank,
                (unsigned long long)info->bytes, rank);
    return info->dtype == SSQ_U8 && info->rank == rank && info->bytes > 0;
}

/* EMNIST's letters, for example, are 1 to 26. */
static bool check_labels(const char *folder, const char *part, int classes,
                         const struct images *x)
{
    for (int64_t i = 0; i < x->n; i++)
        if (x->label[i] >= classes) {
            fprintf(stderr,
                    "%s/%s-labels-idx1-ubyte: row %lld has the label %d, "
                    "expected 0 to %d, of %d classes\n",
                    folder, part, (long long)i, x->label[i], classes - 1,
                    classes);
            return false;
        }
    return true;
}

bool images_read(const char *folder, const char *part, int classes,
                 struct images *x)
{
    ssq_array_info pixels, labels;
    memset(x, 0, sizeof(*x));
    bool good =
        read_bytes(folder, part, "images-idx3-ubyte", 3, &x->pixels, &pixels) &&
        read_bytes(folder, part, "labels-idx1-ubyte", 1, &x->labels, &labels);
    if (good && pixels.shape[0] != labels.shape[0]) {
        fprintf(stderr, "%s/%s: %lld images and %lld labels\n", folder, part,
                (long long)pixels.shape[0], (long long)labels.shape[0]);
        good = false;
    }
    if (good) {
        x->n = pixels.shape[0];
        x->size = pixels.shape[1] * pixels.shape[2];
        x->pixel = pixels.data;
        x->label = labels.data;
    }
    if (good && check_labels(folder, part, classes, x))
        return true;
    images_free(x);
    return false;
}

void images_free(struct images *x)
{
    ssq_array_destroy(&x->pixels);
    ssq_array_destroy(&x->labels);
    memset(x, 0, sizeof(*x));
}
