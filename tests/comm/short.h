/* SPDX-License-Identifier: Apache-2.0 */
/* short.h - host memory of which one block is refused. */
#ifndef TESTS_COMM_SHORT_H
#define TESTS_COMM_SHORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static atomic_long left; /* blocks until one is refused */

static void *count_alloc(void *user, size_t bytes)
{
    (void)user;
    return atomic_fetch_sub(&left, 1) == 1 ? NULL : malloc(bytes);
}

static void count_free(void *user, void *p)
{
    (void)user;
    free(p);
}

#endif
