import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { doorsOf } from './support/doors';
import { FreshApp } from './support/fresh-app';
import { writeQuickStarts } from './support/quick-starts';
import { itInFull } from './support/full';
import { compile, problemsOf, writeEveryExport } from './support/types';
import { expectAllUsed, expectBareUsed } from './support/uses';

interface Manifest {
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, unknown>>;
}

const ROOT = join(__dirname, '..', '..');
const { peerDependencies, peerDependenciesMeta } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
) as Manifest;
const optional = Object.keys(peerDependenciesMeta);
const doors = doorsOf(ROOT).map(({ name }) => name);
const COMMONJS = { module: 'commonjs', moduleResolution: 'node10' };

/** The lowest version that a range of ours allows. */
const lowest = (range: string): string => range.replace(/^\^([\d.]+).*$/, '$1');

/** The doors that are there for a peer, and for nobody without it. */
const DOOR_FOR: Readonly<Record<string, string>> = {
  '@opentelemetry/api': 'metrics',
  '@nestjs/microservices': 'transport',
};

async function expectDoorsToLoad(app: FreshApp, absent: readonly string[]): Promise<void> {
  const shut = absent.flatMap((peer) => DOOR_FOR[peer] ?? []);
  const { stdout } = await app.run(process.execPath, ['load/doors.mjs', ...shut]);
  const open = doors.filter((name) => !shut.includes(name));
  expect(stdout.trim().split('\n')).toEqual(open.map((name) => `${name} loaded`));
}

describe('The oldest peers that are allowed', () => {
  let app: FreshApp;

  it('are installed', async () => {
    const peers = Object.entries(peerDependencies).map(([name, range]): [string, string] => [name, lowest(range)]);
    app = await FreshApp.install('oldest', {
      type: 'commonjs',
      dependencies: {
        ...Object.fromEntries(peers),
        '@nestjs/platform-express': lowest(peerDependencies['@nestjs/core'] ?? ''),
        '@types/node': '^20.0.0',
        typescript: '~5.7.0',
      },
      overrides: {
        '@liaoliaots/nestjs-redis': { '@nestjs/common': '$@nestjs/common', '@nestjs/core': '$@nestjs/core' },
      },
    });
    for (const [name, version] of peers) expect({ name, version: app.version(name) }).toEqual({ name, version });
    app.copy('src', 'load');
    app.remove('src/main-fastify.ts');
    app.remove('src/lone/main-fastify.ts');
    app.remove('src/main-own.ts');
    await compile(app, COMMONJS);
  });

  it('run every lib', async () => {
    expectAllUsed(await app.withRedis(['dist/main-express.js']));
  });

  itInFull('run every lib on a Cluster', async () => {
    expectBareUsed(await app.withCluster(['dist/main-bare.js']));
  });

  itInFull.each(optional)('load every door without %s', async (peer) => {
    await app.without(peer, () => expectDoorsToLoad(app, [peer]));
  });
});

/** A client of the app's own, for an app that has no ioredis. */
const NODE_REDIS_CLIENT = `
import { createClient } from 'redis';
export const client = createClient({ url: process.env.REDIS_URL });
client.on('error', (error: Error) => console.error(error.message));
export const close = (): Promise<unknown> => client.close();
`;

describe('Nest 11, node-redis and no other optional peer', () => {
  let app: FreshApp;

  it('are installed, and nothing optional comes along', async () => {
    app = await FreshApp.install('node-redis', {
      type: 'commonjs',
      dependencies: {
        '@nestjs/common': '^11.0.0',
        '@nestjs/core': '^11.0.0',
        '@types/node': '^20.0.0',
        redis: '^6.0.0',
        'reflect-metadata': '^0.2.0',
        rxjs: '^7.8.0',
        typescript: '^5.0.0',
      },
    });
    expect(optional.filter((name) => app.version(name) !== undefined)).toEqual(['redis']);
  });

  it('load every door', async () => {
    app.copy('load');
    await expectDoorsToLoad(app, optional);
  });

  it('compile an app', async () => {
    const uses = ['script-registry', 'lock', 'read-reward', 'delayed-task', 'stream-consumer'];
    app.copy('src/main-bare.ts', 'src/signal.ts', ...uses.map((name) => `src/uses/${name}.ts`));
    app.write('src/client.ts', NODE_REDIS_CLIENT);
    await compile(app, { ...COMMONJS, noCheck: true });
  });

  itInFull(
    'type-check every export of every door but those for @nestjs/throttler, @nestjs/microservices and @opentelemetry/api',
    async () => {
      writeEveryExport(app, (door) => !['rate-limit/throttler-storage', 'metrics', 'transport'].includes(door));
      expect(await problemsOf(app, 'typescript', { ...COMMONJS, skipLibCheck: false })).toEqual([]);
    },
  );

  it('run every lib, on a client that the app made', async () => {
    expectBareUsed(await app.withRedis(['dist/main-bare.js']));
  });
});

describe.each([
  ['11', '^6.0.0', 'commonjs', { module: 'commonjs', moduleResolution: 'node10' }],
  ['12', '^12.0.0', 'module', { module: 'nodenext', moduleResolution: 'nodenext' }],
] as const)('the quick starts on Nest %s with node-redis', (nest, schedule, type, resolution) => {
  itInFull('boot and close, with clients of redis that the registry makes', async () => {
    const app = await FreshApp.install(`node-redis-nest${nest}`, {
      type,
      dependencies: {
        '@nestjs/common': `^${nest}.0.0`,
        '@nestjs/config': nest === '11' ? '^4.0.0' : '^12.0.0',
        '@nestjs/core': `^${nest}.0.0`,
        '@nestjs/microservices': `^${nest}.0.0`,
        '@nestjs/platform-express': `^${nest}.0.0`,
        '@nestjs/schedule': schedule,
        '@opentelemetry/api': '^1.9.0',
        '@opentelemetry/sdk-metrics': '^2.0.0',
        '@types/node': '^20.0.0',
        redis: '^6.0.0',
        'reflect-metadata': '^0.2.0',
        rxjs: '^7.8.0',
        typescript: nest === '11' ? '^5.0.0' : '^6.0.0',
      },
    });
    expect(app.version('ioredis')).toBeUndefined();
    app.copy('load');
    writeQuickStarts(app);
    await compile(app, { ...resolution, noCheck: true });
    const { code, stdout, stderr } = await app.withRedis(['load/quick-starts.mjs']);
    const lines = stdout.trim().split('\n');
    expect({ stderr, code, last: lines.at(-1) }).toEqual({ stderr: '', code: 0, last: 'closed' });
    // Jobs of a quick start print lines, too. One that is not healthy makes the exit code 1.
    expect(lines.filter((line) => line.endsWith(': healthy')).length).toBeGreaterThanOrEqual(8);
  });
});
