export type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: 'string' };
const flag: Schema = { type: 'boolean' };
const count: Schema = { type: 'integer', minimum: 0 };
const cents: Schema = { type: 'integer', minimum: 0, description: 'Cents' };
const instant: Schema = { type: 'integer', description: "Milliseconds since 1970, by Redis' clock" };
const oneOf = (...values: string[]): Schema => ({ type: 'string', enum: values });
const list = (items: Schema): Schema => ({ type: 'array', items });

/** Returns the schema of an object. A field whose name ends in `?` is optional; its name has no `?` in the schema. */
function object(fields: Readonly<Record<string, Schema>>): Schema {
  const entries = Object.entries(fields).map(([name, schema]) => [name.replace('?', ''), schema] as const);
  const required = Object.keys(fields).filter((name) => !name.endsWith('?'));
  return { type: 'object', properties: Object.fromEntries(entries), ...(required.length > 0 && { required }) };
}

const state = oneOf('draft', 'preheated', 'open', 'paused', 'sold-out', 'ended', 'closed');
const packetFields = { packetId: text, amountCents: cents, grantedAtMs: instant };
const packet = object(packetFields);
const grant = object({ userId: text, ...packetFields });
const result = object({ ...packetFields, 'name?': text, own: flag, luckiest: flag });
const amount = object({ packets: count, cents });

/** Schemas of request and response bodies. */
export const schemas = {
  packet,
  grant,
  create: object({
    activityId: { ...text, maxLength: 128 },
    'total?': { ...text, example: '10000.00', description: 'Instead of totalCents' },
    'totalCents?': cents,
    packets: { type: 'integer', minimum: 1, maximum: 1_000_000 },
    'minCents?': cents,
    'maxCents?': cents,
    'split?': oneOf('double-mean', 'line-cut', 'equal', 'given'),
    'amounts?': list(cents),
    'startsAtMs?': instant,
    'endsAtMs?': instant,
    'maxTries?': count,
    'buckets?': { type: 'integer', minimum: 1, maximum: 64 },
  }),
  created: object({ activityId: text, totalCents: cents, packets: count, created: flag }),
  grab: object({
    status: oneOf(
      'won',
      'already-won',
      'unconfirmed',
      'sold-out',
      'not-open',
      'try-again',
      'too-many-tries',
      'not-eligible',
    ),
    'packet?': packet,
    'reason?': text,
    'retryAfterMs?': count,
  }),
  status: object({
    activityId: text,
    activityKey: text,
    state,
    totalCents: cents,
    packets: count,
    buckets: count,
    remainingPackets: count,
    remainingCents: cents,
    grantedPackets: count,
    grantedCents: cents,
    refundedPackets: count,
    refundedCents: cents,
    movingPackets: { type: 'integer' },
    movingCents: { type: 'integer' },
    openPayouts: count,
    deadLetters: count,
    unreportedPackets: count,
    createdAtMs: instant,
    startsAtMs: instant,
    endsAtMs: instant,
    expiresAtMs: instant,
    overdue: flag,
    settled: flag,
  }),
  state: object({ state }),
  closed: object({ activityId: text, closed: flag, refundedPackets: count, refundedCents: cents }),
  audit: object({
    activityId: text,
    ok: flag,
    problems: list(text),
    state,
    total: amount,
    moving: amount,
    buckets: list(object({ bucket: count, allotted: amount, pool: amount, granted: amount, refunded: amount })),
    'deep?': { type: 'object' },
  }),
  records: object({ items: list(grant), 'nextCursor?': text }),
  results: object({
    items: list(result),
    own: packet,
    'luckiest?': result,
    'nextCursor?': text,
  }),
  payouts: object({ open: count, deadLetters: count }),
  deadLetters: object({
    items: list(
      object({
        id: text,
        'payload?': grant,
        error: text,
        attemptsMade: count,
        firstSeenAtMs: instant,
        deadAtMs: instant,
      }),
    ),
    'nextCursor?': text,
  }),
  ids: object({ ids: list(text) }),
  replayed: object({ replayed: count }),
} as const;
