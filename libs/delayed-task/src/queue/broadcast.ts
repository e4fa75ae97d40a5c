import { ClosedError, endsWithin, pause, time, type Timer, UniqueIds } from '../../../internal/src';
import type { DelayedTaskEvents, TaskEvent } from '../delayed-task.events';
import { broadcastEvents } from '../worker/worker.scripts';
import { taskInput } from './task-codec';
import type { TaskQueue } from './task-queue';

type Status = DelayedTaskEvents['attemptSettled']['status'];

/** Time between two calls that send events, ms: after a success, and after a failure. */
const [PAUSE_MS, FAILED_PAUSE_MS] = [50, 1_000];
/**
 * Limits of what is sent at once: events in a message, bytes of the events in a message, and messages in a call. A longer event gets a
 * message of its own.
 */
const [MOST_EVENTS, MOST_BYTES, MOST_MESSAGES] = [100, 64_000, 20];
/** Maximum number of events that wait to be sent. If more come, they are dropped. */
const MOST_WAITING = 10_000;
/** Longest time that a shutdown waits for the last events to be sent, ms. */
const CLOSE_MS = 1_000;
/**
 * Pause before a listener subscribes again after a failure, ms. A random time of up to the same length is added, so that processes do not
 * do this all at once.
 */
const LISTEN_AGAIN_MS = 500;
/** A listener remembers the last message number of at most this many senders. */
const MOST_SENDERS = 1_000;

/** Data of an attempt that an event contains. */
interface EventTask {
  readonly id: string;
  readonly name: string;
  readonly group: string | undefined;
  readonly attempt: number;
  readonly attempts: number;
}

/** Returns the name of the Pub/Sub channel for the events of a queue. */
function channelOf({ registry, options }: TaskQueue): string {
  return registry.keySpace('delayed-task').tag(options.namespace).key('events');
}

/** A Pub/Sub message with several events of tasks. */
interface Message {
  /** Id of the sender: a process has its own id for each queue. */
  readonly from: string;
  /**
   * Each sender counts its messages from 1. A message may be sent twice after a lost reply, so listeners ignore the numbers that they have
   * seen.
   */
  readonly number: number;
  /** Number of events that the sender has dropped since its last message. */
  readonly missed: number;
  readonly events: readonly unknown[];
}

/**
 * Sends the events of tasks that this process runs to the listeners of `onEvents` in all processes. Tasks never wait for this.
 * See DECISIONS.md: events-are-not-stored
 */
export class Broadcaster {
  private readonly from = new UniqueIds().next();
  /** JSON texts of the events that wait to be sent. */
  private readonly waiting: string[] = [];
  private sent = 0;
  private missed = 0;
  private timer: Timer | undefined;
  private sending: Promise<void> | undefined;
  private closed = false;

  /** @param failed called with the error when events could not be sent */
  constructor(
    private readonly queue: TaskQueue,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Adds an event: an attempt has ended. @param error text of the error; '' if there is no error */
  settled(task: EventTask, status: Status, error: string): void {
    if (this.hasRoom()) this.add(JSON.stringify({ type: 'attemptSettled', ...aboutOf(task), status, error }));
  }

  /** Adds an event: a handler has reported its progress. @param json the progress as JSON */
  progressed(task: EventTask, json: string): void {
    if (!this.hasRoom()) return;
    const event = JSON.stringify({ type: 'progressReported', ...aboutOf(task) });
    this.add(`${event.slice(0, -1)},"progress":${json}}`);
  }

  /** Checks that Redis allows this process to publish events. @throws the errors of ScriptRegistry.run() */
  async check(): Promise<void> {
    await this.call([]);
  }

  /** Sends the events that still wait, but takes at most `CLOSE_MS`, and drops the rest. */
  async close(): Promise<void> {
    this.closed = true;
    time.clearTimer(this.timer);
    await endsWithin(CLOSE_MS, this.sendRest());
    this.waiting.length = this.missed = 0;
  }

  private get hasNews(): boolean {
    return this.waiting.length + this.missed > 0;
  }

  private hasRoom(): boolean {
    if (this.closed) return false;
    const has = this.waiting.length < MOST_WAITING;
    if (!has) this.missed += 1;
    return has;
  }

  private add(event: string): void {
    this.waiting.push(event);
    if (this.timer === undefined && this.sending === undefined) this.sendAfter(PAUSE_MS);
  }

  private sendAfter(ms: number): void {
    this.timer = time.setTimer(() => {
      this.timer = undefined;
      this.sending = this.send().then((isSent) => {
        this.sending = undefined;
        if (this.hasNews && !this.closed) this.sendAfter(isSent ? PAUSE_MS : FAILED_PAUSE_MS);
      });
    }, ms);
  }

  private async sendRest(): Promise<void> {
    await this.sending;
    while (this.hasNews && (await this.send(CLOSE_MS)));
  }

  /** Sends waiting events in one call. Returns true if the call succeeded. Never rejects. @param deadlineMs longest time of the call, ms */
  private async send(deadlineMs?: number): Promise<boolean> {
    const { missed } = this;
    const messages: string[] = [];
    let count = 0;
    do {
      const end = this.endOf(count);
      const head = { from: this.from, number: (this.sent += 1), missed: messages.length === 0 ? missed : 0 };
      messages.push(`${JSON.stringify(head).slice(0, -1)},"events":[${this.waiting.slice(count, end).join(',')}]}`);
      count = end;
    } while (messages.length < MOST_MESSAGES && count < this.waiting.length);
    this.waiting.splice(0, count);
    this.missed = 0;
    try {
      await this.call(messages, deadlineMs === undefined ? {} : { deadlineMs });
      return true;
    } catch (error) {
      this.missed += missed + count;
      this.failed(error);
      return false;
    }
  }

  private call(messages: readonly string[], options: { readonly deadlineMs?: number } = {}): Promise<number> {
    const keys = { events: channelOf(this.queue) };
    return this.queue.registry.run(broadcastEvents, { keys, args: { messages } }, options);
  }

  /** Finds the events that fit into one message. Returns the index after the last one. @param start index of the first event */
  private endOf(start: number): number {
    let [end, bytes] = [start, 0];
    while (end < this.waiting.length && end - start < MOST_EVENTS) {
      bytes += Buffer.byteLength(this.waiting[end] as string) + 1;
      if (bytes > MOST_BYTES && end > start) break;
      end += 1;
    }
    return end;
  }
}

function aboutOf({ id, name, group, attempt, attempts }: EventTask): object {
  return { id, name, group, attempt, attempts, atMs: time.nowMs() };
}

/** Listeners of `onEvents` in this process, for one queue. */
export class EventListeners {
  private readonly open = new Set<EventListener>();
  private closed = false;

  /**
   * @param failed called with the error when this process could not subscribe to the events again
   * @param threw called with the value that a listener has thrown
   */
  constructor(
    private readonly queue: TaskQueue,
    private readonly failed: (error: unknown) => void,
    private readonly threw: (error: unknown) => void,
  ) {}

  /** Adds a listener. @returns a function that removes the listener. @throws InvalidInputError; ClosedError; NotSentError */
  async add(listener: (event: TaskEvent) => unknown): Promise<() => void> {
    if (typeof listener !== 'function') taskInput.refuse('listener', listener, 'a function');
    const tell = async (event: TaskEvent): Promise<void> => void (await listener(event));
    const one = new EventListener(this.queue, (event) => void tell(event).catch(this.threw), this.failed);
    this.open.add(one);
    const stop = (): void => {
      this.open.delete(one);
      one.stop();
    };
    try {
      if (!this.closed) await one.listen();
      if (this.closed) throw new ClosedError('The listener was not added, because this app is shutting down.');
      return stop;
    } catch (error) {
      stop();
      throw error;
    }
  }

  close(): void {
    this.closed = true;
    for (const one of this.open) one.stop();
  }
}

class EventListener {
  private readonly namespace: string;
  /** Number of the last message of each sender. The sender of the newest message comes last. */
  private readonly seen = new Map<string, number>();
  private stopped = false;
  private unlisten: (() => void) | undefined;
  /** True if the subscription may have ended since the last call of `ScriptRegistry.listen`. */
  private lost = false;
  private listening = false;

  constructor(
    private readonly queue: TaskQueue,
    private readonly tell: (event: TaskEvent) => void,
    private readonly failed: (error: unknown) => void,
  ) {
    this.namespace = queue.options.namespace;
  }

  async listen(): Promise<void> {
    this.unlisten = await this.queue.registry.listen(channelOf(this.queue), this.heard);
    if (this.stopped) this.unlisten();
  }

  stop(): void {
    this.stopped = true;
    this.unlisten?.();
  }

  private readonly heard = (text?: string): void => {
    if (this.stopped) return;
    if (text !== undefined) return this.receive(text);
    this.lost = true;
    if (!this.listening) void this.listenAgain();
  };

  /**
   * Subscribes again, and repeats this until it succeeds. Then informs listeners with a `missed` event that they may have missed events, so
   * that they can read their tasks.
   */
  private async listenAgain(): Promise<void> {
    this.listening = true;
    while (this.lost && !this.stopped) {
      this.lost = false;
      try {
        await this.listen();
      } catch (error) {
        if (this.stopped) return;
        this.lost = true;
        this.failed(error);
        await pause(LISTEN_AGAIN_MS * (1 + Math.random()), { ref: false });
      }
    }
    this.listening = false;
    if (!this.stopped) this.tell({ type: 'missed', namespace: this.namespace, count: undefined });
  }

  private receive(text: string): void {
    const message = messageOf(text);
    if (message === undefined || message.number <= (this.seen.get(message.from) ?? 0)) return;
    const { from, number, missed, events } = message;
    this.seen.delete(from);
    this.seen.set(from, number);
    if (this.seen.size > MOST_SENDERS) this.seen.delete(this.seen.keys().next().value as string);
    const { namespace } = this;
    if (missed > 0) this.tell({ type: 'missed', namespace, count: missed });
    for (const event of events) {
      if (isEvent(event) && !this.stopped) this.tell({ group: undefined, ...event, namespace });
    }
  }
}

/** Parses a message; returns undefined if the text is not a message with events. */
function messageOf(text: string): Message | undefined {
  let message: Partial<Message>;
  try {
    message = Object(JSON.parse(text)) as Partial<Message>;
  } catch {
    return undefined;
  }
  const { from, number, missed, events } = message;
  const isWhole = typeof from === 'string' && typeof number === 'number' && typeof missed === 'number';
  return isWhole && Array.isArray(events) ? (message as Message) : undefined;
}

const STATUSES: readonly unknown[] = ['done', 'retried', 'dead', 'lost', 'released', 'unknown'] satisfies Status[];

/**
 * Returns true for an event that this version of luanest knows. During a rolling deploy, processes with a newer version may send other
 * events, which are ignored.
 */
function isEvent(value: unknown): value is TaskEvent & { readonly group?: string } {
  const event = Object(value) as Record<string, unknown>;
  const are = (type: string, ...names: string[]): boolean => names.every((name) => typeof event[name] === type);
  if (!are('string', 'id', 'name') || !are('number', 'attempt', 'attempts', 'atMs')) return false;
  if (event.group !== undefined && !are('string', 'group')) return false;
  if (event.type === 'progressReported') return event.progress !== undefined;
  return event.type === 'attemptSettled' && are('string', 'error') && STATUSES.includes(event.status);
}
