/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_decode_all.c - decodes every entry of the PTX files that it is given, one
 * case a file; says how many entries and operations there were. */
#include "tests/fakecuda/ptx/ptx.h"
#include "tests/tap.h"

#define NAMES 1024 /* operations that are told apart */

static struct {
    char name[NAMES][48];
    unsigned n, entries;
} met;

static void see(const char *name, void *arg)
{
    unsigned i = 0;

    (void)arg;
    while (i < met.n && strcmp(met.name[i], name) != 0)
        i++;
    if (i == met.n && i < NAMES)
        snprintf(met.name[met.n++], sizeof(met.name[0]), "%s", name);
}

/* The file's text, or NULL. */
static char *text_of(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long n;

    if (f == NULL)
        return NULL;
    if (fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0) {
        rewind(f);
        text = calloc(1, (size_t)n + 1);
        if (text != NULL && fread(text, 1, (size_t)n, f) != (size_t)n) {
            free(text);
            text = NULL;
        }
    }
    fclose(f);
    return text;
}

static void decode(const char *path, const char *text)
{
    const char *base = strrchr(path, '/') == NULL ? path : strrchr(path, '/');
    char why[512] = "";
    struct ptx_module *m = ptx_load(text, why, sizeof(why));
    const char *name;
    uint32_t n = 0;
    bool ok = m != NULL;

    while (ok && (name = ptx_entry_name(m, n)) != NULL) {
        struct ptx_entry *e = ptx_find(m, name, why, sizeof(why));

        ok = e != NULL;
        if (ok)
            ptx_opcodes(e, see, NULL);
        n++;
    }
    tap_ok(ok && n > 0, "%s: %u entries decode", base + (*base == '/'), n);
    if (!ok)
        tap_diag("%s", why);
    met.entries += n;
    ptx_unload(m);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *text = text_of(argv[i]);

        if (text == NULL)
            tap_ok(false, "%s can be read", argv[i]);
        else
            decode(argv[i], text);
        free(text);
    }
    tap_diag("%u entries, %u operations", met.entries, met.n);
    return tap_done(1);
}
