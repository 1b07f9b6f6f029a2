/* SPDX-License-Identifier: Apache-2.0 */
/* idx.c - reader of IDX files: http://yann.lecun.com/exdb/mnist/: a magic
 * number 0 0 8 RANK, the sizes as 32 bits each, high byte first, and the bytes.
 */
#include "examples/common/idx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Sizes are believed as far as the file has bytes for them: memory grows as it
 * is read. */
#define STEP (1 << 20)
#define MOST (INT64_C(1) << 33)

static bool complain(const char *path, const char *what)
{
    fprintf(stderr, "%s: %s\n", path, what);
    return false;
}

static bool read_sizes(gzFile f, const char *path, int rank, int64_t *sizes)
{
    uint8_t b[16];
    int want = 4 + 4 * rank;
    if (gzread(f, b, (unsigned)want) != want)
        return complain(path, "it ends in its head");
    if (b[0] != 0 || b[1] != 0 || b[2] != 8 || b[3] != rank)
        return complain(path, rank == 3 ? "no IDX file of images"
                                        : "no IDX file of labels");
    for (int i = 0; i < rank; i++) {
        const uint8_t *p = b + 4 + 4 * i;
        sizes[i] = (int64_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
    }
    return true;
}

/* n bytes and no more; NULL after complaining. */
static uint8_t *read_bytes(gzFile f, const char *path, int64_t n)
{
    uint8_t *all = NULL;
    int64_t have = 0;
    while (have < n) {
        int64_t more = n - have < STEP ? n - have : STEP;
        uint8_t *p = realloc(all, (size_t)(have + more));
        if (p == NULL || gzread(f, p + have, (unsigned)more) != more) {
            complain(path, p == NULL ? "no memory" : "it ends too early");
            free(p == NULL ? all : p);
            return NULL;
        }
        all = p;
        have += more;
    }
    if (gzgetc(f) == -1 && all != NULL)
        return all;
    complain(path, n == 0 ? "it is empty" : "there is more than it says");
    free(all);
    return NULL;
}

/* FOLDER/PART-KIND, with .gz or without. */
static gzFile open_part(const char *folder, const char *part, const char *kind,
                        char *path, size_t bytes)
{
    gzFile f = NULL;
    for (int gz = 1; gz >= 0 && f == NULL; gz--) {
        int n = snprintf(path, bytes, "%s/%s-%s%s", folder, part, kind,
                         gz ? ".gz" : "");
        f = n < 0 || (size_t)n >= bytes ? NULL : gzopen(path, "rb");
    }
    if (f == NULL)
        perror(path);
    return f;
}

static bool read_images(const char *folder, const char *part, struct images *x)
{
    char path[512];
    int64_t size[3] = {0};
    gzFile f = open_part(folder, part, "images-idx3-ubyte", path, sizeof(path));
    if (f == NULL)
        return false;
    bool good = read_sizes(f, path, 3, size);
    x->n = size[0];
    x->pixels = size[1] * size[2];
    if (good && x->pixels > 0 && x->n > MOST / x->pixels)
        good = complain(path, "it says that it has over 2^33 bytes");
    if (good)
        x->pixel = read_bytes(f, path, x->n * x->pixels);
    gzclose(f);
    return x->pixel != NULL;
}

/* EMNIST's letters, for example, are 1 to 26. */
static bool check_labels(const char *path, int classes, const struct images *x)
{
    for (int64_t i = 0; i < x->n; i++)
        if (x->label[i] >= classes) {
            fprintf(stderr,
                    "%s: row %lld has the label %d, expected 0 to %d, of %d "
                    "classes\n",
                    path, (long long)i, x->label[i], classes - 1, classes);
            return false;
        }
    return true;
}

static bool read_labels(const char *folder, const char *part, int classes,
                        struct images *x)
{
    char path[512];
    int64_t n = 0;
    gzFile f = open_part(folder, part, "labels-idx1-ubyte", path, sizeof(path));
    if (f == NULL)
        return false;
    bool good = read_sizes(f, path, 1, &n);
    if (good && n != x->n)
        good = complain(path, "other labels than images");
    if (good)
        x->label = read_bytes(f, path, n);
    gzclose(f);
    return x->label != NULL && check_labels(path, classes, x);
}

bool images_read(const char *folder, const char *part, int classes,
                 struct images *images)
{
    memset(images, 0, sizeof(*images));
    if (read_images(folder, part, images) &&
        read_labels(folder, part, classes, images))
        return true;
    images_free(images);
    return false;
}

void images_free(struct images *images)
{
    free(images->pixel);
    free(images->label);
    memset(images, 0, sizeof(*images));
}
