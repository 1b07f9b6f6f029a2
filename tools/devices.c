/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - `sesqui devices`: lists the devices, and why others are
 * not available. */
#include "tools/tool.h"

#include <inttypes.h>
#include <string.h>

/* The ways in which a device supports a 16-bit type. */
static const struct {
    uint32_t bit, emulated;
    const char *name;
} names[] = {
    {SSQ_CAP_STORAGE, SSQ_CAP_STORAGE_EMULATED, "storage"},
    {SSQ_CAP_ARITHMETIC, SSQ_CAP_ARITHMETIC_EMULATED, "arithmetic"},
    {SSQ_CAP_MATRIX, SSQ_CAP_MATRIX_EMULATED, "matrix"},
};

/* {"storage": "native", "arithmetic": "emulated", "matrix": "none"} */
static void caps_json(const char *key, uint32_t caps)
{
    printf(", \"%s\": {", key);
    for (int i = 0; i < 3; i++)
        printf("%s\"%s\": \"%s\"", i == 0 ? "" : ", ", names[i].name,
               (caps & names[i].emulated) != 0 ? "emulated"
               : (caps & names[i].bit) != 0    ? "native"
                                               : "none");
    printf("}");
}

/* Return what a user asks of a 16-bit dtype. Every device computes in float32,
 * so only matrix units make a difference. */
static const char *caps_text(uint32_t caps)
{
    if ((caps & SSQ_CAP_STORAGE) == 0)
        return "no";
    if ((caps & SSQ_CAP_MATRIX_EMULATED) != 0)
        return "yes, half the memory of f32; matrix units are no faster here";
    if ((caps & SSQ_CAP_MATRIX) != 0)
        return "yes, half the memory of f32; matmuls on matrix units";
    return "yes, half the memory of f32; no matrix units";
}

/* Print a line for each 16-bit dtype, or one for both if they are equal. */
static void print_caps(const ssq_device_props *p)
{
    const char *f16 = caps_text(p->f16), *bf16 = caps_text(p->bf16);
    if (strcmp(f16, bf16) == 0)
        printf("    f16, bf16: %s\n", f16);
    else
        printf("    f16: %s\n    bf16: %s\n", f16, bf16);
}

static const ssq_dtype trained[] = {SSQ_F32, SSQ_F16, SSQ_BF16};

/* Tuning results of a device: the number of shapes and their file. throughput:
 * training steps a second in each dtype of `trained`, or 0. */
struct devices_tuned {
    size_t n;
    char path[4096];
    double throughput[3];
};

/* Print the stored throughputs between two texts: "f32 2.1, bf16 1.5", or the
 * same as JSON. Prints nothing if none is stored. */
static void print_throughput(const struct devices_tuned *t, const char *before,
                             bool json, const char *after)
{
    bool any = false;
    for (int i = 0; i < 3; i++) {
        if (t->throughput[i] == 0.0)
            continue;
        printf("%s%s%s%s %.4g", any ? ", " : before, json ? "\"" : "",
               ssq_dtype_name(trained[i]), json ? "\":" : "", t->throughput[i]);
        any = true;
    }
    printf("%s", any ? after : "");
}

/* Get the properties of a device, which is opened for this. False: that failed;
 * the library's text says why. */
static bool get_props(const char *name, ssq_device_props *props,
                      ssq_verdict *result, struct devices_tuned *tuned)
{
    ssq_device *d = NULL;
    bool ok = ssq_device_open(name, NULL, &d) == SSQ_OK &&
              ssq_device_props_get(d, props) == SSQ_OK &&
              ssq_device_verdict_get(d, result) == SSQ_OK;
    ssq_gemm_tuning t = SSQ_GEMM_TUNING_INIT;
    tuned->n = 0;
    while (ok && ssq_gemm_tuning_get(d, tuned->n, &t) == SSQ_OK)
        tuned->n++;
    snprintf(tuned->path, sizeof(tuned->path), "%s", ssq_gemm_tuning_path(d));
    for (int i = 0; i < 3; i++)
        if (!ok || ssq_training_rate_get(d, trained[i],
                                         &tuned->throughput[i]) != SSQ_OK)
            tuned->throughput[i] = 0.0;
    ssq_device_close(&d);
    return ok;
}

static const char *subnormals(const ssq_device_props *p)
{
    return p->f32_subnormals == SSQ_SUBNORMALS_PRESERVED ? "preserved"
                                                         : "flushed";
}

/* Print a line with a reason; nothing for "". */
static void print_reason(const char *text)
{
    if (text[0] != '\0')
        printf("    %s%s%s\n", colour_dim(), text, colour_off());
}

/* Count the lines of a result, and the lines that report a fault. */
static void certification_count(const char *text, unsigned *tables,
                                unsigned *bad)
{
    *tables = *bad = 0;
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        char line[256];
        snprintf(line, sizeof(line), "%.*s", (int)n, text);
        ++*tables;
        *bad += strstr(line, " 0 failed") == NULL;
        text += n + (text[n] == '\n');
    }
}

/* Print the results of the self-test and of `sesqui certify`. all: also tables
 * without a fault. */
static void print_certification(const ssq_device_props *p, const ssq_verdict *v,
                                bool all)
{
    unsigned tables, bad;
    if (p->failed[0] != '\0')
        printf("    %sself-test wrong: %s%s\n", colour_red(), p->failed,
               colour_off());
    if (v->text[0] == '\0')
        return;
    certification_count(v->text, &tables, &bad);
    printf("    %scertify: %u of %u tables right%s\n",
           bad > 0 ? colour_red() : "", tables - bad, tables, colour_off());
    for (const char *s = v->text; *s != '\0';) {
        size_t n = strcspn(s, "\n");
        const char *fine = strstr(s, " 0 failed");
        if (all || fine == NULL || fine > s + n)
            printf("        %.*s\n", (int)n, s);
        s += n + (s[n] == '\n');
    }
}

/* why: why the device was chosen, or ""; NULL: print no reasons. */
static void print_text(const ssq_device_entry *e, const ssq_device_props *p,
                       const ssq_verdict *v, const struct devices_tuned *t,
                       const char *why)
{
    printf("%s%s%s  %s\n", colour_bold(), e->name, colour_off(),
           e->description);
    printf("    memory %.1f GiB, largest binding %.1f GiB, f32 subnormals "
           "%s%s\n",
           (double)p->memory_bytes / 0x1p30, (double)p->binding_bytes / 0x1p30,
           subnormals(p), p->asynchronous ? ", asynchronous" : "");
    print_caps(p);
    print_certification(p, v, why != NULL);
    if (t->n > 0)
        printf("    tuned: %zu shape%s of gemm in %s\n", t->n,
               t->n == 1 ? "" : "s", t->path);
    print_throughput(t, "    trains: ", false, " steps a second\n");
    if (why == NULL)
        return;
    if (t->throughput[0] == 0.0)
        printf("    speed: not measured; run `sesqui tune --train --device "
               "%s`\n",
               e->name);
    print_reason(why);
    print_reason(e->reason); /* of others that were passed over */
    print_reason(p->refused);
}

/* Print a line of a certification result: {"table": "gemm", "cases": 9,
 * "failed": 0, "skipped": 0}. If the table was not run to its end: {"table":
 * .., "fault": "killed by signal 6 (Aborted)"}. */
static void json_table(const char *line, size_t n)
{
    char text[256], table[64];
    unsigned long cases, failed, skipped;
    int at = 0, end = 0;
    snprintf(text, sizeof(text), "%.*s", (int)n, line);
    if (sscanf(text, "%63s %n", table, &at) != 1)
        return;
    printf("{\"table\": ");
    json_string(stdout, table);
    if (sscanf(text + at, "%lu cases, %lu failed, %lu skipped%n", &cases,
               &failed, &skipped, &end) == 3 &&
        text[at + end] == '\0') {
        printf(", \"cases\": %lu, \"failed\": %lu, \"skipped\": %lu}", cases,
               failed, skipped);
        return;
    }
    printf(", \"fault\": ");
    json_string(stdout, text + at);
    printf("}");
}

/* Print a certification result; null if it is empty. */
static void json_certification(const ssq_verdict *v)
{
    printf(", \"certify\": ");
    if (v->text[0] == '\0') {
        printf("null");
        return;
    }
    printf("{\"passed\": %s, \"tables\": [", v->passed ? "true" : "false");
    for (const char *s = v->text; *s != '\0';) {
        const size_t n = strcspn(s, "\n");
        printf("%s", s == v->text ? "" : ", ");
        json_table(s, n);
        s += n + (s[n] == '\n');
    }
    printf("]}");
}

/* Print the properties of a device that was opened. */
static void json_props(const ssq_device_props *p)
{
    printf(", \"memory_bytes\": %" PRIu64 ", \"binding_bytes\": %" PRIu64
           ", \"alignment\": %u",
           p->memory_bytes, p->binding_bytes, (unsigned)p->alignment);
    caps_json("f16", p->f16);
    caps_json("bf16", p->bf16);
    printf(", \"f32_subnormals\": \"%s\", \"host_memory\": %s, "
           "\"asynchronous\": %s",
           subnormals(p), p->host_memory ? "true" : "false",
           p->asynchronous ? "true" : "false");
    printf(", \"refused\": ");
    json_string(stdout, p->refused);
    printf(", \"failed\": ");
    json_string(stdout, p->failed);
}

/* p: NULL if the device did not open. why: why the device was chosen or could
 * not be opened; "": print the reason of the list. */
static void devices_print_json(const ssq_device_entry *e,
                               const ssq_device_props *p, const ssq_verdict *v,
                               const struct devices_tuned *t, const char *why,
                               const ssq_comm_place *place, bool first)
{
    printf("%s\n  {\"name\": ", first ? "" : ",");
    json_string(stdout, e->name);
    printf(", \"backend\": ");
    json_string(stdout, e->backend);
    printf(", \"available\": %s", e->available ? "true" : "false");
    if (e->available && p != NULL) {
        printf(", \"description\": ");
        json_string(stdout, e->description);
        json_props(p);
        json_certification(v);
        printf(", \"tuned\": %zu, \"tuning_file\": ", t->n);
        json_string(stdout, t->path);
        print_throughput(t, ", \"training_rates\": {", true, "}");
    }
    if (place->launcher[0] != '\0' && strcmp(e->name, place->device) == 0)
        printf(", \"rank\": %u", place->rank);
    printf(", \"reason\": ");
    json_string(stdout, why[0] == '\0' ? e->reason : why);
    printf("}");
}

/* If a launcher started this process: print its rank. */
static void print_place(const ssq_comm_place *p)
{
    if (p->launcher[0] != '\0')
        printf("rank %u of %u (%s), %u of %u on this machine, would take %s\n",
               p->rank, p->size, p->launcher, p->local_rank, p->local_size,
               p->device);
}

/* Return why a device is not available. If a driver ended its process, the
 * library only knows that it was told to skip the backend. */
static const char *reason_of(const ssq_device_entry *e)
{
    const char *driver = drivers_reason(e->backend);
    return driver[0] != '\0' ? driver : e->reason;
}

/* Open each device, because its properties are known only then. A device that
 * is listed as available and does not open is a failure. */
int command_devices(const struct options *o)
{
    ssq_device_props chosen = SSQ_DEVICE_PROPS_INIT;
    ssq_verdict v = SSQ_VERDICT_INIT;
    struct devices_tuned t;
    if (o->child)
        return drivers_child();
    int code = drivers_try(NULL, NULL) ? EXIT_FINE : EXIT_FAILED;
    bool automatic = get_props("auto", &chosen, &v, &t);
    size_t n = ssq_device_count();
    ssq_comm_place place = SSQ_COMM_PLACE_INIT;
    bool first = true;
    if (automatic && ssq_comm_place_get(&place) != SSQ_OK)
        return complain("devices");
    if (o->json)
        printf("[");
    for (size_t i = 0; i < n; i++) {
        ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;
        if (ssq_device_list(i, &e) != SSQ_OK)
            return complain("devices");
        ssq_device_props p = SSQ_DEVICE_PROPS_INIT;
        v = (ssq_verdict)SSQ_VERDICT_INIT;
        bool opened = e.available && get_props(e.name, &p, &v, &t);
        const char *why = e.available ? "" : reason_of(&e);
        if (e.available && !opened) {
            why = ssq_last_error();
            code = EXIT_FAILED;
        } else if (automatic && strcmp(e.name, chosen.name) == 0) {
            why = chosen.choice;
        }
        if (o->json)
            devices_print_json(&e, opened ? &p : NULL, &v, &t, why, &place,
                               first);
        else if (opened)
            print_text(&e, &p, &v, &t, o->why ? why : NULL);
        else if (o->why || e.available || drivers_reason(e.backend)[0] != '\0')
            printf("%s%s%s  not available: %s\n", colour_dim(), e.name,
                   colour_off(), why);
        first = false;
    }
    if (o->json)
        printf("\n]\n");
    else if (automatic)
        printf("auto is %s\n", chosen.name);
    if (!o->json)
        print_place(&place);
    return code;
}
