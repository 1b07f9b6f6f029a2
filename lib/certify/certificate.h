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
    /* what `sesqui certify` found in all tables of ops: bad if any case failed;
     * a line for each table, "" before it ran */
    bool verdict_bad;
    char verdict[4096];
};

/** Everything that a certificate depends on. The name is made of the device and
 *  its driver, the text also of this library's version and kernels: a file that
 *  another version left is found by its name, refused by its text, and
 *  replaced. */
struct certificate_key {
    char name[64]; /* of a file */
    char text[1536];
};
/** b->identify is there. */
void certificate_key(const struct backend *b, const struct backend_device *d,
                     struct certificate_key *key);
/** The same for another kind of file about a device, whose layout has this
 *  version; kind is a short word. Of a backend without identify, which is
 *  host code, the library's version is all there is. */
void certificate_key_for(const char *kind, unsigned version,
                         const struct backend *b,
                         const struct backend_device *d,
                         struct certificate_key *key);

/** A device's certificate: as this process remembers it, as the disk has it,
 *  or found now. Thread-safe: of two threads that open the same device one runs
 *  the test, and the other waits for what it finds.
 *  @return what the device answered if the test could not be run */
ssq_status certificate_get(const struct backend *b, struct backend_device *d,
                           struct certificate *c);
/** Keep c, whole, in place of what was kept. False if only this process will
 *  remember it, since no file could be written. Thread-safe. */
bool certificate_keep(const struct backend *b, const struct backend_device *d,
                      const struct certificate *c);
/** May a file keep such a text? True if a NUL stands within so many bytes, and
 *  before it only printable ASCII and ends of lines: the text is shown on
 *  terminals, and a damaged file must not have more. */
bool certificate_text(const char *text, size_t bytes);
/** Forget what this process remembers; for tests. */
void certificate_forget(void);

/** certify.c: run the self-test. *sure is false if the answer may be another
 *  the next time, as a kernel did not compile: it is then not to be stored.
 *  @return NOMEM, or what the device answered; a primitive that is wrong is no
 *          error, but is named in c->failed */
ssq_status certify_run(const struct backend *b, struct backend_device *d,
                       struct certificate *c, bool *sure);

#endif
