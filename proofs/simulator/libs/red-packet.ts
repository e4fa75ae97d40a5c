import type { ModuleMetadata } from '@nestjs/common';
import type * as Tasks from '../../../libs/delayed-task/src';
import type * as Packets from '../../../libs/red-packet/src';
import type * as Streams from '../../../libs/stream-consumer/src';
import type { Random } from '../engine/random';
import type { Fault } from '../engine/plan';
import type { Member } from '../engine/member';
import type { Lib, Model, World } from '../engine/world';
import { codeOf } from './codes';

interface Settings {
  readonly packets: number;
  readonly totalCents: number;
  readonly buckets: number;
  readonly activities: number;
  readonly users: number;
  /** When the activities end, ms after the run begins; undefined: they are closed at the end of the run. */
  readonly endsAfterMs: number | undefined;
  readonly leaseMs: number;
  /** Every how many payments fail. */
  readonly failsEvery: number;
  readonly replicas: number;
}

interface Operation {
  readonly kind: 'grab' | 'close' | 'pause' | 'resume' | 'look';
  readonly activity: string;
  readonly user: string;
  readonly grabs: number;
}

interface Book {
  /** The packet of each user, as a grab returned it. */
  readonly won: Map<string, { readonly packetId: string; readonly amountCents: number }>;
  /** Payments of the ledger, by packet. */
  readonly paid: Map<string, { readonly userId: string; readonly amountCents: number }>;
  /** The last sum of refunds that `onClosed` got. */
  refundedCents: number;
  /** True once a call has returned that it is open. */
  isCreated: boolean;
  /** True if a failover may have undone its creation, which waits for no replicas. */
  mayBeUndone: boolean;
  /** How many calls refused to create it, because its id was used. */
  conflicts: number;
  status: Packets.ActivityStatus | undefined;
  audit: Packets.AuditResult | undefined;
}

/** Checks the promises of the README of red-packet. */
class PacketModel implements Model<Operation> {
  private readonly books = new Map<string, Book>();
  /** When a failover brought packets back last. */
  private lostUs = -Infinity;
  /** When a grab of a process returned last that an activity is sold out. */
  private readonly soldOutUs = new Map<string, number>();
  private payments = 0;

  constructor(
    private readonly world: World,
    private readonly options: Settings,
  ) {
    for (let index = 1; index <= options.activities; index++) {
      this.books.set(`a${index}`, {
        won: new Map(),
        paid: new Map(),
        refundedCents: 0,
        isCreated: false,
        mayBeUndone: false,
        conflicts: 0,
        status: undefined,
        audit: undefined,
      });
    }
  }

  app(member: Member): ModuleMetadata {
    const { RedPacketModule } = this.lib(member);
    const { StreamConsumerModule } = member.load<typeof Streams>('luanest/stream-consumer');
    const { DelayedTaskModule } = member.load<typeof Tasks>('luanest/delayed-task');
    const { leaseMs, replicas } = this.options;
    const work = {
      leaseMs,
      timeoutMs: 10_000,
      drainMs: 1_000,
      abortGraceMs: 100,
      backoff: { delayMs: 50, maxDelayMs: 500 },
    };
    return {
      imports: [
        StreamConsumerModule.forRoot(work),
        DelayedTaskModule.forRoot(work),
        RedPacketModule.forRoot({
          identity: () => undefined,
          controller: false,
          partitions: 2,
          replicas,
          replicasTimeoutMs: 50,
          onClosed: ({ activityId, refundedCents }) => {
            const book = this.books.get(activityId) as Book;
            book.refundedCents = Math.max(book.refundedCents, refundedCents);
          },
        }),
      ],
    };
  }

  /** Called when the replica gets no more writes, and again when it is promoted. */
  disturbed({ kind }: Fault): void {
    if (kind !== 'failover') return;
    this.lostUs = this.world.nowUs;
    for (const book of this.books.values()) book.mayBeUndone ||= !book.isCreated;
  }

  started(member: Member): void {
    const payouts = member.app?.get(this.lib(member).RedPacketPayouts) as Packets.RedPacketPayouts;
    payouts.run((payout) => this.pay(member, payout), { concurrency: 4, attempts: 500 });
    for (const activity of this.books.keys()) void this.create(member, activity);
  }

  async perform(member: Member, { kind, activity, user, grabs }: Operation): Promise<void> {
    const service = this.serviceOf(member);
    if (kind === 'grab') {
      await Promise.all(Array.from({ length: grabs }, () => this.grab(member, service, activity, user)));
    } else if (kind === 'look') {
      await service.packetOf(activity, user).catch(codeOf);
      await this.audit(service, activity);
    } else await service[kind](activity).catch(codeOf);
  }

  left(): number {
    let left = 0;
    for (const { won, paid } of this.books.values()) left += won.size - Math.min(won.size, paid.size);
    return left;
  }

  /** Closes what is open, and reads the books. */
  async finish(member: Member): Promise<void> {
    const service = this.serviceOf(member);
    for (const [activity, book] of this.books) {
      await service.resume(activity);
      await service.close(activity);
      do {
        await member.sleep(5_000);
        book.status = await service.status(activity);
        // A win of which no process knows is paid up to 80 s late.
      } while ((book.status?.openPayouts ?? 0) > 0);
      book.audit = await service.audit(activity, { deep: true });
    }
  }

  settled(): void {
    const { world } = this;
    for (const [activity, { won, paid, refundedCents, status, audit, conflicts, mayBeUndone }] of this.books) {
      // No process was up for long enough to create it.
      if (status === undefined || mayBeUndone) continue;
      // "Its parameters are lost": it was refused before it was open, so nobody has won.
      if (conflicts > 0 && status.state === 'draft') {
        world.expect(won.size + paid.size === 0, () => `${activity} has winners, but it was never opened`);
        continue;
      }
      world.expect(audit?.ok === true, () => `the audit of ${activity} says: ${audit?.problems.join(' ')}`);
      for (const [user, { packetId }] of won) {
        const payment = paid.get(packetId);
        world.expect(
          payment?.userId === user,
          () => `${activity}: ${user} has won ${packetId}, which ${payment?.userId} was paid`,
        );
      }
      const sum = [...paid.values()].reduce((total, { amountCents }) => total + amountCents, 0);
      const { totalCents } = this.options;
      const { grantedCents, openPayouts } = status;
      world.expect(openPayouts === 0, () => `${activity} has ${openPayouts} open payouts`);
      world.expect(sum === grantedCents, () => `${activity}: ${sum} cents are paid, ${grantedCents} were granted`);
      world.expect(
        sum + refundedCents === totalCents,
        () => `${activity}: ${sum} cents are paid and ${refundedCents} refunded, of ${totalCents}`,
      );
    }
  }

  lives(): boolean {
    // Keys of an activity that owes something have no TTL; those of streams and tasks are checked with their libs.
    return true;
  }

  private lib(member: Member): typeof Packets {
    return member.load<typeof Packets>('luanest/red-packet');
  }

  private serviceOf(member: Member): Packets.RedPacketService {
    return member.app?.get(this.lib(member).RedPacketService) as Packets.RedPacketService;
  }

  private async create(member: Member, activityId: string): Promise<void> {
    const service = this.serviceOf(member);
    const { packets, totalCents, buckets, endsAfterMs } = this.options;
    const base = 1_800_000_000_000;
    const activity = {
      activityId,
      totalCents,
      packets,
      buckets,
      split: 'equal' as const,
      ...(endsAfterMs !== undefined && { endsAtMs: base + endsAfterMs }),
    };
    for (let tries = 0; tries < 50; tries++) {
      const result = await service.create(activity).catch(codeOf);
      // Its end may have passed before it was created.
      if (typeof result !== 'string') (this.books.get(activityId) as Book).isCreated = true;
      if (typeof result !== 'string' || result === 'INVALID_INPUT' || result === 'CLOSED') return;
      if (result === 'ACTIVITY_CONFLICT') {
        const { world } = this;
        world.expect(world.had.has('failover'), () => `${activityId} has lost its parameters, without a failover`);
        return void (this.books.get(activityId) as Book).conflicts++;
      }
      await member.sleep(200);
    }
  }

  private async grab(member: Member, service: Packets.RedPacketService, activity: string, user: string): Promise<void> {
    const { world } = this;
    const book = this.books.get(activity) as Book;
    const before = book.won.get(user);
    const result = await service.grab(activity, user).catch(codeOf);
    world.note(member.name, () => `${user} grabs ${activity}: ${JSON.stringify(result)}`);
    if (typeof result === 'string') return;
    // "For one second it returns `sold-out` to all users who are not in the filter": a failover may bring packets back meanwhile.
    const place = `${member.process.pid} ${activity}`;
    const isRemembered = world.nowUs <= Math.min(this.lostUs, this.soldOutUs.get(place) ?? -Infinity) + 1_050_000;
    if (result.status === 'sold-out' && !isRemembered) this.soldOutUs.set(place, world.nowUs);
    world.expect(
      before === undefined || result.status !== 'sold-out' || isRemembered,
      () => `${user} has won ${before?.packetId} of ${activity}, but the grab says that it is sold out`,
    );
    if (!('packet' in result) || result.packet === undefined) return;
    const { packetId, amountCents } = result.packet;
    const known = book.won.get(user);
    const isSame = known === undefined || (known.packetId === packetId && known.amountCents === amountCents);
    world.expect(isSame, () => `${user} has won ${known?.packetId} and ${packetId} of ${activity}`);
    const other = [...book.won].find(([name, packet]) => name !== user && packet.packetId === packetId);
    world.expect(other === undefined, () => `${user} and ${other?.[0]} have both won ${packetId} of ${activity}`);
    book.won.set(user, { packetId, amountCents });
  }

  /** The ledger books each packet once, and each user once. It refuses nobody here: no grant gets lost. */
  private async pay(member: Member, { activityId, userId, packetId, amountCents }: Packets.Payout): Promise<void> {
    const { world } = this;
    world.note(member.name, () => `pays ${packetId} of ${activityId} to ${userId}`);
    const { paid, won } = this.books.get(activityId) as Book;
    if (++this.payments % this.options.failsEvery === 0) throw new Error('the ledger is unavailable');
    await member.sleep(1);
    const before = paid.get(packetId);
    const isSame = before === undefined || (before.userId === userId && before.amountCents === amountCents);
    world.expect(isSame, () => `${packetId} of ${activityId} is paid to ${before?.userId} and ${userId}`);
    const other = [...paid].find(([id, payment]) => id !== packetId && payment.userId === userId);
    world.expect(other === undefined, () => `${userId} is paid ${other?.[0]} and ${packetId} of ${activityId}`);
    const known = won.get(userId);
    world.expect(
      known === undefined || known.packetId === packetId,
      () => `${userId} has won ${known?.packetId} of ${activityId}, but is paid ${packetId}`,
    );
    paid.set(packetId, { userId, amountCents });
  }

  private async audit(service: Packets.RedPacketService, activity: string): Promise<void> {
    const report = await service.audit(activity).catch(codeOf);
    if (typeof report !== 'object' || this.books.get(activity)?.mayBeUndone) return;
    this.world.expect(report.ok, () => `the audit of ${activity} says: ${report.problems.join(' ')}`);
  }
}

export const redPacket: Lib<Settings, Operation> = {
  name: 'red-packet',
  // What is granted is kept in Redis alone: what a failover loses is in its README.
  faults: {
    kill: 5,
    close: 3,
    stop: 6,
    cut: 25,
    deaf: 3,
    slow: 8,
    hold: 6,
    refuse: 6,
    flush: 4,
    clock: 3,
    'redis-down': 3,
  },
  together: [['cut', 'kill'], ['cut'], ['slow', 'kill']],
  settings: (random: Random) => {
    const packets = random.magnitude(1, 30);
    return {
      packets,
      totalCents: packets * random.magnitude(1, 500) + random.integer(0, packets),
      buckets: Math.min(packets, random.pick([1, 1, 2, 3, 4])),
      activities: random.pick([1, 1, 2]),
      users: random.magnitude(2, 40),
      endsAfterMs: random.chance(0.4) ? random.magnitude(2_000, 20_000) : undefined,
      leaseMs: random.magnitude(200, 3_000),
      failsEvery: random.magnitude(2, 50),
      replicas: 0,
    };
  },
  operation: (random, { users, activities }) => ({
    kind: random.chance(0.9) ? 'grab' : random.pick(['look', 'look', 'pause', 'resume', 'close']),
    activity: `a${random.integer(1, activities)}`,
    user: `u${random.integer(1, users)}`,
    grabs: random.chance(0.8) ? 1 : 2,
  }),
  scaleMs: ({ leaseMs }) => leaseMs,
  settleMs: ({ leaseMs }) => 5 * leaseMs + 60_000,
  start: (world, settings) => new PacketModel(world, settings),
};

/** With a replica that has each win: then a failover takes back nothing that was paid, refunded, or returned to a user. */
export const replicatedPackets: Lib<Settings, Operation> = {
  ...redPacket,
  name: 'red-packet-replicated',
  faults: { ...redPacket.faults, failover: 3 },
  together: [['failover'], ['failover', 'cut'], ['failover', 'kill']],
  settings: (random: Random) => ({ ...redPacket.settings(random), replicas: 1 }),
};
