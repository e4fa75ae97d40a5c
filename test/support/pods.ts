import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { guardProcess } from './process-guard';
import { ROOT } from './snippets';
import { send, type Answer } from './reader';
import { waitUntil } from './wait';

type Env = Readonly<Record<string, string>>;

/** Returns Node's arguments that start an example. Default: from its sources. */
let entryOf = (example: string): string[] => [
  join(__dirname, 'worker-entry.cjs'),
  join(ROOT, 'examples', example, 'src', 'main.ts'),
];

/** Lets the pods of this test file run another build of the examples. */
export function runExamplesFrom(entry: (example: string) => string[]): void {
  entryOf = entry;
}

// See DECISIONS.md: examples-are-processes
/** A process of an example that serves. */
export class Pod {
  /** All that it has printed. */
  output = '';
  url = '';
  private readonly ended: Promise<unknown>;

  constructor(private readonly child: ChildProcess) {
    const guard = guardProcess(child.pid as number);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
    this.ended = once(child, 'close').finally(() => guard.release());
  }

  /** Waits until it has printed this. @throws Error with its output, if it ends before */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    return waitUntil(
      `a pod prints ${pattern}`,
      () => {
        const match = pattern.exec(this.output);
        if (match === null && this.child.exitCode !== null) throw new Error(`It ended early: ${this.output}`);
        return match;
      },
      60_000,
    );
  }

  request(method: string, path: string, init: RequestInit = {}): Promise<Answer> {
    return send(this.url, method, path, init);
  }

  /** Posts JSON. */
  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.request('POST', path, {
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }

  /** Sends a signal and waits for the end. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal);
    await this.ended;
  }
}

/** Starts processes of an example, and waits until they serve. */
export async function startPods(count: number, example: string, env: Env): Promise<Pod[]> {
  const base = { PATH: process.env.PATH, HOME: process.env.HOME, NO_COLOR: '1', PORT: '0' };
  const pods = Array.from(
    { length: count },
    () => new Pod(spawn(process.execPath, entryOf(example), { env: { ...base, ...env }, stdio: 'pipe' })),
  );
  try {
    for (const pod of pods) [, pod.url = ''] = await pod.printed(/Listening on (http:\S+)/);
  } catch (error) {
    await endPods(pods, 'SIGKILL');
    throw error;
  }
  return pods;
}

export async function endPods(pods: readonly Pod[] | undefined, signal?: NodeJS.Signals): Promise<void> {
  await Promise.all((pods ?? []).map((pod) => pod.end(signal)));
}
