/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - the scaler's machine on float32 words, as the devices run it. */
#ifndef LIB_AMP_MACHINE_H
#define LIB_AMP_MACHINE_H

#include <stdint.h>

/** One update of a scaler block, u32 [SCALER_WORDS], by the verdict that it
 *  has. Pure in the words: no float is touched, so that modes do not matter. */
void machine_update(uint32_t *words);

#endif
