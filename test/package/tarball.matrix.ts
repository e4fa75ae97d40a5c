import { readFileSync } from 'node:fs';
import { tarball } from './support/folder';
import { run } from './support/run';

/** Both linters are ES modules, which Jest cannot load on Node 20: they run in a process of their own. */
async function answerOf(script: string): Promise<unknown> {
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script, tarball()], {
    cwd: __dirname,
  });
  return JSON.parse(stdout);
}

describe('The tarball', () => {
  it('is small', () => {
    // The console and the program luanest are 190 kB of it.
    expect(readFileSync(tarball()).length).toBeLessThan(1_400_000);
  });

  it('satisfies publint', async () => {
    const problems = await answerOf(`
      import { readFileSync } from 'node:fs';
      import { publint } from 'publint';
      import { formatMessage } from 'publint/utils';
      const { buffer, byteOffset, byteLength } = readFileSync(process.argv[1]);
      const tarball = buffer.slice(byteOffset, byteOffset + byteLength);
      const { messages, pkg } = await publint({ pack: { tarball }, level: 'suggestion', strict: true });
      console.log(JSON.stringify(messages.map((message) => formatMessage(message, pkg, { color: false }))));`);
    expect(problems).toEqual([]);
  });

  it('satisfies Are The Types Wrong', async () => {
    const { problems, entrypoints } = (await answerOf(`
      import { readFileSync } from 'node:fs';
      import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
      const { problems, entrypoints } = await checkPackage(createPackageFromTarballData(readFileSync(process.argv[1])));
      console.log(JSON.stringify({ problems, entrypoints: Object.keys(entrypoints) }));`)) as {
      problems: unknown[];
      entrypoints: string[];
    };
    expect(problems).toEqual([]);
    expect(entrypoints).toContain('./rate-limit/throttler-storage');
  });
});
