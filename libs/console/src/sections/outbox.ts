import type { OutboxService } from 'luanest/outbox';
import type { Address, Done, SectionFactory, Sentence, Story, Target } from '../console.types';
import { say } from './sentences';
import { input, nothing, one, pageOf, parsed, unknownAddress } from './support';
import { facts, table } from './table';

type OutboxRow = Awaited<ReturnType<OutboxService['list']>>['items'][number];
type Stats = Awaited<ReturnType<OutboxService['stats']>>;
type State = 'waiting' | 'failed' | 'undecided';

const STATES: readonly State[] = ['waiting', 'failed', 'undecided'];
const SET_ASIDE = ['failed', 'undecided'] as const;
/** A row is late if it has waited longer than this time, ms. Usually, a row is sent within `pollMs`. */
const LATE_MS = 60_000;
/** Time for which the counts of the outbox table are used again, ms. The database must read the whole table to count its rows. */
const STATS_MS = 10_000;
/**
 * BATCH is the maximum number of rows that are read at once, and that an action changes in one transaction. MOST_BATCHES is the maximum
 * number of such reads.
 */
const [BATCH, MOST_BATCHES] = [1_000, 100];

/**
 * Section of the outbox. It shows the rows that wait, and the rows that were set aside. An operator can retry or drop a row that
 * was set aside.
 */
export const outboxSection: SectionFactory = (app, context) => {
  const service = app.find('OutboxService') as OutboxService | undefined;
  if (service === undefined) return undefined;
  let known: { readonly stats: Promise<Stats>; readonly atMs: number } | undefined;

  const statsNow = (): Promise<Stats> => {
    const nowMs = context.nowMs();
    if (known !== undefined && Math.abs(nowMs - known.atMs) < STATS_MS) return known.stats;
    const stats = service.stats();
    // A failed count is forgotten, so that the next call counts again.
    stats.catch(() => (known = undefined));
    known = { stats, atMs: nowMs };
    return stats;
  };
  /** Reads the rows of a state page by page, and passes each page to `each`, until `each` returns true. */
  const walk = async (
    state: State,
    each: (rows: readonly OutboxRow[]) => boolean | Promise<boolean>,
  ): Promise<void> => {
    let cursor: string | undefined;
    for (let batches = 0; batches < MOST_BATCHES; batches++) {
      const page = await service.list({ state, ...pageOf({ limit: BATCH, cursor }) });
      cursor = page.nextCursor;
      if ((await each(page.items)) || cursor === undefined) return;
    }
  };
  const rowOf = async (state: State, id: string): Promise<OutboxRow | undefined> => {
    let found: OutboxRow | undefined;
    await walk(state, (rows) => (found = rows.find((row) => row.id === id)) !== undefined);
    return found;
  };
  const storyOf = (state: State, row: OutboxRow): Story => {
    return {
      title: row.id,
      facts: facts(
        'state kind target createdAtMs:instant firstSentAtMs:instant failedAtMs:instant error payload:payload',
        { ...row, state, payload: context.payload(parsed(row.payload)) },
      ),
      sentences: [rowSentence(state, row)],
      actions: state === 'waiting' ? [] : ['retry', 'drop'],
    };
  };

  return {
    name: 'outbox',
    lists: STATES.map((name) => ({ name, filters: [] })),
    actions: [
      { name: 'retry', danger: true, on: 'both', lists: SET_ASIDE },
      { name: 'drop', danger: true, on: 'both', lists: SET_ASIDE },
    ],

    async summary() {
      const stats = await statsNow();
      return {
        figures: [
          ...STATES.map((name) => ({ name, value: stats[name], address: ['outbox', name] })),
          { name: 'oldestMs', value: stats.oldestMs === undefined ? null : { ms: stats.oldestMs } },
        ],
        sentences: sentencesOf(stats),
      };
    },

    async list(address, { cursor, limit }) {
      const state = stateIn(address);
      if (address.length !== 2) return unknownAddress(address);
      const { items, nextCursor } = await service.list({ state, ...pageOf({ limit, cursor }, BATCH) });
      const rows = items.map((row) => ROWS.row({ ...row, row: row.id }, ['outbox', state, row.id], levelOf(state)));
      return ROWS.page(rows, nextCursor);
    },

    async show(address) {
      const [, list, id] = address;
      const state = STATES.find((name) => name === list);
      const row = state !== undefined && id !== undefined && address.length === 3 ? await rowOf(state, id) : undefined;
      return state && row && storyOf(state, row);
    },

    async find(id) {
      if (!UUID.test(id)) return [];
      for (const state of STATES) {
        const row = await rowOf(state, id);
        if (row !== undefined) {
          return [{ address: ['outbox', state, id], kind: row.kind, title: id, sentence: rowSentence(state, row) }];
        }
      }
      return [];
    },

    async preview(action, target) {
      const { state, id } = targetOf(target);
      const warning = action === 'retry' && state === 'undecided' ? say('row-may-act-twice') : undefined;
      if (id !== undefined) return (await rowOf(state, id)) ? one(id, warning) : nothing(warning);
      const [stats, page] = await Promise.all([service.stats(), service.list({ state, limit: 10 })]);
      const samples = page.items.map((row) => row.id);
      return { count: stats[state], more: false, samples, ...(warning && { sentence: warning }) };
    },

    async run(action, target): Promise<Done> {
      const { state, id } = targetOf(target);
      known = undefined;
      const change = (ids: string[]) => (action === 'drop' ? service.drop(ids) : service.retry(ids));
      if (id !== undefined) {
        const row = await rowOf(state, id);
        return { count: row ? await change([id]) : 0 };
      }
      let count = 0;
      await walk(state, async (rows) => {
        count += await change(rows.map((row) => row.id));
        return false;
      });
      return { count };
    },
  };
};

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

function stateIn(address: Address): State {
  return STATES.find((name) => name === address[1]) ?? unknownAddress(address);
}

/**
 * Returns which rows an action changes: one row, or all rows of a state.
 *
 * @throws InvalidInputError for rows that wait, because an operator cannot retry or drop them
 */
function targetOf(target: Target): { readonly state: State; readonly id?: string } {
  const address = 'address' in target ? target.address : target.list;
  const state = stateIn(address);
  const [, , id] = address;
  if (state === 'waiting')
    throw input.error(
      'This row waits, and the outbox will send it. Only rows that were set aside can be retried or dropped.',
    );
  if ('list' in target) {
    if (target.filter) throw input.error(`filter is "${target.filter}". The lists of the outbox have no filter.`);
    return address.length === 2 ? { state } : unknownAddress(address);
  }
  return address.length === 3 && id !== undefined && UUID.test(id) ? { state, id } : unknownAddress(address);
}

const ROWS = table('row:link kind target createdAtMs:instant firstSentAtMs:instant failedAtMs:instant error');

function levelOf(state: State) {
  return state !== 'waiting' && 'error';
}

function sentencesOf({ waiting, oldestMs = 0, failed, undecided }: Stats): Sentence[] {
  const sentences: Sentence[] = [];
  if (failed > 0) sentences.push(say('outbox-failed', { failed }, { action: 'retry', list: ['outbox', 'failed'] }));
  if (undecided > 0) sentences.push(say('outbox-undecided', { undecided }));
  if (oldestMs > LATE_MS) sentences.push(say('outbox-late', { waiting, oldestMs }));
  return sentences;
}

function rowSentence(state: State, { id, createdAtMs, error = '' }: OutboxRow): Sentence {
  if (state === 'waiting') return say('row-waits', { createdAtMs });
  const fix = { action: 'retry', address: ['outbox', state, id] };
  if (state === 'undecided') return say('row-undecided', { error }, fix);
  return say('row-failed', { error }, fix);
}
