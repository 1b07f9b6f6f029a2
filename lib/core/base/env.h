/* SPDX-License-Identifier: Apache-2.0 */
/* env.h - variables of the environment, read strictly.
 *
 * In a setuid process every variable counts as unset: the process has other
 * rights than the user that started it. An empty number or flag also counts as
 * unset. An invalid value is named in the error that it causes. It is also
 * logged once, because some callers continue without the value. */
#ifndef LIB_CORE_BASE_ENV_H
#define LIB_CORE_BASE_ENV_H

#include <sesqui/status.h>

/** Return the text of a variable; NULL if it is unset. */
const char *env_text(const char *name);
/** The same if the caller says whether the process is setuid: for tests. */
const char *env_text_secure(const char *name, bool secure);

/** Set *value to the decimal number in a variable. If the variable is unset,
 *  leave *value unchanged, so that it can contain the default.
 *  @return SSQ_ERR_INVALID it is not a number from least to most */
ssq_status env_number(const char *name, uint64_t least, uint64_t most,
                      uint64_t *value);
/** Set *value to true for "1" and to false for "0". If the variable is unset,
 *  leave *value unchanged.
 *  @return SSQ_ERR_INVALID it is neither 0 nor 1 */
ssq_status env_flag(const char *name, bool *value);

/** Lock and unlock the list of variables that the log has named, for a fork:
 *  see fork.h. */
void env_hold(void);
void env_let_go(void);

#endif
