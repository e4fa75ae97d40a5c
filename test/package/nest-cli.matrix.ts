import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { startRedis } from 'luanest/testing/servers';
import { waitUntil } from '../support/wait';
import { folder } from './support/folder';
import { itInFull } from './support/full';

const ROOT = join(__dirname, '..', '..');
const CLI = ['--yes', '@nestjs/cli@11'];

/** This repository in a folder of its own: the CLI replaces `dist`. */
function copyOfTheRepository(): string {
  const copy = mkdtempSync(join(folder(), 'nest-cli-'));
  const files = execFileSync('git', ['ls-files', '-z', '--', 'src', 'libs', '*.json'], { cwd: ROOT, encoding: 'utf8' });
  for (const file of files.split('\0').filter((name) => name !== '' && existsSync(join(ROOT, name)))) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(ROOT, file), join(copy, file));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

describe('The Nest CLI in this repository', () => {
  itInFull('builds the app with its pages, and starts it', async () => {
    const cwd = copyOfTheRepository();
    const redis = await startRedis();
    const env = { ...process.env, REDIS_URL: redis.url, DATA_DIR: join(cwd, 'data'), PORT: '0' };
    // It builds, too. A process group of its own: npx, the CLI and the app all end with it.
    const app = spawn('npx', [...CLI, 'start'], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    for (const stream of [app.stdout, app.stderr]) stream.on('data', (chunk) => (printed += String(chunk)));
    try {
      await waitUntil(
        'the app listens',
        () => /Listening on (http:\S+)/.exec(printed)?.[1] ?? app.exitCode !== null,
        120_000,
      );
      const url = /Listening on (http:\S+)/.exec(printed)?.[1];
      if (url === undefined) throw new Error(printed);
      expect((await fetch(`${url}/health`)).status).toBe(200);
      expect(existsSync(join(cwd, 'dist/src/visitors/pages/public/visitor.html'))).toBe(true);
    } finally {
      if (app.pid !== undefined && app.exitCode === null) process.kill(-app.pid, 'SIGTERM');
      await waitUntil('the app has ended', () => app.exitCode !== null || app.signalCode !== null, 30_000);
      await redis.stop();
    }
  });
});
