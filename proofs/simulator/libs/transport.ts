import type { ModuleMetadata, OnModuleDestroy } from '@nestjs/common';
import { lastValueFrom, Observable, toArray } from 'rxjs';
import type * as Streams from '../../../libs/stream-consumer/src';
import type * as Transport from '../../../libs/transport/src';
import type { Fault } from '../engine/plan';
import type { Process } from '../engine/process';
import type { Member } from '../engine/member';
import type { Lib, Model, World } from '../engine/world';

interface Settings {
  readonly leaseMs: number;
  readonly attempts: number;
  readonly concurrency: number;
  readonly drainMs: number;
  readonly ordered: boolean;
  readonly keys: number;
  readonly timeoutMs: number;
  /** Services, of which each gets all events. */
  readonly groups: readonly string[];
}

interface Operation {
  readonly kind: 'emit' | 'send';
  readonly key: string | undefined;
  readonly operation: string | undefined;
  readonly message: Omit<Payload, 'n'>;
}

interface Payload {
  readonly n: number;
  /** Pauses of the handler. After each pause, the handler of a request emits a value. */
  readonly pieces: readonly number[];
  /** Attempts that fail before one does not. */
  readonly fails: number;
}

/** An event or a request, and what has become of it. */
interface Sent extends Payload {
  readonly kind: Operation['kind'];
  readonly key: string | undefined;
  readonly operation: string | undefined;
  readonly beganUs: number;
  /** When `emit` returned. */
  emittedUs: number;
  outcome: string;
  excused: boolean;
  /** By service; requests have one. */
  readonly begun: Map<string, number>;
  readonly returned: Map<string, number>;
}

const REQUESTS = 'requests';
/** Codes after which it is certain that nothing was sent. */
const NO_EFFECT = ['NOT_SENT', 'SCRIPT_REFUSED'];
/** Reply of a server whose handler did not end: the server shuts down, its client is gone, or it has lost the request. */
const SERVER_ENDS = /is shutting down|no longer waits|may no longer have/;

/** Checks the promises of the README of transport. Nest's part, which finds and wraps the handlers, does not run. */
class TransportModel implements Model<Operation> {
  private readonly sent: Sent[] = [];
  private readonly clients = new WeakMap<Process, Transport.StreamClient>();
  /** When a service was connected first. It need not get what was emitted before. */
  private readonly joinedUs = new Map<string, number>();
  private clockWasSet = false;
  /** Longest delay of a request or a reply so far, ms. */
  private slowestMs = 0;

  constructor(
    private readonly world: World,
    private readonly options: Settings,
  ) {}

  app(member: Member): ModuleMetadata {
    const { StreamConsumerModule, StreamConsumerService } = member.load<typeof Streams>('luanest/stream-consumer');
    const { StreamClient, StreamServer } = this.lib(member);
    const { leaseMs, attempts, concurrency, drainMs, groups } = this.options;
    const group = groups[member.index % groups.length] as string;
    const { clients, options } = this;
    const { process } = member;
    const joins = (): void => void this.joinedUs.set(group, this.joinedUs.get(group) ?? this.world.nowUs);
    const onEvent = (payload: Payload): Promise<void> => this.handleEvent(member, payload, group);
    const onRequest = (payload: Payload, context: Transport.StreamContext): Observable<string> =>
      this.handleRequest(member, payload, context);
    /** Does what Nest does for a microservice. */
    class Microservice implements OnModuleDestroy {
      private readonly server: Transport.StreamServer;

      constructor(streams: Streams.StreamConsumerService) {
        this.server = new StreamServer({ streams, group });
        clients.set(process, new StreamClient({ streams, timeoutMs: options.timeoutMs }));
        this.server.addHandler('event', onEvent as never, true, { ordered: options.ordered });
        this.server.addHandler('request', onRequest as never, false);
        this.server.status.subscribe((status) => status === 'connected' && joins());
        this.server.listen(() => undefined);
      }

      async onModuleDestroy(): Promise<void> {
        clients.get(process)?.close();
        await this.server.close();
      }
    }
    const work = { leaseMs, attempts, concurrency, drainMs, abortGraceMs: 100, backoff: { delayMs: 50 } };
    const service = {
      provide: Microservice,
      inject: [StreamConsumerService],
      useFactory: (streams: Streams.StreamConsumerService) => new Microservice(streams),
    };
    return { imports: [StreamConsumerModule.forRoot(work)], providers: [service] };
  }

  disturbed(fault: Fault): void {
    const { kind } = fault;
    if (kind === 'slow') this.slowestMs = Math.max(this.slowestMs, fault.delayMs);
    if (kind === 'hold') this.slowestMs = Math.max(this.slowestMs, fault.repliesMs + fault.forMs);
    if (kind === 'late') this.slowestMs = Math.max(this.slowestMs, fault.requestMs + fault.replyMs);
    this.clockWasSet ||= kind === 'redis-clock';
    // What Redis has lost is lost, and events may be handled again.
    if (kind === 'evict' || kind === 'failover') for (const one of this.sent) one.excused = true;
  }

  async perform(member: Member, operation: Operation): Promise<void> {
    const client = this.clients.get(member.process);
    if (client === undefined) return;
    if (operation.kind === 'emit') await this.emit(member, client, operation);
    else await this.request(member, client, operation);
  }

  left(): number {
    return this.unhandled().length;
  }

  settled(): void {
    for (const { n, group } of this.unhandled()) this.world.violate(`event ${n} was emitted, and is lost in ${group}`);
  }

  lives(key: string): boolean {
    return key.includes(':stream');
  }

  private lib(member: Member): typeof Transport {
    return member.load<typeof Transport>('luanest/transport');
  }

  private async emit(member: Member, client: Transport.StreamClient, operation: Operation): Promise<void> {
    const { world } = this;
    const { StreamRecord } = this.lib(member);
    const { key, operation: operationId, message } = operation;
    const one = this.newMessage(operation);
    const payload: Payload = { n: one.n, ...message };
    const options = { ...(key !== undefined && { key }), ...(operationId !== undefined && { operationId }) };
    const record = new StreamRecord(payload, options);
    const emitted = lastValueFrom(client.emit<Streams.PublishResult>('event', record));
    one.outcome = await emitted.then(
      (result) => ('replayed' in result && result.replayed ? 'replayed' : result.status),
      outcomeOf,
    );
    if (one.outcome === 'published') one.emittedUs = world.nowUs;
    world.note(member.name, () => `event ${one.n} is ${one.outcome}`);
    world.expect(
      !world.isCalm || ['published', 'replayed', 'CLOSED'].includes(one.outcome),
      () => `nothing is wrong, but event ${one.n} is ${one.outcome}`,
    );
    this.expectNoEffect(one);
  }

  private async request(member: Member, client: Transport.StreamClient, operation: Operation): Promise<void> {
    const { world } = this;
    const { timeoutMs } = this.options;
    const one = this.newMessage(operation);
    const { process } = member;
    const { stoppedUs } = process;
    const payload: Payload = { n: one.n, ...operation.message };
    const reply = lastValueFrom(client.send<string>('request', payload).pipe(toArray()));
    const values = await reply.catch(outcomeOf);
    one.outcome = typeof values === 'string' ? values : 'OK';
    world.note(member.name, () => `request ${one.n}: ${String(values)}`);
    const tookMs = (member.nowUs - one.beganUs - (process.stoppedUs - stoppedUs)) / 1_000;
    world.expect(
      tookMs <= timeoutMs + 150,
      () => `request ${one.n} took ${tookMs} ms, at most ${timeoutMs} are allowed`,
    );
    // "Each value that the handler emits, and then the end. If a part is lost, the client gets an UnknownOutcomeError."
    const right = one.pieces.map((_, index) => valueOf(one.n, index)).join();
    const isRight = typeof values === 'string' || values.join() === right;
    world.expect(isRight, () => `the reply to request ${one.n} is ${String(values)}, not ${right}`);
    const isFailing = one.fails > 0;
    world.expect(one.outcome !== 'OK' || !isFailing, () => `request ${one.n} has failed, but it has a reply`);
    const known = ['OK', 'UNKNOWN_OUTCOME', ...NO_EFFECT, 'CLOSED', 'it fails'];
    const isKnown = known.includes(one.outcome) || SERVER_ENDS.test(one.outcome);
    world.expect(isKnown, () => `request ${one.n} ends with ${one.outcome}`);
    this.expectNoEffect(one);
    const isSoon = one.pieces.reduce((sum, ms) => sum + ms, 0) + 1_000 < timeoutMs;
    const isReplied = one.outcome === (isFailing ? 'it fails' : 'OK');
    // With one handler at a time a request may wait for others.
    const isFree = this.options.concurrency > 50;
    world.expect(
      !world.isCalm || world.isHealed || !isSoon || !isFree || isReplied,
      () => `nothing is wrong, but request ${one.n} ends with ${one.outcome}`,
    );
  }

  /** "NotSentError if the request did not reach Redis": then no handler runs, now or later. */
  private expectNoEffect({ n, kind, outcome, begun }: Sent): void {
    const ran = [...begun.values()].reduce((sum, count) => sum + count, 0);
    const isRight = !NO_EFFECT.includes(outcome) || ran === 0;
    this.world.expect(isRight, () => `${kind} ${n} is ${outcome}, but its handler has run`);
  }

  private async handleEvent(member: Member, { n }: Payload, group: string): Promise<void> {
    const { world } = this;
    const one = this.sent[n - 1] as Sent;
    const begun = add(one.begun, group);
    world.note(member.name, () => `${group}: event ${n} begins`);
    this.expectNoEffect(one);
    this.expectInOrder(one, group);
    // "A repeated operationId adds no second event."
    const same = this.sent.find(
      (other) => other !== one && other.operation === one.operation && other.begun.has(group),
    );
    const isNew = one.operation === undefined || same === undefined || one.excused || same.excused;
    world.expect(isNew, () => `events ${same?.n} and ${n} of one operation are both handled in ${group}`);
    for (const ms of one.pieces) await member.sleep(ms);
    if (begun <= one.fails) throw new Error('it fails');
    add(one.returned, group);
  }

  /** "Events of one key are handled in order with `ordered: true`." */
  private expectInOrder({ n, key, operation, beganUs, excused }: Sent, group: string): void {
    if (!this.options.ordered || key === undefined || operation !== undefined || excused || !this.isGentle) return;
    const before = this.sent.find((other) => {
      const isBefore = other.kind === 'emit' && other.key === key && other.emittedUs < beganUs;
      return isBefore && other.operation === undefined && !other.begun.has(group);
    });
    this.world.expect(before === undefined, () => `event ${n} of ${key} begins in ${group} before event ${before?.n}`);
  }

  private handleRequest(member: Member, { n }: Payload, context: Transport.StreamContext): Observable<string> {
    const { world } = this;
    const one = this.sent[n - 1] as Sent;
    const begun = add(one.begun, REQUESTS);
    world.note(member.name, () => `request ${n} begins`);
    // "The handler of a request runs at most once."
    world.expect(begun === 1 || one.excused, () => `the handler of request ${n} runs ${begun} times`);
    this.expectNoEffect(one);
    const lateMs = (world.nowUs - one.beganUs) / 1_000 - this.options.timeoutMs;
    // The client rounds its time up to a whole ms, Redis counts whole ms, and the request and the reply take up to 0.5 ms each.
    // A request waits for a free place on the connection, and its reply comes late, too.
    const isPunctual = world.hadOnly('slow', 'hold', 'late', 'flush', 'deaf', 'clock') && !this.clockWasSet;
    const isInTime = lateMs < 3 + 4 * this.slowestMs || context.signal.aborted || !isPunctual;
    world.expect(isInTime, () => `request ${n} begins ${lateMs} ms after its client has given up`);
    return new Observable((subscriber) => {
      const work = async (): Promise<void> => {
        for (const [index, ms] of one.pieces.entries()) {
          await member.sleep(ms);
          subscriber.next(valueOf(n, index));
        }
        if (one.fails > 0) subscriber.error(new Error('it fails'));
        else subscriber.complete();
      };
      void work();
    });
  }

  /** True if nothing has happened that may make a lease end. */
  private get isGentle(): boolean {
    return this.options.leaseMs >= 500 && this.world.hadOnly('cut', 'close', 'flush', 'clock', 'deaf');
  }

  /** Events that were emitted, and that a service has neither handled nor given up. */
  private unhandled(): { n: number; group: string }[] {
    return this.sent
      .filter(({ kind, emittedUs, excused }) => kind === 'emit' && emittedUs < Infinity && !excused)
      .flatMap(({ n, beganUs, returned }) => {
        const groups = [...this.joinedUs].filter(([group, joinedUs]) => joinedUs < beganUs && !returned.has(group));
        return groups.map(([group]) => ({ n, group }));
      })
      .filter(({ n, group }) => !this.isDeadLetter(n, group));
  }

  private isDeadLetter(n: number, group: string): boolean {
    const { memory } = this.world.redis;
    const keys = memory.run('KEYS', [`*nest.event*:dead:${group}`]) as string[];
    const streams = keys.filter((key) => memory.run('TYPE', [key]) === 'stream');
    return streams.some((key) => JSON.stringify(memory.run('XRANGE', [key, '-', '+'])).includes(`\\"n\\":${n},`));
  }

  private newMessage({ kind, key, operation, message }: Operation): Sent {
    const counts = { begun: new Map<string, number>(), returned: new Map<string, number>() };
    const n = this.sent.length + 1;
    const known = { n, kind, key, operation, ...message, beganUs: this.world.nowUs };
    const one: Sent = { ...known, emittedUs: Infinity, outcome: 'open', excused: false, ...counts };
    this.sent.push(one);
    return one;
  }
}

function valueOf(n: number, index: number): string {
  return `${n}.${index}`;
}

function add(counts: Map<string, number>, name: string): number {
  const count = (counts.get(name) ?? 0) + 1;
  counts.set(name, count);
  return count;
}

/** Returns the code of an error of luanest, or the text that the handler's error has for the client. Any other error is thrown again. */
function outcomeOf(error: unknown): string {
  const { code, status, message } = error as { code?: unknown; status?: unknown; message?: unknown };
  if (typeof code === 'string') return code;
  if (status === 'error' && typeof message === 'string') return message;
  throw error;
}

export const transport: Lib<Settings, Operation> = {
  name: 'transport',
  faults: {
    kill: 6,
    close: 6,
    stop: 8,
    cut: 20,
    deaf: 8,
    slow: 8,
    hold: 12,
    refuse: 6,
    flush: 4,
    evict: 1,
    'redis-clock': 2,
    clock: 3,
    failover: 1,
    'redis-down': 3,
  },
  together: [['cut'], ['cut', 'close'], ['kill'], ['hold'], ['slow'], ['deaf', 'cut'], ['stop'], ['close']],
  settings: (random) => ({
    leaseMs: random.magnitude(200, 3_000),
    attempts: random.integer(1, 4),
    concurrency: random.chance(0.5) ? 100 : random.magnitude(1, 12),
    drainMs: random.magnitude(10, 2_000),
    ordered: random.chance(0.5),
    keys: random.integer(1, 4),
    timeoutMs: random.magnitude(100, 5_000),
    groups: random.chance(0.6) ? ['shop'] : ['shop', 'mails'],
  }),
  operation: (random, { leaseMs, keys }) => ({
    kind: random.pick(['emit', 'send', 'send']),
    key: random.chance(0.6) ? `k${random.integer(1, keys)}` : undefined,
    operation: random.chance(0.2) ? `o${random.integer(1, 8)}` : undefined,
    message: {
      pieces: Array.from({ length: random.integer(0, 4) }, () => random.magnitude(1, leaseMs)),
      fails: random.chance(0.2) ? random.integer(1, 4) : 0,
    },
  }),
  scaleMs: ({ leaseMs }) => leaseMs,
  settleMs: ({ leaseMs }) => 10 * leaseMs + 40_000,
  start: (world, settings) => new TransportModel(world, settings),
};
