/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.h - a test of a device's arithmetic, and its result.
 *
 * Before a device with kernels is opened, it is tested. Test kernels
 * (kernels/certify/certify_*.k) run the primitives that all kernels rely on.
 * They have the same shapes as the library's kernels. Their results are
 * compared bit by bit with the same sources compiled as C. The result is kept
 * in this process and on disk. It is valid for one driver, one version of it,
 * and one version of the library. */
#ifndef LIB_CERTIFY_CERTIFICATE_H
#define LIB_CERTIFY_CERTIFICATE_H

#include "lib/core/module/cache_key.h"

struct certificate {
    struct findings found;
    /* Names of the primitives that are wrong: "floor, ceil". "": none. */
    char failed[256];
    /* The result of `sesqui certify` for all tables of ops.
     * certification_failed: a case failed. certification: a line for each
     * table; "" before the first run. */
    bool certification_failed;
    char certification[4096];
};

/** Fill *key for a device's certificate. */
void certificate_key(const struct backend *b, const struct backend_device *d,
                     struct cache_key *key);
/** Get a device's certificate: from memory, from disk, or by a test.
 *  Thread-safe: if two threads open the same device, one runs the test and the
 *  other waits for its result.
 *  @return SSQ_OK, or the error of the device if the test could not run */
ssq_status certificate_get(const struct backend *b, struct backend_device *d,
                           struct certificate *c);
/** Replace the kept certificate with c, in memory and on disk. False: no file
 *  could be written, so that only this process may remember it. Thread-safe. */
bool certificate_keep(const struct backend *b, const struct backend_device *d,
                      const struct certificate *c);
/** Forget the certificates that this process remembers; for tests. */
void certificate_forget(void);

/** Run the self-test (certify.c) and fill *c. *sure becomes false if a kernel
 *  did not compile: another run may differ, so the result must not be stored. A
 *  wrong primitive is not an error; its name is in c->failed.
 *  @return SSQ_ERR_NOMEM, or the error of the device */
ssq_status certify_run(const struct backend *b, struct backend_device *d,
                       struct certificate *c, bool *sure);

#endif
