import type { OnceService } from 'luanest/once';
import { CONSOLE } from '../../../internal/src';
import type { Action, Address, Match, Row, SectionFactory, Sentence } from '../console.types';
import { parseFilter } from './filters';
import { globOf, MOST_OF_SEARCH, scanPage, scanSentences, taggedKeys } from './scan';
import { say } from './sentences';
import { nothing, one, oneOf, pageOf, refused, unknownAddress } from './support';
import { facts, table } from './table';

type Console = ReturnType<OnceService[typeof CONSOLE]>;
type Look = Awaited<ReturnType<Console['look']>>;
type Kind = Parameters<Console['look']>[0];

const KINDS: Readonly<Record<string, Kind>> = {
  claims: 'claim',
  handlers: 'handler',
  requests: 'request',
  firsts: 'first',
};
const STATES = ['in-progress', 'done', 'lease-ended', 'abandoned', 'released'];

function filtersOf(list: string): readonly string[] {
  return list === 'firsts' ? ['id:'] : [...STATES, 'id:'];
}

const ROWS = table('id:link of state delivery leaseEndsAtMs:instant expiresAtMs:instant resultBytes:bytes');
const ACTIONS: readonly Action[] = [
  { name: 'release', danger: true, on: 'one' },
  { name: 'forget', danger: true, on: 'one' },
];
/**
 * MAX_ID is the longest id that the console looks up, in characters. MOST_FOUND is the maximum number of ids of each kind that a search
 * returns.
 */
const [MAX_ID, MOST_FOUND] = [1_024, 20];

/**
 * Section of the lib `once` (idempotency). It shows the state of each id, when the lease of its claim ends, and how large its result is.
 * Redis has no list of these ids, so each page scans the keys.
 */
export const onceSection: SectionFactory = (app, context) => {
  const service = app.find('OnceService') as OnceService | undefined;
  if (service === undefined) return undefined;
  const once = service[CONSOLE]();
  const { registry } = once;

  return {
    name: 'once',
    lists: Object.keys(KINDS).map((name) => ({ name, filters: filtersOf(name) })),
    actions: ACTIONS,

    summary: () =>
      Promise.resolve({
        figures: [],
        sentences: [say('once-search')],
      }),

    async list(address, { filter, cursor, limit }) {
      const [, list = ''] = address;
      const kind = KINDS[list];
      if (kind === undefined || address.length !== 2) return unknownAddress(address);
      const { id: text = '', state = '' } = parseFilter(filter, filtersOf(list));
      const page = pageOf({ limit, cursor });
      const { items: rows, nextCursor } = await scanned(kind, text, page, (id, look) =>
        state === '' || stateOf(look) === state ? rowOf(list, id, look) : undefined,
      );
      return { ...ROWS.page(rows, nextCursor), sentences: scanSentences(rows, nextCursor, limit) };
    },

    async show(address) {
      const [, list = '', id = ''] = address;
      const kind = KINDS[list];
      if (kind === undefined || address.length !== 3 || !isId(id)) return undefined;
      const look = await once.look(kind, id);
      if (look.state === '') return undefined;
      const result =
        look.state === 'done' && (kind === 'claim' || kind === 'handler') ? await once.resultOf(kind, id) : undefined;
      const { of, name } = namesOf(list, id);
      const { leaseEndsAtMs, expiresAtMs, bytes, delivery } = look;
      const times = {
        claimedAtMs: Math.floor(Number(look.fence) / 1_000),
        leaseEndsAtMs,
        expiresAtMs: Math.max(0, expiresAtMs),
      };
      return {
        title: name,
        facts: [
          ...(of === null ? [] : [{ name: kind === 'handler' ? 'scope' : 'subject', value: of }]),
          ...facts('state delivery claimedAtMs:instant leaseEndsAtMs:instant expiresAtMs:instant resultBytes:bytes', {
            ...times,
            state: stateOf(look),
            delivery,
            resultBytes: bytes,
          }),
          ...(result === undefined ? [] : [{ name: 'result', value: context.payload(result) }]),
        ],
        sentences: [sentenceOf(look)],
        actions: look.state === 'claimed' ? ['release', 'forget'] : ['forget'],
      };
    },

    async find(id) {
      if (!isId(id)) return [];
      const found = await Promise.all(
        Object.keys(KINDS).map(async (list): Promise<readonly Match[]> => {
          const kind = KINDS[list] as Kind;
          if (kind === 'claim' || kind === 'first') {
            const look = await once.look(kind, id);
            return look.state === '' ? [] : [matchOf(list, id, look)];
          }
          // The id of a request begins with its user, and that of a handler with its scope. The search knows neither, so it scans the keys.
          const page = { limit: MOST_FOUND, mostVisited: MOST_OF_SEARCH };
          const { items, nextCursor } = await scanned(kind, id, page, (tag, look) => {
            const match = matchOf(list, tag, look);
            return match.title === id ? match : undefined;
          });
          return nextCursor === undefined ? items : [...items, searchedInPart(list, id)];
        }),
      );
      return found.flat();
    },

    async preview(action, target) {
      const { kind, id, name } = subjectOf(oneOf(target));
      const look = await once.look(kind, id);
      if (look.state === '') return nothing(say('once-gone', { name }));
      if (action === 'forget') return one(name, say('once-forget-what-for'), look.fence);
      return look.state === 'claimed' ? one(name, say('once-release-what-for'), look.fence) : nothing(sentenceOf(look));
    },

    async run(action, target, _input, expected) {
      const { kind, id, name } = subjectOf(oneOf(target));
      if (expected === undefined) return refused(say('once-needs-fence'));
      const status = await once.end(kind, id, action === 'release' ? 'release' : 'forget', expected);
      if (status === 'ended') return { count: 1 };
      return refused(say(status === 'unknown' ? 'once-gone' : 'once-changed', { name }));
    },
  };

  function scanned<T>(
    kind: Kind,
    text: string,
    page: Parameters<typeof scanPage>[2],
    read: (id: string, look: Look) => T | undefined,
  ) {
    const { pattern, tagOf } = taggedKeys(registry, 'once', kind);
    const chosen = text === '' ? pattern : pattern.replace('*', () => `*${globOf(text)}*`);
    return scanPage(registry, chosen, page, async (keys) => {
      const ids = keys.map(tagOf);
      const looks = await Promise.all(ids.map((id) => once.look(kind, id)));
      return looks.flatMap((look, i) => (look.state === '' ? [] : (read(ids[i] as string, look) ?? [])));
    });
  }

  function subjectOf(address: Address) {
    const [, list = '', id = ''] = address;
    const kind = KINDS[list];
    if (kind === undefined || address.length !== 3 || !isId(id)) return unknownAddress(address);
    return { kind, id, name: namesOf(list, id).name };
  }
};

function rowOf(list: string, id: string, look: Look): Row {
  const { of, name } = namesOf(list, id);
  const { delivery, leaseEndsAtMs, expiresAtMs, bytes } = look;
  const state = stateOf(look);
  const values = {
    id: name,
    of,
    state,
    delivery,
    leaseEndsAtMs,
    expiresAtMs: Math.max(0, expiresAtMs),
    resultBytes: bytes,
  };
  return ROWS.row(values, ['once', list, id], state === 'abandoned' && 'warning');
}

/** Returns a search result that says that the search was not complete, and leads to the list. */
function searchedInPart(list: string, id: string): Match {
  const sentence: Sentence = say('once-searched-in-part', { id });
  return { address: ['once', list], kind: `once-${list}`, title: id, sentence };
}

function matchOf(list: string, id: string, look: Look): Match {
  const kind = `once-${KINDS[list] as Kind}`;
  return { address: ['once', list, id], kind, title: namesOf(list, id).name, sentence: sentenceOf(look) };
}

/**
 * Splits an id into the name that people know, and the scope of its method or the user of its request. The lib stores a hash instead of a
 * long id of a request. The hash does not show the user, so it is the name.
 */
function namesOf(list: string, id: string): { readonly of: string | null; readonly name: string } {
  if (list === 'handlers') {
    const [scope = '', name = id] = parsedPair(id);
    return { of: scope || null, name };
  }
  const length = Number(/^http:(\d+):/.exec(id)?.[1] ?? NaN);
  if (list !== 'requests' || Number.isNaN(length)) return { of: null, name: id };
  const start = id.indexOf(':', 5) + 1;
  return { of: id.slice(start, start + length), name: id.slice(start + length + 1) };
}

function parsedPair(text: string): readonly string[] {
  try {
    const pair = JSON.parse(text) as unknown;
    return Array.isArray(pair) && pair.every((part) => typeof part === 'string') ? pair : [];
  } catch {
    return [];
  }
}

function stateOf({ state, delivery, leaseEndsAtMs, nowMs }: Look): string {
  if (state !== 'claimed') return state;
  if (leaseEndsAtMs > nowMs) return 'in-progress';
  return delivery === 'at-most-once' ? 'abandoned' : 'lease-ended';
}

function sentenceOf(look: Look): Sentence {
  const { leaseEndsAtMs, bytes: resultBytes, expiresAtMs } = look;
  switch (stateOf(look)) {
    case 'in-progress':
      return say('once-in-progress', { leaseEndsAtMs });
    case 'done':
      return say('once-done', { resultBytes, expiresAtMs });
    case 'abandoned':
      return say('once-abandoned', { leaseEndsAtMs });
    case 'lease-ended':
      return say('once-lease-ended', { leaseEndsAtMs });
    case 'released':
      return say('once-released');
    default:
      return say('once-first', { expiresAtMs });
  }
}

function isId(id: string): boolean {
  return id !== '' && id.length <= MAX_ID && id.isWellFormed();
}
