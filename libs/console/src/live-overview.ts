import { Logger, type OnModuleDestroy } from '@nestjs/common';
import { messageOf, time, type Timer } from '../../internal/src';

const PERIOD_MS = 2_000;
/** Maximum number of bytes that wait to be sent to one open page. With more, the stream ends, and the browser connects again. */
const MAX_UNSENT_BYTES = 1_048_576;
/** Maximum duration of a stream, ms. The browser then connects again, and the guards check the user again. */
const MAX_STREAM_MS = 300_000;

/** The part of a Node.js response that a stream of server-sent events needs. */
export interface EventStream {
  readonly writableLength: number;
  write(text: string): unknown;
  end(): unknown;
  once(event: 'close', listener: () => void): unknown;
}

/**
 * Sends the overview to all viewers (open pages) as server-sent events. One read of Redis every two seconds serves all viewers of
 * this process. Without viewers, Redis is not read. See DECISIONS.md: one-read-for-all-viewers
 */
export class LiveOverview implements OnModuleDestroy {
  private readonly logger = new Logger('ConsoleModule');
  private readonly viewers = new Map<EventStream, Timer>();
  private timer: Timer | undefined;
  private reading = false;
  private closed = false;
  private warned = false;
  /** The last overview, which a new viewer gets at once. It is '' while there are no viewers, because the overview would be too old. */
  private last = '';
  private newest: string | undefined;

  /**
   * @param read reads the overview
   * @param newestAction returns a text that changes when any process begins or ends an action
   */
  constructor(
    private readonly read: () => Promise<object>,
    private readonly newestAction: () => Promise<string>,
  ) {}

  /** Adds a viewer: sends events to its response until the response is closed. */
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

  /** Sends the event `changed` to all viewers of this process: an action has changed something in a section. */
  changed(section: string): void {
    this.newest = undefined;
    this.send(eventOf('changed', { section }));
  }

  /** Ends the streams of all viewers, because the server of the app cannot close while they are open. */
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
        // Another process has run an action. The event names no section, because this process does not know which section changed.
        if (this.newest !== undefined && newest !== this.newest) this.send(eventOf('changed', {}));
        this.newest = newest;
      }
    } catch (error) {
      // If one section fails, the overview contains its error. Here the whole overview failed, so there is nothing to send.
      if (!this.warned)
        this.logger.warn(
          `The overview of the console could not be read from Redis, so open pages show an older one: ${messageOf(error)}`,
        );
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
