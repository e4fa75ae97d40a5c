import { mkdtempSync, cpSync } from 'node:fs';
import { basename, join } from 'node:path';
import { folder } from './folder';
import type { FreshApp } from './fresh-app';
import type { Ended } from './run';

/** Output of `use-all.ts` if each lib works. */
const LINES = [
  'script-registry: added 70 and 30 of 140, has 100, healthy',
  'rate-limit: route answered 200, 200, 429, service allowed; refused as application/problem+json; ' +
    '4 left of GET /cats/:id/friends; logged in 200, 200, 401, 429; no limit on the free route',
  'rate-limit/throttler-storage: route answered 200, 429',
  'lock: let in, another kept out, released, the next fence is higher',
  'scheduled-lock: job tick ran under a fence',
  'once: claimed, then done; route answered 201 {"orderId":1}, then 201 {"orderId":1}; ran 7c1f, then done; ' +
    'ran work work; digests 201 made, then 422 application/problem+json; charset=utf-8',
  'read-reward: rewarded 5, duplicate 0, rewarded 5, capped 0',
  'delayed-task: scheduled, o1 expired at attempt 1, the other cancelled',
  'stream-consumer: published, handled ann@example.com at attempt 1, bounced: no address',
  'outbox: a row for default/order.expire',
  'transport: the sum is 3, and 3 was noted',
  'red-packet: won, already-won, won, sold-out; audit ok',
  'metrics: started and stopped',
  'console: 403 for nobody, ann may read 10 sections, overview 200, page 200',
  'closed',
];

/** All that the app logs: the message that `uses/stream-consumer.ts` dead-letters. */
const LOGGED =
  /^[^\n]*\[StreamConsumer\][^\n]* is a dead letter after attempt 1 of 5: the handler gave up with deadLetter\(\)\.[^\n]*\n$/;
const logged = (): string => expect.stringMatching(LOGGED) as string;

/** The app used every lib, closed, ended by itself, and logged nothing else. */
export function expectAllUsed({ code, stdout, stderr }: Ended): void {
  expect({ lines: stdout.trim().split('\n'), stderr, code }).toEqual({ lines: LINES, stderr: logged(), code: 0 });
}

/** Output of `main-bare.ts`. */
const BARE_LINES = [
  ...['script-registry', 'lock', 'read-reward', 'delayed-task', 'stream-consumer'].map((door) =>
    LINES.find((line) => line.startsWith(`${door}:`)),
  ),
  'once: claimed',
  'rate-limit: true',
  'red-packet: won',
  'scheduled-lock: 0',
  'closed',
];

/** As `expectAllUsed`, for the app without optional peers. */
export function expectBareUsed({ code, stdout, stderr }: Ended): void {
  expect({ lines: stdout.trim().split('\n'), stderr, code }).toEqual({ lines: BARE_LINES, stderr: logged(), code: 0 });
}

/** Output of `lone/main-*.ts`. */
const LONE_LINES = [
  ...['lock', 'scheduled-lock', 'read-reward', 'delayed-task', 'stream-consumer', 'red-packet'].map((door) =>
    LINES.find((line) => line.startsWith(`${door}:`)),
  ),
  'closed',
];

/** As `expectAllUsed`, for the app without RateLimitModule and OnceModule. */
export function expectLoneUsed({ code, stdout, stderr }: Ended): void {
  expect({ lines: stdout.trim().split('\n'), stderr, code }).toEqual({ lines: LONE_LINES, stderr: logged(), code: 0 });
}

/** Output of `main-own.ts`. */
const OWN_LINES = [
  'forRootAsync: mail-1 Error: the mail server is down, 1 replayed, ann at attempt 1, more none',
  'isGlobal false, near: held',
  /^isGlobal false, far: Nest can't resolve dependencies of the UsesLock/,
  'forRoot twice: LockModule: forRoot() or forRootAsync() is imported 2 times',
];

/** As `expectAllUsed`, for the app whose clients are the registry's own. */
export function expectOwnUsed({ code, stdout, stderr }: Ended): void {
  const lines = OWN_LINES.map((line) => (typeof line === 'string' ? line : (expect.stringMatching(line) as string)));
  expect({ lines: stdout.trim().split('\n'), stderr, code }).toEqual({ lines, stderr: '', code: 0 });
}

/** Runs a bundle where nothing else is but the files of the console's page: no node_modules, and no `.lua`. */
export async function runAlone(app: FreshApp, bundle: string): Promise<Ended> {
  const cwd = mkdtempSync(join(folder(), 'bundle-'));
  cpSync(app.path(bundle), join(cwd, basename(bundle)));
  cpSync(app.path('node_modules/luanest/dist/libs/console/src/assets'), join(cwd, 'assets'), { recursive: true });
  return app.withRedis([basename(bundle)], { cwd });
}
