/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* "rocectl wait": looks each time the daemon has told something new, until it has judged everything. */

#include <poll.h>
#include <sys/inotify.h>

#include "clock.h"
#include "report-json.h"
#include "rocectl-document.h"
#include "rocectl-show.h"
#include "runtime.h"

#define TIMEOUT_DEFAULT "90" /* seconds */
#define TIMEOUT_MAX_SEC (366UL * 24 * 3600)

/* The kernel tells that a file is closed a moment before it takes away the locks on it. */
#define UNLOCK_USEC (50 * USEC_PER_MSEC)

typedef struct Wait {
        int inotify_fd;
        uint64_t end_usec;
        bool closing; /* the daemon has closed its lock, and so may be gone */
} Wait;

static int timeout_parse(const char *text, uint64_t *ret_usec) {
        unsigned long seconds;
        char *end;

        if (text[0] < '0' || text[0] > '9')
                return -EINVAL;
        errno = 0;
        seconds = strtoul(text, &end, 10);
        if (errno != 0 || *end || seconds > TIMEOUT_MAX_SEC)
                return -EINVAL;
        *ret_usec = seconds * USEC_PER_SEC;
        return 0;
}

static int check_arguments(const Options *options, char **names, uint64_t *ret_usec) {
        if (timeout_parse(options->timeout ? options->timeout : TIMEOUT_DEFAULT, ret_usec) < 0)
                return complain(CODE_USAGE, "--timeout takes whole seconds, 0 to %lu, not '%s'", TIMEOUT_MAX_SEC,
                                options->timeout);
        for (; *names; names++)
                if (!device_name_is_valid(*names))
                        return complain(CODE_USAGE, "no device can bear the name '%s'", *names);
        return CODE_DONE;
}

static bool host_has(const Host *host, const char *name) {
        for (size_t i = 0; i < host->n_devices; i++)
                if (streq(host->devices[i].name, name))
                        return true;
        return false;
}

/* Whether more is to come: a device that was named, the daemon's first word, or its verdict. */
static bool is_pending(const Host *host, char **names, json_object *document) {
        json_object *devices, *ports;
        size_t n_devices = json_get_list(document, "devices", &devices), n_ports;

        if (!host->state)
                return true;
        for (; *names; names++)
                if (!host_has(host, *names))
                        return true;

        for (size_t i = 0; i < n_devices; i++) {
                n_ports = json_get_list(json_object_array_get_idx(devices, i), "ports", &ports);
                for (size_t k = 0; k < n_ports; k++)
                        for (Attribute a = 0; a < _ATTRIBUTE_MAX; a++)
                                if (json_get_state(json_object_array_get_idx(ports, k), a) == STATE_PENDING)
                                        return true;
        }
        return false;
}

/* Takes in all that was heard. */
static void wait_hear(Wait *wait) {
        char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
        const struct inotify_event *event;
        ssize_t n;

        while ((n = read(wait->inotify_fd, buffer, sizeof(buffer))) > 0)
                for (char *p = buffer; p < buffer + n; p += sizeof(*event) + event->len) {
                        event = (const struct inotify_event *) (const void *) p;
                        if (event->mask & IN_CLOSE_WRITE && event->len > 0 &&
                            streq(event->name, strrchr(LOCK_PATH, '/') + 1))
                                wait->closing = true;
                }
}

/* True: something was heard; false: the time is up. */
static bool wait_news(Wait *wait) {
        struct pollfd pollfd = { .fd = wait->inotify_fd, .events = POLLIN };
        uint64_t now = clock_usec(CLOCK_MONOTONIC), until = wait->end_usec;
        struct timespec left;
        int r;

        if (wait->closing)
                until = MIN_OF(until, now + UNLOCK_USEC);
        if (now >= wait->end_usec)
                return false;

        left.tv_sec = (time_t) ((until - now) / USEC_PER_SEC);
        left.tv_nsec = (long) ((until - now) % USEC_PER_SEC * 1000);
        wait->closing = false;
        r = ppoll(&pollfd, 1, &left, NULL);
        if (r > 0)
                wait_hear(wait);
        return r != 0 || until < wait->end_usec;
}

static int wait_show(const Options *options, json_object *document, bool in_time) {
        int code = in_time ? document_code(document) : CODE_NOT_COMPLIANT;

        json_object_object_add(document, "timed_out", json_object_new_boolean(!in_time));
        output_open(options, false);
        if (options->json)
                output_json(document);
        else if (!options->quiet && code != CODE_DONE)
                print_troubles(json_get(document, "devices"));
        return output_close(code);
}

static int wait_loop(const Options *options, char **names, Wait *wait) {
        bool pending, in_time = true;

        for (;;) {
                _cleanup_(host_done) Host host = {};
                _cleanup_json_ json_object *document = NULL;
                int code;

                code = host_acquire(options, &host);
                if (code != CODE_DONE)
                        return code;
                if (host.running <= 0)
                        return complain(CODE_FAILED, "roced does not run, so nothing will come; %s", advice_start());

                document = document_make(&host, names);
                pending = is_pending(&host, names, document);
                if (pending)
                        in_time = wait_news(wait);
                if (pending && in_time)
                        continue;
                if (!in_time) {
                        (void) document_check_names(&host, names);
                        complain(CODE_NOT_COMPLIANT, "the time is up, and not all is judged");
                }
                return wait_show(options, document, in_time);
        }
}

int verb_wait(const Options *options, char **arguments) {
        _cleanup_close_ int fd = -EBADF;
        uint64_t timeout_usec = 0;
        Wait wait;
        int code;

        code = check_arguments(options, arguments, &timeout_usec);
        if (code != CODE_DONE)
                return code;

        /* Before the first look, so that nothing is missed after it. */
        fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (fd < 0)
                return complain(CODE_FAILED, "inotify: %s", strerror(errno));
        if (inotify_add_watch(fd, RUNTIME_PATH, IN_MOVED_TO | IN_DELETE | IN_CLOSE_WRITE) < 0 && errno != ENOENT)
                return complain(CODE_FAILED, "%s cannot be watched: %s", RUNTIME_PATH, strerror(errno));

        wait = (Wait){ .inotify_fd = fd, .end_usec = clock_usec(CLOCK_MONOTONIC) + timeout_usec };
        return wait_loop(options, arguments, &wait);
}
