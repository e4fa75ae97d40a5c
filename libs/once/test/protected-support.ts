import type { ServerResponse } from 'node:http';
import { Observable, type Subscription } from 'rxjs';
import { pending, type Pending } from '../../../test/support/replies';
import { time } from '../../internal/src';
import { ProtectedRequest } from '../src/idempotency/protected-request';
import { Runs } from '../src/runs/runs';

type Route = { storeErrors: boolean; delivery: string; maxStoredBytes: number };

/** A protected request whose handler and whose Redis the test controls. */
export function start(route: Partial<Route> = {}) {
  const settled: [call: string, body: unknown][] = [];
  const replies: Pending<unknown>[] = [];
  const reply = (call: string, body?: unknown): Promise<unknown> => {
    settled.push([call, body]);
    replies.push(pending());
    return (replies.at(-1) as Pending<unknown>).promise;
  };
  const claim = {
    fence: 1,
    renew: () => reply('renew'),
    release: () => reply('release'),
    confirm: (stored?: { text: string }) => reply('confirm', stored?.text.split('\n')[1]),
  };
  const sent: unknown[] = [];
  const raw = {
    statusCode: 200,
    statusMessage: 'OK',
    destroyed: false,
    headersSent: false,
    getHeaders: () => ({}),
    getHeaderNames: () => [],
    hasHeader: () => true,
    setHeader: () => undefined,
    write: (chunk: unknown) => (sent.push(chunk), true),
    writeHead: () => raw,
    flushHeaders: () => undefined,
    end: (body: unknown) => (sent.push(body), raw),
  };
  const runs = new Runs({ drainMs: 0, abortGraceMs: 0 });
  const request = new ProtectedRequest(runs, {
    id: 'key',
    held: { claim: claim as never, claimedAt: time.monotonicMs(), leaseMs: 600, maxLeaseMs: 6_000 },
    route: { storeErrors: false, delivery: 'at-least-once', maxStoredBytes: 100, ...route } as never,
    response: raw,
  });
  const seen: unknown[] = [];
  let subscription: Subscription | undefined;
  const run = (handler: Observable<unknown>): void => {
    subscription = new Observable((subscriber) => request.run({ handle: () => handler }, subscriber)).subscribe({
      next: (value) => seen.push(value),
      error: (error: Error) => seen.push(error.message),
      complete: () => seen.push('end'),
    });
  };
  const response = raw as unknown as ServerResponse;
  return { request, raw, response, run, seen, sent, settled, replies, leave: () => subscription?.unsubscribe() };
}
