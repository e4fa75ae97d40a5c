import { createRequire } from 'node:module';
import { userInfo } from 'node:os';
import type { AbstractHttpAdapter } from '@nestjs/core';
import type { Command } from '../command';
import { findIn, type Found } from '../redis/found';
import { loadInstalled } from '../redis/installed-client';
import { nodeOpener } from '../redis/node';
import { openMasters, redisUrl } from '../redis/servers';
import { UsageError } from '../usage-error';

const HELP = `Usage: luanest console [--redis URL] [--cluster] [--prefix PREFIX] [--port PORT] [--act] [--payloads]

Serves the page of luanest/console without the app, on 127.0.0.1, to the one browser that opens the printed link first.
It shows what it finds in Redis: queues, schedules, streams, locks, jobs, ids that luanest/once has claimed,
clients that luanest/rate-limit blocks, red packets. It cannot show what only the app knows: the rules of
limits and rewards, and the table of luanest/outbox. Ctrl-C ends it.

  --redis URL      redis://user:password@host:6379, or rediss:// with TLS. Default: the environment variable REDIS_URL
  --cluster        the URL is a node of a Cluster
  --prefix PREFIX  \`prefix\` of ScriptRegistryModule. Default: luanest
  --port PORT      port to listen on. Default: any free port
  --act            allows actions, such as the retry of a task. Default: the page is read-only
  --payloads       shows payloads and results`;

/** Packages that the page needs besides the client of Redis. */
const NEST = ['@nestjs/common', '@nestjs/core', 'reflect-metadata', 'rxjs'];
const PLATFORMS = [
  ['@nestjs/platform-express', 'ExpressAdapter'],
  ['@nestjs/platform-fastify', 'FastifyAdapter'],
] as const;

/** The command `luanest console`. */
export const console: Command = {
  summary: 'serves a page that shows what is in a Redis: queues, streams, locks, jobs',
  help: HELP,
  options: {
    redis: { type: 'string' },
    cluster: { type: 'boolean' },
    prefix: { type: 'string' },
    port: { type: 'string' },
    act: { type: 'boolean' },
    payloads: { type: 'boolean' },
  },
  async run({ values, positionals }, terminal) {
    if (positionals.length > 0)
      throw new UsageError(`${positionals[0]} is not an option. Give the address of Redis with --redis.`);
    const url = redisUrl(values.redis, terminal.environment);
    const port = portOf(values.port);
    const adapter = adapterOf(terminal.folder);
    const [isCluster, isActing] = [values.cluster === true, values.act === true];
    const prefix = typeof values.prefix === 'string' ? values.prefix : 'luanest';
    const found = await find(url, isCluster, prefix, terminal.folder);
    // Nest takes a second to load, and only this command needs it.
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- as above
    const { openConsoleApp } = require('./console-app') as typeof import('./console-app');
    const app = await openConsoleApp({
      redis: { prefix, ...(isCluster ? { connection: clusterOf(url) } : { url: url.href }) },
      found,
      act: isActing,
      showPayloads: values.payloads === true,
      user: userInfo().username,
      port,
      adapter,
    });
    const { queues, streams } = found;
    terminal.print(
      `The console of ${url.host}, ${isActing ? 'with actions' : 'read-only'}: ${queues.size} queues, ${streams.size} streams.`,
    );
    if (!found.isAll) terminal.print('Redis has many keys, so not all of them were searched for queues and streams.');
    terminal.print(`\n  ${app.link}\n\nThe link works once, in one browser. Ctrl-C ends the console.`);
    try {
      await terminal.interrupted();
    } finally {
      await app.close();
    }
    return 0;
  },
};

async function find(url: URL, cluster: boolean, prefix: string, folder: string): Promise<Found> {
  const masters = await openMasters(url, cluster, nodeOpener(folder));
  try {
    return await findIn(masters, prefix);
  } finally {
    for (const { node } of masters) node.close();
  }
}

/** Returns the options of ioredis for the Cluster to which the node at this URL belongs. */
function clusterOf({ hostname, port, username, password, protocol }: URL) {
  const account = {
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
  };
  const redisOptions = { ...account, ...(protocol === 'rediss:' && { tls: {} }) };
  return { nodes: [{ host: hostname, port: Number(port || 6379) }], redisOptions };
}

/** Returns an HTTP server of Nest, for Express or else for Fastify. @throws UsageError that names the packages to install */
function adapterOf(folder: string): AbstractHttpAdapter {
  const missing = NEST.filter((name) => !isInstalled(name));
  for (const [name, adapter] of PLATFORMS) {
    const platform = loadPlatform(name, folder);
    const Adapter = platform?.[adapter];
    if (missing.length === 0 && Adapter) return new Adapter();
  }
  throw new UsageError(
    'The console needs NestJS. Run the command in the folder of an app of Nest, or with these packages: ' +
      'npx -p luanest -p ioredis -p @nestjs/common -p @nestjs/core -p @nestjs/platform-express -p reflect-metadata -p rxjs luanest console ...',
  );
}

function loadPlatform(name: string, folder: string) {
  return loadInstalled(name, folder) as Readonly<Record<string, new () => AbstractHttpAdapter>> | undefined;
}

/** Returns true if luanest itself can load a package. */
function isInstalled(name: string): boolean {
  try {
    createRequire(__filename).resolve(name);
    return true;
  } catch {
    return false;
  }
}

function portOf(text: string | boolean | undefined): number {
  if (text === undefined) return 0;
  const port = /^\d{1,5}$/.test(String(text)) ? Number(text) : NaN;
  if (port <= 65_535) return port;
  throw new UsageError(`--port is ${text}. Expected an integer from 0 to 65535.`);
}
