/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.c - functions of the system's libraries, opened when a file needs
 * them. */
#include "lib/data/foreign.h"

#include <dlfcn.h>
#include <string.h>

bool foreign_open(const char *library, const struct foreign *f, size_t n)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        void *p = dlsym(handle, f[i].name);
        if (p == NULL) {
            dlclose(handle);
            return false;
        }
        /* C has no conversion from an object's pointer to a function's */
        memcpy(f[i].function, &p, sizeof(p));
    }
    return true;
}
