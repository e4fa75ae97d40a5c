import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Asked, Order, PodJob, Reply } from './protocol';

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A process of the app under test, of one version. */
export class VersionedPod {
  output = '';
  private numbers = 0;
  /** True when it gets no more orders. */
  private left = false;
  private readonly waiting = new Map<number, Waiting>();
  private readonly ended: Promise<unknown>;

  private constructor(
    readonly name: string,
    private readonly child: ChildProcess,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
    child.on('message', (message: Reply | 'ready' | 'bye') => {
      if (message === 'bye') this.leave();
      else if (message !== 'ready') this.answered(message);
    });
    this.ended = once(child, 'close').then(() => {
      for (const { reject } of this.waiting.values()) reject(new Error(`${name} has ended`));
    });
  }

  /** Starts a process, and waits until it takes orders. @param folder of a version, see versions.ts */
  static async start(folder: string, job: PodJob): Promise<VersionedPod> {
    const name = job.pod;
    const child = fork(join(__dirname, '..', 'worker-entry.cjs'), [join(__dirname, 'pod.ts'), JSON.stringify(job)], {
      execArgv: [],
      silent: true,
      env: { ...process.env, LUANEST_TEST_PACKAGE: folder, NO_COLOR: '1' },
    });
    const pod = new VersionedPod(name, child);
    const first = await Promise.race([once(child, 'message'), pod.ended]);
    if (first === undefined) throw new Error(`${name} ended early: ${pod.output}`);
    return pod;
  }

  /** @throws Error if the call failed, or the pod closes or has ended: then nobody knows what became of the order */
  ask(order: Order): Promise<unknown> {
    const asked: Asked = { number: ++this.numbers, order };
    return new Promise((resolve, reject) => {
      if (this.left || !this.child.connected) return reject(new Error(`${this.name}: closing`));
      this.waiting.set(asked.number, { resolve, reject });
      this.child.send(asked, (error) => error && reject(error));
    });
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    this.child.kill(signal);
    await this.ended;
  }

  /** Lets the pod end: it has got all orders, and replies to the last of them before. */
  private leave(): void {
    this.left = true;
    this.child.send('go');
  }

  private answered({ number, result, failed }: Reply): void {
    const waiting = this.waiting.get(number);
    this.waiting.delete(number);
    if (failed === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(`${this.name}: ${failed}`));
  }
}

/** The pods of an app behind a load balancer. */
export class Fleet {
  readonly killed = new Set<string>();
  readonly all: VersionedPod[] = [];
  /** Reason why calls failed, except those of pods that close. */
  readonly failures: string[] = [];
  private live: VersionedPod[] = [];
  private turns = 0;
  private readonly counts = new Map<string, number>();

  /** @param leaseMs of all work; SIGKILL makes others wait for its end */
  constructor(
    private readonly url: string,
    private readonly leaseMs: number,
  ) {}

  async add(version: string, folder: string): Promise<void> {
    const count = (this.counts.get(version) ?? 0) + 1;
    this.counts.set(version, count);
    const { url, leaseMs } = this;
    const pod = await VersionedPod.start(folder, { url, pod: `${version}-${count}`, leaseMs });
    this.all.push(pod);
    this.live.push(pod);
  }

  /** Ends the oldest pod. Orders still come to it until it has ended, as they do before a load balancer knows. */
  async endOldest(signal: NodeJS.Signals): Promise<void> {
    const [pod] = this.live;
    if (pod === undefined) return;
    if (signal === 'SIGKILL') this.killed.add(pod.name);
    await pod.end(signal);
    this.live = this.live.filter((other) => other !== pod);
  }

  async endAll(): Promise<void> {
    await Promise.all(this.live.map((pod) => pod.end('SIGTERM')));
    this.live = [];
  }

  /** Asks the next pod once. */
  async askOnce(order: Order): Promise<unknown> {
    return (this.live[this.turns++ % this.live.length] as VersionedPod).ask(order);
  }

  /** Asks one pod after the other until one replies with success, as a client does that repeats its request. */
  async ask(order: Order): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.askOnce(order);
      } catch (error) {
        const { message } = error as Error;
        if (!/: closing$|CLOSED|ClosedError/.test(message)) this.failures.push(`${order.do}: ${message}`);
        if (attempt === 200) throw error;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }
}
