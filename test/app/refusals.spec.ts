import { type ArgumentsHost, ConflictException } from '@nestjs/common';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NotSentError } from 'luanest/script-registry';
import { AppAddress } from '../../src/monitoring/nodes/app-address';
import { RefusalFilter } from '../../src/platform/refusal.filter';
import { CrowdService } from '../../src/simulation/crowd/crowd.service';
import { CrowdTasks } from '../../src/simulation/crowd/crowd.tasks';
import { EN } from '../../src/visitors/pages/public/operator-en.js';
import { REFUSALS, ZH } from '../../src/visitors/pages/public/operator-zh.js';

/** Refusals of the libs' routes that the operator's page calls. The page sends random keys, so it never sees the others. */
const OF_LIBS = [
  'INVALID_INPUT',
  'ACTIVITY_CONFLICT',
  'ACTIVITY_INCOMPLETE',
  'REDIS_UNAVAILABLE',
  'IN_PROGRESS',
  'NOT_FINISHED',
  'RESPONSE_NOT_KEPT',
];

it('has a Chinese text for each refusal that the page can get', () => {
  const folder = join(__dirname, '../../src');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const source = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
  const literal = [...source.matchAll(/refusal\(\d+, '(\w+)'/g)].map(([, code]) => code as string);
  expect(literal).toEqual(expect.arrayContaining(['CROWD_RUNNING', 'COUNT_RUNNING', 'REDIS_UNAVAILABLE']));
  const codes = [...new Set([...OF_LIBS, ...literal, 'INVALID_CROWD', 'LEDGER_UNAVAILABLE'])];
  expect(Object.keys(REFUSALS)).toEqual(expect.arrayContaining(codes));
  for (const text of Object.values(REFUSALS))
    expect(text.replaceAll('Redis', '')).toMatch(/^[^A-Za-z]*\p{Script=Han}[^A-Za-z]*$/u);
});

it('says a refusal without a known code by its status, and in English by its message', () => {
  const refused = { path: '/rains', status: 429, code: undefined, message: 'Try again in 3 s.' };
  expect(ZH.refusal(refused)).toBe(REFUSALS.HTTP_429);
  expect(ZH.refusal({ ...refused, code: 'NEW', status: 418 })).toBe('/rains 返回 418');
  expect(EN.refusal(refused)).toBe('Try again in 3 s.');
  expect(EN.refusal({ ...refused, message: undefined })).toBe('/rains answered 429');
});

it('leaves errors of task handlers to the task', () => {
  const host = { getType: () => 'delayed-task' } as unknown as ArgumentsHost;
  for (const error of [new ConflictException(), new NotSentError('down')]) {
    expect(() => new RefusalFilter().catch(error, host)).toThrow(error);
  }
});

it('refuses a crowd before the process listens, without a claim that one is running', () => {
  const crowds = new CrowdService(new AppAddress(), {} as never, {} as never);
  const start = () => crowds.start({ activityId: 'a', users: 1, taps: 1, hammers: 0 });
  expect(start).toThrow(
    expect.objectContaining({ response: expect.objectContaining({ code: 'CROWD_NOT_READY' }) as object }) as Error,
  );
});

it('waits for a running crowd without using up attempts of the task', () => {
  const tasks = new CrowdTasks({ canStart: false } as CrowdService);
  const outcome = tasks.start({ activityId: 'a', users: 1, taps: 1, hammers: 0 });
  expect(outcome).toMatchObject({ kind: 'retry-later', delayMs: 1_000, countsAsAttempt: false });
});
