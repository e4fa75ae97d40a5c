import type { Match, SectionContext, Story } from '../console.types';
import { addressOfGroup, sentenceOfMessage, type Stream } from './stream-sentences';
import { link, parsed } from './support';
import { facts, table } from './table';

const GROUPS = table('group:link state consumer attemptsMade:number dueAtMs:instant leaseEndsAtMs:instant error');

/** Searches a stream for the message with this id. Returns an empty list if the stream does not have the message. */
export async function messageIn(stream: Stream, id: string): Promise<Match[]> {
  const there = (await stream.find(id)).filter(({ state }) => state !== '');
  const row = there.find(({ state }) => state !== 'settled') ?? there[0];
  if (row === undefined) return [];
  const sentence = sentenceOfMessage(stream.name, row, stream.pausedNames.includes(row.group));
  return [{ address: ['streams', 'messages', stream.name, id], kind: 'message', title: id, sentence }];
}

/**
 * Returns the details of a message.
 *
 * @param ofGroup a group in which the message is a dead letter; default: the details show what all groups did with the message
 */
export async function storyOfMessage(
  context: SectionContext,
  stream: Stream,
  id: string,
  ofGroup?: string,
): Promise<Story | undefined> {
  const all = (await stream.find(id)).filter(({ group }) => ofGroup === undefined || group === ofGroup);
  const found = all.filter(({ state }) => (ofGroup === undefined ? state !== '' : state === 'dead'));
  const first = found[0];
  if (first === undefined) return undefined;
  const { payload, key, operationId } = contentOf(first.fields, stream.isForeign);
  const rows = all.map((each) => {
    const { group, state, attempts } = each;
    const values = {
      ...each,
      group: link(addressOfGroup(stream.name, group)),
      state: state || 'gone',
      attemptsMade: attempts,
    };
    return GROUPS.row(values);
  });
  return {
    title: id,
    facts: facts('stream:link key operationId addedAtMs:instant payload:payload', {
      ...{ stream: link(['streams', 'streams', stream.name]), key, operationId, payload: context.payload(payload) },
      addedAtMs: Number.parseInt(id.slice(id.indexOf(':') + 1), 10),
    }),
    sentences: all.map((one) => sentenceOfMessage(stream.name, one, stream.pausedNames.includes(one.group))),
    lists: [{ name: 'groups', listing: GROUPS.page(rows) }],
    actions: ofGroup === undefined ? [] : ['replay', 'drop'],
  };
}

/**
 * Returns the payload, the key and the operation id of a message.
 *
 * @param isForeign true if a program without luanest wrote the message; then the payload is an object of all its fields
 */
function contentOf(fields: readonly string[], isForeign: boolean) {
  const all: Record<string, string> = {};
  for (let i = 0; i + 1 < fields.length; i += 2) all[fields[i] as string] = fields[i + 1] as string;
  delete all['luanest:group'];
  const { payload = '', key = '', operation = '' } = all;
  if (isForeign) return { payload: all as unknown, key, operationId: '' };
  return { payload: parsed(payload), key, operationId: operation };
}
