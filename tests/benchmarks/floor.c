/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The least that a program can do to bring all RoCE ports to one mode and TOS: no policy, no udev, no events, one
 * thread, and no system call that the result does not need. It is linked with roced's libraries, so that both start
 * alike.
 *
 *   floor MODE TOS         values written, read back through a fresh open, READY=1
 *   floor --told MODE TOS  and what roced's contract asks besides: a journal record for each change, a watch on each
 * port, a record of each directory made, the state file floor --undo MODE TOS  values written, directories removed:
 * back to how it was floor --wait           does nothing, READY=1, until it is ended */

#include <dirent.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <libudev.h>
#include <nettle/sha2.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
#include <yaml.h>

#include "base.h"

#define CLASS_PATH "/sys/class/infiniband"
#define RDMA_CM_PATH "/sys/kernel/config/rdma_cm"

typedef enum Extent {
        EXTENT_VALUES,
        EXTENT_TOLD,
        EXTENT_UNDO,
} Extent;

typedef struct Floor {
        const char *values[2];
        Extent extent;
        int rdma_cm_fd;
        int inotify_fd;
        FILE *state;
} Floor;

static const char *const files[2] = { "default_roce_mode", "default_roce_tos" };

static void die(const char *what) {
        perror(what);
        exit(EXIT_FAILURE);
}

static void read_at(int directory_fd, const char *path, size_t size, char *ret) {
        int fd = openat(directory_fd, path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);

        if (n < 0)
                die(path);
        close(fd);
        ret[n] = 0;
        ret[strcspn(ret, "\n")] = 0;
}

static void bring(const Floor *self, int directory_fd, const char *device, const char *port, int attribute) {
        const char *wanted = self->values[attribute];
        char path[300], found[64], readback[64];
        int fd;

        snprintf(path, sizeof(path), "ports/%s/%s", port, files[attribute]);
        read_at(directory_fd, path, sizeof(found), found);
        if (streq(found, wanted))
                return;

        fd = openat(directory_fd, path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, wanted, strlen(wanted)) != (ssize_t) strlen(wanted) || close(fd) < 0)
                die(path);
        read_at(directory_fd, path, sizeof(readback), readback);
        if (!streq(readback, wanted))
                die(path);
        if (self->extent == EXTENT_TOLD)
                (void) sd_journal_send("MESSAGE=%s/%s: %s", device, port, files[attribute], "PRIORITY=4",
                                       "ROCED_DEVICE=%s", device, "ROCED_PORT=%s", port, "ROCED_WANTED=%s", wanted,
                                       "ROCED_FOUND=%s", found, "ROCED_READBACK=%s", readback, NULL);
}

static void bring_port(const Floor *self, int ports_fd, int directory_fd, const char *device, const char *port) {
        char path[600], layer[32];

        snprintf(path, sizeof(path), "%s/link_layer", port);
        read_at(ports_fd, path, sizeof(layer), layer);
        if (!streq(layer, "Ethernet"))
                return;

        if (self->extent == EXTENT_TOLD) {
                snprintf(path, sizeof(path), RDMA_CM_PATH "/%s/ports/%s", device, port);
                if (inotify_add_watch(self->inotify_fd, path, IN_MODIFY | IN_DELETE_SELF | IN_ONLYDIR) < 0)
                        die(path);
                fprintf(self->state, "%s %s %s %s\n", device, port, self->values[0], self->values[1]);
        }
        bring(self, directory_fd, device, port, 0);
        bring(self, directory_fd, device, port, 1);
}

static void keep_record(const char *device) {
        char path[300];
        int fd;

        (void) mkdir("/run/roced/floor", 0755);
        snprintf(path, sizeof(path), "/run/roced/floor/%s", device);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0 || write(fd, device, strlen(device)) < 0)
                die(path);
        close(fd);
}

static void bring_device(const Floor *self, int class_fd, const char *device) {
        struct dirent *entry;
        char path[300];
        DIR *ports;
        int fd, ports_fd;

        snprintf(path, sizeof(path), "%s/ports", device);
        ports_fd = openat(class_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ports = ports_fd < 0 ? NULL : fdopendir(ports_fd);
        if (mkdirat(self->rdma_cm_fd, device, 0755) < 0 && errno != EEXIST)
                die(device);
        if (self->extent == EXTENT_TOLD)
                keep_record(device);
        fd = openat(self->rdma_cm_fd, device, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (!ports || fd < 0)
                die(device);

        while ((entry = readdir(ports)))
                if (entry->d_name[0] != '.')
                        bring_port(self, ports_fd, fd, device, entry->d_name);
        closedir(ports);
        close(fd);
        if (self->extent == EXTENT_UNDO && unlinkat(self->rdma_cm_fd, device, AT_REMOVEDIR) < 0)
                die(device);
}

static void bring_all(Floor *self) {
        struct dirent *entry;
        DIR *class;

        self->rdma_cm_fd = open(RDMA_CM_PATH, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        self->inotify_fd = self->extent == EXTENT_TOLD ? inotify_init1(IN_CLOEXEC) : -EBADF;
        self->state = self->extent == EXTENT_TOLD ? fopen("/run/roced/floor.state", "we") : NULL;
        class = opendir(CLASS_PATH);
        if (self->rdma_cm_fd < 0 || !class || (self->extent == EXTENT_TOLD && (self->inotify_fd < 0 || !self->state)))
                die(RDMA_CM_PATH);

        while ((entry = readdir(class)))
                if (entry->d_name[0] != '.')
                        bring_device(self, dirfd(class), entry->d_name);
        closedir(class);
        if (self->state && fclose(self->state) != 0)
                die("state");
}

/* So that the linker keeps the libraries. */
__attribute__((used)) static void *const libraries[] = { udev_new, yaml_get_version, json_object_new_object,
                                                         nettle_sha256_init };

int main(int argc, char **argv) {
        Floor self = {};

        if (argc == 2 && streq(argv[1], "--wait")) {
                (void) sd_notify(false, "READY=1");
                return pause();
        }
        if (argc == 4 && (streq(argv[1], "--told") || streq(argv[1], "--undo")))
                self.extent = streq(argv[1], "--told") ? EXTENT_TOLD : EXTENT_UNDO;
        else if (argc != 3) {
                fprintf(stderr, "Usage: %s [--told|--undo] MODE TOS | --wait\n", argv[0]);
                return 2;
        }
        self.values[0] = argv[argc - 2];
        self.values[1] = argv[argc - 1];
        bring_all(&self);
        (void) sd_notify(false, "READY=1");
        return EXIT_SUCCESS;
}
