/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The daemon's end of the settle socket: who waits for which devices. */

#include "settle.h"

#include <inttypes.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "log.h"
#include "message-ids.h"
#include "service.h"

/* udevd runs no more programs at once than this on most machines; more are let go unanswered. */
#define WAITERS_MAX 256

typedef struct Waiter {
        struct Waiter *next;
        Service *service;
        sd_event_source *source;
        bool all;
        char *names; /* NUL after each, one more at the end; NULL: not asked yet */
} Waiter;

static void waiter_free(Waiter *waiter) {
        sd_event_source_unref(waiter->source); /* closes its fd */
        free(waiter->names);
        free(waiter);
}

static void waiter_remove(Waiter *waiter) {
        for (Waiter **at = &waiter->service->waiters; *at; at = &(*at)->next)
                if (*at == waiter) {
                        *at = waiter->next;
                        waiter->service->n_waiters--;
                        waiter_free(waiter);
                        return;
                }
}

/* Marks what the request names, and keeps the names. */
static int waiter_take(Waiter *waiter, char *request) {
        char *line, *rest = request, *end;
        size_t size = 0;
        Trigger trigger;

        if (streq(request, SETTLE_ALL)) {
                manager_mark_all(waiter->service->manager, TRIGGER_RDMA_CM);
                waiter->all = true;
                waiter->names = calloc(1, 1);
                return waiter->names ? 0 : -ENOMEM;
        }

        waiter->names = calloc(1, strlen(request) + 2);
        if (!waiter->names)
                return -ENOMEM;
        line = strsep(&rest, "\n");
        trigger = streq(line, "move") ? TRIGGER_RENAME : TRIGGER_HOTPLUG;
        while ((line = strsep(&rest, "\n")) && *line) {
                char *instance = strrchr(line, ' ');
                uint64_t number = instance ? strtoumax(instance + 1, &end, 10) : 0;

                if (!instance || *end)
                        return -EBADMSG;
                *instance = 0;
                if (!device_name_is_valid(line))
                        return -EBADMSG;
                manager_mark_announced(waiter->service->manager, line, number, trigger);
                strcpy(waiter->names + size, line);
                size += strlen(line) + 1;
        }
        return 0;
}

static int on_waiter(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        char request[SETTLE_MESSAGE_MAX + 1];
        Waiter *waiter = userdata;
        ssize_t n;

        n = recv(fd, request, SETTLE_MESSAGE_MAX, MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
                return 0;
        if (n <= 0 || waiter->names) {
                waiter_remove(waiter);
                return 0;
        }

        request[n] = 0;
        if (waiter_take(waiter, request) < 0)
                waiter_remove(waiter);
        return 0;
}

static int on_connect(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        _cleanup_close_ int connection = -EBADF;
        Service *service = userdata;
        Waiter *waiter;
        int r;

        connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (connection < 0 || service->n_waiters >= WAITERS_MAX)
                return 0;

        waiter = calloc(1, sizeof(Waiter));
        if (!waiter)
                return 0;
        waiter->service = service;
        r = sd_event_add_io(service->event, &waiter->source, connection, EPOLLIN, on_waiter, waiter);
        if (r >= 0)
                r = sd_event_source_set_io_fd_own(waiter->source, true);
        if (r < 0) {
                waiter_free(waiter);
                return 0;
        }

        TAKE_FD(connection);
        waiter->next = service->waiters;
        service->waiters = waiter;
        service->n_waiters++;
        return 0;
}

/* With nothing to wait for it is served at once. */
static bool waiter_is_served(const Waiter *waiter, uint64_t now_usec) {
        const Manager *manager = waiter->service->manager;

        if (!waiter->names)
                return false;
        if (manager->blocked || !manager->policy)
                return true;
        if (waiter->all)
                return manager_is_settled(manager, now_usec);
        for (const char *name = waiter->names; *name; name += strlen(name) + 1)
                if (!manager_is_judged(manager, name, now_usec))
                        return false;
        return true;
}

void settle_answer(Service *service) {
        uint64_t now_usec;
        Waiter *next;

        if (!service->waiters)
                return;
        now_usec = service_now().monotonic_usec;
        for (Waiter *waiter = service->waiters; waiter; waiter = next) {
                next = waiter->next;
                if (waiter_is_served(waiter, now_usec))
                        waiter_remove(waiter);
        }
}

static int open_socket(void) {
        static const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SETTLE_PATH };
        _cleanup_close_ int fd = -EBADF;

        fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        (void) unlink(SETTLE_PATH);
        if (bind(fd, (const struct sockaddr *) &address, sizeof(address)) < 0 || chmod(SETTLE_PATH, 0600) < 0 ||
            listen(fd, SOMAXCONN) < 0)
                return -errno;
        return TAKE_FD(fd);
}

void settle_open(Service *service) {
        int r;

        service->settle_fd = open_socket();
        r = service->settle_fd < 0 ? service->settle_fd :
                                     sd_event_add_io(service->event, NULL, service->settle_fd, EPOLLIN, on_connect, service);
        if (r < 0)
                log_message(LOG_WARNING, MESSAGE_UNAVAILABLE_ID,
                            "%s cannot be listened to, udev will announce devices before their policy is in force: %s",
                            SETTLE_PATH, strerror(-r));
}

void settle_close(Service *service) {
        while (service->waiters)
                waiter_remove(service->waiters);
        if (service->settle_fd >= 0)
                (void) unlink(SETTLE_PATH);
        service->settle_fd = fd_close(service->settle_fd);
}
