/* SPDX-License-Identifier: Apache-2.0 */
/* data.c - create ops that copy bytes between the host and a view. */
#include "lib/core/module/data.h"

struct upload_op upload_of(const struct view *dst, const void *host,
                           uint64_t bytes)
{
    struct upload_op op = {.op = OP_HEADER(upload, dst),
                           .host = host,
                           .bytes = bytes,
                           .dst = *dst};
    op.dst.access = ACCESS_WRITE;
    return op;
}

struct download_op download_of(const struct view *src, void *host,
                               uint64_t bytes)
{
    struct download_op op = {.op = OP_HEADER(download, src),
                             .host = host,
                             .bytes = bytes,
                             .src = *src};
    op.src.access = ACCESS_READ;
    return op;
}
