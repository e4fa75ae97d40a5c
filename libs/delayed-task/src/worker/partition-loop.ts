import type { ScriptRegistry } from 'luanest/script-registry';
import type { ResolvedDelayedTaskOptions } from '../delayed-task.options';
import type { Partition } from '../queue/partitions';
import { Alarm } from './alarm';
import type { Capacity } from './capacity';
import type { Leases } from './leases';
import type { Runner } from './runner';
import type { Taken, Taker } from './taker';
import type { WorkerState } from './worker-state';

/** What the loops of all partitions share. */
interface LoopContext {
  readonly registry: ScriptRegistry;
  readonly options: ResolvedDelayedTaskOptions;
  readonly state: WorkerState;
  readonly capacity: Capacity;
  readonly taker: Taker;
  readonly runner: Runner;
  readonly leases: Leases;
}

/** Most tasks of one take. */
const MAX_TAKE = 64;
/** Fewer would not be worth a command, where there is room. */
const MIN_TAKE = 16;

/** How soon a subscription that failed is tried again, ms. */
const LISTEN_AGAIN_MS = 200;

/** Takes the due tasks of one partition, and sleeps until the next one is due, an earlier one comes, or it is time to look. */
export class PartitionLoop {
  private readonly alarm = new Alarm();
  private readonly most: number;
  private readonly ring = (): void => {
    // It may be the end of the subscription that rings.
    this.listenAgainAt = 0;
    this.alarm.ring();
  };
  private stopListening: (() => void) | undefined;
  private listenAgainAt = 0;
  private helping = false;
  private subscribed = false;

  constructor(
    private readonly partition: Partition,
    private readonly context: LoopContext,
  ) {
    const { concurrency, partitions } = context.options;
    // Two takes at a time when there is much to do: Redis works on one while this process works on the other.
    // See DECISIONS.md: two-takes-at-a-time
    const share = Math.ceil(concurrency / Math.max(2, partitions));
    this.most = Math.min(MAX_TAKE, Math.max(Math.min(MIN_TAKE, concurrency), share));
  }

  /** Runs until the worker closes. */
  async run(): Promise<void> {
    const { state, capacity, taker } = this.context;
    for (let failures = 0; !state.closing;) {
      const room = await capacity.reserve(this.most);
      if (room === 0) break;
      this.alarm.reset();
      this.listen();
      const taken = await taker.take(this.partition, 0, room);
      const full = this.begin(taken, room);
      failures = taken ? 0 : failures + 1;
      if (full) this.help();
      else await this.sleep(taken ? taken.waitMs : 50 * 2 ** Math.min(failures, 4));
    }
    this.stopListening?.();
  }

  /** Ends the present sleep. */
  wake(): void {
    this.alarm.ring();
  }

  /** Begins what was taken, or hands it back where the worker closes. @returns whether there may be more */
  private begin(taken: Taken | undefined, room: number): boolean {
    const { state, capacity, runner, leases } = this.context;
    const attempts = taken?.attempts ?? [];
    if (state.closing) {
      capacity.release(room);
      if (attempts.length > 0 && !state.stopped) state.track(leases.release(attempts));
      return false;
    }
    if (attempts.length < room) capacity.release(room - attempts.length);
    for (const attempt of attempts) runner.begin(attempt);
    return attempts.length === room;
  }

  /** Takes on the side, while every take comes back full. */
  private help(): void {
    if (this.helping) return;
    this.helping = true;
    const { state } = this.context;
    const helped = this.takeOnTheSide().finally(() => (this.helping = false));
    state.track(helped);
  }

  private async takeOnTheSide(): Promise<void> {
    const { state, capacity, taker } = this.context;
    while (!state.closing) {
      const room = await capacity.reserve(this.most);
      if (room === 0) return;
      const taken = await taker.take(this.partition, 1, room);
      if (!this.begin(taken, room)) return;
    }
  }

  private async sleep(waitMs: number): Promise<void> {
    const { state, options } = this.context;
    if (state.closing || waitMs <= 0) return;
    // At different times in different processes.
    const pollMs = options.pollMs * (0.5 + Math.random() / 2);
    await this.alarm.sleep(Math.min(waitMs, pollMs));
  }

  /** Subscribes, and sees to it now and then that the subscription stands. */
  private listen(): void {
    const { registry, options, state } = this.context;
    if (!options.wakeUp || performance.now() < this.listenAgainAt) return;
    this.listenAgainAt = performance.now() + options.pollMs / 2;
    const listening = registry.listen(this.partition.waits, this.ring).then(
      (stop) => {
        this.stopListening = stop;
        if (state.closing) stop();
        // What came between the last look and the subscription was not heard.
        else if (!this.subscribed) this.alarm.ring();
        this.subscribed = true;
      },
      (error: unknown) => {
        this.subscribed = false;
        this.listenAgainAt = performance.now() + Math.min(LISTEN_AGAIN_MS, options.pollMs / 2);
        state.tell('subscribe', error);
      },
    );
    state.track(listening);
  }
}
