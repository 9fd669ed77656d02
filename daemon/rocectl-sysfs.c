/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Reads sysfs for showing. A file that is missing is a value that is absent, never an error. */

#include "rocectl-sysfs.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>

#include "report-json.h"
#include "rocectl.h"

#define CLASS_PATH "/sys/class/infiniband"

DEFINE_CLEANUP(DIR *, closedir)

static char *path_line(const char *path) {
        _cleanup_close_ int fd = -EBADF;
        char text[256];
        ssize_t n;

        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
        if (n < 0)
                return NULL;
        text[n] = 0;
        text[strcspn(text, "\n")] = 0;
        return text[0] ? NEED(strdup(text)) : NULL;
}

char *sysfs_line(const char *device, const char *format, ...) {
        _cleanup_free_ char *rest = NULL, *path = NULL;
        va_list ap;
        int r;

        va_start(ap, format);
        r = vasprintf(&rest, format, ap);
        va_end(ap);
        if (r < 0)
                rest = NULL;

        path = need_text(CLASS_PATH "/%s/%s", device, NEED(rest));
        return path_line(path);
}

/* "4: ACTIVE" is a number for programs and a word for people. */
static const char *skip_number(const char *text) {
        const char *colon = text ? strstr(text, ": ") : NULL;

        return colon && isdigit((unsigned char) text[0]) ? colon + 2 : text;
}

void sysfs_add_port(json_object *object, const char *device, unsigned port) {
        _cleanup_free_ char *state = sysfs_line(device, "ports/%u/state", port);
        _cleanup_free_ char *physical = sysfs_line(device, "ports/%u/phys_state", port);
        _cleanup_free_ char *rate = sysfs_line(device, "ports/%u/rate", port);
        char *lanes = rate ? strstr(rate, " (") : NULL;

        if (lanes)
                *lanes = 0;
        json_object_object_add(object, "state", json_string(skip_number(state)));
        json_object_object_add(object, "physical_state", json_string(skip_number(physical)));
        json_object_object_add(object, "rate", json_string(rate));
}

json_object *gid_entry(unsigned index, const void *gid, const char *type, const char *netdev) {
        json_object *entry = NEED(json_object_new_object());
        char text[INET6_ADDRSTRLEN];

        json_object_object_add(entry, "index", json_object_new_int64(index));
        json_object_object_add(entry, "gid", json_string(inet_ntop(AF_INET6, gid, text, sizeof(text))));
        json_object_object_add(entry, "type", json_string(type));
        json_object_object_add(entry, "netdev", json_string(netdev));
        return entry;
}

/* On an InfiniBand port the kernel says "IB/RoCE v1" too. */
static const char *gid_type(const char *text, bool roce) {
        if (!roce)
                return NULL;
        if (text && streq(text, "IB/RoCE v1"))
                return "v1";
        if (text && streq(text, "RoCE v2"))
                return "v2";
        return NULL;
}

static int compare_numbers(const void *a, const void *b) {
        const unsigned *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

/* The slots of a port's GID table, ascending. The table of rxe has 1024. */
static size_t slots_acquire(const char *device, unsigned port, unsigned **ret) {
        _cleanup_free_ char *path = need_text(CLASS_PATH "/%s/ports/%u/gids", device, port);
        _cleanup_(closedirp) DIR *directory = opendir(path);
        unsigned *slots = NULL;
        struct dirent *entry;
        size_t n = 0;

        while (directory && (entry = readdir(directory))) {
                if (!isdigit((unsigned char) entry->d_name[0]))
                        continue;
                slots = NEED((unsigned *) reallocarray(slots, n + 1, sizeof(unsigned)));
                slots[n++] = (unsigned) strtoul(entry->d_name, NULL, 10);
        }

        if (n > 0)
                qsort(slots, n, sizeof(unsigned), compare_numbers);
        *ret = slots;
        return n;
}

json_object *sysfs_gids(const char *device, unsigned port, bool roce) {
        static const struct in6_addr none;
        json_object *gids = NEED(json_object_new_array());
        _cleanup_free_ unsigned *slots = NULL;
        size_t n = slots_acquire(device, port, &slots);

        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *gid = sysfs_line(device, "ports/%u/gids/%u", port, slots[i]);
                _cleanup_free_ char *type = NULL, *netdev = NULL;
                struct in6_addr address;

                if (!gid || inet_pton(AF_INET6, gid, &address) != 1 ||
                    memcmp(&address, &none, sizeof(none)) == 0)
                        continue;
                type = sysfs_line(device, "ports/%u/gid_attrs/types/%u", port, slots[i]);
                netdev = sysfs_line(device, "ports/%u/gid_attrs/ndevs/%u", port, slots[i]);
                json_object_array_add(gids, gid_entry(slots[i], &address, gid_type(type, roce), netdev));
        }
        return gids;
}
