// @ts-check
// npm run screenshots: runs a rain in the built app and takes the README's pictures of it.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { findBinary } from './ensure.mjs';

const ROOT = join(fileURLToPath(import.meta.url), '..', '..');

/**
 * @param {string} dataDir
 * @returns {Promise<{ url: string, stop: () => Promise<unknown> }>}
 */
async function startApp(dataDir) {
  const env = { ...process.env, PORT: '0', DATA_DIR: dataDir, REDIS_URL: '', REDIS_CLUSTER: '', DATABASE_URL: '' };
  const app = spawn(process.execPath, [join(ROOT, 'dist/src/main.js')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => app.once('exit', resolve));
  const stop = () => (app.kill('SIGTERM'), ended);
  const lines = createInterface({ input: app.stdout });
  /** @type {string} */
  const url = await new Promise((resolve, reject) => {
    app.once('exit', (status) => reject(new Error(`The app ended with ${status}.`)));
    lines.on('line', (line) => {
      const address = /Listening on (http:\S+)/.exec(line)?.[1];
      if (address) resolve(address);
    });
  });
  return { url, stop };
}

/**
 * @param {import('playwright-core').Browser} browser
 * @param {string} url
 * @param {string} token
 */
async function shoot(browser, url, token) {
  const operator = await browser.newPage({ viewport: { width: 1_000, height: 900 } });
  await operator.goto(`${url}/operator`);
  await operator.fill('#token', token);
  await operator.click('#sign-in button');
  await operator.fill('#activity', 'new-year');
  await operator.fill('#packets', '20000');
  await operator.fill('#total', '100000.00');
  await operator.click('#create button');
  await operator.locator('#f-state', { hasText: 'open' }).waitFor();
  const visitor = await browser.newPage({ viewport: { width: 390, height: 700 }, locale: 'en-GB' });
  await visitor.goto(url);
  await visitor.waitForTimeout(5_000);
  await visitor.screenshot({ path: join(ROOT, 'docs/rain-visitor.png') });
  await operator.fill('#users', '20000');
  await operator.click('#crowd button');
  await operator.locator('#f-winners', { hasText: /^1\d{4}$/ }).waitFor({ timeout: 60_000 });
  await operator.screenshot({ path: join(ROOT, 'docs/rain-operator.png') });
}

const dataDir = mkdtempSync(join(tmpdir(), 'luanest-screenshots-'));
const app = await startApp(dataDir);
const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
const browser = await chromium.launch({ executablePath: findBinary('chromium'), args });
try {
  await shoot(browser, app.url, readFileSync(join(dataDir, 'admin-token'), 'utf8').trim());
} finally {
  await browser.close();
  await app.stop();
  rmSync(dataDir, { recursive: true });
}
