import type { LockService } from 'luanest/lock';
import { CONSOLE, isIdOf } from '../../../internal/src';
import type { Row, SectionFactory, Sentence } from '../console.types';
import { parseFilter } from './filters';
import { scanPage, scanSentences, taggedKeys } from './scan';
import { nothing, one, oneOf, refused, unknownAddress } from './support';
import { facts, table } from './table';
import { say } from './sentences';

type Console = ReturnType<LockService[typeof CONSOLE]>;
type Look = Awaited<ReturnType<Console['look']>>;

const HELD = ['locks', 'held'] as const;
/** Maximum length of the name of a lock, in characters. */
const MAX_NAME = 1_024;
const WAITED_FOR = 'waited-for';
const FILTERS = [WAITED_FOR] as const;

/**
 * Section of the locks that any process holds. It shows who holds a lock, since when and until when, and how many processes wait.
 * Redis has no list of locks, so each page scans the keys.
 */
export const locksSection: SectionFactory = (app, context) => {
  const service = app.find('LockService') as LockService | undefined;
  if (service === undefined) return undefined;
  const locks = service[CONSOLE]();
  const { registry } = locks;
  const all = taggedKeys(registry, 'lock', 'lock');
  // The filter `waited-for` scans only the keys of queues: a lock has a queue only if processes wait for the lock, so these keys are few.
  const queues = taggedKeys(registry, 'lock', 'queue');

  const lookAt = async (name: string): Promise<Look | undefined> => {
    const found = await locks.look(name);
    return found.held || found.fence > 0 || found.waiters > 0 ? found : undefined;
  };

  return {
    name: 'locks',
    lists: [{ name: 'held', filters: FILTERS }],
    actions: [{ name: 'release', danger: true, on: 'one' }],

    summary: () =>
      Promise.resolve({
        figures: [{ name: 'heldByThisProcess', value: locks.held(), address: HELD }],
        sentences: [],
      }),

    async list(address, { filter, cursor, limit }) {
      if (address.length !== 2 || address[1] !== 'held') return unknownAddress(address);
      const waitedFor = parseFilter(filter, FILTERS).state === WAITED_FOR;
      const { pattern, tagOf } = waitedFor ? queues : all;
      const { items: rows, nextCursor } = await scanPage(registry, pattern, { cursor, limit }, async (keys) => {
        const names = keys.map(tagOf);
        const found = await Promise.all(names.map((name) => locks.look(name)));
        return found.flatMap((look, i) =>
          look.held && (!waitedFor || look.waiters > 0) ? [rowOf(names[i] as string, look)] : [],
        );
      });
      return { ...HELD_LOCKS.page(rows, nextCursor), sentences: scanSentences(rows, nextCursor, limit) };
    },

    async show(address) {
      const [, list, name] = address;
      if (address.length !== 3 || list !== 'held' || name === undefined) return undefined;
      const found = await lookAt(name);
      if (found === undefined) return undefined;
      const { held, node, acquiredAtMs } = found;
      const holder = { state: held ? 'held' : 'free', node: held ? node : null, acquiredAtMs: held ? acquiredAtMs : 0 };
      return {
        title: name,
        facts: facts('state node acquiredAtMs:instant leaseEndsAtMs:instant waiters waitingSinceMs:instant fence', {
          ...found,
          ...holder,
        }),
        sentences: [sentenceOf(name, found, context.nowMs())],
        actions: held ? ['release'] : [],
      };
    },

    async find(id) {
      if (!isIdOf(id, MAX_NAME)) return [];
      const found = await lookAt(id);
      if (found === undefined) return [];
      return [{ address: [...HELD, id], kind: 'lock', title: id, sentence: sentenceOf(id, found, context.nowMs()) }];
    },

    async preview(_action, target) {
      const name = nameIn(oneOf(target));
      const { held, fence, node, waiters } = await locks.look(name);
      if (!held) return nothing(say('lock-free', { name }));
      return one(name, say('lock-release-what-for', { node, waiters }), String(fence));
    },

    async run(_action, target, _input, expected) {
      const name = nameIn(oneOf(target));
      const fence = Number(expected ?? NaN);
      if (!Number.isSafeInteger(fence) || fence < 1) return refused(say('lock-needs-fence'));
      const result = await locks.release(name, fence);
      if (result === 'released') return { count: 1 };
      return refused(result === 'unknown' ? say('lock-release-unknown') : say('lock-changed'));
    },
  };
};

const HELD_LOCKS = table('name:link node acquiredAtMs:instant leaseEndsAtMs:instant waiters:number fence:number');

function rowOf(name: string, look: Look): Row {
  return HELD_LOCKS.row({ name, ...look }, [...HELD, name], look.waiters > 0 && 'warning');
}

function nameIn(address: readonly string[]): string {
  const [, list, name] = address;
  return address.length === 3 && list === 'held' && name !== undefined ? name : unknownAddress(address);
}

function sentenceOf(name: string, look: Look, nowMs: number): Sentence {
  const { held, node, acquiredAtMs, leaseEndsAtMs, waiters, waitingSinceMs } = look;
  if (!held && waiters === 0) return say('lock-free', { name });
  if (!held) return say('lock-free-waited-for', { name, waiters });
  const values = { name, node, heldMs: Math.max(0, nowMs - acquiredAtMs), leaseEndsAtMs, waiters };
  if (waiters === 0) return say('lock-held', values);
  return say(
    'lock-waited-for',
    { ...values, waitedMs: Math.max(0, nowMs - waitingSinceMs) },
    { action: 'release', address: [...HELD, name] },
  );
}
