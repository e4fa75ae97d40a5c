import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** A response with a status below 500. */
export interface Answer {
  readonly status: number;
  /** Parsed JSON; undefined for an empty body. */
  readonly body: unknown;
  /** Duration of the successful attempt, ms. */
  readonly tookMs: number;
  readonly origin: string;
}

/** A request of a rain failed: the app refused it, was unavailable for too long, or has the activity already. */
export class RainRequestError extends Error {
  readonly code = 'RAIN_REQUEST';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RainRequestError';
  }
}

/** Age of a call from which a failed attempt calls `onWaiting`, ms. */
const WAITING_AFTER_MS = 2_000;

/** A request of the client. */
export interface Call {
  readonly method: 'GET' | 'POST';
  /** Path, or a whole URL. A function is called again for each attempt. */
  readonly path: string | (() => Promise<string>);
  readonly token?: string;
  readonly body?: unknown;
}

/**
 * HTTP client for a crowd. It keeps connections open. While an attempt fails (no connection, no response, status 5xx, a body
 * that is not JSON) it repeats the call, with pauses of up to 1 s, for `patienceMs`. So each call must be safe to repeat.
 */
export class HttpClient {
  private readonly agent: Agent;
  /** Calls with a response. */
  answered = 0;
  retries = 0;

  private readonly bases: readonly string[];
  private turn = 0;
  private waiting = false;

  /**
   * @param bases base URL of the app, or several with commas between. Attempts go to them in turn
   * @param patienceMs how long a call is repeated while the app is unavailable, ms; default 60,000
   * @param onWaiting called once, when an attempt fails over 2 s after its call began
   */
  constructor(
    bases: string,
    connections: number,
    private readonly patienceMs = 60_000,
    private readonly onWaiting: (bases: string, patienceMs: number) => void = () => undefined,
  ) {
    this.bases = bases.split(',');
    this.agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Sends a call. @throws {RainRequestError} if all attempts within `patienceMs` fail */
  async call(call: Call): Promise<Answer> {
    const startedAt = Date.now();
    const deadline = startedAt + this.patienceMs;
    let path = '';
    for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 1_000)) {
      try {
        path = typeof call.path === 'string' ? call.path : await call.path();
        const answer = await this.attempt({ ...call, path });
        this.answered += 1;
        return answer;
      } catch (cause) {
        if (Date.now() - startedAt > WAITING_AFTER_MS) this.reportWaiting();
        if (Date.now() + pauseMs > deadline) {
          const reason = cause instanceof Error ? cause.message : String(cause);
          throw new RainRequestError(
            `${call.method} ${path || '(unknown path)'} failed, also when repeated for up to ${this.patienceMs} ms: ${reason}`,
            {
              cause,
            },
          );
        }
        this.retries += 1;
        await sleep(pauseMs * (0.5 + Math.random() / 2));
      }
    }
  }

  private reportWaiting(): void {
    if (!this.waiting) this.onWaiting(this.bases.join(', '), this.patienceMs);
    this.waiting = true;
  }

  close(): void {
    this.agent.destroy();
  }

  private attempt({ method, path, token, body }: Call & { readonly path: string }): Promise<Answer> {
    const payload = body === undefined ? '' : JSON.stringify(body);
    const headers: Record<string, string> = { 'content-length': String(Buffer.byteLength(payload)) };
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    if (payload !== '') headers['content-type'] = 'application/json';
    return new Promise((resolve, reject) => {
      const startedAt = performance.now();
      this.turn = (this.turn + 1) % this.bases.length;
      const url = new URL(path, this.bases[this.turn]);
      const outgoing = request(url, {
        method,
        headers,
        agent: this.agent,
        timeout: 10_000,
      });
      outgoing.on('timeout', () => outgoing.destroy(new Error('no data for 10000 ms')));
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('aborted', () => reject(new Error('the response broke off')));
        response.on('end', () => {
          try {
            const tookMs = performance.now() - startedAt;
            resolve({ ...readAnswer(response.statusCode ?? 0, Buffer.concat(chunks)), tookMs, origin: url.origin });
          } catch (error) {
            reject(error instanceof Error ? error : new Error(String(error)));
          }
        });
      });
      outgoing.end(payload);
    });
  }
}

function readAnswer(status: number, bytes: Buffer): Pick<Answer, 'status' | 'body'> {
  const text = bytes.toString('utf8');
  if (status >= 500) throw new Error(`status ${status}: ${text.slice(0, 200)}`);
  return { status, body: text === '' ? undefined : JSON.parse(text) };
}
