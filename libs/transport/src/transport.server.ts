import {
  RpcException,
  Server,
  type CustomTransportStrategy,
  type MessageHandler,
  type MsPattern,
} from '@nestjs/microservices';
import { isObservable, type Observable } from 'rxjs';
import type { ScriptRegistry } from 'luanest/script-registry';
import type {
  HandlerResult,
  StreamConsumerHandle,
  StreamConsumerService,
  StreamMessage,
} from 'luanest/stream-consumer';
import {
  ClosedError,
  MAX_TIMER_MS,
  pause,
  TRANSPORT,
  SetupError,
  thrownText,
  time,
  TimeoutError,
  unfinishedOutcome,
} from '../../internal/src';
import { StreamContext } from './transport.context';
import { checkExtras, resolveServer, type StreamServerOptions } from './transport.options';
import { eventStream, requestStream, SERVERS, type EventPayload, type RequestPayload } from './transport.patterns';
import { Replies } from './transport.replies';
import { transportScripts } from './transport.scripts';

/** Transport id that reserves a handler for StreamServer: `@EventPattern('order.paid', STREAM_TRANSPORT)`. */
export const STREAM_TRANSPORT: unique symbol = Symbol('luanest:stream-transport');

/** Pause before the server tries to start a consumer again, ms. */
const START_AGAIN_MS = 500;

/**
 * Calls `next` with each value of an Observable. Resolves when it completes. Rejects if it fails, or when the AbortSignal is aborted, which
 * also ends the subscription.
 */
function each(source: Observable<unknown>, signal: AbortSignal, next: (value: unknown) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const subscription = source.subscribe({ next, error: reject, complete: resolve });
    const stop = (): void => {
      subscription.unsubscribe();
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', stop);
    subscription.add(() => signal.removeEventListener('abort', stop));
  });
}

/** Hooks of Nest's class `Server` that an app may set. Early versions of Nest 11 do not have them. */
interface Hooks {
  readonly onProcessingStartHook?: (id: symbol, context: StreamContext, done: () => Promise<void>) => void;
  readonly onProcessingEndHook?: (id: symbol, context: StreamContext) => void;
}

/**
 * Returns the result of `retryLater()` or `deadLetter()` if a handler has returned one. If a pattern has several handlers, Nest returns
 * their results as nested objects `{ current, next }`. The first result of `retryLater()` or `deadLetter()` in them counts.
 */
function outcomeOf(value: unknown): HandlerResult {
  const outcome = unfinishedOutcome(value);
  if (outcome !== undefined || typeof value !== 'object' || value === null) return outcome;
  const { current, next } = value as { readonly current?: unknown; readonly next?: unknown };
  return 'current' in value && 'next' in value ? (outcomeOf(current) ?? outcomeOf(next)) : undefined;
}

/** Returns when a message was added to its stream, ms since 1970 by Redis' clock. See DECISIONS.md: age-by-the-clock-of-redis */
function addedAtMs({ id }: StreamMessage): number {
  return Number(/:(\d+)-/.exec(id)?.[1]);
}

/** Transport strategy of Nest that calls the handlers with `@EventPattern` and `@MessagePattern` for messages of Redis streams. */
export class StreamServer
  extends Server<Record<string, never>, 'connected' | 'disconnected'>
  implements CustomTransportStrategy
{
  override transportId: symbol = STREAM_TRANSPORT;
  /** The stream consumer logs the errors of event handlers already, so Nest must not log them again. */
  override readonly propagatesEventHandlerErrors = true;
  private readonly streams: StreamConsumerService;
  private readonly registry: ScriptRegistry;
  private readonly group: string;
  private readonly consumers: StreamConsumerHandle[] = [];
  private starting: Promise<void> | undefined;
  private closed = false;
  private readonly warned = new Set<string>();

  constructor(options: StreamServerOptions) {
    super();
    ({ streams: this.streams, group: this.group } = resolveServer(options));
    this.registry = this.streams[TRANSPORT]().registry;
    this.registry.register(transportScripts);
  }

  /**
   * Adds a handler. Nest calls this method for each handler.
   *
   * @throws SetupError if the pattern has a handler already, except for event handlers with the same extras; InvalidOptionError for invalid
   *   extras
   */
  override addHandler(pattern: MsPattern, callback: MessageHandler, isEvent = false, extras: object = {}): void {
    const route = this.normalizePattern(pattern);
    const owner = `@${isEvent ? 'Event' : 'Message'}Pattern(${route})`;
    checkExtras(this.streams, owner, isEvent, extras);
    const known = this.messageHandlers.get(route);
    if (known && !(known.isEventHandler && isEvent)) {
      throw new SetupError(
        `${owner}: the pattern has two handlers, so one of them would never run. Give one of the two another pattern.`,
      );
    }
    if (known && JSON.stringify(known.extras) !== JSON.stringify(extras)) {
      throw new SetupError(
        `${owner}: another handler of the pattern has other options (extras), but both handle the same messages. Give both the same options.`,
      );
    }
    super.addHandler(pattern, callback, isEvent, extras);
  }

  /**
   * Starts a consumer for each pattern, in the background, and tries again after a failure, until the server is closed. Nest calls this
   * method, perhaps before the app is initialized. See DECISIONS.md: start-in-the-background
   */
  listen(callback: () => void): void {
    this.starting = this.start();
    callback();
  }

  /** Stops the consumers: running handlers get `drainMs` to end. Nest calls this method when the app closes. */
  async close(): Promise<void> {
    this.closed = true;
    await this.starting;
    await Promise.all(this.consumers.splice(0).map((consumer) => consumer.stop()));
    this._status$.next('disconnected');
  }

  /** Always throws, because this transport has no connection events. @throws SetupError */
  on(): never {
    throw new SetupError(
      'StreamServer has no events for on(). Subscribe to its property status, or to a channel of StreamConsumerEvents.',
    );
  }

  /** Returns the StreamConsumerService. */
  unwrap<T = StreamConsumerService>(): T {
    return this.streams as T;
  }

  private async start(): Promise<void> {
    for (const [route, handler] of this.messageHandlers) {
      const consumer = await this.serve(route, handler);
      if (!consumer) return;
      this.consumers.push(consumer);
    }
    this._status$.next('connected');
  }

  /**
   * Starts a consumer, and tries again after each failure. Returns undefined if this server or the app closes before the consumer has
   * started.
   */
  private async serve(route: string, handler: MessageHandler): Promise<StreamConsumerHandle | undefined> {
    while (!this.closed) {
      try {
        return await (handler.isEventHandler ? this.serveEvents(route, handler) : this.serveRequests(route, handler));
      } catch (error) {
        if (error instanceof ClosedError) break;
        this.warnOnce(
          'start',
          `The handler of pattern ${route} gets no messages yet, because its consumer could not start. The start is repeated ${START_AGAIN_MS} ms after each failure. ${thrownText(error)}`,
        );
        await pause(START_AGAIN_MS, { ref: false });
      }
    }
    return undefined;
  }

  private serveEvents(route: string, handler: MessageHandler): Promise<StreamConsumerHandle> {
    const options = { ...handler.extras, stream: eventStream(route), group: this.group };
    return this.streams.handle(options, (message) => this.handleOne(handler, message));
  }

  private serveRequests(route: string, handler: MessageHandler): Promise<StreamConsumerHandle> {
    // A request must never become a dead letter. So it may have 10,000 attempts, but `reply` ends the second one without calling the
    // handler. Only the timeout of the client limits the time.
    const options = { ...handler.extras, attempts: 10_000, timeoutMs: MAX_TIMER_MS, ordered: false };
    return this.streams.handle({ ...options, stream: requestStream(route), group: SERVERS }, (message) =>
      this.reply(handler, message),
    );
  }

  private async handleOne(handler: MessageHandler, message: StreamMessage<EventPayload>): Promise<HandlerResult> {
    const { signal } = message;
    let last: unknown;
    try {
      await this.run(handler, new StreamContext([message, signal]), (value) => (last = value));
    } catch (thrown) {
      // Exception filters throw plain objects. RpcException turns them into errors, which have a text for the log and the dead letter.
      if (thrown instanceof Error || unfinishedOutcome(thrown) || typeof thrown !== 'object' || thrown === null)
        throw thrown;
      throw new RpcException(thrown);
    }
    return outcomeOf(last);
  }

  private async reply(handler: MessageHandler, message: StreamMessage<RequestPayload>): Promise<void> {
    // The process of the first attempt has died or lost its lease. It may have run the handler, so the handler must not run again.
    // See DECISIONS.md: requests-are-taken-once
    if (message.attempt > 1) return;
    const leftMs = message.payload.timeoutMs - (message.takenAtMs - addedAtMs(message));
    if (!(leftMs > 0)) {
      return this.warnOnce(
        'late',
        'A request waited longer than the timeoutMs of its client, so no handler ran. Run more processes, or raise concurrency. Logged once.',
      );
    }
    const replies = new Replies(this.registry, message.payload);
    // The lease of this process has ended, so another process may settle the request.
    if (message.signal.aborted) return replies.fail(message.signal.reason);
    const late = new AbortController();
    const timer = time.setTimer(
      () =>
        late.abort(
          new TimeoutError('The client of this request no longer waits for the reply: its timeoutMs is over.'),
        ),
      leftMs,
    );
    const signal = AbortSignal.any([message.signal, late.signal]);
    const context = new StreamContext([message, signal]);
    const ran = this.run(handler, context, (value) => replies.value(value)).then(
      () => replies.end(),
      (thrown: unknown) => replies.fail(thrown),
    );
    // When the consumer stops, this method must end, even if the handler or a call to Redis still runs. Otherwise the consumer would hand
    // the request back, and another process would run it again.
    const stopped = new Promise<void>((resolve) => {
      message.signal.addEventListener('abort', () => {
        void replies.fail(message.signal.reason);
        resolve();
      });
    });
    await Promise.race([ran, stopped]);
    time.clearTimer(timer);
  }

  /** Runs a handler until the Observable that it returned has ended, with the hooks of the app around it, such as those of a tracer. */
  private run(handler: MessageHandler, context: StreamContext, next: (value: unknown) => void): Promise<void> {
    const work = async (): Promise<void> => {
      try {
        const result: unknown = await handler(context.message.payload.data, context);
        if (isObservable(result)) await each(result, context.signal, next);
        else next(result);
      } finally {
        hooks.onProcessingEndHook?.(this.transportId, context);
      }
    };
    const hooks = this as unknown as Hooks;
    return new Promise((resolve, reject) => {
      const done = (): Promise<void> => work().then(resolve, reject);
      if (hooks.onProcessingStartHook) hooks.onProcessingStartHook(this.transportId, context, done);
      else void done();
    });
  }

  private warnOnce(of: string, text: string): void {
    if (!this.warned.has(of)) this.logger.warn(text);
    this.warned.add(of);
  }
}
