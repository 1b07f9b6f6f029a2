/* SPDX-License-Identifier: Apache-2.0 */
/* certification.c - the result of `sesqui certify`, kept with the certificate.
 *
 * Each open device has a copy of its certificate. A certification result that
 * is kept through one handle is visible to devices that are opened later, but
 * not to others that are already open. */
#include "lib/core/core.h"

#include <stdio.h>
#include <string.h>

ssq_status ssq_device_verdict_get(const ssq_device *device, ssq_verdict *result)
{
    if (device == NULL || result == NULL ||
        result->struct_size != sizeof(*result))
        return error_set(SSQ_ERR_INVALID, "device_verdict_get: an argument is "
                                          "NULL or has a wrong struct_size");
    const struct certificate *c = &device->certificate;
    ssq_verdict v = SSQ_VERDICT_INIT;
    v.passed = c->certification[0] != '\0' && !c->certification_failed;
    snprintf(v.text, sizeof(v.text), "%s", c->certification);
    *result = v;
    return SSQ_OK;
}

ssq_status ssq_device_verdict_keep(ssq_device *device,
                                   const ssq_verdict *result)
{
    if (device == NULL || result == NULL ||
        result->struct_size != sizeof(*result))
        return error_set(SSQ_ERR_INVALID, "device_verdict_keep: an argument is "
                                          "NULL or has a wrong struct_size");
    if (result->text[0] == '\0' ||
        !cache_text(result->text, sizeof(result->text)))
        return error_set(SSQ_ERR_INVALID,
                         "device_verdict_keep: the text is empty or not of "
                         "printable ASCII");
    if (device->backend->identify == NULL)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "device_verdict_keep: no verdict is kept for %s",
                         device->props.name);
    ssq_status st = device_check(device, "device_verdict_keep");
    if (st != SSQ_OK)
        return st;
    struct certificate *c = &device->certificate;
    c->certification_failed = !result->passed;
    snprintf(c->certification, sizeof(c->certification), "%s", result->text);
    if (certificate_keep(device->backend, device->impl, c))
        return SSQ_OK;
    return error_set(SSQ_ERR_UNSUPPORTED,
                     "device_verdict_keep: there is no cache to keep it in: "
                     "SSQ_CACHE is 0, or $XDG_CACHE_HOME/sesqui and "
                     "~/.cache/sesqui cannot be written");
}
