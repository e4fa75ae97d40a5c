import { type Browser, chromium, type Page } from 'playwright-core';
import { findBinary } from '../../tools/ensure.mjs';
import { adminTokenOf, api, createActivity, statusOf } from './support/api';
import { type AppProcess, endOrphan, startAppProcess } from './support/processes';
import { makeTempFolder, removeFolder } from './support/temp-folder';
import { waitUntil } from './support/wait-until';

jest.setTimeout(180_000);

let dataDir: string;
let app: AppProcess;
let browser: Browser;
let admin: string;
const problems: string[] = [];

beforeAll(async () => {
  dataDir = await makeTempFolder();
  app = await startAppProcess(dataDir);
  admin = await adminTokenOf(dataDir);
  // Root, as in a container, has no sandbox to run a browser in.
  browser = await chromium.launch({
    executablePath: findBinary('chromium'),
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
});
afterAll(async () => {
  await browser.close();
  await app.program.end('SIGTERM');
  await endOrphan(dataDir);
  await removeFolder(dataDir);
});
afterEach(() => expect(problems.splice(0)).toEqual([]));

/** A page that must do without errors, those of its security policy among them. */
async function open(path: string, options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
  const page = await browser.newPage(options);
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  await page.goto(app.url + path);
  return page;
}

const textOf = (page: Page, id: string) => page.locator(`#${id}`).textContent();

it('lets a visitor on a phone tap a falling packet, in Chinese, and shows the same packet ever after', async () => {
  await createActivity(app.url, admin, 'phone', 1, '8.88');
  const context = { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true, locale: 'zh-CN' };
  const page = await open('/?rain=phone', context);
  expect(await page.title()).toBe('红包雨');
  // They fall all the time, so a place is asked for and tapped at once.
  await waitUntil('a tap meets a packet', async () => {
    const boxes = await Promise.all((await page.locator('.packet').all()).map((packet) => packet.boundingBox()));
    const box = boxes.find((one) => one !== null && one.y > 70 && one.y < 500);
    if (!box) return false;
    await page.touchscreen.tap(box.x + 30, box.y + 45);
    const opened = page.locator('dialog[open]').waitFor({ timeout: 1_000 });
    return opened.then(() => true).catch(() => false);
  });
  expect(await textOf(page, 'amount')).toBe('¥8.88');
  expect(await textOf(page, 'outcome')).toBe('恭喜你抢到');
  await page.locator('#close').tap();
  await page.locator('#language').tap();
  expect(await page.title()).toBe('Red packet rain');
  expect(await page.locator('html').getAttribute('lang')).toBe('en');
  expect(await statusOf(app.url, 'phone')).toMatchObject({ grantedPackets: 1, remainingPackets: 0 });

  // Another visitor comes too late.
  const late = await open('/?rain=phone', { locale: 'en-GB' });
  await late.locator('body[data-mood="sold-out"]').waitFor();
  expect(await late.locator('.packet').count()).toBe(0);
  expect(await late.locator('#grab').isDisabled()).toBe(true);
});

it('works with the keyboard alone, and with motion reduced', async () => {
  await createActivity(app.url, admin, 'keys', 5, '5.00');
  const page = await open('/?rain=keys', { reducedMotion: 'reduce', locale: 'en-US' });
  await page.locator('body[data-mood="open"]').waitFor();
  await page.keyboard.press('Space');
  await page.locator('dialog[open]').waitFor();
  expect(await textOf(page, 'outcome')).toBe('You won');
  // The dialog has the focus; Enter closes it, and the button behind it is reached by the tab key.
  await page.keyboard.press('Enter');
  await page.locator('dialog:not([open])').waitFor({ state: 'attached' });
  expect(await textOf(page, 'message')).toBe('You won');
  expect((await statusOf(app.url, 'keys')).grantedPackets).toBe(1);

  const other = await open('/?rain=keys', { locale: 'en-US' });
  await other.locator('body[data-mood="open"]').waitFor();
  await other.keyboard.press('Tab');
  await other.keyboard.press('Tab');
  expect(await other.evaluate('document.activeElement.id')).toBe('grab');
  await other.keyboard.press('Enter');
  await other.locator('dialog[open]').waitFor();
  expect((await statusOf(app.url, 'keys')).grantedPackets).toBe(2);
});

it('lets an operator run a rain to its end and see the audit green', async () => {
  const page = await open('/operator');
  await page.fill('#token', admin);
  await page.click('#sign-in button');
  await page.fill('#activity', 'operated');
  await page.fill('#packets', '400');
  await page.fill('#total', '1234.56');
  await page.click('#create button');
  await page.locator('#f-rain', { hasText: 'operated' }).waitFor();
  await page.fill('#users', '1000');
  await page.click('#crowd button');
  await page.locator('#f-pool', { hasText: /^0 of 400$/ }).waitFor({ timeout: 60_000 });
  await page.locator('#f-paid', { hasText: '¥1234.56 to 400' }).waitFor({ timeout: 60_000 });
  expect(await textOf(page, 'f-behind')).toBe('0');
  expect(await page.locator('#audit').getAttribute('data-state')).toBe('green');
  expect(await textOf(page, 'nodes')).toContain(`:${app.program.pid}`);
  // Which process ran the job for which slot.
  await page.locator('#jobs', { hasText: `:${app.program.pid}` }).waitFor();
});

it('shows and does nothing without the admin token', async () => {
  for (const [method, path, body] of [
    ['GET', '/rains/keys/live', undefined],
    ['POST', '/rains/keys/crowd', { users: 1 }],
    ['GET', '/operator/session', undefined],
  ] as const) {
    expect((await api(app.url + path, method, undefined, body)).status).toBe(401);
    expect((await api(app.url + path, method, `${admin}x`, body)).status).toBe(401);
  }
  for (const body of [{}, { users: 0 }, { users: '5' }, { users: 100_001 }, { users: 1, taps: 11 }]) {
    expect((await api(`${app.url}/rains/keys/crowd`, 'POST', admin, body)).status).toBe(400);
  }
  expect((await api(`${app.url}/rains/..%2f..%2fetc/crowd`, 'POST', admin, { users: 1 })).status).toBe(400);
  expect((await fetch(`${app.url}/assets/..%2f..%2fmain.js`)).status).toBe(404);
  expect((await fetch(`${app.url}/assets/style.css`)).headers.get('content-security-policy')).toContain(
    "default-src 'self'",
  );
});
