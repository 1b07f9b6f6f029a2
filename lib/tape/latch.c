/* SPDX-License-Identifier: Apache-2.0 */
/* latch.c - the first error in a pass, which ends it. */
#include "lib/tape/tape.h"

#include <stdio.h>
#include <string.h>

ssq_var var_inert(ssq_tape *t)
{
    return (ssq_var){t, NONE, t == NULL ? 0 : t->pass};
}

/* The text is, for example, "net.c:12: block3: gemm: ..". If op is a call
 * without a place in the program, where is op, and the text begins with the
 * scope. The thread's error text is copied first, because error_set()
 * overwrites it. */
void latch(ssq_tape *t, ssq_status status, const char *where, const char *op)
{
    if (t->status != SSQ_OK)
        return;
    char text[ERROR_TEXT];
    (void)snprintf(text, sizeof(text), "%s", ssq_last_error());
    size_t n = strlen(op);
    bool named = strncmp(text, op, n) == 0 && text[n] == ':';
    bool scoped = t->scope[0] != '\0', placed = strcmp(where, op) != 0;
    t->status = error_set(status, "%s%s%s%s%s%s%s", placed ? where : "",
                          placed ? ": " : "", t->scope, scoped ? ": " : "",
                          named ? "" : op, named ? "" : ": ", text);
    (void)snprintf(t->text, sizeof(t->text), "%s", ssq_last_error());
}

void latch_node(ssq_tape *t, ssq_status status, const struct node *n)
{
    if (t->status == SSQ_OK)
        (void)snprintf(t->scope, sizeof(t->scope), "%s", node_scope(t, n));
    latch(t, status, n->where, n->op->name);
}

ssq_status ssq_tape_status(const ssq_tape *tape)
{
    if (tape == NULL)
        return error_set(SSQ_ERR_INVALID, "tape_status: tape is NULL");
    return tape->status == SSQ_OK ? SSQ_OK
                                  : error_set(tape->status, "%s", tape->text);
}
