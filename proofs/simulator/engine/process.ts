import type { AsyncLocalStorage } from 'node:async_hooks';
import { runAs, SimulatedChannel, SimulatedTimer } from './globals';
import { Modules } from './loader';
import type { Random } from './random';
import type { Scheduler } from './scheduler';

/** The phases of the event loop of Node.js, in the order in which they follow each other. */
type Phase = 'timers' | 'io' | 'immediates';

const EPOCH_MS = 1_800_000_000_000;

/**
 * A process of the operating system: modules, an event loop, clocks and timers of its own. Its code runs in turns, which the
 * scheduler starts. A turn takes no time, unless the process is stopped within it.
 */
export class Process {
  /** True: each timer remembers where it was set. */
  static records = false;
  /** The seed of the run. All processes of a run see it as `process.ppid`, see `CONSTANTS` in `loader`. */
  static seed = 0;
  readonly modules = new Modules();
  readonly timers = new Set<SimulatedTimer>();
  readonly storages: AsyncLocalStorage<never>[] = [];
  isDead = false;
  /** How long it was stopped so far, with the rest of a stop that lasts. */
  stoppedUs = 0;
  /** Time until which the process is stopped or busy. */
  busyUntilUs = 0;
  /** Called with an error that ends a process of Node.js: one that nobody catches. */
  crashed: (error: unknown) => void = () => undefined;
  /** Opens a connection to the server at a port. */
  connect: (port: number) => object = () => {
    throw new Error('This process has no network.');
  };
  private readonly channels = new Map<string, SimulatedChannel>();
  private readonly inbox: { at: number; run: () => void }[] = [];
  private immediates: { run: () => void }[] = [];
  private phase: Phase = 'timers';
  private lastTimer = 0;
  /** The turn that is planned. */
  private turnAt = Infinity;
  /** How much later it is in the code that runs now than in the scheduler. */
  private aheadUs = 0;
  private stops: { readings: number; us: number } | undefined;
  private readonly startedUs: number;
  private wallOffsetMs = 0;
  /** How fast its clocks and timers run; 1 is right. They have since `ownUs` after the start, at the true time `sinceUs`. */
  private pace = { speed: 1, sinceUs: 0, ownUs: 0 };

  /** @param name such as `p1`; @param life how often it has been started, from 1 */
  constructor(
    private readonly scheduler: Scheduler,
    readonly name: string,
    readonly pid: number,
    readonly random: Random,
  ) {
    this.startedUs = scheduler.nowUs;
    this.pace.sinceUs = scheduler.nowUs;
    this.phaseAfterIdle();
  }

  get ppid(): number {
    return Process.seed;
  }

  /** True time of the code that runs now. */
  get nowUs(): number {
    return this.scheduler.nowUs + this.aheadUs;
  }

  /** True if the process has run for a moment since it was stopped, so that its timers have noticed it. */
  get hasNoticed(): boolean {
    return this.aheadUs === 0 && this.scheduler.nowUs > this.busyUntilUs + 3_000;
  }

  get isStopped(): boolean {
    return this.busyUntilUs > this.scheduler.nowUs;
  }

  /** Returns what keeps the process from ending by itself. @param all with timers that would not */
  left(all: boolean): string[] {
    const timers = [...this.timers].filter(({ hasReference, isUsers }) => !isUsers && (all || hasReference));
    return [...timers.map(({ where }) => where ?? 'a timer'), ...this.immediates.map(() => 'an immediate')];
  }

  readMonotonicUs(): number {
    if (this.stops !== undefined && --this.stops.readings <= 0) {
      this.aheadUs += this.stops.us;
      this.stoppedUs += this.stops.us;
      this.stops = undefined;
    }
    return this.ownUs;
  }

  readWallMs(): number {
    this.readMonotonicUs();
    return EPOCH_MS + this.wallOffsetMs + Math.floor((this.startedUs + this.ownUs) / 1_000);
  }

  moveWallClock(ms: number): void {
    this.wallOffsetMs += ms;
  }

  /** Lets all clocks and new timers of the process run faster or slower than true time. */
  setSpeed(speed: number): void {
    this.pace = { speed, sinceUs: this.nowUs, ownUs: this.ownUs };
  }

  /** Time since the start, by its own clock. */
  private get ownUs(): number {
    const { speed, sinceUs, ownUs } = this.pace;
    return ownUs + Math.round((this.nowUs - sinceUs) * speed);
  }

  /** Runs code now, between two turns. */
  run(code: () => void): void {
    if (this.isDead) return;
    this.runCode(code);
    this.endTurn();
  }

  /** Calls back in the event loop, as for a socket, at a time or later. */
  receive(atUs: number, run: () => void): void {
    this.inbox.push({ at: atUs, run });
    this.wakeAt(atUs);
  }

  /** Nothing of this process runs for a time: SIGSTOP, a slow machine, or a long garbage collection. */
  stop(us: number): void {
    const from = Math.max(this.busyUntilUs, this.scheduler.nowUs);
    this.busyUntilUs = Math.max(from, this.scheduler.nowUs + us);
    this.stoppedUs += this.busyUntilUs - from;
    this.plan();
  }

  /** The same, but in the middle of code: when it has read a clock so many times. */
  stopAtReading(readings: number, us: number): void {
    this.stops = { readings, us };
  }

  /** SIGKILL. */
  kill(): void {
    this.isDead = true;
    this.timers.clear();
    this.immediates = [];
    this.inbox.length = 0;
    for (const storage of this.storages) storage.disable();
    for (const channel of this.channels.values()) channel.end();
  }

  channel(name: string): SimulatedChannel {
    let channel = this.channels.get(name);
    if (channel === undefined) this.channels.set(name, (channel = new SimulatedChannel(name)));
    return channel;
  }

  addTimer(run: () => void, ms: number, repeats: boolean): SimulatedTimer {
    const timer = new SimulatedTimer(this, run, ms, repeats ? ms : undefined, ++this.lastTimer);
    if (Process.records) timer.where = new Error(`a timer of ${ms} ms`).stack?.split('\n').slice(0, 8).join(' ');
    this.startTimer(timer, ms);
    return timer;
  }

  startTimer(timer: SimulatedTimer, ms: number): void {
    // Node.js counts in whole milliseconds, so by `performance.now()` a timer may fire up to a millisecond early.
    timer.dueUs = this.nowUs + Math.round((ms * 1_000) / this.pace.speed) + this.random.integer(-900, 1_000);
    this.timers.add(timer);
    this.wakeAt(timer.dueUs);
  }

  addImmediate(run: () => void): object {
    const immediate = { run };
    this.immediates.push(immediate);
    this.wakeAt(this.nowUs);
    return immediate;
  }

  removeImmediate(immediate: { run: () => void } | undefined): void {
    if (immediate) immediate.run = () => undefined;
  }

  private wakeAt(us: number): void {
    const at = Math.max(us, this.busyUntilUs, this.nowUs);
    if (at >= this.turnAt) return;
    this.turnAt = at;
    this.scheduler.at(at, () => {
      if (this.turnAt !== at || this.isDead) return;
      this.turnAt = Infinity;
      if (!this.isStopped) this.turn();
      this.plan();
    });
  }

  private turn(): void {
    for (let phases = 0; phases < 3; phases++) {
      if (!this.runPhase()) return;
      this.phase = this.phase === 'timers' ? 'io' : this.phase === 'io' ? 'immediates' : 'timers';
    }
    this.phaseAfterIdle();
  }

  /** @returns false if the process was stopped in it, and goes on with it later */
  private runPhase(): boolean {
    const now = this.scheduler.nowUs;
    if (this.phase === 'timers') {
      const due = [...this.timers].filter(({ dueUs }) => dueUs <= now).sort((a, b) => a.dueUs - b.dueUs || a.id - b.id);
      return due.every((timer) => !this.timers.has(timer) || this.runStep(() => this.fire(timer)));
    }
    if (this.phase === 'io') {
      for (let left = this.inbox.length; left > 0; left--) {
        const at = this.inbox.findIndex((item) => item.at <= now);
        if (at < 0) return true;
        const [item] = this.inbox.splice(at, 1);
        if (item && !this.runStep(item.run)) return false;
      }
      return true;
    }
    const immediates = this.immediates;
    this.immediates = [];
    while (immediates.length > 0) {
      if (!this.runStep((immediates.shift() as { run: () => void }).run)) {
        this.immediates.unshift(...immediates);
        return false;
      }
    }
    return true;
  }

  private fire(timer: SimulatedTimer): void {
    if (timer.everyMs === undefined) this.timers.delete(timer);
    else this.startTimer(timer, timer.everyMs);
    timer.run();
  }

  private runStep(code: () => void): boolean {
    this.runCode(code);
    return !this.endTurn() && !this.isDead;
  }

  private runCode(code: () => void): void {
    this.scheduler.steps++;
    const error = runAs(this, code);
    if (error !== undefined) this.crashed(error);
  }

  /** @returns true if the process was stopped by the code that has run */
  private endTurn(): boolean {
    const wasStopped = this.aheadUs > 0;
    if (wasStopped) this.busyUntilUs = Math.max(this.busyUntilUs, this.nowUs);
    this.aheadUs = 0;
    return wasStopped || this.isStopped;
  }

  /** A process that slept runs timers or sockets first, as they come. */
  private phaseAfterIdle(): void {
    this.phase = this.random.chance(0.5) ? 'timers' : 'io';
  }

  private plan(): void {
    this.turnAt = Infinity;
    let next = this.immediates.length > 0 ? 0 : Infinity;
    for (const { at } of this.inbox) next = Math.min(next, at);
    for (const { dueUs } of this.timers) next = Math.min(next, dueUs);
    if (next < Infinity) this.wakeAt(next);
  }
}
