/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Which RoCE versions a port's GID table tells of. */

#include <dirent.h>
#include <fcntl.h>

#include "device.h"
#include "file.h"

#define CLASS_PATH "/sys/class/infiniband"
#define DEFAULT_GIDS 2

DEFINE_CLEANUP(DIR *, closedir)

static unsigned slot_support(int directory_fd, const char *slot) {
        char type[32];

        if (file_read_line(directory_fd, slot, sizeof(type), type) < 0)
                return 0;
        return streq(type, "IB/RoCE v1") ? SUPPORT_V1 : streq(type, "RoCE v2") ? SUPPORT_V2 : 0;
}

int port_support_acquire(const char *device, unsigned port, unsigned *ret_support) {
        _cleanup_(closedirp) DIR *directory = NULL;
        char path[sizeof(CLASS_PATH) + DEVICE_NAME_LENGTH_MAX + 64], slot[sizeof(path) + 16];
        struct dirent *entry;
        unsigned support = 0;

        if (!device_name_is_valid(device))
                return -EINVAL;

        /* A port that can both has both default GIDs, and these stand at the start of a table of up to thousands. */
        snprintf(path, sizeof(path), CLASS_PATH "/%s/ports/%u/gid_attrs/types", device, port);
        for (unsigned i = 0; i < DEFAULT_GIDS; i++) {
                snprintf(slot, sizeof(slot), "%s/%u", path, i);
                support |= slot_support(AT_FDCWD, slot);
        }
        if (support == (SUPPORT_V1 | SUPPORT_V2)) {
                *ret_support = support;
                return 0;
        }

        directory = opendir(path);
        if (!directory) {
                if (errno != ENOENT)
                        return -errno;
                *ret_support = 0;
                return 0;
        }

        /* An empty slot answers EINVAL, and slots may be missing. */
        while (support != (SUPPORT_V1 | SUPPORT_V2) && (entry = readdir(directory)))
                if (entry->d_name[0] != '.')
                        support |= slot_support(dirfd(directory), entry->d_name);

        *ret_support = support;
        return 0;
}
