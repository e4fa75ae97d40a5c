import type { Page } from 'playwright-core';
import { Test } from '@nestjs/testing';
import { ConsoleModule } from 'luanest/console';
import { DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { ScriptRegistryModule } from 'luanest/script-registry';
import type { INestApplication } from '@nestjs/common';
import { TestBrowser } from '../../../test/app/support/browser';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { buildPage } from '../../../tools/build-page.mjs';
import { standaloneClient } from '../../script-registry/test/support';
import { Assets } from '../src/assets';
import { platforms } from './support';

jest.setTimeout(600_000);

const PATIENCE = { timeout: 150_000 };
let browser: TestBrowser;
// A database of its own: a page of a list shows what it finds in 5,000 keys, and other suites have many.
const client = standaloneClient({ db: 13 });
let app: INestApplication | undefined;

beforeAll(async () => (browser = await TestBrowser.start()));
afterEach(async () => {
  expect(browser.problems.splice(0)).toEqual([]);
  await browser.closePages();
  await app?.close();
  app = undefined;
});
afterAll(async () => {
  await browser.stop();
  client.disconnect();
});

const sees = (page: Page, selector: string, text: string | RegExp): Promise<void> =>
  page.locator(selector, { hasText: text }).first().waitFor(PATIENCE);

/** The files of the page, built for this test. */
class BuiltAssets extends Assets {
  private readonly built = buildPage();
  override get(name: string): ReturnType<Assets['get']> {
    const text = this.built.get(name);
    const type = { html: 'text/html', js: 'text/javascript', css: 'text/css' }[name.split('.').at(-1) as 'js'];
    return text === undefined ? undefined : { text: String(text), type: type ?? 'image/svg+xml', etag: `"${name}"` };
  }
}

/** Opens the console of an app with locks and tasks, which anybody may use. */
async function open(adapter: (typeof platforms)[number][1]): Promise<string> {
  const imports = [
    ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }),
    LockModule.forRoot(),
    DelayedTaskModule.forRoot({ work: false }),
    ConsoleModule.forRoot({ path: 'ops/console', readOnly: false, actor: () => ({ name: 'ann', role: 'act' }) }),
  ];
  const testing = Test.createTestingModule({ imports }).overrideProvider(Assets).useValue(new BuiltAssets());
  app = (await testing.compile()).createNestApplication(adapter(), { logger: false });
  app.setGlobalPrefix('api');
  await app.listen(0, '127.0.0.1');
  return `${await app.getUrl()}/api/ops/console`;
}

it.each(platforms)(
  'the page finds a lock and releases it, cancels a task, and shows the log, on %s',
  async (_name, adapter) => {
    const url = await open(adapter);
    const locks = app?.get(LockService) as LockService;
    const tasks = app?.get(DelayedTaskService) as DelayedTaskService;
    const held = await locks.acquire('report <b>');
    await tasks.schedule('send', {}, { id: 'order-7', delayMs: 3_600_000 });
    const page = await browser.open(url, { locale: 'en-GB' });
    await sees(page, '#live', 'Live');

    await page.keyboard.press('/');
    await page.keyboard.type('report <b>');
    await page.keyboard.press('Enter');
    await sees(page, 'h1', 'report <b>');
    await page.click('button:has-text("Release")');
    await sees(page, 'dialog .preview-count', 'Concerns: 1');
    await page.click('dialog button[type="submit"], dialog button:has-text("Release (1)")');
    await sees(page, 'dialog .result', 'Release: 1 done.');
    expect(await locks.status('report <b>')).toMatchObject({ held: false });
    await held.release();

    await page.goto(`${url}/#/~find?id=order-7`);
    await sees(page, 'h1', 'order-7');
    await page.click('button:has-text("Cancel")');
    await sees(page, 'dialog .preview-count', 'Concerns: 1');
    await page.click('dialog button[type="submit"], dialog button:has-text("Cancel (1)")');
    await sees(page, 'dialog .result', 'Cancel: 1 done.');
    expect(await tasks.get('order-7')).toBeUndefined();

    await page.goto(`${url}/#/~log`);
    await sees(page, 'tr', /ann.*Cancel.*order-7/);
    await sees(page, 'tr', /ann.*Release.*report <b>/);
  },
);
