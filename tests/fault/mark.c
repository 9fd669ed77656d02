/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* To be preloaded: tells the supervisor when main() begins, and makes an allocation fail if asked to: FAULT_ALLOCATION is
 * its number, FAULT_ALLOCATIONS a file to write at the end how many there were. Those of umockdev are not counted: a host
 * has no such thing. */

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mark.h"

#define EXPORTED __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
int __libc_start_main(int (*start)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end);

static int (*real_main)(int, char **, char **);
static atomic_ulong n_allocations;
static unsigned long failing;
static bool counting;
static uintptr_t excluded_begin, excluded_end;

static bool allocation_fails(const void *caller) {
        uintptr_t from = (uintptr_t) caller;

        if (!counting || (from >= excluded_begin && from < excluded_end))
                return false;
        if (atomic_fetch_add(&n_allocations, 1) + 1 != failing)
                return false;
        errno = ENOMEM;
        return true;
}

EXPORTED void *malloc(size_t size) {
        return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

EXPORTED void *calloc(size_t n, size_t size) {
        return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

EXPORTED void *realloc(void *memory, size_t size) {
        return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, size);
}

static int find_excluded(struct dl_phdr_info *info, size_t size, void *userdata) {
        if (!strstr(info->dlpi_name, "libumockdev-preload"))
                return 0;
        excluded_begin = info->dlpi_addr;
        for (size_t i = 0; i < info->dlpi_phnum; i++)
                if (info->dlpi_phdr[i].p_type == PT_LOAD)
                        excluded_end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        return 1;
}

static void write_count(void) {
        FILE *file = fopen(getenv("FAULT_ALLOCATIONS"), "we");

        counting = false;
        if (file) {
                fprintf(file, "%lu\n", atomic_load(&n_allocations));
                fclose(file);
        }
}

static int begin(int argc, char **argv, char **environment) {
        const char *number = getenv("FAULT_ALLOCATION");

        dl_iterate_phdr(find_excluded, NULL);
        if (getenv("FAULT_ALLOCATIONS"))
                atexit(write_count);
        failing = number ? strtoul(number, NULL, 10) : 0;
        syscall(MARK_CALL);
        counting = true;
        return real_main(argc, argv, environment);
}

EXPORTED int __libc_start_main(int (*start)(int, char **, char **), int argc, char **argv, void (*init)(void),
                               void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
        typeof(&__libc_start_main) original = (typeof(original)) dlsym(RTLD_NEXT, "__libc_start_main");

        real_main = start;
        return original(begin, argc, argv, init, fini, rtld_fini, stack_end);
}
