// @ts-check
// npm run screenshots: takes the pictures for the guides. Runs a red-packet rain in three processes of the built app, and then the test
// of the console's screens, which saves what it looks at. One picture is in Chinese: install a font for it, such as fonts-wqy-microhei.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { findBinary } from './ensure.mjs';

const ROOT = join(fileURLToPath(import.meta.url), '..', '..');

const APPS = 3;

/**
 * Starts the app in three processes, and waits until all of them listen.
 * @param {string} dataDir
 * @returns {Promise<{ url: string, stop: () => Promise<unknown> }>}
 */
async function startApps(dataDir) {
  const env = { ...process.env, PORT: '0', DATA_DIR: dataDir, REDIS_URL: '', REDIS_CLUSTER: '', DATABASE_URL: '' };
  const script = join(ROOT, 'dist/src/cluster.js');
  const apps = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => apps.once('exit', resolve));
  const stop = () => (apps.kill('SIGTERM'), ended);
  const lines = createInterface({ input: apps.stdout });
  /** @type {string} */
  const url = await new Promise((resolve, reject) => {
    let serving = 0;
    apps.once('exit', (status) => reject(new Error(`The apps ended with exit status ${status}.`)));
    lines.on('line', (line) => {
      const address = /Listening on (http:\S+)/.exec(line)?.[1];
      if (address) serving += 1;
      if (address && serving === APPS) resolve(address);
    });
  });
  return { url, stop };
}

/**
 * Saves a picture of the whole page as WebP, which has a quarter of the size of a PNG.
 *
 * @param {import('playwright-core').Page} page
 * @param {string} file
 */
async function save(page, file) {
  const session = await page.context().newCDPSession(page);
  const { cssContentSize } = await session.send('Page.getLayoutMetrics');
  const { data } = await session.send('Page.captureScreenshot', {
    format: 'webp',
    quality: 80,
    captureBeyondViewport: true,
    clip: { ...cssContentSize, scale: 1 },
  });
  writeFileSync(join(ROOT, file), Buffer.from(data, 'base64'));
}

/**
 * Creates an activity as the operator, lets a crowd tap, and saves the pictures of both pages.
 * @param {import('playwright-core').Browser} browser
 * @param {string} url
 * @param {string} token
 */
async function shoot(browser, url, token) {
  const operator = await browser.newPage({ viewport: { width: 1_180, height: 900 } });
  await operator.goto(`${url}/operator`);
  await operator.fill('#token', token);
  await operator.click('#sign-in button');
  await operator.fill('#activity', 'new-year');
  await operator.fill('#packets', '20000');
  await operator.fill('#total', '100000.00');
  await operator.fill('#buckets', '4');
  await operator.fill('#lasts', '3600');
  await operator.click('#create button');
  await operator.locator('#f-state', { hasText: 'open' }).waitFor();
  const visitor = await browser.newPage({ viewport: { width: 390, height: 700 }, locale: 'en-GB' });
  await visitor.goto(url);
  await visitor.waitForTimeout(5_000);
  await save(visitor, 'docs/rain-visitor.webp');
  await visitor.keyboard.press('Space');
  await visitor.locator('dialog[open]').waitFor();
  await operator.locator('#audit', { hasText: 'Every record was counted' }).waitFor();
  await operator.fill('#users', '30000');
  await operator.fill('#hammers', '1');
  await operator.fill('#crowd-in', '1');
  await operator.click('#crowd button');
  await operator.locator('#f-winners', { hasText: /^1\d,\d{3}$/ }).waitFor({ timeout: 90_000 });
  await save(operator, 'docs/rain-operator.webp');
}

const dataDir = mkdtempSync(join(tmpdir(), 'luanest-screenshots-'));
const apps = await startApps(dataDir);
const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
const browser = await chromium.launch({ executablePath: findBinary('chromium'), args });
try {
  await shoot(browser, apps.url, readFileSync(join(dataDir, 'admin-token'), 'utf8').trim());
} finally {
  await browser.close();
  await apps.stop();
  rmSync(dataDir, { recursive: true });
}

const jest = join(ROOT, 'node_modules/jest/bin/jest.js');
const { status } = spawnSync(process.execPath, [jest, '-w', '1', 'libs/console/test/screens.slow.spec.ts'], {
  cwd: ROOT,
  env: { ...process.env, LUANEST_LONG: '1', LUANEST_PICTURES: join(ROOT, 'docs') },
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
