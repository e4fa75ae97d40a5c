import { type ServerFinding, ok } from '../finding';
import type { Info, ServerFacts } from '../facts';

const OLDEST_MAJOR = 7;

/** Checks the version of the server, and if it is Redis, Valkey or another program. */
export function version(info: Info): ServerFinding {
  const valkey = info.get('valkey_version');
  const redis = info.get('redis_version') ?? 'unknown';
  const dragonfly = info.get('dragonfly_version');
  if (dragonfly !== undefined)
    return {
      check: 'version',
      level: 'error',
      found: `The server is Dragonfly ${dragonfly}.`,
      why: 'Dragonfly does not know the first line of the scripts of luanest (#!lua), so no call works.',
      remedy: 'Use Redis 7.0 or newer, or Valkey.',
    };
  if (valkey !== undefined) return ok('version', `Valkey ${valkey}`);
  if (Number.parseInt(redis, 10) >= OLDEST_MAJOR) return ok('version', `Redis ${redis}`);
  return {
    check: 'version',
    level: 'error',
    found: `The server is Redis ${redis}.`,
    why: 'The scripts need Redis 7.0: #!lua headers, redis.acl_check_cmd, PEXPIRETIME, sharded channels.',
    remedy: 'Update to Redis 7.0 or newer, or Valkey.',
  };
}

/** Checks that the server has loaded its data. */
export function readiness(info: Info): ServerFinding[] {
  if (info.get('loading') !== '1') return [];
  return [
    {
      check: 'loading',
      level: 'error',
      found: 'The server is loading its data.',
      why: 'The server refuses commands until it has loaded all data.',
      remedy: 'Run luanest doctor again when the data is loaded.',
    },
  ];
}

/** Checks the role of the server, its replicas, and if the master refuses writes after it has lost them. */
export function replication(info: Info): ServerFinding[] {
  if (info.get('role') !== 'master')
    return [
      {
        check: 'role',
        level: 'error',
        found: `The server is a replica of ${info.get('master_host') ?? '?'}:${info.get('master_port') ?? '?'}.`,
        why: 'A replica refuses writes, so each call that changes something fails.',
        remedy:
          'Connect to the master. With Sentinel, give the client the addresses of the Sentinels and the name of the master.',
      },
    ];
  const replicas = Number(info.get('connected_slaves') ?? 0);
  if (replicas === 0)
    return [
      {
        check: 'replicas',
        level: 'warning',
        found: 'The master has no replica.',
        why: 'While the master is down, no replica takes over. The option `replicas` of the modules cannot be used.',
        remedy: 'Add a replica if an outage or a lost disk matters to you. Otherwise do nothing.',
      },
    ];
  const good = info.get('min_slaves_good_slaves');
  if (good === undefined)
    return [
      {
        check: 'replicas',
        level: 'warning',
        found: `The master has ${counted(replicas, 'replica')}, and min-replicas-to-write is 0.`,
        why: 'After a failover, the old master may go on confirming writes for a while. These writes are lost.',
        remedy:
          'If your replicas are reliable, run CONFIG SET min-replicas-to-write 1, and set the same in redis.conf.',
      },
    ];
  if (Number(good) === 0)
    return [
      {
        check: 'replicas',
        level: 'error',
        found: `The master has ${counted(replicas, 'replica')}, and none of them is up to date.`,
        why: 'The master refuses writes (NOREPLICAS) while fewer replicas are connected than min-replicas-to-write says.',
        remedy: 'Check that the replicas run, and that they can reach the master.',
      },
    ];
  return [ok('replicas', `${counted(replicas, 'replica')}, ${good} of them up to date`)];
}

/** Compares the clock of this machine with that of Redis. */
export function clock({ clock: outcome }: ServerFacts): ServerFinding {
  if ('error' in outcome)
    return {
      check: 'clock',
      level: 'error',
      found: `TIME failed: ${outcome.error}.`,
      why: 'The scripts of luanest read the clock of Redis with TIME. Without TIME they fail.',
      remedy: 'Give the Redis user the command: ACL SETUSER <user> +time.',
    };
  const { aheadMs, errorMs } = outcome.value;
  const off = Math.abs(aheadMs);
  const text = `The clock of this machine is ${shownMs(off)} ${aheadMs > 0 ? 'behind' : 'ahead of'} that of Redis (± ${shownMs(errorMs + 1)}).`;
  const cause =
    'luanest uses the clock of Redis. Only scheduled jobs start by the clock of the machine that runs the app.';
  const remedy = 'Synchronise the clocks of both machines by NTP (chrony, systemd-timesyncd).';
  if (off > 5_000 + errorMs)
    return {
      check: 'clock',
      level: 'error',
      found: text,
      why: `${cause} scheduled-lock skips the jobs of a node whose clock differs by more than 5 s.`,
      remedy,
    };
  if (off > 500 + errorMs)
    return {
      check: 'clock',
      level: 'warning',
      found: text,
      why: `${cause} A job may start late, or always on the same node.`,
      remedy,
    };
  return ok('clock', text);
}

/** Reports the round-trip times of an empty script and of PING. */
export function latency({ evalsha, ping }: ServerFacts): ServerFinding[] {
  if ('error' in evalsha || 'error' in ping) return [];
  const { medianMs, slowestMs } = evalsha.value;
  const found = `An EVALSHA takes ${shownMs(medianMs)} (median of 50; slowest ${shownMs(slowestMs)}), a PING ${shownMs(ping.value.medianMs)}.`;
  if (medianMs > 25)
    return [
      {
        check: 'latency',
        level: 'error',
        found,
        why: 'rate-limit waits 50 ms for Redis, and then decides without Redis. Leases of locks and tasks may end before they are renewed.',
        remedy:
          'Run the app in the region of Redis, or raise `deadlineMs`. If the app runs on another machine, first run luanest doctor there.',
      },
    ];
  if (medianMs > 5 || slowestMs > 50)
    return [
      {
        check: 'latency',
        level: 'warning',
        found,
        why: 'Each call of luanest waits that long. rate-limit decides without Redis after 50 ms (`deadlineMs`).',
        remedy: 'Look for slow commands (SLOWLOG GET), a busy machine, or a slow network.',
      },
    ];
  return [ok('latency', found)];
}

export function counted(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`;
}

export function shownMs(ms: number): string {
  if (ms >= 10_000) return `${Math.round(ms / 1_000)} s`;
  if (ms >= 10) return `${Math.round(ms)} ms`;
  return `${Number(ms.toPrecision(2))} ms`;
}
