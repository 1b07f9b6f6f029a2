/* SPDX-License-Identifier: Apache-2.0 */
/* support.c - `sesqui support`: which implementation of which op admits which
 * dtypes. Asked of the admission tests with every case of the tables, inside
 * a graph capture: nothing is computed. */
#include "tests/op/suite_run.h"
#include "tools/tool.h"

#include <string.h>

#define DTYPES 5 /* f32 f16 bf16 i32 u8: values 1..5 */

struct row {
    unsigned long asked[DTYPES + 1], admitted[DTYPES + 1];
};

/* Ask about every case of a table; false when the device failed. */
static bool ask(struct bed *b, const struct suite *s, struct row *r)
{
    for (size_t i = 0; i < s->n; i++) {
        bed_case_begin(b->state, false);
        bool ok = bed_run(b, s, i, false);
        for (int d = 1; d <= DTYPES; d++) {
            if ((b->dtypes >> d & 1) == 0)
                continue;
            r->asked[d]++;
            r->admitted[d] += ok && !b->skipped;
        }
    }
    return true;
}

static void print_row(const struct bed *b, const struct suite *s,
                      const struct row *r, bool json, bool *first)
{
    if (json) {
        printf("%s\n  {\"device\": \"%s\", \"op\": \"%s\", \"table\": \"%s\", "
               "\"implementation\": \"%s\", \"class\": \"%s\"",
               *first ? "" : ",", b->props.name, s->op, s->name, b->impl,
               s->bit_equal ? "B" : "R");
        for (int d = 1; d <= DTYPES; d++)
            if (r->asked[d] > 0)
                printf(", \"%s\": [%lu, %lu]", ssq_dtype_name((ssq_dtype)d),
                       r->admitted[d], r->asked[d]);
        printf("}");
        *first = false;
        return;
    }
    printf("%-12s %-22s %-12s %s", b->props.name, s->name, b->impl,
           s->bit_equal ? "B" : "R");
    for (int d = 1; d <= DTYPES; d++) {
        char cell[32] = "-";
        if (r->asked[d] > 0 && r->admitted[d] == r->asked[d])
            snprintf(cell, sizeof(cell), "all");
        else if (r->asked[d] > 0)
            snprintf(cell, sizeof(cell), "%lu/%lu", r->admitted[d],
                     r->asked[d]);
        printf(" %8s", cell);
    }
    printf("\n");
}

static bool selected(const struct suite *s, const char *op)
{
    return op == NULL || strcmp(op, s->op) == 0 || strcmp(op, s->name) == 0;
}

static bool one_device(struct bed *b, const struct options *o, bool *first)
{
    for (size_t i = 0; suites[i] != NULL; i++) {
        if (!selected(suites[i], o->op))
            continue;
        for (size_t k = 0;; k++) {
            b->impl = ssq_implementation_name(b->device, suites[i]->op, k);
            if (b->impl == NULL)
                break;
            if (ssq_implementation_pin(b->device, suites[i]->op, b->impl) !=
                SSQ_OK)
                return false;
            struct row r = {{0}, {0}};
            ask(b, suites[i], &r);
            print_row(b, suites[i], &r, o->json, first);
            if (ssq_implementation_pin(b->device, suites[i]->op, NULL) !=
                SSQ_OK)
                return false;
        }
    }
    return true;
}

static bool wanted(const ssq_device_entry *e, const char *device)
{
    return e->available && (device == NULL || strcmp(device, e->name) == 0);
}

int command_support(const struct options *o)
{
    size_t n = ssq_device_count(), seen = 0;
    bool first = true, ok = true;
    struct bed_state *state = bed_state_create();
    if (o->json)
        printf("[");
    else
        printf("%s%-12s %-22s %-12s %s %8s %8s %8s %8s %8s%s\n", colour_bold(),
               "device", "op", "impl", "#", "f32", "f16", "bf16", "i32", "u8",
               colour_off());
    for (size_t i = 0; i < n && ok; i++) {
        ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;
        if (ssq_device_list(i, &e) != SSQ_OK || !wanted(&e, o->device))
            continue;
        seen++;
        struct bed b = {
            .props = SSQ_DEVICE_PROPS_INIT, .state = state, .admit = true};
        ok = ssq_device_open(e.name, NULL, &b.device) == SSQ_OK &&
             ssq_device_props_get(b.device, &b.props) == SSQ_OK &&
             ssq_queue_create(b.device, NULL, &b.queue) == SSQ_OK &&
             one_device(&b, o, &first);
        ssq_queue_destroy(&b.queue);
        ssq_device_close(&b.device);
    }
    bed_state_destroy(state);
    if (o->json)
        printf("\n]\n");
    if (!ok)
        return complain("support");
    if (seen == 0) {
        fprintf(stderr, "sesqui: support: no device \"%s\"\n",
                o->device == NULL ? "" : o->device);
        return EXIT_USAGE;
    }
    return EXIT_FINE;
}
