import { testExampleApps, writeExampleApps, writeExamples } from './support/examples';
import { FreshApp } from './support/fresh-app';
import { itInFull } from './support/full';
import { writeQuickStarts } from './support/quick-starts';
import { compile, problemsOf, useTsJest, writeEveryExport, type Resolution } from './support/types';
import { expectAllUsed, expectLoneUsed, expectOwnUsed, runAlone } from './support/uses';

const resolutions: Resolution[] = [{ moduleResolution: 'nodenext', module: 'nodenext' }];
const furtherResolutions: Resolution[] = [
  { moduleResolution: 'node10', module: 'commonjs' },
  { moduleResolution: 'node16', module: 'node16' },
  { moduleResolution: 'bundler', module: 'esnext' },
];

describe('Nest 11, CommonJS, ioredis 5, Express', () => {
  let app: FreshApp;

  it('is installed', async () => {
    app = await FreshApp.install('nest11', {
      type: 'commonjs',
      dependencies: {
        '@liaoliaots/nestjs-redis': '^10.0.0',
        '@nestjs/common': '^11.0.0',
        '@nestjs/config': '^4.0.0',
        '@nestjs/core': '^11.0.0',
        '@nestjs/microservices': '^11.0.0',
        '@nestjs/platform-express': '^11.0.0',
        '@nestjs/schedule': '^6.0.0',
        '@nestjs/testing': '^11.0.0',
        '@nestjs/throttler': '^6.4.0',
        '@opentelemetry/api': '^1.9.0',
        '@opentelemetry/sdk-metrics': '^2.0.0',
        '@types/jest': '^30.0.0',
        '@types/node': '^20.0.0',
        '@types/pg': '^8.15.0',
        esbuild: '^0.28.0',
        ioredis: '^5.3.0',
        jest: '^30.0.0',
        pg: '^8.16.0',
        'reflect-metadata': '^0.2.0',
        rxjs: '^7.8.0',
        'ts-jest': '^29.0.0',
        typescript: '^5.0.0',
        webpack: '^5.0.0',
      },
      overrides: {
        '@liaoliaots/nestjs-redis': { '@nestjs/common': '$@nestjs/common', '@nestjs/core': '$@nestjs/core' },
      },
    });
    expect(app.version('@nestjs/core')).toMatch(/^11\./);
    expect(app.version('ioredis')).toMatch(/^5\./);
    app.copy('src', 'bundle', 'user.test.ts', 'four-uses.test.ts');
    app.remove('src/main-fastify.ts');
    app.remove('src/lone/main-fastify.ts');
    writeExampleApps(app);
    expect(writeQuickStarts(app)).toEqual(expect.arrayContaining(['getting-started/main.ts', 'lock/app.module.ts']));
    await compile(app, { module: 'commonjs', moduleResolution: 'node10', noCheck: true });
    writeEveryExport(app);
  });

  testExampleApps(() => app);

  it('uses every lib', async () => {
    expectAllUsed(await app.withRedis(['dist/main-express.js']));
  });

  itInFull(
    'uses the others without RateLimitModule and OnceModule, bundled and minified by esbuild, and by webpack',
    async () => {
      await app.run(process.execPath, ['bundle/esbuild.cjs', 'dist/lone/main-express.js', 'out/lone.cjs', 'cjs']);
      expectLoneUsed(await runAlone(app, 'out/lone.cjs'));
      await app.run(process.execPath, ['bundle/webpack.cjs', 'dist/lone/main-express.js', 'out/lone-webpack.cjs']);
      expectLoneUsed(await runAlone(app, 'out/lone-webpack.cjs'));
    },
  );

  describe.each([
    { test: it, used: resolutions },
    { test: itInFull, used: furtherResolutions },
  ])('with TypeScript 5', ({ test, used }) => {
    test.each(used)('type-checks every export and quick start, $moduleResolution', async (resolution) => {
      expect(await problemsOf(app, 'typescript', resolution)).toEqual([]);
    });
  });

  it('uses clients that the registry makes, from an address and from ConfigService, and ends by itself', async () => {
    expectOwnUsed(await app.withRedis(['dist/main-own.js']));
  });

  it('uses every lib, bundled and minified by esbuild', async () => {
    await app.run(process.execPath, ['bundle/esbuild.cjs', 'dist/main-express.js', 'out/esbuild.cjs', 'cjs']);
    expectAllUsed(await runAlone(app, 'out/esbuild.cjs'));
  });

  itInFull('uses every lib, bundled by webpack', async () => {
    await app.run(process.execPath, ['bundle/webpack.cjs', 'dist/main-express.js', 'out/webpack.cjs']);
    expectAllUsed(await runAlone(app, 'out/webpack.cjs'));
  });

  it('ends by itself after an e2e test of the front page, by Jest and ts-jest, with no handle left open', async () => {
    useTsJest(app);
    const args = ['node_modules/jest/bin/jest.js', '--testPathPatterns', 'four-uses.test.ts', '--detectOpenHandles'];
    const { stderr } = await app.withRedis(args);
    expect(stderr).toMatch(/Tests: +2 passed, 2 total/);
    expect(stderr).not.toMatch(/did not exit|open handle/);
  });

  it("passes its user's 15 tests and the 15 unit tests of examples/testing, by Jest and ts-jest", async () => {
    useTsJest(app);
    writeExamples(app);
    const args = ['node_modules/jest/bin/jest.js', '--testPathPatterns', 'user.test.ts', 'examples/testing'];
    const { stderr } = await app.withRedis(args);
    expect(stderr).toMatch(/Tests: +30 passed, 30 total/);
  });
});
