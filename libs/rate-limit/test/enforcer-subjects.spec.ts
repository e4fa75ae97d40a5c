import { RateLimitEvents } from 'luanest/rate-limit';
import { Published } from '../../../test/support/published';
import { collectWarnings, contextOf, MINUTE, open, request } from './enforcer-support';

const published = new Published(RateLimitEvents);
const warnings = collectWarnings();

const a = { name: 'a', limit: 5, ...MINUTE };
const b = { ...a, name: 'b' };
const shadow = { ...a, name: 'shadow', shadow: true };
const unknown = (rule: string, context = 'http'): unknown => ['subjectUnknown', { context, rule }];
const warning = (rule: string, context: string, what: string): unknown => [
  'RateLimit',
  `Rule "${rule}" found no subject (the id or address to count) in a request of context "${context}". Requests without a ` +
    `subject ${what}. This is normal for a client that has disconnected. If it happens often, set the option subject of the rule ` +
    'to a function that always returns text, or put @SkipRateLimit() on the route. Logged once per rule.',
];
/** Requests whose client has no address. */
const hungUp: [name: string, one: object][] = [
  ['without a socket', {}],
  ['with a closed socket', request({ ip: undefined, socket: {} })],
  ['with empty addresses', request({ ip: '', socket: { remoteAddress: '' } })],
];

describe('a request without a subject', () => {
  it.each(hungUp)('%s shares one counter with others like it', async (_name, one) => {
    const { enforcer, checked } = open({ rules: [a] });
    expect(await enforcer.admit(contextOf({ args: [one] }))).toBe(true);
    expect(checked()).toEqual([[['a', '']]]);
    expect(published.take()).toEqual([unknown('a')]);
    expect(warnings).toEqual([warning('a', 'http', 'share one counter of the rule')]);
  });

  it('is published each time, and logged once per rule', async () => {
    const { enforcer } = open({ rules: [a, b] });
    await enforcer.admit(contextOf({ args: [{}] }));
    await enforcer.admit(contextOf({ args: [{}], kind: 'other' }));
    expect(published.take()).toEqual([unknown('a'), unknown('b'), unknown('a', 'other'), unknown('b', 'other')]);
    const what = 'share one counter of the rule';
    expect(warnings).toEqual([warning('a', 'http', what), warning('b', 'http', what)]);
  });

  it('is not counted and not allowed if the module says so, and each rule is reported', async () => {
    const { enforcer, checked } = open({ rules: [a, b], onUnknownSubject: 'deny' });
    expect(await enforcer.admit(contextOf({ args: [{}] }))).toBe(false);
    expect([checked(), published.take()]).toEqual([[], [unknown('a'), unknown('b')]]);
    expect(warnings).toEqual([warning('a', 'http', 'are refused'), warning('b', 'http', 'are refused')]);
  });

  it('is allowed under a shadow rule, although the module says otherwise', async () => {
    const { enforcer, checked } = open({ rules: [shadow], onUnknownSubject: 'deny' });
    expect(await enforcer.admit(contextOf({ args: [{}] }))).toBe(true);
    expect([checked(), published.take()]).toEqual([[[['shadow', '']]], [unknown('shadow')]]);
    expect(warnings).toEqual([warning('shadow', 'http', 'share one counter of the rule')]);
  });

  it('is refused if one of its rules refuses, although another is a shadow rule', async () => {
    const { enforcer, checked } = open({ rules: [shadow, a], onUnknownSubject: 'deny' });
    expect(await enforcer.admit(contextOf({ args: [{}] }))).toBe(false);
    expect([checked(), published.take()]).toEqual([[], [unknown('shadow'), unknown('a')]]);
  });
});

it.each(['count', 'deny'] as const)('a request with a subject is not reported (%s)', async (onUnknownSubject) => {
  const { enforcer, checked } = open({ rules: [{ ...a, subject: () => 'me' }], onUnknownSubject });
  expect(await enforcer.admit(contextOf({ args: [{}] }))).toBe(true);
  expect([checked(), published.take(), warnings]).toEqual([[[['a', 'me']]], [], []]);
});
