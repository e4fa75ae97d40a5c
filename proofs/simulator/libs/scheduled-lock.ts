import type { ModuleMetadata } from '@nestjs/common';
import { Cron, Interval, ScheduleModule } from '@nestjs/schedule';
import type { Reply } from '../../../libs/memory-redis/src/reply';
import type * as Scheduled from '../../../libs/scheduled-lock/src';
import { FIXED } from '../../../libs/scheduled-lock/src/scheduled-lock.options';
import { Owners, type Owner } from '../engine/owners';
import type { Fault } from '../engine/plan';
import type { Process } from '../engine/process';
import { nameOfScript } from '../engine/replays';
import type { Random } from '../engine/random';
import type { Member } from '../engine/member';
import type { Lib, Model, World } from '../engine/world';
import { codeOf } from './codes';

interface Settings {
  readonly kind: 'cron' | 'interval';
  readonly everyMs: number;
  readonly leaseMs: number;
  readonly catchUpWithinMs: number;
  readonly lockAtLeastForMs: number;
  readonly onRedisError: 'skip' | 'run';
  readonly drainMs: number;
  /** True: users call it between its ticks. */
  readonly isCalled: boolean;
  readonly replicas: number;
  /** How long the n-th run of the job takes, ms. */
  readonly lengths: readonly number[];
}

interface Operation {
  readonly kind: 'run-now' | 'history' | 'nothing';
}

interface Run {
  readonly slot: number;
  readonly fence: number;
  readonly beganUs: number;
  /** True once the handler has returned and its lock was held. */
  ended: boolean;
  readonly process: Process;
  /** When its process died in it. */
  diedUs: number;
}

/** Checks the promises of the README of scheduled-lock. */
class ScheduledModel implements Model<Operation> {
  private readonly owners: Owners;
  private readonly runs: Run[] = [];
  /** When runs without a lock began, us. */
  private readonly unlocked: number[] = [];
  private keysWereLost = false;
  /** Fences up to this were given before keys were lost last: a fence is the time of Redis, us. */
  private lostFence = 0;
  private clockWasSet = false;
  private clockWentBack = false;
  private wasCalled = false;
  private hadLateCall = false;
  /** How long requests and replies were held back so far, in all, ms. */
  private heldMs = 0;
  private readonly disturbedNodes = new Set<number>();
  /** Slots that ticks have claimed, by the owners of their runs. */
  private readonly claimed = new Map<string, number>();
  /** Claims that Redis has granted, and whose end it has not got, by the owners of their runs. */
  private readonly open = new Map<
    string,
    { readonly process: Process; readonly slot: number; readonly fence: number }
  >();
  /** Owners whose end Redis has got. A claim that comes after it, on an older connection, cannot be given back. */
  private readonly ended = new Set<string>();
  /** When each node was started and killed. */
  private readonly uptimes: { readonly member: Member; readonly upUs: number; downUs: number }[] = [];

  constructor(
    private readonly world: World,
    private readonly options: Settings,
  ) {
    this.owners = new Owners(world);
    for (const node of world.redis.nodes) {
      const { ran } = node;
      node.ran = (process, words, reply) => {
        ran(process, words, reply);
        this.follow(process, words, reply);
      };
    }
  }

  app(member: Member): ModuleMetadata {
    const { ScheduledLockModule } = this.lib(member);
    const { leaseMs, onRedisError, drainMs, replicas } = this.options;
    const waits = { replicas, replicasTimeoutMs: 50 };
    const terms = { namespace: 'n', leaseMs, onRedisError, drainMs, abortGraceMs: 100 };
    const locks = ScheduledLockModule.forRoot({ ...terms, ...waits });
    return { imports: [locks, ScheduleModule.forRoot()], providers: [this.jobs(member)] };
  }

  disturbed(fault: Fault): void {
    if ('p' in fault) this.disturbedNodes.add(fault.p);
    if (fault.kind === 'cut' && fault.how === 'late') this.hadLateCall = true;
    if (fault.kind === 'hold') this.heldMs += fault.repliesMs + fault.forMs;
    if (fault.kind === 'kill') this.kill(this.world.members[fault.p] as Member);
    const isClock = fault.kind === 'redis-clock';
    // With `replicas`, a failover loses no claim that runs.
    const isSafe = fault.kind === 'failover' && this.options.replicas > 0;
    if ((fault.kind === 'evict' || fault.kind === 'failover') && !isSafe) {
      this.keysWereLost = true;
      this.lostFence = this.world.redis.nowMs * 1_000;
    }
    if (isClock) this.clockWasSet = true;
    if (isClock && fault.byMs < 0) this.clockWentBack = true;
    if (isClock) this.owners.excuseClock();
    else if (this.keysWereLost) this.owners.excuse();
  }

  async perform(member: Member, { kind }: Operation): Promise<void> {
    if (kind === 'nothing') return;
    const { ScheduledLockService } = this.lib(member);
    const locks = member.app?.get(ScheduledLockService) as Scheduled.ScheduledLockService;
    if (kind === 'history') return void (await locks.history('job').catch(codeOf));
    this.wasCalled = true;
    await locks.runNow('job').catch(codeOf);
  }

  /** "The node gives slot and lock back as soon as Redis answers. Then a later tick of another node can claim the slot." */
  private follow(sender: string, words: readonly string[], reply: Reply): void {
    const name = nameOfScript(words[1] ?? '');
    if (name !== 'claim' && name !== 'complete') return;
    const args = words.slice(3 + Number(words[2]));
    const [owner = '', , mode] = args;
    const [status, slot, fence] = (Array.isArray(reply) ? reply : []) as readonly Reply[];
    const member = this.world.members.find((one) => one.name === sender);
    if (name === 'complete') {
      this.open.delete(owner);
      this.ended.add(owner);
    } else if (status === 'ran' && member !== undefined && !this.ended.has(owner)) {
      this.open.set(owner, { process: member.process, slot: Number(slot), fence: Number(fence) });
    }
    // A claim that is repeated after it was given back returns the slot before. With `replicas`, a claim has a connection of its own. So its
    // hand-back may overtake it.
    const isNew = status === 'ran' && !this.ended.has(owner);
    if (name === 'claim' && status === 'ran' && !isNew) this.hadLateCall = true;
    if (name === 'claim' && mode === 'tick' && isNew) this.claimed.set(owner, Number(slot));
    const claimed = this.claimed.get(owner);
    const isGivenBack = name === 'complete' && args[2] === 'redis-error' && reply === 1;
    if (!isGivenBack || claimed === undefined) return;
    this.claimed.delete(owner);
    const last = Number(this.world.redis.memory.run('HGET', [words[3] as string, 'slot']));
    this.world.expect(last < claimed, () => `the slot ${claimed} was given back, and nobody can claim it`);
  }

  started(member: Member): void {
    this.uptimes.push({ member, upUs: this.world.nowUs, downUs: Infinity });
  }

  settled(): void {
    this.expectGivenBack();
    if (this.wasCalled) return;
    this.expectAllSlots();
    if (this.world.hadOnly('kill', 'flush', 'deaf')) for (const run of this.runs) this.expectCaughtUp(run);
  }

  /** A claim that no run uses is given back, unless the call that does so is lost, too. */
  private expectGivenBack(): void {
    const { world } = this;
    if (!world.hadOnly('hold', 'flush', 'deaf', 'clock')) return;
    for (const { process, slot, fence } of this.open.values()) {
      const isUp = world.members.some((member) => member.process === process);
      const isUsed = this.runs.some((run) => run.fence === fence);
      world.expect(
        !isUp || isUsed,
        () => `${process.name} has claimed the slot ${slot}, and has neither run it nor given it back`,
      );
    }
  }

  /**
   * Each slot has a run if one node worked without a fault, and no run took longer than until the next slot. "The node gives slot and
   * lock back as soon as Redis answers. Then a later tick of another node can claim the slot." A tick of an interval waits for that.
   */
  private expectAllSlots(): void {
    const { world } = this;
    const { kind, everyMs, lengths, lockAtLeastForMs } = this.options;
    const isShort = Math.max(...lengths, lockAtLeastForMs) < everyMs - 200;
    const isExact = kind === 'cron' ? world.hadOnly('flush', 'deaf') : world.hadOnly('flush', 'deaf', 'cut', 'hold');
    const hasHealthy = world.members.some(({ index }) => !this.disturbedNodes.has(index));
    if (!isShort || !isExact || !hasHealthy || this.hadLateCall) return;
    if ((world.had.has('cut') || this.heldMs > 0) && !this.hasTimeToGiveBack()) return;
    const slots = this.runs.map(({ slot }) => slot);
    // The timers of an interval begin with their processes.
    const first = Math.max(slots[0] as number, 1_800_000_000_000 + 2 * everyMs);
    for (let slot = first; slot <= (slots.at(-1) as number); slot += everyMs) {
      // "A period in which no node's timer fires has no run": a timer at the edge of two periods may fire in the first one twice.
      const isAtEdge = this.ticksAtEdge() && slots.includes(slot - everyMs) && slots.includes(slot + everyMs);
      const untilUs = (slot - 1_800_000_000_000 + everyMs) * 1_000;
      const wasUnlocked = this.unlocked.some((us) => us < untilUs && us >= untilUs - everyMs * 1_000);
      world.expect(slots.includes(slot) || isAtEdge || wasUnlocked, () => `no node ran the slot ${slot}`);
    }
  }

  /** True if a node's interval fires within a few ms of the beginning of a period. */
  private ticksAtEdge(): boolean {
    const { kind, everyMs } = this.options;
    return kind === 'interval' && this.uptimes.some(({ upUs }) => (upUs / 1_000 + 5) % everyMs < 10);
  }

  /**
   * True if an undisturbed node ticks so early in a period that a claim of another node before it is given back while it still tries: it
   * pauses for at most an eighth of the period.
   */
  private hasTimeToGiveBack(): boolean {
    const { everyMs } = this.options;
    return this.uptimes.some(({ member, upUs }) => {
      const afterMs = (upUs / 1_000) % everyMs;
      return !this.disturbedNodes.has(member.index) && afterMs < (7 / 8) * everyMs - 500 - this.heldMs;
    });
  }

  /** "catchUpWithinMs: how long after its slot a node may repeat a run that died", also if that was such a repetition. */
  private expectCaughtUp({ slot, diedUs, beganUs }: Run): void {
    const { leaseMs, catchUpWithinMs } = this.options;
    if (diedUs === Infinity || slot === 0) return;
    const untilUs = diedUs + 1_000 * (leaseMs + 1.25 * Math.max(100, leaseMs / 2) + 100);
    const isOver = untilUs / 1_000 > slot - 1_800_000_000_000 + catchUpWithinMs || untilUs > this.world.nowUs;
    const isUp = this.uptimes.some(({ upUs, downUs }) => upUs < diedUs && downUs > untilUs);
    const isMeanwhile = (us: number): boolean => us > diedUs && us <= untilUs;
    // A process that dies may have claimed a slot that it did not begin.
    const later =
      this.runs.some((run) => run.beganUs > beganUs && run.beganUs <= untilUs) ||
      this.uptimes.some(({ downUs }) => isMeanwhile(downUs));
    this.world.expect(isOver || !isUp || later, () => `the run of the slot ${slot} died, and no node repeated it`);
  }

  private kill(member: Member): void {
    const { nowUs } = this.world;
    for (const life of this.uptimes) if (life.member === member) life.downUs = Math.min(life.downUs, nowUs);
    for (const run of this.runs) if (run.process === member.process && !run.ended) run.diedUs = nowUs;
  }

  private lib(member: Member): typeof Scheduled {
    return member.load<typeof Scheduled>('luanest/scheduled-lock');
  }

  private jobs(member: Member) {
    const { ScheduledLock, ScheduledLockService } = this.lib(member);
    const { kind, everyMs, catchUpWithinMs, lockAtLeastForMs } = this.options;
    const work = (): Promise<void> => {
      const locks = member.app?.get(ScheduledLockService);
      return locks === undefined ? Promise.resolve() : this.run(member, locks);
    };
    const schedule = kind === 'cron' ? Cron(`*/${everyMs / 1_000} * * * * *`, { timeZone: 'UTC' }) : Interval(everyMs);
    class Jobs {
      @ScheduledLock({ name: 'job', catchUpWithinMs, lockAtLeastForMs })
      @schedule
      job(): Promise<void> {
        return work();
      }
    }
    return Jobs;
  }

  private async run(member: Member, locks: Scheduled.ScheduledLockService): Promise<void> {
    const { world } = this;
    const run = locks.current();
    if (run === undefined) return world.violate(`${member.name} runs the job outside of a run`);
    const { slot, fence } = run;
    world.note(member.name, () => `the job begins, slot ${slot}, fence ${fence}`);
    const length = this.options.lengths[this.runs.length % this.options.lengths.length] as number;
    // Without a lock ("onRedisError: 'run'") nothing is promised.
    if (fence === 0) {
      this.unlocked.push(world.nowUs);
      return member.sleep(length);
    }
    const held = (): boolean => !run.signal.aborted && doesNotThrow(() => run.assertHeld());
    // A claim from before a loss of keys, whose reply came after it.
    const beganUs = fence <= this.lostFence ? 0 : world.nowUs;
    const endsAtMs = (): number | undefined => this.endOf(fence);
    const owner: Owner = {
      ...{ member, key: 'job', label: `slot ${slot}`, beganUs, held, readsClock: true, endsAtMs },
      replyMs: world.replyMs(FIXED.deadlineMs),
    };
    const { process } = member;
    const one: Run = { slot, fence, beganUs: world.nowUs, ended: false, process, diedUs: Infinity };
    if (held()) this.expectNew(one);
    this.runs.push(one);
    this.owners.begin(owner);
    const pieces = [length / 3, length / 3, length / 3].map(Math.ceil);
    for (const ms of pieces) {
      await member.sleep(ms);
      if (held()) this.owners.stillHolds(owner);
    }
    this.owners.end(owner);
    one.ended = held();
    const mayEnd = !world.isMild || member.app === undefined;
    world.expect(one.ended || mayEnd, () => `nothing took long, but the run of the slot ${slot} was lost`);
  }

  /** Returns when the lease with a fence ends in Redis, ms; undefined if there is none. */
  private endOf(fence: number): number | undefined {
    const { memory } = this.world.redis;
    const [key = ''] = memory.run('KEYS', ['*:state']) as string[];
    const [last, done, till] = memory.run('HMGET', [key, 'fence', 'done', 'till']) as string[];
    return Number(last) === fence && done === '0' ? Number(till) : undefined;
  }

  /** "A slot that is not newer than the last one is refused", unless a run of it died. Fences rise. */
  private expectNew({ slot, fence }: Run): void {
    const { world } = this;
    const isExcused = (this.keysWereLost && this.clockWentBack) || fence <= this.lostFence;
    const before = this.runs.filter((run) => run.fence > 0);
    const higher = before.find((run) => run.fence >= fence);
    world.expect(
      higher === undefined || isExcused,
      () => `the fence ${fence} of slot ${slot} follows ${higher?.fence}`,
    );
    if (slot === 0 || this.keysWereLost || this.clockWasSet) return;
    // A run that ended may be repeated if Redis did not get its end.
    const isKnown = world.hadOnly('flush', 'clock', 'deaf');
    const ended = isKnown && before.find((run) => run.slot === slot && run.ended);
    world.expect(!ended, () => `the slot ${slot} runs again although a run of it has ended`);
    const newer = before.find((run) => run.slot > slot);
    world.expect(newer === undefined, () => `the slot ${slot} runs after ${newer?.slot}`);
    const again = before.some((run) => run.slot === slot);
    const mayRepeat = this.options.catchUpWithinMs > 0;
    world.expect(!again || mayRepeat, () => `the slot ${slot} runs twice, without catch-ups`);
  }
}

function doesNotThrow(code: () => void): boolean {
  try {
    code();
    return true;
  } catch {
    return false;
  }
}

export const scheduledLock: Lib<Settings, Operation> = {
  name: 'scheduled-lock',
  faults: {
    kill: 6,
    close: 3,
    stop: 8,
    cut: 20,
    slow: 8,
    hold: 8,
    refuse: 6,
    flush: 4,
    evict: 2,
    'redis-clock': 6,
    clock: 2,
    failover: 2,
    'redis-down': 3,
  },
  together: [['cut'], ['hold'], ['kill'], ['kill']],
  chains: [['kill', 'kill']],
  decidesInRounds: true,
  settings: (random: Random) => {
    const leaseMs = random.magnitude(100, 3_000);
    const most = random.pick([300, 700, leaseMs, 3 * leaseMs]);
    return {
      kind: random.chance(0.4) ? 'cron' : 'interval',
      everyMs: random.pick([1_000, 2_000, 10_000]),
      leaseMs,
      catchUpWithinMs: random.chance(0.7) ? 2 * leaseMs + random.magnitude(100, 10_000) : 0,
      lockAtLeastForMs: random.chance(0.2) ? random.integer(1, leaseMs) : 0,
      onRedisError: random.chance(0.8) ? 'skip' : 'run',
      drainMs: random.magnitude(50, 2_000),
      isCalled: random.chance(0.2),
      replicas: random.chance(0.3) ? 1 : 0,
      lengths: Array.from({ length: 7 }, () => random.work(most)),
    };
  },
  operation: (random, { isCalled }) => ({
    kind: isCalled && random.chance(0.7) ? 'run-now' : random.chance(0.1) ? 'history' : 'nothing',
  }),
  scaleMs: ({ leaseMs }) => leaseMs,
  roundMs: ({ everyMs }) => everyMs,
  settleMs: ({ leaseMs }) => 5 * leaseMs + 10_000,
  start: (world, settings) => new ScheduledModel(world, settings),
};

/** The part of it that repeats runs of nodes that died: every run may die, also a repetition. */
export const catchUps: Lib<Settings, Operation> = {
  ...scheduledLock,
  name: 'scheduled-catch-ups',
  faults: { kill: 10, flush: 2, close: 3, cut: 4 },
  together: [['kill'], ['kill'], ['kill', 'flush']],
  chains: [['kill', 'kill']],
  scripts: /^claim /,
  settings: (random) => {
    const settings = scheduledLock.settings(random);
    const leaseMs = random.magnitude(100, 800);
    return {
      ...settings,
      leaseMs,
      catchUpWithinMs: 2 * leaseMs + random.integer(2_000, 12_000),
      lockAtLeastForMs: 0,
      isCalled: false,
      lengths: Array.from({ length: 7 }, () => random.integer(100, 900)),
    };
  },
};
