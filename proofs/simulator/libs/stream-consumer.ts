import type { ModuleMetadata } from '@nestjs/common';
import type * as Streams from '../../../libs/stream-consumer/src';
import { Owners, type Owner } from '../engine/owners';
import type { Fault } from '../engine/plan';
import type { Member } from '../engine/member';
import type { Process } from '../engine/process';
import type { Lib, Model, World } from '../engine/world';
import { codeOf } from './codes';
import { downMsOf, isGentle, leaseShare } from './delayed-task';
import { closes, groups, work, type Operation, type Payload, type Settings } from './stream-consumer-work';

/** State of a message in a group. */
interface Delivery {
  /** Ids under which handlers got it: a replay adds one. */
  readonly ids: Set<string>;
  begun: number;
  returned: number;
  /** Handlers that returned after their signal had fired. Redis may have known of no loss, and then the message is handled. */
  returnedLate: number;
  dead: number;
  replays: number;
  readonly doneIds: Set<string>;
  /** True if an operator removed consumers before it was handled: it may be delivered again while a handler has it. */
  mayRepeat: boolean;
  /** When its next attempt is due at the latest. */
  dueUs: number;
}

interface Message extends Payload {
  readonly key: string | undefined;
  readonly operation: string | undefined;
  /** Partitions that its publisher knew. */
  readonly partitions: number;
  /** When the call began, and when it returned `published`. */
  readonly beganUs: number;
  publishedUs: number | undefined;
  publishedId: string | undefined;
  /** True if keys were lost after it was published. */
  excused: boolean;
  readonly deliveries: Map<string, Delivery>;
}

/** Checks the promises of the README of stream-consumer. */
class StreamModel implements Model<Operation> {
  private readonly owners: Owners;
  private readonly messages: Message[] = [];
  private readonly busy = new Map<string, number>();
  /** How many calls replay the dead letters of a group now. */
  private readonly replaying = new Map<string, number>();
  /** When a process had no free handler of a group last. */
  private readonly fullUs = new Map<string, number>();
  /** When a group was started first. It need not get what was published before. */
  private readonly joinedUs = new Map<string, number>();
  /** How long Redis was down so far, in all, ms. */
  private downMs = 0;
  private clockWasSet = false;
  /** Dead letters of messages whose id nobody knew then, by group and id: their publisher was stopped, and so was their first handler. */
  private readonly early = new Set<string>();
  /** True once an operator has removed a consumer. */
  private wasTidied = false;

  constructor(
    private readonly world: World,
    private readonly options: Settings,
  ) {
    this.owners = new Owners(world);
  }

  app(member: Member): ModuleMetadata {
    const { StreamConsumerModule, StreamConsumerEvents } = this.lib(member);
    const { process } = member;
    const on = <Name extends keyof Streams.StreamConsumerEvents>(
      name: Name,
      handle: (event: Streams.StreamConsumerEvents[Name]) => void,
    ): void => process.channel(StreamConsumerEvents[name]).subscribe((event) => handle(event as never));
    on('messagesHandled', ({ group, ids }) => ids.forEach((id) => this.handled(group, id)));
    on('messageDeadLettered', ({ group, id, attemptsMade }) => this.dies(group, id, attemptsMade));
    on('messagesLost', ({ ids, reason }) => {
      const mayLose = !this.world.keepsLeases(this.options.leaseMs);
      this.world.expect(mayLose, () => `nothing took long, but messages ${ids.join()} were lost: ${reason}`);
    });
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
    if (!this.options.late) {
      for (const group of this.groupsOf(member)) {
        this.brings(group);
        this.joinsLater(group);
      }
      return;
    }
    const streams = this.serviceOf(member);
    const { ordered } = this.options;
    for (const [index, group] of this.groupsOf(member).entries()) {
      const options = { stream: this.streamOf(member), group, ordered };
      const start = async (): Promise<void> => {
        // Later processes start their second group later, so that a new partition has one group for a time.
        await member.sleep(1 + (member.index > 0 ? index * this.options.groupsApartMs : 0));
        const code = await streams
          .handle<Payload>(options, (message) => this.handle(member, message))
          .then(() => undefined, codeOf);
        if (code === undefined) {
          this.brings(group);
          this.joins(group);
        }
        if (code === undefined || code === 'CLOSED') return;
        await member.sleep(100);
        return start();
      };
      void start();
    }
  }

  disturbed(fault: Fault): void {
    this.downMs += downMsOf(fault);
    if (fault.kind === 'redis-clock') {
      this.clockWasSet = true;
      this.owners.excuseClock();
    }
    // "XGROUP DELCONSUMER: what these had is delivered again", maybe while its handler still runs.
    if (fault.kind === 'stranger' && fault.act === 'DELCONSUMER') {
      this.wasTidied = true;
      this.owners.excuse();
      for (const { deliveries } of this.messages) {
        for (const delivery of deliveries.values()) delivery.mayRepeat ||= delivery.doneIds.size === 0;
      }
    } else if (['evict', 'failover', 'stranger'].includes(fault.kind)) {
      this.owners.excuse();
      for (const message of this.messages) message.excused = true;
    }
  }

  async perform(member: Member, operation: Operation): Promise<void> {
    const { kind, group } = operation;
    const streams = this.serviceOf(member);
    const stream = this.streamOf(member);
    if (kind === 'publish' || kind === 'many') return this.publish(member, streams, operation);
    if (kind === 'replay') {
      for (const message of this.messages) {
        const delivery = this.of(message, group);
        delivery.replays++;
        delivery.dueUs = Infinity;
      }
      this.replaying.set(group, (this.replaying.get(group) ?? 0) + 1);
      await streams.replayAll(stream, group).catch(codeOf);
      return void this.replaying.set(group, (this.replaying.get(group) as number) - 1);
    }
    if (kind === 'drop') return void (await streams.dropAll(stream, group).catch(codeOf));
    await streams.stats(stream, group).catch(codeOf);
    await streams.deadLetters(stream, group, { limit: 2 }).catch(codeOf);
  }

  left(): number {
    return this.unsettled().length + this.lengths().reduce((sum, { surplus }) => sum + surplus, 0);
  }

  settled(): void {
    const { world } = this;
    for (const { message, group } of this.unsettled()) {
      const begun = message.deliveries.get(group)?.begun ?? 0;
      world.violate(`message ${message.n} is lost in ${group}: begun ${begun} times, never handled`);
    }
    if (this.messages.some(({ excused }) => excused)) return;
    for (const { key, surplus } of this.lengths()) {
      world.expect(surplus === 0, () => `${key} still has ${surplus} messages, which all groups have settled`);
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

  /** Groups whose consumers a process has. */
  private groupsOf({ index }: Member): readonly string[] {
    const { groups, isApart } = this.options;
    const isEnough = this.world.members.length >= groups.length;
    return isApart && isEnough ? groups.filter((_, at) => at === index % groups.length) : groups;
  }

  /** A consumer of a decorator that cannot create its group at the boot does so later, and says that only in its log. */
  private joinsLater(group: string): void {
    const { world } = this;
    const { memory } = world.redis;
    const keys = memory.run('KEYS', ['*:stream']) as string[];
    const groupsOf = (key: string): unknown[][] => memory.run('XINFO', ['GROUPS', key]) as unknown[][];
    const isThere = keys.length >= this.options.partitions && keys.every((key) => groupsOf(key).flat().includes(group));
    if (isThere) this.joins(group);
    else world.scheduler.lookAt(world.nowUs + 20_000, () => this.joinsLater(group));
  }

  /** If all handlers work, messages that are due wait for the first free one: that of a process that starts. */
  private brings(group: string): void {
    const { concurrency } = this.options;
    const isFull = [...this.busy].some(([place, busy]) => place.endsWith(` ${group}`) && busy >= concurrency);
    if (isFull) this.fullUs.set(group, this.world.nowUs);
  }

  private joins(group: string): void {
    this.joinedUs.set(group, Math.min(this.world.nowUs, this.joinedUs.get(group) ?? Infinity));
  }

  private partitionsOf({ index, life }: Member): number {
    // The first process has the number of before longer than the others.
    return this.options.partitions + (this.options.grows ? Math.min(2, life - 1 + Number(index > 0)) : 0);
  }

  private streamOf(member: Member): Streams.StreamDefinition<Payload> {
    const { retained } = this.options;
    const retain = retained > 0 ? { retain: { count: retained } } : {};
    return this.lib(member).defineStream({ name: 's', partitions: this.partitionsOf(member), ...retain });
  }

  private handlers(member: Member) {
    const { StreamConsumer } = this.lib(member);
    const handle = (message: Streams.StreamMessage<Payload>) => this.handle(member, message);
    const stream = this.streamOf(member);
    return this.groupsOf(member).map((group) => {
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
      one.publishedId = result.id;
      one.excused ||= this.owners.isExcused({ beganUs });
      if (result.replayed) continue;
      for (const group of this.options.groups) {
        if (this.early.delete(`${group} ${result.id}`)) this.of(one, group).dead++;
      }
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
    if (this.early.delete(`${group} ${id}`)) delivery.dead++;
    const isExcused = message.excused || signal.aborted;
    const { attempts, concurrency } = this.options;
    const most = 1 + delivery.replays;
    world.expect(
      delivery.ids.size <= most || isExcused,
      () => `message ${n} is ${delivery.ids.size} times in ${group}`,
    );
    world.expect(attempt <= attempts, () => `message ${n} has attempt ${attempt} of ${attempts}`);
    world.expect(
      !delivery.doneIds.has(id) || isExcused || delivery.mayRepeat,
      () => `message ${n} runs again in ${group} although it is handled`,
    );
    const isAgain = delivery.returned > delivery.replays && this.isGentle && !isExcused;
    world.expect(!isAgain, () => `message ${n} runs again in ${group} although its handler has returned`);
    if (this.options.ordered && !isExcused && !this.wasTidied) this.expectInOrder(message, group);
    this.expectInTime(message, group);
    // A message that came late begins with a signal that has fired, because its lease may have ended, if Redis has not said that it has.
    const isLost = signal.aborted && world.hadOnly('stranger', 'kill', 'flush', 'clock', 'deaf');
    world.expect(!isLost, () => `attempt ${attempt} of message ${n} begins in ${group} although it is lost`);
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
      replyMs: world.replyMs(this.options.leaseMs),
      held: () => !signal.aborted,
      readsClock: false,
      endsAtMs: () => this.endOf(group, id),
    };
    // What a failover or an eviction made of older ones has no owner that is known here. Nor has a dead letter that was replayed while a
    // handler still runs, because an operator let the message be delivered to two.
    if (!message.excused && !(delivery.mayRepeat && delivery.replays > 0)) this.owners.begin(owner);
    // The lib counts the time from before the call, and the process may be stopped meanwhile.
    const beganUs = world.nowUs;
    const working = { process, ends: false };
    this.watch(working, group);
    try {
      for (const ms of payload.pieces) {
        await member.sleep(ms);
        if (!signal.aborted && !message.excused) {
          this.owners.stillHolds(owner);
        } else if (signal.aborted && !payload.deaf) throw new Error('the signal has fired');
      }
    } finally {
      const tookUs = (member.nowUs - beganUs) * Math.max(1, member.speed);
      const isShort = tookUs < (this.options.timeoutMs - 50) * 1_000;
      const isLost = world.keepsLeases(this.options.leaseMs) && signal.aborted && isShort && member.app !== undefined;
      world.expect(!isLost, () => `nothing took long, but the signal of message ${n} has fired in ${group}`);
      this.owners.end(owner);
      working.ends = true;
      const stillBusy = this.busy.get(place) as number;
      if (stillBusy === concurrency) this.fullUs.set(group, member.nowUs);
      this.busy.set(place, stillBusy - 1);
      // A handler may run on after its timeout, while the next attempt runs.
      if (delivery.begun === began) delivery.dueUs = member.nowUs + 4_000 * this.options.backoffMs;
    }
    const { deadLetter, retryLater } = this.lib(member);
    if (began <= payload.fails) throw new Error('it fails');
    if (payload.ending === 'dead') return deadLetter('it gives up');
    if (payload.ending === 'later' && began <= payload.fails + 3) {
      if (delivery.begun === began) delivery.dueUs = member.nowUs + 1_000 * this.options.backoffMs;
      return retryLater({ delayMs: this.options.backoffMs, countsAsAttempt: began % 3 === 0 });
    }
    if (signal.aborted) delivery.returnedLate++;
    else delivery.returned++;
    return undefined;
  }

  /** Returns when the lease of the session that has a message ends in Redis, ms; undefined if no session has it. */
  private endOf(group: string, id: string): number | undefined {
    const { memory } = this.world.redis;
    const [partition, entry = ''] = id.split(':');
    const [stream] = memory.run('KEYS', [`*{s.${partition}.*}:stream`]) as string[];
    if (stream === undefined) return undefined;
    // An operator may have destroyed the group.
    const groups = memory.run('XINFO', ['GROUPS', stream]) as unknown[][];
    if (!groups.some((words) => words.includes(group))) return undefined;
    const sessions = stream.replace(/stream$/, `sessions:${group}`);
    const [pending] = memory.run('XPENDING', [stream, group, entry, entry, 1]) as [string, string][];
    const till = pending && (memory.run('ZSCORE', [sessions, pending[1]]) as string | null);
    return till ? Number(till) : undefined;
  }

  /** Looks at the leases again and again while a handler works. */
  private watch(working: { readonly process: Process; readonly ends: boolean }, group: string): void {
    const { world } = this;
    const { leaseMs } = this.options;
    world.scheduler.at(world.nowUs + 50 * leaseMs, () => {
      if (working.ends || working.process.isDead || leaseShare(world, leaseMs) === 0) return;
      this.expectRenewed(group);
      this.watch(working, group);
    });
  }

  /** "Leases are renewed after a third of their length", and soon again if that fails: those of sessions that have messages. */
  private expectRenewed(group: string): void {
    const { world } = this;
    const { memory } = world.redis;
    const { leaseMs } = this.options;
    const share = leaseShare(world, leaseMs);
    if (share === 0) return;
    for (const key of memory.run('KEYS', [`*:sessions:${group}`]) as string[]) {
      const stream = key.replace(/:sessions:.*/, ':stream');
      for (const [, session = '', , pending = 0] of memory.run('XINFO', ['CONSUMERS', stream, group]) as string[][]) {
        const till = Number(memory.run('ZSCORE', [key, session]) ?? 0);
        const leftMs = till - world.redis.nowMs;
        const isRight = till === 0 || Number(pending) === 0 || leftMs >= share * leaseMs;
        world.expect(isRight, () => `the lease of ${session} on ${key} ends in ${leftMs} of ${leaseMs} ms`);
      }
    }
  }

  /** "Readers that sleep look when a retry is due." */
  private expectInTime(message: Message, group: string): void {
    const { world } = this;
    const delivery = this.of(message, group);
    const dueUs = Math.max(delivery.dueUs, this.fullUs.get(group) ?? 0);
    delivery.dueUs = Infinity;
    // A call that breaks is repeated once the process has connected again.
    const isBrief = world.isBrief(1) && world.hadOnly('flush', 'refuse', 'cut');
    if (!isBrief || (this.options.ordered && message.key !== undefined)) return;
    const lateMs = (world.nowUs - dueUs) / 1_000;
    const mostMs = world.isCalm ? 200 : 500;
    world.expect(lateMs <= mostMs, () => `an attempt of message ${message.n} begins ${lateMs} ms late in ${group}`);
  }

  /** "ordered: true handles the messages of one key one after the other, in the order in which they were published." */
  private expectInOrder(message: Message, group: string): void {
    const { key, operation, beganUs, partitions } = message;
    if (key === undefined || operation !== undefined || this.of(message, group).replays > 0) return;
    for (const earlier of this.messages) {
      const { publishedUs } = earlier;
      if (earlier.key !== key || publishedUs === undefined || publishedUs >= beganUs || earlier.excused) continue;
      if (earlier.partitions !== partitions || earlier.operation !== undefined || this.mayMiss(earlier, group))
        continue;
      const { returned, returnedLate, dead } = this.of(earlier, group);
      this.world.expect(
        returned + returnedLate + dead > 0,
        () => `message ${message.n} of ${key} begins in ${group} before message ${earlier.n} has ended`,
      );
    }
  }

  /** True if a group need not get a message, because it was started later. */
  private mayMiss({ beganUs }: Message, group: string): boolean {
    const { late, isApart } = this.options;
    return (late || isApart) && beganUs <= (this.joinedUs.get(group) ?? Infinity);
  }

  /** How many messages each partition has, also those that somebody has settled, without as many as it keeps. */
  private lengths(): { key: string; surplus: number }[] {
    const { memory } = this.world.redis;
    const keys = (memory.run('KEYS', ['*:stream']) as string[]).sort();
    const { retained } = this.options;
    // "While the stream is in use": a process that was started again may not use it any more.
    if (retained > 0 && this.world.members.some(({ life }) => life > 1)) return [];
    return keys.map((key) => ({ key, surplus: Math.max(0, (memory.run('XLEN', [key]) as number) - retained) }));
  }

  /** Messages that were published, and that a group has neither handled nor given up. */
  private unsettled(): { message: Message; group: string }[] {
    // Of the messages of one operation id, the stream has one.
    const known = this.messages.filter(
      ({ publishedUs, excused, operation }) => publishedUs !== undefined && !excused && operation === undefined,
    );
    const pairs = known.flatMap((message) => this.options.groups.map((group) => ({ message, group })));
    return pairs.filter(({ message, group }) => {
      if (this.mayMiss(message, group)) return false;
      const { returned = 0, returnedLate = 0, dead = 0, doneIds } = message.deliveries.get(group) ?? {};
      if (returned + dead + (doneIds?.size ?? 0) > 0 || this.isDeadLetter(message, group)) return false;
      // A handler that returns after its signal has fired may have handled the message. Then Redis does not have it as pending any more.
      return returnedLate === 0 || this.isPending(message, group);
    });
  }

  /** True if a consumer of the group has the message. */
  private isPending(message: Message, group: string): boolean {
    const { memory } = this.world.redis;
    const ids = [...this.of(message, group).ids].map((id) => id.slice(id.indexOf(':') + 1));
    const keys = (memory.run('KEYS', ['*:stream']) as string[]).filter((key) =>
      (memory.run('XINFO', ['GROUPS', key]) as unknown[][]).some((words) => words.includes(group)),
    );
    return keys.some((key) =>
      ids.some((id) => (memory.run('XPENDING', [key, group, id, id, 1]) as unknown[]).length > 0),
    );
  }

  /** True if Redis has the message as a dead letter. A process that lost its session does not report those that it has made. */
  private isDeadLetter({ n }: Message, group: string): boolean {
    const { memory } = this.world.redis;
    const keys = (memory.run('KEYS', [`*:dead:${group}`]) as string[]).filter(
      (key) => memory.run('TYPE', [key]) === 'stream',
    );
    return keys.some((key) => JSON.stringify(memory.run('XRANGE', [key, '-', '+'])).includes(`\\"n\\":${n},`));
  }

  private handled(group: string, id: string): void {
    const message = this.messageOf(group, id);
    if (message === undefined) return;
    const { doneIds, mayRepeat } = this.of(message, group);
    const isNew = !doneIds.has(id) || message.excused || mayRepeat;
    this.world.expect(isNew, () => `message ${message.n} is handled twice in ${group}`);
    doneIds.add(id);
  }

  private dies(group: string, id: string, attemptsMade: number): void {
    const message = this.messageOf(group, id);
    if (message === undefined) {
      // No handler has begun: the attempt of a process that had taken it counts, too.
      const published = this.messages.find(({ publishedId }) => publishedId === id);
      if (published === undefined) this.early.add(`${group} ${id}`);
      else this.of(published, group).dead++;
      return;
    }
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
    return isGentle(this.world, this.options.leaseMs, this.downMs);
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
      publishedId: undefined,
      excused: false,
      deliveries: new Map(),
    };
    this.messages.push(message);
    for (const group of this.options.groups) this.of(message, group);
    return message;
  }

  private of({ deliveries }: Message, group: string): Delivery {
    let delivery = deliveries.get(group);
    if (delivery === undefined) {
      delivery = {
        ids: new Set(),
        begun: 0,
        returned: 0,
        returnedLate: 0,
        dead: 0,
        replays: this.replaying.get(group) ?? 0,
        doneIds: new Set(),
        mayRepeat: false,
        dueUs: Infinity,
      };
      deliveries.set(group, delivery);
    }
    return delivery;
  }
}

export const streamConsumer: Lib<Settings, Operation> = {
  ...work,
  start: (world, settings) => new StreamModel(world, settings),
};

export const streamCloses: Lib<Settings, Operation> = {
  ...closes,
  start: (world, settings) => new StreamModel(world, settings),
};

export const streamGroups: Lib<Settings, Operation> = {
  ...groups,
  start: (world, settings) => new StreamModel(world, settings),
};
