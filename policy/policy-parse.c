/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A whole policy from the bytes of its files: hash, nodes, rules, all or nothing. Must not read files. */

#include <nettle/sha2.h>

#include "compile.h"
#include "policy-index.h"

static int policy_set_files(Policy *policy, const PolicyText *texts, size_t n_texts) {
        policy->files = calloc(n_texts + 1, sizeof(char *));
        if (!policy->files)
                return -ENOMEM;

        for (size_t i = 0; i < n_texts; i++) {
                policy->files[i] = strdup(texts[i].path);
                if (!policy->files[i])
                        return -ENOMEM;
        }
        return 0;
}

void policy_texts_hash(const PolicyText *texts, size_t n_texts, char ret[static 64 + 1]) {
        uint8_t digest[SHA256_DIGEST_SIZE];
        struct sha256_ctx context;

        sha256_init(&context);
        for (size_t i = 0; i < n_texts; i++)
                sha256_update(&context, texts[i].size, (const uint8_t *) texts[i].bytes);
        sha256_digest(&context, sizeof(digest), digest);

        for (size_t i = 0; i < sizeof(digest); i++)
                snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}

/* Of a rule until its file has been read to the end. */
#define ENFORCEMENT_OF_FILE ((Enforcement) -1)

static void take_rule(void *userdata, const Node *node) {
        Compiler *compiler = userdata;

        if (compiler->source->n_errors == 0 && compiler->source->error == 0)
                compile_rule(compiler, node);
}

/* Rule by rule, so that the nodes of one need memory at a time: that of all takes as long to come by as the parsing itself. 1: something
 * is wrong with the file. */
static int policy_parse_good(Compiler *compiler, const PolicyText *text, unsigned file) {
        _cleanup_(arena_freep) Arena *arena = arena_new();
        size_t first = compiler->policy->n_rules;
        Source source = {
                .text = text,
                .file = file,
        };
        Node *root = NULL;
        int r;

        if (!arena)
                return -ENOMEM;

        compiler->source = &source;
        compiler->enforcement = ENFORCEMENT_OF_FILE;
        r = nodes_parse_entries(&source, arena, "rules", take_rule, compiler, &root);
        if (r == 0)
                r = compile_file(compiler, root);
        if (r == 0 && source.n_errors > 0)
                r = 1;
        free(source.copy);

        for (size_t i = first; r == 0 && i < compiler->policy->n_rules; i++)
                if (compiler->policy->rules[i].enforcement == ENFORCEMENT_OF_FILE)
                        compiler->policy->rules[i].enforcement = compiler->enforcement;
        return r;
}

/* One file: 0 with its errors counted, or -ENOMEM. */
static int policy_parse_text(Compiler *compiler, const PolicyText *text, unsigned file, Messages *messages,
                             unsigned *n_errors) {
        Source source = {
                .text = text,
                .file = file,
                .messages = messages,
                .bytes = text->bytes,
        };
        _cleanup_(arena_freep) Arena *arena = arena_new();
        Node *root = NULL;
        int r;

        if (!arena)
                return -ENOMEM;

        if (text->size > POLICY_FILE_SIZE_MAX) {
                ++*n_errors;
                return messages_add(messages, SEVERITY_ERROR, text->path, file, 0, 0,
                                    "the file is larger than %u bytes", POLICY_FILE_SIZE_MAX);
        }

        r = policy_parse_good(compiler, text, file);
        if (r <= 0)
                return r;

        /* What is wrong can be told only from all of it. */
        compiler->source = &source;
        r = nodes_parse(&source, &arena, &root);
        if (r >= 0 && root)
                r = compile_file(compiler, root);
        if (r >= 0) {
                source_conclude(&source);
                r = source.error;
        }
        compiler->source = NULL;
        free(source.copy);
        *n_errors += source.n_errors;
        return r;
}

int policy_parse(const PolicyText *texts, size_t n_texts, Policy **ret, Messages *messages) {
        _cleanup_(policy_unrefp) Policy *policy = calloc(1, sizeof(Policy));
        Compiler compiler = {
                .policy = policy,
        };
        unsigned n_errors = 0;
        int r;

        if (!policy)
                return -ENOMEM;

        policy->n_ref = 1;
        policy->memory = compiler.arena = arena_new();
        if (!policy->memory)
                return -ENOMEM;

        r = policy_set_files(policy, texts, n_texts);
        if (r < 0)
                return r;
        policy_texts_hash(texts, n_texts, policy->sha256);

        for (size_t i = 0; i < n_texts; i++) {
                r = policy_parse_text(&compiler, texts + i, (unsigned) i, messages, &n_errors);
                if (r < 0)
                        return r;
        }

        messages_sort(messages);
        if (n_errors > 0)
                return -EBADMSG;

        r = policy_index_build(policy);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(policy);
        return 0;
}
