# SPDX-License-Identifier: LGPL-2.1-or-later

"""Ways in which the sources could be wrong. The simulation must notice each, or it would not notice the like of it."""

# name: file, text there, text instead
MUTATIONS = {
    # Converges.
    "what-has-failed-is-not-tried-again": ("daemon/manager-result.c", "if (failed || pending) {", "if (pending) {"),
    "what-is-pending-is-not-tried-again": ("daemon/manager-result.c", "if (failed || pending) {", "if (failed) {"),
    "a-hold-has-no-end": (
        "daemon/manager-result.c", "if (entry->ports[i].stories[a].last.reason == REASON_BACKING_OFF)", "if (false)"),
    "drift-is-not-heard": (
        "daemon/manager.c", "else if (port_is_news(entry->ports + p, attributes))", "else if (false)"),
    "drift-in-the-midst-of-a-look-is-forgotten": (
        "daemon/manager-result.c", "        entry_mark_touched(entry);\n", ""),
    "there-is-no-resync": (
        "daemon/manager.c", "manager->resync_usec = now.monotonic_usec +", "manager->resync_usec = UINT64_MAX / 2 +"),
    "a-listing-that-failed-is-not-repeated": (
        "daemon/manager.c",
        ("                        manager->list_wanted = true;\n"
         "                        manager->list_not_before"),
        "                        manager->list_not_before"),
    "a-refusal-holds-for-the-next-device": (
        "daemon/manager-result.c",
        ("                        ports[i].refused_mode = VALUE_NONE;\n"
         "                        for"),
        "                        for"),
    "a-device-that-has-gone-stays": (
        "daemon/manager-result.c", "if (report->error == 0 && !entry->dirty) {", "if (false) {"),
    "a-stale-directory-is-put-up-with": (
        "daemon/reconcile-directory.c", "r = directory_is_stale(directory, device);", "r = 0;"),
    "an-event-does-not-begin-the-retries-anew": (
        "daemon/manager.c",
        ("        entry->not_before_usec = 0;\n"
         "        entry->retries = 0;\n"),
        "        entry->not_before_usec = entry->retries > 3 ? UINT64_MAX : 0;\n"),
    # Writes nothing that is right.
    "all-is-written": ("policy/plan.c", "if (look->value == verdict->wanted) {", "if (false) {"),
    "who-only-reports-writes": (
        "policy/plan.c", "if (rule->enforcement == ENFORCEMENT_ENFORCE && stance->may_write) {", "if (stance->may_write) {"),
    "a-refused-mode-is-tried-again": ("policy/plan.c", "stance->refused_mode == verdict->wanted)", "false)"),
    # Never touches what is not its own.
    "all-ports-are-roce": ("policy/plan.c", "if (!port->roce) {", "if (false) {"),
    "all-ports-have-rules": (
        "daemon/reconcile.c", "if (report->policy && device->ports[i].roce)", "if (report->policy)"),
    "all-directories-are-ours": ("daemon/reconcile-directory.c", "r = ownership_check(name, fd);", "r = 1;"),
    "all-directories-are-stale": (
        "daemon/reconcile-directory.c", "r = directory_is_stale(directory, device);", "r = 1;"),
    "a-remade-directory-is-recorded": (
        "daemon/reconcile-directory.c",
        "directory_make(request, directory, ours > 0)",
        "directory_make(request, directory, true)"),
    "whoever-has-the-name-is-removed": (
        "daemon/reconcile-directory.c",
        ("r = device_directory_check(rdma_cm_fd, name, fd);\n"
         "        if (r <= 0)"),
        ("r = 1;\n"
         "        if (r <= 0)")),
    "a-directory-is-made-unrecorded": (
        "daemon/reconcile-directory.c", "(void) ownership_intend(request->name);", "(void) 0;"),
    "a-directory-is-not-confirmed": (
        "daemon/reconcile-directory.c",
        "                (void) ownership_confirm(request->name, directory->fd);\n",
        "                (void) 0;\n"),
    "a-directory-of-no-use-stays": (
        "daemon/reconcile-directory.c", "else if (request->flags & RECONCILE_MAKE && !directory->needed)", "else if (false)"),
    "directories-stay-at-stop": ("daemon/reconcile-directory.c", "if (directory_remove_ours(*name) < 0)", "if (false)"),
    # Makes sure of names.
    "nobody-asks-before-a-write": (
        "daemon/reconcile.c", "&& stance.may_write && verdict_check_hands(verdict, report);", "&& stance.may_write;"),
    "nobody-asks-after-a-write": ("daemon/reconcile.c", "        (void) verdict_check_hands(verdict, report);\n", ""),
    "nobody-asks-in-the-end": (
        "daemon/reconcile.c",
        "if (!report->device || (!report->changed_hands && !name_changed_hands(report->device)))",
        "if (true)"),
    "a-name-that-changed-hands-is-not-judged-anew": (
        "daemon/manager-result.c", "report->error < 0 || entry->report->changed_hands ||", "report->error < 0 ||"),
    "udev-is-not-waited-for": ("daemon/job.c", ".leftover = job->leftover,", ""),
    # Never ok for what was not read back.
    "a-write-is-believed": ("policy/plan.c", "else if (readback->value != verdict->wanted)", "else if (false)"),
    "a-failed-read-back-is-believed": ("policy/plan.c", "        if (readback->error < 0)\n", "        if (false)\n"),
    "a-failed-write-is-believed": (
        "policy/plan.c",
        ("        if (write_error < 0)\n"
         "                return;\n"),
        ""),
    # READY only when true.
    "ready-before-the-end-of-the-pass": (
        "daemon/answer.c", "return settled && !manager_awaits_udev(manager);", "return !manager_awaits_udev(manager);"),
    "ready-before-udev": ("daemon/answer.c", "return settled && !manager_awaits_udev(manager);", "return settled;"),
    "ready-before-the-reload-is-done": ("daemon/answer.c", "return settled || manager->blocked;", "return true;"),
    "ready-without-a-judgement": ("daemon/manager.c", "return entry->report && (", "return ("),
    # Tells each thing, once.
    "each-trouble-is-told-each-time": (
        "daemon/story.c", "if (!same || now_usec - story->told_usec >= STORY_REPEAT_USEC)", "if (true)"),
    "what-is-right-is-told": (
        "daemon/story.c", "} else if (verdict->tried || (story->begun && is_trouble(&story->last)))", "} else"),
    "a-change-is-not-told": (
        "daemon/story.c",
        "} else if (verdict->tried || (story->begun && is_trouble(&story->last)))",
        "} else if (story->begun && is_trouble(&story->last))"),
    "what-is-late-is-not-told": ("daemon/story.c", "        story->late_told = true;\n", ""),
    "a-block-is-not-told": ("daemon/manager-blocked.c", "        manager->blocked = true;\n", ""),
    # Backs off, and does not spin.
    "there-is-no-hold": ("daemon/story.c", "if (story->repairs >= STORY_FREE_REPAIRS) {", "if (false) {"),
    "there-is-no-spell-between-tries": (
        "daemon/manager-internal.h",
        "return MIN_OF(MANAGER_RETRY_MIN_USEC << MIN_OF(retries, 16U), MANAGER_RETRY_MAX_USEC);",
        "return 0;"),
    "own-writes-call-for-the-next": (
        "daemon/manager.c",
        "return story->last.state == STATE_FAILED || story->last.reason == REASON_BACKING_OFF;",
        "return false;"),
    # No leak.
    "a-directory-stays-open": (
        "daemon/reconcile-directory.c",
        ("        directory->fd = directory_close(directory->fd);\n"
         "        directory->rdma_cm_fd"),
        "        directory->rdma_cm_fd"),
    "a-report-leaks": (
        "daemon/manager-result.c",
        ("        device_report_free(entry->report);\n"
         "        entry->report = report;\n"
         "        entry_tell_error"),
        ("        entry->report = report;\n"
         "        entry_tell_error")),
    "ports-leak": (
        "daemon/manager-result.c",
        ("        free(entry->ports);\n"
         "        entry->ports = ports;\n"),
        "        entry->ports = ports;\n"),
    "a-failed-report-leaks-its-device": (
        "daemon/reconcile.c",
        ("        if (!report) {\n"
         "                device_free(device);\n"),
        "        if (!report) {\n"),
}
