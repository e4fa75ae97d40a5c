import type { Address, Done, Preview, Section, Sentence, Target } from '../console.types';
import { parseFilter } from './filters';
import { sumOf, type Stream, type Streams } from './stream-sentences';
import { say } from './sentences';
import { input, nothing, one, refused, unknownAddress } from './support';

/** Maximum number of ids that the preview of an action on all dead letters shows. */
const MOST_SAMPLES = 5;

/** Returns the functions that preview and run the actions on streams. */
export function streamActions(streams: Streams): Pick<Section, 'preview' | 'run'> {
  return {
    async preview(action, target) {
      if (!('address' in target)) return previewAll(streams, ...(await groupIn(streams, action, target)));
      const { stream, group, id } = await subjectOf(streams, action, target.address);
      if (id === undefined) return one(group);
      return (await isDead(stream, group, id)) ? one(id, undefined, id) : nothing(gone(id));
    },
    async run(action, target): Promise<Done> {
      if (!('address' in target)) {
        const [stream, group] = await groupIn(streams, action, target);
        const { dead } = streams;
        return { count: await dead[action === 'drop' ? 'dropAll' : 'replayAll'](stream, group, {}) };
      }
      const { stream, group, id } = await subjectOf(streams, action, target.address);
      if (id === undefined) {
        await stream.pause(group, action === 'pause' ? 'pause' : 'resume');
        return { count: 1 };
      }
      const count = await streams.dead[action === 'drop' ? 'drop' : 'replay'](stream, group, [id]);
      return count === 1 ? { count } : refused(gone(id));
    },
  };
}

/**
 * Returns the group or the dead letter that an action changes.
 *
 * @throws InvalidInputError if the action does not fit the address, or if the stream is unknown
 */
async function subjectOf(streams: Streams, action: string, address: Address) {
  const [, list, name = '', group, id] = address;
  const isOfGroup = action === 'pause' || action === 'resume';
  const fits = isOfGroup ? list === 'groups' && address.length === 4 : list === 'dead' && address.length === 5;
  const stream = fits ? await streams.open(name) : undefined;
  if (stream === undefined || group === undefined) return unknownAddress(address);
  return { stream, group, id };
}

/**
 * Returns the stream and the group whose dead letters an action changes.
 *
 * @throws InvalidInputError if the target does not name both
 */
async function groupIn(
  streams: Streams,
  action: string,
  { list, filter }: Exclude<Target, { address: Address }>,
): Promise<[Stream, string]> {
  const [, kind, name, of, part] = list;
  const by = parseFilter(filter, ['stream:', 'group:']);
  const isDead = (kind === 'dead' && list.length === 2) || (kind === 'groups' && part === 'dead');
  const [streamName, group] = [name ?? by.stream, of ?? by.group];
  if (!isDead || streamName === undefined || group === undefined) {
    throw input.error(
      `The action ${action} works on the dead letters of one group. Set the filter to "stream:NAME group:NAME".`,
    );
  }
  const stream = await streams.open(streamName);
  return stream ? [stream, group] : unknownAddress(list);
}

async function previewAll({ dead }: Streams, stream: Stream, group: string): Promise<Preview> {
  const [parts, { items }] = await Promise.all([
    stream.statsOf(group),
    dead.page(stream, group, { limit: MOST_SAMPLES }),
  ]);
  return { count: sumOf(parts).dead, more: false, samples: items.map(({ id }) => id) };
}

async function isDead(stream: Stream, group: string, id: string): Promise<boolean> {
  const found = await stream.find(id);
  return found.some((one) => one.group === group && one.state === 'dead' && one.dead === id);
}

function gone(id: string): Sentence {
  return say('dead-letter-gone', { id });
}
