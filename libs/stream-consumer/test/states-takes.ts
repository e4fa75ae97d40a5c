import type { ScriptDefinition } from 'luanest/script-registry';
import { ScriptStates } from '../../../test/support/script-states';
import { consumerScripts } from '../src/consumer/consumer.scripts';
import type { TakeAnswer } from '../src/consumer/consumer.scripts';

type Args = Readonly<Record<string, string | number>>;

const KEYS = ['stream', 'sessions', 'takes', 'due', 'tries', 'woken', 'unsettled', 'heads'];

/** Calls one of the scripts that take entries. */
export function openTakes(script: ScriptDefinition, isOrdered: boolean) {
  const states = new ScriptStates(consumerScripts);
  const take = (args: Args = {}) =>
    states.call(script, {
      group: 'g',
      session: 's',
      token: 't1',
      count: 9,
      leaseMs: 900,
      begins: 1,
      ...(isOrdered ? { maxKeys: 5 } : {}),
      ...args,
    });
  /** State, more, ms to the next retry and lease, -1 for none; then a text for each entry. */
  const after = async (call: Promise<unknown>) => {
    const [reply, keys] = await states.after(call);
    if (typeof reply === 'string') return [reply, keys];
    const { state, more, dueInMs, endInMs, entries } = reply as TakeAnswer;
    const rows = entries.map(({ id, payload, key, operation, attempt, firstSeenMs }) =>
      [id, payload.toString(), key, operation, attempt, firstSeenMs].join(' '),
    );
    const ms = (time: number): number => (time === Infinity ? -1 : time);
    return [[`${state} ${more} ${ms(dueInMs)} ${ms(endInMs)}`, ...rows].join(' | '), keys];
  };
  const add = (id: string, fields: readonly string[] = ['payload', `p${id}`]) =>
    states.put('XADD', 'stream', id, ...fields);
  const withKey = (id: string, key: string, ...more: string[]) =>
    add(id, ['payload', `p${id}`, 'key', key, 'operation', 'op', ...more]);
  const setUp = () => {
    for (const key of KEYS) states.put('DEL', key);
    states.run('XGROUP', 'CREATE', '@stream', 'g', '0', 'MKSTREAM');
    states.run('XGROUP', 'CREATE', '@stream', 'other', '0');
  };
  /** Reads all new entries for a consumer, as an earlier take did. */
  const readFor = (consumer: string) => states.run('XREADGROUP', 'GROUP', 'g', consumer, 'STREAMS', '@stream', '>');
  return { states, take, after, add, withKey, setUp, readFor };
}
