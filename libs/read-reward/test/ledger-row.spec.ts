import { InvalidInputError } from 'luanest/script-registry';
import { parseLedgerRow } from 'luanest/read-reward';

const ROW = {
  kind: 'grant',
  rule: 'article',
  user: 'ann@example.com',
  item: 'a1',
  points: '2',
  start: '1',
  seq: '1',
  at: '9',
};

function fieldsOf(row: object): string[] {
  return Object.entries(row).flat() as string[];
}

describe('an entry of a reward ledger', () => {
  it('is read', () => {
    expect(parseLedgerRow(fieldsOf(ROW))).toEqual({
      kind: 'grant',
      grantId: 'article:1:1:ann%40example.com:a1',
      rule: 'article',
      userId: 'ann@example.com',
      itemId: 'a1',
      points: 2,
      atMs: 9,
    });
  });

  it.each([
    ['kind', 'bonus'],
    ['rule', ''],
    ['user', ''],
    ['item', ''],
    ['points', '2.5'],
    ['start', 'x'],
    ['seq', ''],
    ['at', '9'.repeat(20)],
  ])('is refused for its %s, by name: nothing of the row is in the message', (field, value) => {
    let refusal: unknown;
    try {
      parseLedgerRow(fieldsOf({ ...ROW, [field]: value, note: 'secret' }));
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(InvalidInputError);
    const { message } = refusal as Error;
    expect(message).toMatch(new RegExp(` ${field}\\. `));
    for (const text of ['ann', 'a1', 'secret']) expect(message).not.toContain(text);
  });

  it('has a grant id of at most 4,800 characters, for the longest ids', () => {
    const id = '\u4f60'.repeat(256);
    const row = { ...ROW, rule: 'r'.repeat(64), user: id, item: id, start: '9'.repeat(15), seq: '9'.repeat(15) };
    const { length } = parseLedgerRow(fieldsOf(row)).grantId;
    expect(length).toBeGreaterThan(4_700);
    expect(length).toBeLessThanOrEqual(4_800);
  });

  it('is refused if another program wrote it', () => {
    expect(() => parseLedgerRow(['user', 'ann'])).toThrow(/ kind, rule, item, points, start, seq, at\. /);
    expect(() => parseLedgerRow([])).toThrow(InvalidInputError);
  });
});
