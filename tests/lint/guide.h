/* SPDX-License-Identifier: Apache-2.0 */
/* guide.h - what surrounds a fragment of C in doc/: guide.sh includes it, puts
 * the fragment into guide_fragment() and runs that on real devices. */
#ifndef TESTS_LINT_GUIDE_H
#define TESTS_LINT_GUIDE_H

#include "tests/lint/page.h"

ssq_status guide_fragment(void);

int main(int argc, char **argv)
{
    ssq_status st = page_open(argc > 1 ? argv[1] : "auto");
    if (st == SSQ_OK)
        st = guide_fragment();
    if (st == SSQ_OK)
        st = ssq_queue_sync(q);
    if (st != SSQ_OK)
        fprintf(stderr, "%s: %s\n", ssq_status_name(st), ssq_last_error());
    return st != SSQ_OK; /* the process frees the rest */
}

#endif
