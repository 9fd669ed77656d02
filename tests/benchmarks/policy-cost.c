/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What a policy costs the processor: parsing it beside libyaml's bare events, and finding the rules of many ports.
 * Prints a line with a name and nanoseconds of processor time for each turn; turns alternate, so that what disturbs
 * one disturbs the other. */

#include <time.h>
#include <yaml.h>

#include "policy-load.h"
#include "policy.h"

/* Not inlined, so that a profiler can count within them. */
#define MEASURED __attribute__((noinline, visibility("default")))

bool measure_events(const PolicyText *text);
Policy *measure_parse(const PolicyText *text);
size_t measure_match(const Policy *policy, Device *devices, size_t n_devices);

static uint64_t processor_ns(void) {
        struct timespec time;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return (uint64_t) time.tv_sec * NSEC_PER_SEC + (uint64_t) time.tv_nsec;
}

static int text_acquire(const char *path, PolicyText *ret) {
        _cleanup_fclose_ FILE *file = fopen(path, "re");
        char *bytes = malloc(POLICY_FILE_SIZE_MAX + 1);

        if (!file || !bytes) {
                free(bytes);
                return -errno;
        }
        ret->path = strdup(path);
        ret->bytes = bytes;
        ret->size = fread(bytes, 1, POLICY_FILE_SIZE_MAX, file);
        bytes[ret->size] = 0;
        return ret->path && !ferror(file) ? 0 : -EIO;
}

static void text_done(PolicyText *text) {
        free(text->path);
        free(text->bytes);
}

MEASURED bool measure_events(const PolicyText *text) {
        yaml_event_t event;
        yaml_parser_t parser;
        bool good = true, more = true;

        if (!yaml_parser_initialize(&parser))
                return false;
        yaml_parser_set_input_string(&parser, (const unsigned char *) text->bytes, text->size);
        while (good && more) {
                good = yaml_parser_parse(&parser, &event);
                if (good) {
                        more = event.type != YAML_STREAM_END_EVENT;
                        yaml_event_delete(&event);
                }
        }
        yaml_parser_delete(&parser);
        return good;
}

MEASURED Policy *measure_parse(const PolicyText *text) {
        Messages messages = {};
        Policy *policy = NULL;

        if (policy_parse(text, 1, &policy, &messages) < 0) {
                char *first = messages.n_items > 0 ? message_format(messages.items) : NULL;

                fprintf(stderr, "%s", first ?: "out of memory\n");
                free(first);
        }
        messages_done(&messages);
        return policy;
}

/* Rules found. */
MEASURED size_t measure_match(const Policy *policy, Device *devices, size_t n_devices) {
        const Rule *rule;
        size_t n = 0;

        for (size_t i = 0; i < n_devices; i++)
                for (size_t p = 0; p < devices[i].n_ports; p++)
                        n += policy_find_rule(policy, devices + i, devices[i].ports + p, &rule) == MATCH_YES;
        return n;
}

static int parse(const char *path, unsigned turns) {
        _cleanup_(text_done) PolicyText text = {};

        if (text_acquire(path, &text) < 0)
                return EXIT_FAILURE;
        for (unsigned i = 0; i < turns; i++) {
                uint64_t begin = processor_ns(), between, end;
                Policy *policy;

                if (!measure_events(&text))
                        return EXIT_FAILURE;
                between = processor_ns();
                policy = measure_parse(&text);
                end = processor_ns();
                if (!policy)
                        return EXIT_FAILURE;
                policy_unref(policy);
                printf("events %llu\nparse %llu\n", (unsigned long long) (between - begin),
                       (unsigned long long) (end - between));
        }
        return EXIT_SUCCESS;
}

/* Two ports each, named and placed as a large host's virtual functions are. */
static Device *devices_new(size_t n) {
        Device *devices = calloc(n, sizeof(Device));

        for (size_t i = 0; devices && i < n; i++) {
                Device *device = devices + i;
                Port *ports = calloc(2, sizeof(Port));

                if (!ports || asprintf(&device->name, "mlx5_%zu", i) < 0 ||
                    asprintf(&device->pci, "0000:%02zx:%02zx.%zu", i / 256, i / 8 % 32, i % 8) < 0)
                        return NULL;
                device->driver = strdup("mlx5_core");
                device->pci_id = strdup("15b3:101e");
                device->node_guid = strdup("248a:0703:004b:f0a4");
                device->function = FUNCTION_VF;
                device->settled = device->has_database = true;
                device->ports = ports;
                device->n_ports = 2;
                for (unsigned p = 0; p < 2; p++) {
                        ports[p] = (Port){ .number = p + 1,
                                           .link_layer = LINK_LAYER_ETHERNET,
                                           .roce = true,
                                           .netdev_settled = true };
                        if (asprintf(&ports[p].netdev, "ens%zuf%u", i, p) < 0)
                                return NULL;
                }
        }
        return devices;
}

static int match(unsigned turns, size_t n_ports, char **paths, size_t n_paths) {
        Device *devices = devices_new(n_ports / 2); /* never freed, as the policies: the process ends */
        Policy **policies = calloc(n_paths, sizeof(Policy *));

        if (!devices || !policies)
                return EXIT_FAILURE;
        for (size_t i = 0; i < n_paths; i++) {
                PolicyText text = {};

                if (text_acquire(paths[i], &text) < 0 || !(policies[i] = measure_parse(&text)))
                        return EXIT_FAILURE;
                text_done(&text);
        }

        for (unsigned turn = 0; turn < turns; turn++)
                for (size_t i = 0; i < n_paths; i++) {
                        uint64_t begin = processor_ns();
                        size_t found = measure_match(policies[i], devices, n_ports / 2);

                        printf("%s %llu\n", paths[i], (unsigned long long) (processor_ns() - begin));
                        if (found != n_ports / 2 * 2)
                                return EXIT_FAILURE;
                }
        return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
        if (argc == 4 && streq(argv[1], "parse"))
                return parse(argv[3], (unsigned) atoi(argv[2]));
        if (argc > 4 && streq(argv[1], "match"))
                return match((unsigned) atoi(argv[2]), (size_t) atoi(argv[3]), argv + 4, (size_t) argc - 4);
        fprintf(stderr, "Usage: %s parse TURNS FILE\n       %s match TURNS PORTS FILE…\n", argv[0], argv[0]);
        return 2;
}
