/* SPDX-License-Identifier: Apache-2.0 */
/* env.c - the environment, read strictly. */
#include "lib/core/base/env.h"

#include "lib/core/base/error.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

const char *env_text_secure(const char *name, bool secure)
{
    return secure ? NULL : getenv(name);
}

/* The kernel sets AT_SECURE for setuid, setgid and file capabilities. A
 * comparison of user ids would miss the capabilities. */
const char *env_text(const char *name)
{
    return env_text_secure(name, getauxval(AT_SECURE) != 0);
}
