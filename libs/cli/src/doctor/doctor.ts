import type { Command } from '../command';
import { ConnectError } from '../redis/node';
import type { InstalledClient } from '../redis/installed-client';
import { redisUrl } from '../redis/servers';
import { UsageError } from '../usage-error';
import { examine } from './examine';
import type { Finding } from './finding';
import { report } from './report';

const HELP = `Usage: luanest doctor [--redis URL] [--cluster] [--prefix PREFIX] [--client ioredis|redis] [--json]

Looks at a Redis: version, eviction, persistence, replicas, Lua, permissions, clock, latency, keys.
For each finding: what was found, why it matters, what to do. It changes nothing.
The exit status is 1 if there is an error.

  --redis URL      redis://user:password@host:6379, or rediss:// with TLS. Default: the environment variable REDIS_URL
  --cluster        the URL is a node of a Cluster: looks at each master
  --prefix PREFIX  \`prefix\` of ScriptRegistryModule. Default: luanest
  --client NAME    ioredis or redis. Default: the one that is installed, ioredis if both are
  --json           prints { "findings": [{ "check", "level", "nodes", "found", "why", "remedy" }] }`;

export const doctor: Command = {
  summary: 'looks at a Redis, and says what is wrong for luanest, why, and what to do',
  help: HELP,
  options: {
    redis: { type: 'string' },
    cluster: { type: 'boolean' },
    prefix: { type: 'string' },
    client: { type: 'string' },
    json: { type: 'boolean' },
  },
  async run({ values, positionals }, terminal) {
    if (positionals.length > 0)
      throw new UsageError(`${positionals[0]} is not an option. Give the address of Redis with --redis.`);
    const url = redisUrl(values.redis, terminal.environment);
    const findings = await examineOrReport({
      url,
      cluster: values.cluster === true,
      prefix: typeof values.prefix === 'string' ? values.prefix : 'luanest',
      folder: terminal.folder,
      ...clientOf(values.client),
    });
    const servers = new Set(findings.flatMap(({ nodes = [] }) => nodes)).size;
    terminal.print(values.json === true ? JSON.stringify({ findings }, null, 2) : report(findings, servers, terminal));
    return findings.some(({ level }) => level === 'error') ? 1 : 0;
  },
};

function clientOf(client: string | boolean | undefined): { readonly client?: InstalledClient['kind'] } {
  if (client === undefined) return {};
  if (client === 'ioredis' || client === 'redis') return { client };
  throw new UsageError(`--client is ${String(client)}. Expected ioredis or redis.`);
}

async function examineOrReport(examination: Parameters<typeof examine>[0]): Promise<Finding[]> {
  try {
    return await examine(examination);
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    return [
      {
        check: 'connection',
        level: 'error',
        found: error.message,
        why: 'While Redis is unavailable, rate-limit, scheduled-lock and @Idempotent do what their option `onRedisError` says. Other calls fail.',
        remedy: 'Check host, port, TLS (rediss://), user and password, and if a firewall lets this machine connect.',
      },
    ];
  }
}
