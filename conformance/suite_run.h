/* SPDX-License-Identifier: Apache-2.0 */
/* suite_run.h - the harness's machinery, for the runner and the sesqui tool. */
#ifndef CONFORMANCE_SUITE_RUN_H
#define CONFORMANCE_SUITE_RUN_H

#include "conformance/suite.h"

/** The state that one case shares between its runs. */
struct harness_state *harness_state_create(void);
void harness_state_destroy(struct harness_state *s);
/** Before the first device's run of a case: forget the last case. flushed: the
 *  next runs are on devices that flush float32 subnormals, and of the
 *  reference that they are compared with. */
void harness_case_begin(struct harness_state *s, bool flushed);
/** Run case i on b's device; b->text says why not. required: UNSUPPORTED is a
 *  failure. */
bool harness_run(struct harness *b, const struct suite *suite, size_t i,
                 bool required);
/** Seconds of each timed run of the last HARNESS_OP in bench mode, and of the
 * peer after each, 0 without one. */
int harness_times(const struct harness *b, const double **seconds,
                  const double **peer);

#endif
