import type { ModuleMetadata } from '@nestjs/common';
import type * as Streams from '../../../libs/stream-consumer/src';
import { Owners, type Owner } from '../engine/owners';
import type { Fault } from '../engine/plan';
import type { Random } from '../engine/random';
import type { Lib, Member, Model, World } from '../engine/world';
import { codeOf } from './codes';

interface Settings {
  readonly leaseMs: number;
  readonly partitions: number;
  /** True: each later life of a process has one partition more. */
  readonly grows: boolean;
  readonly ordered: boolean;
  readonly concurrency: number;
  readonly attempts: number;
  readonly backoffMs: number;
  readonly timeoutMs: number;
  readonly drainMs: number;
  readonly keys: number;
  readonly groups: readonly string[];
  /** True: consumers are started after the boot. */
  readonly late: boolean;
}

interface Payload {
  /** Number of the message. */
  readonly n: number;
  readonly pieces: readonly number[];
  /** Attempts that fail before one does not. */
  readonly fails: number;
  readonly ending: 'return' | 'later' | 'dead';
  /** True: the handler ignores its signal. */
  readonly deaf: boolean;
}

interface Operation {
  readonly kind: 'publish' | 'many' | 'replay' | 'drop' | 'look';
  readonly group: string;
  readonly key?: string;
  readonly operation?: string;
  readonly count: number;
  readonly message: Omit<Payload, 'n'>;
}

/** State of a message in a group. */
interface Delivery {
  /** Ids under which handlers got it: a replay adds one. */
  readonly ids: Set<string>;
  begun: number;
  returned: number;
  dead: number;
  replays: number;
  readonly doneIds: Set<string>;
}

interface Message extends Payload {
  readonly key: string | undefined;
  readonly operation: string | undefined;
  /** Partitions that its publisher knew. */
  readonly partitions: number;
  /** When the call began, and when it returned `published`. */
  readonly beganUs: number;
  publishedUs: number | undefined;
  /** True if keys were lost after it was published. */
  excused: boolean;
  readonly deliveries: Map<string, Delivery>;
}

/** Checks the promises of the README of stream-consumer. */
class StreamModel implements Model<Operation> {
  private readonly owners: Owners;
  private readonly messages: Message[] = [];
  private readonly busy = new Map<string, number>();
  private clockWasSet = false;

  constructor(
    private readonly world: World,
    private readonly options: Settings,
  ) {
    this.owners = new Owners(world);
  }

  app(member: Member): ModuleMetadata {
    const { StreamConsumerModule, STREAM_CONSUMER_CHANNELS } = this.lib(member);
    const { process } = member;
    const on = <Name extends keyof Streams.StreamConsumerEvents>(
      name: Name,
      handle: (event: Streams.StreamConsumerEvents[Name]) => void,
    ): void => process.channel(STREAM_CONSUMER_CHANNELS[name]).subscribe((event) => handle(event as never));
    on('messagesHandled', ({ group, ids }) => ids.forEach((id) => this.handled(group, id)));
    on('messageDeadLettered', ({ group, id, attemptsMade }) => this.dies(group, id, attemptsMade));
    on('callFailed', (event) => {
      this.world.expect(!this.world.isCalm, () => `nothing is wrong, but a call failed: ${JSON.stringify(event)}`);
    });
    const { leaseMs, concurrency, attempts, backoffMs, timeoutMs, drainMs } = this.options;
    const module = StreamConsumerModule.forRoot({
      ...{ leaseMs, concurrency, attempts, timeoutMs, drainMs },
      abortGraceMs: 100,
      backoff: { delayMs: backoffMs, maxDelayMs: 4 * backoffMs },
    });
    return { imports: [module], providers: this.options.late ? [] : this.handlers(member) };
  }

  started(member: Member): void {
    if (!this.options.late) return;
    const streams = this.serviceOf(member);
    const { ordered } = this.options;
    for (const group of this.options.groups) {
      const options = { stream: this.streamOf(member), group, ordered };
      const start = async (): Promise<void> => {
        const code = await streams
          .handle<Payload>(options, (message) => this.handle(member, message))
          .then(() => undefined, codeOf);
        if (code === undefined || code === 'CLOSED') return;
        await member.sleep(100);
        return start();
      };
      void start();
    }
  }

  disturbed(fault: Fault): void {
    if (fault.kind === 'redis-clock') {
      this.clockWasSet = true;
      this.owners.excuse();
    }
    if (fault.kind !== 'evict' && fault.kind !== 'failover') return;
    this.owners.excuse();
    for (const message of this.messages) message.excused = true;
  }

  async perform(member: Member, operation: Operation): Promise<void> {
    const { kind, group } = operation;
    const streams = this.serviceOf(member);
    const stream = this.streamOf(member);
    if (kind === 'publish' || kind === 'many') return this.publish(member, streams, operation);
    if (kind === 'replay') {
      for (const message of this.messages) this.of(message, group).replays++;
      return void (await streams.replayAll(stream, group).catch(codeOf));
    }
    if (kind === 'drop') return void (await streams.dropAll(stream, group).catch(codeOf));
    await streams.stats(stream, group).catch(codeOf);
    await streams.deadLetters(stream, group, { limit: 2 }).catch(codeOf);
  }

  left(): number {
    return this.unsettled().length;
  }

  settled(): void {
    const { world } = this;
    for (const { message, group } of this.unsettled()) {
      const begun = message.deliveries.get(group)?.begun ?? 0;
      world.violate(`message ${message.n} is lost in ${group}: begun ${begun} times, never handled`);
    }
    if (this.messages.some(({ excused }) => excused)) return;
    for (const key of (world.redis.memory.run('KEYS', ['*']) as string[]).sort()) {
      if (world.redis.memory.run('TYPE', [key]) !== 'stream' || /dead/.test(key)) continue;
      const length = world.redis.memory.run('XLEN', [key]) as number;
      world.expect(length === 0, () => `${key} still has ${length} messages, which all groups have settled`);
    }
  }

  lives(key: string): boolean {
    return key.includes(':stream');
  }

  private lib(member: Member): typeof Streams {
    return member.load<typeof Streams>('luanest/stream-consumer');
  }

  private serviceOf(member: Member): Streams.StreamConsumerService {
    return member.app?.get(this.lib(member).StreamConsumerService) as Streams.StreamConsumerService;
  }

  private partitionsOf({ life }: Member): number {
    return this.options.partitions + (this.options.grows ? Math.min(2, life - 1) : 0);
  }

  private streamOf(member: Member): Streams.StreamDefinition<Payload> {
    return this.lib(member).defineStream({ name: 's', partitions: this.partitionsOf(member) });
  }

  private handlers(member: Member) {
    const { StreamConsumer } = this.lib(member);
    const handle = (message: Streams.StreamMessage<Payload>) => this.handle(member, message);
    const stream = this.streamOf(member);
    return this.options.groups.map((group) => {
      class Consumer {
        @StreamConsumer({ stream, group, ordered: this.options.ordered })
        handle(message: Streams.StreamMessage<Payload>) {
          return handle(message);
        }
      }
      return Consumer;
    });
  }

  private async publish(
    member: Member,
    streams: Streams.StreamConsumerService,
    { key, operation, count, message, kind }: Operation,
  ): Promise<void> {
    const some = Array.from({ length: kind === 'many' ? count : 1 }, () =>
      this.newMessage(member, message, key, operation),
    );
    const rows = some.map(({ n, pieces, fails, ending, deaf }) => ({
      payload: { n, pieces, fails, ending, deaf },
      ...(key !== undefined && { key }),
      ...(operation !== undefined && { operationId: operation }),
    }));
    const beganUs = this.world.nowUs;
    const results = await streams.publishMany(this.streamOf(member), rows).catch(codeOf);
    if (typeof results === 'string') return;
    for (const [index, result] of results.entries()) {
      const one = some[index] as Message;
      this.world.note(member.name, () => `message ${one.n}: ${JSON.stringify(result)}`);
      if (result.status !== 'published') continue;
      one.publishedUs = this.world.nowUs;
      one.excused ||= this.owners.isExcused({ beganUs });
    }
  }

  private async handle(member: Member, received: Streams.StreamMessage<Payload>): Promise<Streams.HandlerResult> {
    const { world } = this;
    const { process } = member;
    const { group, id, attempt, payload, signal } = received;
    const message = this.messages[payload.n - 1] as Message;
    const { n } = message;
    const delivery = this.of(message, group);
    const began = ++delivery.begun;
    world.note(member.name, () => `${group}: attempt ${attempt} of message ${n} (${id}) begins`);
    delivery.ids.add(id);
    const isExcused = message.excused || signal.aborted;
    const { attempts, concurrency } = this.options;
    const most = 1 + delivery.replays;
    world.expect(
      delivery.ids.size <= most || isExcused,
      () => `message ${n} is ${delivery.ids.size} times in ${group}`,
    );
    world.expect(attempt <= attempts, () => `message ${n} has attempt ${attempt} of ${attempts}`);
    world.expect(
      !delivery.doneIds.has(id) || isExcused,
      () => `message ${n} runs again in ${group} although it is handled`,
    );
    const isAgain = delivery.returned > delivery.replays && this.isGentle && !isExcused;
    world.expect(!isAgain, () => `message ${n} runs again in ${group} although its handler has returned`);
    if (this.options.ordered && !isExcused) this.expectInOrder(message, group);
    const place = `${process.pid} ${group}`;
    const busy = (this.busy.get(place) ?? 0) + 1;
    this.busy.set(place, busy);
    world.expect(busy <= concurrency, () => `${member.name} runs ${busy} handlers of ${group}, at most ${concurrency}`);
    // After a change of the number of partitions, messages of a key may be in two of them.
    const isOrdered = this.options.ordered && message.key !== undefined;
    const key = isOrdered ? `key ${message.key} of partition ${id.split(':')[0]}` : `message ${n}`;
    const owner: Owner = {
      member,
      key: `${key} in ${group}`,
      label: `attempt ${attempt}`,
      beganUs: world.nowUs,
      held: () => !signal.aborted,
      readsClock: false,
    };
    // What a failover or an eviction made of older ones has no owner that is known here.
    if (!message.excused) this.owners.begin(owner);
    try {
      for (const ms of payload.pieces) {
        await member.sleep(ms);
        if (!signal.aborted && !message.excused) this.owners.stillHolds(owner);
        else if (signal.aborted && !payload.deaf) throw new Error('the signal has fired');
      }
    } finally {
      this.owners.end(owner);
      this.busy.set(place, (this.busy.get(place) as number) - 1);
    }
    const { deadLetter, retryLater } = this.lib(member);
    if (began <= payload.fails) throw new Error('it fails');
    if (payload.ending === 'dead') return deadLetter('it gives up');
    if (payload.ending === 'later' && began <= payload.fails + 3) {
      return retryLater({ delayMs: this.options.backoffMs, countsAsAttempt: began % 3 === 0 });
    }
    if (!signal.aborted) delivery.returned++;
    return undefined;
  }

  /** "ordered: true handles the messages of one key one after the other, in the order in which they were published." */
  private expectInOrder(message: Message, group: string): void {
    const { key, operation, beganUs, partitions } = message;
    if (key === undefined || operation !== undefined || this.of(message, group).replays > 0) return;
    for (const earlier of this.messages) {
      const { publishedUs } = earlier;
      if (earlier.key !== key || publishedUs === undefined || publishedUs >= beganUs || earlier.excused) continue;
      if (earlier.partitions !== partitions || earlier.operation !== undefined) continue;
      const { returned, dead } = this.of(earlier, group);
      this.world.expect(
        returned + dead > 0,
        () => `message ${message.n} of ${key} begins in ${group} before message ${earlier.n} has ended`,
      );
    }
  }

  /** Messages that were published, and that a group has neither handled nor given up. */
  private unsettled(): { message: Message; group: string }[] {
    // Of the messages of one operation id, the stream has one.
    const known = this.messages.filter(
      ({ publishedUs, excused, operation }) => publishedUs !== undefined && !excused && operation === undefined,
    );
    const pairs = known.flatMap((message) => this.options.groups.map((group) => ({ message, group })));
    return pairs.filter(({ message, group }) => {
      const { returned = 0, dead = 0 } = message.deliveries.get(group) ?? {};
      return returned + dead === 0;
    });
  }

  private handled(group: string, id: string): void {
    const message = this.messageOf(group, id);
    if (message === undefined) return;
    const { doneIds } = this.of(message, group);
    const isNew = !doneIds.has(id) || message.excused;
    this.world.expect(isNew, () => `message ${message.n} is handled twice in ${group}`);
    doneIds.add(id);
  }

  private dies(group: string, id: string, attemptsMade: number): void {
    const message = this.messageOf(group, id);
    if (message === undefined) return;
    const delivery = this.of(message, group);
    delivery.dead++;
    const isRight = delivery.begun > 0 && attemptsMade <= this.options.attempts;
    this.world.expect(isRight, () => `message ${message.n} is dead after ${attemptsMade} attempts`);
  }

  private messageOf(group: string, id: string): Message | undefined {
    return this.messages.find(({ deliveries }) => deliveries.get(group)?.ids.has(id));
  }

  /** True if nothing has happened that may make a call fail for longer than a moment. */
  private get isGentle(): boolean {
    return this.options.leaseMs >= 500 && this.world.hadOnly('cut', 'close', 'flush', 'clock', 'deaf');
  }

  private newMessage(
    member: Member,
    payload: Omit<Payload, 'n'>,
    key: string | undefined,
    operation: string | undefined,
  ): Message {
    const message: Message = {
      n: this.messages.length + 1,
      ...payload,
      key,
      operation,
      partitions: this.partitionsOf(member),
      beganUs: this.world.nowUs,
      publishedUs: undefined,
      excused: false,
      deliveries: new Map(),
    };
    this.messages.push(message);
    return message;
  }

  private of({ deliveries }: Message, group: string): Delivery {
    let delivery = deliveries.get(group);
    if (delivery === undefined) {
      delivery = { ids: new Set(), begun: 0, returned: 0, dead: 0, replays: 0, doneIds: new Set() };
      deliveries.set(group, delivery);
    }
    return delivery;
  }
}

export const streamConsumer: Lib<Settings, Operation> = {
  name: 'stream-consumer',
  faults: {
    kill: 6,
    close: 3,
    stop: 8,
    cut: 20,
    deaf: 4,
    slow: 8,
    hold: 8,
    refuse: 6,
    flush: 4,
    evict: 2,
    'redis-clock': 3,
    clock: 3,
    failover: 2,
    'redis-down': 3,
  },
  settings: (random: Random) => ({
    leaseMs: random.magnitude(100, 3_000),
    partitions: random.integer(1, 3),
    grows: random.chance(0.2),
    ordered: random.chance(0.5),
    concurrency: random.magnitude(1, 12),
    attempts: random.integer(1, 4),
    backoffMs: random.magnitude(5, 500),
    timeoutMs: random.chance(0.3) ? random.magnitude(50, 1_000) : 20_000,
    drainMs: random.magnitude(50, 3_000),
    keys: random.magnitude(1, 8),
    groups: random.chance(0.6) ? ['g1'] : ['g1', 'g2'],
    late: random.chance(0.3),
  }),
  operation: (random, { leaseMs, keys, groups }) => ({
    kind: random.pick([
      'publish',
      'publish',
      'publish',
      'publish',
      'publish',
      'many',
      'many',
      'replay',
      'drop',
      'look',
    ]),
    group: random.pick(groups),
    ...(random.chance(0.7) && { key: `k${random.integer(1, keys)}` }),
    ...(random.chance(0.2) && { operation: `o${random.integer(1, 10)}` }),
    count: random.integer(2, 4),
    message: {
      pieces: Array.from({ length: random.integer(0, 4) }, () => random.magnitude(1, 1.5 * leaseMs)),
      fails: random.chance(0.3) ? random.integer(1, 5) : 0,
      ending: random.chance(0.85) ? 'return' : random.pick(['later', 'dead']),
      deaf: random.chance(0.2),
    },
  }),
  scaleMs: ({ leaseMs }) => leaseMs,
  settleMs: ({ leaseMs }) => 10 * leaseMs + 40_000,
  start: (world, settings) => new StreamModel(world, settings),
};
