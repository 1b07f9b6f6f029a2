/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.h - what a device's arithmetic was found to be.
 *
 * Before a device that runs kernels is opened, the primitives that the texts
 * rely on are run on it in kernels of the texts' own shapes
 * (kernels/certify/certify_*.k), and compared bit for bit with the same texts
 * compiled as C. What was found is kept for this process, and on disk, for the
 * driver, its version and the library's. */
#ifndef LIB_CERTIFY_CERTIFICATE_H
#define LIB_CERTIFY_CERTIFICATE_H

#include "lib/core/backend.h"

struct certificate {
    struct findings found;
    /* names of the primitives that are wrong: "floor, ceil"; "" for none */
    char failed[256];
    /* what `sesqui certify` found in all tables of ops, "" before it ran */
    bool verdict_bad;
    char verdict[4096];
};

/** Everything that a certificate depends on. */
struct certificate_key {
    char name[64]; /* of a file */
    char text[1536];
};
void certificate_key(const struct backend *b, const struct backend_device *d,
                     struct certificate_key *key);

/** A device's certificate: as this process remembers it, as the disk has it,
 *  or found now. Thread-safe.
 *  @return what the device answered if the test could not be run */
ssq_status certificate_get(const struct backend *b, struct backend_device *d,
                           struct certificate *c);
/** Keep c, whole, in place of what was kept. False: for this process alone. */
bool certificate_keep(const struct backend *b, const struct backend_device *d,
                      const struct certificate *c);
/** May a file keep such a text of so many bytes? */
bool certificate_text(const char *text, size_t bytes);
/** Forget what this process remembers; for tests. */
void certificate_forget(void);

/** certify.c: run the self-test. *sure is false if the answer may be another
 *  the next time. */
ssq_status certify_run(const struct backend *b, struct backend_device *d,
                       struct certificate *c, bool *sure);

#endif
