/* SPDX-License-Identifier: Apache-2.0 */
/* axis.c - an axis of an op, counted from either end. */
#include "lib/core/core.h"

/* Set *result only if the axis exists. A scalar has rank 0 and no axis, so
 * every axis of a scalar is refused. */
ssq_status check_axis(int axis, int rank, const char *op, int *result)
{
    if (axis < -rank || axis >= rank)
        return error_set(SSQ_ERR_INVALID, "%s: axis %d of rank %d", op, axis,
                         rank);
    *result = axis < 0 ? axis + rank : axis;
    return SSQ_OK;
}
