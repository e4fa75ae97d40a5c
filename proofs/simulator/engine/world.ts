import type { INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { RedisError, type Reply } from '../../../libs/memory-redis/src/reply';
import { Faults } from './faults';
import { bootOf, Member } from './member';
import { MILD_FROM_MS, MOST_DRIFT, type Fault, type Plan, type Planner } from './plan';
import { Process } from './process';
import { Random } from './random';
import { RedisHost } from './redis-host';
import { nameOfScript, Replays } from './replays';
import { Scheduler } from './scheduler';

/** Work of a lib in a run, and what must hold. */
export interface Lib<Settings = unknown, Operation = unknown> extends Planner {
  settings(random: Random): Settings;
  operation(random: Random, settings: Settings): Operation;
  /** Time after the last fault in which something must settle, if anything is left, ms. */
  settleMs(settings: Settings): number;
  start(world: World, settings: Settings): Model<Operation>;
}

/** Work and state of a lib in one run. */
export interface Model<Operation = unknown> {
  /** Returns the modules of an app of the lib. Called within the process, each time it starts. */
  app(member: Member): ModuleMetadata;
  /** Called within the process when its app has started. */
  started?(member: Member): void;
  /** Does an operation within the process. It must catch the errors that the README names. */
  perform(member: Member, operation: Operation): Promise<void>;
  /** Called before a fault that takes effect. */
  disturbed?(fault: Fault): void;
  /** Called within the process when its app has closed. */
  hasClosed?(member: Member): void;
  /** Returns how much has not settled yet. While it gets less, the run goes on. 0 ends it, if nothing can begin again. */
  left?(): number;
  /** Does what ends the work of the lib, within a process that is up, when everything has settled. */
  finish?(member: Member): Promise<void>;
  /** Called when everything must have settled, before the processes close. */
  settled?(): void;
  /** Called after all processes have closed. */
  closed?(): void;
  /** True for a key that needs no TTL. Default: each key needs one. */
  lives?(key: string): boolean;
}

/** More steps than this mean that something runs in a circle. */
const MOST_STEPS = 300_000;
/** How often a process sends a script for one key at most while Redis refuses all scripts, which it does for up to 2.4 s. */
const MOST_REFUSALS = 100;

/** A violation ends the run. */
class Violation extends Error {}

export interface Result {
  readonly steps: number;
  readonly violation: string | undefined;
  readonly hash: string;
  readonly faults: Readonly<Record<string, number>>;
}

/** A script that a process has sent: its n-th, from 1. */
interface Sent {
  readonly p: number;
  readonly script: number;
  readonly words: readonly string[];
  readonly sentUs: number;
}

/** A script that Redis has run. */
export interface RanScript {
  readonly p: number;
  readonly script: number;
  readonly name: string;
  readonly keys: readonly string[];
  readonly sentUs: number;
  readonly ranUs: number;
}

/** One run: processes of an app, their Redis, and what happens to them. */
export class World {
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly redis: RedisHost;
  readonly members: Member[];
  /** True after the last fault and operation. */
  isHealed = false;
  /** True once all processes close. None is started again. */
  private isEnding = false;
  /** Scripts that processes have sent before the last fault or operation, by what they were and what Redis replied. */
  readonly situations = new Map<string, { readonly p: number; readonly script: number }[]>();
  /** Scripts that Redis has run before the last fault or operation, in this order. */
  readonly ran: RanScript[] = [];
  /** Faults that have happened. */
  readonly had = new Set<Fault['kind']>();
  /** Faults that wait until another process sends this script. */
  private followers: {
    readonly p: number;
    readonly name: string;
    readonly own: boolean;
    readonly fault: Fault;
    skip: number;
  }[] = [];
  /** How many calls the faults so far have broken; Infinity after a fault that is not brief. */
  private brokenCalls = 0;
  /** How often Redis has refused a script of a process for a key, since it began to refuse all scripts. */
  private readonly refusals = new Map<string, number>();
  /** How long Redis has refused all scripts so far, in all, ms; Infinity if it refused some of them at another time. */
  private refusedMs = 0;
  /** Lines of the table, if it is wanted. */
  readonly lines: { readonly us: number; readonly actor: string; readonly text: string }[] | undefined;
  private hash = 0x811c9dc5;
  private violation: string | undefined;
  private readonly faults: Record<string, number> = {};
  private readonly injector = new Faults(this);
  model!: Model;
  /** Processes whose app has closed, but which have not ended. */
  private readonly closedProcesses = new Set<Process>();
  private readonly pending = new Map<object, { process: Process; what: string }>();

  constructor(
    private readonly lib: Lib,
    readonly plan: Plan,
    records = false,
  ) {
    this.random = new Random(plan.seed, 'run');
    this.scheduler = new Scheduler(this.random.named('order'));
    this.redis = new RedisHost(this.scheduler, this.random.named('redis'), plan.masters);
    this.lines = records ? [] : undefined;
    Process.records = records;
    Process.seed = plan.seed;
    this.members = Array.from({ length: plan.processes }, (_, index) => new Member(this, index));
    const replays = new Replays(this.redis.memory.server.db, (name) => this.hasChanged(name));
    for (const node of this.redis.nodes) {
      node.watch = (words) => replays.watch(words);
      const at = plan.masters > 1 ? ` at ${node.port}` : '';
      node.ran = (process, words, reply) => {
        this.note('redis', () => `${process}${at}: ${this.shown(words)} -> ${shown(reply)}`);
        if (reply instanceof RedisError && node.refusing?.left === Infinity) this.expectPause(process, words);
      };
    }
  }

  /** Runs the plan. */
  run(): Result {
    try {
      this.model = this.lib.start(this, this.plan.settings);
      for (const member of this.members) this.startFirst(member);
      for (const element of this.plan.elements) {
        if ('script' in element) continue;
        this.scheduler.at(element.atMs * 1_000, () => {
          if ('fault' in element) this.inject(element.fault);
          else this.perform(element.p, element.operation);
        });
      }
      for (const { index, link } of this.members) {
        link.sends = (script, name) => this.sends(index, script, name);
        link.ran = (script, words, reply, sentUs) => this.remember({ p: index, script, words, sentUs }, reply);
      }
      this.advance(this.plan.endMs);
      this.heal();
      this.settle();
      this.expectSettled();
      this.finish();
      this.model.settled?.();
      if (this.violation !== undefined) throw new Violation(this.violation);
      this.close();
      this.model.closed?.();
      this.expectTtls();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
    }
    for (const process of [...this.closedProcesses, ...this.members.map((member) => member.process)]) process.kill();
    return {
      steps: this.scheduler.steps,
      violation: this.violation,
      hash: (this.hash >>> 0).toString(16).padStart(8, '0') + this.redis.hash(),
      faults: this.faults,
    };
  }

  get nowUs(): number {
    return this.scheduler.nowUs;
  }

  /** True while the run has had no fault. */
  get isCalm(): boolean {
    return this.had.size === 0;
  }

  /** True if the run had no fault so far, or only short ones with long pauses between them. */
  get isMild(): boolean {
    return this.plan.mild || this.isCalm;
  }

  /**
   * True if nothing so far has made a holder lose a lease that is renewed. A renewal that Redis refuses is repeated, so a lease of which a
   * third and a little more passes in refusals has some time left.
   */
  keepsLeases(leaseMs: number): boolean {
    const isBrief = leaseMs >= MILD_FROM_MS && this.refusedMs <= 0.45 * leaseMs;
    return this.isMild || (isBrief && this.hadOnly('refuse', 'flush', 'deaf'));
  }

  /** For how long the reply to a call is awaited that is repeated for up to a lease, ms. */
  replyMs(leaseMs: number): number {
    return this.plan.client.deadlineMs + leaseMs;
  }

  /** True if the run had no faults so far but brief ones, each of which broke one call or none, and of those at most `most`. */
  isBrief(most: number): boolean {
    return this.brokenCalls <= most;
  }

  /** How much later a process may notice the end of a time of Redis, because its clock is slow. At most ten leases are counted. */
  get driftUs(): number {
    if (!this.had.has('drift')) return 0;
    return (MOST_DRIFT / 100) * 10 * this.lib.scaleMs(this.plan.settings as never) * 1_000;
  }

  /** True if the run has had no other faults than these so far. */
  hadOnly(...kinds: Fault['kind'][]): boolean {
    return [...this.had].every((kind) => kinds.includes(kind));
  }

  /** Reports that something does not hold. The run ends after the step. */
  violate(what: string): void {
    this.violation ??= what;
    this.note('check', () => `VIOLATION: ${what}`);
  }

  expect(holds: boolean, what: () => string): void {
    if (!holds) this.violate(what());
  }

  /** A call that fails is repeated after a pause: while Redis refuses all scripts, no process asks without end. */
  private expectPause(process: string, [, sha = '', , key = '']: readonly string[]): void {
    const script = nameOfScript(sha);
    if (script === undefined) return;
    const call = `${process} ${script} ${key}`;
    const count = (this.refusals.get(call) ?? 0) + 1;
    this.refusals.set(call, count);
    this.expect(count <= MOST_REFUSALS, () => `${process} has sent ${script} ${count} times while Redis refuses it`);
  }

  /** Called when the second run of a call has changed something although its header says that it does not. */
  private hasChanged(script: string): void {
    // What it knows the first run by may be gone.
    const isExcused = (['evict', 'failover', 'redis-clock', 'stranger'] as const).some((kind) => this.had.has(kind));
    this.expect(isExcused, () => `the script ${script} ran twice for one call, and has changed something again`);
  }

  /** Adds a line to the trace, and to the hash of the run. */
  note(actor: string, text: () => string): void {
    this.mix(this.scheduler.nowUs);
    this.mix(this.scheduler.steps);
    if (this.lines === undefined) return;
    this.lines.push({ us: this.scheduler.nowUs, actor, text: text() });
  }

  /** Runs code in a process now, between two of its turns, unless it has died. */
  within(member: Member, code: () => void): void {
    member.process.receive(this.nowUs, code);
  }

  /** Watches a promise of a process that must settle, unless the process dies. */
  watch(process: Process, promise: Promise<unknown>, what: string): void {
    const entry = {};
    this.pending.set(entry, { process, what: `${process.name}: ${what}` });
    const end = (): void => void this.pending.delete(entry);
    promise.then(end, end);
  }

  private mix(value: number): void {
    this.hash = Math.imul(this.hash ^ (value & 0xffff), 0x01000193);
    this.hash = Math.imul(this.hash ^ (value >>> 16), 0x01000193);
  }

  private advance(ms: number): void {
    const until = this.scheduler.nowUs + ms * 1_000;
    while (this.scheduler.nowUs < until) {
      const ended = this.scheduler.run(Math.min(until, this.scheduler.nowUs + 50_000), MOST_STEPS);
      if (!ended) this.violate(`more than ${MOST_STEPS} steps`);
      if (this.violation !== undefined) throw new Violation(this.violation);
    }
  }

  /** Starts a node again, unless another process has replaced the one that ended. */
  restart(member: Member, ended: Process): void {
    if (member.process === ended && !this.isEnding) this.start(member);
  }

  /** Starts a node for the first time: some of them later than the others. */
  private startFirst(member: Member): void {
    if (member.index === 0 || !this.random.chance(0.3)) return this.start(member);
    const nobody = new Process(this.scheduler, member.name, 1_000 + member.index * 100, this.random.named(member.name));
    nobody.kill();
    member.process = nobody;
    this.scheduler.at(this.random.magnitude(1, 3_000) * 1_000, () => this.restart(member, nobody));
  }

  private start(member: Member): void {
    member.life++;
    const random = this.random.named(`${member.name} ${member.life}`);
    const process = new Process(this.scheduler, member.name, 1_000 + member.index * 100 + member.life, random);
    process.setSpeed(member.speed);
    member.process = process;
    member.app = undefined;
    const life = member.life;
    process.crashed = (error) => this.violate(`${member.name} ended by an error that nobody caught: ${stackOf(error)}`);
    this.note(member.name, () => `starts (${life})`);
    process.run(() => {
      const booted = bootOf(member, this.model.app(member)).then((app) => {
        member.app = app;
        this.note(member.name, () => 'is up');
        this.model.started?.(member);
      });
      this.watch(process, booted, 'boot');
      // An app whose boot fails ends, and is started again.
      booted.catch((error: unknown) => {
        this.expect(!this.isCalm, () => `nothing is wrong, but ${member.name} does not boot: ${stackOf(error)}`);
        this.note(member.name, () => `does not boot: ${stackOf(error)}`);
        this.scheduler.at(this.nowUs + 500_000, () => {
          if (member.process !== process || process.isDead) return;
          this.kill(member);
          this.restart(member, process);
        });
      });
    });
  }

  private perform(p: number, operation: unknown): void {
    const member = this.members[p];
    if (member === undefined || member.process.isDead) return;
    const { process } = member;
    process.receive(this.nowUs, () => {
      if (member.app === undefined || member.process !== process) return;
      this.note(member.name, () => `begins ${JSON.stringify(operation)}`);
      this.watch(process, this.model.perform(member, operation), JSON.stringify(operation));
    });
  }

  private sends(p: number, script: number, name: string): void {
    for (const follower of this.followers.filter((one) => one.name === name && (one.p === p) === one.own)) {
      if (follower.skip-- > 0) continue;
      this.followers = this.followers.filter((one) => one !== follower);
      this.meets({ ...follower.fault, ...('p' in follower.fault && { p }) });
    }
    for (const element of this.plan.elements) {
      if (!('script' in element) || element.p !== p || element.script !== script) continue;
      if (element.next !== undefined) this.followers.push({ ...element.next, p, name });
      this.meets(element.fault);
    }
  }

  private remember({ p, script, words, sentUs }: Sent, reply: Reply): void {
    if (this.isHealed) return;
    const sha = words[1] ?? '';
    const name = nameOfScript(sha) ?? sha;
    const situation = `${name} ${kindOf(reply)}`;
    const some = this.situations.get(situation) ?? [];
    this.situations.set(situation, [...some, { p, script }]);
    const keys = words.slice(3, 3 + Number(words[2]));
    this.ran.push({ p, script, name, keys, sentUs, ranUs: this.scheduler.nowUs });
  }

  /** Makes a fault happen to a script that is sent now. Those of the connection meet this script; the others come when it has been sent. */
  private meets(fault: Fault): void {
    if (['cut', 'hold', 'late'].includes(fault.kind)) this.inject(fault);
    else this.scheduler.at(this.nowUs, () => this.inject(fault));
  }

  /** Makes a fault happen. */
  inject(fault: Fault): void {
    if (this.isHealed) return;
    if (!this.injector.apply(fault)) return;
    this.had.add(fault.kind);
    this.brokenCalls += brokenCallsOf(fault);
    if (fault.kind === 'refuse') this.refusedMs += fault.forMs ?? Infinity;
    if (fault.kind === 'refuse') this.refusals.clear();
    this.faults[fault.kind] = (this.faults[fault.kind] ?? 0) + 1;
    this.note('fault', () => JSON.stringify(fault));
  }

  /** True if the app of a process has closed, but the process has not ended. */
  hasClosed(process: Process): boolean {
    return this.closedProcesses.has(process);
  }

  kill(member: Member): void {
    member.process.kill();
    member.app = undefined;
    for (const socket of member.link.sockets) socket.abandon();
  }

  private settle(): void {
    const { settings } = this.plan;
    const leftNow = (): number => this.unended().length + (this.model.left?.() ?? 0);
    // Late requests, and leases that nobody renews, end in this time.
    this.advance(3_000 + 2 * this.lib.scaleMs(settings as never));
    let before: number;
    let left = Infinity;
    do {
      const untilUs = this.nowUs + this.lib.settleMs(settings) * 1_000;
      while (this.nowUs < untilUs && leftNow() > 0) this.advance(500);
      before = left;
      left = leftNow();
    } while (left > 0 && left < before);
  }

  private finish(): void {
    const member = this.members.find(({ app }) => app !== undefined);
    if (this.model.finish === undefined || member === undefined) return;
    const { process } = member;
    process.receive(this.nowUs, () => this.watch(process, (this.model as Required<Model>).finish(member), 'the end'));
    this.settle();
    this.expectSettled();
  }

  private heal(): void {
    this.isHealed = true;
    for (const node of this.redis.nodes)
      Object.assign(node, { downSinceUs: undefined, refusing: undefined, dying: undefined });
    for (const member of this.members) member.dying = undefined;
    for (const { link } of this.members) {
      Object.assign(link, {
        mostUs: 500,
        holds: [],
        nextHold: undefined,
        nextLate: undefined,
        cuts: [],
        cutAtPush: false,
      });
    }
    this.note('fault', () => 'no more faults');
    for (const member of this.members) {
      const { process } = member;
      if (process.isDead || this.closedProcesses.has(process)) this.restart(member, process);
    }
  }

  /** Calls and boots of live processes that have not ended. */
  private unended(): string[] {
    return [...this.pending.values()].filter(({ process }) => !process.isDead).map(({ what }) => what);
  }

  private expectSettled(): void {
    const left = this.unended();
    if (left.length > 0) this.violate(`never settles: ${left.join(', ')}`);
    if (this.violation !== undefined) throw new Violation(this.violation);
  }

  closeMember(member: Member, closed: () => void): void {
    const { process, app } = member;
    member.app = undefined;
    this.note(member.name, () => 'closes');
    process.receive(this.nowUs, () => {
      const closing = (app as INestApplicationContext).close().then(() => {
        this.note(member.name, () => 'has closed');
        this.model.hasClosed?.(member);
        this.closedProcesses.add(process);
        // What a socket still has to do takes a moment, and longer on a slow link: one that still connects is closed when it has.
        const { holds, lastArrivalUs, mostUs } = member.link;
        const openedUs = Math.max(this.nowUs, lastArrivalUs, ...holds.map(({ toUs }) => toUs)) + 4 * mostUs;
        // ioredis sets a timer of 2 s when it disconnects from a server that is down.
        const isSlow = this.plan.masters > 1 || this.had.has('redis-down');
        this.expectEnd(process, openedUs, isSlow ? 2_100_000 : 100_000);
        closed();
      });
      this.watch(process, closing, 'close');
    });
  }

  /** Expects that nothing is left some time after a process has closed, in which it is not stopped. */
  private expectEnd(process: Process, fromUs: number, lingerUs: number): void {
    const { stoppedUs } = process;
    this.scheduler.at(Math.max(fromUs, process.nowUs, process.busyUntilUs) + lingerUs, () => {
      if (process.stoppedUs > stoppedUs) this.expectEnd(process, this.nowUs, lingerUs);
      else this.expectNothingLeft(process, false);
    });
  }

  /** @param all also what does not keep the process from ending */
  private expectNothingLeft(process: Process, all: boolean): void {
    if (process.isDead) return;
    // A socket that connects ends by itself: when it is connected, or after its time for that.
    const sockets = [...this.members.flatMap(({ link }) => [...link.sockets])].filter(
      (socket) => socket.process === process && (all || !socket.connecting),
    );
    const left = [...process.left(all), ...sockets.map(() => 'a socket')];
    this.expect(left.length === 0, () => `after close ${process.name} still has ${left.join(', ')}`);
  }

  private close(): void {
    this.isEnding = true;
    const open = this.members.filter(({ app }) => app !== undefined);
    for (const member of open) this.closeMember(member, () => undefined);
    this.advance(30_000);
    this.expectSettled();
    for (const process of this.closedProcesses) this.expectNothingLeft(process, true);
    if (this.redis.connections > 0) this.violate(`${this.redis.connections} connections are left`);
    if (this.violation !== undefined) throw new Violation(this.violation);
  }

  private expectTtls(): void {
    for (const key of this.redis.memory.run('KEYS', ['*']) as string[]) {
      if (this.model.lives?.(key) !== true && this.redis.memory.run('PTTL', [key]) === -1) {
        this.violate(`the key ${key} has no TTL`);
      }
    }
  }

  private shown(words: readonly string[]): string {
    return words.map((word) => word.slice(0, 60)).join(' ');
  }
}

/** Returns how many calls a fault breaks; Infinity if it lasts, or if it may break any number of them. */
function brokenCallsOf(fault: Fault): number {
  if (fault.kind === 'flush' || fault.kind === 'deaf') return 0;
  if (fault.kind === 'refuse') return fault.forMs === undefined ? fault.count : Infinity;
  return fault.kind === 'cut' && fault.how !== 'late' ? 1 : Infinity;
}

/** Returns the kind of a reply, such as whether a script has taken something: a word of it, or the sign of a number. */
function kindOf(reply: Reply | undefined): string {
  if (reply instanceof RedisError) return reply.message.split(' ', 1)[0] as string;
  if (Array.isArray(reply)) return `${kindOf(reply[0] as Reply | undefined)}${Math.min(reply.length, 4)}`;
  if (typeof reply === 'number') return String(Math.sign(reply));
  return typeof reply === 'string' && /^[a-z-]+$/.test(reply) ? reply : typeof reply;
}

function shown(reply: unknown): string {
  if (reply instanceof Error) return reply.message;
  const text = typeof reply === 'string' ? reply : JSON.stringify(reply);
  return text.slice(0, 120);
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message).split('\n').slice(0, 6).join(' | ') : String(error);
}
