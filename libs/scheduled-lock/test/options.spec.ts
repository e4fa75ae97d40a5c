import { InvalidOptionError } from 'luanest/script-registry';
import type { ScheduledLockModuleOptions, ScheduledLockOptions } from 'luanest/scheduled-lock';
import { resolveJobOptions, resolveOptions } from '../src/scheduled-lock.options';

it('a job gets the options of the module for those that it does not set', () => {
  const module = resolveOptions({ namespace: 'n', leaseMs: 1_234, onRedisError: 'run', replicas: 2 });
  const job = resolveJobOptions({ staleAfterMs: 77, replicas: undefined }, 'Class.method', module);
  expect(job).toEqual({
    name: 'Class.method',
    key: undefined,
    renew: true,
    enhancers: false,
    leaseMs: 1_234,
    lockAtLeastForMs: 0,
    onRedisError: 'run',
    staleAfterMs: 77,
    catchUpWithinMs: 0,
    replicas: 2,
  });
  // 0 is what was said, and not a default's place.
  expect(resolveJobOptions({ replicas: 0 }, 'Class.method', module).replicas).toBe(0);
});

const invalidOfModule: [string, Partial<ScheduledLockModuleOptions>][] = [
  ['namespace', { namespace: undefined }],
  ['namespace', { namespace: 'two words' }],
  ['node', { node: '' }],
  ['node', { node: 'a\ud800' }],
  ['leaseMs', { leaseMs: 9 }],
  ['staleAfterMs', { staleAfterMs: 0 }],
  ['redisTimeoutMs', { redisTimeoutMs: 1.5 }],
  ['replicas', { replicas: -1 }],
  ['replicasTimeoutMs', { replicasTimeoutMs: 0 }],
  ['historySize', { historySize: 1_001 }],
  ['drainMs', { drainMs: -1 }],
  ['abortGraceMs', { abortGraceMs: NaN }],
  ['retentionMs', { retentionMs: 1 }],
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
