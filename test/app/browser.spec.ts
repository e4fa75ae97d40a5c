import type { Page } from 'playwright-core';
import { waitUntil } from '../support/wait';
import { api, createActivity, statusOf } from './support/api';
import { mood, PHONE, textOf, type TestBrowser } from './support/browser';
import { BrowserBench } from './support/browser-bench';
import type { AppProcess } from './support/processes';

// One way through each page. visitor.slow.spec.ts and operator.slow.spec.ts have the rest.
jest.setTimeout(400_000);

const PATIENCE = { timeout: 150_000 };

let bench: BrowserBench;
let app: AppProcess;
let browser: TestBrowser;
let admin: string;

beforeAll(async () => {
  bench = await BrowserBench.start({ GUESTS_PER_MINUTE: '40' });
  ({ app, browser, admin } = bench);
});
afterAll(() => bench.stop());
afterEach(async () => {
  expect(browser.problems.splice(0)).toEqual([]);
  await browser.closePages();
});

const open = (path: string, options: Parameters<TestBrowser['open']>[1] = {}) => browser.open(app.url + path, options);

/** The operator's page, signed in. */
async function desk(options: Parameters<TestBrowser['open']>[1] = { locale: 'en-GB' }): Promise<Page> {
  const page = await browser.open(`${app.url}/operator`, options);
  await page.fill('#token', admin);
  await page.click('#sign-in button');
  await page.locator('#desk').waitFor();
  return page;
}

/** The console, which asks for the token as a password, at a list with such a row. */
async function board(hash: string, row: RegExp): Promise<Page> {
  const httpCredentials = { username: 'ann', password: admin };
  const page = await browser.open(`${app.url}/console/${hash}`, { locale: 'en-GB', httpCredentials });
  await page.locator('tbody tr', { hasText: row }).first().waitFor(PATIENCE);
  return page;
}

const says = (page: Page, id: string, text: RegExp) => page.locator(`#${id}`, { hasText: text }).waitFor(PATIENCE);

/** Returns the middle of a packet in view. From now on, this packet falls so slowly that a busy browser still meets it there. */
const SLOW_PACKET = `(() => {
  for (const packet of document.querySelectorAll('.packet')) {
    const { x, y, width, height } = packet.getBoundingClientRect();
    if (y < 70 || y > 480) continue;
    for (const fall of packet.getAnimations()) fall.playbackRate = 0.02;
    return { x: x + width / 2, y: y + height / 2 };
  }
})()`;

it('lets a visitor on a phone tap a falling packet, in Chinese, and shows the same packet ever after', async () => {
  await createActivity(app.url, admin, 'phone', 1, '8.88');
  const page = await open('/?rain=phone', { ...PHONE, reducedMotion: 'no-preference' });
  expect(await page.title()).toBe('红包雨');
  const dialog = page.locator('dialog[open]');
  await waitUntil('a tap meets a packet', async () => {
    // The answer to an earlier tap may have been late.
    if (await dialog.isVisible()) return true;
    const place = await page.evaluate<{ x: number; y: number } | undefined>(SLOW_PACKET);
    if (!place) return false;
    await page.touchscreen.tap(place.x, place.y);
    const opened = dialog.waitFor({ timeout: 3_000 });
    return opened.then(() => true).catch(() => false);
  });
  expect(await textOf(page, 'amount')).toBe('¥8.88');
  expect(await textOf(page, 'outcome')).toBe('恭喜你抢到');
  await page.locator('#close').tap();
  await page.locator('#points', { hasText: '今天已得 1 分' }).waitFor();
  await page.locator('#language').tap();
  expect(await page.title()).toBe('Red packet rain');
  expect(await page.locator('html').getAttribute('lang')).toBe('en');
  expect(await textOf(page, 'points')).toBe('1 point today, one for each rain; 2 more to win');
  expect(await statusOf(app.url, 'phone')).toMatchObject({ grantedPackets: 1, remainingPackets: 0 });
  // Nothing lies beyond the edges of the phone.
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  await page.reload();
  await mood(page, 'already-won');
  expect(await textOf(page, 'kept')).toBe('¥8.88');

  // Another visitor comes too late.
  const late = await open('/?rain=phone', { locale: 'en-GB' });
  await mood(late, 'sold-out');
  expect(await textOf(late, 'message')).toBe('All packets are gone. Good luck next time!');
  expect(await late.locator('.packet').count()).toBe(0);
  expect(await late.locator('#grab').isDisabled()).toBe(true);
});

it('lets an operator make a rain, start it, watch it, and run it to its end with the audit green', async () => {
  const page = await desk();
  await page.fill('#activity', 'operated');
  await page.fill('#packets', '200');
  await page.fill('#total', '1234.56');
  await page.fill('#buckets', '4');
  await page.fill('#cap', '9.99');
  await page.selectOption('#opens', 'hand');
  expect(await page.locator('#lasts').isDisabled()).toBe(true);
  await page.click('#create button');

  // It waits for the operator. Visitors see that it has not begun.
  await says(page, 'hint', /waits for you to start it/);
  expect(await textOf(page, 'f-rain')).toBe('operated');
  const visitor = await browser.open(`${app.url}/?rain=operated`, { locale: 'en-GB' });
  await mood(visitor, 'preheated');
  expect(await page.locator('#pause').isDisabled()).toBe(true);
  await page.click('#resume');
  await says(page, 'f-state', /^open$/);
  await mood(visitor, 'open');

  // Paused, resumed, and then a crowd that starts a second later.
  await visitor.keyboard.press('Space');
  await visitor.locator('dialog[open]').waitFor();
  const other = await browser.open(`${app.url}/?rain=operated`, { locale: 'en-GB' });
  await page.click('#pause');
  await says(page, 'f-state', /^paused$/);
  await mood(other, 'paused');
  expect(await textOf(page, 'resume')).toBe('Resume');
  await page.click('#resume');
  await mood(other, 'open');
  await page.fill('#users', '100');
  await page.fill('#hammers', '1');
  await page.fill('#crowd-in', '1');
  await page.click('#crowd button');
  await says(page, 'crowd-said', /comes in 1 s/);
  // The visitor, the one who taps without end, and most of the 100: a crowd ends at the first request that a busy app refuses.
  await says(page, 'f-winners', /^(10[0-2]|[5-9]\d)$/);

  await page.click('#close');
  await page.locator('#sure[open]').waitFor();
  await page.keyboard.press('Enter');
  expect((await statusOf(app.url, 'operated')).state).toBe('open');
  await page.click('#close');
  await page.click('#sure button[value="close"]');
  await says(page, 'f-state', /^closed$/);
  await mood(other, 'closed');
  const status = await statusOf(app.url, 'operated');
  expect(status.grantedCents + status.refundedCents).toBe(123_456);
  expect(status.refundedPackets).toBe(200 - status.grantedPackets);
  await says(page, 'f-behind', /^0$/);
  await says(page, 'f-paid', new RegExp(` to ${status.grantedPackets}$`));
  await page.click('#count');
  await says(page, 'audit', /Every record was counted, too/);
  expect(await page.locator('#audit').getAttribute('data-state')).toBe('green');
  await says(page, 'counted', new RegExp(`Paid, by the ledger${status.grantedPackets}`));

  expect(await textOf(page, 'nodes')).toContain(`:${app.program.pid}`);

  // What the modules did is in the console.
  await board('#/jobs/all', /rain-audit/);
  const rain = await board('#/red-packets/activities', /operated/);
  await rain.click('td a:has-text("operated")');
  await rain.locator('.why', { hasText: 'adds up to the cent' }).waitFor(PATIENCE);
  // No address has the token.
  expect(browser.asked.filter((url) => url.includes(admin))).toEqual([]);
  expect(`${app.program.stdout}${app.program.stderr}`).not.toContain(admin);
});

it('asks for nothing by an address that holds a token, and runs no inline script', async () => {
  await createActivity(app.url, admin, 'secrets', 5, '1.00');
  const page = await open('/?rain=secrets', { locale: 'en-GB' });
  await waitUntil('the visitor has a token', async () => {
    await page.keyboard.press('Space');
    return page.evaluate('localStorage.getItem("token") !== null');
  });
  const guest = String(await page.evaluate('localStorage.getItem("token")'));
  for (const secret of [guest, admin]) {
    expect(browser.asked.filter((url) => url.includes(secret))).toEqual([]);
    expect(`${app.program.stdout}${app.program.stderr}`).not.toContain(secret);
  }
  const policy = (await fetch(app.url)).headers.get('content-security-policy');
  expect(policy).toContain("default-src 'self'");
  expect(policy).not.toContain('unsafe');
  await page.evaluate(
    `document.head.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = 1' }))`,
  );
  expect(await page.evaluate('window.ran')).toBeUndefined();
  // The browser has reported the violation of the policy.
  await waitUntil('the violation is reported', () => browser.problems.length > 0);
  expect(browser.problems.splice(0).join('\n')).toContain('Content Security Policy');
});

// The last test, because no guest may come for a minute then.
it('shows an operator what the limits refused', async () => {
  // A busy machine would not reach the limit of taps, 150 in 10 s.
  await waitUntil('a guest is refused', async () => {
    const answers = await Promise.all(Array.from({ length: 41 }, () => api(`${app.url}/guests`, 'POST')));
    return answers.some(({ status }) => status === 429);
  });
  await board('#/limits/rules', /guests.*ago/);
});
