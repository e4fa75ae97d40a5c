import { TestBrowser, violationsIn } from '../../../test/app/support/browser';
import { PageServer } from './support/page-server';

jest.setTimeout(400_000);

/** Each screen, and a text that it shows. */
const SCREENS: readonly (readonly [hash: string, selector: string])[] = [
  ['', '.card'],
  ['#/queues', '.card'],
  ['#/queues/queues', 'td'],
  ['#/queues/dead', 'td'],
  ['#/queues/tasks?filter=dead%20queue%3Aemails', '.chip.used'],
  ['#/queues/schedules', '.empty'],
  ['#/queues/tasks/emails/order-1003', 'pre'],
  ['#/queues/tasks/emails/gone', '.failure'],
  ['#/queues/queues/emails', 'section td'],
  ['#/queues/queues/emails/partitions?list=1', 'td'],
  ['#/locks/held', '.sentence'],
  ['#/unknown', '.empty'],
  ['#/~find?id=both', 'td'],
  ['#/~find', '.empty'],
  ['#/~log', 'td'],
  ['#/~history?minutes=60', '.plot polyline'],
  ['#/~history?minutes=10080', '.plot polyline'],
];

let server: PageServer;
let browser: TestBrowser;

beforeAll(async () => {
  [server, browser] = await Promise.all([PageServer.start(), TestBrowser.start()]);
});
afterAll(() => Promise.all([browser.stop(), server.stop()]));
afterEach(async () => {
  expect(browser.problems.splice(0)).toEqual([]);
  await browser.closePages();
});

describe.each([
  [360, 'light', 'zh-CN'],
  [360, 'dark', 'en-GB'],
  [800, 'light', 'en-GB'],
  [1_440, 'dark', 'zh-CN'],
  [2_560, 'light', 'en-GB'],
] as const)('%i pixels, %s, %s', (width, colorScheme, locale) => {
  it('shows each screen within its width, accessible, and asks the server only', async () => {
    const page = await browser.open(server.url, { viewport: { width, height: 800 }, colorScheme, locale });
    for (const [hash, selector] of SCREENS) {
      await page.goto(server.url + hash);
      await page.locator(`main ${selector}`).first().waitFor();
      expect([hash, await violationsIn(page)]).toEqual([hash, []]);
      expect([hash, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([hash, width]);
    }
    const elsewhere = browser.asked.filter((url) => !url.startsWith(server.url) && url !== 'about:blank');
    expect(elsewhere.filter((url) => !url.endsWith('/assets/packet.svg'))).toEqual([]);
    await page.goto(`${server.url}#/queues/dead`);
    await page.locator('.bar button.danger').click();
    await page.locator('dialog .samples').waitFor();
    expect(await violationsIn(page)).toEqual([]);
  });
});
