/* SPDX-License-Identifier: Apache-2.0 */
/* sesqui.h - the backend-neutral API of libsesqui, whole.
 *
 * Start at status.h for the error convention, then device.h, tensor.h, ops.h
 * and amp.h. */
#ifndef SESQUI_H
#define SESQUI_H

#define SSQ_VERSION_MAJOR 0
#define SSQ_VERSION_MINOR 1
#define SSQ_VERSION_PATCH 0

#include <sesqui/status.h>
#include <sesqui/dtype.h>
#include <sesqui/device.h>
#include <sesqui/tensor.h>
#include <sesqui/graph.h>
#include <sesqui/ops.h>
#include <sesqui/pack.h>
#include <sesqui/tune.h>
#include <sesqui/amp.h>
#include <sesqui/comm.h>
#include <sesqui/trainer.h>
#include <sesqui/checkpoint.h>
#include <sesqui/gradcheck.h>

#endif
