import { Subscriber, type Observer } from 'rxjs';
import { answerRepeat, type RepeatResult } from '../src/idempotency/repeat';
import { NO_VALUE } from '../src/idempotency/replay-placeholder';
import type { HttpResponse } from '../src/idempotency/response-recorder';

/** A response of Express, with what is sent. */
function response(headersSent = false) {
  const headers: Record<string, unknown> = {};
  const sent: unknown[] = [];
  const raw = {
    headersSent,
    setHeader: (name: string, value: unknown) => void (headers[name.toLowerCase()] = value),
    removeHeader: (name: string) => void delete headers[name.toLowerCase()],
    hasHeader: (name: string) => name.toLowerCase() in headers,
    getHeaders: () => headers,
    writeHead: (...head: unknown[]) => void sent.push(head),
    end: (body: unknown) => void sent.push(body),
  };
  return { response: raw as unknown as HttpResponse, headers, sent };
}

function answer(reply: RepeatResult, to = response()): unknown[] {
  const seen: unknown[] = [];
  const subscriber = new Subscriber<unknown>({
    next: (value) => seen.push(value),
    error: () => undefined,
    complete: () => seen.push('end'),
  } as Observer<unknown>);
  answerRepeat(reply, 'Idempotency-Key', to.response, subscriber);
  return seen;
}

describe('a repeat of a request', () => {
  it('gets the stored response, and the interceptors get a placeholder', () => {
    const to = response();
    const result = { status: 201, message: undefined, headers: [['x-a', '1']] as const, body: 'made' };
    const seen = answer({ status: 'done', confirmed: true, result } as unknown as RepeatResult, to);
    expect(to.sent).toEqual([[201], 'made']);
    expect(to.headers).toEqual({ 'x-a': '1', 'content-length': 4, 'idempotency-replayed': 'true' });
    expect([seen.length, seen[0] === NO_VALUE, seen[1]]).toEqual([2, true, 'end']);
  });

  it.each<[string, RepeatResult, string, string]>([
    [
      'the key was used for something else',
      { status: 'mismatch' },
      'KEY_REUSED',
      'The Idempotency-Key of this request was used before, for a request with another method, URL or content. For a new request, send a new key.',
    ],
    [
      'the first request may not have been finished',
      { status: 'done', confirmed: false, result: undefined },
      'NOT_FINISHED',
      'The first request with this Idempotency-Key was started, but may not have been finished. It is not run again. Look at what it did.',
    ],
    [
      'the response was not stored',
      { status: 'done', confirmed: true, result: undefined },
      'RESPONSE_NOT_KEPT',
      'The first request with this Idempotency-Key is done, but its response was not stored. Read what it did, and do not repeat it.',
    ],
    [
      'the first request is in progress',
      { status: 'in-progress', retryAfterMs: 1 },
      'IN_PROGRESS',
      'The first request with this Idempotency-Key is in progress. Send this request again after the seconds in Retry-After.',
    ],
  ])('is refused if %s', (_, reply, code, message) => {
    const to = response();
    expect(() => answer(reply, to)).toThrow(expect.objectContaining({ code, message }) as Error);
    expect(to.sent).toEqual([]);
  });

  it.each([
    [0, '1'],
    [1_000, '1'],
    [1_001, '2'],
  ])(
    'in progress may be sent again when the lease has ended, after whole seconds: %p ms, %s s',
    (retryAfterMs, after) => {
      const to = response();
      expect(() => answer({ status: 'in-progress', retryAfterMs }, to)).toThrow('in progress');
      expect(to.headers).toEqual({ 'retry-after': after });
    },
  );

  it('in progress gets no Retry-After if the head was sent already', () => {
    const to = response(true);
    expect(() => answer({ status: 'in-progress', retryAfterMs: 5 }, to)).toThrow('in progress');
    expect(to.headers).toEqual({});
  });
});
