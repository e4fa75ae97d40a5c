import type * as OnceLib from '../../../libs/once/src';
import { Owners, type Owner } from '../engine/owners';
import type { Random } from '../engine/random';
import type { Member } from '../engine/member';
import type { Lib, Model, World } from '../engine/world';
import { codeOf } from './codes';

interface Settings {
  readonly leaseMs: number;
  readonly maxLeaseMs: number;
  readonly retentionMs: number;
  readonly ids: number;
  readonly delivery: 'at-least-once' | 'at-most-once';
  readonly replicas: number;
}

interface Operation {
  readonly kind: 'run' | 'claim' | 'first' | 'peek';
  readonly id: string;
  readonly leaseMs?: number;
  /** How long the work takes, in pieces after which it looks at its run. */
  readonly pieces: readonly number[];
  readonly ending: 'return' | 'throw' | 'forget';
  readonly renewals?: boolean;
}

/** State of an id. */
interface Known {
  /** Values that work returned, or will return. */
  readonly values: Set<string>;
  /** When a call began whose work has begun. */
  beganAtUs: number | undefined;
  /** The run that was confirmed: its value, and when its work ended. */
  confirmed: { readonly value: string | undefined; readonly atUs: number } | undefined;
  /** When a call of `first` returned true. */
  firstAtUs: number | undefined;
  fence: number;
  /** Calls that use the id now. */
  users: number;
  /** Calls that used it so far. */
  uses: number;
}

/** Checks the promises of the README of once. */
class OnceModel implements Model<Operation> {
  private readonly owners: Owners;
  private readonly known = new Map<string, Known>();
  private keysWereLost = false;
  private clockWentBack = false;
  private lastValue = 0;

  constructor(
    private readonly world: World,
    private readonly options: Settings,
  ) {
    this.owners = new Owners(world);
  }

  app(member: Member) {
    const { OnceModule } = member.load<typeof OnceLib>('luanest/once');
    const { leaseMs, maxLeaseMs, retentionMs, replicas } = this.options;
    const waits = { replicas, replicasTimeoutMs: 50 };
    const drains = { drainMs: 1_000, abortGraceMs: 200 };
    return { imports: [OnceModule.forRoot({ leaseMs, maxLeaseMs, retentionMs, ...waits, ...drains })] };
  }

  disturbed(fault: { kind: string; byMs?: number }): void {
    // With `replicas`, a failover loses no claim and no confirmation. `first` does not wait for them.
    if (fault.kind === 'failover' && this.options.replicas > 0) {
      for (const known of this.known.values()) known.firstAtUs = undefined;
      return;
    }
    const isClock = fault.kind === 'redis-clock';
    if (fault.kind === 'evict' || fault.kind === 'failover') this.keysWereLost = true;
    if (isClock && (fault.byMs as number) < 0) this.clockWentBack = true;
    if (fault.kind !== 'evict' && fault.kind !== 'failover' && !isClock) return;
    this.owners.excuse();
    for (const known of this.known.values()) this.forget(known);
  }

  async perform(member: Member, operation: Operation): Promise<void> {
    const once = this.serviceOf(member);
    const known = this.of(operation.id);
    known.users++;
    known.uses++;
    if (operation.kind === 'run') await this.run(member, once, operation, known);
    else if (operation.kind === 'claim') await this.claim(member, once, operation, known);
    else if (operation.kind === 'first') await this.first(once, operation, known);
    else await once.peek(operation.id).catch(codeOf);
    known.users--;
  }

  settled(): void {
    for (const { key } of this.owners.alive) this.world.violate(`the run of ${key} has not ended`);
  }

  private serviceOf(member: Member): OnceLib.OnceService {
    const { OnceService } = member.load<typeof OnceLib>('luanest/once');
    return member.app?.get(OnceService) as OnceLib.OnceService;
  }

  /** @param tries how often the caller tries again while the id is in progress */
  private async run(
    member: Member,
    once: OnceLib.OnceService,
    operation: Operation,
    known: Known,
    tries = 4,
  ): Promise<void> {
    const { world } = this;
    const { id, leaseMs, ending } = operation;
    const beganUs = world.nowUs;
    const value = `v${++this.lastValue}`;
    let endedUs = 0;
    const answer = await once
      .run(id, { ...(leaseMs !== undefined && { leaseMs }), delivery: this.options.delivery }, async (run) => {
        const held = (): boolean => !run.signal.aborted && doesNotThrow(() => run.assertHeld());
        const endsAtMs = (): number | undefined => this.endOf(id, run.fence);
        const owner = { member, key: id, beganUs, held, readsClock: true, endsAtMs };
        this.begins(member, owner, known, value, run.fence);
        await this.work(member, owner, operation);
        endedUs = world.nowUs;
        if (ending === 'throw') throw new Error('aborted by the caller');
        return value;
      })
      .catch(codeOf);
    world.note(member.name, () => `run of ${id}: ${JSON.stringify(answer)}`);
    if (typeof answer === 'string') {
      if (answer === 'ABORTED') void this.again(operation, known);
      return;
    }
    if (answer.status === 'in-progress') {
      this.waits(answer.retryAfterMs, id);
      if (tries === 0 || this.world.isHealed) return;
      await member.sleep(answer.retryAfterMs);
      return member.app && this.run(member, once, operation, known, tries - 1);
    }
    if (answer.status === 'duplicate') return this.duplicate(known, id, answer.result, answer.confirmed, beganUs);
    world.expect(answer.result === value, () => `the run of ${id} returned ${answer.result}, not ${value}`);
    if (answer.confirmed) this.confirms(known, id, value, endedUs, beganUs);
    else {
      const isSteady = world.isCalm || (leaseMs ?? Infinity) >= this.options.leaseMs;
      const isLost = world.isMild && isSteady && !this.mayEnd(operation);
      world.expect(!isLost, () => `nothing took long, but the lease of ${id} was lost`);
    }
  }

  /** "If the work throws, the id is released": when `run` has thrown, a call of another process gets it. */
  private async again(operation: Operation, known: Known): Promise<void> {
    const { world } = this;
    const { id } = operation;
    // When its lease had ended before the work threw, another call may have done it.
    if (this.mayEnd(operation)) return;
    if (!world.isCalm || known.users > 1 || this.options.delivery === 'at-most-once') return;
    const other = world.members.find(({ app }) => app !== undefined && world.random.chance(0.6));
    if (other === undefined) return;
    const { uses } = known;
    await new Promise<void>((resolve) => world.within(other, resolve));
    const claim = await this.serviceOf(other).claim(id).catch(codeOf);
    if (typeof claim === 'string') return;
    const isFree = claim.status === 'claimed' || known.uses > uses || !world.isCalm;
    world.expect(isFree, () => `the work of ${id} threw, but the id is ${claim.status} when run() has ended`);
    if (claim.status === 'claimed') await claim.release().catch(codeOf);
  }

  private async claim(member: Member, once: OnceLib.OnceService, operation: Operation, known: Known): Promise<void> {
    const { world } = this;
    const { id, leaseMs, ending, pieces, renewals } = operation;
    const beganUs = world.nowUs;
    const claim = await once
      .claim(id, { ...(leaseMs !== undefined && { leaseMs }), delivery: this.options.delivery })
      .catch(codeOf);
    world.note(member.name, () => `claim of ${id}: ${JSON.stringify(claim)}`);
    if (typeof claim === 'string') return;
    if (claim.status === 'in-progress') return this.waits(claim.retryAfterMs, id);
    if (claim.status === 'done') return this.duplicate(known, id, claim.result, claim.confirmed, beganUs);
    const value = `v${++this.lastValue}`;
    let { leaseEndsAtMs } = claim;
    // A renewal that has too few replicas counts for nothing, but Redis has it. So has one whose reply was lost, perhaps.
    let isEndKnown = true;
    // No signal fires when the lease of a claim ends. Its owner compares Redis' clock.
    const held = (): boolean => world.redis.nowMs < leaseEndsAtMs;
    const endsAtMs = (): number | undefined => this.endOf(id, claim.fence);
    const owner = { member, key: id, beganUs, held, readsClock: true, endsAtMs };
    this.begins(member, owner, known, value, claim.fence);
    for (const ms of pieces) {
      await member.sleep(ms);
      if (owner.held()) this.owners.stillHolds(owner);
      if (!renewals) continue;
      const isLate = isEndKnown && world.redis.nowMs >= leaseEndsAtMs;
      const renewed = await claim.renew().catch(codeOf);
      // It may run later, after another renewal.
      isEndKnown &&= typeof renewed !== 'string';
      if (typeof renewed === 'string') continue;
      if (renewed.status === 'lost') leaseEndsAtMs = 0;
      else leaseEndsAtMs = Math.max(leaseEndsAtMs, renewed.leaseEndsAtMs);
      this.expectLost(owner, isLate, renewed.status, 'renewed');
    }
    this.owners.end(owner);
    if (ending === 'forget') return;
    const isLate = isEndKnown && world.redis.nowMs >= leaseEndsAtMs;
    const endedUs = world.nowUs;
    if (ending === 'throw') {
      // Who releases an id lets others have it, with any delivery.
      known.beganAtUs = undefined;
      const released = await claim.release().catch(codeOf);
      if (typeof released !== 'string') this.expectLost(owner, isLate, released.status, 'released');
      return;
    }
    const confirmed = await claim.confirm(value).catch(codeOf);
    world.note(member.name, () => `confirm of ${id}: ${JSON.stringify(confirmed)}`);
    if (typeof confirmed === 'string') return;
    this.expectLost(owner, isLate, confirmed.status, 'confirmed');
    if (confirmed.status === 'confirmed') this.confirms(known, id, value, endedUs, beganUs);
  }

  /** Returns when the lease with a fence ends in Redis, ms; undefined if there is none. */
  private endOf(id: string, fence: number): number | undefined {
    const text = this.world.redis.memory.run('GET', [`luanest:once:{${id}}:claim`]) as string | null;
    return text?.startsWith('c') && Number(text.slice(2, 18)) === fence ? Number(text.slice(18, 31)) : undefined;
  }

  /** "A lease ends by Redis' clock. After that, the calls of its owner return lost." @param isLate when the call was made */
  private expectLost(owner: Owner, isLate: boolean, status: string, not: string): void {
    if (isLate && !this.owners.isExcused(owner)) {
      this.world.expect(status !== not, () => `the lease of ${owner.key} had ended, but it was ${status}`);
    }
  }

  private async first(once: OnceLib.OnceService, { id }: Operation, known: Known): Promise<void> {
    const beganUs = this.world.nowUs;
    const isFirst = await once.first(id).catch(codeOf);
    if (isFirst !== true) return;
    const { firstAtUs } = known;
    const ends = firstAtUs === undefined ? 0 : firstAtUs + this.options.retentionMs * 1_000;
    this.world.expect(this.world.nowUs >= ends, () => `two callers are the first of ${id}`);
    if (!this.owners.isExcused({ beganUs })) known.firstAtUs = beganUs;
  }

  private begins(member: Member, owner: Owner, known: Known, value: string, fence: number): void {
    const { world } = this;
    const { retentionMs, delivery } = this.options;
    const nowUs = member.nowUs;
    world.note(member.name, () => `work of ${owner.key} begins, fence ${fence}`);
    known.values.add(value);
    // The reply took longer than the lease: the signal has fired before the work begins.
    if (!owner.held()) return;
    const isDone = known.confirmed !== undefined && nowUs < known.confirmed.atUs + retentionMs * 1_000;
    world.expect(!isDone || this.owners.isExcused(owner), () => `${owner.key} runs again although it is done`);
    if (delivery === 'at-most-once' && known.beganAtUs !== undefined && !this.owners.isExcused(owner)) {
      const isOver = nowUs >= known.beganAtUs + retentionMs * 1_000;
      world.expect(isOver, () => `the work of ${owner.key} began twice, with at-most-once`);
    }
    // A reply that took long may name an owner of before the keys were lost.
    const isExcused = this.clockWentBack || this.owners.isExcused(owner);
    world.expect(fence > known.fence || isExcused, () => `the fence of ${owner.key} is ${fence} after ${known.fence}`);
    known.fence = Math.max(known.fence, fence);
    if (!this.owners.isExcused(owner)) known.beganAtUs = owner.beganUs;
    this.owners.begin(owner);
  }

  private async work(member: Member, owner: Owner, { pieces }: Operation): Promise<void> {
    for (const ms of pieces) {
      await member.sleep(ms);
      if (owner.held()) this.owners.stillHolds(owner);
    }
    this.owners.end(owner);
  }

  private confirms(known: Known, id: string, value: string, endedUs: number, beganUs: number): void {
    if (this.owners.isExcused({ beganUs })) return;
    const other = known.confirmed;
    // The replies may come in the other order, if a process was stopped.
    const isOver = other === undefined || Math.abs(endedUs - other.atUs) >= this.options.retentionMs * 1_000;
    this.world.expect(isOver, () => `two runs of ${id} are confirmed: ${other?.value} and ${value}`);
    if (other === undefined || endedUs > other.atUs) known.confirmed = { value, atUs: endedUs };
  }

  private duplicate(known: Known, id: string, result: unknown, confirmed: boolean, beganUs: number): void {
    if (this.owners.isExcused({ beganUs }) || this.keysWereLost) return;
    if (confirmed && result !== undefined) {
      this.world.expect(
        known.values.has(result as string),
        () => `the result of ${id} is ${JSON.stringify(result)}, which no run returned`,
      );
    }
    this.world.expect(
      confirmed || this.options.delivery === 'at-most-once',
      () => `${id} is done without a confirmation, with at-least-once`,
    );
  }

  private waits(retryAfterMs: number, id: string): void {
    const longest = 2 * this.options.leaseMs;
    const isRight = retryAfterMs >= 1 && (retryAfterMs <= longest || this.clockWentBack);
    this.world.expect(isRight, () => `${id} is in progress for ${retryAfterMs} ms, at most ${longest}`);
  }

  /** True if a run of this length may lose its lease. */
  private mayEnd({ pieces }: Operation): boolean {
    const tookMs = pieces.reduce((sum, ms) => sum + ms, 0);
    return tookMs + 100 > Math.min(this.options.maxLeaseMs, this.options.retentionMs);
  }

  private of(id: string): Known {
    let known = this.known.get(id);
    if (known === undefined) {
      known = {
        values: new Set(),
        beganAtUs: undefined,
        confirmed: undefined,
        firstAtUs: undefined,
        fence: 0,
        users: 0,
        uses: 0,
      };
      this.known.set(id, known);
    }
    return known;
  }

  private forget(known: Known): void {
    known.beganAtUs = undefined;
    known.confirmed = undefined;
    known.firstAtUs = undefined;
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

export const once: Lib<Settings, Operation> = {
  name: 'once',
  faults: {
    kill: 6,
    close: 3,
    stop: 10,
    cut: 20,
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
  together: [['hold'], ['cut'], ['kill'], ['redis-clock']],
  settings: (random: Random) => ({
    leaseMs: random.magnitude(60, 4_000),
    maxLeaseMs: random.chance(0.3) ? random.magnitude(100, 5_000) : 60_000,
    retentionMs: random.chance(0.5) ? random.magnitude(50, 5_000) : 600_000,
    ids: random.magnitude(1, 20),
    delivery: random.chance(0.7) ? 'at-least-once' : 'at-most-once',
    replicas: random.chance(0.3) ? 1 : 0,
  }),
  operation: (random, { leaseMs, ids }) => ({
    kind: random.pick(['run', 'run', 'run', 'run', 'claim', 'claim', 'first', 'peek']),
    id: `i${random.integer(1, ids)}`,
    ...(random.chance(0.3) && { leaseMs: random.magnitude(30, 2 * leaseMs) }),
    pieces: Array.from({ length: random.integer(0, 5) }, () => random.work(leaseMs)),
    ending: random.pick(['return', 'return', 'throw', 'forget']),
    renewals: random.chance(0.5),
  }),
  scaleMs: ({ leaseMs, retentionMs }) => Math.min(leaseMs, retentionMs),
  settleMs: ({ leaseMs }) => 10 * leaseMs + 20_000,
  start: (world, settings) => new OnceModel(world, settings),
};
