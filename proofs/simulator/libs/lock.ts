import type * as LockLib from '../../../libs/lock/src';
import { Owners, type Owner } from '../engine/owners';
import type { Fault } from '../engine/plan';
import type { Random } from '../engine/random';
import type { Member } from '../engine/member';
import type { Lib, Model, World } from '../engine/world';
import { codeOf } from './codes';

interface Settings {
  readonly leaseMs: number;
  readonly waitMs: number;
  readonly names: number;
  readonly drainMs: number;
  /** True: operators unlock by force. */
  readonly isForced: boolean;
  readonly replicas: number;
}

interface Operation {
  readonly kind: 'lock' | 'force' | 'status';
  readonly names: readonly string[];
  readonly leaseMs?: number;
  readonly waitMs?: number;
  readonly skip?: boolean;
  readonly renew?: boolean;
  /** How long the work takes, in pieces after which the holder looks at its lock. */
  readonly pieces?: readonly number[];
  readonly extendTo?: number;
  /** False: the holder forgets to release, as a process that hangs. */
  readonly abortAfterMs?: number;
}

/** Checks the promises of the README of lock. */
class LockModel implements Model<Operation> {
  private readonly owners: Owners;
  /** Fences of each name that callers have got, and when. */
  private readonly fences = new Map<string, { readonly fence: number; readonly atUs: number }[]>();
  private readonly turns: Turns;
  /** Each lock as it was in Redis after the last command that named it, by its key. */
  private readonly seen = new Map<string, Seen>();
  private keysWereLost = false;
  private clockWasSet = false;
  private clockWentBack = false;
  /** Longest delay of a request or a reply so far, ms. */
  private slowestMs = 0;
  /** Shortest lease that a caller has asked for, ms. */
  private shortestMs = Infinity;

  constructor(
    private readonly world: World,
    private readonly options: Settings,
  ) {
    this.owners = new Owners(world);
    this.turns = new Turns(world);
    for (const node of world.redis.nodes) {
      const { ran } = node;
      node.ran = (process, words, reply) => {
        ran(process, words, reply);
        for (const word of words) {
          if (!word.startsWith('luanest:lock:')) continue;
          if (word.endsWith(':lock')) this.look(word);
          if (word.endsWith(':queue')) this.expectQueueKept(word);
        }
      };
    }
  }

  app(member: Member) {
    const { LockModule, LockEvents } = member.load<typeof LockLib>('luanest/lock');
    const { leaseMs, waitMs, drainMs, replicas } = this.options;
    member.process.channel(LockEvents.callFailed).subscribe((event) => {
      this.world.expect(!this.world.isCalm, () => `nothing is wrong, but a call failed: ${JSON.stringify(event)}`);
    });
    const waits = { replicas, replicasTimeoutMs: 50 };
    return { imports: [LockModule.forRoot({ leaseMs, waitMs, drainMs, abortGraceMs: 200, ...waits })] };
  }

  disturbed(fault: Fault): void {
    if (fault.kind === 'kill') this.turns.killed(this.world.members[fault.p] as Member);
    if (fault.kind === 'slow') this.slowestMs = Math.max(this.slowestMs, fault.delayMs);
    if (fault.kind === 'late') this.slowestMs = Math.max(this.slowestMs, fault.requestMs + fault.replyMs);
    if (fault.kind === 'hold') this.slowestMs = Math.max(this.slowestMs, fault.repliesMs + fault.forMs);
    this.turns.slowestMs = this.slowestMs;
    const isClock = fault.kind === 'redis-clock';
    // With `replicas`, a failover loses no lock that a caller has.
    const isSafe = fault.kind === 'failover' && this.options.replicas > 0;
    if ((fault.kind === 'evict' || fault.kind === 'failover') && !isSafe) this.keysWereLost = true;
    if (isClock) this.clockWasSet = true;
    if (isClock && fault.byMs < 0) this.clockWentBack = true;
    if (this.keysWereLost || isClock) this.owners.excuse();
  }

  async perform(member: Member, operation: Operation): Promise<void> {
    const { LockService } = member.load<typeof LockLib>('luanest/lock');
    const locks = member.app?.get(LockService) as LockLib.LockService;
    if (operation.kind === 'status') return this.status(locks, operation);
    if (operation.kind === 'force') return this.force(locks, operation);
    const lock = await this.acquire(member, locks, operation);
    if (lock !== undefined) await this.hold(member, lock, operation);
  }

  /** "Only then are the locks released in Redis", also one whose acquisition the shutdown has met. */
  hasClosed({ process }: Member): void {
    const { world, slowestMs } = this;
    if (!world.hadOnly('kill', 'close', 'slow', 'hold', 'flush', 'clock', 'deaf') || slowestMs > 400) return;
    for (let index = 0; index < this.options.names; index++) {
      const name = `n${index}`;
      const value = world.redis.memory.run('GET', [`luanest:lock:{${name}}:lock`]) as string | null;
      // A holder that does not renew counts its lease from before the request, and does not release after its end.
      const untilMs = world.redis.nowMs + slowestMs + 5;
      const isHeld = value?.slice(30).startsWith(`host:${process.pid}#`) && Number(value.slice(0, 13)) > untilMs;
      const fence = Number(value?.slice(14, 30));
      // A list may have one of its names while it waits for another one.
      const mayHaveHad = this.options.names > 1 || (this.fences.get(name) ?? []).some((one) => one.fence === fence);
      // A holder whose lease ended while replies were on their way does not release: its locks end by themselves.
      const isExcused = mayHaveHad && (slowestMs > 200 || 2 * slowestMs >= this.shortestMs);
      world.expect(!isHeld || isExcused, () => `${process.name} has closed, and still holds ${name}`);
    }
  }

  settled(): void {
    const left = this.owners.alive.map(({ key }) => key);
    this.world.expect(left.length === 0, () => `these locks are still held: ${left.join()}`);
  }

  /** Returns when the lease with a fence ends in Redis, ms; undefined if there is none. */
  private endOf(name: string, fence: number): number | undefined {
    const value = this.world.redis.memory.run('GET', [`luanest:lock:{${name}}:lock`]) as string | null;
    return Number(value?.slice(14, 30)) === fence ? Number(value?.slice(0, 13)) : undefined;
  }

  /** "A lease ends by the clock of Redis": no renewal brings back one that has ended. */
  private look(key: string): void {
    const { redis } = this.world;
    const value = redis.memory.run('GET', [key]) as string | null;
    const before = this.seen.get(key);
    if (value === null) return void this.seen.delete(key);
    const nowMs = Math.floor(redis.nowMs);
    const [till, grant] = [Number(value.slice(0, 13)), value.slice(14)];
    this.seen.set(key, { till, grant });
    if (before?.grant !== grant || till <= before.till) return;
    this.world.expect(
      before.till > nowMs || this.clockWasSet || this.world.had.has('failover') || this.world.had.has('evict'),
      () => `the lease of ${key} had ended at ${before.till}, and was renewed at ${nowMs}`,
    );
  }

  /** Each key has a TTL that outlives its promise: the queue stays for as long as a ticket in it is valid. */
  private expectQueueKept(key: string): void {
    const { memory, nowMs } = this.world.redis;
    const fields = memory.run('HGETALL', [key]) as string[];
    const tills = fields.filter((_, index) => index % 2 === 1).map((ticket) => Number(ticket.slice(16)));
    const leftMs = Math.max(0, ...tills) - nowMs;
    const ttlMs = Number(memory.run('PTTL', [key]));
    const isKept = leftMs <= ttlMs + 1 || this.clockWasSet || this.keysWereLost;
    this.world.expect(isKept, () => `${key} ends in ${ttlMs} ms, and a ticket in it in ${leftMs} ms`);
  }

  private async status(locks: LockLib.LockService, { names: [name = ''] }: Operation): Promise<void> {
    const known = this.highest(name);
    const status = await locks.status(name).catch(codeOf);
    if (typeof status === 'string' || this.keysWereLost) return;
    this.world.expect(status.fence >= known, () => `status of ${name} has fence ${status.fence} after ${known}`);
  }

  private async force(locks: LockLib.LockService, { names: [name = ''] }: Operation): Promise<void> {
    // It may take effect at any time until its reply, and after an unknown outcome at any time.
    const ended = this.owners.excuseUntil();
    const outcome = await locks.forceUnlock(name).catch(codeOf);
    if (outcome !== 'UNKNOWN_OUTCOME') ended();
  }

  private async acquire(member: Member, locks: LockLib.LockService, operation: Operation): Promise<Held | undefined> {
    const { world } = this;
    const { names, leaseMs, waitMs, renew, skip, abortAfterMs } = operation;
    const { stoppedUs } = member.process;
    const beganUs = world.nowUs;
    const known = new Map(names.map((name) => [name, this.highest(name)]));
    const wait = skip ? 0 : (waitMs ?? this.options.waitMs);
    const lasts = leaseMs ?? this.options.leaseMs;
    this.shortestMs = Math.min(this.shortestMs, lasts, operation.extendTo ?? Infinity);
    const turn = this.turns.begin({ member, names, beganUs, endsUs: beganUs + wait * 1_000, leaseMs: lasts });
    const abort = abortAfterMs === undefined ? undefined : new AbortController();
    if (abort) void member.sleep(abortAfterMs as number).then(() => abort.abort(new Error('aborted by the caller')));
    const lock = await locks
      .acquire(names.length === 1 ? (names[0] as string) : [...names], {
        ...(leaseMs !== undefined && { leaseMs }),
        ...(waitMs !== undefined && !skip && { waitMs }),
        ...(renew !== undefined && { renew }),
        ...(skip && { onBusy: 'skip' as const }),
        ...(abort && { signal: abort.signal }),
      })
      .catch(codeOf);
    const tookMs = (member.nowUs - beganUs - (member.process.stoppedUs - stoppedUs)) / 1_000;
    const longest = wait + 1_000 * names.length + 100;
    world.expect(tookMs <= longest, () => `acquire took ${tookMs} ms, at most ${longest} is allowed`);
    world.note(
      member.name,
      () => `acquire of ${names.join()}: ${typeof lock === 'string' ? lock : `fence ${lock.fence}`}`,
    );
    this.turns.end(turn, typeof lock !== 'string');
    if (typeof lock === 'string') return undefined;
    const owners = lock.names.map((name): Owner => ({
      member,
      key: name,
      beganUs,
      held: () => lock.held,
      readsClock: true,
      endsAtMs: () => this.endOf(name, lock.fenceOf(name)),
    }));
    for (const name of lock.names) this.rises(name, lock.fenceOf(name), known.get(name) ?? 0);
    for (const owner of owners) this.owners.begin(owner);
    return { lock, owners, turn };
  }

  private async hold(member: Member, { lock, owners, turn }: Held, operation: Operation): Promise<void> {
    const { world } = this;
    const { pieces = [], extendTo, renew } = operation;
    const look = (): void => {
      if (lock.held) for (const owner of owners) this.owners.stillHolds(owner);
    };
    for (const ms of pieces) {
      await member.sleep(ms);
      look();
      if (!lock.held) break;
    }
    if (extendTo !== undefined && lock.held) await lock.extend(extendTo).catch(codeOf);
    look();
    const wasHeld = lock.held;
    for (const owner of owners) this.owners.end(owner);
    const result = await lock.release().catch(codeOf);
    this.turns.released(turn);
    const again = await lock.release().catch(codeOf);
    world.note(member.name, () => `release of ${lock.names.join()}: ${result}`);
    world.expect(result === again, () => `release returned ${result}, then ${again}`);
    if (renew === false || owners.some((owner) => this.owners.isExcused(owner))) return;
    // "A failed renewal is tried again until the deadline."
    const isSteady =
      world.isCalm || ((operation.leaseMs ?? Infinity) >= this.options.leaseMs && extendTo === undefined);
    world.expect(
      !world.keepsLeases(operation.leaseMs ?? this.options.leaseMs) || !isSteady || (wasHeld && result !== 'lost'),
      () => `nothing took long, but release returned ${result}`,
    );
    world.expect(!world.isCalm || result === 'released', () => `nothing is wrong, but release returned ${result}`);
  }

  /** @param known the highest fence that a caller had before this acquisition began */
  private rises(name: string, fence: number, known: number): void {
    const fences = this.fences.get(name) ?? [];
    const isNew = fence > known && !fences.some((one) => one.fence === fence);
    // "If Redis no longer has the key, the fence rises unless its clock is behind."
    const isExcused = this.clockWentBack && this.keysWereLost;
    this.world.expect(isNew || isExcused, () => `the fence of ${name} is ${fence} after ${known}`);
    this.fences.set(name, [...fences, { fence, atUs: this.world.nowUs }]);
  }

  private highest(name: string): number {
    return Math.max(0, ...(this.fences.get(name) ?? []).map(({ fence }) => fence));
  }
}

/** A lock in Redis. */
interface Seen {
  /** End of the lease by the clock of Redis, ms. */
  readonly till: number;
  /** Fence and owner. */
  readonly grant: string;
}

/** A lock, and its owner of each name. */
interface Held {
  readonly lock: LockLib.Lock;
  readonly owners: readonly Owner[];
  readonly turn: Turn;
}

/** An acquisition, and the lock that it has got. */
interface Turn {
  readonly member: Member;
  readonly names: readonly string[];
  readonly beganUs: number;
  /** When it stops waiting. */
  readonly endsUs: number;
  readonly leaseMs: number;
}

interface Span {
  readonly turn: Turn;
  readonly name: string;
  readonly fromUs: number;
  toUs: number;
}

/** Who waits for a lock, and since when; and when a lock was free although somebody waited. */
class Turns {
  private readonly waiting = new Map<Turn, unknown>();
  private readonly spans: Span[] = [];
  /** Since when a process waits for a lock, also if other callers of it do now, by `queueOf`. */
  private readonly queuedUs = new Map<string, number>();
  /** Processes of which it is not known since when they wait for a lock, by `queueOf`. */
  private readonly unclear = new Set<string>();
  private kills = 0;
  /** Longest delay of a request or a reply so far, ms. */
  slowestMs = 0;

  constructor(private readonly world: World) {}

  begin(turn: Turn): Turn {
    for (const name of turn.names) {
      if (this.isQueued(turn.member, name)) continue;
      this.queuedUs.set(queueOf(turn.member, name), turn.beganUs);
      this.unclear.delete(queueOf(turn.member, name));
    }
    this.waiting.set(turn, turn.member.process);
    return turn;
  }

  end(turn: Turn, isGranted: boolean): void {
    const { names, beganUs, member } = turn;
    const nowUs = this.world.nowUs;
    if (isGranted && names.length === 1) this.expectTurn(turn, names[0] as string);
    this.waiting.delete(turn);
    if (names.length === 1) this.expectNotFree(turn, names[0] as string);
    for (const name of names) {
      // A list of names is taken one after the other.
      if (names.length > 1) this.spans.push({ turn, name, fromUs: beganUs, toUs: nowUs });
      if (isGranted) this.spans.push({ turn, name, fromUs: nowUs, toUs: Infinity });
      if (isGranted) this.queuedUs.set(queueOf(member, name), nowUs);
      // A list may have had the name, and given it back. Nobody here knows since when the other callers of the process wait.
      if (names.length > 1) this.unclear.add(queueOf(member, name));
    }
  }

  private isQueued(member: Member, name: string): boolean {
    const waits = [...this.waiting.keys()].filter((turn) => turn.member === member && turn.names.includes(name));
    return waits.some(({ beganUs, endsUs }) => endsUs > beganUs);
  }

  released(turn: Turn): void {
    for (const span of this.spans) if (span.turn === turn) span.toUs = Math.min(span.toUs, this.world.nowUs);
  }

  /** A dead process keeps its locks until their leases end, also those that it has just got. */
  killed({ process }: Member): void {
    this.kills++;
    const nowUs = this.world.nowUs;
    for (const [turn, own] of this.waiting) {
      if (own !== process) continue;
      this.waiting.delete(turn);
      for (const name of turn.names) {
        this.spans.push({ turn, name, fromUs: turn.beganUs, toUs: nowUs + turn.leaseMs * 1_000 });
      }
    }
    for (const span of this.spans) {
      if (span.turn.member.process === process) span.toUs = Math.min(span.toUs, nowUs + span.turn.leaseMs * 1_000);
    }
  }

  /** "Processes get a lock in the order in which they began to wait." @param turn has just got the name, and still counts as waiting */
  private expectTurn({ member }: Turn, name: string): void {
    if (!this.world.isCalm) return;
    const waits = [...this.waiting.keys()].filter(({ names }) => names.includes(name));
    // A list may have got the name already, and still wait for another one.
    const isClear = (of: Member): boolean =>
      !this.unclear.has(queueOf(of, name)) && !waits.some((turn) => turn.member === of && turn.names.length > 1);
    const ownUs = this.queuedUs.get(queueOf(member, name)) ?? 0;
    const earlier = this.world.members.find((other) => {
      const isWaiting = waits.some((turn) => turn.member === other && turn.endsUs > this.world.nowUs + 50_000);
      const sinceUs = this.queuedUs.get(queueOf(other, name)) ?? Infinity;
      return other !== member && isWaiting && isClear(other) && sinceUs + 100_000 < ownUs;
    });
    this.world.expect(
      earlier === undefined || !isClear(member),
      () => `${member.name} got ${name} before ${earlier?.name}, which had waited for longer`,
    );
  }

  /** "A process that died while waiting delays the others once, by at most 0.5 s." */
  private expectNotFree({ beganUs }: Turn, name: string): void {
    const nowUs = this.world.nowUs;
    if (!this.world.hadOnly('kill', 'flush', 'clock', 'slow')) return;
    let freeUs = 0;
    let atUs = beganUs;
    // A list of names has some of them while it waits for the others.
    const lists = [...this.waiting.keys()].filter(({ names }) => names.length > 1 && names.includes(name));
    const waiting = lists.map((turn): Span => ({ turn, name, fromUs: turn.beganUs, toUs: nowUs }));
    const spans = [...this.spans.filter((span) => span.name === name), ...waiting].sort(
      (one, other) => one.fromUs - other.fromUs,
    );
    for (const { fromUs, toUs } of spans) {
      if (fromUs > nowUs) break;
      freeUs += Math.max(0, fromUs - atUs);
      atUs = Math.max(atUs, toUs);
    }
    freeUs += Math.max(0, nowUs - atUs);
    const mostMs = 600 + 700 * this.kills + 12 * this.slowestMs;
    this.world.expect(
      freeUs <= mostMs * 1_000,
      () => `${name} was free for ${freeUs / 1_000} ms although somebody waited`,
    );
  }
}

function queueOf({ process }: Member, name: string): string {
  return `${process.pid} ${name}`;
}

export const lock: Lib<Settings, Operation> = {
  name: 'lock',
  faults: {
    kill: 6,
    close: 6,
    stop: 10,
    cut: 20,
    deaf: 4,
    slow: 8,
    hold: 16,
    refuse: 6,
    flush: 4,
    evict: 3,
    'redis-clock': 6,
    clock: 3,
    failover: 2,
    'redis-down': 3,
  },
  together: [['hold'], ['kill'], ['slow'], ['slow', 'close'], ['redis-clock']],
  hurried: { leaseMs: 1_600, drainMs: 10 },
  chains: [['cut'], ['cut', 'close'], ['hold'], ['hold', 'close'], ['slow', 'close']],
  settings: (random: Random) => {
    const leaseMs = random.magnitude(60, 5_000);
    const waitMs = random.chance(0.5) ? random.magnitude(50, 5_000) : random.integer(1, 6) * leaseMs;
    return {
      leaseMs,
      waitMs,
      names: random.pick([1, 1, 2, 3]),
      // Some apps close before the replies to their calls are there.
      drainMs: Math.min(random.magnitude(10, 2_000), random.named('drain').pick([10, 40, 2_000, 2_000, 2_000])),
      isForced: random.chance(0.2),
      replicas: random.chance(0.3) ? 1 : 0,
    };
  },
  operation: (random, { leaseMs, waitMs, names, isForced }) => {
    const all = Array.from({ length: names }, (_, index) => `n${index}`);
    const some = random.chance(0.85) ? [random.pick(all)] : all.filter(() => random.chance(0.7));
    const chosen = some.length === 0 ? [all[0] as string] : some;
    const kind = random.chance(0.94) ? 'lock' : random.chance(0.5) || !isForced ? 'status' : 'force';
    if (kind !== 'lock') return { kind, names: chosen.slice(0, 1) };
    return {
      kind,
      names: chosen,
      ...(random.chance(0.3) && { leaseMs: random.magnitude(30, 2 * leaseMs) }),
      ...(random.chance(0.3) && { waitMs: random.magnitude(1, 2 * waitMs) }),
      ...(random.chance(0.15) && { skip: true }),
      ...(random.chance(0.2) && { renew: random.chance(0.3) }),
      pieces: Array.from({ length: random.integer(0, 6) }, () => random.work(leaseMs)),
      ...(random.chance(0.1) && { extendTo: random.magnitude(30, leaseMs) }),
      ...(random.chance(0.1) && { abortAfterMs: random.magnitude(1, waitMs) }),
    };
  },
  scaleMs: ({ leaseMs }) => leaseMs,
  settleMs: ({ leaseMs, waitMs }) => 12 * leaseMs + 3 * waitMs + 20_000,
  start: (world, settings) => new LockModel(world, settings),
};
