import type { ModuleMetadata } from '@nestjs/common';
import { Cron, Interval, ScheduleModule } from '@nestjs/schedule';
import type * as Scheduled from '../../../libs/scheduled-lock/src';
import { Owners, type Owner } from '../engine/owners';
import type { Random } from '../engine/random';
import type { Lib, Member, Model, World } from '../engine/world';
import { codeOf } from './codes';

interface Settings {
  readonly kind: 'cron' | 'interval';
  readonly everyMs: number;
  readonly leaseMs: number;
  readonly catchUpWithinMs: number;
  readonly lockAtLeastForMs: number;
  readonly onRedisError: 'skip' | 'run';
  readonly drainMs: number;
  /** How long the n-th run of the job takes, ms. */
  readonly lengths: readonly number[];
}

interface Operation {
  readonly kind: 'run-now' | 'history';
}

interface Run {
  readonly slot: number;
  readonly fence: number;
  readonly beganUs: number;
  /** True once the handler has returned and its lock was held. */
  ended: boolean;
}

/** Checks the promises of the README of scheduled-lock. */
class ScheduledModel implements Model<Operation> {
  private readonly owners: Owners;
  private readonly runs: Run[] = [];
  private keysWereLost = false;
  private clockWasSet = false;
  private clockWentBack = false;
  private wasCalled = false;

  constructor(
    private readonly world: World,
    private readonly options: Settings,
  ) {
    this.owners = new Owners(world);
  }

  app(member: Member): ModuleMetadata {
    const { ScheduledLockModule } = this.lib(member);
    const { leaseMs, onRedisError, drainMs } = this.options;
    const locks = ScheduledLockModule.forRoot({ namespace: 'n', leaseMs, onRedisError, drainMs, abortGraceMs: 100 });
    return { imports: [locks, ScheduleModule.forRoot()], providers: [this.jobs(member)] };
  }

  disturbed(fault: { kind: string; byMs?: number }): void {
    const isClock = fault.kind === 'redis-clock';
    if (fault.kind === 'evict' || fault.kind === 'failover') this.keysWereLost = true;
    if (isClock) this.clockWasSet = true;
    if (isClock && (fault.byMs as number) < 0) this.clockWentBack = true;
    if (this.keysWereLost || isClock) this.owners.excuse();
  }

  async perform(member: Member, { kind }: Operation): Promise<void> {
    const { ScheduledLockService } = this.lib(member);
    const locks = member.app?.get(ScheduledLockService) as Scheduled.ScheduledLockService;
    if (kind === 'history') return void (await locks.history('job').catch(codeOf));
    this.wasCalled = true;
    await locks.runNow('job').catch(codeOf);
  }

  settled(): void {
    const { world } = this;
    const { kind, everyMs, lengths } = this.options;
    // Each second has a run if nothing was wrong and no run took longer than until the next one.
    const isExact = kind === 'cron' && world.hadOnly('flush', 'deaf') && Math.max(...lengths) < everyMs - 100;
    if (!isExact || this.wasCalled) return;
    const slots = this.runs.map(({ slot }) => slot);
    for (let slot = slots[0] as number; slot <= (slots.at(-1) as number); slot += everyMs) {
      world.expect(slots.includes(slot), () => `no node ran the slot ${slot}`);
    }
  }

  lives(): boolean {
    return false;
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
    if (fence === 0) return member.sleep(length);
    const held = (): boolean => !run.signal.aborted && doesNotThrow(() => run.assertHeld());
    const owner: Owner = { member, key: 'job', label: `slot ${slot}`, beganUs: world.nowUs, held, readsClock: true };
    const one: Run = { slot, fence, beganUs: world.nowUs, ended: false };
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
  }

  /** "A slot that is not newer than the last one is refused", unless a run of it died. Fences rise. */
  private expectNew({ slot, fence }: Run): void {
    const { world } = this;
    const isExcused = this.keysWereLost && this.clockWentBack;
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
    'redis-clock': 2,
    clock: 2,
    failover: 2,
    'redis-down': 3,
  },
  settings: (random: Random) => {
    const leaseMs = random.magnitude(100, 3_000);
    return {
      kind: random.chance(0.6) ? 'cron' : 'interval',
      everyMs: random.pick([1_000, 2_000]),
      leaseMs,
      catchUpWithinMs: random.chance(0.5) ? 2 * leaseMs + random.magnitude(100, 10_000) : 0,
      lockAtLeastForMs: random.chance(0.2) ? random.integer(1, leaseMs) : 0,
      onRedisError: random.chance(0.8) ? 'skip' : 'run',
      drainMs: random.magnitude(50, 2_000),
      lengths: Array.from({ length: 7 }, () => random.magnitude(1, random.chance(0.7) ? 800 : 3 * leaseMs)),
    };
  },
  operation: (random) => ({ kind: random.chance(0.7) ? 'run-now' : 'history' }),
  scaleMs: ({ leaseMs }) => leaseMs,
  settleMs: ({ leaseMs }) => 5 * leaseMs + 10_000,
  start: (world, settings) => new ScheduledModel(world, settings),
};
