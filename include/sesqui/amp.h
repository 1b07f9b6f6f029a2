/* SPDX-License-Identifier: Apache-2.0 */
/* amp.h - mixed precision: policies, loss scaling, masters, optimizers. */
#ifndef SESQUI_AMP_H
#define SESQUI_AMP_H

#include <sesqui/amp/policy.h>
#include <sesqui/amp/scaler.h>
#include <sesqui/amp/optimizer.h>
#include <sesqui/amp/schedule.h>

#endif
