/* SPDX-License-Identifier: Apache-2.0 */
/* env.h - the environment: whose it is to say, and what it may say.
 *
 * A setuid process has none: who started it is not who it works for. An empty
 * number or flag is as good as none. One that does not say what it may is named
 * in the error that it causes, and once in the log. */
#ifndef LIB_CORE_ENV_H
#define LIB_CORE_ENV_H

#include <sesqui/status.h>

/** The text of a variable; NULL: there is none. */
const char *env_text(const char *name);
/** The same when the caller says whether the process is setuid: for tests. */
const char *env_text_secure(const char *name, bool secure);

/** *value is a variable's whole decimal number, if there is one.
 *  @return SSQ_ERR_INVALID it is none, or not from least to most */
ssq_status env_number(const char *name, uint64_t least, uint64_t most,
                      uint64_t *value);
/** *value is true for "1" and false for "0", if there is a variable.
 *  @return SSQ_ERR_INVALID it is something else */
ssq_status env_flag(const char *name, bool *value);

#endif
