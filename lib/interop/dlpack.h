/* SPDX-License-Identifier: Apache-2.0 */
/* dlpack.h - devices and dtypes of DLPack, for the export and the import. */
#ifndef LIB_INTEROP_DLPACK_H
#define LIB_INTEROP_DLPACK_H

#include <sesqui/dlpack.h>

#include "lib/core/core.h"

/** Return the DLPack device of a library device. Returns SSQ_ERR_UNSUPPORTED if
 *  its memory cannot be exchanged. `what` begins error texts. */
ssq_status dlpack_device(const ssq_device *device, const char *what,
                         DLDevice *dl);
/** Set *dtype to the dtype of a DLDataType. Returns SSQ_ERR_UNSUPPORTED if
 *  tensors do not support it. The error text contains its name. */
ssq_status dlpack_dtype_read(DLDataType dl, const char *what, ssq_dtype *dtype);
/** Return the DLDataType of a dtype that tensors can have. */
DLDataType dlpack_dtype(ssq_dtype dtype);
/** Return the name of a kind of device, for example "kDLCUDA". */
const char *dlpack_device_name(DLDeviceType type);

#endif
