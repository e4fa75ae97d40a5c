import type { ModuleMetadata } from '@nestjs/common';
import type * as Tasks from '../../../libs/delayed-task/src';
import type { Fault } from '../engine/plan';
import type { Process } from '../engine/process';
import type { Member } from '../engine/member';
import type { Lib, Model, World } from '../engine/world';
import { codeOf } from './codes';

interface Settings {
  readonly leaseMs: number;
  readonly partitions: number;
  readonly concurrency: number;
  readonly attempts: number;
}

interface Operation {
  readonly kind: 'schedule' | 'wait' | 'listen';
  readonly delayMs: number;
  /** How long the work takes, in pieces after which it reports its progress. */
  readonly pieces: readonly number[];
  readonly fails: number;
  /** How long a caller waits for a task, or another listener listens, ms. */
  readonly forMs: number;
}

interface Payload {
  readonly pieces: readonly number[];
  readonly fails: number;
}

/** An event that a process has given to its broadcast. */
interface Sent {
  readonly number: number;
  /** Text of the event, by which the model knows it again. */
  readonly text: string;
  /** The attempt that it is of: events of one attempt come in their order. */
  readonly attempt: string;
  readonly member: Member;
  readonly process: Process;
  readonly atUs: number;
}

interface Listener {
  readonly process: Process;
  readonly sinceUs: number;
  /** When it stopped. */
  untilUs: number;
  /** Numbers of the events that it got. */
  readonly heard: Set<number>;
  /** Time of its last `missed` event. */
  missedUs: number;
}

/** Time in which an event is sent if nothing is wrong, us: a worker collects for 50 ms. */
const SOON_US = 2_000_000;

/** Checks what the README of delayed-task says about events in other processes, progress and `waitFor`. */
class EventModel implements Model<Operation> {
  private readonly sent: Sent[] = [];
  private readonly listeners: Listener[] = [];
  /** When the app of a process began to close. */
  private readonly closedUs = new Map<Process, number>();
  /** Until when messages of a process were held back. */
  private readonly heldUntilUs = new Map<Process, number>();
  private readonly done = new Map<string, number>();
  private lastId = 0;
  private lastProgress = 0;
  private excused = false;

  constructor(
    private readonly world: World,
    private readonly options: Settings,
  ) {}

  app(member: Member): ModuleMetadata {
    const { DelayedTaskModule, DelayedTaskEvents } = member.load<typeof Tasks>('luanest/delayed-task');
    const { process } = member;
    process.channel(DelayedTaskEvents.attemptSettled).subscribe((event) => {
      const { id, attempt, status } = event as Tasks.DelayedTaskEvents['attemptSettled'];
      if (status === 'done') this.done.set(id, this.world.nowUs);
      this.sends(member, process, id, attempt, status);
    });
    process.channel(DelayedTaskEvents.tasksBuried).subscribe((event) => {
      const { tasks } = event as Tasks.DelayedTaskEvents['tasksBuried'];
      for (const { id, attempt } of tasks) this.sends(member, process, id, attempt, 'dead');
    });
    const { leaseMs, partitions, concurrency, attempts } = this.options;
    const limits = { leaseMs, partitions, concurrency, attempts, drainMs: 500, abortGraceMs: 100 };
    const module = DelayedTaskModule.forRoot({ ...limits, backoff: { delayMs: 50 }, broadcastEvents: true });
    return { imports: [module] };
  }

  started(member: Member): void {
    const tasks = this.tasksOf(member);
    tasks.handle('work', (payload: Payload, task) => this.handle(member, payload, task));
    void this.listen(member);
  }

  disturbed(fault: Fault): void {
    // What Redis has lost it may do again, with the same numbers.
    this.excused ||= fault.kind === 'evict' || fault.kind === 'failover';
    const process = 'p' in fault ? this.world.members[fault.p]?.process : undefined;
    if (process && (fault.kind === 'kill' || fault.kind === 'close')) this.closedUs.set(process, this.world.nowUs);
    if (process && fault.kind === 'hold') {
      const untilUs = this.world.nowUs + 1_000 * (fault.repliesMs + fault.forMs);
      this.heldUntilUs.set(process, Math.max(untilUs, this.heldUntilUs.get(process) ?? 0));
    }
  }

  async perform(member: Member, operation: Operation): Promise<void> {
    const { kind, forMs } = operation;
    // A caller that waits while its app closes gets an error, up to half a second later.
    const closes = this.world.plan.elements.some((element) => 'fault' in element && element.fault.kind === 'close');
    if (kind === 'schedule' || (kind === 'wait' && closes)) return void (await this.schedule(member, operation));
    if (kind === 'wait') return this.wait(member, operation);
    const [listener, stop] = (await this.listen(member, 0)) ?? [];
    if (listener === undefined) return;
    await member.sleep(forMs);
    listener.untilUs = this.world.nowUs;
    stop?.();
  }

  left(): number {
    const { memory } = this.world.redis;
    const keys = memory.run('KEYS', ['*:delayed-task:*:tasks']) as string[];
    const dead = memory.run('KEYS', ['*:delayed-task:*:dead']) as string[];
    const count = (some: string[], command: string): number =>
      some.reduce((sum, key) => sum + (memory.run(command, [key]) as number), 0);
    return count(keys, 'HLEN') - count(dead, 'ZCARD');
  }

  /** "`missed` comes when events may be missing": each listener has got an event, or a later `missed` event. */
  settled(): void {
    const { world } = this;
    for (const { process, sinceUs, untilUs, heard, missedUs } of this.listeners) {
      if (process.isDead || this.closedUs.has(process)) continue;
      // A process that was stopped, or whose messages were held, until a moment ago may not have subscribed again yet.
      const lateUs = Math.max(process.busyUntilUs, this.heldUntilUs.get(process) ?? 0);
      if (lateUs + SOON_US > world.nowUs) continue;
      // An event that is late, or the `missed` event after a lost connection, may come when the listener has stopped.
      if (untilUs < Infinity && !world.hadOnly('kill', 'close', 'flush', 'evict', 'clock', 'drift')) continue;
      for (const { number, text, atUs, member, process: from } of this.sent) {
        // A process that dies, or ends with the last event, sends no more.
        const endedUs = from.isDead || this.closedUs.has(from) ? (this.closedUs.get(from) ?? 0) : Infinity;
        const isDue = atUs > sinceUs && atUs + SOON_US < Math.min(untilUs, endedUs, world.nowUs);
        const isTold = heard.has(number) || missedUs >= atUs;
        world.expect(!isDue || isTold, () => `${process.name} has not got the event of ${member.name}: ${text}`);
      }
    }
  }

  lives(key: string): boolean {
    return /:(due|leased|dead|tasks|runs|lines|heads)$/.test(key);
  }

  private tasksOf(member: Member): Tasks.DelayedTaskService {
    const { DelayedTaskService } = member.load<typeof Tasks>('luanest/delayed-task');
    return member.app?.get(DelayedTaskService) as Tasks.DelayedTaskService;
  }

  private sends(member: Member, process: Process, id: string, attempt: number, what: string): void {
    const text = `${id} ${attempt} ${what}`;
    this.world.note(member.name, () => `event: ${text}`);
    const one = { number: this.sent.length, text, attempt: `${process.pid} ${id} ${attempt}` };
    this.sent.push({ ...one, member, process, atUs: this.world.nowUs });
  }

  /** @param tries how often it tries again if Redis is unavailable */
  private async listen(member: Member, tries = 100): Promise<[Listener, () => void] | undefined> {
    const { process } = member;
    const heard = new Set<number>();
    const never = { untilUs: Infinity, missedUs: -Infinity };
    const early: Listener = { process, sinceUs: Infinity, heard, ...never };
    let listener = early;
    const stop = await this.tasksOf(member)
      .onEvents((event) => this.hears(member, listener, event))
      .catch(codeOf);
    if (typeof stop !== 'string') {
      // Events that came while the call was in flight count, too.
      listener = { process, sinceUs: this.world.nowUs, heard, untilUs: Infinity, missedUs: early.missedUs };
      this.listeners.push(listener);
      return [listener, stop];
    }
    if (stop === 'CLOSED' || tries === 0) return undefined;
    await member.sleep(200);
    return member.app && member.process === process ? this.listen(member, tries - 1) : undefined;
  }

  /** "An event comes at most once. Events of one attempt come in their order." */
  private hears(member: Member, listener: Listener, event: Tasks.TaskEvents[keyof Tasks.TaskEvents]): void {
    const { world } = this;
    if (event.type === 'missed') {
      world.note(member.name, () => 'gets: missed');
      return void (listener.missedUs = world.nowUs);
    }
    const what = event.type === 'attemptSettled' ? event.status : String(event.progress);
    const text = `${event.id} ${event.attempt} ${what}`;
    world.note(member.name, () => `gets: ${text}`);
    const all = this.sent.filter((sent) => sent.text === text);
    // A failover may make an attempt end twice. `missed` excuses the earlier end, so the listener has got the later one.
    const sent = all.findLast(({ number }) => !listener.heard.has(number));
    if (sent === undefined) {
      const why = all.length === 0 ? 'never happened' : 'it got before';
      return world.expect(this.excused, () => `${member.name} gets an event that ${why}: ${text}`);
    }
    // Which one of two events with the same text a listener got, nobody knows.
    const later = [...listener.heard].filter((number) => isLater(this.sent[number], sent) && this.isOnly(number));
    const isEarlier = this.isOnly(sent.number) && later.length > 0;
    world.expect(!isEarlier, () => `${member.name} gets an event of an attempt out of order: ${text}`);
    listener.heard.add(sent.number);
  }

  /** Returns whether an event is the only one with its text. */
  private isOnly(number: number): boolean {
    const text = this.sent[number]?.text;
    return this.sent.filter((sent) => sent.text === text).length === 1;
  }

  private async schedule(member: Member, operation: Operation): Promise<string | undefined> {
    const { pieces, fails, delayMs } = operation;
    const id = `t${++this.lastId}`;
    const settings = { id, delayMs, keepResultMs: 60_000 };
    const result = await this.tasksOf(member).schedule('work', { pieces, fails }, settings).catch(codeOf);
    return typeof result === 'string' ? undefined : id;
  }

  /** "`waitFor(id)` resolves when a task is done or a dead letter", and when its time is over. */
  private async wait(member: Member, operation: Operation): Promise<void> {
    const { world } = this;
    const id = await this.schedule(member, operation);
    if (id === undefined) return;
    const { stoppedUs } = member.process;
    const beganUs = member.nowUs;
    const { forMs } = operation;
    const found = await this.tasksOf(member).waitFor(id, { timeoutMs: forMs }).catch(codeOf);
    if (typeof found === 'string') return;
    const sleptUs = member.process.stoppedUs - stoppedUs;
    const tookMs = (member.nowUs - beganUs - sleptUs) / 1_000;
    const longest = forMs + world.plan.client.deadlineMs + 150;
    world.expect(tookMs <= longest, () => `waitFor took ${tookMs} ms, at most ${longest} is allowed`);
    if (this.excused) return;
    if (found === undefined) return world.violate(`waitFor finds no task ${id}, whose result is kept`);
    const isDone = found.state === 'done';
    world.expect(!isDone || found.result === id, () => `the result of ${id} is ${String(found.result)}`);
    const isOver =
      isDone || found.state === 'dead' || ((member.nowUs - beganUs) / 1_000) * Math.max(1, member.speed) >= forMs - 2;
    world.expect(isOver, () => `waitFor returned ${id} as ${found.state} after ${tookMs} of ${forMs} ms`);
    const doneUs = this.done.get(id) ?? Infinity;
    const isLate = !isDone && doneUs < world.nowUs - sleptUs - world.plan.client.deadlineMs * 1_000 - SOON_US;
    world.expect(!isLate, () => `${id} is done, but waitFor returned it as ${found.state}`);
  }

  private async handle(member: Member, payload: Payload, task: Tasks.TaskContext): Promise<string> {
    const { world } = this;
    const { process } = member;
    const { id, attempt } = task;
    for (const ms of payload.pieces) {
      await member.sleep(ms);
      const progress = ++this.lastProgress;
      const reported = await task.reportProgress(progress).then(() => 'OK', codeOf);
      if (reported === 'OK') this.sends(member, process, id, attempt, String(progress));
      if (reported === 'LOST') {
        world.expect(
          !world.keepsLeases(this.options.leaseMs),
          () => `nothing took long, but attempt ${attempt} of ${id} lost its lease`,
        );
        break;
      }
    }
    if (attempt <= payload.fails) throw new Error('it fails');
    return id;
  }
}

function isLater(sent: Sent | undefined, than: Sent): boolean {
  return sent !== undefined && sent.attempt === than.attempt && sent.number > than.number;
}

export const taskEvents: Lib<Settings, Operation> = {
  name: 'task-events',
  faults: {
    kill: 5,
    close: 5,
    stop: 6,
    cut: 20,
    deaf: 10,
    slow: 8,
    hold: 12,
    refuse: 6,
    flush: 4,
    evict: 1,
    clock: 3,
    failover: 1,
    'redis-down': 4,
  },
  together: [['deaf'], ['cut'], ['cut', 'deaf'], ['redis-down'], ['cut', 'close'], ['hold'], ['slow', 'close']],
  settings: (random) => ({
    leaseMs: random.magnitude(200, 3_000),
    partitions: random.integer(1, 2),
    concurrency: random.magnitude(1, 8),
    attempts: random.integer(1, 3),
  }),
  operation: (random, { leaseMs }) => ({
    kind: random.pick(['schedule', 'schedule', 'schedule', 'wait', 'wait', 'listen']),
    delayMs: random.chance(0.5) ? 0 : random.magnitude(1, 2 * leaseMs),
    pieces: Array.from({ length: random.integer(0, 5) }, () => random.magnitude(1, leaseMs)),
    fails: random.chance(0.3) ? random.integer(1, 3) : 0,
    forMs: random.magnitude(50, 6 * leaseMs),
  }),
  scaleMs: ({ leaseMs }) => leaseMs,
  settleMs: ({ leaseMs }) => 10 * leaseMs + 20_000,
  start: (world, settings) => new EventModel(world, settings),
};
