import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { startCluster, startRedis } from 'luanest/testing/servers';
import { folder, INSTALLED, tarball } from './folder';
import { run, type Ended, type RunOptions } from './run';

const SOURCES = join(__dirname, '..', 'app');
const INSTALL_ATTEMPTS = 3;
const RUN_TIMEOUT_MS = 180_000;

/** Parts of the package.json of a user's app. */
export interface AppSpec {
  readonly type: 'commonjs' | 'module';
  /** Names and ranges of its dependencies, in addition to luanest. */
  readonly dependencies: Readonly<Record<string, string>>;
  readonly overrides?: object;
}

/** An app of a user, in a folder of its own, with the tarball installed. */
export class FreshApp {
  private constructor(readonly root: string) {}

  /** Installs luanest and the dependencies as a user would, without running any install script. */
  static async install(name: string, { dependencies, ...rest }: AppSpec): Promise<FreshApp> {
    const app = new FreshApp(mkdtempSync(join(folder(), `${name}-`)));
    const manifest = { name, private: true, ...rest, dependencies: { ...dependencies, luanest: `file:${tarball()}` } };
    app.write('package.json', JSON.stringify(manifest, null, 2));
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
    for (let attempt = 1; ; attempt += 1) {
      const last = attempt === INSTALL_ATTEMPTS; // a registry may fail sometimes
      const { code } = await app.run('npm', args, { mayFail: !last });
      if (code === 0) break;
    }
    const versions = Object.keys(dependencies).map((dependency) => `${dependency} ${app.version(dependency)}`);
    appendFileSync(join(folder(), INSTALLED), `${name}: ${versions.join(', ')}\n`);
    return app;
  }

  path(...segments: readonly string[]): string {
    return join(this.root, ...segments);
  }

  write(file: string, text: string): void {
    mkdirSync(dirname(this.path(file)), { recursive: true });
    writeFileSync(this.path(file), text);
  }

  /** Copies files or folders of `test/package/app` to the same place in this app. */
  copy(...sources: readonly string[]): void {
    for (const source of sources) cpSync(join(SOURCES, source), this.path(source), { recursive: true });
  }

  remove(file: string): void {
    rmSync(this.path(file));
  }

  run(
    command: string,
    args: readonly string[],
    options: Omit<RunOptions, 'cwd'> & { cwd?: string } = {},
  ): Promise<Ended> {
    return run(command, args, { cwd: this.root, ...options });
  }

  /** Runs a program that a package of this app brings. Compilers take less CPU with that flag: see optimise-late.cjs. */
  bin(name: string, args: readonly string[], options: Omit<RunOptions, 'cwd'> = {}): Promise<Ended> {
    return this.run(
      process.execPath,
      ['--interrupt-budget=1000000', this.path('node_modules', name), ...args],
      options,
    );
  }

  /** Runs a file with an empty Redis of its own, in `cwd`, by Node or another `runtime`. */
  async withRedis(
    args: readonly string[],
    { runtime = process.execPath, ...options }: { cwd?: string; env?: Record<string, string>; runtime?: string } = {},
  ): Promise<Ended> {
    const redis = await startRedis();
    try {
      const env = { ...options.env, REDIS_URL: redis.url };
      return await this.run(runtime, args, { ...options, env, timeoutMs: RUN_TIMEOUT_MS });
    } finally {
      await redis.stop();
    }
  }

  /** As `withRedis`, with a Cluster of three masters. */
  async withCluster(args: readonly string[]): Promise<Ended> {
    const cluster = await startCluster({ replicas: 0 });
    try {
      const env = { CLUSTER_PORT: String(cluster.startupNodes[0]?.port) };
      return await this.run(process.execPath, args, { env, timeoutMs: RUN_TIMEOUT_MS });
    } finally {
      await cluster.stop();
    }
  }

  /** Which version of a package was installed; undefined where it was not. */
  version(name: string): string | undefined {
    const file = this.path('node_modules', name, 'package.json');
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version : undefined;
  }

  /** Runs work while a package is not there. */
  async without<T>(name: string, work: () => Promise<T>): Promise<T> {
    const hidden = this.path(`hidden-${name.replace('/', '-')}`);
    renameSync(this.path('node_modules', name), hidden);
    try {
      return await work();
    } finally {
      renameSync(hidden, this.path('node_modules', name));
    }
  }
}
