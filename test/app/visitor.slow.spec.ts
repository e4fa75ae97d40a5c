import { api, createActivity, statusOf } from './support/api';
import { mood, textOf, type TestBrowser, violationsIn } from './support/browser';
import { BrowserBench } from './support/browser-bench';
import type { AppProcess } from './support/processes';

jest.setTimeout(180_000);

let bench: BrowserBench;
let app: AppProcess;
let browser: TestBrowser;
let admin: string;

beforeAll(async () => {
  bench = await BrowserBench.start();
  ({ app, browser, admin } = bench);
});
afterAll(() => bench.stop());
afterEach(async () => {
  expect(browser.problems.splice(0)).toEqual([]);
  await browser.closePages();
});

const open = (path: string, options: Parameters<TestBrowser['open']>[1] = {}) => browser.open(app.url + path, options);

const operate = async (activityId: string, verb: 'pause' | 'resume' | 'close') => {
  const { status } = await api(`${app.url}/red-packets/${activityId}/${verb}`, 'POST', admin);
  expect(status).toBe(200);
};

it('works with the keyboard alone, and with motion reduced', async () => {
  await createActivity(app.url, admin, 'keys', 5, '5.00');
  const page = await open('/?rain=keys', { locale: 'en-US' });
  await mood(page, 'open');
  expect(await page.locator('#sky').isVisible()).toBe(false);
  await page.keyboard.press('Space');
  await page.locator('dialog[open]').waitFor();
  expect(await textOf(page, 'outcome')).toBe('You won');
  expect(await page.evaluate('getComputedStyle(document.querySelector(".envelope")).animationName')).toBe('none');
  // The dialog has the focus; Enter closes it.
  await page.keyboard.press('Enter');
  await page.locator('dialog:not([open])').waitFor({ state: 'attached' });
  expect(await textOf(page, 'message')).toBe('You won');
  expect((await statusOf(app.url, 'keys')).grantedPackets).toBe(1);

  const other = await open('/?rain=keys', { locale: 'zh-CN' });
  await mood(other, 'open');
  await other.keyboard.press('Tab');
  await other.keyboard.press('Tab');
  expect(await other.evaluate('document.activeElement.id')).toBe('grab');
  expect(await other.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
  await other.keyboard.press('Enter');
  await other.locator('dialog[open]').waitFor();
  expect(await textOf(other, 'outcome')).toBe('恭喜你抢到');
  expect((await statusOf(app.url, 'keys')).grantedPackets).toBe(2);
});

it('shows a winner who got how much, and who was the luckiest', async () => {
  await createActivity(app.url, admin, 'shares', 2, '5.01');
  const win = async (locale: string) => {
    const page = await open('/?rain=shares', { locale });
    await mood(page, 'open');
    expect(await page.locator('#winners').isVisible()).toBe(false);
    await page.keyboard.press('Space');
    await page.locator('dialog[open]').waitFor();
    await page.keyboard.press('Enter');
    return page;
  };
  await win('en-GB');
  const page = await win('en-GB');
  await page.locator('#winners summary').click();
  await page.locator('#shares li').nth(1).waitFor();
  const rows = await page.locator('#shares li').allTextContents();
  const cents = rows.map((row) => Math.round(Number(row.split('¥')[1]) * 100));
  expect(cents.reduce((sum, each) => sum + each, 0)).toBe(501);
  expect(cents[0]).toBeGreaterThan(cents[1] ?? 0);
  expect(rows[0]).toContain('Luckiest');
  expect(rows.map((row) => row.startsWith('You')).sort()).toEqual([false, true]);
  expect(rows.join('\n')).toMatch(/^Guest [0-9a-f]{4}/m);
  expect(await violationsIn(page)).toEqual([]);
  await page.locator('#language').click();
  await page.locator('#shares li', { hasText: '手气最佳' }).waitFor();
});

it('counts down to the start, and shows pauses and the end', async () => {
  const { body } = await api<{ redisNowMs: number }>(`${app.url}/rains`, 'GET', admin);
  const startsAtMs = body.redisNowMs + 6_000;
  const rain = { activityId: 'life', packets: 100, total: '100.00', startsAtMs, endsAtMs: startsAtMs + 600_000 };
  expect((await api(`${app.url}/red-packets`, 'POST', admin, rain)).status).toBe(201);
  const page = await open('/?rain=life', { locale: 'en-GB' });
  await mood(page, 'preheated');
  await page.locator('#countdown', { hasText: /^0:0[1-8]$/ }).waitFor();
  expect(await page.locator('.packet').count()).toBe(0);
  await mood(page, 'open');
  await page.locator('#ends', { hasText: /^Ends in (9:|10:)/ }).waitFor();
  await page.keyboard.press('Space');
  await page.locator('dialog[open]').waitFor();

  const other = await open('/?rain=life', { locale: 'en-GB' });
  await mood(other, 'open');
  await operate('life', 'pause');
  await mood(other, 'paused');
  expect(await textOf(other, 'message')).toBe('The rain is paused for a moment.');
  await operate('life', 'resume');
  await mood(other, 'open');
  await operate('life', 'close');
  await mood(other, 'closed');
  expect(await textOf(other, 'message')).toBe('The rain is over.');
  expect(await other.locator('#grab').isVisible()).toBe(false);
  // A winner still sees their packet.
  expect(await textOf(page, 'message')).toBe('You won');

  // A rain that ends by itself is closed by its task.
  const { redisNowMs } = (await api<{ redisNowMs: number }>(`${app.url}/rains`, 'GET', admin)).body;
  const short = { activityId: 'short', packets: 5, total: '5.00', endsAtMs: redisNowMs + 3_000 };
  expect((await api(`${app.url}/red-packets`, 'POST', admin, short)).status).toBe(201);
  const ending = await open('/?rain=short', { locale: 'zh-CN' });
  await ending.locator('body[data-mood="ended"], body[data-mood="closed"]').waitFor();
  expect(await textOf(ending, 'message')).toBe('红包雨结束了。');

  await createActivity(app.url, admin, 'newest', 5, '5.00');
  const nowhere = await open('/?rain=nowhere', { locale: 'en-GB' });
  await mood(nowhere, 'none');
  // Without a name it is the newest one that is not over.
  const latest = await open('/', { locale: 'en-GB' });
  await mood(latest, 'open');
  expect(await textOf(latest, 'left')).toBe('5 of 5 packets left');
});

it('shows a packet although the point failed, a grab in flight, and a lost connection', async () => {
  await createActivity(app.url, admin, 'rough', 5, '5.00');
  const page = await open('/?rain=rough', { locale: 'en-US' });
  await page.evaluate('localStorage.setItem("language", "constructor")');
  await page.reload();
  await mood(page, 'open');
  expect(await page.title()).toBe('Red packet rain');
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route('**/points/**', (route) => route.abort());
  await page.route('**/grab', async (route) => {
    await held;
    await route.continue();
  });
  await page.keyboard.press('Space');
  await page.locator('#grab[aria-busy="true"]:disabled').waitFor();
  expect(await textOf(page, 'message')).toBe('Looking for a packet for you…');
  release();
  await page.locator('dialog[open]').waitFor();
  await page.locator('#left', { hasText: '4 of 5' }).waitFor();
  expect(await textOf(page, 'message')).toBe('You won');
  await page.context().setOffline(true);
  await page.locator('#connection', { hasText: 'No connection' }).waitFor();
  await page.context().setOffline(false);
  await page.locator('#connection:empty').waitFor({ state: 'attached' });
  expect(await textOf(page, 'message')).toBe('You won');
});

it('says within seconds that the app does not respond, and that it does again', async () => {
  await createActivity(app.url, admin, 'hung', 5, '5.00');
  const page = await open('/?rain=hung', { locale: 'en-US' });
  await mood(page, 'open');
  process.kill(app.program.pid, 'SIGSTOP');
  try {
    await page.locator('#connection', { hasText: 'No connection' }).waitFor({ timeout: 20_000 });
  } finally {
    process.kill(app.program.pid, 'SIGCONT');
  }
  await page.locator('#connection:empty').waitFor({ state: 'attached' });
});

it('says that too many guests came from this network, in both languages', async () => {
  await createActivity(app.url, admin, 'crowded', 5, '5.00');
  const page = await open('/?rain=crowded', { locale: 'en-US' });
  await mood(page, 'open');
  await page.route('**/guests', (route) => route.fulfill({ status: 429, body: '{}' }));
  await page.keyboard.press('Space');
  const told = page.locator('#message', { hasText: /^Too many new guests came from your network/ });
  await told.waitFor();
  // The page asks for the state of the rain each second. What it says stays.
  for (let look = 0; look < 2; look++) await page.waitForResponse(/\/rains\//);
  expect(await told.isVisible()).toBe(true);
  await page.close();
  const other = await open('/?rain=crowded', { locale: 'zh-CN' });
  await mood(other, 'open');
  await other.route('**/guests', (route) => route.fulfill({ status: 429, body: '{}' }));
  await other.keyboard.press('Space');
  await other.locator('#message', { hasText: /^来自你的网络的新访客太多/ }).waitFor();
});

it.each(['light', 'dark'] as const)('is accessible in %s colours', async (colorScheme) => {
  await createActivity(app.url, admin, `seen-${colorScheme}`, 5, '5.00');
  const page = await open(`/?rain=seen-${colorScheme}`, { colorScheme, locale: 'en-US' });
  await mood(page, 'open');
  expect(await violationsIn(page)).toEqual([]);
  await page.keyboard.press('Space');
  await page.locator('dialog[open]').waitFor();
  expect(await violationsIn(page)).toEqual([]);
});
