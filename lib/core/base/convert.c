/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c - ssq_convert: dtype conversion in host memory. */
#include "lib/core/base/error.h"
#include "lib/core/base/fpenv.h"
#include "lib/core/base/size.h"
#include "lib/core/base/view.h"
#include "lib/core/base/host.h"

/* A number that names no dtype is an error of the caller. A dtype that has a
 * name but is not implemented yet is reserved, which is another status. */
static ssq_status check_type(ssq_dtype d, const char *what)
{
    if (ssq_dtype_bits(d) == 0)
        return error_set(SSQ_ERR_INVALID, "convert: %s is not a dtype: %d",
                         what, (int)d);
    if (!dtype_on_host(d))
        return error_set(SSQ_ERR_UNSUPPORTED, "convert: %s %s is reserved",
                         what, ssq_dtype_name(d));
    return SSQ_OK;
}

/* Compare addresses as integers, because C orders only pointers into one
 * object. In place is allowed if element i of dst covers exactly element i of
 * src. Any other overlap would read elements that were overwritten before. */
static ssq_status check_memory(const void *dst, size_t dst_size,
                               const void *src, size_t src_size, size_t n)
{
    uint64_t db, sb;
    if (dst == NULL || src == NULL)
        return error_set(SSQ_ERR_INVALID, "convert: %s is NULL",
                         dst == NULL ? "dst" : "src");
    if (!size_mul(n, dst_size, &db) || !size_mul(n, src_size, &sb))
        return error_set(SSQ_ERR_INVALID, "convert: %zu elements overflow", n);
    uintptr_t d = (uintptr_t)dst, s = (uintptr_t)src;
    if (d % dst_size != 0 || s % src_size != 0)
        return error_set(SSQ_ERR_INVALID,
                         "convert: dst or src is not aligned to its dtype");
    if (d + db <= s || s + sb <= d || (d == s && dst_size == src_size))
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "convert: dst overlaps src");
}

/* The dtypes are checked even for 0 elements, but the pointers are not: an
 * empty array may be NULL. */
ssq_status ssq_convert(void *dst, ssq_dtype dst_dtype, const void *src,
                       ssq_dtype src_dtype, size_t n, ssq_rounding rounding,
                       uint64_t seed)
{
    ssq_status st = check_type(dst_dtype, "dst_dtype");
    if (st == SSQ_OK)
        st = check_type(src_dtype, "src_dtype");
    if (st != SSQ_OK)
        return st;
    bool stochastic = rounding == SSQ_ROUND_STOCHASTIC;
    if ((unsigned)rounding > SSQ_ROUND_STOCHASTIC ||
        (stochastic && dst_dtype != SSQ_F16 && dst_dtype != SSQ_BF16))
        return error_set(SSQ_ERR_INVALID, "convert: rounding %d to %s",
                         (int)rounding, ssq_dtype_name(dst_dtype));
    size_t db = dtype_bytes(dst_dtype), sb = dtype_bytes(src_dtype);
    if (n == 0)
        return SSQ_OK;
    st = check_memory(dst, db, src, sb, n);
    if (st != SSQ_OK)
        return st;
    host_convert(dst, dst_dtype, src, src_dtype, n, rounding, seed);
    return SSQ_OK;
}
