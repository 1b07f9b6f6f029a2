/* SPDX-License-Identifier: Apache-2.0 */
/* autocast.c - regions with different policies, and the dtypes that a policy
 * decides for a call.
 *
 * A policy's text is parsed when it is used first, into a table of classes that
 * the tape keeps. A later push of the same text allocates nothing. */
#include "lib/tape/tape.h"

#include "lib/amp/policy/policy.h"
#include "lib/tape/rules.h"

#include <stdio.h>
#include <string.h>

/* ---- policies ---- */

static size_t autocast_count(const struct tape_op *const *ops)
{
    size_t n = 0;
    while (ops[n] != NULL)
        n++;
    return n;
}

/* A byte of the table contains the op's class under the policy, and flags that
 * do not depend on the policy.
 *
 * ONE_DTYPE  operands must be cast even if the policy moves the op to another
 *            class. The default class is half, for example of matmuls and
 *            convolutions, which need operands of one dtype; or the result must
 *            have the operand's dtype, for example of max.
 * JOINED     the result has the promoted dtype of all operands. The default
 *            class is promote, or operands are broadcast to each other, or
 *            ONE_DTYPE. The result of other ops has the dtype of x, for example
 *            of a norm. */
#define CLASS     3u
#define ONE_DTYPE 4u
#define JOINED    8u

/* Return the flags of an op with this default class; NULL: concat. */
static unsigned autocast_flags(const struct tape_op *op, ssq_op_class own)
{
    bool one = own == SSQ_CLASS_HALF;
    for (size_t i = 0; op != NULL && i < op->nslots; i++)
        one = one || op->slots[i].cast == CAST_SAME;
    if (one)
        return ONE_DTYPE | JOINED;
    bool broadcast = op != NULL && op->rule[0] == rule_broadcast;
    return own == SSQ_CLASS_PROMOTE || broadcast ? JOINED : 0;
}

static ssq_status autocast_read_policy(const ssq_tape *t, const char *name,
                                       size_t n, struct autocast *a)
{
    ssq_policy p = SSQ_POLICY_INIT;
    enum policy_scale scale = POLICY_SCALE_DEFAULT;
    if (name == NULL) /* only for the flags */
        name = "float32";
    ssq_status st = policy_read("autocast", name, &p, &scale);
    if (st == SSQ_OK && scale != POLICY_SCALE_DEFAULT)
        st = error_set(SSQ_ERR_INVALID,
                       "autocast: \"%.200s\" has loss_scale, which is for the "
                       "policy of a trainer: a region has none",
                       name);
    a->compute = p.compute;
    for (size_t i = 0; i <= n && st == SSQ_OK; i++) {
        const struct tape_op *is_op = i < n ? t->ops[i] : NULL;
        const char *op = i < n ? is_op->name : "concat";
        ssq_op_class own = SSQ_CLASS_ANY, is = SSQ_CLASS_ANY;
        st = ssq_policy_op_class(op, &own);
        if (st == SSQ_OK)
            st = ssq_policy_class(name, op, &is);
        a->classes[i] = (uint8_t)((unsigned)is | autocast_flags(is_op, own));
    }
    return st;
}

static struct autocast **known(const ssq_tape *t)
{
    return t->policies.at;
}

/* Set *i to a policy's index in the tape's list. A new policy is added. */
static ssq_status autocast_find(ssq_tape *t, const char *name, uint32_t *i)
{
    for (*i = 0; *i < t->policies.n; ++*i) {
        const char *has = known(t)[*i]->name;
        if (has == NULL ? name == NULL : name != NULL && strcmp(has, name) == 0)
            return SSQ_OK;
    }
    size_t n = t->nops, bytes = sizeof(struct autocast) + n + 1;
    struct autocast *a = mem_alloc(bytes);
    char *text = name == NULL ? NULL : mem_strdup(name);
    ssq_status st = SSQ_OK;
    if (a == NULL || (name != NULL && text == NULL))
        st = error_nomem("autocast", bytes);
    if (st == SSQ_OK)
        st = autocast_read_policy(t, name, n, a);
    struct autocast **at =
        st == SSQ_OK ? list_add(&t->policies, 1, sizeof(struct autocast *))
                     : NULL;
    if (at == NULL) {
        mem_free(text);
        mem_free(a);
        return st == SSQ_OK ? SSQ_ERR_NOMEM : st;
    }
    a->name = text;
    *at = a;
    return SSQ_OK;
}

ssq_status autocast_begin(ssq_tape *t, const struct tape_op *const *ops,
                          const char *policy)
{
    uint32_t i;
    t->ops = ops;
    t->nops = autocast_count(ops);
    ssq_status st = autocast_find(t, policy, &i);
    if (st == SSQ_OK)
        autocast_reset(t);
    return st;
}

void autocast_reset(ssq_tape *t)
{
    t->regions.n = 0;
    t->autocast = known(t)[0];
}

void autocast_free(ssq_tape *t)
{
    for (size_t i = 0; i < t->policies.n; i++) {
        mem_free(known(t)[i]->name);
        mem_free(known(t)[i]);
    }
    list_free(&t->policies);
    list_free(&t->regions);
}

/* ---- regions ---- */

void ssq_tape_autocast_push_at(const char *where, ssq_tape *tape,
                               const char *policy)
{
    static const char op[] = "tape_autocast_push";
    uint32_t i = 0;
    if (tape == NULL || tape->status != SSQ_OK)
        return;
    ssq_status st = autocast_find(tape, policy, &i);
    uint32_t *at =
        st == SSQ_OK ? list_add(&tape->regions, 1, sizeof(*at)) : NULL;
    if (at == NULL) {
        latch(tape, st == SSQ_OK ? SSQ_ERR_NOMEM : st, where, op);
        return;
    }
    *at = i;
    tape->autocast = known(tape)[i];
}

void ssq_tape_autocast_pop_at(const char *where, ssq_tape *tape)
{
    static const char op[] = "tape_autocast_pop";
    if (tape == NULL || tape->status != SSQ_OK)
        return;
    if (tape->regions.n == 0) {
        latch(tape, error_set(SSQ_ERR_INVALID, "%s: nothing was pushed", op),
              where, op);
        return;
    }
    const uint32_t *outer = tape->regions.at;
    size_t n = --tape->regions.n;
    tape->autocast = known(tape)[n == 0 ? 0 : outer[n - 1]];
}

ssq_var ssq_var_autocast_at(const char *where, ssq_tape *tape, ssq_var made)
{
    ssq_tape_autocast_pop_at(where, tape);
    return tape == NULL || tape->status != SSQ_OK ? var_inert(tape) : made;
}

/* ---- decisions ---- */

/* Return whether a float32 region casts all operands to float32, as Keras's
 * dtype="float32" does. Outside of regions, the policy "float32" is not
 * special. */
static bool all_wide(const ssq_tape *t)
{
    return t->regions.n > 0 && t->autocast->name != NULL &&
           t->autocast->compute == SSQ_F32;
}

bool autocast_wide(const ssq_tape *t)
{
    return t->autocast->name == NULL || all_wide(t);
}

/* Return the common dtype of the present vars, or f32 if they differ. Operands
 * that are always float32 do not count. */
static ssq_dtype promoted(const struct casting *c, const ssq_dtype *dtype)
{
    ssq_dtype all = SSQ_F32;
    bool any = false;
    for (size_t k = 0; k < c->op->nslots; k++) {
        const struct tape_slot *s = &c->op->slots[k];
        if (s->role != SLOT_VAR || s->cast == CAST_FLOAT32 ||
            (c->present >> s->index & 1u) == 0)
            continue;
        if (any && dtype[s->index] != all)
            return SSQ_F32;
        all = dtype[s->index];
        any = true;
    }
    return all;
}

static bool needs_one_dtype(const ssq_tape *t, const struct tape_op *op)
{
    return (t->autocast->classes[op->number] & ONE_DTYPE) != 0;
}

static ssq_op_class class_of(const ssq_tape *t, const struct tape_op *op)
{
    return (ssq_op_class)(t->autocast->classes[op->number] & CLASS);
}

ssq_dtype autocast_operands(const ssq_tape *t, const struct casting *c)
{
    if (t->autocast->name == NULL)
        return (ssq_dtype)0;
    if (all_wide(t))
        return SSQ_F32;
    ssq_op_class is = class_of(t, c->op);
    if (is == SSQ_CLASS_HALF)
        return t->autocast->compute;
    if (is == SSQ_CLASS_ANY || !needs_one_dtype(t, c->op))
        return (ssq_dtype)0;
    return is == SSQ_CLASS_FLOAT32 ? SSQ_F32 : promoted(c, c->from);
}

static bool joins_operands(const ssq_tape *t, const struct tape_op *op)
{
    return (t->autocast->classes[op->number] & JOINED) != 0;
}

/* Implements the table of doc/design/semantics.md, which is the same for all
 * devices. If nothing is cast, results get the dtypes of the operands, as in
 * torch. */
ssq_dtype autocast_result(const ssq_tape *t, const struct casting *c)
{
    if (all_wide(t))
        return SSQ_F32;
    if (t->autocast->name == NULL)
        return joins_operands(t, c->op) ? promoted(c, c->to) : c->to[0];
    switch (class_of(t, c->op)) {
    case SSQ_CLASS_FLOAT32:
        return SSQ_F32;
    case SSQ_CLASS_PROMOTE:
        return promoted(c, c->to);
    default:
        return c->to[0];
    }
}

/* The copy of the operands also converts them. */
ssq_dtype autocast_joined(const ssq_tape *t, ssq_dtype common)
{
    if (t->autocast->name == NULL)
        return common;
    ssq_op_class is = (ssq_op_class)(t->autocast->classes[t->nops] & CLASS);
    if (all_wide(t) || is == SSQ_CLASS_FLOAT32)
        return SSQ_F32;
    return is == SSQ_CLASS_HALF ? t->autocast->compute : common;
}

/* ---- SSQ_VERBOSE=autocast ---- */

static void autocast_add(char *text, size_t room, const char *format,
                         const char *a, const char *b, const char *c)
{
    size_t n = strlen(text);
    (void)snprintf(text + n, room - n, format, a, b, c);
}

/* "net.c:7: block1: gemm is half under mixed_float16: a f32 -> f16, b f16,
 * bias f32 (left as it is); d f16" */
void autocast_tell(const ssq_tape *t, const char *where,
                   const struct casting *c, ssq_dtype result)
{
    char text[ERROR_TEXT] = "", why[96];
    const char *name = t->autocast->name;
    if (name == NULL)
        (void)snprintf(why, sizeof(why), ": autocast is off");
    else
        (void)snprintf(why, sizeof(why), " is %s under %.64s",
                       all_wide(t) ? "float32 as all ops"
                                   : ssq_op_class_name(class_of(t, c->op)),
                       name);
    ssq_dtype want = autocast_operands(t, c);
    const char *made = "";
    for (size_t i = 0; i < c->op->nslots; i++) {
        const struct tape_slot *s = &c->op->slots[i];
        if (s->role == SLOT_RESULT && s->index == 0)
            made = s->name;
        if (s->role != SLOT_VAR || (c->present >> s->index & 1u) == 0)
            continue;
        ssq_dtype from = c->from[s->index], to = c->to[s->index];
        autocast_add(text, sizeof(text), "%s %s %s", *text == '\0' ? "" : ",",
                     s->name, ssq_dtype_name(from));
        if (from != to)
            autocast_add(
                text, sizeof(text), " -> %s%s%s", ssq_dtype_name(to),
                (c->again >> s->index & 1u) != 0 ? " (made before)" : "", "");
        else if (want != 0 && want != from)
            autocast_add(text, sizeof(text), " (left as it is)%s%s%s", "", "",
                         "");
    }
    log_line(SSQ_LOG_DEBUG, "autocast", "%s: %s%s%s%s:%s; %s %s", where,
             t->scope, t->scope[0] == '\0' ? "" : ": ", c->op->name, why, text,
             made, ssq_dtype_name(result));
}
