import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type INestApplication, Injectable, Module } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { Redis } from 'ioredis';
import { DelayedTask, DelayedTaskModule, DelayedTaskService } from 'luanest/delayed-task';
import { LockModule, LockService } from 'luanest/lock';
import { OnceModule } from 'luanest/once';
import { ScriptRegistryModule } from 'luanest/script-registry';
import { StreamConsumerModule } from 'luanest/stream-consumer';
import type { Page } from 'playwright-core';
import { buildPage } from '../../../tools/build-page.mjs';
import { TestBrowser, violationsIn } from '../../../test/app/support/browser';
import { uniquePrefix } from '../../../test/support/shared-servers';
import { eventually } from '../../../test/support/wait';
import { standaloneClient } from '../../script-registry/test/support';
import { Assets } from '../src/assets';
import { ConsoleModule } from '../src/console.module';
import { everybody } from './support';
import { HOSTILE } from './support/page-data';

jest.setTimeout(400_000);

const PATIENCE = { timeout: 60_000 };

/** Mails that fail until the test repairs them. */
@Injectable()
class Mails {
  static broken = true;

  @DelayedTask('mail')
  send(): void {
    if (Mails.broken) throw new Error(HOSTILE);
  }
}

let folder: string;
let browser: TestBrowser;

beforeAll(async () => {
  browser = await TestBrowser.start();
  folder = await mkdtemp(join(tmpdir(), 'console-page-'));
  await Promise.all([...buildPage()].map(([name, text]) => writeFile(join(folder, name), text)));
});
afterAll(async () => {
  await browser.stop();
  await rm(folder, { recursive: true });
});

const sees = (page: Page, selector: string, text: string | RegExp) =>
  page.locator(selector, { hasText: text }).first().waitFor(PATIENCE);

describe.each([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
] as const)('the page in an app on %s', (_, adapter) => {
  let client: Redis;
  let app: INestApplication;
  let url: string;

  beforeEach(async () => {
    Mails.broken = true;
    // A database of its own: a page of a list shows what it finds in 5,000 keys, and other suites have many.
    client = standaloneClient({ db: 14 });
    @Module({
      imports: [
        ScriptRegistryModule.forRoot({ client, prefix: uniquePrefix() }),
        DelayedTaskModule.forRoot({ attempts: 1 }),
        StreamConsumerModule.forRoot(),
        LockModule.forRoot(),
        OnceModule.forRoot(),
        ConsoleModule.forRoot({ actor: everybody, readOnly: false, showPayloads: true }),
      ],
      providers: [Mails],
    })
    class App {}
    const testing = await Test.createTestingModule({ imports: [App] })
      .overrideProvider(Assets)
      .useValue(new Assets(folder))
      .compile();
    app = testing.createNestApplication(adapter() as ExpressAdapter, { logger: false });
    app.setGlobalPrefix('ops');
    await app.listen(0, '127.0.0.1');
    url = `${await app.getUrl()}/ops/console`;
  });
  afterEach(async () => {
    expect(browser.problems.splice(0)).toEqual([]);
    await browser.closePages();
    await app.close();
    client.disconnect();
  });

  const open = (hash: string, role = 'act') =>
    browser.open(url + hash, { locale: 'en-GB', extraHTTPHeaders: { 'x-user': 'ann', 'x-role': role } });

  it('finds a task that failed, retries it, and writes that down', async () => {
    const tasks = app.get(DelayedTaskService);
    await tasks.schedule('mail', { to: HOSTILE }, { id: 'mail-7', delayMs: 0 });
    await eventually(async () => expect((await tasks.get('mail-7'))?.state).toBe('dead'));
    const page = await open('');
    // Without the slash, the server redirects, and relative addresses hold.
    expect(page.url()).toBe(`${url}/`);
    await sees(page, '.urgent', /dead letters/);
    await sees(page, '#live', 'Live');
    await page.keyboard.press('/');
    await page.keyboard.type('mail-7');
    await page.keyboard.press('Enter');
    await sees(page, '.why', 'The task is a dead letter after 1 of 1 attempts');
    await sees(page, '.why', HOSTILE);
    await sees(page, 'pre', JSON.stringify(HOSTILE));
    expect(await violationsIn(page)).toEqual([]);
    Mails.broken = false;
    await page.click('.why button:has-text("Retry")');
    await sees(page, 'dialog .samples', 'mail-7');
    await page.click('dialog button.primary');
    await sees(page, 'dialog .result', 'Retry: 1 done.');
    await eventually(async () => expect((await tasks.get('mail-7'))?.state).not.toBe('dead'));
    await page.keyboard.press('Escape');
    await page.goto(`${url}/#/~log`);
    await sees(page, 'tbody tr', /ann\s*Retry.*mail-7.*1.*Done/);
  });

  it('shows who holds a lock, and releases it only for one who may act', async () => {
    const lock = await app.get(LockService).acquire('ledger', { leaseMs: 600_000 });
    const reader = await open('#/locks/held', 'read');
    await sees(reader, 'td', 'ledger');
    await reader.click('td a');
    await sees(reader, '.why', 'holds the lock ledger');
    expect(await reader.locator('main button:has-text("…")').count()).toBe(0);
    const page = await open('#/locks/held/ledger');
    await page.click('main button:has-text("Release")');
    await page.click('dialog button.danger');
    await sees(page, 'dialog .result', 'Release: 1 done.');
    await eventually(() => expect(lock.signal.aborted).toBe(true));
    // The other viewer's page follows.
    await sees(reader, '.why', 'Nobody holds the lock ledger');
  });
});
