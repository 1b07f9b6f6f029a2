/* SPDX-License-Identifier: Apache-2.0 */
/* version.c - the version of the library. */

#include <sesqui/status.h>

const char *ssq_version(void)
{
    return PACKAGE_VERSION;
}
