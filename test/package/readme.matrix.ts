import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { startRedis, type RedisServer } from 'luanest/testing/servers';
import { blocksOf } from '../support/markdown';
import { freePort } from '../support/free-port';
import { snippetsOf } from '../support/snippets';
import { waitUntil } from '../support/wait';
import { folder, tarball } from './support/folder';
import { run } from './support/run';

const GUIDE = 'docs/getting-started.md';
const FRONT_INSTALL = 'npm install luanest ioredis';
const FOUR_USES = 'docs/four-uses.md';
const TESTING = 'docs/testing.md';
const [ORDERS = ''] = blocksOf(FOUR_USES, 'sh');
const [EMPTY_FOLDER = '', START = '', CATS = ''] = blocksOf(GUIDE, 'sh');
const [TSCONFIG = ''] = blocksOf(GUIDE, 'json');

/** The commands of the document, with the tarball for the published package, and no install script. */
function installing(commands: string): string {
  return commands
    .replaceAll('npm install', 'npm install --ignore-scripts --no-audit --no-fund --prefer-offline')
    .replaceAll(/(?<= )luanest(?= )/g, tarball());
}

/** The snippets of a page whose first line is the name of a file. */
function namedSnippetsOf(page: string): [path: string, code: string][] {
  return [...snippetsOf(page)].filter(([path]) => !basename(path).startsWith(`${basename(page)}.`));
}

describe('the getting-started guide, followed from an empty folder', () => {
  let cwd: string;
  let redis: RedisServer;
  beforeAll(async () => {
    cwd = mkdtempSync(join(folder(), 'readme-'));
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  it('installs what the guide and the front page name', async () => {
    expect(blocksOf('README.md', 'sh').map((block) => block.trim())).toContain(FRONT_INSTALL);
    expect(EMPTY_FOLDER).toContain(FRONT_INSTALL);
    await run('bash', ['-euc', installing(EMPTY_FOLDER)], { cwd });
  });

  it('runs the test for Jest of the testing guide', async () => {
    writeFileSync(join(cwd, 'tsconfig.json'), TSCONFIG);
    for (const [path, code] of namedSnippetsOf(GUIDE)) writeFileSync(join(cwd, basename(path)), code);
    for (const code of blocksOf(TESTING, 'js')) {
      const name = /^\/\/ (cats\.test\.js|jest\.config\.cjs)\n/.exec(code)?.[1];
      if (name !== undefined) writeFileSync(join(cwd, name), code);
    }
    const [install = '', jest = ''] = blocksOf(TESTING, 'sh');
    await run('bash', ['-euc', installing(install)], { cwd });
    const { stderr } = await run('bash', ['-euc', jest], { cwd, env: { ...process.env, NODE_OPTIONS: '' } });
    expect(stderr).toContain('Tests:       1 passed, 1 total');
  });

  it.each([
    [GUIDE, CATS, /^Tom.*429/s, 'successfully started'],
    [FOUR_USES, ORDERS, /orderId.*orderId.*No orders.*429/s, 'Report by process'],
  ])('%s compiles and starts, answers its commands, and ends at Ctrl-C', async (page, shown, expected, last) => {
    writeFileSync(join(cwd, 'tsconfig.json'), TSCONFIG);
    for (const [path, code] of namedSnippetsOf(page)) {
      writeFileSync(join(cwd, basename(path)), code.replace('redis://127.0.0.1:6379', redis.url));
    }
    const [compile = '', start = ''] = START.trim().split(' && ');
    await run('bash', ['-euc', compile], { cwd });

    const port = await freePort();
    const [node = '', ...args] = start.split(' ');
    const app = spawn(node, args, { cwd, env: { ...process.env, NODE_OPTIONS: '', PORT: String(port) } });
    let printed = '';
    for (const stream of [app.stdout, app.stderr]) stream.on('data', (chunk) => (printed += String(chunk)));
    try {
      const isUp = (): boolean => printed.includes('successfully started') || app.exitCode !== null;
      await waitUntil('the app is up', isUp, 60_000);
      const commands = shown.replaceAll('localhost:3000', `127.0.0.1:${port}`).replaceAll('curl ', 'curl -s ');
      const { stdout } = await run('bash', ['-uc', commands], { cwd });
      expect([stdout, printed]).toEqual([expect.stringMatching(expected), printed]);
      await waitUntil(last, () => printed.includes(last), 30_000);
    } finally {
      const ended = once(app, 'exit');
      app.kill('SIGINT');
      const [code, signal] = (await ended) as [number | null, string | null];
      expect({ code, signal }).toEqual({ code: null, signal: 'SIGINT' });
    }
    expect(printed).not.toMatch(/ERROR|WARN/);
  });
});
