import { onFastify, testExampleApps, writeExampleApps } from './support/examples';
import { FreshApp } from './support/fresh-app';
import { itInFull } from './support/full';
import { writeQuickStarts } from './support/quick-starts';
import { compile, problemsOf, writeEveryExport, type Resolution } from './support/types';
import { expectAllUsed, expectLoneUsed, expectOwnUsed, runAlone } from './support/uses';

type Check = readonly [compiler: string, resolution: Resolution];

const checks: Check[] = [
  ['typescript', { moduleResolution: 'nodenext', module: 'nodenext' }],
  ['typescript7', { moduleResolution: 'bundler', module: 'esnext' }],
];
const furtherChecks: Check[] = [
  ['typescript', { moduleResolution: 'node10', module: 'esnext', ignoreDeprecations: '6.0' }],
  // `node16` refuses each CommonJS package's declarations that import Nest 12, which is ESM only; `nodenext` does not.
  ['typescript', { moduleResolution: 'node16', module: 'node16', skipLibCheck: true }],
  ['typescript', { moduleResolution: 'bundler', module: 'esnext' }],
  ['typescript7', { moduleResolution: 'nodenext', module: 'nodenext' }],
];
const labelled = (all: readonly Check[]): { compiler: string; resolution: Resolution; label: string }[] =>
  all.map(([compiler, resolution]) => ({
    compiler,
    resolution,
    label: `TypeScript ${compiler === 'typescript' ? 6 : 7}, ${resolution.moduleResolution}`,
  }));

describe('Nest 12, ESM, ioredis 6, Fastify', () => {
  let app: FreshApp;

  it('is installed', async () => {
    app = await FreshApp.install('nest12', {
      type: 'module',
      dependencies: {
        '@liaoliaots/nestjs-redis': '^10.0.0',
        '@nestjs/common': '^12.0.0',
        '@nestjs/config': '^12.0.0',
        '@nestjs/core': '^12.0.0',
        '@nestjs/microservices': '^12.0.0',
        '@nestjs/platform-fastify': '^12.0.0',
        '@nestjs/schedule': '^12.0.0',
        '@nestjs/throttler': '^6.6.0',
        '@opentelemetry/api': '^1.9.0',
        '@opentelemetry/sdk-metrics': '^2.0.0',
        '@types/node': '^20.0.0',
        '@types/pg': '^8.15.0',
        esbuild: '^0.28.0',
        ioredis: '^6.0.0',
        pg: '^8.16.0',
        'reflect-metadata': '^0.2.0',
        rxjs: '^7.8.0',
        typescript: '^6.0.0',
        typescript7: 'npm:typescript@^7.0.0',
        webpack: '^5.0.0',
      },
      overrides: {
        '@liaoliaots/nestjs-redis': {
          '@nestjs/common': '$@nestjs/common',
          '@nestjs/core': '$@nestjs/core',
          ioredis: '$ioredis',
        },
      },
    });
    expect(app.version('@nestjs/core')).toMatch(/^12\./);
    expect(app.version('ioredis')).toMatch(/^6\./);
    app.copy('src', 'bundle');
    app.remove('src/main-express.ts');
    app.remove('src/lone/main-express.ts');
    writeExampleApps(app, onFastify);
    expect(writeQuickStarts(app)).toEqual(expect.arrayContaining(['getting-started/main.ts', 'lock/app.module.ts']));
    await compile(app, { module: 'nodenext', moduleResolution: 'nodenext', noCheck: true });
    writeEveryExport(app);
  });

  testExampleApps(() => app);

  it('uses every lib', async () => {
    expectAllUsed(await app.withRedis(['dist/main-fastify.js']));
  });

  itInFull(
    'uses the others without RateLimitModule and OnceModule, bundled and minified by esbuild, and by webpack',
    async () => {
      await app.run(process.execPath, ['bundle/esbuild.cjs', 'dist/lone/main-fastify.js', 'out/lone.mjs', 'esm']);
      expectLoneUsed(await runAlone(app, 'out/lone.mjs'));
      await app.run(process.execPath, ['bundle/webpack.cjs', 'dist/lone/main-fastify.js', 'out/lone-webpack.cjs']);
      expectLoneUsed(await runAlone(app, 'out/lone-webpack.cjs'));
    },
  );

  describe.each([
    { test: it, used: labelled(checks) },
    { test: itInFull, used: labelled(furtherChecks) },
  ])('with a compiler', ({ test, used }) => {
    test.each(used)('type-checks every export and quick start with $label', async ({ compiler, resolution }) => {
      expect(await problemsOf(app, compiler, resolution)).toEqual([]);
    });
  });

  it('uses clients that the registry makes, from an address and from ConfigService, and ends by itself', async () => {
    expectOwnUsed(await app.withRedis(['dist/main-own.js']));
  });

  it('uses every lib, bundled and minified by esbuild', async () => {
    await app.run(process.execPath, ['bundle/esbuild.cjs', 'dist/main-fastify.js', 'out/esbuild.mjs', 'esm']);
    expectAllUsed(await runAlone(app, 'out/esbuild.mjs'));
  });

  itInFull('uses every lib, bundled by webpack', async () => {
    await app.run(process.execPath, ['bundle/webpack.cjs', 'dist/main-fastify.js', 'out/webpack.cjs']);
    expectAllUsed(await runAlone(app, 'out/webpack.cjs'));
  });
});
