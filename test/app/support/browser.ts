import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';
import { findBinary } from '../../../tools/ensure.mjs';

/** A phone in China. */
export const PHONE = { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true, locale: 'zh-CN' };

type PageOptions = NonNullable<Parameters<Browser['newPage']>[0]>;

/** A page, and the options of its context. */
interface KeptPage {
  readonly page: Page;
  readonly kind: string;
}

/** Debian's Chromium, and everything that its pages complained of or asked for. */
export class TestBrowser {
  /** Errors of pages, those of their security policy among them. */
  readonly problems: string[] = [];
  /** Addresses that pages asked for. */
  readonly asked: string[] = [];
  /** Pages of the running test. */
  private used: KeptPage[] = [];
  /** Pages of earlier tests, which hold nothing of theirs. A new page costs four times as much CPU as a load in an old one. */
  private readonly kept: KeptPage[] = [];

  private constructor(private readonly browser: Browser) {}

  static async start(): Promise<TestBrowser> {
    // Root, as in a container, has no sandbox to run a browser in.
    const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    return new TestBrowser(await chromium.launch({ executablePath: findBinary('chromium'), args }));
  }

  /** A page that shares nothing with others of the test. Motion is reduced, because drawing it costs CPU, unless the options say otherwise. */
  async open(
    url: string,
    { colorScheme = 'light', reducedMotion = 'reduce', ...options }: PageOptions = {},
  ): Promise<Page> {
    const kind = JSON.stringify(options);
    const at = this.kept.findIndex((each) => each.kind === kind);
    const found = at === -1 ? { page: await this.newPage(options), kind } : (this.kept.splice(at, 1)[0] as KeptPage);
    this.used.push(found);
    await found.page.emulateMedia({ colorScheme, reducedMotion });
    await found.page.goto(url);
    return found.page;
  }

  /** Leaves all pages, which would go on drawing, and forgets what they stored. */
  async closePages(): Promise<void> {
    await Promise.all(
      this.used.splice(0).map(async (each) => {
        const { page } = each;
        if (page.isClosed()) return;
        await page.unrouteAll({ behavior: 'ignoreErrors' });
        // A document of the same origin that runs no script.
        await page.goto(new URL('/assets/packet.svg', page.url()).href);
        await page.evaluate('localStorage.clear(); sessionStorage.clear()');
        this.kept.push(each);
      }),
    );
    // What the left pages reported about requests that were broken off.
    this.problems.length = 0;
  }

  async stop(): Promise<void> {
    await this.browser.close();
  }

  private async newPage(options: PageOptions): Promise<Page> {
    const page = await this.browser.newPage(options);
    page.setDefaultTimeout(120_000);
    page.on('pageerror', (error) => this.problems.push(error.message));
    page.on('console', (message) => {
      // The browser itself says so of each refused request, expected ones among them.
      const refused = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !refused) this.problems.push(message.text());
    });
    page.on('request', (request) => this.asked.push(request.url()));
    return page;
  }
}

/** Text of an element by its id. */
export const textOf = (page: Page, id: string) => page.locator(`#${id}`).textContent();

/** Waits until a page shows a state of the rain. */
export const mood = (page: Page, name: string) =>
  page.locator(`body[data-mood="${name}"]`).waitFor({ timeout: 30_000 });

/** Violations of accessibility rules that axe finds in a page: names of the rules, with the elements. */
export async function violationsIn(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe.source);
  // Of what passes, which is much, nothing is sent.
  return page.evaluate<string[]>(`axe
    .run({ resultTypes: ['violations'] })
    .then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`);
}
