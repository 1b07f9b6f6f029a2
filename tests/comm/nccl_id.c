/* SPDX-License-Identifier: Apache-2.0 */
/* nccl_id.c - a program for tests/comm/nccl_library.sh, linked with no NCCL:
 * prints the result of asking for an id. */
#include <stdio.h>

#include <sesqui.h>
#include <sesqui/nccl.h>

int main(void)
{
    unsigned char id[SSQ_NCCL_ID_BYTES];
    ssq_status st = ssq_comm_nccl_id(id, sizeof(id));

    printf("%s: %s\n", ssq_status_name(st),
           st == SSQ_OK ? "an id" : ssq_last_error());
    return 0;
}
