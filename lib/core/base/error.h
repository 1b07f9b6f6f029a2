/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - the thread's last error text, and log lines. */
#ifndef LIB_CORE_BASE_ERROR_H
#define LIB_CORE_BASE_ERROR_H

#include <sesqui/status.h>

/** Let a compiler that supports it check arguments against the format. */
#if defined(__GNUC__) || defined(__clang__)
#define PRINTF_LIKE(F, A) __attribute__((format(printf, F, A)))
#else
#define PRINTF_LIKE(F, A)
#endif

/** Size of the longest error text, with its terminating NUL. */
#define ERROR_TEXT 1024

/** Set this thread's text and return status: `return error_set(..)`. */
ssq_status error_set(ssq_status status, const char *format, ...)
    PRINTF_LIKE(2, 3);
/** Move this thread's text to text. For use before a callback that may set
 *  another text. */
void error_take(char text[ERROR_TEXT]);
/** Move it back, unless another text was set since. True if none was set. */
bool error_restore(const char text[ERROR_TEXT]);
/** As error_set(), for host memory: "what: no host memory for N bytes". */
ssq_status error_nomem(const char *what, size_t bytes);

/** True if a log callback is set, or SSQ_VERBOSE names the topic. Check this
 *  before a line is formatted that is costly or comes with every op. */
bool log_enabled(const char *topic);
/** Pass one line to the callback or, if none is set and SSQ_VERBOSE names the
 *  topic, to standard error. The log's lock is not held during the callback. */
void log_line(ssq_log_level level, const char *topic, const char *format, ...)
    PRINTF_LIKE(3, 4);

/** Lock and unlock the log for a fork, and forget calls of other threads in the
 *  child: see fork.c. */
void log_hold(void);
void log_let_go(void);
void log_forked(void);

#endif
