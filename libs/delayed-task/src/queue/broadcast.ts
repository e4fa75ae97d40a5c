import { ClosedError, endsWithin, pause, time, type Timer, UniqueIds } from '../../../internal/src';
import type { DelayedTaskEvents, TaskEvent } from '../delayed-task.events';
import { broadcastEvents } from '../delayed-task.scripts';
import { taskInput } from './task-codec';
import type { TaskQueue } from './task-queue';

type Status = DelayedTaskEvents['attemptSettled']['status'];

/** How long this process waits before it sends the next events, ms: usually, and after a failure. */
const [PAUSE_MS, FAILED_PAUSE_MS] = [50, 1_000];
/** Maximum number of events in a message, of bytes of these events, and of messages in a call. One larger event is sent alone. */
const [MOST_EVENTS, MOST_BYTES, MOST_MESSAGES] = [100, 64_000, 20];
/** Maximum number of events that wait to be sent. Further ones are dropped. */
const MOST_WAITING = 10_000;
/** How long a shutdown waits until the last events are sent, ms. */
const CLOSE_MS = 1_000;
/** Pause before the next attempt to listen, without its random part, ms. */
const LISTEN_AGAIN_MS = 500;
/** Maximum number of senders whose last message a listener knows. */
const MOST_SENDERS = 1_000;

/** The attempt that an event is about, or the task that became a dead letter because its lease ended. */
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

/** Message on the channel of a queue. */
interface Message {
  /** Process that sent the message. */
  readonly from: string;
  /** The sender numbers its messages from 1. Listeners ignore a number that they have seen, because Redis may get a message twice. */
  readonly number: number;
  /** Number of events that the sender has dropped since its last message. */
  readonly missed: number;
  readonly events: readonly unknown[];
}

/**
 * Sends the events of the tasks of a queue in this process to all processes that listen. Settling never waits for it.
 * See DECISIONS.md: events-are-not-stored
 */
export class Broadcaster {
  private readonly from = new UniqueIds().next();
  /** JSON of each event. */
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

  /** @param error text of the error; '' if there is no error */
  settled(task: EventTask, status: Status, error: string): void {
    if (this.hasRoom()) this.add(JSON.stringify({ type: 'attemptSettled', ...aboutOf(task), status, error }));
  }

  /** @param json value that the handler reports */
  progressed(task: EventTask, json: string): void {
    if (!this.hasRoom()) return;
    const event = JSON.stringify({ type: 'progressReported', ...aboutOf(task) });
    this.add(`${event.slice(0, -1)},"progress":${json}}`);
  }

  /** Checks that this process may send. @throws the errors of ScriptRegistry.run() */
  async check(): Promise<void> {
    await this.call([]);
  }

  /** Sends what waits, for at most `CLOSE_MS`. */
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

  /** Sends one call, and returns true if Redis has it. Never rejects. */
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

  /** Returns the index behind the last waiting event of the message that begins with the event at `start`. */
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

/** The listeners of the events of a queue in this process. */
export class EventListeners {
  private readonly open = new Set<EventListener>();
  private closed = false;

  /**
   * @param failed called with the error when the channel could not be listened to again
   * @param threw called with what a listener threw
   */
  constructor(
    private readonly queue: TaskQueue,
    private readonly failed: (error: unknown) => void,
    private readonly threw: (error: unknown) => void,
  ) {}

  /** @returns a function that stops listening. @throws InvalidInputError; ClosedError; NotSentError */
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
  /** Number of the last message of each sender. The sender that sent last is at the end. */
  private readonly seen = new Map<string, number>();
  private stopped = false;
  private unlisten: (() => void) | undefined;
  /** True if the subscription may have ended since `listen` was called last. */
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

  /** Reports after the new subscription that events may be missing: a listener that then reads its tasks misses nothing. */
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

/** Returns a message; undefined for a text that no Broadcaster sent. */
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

/** Returns true for an event of this version. Those of later versions, which may run at the same time, are left out. */
function isEvent(value: unknown): value is TaskEvent & { readonly group?: string } {
  const event = Object(value) as Record<string, unknown>;
  const are = (type: string, ...names: string[]): boolean => names.every((name) => typeof event[name] === type);
  if (!are('string', 'id', 'name') || !are('number', 'attempt', 'attempts', 'atMs')) return false;
  if (event.group !== undefined && !are('string', 'group')) return false;
  if (event.type === 'progressReported') return event.progress !== undefined;
  return event.type === 'attemptSettled' && are('string', 'error') && STATUSES.includes(event.status);
}
