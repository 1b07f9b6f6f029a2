/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - the scaler's machine on float32 words, as the devices run it. */
#ifndef LIB_AMP_MACHINE_H
#define LIB_AMP_MACHINE_H

#include <stdint.h>

/** One update of a scaler block. */
void machine_update(uint32_t *words);

#endif
