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
import { api, createActivity } from './support/api';
import { BrowserBench } from './support/browser-bench';

jest.setTimeout(180_000);

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

it('sends the code of each refusal, and shows it on the Chinese page in Chinese', async () => {
  const bench = await BrowserBench.start();
  const { app, admin, browser } = bench;
  try {
    await createActivity(app.url, admin, 'refused', 20, '20.00');
    const post = (path: string, body: unknown) => api<{ code?: string }>(app.url + path, 'POST', admin, body);
    const rain = { activityId: 'refused', packets: 20 };
    expect((await post('/red-packets', { ...rain, total: 'x' })).body.code).toBe('INVALID_INPUT');
    expect((await post('/red-packets', { ...rain, total: '21.00' })).body.code).toBe('ACTIVITY_CONFLICT');
    expect((await post('/rains/refused/crowd', { users: 0 })).body.code).toBe('INVALID_CROWD');
    expect((await post('/rains/refused/crowd', { users: 500 })).status).toBe(202);
    expect((await post('/rains/refused/crowd', { users: 1 })).body.code).toBe('CROWD_RUNNING');
    expect((await post('/rains/none/count', {})).status).toBe(404);

    const page = await browser.open(`${app.url}/operator`, { locale: 'zh-CN' });
    await page.fill('#token', admin);
    await page.click('#sign-in button');
    await page.locator('#desk').waitFor();
    await page.fill('#activity', 'refused');
    await page.click('#create button');
    await page.locator('#problem', { hasText: REFUSALS.ACTIVITY_CONFLICT }).waitFor();
    await page.click('#language');
    await page.locator('#problem', { hasText: 'refused' }).waitFor();
  } finally {
    await bench.stop();
  }
});
