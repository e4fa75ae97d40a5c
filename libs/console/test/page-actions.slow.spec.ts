import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Page } from 'playwright-core';
import { TestBrowser } from '../../../test/app/support/browser';
import { eventually } from '../../../test/support/wait';
import { CASES, path } from './support/action-cases';
import { HOSTILE } from './support/page-data';
import { HOUR_MS, openShop, type Shop } from './support/shop';

jest.setTimeout(400_000);

const PATIENCE = { timeout: 60_000 };

let shop: Shop;
let browser: TestBrowser;

beforeAll(async () => {
  [shop, browser] = await Promise.all([openShop(() => new ExpressAdapter()), TestBrowser.start()]);
});
afterAll(() => Promise.all([browser.stop(), shop.close()]));
afterEach(async () => {
  expect(browser.problems.splice(0)).toEqual([]);
  await browser.closePages();
});

const open = (hash: string, role: 'read' | 'act') =>
  browser.open(shop.url + hash, { locale: 'en-GB', extraHTTPHeaders: { 'x-user': 'ann', 'x-role': role } });

const sees = (page: Page, selector: string, text: string | RegExp) =>
  page.locator(selector, { hasText: text }).first().waitFor(PATIENCE);

/** Sends a request for an action from a page's own script, with the token that the page has. */
const send = (page: Page, act: object) =>
  page.evaluate<number>(`fetch('./api/me').then((me) => me.json()).then(({ csrf }) => fetch('./api/act', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-luanest-console': csrf },
    body: ${JSON.stringify(JSON.stringify(act))},
  })).then(({ status }) => status)`);

/** Returns the target of the actions that a page offers. */
function targetOf(hash: string): object {
  const [names = '', query] = hash.slice(2).split('?');
  const address = names.split('/').map(decodeURIComponent);
  const filter = new URLSearchParams(query).get('filter');
  return address.length > 2 ? { address } : { list: address, ...(filter !== null && { filter }) };
}

describe.each(Object.entries(CASES))('the actions of %s', (_, cases) => {
  it.each(Object.entries(cases))('%s: only for one who may act, and with its effect in Redis', async (__, one) => {
    const { hash, did } = await one.prepare(shop);
    const { button, act, fill, count = 1 } = one;
    const reader = await open(hash, 'read');
    await reader
      .locator('main :is(.why, .facts, tbody)')
      .first()
      .waitFor({ state: 'attached', ...PATIENCE });
    await eventually(async () => expect(await reader.locator('main .skeleton').count()).toBe(0));
    expect(await reader.locator('main button:has-text("…")').count()).toBe(0);
    expect(await send(reader, { input: {}, ...act, target: targetOf(hash) })).toBe(403);

    const page = await open(hash, 'act');
    const offered = page.locator('main button', { hasText: new RegExp(`^\\s*${button}…\\s*$`) });
    // A list of dead letters may have the button for all of them only.
    await offered.first().click(PATIENCE);
    await fill?.(page);
    await sees(page, 'dialog .preview-count', `Concerns: ${count}`);
    await expect(Promise.resolve().then(did)).rejects.toThrow();
    await page.click('dialog button[type="submit"]');
    await sees(page, 'dialog .result', `${button}: ${count} done.`);
    await eventually(() => Promise.resolve(did()));
    await page.goto(`${shop.url}#/~log`);
    await sees(page, 'tbody tr >> nth=0', new RegExp(`ann\\s*${button}.*${count}\\s*Done`));
  });
});

it('has a case for each action of each section', async () => {
  const me = (await (await fetch(`${shop.url}api/me`, { headers: { 'x-user': 'ann' } })).json()) as {
    sections: { name: string; actions: { name: string }[] }[];
  };
  const tested = Object.values(CASES)
    .flatMap((cases) => Object.values(cases))
    .map(({ act }) => `${act.section} ${act.action}`);
  const offered = me.sections.flatMap(({ name, actions }) => actions.map((action) => `${name} ${action.name}`));
  expect(offered.filter((each) => !tested.includes(each))).toEqual([]);
});

describe('another site', () => {
  let site: Server;
  beforeAll(
    () => new Promise<void>((resolve) => (site = createServer((_, reply) => reply.end('<p>')).listen(0, resolve))),
  );
  afterAll(() => new Promise((resolve) => site.close(resolve)));

  it.each(['localhost', '127.0.0.1'])('on %s acts for nobody who looks at it', async (host) => {
    await shop.locks.acquire(`of ${host}`, { leaseMs: HOUR_MS });
    const { fence } = await shop.locks.status(`of ${host}`);
    const target = { address: ['locks', 'held', `of ${host}`] };
    const act = JSON.stringify({ section: 'locks', action: 'release', target, input: {}, expected: String(fence) });
    const page = await browser.open(`http://${host}:${(site.address() as AddressInfo).port}/`, {
      // The headers of a user whom the browser would know by a cookie.
      extraHTTPHeaders: { 'x-user': 'ann', 'x-role': 'act' },
    });
    browser.asked.length = 0;
    const statuses: number[] = [];
    page.on('response', (response) => void statuses.push(response.status()));
    await page.evaluate(`Promise.allSettled(['text/plain', 'application/x-www-form-urlencoded', 'application/json'].map(
      (type) => fetch('${shop.url}api/act', { method: 'POST', mode: type === 'application/json' ? 'cors' : 'no-cors',
        headers: { 'content-type': type }, credentials: 'include', body: ${JSON.stringify(act)} })))`);
    await page.evaluate(`(() => {
      const form = document.body.appendChild(document.createElement('form'));
      Object.assign(form, { method: 'post', enctype: 'text/plain', action: '${shop.url}api/act' });
      const field = form.appendChild(document.createElement('input'));
      [field.name, field.value] = [${JSON.stringify(act)}, ''];
      form.submit();
    })()`);
    // The browser does not report the responses that the site may not read, but has sent what needs no preflight.
    await eventually(() => expect(statuses).toEqual([403]));
    await page.waitForURL('**/api/act');
    expect(browser.asked.splice(0).filter((url) => url.endsWith('/api/act')).length).toBeGreaterThanOrEqual(3);
    expect(await shop.locks.status(`of ${host}`)).toMatchObject({ held: true });
    browser.problems.length = 0;
  });

  it('cannot frame the page', async () => {
    const page = await browser.open(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
    const refused = new Promise((resolve) => page.on('console', (message) => resolve(message.text())));
    await page.evaluate(`document.body.appendChild(document.createElement('iframe')).src = '${shop.url}'`);
    expect(await refused).toMatch(/frame/i);
    browser.problems.length = 0;
  });
});

it('shows hostile names, payloads and errors of all sections as texts', async () => {
  const { tasks, streams: events, locks, limits, once, rewards, packets, mails } = shop;
  mails.broken = HOSTILE;
  await shop.deadMail('hostile', { html: HOSTILE });
  await tasks.schedule('mail', HOSTILE, { id: 'grouped', group: HOSTILE, delayMs: HOUR_MS });
  await shop.deadOrder({ html: HOSTILE }, HOSTILE);
  await locks.acquire(HOSTILE, { leaseMs: HOUR_MS });
  for (let n = 0; n < 7; n++) await limits.consume('login', HOSTILE);
  await once.run(HOSTILE, {}, () => HOSTILE);
  await rewards.record({ rule: 'article', userId: HOSTILE, itemId: HOSTILE });
  await packets.create({ activityId: HOSTILE, packets: 3, totalCents: 300 });
  await packets.grab(HOSTILE, HOSTILE);
  await shop.rowSetAside(`INVALID_INPUT: ${HOSTILE}`);
  await events.stats('orders', 'shipping');
  const page = await open(`#/~find?id=${encodeURIComponent(HOSTILE)}`, 'act');
  await sees(page, 'td', HOSTILE);
  const hrefs = await page.evaluate<string[]>(
    `[...document.querySelectorAll('main td a, #nav > ul:nth-child(2) a')].map((link) => link.getAttribute('href'))`,
  );
  const lists = await page.evaluate<string[]>(`fetch('./api/me').then((me) => me.json()).then(({ sections }) =>
    sections.flatMap(({ name, lists }) => lists.map((list) => '#/' + name + '/' + list.name)))`);
  for (const hash of [...hrefs, ...lists, path('queues', 'tasks', 'emails', 'hostile'), '#/~log']) {
    await page.goto(shop.url + hash);
    await page.locator('main h1').waitFor(PATIENCE);
    await eventually(async () => expect(await page.locator('main .skeleton').count()).toBe(0));
    expect([hash, await page.locator('.failure').allTextContents()]).toEqual([hash, []]);
    expect([hash, await page.locator('main img, main script, main iframe').count()]).toEqual([hash, 0]);
    expect(await page.title()).not.toBe('owned');
  }
  expect(hrefs.length).toBeGreaterThan(12);
});
