import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { childEnvironment } from './platform/config/child-environment';
import { loadConfig } from './platform/config/load-config';
import { Logger } from '@nestjs/common';
import { AppLogger } from './platform/app-logger';
import { EmbeddedCluster } from './platform/embedded/embedded-cluster';
import { describeEnd } from './platform/process-end';

// No file of this process and of its Redis is open to other users.
process.umask(0o077);
Logger.overrideLogger(new AppLogger());

const APPS = 3;
const RESTART_MS = 1_000;

/** Runs three processes of the app and a Redis Cluster on this machine, with one ledger. Replaces an app process that ends. */
async function main(): Promise<void> {
  const { port, dataDir } = await loadConfig();
  const cluster = await EmbeddedCluster.start(dataDir, new Logger(EmbeddedCluster.name));
  const urls = cluster.endpoints.map((at) => `redis://:${encodeURIComponent(at.password)}@${at.host}:${at.port}`);
  const env = childEnvironment({ DATA_DIR: dataDir, REDIS_URL: '', REDIS_CLUSTER: urls.join(',') });
  const living = new Set<ChildProcess>();
  let stopping = false;
  const signalled = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve());
  });

  const keepUp = async (index: number): Promise<void> => {
    while (!stopping) {
      const app = startApp({ ...env, PORT: port === 0 ? '0' : String(port + index) });
      living.add(app);
      const [status, signal] = (await once(app, 'exit')) as [number | null, NodeJS.Signals | null];
      living.delete(app);
      if (stopping) return;
      process.stderr.write(`App ${index + 1} ended (${describeEnd(status, signal)}). Starting it again.\n`);
      await sleep(RESTART_MS);
    }
  };
  const kept = Promise.all(Array.from({ length: APPS }, (_, index) => keepUp(index)));
  await signalled;
  stopping = true;
  for (const app of living) app.kill('SIGTERM');
  await kept;
  await cluster.stop();
}

/** Starts a process of the app. It is detached, so that Ctrl-C of a terminal reaches only this process, which then ends it. */
function startApp(env: NodeJS.ProcessEnv): ChildProcess {
  const app = spawn(process.execPath, [join(__dirname, 'main.js')], {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  createInterface({ input: app.stdout }).on('line', (line) => process.stdout.write(`${line}\n`));
  return app;
}

main()
  .then(() => process.exit(0))
  .catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
