/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - the scaler's machine on float32 words, on the host. */
#include "lib/amp/scaler/machine.h"

#include "kernels/amp/machine.h"

/* MACHINE_UPDATE is also part of the kernel scaler_update.k, so the host's
 * steps are the same as the device's. */
#define WORD(i) words[i]

void machine_update(uint32_t *words)
{
    MACHINE_UPDATE(false, 0)
}
