/* SPDX-License-Identifier: Apache-2.0 */
/* version.c - which release this is. */

#include <sesqui/status.h>

const char *ssq_version(void)
{
    return PACKAGE_VERSION;
}
