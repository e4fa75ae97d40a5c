import { createHash } from 'node:crypto';
import { library, type Arguments } from '../lua/arguments';
import { toText } from '../lua/base-library';
import { toNumber } from '../lua/operators';
import { raiseValue } from '../lua/position';
import { type LuaTable } from '../lua/table';
import { NOTHING, type LuaResult, type LuaValue } from '../lua/values';
import { hasArity } from '../commands/command';
import { VERSION } from '../commands/connection';
import { lookUp } from '../commands/find-command';
import { scoreText } from '../numbers';
import { RedisError, type Reply } from '../reply';
import { errorTable, luaOfReply, tableOf } from './lua-replies';

/** Runs a command that a script calls. @param words name and arguments of the command */
export type CallCommand = (words: readonly string[]) => Reply;

/** Returns the global table `redis` of scripts. */
export function createRedisLibrary(call: CallCommand): LuaTable {
  const run = (args: Arguments): { reply: LuaValue; failed: boolean } => {
    const words = args.values.map(wordOf);
    if (words.length === 0) return failure('Please specify at least one argument for this redis lib call');
    if (words.includes(undefined)) return failure('Lua redis lib command arguments must be strings or integers');
    const reply = call(words as string[]);
    return { reply: luaOfReply(reply), failed: reply instanceof RedisError };
  };
  return library(
    {
      acl_check_cmd: (args) => checkCommand(args),
      breakpoint: () => false,
      call: (args) => {
        const { reply, failed } = run(args);
        if (failed) throw raiseValue(reply);
        return reply;
      },
      debug: () => NOTHING,
      error_reply: (args) => {
        const text = onlyText(args);
        if (text === undefined) return tableOf('err', 'ERR wrong number or type of arguments');
        // A text without a space has no error code, so it gets the code ERR.
        if (text.startsWith('-')) return tableOf('err', text.slice(1));
        return tableOf('err', text.includes(' ') ? text : `ERR ${text}`);
      },
      log: (args) => {
        if (args.values.length < 2) throw raiseValue(errorTable('ERR redis.log() requires two arguments or more.'));
        const level = toNumber(args.values[0]);
        if (level === undefined) throw raiseValue(errorTable('ERR First argument must be a number (log level).'));
        if (level < 0 || level >= 4) throw raiseValue(errorTable('ERR Invalid debug level.'));
        return NOTHING;
      },
      pcall: (args) => run(args).reply,
      replicate_commands: () => true,
      set_repl: (args) => {
        if (args.values.length !== 1) throw raiseValue(errorTable('ERR redis.set_repl() requires two arguments.'));
        // An argument that is not a number counts as 0.
        if (((toNumber(args.values[0]) ?? 0) & ~3) === 0) return NOTHING;
        const flags = 'Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.';
        throw raiseValue(errorTable(`ERR Invalid replication flags. ${flags}`));
      },
      setresp: (args) => {
        if (args.values[0] === 2) return NOTHING;
        const problem =
          args.values[0] === 3 ? 'MemoryRedis supports only RESP2 in scripts' : 'RESP version must be 2 or 3.';
        throw raiseValue(errorTable(`ERR ${problem}`));
      },
      sha1hex: (args) => {
        if (args.values.length !== 1) throw raiseValue(errorTable('ERR wrong number of arguments'));
        return createHash('sha1').update(toText(args.values[0]), 'latin1').digest('hex');
      },
      status_reply: (args) => {
        const text = onlyText(args);
        return text === undefined ? tableOf('err', 'ERR wrong number or type of arguments') : tableOf('ok', text);
      },
    },
    {
      LOG_DEBUG: 0,
      LOG_VERBOSE: 1,
      LOG_NOTICE: 2,
      LOG_WARNING: 3,
      REPL_ALL: 3,
      REPL_AOF: 1,
      REPL_NONE: 0,
      REPL_REPLICA: 2,
      REPL_SLAVE: 2,
      REDIS_VERSION: VERSION,
      REDIS_VERSION_NUM: 0x07000f,
    },
  );
}

function failure(message: string): { reply: LuaValue; failed: boolean } {
  return { reply: errorTable(`ERR ${message}`), failed: true };
}

function wordOf(value: LuaValue): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? scoreText(value) : undefined;
}

function onlyText(args: Arguments): string | undefined {
  const [text] = args.values;
  return args.values.length === 1 && typeof text === 'string' ? text : undefined;
}

/** Implements redis.acl_check_cmd(). MemoryRedis has no ACL, so only the command's name and number of arguments are checked. */
function checkCommand(args: Arguments): LuaResult {
  const words = args.values.map(wordOf);
  if (words.length === 0) {
    throw raiseValue(errorTable('ERR Please specify at least one argument for this redis lib call'));
  }
  if (words.includes(undefined)) {
    throw raiseValue(errorTable('ERR redis.acl_check_cmd() require strings or integers arguments'));
  }
  const found = lookUp(words as string[]);
  const isValid = typeof found !== 'string' && hasArity(found.command, words.length);
  if (!isValid) throw raiseValue(errorTable('ERR Invalid command passed to redis.acl_check_cmd()'));
  return true;
}
