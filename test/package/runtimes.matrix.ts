import { chmodSync } from 'node:fs';
import { arch, platform } from 'node:os';
import { FreshApp } from './support/fresh-app';
import { itInFull } from './support/full';
import { compile } from './support/types';
import { expectAllUsed, expectBareUsed } from './support/uses';

const COMMONJS = { module: 'commonjs', moduleResolution: 'node10', noCheck: true };
const SYSTEM = `${platform()}-${arch()}`;
const BUN = `@oven/bun-${SYSTEM}`;
const DENO = `@deno/${SYSTEM}-glibc`;

/** Each runtime: its name, the package that has its program, the program, and its arguments before the file. */
const RUNTIMES: readonly (readonly [string, string, string, readonly string[]])[] = [
  ...['22', '24', '26'].map(
    (major) => [`Node ${major}`, `npm:node-${SYSTEM}@^${major}.0.0`, 'bin/node', [] as string[]] as const,
  ),
  ['Bun', `npm:${BUN}@^1.3.0`, 'bin/bun', ['run']],
  ['Deno', `npm:${DENO}@^2.4.0`, 'deno', ['run', '--allow-all', '--node-modules-dir=manual']],
];
/** Names of the runtimes' packages in the apps: several versions of Node are installed side by side. */
const packageOf = (name: string): string => `runtime-${name.toLowerCase().replace(' ', '-')}`;

const PEERS = {
  '@nestjs/common': '^11.0.0',
  '@nestjs/core': '^11.0.0',
  '@types/node': '^20.0.0',
  'reflect-metadata': '^0.2.0',
  rxjs: '^7.8.0',
  typescript: '^5.0.0',
};

/** A client of node-redis. */
const NODE_REDIS_CLIENT = `
import { createClient } from 'redis';
export const client = createClient({ url: process.env.REDIS_URL });
client.on('error', (error: Error) => console.error(error.message));
export const close = (): Promise<unknown> => client.close();
`;

describe('other runtimes', () => {
  let onIoredis: FreshApp;
  let onNodeRedis: FreshApp;

  itInFull('have the packed package installed, on ioredis and on node-redis', async () => {
    const runtimes = Object.fromEntries(RUNTIMES.map(([name, version]) => [packageOf(name), version]));
    onIoredis = await FreshApp.install('runtimes', {
      type: 'commonjs',
      dependencies: {
        ...PEERS,
        ...runtimes,
        '@liaoliaots/nestjs-redis': '^10.0.0',
        '@nestjs/microservices': '^11.0.0',
        '@nestjs/platform-express': '^11.0.0',
        '@nestjs/schedule': '^6.0.0',
        '@nestjs/swagger': '^11.0.0',
        '@nestjs/throttler': '^6.4.0',
        '@opentelemetry/api': '^1.9.0',
        ioredis: '^5.3.0',
      },
      overrides: {
        '@liaoliaots/nestjs-redis': { '@nestjs/common': '$@nestjs/common', '@nestjs/core': '$@nestjs/core' },
      },
    });
    for (const [name, , program] of RUNTIMES)
      chmodSync(onIoredis.path('node_modules', packageOf(name), program), 0o755);
    onIoredis.copy('src');
    for (const file of ['main-fastify.ts', 'lone/main-fastify.ts', 'main-own.ts', 'main-bare.ts'])
      onIoredis.remove(`src/${file}`);
    await compile(onIoredis, COMMONJS);
    onNodeRedis = await FreshApp.install('runtimes-node-redis', {
      type: 'commonjs',
      dependencies: { ...PEERS, redis: '^6.0.0' },
    });
    const uses = ['script-registry', 'lock', 'read-reward', 'delayed-task', 'stream-consumer'];
    onNodeRedis.copy('src/main-bare.ts', 'src/signal.ts', ...uses.map((name) => `src/uses/${name}.ts`));
    onNodeRedis.write('src/client.ts', NODE_REDIS_CLIENT);
    await compile(onNodeRedis, COMMONJS);
  });

  describe.each(RUNTIMES)('%s', (name, _version, program, args) => {
    const runtime = (): string => onIoredis.path('node_modules', packageOf(name), program);

    itInFull('runs every lib on ioredis and Express, and ends by itself', async () => {
      const { stdout } = await onIoredis.run(runtime(), ['--version']);
      process.stdout.write(`${stdout.split('\n')[0]}\n`);
      expectAllUsed(await onIoredis.withRedis([...args, 'dist/main-express.js'], { runtime: runtime() }));
    });

    itInFull('runs every lib on node-redis, and ends by itself', async () => {
      expectBareUsed(await onNodeRedis.withRedis([...args, 'dist/main-bare.js'], { runtime: runtime() }));
    });
  });
});
