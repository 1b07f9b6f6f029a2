/* SPDX-License-Identifier: Apache-2.0 */
/* perform.c - a call that is put together is made on both sides. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/call.h"
#include "tests/fuzz/values.h"

void call_tensors(struct call *c)
{
    for (unsigned i = 0; i < c->n; i++) {
        struct fuzz_operand *x = &c->x[i];
        ssq_status st[SIDES];
        if (!x->used)
            continue;
        for (unsigned s = 0; s < SIDES; s++)
            st[s] = ssq_tensor_from_buffer(c->pair->buffer[x->buffer][s],
                                           x->dtype, x->rank, x->shape,
                                           x->strides, x->at, &x->tensor[s]);
        if (pair_same("tensor_from_buffer", st[0], st[1]) != SSQ_OK)
            fuzz_fail("a tensor in a buffer is refused");
    }
}

/* Indices and steps that mean something; floats now and then. */
void call_prepare(struct call *c, struct fuzz_operand *x)
{
    static uint8_t all[OPERANDS][BUFFER_BYTES];
    uint8_t *bytes = all[x - c->x]; /* untouched until the next comparison */
    unsigned b = input_byte(c->in), kind = 4;
    bool repeated = false;
    for (int i = 0; i < x->rank; i++)
        repeated = repeated || (x->strides[i] == 0 && x->shape[i] > 1);
    if (!x->used || repeated || c->pair->capturing)
        return;
    if (x->dtype == SSQ_U8)
        kind = 5;
    else if (x->dtype != SSQ_I32)
        kind = x->dtype == SSQ_F32 ? 0 : x->dtype == SSQ_F16 ? 1 : 2;
    if (b < 128 && kind < 4)
        return;
    if (b >= 224)
        kind = 3 + b % 4;
    values_make(bytes, BUFFER_BYTES, kind, b);
    (void)!pair_write(c->pair, x->tensor, bytes,
                      (size_t)operand_elements(x) * cell_bytes(x->dtype),
                      x->dtype);
}

/* The arguments of one side. */
void call_bind(const struct call *c, unsigned side, uint8_t *args,
               const ssq_tensor **list)
{
    unsigned wrong = c->base_rank < 0 && c->pair->device[0] != NULL;
    memcpy(args, c->args.bytes, c->op->bytes);
    for (unsigned i = 0; i < c->n; i++) {
        const struct fuzz_operand *x = &c->x[i];
        const ssq_tensor *t =
            !x->used ? NULL : x->tensor[wrong && i == 0 ? !side : side];
        if (i >= c->n - c->listed)
            list[i - (c->n - c->listed)] = t;
        else
            memcpy(args + x->field->at, &t, sizeof(t));
    }
    if (c->listed > 0)
        memcpy(args + c->x[c->n - 1].field->at, &list, sizeof(list));
}

void call_end(struct call *c)
{
    for (unsigned i = 0; i < c->n; i++)
        for (unsigned s = 0; s < SIDES; s++)
            ssq_tensor_destroy(&c->x[i].tensor[s]);
}

static void describe(const struct call *c)
{
    fuzz_trace("%s:", c->op->name);
    for (unsigned i = 0; i < c->n; i++) {
        const struct fuzz_operand *x = &c->x[i];
        char text[256];
        int at = 0;
        for (int k = 0; k < x->rank; k++)
            at += snprintf(text + at, sizeof(text) - (size_t)at, "%s%lld/%lld",
                           k > 0 ? " " : "", (long long)x->shape[k],
                           (long long)x->strides[k]);
        text[at] = '\0';
        if (x->used)
            fuzz_trace("    %s %s %s [%s] in buffer %u from byte %zu",
                       x->field->name,
                       x->field->role == ROLE_OUT ? "out" : "in",
                       ssq_dtype_name(x->dtype), text, x->buffer, x->at);
    }
    for (const struct field *f = c->op->fields; f->name[0] != '\0'; f++) {
        const uint8_t *at = c->args.bytes + f->at;
        double d = 0;
        if (f->kind == FIELD_DOUBLE)
            memcpy(&d, at, sizeof(d));
        for (unsigned i = 0; i < f->count && f->kind >= FIELD_AXES; i++)
            fuzz_trace("    %s %.17g", f->name,
                       f->kind == FIELD_DOUBLE
                           ? d
                           : (double)call_load(at + i * (f->bytes / f->count),
                                               f->bytes / f->count));
    }
}

static void loosen(struct call *c)
{
    for (unsigned i = 0; i < c->n; i++)
        if (c->x[i].used && c->x[i].field->role == ROLE_OUT)
            memset(c->pair->loose[c->x[i].buffer] + c->x[i].at, 1,
                   c->x[i].extent);
}

static void check_text(const struct call *c, ssq_status st)
{
    char name[40];
    const char *text = ssq_last_error();
    snprintf(name, sizeof(name), "%s", c->op->name);
    fuzz_trace("    %s: %s", ssq_status_name(st), text);
    if (strstr(text, name) == NULL)
        fuzz_fail("%s: the text of %s does not name the op", c->op->name,
                  ssq_status_name(st));
}

static struct {
    unsigned long done, refused;
} tally[256];

/* How often each op ran: a rule for its shapes may be missing. */
static void print_tally(void)
{
    for (size_t i = 0; i < fuzz_ops_count; i++)
        fprintf(stderr, "fuzz: %s: %lu done, %lu refused\n", fuzz_ops[i].name,
                tally[i].done, tally[i].refused);
}

static void count(const struct call *c, ssq_status st)
{
    static bool registered;
    size_t i = (size_t)(c->op - fuzz_ops) % 256;
    if (!registered && getenv("SSQ_FUZZ_OPS") != NULL)
        atexit(print_tally);
    registered = true;
    fuzz_counts.calls++;
    fuzz_counts.done += st == SSQ_OK;
    fuzz_counts.refused += st != SSQ_OK;
    fuzz_counts.unsupported += st == SSQ_ERR_UNSUPPORTED;
    tally[i].done += st == SSQ_OK;
    tally[i].refused += st != SSQ_OK;
}

static void run(struct call *c)
{
    static union {
        double align;
        uint8_t bytes[ARGS_BYTES];
    } args;
    struct pair *p = c->pair;
    const ssq_tensor *list[LISTED];
    ssq_status st[SIDES];
    describe(c);
    for (unsigned s = 0; s < SIDES; s++) {
        call_bind(c, s, args.bytes, list);
        st[s] = c->op->call(p->queue[s], args.bytes);
        if (st[s] != SSQ_OK)
            check_text(c, st[s]);
    }
    count(c, st[0]);
    bool loose = c->op->class_of == CLASS_R && !p->same_bits;
    if (!p->same_bits && st[0] == SSQ_OK && st[1] == SSQ_ERR_UNSUPPORTED)
        loose = true;
    else if (pair_same(c->op->name, st[0], st[1]) != SSQ_OK)
        loose = false;
    if (loose)
        loosen(c);
    if (!p->capturing && (p->every || loose))
        pair_compare(p, c->op->name, st[0] == SSQ_OK || !p->every);
}

void call_perform(struct call *c)
{
    struct pair *p = c->pair;
    call_tensors(c);
    for (unsigned i = 0; i < c->n; i++)
        if (c->x[i].field->role == ROLE_IN)
            call_prepare(c, &c->x[i]);
    if (!p->capturing)
        pair_settle(p);
    run(c);
    call_end(c);
}
