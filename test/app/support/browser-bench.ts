import { adminTokenOf } from './api';
import { TestBrowser } from './browser';
import { PostgresServer } from './postgres-server';
import { endOrphan, startAppProcess, type AppProcess } from './processes';
import { makeDataFolder, removeFolder } from './temp-folder';

/**
 * The built app in a process and a folder of its own, and a browser to look at it. Its ledger is a PostgreSQL server, which starts with
 * a tenth of the CPU of PGlite.
 */
export class BrowserBench {
  private constructor(
    readonly dataDir: string,
    readonly ledger: PostgresServer,
    readonly app: AppProcess,
    readonly admin: string,
    readonly browser: TestBrowser,
  ) {}

  /** @param env further environment variables of the app */
  static async start(env: Record<string, string> = {}): Promise<BrowserBench> {
    const ledger = await PostgresServer.start();
    const dataDir = await makeDataFolder();
    const app = await startAppProcess(dataDir, { DATABASE_URL: ledger.url, ...env });
    return new BrowserBench(dataDir, ledger, app, await adminTokenOf(dataDir), await TestBrowser.start());
  }

  async stop(): Promise<void> {
    await this.browser.stop();
    await this.app.program.end('SIGTERM');
    await endOrphan(this.dataDir);
    await removeFolder(this.dataDir);
    await this.ledger.stop();
  }
}
