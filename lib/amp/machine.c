/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - the scaler's machine on float32 words, on the host. */
#include "lib/amp/machine.h"

#include "kernels/amp/machine.h"

/* MACHINE_UPDATE is the text that the kernel scaler_update.k compiles, too: the
 * host's steps are the devices' steps. */
#define WORD(i) words[i]

void machine_update(uint32_t *words)
{
    MACHINE_UPDATE(false, 0)
}
