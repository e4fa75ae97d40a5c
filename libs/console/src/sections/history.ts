import { hostname } from 'node:os';
import type { ScriptRegistry } from 'luanest/script-registry';
import { endsWithin, subscribeTo, time, UniqueIds, type Timer } from '../../../internal/src';
import { historyScripts, listProcesses, readHistory, writeHistory } from './history.scripts';

/** The fields of an event that are needed to count the event. */
interface Event {
  readonly status?: string;
  readonly count?: number;
  readonly ids?: readonly unknown[];
}

/**
 * Names of the numbers that the history counts: the section, then what has happened. In Redis, the numbers of a minute are in the order of
 * this list. So add new names at the end.
 */
const COUNTS = [
  ...['queues.done', 'queues.retried', 'queues.dead', 'streams.handled', 'streams.retried', 'streams.dead'],
  ...['once.claimed', 'once.repeated', 'limits.allowed', 'limits.refused', 'locks.acquired', 'locks.busy'],
  ...['locks.lost', 'jobs.done', 'jobs.failed'],
] as const;
type Count = (typeof COUNTS)[number];

/** Maps the `status` of an event to the number that the event increases. */
const OF_TASKS: Readonly<Record<string, Count>> = {
  done: 'queues.done',
  retried: 'queues.retried',
  dead: 'queues.dead',
};
const OF_LOCKS: Readonly<Record<string, Count>> = { acquired: 'locks.acquired', busy: 'locks.busy' };
const OF_JOBS: Readonly<Record<string, Count>> = { ran: 'jobs.done', failed: 'jobs.failed' };

/**
 * Maps a channel of node:diagnostics_channel to a function. The function returns the number that an event increases; undefined if
 * the event is not counted. The names of the channels are repeated here, because the console must not load a lib that the app does
 * not import. A test compares them with the names in the libs.
 */
export const CHANNELS: Readonly<Record<string, (event: Event) => Count | undefined>> = {
  'luanest:delayed-task:attempt.settled': ({ status = '' }) => OF_TASKS[status],
  'luanest:delayed-task:tasks.buried': () => 'queues.dead',
  'luanest:stream-consumer:messages.handled': () => 'streams.handled',
  'luanest:stream-consumer:message.retried': () => 'streams.retried',
  'luanest:stream-consumer:message.dead-lettered': () => 'streams.dead',
  'luanest:once:claim.answered': ({ status }) => (status === 'claimed' ? 'once.claimed' : 'once.repeated'),
  'luanest:rate-limit:request.allowed': () => 'limits.allowed',
  'luanest:rate-limit:request.refused': () => 'limits.refused',
  'luanest:lock:acquisition.ended': ({ status = '' }) => OF_LOCKS[status],
  'luanest:lock:lock.lost': () => 'locks.lost',
  'luanest:scheduled-lock:tick.ended': ({ status = '' }) => OF_JOBS[status],
};

const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000];
const MINUTES = DAY_MS / MINUTE_MS;
/**
 * Number of counters that each minute has in Redis, and the bytes of each counter. A day has at most 115,200 bytes. Only the first counters
 * are used now; the others are for new names in COUNTS.
 */
const [SLOTS, BYTES] = [20, 4];
/** Time for which Redis keeps the counts of a day, ms: for the seven days that the page shows, and the current day. */
const TTL_MS = 8 * DAY_MS;
/**
 * MOST_PROCESSES limits the list of processes in Redis. MOST_WAITING limits the minutes that this process keeps while Redis is unavailable.
 */
const [MOST_PROCESSES, MOST_WAITING] = [200, 60];
/**
 * Maximum time from the end of a minute to the write of its counts, ms. The time is random, so that the processes do not all write at once.
 */
const SPREAD_MS = 5_000;
/** Longest time that a shutdown waits until the last counts are written, ms. */
const CLOSE_MS = 1_000;
/** Maximum number of points of a series. If there are more minutes, each point is the sum of several minutes. */
const MOST_POINTS = 1_500;

/** Counts of this process in one minute. */
interface Minute {
  readonly atMs: number;
  readonly token: string;
  readonly counts: Map<Count, number>;
  /**
   * True after the first try to write these counts. Later events then go to a new Minute, because Redis adds the counts of a token only
   * once.
   */
  sent: boolean;
}

/** Counts of one section over time. Minutes without events have no point. */
export interface Series {
  readonly section: string;
  readonly name: string;
  readonly points: readonly (readonly [atMs: number, counts: Readonly<Record<string, number>>])[];
}

/**
 * Counts the events of this process, such as tasks that were done. After each minute with events, it sends the counts to Redis in
 * one small call. It also reads the counts of all processes.
 * See DECISIONS.md: history-in-one-string-a-day
 */
export class History {
  private readonly undo: (() => void)[] = [];
  private readonly tokens = new UniqueIds();
  private readonly startedAtMs = time.nowMs();
  private waiting: Minute[] = [];
  private timer: Timer | undefined;
  private writing: Promise<void> | undefined;

  /** @param name name of this process in the list of processes */
  constructor(
    private readonly registry: ScriptRegistry,
    private readonly name = `${hostname()}:${process.pid}`,
  ) {
    registry.register(historyScripts);
  }

  start(): void {
    if (this.undo.length > 0) return;
    for (const [channel, countOf] of Object.entries(CHANNELS)) {
      const listener = (event: unknown): void => {
        const count = countOf(event as Event);
        if (count !== undefined) this.add(count, (event as Event).count ?? (event as Event).ids?.length ?? 1);
      };
      this.undo.push(subscribeTo(channel, listener));
    }
  }

  /** Stops counting, and writes the counts that were not written yet. Waits at most 1 s. Never rejects. */
  async close(): Promise<void> {
    for (const undo of this.undo.splice(0)) undo();
    time.clearTimer(this.timer);
    await endsWithin(CLOSE_MS, this.write());
  }

  /**
   * Reads the counts of all processes for the last `minutes` minutes. The current minute is one of them.
   *
   * @param minutes 1 to 10,080
   * @throws the errors of ScriptRegistry.run()
   */
  async read(minutes: number): Promise<readonly Series[]> {
    const last = Math.floor(time.nowMs() / MINUTE_MS);
    const first = last - Math.min(Math.max(1, minutes), 7 * MINUTES) + 1;
    const step = Math.ceil((last - first + 1) / MOST_POINTS);
    const sums = new Map<string, Map<number, Record<string, number>>>();
    const days = Array.from(
      { length: Math.floor(last / MINUTES) - Math.floor(first / MINUTES) + 1 },
      (_, i) => Math.floor(first / MINUTES) + i,
    );
    const texts = await Promise.all(days.map((day) => this.readDay(day, first, last)));
    for (const { from, counts } of texts) {
      for (let at = 0; at + BYTES <= counts.length; at += BYTES) {
        const value = counts.readUInt32BE(at);
        const [section, name] = COUNTS[(at / BYTES) % SLOTS]?.split('.') ?? [];
        if (value === 0 || section === undefined || name === undefined) continue;
        const minute = from + Math.floor(at / BYTES / SLOTS);
        const atMs = (minute - (minute % step)) * MINUTE_MS;
        const points = sums.get(section) ?? new Map<number, Record<string, number>>();
        const point = points.get(atMs) ?? {};
        point[name] = (point[name] ?? 0) + value;
        sums.set(section, points.set(atMs, point));
      }
    }
    return [...sums].map(([section, points]) => ({ section, name: section, points: [...points] }));
  }

  private async readDay(day: number, first: number, last: number) {
    const from = Math.max(first, day * MINUTES);
    const to = Math.min(last, (day + 1) * MINUTES - 1);
    const offset = (minute: number): number => (minute - day * MINUTES) * SLOTS * BYTES;
    const keys = { day: historyKeys(this.registry).day(day) };
    const args = { from: offset(from), to: offset(to + 1) - 1 };
    return { from, counts: await this.registry.run(readHistory, { keys, args }) };
  }

  private add(count: Count, value: number): void {
    const nowMs = time.nowMs();
    const atMs = nowMs - (nowMs % MINUTE_MS);
    let minute = this.waiting.at(-1);
    if (minute === undefined || minute.atMs !== atMs || minute.sent) {
      minute = { atMs, token: this.tokens.next(), counts: new Map(), sent: false };
      this.waiting.push(minute);
      this.waiting = this.waiting.slice(-MOST_WAITING);
    }
    minute.counts.set(count, (minute.counts.get(count) ?? 0) + value);
    this.timer ??= this.writeAt(atMs + MINUTE_MS - nowMs + Math.random() * SPREAD_MS);
  }

  private writeAt(ms: number): Timer {
    const timer = time.setTimer(() => {
      this.timer = undefined;
      void this.write();
    }, Math.ceil(ms));
    timer.unref();
    return timer;
  }

  /** Writes the counts of the minutes that have ended. If a write fails, the next write tries again. */
  private async write(): Promise<void> {
    this.writing ??= this.writeAll().finally(() => {
      this.writing = undefined;
      if (this.waiting.length > 0 && this.undo.length > 0) this.timer ??= this.writeAt(MINUTE_MS);
    });
    await this.writing;
  }

  private async writeAll(): Promise<void> {
    for (let minute = this.waiting[0]; minute !== undefined; minute = this.waiting[0]) {
      minute.sent = true;
      try {
        await this.send(minute);
      } catch {
        // ScriptRegistry reports the error. The next write sends the minute again, with the same token.
        return;
      }
      this.waiting = this.waiting.filter((one) => one !== minute);
    }
  }

  private async send({ atMs, token, counts }: Minute): Promise<void> {
    const { seen, processes, day } = historyKeys(this.registry);
    const minute = (atMs % DAY_MS) / MINUTE_MS;
    const pairs = [...counts].flatMap(([count, value]) => [
      String(minute * SLOTS + COUNTS.indexOf(count)),
      String(Math.min(value, 2 ** 32 - 1)),
    ]);
    const { rss } = process.memoryUsage();
    const about = JSON.stringify({ startedAtMs: this.startedAtMs, rss, runtime: `Node.js ${process.version}` });
    await this.registry.run(writeHistory, {
      keys: { day: day(Math.floor(atMs / DAY_MS)), seen, processes },
      args: { process: this.name, token, about, ttlMs: TTL_MS, keep: MOST_PROCESSES, counts: pairs },
    });
  }
}

/** Returns the processes that have written counts, the latest first. @throws the errors of ScriptRegistry.run() */
export function readProcesses(registry: ScriptRegistry, limit: number) {
  const { seen, processes } = historyKeys(registry);
  return registry.run(listProcesses, { keys: { seen, processes }, args: { limit } });
}

function historyKeys(registry: ScriptRegistry) {
  const keys = registry.keySpace('console').tag('history');
  const day = keys.series('day');
  return { seen: keys.key('seen'), processes: keys.key('processes'), day: (index: number) => day(String(index)) };
}
