import type { ScheduledLockModuleOptions, ScheduledLockOptions } from 'luanest/scheduled-lock';
import { InvalidOptionError } from '../../internal/src';
import { retentionOf } from '../src/jobs/job';
import { resolveJobOptions, resolveOptions } from '../src/scheduled-lock.options';

it('a job gets the options of the module for those that it does not set', () => {
  const module = resolveOptions({ namespace: 'n', leaseMs: 1_234, onRedisError: 'run' });
  const job = resolveJobOptions({ lockAtLeastForMs: undefined }, 'Class.method', module);
  expect(job).toEqual({
    name: 'Class.method',
    key: undefined,
    renew: true,
    leaseMs: 1_234,
    lockAtLeastForMs: 0,
    onRedisError: 'run',
    catchUpWithinMs: 0,
  });
});

const invalidOfModule: [string, Partial<ScheduledLockModuleOptions>][] = [
  ['namespace', { namespace: undefined }],
  ['namespace', { namespace: 'two words' }],
  ['node', { node: '' }],
  ['node', { node: 'a\ud800' }],
  ['leaseMs', { leaseMs: 9 }],
  ['replicas', { replicas: -1 }],
  ['replicasTimeoutMs', { replicasTimeoutMs: 0 }],
  ['drainMs', { drainMs: -1 }],
  ['abortGraceMs', { abortGraceMs: NaN }],
  ['onRedisError', { onRedisError: 'panic' as 'run' }],
];

it.each(invalidOfModule)('refuses an invalid value for %s of the module', (name, options) => {
  const resolving = (): unknown => resolveOptions({ namespace: 'n', ...options });
  expect(resolving).toThrow(InvalidOptionError);
  expect(resolving).toThrow(new RegExp(`^ScheduledLockModule: ${name} is .* Expected `));
});

const invalidOfJob: [string, ScheduledLockOptions][] = [
  ['name', { name: '' }],
  ['name', { name: 'x'.repeat(257) }],
  ['key', { key: '' }],
  ['key', { key: 'lone surrogate \ud800' }],
  ['lockAtLeastForMs', { lockAtLeastForMs: -1 }],
  ['catchUpWithinMs', { catchUpWithinMs: Infinity }],
  ['onRedisError', { onRedisError: 'panic' as 'run' }],
];

it.each(invalidOfJob)('refuses an invalid value for %s of a job, naming the job', (name, options) => {
  const resolving = (): unknown => resolveJobOptions(options, 'Class.method', resolveOptions({ namespace: 'n' }));
  expect(resolving).toThrow(new RegExp(`^@ScheduledLock on Class\\.method: ${name} is .* Expected `));
});

it('what ran is remembered until no node can fire or catch up the slot', () => {
  const day = 86_400_000;
  const options = (catchUpWithinMs: number) => ({ catchUpWithinMs }) as never;
  const cron = { type: 'cron', live: undefined as never } as const;
  expect(retentionOf(cron, options(0), 7 * day)).toBe(7 * day);
  expect(retentionOf(cron, options(9 * day), 7 * day)).toBe(9 * day);
  expect(retentionOf({ type: 'interval', periodMs: 10 * day }, options(0), 7 * day)).toBe(20 * day);
  expect(retentionOf({ type: 'timeout' }, options(0), 7 * day)).toBe(365 * day);
});
