/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What reaches the running daemon from outside, any bytes in its place: uevents, inotify's events,
 * /proc/self/mountinfo, requests of the udev helper, and records of directories that are ours. The first byte says
 * which. */

#include <sys/mman.h>
#include <sys/un.h>

#include "events.c"
#include "fuzz.h"
#include "namespace.h"
#include "ownership.h"
#include "policy-load.h"

static Service service = { .settle_fd = -EBADF };
static Policy *policy;

Now service_now(void) {
        return (Now){ .monotonic_usec = 1000 * USEC_PER_SEC, .realtime_usec = 1700000000 * USEC_PER_SEC };
}

/* Names of devices go into paths. */
static void check_entries(void) {
        const Manager *manager = service.manager;

        for (size_t i = 0; i < manager->n_entries; i++) {
                CHECK(device_name_is_valid(manager->entries[i]->name));
                CHECK(i == 0 || strcmp(manager->entries[i - 1]->name, manager->entries[i]->name) < 0);
        }
}

static bool is_marked(const char *name) {
        for (size_t i = 0; i < service.manager->n_entries; i++)
                if (streq(service.manager->entries[i]->name, name))
                        return service.manager->entries[i]->dirty;
        return false;
}

/* The properties of one event, "NAME=value" each. */
static void take_uevent(Input *input) {
        _cleanup_(udev_device_unrefp) struct udev_device *device = NULL;
        struct udev *udev = udev_new();
        char *properties[33];
        size_t n = 0;

        while (n < ELEMENTSOF(properties) - 1 && input_is_left(input))
                properties[n++] = input_next(input);
        properties[n] = NULL;

        environ = properties;
        device = udev_device_new_from_environment(udev);
        environ = (char *[]){ NULL };
        if (device)
                on_uevent(&service, device);
        udev_unref(udev);
}

/* Written to in a watched directory. */
static void take_inotify(Input *input) {
        const char *name = input_next(input);
        struct inotify_event event = { .wd = name[0],
                                       .mask = IN_MODIFY,
                                       .len = (uint32_t) (strlen(name) + 15) / 16 * 16 };
        char buffer[sizeof(event) + 512] = {};
        int fds[2];

        if (event.len > 256)
                return;
        memcpy(buffer, &event, sizeof(event));
        strcpy(buffer + sizeof(event), name);
        CHECK(pipe2(fds, O_NONBLOCK | O_CLOEXEC) == 0);
        CHECK(write(fds[1], buffer, sizeof(event) + event.len) > 0);
        CHECK(on_inotify(NULL, fds[0], EPOLLIN, &service) == 0);
        close(fds[0]);
        close(fds[1]);
}

static void take_mountinfo(const char *text, size_t size) {
        _cleanup_close_ int fd = memfd_create("mountinfo", MFD_CLOEXEC);
        char mount[64] = "not set";

        CHECK(fd >= 0 && write(fd, text, size) == (ssize_t) size);
        CHECK(configfs_mount_read(fd, sizeof(mount), mount) == 0);
        CHECK(strlen(mount) < 32);
        CHECK(mount[0] == 0 || memmem(text, size, CONFIGFS_PATH, strlen(CONFIGFS_PATH)));
}

static int settle_connect(void) {
        struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SETTLE_PATH };
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        CHECK(fd >= 0 && connect(fd, (struct sockaddr *) &address, sizeof(address)) == 0);
        return fd;
}

static void run_events(void) {
        while (sd_event_run(service.event, 0) > 0)
                ;
}

/* Sent as it is, to a daemon that has a policy: the one who asks waits, or is let go. */
static void take_request(const char *request, size_t size) {
        _cleanup_close_ int fd = settle_connect();
        char byte;

        if (size > SETTLE_MESSAGE_MAX)
                return;
        CHECK(send(fd, request, size, MSG_NOSIGNAL) == (ssize_t) size);
        run_events();
        CHECK(service.n_waiters <= 1);
        CHECK(recv(fd, &byte, 1, 0) == (service.n_waiters == 1 ? -1 : 0));

        /* Without a policy there is nothing to wait for. */
        manager_set_policy(service.manager, NULL, TRIGGER_RELOAD);
        settle_answer(&service);
        CHECK(service.n_waiters == 0);
        CHECK(recv(fd, &byte, 1, 0) == 0);
}

/* Made of names, as the helper makes it: all that are valid are marked, and waited for. */
static void take_names(Input *input) {
        char request[SETTLE_MESSAGE_MAX] = "add\n", *names[32];
        _cleanup_close_ int fd = settle_connect();
        size_t size = strlen(request), n = 0;

        while (n < ELEMENTSOF(names) && input_is_left(input)) {
                char *name = input_next(input);

                if (!device_name_is_valid(name))
                        continue;
                size += (size_t) snprintf(request + size, SETTLE_LINE_MAX, "%s %zu\n", name, n + 1);
                names[n++] = name;
        }
        CHECK(send(fd, request, size, MSG_NOSIGNAL) == (ssize_t) size);
        run_events();
        CHECK(service.n_waiters == 1);
        for (size_t i = 0; i < n; i++)
                CHECK(is_marked(names[i]));
        settle_answer(&service);
        CHECK(service.n_waiters == (n > 0 ? 1 : 0));
        manager_set_policy(service.manager, NULL, TRIGGER_RELOAD);
        settle_answer(&service);
        CHECK(service.n_waiters == 0);
}

/* A name, and what stands in its record. */
static void take_record(Input *input) {
        _cleanup_close_ int fd = open("/run/roced", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_(names_freep) char **names = NULL;
        const char *name = input_next(input), *text = input->bytes + input->at;
        char path[128];
        int r;

        CHECK(fd >= 0);
        if (!device_name_is_valid(name)) {
                CHECK(ownership_check(name, fd) == -EINVAL && ownership_intend(name) == -EINVAL);
                return;
        }
        snprintf(path, sizeof(path), OWNERSHIP_PATH "/%s", name);
        put_bytes(path, text, input->size - input->at);
        r = ownership_check(name, fd);
        CHECK(r == 0 || r == 1);

        CHECK(ownership_names_acquire(&names) == 0);
        CHECK(names[0] && streq(names[0], name) && !names[1]);
        CHECK(ownership_confirm(name, fd) == 0 && ownership_check(name, fd) == 1);
        CHECK(ownership_forget(name) == 0 && ownership_check(name, fd) == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        PolicyText text = { (char *) "fuzz.yaml", (char *) "version: 1\nrules: [{match: any, mode: v2}]\n", 0 };
        Messages messages = {};

        namespace_enter();
        put_directory("/run/roced");
        text.size = strlen(text.bytes);
        CHECK(policy_parse(&text, 1, &policy, &messages) == 0);
        CHECK(sd_event_new(&service.event) >= 0);
        settle_open(&service);
        CHECK(service.settle_fd >= 0);
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(input_done) Input input = input_begin(size > 0 ? data + 1 : data, size > 0 ? size - 1 : 0);

        CHECK(manager_new(-EBADF, 4791, &service.manager) == 0);
        manager_set_policy(service.manager, policy, TRIGGER_STARTUP);
        switch (size > 0 ? data[0] : 0) {
        case 'u':
                take_uevent(&input);
                break;
        case 'i':
                take_inotify(&input);
                break;
        case 'm':
                take_mountinfo(input.bytes, input.size);
                break;
        case 's':
                take_request(input.bytes, input.size);
                break;
        case 'n':
                take_names(&input);
                break;
        case 'o':
                take_record(&input);
                break;
        default:
                break;
        }
        check_entries();
        service.manager = manager_free(service.manager);
        return 0;
}
