/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Prints each event of an RDMA device, once as the kernel gives it and once as udevd announces it: seconds of
 * CLOCK_MONOTONIC, "kernel" or "udev", action, name. */

#include <libudev.h>
#include <poll.h>
#include <time.h>

#include "base.h"

static const char *const sources[] = { "kernel", "udev" };

static void tell(struct udev_monitor *monitor, const char *source) {
        struct udev_device *device;
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        device = udev_monitor_receive_device(monitor);
        if (!device)
                return;
        printf("%lld.%09ld %s %s %s\n", (long long) now.tv_sec, now.tv_nsec, source, udev_device_get_action(device),
               udev_device_get_sysname(device));
        fflush(stdout);
        udev_device_unref(device);
}

int main(void) {
        struct udev_monitor *monitors[ELEMENTSOF(sources)];
        struct pollfd fds[ELEMENTSOF(sources)];
        struct udev *udev = udev_new();

        for (size_t i = 0; i < ELEMENTSOF(sources); i++) {
                monitors[i] = udev_monitor_new_from_netlink(udev, sources[i]);
                if (!monitors[i] ||
                    udev_monitor_filter_add_match_subsystem_devtype(monitors[i], "infiniband", NULL) < 0 ||
                    udev_monitor_enable_receiving(monitors[i]) < 0) {
                        fprintf(stderr, "udev cannot be listened to\n");
                        return EXIT_FAILURE;
                }
                fds[i] = (struct pollfd){ .fd = udev_monitor_get_fd(monitors[i]), .events = POLLIN };
        }
        printf("listening\n");
        fflush(stdout);

        while (poll(fds, ELEMENTSOF(fds), -1) >= 0)
                for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                        if (fds[i].revents & POLLIN)
                                tell(monitors[i], sources[i]);
        return EXIT_SUCCESS;
}
