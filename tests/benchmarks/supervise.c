/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Starts a program as a service manager does, and tells when it is ready: by READY=1, or else by its end.
 *
 *   supervise [NAME=VALUE…] PROGRAM [ARGUMENT…]
 *
 * The variables are the program's. Prints "ready NS CPU_NS PID": nanoseconds since the fork, and of processor time.
 * Then takes commands from standard input, one at a time, each on a line and answered by one: "reload" sends SIGHUP
 * and prints "reload NS CPU_NS" when READY=1 has come again; "wait" waits for the program's own end. At the end of
 * standard input it is ended, if it has not, and "end CODE" printed. */

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "base.h"

typedef struct Supervisor {
        int notify_fd, signal_fd;
        pid_t pid;
        bool ended;
        int code;
        uint64_t cpu_ns; /* at its end, children included */
} Supervisor;

static uint64_t now_ns(clockid_t clock) {
        struct timespec time = {};

        clock_gettime(clock, &time);
        return (uint64_t) time.tv_sec * NSEC_PER_SEC + (uint64_t) time.tv_nsec;
}

static void die(const char *what) {
        perror(what);
        exit(EXIT_FAILURE);
}

static void open_sockets(Supervisor *self, char *name, size_t size) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        sigset_t signals;
        int n;

        n = snprintf(name, size, "@roced-benchmark-%i", (int) getpid());
        memcpy(address.sun_path + 1, name + 1, (size_t) n - 1);
        self->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (self->notify_fd < 0 || bind(self->notify_fd, (struct sockaddr *) &address,
                                        (socklen_t) (offsetof(struct sockaddr_un, sun_path) + (size_t) n)) < 0)
                die("socket");

        sigemptyset(&signals);
        sigaddset(&signals, SIGCHLD);
        sigprocmask(SIG_BLOCK, &signals, NULL);
        self->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
        if (self->signal_fd < 0)
                die("signalfd");
}

static void reap(Supervisor *self) {
        struct signalfd_siginfo info;
        struct rusage usage;
        int status;

        if (read(self->signal_fd, &info, sizeof(info)) < 0 || wait4(self->pid, &status, WNOHANG, &usage) != self->pid)
                return;
        self->ended = true;
        self->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        self->cpu_ns = ((uint64_t) usage.ru_utime.tv_sec + (uint64_t) usage.ru_stime.tv_sec) * NSEC_PER_SEC +
                       ((uint64_t) usage.ru_utime.tv_usec + (uint64_t) usage.ru_stime.tv_usec) * 1000;
}

static uint64_t cpu_ns(const Supervisor *self) {
        clockid_t clock;

        if (self->ended)
                return self->cpu_ns;
        return clock_getcpuclockid(self->pid, &clock) == 0 ? now_ns(clock) : 0;
}

/* Until READY=1 or the end; the time of it. */
static uint64_t await(Supervisor *self) {
        struct pollfd fds[] = { { .fd = self->notify_fd, .events = POLLIN },
                                { .fd = self->signal_fd, .events = POLLIN } };
        char message[4096];
        bool ready = false;
        uint64_t ns = 0;

        while (!ready && !self->ended) {
                if (poll(fds, 2, -1) < 0)
                        continue;
                ns = now_ns(CLOCK_MONOTONIC);
                if (fds[0].revents & POLLIN) {
                        ssize_t n = recv(self->notify_fd, message, sizeof(message) - 1, 0);

                        message[MAX_OF(n, 0)] = 0;
                        ready = startswith(message, "READY=1") || strstr(message, "\nREADY=1");
                } else if (fds[1].revents & POLLIN)
                        reap(self);
        }
        return ns;
}

static void await_end(Supervisor *self) {
        while (!self->ended)
                await(self);
}

static void reload(Supervisor *self) {
        uint64_t begin = now_ns(CLOCK_MONOTONIC), cpu = cpu_ns(self), end;

        if (kill(self->pid, SIGHUP) < 0)
                die("kill");
        end = await(self);
        printf("reload %llu %llu\n", (unsigned long long) (end - begin), (unsigned long long) (cpu_ns(self) - cpu));
        fflush(stdout);
}

static void run(char **argv, const char *socket_name) {
        int null_fd = open("/dev/null", O_WRONLY);
        sigset_t none;

        /* Standard output is for the answers. */
        (void) dup2(null_fd, STDOUT_FILENO);
        close(null_fd);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setenv("NOTIFY_SOCKET", socket_name, 1);
        for (; *argv && strchr(*argv, '='); argv++)
                putenv(*argv);
        execvp(*argv, argv);
        perror(*argv);
        _exit(127);
}

/* One command, or the end of them. */
static bool obey(Supervisor *self) {
        char line[64];
        ssize_t n;

        n = read(STDIN_FILENO, line, sizeof(line) - 1);
        if (n <= 0)
                return false;
        line[n] = 0;
        if (streq(line, "reload\n"))
                reload(self);
        else if (streq(line, "wait\n"))
                await_end(self);
        return true;
}

/* What the program notifies of meanwhile is taken, or it would wait for that. */
static void serve(Supervisor *self) {
        struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                                { .fd = self->notify_fd, .events = POLLIN } };
        char message[4096];
        bool more = true;

        while (more) {
                if (poll(fds, 2, -1) < 0)
                        continue;
                if (fds[1].revents & POLLIN)
                        (void) recv(self->notify_fd, message, sizeof(message), MSG_DONTWAIT);
                if (fds[0].revents)
                        more = obey(self);
        }
}

int main(int argc, char **argv) {
        Supervisor self = {};
        char socket_name[64];
        uint64_t begin, end;

        if (argc < 2) {
                fprintf(stderr, "Usage: %s [NAME=VALUE…] PROGRAM [ARGUMENT…]\n", argv[0]);
                return 2;
        }
        open_sockets(&self, socket_name, sizeof(socket_name));
        begin = now_ns(CLOCK_MONOTONIC);
        self.pid = fork();
        if (self.pid < 0)
                die("fork");
        if (self.pid == 0)
                run(argv + 1, socket_name);
        end = await(&self);
        printf("ready %llu %llu %i\n", (unsigned long long) (end - begin), (unsigned long long) cpu_ns(&self),
               (int) self.pid);
        fflush(stdout);

        serve(&self);
        if (!self.ended)
                kill(self.pid, SIGTERM);
        await_end(&self);
        printf("end %i\n", self.code);
        return EXIT_SUCCESS;
}
