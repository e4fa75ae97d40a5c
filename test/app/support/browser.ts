import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { findBinary } from '../../../tools/ensure.mjs';

/** A phone in China. */
export const PHONE = { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true, locale: 'zh-CN' };

type PageOptions = Parameters<Browser['newPage']>[0];

/** Debian's Chromium, and everything that its pages complained of or asked for. */
export class TestBrowser {
  /** Errors of pages, those of their security policy among them. */
  readonly problems: string[] = [];
  /** Addresses that pages asked for. */
  readonly asked: string[] = [];

  private constructor(private readonly browser: Browser) {}

  static async start(): Promise<TestBrowser> {
    // Root, as in a container, has no sandbox to run a browser in.
    const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    return new TestBrowser(await chromium.launch({ executablePath: findBinary('chromium'), args }));
  }

  /** A page in a context of its own. */
  async open(url: string, options: PageOptions = {}): Promise<Page> {
    const page = await this.browser.newPage(options);
    page.setDefaultTimeout(120_000);
    page.on('pageerror', (error) => this.problems.push(error.message));
    page.on('console', (message) => {
      // The browser itself says so of each refused request, expected ones among them.
      const refused = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !refused) this.problems.push(message.text());
    });
    page.on('request', (request) => this.asked.push(request.url()));
    await page.goto(url);
    return page;
  }

  /** Closes all pages: those that are left open would go on drawing. */
  async closePages(): Promise<void> {
    await Promise.all(this.browser.contexts().map((context) => context.close()));
  }

  async stop(): Promise<void> {
    await this.browser.close();
  }
}

/** Text of an element by its id. */
export const textOf = (page: Page, id: string) => page.locator(`#${id}`).textContent();

/** Waits until a page shows a state of the rain. */
export const mood = (page: Page, name: string) =>
  page.locator(`body[data-mood="${name}"]`).waitFor({ timeout: 30_000 });

/** Violations of accessibility rules that axe finds in a page: names of the rules, with the elements. */
export async function violationsIn(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>('axe.run()');
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}
