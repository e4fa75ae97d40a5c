import { spawn } from 'node:child_process';
import { guardProcess } from '../../support/process-guard';

const TIMEOUT_MS = 180_000;
const SHOWN_CHARS = 6_000;

export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Resolves instead of rejecting where the program fails, too. Default false. */
  readonly mayFail?: boolean;
  readonly timeoutMs?: number;
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Variables that Jest sets for its tests, and that apps must not see. */
const OURS = ['NODE_ENV', 'JEST_WORKER_ID', 'NODE_OPTIONS', 'NODE_PATH'];

/**
 * Runs a program to its end.
 *
 * @throws Error with all that it printed, when it fails or takes longer than `timeoutMs`
 */
export function run(command: string, args: readonly string[], options: RunOptions): Promise<Ended> {
  const { cwd, env = {}, mayFail = false, timeoutMs = TIMEOUT_MS } = options;
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OURS.includes(name)));
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...inherited, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    const guard = child.pid === undefined ? undefined : guardProcess(child.pid);
    let [stdout, stderr, late] = ['', '', false];
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const timer = setTimeout(() => (late = child.kill('SIGKILL')), timeoutMs);
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(timer);
      guard?.release();
      if (!late && (code === 0 || mayFail)) return resolve({ code, stdout, stderr });
      const how = late ? `did not end within ${timeoutMs} ms` : `ended with ${code}`;
      reject(new Error(`${[command, ...args].join(' ')} ${how}.\n${tail(stdout)}\n${tail(stderr)}`));
    });
  });
}

/** The end of an output: a minified bundle shows a line of megabytes where it fails. */
function tail(output: string): string {
  const lines = output.split('\n').map((line) => (line.length > 500 ? `${line.slice(0, 500)}...` : line));
  return lines.join('\n').slice(-SHOWN_CHARS);
}
