/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs a program and makes one of its system calls fail, or kills it there: seccomp hands each call to a supervisor, which
 * writes it down and lets it pass but for one. Unlike strace's fault injection, which counts by thread and so fails a call
 * of each, it fails one call of one thread.
 *
 * Usage: inject LOG [THREAD CALL PLACE N ERRNO|KILL] -- PROGRAM [ARGUMENT...]
 *
 * THREAD is "main" or "worker", PLACE what the call is about, with "N" for each number; CALL and PLACE may be "*". The N-th
 * such call is meant, counted from main(), which mark.c tells of. The log begins with the supervisor's process, then has a
 * line for each call: thread, call, what it is about, and "passed" or what became of it. */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mark.h"

/* Where the filter's descriptor is sent from, out of the way of the program's own, and so the one place that is not
 * supervised. */
#define CHANNEL_FD 900

typedef struct Plan {
        bool worker;
        const char *call; /* NULL: no fault */
        const char *place;
        unsigned long number;
        int error; /* 0: kill */
} Plan;

typedef struct Supervisor {
        Plan plan;
        FILE *log;
        pid_t main;
        bool begun;
        unsigned long n_planned; /* calls so far that are like the planned one */
} Supervisor;

static void die(const char *what) {
        perror(what);
        _exit(125);
}

static void read_memory(pid_t tid, uint64_t address, void *buffer, size_t size) {
        char path[64];
        int fd;

        memset(buffer, 0, size);
        snprintf(path, sizeof(path), "/proc/%i/mem", tid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        /* What is asked for may reach beyond the end of what is mapped: less is read then. */
        for (size_t part = size; fd >= 0 && part > 0 && pread(fd, buffer, part, (off_t) address) < 0; part /= 2)
                ;
        close(fd);
}

static void read_link(pid_t tid, int fd, char *ret, size_t size) {
        char path[64];
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%i/fd/%i", tid, fd);
        n = readlink(path, ret, size - 1);
        ret[n > 0 ? n : 0] = 0;
}

static void describe_address(pid_t tid, uint64_t pointer, char *ret, size_t size) {
        struct sockaddr_un address;

        read_memory(tid, pointer, &address, sizeof(address));
        if (address.sun_family != AF_UNIX)
                snprintf(ret, size, "family %i", address.sun_family);
        else
                snprintf(ret, size, "%.*s", (int) sizeof(address.sun_path) - 1, address.sun_path);
}

/* What the call is about: the path or the address it names, or what its descriptor leads to. */
static void describe(const struct seccomp_notif *n, const char *call, char *ret, size_t size) {
        static const char *const by_path[] = { "access", "execve", "mkdir", "open", "readlink", "rename", "unlink", "chmod" };
        static const char *const by_number[] = { "eventfd2", "socket", "exit_group", "mmap", "munmap", "mprotect", "brk",
                                                 "clone3", "futex", "epoll_create1", "timerfd_create", "inotify_init1" };
        struct msghdr message;

        *ret = 0;
        for (size_t i = 0; i < sizeof(by_path) / sizeof(by_path[0]); i++)
                if (strcmp(call, by_path[i]) == 0) {
                        read_memory(n->pid, n->data.args[0], ret, size - 1);
                        return;
                }
        for (size_t i = 0; i < sizeof(by_number) / sizeof(by_number[0]); i++)
                if (strcmp(call, by_number[i]) == 0)
                        return;

        if (strcmp(call, "connect") == 0 || strcmp(call, "bind") == 0) {
                describe_address(n->pid, n->data.args[1], ret, size);
                return;
        }
        if (strcmp(call, "sendmsg") == 0) {
                read_memory(n->pid, n->data.args[1], &message, sizeof(message));
                if (message.msg_name) {
                        describe_address(n->pid, (uint64_t) (uintptr_t) message.msg_name, ret, size);
                        return;
                }
        }

        if ((int) n->data.args[0] >= 0)
                read_link(n->pid, (int) n->data.args[0], ret, size);
        if (strstr(call, "at") || strcmp(call, "inotify_add_watch") == 0) {
                size_t used = strlen(ret);
                char path[256];

                read_memory(n->pid, n->data.args[1], path, sizeof(path) - 1);
                if (*path == '/' || strcmp(call, "inotify_add_watch") == 0)
                        snprintf(ret, size, "%s", path);
                else if (*path)
                        snprintf(ret + used, size - used, "/%s", path);
        }
}

/* "N" stands for the digits of a number. */
static bool is_at_place(const char *about, const char *place) {
        while (*about && *place)
                if (isdigit((unsigned char) *about) && *place == 'N') {
                        about += strspn(about, "0123456789");
                        place++;
                } else if (*about++ != *place++)
                        return false;
        return !*about && !*place;
}

static bool plan_hits(Supervisor *s, bool worker, const char *call, const char *about) {
        if (!s->plan.call || s->plan.worker != worker)
                return false;
        if (strcmp(s->plan.call, "*") != 0 && strcmp(s->plan.call, call) != 0)
                return false;
        if (strcmp(s->plan.place, "*") != 0 && !is_at_place(about, s->plan.place))
                return false;
        return ++s->n_planned == s->plan.number;
}

static void handle(Supervisor *s, const struct seccomp_notif *n, struct seccomp_notif_resp *answer) {
        char *call = seccomp_syscall_resolve_num_arch(seccomp_arch_native(), n->data.nr), about[512];
        bool worker = (pid_t) n->pid != s->main;

        *answer = (struct seccomp_notif_resp) { .id = n->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
        if (!s->begun) {
                s->begun = n->data.nr == MARK_CALL;
                free(call);
                return;
        }

        describe(n, call, about, sizeof(about));
        fprintf(s->log, "%s\t%s\t%s\t", worker ? "worker" : "main", call, about);
        if (!plan_hits(s, worker, call, about))
                fputs("passed\n", s->log);
        else if (s->plan.error == 0) {
                fputs("KILL\n", s->log);
                fflush(s->log);
                kill(s->main, SIGKILL);
        } else {
                fprintf(s->log, "%s\n", strerrorname_np(s->plan.error));
                fflush(s->log);
                answer->flags = 0;
                answer->error = -s->plan.error;
        }
        free(call);
}

/* Until nobody is left whom the filter holds. */
static void supervise(Supervisor *s, int fd) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        struct seccomp_notif_resp *answer;
        struct seccomp_notif *n;

        if (seccomp_notify_alloc(&n, &answer) < 0)
                die("seccomp_notify_alloc");
        while (poll(&p, 1, -1) >= 0 && !(p.revents & POLLHUP)) {
                memset(n, 0, sizeof(*n));
                /* One who was killed meanwhile asks no more. */
                if (seccomp_notify_receive(fd, n) < 0)
                        continue;
                handle(s, n, answer);
                (void) seccomp_notify_respond(fd, answer);
        }
        fclose(s->log);
}

static int receive_fd(int channel) {
        char byte, control[CMSG_SPACE(sizeof(int))];
        struct iovec iov = { &byte, 1 };
        struct msghdr message = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
        };
        int fd;

        if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
                return -1;
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
        return fd;
}

static void send_fd(int channel, int fd) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
        struct iovec iov = { (char[]) { 0 }, 1 };
        struct msghdr message = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
        };
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);

        *header = (struct cmsghdr) { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
        memcpy(CMSG_DATA(header), &fd, sizeof(fd));
        if (sendmsg(channel, &message, 0) != 1)
                _exit(125);
}

/* The supervisor is nobody's child, so that the program does not meet it. */
static void start_supervisor(Plan plan, const char *log, int channel) {
        Supervisor s = { .plan = plan, .main = getpid() };
        pid_t child = fork();
        int fd;

        if (child < 0)
                die("fork");
        if (child > 0) {
                waitpid(child, NULL, 0);
                return;
        }
        if (fork() != 0)
                _exit(0);

        s.log = fopen(log, "we");
        if (!s.log)
                die(log);
        fprintf(s.log, "%i\n", getpid());
        fflush(s.log);
        close(CHANNEL_FD);
        fd = receive_fd(channel);
        if (fd < 0)
                _exit(125);
        supervise(&s, fd);
        _exit(0);
}

/* From the load on each call of this process waits for the supervisor, who waits for the descriptor: nothing is called
 * in between. */
static void enter_filter(void) {
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_NOTIFY);

        if (!filter || seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(futex), 0) < 0 ||
            seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sendmsg), 1, SCMP_A0(SCMP_CMP_EQ, CHANNEL_FD)) < 0 ||
            seccomp_load(filter) < 0) {
                errno = EINVAL;
                die("seccomp");
        }
        send_fd(CHANNEL_FD, seccomp_notify_fd(filter));
}

static Plan plan_parse(char **words) {
        Plan plan = {
                .worker = strcmp(words[0], "worker") == 0,
                .call = words[1],
                .place = words[2],
                .number = strtoul(words[3], NULL, 10),
        };

        if (strcmp(words[4], "KILL") == 0)
                return plan;
        for (int e = 1; e < 200; e++) {
                const char *name = strerrorname_np(e);

                if (name && strcmp(name, words[4]) == 0)
                        plan.error = e;
        }
        if (plan.error == 0) {
                errno = EINVAL;
                die(words[4]);
        }
        return plan;
}

int main(int argc, char **argv) {
        Plan plan = {};
        int channel[2], program = 0;

        for (int i = 2; i < argc && program == 0; i++)
                if (strcmp(argv[i], "--") == 0)
                        program = i + 1;
        if ((program != 3 && program != 8) || program >= argc) {
                fprintf(stderr, "Usage: inject LOG [THREAD CALL PLACE N ERRNO|KILL] -- PROGRAM [ARGUMENT...]\n");
                return 2;
        }
        if (program == 8)
                plan = plan_parse(argv + 2);

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) < 0 || dup3(channel[1], CHANNEL_FD, O_CLOEXEC) < 0)
                die("socketpair");
        start_supervisor(plan, argv[1], channel[0]);
        close(channel[0]);
        close(channel[1]);
        enter_filter();
        execvp(argv[program], argv + program);
        die(argv[program]);
}
