/* SPDX-License-Identifier: Apache-2.0 */
/* env.h - variables of the environment, read strictly.
 *
 * In a setuid process every variable counts as unset: the user who started it
 * is not the one whose rights it has. An empty number or flag counts as unset,
 * too. A value that is not allowed is named in the error that it causes, and
 * once in the log, because some callers go on without it. */
#ifndef LIB_CORE_ENV_H
#define LIB_CORE_ENV_H

#include <sesqui/status.h>

/** The text of a variable; NULL: there is none. */
const char *env_text(const char *name);
/** The same when the caller says whether the process is setuid: for tests. */
const char *env_text_secure(const char *name, bool secure);

/** Set *value to the decimal number that a variable has; leave it, so that it
 *  can hold the default, where the variable is unset.
 *  @return SSQ_ERR_INVALID it is no number, or not from least to most */
ssq_status env_number(const char *name, uint64_t least, uint64_t most,
                      uint64_t *value);
/** Set *value to true for "1" and to false for "0"; leave it where the variable
 *  is unset.
 *  @return SSQ_ERR_INVALID it is something else */
ssq_status env_flag(const char *name, bool *value);

/** Keep other threads out of the list of variables that the log has named, for
 *  a fork, and let them in again: see fork.h. */
void env_hold(void);
void env_let_go(void);

#endif
