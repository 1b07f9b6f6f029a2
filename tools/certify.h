/* SPDX-License-Identifier: Apache-2.0 */
/* certify.h - the two processes of `sesqui certify`. */
#ifndef TOOLS_CERTIFY_H
#define TOOLS_CERTIFY_H

#include "tools/tool.h"

/** Numbers of cases of one table. */
struct certify_counts {
    unsigned long cases, failed, skipped;
};

/** Run the tables on o->device, from table o->first on, counted from 1. This is
 *  the child process, which may end at any time. So lines are flushed before
 *  the next table runs:
 *  - "open" when the device was opened
 *  - "begin TABLE" and "end CASES FAILED SKIPPED" for every table
 *  - "at CASE OF FAILED" between them, some times a second
 *  - "done"
 *
 *  @return an exit_code */
int certify_child(const struct options *o);

#endif
