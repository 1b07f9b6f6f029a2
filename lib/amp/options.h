/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - a scaler's options and state, checked, and as words.
 *
 * The public structs are what callers fill in; the words, u32 [SCALER_WORDS] of
 * kernels/amp/amp.h, are what the devices compute with. The words are those of
 * a float32 machine: one that computes in binary64 keeps its scales beside them
 * (simulate.c), or is followed by them exactly (on_device below). Arithmetic is
 * done in the default floating-point modes, whatever the caller has set. */
#ifndef LIB_AMP_OPTIONS_H
#define LIB_AMP_OPTIONS_H

#include <sesqui/amp/scaler.h>

#include "kernels/amp/amp.h"
#include "lib/core/error.h"

/** Check that the machine can have these options. Those that pass are made what
 *  it uses: init_scale is rounded to float32, unless it computes in binary64.
 *  @param on_device  the machine will run on float32 words: options with
 *                    binary64 are then refused unless these words take the
 *                    same steps as doubles do, bit for bit
 *  @param what       begins the text of an error: "scaler_create"
 *  @return SSQ_ERR_INVALID with the name and the value of the first field that
 *          is refused; struct_size is one of them */
ssq_status options_check(ssq_scaler_options *options, bool on_device,
                         const char *what);

/** Write the words that options decide (from SCALER_UP_HI on, but for
 *  SCALER_POISON), and 0 into all others. The options have been checked. */
void options_words(const ssq_scaler_options *options,
                   uint32_t words[SCALER_WORDS]);

/** The state that a machine begins with: nothing counted, init_scale, and the
 *  whole allowance of overflows. */
void state_begin(const ssq_scaler_options *options, ssq_scaler_state *state);

/** INVALID unless a machine with these options can be in that state: a state
 *  comes from callers and from files, and a machine that begins where it never
 *  gets by itself would be undefined. struct_size is not looked at.
 *  @param on_device  the scale is kept as a float32, whatever the options say
 *  @param what       begins the text */
ssq_status state_check(const ssq_scaler_options *options, bool on_device,
                       const ssq_scaler_state *state, const char *what);

/** Write the words that options_words left 0; the scale is rounded to float32,
 *  and no verdict waits. */
void state_words(const ssq_scaler_options *options,
                 const ssq_scaler_state *state, uint32_t words[SCALER_WORDS]);
/** Fill a state from the words of a machine; struct_size stays as it is. */
void words_state(const uint32_t words[SCALER_WORDS], ssq_scaler_state *state);

/** SSQ_OK, or SSQ_ERR_SCALE with its text when the state has events; of two
 *  kinds the text tells of the floor. */
ssq_status state_events(const ssq_scaler_state *state, const char *what);

#endif
