import type { Socket } from 'node:net';
import { DelayLine } from './delay-line';
import { RespFrames, isPush } from './resp-frames';

export interface LinkHooks {
  latencyMs: () => number;
  swallows: () => boolean;
  /** Called for each complete request. If it returns true, the server gets neither the end of this request nor any later one. */
  losesRequest: (request: Buffer) => boolean;
  onClose: () => void;
}

/** A planned end of a connection. */
interface Cut {
  /** Number of the last reply that the client gets, counted from 1 for this connection. */
  lastReply: number;
  /** Number of replies, passed or discarded, after which `cut` resolves. */
  until: number;
  reached: () => void;
}

const NOTHING = Buffer.alloc(0);

/** A client's connection to the proxy, together with the proxy's connection to the server. */
export class ProxyLink {
  /** Number of requests so far, including the current one. */
  requests = 0;
  /** True once the proxy has lost bytes, so that neither connection can be used any more. */
  lostBytes = false;
  #replies = 0;
  #cut: Cut | undefined;
  #losesRequests = false;
  readonly #toServer: DelayLine;
  readonly #toClient: DelayLine;

  constructor(
    private readonly client: Socket,
    private readonly upstream: Socket,
    private readonly hooks: LinkHooks,
  ) {
    this.#toServer = new DelayLine(hooks.latencyMs);
    this.#toClient = new DelayLine(hooks.latencyMs);
    const requests = new RespFrames();
    const replies = new RespFrames();
    this.#carry(client, upstream, this.#toServer, (chunk) => this.#keepRequests(requests, chunk));
    this.#carry(upstream, client, this.#toClient, (chunk) => this.#keepReplies(replies.push(chunk)));
  }

  /** Closes both connections at once, if possible by RST. */
  reset(): void {
    this.#toServer.clear();
    this.#toClient.clear();
    for (const socket of [this.client, this.upstream]) {
      // libuv refuses a reset (EINVAL) while the end of a stream is being sent, and the handle would stay open forever.
      if (socket.writableEnded && !socket.writableFinished) socket.destroy();
      else socket.resetAndDestroy();
    }
    this.#cut?.reached();
  }

  /** True once a cut of this connection is planned. */
  get cutting(): boolean {
    return this.#cut !== undefined;
  }

  /** Discards all replies after number `lastReply`. Resolves when `until` replies have come, or when the connection ends. */
  cut(lastReply: number, until: number): Promise<void> {
    return new Promise((reached) => {
      this.#cut = { lastReply, until, reached };
      this.#checkCut();
    });
  }

  #carry(source: Socket, target: Socket, line: DelayLine, filter: (chunk: Buffer) => Buffer): void {
    source.on('data', (chunk: Buffer) => {
      if (this.#swallow()) return;
      const kept = filter(chunk);
      if (kept.length === 0) return;
      line.push(() => {
        if (target.writable && !target.write(kept)) source.pause();
      });
    });
    target.on('drain', () => source.resume());
    source.on('end', () => this.#swallow() || line.push(() => target.end()));
    source.on('error', () => this.#swallow() || this.reset());
    source.on('close', () => {
      if (this.client.closed && this.upstream.closed) this.#closed();
    });
  }

  #swallow(): boolean {
    if (!this.hooks.swallows()) return false;
    this.lostBytes = true;
    return true;
  }

  #closed(): void {
    this.#toServer.clear();
    this.#toClient.clear();
    this.#cut?.reached();
    this.hooks.onClose();
  }

  /** Returns the bytes for the server. The last request may be incomplete; the server runs it only when the rest arrives. */
  #keepRequests(requests: RespFrames, chunk: Buffer): Buffer {
    if (this.#losesRequests) return NOTHING;
    let end = -requests.pendingBytes; // End of the complete requests in this chunk.
    for (const frame of requests.push(chunk)) {
      this.requests += 1;
      if (this.hooks.losesRequest(frame)) {
        this.#losesRequests = true;
        return chunk.subarray(0, Math.max(0, end));
      }
      end += frame.length;
    }
    return chunk;
  }

  /** Returns the bytes for the client. They are always complete replies, so that a connection is never cut within a reply. */
  #keepReplies(frames: Buffer[]): Buffer {
    const kept: Buffer[] = [];
    for (const frame of frames) {
      if (!isPush(frame)) this.#replies += 1;
      if (this.#replies <= (this.#cut?.lastReply ?? Infinity)) kept.push(frame);
    }
    this.#checkCut();
    return Buffer.concat(kept);
  }

  #checkCut(): void {
    if (this.#cut && this.#replies >= this.#cut.until) this.#cut.reached();
  }
}
