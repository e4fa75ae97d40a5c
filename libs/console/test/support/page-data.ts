import type { Listing, Match, Row, Section, Sentence, Story, Summary, Value } from '../../src/console.types';

/** Text that a browser would run if the page took it for HTML. */
export const HOSTILE = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;

/** Instant at which the data set was made, ms. */
export const MADE_AT_MS = Date.now();

const ago = (ms: number): Value => ({ atMs: MADE_AT_MS - ms });
const MINUTE = 60_000;

export const SECTIONS: readonly Pick<Section, 'name' | 'lists' | 'actions'>[] = [
  {
    name: 'queues',
    lists: [
      { name: 'queues', filters: [] },
      { name: 'tasks', filters: ['waiting', 'running', 'dead', 'queue:', 'group:'] },
      { name: 'dead', filters: ['queue:'] },
      { name: 'schedules', filters: [] },
    ],
    actions: [
      { name: 'retry', danger: false, on: 'both', lists: ['dead'] },
      { name: 'drop', danger: true, on: 'both', lists: ['dead'] },
      { name: 'run-now', danger: false, on: 'one' },
      { name: 'move', danger: false, on: 'one', input: [{ name: 'atMs', kind: 'instant', required: true }] },
      { name: 'cancel', danger: true, on: 'one' },
      { name: 'pause', danger: false, on: 'one' },
      { name: 'resume', danger: false, on: 'one' },
    ],
  },
  { name: 'streams', lists: [{ name: 'streams', filters: [] }], actions: [] },
  {
    name: 'locks',
    lists: [{ name: 'held', filters: ['waited-for'] }],
    actions: [{ name: 'release', danger: true, on: 'one' }],
  },
  { name: 'jobs', lists: [{ name: 'jobs', filters: ['running', 'failing'] }], actions: [] },
  {
    name: 'limits',
    lists: [
      { name: 'rules', filters: [] },
      { name: 'blocked', filters: ['rule:'] },
    ],
    actions: [
      {
        name: 'block',
        danger: true,
        on: 'one',
        input: [
          { name: 'blockMs', kind: 'duration', required: true },
          { name: 'reason', kind: 'text', required: false },
        ],
      },
    ],
  },
];

const paused: Sentence = {
  code: 'queue-paused',
  text: 'The queue emails is paused, so no process takes its tasks.',
  level: 'warning',
  values: { queue: 'emails', overdue: 1_204, lateMs: 23 * MINUTE },
  fix: { action: 'resume', address: ['queues', 'queues', 'emails'] },
};

const noWorker: Sentence = {
  code: 'no-worker',
  text: 'No process works on the queue invoices, so its tasks do not run. Start a process with the handlers, or set work: true.',
  level: 'error',
  values: { queue: 'invoices', overdue: 31 },
};

const SUMMARIES: Readonly<Record<string, Summary>> = {
  queues: {
    figures: [
      { name: 'queues', value: 3, address: ['queues', 'queues'] },
      { name: 'waiting', value: 1_048_576, address: ['queues', 'tasks'] },
      { name: 'overdue', value: 1_235 },
      { name: 'running', value: 64 },
      { name: 'dead', value: 130, address: ['queues', 'dead'] },
      { name: 'lateMs', value: { ms: 23 * MINUTE } },
    ],
    sentences: [noWorker, paused],
  },
  streams: {
    figures: [
      { name: 'streams', value: 12 },
      { name: 'pending', value: 87 },
      { name: 'memory', value: { bytes: 184_320_000 } },
    ],
    sentences: [{ code: 'streams-well', text: 'All streams are on time.', level: 'ok' }],
  },
  locks: { figures: [{ name: 'heldByThisProcess', value: 4 }], sentences: [] },
  jobs: {
    figures: [
      { name: 'jobs', value: 9 },
      { name: 'running', value: 1 },
      { name: 'nextAtMs', value: ago(-3 * MINUTE) },
    ],
    sentences: [
      {
        code: 'job-failed',
        text: 'The last run of close-day, on node-2, failed. The log of node-2 has the error.',
        level: 'warning',
        values: { name: 'close-day', node: 'node-2', recordedAtMs: MADE_AT_MS - 300 * MINUTE, durationMs: 4_300 },
      },
    ],
  },
};

/** Overview of the data set; what one section has failed with is a part of it. */
export function overview(waiting = 1_048_576) {
  return {
    atMs: Date.now(),
    sections: SECTIONS.map(({ name }) => {
      const summary = SUMMARIES[name];
      if (summary === undefined) return { name, failed: 'READONLY You can not write against a read only replica.' };
      const figures = summary.figures.map((each) => (each.name === 'waiting' ? { ...each, value: waiting } : each));
      return { name, summary: { ...summary, figures } };
    }),
  };
}

const TASK_COLUMNS = [
  { name: 'id', kind: 'link' },
  { name: 'queue' },
  { name: 'state' },
  { name: 'atMs', kind: 'instant' },
  { name: 'attemptsMade', kind: 'number' },
  { name: 'error' },
  { name: 'payload', kind: 'payload' },
] as const;

const PAYLOAD = { to: 'ada@example.com', subject: HOSTILE, lines: Array.from({ length: 20 }, (_, n) => `line ${n}`) };

function taskRow(id: string, state: string, lateMs: number): Row {
  const address = ['queues', 'tasks', 'emails', id];
  const error = state === 'dead' ? 'SMTP 421: too many connections from your host' : null;
  const cells: Value[] = [{ link: address, text: id }, 'emails', state, ago(lateMs), 3, error, { payload: PAYLOAD }];
  return { address, cells, ...(state === 'dead' && { level: 'error' as const }) };
}

const IDS = Array.from({ length: 120 }, (_, n) => `order-${1_000 + n}`);

/** Rows of the dead letters, which actions take away. */
export class PageData {
  dead = [HOSTILE, ...IDS];
  emailsPaused = true;

  list(path: string, filter: string, cursor: string): Listing | undefined {
    const from = Number(cursor || 0);
    const next = (total: number) => (from + 50 < total ? { nextCursor: String(from + 50) } : {});
    if (path === 'queues/dead' || (path === 'queues/tasks' && filter.startsWith('dead'))) {
      const ids = filter.includes('queue:') && !filter.includes('queue:emails') ? [] : this.dead;
      const rows = ids.slice(from, from + 50).map((id, n) => taskRow(id, 'dead', (from + n + 1) * 7 * MINUTE));
      return { columns: TASK_COLUMNS, rows, total: ids.length, ...next(ids.length) };
    }
    if (path === 'queues/tasks') {
      if (filter.includes('group:')) return { columns: TASK_COLUMNS, rows: [] };
      const rows = IDS.slice(from, from + 50).map((id, n) => taskRow(id, 'waiting', (20 - n) * MINUTE));
      return { columns: TASK_COLUMNS, rows, ...next(IDS.length) };
    }
    if (path === 'queues/queues') return this.queues();
    if (path === 'queues/queues/emails/partitions') return PARTITIONS;
    if (path === 'locks/held') return LOCKS;
    return EMPTY_LISTS.has(path) ? { columns: [{ name: 'name' }], rows: [] } : undefined;
  }

  show(path: string): Story | undefined {
    if (path === 'queues/queues/emails') return this.emails();
    if (path.startsWith('queues/tasks/emails/')) return taskStory(path.slice('queues/tasks/emails/'.length), this.dead);
    if (path === 'locks/held/ledger') return LOCK;
    if (path === 'limits/subjects/10.0.0.7') return SUBJECT;
    return undefined;
  }

  find(id: string): Match[] {
    const matches: Match[] = [];
    if (this.dead.includes(id) || id === 'both') {
      matches.push({ address: ['queues', 'tasks', 'emails', id], kind: 'task', title: id, sentence: deadSentence(id) });
    }
    if (id === 'both') matches.push({ address: ['locks', 'held', 'ledger'], kind: 'lock', title: 'ledger' });
    return matches;
  }

  private queues(): Listing {
    const address = ['queues', 'queues', 'emails'];
    return {
      columns: [
        { name: 'queue', kind: 'link' },
        { name: 'waiting', kind: 'number' },
        { name: 'dead', kind: 'number' },
        { name: 'lateMs', kind: 'duration' },
        { name: 'paused' },
      ],
      rows: [
        {
          address,
          cells: [
            { link: address, text: 'emails' },
            1_048_000,
            this.dead.length,
            { ms: 23 * MINUTE },
            this.emailsPaused,
          ],
          level: 'warning',
        },
        { cells: ['invoices', 31, 0, { ms: 61_000 }, false], level: 'error' },
        { cells: ['thumbnails', 545, 0, { ms: 0 }, false] },
      ],
      total: 3,
    };
  }

  private emails(): Story {
    return {
      title: 'emails',
      facts: [
        { name: 'paused', value: this.emailsPaused },
        { name: 'waiting', value: 1_048_000 },
        { name: 'dead', value: this.dead.length },
        { name: 'lateMs', value: { ms: 23 * MINUTE } },
        { name: 'workers', value: null },
      ],
      sentences: this.emailsPaused
        ? [paused]
        : [
            {
              code: 'queue-well',
              text: 'The queue emails is on time.',
              level: 'ok',
              values: { queue: 'emails', waiting: 3, running: 2 },
            },
          ],
      lists: [{ name: 'partitions', listing: { ...PARTITIONS, nextCursor: '2' } }],
      actions: [this.emailsPaused ? 'resume' : 'pause'],
    };
  }
}

const EMPTY_LISTS = new Set(['queues/schedules', 'streams/streams', 'jobs/jobs', 'limits/rules', 'limits/blocked']);

const PARTITIONS: Listing = {
  columns: [
    { name: 'partition', kind: 'number' },
    { name: 'waiting', kind: 'number' },
    { name: 'lateMs', kind: 'duration' },
  ],
  rows: [{ cells: [0, 524_000, { ms: 23 * MINUTE }], level: 'warning' }, { cells: [1, 524_000, { ms: 900 }] }],
  total: 2,
};

const LOCKS: Listing = {
  columns: [
    { name: 'name', kind: 'link' },
    { name: 'node' },
    { name: 'acquiredAtMs', kind: 'instant' },
    { name: 'leaseEndsAtMs', kind: 'instant' },
    { name: 'waiters', kind: 'number' },
    { name: 'fence', kind: 'number' },
  ],
  rows: [
    {
      address: ['locks', 'held', 'ledger'],
      cells: [
        { link: ['locks', 'held', 'ledger'], text: 'ledger' },
        'node-2:4711',
        ago(95 * MINUTE),
        ago(-20_000),
        3,
        88,
      ],
    },
  ],
  nextCursor: '17',
  sentences: [
    {
      code: 'scan-goes-on',
      text: 'Redis has many other keys, so this page has few entries or none. The next pages may have more.',
      level: 'info',
    },
  ],
};

const LOCK: Story = {
  title: 'ledger',
  facts: [
    { name: 'state', value: 'held' },
    { name: 'node', value: 'node-2:4711' },
    { name: 'acquiredAtMs', value: ago(95 * MINUTE) },
    { name: 'fence', value: 88 },
  ],
  sentences: [
    {
      code: 'lock-waited-for',
      text: 'node-2:4711 holds the lock ledger, and 3 processes wait for it.',
      level: 'warning',
      values: { name: 'ledger', node: 'node-2:4711', waiters: 3, waitedMs: 94 * MINUTE },
      fix: { action: 'release', address: ['locks', 'held', 'ledger'] },
    },
  ],
  actions: ['release'],
};

const SUBJECT: Story = {
  title: '10.0.0.7',
  facts: [{ name: 'used', value: 12 }],
  sentences: [
    { code: 'subject-counted', text: 'No rule refuses 10.0.0.7 now.', level: 'ok', values: { subject: '10.0.0.7' } },
  ],
  actions: ['block'],
};

const deadSentence = (id: string): Sentence => ({
  code: 'task-dead',
  text: 'The task is a dead letter after 3 of 3 attempts: SMTP 421: too many connections from your host',
  level: 'error',
  values: {
    attemptsMade: 3,
    attempts: 3,
    error: 'SMTP 421: too many connections from your host',
    diedAtMs: MADE_AT_MS - 42 * MINUTE,
  },
  fix: { action: 'retry', address: ['queues', 'tasks', 'emails', id] },
});

function taskStory(id: string, dead: readonly string[]): Story | undefined {
  if (!dead.includes(id)) return undefined;
  return {
    title: id,
    facts: [
      { name: 'queue', value: { link: ['queues', 'queues', 'emails'], text: 'emails' } },
      { name: 'state', value: 'dead' },
      { name: 'name', value: 'send-mail' },
      { name: 'group', value: HOSTILE },
      { name: 'diedAtMs', value: ago(42 * MINUTE) },
      { name: 'attemptsMade', value: 3 },
      { name: 'attempts', value: 3 },
      { name: 'error', value: 'SMTP 421: too many connections from your host' },
      { name: 'payload', value: { payload: PAYLOAD } },
    ],
    sentences: [deadSentence(id)],
    actions: ['retry', 'drop'],
  };
}

/** Counts of two queues for each minute of a time. */
export function history(minutes: number) {
  const last = Math.floor(Date.now() / MINUTE) * MINUTE;
  const points = (scale: number) =>
    Array.from({ length: minutes }, (_, n) => {
      const wave = Math.round(scale * (1.2 + Math.sin((n / 720) * Math.PI) + ((n * 7_919) % 13) / 26));
      return [
        last - (minutes - n) * MINUTE,
        { completed: wave, failed: n % 97 === 0 ? Math.round(scale / 8) : 0 },
      ] as const;
    });
  return {
    series: [
      { section: 'queues', name: 'emails', points: points(120) },
      { section: 'queues', name: 'invoices', points: points(9) },
      { section: 'streams', name: 'counts', points: points(900) },
    ],
  };
}
