/* SPDX-License-Identifier: Apache-2.0 */
/* amp.h - mixed precision: includes policies, the loss scaler, optimizers with
 * float32 masters, and schedules.
 *
 *     policy.h     which dtype each op computes in
 *     scaler.h     the loss scale, and which steps are skipped
 *     optimizer.h  masters, moments, clipping, and the step
 *     schedule.h   learning rates that follow the number of steps
 *
 * A trainer (trainer.h) calls all of them in the right order. */
#ifndef SESQUI_AMP_H
#define SESQUI_AMP_H

#include <sesqui/amp/policy.h>
#include <sesqui/amp/scaler.h>
#include <sesqui/amp/optimizer.h>
#include <sesqui/amp/schedule.h>

#endif
