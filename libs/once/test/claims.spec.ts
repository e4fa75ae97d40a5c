import { OnceEvents } from 'luanest/once';
import { NotSentError, UnknownOutcomeError } from 'luanest/script-registry';
import { turn } from '../../../test/support/manual-time';
import { Published } from '../../../test/support/published';
import { Checks } from '../../internal/src';
import { resolveOptions } from '../src/once.options';
import { DEFAULT_TERMS, resolveTerms } from '../src/once.terms';
import type { ClaimResult, Mismatch } from '../src/once.types';
import { claimed, LOCATED, open, take, WAITS } from './claims-support';

const published = new Published(OnceEvents);

describe('the terms of a claim', () => {
  it('are those of the call, then those of the module', () => {
    const { claims } = open();
    const own = { leaseMs: 10, retentionMs: 3, delivery: 'at-most-once' } as const;
    expect(claims.fill({ ...own, token: 'mine' }, 'print')).toEqual({
      ...DEFAULT_TERMS,
      ...own,
      token: 'mine',
      fingerprint: 'print',
    });
    const usual = claims.fill({});
    expect(usual).toEqual({ ...DEFAULT_TERMS, token: usual.token, fingerprint: '' });
    expect(claims.fill({}).token).not.toBe(usual.token);
  });

  it('are checked once for options that cannot change', () => {
    const { claims } = open();
    let reads = 10;
    const options = { get leaseMs() { return (reads += 1); } }; // prettier-ignore
    claims.fill(options);
    const before = reads;
    claims.fill(options);
    expect(reads).toBeGreaterThan(before);
    Object.freeze(options);
    const { leaseMs } = claims.fill(options);
    const read = reads;
    expect([claims.fill(options).leaseMs, reads]).toEqual([leaseMs, read]);
  });

  it('are refused if one is unknown or out of range', () => {
    const { claims } = open();
    expect(() => claims.fill({ leaseMS: 5 } as never)).toThrow(/^OnceService: .*leaseMS/);
    expect(() => claims.fill({ leaseMs: 9 })).toThrow(/^OnceService: leaseMs is 9\. Expected an integer from 10 to /);
  });

  it.each([
    ['leaseMs', 9, 10],
    ['retentionMs', 0, 1],
    ['delivery', 'twice', 'at-most-once'],
  ])('%s must not be %p, but may be %p', (name, wrong, right) => {
    const checks = new Checks('Module');
    expect(() => resolveTerms({ [name]: wrong }, DEFAULT_TERMS, checks)).toThrow(`Module: ${name} is `);
    expect(resolveTerms({ [name]: right }, DEFAULT_TERMS, checks)).toEqual({ ...DEFAULT_TERMS, [name]: right });
  });

  it.each([
    ['maxLeaseMs', 0, 1],
    ['replicas', -1, 0],
    ['replicas', 101, 100],
    ['replicasTimeoutMs', 0, 1],
    ['replicasTimeoutMs', 60_001, 60_000],
  ])('%s of the module must not be %p, but may be %p', (name, wrong, right) => {
    expect(() => resolveOptions({ [name]: wrong })).toThrow(`OnceModule: ${name} is `);
    expect(resolveOptions({ [name]: right })).toMatchObject({ ...DEFAULT_TERMS, [name]: right });
  });
});

describe('a claim that is sent', () => {
  it('has its token and terms', () => {
    const { reply } = take(claimed, { options: { leaseMs: 10, retentionMs: 20 } });
    expect([reply.script, reply.keys, reply.args, reply.options]).toEqual([
      'once.claim',
      { claim: LOCATED.key },
      { token: 't', leaseMs: 10, retentionMs: 20, delivery: 'at-least-once', fingerprint: '' },
      undefined,
    ]);
  });

  it('waits for replicas if the terms say so, with a longer deadline', async () => {
    const { reply, taken } = take({ result: claimed, replicas: 2 }, { module: WAITS });
    expect([reply.script, reply.options]).toEqual([
      'once.claim and wait',
      { replicas: 2, timeoutMs: 300, deadlineMs: 60_300 },
    ]);
    expect((await taken).status).toBe('claimed');
  });

  it('is released if too few replicas have it', async () => {
    const { registry, taken } = take({ result: claimed, replicas: 1 }, { module: WAITS });
    await turn();
    expect([registry.last.script, registry.last.args]).toEqual(['once.release', { token: 't' }]);
    registry.last.reply.reject('down');
    await expect(taken).rejects.toMatchObject({ code: 'NOT_REPLICATED', during: 'claim', copies: 1, replicas: 2 });
    expect(published.take()).toEqual([
      ['claimAnswered', { status: 'claimed' }],
      ['settlementFailed', { error: 'down' }],
    ].slice(1)); // prettier-ignore
  });

  it('of another owner needs no replicas', async () => {
    const { taken } = take({ result: { status: 'in-progress', text: '70' }, replicas: 0 }, { module: WAITS });
    expect(await taken).toEqual({ status: 'in-progress', retryAfterMs: 70 });
    expect(published.take()).toEqual([['claimAnswered', { status: 'in-progress' }]]);
  });

  it.each<[string, unknown, boolean, ClaimResult | Mismatch]>([
    ['another fingerprint', { status: 'mismatch', text: '' }, false, { status: 'mismatch' }],
    ['a result', { status: 'done', text: '{"a":1}' }, false, { status: 'done', result: { a: 1 }, confirmed: true }],
    ['no result', { status: 'done', text: '' }, false, { status: 'done', result: undefined, confirmed: true }],
    [
      'no confirmation',
      { status: 'unconfirmed', text: '' },
      false,
      { status: 'done', result: undefined, confirmed: false },
    ],
    [
      'a response',
      { status: 'done', text: '[200,[],"utf8"]\nok' },
      true,
      { status: 'done', result: { status: 200, message: undefined, headers: [], body: 'ok' }, confirmed: true },
    ],
  ])('finds %s', async (_, answer, isRequest, expected) => {
    const { taken } = take(answer, { isRequest });
    expect(await taken).toEqual(expected);
  });

  it('is released if its outcome is unknown, and nobody else knows its token', async () => {
    const unknown = new UnknownOutcomeError('late');
    const one = take(unknown);
    await expect(one.taken).rejects.toBe(unknown);
    expect(one.registry.scripts).toEqual(['once.claim', 'once.release']);
    const kept = take(unknown, { freed: false });
    await expect(kept.taken).rejects.toBe(unknown);
    const notSent = take(new NotSentError('closed'));
    await expect(notSent.taken).rejects.toBeInstanceOf(NotSentError);
    expect([kept.registry.scripts, notSent.registry.scripts]).toEqual([['once.claim'], ['once.claim']]);
  });
});
