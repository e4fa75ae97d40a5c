import { ClosedError, endsWithin, pause, time, type Timer, UniqueIds } from '../../../internal/src';
import type { DelayedTaskEvents, TaskEvent } from '../delayed-task.events';
import { broadcastEvents } from '../delayed-task.scripts';
import { taskInput } from './task-codec';
import type { TaskQueue } from './task-queue';

type Status = DelayedTaskEvents['attemptSettled']['status'];

/** Pause before this process sends the next events, ms: after a success, and after a failure. */
const [PAUSE_MS, FAILED_PAUSE_MS] = [50, 1_000];
/**
 * Maximum number of events in a message, of bytes of all events in a message, and of messages in a call. An event that has more bytes
 * gets a message of its own.
 */
const [MOST_EVENTS, MOST_BYTES, MOST_MESSAGES] = [100, 64_000, 20];
/** Maximum number of events that wait to be sent. Further events are dropped. */
const MOST_WAITING = 10_000;
/** Longest time that a shutdown waits for the last events to be sent, ms. */
const CLOSE_MS = 1_000;
/** Pause before a listener subscribes again after a failure, ms. A random time of up to the same length is added. */
const LISTEN_AGAIN_MS = 500;
/** Maximum number of senders for which a listener remembers the number of the last message. */
const MOST_SENDERS = 1_000;

/** Data of the attempt that an event is about. If a task became a dead letter because its lease ended, the data of its last attempt. */
interface EventTask {
  readonly id: string;
  readonly name: string;
  readonly group: string | undefined;
  readonly attempt: number;
  readonly attempts: number;
}

/** Returns the name of the channel of the events of a queue. */
function channelOf({ registry, options }: TaskQueue): string {
  return registry.keySpace('delayed-task').tag(options.namespace).key('events');
}

/** A message on the channel of a queue. It contains several events. */
interface Message {
  /** Id of the sender: each process has its own id for each queue. */
  readonly from: string;
  /**
   * Number of the message; each sender counts its messages from 1. A call may be sent twice, so listeners ignore messages whose numbers
   * they have seen.
   */
  readonly number: number;
  /** Number of events that the sender has dropped since its last message. */
  readonly missed: number;
  readonly events: readonly unknown[];
}

/**
 * Sends the events of the tasks that this process runs to the listeners in all processes, for one queue. The outcomes of tasks are stored
 * without waiting for this.
 * See DECISIONS.md: events-are-not-stored
 */
export class Broadcaster {
  private readonly from = new UniqueIds().next();
  /** JSON of each event that waits to be sent. */
  private readonly waiting: string[] = [];
  private sent = 0;
  private missed = 0;
  private timer: Timer | undefined;
  private sending: Promise<void> | undefined;
  private closed = false;

  /** @param failed called with the error if events could not be sent */
  constructor(
    private readonly queue: TaskQueue,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Adds the event that an attempt ended. @param error text of the error; '' if there is no error */
  settled(task: EventTask, status: Status, error: string): void {
    if (this.hasRoom()) this.add(JSON.stringify({ type: 'attemptSettled', ...aboutOf(task), status, error }));
  }

  /** Adds the event that a handler reported its progress. @param json the progress as JSON */
  progressed(task: EventTask, json: string): void {
    if (!this.hasRoom()) return;
    const event = JSON.stringify({ type: 'progressReported', ...aboutOf(task) });
    this.add(`${event.slice(0, -1)},"progress":${json}}`);
  }

  /** Checks that Redis allows this process to send events. @throws the errors of ScriptRegistry.run() */
  async check(): Promise<void> {
    await this.call([]);
  }

  /** Sends the events that still wait, for at most `CLOSE_MS`. Drops the others. */
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

  /** Sends waiting events in one call. Returns true if the call succeeded. Never rejects. @param deadlineMs deadline of the call, ms */
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

  /** Returns the end of a message that begins with the waiting event at the index `start`: the index after its last event. */
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

/** The listeners of `onEvents` in this process, for one queue. */
export class EventListeners {
  private readonly open = new Set<EventListener>();
  private closed = false;

  /**
   * @param failed called with the error if subscribing to the channel again has failed
   * @param threw called with the value that a listener threw
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
      if (this.closed) throw new ClosedError('The app is shutting down, so nothing listens to its events.');
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
  /** Number of the last message of each sender. The sender of the newest message is at the end of the map. */
  private readonly seen = new Map<string, number>();
  private stopped = false;
  private unlisten: (() => void) | undefined;
  /** True if the subscription may have ended since the last call of `listen`. */
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
   * Subscribes again, until this succeeds. After that, reports with a `missed` event that events may be missing. So a listener that reads
   * its tasks when it gets `missed` does not miss a change.
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

/** Parses a message. Returns undefined if the text is not a message of a Broadcaster. */
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
 * Returns true if a value is an event that this version knows. Processes with a later version, which may run at the same time, may send
 * other events. These are ignored.
 */
function isEvent(value: unknown): value is TaskEvent & { readonly group?: string } {
  const event = Object(value) as Record<string, unknown>;
  const are = (type: string, ...names: string[]): boolean => names.every((name) => typeof event[name] === type);
  if (!are('string', 'id', 'name') || !are('number', 'attempt', 'attempts', 'atMs')) return false;
  if (event.group !== undefined && !are('string', 'group')) return false;
  if (event.type === 'progressReported') return event.progress !== undefined;
  return event.type === 'attemptSettled' && are('string', 'error') && STATUSES.includes(event.status);
}
