import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ScriptRegistry } from 'luanest/script-registry';
import type { Page } from 'playwright-core';
import { TestBrowser, violationsIn } from '../../../test/app/support/browser';
import { eventually } from '../../../test/support/wait';
import { writeHistory } from '../src/sections/history.scripts';
import { ANN, post } from './support';
import { HOUR_MS, openShop, type Shop } from './support/shop';

// Each screen with real data: it has no failures and no violations of accessibility rules, and stays within its width. With
// LUANEST_PICTURES, each is saved there for docs/console.md: see tools/screenshots.mjs.
jest.setTimeout(400_000);

const FOLDER = process.env['LUANEST_PICTURES'];
const PATIENCE = { timeout: 60_000 };
const MINUTE_MS = 60_000;
const [DAY_MS, SLOTS] = [1_440 * MINUTE_MS, 20];

interface Screen {
  readonly name: string;
  readonly hash: string;
  /** Selector and text of something that the screen shows. */
  readonly shows: readonly [selector: string, text: string | RegExp];
  readonly open?: Parameters<TestBrowser['open']>[1];
  readonly before?: (page: Page) => Promise<unknown>;
  readonly height?: number;
}

const WIDE = { viewport: { width: 1_100, height: 640 }, locale: 'en-GB' };
const SCREENS: readonly Screen[] = [
  { name: 'overview', hash: '', shows: ['.urgent', 'dead letters'], height: 1_000 },
  { name: 'list', hash: '#/queues/dead?filter=queue:emails', shows: ['td', 'order-1042'] },
  { name: 'task', hash: '#/queues/tasks/emails/order-1042', shows: ['.why', 'The task is a dead letter'] },
  {
    name: 'action',
    hash: '#/queues/dead?filter=queue:emails',
    shows: ['td', 'order-1042'],
    async before(page) {
      await page.click('main button:has-text("Drop")');
      await page.locator('dialog .samples').waitFor(PATIENCE);
    },
  },
  { name: 'find', hash: '#/~find?id=order-1042', shows: ['td', 'Lock'], height: 420 },
  { name: 'log', hash: '#/~log', shows: ['td', 'Retry'], height: 520 },
  { name: 'history', hash: '#/~history?minutes=1440', shows: ['.plot polyline', ''] },
  { name: 'lock', hash: '#/locks/held/ledger', shows: ['.why', 'holds the lock ledger'], height: 420 },
  {
    name: 'rain-zh',
    hash: '#/red-packets/activities/new-year',
    shows: ['.why', '全部金额分毫不差'],
    open: { ...WIDE, locale: 'zh-CN', colorScheme: 'dark' },
    height: 900,
  },
  {
    name: 'phone',
    hash: '',
    shows: ['.urgent', 'dead letters'],
    open: { viewport: { width: 390, height: 780 }, locale: 'en-GB', isMobile: true, deviceScaleFactor: 2 },
  },
];

let shop: Shop;
let browser: TestBrowser;

beforeAll(async () => {
  [shop, browser] = await Promise.all([openShop(() => new FastifyAdapter()), TestBrowser.start()]);
  await fillShop(shop);
});
afterAll(async () => {
  await shop.close();
  await browser.stop();
});
afterEach(async () => {
  expect(browser.problems.splice(0)).toEqual([]);
  await browser.closePages();
});

it.each(SCREENS)('$name', async ({ name, hash, shows, open = WIDE, before, height }) => {
  const page = await browser.open(shop.url + hash, { ...open, extraHTTPHeaders: { 'x-user': 'ann', 'x-role': 'act' } });
  const { width = 0, height: usual = 0 } = open.viewport ?? {};
  await page.setViewportSize({ width, height: height ?? usual });
  await page.locator(`main ${shows[0]}`, { hasText: shows[1] }).first().waitFor(PATIENCE);
  await page.locator('#live.live').waitFor(PATIENCE);
  await before?.(page);
  expect(await violationsIn(page)).toEqual([]);
  expect(await page.locator('.failure, p.error').allTextContents()).toEqual([]);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
  if (FOLDER === undefined) return;
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 60 });
  await writeFile(join(FOLDER, `console-${name}.webp`), Buffer.from(data, 'base64'));
  if (process.env['LUANEST_PNG'] !== undefined)
    await page.screenshot({ path: join(process.env['LUANEST_PNG'], `${name}.png`) });
});

/** Names that the page shows: of sections, filters, columns and facts. */
const NAMES = `[...document.querySelectorAll('#nav a, main :is(th, dt, h2, .tabs a, button)')].map((each) => each.textContent)`;

it('opens every section and list, in Chinese', async () => {
  const page = await browser.open(shop.url, {
    ...{ ...WIDE, locale: 'zh-CN' },
    extraHTTPHeaders: { 'x-user': 'ann', 'x-role': 'act' },
  });
  await page.locator('.card .lists a').first().waitFor(PATIENCE);
  const hrefs = await page.evaluate<string[]>(
    `[...document.querySelectorAll('#nav a, .card a')].map((link) => link.getAttribute('href'))`,
  );
  const english = new Set<string>();
  const stories = SCREENS.map(({ hash }) => hash).filter((hash) => hash.split('/').length > 3);
  for (const href of new Set([...hrefs, ...stories])) {
    await page.goto(shop.url + href);
    await page.locator('main h1').waitFor(PATIENCE);
    await eventually(async () => expect(await page.locator('main .skeleton').count()).toBe(0));
    expect([href, await page.locator('.failure, p.error').allTextContents()]).toEqual([href, []]);
    for (const name of await page.evaluate<string[]>(NAMES)) if (/[A-Za-z]{3,}/.test(name)) english.add(name);
  }
  expect([...english]).toEqual([]);
  expect(new Set(hrefs).size).toBeGreaterThan(30);
});

/** Lets a mail server refuse mails, a queue pause and a lock be waited for, and does what an operator does then. */
async function fillShop(shop: Shop): Promise<void> {
  const { tasks, mails, streams, locks, once, limits, app, url } = shop;
  const ids = Array.from({ length: 13 }, (_, n) => `order-${1_042 + n}`);
  const payload = (id: string) => ({ to: 'ada@example.com', template: 'receipt', order: id, language: 'zh-CN' });
  await tasks.scheduleMany(ids.map((id) => ({ name: 'mail', payload: payload(id), id, delayMs: 0 })));
  await eventually(async () => expect((await tasks.stats()).dead).toBe(ids.length));
  const invoices = tasks.queue('invoices');
  await invoices.pause();
  const bills = Array.from({ length: 60 }, (_, n) => ({
    name: 'invoice',
    id: `invoice-${n}`,
    delayMs: n < 40 ? 0 : HOUR_MS,
  }));
  await invoices.scheduleMany(bills);
  await tasks.upsertSchedule('daily-report', { cron: '0 3 * * *', timeZone: 'Asia/Shanghai' }, { name: 'mail' });
  await tasks.scheduleMany(
    Array.from({ length: 12 }, (_, n) => ({ name: 'mail', id: `reminder-${n}`, delayMs: (n + 1) * HOUR_MS })),
  );
  await shop.deadOrder({ order: 'order-977', country: 'AQ' });
  await streams.handle({ stream: 'orders', group: 'billing' }, () => undefined);
  for (let n = 0; n < 30; n++) await streams.publish('orders', { order: n }, { key: `customer-${n % 7}` });
  await locks.acquire('ledger', { leaseMs: HOUR_MS });
  for (let n = 0; n < 3; n++) void locks.acquire('ledger', { leaseMs: 60_000, waitMs: 300_000 }).catch(() => undefined);
  await locks.acquire('order-1042', { leaseMs: HOUR_MS });
  await once.run('order-1042', {}, () => ({ charged: 4_711 }));
  for (let n = 0; n < 8; n++) await limits.consume('login', '10.0.0.7');
  await shop.rain('new-year', ['ada', 'bob', 'cem', 'dai', 'eve', 'fay'], ['cem']);
  await fillHistory(app.get(ScriptRegistry));
  const api = url.slice(0, -1);
  const task = (id: string) => ({ address: ['queues', 'tasks', 'emails', id] });
  mails.broken = undefined;
  const acts = [
    { action: 'retry', target: task('order-1043'), input: {} },
    { action: 'move', target: task('reminder-1'), input: { atMs: Date.now() + 2 * HOUR_MS } },
    { action: 'drop', target: { list: ['queues', 'dead'], filter: 'name:invoice' }, input: {} },
    { action: 'cancel', target: task('reminder-2'), input: {} },
    { action: 'cancel', target: task('reminder-2'), input: {} },
  ];
  for (const act of acts) await post(api, 'act', { section: 'queues', ...act }, {}, ANN);
}

/** Writes counts of the last day, as workers do minute by minute. */
async function fillHistory(registry: ScriptRegistry): Promise<void> {
  const keys = registry.keySpace('console').tag('history');
  const day = keys.series('day');
  const now = Math.floor(Date.now() / MINUTE_MS);
  const byDay = new Map<number, string[]>();
  for (let minute = now - 1_440; minute < now; minute++) {
    const counts = byDay.get(Math.floor((minute * MINUTE_MS) / DAY_MS)) ?? [];
    byDay.set(Math.floor((minute * MINUTE_MS) / DAY_MS), counts);
    const wave = 1.3 + Math.sin((minute / 720) * Math.PI);
    const values = [wave * 120, minute % 97 === 0 ? 14 : 0, minute > now - 90 ? 6 : 0, wave * 900];
    values.forEach((value, slot) => {
      if (value >= 1) counts.push(String((minute % 1_440) * SLOTS + slot), String(Math.round(value)));
    });
  }
  for (const [index, all] of byDay) {
    for (let at = 0; at < all.length; at += 1_000) {
      await registry.run(writeHistory, {
        keys: { day: day(String(index)), seen: keys.key('seen'), processes: keys.key('processes') },
        args: {
          ...{
            process: `node-1:${process.pid}`,
            token: `fill-${index}-${at}`,
            about: '{}',
            ttlMs: 8 * DAY_MS,
            keep: 200,
          },
          counts: all.slice(at, at + 1_000),
        },
      });
    }
  }
}

it('has a picture in the guide for each screen, 300 kB in all', async () => {
  const docs = join(__dirname, '../../../docs');
  const files = (await readdir(docs)).filter((name) => /^console-.*\.webp$/.test(name));
  expect(files.sort()).toEqual(SCREENS.map(({ name }) => `console-${name}.webp`).sort());
  const guide = await readFile(join(docs, 'console.md'), 'utf8');
  expect(files.filter((file) => !guide.includes(`src="${file}"`))).toEqual([]);
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(docs, file))).size));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(300_000);
});
