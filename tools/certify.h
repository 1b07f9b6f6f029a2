/* SPDX-License-Identifier: Apache-2.0 */
/* certify.h - the two processes of `sesqui certify`. */
#ifndef TOOLS_CERTIFY_H
#define TOOLS_CERTIFY_H

#include "tools/tool.h"

/** Of one table. */
struct certify_counts {
    unsigned long cases, failed, skipped;
};

/** What the child does: it runs the tables from o->first on, counted from 1,
 *  on o->device. It prints, a line each: "open" once the device was opened,
 *  "begin TABLE" and "end CASES FAILED SKIPPED" of every table, between them
 *  "at CASE OF FAILED" some times a second, and "done". Lines are flushed at
 *  once: the next thing may be the last. @return an exit_code */
int certify_child(const struct options *o);

#endif
