/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The daemon: options, set-up, the loop, reload and stop. */

#include <getopt.h>
#include <signal.h>
#include <sys/random.h>
#include <sysexits.h>

#include "clock.h"
#include "config.h"
#include "log.h"
#include "message-ids.h"
#include "runtime.h"
#include "service.h"

Now service_now(void) {
        return (Now) {
                .monotonic_usec = clock_usec(CLOCK_MONOTONIC),
                .realtime_usec = clock_usec(CLOCK_REALTIME),
        };
}

static void log_policy_messages(const Messages *messages) {
        for (size_t i = 0; i < messages->n_items; i++) {
                _cleanup_free_ char *text = message_format(messages->items + i);
                bool error = messages->items[i].severity == SEVERITY_ERROR;

                if (text && text[strlen(text) - 1] == '\n')
                        text[strlen(text) - 1] = 0;
                log_message(error ? LOG_ERR : LOG_WARNING,
                            error ? MESSAGE_POLICY_INVALID_ID : MESSAGE_POLICY_WARNING_ID, "%s",
                            text ?: "out of memory");
        }
}

/* The first error's place and text on one line. */
static char *first_error(const Messages *messages, int error) {
        for (size_t i = 0; i < messages->n_items; i++) {
                const Message *message = messages->items + i;
                char *text;

                if (message->severity != SEVERITY_ERROR)
                        continue;
                if (asprintf(&text, "%s:%u:%u: %s", message->path ?: "policy", message->line, message->column,
                             message->text) >= 0)
                        return text;
        }
        return strdup(strerror(-error));
}

static void tell_policy(const Service *service, const Policy *policy) {
        Record record = { .priority = LOG_INFO, .message_id = MESSAGE_POLICY_LOADED_ID };
        Summary summary;

        if (policy) {
                record_message(&record, "Policy %.12s in force: %zu rules from %s%s", policy->sha256, policy->n_rules,
                               policy->files[0], policy->files[1] ? " and others" : "");
                record_add(&record, "ROCED_POLICY_SHA256", policy->sha256);
                record_send(&record);
                return;
        }

        manager_summarize(service->manager, &summary);
        log_message(LOG_WARNING, MESSAGE_POLICY_NONE_ID, "No policy: nothing is managed, %u ports are let go as they are",
                    service->manager->policy ? summary.ports - summary.by_state[STATE_UNMANAGED] : 0);
}

/* Loads the policy from disk. On failure the one in force stays. */
static int service_load_policy(Service *service, Trigger trigger) {
        _cleanup_(policy_unrefp) Policy *policy = NULL;
        _cleanup_(messages_done) Messages messages = {};
        int r;

        r = policy_load(service->policy_file, NULL, &policy, &messages);
        log_policy_messages(&messages);
        if (r == -ENOMEM)
                log_message(LOG_ERR, MESSAGE_POLICY_INVALID_ID, "The policy cannot be read: %s", strerror(-r));
        free(service->policy_error);
        service->policy_error = NULL;
        if (r < 0) {
                service->policy_error = first_error(&messages, r);
                return r;
        }

        tell_policy(service, policy);
        manager_set_policy(service->manager, policy, trigger);
        return 0;
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        Service *service = userdata;
        Now now = service_now();

        if (service->stopping)
                return 0;
        service_notify("RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long) now.monotonic_usec);
        answer_expect(&service->answer, now.monotonic_usec);
        (void) service_load_policy(service, TRIGGER_RELOAD);
        service->unpublished = true;
        return 0;
}

static int on_stop(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        Service *service = userdata;

        if (service->stopping)
                return 0;
        service_notify("STOPPING=1\nSTATUS=Removing directories");
        service->stopping = true;
        service->stop_by_usec = service_now().monotonic_usec + SERVICE_STOP_USEC;
        return 0;
}

static int on_worker(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Service *service = userdata;
        Job *job = worker_collect(service->worker);

        if (!job)
                return 0;
        if (job->type != JOB_REMOVE) {
                manager_job_done(service->manager, job, service_now());
                return 0;
        }

        if (job->error < 0 || job->n_left > 0)
                log_message(LOG_WARNING, MESSAGE_DIRECTORIES_LEFT_ID,
                            "Some directories in configfs could not be removed; the next start tries again");
        job_free(job);
        return sd_event_exit(service->event, 0);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        return 0; /* waking up is all: service_pump() comes after each event */
}

static void service_pump_stop(Service *service, Now now) {
        Job *job;

        if (!service->manager->running && !service->removing) {
                job = job_new(JOB_REMOVE, NULL, NULL);
                if (job) {
                        service->removing = true;
                        worker_submit(service->worker, job);
                        return;
                }
        }

        if (now.monotonic_usec >= service->stop_by_usec) {
                log_message(LOG_WARNING, MESSAGE_DIRECTORIES_LEFT_ID,
                            "The kernel does not answer, directories in configfs are left; the next start removes them");
                (void) sd_event_exit(service->event, 0);
        }
}

static void service_pump_work(Service *service, Now now) {
        Manager *manager = service->manager;
        bool settled;
        Job *job;

        manager_tick(manager, now);
        job = manager_next_job(manager, now.monotonic_usec);
        if (job)
                worker_submit(service->worker, job);

        settle_answer(service);
        settled = manager_is_settled(manager, now.monotonic_usec);
        service->unpublished = manager_take_changed(manager) || service->unpublished || now.monotonic_usec >= service->rewrite_usec;

        if (answer_is_due(&service->answer, manager, now.monotonic_usec))
                service_notify_ready(service, now);
        else if (service->unpublished &&
                 (settled || manager->blocked || now.monotonic_usec >= service->published_usec + SERVICE_PUBLISH_USEC))
                service_publish(service, now);
}

/* After each event: hand out work, tell of results, and see to it that the clock wakes us. */
static int service_pump(sd_event_source *source, void *userdata) {
        Service *service = userdata;
        uint64_t deadline;
        Now now = service_now();

        if (service->stopping) {
                service_pump_stop(service, now);
                deadline = service->stop_by_usec;
        } else {
                service_pump_work(service, now);
                deadline = MIN_OF(manager_deadline(service->manager), service->rewrite_usec);
                if (service->answer.due)
                        deadline = MIN_OF(deadline, service->answer.by_usec);
                if (service->unpublished)
                        deadline = MIN_OF(deadline, service->published_usec + SERVICE_PUBLISH_USEC);
        }

        if (deadline == UINT64_MAX)
                return sd_event_source_set_enabled(service->timer, SD_EVENT_OFF);
        (void) sd_event_source_set_time(service->timer, deadline);
        return sd_event_source_set_enabled(service->timer, SD_EVENT_ONESHOT);
}

static int service_open_loop(Service *service) {
        int r;

        r = sd_event_default(&service->event);
        if (r >= 0)
                r = sd_event_add_signal(service->event, NULL, SIGHUP, on_reload, service);
        if (r >= 0)
                r = sd_event_add_signal(service->event, NULL, SIGTERM, on_stop, service);
        if (r >= 0)
                r = sd_event_add_signal(service->event, NULL, SIGINT, on_stop, service);
        if (r >= 0)
                r = sd_event_add_time(service->event, &service->timer, CLOCK_MONOTONIC, 0, USEC_PER_MSEC, on_timer,
                                      service);
        if (r >= 0)
                r = sd_event_add_post(service->event, NULL, service_pump, service);
        if (r >= 0)
                r = worker_new(&service->worker);
        if (r >= 0)
                r = sd_event_add_io(service->event, NULL, worker_get_fd(service->worker), EPOLLIN, on_worker, service);
        if (r >= 0)
                r = sd_event_set_watchdog(service->event, true);
        return r;
}

/* The last line before the end, with what systemd is to show. */
static int fatal(int error, const char *what) {
        log_message(LOG_ERR, MESSAGE_FATAL_ID, "%s: %s", what, strerror(-error));
        service_notify("STATUS=%s: %s\nERRNO=%i", what, strerror(-error), -error);
        return EXIT_FAILURE;
}

/* What is wrong with the files stays wrong until somebody mends them. Being short of memory or descriptors passes, and so may what
 * a disk says. */
static bool policy_error_stays(int error) {
        return error == -EBADMSG || error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -ENAMETOOLONG ||
               error == -EACCES || error == -EPERM;
}

static int service_start(Service *service) {
        uint64_t seed = 0;
        int r;

        service->lock_fd = runtime_lock();
        if (service->lock_fd == -EBUSY)
                return fatal(-EBUSY, "Another roced is running, it holds " LOCK_PATH);
        if (service->lock_fd < 0)
                return fatal(service->lock_fd, LOCK_PATH);

        (void) getrandom(&seed, sizeof(seed), GRND_NONBLOCK);
        r = manager_new(-EBADF, seed, &service->manager);
        if (r < 0)
                return fatal(r, "Set-up");

        r = service_load_policy(service, TRIGGER_STARTUP);
        if (r < 0 && !policy_error_stays(r))
                return fatal(r, "The policy cannot be read");
        if (r < 0) {
                log_message(LOG_ERR, MESSAGE_FATAL_ID, "The policy is invalid, nothing was changed; \"rocectl check\" tests a mended one");
                service_notify("STATUS=Policy is invalid: %s\nERRNO=%i", service->policy_error ?: "", EINVAL);
                return EX_CONFIG;
        }

        r = service_open_loop(service);
        if (r < 0)
                return fatal(r, "Event loop");
        r = service_open_events(service);
        if (r < 0)
                return fatal(r, "Listening to udev");
        settle_open(service);
        return 0;
}

static int service_run(Service *service) {
        Now now = service_now();
        int r;

        service->since_usec = now.realtime_usec;
        answer_expect(&service->answer, now.monotonic_usec);
        (void) sd_event_source_set_time(service->timer, 0);
        (void) sd_event_source_set_enabled(service->timer, SD_EVENT_ONESHOT);

        r = sd_event_loop(service->event);
        runtime_remove_state();
        if (r < 0)
                return fatal(r, "Event loop");
        service_notify("STATUS=Stopped, the values stay in force");
        log_message(LOG_INFO, MESSAGE_STOPPED_ID, "Stopped; the values stay in force");
        return EXIT_SUCCESS;
}

static void service_done(Service *service) {
        settle_close(service);
        worker_free(service->worker);
        manager_free(service->manager);
        service_close_events(service);
        sd_event_source_unref(service->timer);
        sd_event_unref(service->event);
        runtime_unlock(service->lock_fd);
        free(service->policy_error);
        free(service->status);
}

static void print_help(void) {
        printf("Usage: %s [OPTION…]\n\n"
               "Enforces RoCE mode and TOS defaults of RDMA_CM as a policy says. Run by roced.service.\n\n"
               "      --policy FILE  read this policy only, no drop-ins\n"
               "      --version      print the version\n"
               "  -h, --help         print this help\n\n"
               "See roced(8), roced-policy(5).\n",
               program_invocation_short_name);
}

/* Gives an exit code, or -1 to go on. */
static int parse_options(int argc, char **argv, Service *service) {
        enum { OPTION_POLICY = 256, OPTION_VERSION };
        static const struct option options[] = {
                { "policy", required_argument, NULL, OPTION_POLICY },
                { "version", no_argument, NULL, OPTION_VERSION },
                { "help", no_argument, NULL, 'h' },
                {},
        };
        int option;

        while ((option = getopt_long(argc, argv, "h", options, NULL)) >= 0)
                switch (option) {
                case OPTION_POLICY:
                        service->policy_file = optarg;
                        break;
                case OPTION_VERSION:
                        printf("roced %s\n", VERSION);
                        return EXIT_SUCCESS;
                case 'h':
                        print_help();
                        return EXIT_SUCCESS;
                default:
                        return 2;
                }

        if (optind < argc) {
                fprintf(stderr, "%s: unexpected argument '%s'; try --help\n", program_invocation_short_name, argv[optind]);
                return 2;
        }
        return -1;
}

int main(int argc, char **argv) {
        Service service = { .lock_fd = -EBADF, .inotify_fd = -EBADF, .mountinfo_fd = -EBADF, .settle_fd = -EBADF,
                            .rewrite_usec = UINT64_MAX };
        sigset_t signals;
        int code;

        code = parse_options(argc, argv, &service);
        if (code >= 0)
                return code;

        /* In a container, or by hand, the journal does not know the records for those of roced.service. */
        log_open(!getenv("INVOCATION_ID"), false);
        if (geteuid() != 0) {
                fprintf(stderr, "%s: must run as root: only root may write to configfs\n", program_invocation_short_name);
                return EXIT_FAILURE;
        }

        /* From here on signals wait for the loop. */
        sigemptyset(&signals);
        sigaddset(&signals, SIGHUP);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGINT);
        (void) sigprocmask(SIG_BLOCK, &signals, NULL);

        code = service_start(&service);
        if (code == 0)
                code = service_run(&service);
        service_done(&service);
        return code;
}
