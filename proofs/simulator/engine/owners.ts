import type { Member } from './member';
import { nameOfScript } from './replays';
import type { World } from './world';

/** Somebody who holds something, as they believe by their own clock. */
export interface Owner {
  readonly member: Member;
  readonly key: string;
  /** Their work, for the violation. */
  readonly label?: string;
  /** When the call began that made them the owner. A loss of keys after that excuses what follows from it. */
  readonly beganUs: number;
  /** For a handler, which begins when a reply has come: for how long Redis may have known of it before, ms. Default: 0. */
  readonly replyMs?: number;
  /** Returns their belief now. Called only in a turn of their process. */
  held(): boolean;
  /** True if `held()` reads the clock. A signal, which a timer fires, is late after the process was stopped. */
  readonly readsClock: boolean;
  /** Returns when the lease that Redis has for this owner ends, by its clock, ms; undefined if it has none. */
  endsAtMs(): number | undefined;
}

/** How much later than Redis an owner may notice the end of a lease: Redis counts whole ms, and a timer is up to 1 ms late. */
const LATE_MS = 3;
/** Scripts that move the end of a lease: a take also renews that of the session which takes. */
const RENEWS = /renew|extend|take/;

/** Checks that nothing has two owners at a time, each by their own clock, and that no owner believes in a lease that has ended in Redis. */
export class Owners {
  private readonly owners = new Map<Owner, unknown>();
  /** Who became the owner of a key, and since when nobody else may think that they own it. */
  private readonly grants = new Map<string, { readonly owner: Owner; readonly atUs: number }[]>();
  private excusedUs = -1;
  /** When the clock of Redis was set last. */
  private clockUs = -Infinity;
  private excuses = 0;

  /** When the leases of owners end in Redis, by its clock, ms. */
  private readonly ends = new Map<Owner, number>();

  constructor(private readonly world: World) {
    for (const node of world.redis.nodes) {
      const { ran } = node;
      node.ran = (process, words, reply) => {
        ran(process, words, reply);
        if (RENEWS.test(nameOfScript(words[1] ?? '') ?? '')) for (const owner of this.alive) this.look(owner);
      };
    }
  }

  /** Excuses all owners so far: keys were lost. */
  excuse(): void {
    this.excusedUs = this.world.nowUs;
  }

  /** Excuses all owners so far, also those who do not know it yet: the clock was set by which Redis counts leases. */
  excuseClock(): void {
    this.excuse();
    this.clockUs = this.world.nowUs;
  }

  /** Excuses everything until the returned function is called, and the owners of that time. */
  excuseUntil(): () => void {
    this.excuses++;
    return () => {
      this.excuses--;
      this.excuse();
    };
  }

  isExcused({ beganUs, replyMs = 0 }: Pick<Owner, 'beganUs' | 'replyMs'>): boolean {
    return this.excuses > 0 || beganUs <= this.excusedUs || beganUs - replyMs * 1_000 <= this.clockUs;
  }

  /** Owners whose process still runs. */
  get alive(): Owner[] {
    return [...this.owners].flatMap(([owner, process]) => (owner.member.process === process ? [owner] : []));
  }

  /** Notes an owner, in a turn of its process. */
  begin(owner: Owner): void {
    this.owners.set(owner, owner.member.process);
    // Who began before keys were lost may have got it before, too.
    if (!owner.held() || isLate(owner) || this.isExcused(owner)) return;
    const atUs = owner.member.nowUs + this.world.driftUs;
    const grants = this.grants.get(owner.key) ?? [];
    this.grants.set(owner.key, [...grants.slice(-20), { owner, atUs }]);
    for (const other of this.alive) {
      if (other === owner || other.key !== owner.key) continue;
      const both = (): void => {
        if (other.member.nowUs !== atUs || !this.owners.has(other) || this.isExcused(other) || isLate(other)) return;
        this.world.expect(!other.held(), () => `two owners of ${owner.key}: ${nameOf(other)} and ${nameOf(owner)}`);
      };
      // Only the process itself may read its clock, so it is asked in a turn of its own.
      if (other.member === owner.member && this.world.driftUs === 0) both();
      else if (!other.member.process.isStopped) other.member.process.receive(atUs, both);
    }
    this.look(owner);
    this.watch(owner);
  }

  /** Asks the owner when its lease has ended in Redis: others may get the key from then on. */
  private watch(owner: Owner): void {
    const { world } = this;
    const { process } = owner.member;
    const endsAtMs = this.ends.get(owner);
    if (endsAtMs === undefined) return;
    const isOver = (): boolean => !this.owners.has(owner) || process.isDead || this.isExcused(owner);
    const isRenewed = (): boolean => (this.ends.get(owner) as number) > endsAtMs;
    const atUs = world.nowUs + (endsAtMs + LATE_MS - world.redis.nowMs) * 1_000 + world.driftUs;
    world.scheduler.lookAt(atUs, () => {
      if (isOver()) return;
      this.look(owner);
      if (isRenewed()) return this.watch(owner);
      process.receive(world.nowUs, () => {
        if (isOver() || isLate(owner)) return;
        this.look(owner);
        if (isRenewed()) return this.watch(owner);
        world.expect(!owner.held(), () => `the lease of ${nameOf(owner)} of ${owner.key} has ended, but it goes on`);
      });
    });
  }

  /** Notes when the lease of an owner ends in Redis. If it is cut short, or another one has the key, the last end counts. */
  private look(owner: Owner): void {
    const endsAtMs = owner.endsAtMs();
    if (endsAtMs !== undefined) this.ends.set(owner, Math.max(endsAtMs, this.ends.get(owner) ?? 0));
  }

  /** Checks an owner that has just seen that it still holds the key: nobody else has got it since. */
  stillHolds(owner: Owner): void {
    if (this.isExcused(owner) || isLate(owner)) return;
    const grants = this.grants.get(owner.key) ?? [];
    const own = grants.findIndex((grant) => grant.owner === owner);
    const later = own < 0 ? undefined : grants.slice(own + 1).find(({ atUs }) => atUs <= owner.member.nowUs);
    this.world.expect(
      later === undefined,
      () => `${nameOf(owner)} holds ${owner.key}, which ${later ? nameOf(later.owner) : ''} has got since`,
    );
  }

  end(owner: Owner): void {
    this.owners.delete(owner);
    this.ends.delete(owner);
  }
}

function isLate({ member, readsClock }: Owner): boolean {
  return !readsClock && !member.process.hasNoticed;
}

function nameOf({ member, label }: Owner): string {
  return label === undefined ? member.name : `${member.name} (${label})`;
}
