/* SPDX-License-Identifier: Apache-2.0 */
/* dlpack_types.c - the devices and dtypes of DLPack, and ours. */
#include "lib/interop/dlpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- devices ---- */

static const struct {
    const char *backend;
    DLDeviceType type;
} backends[] = {{"cpu", kDLCPU},
                {"reference", kDLCPU},
                {"cuda", kDLCUDA},
                {"opencl", kDLOpenCL},
                {"vulkan", kDLVulkan}};

/* The driver's number of the device; without one, the number in its name. */
static int32_t dlpack_types_number(const ssq_device *device)
{
    const char *colon = strchr(device->props.name, ':');
    if (device->backend->ordinal != NULL)
        return device->backend->ordinal(device->impl);
    return colon == NULL ? 0 : (int32_t)strtol(colon + 1, NULL, 10);
}

ssq_status dlpack_device(const ssq_device *device, const char *what,
                         DLDevice *dl)
{
    for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++)
        if (strcmp(backends[i].backend, device->backend->name) == 0) {
            *dl = (DLDevice){backends[i].type, dlpack_types_number(device)};
            return SSQ_OK;
        }
    return error_set(SSQ_ERR_UNSUPPORTED,
                     "%s: no other library can use the memory of %s", what,
                     device->props.name);
}

const char *dlpack_device_name(DLDeviceType type)
{
    static const char *const names[] = {
        "0",         "kDLCPU",      "kDLCUDA",   "kDLCUDAHost",    "kDLOpenCL",
        "5",         "6",           "kDLVulkan", "kDLMetal",       "kDLVPI",
        "kDLROCM",   "kDLROCMHost", "kDLExtDev", "kDLCUDAManaged", "kDLOneAPI",
        "kDLWebGPU", "kDLHexagon",  "kDLMAIA",   "kDLTrn"};
    return (unsigned)type < sizeof(names) / sizeof(names[0])
               ? names[(unsigned)type]
               : "an unknown kind";
}

/* ---- dtypes ---- */

static const struct {
    DLDataType dl;
    ssq_dtype dtype;
} dtypes[] = {
    {{kDLFloat, 32, 1}, SSQ_F32},   {{kDLFloat, 16, 1}, SSQ_F16},
    {{kDLBfloat, 16, 1}, SSQ_BF16}, {{kDLInt, 32, 1}, SSQ_I32},
    {{kDLUInt, 8, 1}, SSQ_U8},      {{kDLBool, 8, 1}, SSQ_U8}}; /* only read */

DLDataType dlpack_dtype(ssq_dtype dtype)
{
    size_t i = 0;
    while (dtypes[i].dtype != dtype)
        i++;
    return dtypes[i].dl;
}

/* Write the name of a dtype, for example "int64" or "float16 of 4 lanes". */
static void dlpack_types_describe(DLDataType dl, char *text, size_t bytes)
{
    static const char *const kinds[] = {"int",    "uint",    "float", "handle",
                                        "bfloat", "complex", "bool"};
    static const char *const small[] = {
        "float8_e3m4",     "float8_e4m3",     "float8_e4m3b11fnuz",
        "float8_e4m3fn",   "float8_e4m3fnuz", "float8_e5m2",
        "float8_e5m2fnuz", "float8_e8m0fnu",  "float6_e2m3fn",
        "float6_e3m2fn",   "float4_e2m1fn"};
    int n;
    if (dl.code <= kDLBool)
        n = snprintf(text, bytes, "%s%u", kinds[dl.code], (unsigned)dl.bits);
    else if (dl.code <= kDLFloat4_e2m1fn)
        n = snprintf(text, bytes, "%s", small[dl.code - kDLFloat8_e3m4]);
    else
        n = snprintf(text, bytes, "code %u with %u bits", (unsigned)dl.code,
                     (unsigned)dl.bits);
    if (dl.lanes != 1)
        (void)snprintf(text + n, bytes - (size_t)n, " of %u lanes",
                       (unsigned)dl.lanes);
}

ssq_status dlpack_dtype_read(DLDataType dl, const char *what, ssq_dtype *dtype)
{
    char text[64];
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++)
        if (dtypes[i].dl.code == dl.code && dtypes[i].dl.bits == dl.bits &&
            dtypes[i].dl.lanes == dl.lanes) {
            *dtype = dtypes[i].dtype;
            return SSQ_OK;
        }
    dlpack_types_describe(dl, text, sizeof(text));
    return error_set(SSQ_ERR_UNSUPPORTED,
                     "%s: the dtype is %s, expected float32, float16, "
                     "bfloat16, int32, uint8 or bool8",
                     what, text);
}
