import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LONG } from '../../support/size';
import { waitUntil } from '../../support/wait';

/** Node's options of every process that a test starts. At full size they run as users run them. */
const OPTIONS = LONG ? {} : { NODE_OPTIONS: `--require ${JSON.stringify(join(__dirname, 'quick-boot.cjs'))}` };

const DIST = join(__dirname, '..', '..', '..', 'dist', 'src');

/** Path of a built file under src/. @throws {Error} when the project has not been built */
export function built(file: string): string {
  const path = join(DIST, file);
  if (!existsSync(path))
    throw new Error(`${path} is missing: these tests start real processes, run "npm run build" first.`);
  return path;
}

/** A child process and what it printed so far. */
export class Program {
  stdout = '';
  stderr = '';
  private readonly ended: Promise<number | null>;

  private constructor(private readonly child: ChildProcess) {
    child.stdout?.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.ended = new Promise((resolve) => child.once('close', resolve));
  }

  /** Starts `node <args>`; `env` is added to an environment that holds none of the app's variables. */
  static node(args: readonly string[], env: Record<string, string>): Program {
    const base = { PATH: process.env.PATH, HOME: process.env.HOME, ...OPTIONS };
    return new Program(
      spawn(process.execPath, [...args], { env: { ...base, ...env }, cwd: env.DATA_DIR ?? process.cwd() }),
    );
  }

  get pid(): number {
    return this.child.pid as number;
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Exit status, null after a signal. */
  status(): Promise<number | null> {
    return this.ended;
  }

  /** Sends a signal and waits for the end. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.child.kill(signal);
    return this.ended;
  }

  /** Waits for a line on stdout; long, since a first boot makes a database, and the machine may be busy. */
  async line(pattern: RegExp): Promise<RegExpExecArray> {
    const printed = () => {
      const match = pattern.exec(this.stdout);
      if (match === null && !this.running) throw new Error(`It ended early: ${this.stdout}${this.stderr}`);
      return match;
    };
    return waitUntil(`${pattern} is printed`, printed, 60_000);
  }
}

/** An app process that serves. */
export interface AppProcess {
  readonly program: Program;
  readonly url: string;
}

/** Any port. All guests of a test come from one address. */
const LOCAL = { PORT: '0', GUESTS_PER_MINUTE: '100000' };

/** Starts the built app on a data folder and waits until it serves. */
export async function startAppProcess(dataDir: string, env: Record<string, string> = {}): Promise<AppProcess> {
  const program = Program.node([built('main.js')], { ...LOCAL, DATA_DIR: dataDir, ...env });
  try {
    const [, url] = await program.line(/Listening on (http:\S+)/);
    return { program, url: url as string };
  } catch (error) {
    await program.end('SIGKILL');
    throw error;
  }
}

/** Pid of the embedded server of a data folder, if one wrote it. */
export async function redisPid(dataDir: string): Promise<number | undefined> {
  const text = await readFile(join(dataDir, 'redis', 'redis.pid'), 'utf8').catch(() => '');
  return text.trim() === '' ? undefined : Number(text);
}

/** Returns true if a process runs. A zombie does not. */
export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    const stat = `/proc/${pid}/stat`;
    return !existsSync(stat) || !/^\d+ \(.*\) Z /.test(readFileSync(stat, 'utf8'));
  } catch {
    return false;
  }
}

/** Ends an embedded server that a killed app left behind. */
export async function endOrphan(dataDir: string): Promise<void> {
  const pid = await redisPid(dataDir);
  if (pid === undefined || !alive(pid)) return;
  process.kill(pid, 'SIGKILL');
  await waitUntil('the server is gone', () => !alive(pid));
}
