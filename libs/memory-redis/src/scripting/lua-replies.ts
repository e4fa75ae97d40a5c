import { LuaTable } from '../lua/table';
import type { LuaValue } from '../lua/values';
import { scoreText } from '../numbers';
import { Double, Members, NoReply, NullArray, Pairs, RedisError, shownText, Status, type Reply } from '../reply';
import { flat } from '../resp';

/** Converts a reply to the Lua value that redis.pcall() returns. An error reply becomes a table with the field `err`. */
export function luaOfReply(reply: Reply): LuaValue {
  if (typeof reply === 'string' || typeof reply === 'number') return reply;
  if (typeof reply === 'bigint') return Number(reply);
  if (reply === null || reply instanceof NullArray || reply instanceof NoReply) return false;
  if (reply instanceof Status) return tableOf('ok', reply.text);
  if (reply instanceof RedisError) return errorTable(reply.message);
  if (reply instanceof Double) return scoreText(reply.value);
  return LuaTable.from(flat(reply).map(luaOfReply));
}

export function errorTable(message: string): LuaTable {
  const table = tableOf('err', message);
  table.set('ignore_error_stats_update', true);
  return table;
}

export function tableOf(key: string, value: LuaValue): LuaTable {
  const table = new LuaTable();
  table.set(key, value);
  return table;
}

/** Converts the value that a script returns to a reply. */
export function replyOfLua(value: LuaValue): Reply {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return integerOf(value);
  if (typeof value === 'boolean') return value ? 1 : null;
  return value instanceof LuaTable ? replyOfTable(value) : null;
}

function replyOfTable(table: LuaTable): Reply {
  const text = (key: string): string | undefined => {
    const value = table.get(key);
    return typeof value === 'string' ? value : undefined;
  };
  const [error, status, big] = [text('err'), text('ok'), text('big_number')];
  if (error !== undefined) return new RedisError(shownText(error));
  if (status !== undefined) return new Status(shownText(status));
  const double = table.get('double');
  if (typeof double === 'number') return new Double(double);
  const [map, set, verbatim] = [table.get('map'), table.get('set'), table.get('verbatim_string')];
  if (map instanceof LuaTable)
    return new Pairs(entriesOf(map).map(([key, value]) => [replyOfLua(key), replyOfLua(value)]));
  if (set instanceof LuaTable) return new Members(entriesOf(set).map(([key]) => replyOfLua(key)));
  if (big !== undefined) return big.replace(/[\r\n]/g, ' ');
  if (verbatim instanceof LuaTable && typeof verbatim.get('string') === 'string')
    return verbatim.get('string') as string;
  const items: Reply[] = [];
  for (let index = 1, item = table.get(1); item !== undefined; item = table.get(++index)) items.push(replyOfLua(item));
  return items;
}

function entriesOf(table: LuaTable): [LuaValue, LuaValue][] {
  const entries: [LuaValue, LuaValue][] = [];
  for (let entry = table.next(undefined); entry !== undefined; entry = table.next(entry[0])) entries.push(entry);
  return entries;
}

/** Converts a number to a 64-bit integer as C does on x86. A number that is out of range becomes the lowest integer. */
function integerOf(value: number): number | bigint {
  if (Number.isSafeInteger(value)) return value === 0 ? 0 : value;
  if (!(Math.abs(value) < 2 ** 63)) return -(2n ** 63n);
  const whole = Math.trunc(value);
  return Number.isSafeInteger(whole) ? whole || 0 : BigInt(whole);
}
