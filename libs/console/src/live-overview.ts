import { Logger, type OnModuleDestroy } from '@nestjs/common';
import { messageOf, time, type Timer } from '../../internal/src';

const PERIOD_MS = 2_000;
/** Unsent bytes at which a viewer is dropped; its browser connects again. */
const MAX_UNSENT_BYTES = 1_048_576;
/** Time after which a stream ends, so that the guards are asked again when the browser reconnects, ms. */
const MAX_STREAM_MS = 300_000;

/** Part of a response of Node.js that the streams use. */
export interface EventStream {
  readonly writableLength: number;
  write(text: string): unknown;
  end(): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/**
 * Streams of server-sent events, which show the overview to all viewers. Redis is read once each two seconds for all of them, and
 * not at all without viewers. See DECISIONS.md: one-read-for-all-viewers
 */
export class LiveOverview implements OnModuleDestroy {
  private readonly logger = new Logger('ConsoleModule');
  private readonly viewers = new Map<EventStream, Timer>();
  private timer: Timer | undefined;
  private reading = false;
  private closed = false;
  private warned = false;
  /** The last overview as an event; '' if the last one is too old to be shown. */
  private last = '';
  private newest: string | undefined;

  /**
   * @param read reads the overview
   * @param newestAction returns a text that changes with each action of any process
   */
  constructor(
    private readonly read: () => Promise<object>,
    private readonly newestAction: () => Promise<string>,
  ) {}

  /** Sends events to a response until it is closed. */
  add(stream: EventStream): void {
    if (this.closed) return void stream.end();
    this.viewers.set(
      stream,
      time.setTimer(() => this.drop(stream), MAX_STREAM_MS),
    );
    stream.once('close', () => this.forget(stream));
    stream.write(`retry: ${PERIOD_MS}\n\n${this.last}`);
    if (this.timer === undefined) void this.tick();
  }

  /** Reports to all viewers of this process that something changed. */
  changed(section: string): void {
    this.newest = undefined;
    this.send(eventOf('changed', { section }));
  }

  /** Ends all streams, so that the server of the app can close. */
  onModuleDestroy(): void {
    this.closed = true;
    for (const stream of [...this.viewers.keys()]) this.drop(stream);
  }

  private async tick(): Promise<void> {
    this.timer = undefined;
    if (this.reading) return;
    this.reading = true;
    try {
      const [overview, newest] = await Promise.all([this.read(), this.newestAction().catch(() => undefined)]);
      this.last = eventOf('overview', overview);
      this.send(this.last);
      if (newest !== undefined) {
        // An action of another process: what it changed is unknown here.
        if (this.newest !== undefined && newest !== this.newest) this.send(eventOf('changed', {}));
        this.newest = newest;
      }
    } catch (error) {
      // One section that fails is a part of the overview, so nothing can be shown.
      if (!this.warned) this.logger.warn(`The overview could not be read: ${messageOf(error)}`);
      this.warned = true;
    } finally {
      this.reading = false;
      if (this.viewers.size > 0) this.timer = time.setTimer(() => void this.tick(), PERIOD_MS);
      else this.rest();
    }
  }

  private send(event: string): void {
    for (const stream of [...this.viewers.keys()]) {
      if (stream.writableLength > MAX_UNSENT_BYTES) this.drop(stream);
      else stream.write(event);
    }
  }

  private drop(stream: EventStream): void {
    this.forget(stream);
    stream.end();
  }

  private forget(stream: EventStream): void {
    time.clearTimer(this.viewers.get(stream));
    this.viewers.delete(stream);
    if (this.viewers.size > 0) return;
    time.clearTimer(this.timer);
    this.timer = undefined;
    this.rest();
  }

  private rest(): void {
    this.last = '';
    this.newest = undefined;
  }
}

function eventOf(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
