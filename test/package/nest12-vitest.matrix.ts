import { vitestOfGuide, writeExamples, writeGuides } from './support/examples';
import { FreshApp } from './support/fresh-app';
import { itInFull } from './support/full';

/** Parts of the report that Vitest writes with `--reporter=json`. */
interface Report {
  readonly success: boolean;
  readonly testResults: readonly { name: string; assertionResults: readonly { status: string }[] }[];
}

const { adapt, configBeforeVite8 } = vitestOfGuide();

describe('Nest 12, ESM, Vitest', () => {
  let app: FreshApp;
  let guides: string[];

  /** Runs tests in the app. Returns how many passed in each file. */
  async function passed(...args: string[]): Promise<Record<string, number>> {
    const { stdout } = await app.bin('vitest/vitest.mjs', ['run', '--reporter=json', ...args]);
    const { success, testResults } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as Report;
    expect(success).toBe(true);
    return Object.fromEntries(
      testResults.map(({ name, assertionResults }) => [
        name.slice(app.root.length + 1),
        assertionResults.filter(({ status }) => status === 'passed').length,
      ]),
    );
  }

  itInFull('is installed', async () => {
    app = await FreshApp.install('nest12-vitest', {
      type: 'module',
      dependencies: {
        '@nestjs/common': '^12.0.0',
        '@nestjs/core': '^12.0.0',
        '@nestjs/platform-express': '^12.0.0',
        '@nestjs/schedule': '^12.0.0',
        '@nestjs/testing': '^12.0.0',
        '@swc/core': '^1.16.0',
        ioredis: '^6.0.0',
        'reflect-metadata': '^0.2.0',
        rxjs: '^7.8.0',
        'unplugin-swc': '^2.0.0',
        vite: '^8.0.0',
        vitest: '^4.1.0', // 5 does not run on Node 20
      },
    });
    expect(app.version('@nestjs/core')).toMatch(/^12\./);
    const compilerOptions = { experimentalDecorators: true, emitDecoratorMetadata: true };
    app.write('tsconfig.json', JSON.stringify({ compilerOptions }));
    writeExamples(app, adapt);
    guides = writeGuides(app, adapt);
  });

  itInFull('passes the 15 unit tests of examples/testing, and the tests of the guides', async () => {
    const counts = await passed();
    const {
      'examples/testing/decorated.test.ts': decorated,
      'examples/testing/injected.test.ts': injected,
      ...rest
    } = counts;
    expect([decorated, injected]).toEqual([11, 4]);
    expect(Object.keys(rest).sort()).toEqual([...guides].sort());
    expect(guides).toEqual(expect.arrayContaining(['guide/e2e.test.ts', 'servers/reports.spec.ts']));
    for (const [file, count] of Object.entries(rest)) expect([file, count]).not.toEqual([file, 0]);
  });

  itInFull('passes the 15 unit tests with the configuration for a Vite before 8', async () => {
    app.write('swc.config.mjs', configBeforeVite8);
    expect(await passed('--config', 'swc.config.mjs', 'examples')).toEqual({
      'examples/testing/decorated.test.ts': 11,
      'examples/testing/injected.test.ts': 4,
    });
  });
});
