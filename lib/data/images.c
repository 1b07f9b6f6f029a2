/* SPDX-License-Identifier: Apache-2.0 */
/* images.c - a folder of pictures as arrays: a subfolder is a class. */
#include "lib/data/images.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 4096
#define SIDE_LIMIT 32768 /* of args: pixels of a side */

/* Names, sorted. Each is owned. */
struct images_names {
    char **name;
    size_t n, capacity;
};

static void images_names_free(struct images_names *l)
{
    for (size_t i = 0; i < l->n; i++)
        mem_free(l->name[i]);
    mem_free(l->name);
    *l = (struct images_names){0};
}

static ssq_status images_names_add(struct images_names *l, const char *name)
{
    if (l->n == l->capacity) {
        size_t capacity = l->capacity == 0 ? 64 : 2 * l->capacity;
        char **more = mem_alloc_array(capacity, sizeof(*more));
        if (more == NULL)
            return error_nomem("images_read", capacity * sizeof(*more));
        if (l->n > 0)
            memcpy(more, l->name, l->n * sizeof(*more));
        mem_free(l->name);
        l->name = more;
        l->capacity = capacity;
    }
    char *copy = mem_alloc(strlen(name) + 1);
    if (copy == NULL)
        return error_nomem("images_read", strlen(name) + 1);
    memcpy(copy, name, strlen(name) + 1);
    l->name[l->n++] = copy;
    return SSQ_OK;
}

static int images_by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static ssq_status images_join(char path[PATH_BYTES], const char *folder,
                              const char *name)
{
    int n = snprintf(path, PATH_BYTES, "%s/%s", folder, name);
    return n > 0 && n < PATH_BYTES
               ? SSQ_OK
               : error_set(SSQ_ERR_INVALID,
                           "images_read: %s/%s: the path is "
                           "too long",
                           folder, name);
}

static ssq_status images_failed(const char *path)
{
    return error_set(errno == ENOENT ? SSQ_ERR_NOT_FOUND : SSQ_ERR_IO,
                     "images_read: %s: %s", path, strerror(errno));
}

/* Add an entry of a folder, which must be a folder, or must be none. */
static ssq_status add_entry(struct images_names *l, const char *folder,
                            const char *name, bool folders)
{
    char path[PATH_BYTES];
    struct stat s;
    ssq_status st = images_join(path, folder, name);
    if (st != SSQ_OK)
        return st;
    if (stat(path, &s) != 0)
        return images_failed(path);
    if (S_ISDIR(s.st_mode) != folders)
        return error_set(SSQ_ERR_INVALID,
                         folders ? "images_read: %s is not a folder, expected "
                                   "a folder for each class"
                                 : "images_read: %s is a folder, expected "
                                   "pictures only",
                         path);
    return images_names_add(l, name);
}

/* All names of a folder but hidden ones, sorted. */
static ssq_status names_read(const char *folder, bool folders,
                             struct images_names *l)
{
    ssq_status st = SSQ_OK;
    const struct dirent *e;
    *l = (struct images_names){0};
    DIR *d = opendir(folder);
    if (d == NULL && errno == ENOTDIR)
        return error_set(SSQ_ERR_INVALID, "images_read: %s is not a folder",
                         folder);
    if (d == NULL)
        return images_failed(folder);
    errno = 0;
    while (st == SSQ_OK && (e = readdir(d)) != NULL) {
        if (e->d_name[0] != '.')
            st = add_entry(l, folder, e->d_name, folders);
        errno = 0;
    }
    if (st == SSQ_OK && errno != 0)
        st = images_failed(folder);
    closedir(d);
    if (l->n > 0)
        qsort(l->name, l->n, sizeof(*l->name), images_by_name);
    return st;
}

/* The pictures of a folder, and what is made of them. */
struct images_set {
    const char *folder;
    const ssq_images_read_args *args;
    bool classified;             /* a subfolder is a class; else the folder */
    struct images_names classes; /* is one group of files, without a name */
    struct images_names *files;  /* of each group */
    size_t groups;
    int64_t n;                  /* pictures */
    ssq_array *images, *labels; /* labels: of a classified folder */
};

/* The path of picture k of group i. */
static ssq_status images_path_of(const struct images_set *s, size_t i, size_t k,
                                 char path[PATH_BYTES])
{
    char folder[PATH_BYTES];
    if (!s->classified)
        return images_join(path, s->folder, s->files[i].name[k]);
    ssq_status st = images_join(folder, s->folder, s->classes.name[i]);
    return st == SSQ_OK ? images_join(path, folder, s->files[i].name[k]) : st;
}

/* List the classes. */
static ssq_status list_groups(struct images_set *s)
{
    ssq_status st = SSQ_OK;
    size_t n = 1;
    if (s->classified) {
        st = names_read(s->folder, true, &s->classes);
        n = s->classes.n;
    }
    if (st == SSQ_OK && n == 0)
        st = error_set(SSQ_ERR_INVALID,
                       "images_read: %s has no folders, expected one for each "
                       "class",
                       s->folder);
    if (st != SSQ_OK)
        return st;
    s->files = mem_alloc_array(n, sizeof(*s->files));
    if (s->files == NULL)
        return error_nomem("images_read", n * sizeof(*s->files));
    s->groups = n;
    return SSQ_OK;
}

/* List the files of all classes. */
static ssq_status list_files(struct images_set *s)
{
    char path[PATH_BYTES];
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < s->groups && st == SSQ_OK; i++) {
        if (s->classified)
            st = images_join(path, s->folder, s->classes.name[i]);
        if (st == SSQ_OK)
            st = names_read(s->classified ? path : s->folder, false,
                            &s->files[i]);
        s->n += (int64_t)s->files[i].n;
    }
    return st == SSQ_OK && s->n == 0
               ? error_set(SSQ_ERR_INVALID, "images_read: %s has no pictures",
                           s->folder)
               : st;
}

/* Make the arrays, as the first picture and the arguments say. */
static ssq_status make_arrays(struct images_set *s, const struct image *first)
{
    const ssq_images_read_args *a = s->args;
    const int64_t shape[] = {s->n, a->channels,
                             a->height == 0 ? first->height : a->height,
                             a->width == 0 ? first->width : a->width};
    ssq_status st = array_create("images_read", SSQ_U8, 4, shape, &s->images);
    if (st == SSQ_OK && s->classified)
        st = array_create("images_read", SSQ_I32, 1, shape, &s->labels);
    return st;
}

/* Decode one picture into its row. */
static ssq_status add_image(struct images_set *s, const char *path, int64_t row)
{
    struct contents c;
    struct image image = {0};
    ssq_status st = contents_read_plain(&c, path, "images_read");
    if (st == SSQ_OK)
        st = image_decode(&c, &image);
    contents_free(&c);
    if (st == SSQ_OK && s->images == NULL)
        st = make_arrays(s, &image);
    if (st == SSQ_OK && s->args->height > 0)
        st = image_resize(&image, s->args->height, s->args->width);
    if (st == SSQ_OK) {
        const int64_t *shape = s->images->shape;
        if (image.height != shape[2] || image.width != shape[3])
            st =
                error_set(SSQ_ERR_INVALID,
                          "images_read: %s has %lld x %lld pixels, the first "
                          "picture %lld x %lld: set height and width to "
                          "resize all",
                          path, (long long)image.height, (long long)image.width,
                          (long long)shape[2], (long long)shape[3]);
        else
            image_store(&image, s->args->channels,
                        (unsigned char *)s->images->data +
                            row * shape[1] * shape[2] * shape[3]);
    }
    image_free(&image);
    return st;
}

static ssq_status decode_all(struct images_set *s)
{
    ssq_status st = SSQ_OK;
    int64_t row = 0;
    for (size_t i = 0; i < s->groups; i++)
        for (size_t k = 0; k < s->files[i].n; k++, row++) {
            char path[PATH_BYTES];
            st = images_path_of(s, i, k, path);
            if (st == SSQ_OK)
                st = add_image(s, path, row);
            if (st != SSQ_OK)
                return st;
            if (s->labels != NULL)
                ((int32_t *)s->labels->data)[row] = (int32_t)i;
        }
    return SSQ_OK;
}

/* The labels keep the names of their classes. */
static ssq_status keep_classes(struct images_set *s)
{
    struct images_names *l = &s->classes;
    char **kept = mem_alloc_array(l->n + 1, sizeof(*kept));
    if (kept == NULL)
        return error_nomem("images_read", (l->n + 1) * sizeof(*kept));
    memcpy(kept, l->name, l->n * sizeof(*kept));
    kept[l->n] = NULL;
    s->labels->classes = kept;
    mem_free(l->name);
    *l = (struct images_names){0};
    return SSQ_OK;
}

static void set_free(struct images_set *s)
{
    for (size_t i = 0; i < s->groups; i++)
        images_names_free(&s->files[i]);
    mem_free(s->files);
    images_names_free(&s->classes);
}

static ssq_status images_check_args(const char *folder,
                                    const ssq_images_read_args *args,
                                    ssq_array **images)
{
    if (folder == NULL || images == NULL)
        return error_set(SSQ_ERR_INVALID, "images_read: %s is NULL",
                         folder == NULL ? "folder" : "images");
    if (strlen(folder) >= PATH_BYTES)
        return error_set(SSQ_ERR_INVALID,
                         "images_read: %.100s..: the path is too long", folder);
    if (args->struct_size != sizeof(*args))
        return error_set(SSQ_ERR_INVALID,
                         "images_read: struct_size is %zu, expected %zu",
                         args->struct_size, sizeof(*args));
    if (args->channels != 1 && args->channels != 3)
        return error_set(SSQ_ERR_INVALID,
                         "images_read: channels is %d, expected 1 or 3",
                         args->channels);
    if (args->height < 0 || args->width < 0 || args->height > SIDE_LIMIT ||
        args->width > SIDE_LIMIT || (args->height == 0) != (args->width == 0))
        return error_set(SSQ_ERR_INVALID,
                         "images_read: height is %lld and width %lld, expected "
                         "both 0, or both 1 to %d",
                         (long long)args->height, (long long)args->width,
                         SIDE_LIMIT);
    return SSQ_OK;
}

ssq_status ssq_images_read(const char *folder, const ssq_images_read_args *args,
                           ssq_array **images, ssq_array **labels)
{
    const ssq_images_read_args plain = SSQ_IMAGES_READ_INIT;
    args = args == NULL ? &plain : args;
    ssq_status st = images_check_args(folder, args, images);
    if (st != SSQ_OK)
        return st;
    struct images_set s = {
        .folder = folder, .args = args, .classified = labels != NULL};
    st = list_groups(&s);
    if (st == SSQ_OK)
        st = list_files(&s);
    if (st == SSQ_OK)
        st = decode_all(&s);
    if (st == SSQ_OK && s.classified)
        st = keep_classes(&s);
    set_free(&s);
    if (st != SSQ_OK) {
        ssq_array_destroy(&s.images);
        ssq_array_destroy(&s.labels);
        return st;
    }
    *images = s.images;
    if (labels != NULL)
        *labels = s.labels;
    return SSQ_OK;
}

const char *ssq_array_class(const ssq_array *labels, int64_t i)
{
    if (labels == NULL || labels->classes == NULL || i < 0)
        return NULL;
    for (int64_t k = 0; k < i; k++)
        if (labels->classes[k] == NULL)
            return NULL;
    return labels->classes[i];
}
