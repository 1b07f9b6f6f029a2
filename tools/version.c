/* SPDX-License-Identifier: Apache-2.0 */
/* version.c - `sesqui --version`: the version, its commit, and how it was
 * built. Loads no module. The output contains neither a path nor a time, so two
 * builds of one source are equal. */
#include "tools/commit.h"
#include "tools/tool.h"

#include <string.h>

static const struct {
    const char *sort, *name, *why_not;
} parts[] = {
#define SSQ_BACKEND(NAME)        {"built in", #NAME, NULL},
#define SSQ_MODULE(NAME, WHY)    {"modules", #NAME, WHY},
#define SSQ_TRANSPORT(NAME, WHY) {"ranks", #NAME, WHY},
#include "lib/backend_table.h"
};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

/* Print one line, for example "modules   opencl vulkan". */
static void print_built(FILE *f, const char *sort)
{
    fprintf(f, "%-10s", sort);
    bool any = false;
    for (size_t i = 0; i < PARTS; i++) {
        if (strcmp(parts[i].sort, sort) != 0 || parts[i].why_not != NULL)
            continue;
        fprintf(f, "%s%s", any ? " " : "", parts[i].name);
        any = true;
    }
    fprintf(f, "%s\n", any ? "" : "none");
}

static void print_compiler(FILE *f)
{
    static const char *const options[] = {
#ifdef __OPTIMIZE__
        "optimized",
#else
        "not optimized",
#endif
#ifndef NDEBUG
        "debug asserts",
#endif
#ifdef _FORTIFY_SOURCE
        "_FORTIFY_SOURCE",
#endif
#ifdef __SSP_STRONG__
        "stack protector",
#endif
#ifdef __SANITIZE_ADDRESS__
        "AddressSanitizer",
#endif
#ifdef __SANITIZE_THREAD__
        "ThreadSanitizer",
#endif
    };
#if defined(__clang__)
    fprintf(f, "%-10s%s", "compiler", __VERSION__);
#elif defined(__GNUC__)
    fprintf(f, "%-10sgcc %s", "compiler", __VERSION__);
#else
    fprintf(f, "%-10sunknown", "compiler");
#endif
    fprintf(f, "\n%-10s", "options");
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        fprintf(f, "%s%s", i == 0 ? "" : ", ", options[i]);
    fprintf(f, "\n");
}

void version_print(FILE *f)
{
    fprintf(f, "sesqui %s\n%-10s%s\n", ssq_version(), "commit", COMMIT);
    print_built(f, "built in");
    print_built(f, "modules");
    print_built(f, "ranks");
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i].why_not != NULL)
            fprintf(f, "%-10s%s: %s\n", "without", parts[i].name,
                    parts[i].why_not);
    print_compiler(f);
}
