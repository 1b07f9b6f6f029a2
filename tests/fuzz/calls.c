/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - fuzz target: sequences of calls, on two devices in lockstep.
 *
 * The first two bytes say how the program is watched and what its buffers hold;
 * then each byte says what comes next, and what that is reads its choices. */

#include <string.h>

#include "tests/fuzz/action.h"
#include "tests/fuzz/call.h"

/* The calls of the longest program. */
enum { LONGEST = 64 };

static void act(struct objects *o)
{
    unsigned b = input_byte(o->in), n = input_byte(o->in);
    const struct action *a;
    if (b < 64)
        a = &queue_actions[n % queue_actions_count];
    else if (b < 144)
        a = &scaler_actions[n % scaler_actions_count];
    else if (b < 240)
        a = &optimizer_actions[n % optimizer_actions_count];
    else
        a = &metric_actions[n % metric_actions_count];
    action_run(o, a);
}

/* A capture that no one ended is dropped. */
static void end_capture(struct objects *o)
{
    ssq_graph *graph[SIDES] = {NULL, NULL};
    ssq_status st[SIDES];
    for (unsigned s = 0; s < SIDES && o->pair->capturing; s++)
        st[s] = ssq_graph_end(o->pair->queue[s], &graph[s]);
    if (o->pair->capturing)
        (void)pair_same("graph_end", st[0], st[1]);
    for (unsigned s = 0; s < SIDES; s++)
        ssq_graph_destroy(&graph[s]);
    o->pair->capturing = false;
}

/* The final state of scalers and optimizers is the same, too. */
static void look(struct objects *o)
{
    static const char *const names[] = {"scaler_state_get", "optimizer_visit"};
    for (size_t i = 0; i < scaler_actions_count; i++)
        if (strcmp(scaler_actions[i].name, names[0]) == 0)
            action_run(o, &scaler_actions[i]);
    for (size_t i = 0; i < optimizer_actions_count; i++)
        if (strcmp(optimizer_actions[i].name, names[1]) == 0)
            action_run(o, &optimizer_actions[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct pair p;
    struct input in = {data, data + bytes};
    struct objects o;
    memset(&o, 0, sizeof(o));
    o.pair = &p;
    o.in = &in;
    pair_open(&p, &in);
    unsigned ops = 64 + input_byte(&in) % 4 * 48;
    for (int i = 0; i < LONGEST && !input_done(&in); i++) {
        if (input_byte(&in) < ops)
            call_run(&p, &in);
        else
            act(&o);
    }
    end_capture(&o);
    look(&o);
    pair_compare(&p, "the end", true);
    objects_destroy(&o);
    pair_close(&p);
    return 0;
}
