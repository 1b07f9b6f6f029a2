/* SPDX-License-Identifier: Apache-2.0 */
/* support.c - `sesqui support`: the dtypes that each implementation of an op
 * supports, and the cases that a device as a whole lacks.
 *
 * Every case of the tables is tried with every implementation, in a dry
 * capture: nothing is compiled or computed. If the contract refuses the calls
 * of a case, and they are refused, nothing is lacking. */
#include "conformance/suite_run.h"
#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>

#define DTYPES 5 /* f32 f16 bf16 i32 u8: values 1..5 */

/* The answer of an implementation to a case. The device's answer is the best of
 * all implementations, in this order.
 * - UNASKED: the case has no ops for this device.
 * - LACKS: others must do it (UNSUPPORTED).
 * - REFUSES: it is refused, as its contract says (INVALID).
 * - RUNS: it would run. */
enum answer { UNASKED, LACKS, REFUSES, RUNS, ANSWERS };

/* The answers of one implementation to a table. A case with two dtypes counts
 * for both.
 * - asked[d]: cases with an operand of dtype d
 * - taken[d]: the cases among these that it runs */
struct support_row {
    unsigned long asked[DTYPES + 1], taken[DTYPES + 1];
    unsigned long answered[ANSWERS]; /* cases by answer */
};

/* The state for one device. */
struct inquiry {
    struct harness harness;
    const struct options *options;
    bool *first; /* nothing was printed yet: JSON needs no comma */
    unsigned long answered[ANSWERS]; /* cases by the device's best answer */
};

/* A case counts as RUNS if some of its calls run and others are refused. */
static enum answer answer_of(const struct harness *b)
{
    if (b->failed || b->skipped)
        return LACKS;
    return b->taken > 0 ? RUNS : b->refused > 0 ? REFUSES : UNASKED;
}

/* Ask the pinned implementation about every case of a table. best[i] is the
 * best answer to case i so far, and why[i] its last refusal. */
static void support_ask(struct harness *b, const struct suite *s,
                        struct support_row *r, enum answer *best, char **why)
{
    for (size_t i = 0; i < s->n; i++) {
        harness_case_begin(b->state, false);
        harness_run(b, s, i, false);
        enum answer a = answer_of(b);
        best[i] = a > best[i] ? a : best[i];
        r->answered[a]++;
        if (a == LACKS) {
            free(why[i]);
            why[i] = strdup(b->text);
        }
        for (int d = 1; d <= DTYPES; d++) {
            bool of_dtype = (b->dtypes >> d & 1) != 0;
            r->asked[d] += of_dtype && (a == RUNS || a == LACKS);
            r->taken[d] += of_dtype && a == RUNS;
        }
    }
}

static void support_print_json(const struct harness *b, const struct suite *s,
                               const struct support_row *r, bool *first)
{
    printf("%s\n  {\"device\": \"%s\", \"op\": \"%s\", \"table\": \"%s\", "
           "\"implementation\": \"%s\", \"class\": \"%s\", \"run\": %lu, "
           "\"refused\": %lu, \"unsupported\": %lu",
           *first ? "" : ",", b->props.name, s->op, s->name, b->impl,
           s->bit_equal ? "B" : "R", r->answered[RUNS], r->answered[REFUSES],
           r->answered[LACKS]);
    for (int d = 1; d <= DTYPES; d++)
        if (r->asked[d] > 0)
            printf(", \"%s\": [%lu, %lu]", ssq_dtype_name((ssq_dtype)d),
                   r->taken[d], r->asked[d]);
    printf("}");
    *first = false;
}

static void print_row(const struct harness *b, const struct suite *s,
                      const struct support_row *r)
{
    printf("%-12s %-22s %-12s %s", b->props.name, s->name, b->impl,
           s->bit_equal ? "B" : "R");
    for (int d = 1; d <= DTYPES; d++) {
        char cell[32] = "-";
        if (r->asked[d] > 0 && r->taken[d] == r->asked[d])
            snprintf(cell, sizeof(cell), "all");
        else if (r->asked[d] > 0)
            snprintf(cell, sizeof(cell), "%lu/%lu", r->taken[d], r->asked[d]);
        printf(" %8s", cell);
    }
    printf(" %7lu %7lu %7lu\n", r->answered[RUNS], r->answered[REFUSES],
           r->answered[LACKS]);
}

/* Print the cases that no implementation runs, with the last reason. */
static void print_lacks(const struct inquiry *q, const struct suite *s,
                        const enum answer *best, char *const *why)
{
    for (size_t i = 0; i < s->n && !q->options->json; i++) {
        char text[256];
        if (best[i] != LACKS)
            continue;
        s->describe(i, text, sizeof(text));
        printf("%s: missing: %s: %s\n", q->harness.props.name, text,
               why[i] == NULL ? "" : why[i]);
    }
}

/* Ask every implementation about one table. Returns false if the
 * device failed. */
static bool one_table(struct inquiry *q, const struct suite *s,
                      enum answer *best, char **why)
{
    struct harness *b = &q->harness;
    for (size_t k = 0;; k++) {
        b->impl = ssq_implementation_name(b->device, s->op, k);
        if (b->impl == NULL)
            break;
        struct support_row r = {{0}, {0}, {0}};
        if (ssq_implementation_pin(b->device, s->op, b->impl) != SSQ_OK)
            return false;
        support_ask(b, s, &r, best, why);
        if (ssq_implementation_pin(b->device, s->op, NULL) != SSQ_OK)
            return false;
        if (q->options->json)
            support_print_json(b, s, &r, q->first);
        else
            print_row(b, s, &r);
    }
    for (size_t i = 0; i < s->n; i++)
        q->answered[best[i]]++;
    print_lacks(q, s, best, why);
    return true;
}

/* Ask about each selected table. Returns false if memory is short or the
 * device failed. */
static bool all_tables(struct inquiry *q)
{
    bool ok = true;
    for (size_t i = 0; suites[i] != NULL && ok; i++) {
        const struct suite *s = suites[i];
        if (!suite_named(s, q->options->op))
            continue;
        enum answer *best = calloc(s->n, sizeof(*best));
        char **why = calloc(s->n, sizeof(*why));
        ok = best != NULL && why != NULL && one_table(q, s, best, why);
        for (size_t k = 0; k < s->n && why != NULL; k++)
            free(why[k]);
        free(why);
        free(best);
    }
    return ok;
}

/* Print the last line of a device. Cases without an answer are not counted. */
static void print_total(const struct inquiry *q)
{
    const unsigned long *n = q->answered;
    unsigned long cases = n[RUNS] + n[REFUSES] + n[LACKS];
    if (q->options->json)
        printf("%s\n  {\"device\": \"%s\", \"cases\": %lu, \"run\": %lu, "
               "\"refused\": %lu, \"missing\": %lu}",
               *q->first ? "" : ",", q->harness.props.name, cases, n[RUNS],
               n[REFUSES], n[LACKS]);
    else
        printf("%s: %lu cases: %lu run, %lu refused as documented, "
               "%lu missing\n",
               q->harness.props.name, cases, n[RUNS], n[REFUSES], n[LACKS]);
    *q->first = false;
}

/* Open a device and ask about all tables. Returns false if it does not open,
 * or fails. */
static bool one_device(const char *name, const struct options *o,
                       struct harness_state *state, bool *first)
{
    struct inquiry q = {.harness = {.props = SSQ_DEVICE_PROPS_INIT,
                                    .state = state,
                                    .admit = true},
                        .options = o,
                        .first = first};
    struct harness *b = &q.harness;
    /* admit: the harness asks about every op, and runs none */
    bool ok = ssq_device_open(name, NULL, &b->device) == SSQ_OK &&
              ssq_device_props_get(b->device, &b->props) == SSQ_OK &&
              ssq_queue_create(b->device, NULL, &b->queue) == SSQ_OK &&
              all_tables(&q);
    if (ok)
        print_total(&q);
    ssq_queue_destroy(&b->queue);
    ssq_device_close(&b->device);
    return ok;
}

static bool support_wanted(const ssq_device_entry *e, const char *device)
{
    return e->available && (device == NULL || strcmp(device, e->name) == 0);
}

int command_support(const struct options *o)
{
    size_t seen = 0;
    bool first = true, ok = true;
    if (o->op != NULL && !names_check_table("support", o->op))
        return EXIT_USAGE;
    const bool drivers = drivers_try(o->device, NULL);
    const size_t n = ssq_device_count();
    struct harness_state *state = harness_state_create();
    if (o->json)
        printf("[");
    else
        printf("%s%-12s %-22s %-12s %s %8s %8s %8s %8s %8s %7s %7s %7s%s\n",
               colour_bold(), "device", "op", "impl", "#", "f32", "f16", "bf16",
               "i32", "u8", "run", "refused", "left", colour_off());
    for (size_t i = 0; i < n && ok; i++) {
        ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;
        if (ssq_device_list(i, &e) != SSQ_OK || !support_wanted(&e, o->device))
            continue;
        seen++;
        ok = one_device(e.name, o, state, &first);
    }
    harness_state_destroy(state);
    if (o->json)
        printf("\n]\n");
    if (!ok)
        return complain("support");
    if (seen == 0) {
        fprintf(stderr, "sesqui: support: no device \"%s\"\n",
                o->device == NULL ? "" : o->device);
        return drivers ? EXIT_USAGE : EXIT_FAILED;
    }
    return drivers ? EXIT_FINE : EXIT_FAILED;
}
