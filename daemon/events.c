/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What happens outside becomes dirty marks: uevents, inotify, mounts. No event is believed beyond that something has changed, and the
 * properties in it are read from the message alone: this thread never touches /sys. */

#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/inotify.h>
#include <sys/socket.h>

#include "configfs.h"
#include "log.h"
#include "message-ids.h"
#include "service.h"

DEFINE_CLEANUP(struct udev_device *, udev_device_unref)

/* As much as is allowed without capabilities. */
#define RECEIVE_BUFFER_SIZE (16 * 1024 * 1024)

static void on_infiniband(Service *service, struct udev_device *device, const char *action) {
        const char *name = udev_device_get_sysname(device);
        const char *old = udev_device_get_property_value(device, "DEVPATH_OLD");

        if (!streq(action, "move")) {
                manager_mark(service->manager, name, TRIGGER_HOTPLUG);
                return;
        }

        manager_mark(service->manager, name, TRIGGER_RENAME);
        old = old ? strrchr(old, '/') : NULL;
        if (old)
                manager_mark(service->manager, old + 1, TRIGGER_RENAME);
        else
                manager_mark_all(service->manager, TRIGGER_RENAME);
}

static void on_uevent(Service *service, struct udev_device *device) {
        const char *subsystem = udev_device_get_subsystem(device);
        const char *action = udev_device_get_action(device);

        if (!subsystem || !action)
                return;
        if (streq(subsystem, "infiniband"))
                on_infiniband(service, device, action);
        else if (streq(subsystem, "net"))
                manager_mark_netdev(service->manager, streq(action, "move") ? TRIGGER_RENAME : TRIGGER_HOTPLUG);
        else if (streq(subsystem, "module") && streq(udev_device_get_sysname(device), "rdma_cm"))
                manager_mark_all(service->manager, TRIGGER_RDMA_CM);
}

/* Whatever it was, an event is gone: the buffer was full, there was no memory for it, or it was no event. */
static void on_lost_event(Service *service, int error) {
        if (!service->events_lost)
                log_message(LOG_WARNING, MESSAGE_EVENTS_LOST_ID, "Device events were lost, %s; looking at everything anew",
                            error == ENOBUFS ? "the receive buffer was full" : strerror(error));
        service->events_lost = true;
        manager_mark_all(service->manager, TRIGGER_RESYNC);
}

static int on_monitor(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Service *service = userdata;

        for (;;) {
                _cleanup_(udev_device_unrefp) struct udev_device *device = NULL;

                errno = 0;
                device = udev_monitor_receive_device(service->monitor);
                if (device) {
                        service->events_lost = false;
                        on_uevent(service, device);
                } else if (errno == 0 || errno == EAGAIN || errno == EINTR)
                        return 0;
                else
                        on_lost_event(service, errno);
        }
}

/* A write names the attribute's file; what has no name is about the directory as a whole. */
static unsigned attributes_of(const char *name, const struct inotify_event *event) {
        for (Attribute a = 0; event->len > 0 && a < _ATTRIBUTE_MAX; a++)
                if (streq(name, attribute_file(a)))
                        return 1U << a;
        return (1U << _ATTRIBUTE_MAX) - 1;
}

static int on_inotify(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        _Alignas(struct inotify_event) char buffer[16 * 1024];
        Service *service = userdata;
        ssize_t n;

        while ((n = read(fd, buffer, sizeof(buffer))) > 0)
                for (char *at = buffer; at < buffer + n;) {
                        struct inotify_event event;

                        memcpy(&event, at, sizeof(event));
                        if (event.mask & IN_Q_OVERFLOW) {
                                log_message(LOG_WARNING, MESSAGE_EVENTS_LOST_ID,
                                            "Change events were lost, the queue was full; looking at everything anew");
                                manager_mark_all(service->manager, TRIGGER_RESYNC);
                        } else if (event.mask & IN_UNMOUNT)
                                manager_mark_all(service->manager, TRIGGER_RDMA_CM);
                        else if (!(event.mask & IN_IGNORED))
                                manager_mark_attributes(service->manager, event.wd, attributes_of(at + sizeof(event), &event));
                        at += sizeof(event) + event.len;
                }
        return 0;
}

/* The mount ID of configfs where we look for it, from the lines of proc_pid_mountinfo(5); empty if it is not mounted. */
static int configfs_mount_read(int fd, size_t size, char *ret) {
        _cleanup_fclose_ FILE *file = NULL;
        char line[4096], id[32], point[512], found[32] = "";
        int copy;

        copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (copy < 0)
                return -errno;
        file = fdopen(copy, "r");
        if (!file) {
                fd_close(copy);
                return -ENOMEM;
        }
        rewind(file);

        while (fgets(line, sizeof(line), file))
                if (sscanf(line, "%31s %*s %*s %*s %511s", id, point) == 2 && streq(point, CONFIGFS_PATH) &&
                    strstr(line, " - configfs "))
                        strcpy(found, id);

        snprintf(ret, size, "%s", found);
        return 0;
}

static int on_mountinfo(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Service *service = userdata;
        char mount[sizeof(service->configfs_mount)];

        if (configfs_mount_read(fd, sizeof(mount), mount) >= 0 && !streq(mount, service->configfs_mount)) {
                strcpy(service->configfs_mount, mount);
                manager_mark_all(service->manager, TRIGGER_RDMA_CM);
        }
        return 0;
}

/* Where libudev finds no udevd it listens to nobody, and does not say so. */
static bool monitor_is_deaf(int fd) {
        struct sockaddr_nl address = {};
        socklen_t size = sizeof(address);

        return getsockname(fd, (struct sockaddr *) &address, &size) >= 0 && address.nl_family == AF_NETLINK &&
               address.nl_groups == 0;
}

static int open_monitor(Service *service) {
        static const char *const subsystems[] = { "infiniband", "net", "module" };
        int fd, size = RECEIVE_BUFFER_SIZE, r;

        service->udev = udev_new();
        if (!service->udev)
                return -ENOMEM;
        service->monitor = udev_monitor_new_from_netlink(service->udev, "udev");
        if (!service->monitor)
                return errno > 0 ? -errno : -EIO;

        for (size_t i = 0; i < ELEMENTSOF(subsystems); i++) {
                r = udev_monitor_filter_add_match_subsystem_devtype(service->monitor, subsystems[i], NULL);
                if (r < 0)
                        return r;
        }

        fd = udev_monitor_get_fd(service->monitor);
        if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
                (void) setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
        r = udev_monitor_enable_receiving(service->monitor);
        if (r < 0)
                return r;
        if (monitor_is_deaf(fd)) {
                service->manager->deaf = true;
                log_message(LOG_WARNING, MESSAGE_UNAVAILABLE_ID,
                            "udevd does not run here, so nothing announces devices; looking every %u s instead",
                            (unsigned) (MANAGER_RESYNC_UNWATCHED_USEC / USEC_PER_SEC));
        }
        return sd_event_add_io(service->event, NULL, fd, EPOLLIN, on_monitor, service);
}

static void open_inotify(Service *service) {
        int r;

        service->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        r = service->inotify_fd < 0 ? -errno :
                                      sd_event_add_io(service->event, NULL, service->inotify_fd, EPOLLIN, on_inotify,
                                                      service);
        if (r < 0) {
                service->inotify_fd = fd_close(service->inotify_fd);
                manager_set_unwatched(service->manager, r);
        } else
                service->manager->inotify_fd = service->inotify_fd;
}

/* Where mounts cannot be listened to, the resync and retries find configfs. */
static void open_mountinfo(Service *service) {
        service->mountinfo_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
        if (service->mountinfo_fd < 0 ||
            sd_event_add_io(service->event, NULL, service->mountinfo_fd, EPOLLPRI, on_mountinfo, service) < 0)
                return;
        (void) configfs_mount_read(service->mountinfo_fd, sizeof(service->configfs_mount), service->configfs_mount);
}

int service_open_events(Service *service) {
        int r;

        r = open_monitor(service);
        if (r < 0)
                return r;
        open_inotify(service);
        open_mountinfo(service);
        return 0;
}

void service_close_events(Service *service) {
        if (service->monitor)
                udev_monitor_unref(service->monitor);
        if (service->udev)
                udev_unref(service->udev);
        fd_close(service->inotify_fd);
        fd_close(service->mountinfo_fd);
}
