import type { ModuleMetadata } from '@nestjs/common';
import type * as Rewards from '../../../libs/read-reward/src';
import type { Random } from '../engine/random';
import type { Member } from '../engine/member';
import type { Lib, Model, World } from '../engine/world';
import { codeOf } from './codes';

interface Settings {
  readonly limit: number;
  readonly pointsPerItem: number;
  readonly capPoints: number | undefined;
  readonly period: 'day' | 'total';
  readonly dedupe: 'period' | 'ever';
  /** A run begins at 08:00, so a period may end after a minute. */
  readonly dayStartsAt: string;
  readonly users: number;
  readonly items: number;
}

interface Operation {
  readonly kind: 'record' | 'refund' | 'status';
  readonly user: string;
  readonly item: string;
  readonly operation?: string;
}

/** A grant that a call returned. */
interface Grant {
  readonly user: string;
  readonly item: string;
  readonly points: number;
  readonly grantId: string;
  readonly resetsAtMs: number | null;
  refunds: number;
  mayBeRefunded: boolean;
}

/** Checks the promises of the README of read-reward. */
class RewardModel implements Model<Operation> {
  private readonly grants = new Map<string, Grant>();
  private readonly operations = new Map<string, string>();
  private clockWentBack = false;

  constructor(
    private readonly world: World,
    private readonly options: Settings,
  ) {}

  app(member: Member): ModuleMetadata {
    const { ReadRewardModule } = this.lib(member);
    const { limit, pointsPerItem, capPoints, period, dedupe, dayStartsAt } = this.options;
    const times = period === 'day' ? { dayStartsAt } : {};
    const rule = { limit, pointsPerItem, period, dedupe, ...times, ...(capPoints !== undefined && { capPoints }) };
    return {
      imports: [ReadRewardModule.forRoot({ rules: { read: rule }, ledgerRetentionMs: 86_400_000, partitions: 2 })],
    };
  }

  disturbed(fault: { kind: string; byMs?: number }): void {
    if (fault.kind === 'redis-clock' && (fault.byMs as number) < 0) this.clockWentBack = true;
  }

  async perform(member: Member, { kind, user, item, operation }: Operation): Promise<void> {
    const { ReadRewardService } = this.lib(member);
    const rewards = member.app?.get(ReadRewardService) as Rewards.ReadRewardService;
    if (kind === 'record') return this.record(member, rewards, user, item, operation);
    if (kind === 'refund') return this.refund(member, rewards, user);
    const rows = await rewards.status(user).catch(codeOf);
    if (typeof rows !== 'string') for (const { points, used } of rows) this.expectBounds(user, points, used);
  }

  /** The ledger has each grant and refund once, and agrees with the callers and with the state. */
  settled(): void {
    const { world } = this;
    const rows = this.ledger();
    const grants = new Set<string>();
    const points = new Map<string, number>();
    const refunded = new Set<string>();
    for (const { kind, grantId, userId, points: amount } of rows) {
      const known = kind === 'grant' ? grants : refunded;
      world.expect(!known.has(grantId), () => `the ledger has the ${kind} ${grantId} twice`);
      known.add(grantId);
      world.expect(grants.has(grantId), () => `the ledger has a refund of ${grantId}, which it has not granted`);
      points.set(userId, (points.get(userId) ?? 0) + (kind === 'grant' ? amount : -amount));
    }
    for (const { grantId } of this.grants.values()) {
      world.expect(grants.has(grantId), () => `the grant ${grantId} is not in the ledger`);
    }
    for (const [user, sum] of points) world.expect(sum >= 0, () => `${user} has ${sum} points in the ledger`);
    if (!this.isOnePeriod) return;
    for (const [user, sum] of points) this.expectBounds(user, sum, 0);
  }

  lives(): boolean {
    return false;
  }

  private lib(member: Member): typeof Rewards {
    return member.load<typeof Rewards>('luanest/read-reward');
  }

  private async record(
    member: Member,
    rewards: Rewards.ReadRewardService,
    user: string,
    item: string,
    operation: string | undefined,
  ): Promise<void> {
    const { world } = this;
    const read = {
      rule: 'read',
      userId: user,
      itemId: item,
      ...(operation !== undefined && { operationId: operation }),
    };
    const result = await rewards.record(read).catch(codeOf);
    world.note(member.name, () => `${user} reads ${item}: ${JSON.stringify(result)}`);
    if (typeof result === 'string')
      return world.expect(!world.isCalm, () => `nothing is wrong, but a call failed: ${result}`);
    if (operation !== undefined) this.expectFirst(`${user} ${operation}`, result);
    const { status, points, grantId, resetsAtMs, used, remaining } = result;
    world.expect(
      used + remaining <= this.options.limit || remaining === 0,
      () => `${used} used, ${remaining} remaining`,
    );
    if (status !== 'rewarded' || grantId === null) return;
    const before = this.grants.get(grantId);
    // The same operation gets its grant again, and so does a call that ioredis has sent twice.
    if (operation !== undefined && before?.user === user) return;
    world.expect(before === undefined, () => `two calls have the grant ${grantId}`);
    const others = [...this.grants.values()].filter((grant) => grant.user === user && grant.resetsAtMs === resetsAtMs);
    // The first call of an operation may have been for another item, and its reply may come later.
    const granted = grantId.split(':').at(-1) as string;
    world.expect(granted === item || operation !== undefined, () => `the grant ${grantId} is for another item`);
    const same = others.find((grant) => grant.item === granted && !grant.mayBeRefunded);
    world.expect(same === undefined || this.clockWentBack, () => `${user} is rewarded twice for ${granted}`);
    this.grants.set(grantId, { user, item: granted, points, grantId, resetsAtMs, refunds: 0, mayBeRefunded: false });
    const kept = [...others.filter(({ mayBeRefunded }) => !mayBeRefunded), { points }];
    const sum = kept.reduce((total, grant) => total + grant.points, 0);
    if (!this.clockWentBack) this.expectBounds(user, sum, kept.length);
  }

  /** "A call with the same rule, user and operation id gets the first result again." */
  private expectFirst(operation: string, result: Rewards.RecordResult): void {
    const text = JSON.stringify([result.status, result.points, result.grantId]);
    const first = this.operations.get(operation);
    this.world.expect(first === undefined || first === text, () => `${operation} got ${text} after ${first}`);
    this.operations.set(operation, text);
  }

  private async refund(member: Member, rewards: Rewards.ReadRewardService, user: string): Promise<void> {
    const { world } = this;
    const own = [...this.grants.values()].filter((grant) => grant.user === user);
    const grant = own[Math.floor(member.process.random.next() * own.length)];
    if (grant === undefined) return;
    grant.mayBeRefunded = true;
    const result = await rewards.refund(grant.grantId).catch(codeOf);
    world.note(member.name, () => `refund of ${grant.grantId}: ${JSON.stringify(result)}`);
    if (typeof result === 'string' || result.status !== 'refunded') return;
    grant.refunds++;
    const isOnce = grant.refunds === 1 && result.points === grant.points;
    world.expect(
      isOnce,
      () => `${grant.grantId} is refunded ${grant.refunds} times, ${result.points} of ${grant.points}`,
    );
  }

  private expectBounds(user: string, points: number, used: number): void {
    const { limit, pointsPerItem, capPoints = Infinity } = this.options;
    const most = Math.min(limit * pointsPerItem, capPoints);
    this.world.expect(points <= most, () => `${user} has ${points} points, at most ${most} are allowed`);
    this.world.expect(used <= limit, () => `${user} has ${used} items, at most ${limit} are rewarded`);
  }

  /** True if no period can have ended. */
  private get isOnePeriod(): boolean {
    return (
      this.options.period === 'total' || (this.options.dayStartsAt === '12:00' && !this.world.had.has('redis-clock'))
    );
  }

  private ledger() {
    const { memory } = this.world.redis;
    const [member] = this.world.members;
    const { parseLedgerRow } = this.lib(member as Member);
    const keys = (memory.run('KEYS', ['*:ledger']) as string[]).sort();
    const entries = keys.flatMap((key) => memory.run('XRANGE', [key, '-', '+']) as [string, string[]][]);
    return entries.map(([, fields]) => parseLedgerRow(fields));
  }
}

export const readReward: Lib<Settings, Operation> = {
  name: 'read-reward',
  // Points are kept in Redis alone: its README asks for a Redis that loses nothing.
  faults: {
    kill: 4,
    close: 3,
    stop: 8,
    cut: 25,
    slow: 8,
    hold: 6,
    refuse: 8,
    flush: 4,
    'redis-clock': 3,
    clock: 4,
    'redis-down': 3,
  },
  together: [['cut'], ['redis-clock'], ['kill', 'cut']],
  settings: (random: Random) => ({
    limit: random.integer(1, 6),
    pointsPerItem: random.integer(1, 3),
    capPoints: random.chance(0.4) ? random.integer(1, 12) : undefined,
    period: random.chance(0.8) ? 'day' : 'total',
    dedupe: random.chance(0.7) ? 'period' : 'ever',
    dayStartsAt: random.pick(['12:00', '08:00', '08:01']),
    users: random.integer(1, 3),
    items: random.integer(2, 10),
  }),
  operation: (random, { users, items }) => ({
    kind: random.pick(['record', 'record', 'record', 'record', 'refund', 'status']),
    user: `u${random.integer(1, users)}`,
    item: `i${random.integer(1, items)}`,
    ...(random.chance(0.3) && { operation: `o${random.integer(1, 20)}` }),
  }),
  scaleMs: () => 2_000,
  settleMs: () => 8_000,
  start: (world, settings) => new RewardModel(world, settings),
};
