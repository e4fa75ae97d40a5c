import type { Fault } from './plan';
import type { Member } from './member';
import type { Process } from './process';
import type { RedisHost } from './redis-host';
import type { RedisNode } from './redis-node';
import type { Scheduler } from './scheduler';

/** The part of the world that faults act on. */
export interface Targets {
  readonly redis: RedisHost;
  readonly scheduler: Scheduler;
  readonly members: readonly Member[];
  readonly model: { disturbed?(fault: Fault): void };
  readonly isHealed: boolean;
  /** End of the faults. */
  readonly plan: { readonly endMs: number };
  hasClosed(process: Process): boolean;
  kill(member: Member): void;
  restart(member: Member, ended: Process): void;
  closeMember(member: Member, closed: () => void): void;
}

/** Makes faults happen in a run. */
export class Faults {
  constructor(private readonly world: Targets) {}

  /** @returns false if the fault has nothing to act on now */
  apply(given: Fault): boolean {
    const { redis, scheduler, members, model } = this.world;
    const member = members['p' in given ? given.p : 0];
    if (member === undefined) return false;
    const fault = this.untilItsEdge(given, member);
    const { link, process } = member;
    const later = (ms: number, run: () => void): void => scheduler.at(scheduler.nowUs + ms * 1_000, run);
    if ('p' in fault && (process.isDead || this.world.hasClosed(process))) return false;
    if (fault.kind === 'kill' && fault.pauses > 0) {
      member.dying = { ...fault };
      return false;
    }
    model.disturbed?.(fault);
    switch (fault.kind) {
      case 'kill':
        this.world.kill(member);
        later(fault.downMs, () => this.world.restart(member, process));
        return true;
      case 'close':
        if (member.app === undefined) return false;
        this.world.closeMember(member, () =>
          later(this.world.isHealed ? 0 : fault.downMs, () => this.world.restart(member, process)),
        );
        return true;
      case 'stop':
        if (fault.readings > 0) process.stopAtReading(fault.readings, fault.forMs * 1_000);
        else process.stop(fault.forMs * 1_000);
        return true;
      case 'cut':
        link.cuts.push({ skip: fault.skip, kind: fault.how, lateUs: fault.lateMs * 1_000 });
        return true;
      case 'deaf':
        link.cutAtPush = true;
        return true;
      case 'slow':
        link.mostUs = Math.max(link.mostUs, fault.delayMs * 1_000);
        later(fault.forMs, () => (link.mostUs = 500));
        return true;
      case 'hold':
        link.nextHold = fault;
        return true;
      case 'late':
        link.nextLate = fault;
        return true;
      case 'refuse':
        redis.master(fault.master).refusing =
          fault.forMs === undefined
            ? { error: fault.error, left: fault.count, untilUs: Infinity }
            : { error: fault.error, left: Infinity, untilUs: scheduler.nowUs + fault.forMs * 1_000 };
        return true;
      case 'flush':
        redis.master(fault.master).server.scripts.flush();
        return true;
      case 'evict':
        return redis.evict(fault.onlyWithTtl) !== undefined;
      case 'stranger':
        return redis.meddle(fault.act);
      case 'redis-clock':
        redis.moveClock(fault.byMs);
        return true;
      case 'clock':
        process.moveWallClock(fault.byMs);
        return true;
      case 'drift':
        member.speed = 1 + fault.percent / 100;
        process.setSpeed(member.speed);
        return true;
      case 'failover': {
        // Redis promises nothing for a slot that moves to a master that fails, or for two failovers at a time.
        if (redis.slots?.isBusy(fault.master)) return false;
        const kept = redis.memory.snapshot();
        const node = redis.master(fault.master);
        node.failovers += 1;
        // Like all faults, it has happened before the end of the faults.
        const leftMs = this.world.plan.endMs - scheduler.nowUs / 1_000;
        later(Math.min(fault.lostMs, leftMs), () => {
          node.failovers -= 1;
          model.disturbed?.(fault);
          const promote = redis.failOver(fault.master, kept, fault.part);
          // A server that starts has no scripts, and a replica never gets them.
          node.server.scripts.flush();
          this.takeDown(node, fault.downMs, promote);
        });
        return true;
      }
      case 'redis-down': {
        const node = redis.master(fault.master);
        if (fault.scripts === 0) {
          this.takeDown(node, fault.downMs);
          return true;
        }
        node.dying = { scripts: fault.scripts, die: () => this.takeDown(node, fault.downMs) };
        const { dying } = node;
        later(fault.withinMs, () => {
          if (node.dying === dying) node.dying = undefined;
        });
        return true;
      }
      case 'reshard':
        return redis.reshard(fault.forMs);
    }
  }

  /** Returns the fault with the time until the moment for which it waits, or within 2 ms of that. */
  private untilItsEdge(fault: Fault, { link }: Member): Fault {
    if (!('edge' in fault) || fault.edge === undefined) return fault;
    const { redis, scheduler } = this.world;
    const repliesUs = 'repliesMs' in fault ? fault.repliesMs * 1_000 : 0;
    const ends = redis.endsAfter(scheduler.nowUs + repliesUs + 1_000);
    const endUs = ends[fault.edge % Math.max(1, ends.length)] ?? scheduler.nowUs + repliesUs;
    const forUs = endUs + link.random.integer(-500, 1_500) - scheduler.nowUs - repliesUs;
    return { ...fault, forMs: Math.max(0, forUs) / 1_000 };
  }

  private takeDown(node: RedisNode, ms: number, isUp: () => void = () => undefined): void {
    const { scheduler } = this.world;
    node.resetAll();
    node.downSinceUs ??= scheduler.nowUs;
    scheduler.at(scheduler.nowUs + ms * 1_000, () => {
      node.downSinceUs = undefined;
      isUp();
    });
  }
}
