import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LockModule, LockService } from 'luanest/lock';
import { KeySpace, ScriptRegistryModule } from 'luanest/script-registry';
import { Layouts, type BucketKeys } from '../../libs/red-packet/src/buckets/layout';
import { Redis } from 'ioredis';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { PostgresDatabase } from '../../src/ledger/postgres-database';
import { EN } from '../../src/visitors/pages/public/operator-en.js';
import { REFUSALS, ZH } from '../../src/visitors/pages/public/operator-zh.js';
import { api, createActivity, grab, guestToken } from './support/api';
import { PHONE, textOf, type TestBrowser, violationsIn } from './support/browser';
import { BrowserBench } from './support/browser-bench';
import { eventually, sleep, waitUntil } from '../support/wait';
import type { AppProcess } from './support/processes';

jest.setTimeout(400_000);

const PATIENCE = { timeout: 150_000 };

let bench: BrowserBench;
let dataDir: string;
let app: AppProcess;
let browser: TestBrowser;
let admin: string;

/** The ledger, to change it by hand. */
let sql: PostgresDatabase;

beforeAll(async () => {
  bench = await BrowserBench.start();
  sql = new PostgresDatabase(bench.ledger.url);
  ({ dataDir, app, browser, admin } = bench);
});
afterAll(async () => {
  await sql.close();
  await bench.stop();
});
afterEach(async () => {
  expect(browser.problems.splice(0)).toEqual([]);
  await browser.closePages();
});

/** Names of all words, those of lists among them, with the number of their parameters. */
function wordsIn(words: Record<string, unknown>): string[] {
  const names = Object.entries(words).flatMap(([name, word]) => {
    // In English, outcomes are shown as the libs call them.
    if (name === 'outcomes') return [];
    if (typeof word === 'object') return Object.keys(word as object).map((inner) => `${name}.${inner}`);
    return typeof word === 'function' ? `${name}(${word.length})` : name;
  });
  return names.sort();
}

/** The operator's page, signed in. */
async function desk(options: Parameters<TestBrowser['open']>[1] = { locale: 'en-GB' }): Promise<Page> {
  const page = await browser.open(`${app.url}/operator`, options);
  await page.fill('#token', admin);
  await page.click('#sign-in button');
  await page.locator('#desk').waitFor();
  return page;
}

/** Port and password of the app's Redis. */
async function redisOf(): Promise<{ readonly port: number; readonly password: string }> {
  const folder = join(dataDir, 'redis');
  const { port } = JSON.parse(await readFile(join(folder, 'address.json'), 'utf8')) as { port: number };
  return { port, password: (await readFile(join(folder, 'password'), 'utf8')).trim() };
}

const says = (page: Page, id: string, text: RegExp) => page.locator(`#${id}`, { hasText: text }).waitFor(PATIENCE);

/** Waits until the page shows a rain, and no longer the one that it watched before. */
const shows = (page: Page, rain: string) =>
  eventually(async () => expect(await textOf(page, 'f-rain')).toBe(rain), { timeoutMs: PATIENCE.timeout });

it('shows a grant that was changed by hand in red, and green again when it is set right', async () => {
  await createActivity(app.url, admin, 'faulty', 20, '20.00');
  const tokens = await Promise.all(Array.from({ length: 5 }, () => guestToken(app.url)));
  for (const token of tokens) await grab(app.url, 'faulty', token);
  const page = await desk();
  await page.selectOption('#rains', 'faulty');
  await says(page, 'f-paid', / to 5$/);
  await says(page, 'audit', /Every record was counted, too/);

  const redis = new Redis(await redisOf());
  try {
    const { grants } = new Layouts(new KeySpace('luanest', 'red-packet'), 16).root('faulty').buckets[0] as BucketKeys;
    const [user = '', packet = ''] = Object.entries(await redis.hgetall(grants)).find(([name]) => name !== '') ?? [];
    const [id, cents, at] = packet.split(':');
    await redis.hset(grants, user, `${id}:${Number(cents) + 100}:${at}`);
    // Nobody has to ask: the job counts a rain that is at rest.
    await page.locator('#audit[data-state="red"]').waitFor(PATIENCE);
    expect(await textOf(page, 'audit')).toContain('cents granted, counted one by one');
    await redis.hset(grants, user, packet);
    await page.locator('#audit[data-state="green"]').waitFor(PATIENCE);

    // A fault that only the counters show.
    const total = (await redis.hget(grants, '')) as string;
    const [sum, last] = total.split(':');
    await redis.hset(grants, '', `${Number(sum) - 1}:${last}`);
    await page.locator('#audit[data-state="red"]').waitFor(PATIENCE);
    await redis.hset(grants, '', total);
    await page.locator('#audit[data-state="green"]').waitFor(PATIENCE);
  } finally {
    redis.disconnect();
  }
});

it('shows an account that was invented in red, and names it', async () => {
  await createActivity(app.url, admin, 'accounts', 20, '20.00');
  const page = await desk();
  await page.selectOption('#rains', 'accounts');
  await shows(page, 'accounts');
  await page.locator('#audit[data-state="green"]').waitFor(PATIENCE);
  await sql.query(`INSERT INTO luanest.accounts VALUES ('eve', 500)`);
  try {
    await page.locator('#audit[data-state="red"]').waitFor(PATIENCE);
    expect(await textOf(page, 'audit')).toContain('the account of "eve" has 500 cents');
    await waitUntil('it is logged', () => app.program.stderr.includes('the account of "eve" has 500 cents'));
  } finally {
    await sql.query(`DELETE FROM luanest.accounts WHERE user_id = 'eve'`);
  }
  await page.locator('#audit[data-state="green"]').waitFor(PATIENCE);
});

it('names the process that counts, and says since when', async () => {
  await createActivity(app.url, admin, 'held', 20, '20.00');
  const page = await desk();
  await page.selectOption('#rains', 'held');
  await says(page, 'lock', /^No process is counting/);
  const { port, password } = await redisOf();
  class Root {}
  Module({
    imports: [
      ScriptRegistryModule.forRoot({ url: `redis://:${password}@127.0.0.1:${port}` }),
      LockModule.forRoot({ node: 'elsewhere:7' }),
    ],
  })(Root);
  const other = await NestFactory.createApplicationContext(Root, { logger: false });
  try {
    const locks = other.get(LockService);
    await locks.withLock('rain.count', { leaseMs: 60_000, waitMs: 30_000 }, async () => {
      await says(page, 'lock', /^elsewhere:7 is counting, started \d+ s ago;/);
      await page.click('#language');
      await says(page, 'lock', /^elsewhere:7 正在核对，开始于 \d+ 秒前；/);
    });
    await says(page, 'lock', /^当前没有进程在核对/);
  } finally {
    await other.close();
  }
});

it('shows a rain whose first view comes later than the page waits at first', async () => {
  await createActivity(app.url, admin, 'slow', 20, '20.00');
  // The page watches the newest one at first.
  await createActivity(app.url, admin, 'newer', 20, '30.00');
  const page = await desk();
  await page.route('**/rains/slow/live', async (route) => {
    await sleep(4_500);
    // The page may have given up this connection.
    await route.continue().catch(() => undefined);
  });
  await page.selectOption('#rains', 'slow');
  await eventually(async () => expect(await textOf(page, 'f-allotted')).toMatch(/20\.00/), { timeoutMs: 40_000 });
});

it('draws the last two minutes of the rain that is watched', async () => {
  for (const rain of ['lately', 'lately-too']) await createActivity(app.url, admin, rain, 5, '5.00');
  const page = await desk();
  await page.selectOption('#rains', 'lately');
  await shows(page, 'lately');
  await says(page, 'lately', /Grants a second: 0, at most 0Payouts behind: 0, at most 0$/);
  await grab(app.url, 'lately', await guestToken(app.url));
  await says(page, 'lately', /Grants a second: [\d.]+, at most [\d.]*[1-9]/);
  await says(page, 'lately', /Grants a second: 0, at most [\d.]*[1-9]/);
  const drawn = await page.locator('#lately polyline').first().getAttribute('points');
  const heights = (drawn ?? '').split(' ').map((point) => Number(point.split(',')[1]));
  // The line goes from the ground to the top and back.
  expect([heights[0], Math.min(...heights), heights.at(-1)]).toEqual([30, 0, 30]);
  await page.selectOption('#rains', 'lately-too');
  await shows(page, 'lately-too');
  await says(page, 'lately', /Grants a second: 0, at most 0/);
});

it('counts the grants between two connections of the live view', async () => {
  await createActivity(app.url, admin, 'between', 5, '5.00');
  const page = await desk();
  // Each connection brings one view and ends.
  await page.route('**/rains/between/live', async (route) => {
    const ended = new AbortController();
    const { body } = await fetch(route.request().url(), { headers: route.request().headers(), signal: ended.signal });
    let sent = '';
    for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      sent += chunk;
      if (/data: .*\n\n/.test(sent)) break;
    }
    ended.abort();
    // The page may have given up this connection.
    await route.fulfill({ contentType: 'text/event-stream', body: sent }).catch(() => undefined);
  });
  await page.selectOption('#rains', 'between');
  await shows(page, 'between');
  await says(page, 'lately', /Grants a second: 0, at most 0/);
  await grab(app.url, 'between', await guestToken(app.url));
  await says(page, 'lately', /at most [\d.]*[1-9]/);
});

it('keeps what the app said to an order while the live view breaks off', async () => {
  await createActivity(app.url, admin, 'kept', 20, '20.00');
  const page = await desk();
  await page.selectOption('#rains', 'kept');
  await shows(page, 'kept');
  await page.fill('#activity', 'kept');
  await page.fill('#total', '77.00');
  await page.click('#create button');
  await says(page, 'problem', /kept/);
  const refusal = await textOf(page, 'problem');
  let broken = 0;
  await page.route('**/rains/kept/live', (route) => {
    broken += 1;
    return route.abort();
  });
  process.kill(app.program.pid, 'SIGSTOP');
  try {
    await eventually(() => expect(broken).toBeGreaterThan(1), { timeoutMs: 60_000 });
  } finally {
    process.kill(app.program.pid, 'SIGCONT');
  }
  expect(await textOf(page, 'problem')).toBe(refusal);
  // The browser itself reports the requests that were broken off.
  browser.problems.splice(0);
});

it('says when there is no news, in grey, and goes on by itself when there is', async () => {
  await createActivity(app.url, admin, 'silent-too', 20, '20.00');
  await createActivity(app.url, admin, 'silent', 20, '20.00');
  const page = await desk({ locale: 'en-GB' });
  await page.selectOption('#rains', 'silent');
  await shows(page, 'silent');
  await page.locator('#audit[data-state="green"]').waitFor(PATIENCE);
  const silent = page.locator('#audit[data-state="silent"]', { hasText: /^No news from the app for over 3 s/ });

  // The connection of a stopped process stays open.
  process.kill(app.program.pid, 'SIGSTOP');
  try {
    await silent.waitFor(PATIENCE);
    await page.click('#language');
    await says(page, 'audit', /^应用已超过 \d+ 秒没有消息/);
    await page.click('#language');
  } finally {
    process.kill(app.program.pid, 'SIGCONT');
  }
  await page.locator('#audit[data-state="green"]').waitFor(PATIENCE);

  expect(await textOf(page, 'problem')).toBe('');

  // A connection that is open and sends nothing is replaced, and so is one that gets no response.
  await page.route('**/live', () => undefined);
  await page.selectOption('#rains', 'silent-too');
  await page.locator('#audit[data-state="silent"]').waitFor(PATIENCE);
  await page.unroute('**/live');
  await page.locator('#audit[data-state="green"]').waitFor(PATIENCE);
  expect(await textOf(page, 'f-rain')).toBe('silent-too');
});

it('gives up a request to an app that does not respond', async () => {
  const page = await browser.open(`${app.url}/operator`, { locale: 'en-GB' });
  await page.fill('#token', admin);
  process.kill(app.program.pid, 'SIGSTOP');
  try {
    await page.click('#sign-in button');
    await says(page, 'problem', /^The app cannot be reached/);
  } finally {
    process.kill(app.program.pid, 'SIGCONT');
  }
});

it.each(['light', 'dark'] as const)('is accessible in %s colours', async (colorScheme) => {
  await createActivity(app.url, admin, `colours-${colorScheme}`, 20, '20.00');
  const page = await browser.open(`${app.url}/operator`, { colorScheme, locale: 'en-GB' });
  const paper = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  expect(paper).toBe(colorScheme === 'dark' ? 'rgb(27, 19, 16)' : 'rgb(255, 248, 236)');
  expect(await violationsIn(page)).toEqual([]);
  await page.fill('#token', 'wrong');
  await page.click('#sign-in button');
  await says(page, 'problem', /not the admin token/);
  expect(await violationsIn(page)).toEqual([]);
  await page.fill('#token', admin);
  await page.click('#sign-in button');
  await page.locator('#audit[data-state="green"]').waitFor(PATIENCE);
  expect(await violationsIn(page)).toEqual([]);
  await page.click('#close');
  await page.locator('#sure[open]').waitFor();
  expect(await violationsIn(page)).toEqual([]);
  await page.keyboard.press('Enter');
  process.kill(app.program.pid, 'SIGSTOP');
  try {
    await page.locator('#audit[data-state="silent"]').waitFor(PATIENCE);
    expect(await violationsIn(page)).toEqual([]);
  } finally {
    process.kill(app.program.pid, 'SIGCONT');
  }
});

/** Every text of a page that people see or hear: text, options, placeholders, labels, the title. */
const TEXTS = `(() => {
  const seen = [document.title];
  for (const element of document.querySelectorAll('body, body *')) {
    for (const name of ['placeholder', 'ariaLabel', 'title']) if (element[name]) seen.push(element[name]);
    for (const node of element.childNodes) {
      if (node.nodeType === 3 && node.data.trim() !== '') seen.push(node.data.trim());
    }
  }
  return seen;
})()`;

it('is in English and in Chinese, and no text is left out', async () => {
  expect(wordsIn(ZH)).toEqual(wordsIn(EN));
  await createActivity(app.url, admin, '12', 20, '20.00');
  for (const token of [await guestToken(app.url), await guestToken(app.url)]) await grab(app.url, '12', token);
  const page = await desk({ locale: 'zh-CN' });
  await page.selectOption('#rains', '12');
  await says(page, 'f-winners', /^2$/);
  await says(page, 'audit', /所有记录也已逐条核对/);
  await page.fill('#crowd-in', '3600');
  await page.click('#crowd button');
  await says(page, 'crowd-said', /3600 秒后到来/);
  await page.fill('#cap', '0.01');
  await page.fill('#activity', '13');
  await page.click('#create button');
  await says(page, 'problem', /^参数无效：/);

  const nodes = await page.locator('#nodes td:first-child').allTextContents();
  const names = [...nodes, 'luanest/', 'p50', 'p99', ' ms', 'English', 'red-packet', 'rain.crowd', 'rain-count'];
  // Ids of rains that other tests have made.
  const others = await page.locator('#rains option').allTextContents();
  const shown = async () => (await page.evaluate<string[]>(TEXTS)).filter((text) => !others.includes(text));
  const left = (text: string): string => names.reduce((rest, name) => rest.replaceAll(name, ''), text);
  const libs = /^(red-packet|lock)$/;
  const english = (await shown()).map(left).filter((text) => /[A-Za-z]{2,}/.test(text) && !libs.test(text));
  expect(english).toEqual([]);
  expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN');

  await page.click('#language');
  expect(await page.title()).toBe('Rain operator');
  const chinese = (await shown()).filter((text) => /\p{Script=Han}/u.test(text));
  // The button that switches back names its language in it.
  expect(chinese).toEqual(['中文 (Switch to Chinese)', '中文']);
  // In English, the page shows the message of the server, which names the field.
  await says(page, 'problem', /^totalCents is 100000\. Expected/);
  expect(await textOf(page, 'crowd-said')).toBe('The crowd comes in 3600 s.');
  await page.reload();
  await page.locator('#desk').waitFor();
  expect(await page.title()).toBe('Rain operator');
});

it('sends the code of each refusal, and shows it on the Chinese page in Chinese', async () => {
  await createActivity(app.url, admin, 'refused', 20, '20.00');
  const post = (path: string, body: unknown) => api<{ code?: string }>(app.url + path, 'POST', admin, body);
  const rain = { activityId: 'refused', packets: 20 };
  expect((await post('/red-packets', { ...rain, total: 'x' })).body.code).toBe('INVALID_INPUT');
  expect((await post('/red-packets', { ...rain, total: '21.00' })).body.code).toBe('ACTIVITY_CONFLICT');
  expect((await post('/rains/refused/crowd', { users: 0 })).body.code).toBe('INVALID_CROWD');
  expect((await post('/rains/refused/crowd', { users: 150 })).status).toBe(202);
  expect((await post('/rains/refused/crowd', { users: 1 })).body.code).toBe('CROWD_RUNNING');
  expect((await post('/rains/none/count', {})).status).toBe(404);

  const page = await desk({ locale: 'zh-CN' });
  await page.fill('#activity', 'refused');
  // The page gives up a request that a slow app does not answer in 8 s. The operator orders again then.
  const ordered = async () => {
    await page.click('#create button');
    await page.locator('#create button:enabled').waitFor();
    expect(await textOf(page, 'problem')).toBe(REFUSALS.ACTIVITY_CONFLICT);
  };
  await eventually(ordered, { timeoutMs: 120_000 });
  await page.click('#language');
  await page.locator('#problem', { hasText: 'refused' }).waitFor();
});

it('fits on a phone, with long numbers, and shows refusals', async () => {
  const page = await desk(PHONE);
  await page.fill('#activity', 'long');
  await page.fill('#packets', '1000');
  await page.fill('#total', '999999999999.99');
  await page.fill('#cap', 'x');
  await page.click('#create button');
  expect(await page.locator('#cap:invalid').count()).toBe(1);
  await page.fill('#cap', '0.01');
  await page.click('#create button');
  await says(page, 'problem', /^参数无效：/);
  await page.fill('#cap', '');
  await page.click('#create button');
  await says(page, 'f-allotted', /^¥999,999,999,999\.99$/);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);

  await page.click('#sign-out');
  await page.fill('#token', 'not-the-admin-token');
  await page.click('#sign-in button');
  await says(page, 'problem', /^管理员令牌不正确。$/);
  expect(await page.locator('#desk').isVisible()).toBe(false);
});

it('shows and does nothing without the admin token', async () => {
  for (const [method, path, body] of [
    ['GET', '/rains', undefined],
    ['GET', '/rains/operated/live', undefined],
    ['POST', '/rains/operated/crowd', { users: 1 }],
    ['POST', '/rains/operated/count', {}],
    ['GET', '/ledger/operated/payouts', undefined],
    ['GET', '/operator/session', undefined],
  ] as const) {
    expect((await api(app.url + path, method, undefined, body)).status).toBe(401);
    expect((await api(app.url + path, method, `${admin}x`, body)).status).toBe(401);
  }
  for (const body of [
    {},
    { users: 0 },
    { users: '5' },
    { users: 100_001 },
    { users: 1, taps: 11 },
    { users: 1, hammers: 11 },
    { users: 1, delayMs: -1 },
  ]) {
    expect((await api(`${app.url}/rains/operated/crowd`, 'POST', admin, body)).status).toBe(400);
  }
  expect((await api(`${app.url}/rains/..%2f..%2fetc/crowd`, 'POST', admin, { users: 1 })).status).toBe(400);
  expect((await fetch(`${app.url}/assets/..%2f..%2fmain.js`)).status).toBe(404);
});
