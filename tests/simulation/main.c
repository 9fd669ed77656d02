/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Runs schedules on all processors; each is its seed's. A seed at which something is wrong prints itself. */

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "simulation.h"

/* After so many nobody reads on. */
#define FAILURES_MAX 10

/* Of processor time: a schedule takes a part of a millisecond. */
#define SCHEDULE_SEC 10

typedef struct Share {
        pid_t pid;
        uint64_t next, end; /* seeds; "next" is at work */
} Share;

static void share_work(Share *share) {
        static const struct itimerval limit = { .it_value.tv_sec = SCHEDULE_SEC };

        for (; share->next < share->end; share->next++) { /* the others may put an end to it */
                if (share->next % 64 == 0)
                        (void) setitimer(ITIMER_VIRTUAL, &limit, NULL);
                schedule_run(share->next, false);
        }
        policies_free();
        exit(EXIT_SUCCESS);
}

static void share_start(Share *share) {
        pid_t pid;

        fflush(stdout);
        pid = fork();
        if (pid < 0) {
                perror("fork");
                exit(EXIT_FAILURE);
        }
        if (pid == 0)
                share_work(share);
        share->pid = pid;
}

static int run_shares(uint64_t from, uint64_t n, unsigned n_shares, uint64_t failures_max) {
        Share *shares = mmap(NULL, n_shares * sizeof(Share), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                             0);
        uint64_t failures = 0;
        int status;
        pid_t pid;

        if (shares == MAP_FAILED) {
                perror("mmap");
                return EXIT_FAILURE;
        }
        for (unsigned i = 0; i < n_shares; i++) {
                shares[i] = (Share){ .next = from + n * i / n_shares, .end = from + n * (i + 1) / n_shares };
                share_start(shares + i);
        }
        while ((pid = wait(&status)) >= 0) {
                Share *share = shares;

                while (share->pid != pid)
                        share++;
                if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
                        continue;
                if (WIFSIGNALED(status))
                        printf("seed %" PRIu64 ": ends with signal %i, %s\n", share->next, WTERMSIG(status),
                               strsignal(WTERMSIG(status)));
                share->next++;
                if (++failures < failures_max)
                        share_start(share);
                else
                        for (unsigned i = 0; i < n_shares; i++)
                                shares[i].end = 0;
        }
        printf("%" PRIu64 " schedules from %" PRIu64 " on, %" PRIu64 " failed\n", n, from, failures);
        return failures > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static uint64_t number_parse(const char *text) {
        char *end;
        uint64_t number = strtoumax(text, &end, 10);

        if (*text < '0' || *text > '9' || *end) {
                fprintf(stderr, "%s: '%s' is no number\n", program_invocation_short_name, text);
                exit(2);
        }
        return number;
}

static void print_help(void) {
        printf("Usage: %s [OPTION...]\n\n"
               "Runs roced's logic in a world of chance.\n\n"
               "      --seeds N  so many schedules (1000)\n"
               "      --from S   from this seed on (0)\n"
               "      --seed S   this schedule only\n"
               "      --first    end where the first one fails\n"
               "  -v             with all that happens; aborts where something is wrong\n"
               "  -h, --help     print this help\n",
               program_invocation_short_name);
}

int main(int argc, char **argv) {
        enum { OPTION_SEEDS = 256, OPTION_FROM, OPTION_SEED, OPTION_FIRST };
        static const struct option options[] = {
                { "seeds", required_argument, NULL, OPTION_SEEDS },
                { "from", required_argument, NULL, OPTION_FROM },
                { "seed", required_argument, NULL, OPTION_SEED },
                { "first", no_argument, NULL, OPTION_FIRST },
                { "help", no_argument, NULL, 'h' },
                {},
        };
        static char buffer[64 * 1024];
        uint64_t n = 1000, from = 0, failures_max = FAILURES_MAX;
        bool verbose = false;
        unsigned shares;
        int option;

        setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
        while ((option = getopt_long(argc, argv, "hv", options, NULL)) >= 0)
                switch (option) {
                case OPTION_SEEDS:
                        n = number_parse(optarg);
                        break;
                case OPTION_FROM:
                        from = number_parse(optarg);
                        break;
                case OPTION_SEED:
                        from = number_parse(optarg);
                        n = 1;
                        break;
                case OPTION_FIRST:
                        failures_max = 1;
                        break;
                case 'v':
                        verbose = true;
                        break;
                case 'h':
                        print_help();
                        return EXIT_SUCCESS;
                default:
                        return 2;
                }

        policies_load();
        shares = (unsigned) MIN_OF((uint64_t) MAX_OF(sysconf(_SC_NPROCESSORS_ONLN), 1), MAX_OF(n, 1U));
        if (!verbose)
                return run_shares(from, n, shares, failures_max);
        for (uint64_t seed = from; seed < from + n; seed++)
                schedule_run(seed, true);
        policies_free();
        printf("%" PRIu64 " schedules from %" PRIu64 " on, 0 failed\n", n, from);
        return EXIT_SUCCESS;
}
