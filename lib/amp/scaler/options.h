/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - a scaler's options and state, checked, and as words.
 *
 * Callers fill in the public structs. Devices compute with words, u32
 * [SCALER_WORDS] of kernels/amp/amp.h. The words are a float32's
 * machine. A machine that computes in binary64 keeps its scales separately
 * (simulate.c), or float32 words follow it exactly (on_device below).
 * Arithmetic uses the default floating-point modes, independent of the
 * caller's. */
#ifndef LIB_AMP_SCALER_OPTIONS_H
#define LIB_AMP_SCALER_OPTIONS_H

#include <sesqui/amp/scaler.h>

#include "kernels/amp/amp.h"
#include "lib/core/base/error.h"

/** Check that a machine can have these options, and convert them to the ones
 * that it uses: init_scale is rounded to float32, unless the machine computes
 * in binary64.
 *  @param on_device  the machine will run on float32 words: options with
 *                    binary64 are then refused unless these words take the same
 *                    steps as doubles, bit for bit
 *  @param what       begins the text of an error: "scaler_create"
 *  @return SSQ_ERR_INVALID with the name and the value of the first field that
 *          is refused, for example struct_size */
ssq_status options_check(ssq_scaler_options *options, bool on_device,
                         const char *what);

/** Write the words that options determine (from SCALER_UP_HI on, except for
 *  SCALER_POISON), and 0 into all others. The options have been checked. */
void options_words(const ssq_scaler_options *options,
                   uint32_t words[SCALER_WORDS]);

/** Set the initial state of a machine: all counts 0, init_scale, and the whole
 *  allowance of overflows. */
void state_begin(const ssq_scaler_options *options, ssq_scaler_state *state);

/** Return SSQ_ERR_INVALID unless a machine with these options can reach that
 *  state. States come from callers and files, and a machine is undefined if it
 *  begins in a state that it cannot reach. struct_size is not checked.
 *  @param on_device  the scale is stored as a float32, for any options
 *  @param what       begins the text */
ssq_status state_check(const ssq_scaler_options *options, bool on_device,
                       const ssq_scaler_state *state, const char *what);

/** Write the words that options_words() set to 0. The scale is rounded to
 * float32, and the overflow flag is clear. */
void state_words(const ssq_scaler_options *options,
                 const ssq_scaler_state *state, uint32_t words[SCALER_WORDS]);
/** Set a state from the words of a machine; struct_size is unchanged. */
void words_state(const uint32_t words[SCALER_WORDS], ssq_scaler_state *state);

/** Return SSQ_OK, or SSQ_ERR_SCALE with a text if the state has events. If
 * there are two, the text is about the floor. */
ssq_status state_events(const ssq_scaler_state *state, const char *what);

#endif
