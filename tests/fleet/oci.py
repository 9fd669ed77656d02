# SPDX-License-Identifier: LGPL-2.1-or-later
"""A container of a pod as an OCI runtime is told of it by a node's agent: namespaces, mounts, capabilities, system calls."""

# What containerd and CRI-O give a container that drops nothing.
CAPABILITIES = ['CAP_' + name for name in (
    'AUDIT_WRITE', 'CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'MKNOD', 'NET_BIND_SERVICE', 'NET_RAW', 'SETFCAP', 'SETGID',
    'SETPCAP', 'SETUID', 'SYS_CHROOT')]
MASKED = ['/proc/acpi', '/proc/asound', '/proc/kcore', '/proc/keys', '/proc/latency_stats', '/proc/timer_list', '/proc/timer_stats',
          '/proc/sched_debug', '/proc/scsi', '/sys/firmware', '/sys/devices/virtual/powercap']
READ_ONLY = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger']

MOUNTS = [
    {'destination': '/proc', 'type': 'proc', 'source': 'proc', 'options': ['nosuid', 'noexec', 'nodev']},
    {'destination': '/dev', 'type': 'tmpfs', 'source': 'tmpfs', 'options': ['nosuid', 'strictatime', 'mode=755', 'size=65536k']},
    {'destination': '/dev/shm', 'type': 'tmpfs', 'source': 'shm', 'options': ['nosuid', 'noexec', 'nodev', 'mode=1777']},
    {'destination': '/sys', 'type': 'sysfs', 'source': 'sysfs', 'options': ['nosuid', 'noexec', 'nodev', 'ro']},
]


def seccomp(profile, capabilities):
    """The runtimes' own profile in the form that OCI has; what it allows to a capability is left out without it."""
    def applies(rule):
        needed = rule.get('includes', {})
        barred = rule.get('excludes', {})
        return (set(needed.get('caps', [])) <= set(capabilities) and not set(barred.get('caps', [])) & set(capabilities)
                and 'amd64' in needed.get('arches', ['amd64']) and 'amd64' not in barred.get('arches', []))
    rules = [{key: rule[key] for key in ('names', 'action', 'args', 'errnoRet') if rule.get(key)}
             for rule in profile['syscalls'] if applies(rule)]
    return {'defaultAction': profile['defaultAction'], 'defaultErrnoRet': profile.get('defaultErrnoRet', 1),
            'architectures': ['SCMP_ARCH_X86_64', 'SCMP_ARCH_X86', 'SCMP_ARCH_X32'], 'syscalls': rules}


def config(spec, name, volumes, *, root, entrypoint, profile, command=None):
    """config.json of that container of a pod. volumes: where the files of each are; command: in place of its own."""
    container, = (c for c in spec['containers'] if c['name'] == name)
    security = container['securityContext']
    dropped = ['CAP_' + capability for capability in security['capabilities']['drop']]
    kept = [] if 'CAP_ALL' in dropped else [c for c in CAPABILITIES if c not in dropped]
    mounts = [{'destination': m['mountPath'], 'type': 'bind', 'source': volumes[m['name']],
               'options': ['rbind', 'rprivate', 'ro' if m.get('readOnly') else 'rw']}
              for m in sorted(container['volumeMounts'], key=lambda m: m['mountPath'])]
    own = ['pid', 'ipc', 'mount', 'cgroup'] + ([] if spec.get('hostNetwork') else ['network', 'uts'])
    return {
        'ociVersion': '1.0.2',
        'process': {
            'user': {'uid': security['runAsUser'], 'gid': 0}, 'cwd': '/',
            'args': command or container.get('command', entrypoint) + container.get('args', []),
            'env': ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
            'capabilities': {kind: kept for kind in ('bounding', 'effective', 'permitted')},
            'noNewPrivileges': not security['allowPrivilegeEscalation'],
        },
        'root': {'path': root, 'readonly': security['readOnlyRootFilesystem']},
        'mounts': MOUNTS + mounts,
        'linux': {'namespaces': [{'type': kind} for kind in own], 'maskedPaths': MASKED, 'readonlyPaths': READ_ONLY,
                  'seccomp': seccomp(profile, kept) if security['seccompProfile']['type'] == 'RuntimeDefault' else None},
    }
