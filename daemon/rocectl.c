/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The operator's tool: options and verbs. What a verb does stands in a file of its own. */

#include "rocectl.h"

#include <getopt.h>
#include <locale.h>

#include "config.h"
#include "rocectl-output.h"
#include "text.h"

typedef struct Verb {
        const char *name;
        const char *arguments;
        bool takes_arguments;
        const char *summary;
        const char *help; /* what more there is to know */
        const char *codes; /* what the exit codes 0 and 3 mean; NULL: compliant and not */
        int own_option;   /* the one option that only this verb takes; 0: none */
        int (*run)(const Options *options, char **arguments);
} Verb;

/* Those from OPTION_TIMEOUT on belong to one verb each. */
enum { OPTION_POLICY = 256, OPTION_NO_PAGER, OPTION_NO_LEGEND, OPTION_VERSION, OPTION_TIMEOUT, OPTION_PEERS, OPTION_SINCE };

static const Verb verbs[] = {
        { "status", "[DEVICE...]", true, "Show each port: what the policy wants, what is, and why",
          "With one DEVICE all that is known of it is shown. Any user may ask; nothing is changed.\n"
          "MODE and TOS show what was found, and after the arrow what is wanted if that differs.\n"
          "With --policy, or where roced does not run, ports are judged by the policy on disk.\n",
          NULL, 0, verb_status },
        { "check", "[FILE...]", true, "Test policies, with no daemon and no privileges",
          "Without FILE the installed policy is tested with its drop-ins; '-' is standard input.\n"
          "Errors and warnings go to stderr, with --quiet only errors.\n",
          "0 valid", 0, verb_check },
        { "plan", "[--peers FILE...]", true, "Show what a pass would change, and change nothing",
          "      --peers        tell whom of other hosts the changes would cut off: each FILE is\n"
          "                     what \"status --json\" wrote on one of them\n\n"
          "Judges by the policy on disk, also while roced runs with another. As root it may make\n"
          "a directory in configfs for a moment, to be able to look.\n",
          NULL, OPTION_PEERS, verb_plan },
        { "explain", "DEVICE[/PORT]", true, "Tell why a port is as it is: each rule, and what came of it",
          "Shows for each rule that was tried what of it did not match, the rule that won, what the\n"
          "kernel holds, what the port supports, and the last record in the journal about it.\n"
          "Any user may ask; nothing is changed.\n",
          "0 done, whatever the state", 0, verb_explain },
        { "apply", "", false, "Do one pass without the daemon",
          "For an initramfs, a container, a host without systemd. Refuses while roced runs.\n", NULL, 0, verb_apply },
        { "compat", "A B | FILE...", true, "Tell who reaches whom, by RoCE version",
          "Of two modes, v1 or v2: whether a client in mode A reaches a server in mode B.\n"
          "Of files that \"status --json\" wrote on many hosts: which of them do not reach which,\n"
          "and through which ports. '-' is standard input.\n",
          "0 all clients reach all servers, 3 not all, or it is not known", 0, verb_compat },
        { "doctor", "", false, "Find what stops RoCE here, with the remedy",
          "Looks at configfs, rdma_cm, policy, daemon, GIDs, other tools that write, and the ports'\n"
          "DCB state. Changes nothing; rocectl(1) lists what it can find.\n",
          "0 nothing found, 3 something", 0, verb_doctor },
        { "generate", "", false, "Write a policy that describes the host as it stands",
          "To stdout, by keys that last. What cannot be seen is left out and named on stderr. As root\n"
          "it may make a directory in configfs for a moment, to be able to look.\n",
          "0 done, 3 something could not be seen", 0, verb_generate },
        { "wait", "[DEVICE...]", true, "Wait until nothing is pending",
          "      --timeout SEC  wait so long at most, 90 seconds if not told\n\n"
          "Waits until roced has judged all ports, or those of the devices named, and for such a\n"
          "device to be there.\n",
          "0 all is compliant, 3 it is not, or the time is up", OPTION_TIMEOUT, verb_wait },
        { "log", "[DEVICE...]", true, "Show what roced and rocectl did, from the journal",
          "      --since TIME   leave out what is older; TIME is \"2026-01-31 13:00\", \"13:00\", \"today\",\n"
          "                     \"yesterday\", \"-1h\" or \"2 days ago\"\n\n"
          "A line a record, the oldest first: changes, what was not as wanted and why, by which rule.\n",
          "0 done", OPTION_SINCE, verb_log },
        { "metrics", "", false, "Write the state as Prometheus text",
          "For the textfile collector of node_exporter; a unit and a timer that write its file are\n"
          "among the examples.\n",
          "0 done, whatever the state", 0, verb_metrics },
};

static const struct option long_options[] = {
        { "policy", required_argument, NULL, OPTION_POLICY },
        { "json", no_argument, NULL, 'j' },
        { "quiet", no_argument, NULL, 'q' },
        { "no-pager", no_argument, NULL, OPTION_NO_PAGER },
        { "no-legend", no_argument, NULL, OPTION_NO_LEGEND },
        { "version", no_argument, NULL, OPTION_VERSION },
        { "peers", no_argument, NULL, OPTION_PEERS },
        { "since", required_argument, NULL, OPTION_SINCE },
        { "timeout", required_argument, NULL, OPTION_TIMEOUT },
        { "help", no_argument, NULL, 'h' },
        {},
};

static const char policy_help[] = "      --policy FILE  use this policy only, no drop-ins\n";

static const char options_help[] =
        "  -j, --json         write JSON\n"
        "  -q, --quiet        write errors only; the exit code tells the rest\n"
        "      --no-pager     do not start a pager\n"
        "      --no-legend    leave out table heads and the notes below\n"
        "      --version      print the version\n"
        "  -h, --help         print this help, or that of a verb\n";

static void print_codes_help(FILE *f, const char *codes) {
        fprintf(f, "Exit code: %s,\n1 it could not be done, 2 wrong usage or invalid policy.\n\nSee rocectl(1).\n",
                codes ? codes : "0 done and compliant, 3 done and not compliant");
}

static void print_help(FILE *f) {
        fprintf(f,
                "Usage: %s VERB [OPTION...] [ARGUMENT...]\n\n"
                "Looks at and tests the RoCE mode and TOS defaults of RDMA_CM that roced keeps.\n\n",
                program_invocation_short_name);
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                fprintf(f, "  %-8s %-17s  %s\n", verbs[i].name, verbs[i].arguments, verbs[i].summary);
        fprintf(f, "\n%s%s\n", policy_help, options_help);
        print_codes_help(f, NULL);
}

/* The others judge nothing. */
static bool verb_takes_policy(const Verb *verb) {
        return verb->run != verb_compat && verb->run != verb_generate && verb->run != verb_log &&
               verb->run != verb_wait;
}

static void print_verb_help(const Verb *verb) {
        printf("Usage: %s %s%s%s [OPTION...]\n\n%s.\n\n%s\n%s%s\n",
               program_invocation_short_name, verb->name, verb->arguments[0] ? " " : "", verb->arguments,
               verb->summary, verb->help, verb_takes_policy(verb) ? policy_help : "", options_help);
        print_codes_help(stdout, verb->codes);
}

/* "dashes" go before the word in what is said. */
static int complain_of_word(const char *what, const char *dashes, const char *word, const char *const *words,
                            size_t n_words) {
        const char *nearest = text_nearest(word, words, n_words);

        if (nearest)
                return complain(CODE_USAGE, "unknown %s '%s%s'; did you mean '%s%s'?", what, dashes, word,
                                dashes, nearest);
        return complain(CODE_USAGE, "unknown %s '%s%s'; \"%s --help\" shows all there are", what, dashes,
                        word, program_invocation_short_name);
}

/* getopt_long(3) takes abbreviations, which would bind us for ever to the names of options to come. */
static int check_long_options(char **argv) {
        const char *names[ELEMENTSOF(long_options)];
        size_t n_names = 0;

        for (const struct option *option = long_options; option->name; option++)
                names[n_names++] = option->name;

        for (char **argument = argv + 1; *argument && !streq(*argument, "--"); argument++) {
                const struct option *option = long_options;
                _cleanup_free_ char *name = NULL;

                if (!startswith(*argument, "--"))
                        continue;
                name = NEED(strndup(*argument + 2, strcspn(*argument + 2, "=")));
                while (option->name && !streq(option->name, name))
                        option++;
                if (!option->name)
                        return complain_of_word("option", "--", name, names, n_names);
                if (option->has_arg == required_argument && !strchr(*argument, '=') && argument[1])
                        argument++;
        }
        return CODE_DONE;
}

/* Gives an exit code, or -1 to go on. The words that are no options are left at argv[optind]. */
static int parse_options(int argc, char **argv, Options *options, bool *ret_help) {
        int option;

        if (check_long_options(argv) != CODE_DONE)
                return CODE_USAGE;

        while ((option = getopt_long(argc, argv, "hjq", long_options, NULL)) >= 0)
                switch (option) {
                case OPTION_POLICY:
                        options->policy_file = optarg;
                        break;
                case 'j':
                        options->json = true;
                        break;
                case 'q':
                        options->quiet = true;
                        break;
                case OPTION_NO_PAGER:
                        options->no_pager = true;
                        break;
                case OPTION_NO_LEGEND:
                        options->no_legend = true;
                        break;
                case OPTION_SINCE:
                        options->since = optarg;
                        break;
                case OPTION_TIMEOUT:
                        options->timeout = optarg;
                        break;
                case OPTION_PEERS:
                        options->peers = true;
                        break;
                case OPTION_VERSION:
                        printf("rocectl %s\n", VERSION);
                        return output_close(CODE_DONE);
                case 'h':
                        *ret_help = true;
                        break;
                default:
                        return CODE_USAGE; /* getopt has said why */
                }
        return -1;
}

static const Verb *verb_find(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (streq(verbs[i].name, name))
                        return verbs + i;
        return NULL;
}

/* An option of another verb would be passed over in silence. */
static int check_own_options(const Verb *verb, const Options *options) {
        const struct {
                int option;
                bool given;
        } own[] = {
                { OPTION_TIMEOUT, options->timeout },
                { OPTION_SINCE, options->since },
                { OPTION_PEERS, options->peers },
        };

        if (options->policy_file && !verb_takes_policy(verb))
                return complain(CODE_USAGE, "%s takes no --policy", verb->name);

        for (size_t i = 0; i < ELEMENTSOF(own); i++) {
                const struct option *option = long_options;

                if (!own[i].given || verb->own_option == own[i].option)
                        continue;
                while (option->val != own[i].option)
                        option++;
                return complain(CODE_USAGE, "%s takes no --%s", verb->name, option->name);
        }
        return CODE_DONE;
}

static int run(int argc, char **argv) {
        const char *names[ELEMENTSOF(verbs)];
        Options options = {};
        const Verb *verb;
        bool help = false;
        int code;

        code = parse_options(argc, argv, &options, &help);
        if (code >= 0)
                return code;
        if (optind == argc) {
                print_help(help ? stdout : stderr);
                return output_close(help ? CODE_DONE : CODE_USAGE);
        }

        verb = verb_find(argv[optind]);
        if (!verb) {
                for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                        names[i] = verbs[i].name;
                return complain_of_word("verb", "", argv[optind], names, ELEMENTSOF(verbs));
        }
        if (help) {
                print_verb_help(verb);
                return output_close(CODE_DONE);
        }
        if (!verb->takes_arguments && optind + 1 < argc)
                return complain(CODE_USAGE, "%s takes no argument, '%s' is too much", verb->name,
                                argv[optind + 1]);
        if (check_own_options(verb, &options) != CODE_DONE)
                return CODE_USAGE;
        return verb->run(&options, argv + optind + 1);
}

int main(int argc, char **argv) {
        (void) setlocale(LC_CTYPE, "");
        return run(argc, argv);
}
