/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a schedule did, line by line, and the end of one in which something was wrong. */

#include "world.h"

#include <stdarg.h>

void trace_line(const char *format, ...) {
        va_list ap;

        printf("%4llu.%06llu ", (unsigned long long) (world.now_usec / SEC),
               (unsigned long long) (world.now_usec % SEC));
        va_start(ap, format);
        vprintf(format, ap);
        va_end(ap);
        putchar('\n');
}

void violated(const char *format, ...) {
        va_list ap;

        printf("seed %llu: at %llu.%06llu: ", (unsigned long long) world.seed,
               (unsigned long long) (world.now_usec / SEC), (unsigned long long) (world.now_usec % SEC));
        va_start(ap, format);
        vprintf(format, ap);
        va_end(ap);
        putchar('\n');
        fflush(stdout);

        /* Who replays it looks at it in a debugger. */
        if (world.verbose)
                abort();
        _exit(EXIT_FAILURE);
}
