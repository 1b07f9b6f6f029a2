/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - the scaler's machine on float32 words, on the host. */
#include "lib/amp/scaler/machine.h"

#include "kernels/amp/machine.h"

/* The kernel scaler_update.k calls the same function, so the host's steps are
 * the same as the device's. */
#define WORD(i) words[i]

void machine_update(uint32_t *words)
{
    struct machine m;
    MACHINE_LOAD(m, WORD)
    m = machine_next(m, false, 0);
    MACHINE_STORE(m, WORD)
}
