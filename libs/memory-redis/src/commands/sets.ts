import { parseInteger, positive } from '../numbers';
import { Members, refuse, SYNTAX_ERROR, type Reply } from '../reply';
import { readCursor, scan } from '../scan';
import { SetValue } from '../values';
import { at, reads, writes, type Command, type CommandTable, type Context } from './command';

/** Up to this many integers Redis by default keeps sorted, and SSCAN returns them at once. */
const MOST_INTEGERS = 512;

function membersOf({ db }: Context, key: string): ReadonlySet<string> {
  return db.read(key, SetValue)?.members ?? new Set<string>();
}

function isIntegers(members: ReadonlySet<string>): boolean {
  return members.size <= MOST_INTEGERS && [...members].every((member) => parseInteger(member) !== undefined);
}

/** Returns the members: integers in their order, if they are not too many; others in the order in which they were added. */
function sorted(members: ReadonlySet<string>): string[] {
  if (!isIntegers(members)) return [...members];
  return [...members].sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1));
}

function random({ db }: Context, key: string, text: string | undefined, removes: boolean): Reply {
  const count = text === undefined ? 1 : positive(text);
  const members = sorted(db.read(key, SetValue)?.members ?? new Set());
  const taken: string[] = [];
  while (taken.length < count && members.length > 0) {
    taken.push(...members.splice(db.random.below(members.length), 1));
  }
  if (removes && taken.length > 0) {
    const set = db.members(key);
    for (const member of taken) set.members.delete(member);
    db.removeIfEmpty(key);
  }
  if (text === undefined) return taken[0] ?? null;
  return removes ? new Members(taken) : taken;
}

function combined(choose: (first: ReadonlySet<string>, others: ReadonlySet<string>[]) => Set<string>): Command {
  return reads(-2, (context, keys) => {
    const [first = new Set<string>(), ...others] = keys.map((key) => membersOf(context, key));
    return new Members(sorted(choose(first, others)));
  });
}

export const setCommands: CommandTable = {
  sadd: writes(-3, ({ db }, [key = '', ...added]) => {
    const { members } = db.members(key);
    const before = members.size;
    for (const member of added) members.add(member);
    return members.size - before;
  }),
  scard: reads(2, (context, args) => membersOf(context, at(args, 0)).size),
  sdiff: combined((first, others) => new Set([...first].filter((one) => !others.some((set) => set.has(one))))),
  sinter: combined((first, others) => new Set([...first].filter((one) => others.every((set) => set.has(one))))),
  sismember: reads(3, (context, args) => (membersOf(context, at(args, 0)).has(at(args, 1)) ? 1 : 0)),
  smembers: reads(2, (context, args) => new Members(sorted(membersOf(context, at(args, 0))))),
  smismember: reads(-3, (context, [key = '', ...asked]) => {
    const members = membersOf(context, key);
    return asked.map((member) => (members.has(member) ? 1 : 0));
  }),
  smove: writes(4, ({ db }, [from = '', to = '', member = '']) => {
    const source = db.read(from, SetValue);
    if (source === undefined) return 0;
    db.read(to, SetValue);
    if (!source.members.has(member)) return 0;
    db.members(from).members.delete(member);
    db.removeIfEmpty(from);
    db.members(to).members.add(member);
    return 1;
  }),
  spop: writes(-2, (context, args) => {
    if (args.length > 2) refuse(SYNTAX_ERROR);
    return random(context, at(args, 0), args[1], true);
  }),
  srandmember: reads(-2, (context, args) => {
    if (args.length > 2) refuse(SYNTAX_ERROR);
    return random(context, at(args, 0), args[1], false);
  }),
  srem: writes(-3, ({ db }, [key = '', ...removed]) => {
    const set = db.change(key, SetValue);
    const count = removed.filter((member) => set?.members.delete(member)).length;
    db.removeIfEmpty(key);
    return count;
  }),
  sscan: reads(-3, (context, [key = '', ...options]) => {
    readCursor(options);
    const members = membersOf(context, key);
    if (members.size === 0) return ['0', []];
    const { cursor, page, matches } = scan(sorted(members), (member) => member, options, isIntegers(members));
    return [cursor, page.filter((member) => matches(member))];
  }),
  sunion: combined((first, others) => new Set([...first, ...others.flatMap((set) => [...set])])),
};
