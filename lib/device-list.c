/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which RDMA devices there are, and which entries udevd's database has of devices that are not. */

#include <dirent.h>
#include <sys/stat.h>

#include "device.h"

#define CLASS_PATH "/sys/class/infiniband"

/* udevd's database has a file for each device, named by subsystem and name where it has no node or index. */
#define DATABASE_PATH "/run/udev/data"
#define DATABASE_PREFIX "+infiniband:"

DEFINE_CLEANUP(DIR *, closedir)

static int compare_names(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

typedef struct Names {
        char **items; /* NULL-terminated */
        size_t n, n_invalid;
} Names;

static void names_done(Names *names) {
        names_free(names->items);
}

static int names_add(Names *names, const char *name) {
        char **items;

        /* sysfs writes '!' where the name has '/', which no path can reach. */
        if (!device_name_is_valid(name) || strchr(name, '!')) {
                names->n_invalid++;
                return 0;
        }

        items = reallocarray(names->items, names->n + 2, sizeof(char *));
        if (!items)
                return -ENOMEM;
        names->items = items;
        items[names->n + 1] = NULL;
        items[names->n] = strdup(name);
        return items[names->n++] ? 0 : -ENOMEM;
}

/* Not by libudev, which passes over names that begin with a dot. A device named "x/y" ends the reading of the directory with EIO, for
 * every program (seen with 6.1 and 6.12). What was read up to there is still there to be served. */
static int names_read(Names *names) {
        _cleanup_(closedirp) DIR *directory = opendir(CLASS_PATH);
        struct dirent *entry;
        int r;

        if (!directory)
                return errno == ENOENT ? 0 : -errno;
        for (;;) {
                errno = 0;
                entry = readdir(directory);
                if (!entry)
                        break;
                if (streq(entry->d_name, ".") || streq(entry->d_name, ".."))
                        continue;
                r = names_add(names, entry->d_name);
                if (r < 0)
                        return r;
        }

        if (errno > 0 && errno != EIO)
                return -errno;
        names->n_invalid += errno == EIO;
        return 0;
}

int device_names_acquire(char ***ret_names, size_t *ret_invalid) {
        _cleanup_(names_done) Names names = {};
        int r;

        r = names_read(&names);
        if (r < 0)
                return r;

        if (!names.items && !(names.items = calloc(1, sizeof(char *))))
                return -ENOMEM;
        if (names.n > 0)
                qsort(names.items, names.n, sizeof(char *), compare_names);
        *ret_names = TAKE_PTR(names.items);
        *ret_invalid = names.n_invalid;
        return 0;
}

uint64_t leftover_stamp_acquire(const char *name) {
        char path[sizeof(DATABASE_PATH) + DEVICE_NAME_LENGTH_MAX + sizeof(DATABASE_PREFIX) + 1];
        struct stat st;

        if (!device_name_is_valid(name))
                return 0;
        snprintf(path, sizeof(path), DATABASE_PATH "/" DATABASE_PREFIX "%s", name);
        if (stat(path, &st) < 0)
                return 0;
        return ((uint64_t) st.st_ino << 32 ^ (uint64_t) st.st_mtim.tv_sec * NSEC_PER_SEC ^ (uint64_t) st.st_mtim.tv_nsec) | 1;
}

Leftover *leftovers_free(Leftover *leftovers, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(leftovers[i].name);
        free(leftovers);
        return NULL;
}

/* The stamp is taken before the look for the device: one that is born in between is not mistaken. */
static int leftovers_add(Leftover **leftovers, size_t *n, const char *name) {
        uint64_t stamp = leftover_stamp_acquire(name), instance;
        Leftover *larger;

        if (stamp == 0 || device_instance_acquire(name, &instance) != -ENODEV)
                return 0;

        larger = reallocarray(*leftovers, *n + 1, sizeof(Leftover));
        if (!larger)
                return -ENOMEM;
        *leftovers = larger;
        larger[*n] = (Leftover) { .name = strdup(name), .stamp = stamp };
        if (!larger[*n].name)
                return -ENOMEM;
        (*n)++;
        return 0;
}

int leftovers_acquire(Leftover **ret, size_t *ret_n) {
        _cleanup_(closedirp) DIR *directory = opendir(DATABASE_PATH);
        Leftover *leftovers = NULL;
        struct dirent *entry;
        size_t n = 0;
        int r = 0;

        if (!directory && error_is_shortage(-errno))
                return -errno;
        while (directory && r >= 0 && (errno = 0, entry = readdir(directory)))
                if (startswith(entry->d_name, DATABASE_PREFIX))
                        r = leftovers_add(&leftovers, &n, entry->d_name + strlen(DATABASE_PREFIX));
        if (directory && r >= 0 && errno > 0)
                r = -errno;
        if (r < 0) {
                leftovers_free(leftovers, n);
                return r;
        }

        *ret = leftovers;
        *ret_n = n;
        return 0;
}
