/* SPDX-License-Identifier: Apache-2.0 */
/* array.c - arrays in host memory. */
#include "lib/data/array.h"

#include <string.h>

#include "lib/core/base/host.h"
#include "lib/core/base/size.h"

size_t array_element(ssq_dtype dtype)
{
    return ssq_dtype_bits(dtype) / 8;
}

bool array_little_endian(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 1;
}

static void array_free(struct object *o)
{
    struct ssq_array *a = (struct ssq_array *)o;
    for (char **name = a->classes; name != NULL && *name != NULL; name++)
        mem_free(*name);
    mem_free(a->classes);
    mem_free(a->data);
    mem_free(a);
}

/* Set *bytes to the size of all elements. Sizes of 0 count as 1 in the check,
 * as for tensors: their place among the sizes does not matter. Returns false if
 * the shape is too large; *bytes is then a lower bound. */
static bool shape_bytes(ssq_dtype dtype, int rank, const int64_t *shape,
                        uint64_t *bytes)
{
    bool fits = true, empty = false;
    *bytes = array_element(dtype);
    for (int i = 0; i < rank; i++) {
        empty = empty || shape[i] == 0;
        if (shape[i] != 0)
            fits = fits && size_mul(*bytes, (uint64_t)shape[i], bytes);
    }
    fits = fits && *bytes <= SIZE_MAX / 2;
    if (fits && empty)
        *bytes = 0;
    return fits;
}

/* Set the shape and the bytes. */
static ssq_status lay_out(struct ssq_array *a, const char *what,
                          const int64_t *shape)
{
    for (int i = 0; i < a->rank; i++) {
        if (shape[i] < 0)
            return error_set(SSQ_ERR_INVALID,
                             "%s: size %d is %lld, expected at least 0", what,
                             i, (long long)shape[i]);
        a->shape[i] = shape[i];
    }
    return shape_bytes(a->dtype, a->rank, shape, &a->bytes)
               ? SSQ_OK
               : error_set(SSQ_ERR_INVALID, "%s: the shape is too large", what);
}

static ssq_status check_kind(const char *what, ssq_dtype dtype, int rank,
                             const int64_t *shape)
{
    if (ssq_dtype_bits(dtype) == 0)
        return error_set(SSQ_ERR_INVALID, "%s: dtype %d is not valid", what,
                         (int)dtype);
    if (!dtype_on_host(dtype))
        return error_set(SSQ_ERR_UNSUPPORTED, "%s: %s is reserved", what,
                         ssq_dtype_name(dtype));
    if (rank < 0 || rank > SSQ_MAX_RANK)
        return error_set(SSQ_ERR_INVALID, "%s: rank is %d, expected 0 to %d",
                         what, rank, SSQ_MAX_RANK);
    return shape == NULL && rank > 0
               ? error_set(SSQ_ERR_INVALID, "%s: shape is NULL", what)
               : SSQ_OK;
}

ssq_status array_create(const char *what, ssq_dtype dtype, int rank,
                        const int64_t *shape, ssq_array **array)
{
    ssq_status st = check_kind(what, dtype, rank, shape);
    if (st != SSQ_OK)
        return st;
    struct ssq_array *a = mem_alloc(sizeof(*a));
    if (a == NULL)
        return error_nomem(what, sizeof(*a));
    object_init(&a->object, array_free);
    a->dtype = dtype;
    a->rank = rank;
    st = lay_out(a, what, shape);
    if (st == SSQ_OK) {
        a->data = mem_alloc_array(1, (size_t)a->bytes);
        st = a->data == NULL ? error_nomem(what, (size_t)a->bytes) : SSQ_OK;
    }
    if (st != SSQ_OK)
        object_put(&a->object);
    else
        *array = a;
    return st;
}

ssq_status ssq_array_create(ssq_dtype dtype, int rank, const int64_t *shape,
                            const void *data, ssq_array **array)
{
    if (array == NULL)
        return error_set(SSQ_ERR_INVALID, "array_create: array is NULL");
    ssq_status st = array_create("array_create", dtype, rank, shape, array);
    if (st == SSQ_OK && data != NULL && (*array)->bytes > 0)
        memcpy((*array)->data, data, (size_t)(*array)->bytes);
    return st;
}

void ssq_array_destroy(ssq_array **array)
{
    if (array == NULL || *array == NULL)
        return;
    object_put(&(*array)->object);
    *array = NULL;
}

ssq_status ssq_array_info_get(const ssq_array *array, ssq_array_info *info)
{
    if (array == NULL || info == NULL)
        return error_set(SSQ_ERR_INVALID, "array_info_get: %s is NULL",
                         array == NULL ? "array" : "info");
    if (info->struct_size != sizeof(*info))
        return error_set(SSQ_ERR_INVALID,
                         "array_info_get: struct_size is %zu, expected %zu",
                         info->struct_size, sizeof(*info));
    info->dtype = array->dtype;
    info->rank = array->rank;
    memcpy(info->shape, array->shape, sizeof(info->shape));
    info->data = array->data;
    info->bytes = array->bytes;
    return SSQ_OK;
}

/* Turn the bytes of n elements round. */
static void swap_bytes(unsigned char *data, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < size / 2; k++) {
            unsigned char *low = data + i * size + k;
            unsigned char *high = data + i * size + size - 1 - k;
            unsigned char kept = *low;
            *low = *high;
            *high = kept;
        }
}

ssq_status array_from_file(const struct contents *c, size_t offset,
                           ssq_dtype dtype, int rank, const int64_t *shape,
                           bool swap, ssq_array **array)
{
    uint64_t bytes;
    const bool fits = shape_bytes(dtype, rank, shape, &bytes);
    if (!fits || bytes != c->n - offset)
        return error_set(
            SSQ_ERR_INVALID,
            "array_read: %s: its header promises %llu bytes of values%s, it "
            "has %llu",
            c->path, (unsigned long long)bytes, fits ? "" : " or more",
            (unsigned long long)(c->n - offset));
    ssq_status st = array_create("array_read", dtype, rank, shape, array);
    if (st != SSQ_OK || bytes == 0)
        return st;
    memcpy((*array)->data, c->data + offset, (size_t)bytes);
    const size_t size = array_element(dtype);
    if (swap)
        swap_bytes((*array)->data, (size_t)bytes / size, size);
    return SSQ_OK;
}
