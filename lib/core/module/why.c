/* SPDX-License-Identifier: Apache-2.0 */
/* why.c - the reason why an op is refused, or why a backend has no device. */
#include "lib/core/module/backend.h"

#include <stdarg.h>
#include <stdio.h>

bool refuse(struct why *why, const char *format, ...)
{
    if (why == NULL)
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
    return false;
}
