/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - status names and the thread's last error text. */
#include "lib/core/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/** One per thread: "" until its first error, and unchanged by calls that
 *  succeed. */
static _Thread_local char last[ERROR_TEXT];

ssq_status error_set(ssq_status status, const char *format, ...)
{
    /* Format into a second buffer, because an argument may be the last text
     * itself, for example if a caller adds a prefix to it. */
    char text[ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    memcpy(last, text, sizeof(last));
    return status;
}

ssq_status ssq_error_set(ssq_status status, const char *text)
{
    return status == SSQ_OK ? status
                            : error_set(status, "%s", text == NULL ? "" : text);
}

void error_take(char text[ERROR_TEXT])
{
    memcpy(text, last, sizeof(last));
    last[0] = '\0';
}

bool error_restore(const char text[ERROR_TEXT])
{
    if (last[0] != '\0')
        return false;
    memcpy(last, text, sizeof(last));
    return true;
}

ssq_status error_nomem(const char *what, size_t bytes)
{
    return error_set(SSQ_ERR_NOMEM, "%s: no host memory for %zu bytes", what,
                     bytes);
}

const char *ssq_last_error(void)
{
    return last;
}

/* No default case: a compiler then warns if a status has no name here. */
const char *ssq_status_name(ssq_status status)
{
    switch (status) {
    case SSQ_OK:
        return "SSQ_OK";
    case SSQ_ERR_INVALID:
        return "SSQ_ERR_INVALID";
    case SSQ_ERR_UNSUPPORTED:
        return "SSQ_ERR_UNSUPPORTED";
    case SSQ_ERR_NOMEM:
        return "SSQ_ERR_NOMEM";
    case SSQ_ERR_DEVICE:
        return "SSQ_ERR_DEVICE";
    case SSQ_ERR_NOT_FOUND:
        return "SSQ_ERR_NOT_FOUND";
    case SSQ_ERR_NOT_READY:
        return "SSQ_ERR_NOT_READY";
    case SSQ_ERR_SCALE:
        return "SSQ_ERR_SCALE";
    case SSQ_ERR_IO:
        return "SSQ_ERR_IO";
    case SSQ_ERR_COMM:
        return "SSQ_ERR_COMM";
    }
    return "unknown status";
}
