/* SPDX-License-Identifier: Apache-2.0 */
/* second.c - walk from a loss to its operands and create gradients as vars,
 * with the rule of each op. */
#include "lib/tape/second.h"

#include <string.h>

/* Find an op's rule by name. The table of ops cannot contain rules, because
 * rules use the ops. */
static second_fn *rule_of(const struct tape_op *op)
{
    static const struct {
        const char *op;
        second_fn *rule;
    } all[] = {
#define LINE(OP) {#OP, second_##OP},
        SECOND_RULES(LINE)
#undef LINE
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strcmp(all[i].op, op->name) == 0)
            return all[i].rule;
    return NULL;
}

/* Apply the rule of a node. Only a result that the loss depends on has a
 * gradient. Ops with several results have no rule. */
static void second_step(ssq_tape *t, const struct node *n)
{
    union {
        char bytes[TAPE_ARGS];
        max_align_t align;
    } args;
    struct chain c = {.t = t, .n = *n, .args = args.bytes};
    bool there = false;
    for (unsigned i = 0; i < n->op->nouts; i++)
        there = there ||
                (n->out[i] != NONE && value_of(t, n->out[i])->slope != NONE);
    if (!there || !node_sought(t, n))
        return;
    second_fn *rule = rule_of(n->op);
    if (rule == NULL) {
        latch_node(t,
                   error_set(SSQ_ERR_UNSUPPORTED,
                             "it has no second derivative: no gradient of "
                             "its gradients"),
                   n);
        return;
    }
    c.dy = var_of(t, value_of(t, n->out[0])->slope);
    if (n->op->bytes > 0)
        memcpy(args.bytes, node_args(t, n), n->op->bytes);
    char outer[sizeof(t->scope)];
    memcpy(outer, t->scope, sizeof(outer));
    memcpy(t->scope, node_scope(t, n), strlen(node_scope(t, n)) + 1);
    rule(&c);
    memcpy(t->scope, outer, sizeof(outer));
}

/* Only existing nodes are walked, because rules append nodes. */
ssq_status second_walk(ssq_tape *t, const char *where, uint32_t loss,
                       uint32_t seed)
{
    value_of(t, loss)->slope = seed;
    ssq_tape_autocast_push_at(where, t, NULL);
    size_t stretches = t->stretches.n;
    for (size_t i = t->nodes.n; i-- > 0 && t->status == SSQ_OK;) {
        struct node n = *node_of(t, (uint32_t)i);
        ssq_status st = SSQ_OK;
        if (stretch_at(t, (uint32_t)i, &stretches) != NULL)
            st = stretch_keep(t, stretches, &n);
        if (st == SSQ_OK)
            second_step(t, &n);
        else
            latch_node(t, st, &n);
    }
    ssq_tape_autocast_pop_at(where, t);
    return t->status;
}
