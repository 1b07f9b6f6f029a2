/* SPDX-License-Identifier: Apache-2.0 */
/* consumer.c - a C11 program outside the tree; built by consumer.sh. */

#include <sesqui.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    char header[32];

    snprintf(header, sizeof(header), "%d.%d.%d", SSQ_VERSION_MAJOR,
             SSQ_VERSION_MINOR, SSQ_VERSION_PATCH);
    printf("header %s, library %s\n", header, ssq_version());
    return strcmp(header, ssq_version()) == 0 ? 0 : 1;
}
