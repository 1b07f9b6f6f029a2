/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - the scaler's machine on float32 words, as the devices run it. */
#ifndef LIB_AMP_SCALER_MACHINE_H
#define LIB_AMP_SCALER_MACHINE_H

#include <stdint.h>

/** Update a scaler block, u32 [SCALER_WORDS], by the overflow flag in it. Works
 * on the words only: no float is computed, so rounding modes do not matter. */
void machine_update(uint32_t *words);

#endif
