/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The running daemon: the manager, and what drives it. roced.c sets it up, events.c feeds it, publish.c tells of it. */

#include <libudev.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "answer.h"
#include "manager.h"
#include "settle.h"
#include "worker.h"

/* What stop grants a worker to remove directories. */
#define SERVICE_STOP_USEC (3 * USEC_PER_SEC)

/* A state file that could not be written is tried again after this. */
#define SERVICE_REWRITE_USEC (5 * USEC_PER_SEC)

/* While a long pass is under way the state file follows this often. */
#define SERVICE_PUBLISH_USEC (250 * USEC_PER_MSEC)

struct Service {
        const char *policy_file; /* of --policy; NULL: the installed policy */
        sd_event *event;
        sd_event_source *timer;
        Manager *manager;
        Worker *worker;
        int lock_fd;
        int inotify_fd; /* negative: none to be had */
        int mountinfo_fd;
        char configfs_mount[64]; /* its line's mount ID; empty: not mounted */
        struct udev *udev;
        struct udev_monitor *monitor;

        uint64_t since_usec; /* realtime */
        char *policy_error;  /* first line of why the last reload was refused; NULL: it was not */
        Answer answer;
        bool events_lost; /* and told so; until one comes again */
        bool unpublished;
        uint64_t published_usec;
        uint64_t rewrite_usec; /* when to write the state file again; UINT64_MAX: it is written */
        char *status; /* last STATUS= */

        int settle_fd;
        struct Waiter *waiters;
        unsigned n_waiters;

        bool stopping;
        uint64_t stop_by_usec;
        bool removing; /* the job that removes directories has been handed out */
};

Now service_now(void);

/* Tells the service manager, as sd_notifyf(3) does. What is lost for want of memory no later message makes good: a start or a reload
 * would be taken for failed. */
#define NOTIFY_TRIES 3
#define service_notify(...)                                                     \
        ({                                                                      \
                for (unsigned _i = 0; _i < NOTIFY_TRIES; _i++)                  \
                        if (!error_is_shortage(sd_notifyf(false, __VA_ARGS__))) \
                                break;                                          \
        })

/* events.c: opens all sources; the udev monitor before anything is listed, so that nothing slips between. */
int service_open_events(Service *service);
void service_close_events(Service *service);

/* publish.c: STATUS=, READY=, the state file. */
void service_publish(Service *service, Now now);
void service_notify_ready(Service *service, Now now);
