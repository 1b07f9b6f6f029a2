/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - a scaler's options and state, checked, and as words. */
#ifndef LIB_AMP_OPTIONS_H
#define LIB_AMP_OPTIONS_H

#include <sesqui/amp/scaler.h>

#include "kernels/amp/amp.h"
#include "lib/core/error.h"

/** Can the machine have them? what begins the text. on_device: float32 words
 *  must follow a binary64 system. Options that pass are made what the machine
 *  uses: init_scale rounded to float32, unless it computes in binary64. */
ssq_status options_check(ssq_scaler_options *options, bool on_device,
                         const char *what);

/** The knobs, and all other words 0. */
void options_words(const ssq_scaler_options *options,
                   uint32_t words[SCALER_WORDS]);

/** The state a machine begins with. */
void state_begin(const ssq_scaler_options *options, ssq_scaler_state *state);

/** INVALID unless a machine with these options can be in that state. */
ssq_status state_check(const ssq_scaler_options *options, bool on_device,
                       const ssq_scaler_state *state, const char *what);

/** All words but the knobs; the scale as float32. */
void state_words(const ssq_scaler_options *options,
                 const ssq_scaler_state *state, uint32_t words[SCALER_WORDS]);
/** Back; struct_size stays. */
void words_state(const uint32_t words[SCALER_WORDS], ssq_scaler_state *state);

/** SSQ_OK, or SSQ_ERR_SCALE with its text when the state has events. */
ssq_status state_events(const ssq_scaler_state *state, const char *what);

#endif
