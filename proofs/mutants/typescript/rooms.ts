import { readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT } from '../lua/scripts';

/** Files and folders of a lib, below its `src`, that decide what happens. Their TypeScript is mutated. */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  'script-registry': ['pipe', 'connection'],
  'rate-limit': ['rules', 'limiter', 'rate-limit.guard.ts'],
  lock: ['locks'],
  once: [
    'runs',
    'once.store.ts',
    'once.terms.ts',
    'once.claims.ts',
    'idempotency/canonical.ts',
    'idempotency/repeat.ts',
    'idempotency/request-identity.ts',
    'idempotency/protected-request.ts',
    'idempotency/stored-response.ts',
  ],
  'delayed-task': ['worker/settlements.ts', 'worker/partition-loop.ts', 'queue/task-codec.ts'],
  'stream-consumer': ['consumer/handler-runner.ts'],
  'scheduled-lock': ['runs'],
  'red-packet': [
    'buckets',
    'grabs',
    'payouts/payout-runner.ts',
    'payouts/outboxes.ts',
    'payouts/payout-row.ts',
    'payouts/debts.ts',
  ],
  'read-reward': ['periods.ts', 'civil-calendar.ts'],
};

/** Declares scripts and types only. */
const NOT_MUTATED = /\.(scripts|types)\.ts$/;

/** Returns the files of a lib that are mutated: paths below the root of the project. */
export function filesOf(lib: string): string[] {
  const source = join(ROOT, 'libs', lib, 'src');
  const paths = (ROOMS[lib] ?? []).flatMap((room) => {
    const path = join(source, room);
    if (!statSync(path).isDirectory()) return [path];
    return readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name));
  });
  return paths
    .filter((path) => path.endsWith('.ts') && !NOT_MUTATED.test(path))
    .map((path) => relative(ROOT, path))
    .sort();
}
