import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';
import { once } from 'node:events';
import { note } from './fault-notes';
import { ProxyLink } from './proxy-link';
import { sleep } from './wait';

export interface FaultProxyOptions {
  targetPort: number;
  /** Default 127.0.0.1. */
  targetHost?: string;
  /** Latency of each direction, ms, at the start and after `pass()`. Default 0. */
  latencyMs?: number;
}

export interface CutOptions {
  /** Returns true for the request whose reply is lost; it gets one whole RESP request at a time. Default: the next request. */
  when?: (request: Buffer) => boolean;
  /** Number of replies that still pass, from the reply to the request on. Default 0: the reply to the request is lost. */
  afterReplies?: number;
  /** How long the connection stays silent before it is reset, ms, so that requests behind it can run. Default 20. */
  settleMs?: number;
  /** The connection also stays silent until this promise settles. */
  until?: Promise<unknown>;
}

type Mode = 'pass' | 'refuse' | 'blackhole';

interface Cut {
  options: CutOptions;
  done: () => void;
}

/** TCP proxy in front of one server. Its faults can be switched on and off while connections are open. */
export class FaultProxy {
  readonly host = '127.0.0.1';
  readonly #links = new Set<ProxyLink>();
  readonly #server: Server;
  readonly #cuts: Cut[] = [];
  #mode: Mode = 'pass';
  #port = 0;
  #latencyMs: number;

  private constructor(private readonly options: FaultProxyOptions) {
    this.#latencyMs = options.latencyMs ?? 0;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client));
  }

  static async start(options: FaultProxyOptions): Promise<FaultProxy> {
    const proxy = new FaultProxy(options);
    proxy.#server.listen(0, proxy.host);
    await once(proxy.#server, 'listening');
    proxy.#port = (proxy.#server.address() as AddressInfo).port;
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  /** Number of connections that are open through the proxy. */
  get connections(): number {
    return this.#links.size;
  }

  /**
   * Ends all faults, and restores the latency of the start. Connections that lost bytes in a blackhole are reset, because their
   * replies would be taken for replies to other requests.
   */
  pass(): void {
    this.#mode = 'pass';
    this.#latencyMs = this.options.latencyMs ?? 0;
    for (const link of this.#links) if (link.lostBytes) link.reset();
  }

  /** Delays all bytes by `ms` in each direction. Order and throughput stay the same. */
  delay(ms: number): void {
    this.#latencyMs = ms;
  }

  /** Resets all present connections; new ones pass. */
  reset(): void {
    note('connections reset', this.#links.size);
    for (const link of this.#links) link.reset();
  }

  /** Resets all present connections, and every new one until `pass()`. */
  refuse(): void {
    this.#mode = 'refuse';
    this.reset();
  }

  /** Connections open and stay open, but no byte arrives on either side until `pass()`. */
  blackhole(): void {
    this.#mode = 'blackhole';
    note('connections gone silent', this.#links.size);
  }

  /**
   * Loses the reply to one request. The server runs the request, its reply and all later ones are discarded, and then the
   * connection is reset. Happens once; new connections pass. Resolves after the reset.
   */
  cutFromReply(options: CutOptions = {}): Promise<void> {
    return new Promise((done) => this.#cuts.push({ options, done }));
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    for (const link of this.#links) link.reset();
    await once(this.#server, 'close');
  }

  #accept(client: Socket): void {
    if (this.#mode === 'refuse') {
      client.on('error', () => undefined);
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({
      port: this.options.targetPort,
      host: this.options.targetHost ?? '127.0.0.1',
      allowHalfOpen: true,
      noDelay: true,
    });
    const link = new ProxyLink(client, upstream, {
      latencyMs: () => this.#latencyMs,
      swallows: () => this.#mode === 'blackhole',
      onRequest: (request) => this.#cutFor(link, request),
      onClose: () => this.#links.delete(link),
    });
    this.#links.add(link);
  }

  #cutFor(link: ProxyLink, request: Buffer): void {
    if (link.cutting) return;
    const index = this.#cuts.findIndex(({ options }) => options.when?.(request) ?? true);
    if (index === -1) return;
    const [{ options, done }] = this.#cuts.splice(index, 1) as [Cut];
    void link
      .discardFromReplyTo(link.requests, options.afterReplies ?? 0)
      .then(() => sleep(this.#latencyMs + (options.settleMs ?? 20)))
      .then(() => options.until)
      .then(() => {
        link.reset();
        note('replies lost');
        done();
      });
  }
}
