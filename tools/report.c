/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - `sesqui report`: a text for a bug report. It has versions, the
 * system, the environment, devices, tuning results and a sample of verify.
 *
 * It contains no personal detail: the names of the user and of the machine, and
 * the home directory, are replaced. Each section is written before the next one
 * begins: if a driver ends the process, the earlier sections are kept. */
#include "conformance/suite.h"
#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define STRIDE  "101" /* one case in 101; no list has this factor */
#define SECONDS 30.0  /* for all tables, unless --seconds says otherwise */

extern char **environ;

/* Words that a report must not contain, and their replacements. */
struct secrets {
    const char *word[4], *instead[4];
    size_t n;
    char host[256];
};

static void add_secret(struct secrets *s, const char *word, const char *instead)
{
    /* a word of two letters is in too many other words */
    if (word == NULL || strlen(word) < 3 || strcmp(word, "root") == 0 ||
        strcmp(word, "/root") == 0)
        return;
    s->word[s->n] = word;
    s->instead[s->n++] = instead;
}

static void find_secrets(struct secrets *s)
{
    s->n = 0;
    /* the longest first: a home contains the user's name */
    add_secret(s, getenv("HOME"), "~");
    add_secret(s, getenv("USER"), "USER");
    add_secret(s, getenv("LOGNAME"), "USER");
    if (gethostname(s->host, sizeof(s->host) - 1) == 0)
        add_secret(s, s->host, "HOST");
}

/* Copy a line without the secrets. */
static void put_line(const struct secrets *s, const char *line)
{
    while (*line != '\0') {
        size_t k = 0;
        while (k < s->n && strncmp(line, s->word[k], strlen(s->word[k])) != 0)
            k++;
        if (k < s->n) {
            fputs(s->instead[k], stdout);
            line += strlen(s->word[k]);
        } else {
            putchar(*line++);
        }
    }
}

/* ---- sections ---- */

static void print_processor(FILE *f)
{
    FILE *info = fopen("/proc/cpuinfo", "r");
    char line[512];
    bool found = false;
    while (info != NULL && !found && fgets(line, sizeof(line), info) != NULL)
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':') != NULL) {
            fprintf(f, "processor%s", strchr(line, ':') + 1);
            found = true;
        }
    if (info != NULL)
        fclose(info);
    fprintf(f, "%ld processors, %.1f GiB of memory\n",
            sysconf(_SC_NPROCESSORS_ONLN),
            (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) /
                0x1p30);
}

/* The C library: only glibc says which release it is. */
static void print_libc(FILE *f)
{
#ifdef _CS_GNU_LIBC_VERSION
    char text[64];
    size_t n = confstr(_CS_GNU_LIBC_VERSION, text, sizeof(text));
    fprintf(f, "%s\n", n > 0 && n <= sizeof(text) ? text : "C library");
#else
    fprintf(f, "another C library than glibc\n");
#endif
}

static void print_system(FILE *f)
{
    struct utsname u;
    version_print(f);
    fprintf(f, "\n== system ==\n");
    if (uname(&u) == 0)
        fprintf(f, "%s %s, %s\n", u.sysname, u.release, u.machine);
    print_libc(f);
    print_processor(f);
}

/* Print the variables that this library and drivers read. */
static void print_environment(FILE *f)
{
    static const char *const prefix[] = {
        "SSQ_",  "CUDA_",    "NCCL_", "OCL_",  "POCL_",          "VK_",
        "MESA_", "GALLIVM_", "LP_",   "RADV_", "OMP_NUM_THREADS"};
    fprintf(f, "\n== environment ==\n");
    for (char **e = environ; *e != NULL; e++)
        for (size_t i = 0; i < sizeof(prefix) / sizeof(prefix[0]); i++)
            if (strncmp(*e, prefix[i], strlen(prefix[i])) == 0)
                fprintf(f, "%s\n", *e);
}

/* Print the tuning results of a device. */
static void print_tuning(FILE *f, const char *name)
{
    ssq_device *d = NULL;
    ssq_gemm_tuning t = SSQ_GEMM_TUNING_INIT;
    if (ssq_device_open(name, NULL, &d) != SSQ_OK)
        return;
    for (size_t i = 0; ssq_gemm_tuning_get(d, i, &t) == SSQ_OK; i++)
        fprintf(f,
                "%s: %lld x %lld x %lld, batch %lld, %s %s to %s: %s, "
                "algorithm %llu, %.3g s, by the rules %.3g s\n",
                name, (long long)t.m, (long long)t.n, (long long)t.k,
                (long long)t.batch, ssq_dtype_name(t.a), ssq_dtype_name(t.b),
                ssq_dtype_name(t.d), t.implementation,
                (unsigned long long)t.algorithm, t.seconds, t.rule_seconds);
    ssq_device_close(&d);
}

/* The cases of one device and implementation. */
struct count {
    char device[32];
    unsigned long cases, failed;
};

struct report_counts {
    struct count of[16];
    size_t n;
    const struct secrets *secrets;
};

static void count_case(void *user, const char *device, const char *impl,
                       const struct suite *suite, size_t i,
                       const struct harness *b, bool ok)
{
    struct report_counts *c = user;
    char text[256], line[1024];
    size_t k = 0;
    if (b->idle || b->skipped)
        return;
    while (k < c->n && strcmp(c->of[k].device, device) != 0)
        k++;
    if (k == sizeof(c->of) / sizeof(c->of[0]))
        return;
    if (k == c->n)
        snprintf(c->of[c->n++].device, sizeof(c->of[k].device), "%s", device);
    c->of[k].cases++;
    c->of[k].failed += !ok;
    if (ok)
        return;
    suite->describe(i, text, sizeof(text));
    snprintf(line, sizeof(line), "failed: %s/%s: %s: %s\n", device, impl, text,
             b->text);
    put_line(c->secrets, line);
}

/* Run a sample of all tables, and print how many cases passed. */
static bool verify_sample(const struct options *o, const char *device,
                          const struct secrets *s)
{
    struct report_counts c = {.secrets = s};
    struct tool_progress progress;
    const double most = o->seconds > 0.0 ? o->seconds : SECONDS;
    size_t tables = 0, done = 0;
    unsigned long failed = 0;
    while (suites[tables] != NULL)
        tables++;
    setenv("SSQ_TEST_STRIDE", STRIDE, 0);
    progress_begin(&progress, "report", tables, false);
    double began = now();
    for (; done < tables && now() - began < most; done++) {
        progress_at(&progress, done, 0.0, suites[done]->name);
        suite_run(suites[done], device, false, count_case, &c);
    }
    suite_end();
    progress_clear(&progress);
    for (size_t i = 0; i < c.n; i++) {
        printf("%s: %lu cases, %lu failed\n", c.of[i].device, c.of[i].cases,
               c.of[i].failed);
        failed += c.of[i].failed;
    }
    printf("%zu of %zu tables, one case in %s, %.0f seconds\n", done, tables,
           getenv("SSQ_TEST_STRIDE"), now() - began);
    return failed == 0;
}

/* ---- the report ---- */

/* Write what was written to the temporary file since the last call. */
static void put_file(const struct secrets *s, FILE *f)
{
    char line[8192];
    rewind(f);
    while (fgets(line, sizeof(line), f) != NULL)
        put_line(s, line);
    rewind(f);
    if (ftruncate(fileno(f), 0) != 0)
        perror("sesqui: report");
    fflush(stdout);
}

/* Print what `sesqui devices --why` prints. It writes to standard output, which
 * is the temporary file meanwhile. */
static bool report_print_devices(FILE *f)
{
    const struct options why = {.why = true, .first = 1};
    fflush(stdout);
    fflush(f);
    int kept = dup(STDOUT_FILENO);
    if (kept < 0 || dup2(fileno(f), STDOUT_FILENO) < 0) {
        perror("sesqui: report");
        if (kept >= 0)
            close(kept);
        return false;
    }
    printf("\n== devices ==\n");
    int code = command_devices(&why);
    fflush(stdout);
    bool back = dup2(kept, STDOUT_FILENO) >= 0;
    close(kept);
    return back && code == EXIT_FINE;
}

int command_report(const struct options *o)
{
    struct secrets secrets;
    FILE *f = tmpfile();
    if (f == NULL) {
        perror("sesqui: report: a temporary file");
        return EXIT_FAILED;
    }
    find_secrets(&secrets);
    const bool drivers = drivers_try(o->device, NULL);
    char name[32] = "";
    int code = o->device == NULL
                   ? EXIT_FINE
                   : device_name("report", o->device, name, sizeof(name));
    if (code != EXIT_FINE) {
        fclose(f);
        return drivers ? code : EXIT_FAILED;
    }
    const char *only = o->device == NULL ? NULL : name;
    print_system(f);
    print_environment(f);
    put_file(&secrets, f);
    bool good = report_print_devices(f);
    put_file(&secrets, f);
    printf("\n== tuning ==\n");
    for (size_t i = 0; i < ssq_device_count(); i++) {
        ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;
        if (ssq_device_list(i, &e) == SSQ_OK && e.available &&
            (only == NULL || strcmp(only, e.name) == 0))
            print_tuning(f, e.name);
    }
    put_file(&secrets, f);
    fclose(f);
    printf("\n== verify, a sample ==\n");
    fflush(stdout);
    good = verify_sample(o, only, &secrets) && good;
    return good && drivers ? EXIT_FINE : EXIT_FAILED;
}
