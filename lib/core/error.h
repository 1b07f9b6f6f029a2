/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - the thread's last error text, and log lines. */
#ifndef LIB_CORE_ERROR_H
#define LIB_CORE_ERROR_H

#include <sesqui/status.h>

/** Have the compiler compare arguments with the format; elsewhere nothing. */
#if defined(__GNUC__) || defined(__clang__)
#define PRINTF_LIKE(F, A) __attribute__((format(printf, F, A)))
#else
#define PRINTF_LIKE(F, A)
#endif

/** Longest error text, with its end. */
#define ERROR_TEXT 1024

/** Set this thread's text and return status: `return error_set(..)`. */
ssq_status error_set(ssq_status status, const char *format, ...)
    PRINTF_LIKE(2, 3);
/** Move this thread's text to text, before a callback runs that may set one. */
void error_take(char text[ERROR_TEXT]);
/** Move it back unless another was set since. Returns true if none was. */
bool error_restore(const char text[ERROR_TEXT]);
/** error_set for host memory: "what: no host memory for N bytes". */
ssq_status error_nomem(const char *what, size_t bytes);

/** True if a log callback is set, or SSQ_VERBOSE names the topic. Asked before
 *  a line is made that would cost something, or comes with every op. */
bool log_enabled(const char *topic);
/** One line to the callback, or else to standard error where SSQ_VERBOSE names
 *  the topic. The callback is called without a lock of the log's. */
void log_line(ssq_log_level level, const char *topic, const char *format, ...)
    PRINTF_LIKE(3, 4);

#endif
