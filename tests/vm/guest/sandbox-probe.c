/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tries what roced must not be able to do, and prints for each attempt whether it was possible. Run by copies of
 * roced.service, each without one line of its sandbox; the scenario that makes them says which attempt tells of which line.
 *
 * Usage: sandbox-probe IPC_NAMESPACE UTS_NAMESPACE, as links in the host's /proc/self/ns. */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN_FILE "/run/roced/probe"

static const char *host_ipc, *host_uts;

static bool done(int r) {
        return r >= 0;
}

static bool opens(const char *path, int flags) {
        int fd = open(path, flags | O_CLOEXEC, 0600);

        return fd >= 0 && close(fd) == 0;
}

static bool shares(const char *namespace, const char *host) {
        char link[64] = "";

        return readlink(namespace, link, sizeof(link) - 1) > 0 && strcmp(link, host) == 0;
}

/* What it runs could be more than it is. */
static bool gain_privileges(void) {
        return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0;
}

/* As those with a capability do. */
static bool pass_by_modes(void) {
        return opens("/run/probe/locked", O_RDONLY);
}

/* Other users' files bear their names. */
static bool see_users(void) {
        struct stat st;

        return stat("/run/probe/of-a-user", &st) >= 0 && st.st_uid == 1;
}

static bool write_usr(void) {
        return opens("/usr/probe", O_WRONLY | O_CREAT) && unlink("/usr/probe") == 0;
}

static bool write_sys(void) {
        return opens("/sys/kernel/mm/ksm/run", O_WRONLY);
}

static bool write_configfs(void) {
        return access("/sys/kernel/config", W_OK) == 0;
}

static bool write_cgroups(void) {
        return opens("/sys/fs/cgroup/cgroup.subtree_control", O_WRONLY);
}

static bool look_into_homes(void) {
        return opens("/root", O_RDONLY | O_DIRECTORY);
}

static bool see_devices(void) {
        return access("/dev/vda", F_OK) == 0;
}

static bool share_ipc(void) {
        return shares("/proc/self/ns/ipc", host_ipc);
}

static bool share_hostname(void) {
        return shares("/proc/self/ns/uts", host_uts);
}

static bool see_processes(void) {
        return access("/proc/1", F_OK) == 0;
}

static bool see_the_rest_of_proc(void) {
        return access("/proc/kallsyms", F_OK) == 0;
}

static bool see_modules(void) {
        return opens("/usr/lib/modules", O_RDONLY | O_DIRECTORY);
}

static bool see_kernel_log(void) {
        return opens("/dev/kmsg", O_RDONLY) || syscall(SYS_syslog, 10, NULL, 0) >= 0;
}

static bool set_clock(void) {
        struct timeval now;

        return gettimeofday(&now, NULL) == 0 && syscall(SYS_settimeofday, &now, NULL) == 0;
}

static bool reach_networks(void) {
        return done(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

static bool send_packets(void) {
        struct sockaddr_in address = {
                .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        };
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        return fd >= 0 && sendto(fd, "", 1, 0, (struct sockaddr *) &address, sizeof(address)) == 1;
}

static bool change_personality(void) {
        return done(personality(ADDR_NO_RANDOMIZE));
}

static bool write_code(void) {
        return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

static bool make_namespaces(void) {
        return unshare(CLONE_NEWUSER) == 0;
}

static bool be_realtime(void) {
        return sched_setscheduler(0, SCHED_FIFO, &(struct sched_param) { .sched_priority = 1 }) == 0;
}

static bool leave_a_setuid_file(void) {
        bool made = opens(OWN_FILE, O_WRONLY | O_CREAT) && chmod(OWN_FILE, 04755) == 0;

        unlink(OWN_FILE);
        return made;
}

static bool let_others_read(void) {
        struct stat st;
        int fd = open(OWN_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        bool read = fd >= 0 && fstat(fd, &st) == 0 && st.st_mode & 0077;

        close(fd);
        unlink(OWN_FILE);
        return read;
}

/* getpid(2) by the number and the way of a 32-bit program. */
static bool call_as_another_architecture(void) {
#ifdef __x86_64__
        int r;

        __asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory");
        return r > 0;
#else
        return false;
#endif
}

static bool debug(void) {
        return done((int) ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static bool take_resources(void) {
        cpu_set_t all;

        memset(&all, 0xff, sizeof(all));
        return sched_setaffinity(0, sizeof(all), &all) == 0;
}

static const struct {
        const char *name;
        bool (*is_possible)(void);
} attempts[] = {
#define ATTEMPT(function) { #function, function }
        ATTEMPT(gain_privileges),
        ATTEMPT(pass_by_modes),
        ATTEMPT(see_users),
        ATTEMPT(write_usr),
        ATTEMPT(write_sys),
        ATTEMPT(write_configfs),
        ATTEMPT(write_cgroups),
        ATTEMPT(look_into_homes),
        ATTEMPT(see_devices),
        ATTEMPT(share_ipc),
        ATTEMPT(share_hostname),
        ATTEMPT(see_processes),
        ATTEMPT(see_the_rest_of_proc),
        ATTEMPT(see_modules),
        ATTEMPT(see_kernel_log),
        ATTEMPT(set_clock),
        ATTEMPT(reach_networks),
        ATTEMPT(send_packets),
        ATTEMPT(change_personality),
        ATTEMPT(write_code),
        ATTEMPT(make_namespaces),
        ATTEMPT(be_realtime),
        ATTEMPT(leave_a_setuid_file),
        ATTEMPT(let_others_read),
        ATTEMPT(call_as_another_architecture),
        ATTEMPT(debug),
        ATTEMPT(take_resources),
};

/* Each in a process of its own, so that it cannot help the next; one that is killed was not possible. */
static const char *outcome(bool (*is_possible)(void)) {
        pid_t child = fork();
        int status;

        if (child == 0)
                _exit(is_possible() ? 0 : 1);
        if (child < 0 || waitpid(child, &status, 0) < 0)
                return "unknown";
        return WIFSIGNALED(status) ? "killed" : WEXITSTATUS(status) == 0 ? "possible" : "refused";
}

int main(int argc, char **argv) {
        host_ipc = argc > 1 ? argv[1] : "";
        host_uts = argc > 2 ? argv[2] : "";
        for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++)
                printf("%s %s\n", attempts[i].name, outcome(attempts[i].is_possible));
        return 0;
}
