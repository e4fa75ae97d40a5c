import type { Socket } from 'node:net';
import { DelayLine } from './delay-line';
import { RespFrames, isPush } from './resp-frames';

export interface LinkHooks {
  latencyMs: () => number;
  swallows: () => boolean;
  /** Called when a request is complete. If it returns true, the server gets neither the end of this request nor any later request. */
  losesRequest: (request: Buffer) => boolean;
  onClose: () => void;
}

/** Planned cut of a connection. */
interface Cut {
  /** Number of the last reply that the client gets; the first reply of the connection has number 1. */
  lastReply: number;
  /** Number of replies, passed or discarded, after which `cut` resolves. */
  until: number;
  reached: () => void;
}

const NOTHING = Buffer.alloc(0);

/** Connection of a client to the proxy, together with the connection of the proxy to the server for this client. */
export class ProxyLink {
  /** Number of requests so far, including the current one. */
  requests = 0;
  /** True if the proxy has lost bytes or the end of a stream. Then neither connection can be used any more. */
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

  /** Closes both connections at once: by RST, or without RST while the end of the stream is being sent. */
  reset(): void {
    this.#toServer.clear();
    this.#toClient.clear();
    for (const socket of [this.client, this.upstream]) {
      // While the end of a stream is being sent, libuv refuses a reset (EINVAL), and the handle would stay open for ever.
      if (socket.writableEnded && !socket.writableFinished) socket.destroy();
      else socket.resetAndDestroy();
    }
    this.#cut?.reached();
  }

  /** True once a cut of this connection is planned. */
  get cutting(): boolean {
    return this.#cut !== undefined;
  }

  /** Discards all replies after reply number `lastReply`. Resolves when `until` replies have come, or when the connection ends. */
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

  /** Returns the bytes that the server gets. They may end with a part of a request: the server runs a request only when it is complete. */
  #keepRequests(requests: RespFrames, chunk: Buffer): Buffer {
    if (this.#losesRequests) return NOTHING;
    let end = -requests.pendingBytes; // of the whole requests, in this chunk
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

  /** Returns the bytes that the client gets. They contain only complete replies, so that a cut is always between two replies. */
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
