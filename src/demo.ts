import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { childEnvironment } from './platform/config/child-environment';
import { describeEnd } from './platform/process-end';

const RAIN = ['--users', '2000', '--packets', '500', '--total', '1000.00'];

/** The demo uses a free port on loopback and the embedded ledger, whatever .env sets. A configured Redis is used. */
const env = childEnvironment({ PORT: '0', HOST: '', DATABASE_URL: '' });

/** Starts the app and returns its URL once it serves. The output of the app goes to stderr. */
async function startApp(): Promise<{ readonly app: ChildProcess; readonly url: string }> {
  const app = spawn(process.execPath, [join(__dirname, 'main.js')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  endWithUs(app);
  const lines = createInterface({ input: app.stdout });
  const url = await new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      process.stderr.write(`${line}\n`);
      const address = /Listening on (http:\/\/\S+)/.exec(line)?.[1];
      if (address !== undefined) resolve(address);
    });
    app.once('exit', (status, signal) =>
      reject(new Error(`The app ended (${describeEnd(status, signal)}) before it served.`)),
    );
  });
  return { app, url };
}

async function playRain(url: string, json: boolean): Promise<number> {
  const args = [join(__dirname, 'simulation', 'rain', 'main.js'), '--url', url, ...RAIN, ...(json ? ['--json'] : [])];
  const rain = spawn(process.execPath, args, { env, stdio: ['ignore', 'inherit', 'inherit'] });
  endWithUs(rain);
  const [status] = (await once(rain, 'exit')) as [number | null];
  return status ?? 1;
}

/** Passes signals on to a child. A terminal sends Ctrl-C to the child, too, but `kill` reaches only this process. */
function endWithUs(child: ChildProcess): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
}

async function demo(): Promise<number> {
  const { values } = parseArgs({ options: { exit: { type: 'boolean' }, json: { type: 'boolean' } } });
  const { app, url } = await startApp();
  const ended = once(app, 'exit');
  try {
    const status = await playRain(url, values.json ?? false);
    if (values.exit !== true) {
      process.stderr.write(`\nThe app stays up at ${url} (try ${url}/health). Ctrl-C ends it.\n`);
      await ended;
    }
    return status;
  } finally {
    app.kill('SIGTERM');
    await ended;
  }
}

demo()
  .then((status) => (process.exitCode = status))
  .catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
