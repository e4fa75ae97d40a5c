import { EventEmitter } from 'node:events';
import type { Reply } from '../../../libs/memory-redis/src/reply';
import type { Session } from '../../../libs/memory-redis/src/session';
import { encode, RequestReader } from '../../../libs/memory-redis/src/resp';
import type { SimulatedTimer } from './globals';
import type { Process } from './process';
import type { Random } from './random';
import type { RedisNode } from './redis-node';
import type { Scheduler } from './scheduler';

/** Effect of a fault on a request and its connection. */
export type Cut =
  /** The request is lost, and the client sees the connection close. */
  | 'before'
  /** Redis runs the request. Its reply is lost, and the client sees the connection close. */
  | 'after'
  /** The client sees the connection close. Redis gets the request later. */
  | 'late';

/** From a process to Redis, or back. */
type Way = 'request' | 'reply';

/** The delays of one process, which a fault changes. */
export class Link {
  /** Delays of requests and replies, us: at most this, each order of magnitude as likely. */
  mostUs = 500;
  /** Times in which requests or replies do not arrive. They arrive at their ends. */
  holds: { readonly way: Way; readonly fromUs: number; readonly toUs: number }[] = [];
  /** For requests that run a script: `skip` more of them pass before. */
  cuts: { skip: number; readonly kind: Cut; readonly lateUs: number }[] = [];
  /** Begins at the next request that runs a script. */
  nextHold: { readonly repliesMs: number; readonly forMs: number } | undefined;
  /** The next request that runs a script comes so much later, and its reply, ms. */
  nextLate: { readonly requestMs: number; readonly replyMs: number } | undefined;
  /** True: the connection closes at the next message of a channel, which is lost. */
  cutAtPush = false;
  /** When the last of all messages that were sent arrives, or would have. A hold may have delayed it. */
  lastArrivalUs = 0;
  readonly sockets = new Set<ClientSocket>();
  /** Number of scripts that the process and those before it have sent. */
  sent = 0;
  /** Called before a script is sent. */
  sends: (script: number, name: string) => void = () => undefined;
  /** Called when Redis has run a script. @param words the command; @param sentUs when it was sent */
  ran: (script: number, words: readonly string[], reply: Reply, sentUs: number) => void = () => undefined;

  constructor(readonly random: Random) {}

  /** First, replies do not arrive; they do at the end of that time, and then nothing arrives for a time. */
  beginHold(nowUs: number): void {
    if (this.nextHold === undefined) return;
    const { repliesMs, forMs } = this.nextHold;
    this.nextHold = undefined;
    const thenUs = nowUs + repliesMs * 1_000;
    const toUs = Math.round(thenUs + forMs * 1_000);
    this.holds = this.holds.filter((hold) => hold.toUs > nowUs);
    this.holds.push(
      { way: 'reply', fromUs: nowUs, toUs: thenUs },
      { way: 'request', fromUs: thenUs, toUs },
      { way: 'reply', fromUs: thenUs + 1_000, toUs },
    );
  }

  /** Returns the cut of a request that is sent now. */
  nextCut(): { readonly kind: Cut; readonly lateUs: number } | undefined {
    const due = this.cuts.find(({ skip }) => skip === 0);
    this.cuts = this.cuts.filter((cut) => cut !== due);
    for (const cut of this.cuts) if (cut.skip > 0) cut.skip--;
    return due;
  }

  arrivalUs(way: Way, fromUs: number, lastUs: number): number {
    const us = Math.max(fromUs + this.random.magnitude(20, this.mostUs), lastUs + 1);
    const held = this.holds.filter((hold) => hold.way === way && us >= hold.fromUs && us < hold.toUs);
    const arrivalUs = Math.max(us, ...held.map(({ toUs }) => toUs));
    this.lastArrivalUs = Math.max(this.lastArrivalUs, arrivalUs);
    return arrivalUs;
  }
}

/** A socket of a process that is connected to a simulated Redis. ioredis uses it as a `net.Socket`. */
export class ClientSocket extends EventEmitter {
  connecting = true;
  destroyed = false;
  writable = true;
  private readonly reader = new RequestReader();
  private session: Session | undefined;
  private timer: SimulatedTimer | undefined;
  private lastRequestUs = 0;
  private lastReplyUs = 0;
  private isQuitting = false;

  constructor(
    readonly process: Process,
    private readonly link: Link,
    private readonly redis: RedisNode,
    private readonly scheduler: Scheduler,
  ) {
    super();
    link.sockets.add(this);
    const at = link.arrivalUs('request', process.nowUs, 0);
    scheduler.at(at, () => this.accept());
  }

  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  resume(): this {
    return this;
  }
  cork(): void {}
  uncork(): void {}

  setTimeout(ms: number, callback?: () => void): this {
    this.timer?.close();
    // Like a timer of Node's own sockets, it does not keep the process alive.
    if (ms > 0 && callback) this.timer = this.process.addTimer(callback, ms, false).unref();
    return this;
  }

  write(chunk: Buffer | string): boolean {
    if (this.destroyed) return false;
    const text = typeof chunk === 'string' ? Buffer.from(chunk).toString('latin1') : chunk.toString('latin1');
    for (const words of this.reader.read(text)) this.send(words);
    return true;
  }

  end(): this {
    this.process.receive(this.process.nowUs, () => this.destroy());
    return this;
  }

  /** Closes the client's side. What it has sent before may still arrive. */
  destroy(error?: Error): this {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.writable = false;
    this.connecting = false;
    this.link.sockets.delete(this);
    this.timer?.close();
    if (this.session) {
      const { session } = this;
      this.scheduler.at(this.link.arrivalUs('request', this.process.nowUs, this.lastRequestUs), () =>
        this.redis.close(session),
      );
    }
    process.nextTick(() => {
      if (error) this.emit('error', error);
      this.emit('close', error !== undefined);
    });
    return this;
  }

  /** The process has died: its operating system closes the connection. */
  abandon(): void {
    this.destroyed = true;
    this.link.sockets.delete(this);
    const { session } = this;
    if (session) this.scheduler.at(this.lastRequestUs + 1, () => this.redis.close(session));
  }

  /** The connection breaks now: the client gets an error, and no more replies. */
  reset(): void {
    if (this.session) this.redis.close(this.session);
    this.session = undefined;
    this.process.receive(this.scheduler.nowUs, () => this.destroy(this.errorOf('ECONNRESET', 'read')));
  }

  private accept(): void {
    if (this.destroyed || this.process.isDead) return;
    if (this.redis.isDown) {
      this.process.receive(this.link.arrivalUs('reply', this.scheduler.nowUs, 0), () =>
        this.destroy(this.errorOf('ECONNREFUSED', 'connect')),
      );
      return;
    }
    this.session = this.redis.open(
      (reply) => this.push(encode(reply, this.session?.protocol ?? 2)),
      () => (this.isQuitting = true),
      () => this.reset(),
    );
    this.receive(() => {
      this.connecting = false;
      this.emit('connect');
    });
  }

  private send(words: string[]): void {
    const { process, link } = this;
    const runsScript = /^evalsha/i.test(words[0] ?? '');
    const script = runsScript ? ++link.sent : 0;
    if (runsScript) {
      link.sends(script, words[1] ?? '');
      link.beginHold(process.nowUs);
    }
    const cut = runsScript ? link.nextCut() : undefined;
    let lateUs = 0;
    if (cut) {
      process.receive(process.nowUs, () => this.destroy(this.errorOf('ECONNRESET', 'read')));
      if (cut.kind === 'before') return;
      if (cut.kind === 'late') lateUs = cut.lateUs;
    }
    const { requestMs, replyMs } = (runsScript ? link.nextLate : undefined) ?? { requestMs: 0, replyMs: 0 };
    if (runsScript) link.nextLate = undefined;
    const sentUs = process.nowUs;
    const fromUs = sentUs + lateUs + Math.round(requestMs * 1_000);
    this.lastRequestUs = link.arrivalUs('request', fromUs, this.lastRequestUs);
    this.scheduler.at(this.lastRequestUs, () => {
      const { session } = this;
      if (!session) return;
      const reply = this.redis.execute(session, words, process.name);
      if (runsScript) link.ran(script, words, reply, sentUs);
      if (replyMs > 0)
        this.lastReplyUs = Math.max(this.lastReplyUs, this.scheduler.nowUs + Math.round(replyMs * 1_000));
      this.push(encode(reply, session.protocol));
      if (this.isQuitting) this.receive(() => this.destroy());
    });
  }

  private push(text: string): void {
    if (text === '' || this.destroyed) return;
    if (this.link.cutAtPush && isPush(text)) {
      this.link.cutAtPush = false;
      return this.reset();
    }
    const data = Buffer.from(text, 'latin1');
    this.receive(() => this.emit('data', data));
  }

  private errorOf(code: string, syscall: string): Error {
    return Object.assign(new Error(`${syscall} ${code} 127.0.0.1:${this.redis.port}`), { code, syscall });
  }

  private receive(run: () => void): void {
    this.lastReplyUs = this.link.arrivalUs('reply', this.scheduler.nowUs, this.lastReplyUs);
    this.process.receive(this.lastReplyUs, () => {
      if (!this.destroyed) run();
    });
  }
}

function isPush(text: string): boolean {
  return text.startsWith('>') || /^\*3\r\n\$\d+\r\ns?message\r\n/.test(text);
}
