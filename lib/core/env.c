/* SPDX-License-Identifier: Apache-2.0 */
/* env.c - the environment, read strictly. */
#include "lib/core/env.h"

#include "lib/core/error.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

const char *env_text_secure(const char *name, bool secure)
{
    return secure ? NULL : getenv(name);
}

/* AT_SECURE is the kernel's own word for setuid, setgid and file capabilities;
 * comparing user ids would miss the last. */
const char *env_text(const char *name)
{
    return env_text_secure(name, getauxval(AT_SECURE) != 0);
}
