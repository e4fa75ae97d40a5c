import type { Fault } from './plan';
import type { Member } from './member';
import type { Process } from './process';
import type { RedisHost } from './redis-host';
import type { Scheduler } from './scheduler';

/** The part of the world that faults act on. */
export interface Targets {
  readonly redis: RedisHost;
  readonly scheduler: Scheduler;
  readonly members: readonly Member[];
  readonly model: { disturbed?(fault: Fault): void };
  readonly isHealed: boolean;
  hasClosed(process: Process): boolean;
  kill(member: Member): void;
  restart(member: Member, ended: Process): void;
  closeMember(member: Member, closed: () => void): void;
}

/** Makes faults happen in a run. */
export class Faults {
  constructor(private readonly world: Targets) {}

  /** @returns false if the fault has nothing to act on now */
  apply(fault: Fault): boolean {
    const { redis, scheduler, members, model } = this.world;
    const member = members['p' in fault ? fault.p : 0];
    if (member === undefined) return false;
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
      case 'refuse':
        redis.refusing = { error: fault.error, left: fault.count };
        return true;
      case 'flush':
        redis.memory.run('SCRIPT', ['FLUSH']);
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
      case 'failover': {
        const kept = redis.memory.snapshot();
        redis.failovers += 1;
        later(fault.lostMs, () => {
          redis.failovers -= 1;
          model.disturbed?.(fault);
          redis.failOver(kept, fault.part);
          this.takeDown(fault.downMs);
        });
        return true;
      }
      case 'redis-down': {
        if (fault.scripts === 0) {
          this.takeDown(fault.downMs);
          return true;
        }
        redis.dying = { scripts: fault.scripts, die: () => this.takeDown(fault.downMs) };
        const { dying } = redis;
        later(fault.withinMs, () => {
          if (redis.dying === dying) redis.dying = undefined;
        });
        return true;
      }
    }
  }

  private takeDown(ms: number): void {
    const { redis, scheduler } = this.world;
    redis.resetAll();
    redis.isDown = true;
    scheduler.at(scheduler.nowUs + ms * 1_000, () => (redis.isDown = false));
  }
}
