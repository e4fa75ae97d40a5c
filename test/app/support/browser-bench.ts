import { adminTokenOf } from './api';
import { TestBrowser } from './browser';
import { endOrphan, startAppProcess, type AppProcess } from './processes';
import { makeDataFolder, removeFolder } from './temp-folder';

/** The built app in a process and a folder of its own, and a browser to look at it. */
export class BrowserBench {
  private constructor(
    readonly dataDir: string,
    readonly app: AppProcess,
    readonly admin: string,
    readonly browser: TestBrowser,
  ) {}

  /** @param env variables of the app that differ from its defaults */
  static async start(env: Record<string, string> = {}): Promise<BrowserBench> {
    const dataDir = await makeDataFolder();
    const app = await startAppProcess(dataDir, env);
    return new BrowserBench(dataDir, app, await adminTokenOf(dataDir), await TestBrowser.start());
  }

  async stop(): Promise<void> {
    await this.browser.stop();
    await this.app.program.end('SIGTERM');
    await endOrphan(this.dataDir);
    await removeFolder(this.dataDir);
  }
}
