import { randomUUID } from 'node:crypto';
import type { OnApplicationShutdown } from '@nestjs/common';
import { ClientProxy, type MsPattern, type ReadPacket, type WritePacket } from '@nestjs/microservices';
import type { ScriptRegistry } from 'luanest/script-registry';
import type { PublishOptions, PublishResult, StreamConsumerService, StreamDefinition } from 'luanest/stream-consumer';
import {
  InvalidInputError,
  NotSentError,
  TRANSPORT,
  shown,
  time,
  type Timer,
  UnknownOutcomeError,
} from '../../internal/src';
import { resolveClient, type StreamClientOptions } from './transport.options';
import { eventStream, requestStream, routeOf, type EventPayload, type PacketMetadata } from './transport.patterns';
import { StreamRecord } from './transport.record';
import { repliesOf, type ReplyPacket } from './transport.replies';

/** Pause before the client subscribes to replies again after a failure, ms. The client does this only while requests wait. */
const LISTEN_AGAIN_MS = 500;

/** A request that waits for its reply. */
interface Pending {
  /** True once the client has begun to send the request, so that Redis may have it. */
  sent: boolean;
  /** Number of the part of the reply that should come next, from 0. */
  part: number;
  readonly pattern: string;
  readonly timer: Timer;
  readonly callback: (packet: WritePacket) => void;
}

/** A subscription to the Pub/Sub channel with the replies for this client. `ready` resolves with a function that ends it. */
interface Listening {
  readonly ready: Promise<() => void>;
}

/** Makes the payload and the options of a publish from a packet of Nest. */
function publishOf(packet: ReadPacket): {
  readonly payload: EventPayload;
  readonly options: PublishOptions | undefined;
} {
  const { data, metadata } = packet as { readonly data: unknown; readonly metadata?: PacketMetadata };
  const record: StreamRecord | undefined = data instanceof StreamRecord ? data : undefined;
  const payload = { data: record ? record.data : data, ...(metadata && { metadata }) };
  return { payload, options: record?.options };
}

/** Client proxy for Nest microservices that use StreamServer: `emit` publishes events, `send` makes requests. */
export class StreamClient
  extends ClientProxy<Record<string, never>, 'connected' | 'disconnected'>
  implements OnApplicationShutdown
{
  private readonly streams: StreamConsumerService;
  private readonly registry: ScriptRegistry;
  private readonly timeoutMs: number;
  private readonly name: string = randomUUID();
  private readonly channel: string;
  private readonly pending = new Map<string, Pending>();
  private listening: Listening | undefined;
  private listenTimer: Timer | undefined;
  private requests = 0;

  constructor(options: StreamClientOptions) {
    super();
    ({ streams: this.streams, timeoutMs: this.timeoutMs } = resolveClient(options));
    this.registry = this.streams[TRANSPORT]().registry;
    this.channel = repliesOf(this.registry, this.name);
  }

  /** Does nothing, because the client uses the connection of the ScriptRegistry. It subscribes to replies at the first request. */
  async connect(): Promise<void> {
    return Promise.resolve();
  }

  /**
   * Unsubscribes from replies, and fails the requests that wait for one. A later request subscribes again. Nest calls this method when the
   * app closes.
   */
  close(): void {
    time.clearTimer(this.listenTimer);
    for (const id of [...this.pending.keys()]) this.fail(id, 'StreamClient was closed before the reply came.');
    this.stopListening();
  }

  /** Closes the client when the app shuts down. */
  onApplicationShutdown(): void {
    this.close();
  }

  /** Always throws, because this client has no connection events. @throws Error */
  override on(): never {
    throw new Error('StreamClient has no events for on(). Subscribe to its property status instead.');
  }

  /** Returns the StreamConsumerService. */
  unwrap<T = StreamConsumerService>(): T {
    return this.streams as T;
  }

  /** Publishes an event. Its result becomes the value of the Observable that `emit` returns. */
  protected async dispatchEvent<T = PublishResult>(packet: ReadPacket): Promise<T> {
    const { payload, options } = publishOf(packet);
    return (await this.add(eventStream(packet.pattern as MsPattern), payload, options)) as T;
  }

  protected publish(packet: ReadPacket, callback: (packet: WritePacket) => void): () => void {
    const id = (this.requests += 1).toString(36);
    const { timeoutMs } = this;
    const timer = time.setTimer(() => this.fail(id, `No reply came within ${timeoutMs} ms (timeoutMs).`), timeoutMs);
    const pattern = routeOf(packet.pattern as MsPattern);
    const request: Pending = { sent: false, part: 0, pattern, timer, callback };
    this.pending.set(id, request);
    const endsAt = time.monotonicMs() + timeoutMs;
    this.request(id, request, packet, endsAt).catch((err: unknown) => this.end(id, { err }));
    return () => void this.forget(id);
  }

  private async request(id: string, request: Pending, packet: ReadPacket, endsAt: number): Promise<void> {
    const { payload, options } = publishOf(packet);
    if (options)
      throw new InvalidInputError(
        'StreamClient.send() got a StreamRecord, but its options are only for emit(). Pass the data itself.',
      );
    const stream = requestStream(packet.pattern as MsPattern);
    // The request must reach Redis with one call from here on, since the server counts its timeoutMs from then.
    await Promise.all([this.listen(), this.streams[TRANSPORT]().announce(stream)]);
    const timeoutMs = Math.ceil(endsAt - time.monotonicMs());
    if (this.pending.get(id) !== request || timeoutMs <= 0) return;
    request.sent = true;
    await this.add(stream, { ...payload, id, client: this.name, timeoutMs });
  }

  private async add<T>(stream: StreamDefinition<T>, payload: T, options?: PublishOptions): Promise<PublishResult> {
    const result = await this.streams.publish<unknown>(stream as StreamDefinition, payload, options);
    if (result.status === 'published') return result;
    throw new NotSentError(
      `The message was not sent, because stream ${stream.name} is full: ${result.length} messages wait. Check that a service with a ` +
        'handler of the pattern runs.',
    );
  }

  private async listen(): Promise<void> {
    if (!this.listening) {
      const listener = (text?: string): void => {
        if (this.listening === listening) this.receive(text);
      };
      const listening: Listening = { ready: this.registry.listen(this.channel, listener) };
      this.listening = listening;
      listening.ready.then(
        () => this.listening === listening && this._status$.next('connected'),
        () => this.listening === listening && this.stopListening(),
      );
    }
    await this.listening.ready;
  }

  private stopListening(): void {
    const { listening } = this;
    if (!listening) return;
    this.listening = undefined;
    this._status$.next('disconnected');
    listening.ready.then(
      (stop) => stop(),
      () => undefined,
    );
  }

  /** Subscribes again after a lost connection, if requests still wait for replies. */
  private listenAgain(): void {
    if (this.pending.size === 0) return;
    this.listen().catch(() => {
      time.clearTimer(this.listenTimer);
      // The client may have been closed meanwhile, and a timer would keep the process from ending.
      if (this.pending.size === 0) return;
      this.listenTimer = time.setTimer(() => this.listenAgain(), LISTEN_AGAIN_MS);
    });
  }

  private receive(text: string | undefined): void {
    if (text === undefined) {
      this.stopListening();
      return this.listenAgain();
    }
    const { id, part, err, response, isDisposed } = JSON.parse(text) as ReplyPacket;
    const request = this.pending.get(id);
    // This part of the reply has arrived before, or nobody waits for the reply any more.
    if (!request || part < request.part) return;
    if (part > request.part) return this.fail(id, 'A part of the reply was lost on the way.');
    request.part += 1;
    if (err !== undefined || isDisposed) this.end(id, { err, response, isDisposed: true });
    else request.callback({ response });
  }

  /** Fails a request whose reply will not come, or is incomplete. */
  private fail(id: string, why: string): void {
    const request = this.pending.get(id);
    if (!request) return;
    const named = `Request ${shown(request.pattern)}`;
    const err = request.sent
      ? new UnknownOutcomeError(
          `${named}: ${why} The handler may have run. Repeat the request only if a second run is harmless.`,
        )
      : new NotSentError(`${named}: ${why} The request was not sent, so you can repeat it.`);
    this.end(id, { err });
  }

  private end(id: string, packet: WritePacket): void {
    this.forget(id)?.callback(packet);
  }

  private forget(id: string): Pending | undefined {
    const request = this.pending.get(id);
    this.pending.delete(id);
    time.clearTimer(request?.timer);
    return request;
  }
}
