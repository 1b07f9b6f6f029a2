/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.c - <sesqui/cpu.h>. Only the backend interprets the options. */
#include <sesqui/cpu.h>

#include "lib/core/device/native.h"

/* Refuse options that contradict each other or are out of range. Otherwise they
 * would be ignored silently. */
static ssq_status cpu_check(const ssq_cpu_options *o)
{
    if (o == NULL)
        return SSQ_OK;
    if (o->struct_size != sizeof(*o))
        return error_set(SSQ_ERR_INVALID,
                         "cpu_device_open: struct_size is %zu, expected %zu",
                         o->struct_size, sizeof(*o));
    if (o->threads > SSQ_CPU_THREADS)
        return error_set(SSQ_ERR_INVALID,
                         "cpu_device_open: %u threads, at most %d",
                         (unsigned)o->threads, SSQ_CPU_THREADS);
    if (o->parallel_for == NULL && (o->user != NULL || o->survives_fork))
        return error_set(SSQ_ERR_INVALID,
                         "cpu_device_open: %s is set, parallel_for is NULL",
                         o->user != NULL ? "user" : "survives_fork");
    return SSQ_OK;
}

ssq_status ssq_cpu_device_open(const ssq_cpu_options *cpu,
                               const ssq_device_options *options,
                               ssq_device **device)
{
    const void *const handles[] = {cpu};
    if (device == NULL)
        return error_set(SSQ_ERR_INVALID, "cpu_device_open: device is NULL");
    ssq_status st = cpu_check(cpu);
    return st == SSQ_OK ? native_device_open("cpu", handles, options,
                                             "cpu_device_open", device)
                        : st;
}

ssq_status ssq_cpu_info_get(const ssq_device *device, ssq_cpu_info *info)
{
    if (info == NULL || info->struct_size != sizeof(*info))
        return error_set(SSQ_ERR_INVALID,
                         "cpu_info_get: info is NULL or has a wrong "
                         "struct_size");
    return native_device_info("cpu", device, info, "cpu_info_get");
}
