import type { Page } from 'playwright-core';
import { TestBrowser, violationsIn } from '../../../test/app/support/browser';
import { eventually } from '../../../test/support/wait';
import { HOSTILE, overview } from './support/page-data';
import { PageServer } from './support/page-server';

jest.setTimeout(300_000);

const PATIENCE = { timeout: 60_000 };

let server: PageServer;
let browser: TestBrowser;

beforeAll(async () => {
  [server, browser] = await Promise.all([PageServer.start(), TestBrowser.start()]);
});
afterAll(() => Promise.all([browser.stop(), server.stop()]));
afterEach(async () => {
  // Errors of scripts, and what the content security policy refused.
  expect(browser.problems.splice(0)).toEqual([]);
  await browser.closePages();
  server.reset();
});

const open = (hash: string, options: Parameters<TestBrowser['open']>[1] = { locale: 'en-GB' }) =>
  browser.open(server.url + hash, options);

const sees = (page: Page, selector: string, text: string | RegExp) =>
  page.locator(selector, { hasText: text }).first().waitFor(PATIENCE);

const focused = (page: Page) => page.evaluate<string>('document.activeElement.textContent');

it('shows what needs somebody first, and follows the server until it is paused', async () => {
  const page = await open('');
  await sees(page, '.urgent >> nth=0', 'No process works on the queue invoices');
  await sees(page, '.urgent >> nth=1', /paused.*Late 23 min/);
  await sees(page, '.card', /Rate limits.*could not be read.*READONLY/);
  await sees(page, '#live', 'Live');
  server.send('overview', overview(77));
  await sees(page, '.numbers div', /^\s*Waiting\s*77\s*$/);
  await page.keyboard.press('p');
  await sees(page, '.banner', 'Paused: the page is not updated.');
  await eventually(() => expect(server.viewers).toBe(0));
  expect(await page.locator('#live').getAttribute('aria-pressed')).toBe('true');
  await page.click('#live');
  await sees(page, '#live', 'Live');
  await eventually(() => expect(server.viewers).toBe(1));
});

it('rests while the tab is hidden, and goes on by itself', async () => {
  const page = await open('#/queues/dead');
  await sees(page, 'td', 'order-1000');
  await eventually(() => expect(server.viewers).toBe(1));
  const hide = (hidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, 'visibilityState', { configurable: true, value: '${hidden ? 'hidden' : 'visible'}' });
      document.dispatchEvent(new Event('visibilitychange'))`);
  await hide(true);
  await sees(page, '#live.paused', 'Paused');
  await sees(page, '.banner', 'Paused:');
  await eventually(() => expect(server.viewers).toBe(0));
  const asked = server.asked.filter((path) => path === 'api/list').length;
  server.data.dead = ['born-while-hidden'];
  await hide(false);
  // What changed meanwhile is read at once.
  await sees(page, 'td', 'born-while-hidden');
  expect(server.asked.filter((path) => path === 'api/list').length).toBeGreaterThan(asked);
  await eventually(() => expect(server.viewers).toBe(1));
});

it('finds an id from any screen by the keyboard, and shows hostile texts as texts', async () => {
  const page = await open('#/locks/held');
  await sees(page, 'h1', 'Held');
  await page.keyboard.press('/');
  await page.keyboard.type(HOSTILE);
  await page.keyboard.press('Enter');
  // One match is opened at once.
  await eventually(async () => expect(await page.locator('h1').textContent()).toBe(HOSTILE));
  await sees(page, '.why', 'The task is a dead letter after 3 of 3 attempts');
  await sees(page, 'pre', `"subject": ${JSON.stringify(HOSTILE)}`);
  expect(await page.locator('main img, main script').count()).toBe(0);
  expect(await page.title()).toBe(`${HOSTILE} · luanest`);
  // The way back does not lead to the search, which would open the match again.
  await page.goBack();
  await sees(page, 'h1', 'Held');

  await page.keyboard.press('/');
  await page.keyboard.type('both');
  await page.keyboard.press('Enter');
  await sees(page, 'tbody tr >> nth=1', 'ledger');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await sees(page, '.why', 'node-2:4711 holds the lock ledger');

  await page.keyboard.press('/');
  await page.keyboard.type('nowhere');
  await page.keyboard.press('Enter');
  await sees(page, '.empty', 'Nothing has this id');
});

it('leaves the focus to somebody who types as soon as a screen is there', async () => {
  const page = await open('#/queues/tasks');
  await sees(page, '.tabs a[aria-current]', 'Waiting');
  const focus = await page.evaluate(`new Promise((resolve) => {
    new MutationObserver((_, observer) => {
      if (document.querySelector('h1')?.textContent !== 'Held') return;
      observer.disconnect();
      document.getElementById('search').focus();
      setTimeout(() => resolve(document.activeElement.id), 500);
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
    location.hash = '#/locks/held';
  })`);
  expect(focus).toBe('search');
});

it('keeps what is typed while the server sends news', async () => {
  const page = await open('#/queues/tasks');
  await sees(page, '.tabs a[aria-current]', 'Waiting');
  await page.fill('#search', 'half an i');
  await page.fill('.filter-form input', 'ema');
  server.send('overview', overview(78));
  server.send('changed', {});
  await eventually(() => expect(server.asked.filter((path) => path === 'api/list').length).toBe(2));
  await sees(page, '#live', 'Live');
  expect(await page.inputValue('#search')).toBe('half an i');
  expect(await page.inputValue('.filter-form input')).toBe('ema');
});

it('moves through a list by arrows, opens a row by Enter, and leaves the search by Esc', async () => {
  const page = await open('#/queues/dead');
  await sees(page, 'td', 'order-1000');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  expect(await focused(page)).toBe('order-1000');
  // The focus stays where it is while the list is read again.
  server.send('changed', { section: 'queues' });
  const asked = () => server.asked.filter((path) => path === 'api/list').length;
  await eventually(() => expect(asked()).toBe(2));
  expect(await focused(page)).toBe('order-1000');
  await page.keyboard.press('/');
  await page.keyboard.press('Escape');
  expect(await page.evaluate('document.activeElement.tagName')).toBe('MAIN');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await sees(page, 'h1', 'order-1000');
  await page.keyboard.press('?');
  await sees(page, 'dialog[open]', 'find an id');
  await page.keyboard.press('Escape');
  await page.locator('dialog[open]').waitFor({ state: 'detached', ...PATIENCE });
});

it('keeps filter and page in the URL', async () => {
  const page = await open('#/queues/tasks');
  await sees(page, '.tabs a[aria-current]', 'Waiting');
  await page.click('.tabs a:has-text("Dead letters")');
  await page.fill('.filter-form input', 'emails');
  await page.keyboard.press('Enter');
  await sees(page, '.chip.used', 'Queue: emails');
  await page.click('a[rel="next"]');
  await sees(page, 'td', 'order-1049');
  expect(decodeURIComponent(page.url())).toContain('#/queues/tasks?filter=dead+queue:emails&cursor=50');
  await page.reload();
  await sees(page, 'td', 'order-1049');
  await sees(page, '.tabs a[aria-current]', 'Dead letters');
  await page.click('a:has-text("First page")');
  await sees(page, 'td', 'order-1000');
  await page.click('.chip.used');
  await eventually(async () => expect(await page.locator('.chip.used').count()).toBe(0));
  await page.fill('.filter-form input', 'other');
  await page.keyboard.press('Enter');
  await sees(page, '.empty', 'Nothing matches the filter');
  // The pages of a list inside a story have an address, too.
  await page.goto(`${server.url}#/queues/queues/emails`);
  await page.click('section a:has-text("Next page")');
  await sees(page, 'h1', 'Partitions');
});

it('asks, shows the count and samples first, acts, and shows what came out', async () => {
  const page = await open('#/queues/tasks/emails/order-1001');
  await page.click('.why button:has-text("Retry")');
  await sees(page, 'dialog .preview-count', 'Concerns: 1');
  await page.keyboard.press('Escape');
  expect(await focused(page)).toBe('Retry…');
  expect(server.acted).toEqual([]);
  await page.click('.why button:has-text("Retry")');
  await page.click('dialog button.primary');
  await sees(page, 'dialog .result', 'Retry: 1 done.');
  const address = ['queues', 'tasks', 'emails', 'order-1001'];
  expect(server.acted).toEqual([
    { section: 'queues', action: 'retry', target: { address }, input: {}, expected: 'as seen' },
  ]);
  await page.click('dialog button:has-text("Close")');
  await sees(page, '.empty', 'Nothing is here');

  await page.goto(`${server.url}#/queues/dead?filter=queue%3Aemails`);
  await sees(page, 'td', 'order-1000');
  await page.click('button.danger:has-text("Drop")');
  await sees(page, 'dialog .preview-count', 'Concerns: 120');
  await sees(page, 'dialog .samples', HOSTILE);
  await sees(page, 'dialog .samples', 'and 115 more');
  // Enter does not destroy: the focus is on Cancel.
  expect(await focused(page)).toBe('Cancel');
  await page.click('dialog button:has-text("Drop (120)")');
  await sees(page, 'dialog .result', 'Drop: 120 done.');
  expect(server.acted.at(-1)).toMatchObject({ target: { list: ['queues', 'dead'], filter: 'queue:emails' } });
  await page.keyboard.press('Escape');
  await page.goto(`${server.url}#/~log`);
  await sees(page, 'tbody tr >> nth=0', /ada\s*Drop/);
});

it('waits for the inputs of an action, and shows its refusal', async () => {
  const page = await open('#/limits/subjects/10.0.0.7');
  await page.click('button:has-text("Block")');
  await sees(page, 'dialog', 'Fill in the fields');
  expect(await page.locator('dialog button[type="submit"]').isDisabled()).toBe(true);
  await page.fill('dialog input[type="number"]', '1.5');
  await page.selectOption('dialog select', { label: 'hours' });
  await sees(page, 'dialog .preview-count', 'Concerns: 1');
  server.refuses = 409;
  await page.click('dialog button[type="submit"]');
  await sees(page, 'dialog [role="alert"]', 'The test refuses.');
  server.refuses = 0;
  await page.click('dialog button[type="submit"]');
  await sees(page, 'dialog .result', 'Block: 1 done.');
  expect(server.acted).toMatchObject([{ action: 'block', input: { blockMs: 5_400_000 } }]);
});

it('has no actions for a reader, and says what to do when the server refuses or is gone', async () => {
  server.role = 'read';
  const page = await open('#/queues/dead');
  await sees(page, 'td', 'order-1000');
  await sees(page, '.actor', 'read only');
  expect(await page.locator('main button:has-text("…")').count()).toBe(0);
  server.refuses = 503;
  await page.keyboard.press('r');
  // What was read stays on the page.
  await sees(page, 'main [role="alert"]', /older.*The test refuses/);
  await sees(page, 'td', 'order-1000');
  await page.goto(`${server.url}#/~log`);
  await sees(page, '.failure', 'The test refuses.');
  server.refuses = 0;
  await page.click('.failure button');
  await sees(page, 'td', 'bob');
  server.refuses = 401;
  await page.reload();
  await sees(page, '.failure', 'You may not see this');
});

it('speaks Chinese, is dark, and is accessible in both', async () => {
  const page = await open('#/queues/tasks/emails/order-1002', { locale: 'zh-CN', colorScheme: 'dark' });
  await sees(page, '.why', '任务在 3/3 次尝试后成为死信：SMTP 421');
  expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN');
  expect(await violationsIn(page)).toEqual([]);
  const paper = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
  const dark = await paper();
  await page.click('#theme');
  await page.click('#language');
  await sees(page, '.why', 'The task is a dead letter');
  expect(await paper()).not.toBe(dark);
  expect(await violationsIn(page)).toEqual([]);
  await page.reload();
  // The choice is kept.
  await sees(page, '.why', 'The task is a dead letter');
  const instant = page.locator('.facts time').first();
  expect(await instant.textContent()).toMatch(/^4\d min ago$/);
  expect(await instant.getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} [+-]\d\d:\d\d$/);
  await page.keyboard.press('t');
  await eventually(async () => expect(await instant.textContent()).toMatch(/^\d{4}-/));
});

it('draws the history, and reads it out below the pointer', async () => {
  const page = await open('#/~history?minutes=60');
  const chart = page.locator('.chart', { hasText: 'emails' });
  await chart.locator('polyline').first().waitFor(PATIENCE);
  expect(await chart.locator('svg').getAttribute('aria-label')).toMatch(/^Completed: [\d,]+, Failed: [\d,]+$/);
  const total = await chart.locator('.legend b').first().textContent();
  await chart.locator('svg').hover();
  await sees(page, '.x-axis', /^\s*\d{4}-\d\d-\d\d \d\d:\d\d\s*$/);
  expect(await chart.locator('.legend b').first().textContent()).not.toBe(total);
  await page.click('a:has-text("7 d")');
  await eventually(() => expect(page.url()).toContain('#/~history?minutes=10080'));
  await sees(page, '.x-axis', /^\s*(\d\d-\d\d\s*){5}$/);
});
