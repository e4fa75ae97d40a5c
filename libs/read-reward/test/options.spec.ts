import { resolveOptions } from '../src/read-reward.options';

describe('options', () => {
  const rules = { r: { limit: 1 } };

  it.each([20.5, 0, -1, NaN, 2 ** 53])('refuse %p as a duration, and show it', (ms) => {
    const refused = new RegExp(`is ${String(ms).replace('.', '\\.')}\\.`);
    expect(() => resolveOptions({ rules, operationRetentionMs: ms })).toThrow(refused);
    expect(() => resolveOptions({ rules, ledgerRetentionMs: ms })).toThrow(refused);
    expect(() => resolveOptions({ rules: { r: { limit: 1, retentionMs: ms } } })).toThrow(refused);
  });

  it.each([
    [{ limit: -1 }, /limit is -1/],
    [{ limit: 1, timeZone: 'Mars/Base' }, /"Mars\/Base"/],
    [{ limit: 1, dayStartsAt: '24:00' }, /"24:00"/],
    [{ limit: 1, period: 'year' as 'day' }, /"year"/],
  ])('refuse the rule %j', (rule, message) => {
    expect(() => resolveOptions({ rules: { r: rule } })).toThrow(message);
  });
});
