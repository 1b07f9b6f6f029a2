/* SPDX-License-Identifier: Apache-2.0 */
/* sesqui.h - includes the headers of libsesqui that most programs need.
 *
 * Start at status.h for the error convention, then device.h, tensor.h, ops.h
 * and amp.h.
 *
 * Include these headers of sesqui/ separately: data.h, dlpack.h, share.h,
 * init.h and sesqui.hpp (C++); cpu.h, cuda.h, opencl.h and vulkan.h (backends);
 * mpi.h and nccl.h (transports). */
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
