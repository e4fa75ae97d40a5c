import type { ModuleMetadata } from '@nestjs/common';
import { spread } from '../../../libs/internal/src';
import type { Reply } from '../../../libs/memory-redis/src/reply';
import type * as Packets from '../../../libs/red-packet/src';
import type { Fault } from '../engine/plan';
import type { Random } from '../engine/random';
import { nameOfScript } from '../engine/replays';
import type { Member } from '../engine/member';
import type { Lib, Model, World } from '../engine/world';
import { codeOf } from './codes';

interface Settings {
  readonly packets: number;
  readonly buckets: number;
  readonly users: number;
  /** True: all users belong to the first bucket. So packets move to it again and again. */
  readonly isSkewed: boolean;
  readonly partitions: number;
  /** How far apart a crowd grabs, and how long faults take, ms. */
  readonly paceMs: number;
}

interface Operation {
  readonly kind: 'grab' | 'pause' | 'resume' | 'close' | 'look';
  readonly users: readonly string[];
}

/** A packet that a grab has returned. */
interface Win {
  readonly packetId: string;
  readonly amountCents: number;
}

const ACTIVITY = 'a1';
/** States of a bucket whose creation has ended. */
const STATES = ['open', 'paused', 'closed'];
/** "For one second it returns `sold-out` to all users who are not in the filter", also if a failover brings packets back. */
const REMEMBERED_US = 1_050_000;

/** Checks what the README of red-packet says about buckets: an app that grabs and closes. Other processes pay, which are not here. */
class BucketModel implements Model<Operation> {
  private readonly won = new Map<string, Win>();
  private wasCreated = false;
  /** Packets in pools, on their way, won or refunded, if a failover has lost some of them or has brought some back. */
  private present: number | undefined;
  private hasLost = false;
  /** When packets were sent, by source, destination and number of the transfer. */
  private readonly sentUs = new Map<string, number>();
  /** When Redis lost writes last. */
  private lostUs = -Infinity;
  /** Processes that had read all winners of a sold-out activity before Redis lost writes last. They may remember them for a second. */
  private readonly remembering = new Set<string>();
  /** When a process read winners last, and when it read the state of the buckets after that. */
  private readonly readUs = new Map<string, { readonly winners: number; state: number }>();
  /** True if a failover has lost a part of the activity itself. */
  private isBroken = false;

  constructor(
    private readonly world: World,
    private readonly options: Settings,
  ) {
    for (const node of world.redis.nodes) {
      const { ran } = node;
      node.ran = (process, words, reply) => {
        ran(process, words, reply);
        this.follow(words, reply);
        this.followReader(process, words);
        if (words.some((word) => word.includes(':moves:'))) this.expectAllThere();
      };
    }
  }

  app(member: Member): ModuleMetadata {
    const { RedPacketModule } = this.lib(member);
    const { partitions } = this.options;
    return { imports: [RedPacketModule.forRoot({ identity: () => undefined, controller: false, partitions })] };
  }

  started(member: Member): void {
    void this.create(member);
  }

  disturbed({ kind }: Fault): void {
    if (kind !== 'failover') return;
    // Called when the replica gets no more writes, and again when it is promoted.
    this.hasLost = true;
    this.lostUs = this.world.nowUs;
    this.remembering.clear();
    for (const [process, { winners, state }] of this.readUs) {
      if (state > winners && this.lostUs - state <= REMEMBERED_US) this.remembering.add(process);
    }
    this.won.clear();
    this.world.scheduler.at(this.world.nowUs + 1, () => {
      const isThere = this.keysOf('meta').length > 0 || this.wasCreated;
      this.isBroken ||= isThere && (!this.isWhole() || !this.isOpened());
      this.present = isThere ? this.count() : undefined;
    });
  }

  async perform(member: Member, { kind, users }: Operation): Promise<void> {
    const service = this.serviceOf(member);
    if (kind === 'grab') await Promise.all(users.map((user) => this.grab(member, service, user)));
    else if (kind === 'look') await this.look(service, users[0] as string);
    else await service[kind](ACTIVITY).catch(codeOf);
  }

  /** Closes the activity, and looks whether all packets are still there. */
  async finish(member: Member): Promise<void> {
    if (!this.wasCreated || this.isBroken) return;
    const { world } = this;
    const service = this.serviceOf(member);
    await service.resume(ACTIVITY);
    await service.close(ACTIVITY);
    await member.sleep(2_000);
    const status = await service.status(ACTIVITY);
    if (status === undefined) return world.violate('the activity is gone');
    const { grantedPackets, refundedPackets } = status;
    const [ended, present] = [grantedPackets + refundedPackets, this.present ?? this.options.packets];
    world.expect(ended === present, () => `${ended} packets are won or refunded, of ${present}`);
    if (this.hasLost) return;
    const audit = await service.audit(ACTIVITY, { deep: true });
    world.expect(audit?.ok === true, () => `the audit says: ${audit?.problems.join(' ')}`);
    for (const [user, { packetId }] of this.won) {
      const packet = await service.packetOf(ACTIVITY, user);
      world.expect(packet?.packetId === packetId, () => `${user} has won ${packetId}, then ${packet?.packetId}`);
    }
  }

  lives(): boolean {
    // Grants without a payout are owed.
    return true;
  }

  private lib(member: Member): typeof Packets {
    return member.load<typeof Packets>('luanest/red-packet');
  }

  private serviceOf(member: Member): Packets.RedPacketService {
    return member.app?.get(this.lib(member).RedPacketService) as Packets.RedPacketService;
  }

  private async create(member: Member): Promise<void> {
    const service = this.serviceOf(member);
    const { packets, buckets } = this.options;
    const activity = { activityId: ACTIVITY, totalCents: 100 * packets, packets, buckets, split: 'equal' as const };
    for (let tries = 0; tries < 50 && !this.wasCreated; tries++) {
      const beganUs = this.world.nowUs;
      const result = await service.create(activity).catch(codeOf);
      if (typeof result === 'object' && beganUs > this.lostUs) this.wasCreated = true;
      else await member.sleep(200);
    }
  }

  private async grab(member: Member, service: Packets.RedPacketService, user: string): Promise<void> {
    const { world } = this;
    const beganUs = world.nowUs;
    const before = this.won.get(user);
    const result = await service.grab(ACTIVITY, user).catch(codeOf);
    world.note(member.name, () => `${user} grabs: ${JSON.stringify(result)}`);
    // What a call has returned that began before a failover may be lost.
    if (typeof result === 'string' || beganUs <= this.lostUs) return;
    const isRemembered = beganUs <= this.lostUs + REMEMBERED_US && this.remembering.has(member.name);
    world.expect(
      before === undefined || result.status !== 'sold-out' || isRemembered,
      () => `${user} has won ${before?.packetId}, but the grab says that it is sold out`,
    );
    if (!('packet' in result) || result.packet === undefined) return;
    const { packetId, amountCents } = result.packet;
    const known = this.won.get(user);
    const isSame = known === undefined || (known.packetId === packetId && known.amountCents === amountCents);
    world.expect(isSame, () => `${user} has won ${known?.packetId} and ${packetId}`);
    const other = [...this.won].find(([name, packet]) => name !== user && packet.packetId === packetId);
    // A packet that was on its way may be in two buckets after a failover of one of them.
    world.expect(other === undefined || this.hasLost, () => `${user} and ${other?.[0]} have both won ${packetId}`);
    this.won.set(user, { packetId, amountCents });
  }

  private async look(service: Packets.RedPacketService, user: string): Promise<void> {
    const beganUs = this.world.nowUs;
    const before = this.won.get(user);
    const packet = await service.packetOf(ACTIVITY, user).catch(codeOf);
    if (typeof packet !== 'string' && before !== undefined && beganUs > this.lostUs) {
      const { packetId } = before;
      this.world.expect(packet?.packetId === packetId, () => `${user} has won ${packetId}, not ${packet?.packetId}`);
    }
    const report = await service.audit(ACTIVITY).catch(codeOf);
    if (typeof report !== 'object' || this.hasLost) return;
    this.world.expect(report.ok, () => `the audit says: ${report.problems.join(' ')}`);
  }

  /**
   * Counts again after a step of a transfer that began before a failover: it may have lost that they were sent, but a process still has them,
   * or that they arrived, but the record of the source is deleted. "Without `replicas`, it may lose, or have twice, packets that were moving."
   */
  private follow(words: readonly string[], reply: Reply): void {
    const name = nameOfScript(words[1] ?? '') ?? '';
    if (!/^(send-packets|receive-packets|confirm-transfer)$/.test(name)) return;
    const [keys, args] = [words.slice(3, 3 + Number(words[2])), words.slice(3 + Number(words[2]))];
    const own = bucketOf(keys.find((key) => key.includes(':moves:')) ?? '');
    const [status, record = ''] = (Array.isArray(reply) ? reply : []) as string[];
    if (status === 'sent') this.sentUs.set(`${own} ${args[0]} ${record.split('|')[0]}`, this.world.nowUs);
    const isConfirmed = name === 'confirm-transfer' && reply === 1;
    if (status !== 'received' && !isConfirmed) return;
    const [from, to] = isConfirmed ? [own, args[0]] : [args[0], own];
    const isEarlier = (this.sentUs.get(`${from} ${to} ${args[1]}`) ?? Infinity) <= this.lostUs;
    if (isEarlier && this.present !== undefined) this.present = this.count();
  }

  /** A process remembers winners if the buckets are still sold out after it has read all of them. */
  private followReader(process: string, words: readonly string[]): void {
    const name = nameOfScript(words[1] ?? '');
    const read = this.readUs.get(process);
    if (name === 'hash-page') this.readUs.set(process, { winners: this.world.nowUs, state: read?.state ?? -Infinity });
    if (name === 'status' && read !== undefined) read.state = this.world.nowUs;
  }

  /** "Any process may repeat each of them": at each moment Redis has all packets, also those of a process that dies now. */
  private expectAllThere(): void {
    if (this.isBroken || !this.isWhole()) return;
    const [count, present] = [this.count(), this.present ?? this.options.packets];
    this.world.expect(count === present, () => `Redis has ${count} of ${present} packets`);
  }

  /** True if the creation has ended, which the key without a number of a bucket says. */
  private isOpened(): boolean {
    const { memory } = this.world.redis;
    const roots = memory.run('KEYS', [`*:red-packet:*:meta:${ACTIVITY}`]) as string[];
    const states = roots.map((key) => String(memory.run('HGET', [key, 'state'])));
    return states.some((state) => STATES.includes(state) || state.startsWith('spread:'));
  }

  /** True if each bucket was created and opened. */
  private isWhole(): boolean {
    const { memory } = this.world.redis;
    const states = this.keysOf('meta').map((key) => memory.run('HGET', [key, 'state']) as string);
    return states.length === this.options.buckets && states.every((state) => STATES.includes(state));
  }

  /**
   * Returns how many packets there are. "The source moves packets from its pool to a record, the destination adds them to its pool once,
   * the source deletes the record": until the destination has them, those of the record are on their way.
   */
  private count(): number {
    const sum = (room: string): number => this.lengths(room).reduce((total, [, length]) => total + length, 0);
    // One field of the grants is the sum of their cents.
    const granted = sum('grants') - this.lengths('grants').length;
    return sum('pool') + sum('refunds') + granted + this.moving();
  }

  private moving(): number {
    const { memory } = this.world.redis;
    const keys = this.keysOf('moves');
    const marks = keys.map((key) => {
      const words = memory.run('HGETALL', [key]) as string[];
      return {
        key,
        fields: new Map(words.flatMap((word, i) => (i % 2 === 0 ? [[word, words[i + 1] as string]] : []))),
      };
    });
    const marksOf = new Map(marks.map(({ key, fields }) => [bucketOf(key), fields]));
    let moving = 0;
    for (const { key, fields } of marks) {
      for (const [field, record] of fields) {
        const to = /^out:(\d+)$/.exec(field)?.[1];
        if (to === undefined) continue;
        const [sequence = '', packets = ''] = record.split('|');
        const last = marksOf.get(to)?.get(`in:${bucketOf(key)}`);
        if (last === undefined || Number(sequence) > Number(last)) moving += packets.split(',').length;
      }
    }
    return moving;
  }

  private keysOf(room: string): string[] {
    const keys = this.world.redis.memory.run('KEYS', [`*:red-packet:*:${room}:${ACTIVITY}*`]) as string[];
    const { buckets } = this.options;
    // The meta without a number is the root of several buckets.
    return keys.filter((key) => buckets === 1 || key.endsWith(`-${buckets}`)).sort();
  }

  private lengths(room: string): [string, number][] {
    const command = room === 'pool' || room === 'refunds' ? 'LLEN' : 'HLEN';
    return this.keysOf(room).map((key) => [key, this.world.redis.memory.run(command, [key]) as number]);
  }
}

/** Returns the number of a bucket, by one of its keys. */
function bucketOf(key: string): string {
  return /:(\d+)-\d+$/.exec(key)?.[1] ?? '0';
}

/** Users of the first of so many buckets, by their number. */
const usersAtHome = new Map<number, string[]>();

/** Returns the n-th user of the first bucket, from 0. */
function userAtHome(n: number, buckets: number): string {
  const users = usersAtHome.get(buckets) ?? [];
  usersAtHome.set(buckets, users);
  for (let at = Number(users.at(-1)?.slice(1) ?? 0) + 1; users.length <= n; at++) {
    if (spread(`u${at}`) % buckets === 0) users.push(`u${at}`);
  }
  return users[n] as string;
}

export const redPacketBuckets: Lib<Settings, Operation> = {
  name: 'red-packet-buckets',
  faults: {
    kill: 6,
    close: 3,
    stop: 6,
    cut: 25,
    slow: 8,
    hold: 6,
    refuse: 6,
    flush: 3,
    clock: 2,
    failover: 4,
    'redis-down': 3,
  },
  together: [
    ['cut', 'kill'],
    ['cut', 'kill'],
    ['cut'],
    ['failover'],
    ['failover'],
    ['failover', 'slow'],
    ['slow', 'kill'],
  ],
  scripts: /^(send-packets|receive-packets|confirm-transfer|hash-page) /,
  settings: (random: Random) => ({
    packets: random.magnitude(4, 60),
    buckets: random.pick([2, 2, 3, 4]),
    users: random.chance(0.3) ? random.magnitude(2, 8) : random.magnitude(10, 100),
    isSkewed: random.named('skew').chance(0.6),
    partitions: random.integer(2, 4),
    paceMs: random.magnitude(50, 1_500),
  }),
  operation: (random, { users, buckets, isSkewed }) => {
    const from = random.integer(1, users);
    const count = random.chance(0.5) ? 1 : random.magnitude(2, 12);
    return {
      kind: random.chance(0.93) ? 'grab' : random.pick(['look', 'look', 'pause', 'resume', 'close']),
      users: Array.from({ length: Math.min(count, users) }, (_, index) => {
        const at = (from + index) % users;
        return isSkewed ? userAtHome(at, buckets) : `u${at + 1}`;
      }),
    };
  },
  scaleMs: ({ paceMs }) => paceMs,
  settleMs: () => 10_000,
  start: (world, settings) => new BucketModel(world, settings),
};

/** The part of it that moves packets: all users belong to the first bucket, and empty it again and again. */
export const packetMoves: Lib<Settings, Operation> = {
  ...redPacketBuckets,
  name: 'red-packet-moves',
  faults: { failover: 6, cut: 8, slow: 4, hold: 4, kill: 3, stop: 3, 'redis-down': 2 },
  together: [['failover'], ['failover'], ['failover', 'slow'], ['failover', 'cut'], ['cut', 'kill']],
  chains: [['failover'], ['cut', 'failover']],
  scripts: /^(send-packets|receive-packets|confirm-transfer) /,
  settings: (random) => ({
    ...redPacketBuckets.settings(random),
    packets: random.integer(16, 60),
    users: 100,
    isSkewed: true,
    paceMs: random.magnitude(20, 300),
  }),
  operation: (random, settings) => ({
    kind: 'grab',
    users: Array.from({ length: random.integer(2, 6) }, () =>
      userAtHome(random.integer(0, settings.users - 1), settings.buckets),
    ),
  }),
};
