import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net';
import { once } from 'node:events';
import type { Address } from './admin';
import { reportFault } from './fault-channel';
import { ProxyLink } from './proxy-link';
import { sleep } from './wait';

/** Options of `dropRequest` of a {@link FaultProxy}. */
export interface DropOptions {
  /**
   * Returns true for the request to drop. Gets one complete request: the command and its arguments, as text in the protocol of Redis.
   * Default: the next request is dropped.
   */
  readonly when?: (request: string) => boolean;
  /** How long the connection stays silent before the proxy resets it, ms. The latency is added. Default 20. */
  readonly settleMs?: number;
  /**
   * The connection also stays silent until this promise settles. If the promise rejects, `dropReply` or `dropRequest` rejects with the
   * same reason. Default: none.
   */
  readonly until?: Promise<unknown>;
}

/** Options of `dropReply` of a {@link FaultProxy}. */
export interface DropReplyOptions extends DropOptions {
  /** Number of replies that still pass; the reply to the request is the first one. Default 0: the reply to the request is lost. */
  readonly afterReplies?: number;
}

type Mode = 'pass' | 'refuse' | 'blackhole';

interface Drop {
  readonly what: 'request' | 'reply';
  readonly options: DropReplyOptions;
  readonly done: () => void;
  readonly failed: (reason: unknown) => void;
}

/**
 * TCP proxy on 127.0.0.1 in front of one Redis server. {@link startFaultProxy} makes it. Its faults can be switched on and off
 * while connections are open.
 */
export class FaultProxy implements AsyncDisposable {
  /** Always 127.0.0.1. */
  readonly host = '127.0.0.1';
  /** Server for new connections. Open connections keep theirs. Change it to simulate a failover behind one address. */
  target: Address;
  readonly #links = new Set<ProxyLink>();
  readonly #server: Server;
  readonly #drops: Drop[] = [];
  #mode: Mode = 'pass';
  #port = 0;
  #latencyMs = 0;

  private constructor(target: Address) {
    this.target = target;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client));
  }

  /** Starts a proxy. Use {@link startFaultProxy} instead: it checks the target. */
  static async start(target: Address): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    proxy.#server.listen(0, proxy.host);
    await once(proxy.#server, 'listening');
    proxy.#port = (proxy.#server.address() as AddressInfo).port;
    proxy.#server.unref();
    return proxy;
  }

  /** TCP port of the proxy. */
  get port(): number {
    return this.#port;
  }

  /** `redis://127.0.0.1:<port>`. */
  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  /** Number of connections that are open through the proxy. */
  get connections(): number {
    return this.#links.size;
  }

  /**
   * Ends all faults and the latency. If the request of a `dropReply` or `dropRequest` has come already, that fault still happens. Resets
   * connections that lost bytes in a blackhole: otherwise a client would take a reply for the reply to another request.
   */
  pass(): void {
    this.#mode = 'pass';
    this.#latencyMs = 0;
    this.#callOff();
    for (const link of this.#links) if (link.lostBytes) link.reset();
  }

  /** Delays all bytes by `ms` in each direction, in order, until `pass()`. @param ms 0 to 60,000 */
  delay(ms: number): void {
    this.#latencyMs = ms;
  }

  /** Cuts all open connections (RST). Does not change new connections. */
  cut(): void {
    reportFault('connections reset', this.#links.size);
    for (const link of this.#links) link.reset();
  }

  /** Simulates that Redis is down: cuts all open connections, and each new connection until `pass()`. */
  refuse(): void {
    this.#mode = 'refuse';
    this.cut();
  }

  /** Simulates a network that loses all packets: connections open and stay open, but all bytes are lost until `pass()`. */
  blackhole(): void {
    this.#mode = 'blackhole';
    reportFault('connections gone silent', this.#links.size);
  }

  /**
   * Loses the reply to one request. The server gets the request. The proxy discards the reply and all later replies of the connection, and
   * then cuts the connection. Happens once; other connections are not cut. Resolves after the cut, or when `pass()` or `stop()` cancels
   * the fault before such a request has come.
   */
  dropReply(options: DropReplyOptions = {}): Promise<void> {
    return this.#plan('reply', options);
  }

  /**
   * Loses one request. The server gets neither this request nor later requests of the connection. Earlier requests get their replies. Then
   * the proxy cuts the connection. Happens once; other connections are not cut. Resolves after the cut, or when `pass()` or `stop()`
   * cancels the fault before such a request has come.
   */
  dropRequest(options: DropOptions = {}): Promise<void> {
    return this.#plan('request', options);
  }

  /** Cuts all connections, and ends the proxy. Cancels faults as `pass()` does. May be called any number of times. */
  async stop(): Promise<void> {
    this.#callOff();
    if (!this.#server.listening) return;
    this.#server.ref();
    this.#server.close();
    for (const link of this.#links) link.reset();
    await once(this.#server, 'close');
  }

  /** The same as `stop()`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #accept(client: Socket): void {
    if (this.#mode === 'refuse') {
      client.on('error', () => undefined);
      client.resetAndDestroy();
      return;
    }
    const { host, port } = this.target;
    const upstream = connect({ host, port, allowHalfOpen: true, noDelay: true });
    const link: ProxyLink = new ProxyLink(client, upstream, {
      latencyMs: () => this.#latencyMs,
      swallows: () => this.#mode === 'blackhole',
      losesRequest: (request) => this.#drop(link, request),
      onClose: () => this.#links.delete(link),
    });
    this.#links.add(link);
  }

  #plan(what: Drop['what'], options: DropReplyOptions): Promise<void> {
    return new Promise((done, failed) => this.#drops.push({ what, options, done, failed }));
  }

  /** Cancels the faults whose request has not come yet, and resolves their promises. */
  #callOff(): void {
    for (const { done } of this.#drops.splice(0)) done();
  }

  /** Returns true if the request is lost. */
  #drop(link: ProxyLink, request: Buffer): boolean {
    if (link.cutting) return false;
    const index = this.#drops.findIndex(({ options }) => options.when?.(request.toString()) ?? true);
    if (index === -1) return false;
    const [{ what, options, done, failed }] = this.#drops.splice(index, 1) as [Drop];
    const last = link.requests - 1 + (options.afterReplies ?? 0);
    void link
      .cut(last, what === 'reply' ? last + 1 : last)
      .then(() => sleep(this.#latencyMs + (options.settleMs ?? 20)))
      .then(() => options.until)
      .finally(() => {
        link.reset();
        reportFault(what === 'reply' ? 'replies lost' : 'requests lost');
      })
      .then(done, failed);
    return what === 'request';
  }
}
