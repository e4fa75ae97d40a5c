import type { INestApplicationContext, ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type * as Registry from '../../../libs/script-registry/src';
import { ClientSocket, Link } from './network';
import type { Fault, Plan, Planner } from './plan';
import { Process } from './process';
import { Random } from './random';
import { RedisHost } from './redis-host';
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
  /** Returns how much has not settled yet. While it gets less, the run goes on. */
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

/** A node of the app: a process, and those that replaced it. */
export class Member {
  process!: Process;
  app: INestApplicationContext | undefined;
  /** How often it was started. */
  life = 0;
  readonly link: Link;

  constructor(
    readonly world: World,
    readonly index: number,
  ) {
    this.link = new Link(world.random.named(`link ${index}`));
  }

  get name(): string {
    return `p${this.index + 1}`;
  }

  /** Loads a lib in the process: `load<typeof import('luanest/lock')>('luanest/lock')`. */
  load<Exports>(request: string): Exports {
    return this.process.modules.load(request) as Exports;
  }

  /** Pauses code of the process. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void (this.process.addTimer(resolve, Math.max(1, ms), false).isUsers = true));
  }

  get nowUs(): number {
    return this.process.nowUs;
  }
}

/** More steps than this mean that something runs in a circle. */
const MOST_STEPS = 300_000;

/** A violation ends the run. */
class Violation extends Error {}

export interface Result {
  readonly steps: number;
  readonly violation: string | undefined;
  readonly hash: string;
  readonly faults: Readonly<Record<string, number>>;
}

/** One run: processes of an app, their Redis, and what happens to them. */
export class World {
  readonly random: Random;
  readonly scheduler: Scheduler;
  readonly redis: RedisHost;
  readonly members: Member[];
  /** True after the last fault and operation. */
  isHealed = false;
  /** Faults that have happened. */
  readonly had = new Set<Fault['kind']>();
  /** Lines of the table, if it is wanted. */
  readonly lines: { readonly us: number; readonly actor: string; readonly text: string }[] | undefined;
  private hash = 0x811c9dc5;
  private violation: string | undefined;
  private readonly faults: Record<string, number> = {};
  private model!: Model;
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
    this.redis = new RedisHost(this.scheduler, this.random.named('redis'));
    this.lines = records ? [] : undefined;
    Process.records = records;
    this.members = Array.from({ length: plan.processes }, (_, index) => new Member(this, index));
    this.redis.ran = (process, words, reply) =>
      this.note('redis', () => `${process}: ${this.shown(words)} -> ${shown(reply)}`);
  }

  /** Runs the plan. */
  run(): Result {
    try {
      this.model = this.lib.start(this, this.plan.settings);
      for (const member of this.members) this.start(member);
      for (const element of this.plan.elements) {
        this.scheduler.at(element.atMs * 1_000, () => {
          if ('fault' in element) this.inject(element.fault);
          else this.perform(element.p, element.operation);
        });
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
      hash: (this.hash >>> 0).toString(16).padStart(8, '0') + this.redis.memory.digest(),
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

  /** Adds a line to the trace, and to the hash of the run. */
  note(actor: string, text: () => string): void {
    this.mix(this.scheduler.nowUs);
    this.mix(this.scheduler.steps);
    if (this.lines === undefined) return;
    this.lines.push({ us: this.scheduler.nowUs, actor, text: text() });
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

  private start(member: Member): void {
    const { link } = member;
    member.life++;
    const random = this.random.named(`${member.name} ${member.life}`);
    const process = new Process(this.scheduler, member.name, 1_000 + member.index * 100 + member.life, random);
    member.process = process;
    member.app = undefined;
    const life = member.life;
    process.crashed = (error) => this.violate(`${member.name} ended by an error that nobody caught: ${stackOf(error)}`);
    const connect = (): ClientSocket => new ClientSocket(process, link, this.redis, this.scheduler);
    const connector = class {
      private socket: ClientSocket | undefined;
      check(): boolean {
        return true;
      }
      connect(): Promise<ClientSocket> {
        this.socket = connect();
        return Promise.resolve(this.socket);
      }
      disconnect(): void {
        this.socket?.destroy();
      }
    };
    this.note(member.name, () => `starts (${life})`);
    process.run(() => {
      const { ScriptRegistryModule } = member.load<typeof Registry>('luanest/script-registry');
      const { resends, protocol, grouping, deadlineMs } = this.plan.client;
      const registry = ScriptRegistryModule.forRoot({
        connection: {
          Connector: connector as never,
          autoResendUnfulfilledCommands: resends,
          protocol,
          disableClientInfo: true,
        },
        grouping,
        deadlineMs,
      });
      const { imports = [], ...rest } = this.model.app(member);
      const root = { module: class App {}, ...rest, imports: [registry, ...imports] };
      const booted = NestFactory.createApplicationContext(root, { logger: false, abortOnError: false }).then((app) => {
        member.app = app;
        this.note(member.name, () => 'is up');
        this.model.started?.(member);
      });
      this.watch(process, booted, 'boot');
      // An app whose boot fails ends, and is started again.
      booted.catch((error: unknown) => {
        this.note(member.name, () => `does not boot: ${stackOf(error)}`);
        this.scheduler.at(this.nowUs + 500_000, () => {
          if (member.process !== process || process.isDead) return;
          this.kill(member);
          this.start(member);
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

  private inject(fault: Fault): void {
    if (!this.take(fault)) return;
    this.had.add(fault.kind);
    this.faults[fault.kind] = (this.faults[fault.kind] ?? 0) + 1;
    this.note('fault', () => JSON.stringify(fault));
  }

  /** @returns false if the fault has nothing to act on now */
  private take(fault: Fault): boolean {
    const { redis, scheduler } = this;
    const member = this.members['p' in fault ? fault.p : 0];
    if (member === undefined) return false;
    const { link, process } = member;
    const later = (ms: number, run: () => void): void => scheduler.at(scheduler.nowUs + ms * 1_000, run);
    if ('p' in fault && (process.isDead || this.closedProcesses.has(process))) return false;
    this.model.disturbed?.(fault);
    switch (fault.kind) {
      case 'kill':
        this.kill(member);
        later(fault.downMs, () => this.start(member));
        return true;
      case 'close':
        if (member.app === undefined) return false;
        this.closeMember(member, () => later(fault.downMs, () => member.process === process && this.start(member)));
        return true;
      case 'stop':
        if (fault.readings > 0) process.stopAtReading(fault.readings, fault.forMs * 1_000);
        else process.stop(fault.forMs * 1_000);
        return true;
      case 'cut':
        link.cut = { kind: fault.how, lateUs: fault.lateMs * 1_000 };
        return true;
      case 'deaf':
        link.cutAtPush = true;
        return true;
      case 'slow':
        link.mostUs = Math.max(link.mostUs, fault.delayMs * 1_000);
        later(fault.forMs, () => (link.mostUs = 500));
        return true;
      case 'hold':
        link.heldUntilUs = Math.max(link.heldUntilUs, scheduler.nowUs + fault.forMs * 1_000);
        return true;
      case 'refuse':
        redis.refusing = { error: fault.error, left: fault.count };
        return true;
      case 'flush':
        redis.memory.run('SCRIPT', ['FLUSH']);
        return true;
      case 'evict':
        return redis.evict(fault.onlyWithTtl) !== undefined;
      case 'redis-clock':
        redis.moveClock(fault.byMs);
        return true;
      case 'clock':
        process.moveWallClock(fault.byMs);
        return true;
      case 'failover': {
        const kept = redis.memory.snapshot();
        later(fault.lostMs, () => {
          this.model.disturbed?.(fault);
          redis.failOver(kept);
          this.takeDown(fault.downMs);
        });
        return true;
      }
      case 'redis-down':
        redis.resetAll();
        this.takeDown(fault.downMs);
        return true;
    }
  }

  private takeDown(ms: number): void {
    this.redis.isDown = true;
    this.scheduler.at(this.nowUs + ms * 1_000, () => (this.redis.isDown = false));
  }

  private kill(member: Member): void {
    member.process.kill();
    member.app = undefined;
    for (const socket of member.link.sockets) socket.abandon();
  }

  private settle(): void {
    let before: number;
    let left = Infinity;
    do {
      this.advance(this.lib.settleMs(this.plan.settings));
      before = left;
      left = this.model.left?.() ?? 0;
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
    this.redis.isDown = false;
    this.redis.refusing = undefined;
    for (const { link } of this.members) {
      Object.assign(link, { mostUs: 500, heldUntilUs: 0, cut: undefined, cutAtPush: false });
    }
    this.note('fault', () => 'no more faults');
  }

  private expectSettled(): void {
    const left = [...this.pending.values()].filter(({ process }) => !process.isDead).map(({ what }) => what);
    if (left.length > 0) this.violate(`never settles: ${left.join(', ')}`);
    if (this.violation !== undefined) throw new Violation(this.violation);
  }

  private closeMember(member: Member, closed: () => void): void {
    const { process, app } = member;
    member.app = undefined;
    this.note(member.name, () => 'closes');
    process.receive(this.nowUs, () => {
      const closing = (app as INestApplicationContext).close().then(() => {
        this.note(member.name, () => 'has closed');
        // What a socket still has to do takes a moment.
        this.closedProcesses.add(process);
        this.scheduler.at(this.nowUs + 100_000, () => this.expectNothingLeft(process, false));
        closed();
      });
      this.watch(process, closing, 'close');
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

function shown(reply: unknown): string {
  if (reply instanceof Error) return reply.message;
  const text = typeof reply === 'string' ? reply : JSON.stringify(reply);
  return text.slice(0, 120);
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message).split('\n').slice(0, 6).join(' | ') : String(error);
}
