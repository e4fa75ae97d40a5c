/** A command that luanest or its scripts send. The doctor asks Redis if the user may run it. */
export interface Probe {
  /**
   * Part of luanest that needs the command. `scripts`: every call. `wake-up`: waiting locks, workers and consumers, which poll if they may
   * not run the command. Otherwise the name of a lib, or of a group in `CONNECTION`.
   */
  readonly of: string;
  /** Name of the command as ACL SETUSER expects it, such as `client|setname`. */
  readonly command: string;
  /** Command with its arguments. */
  readonly call: readonly string[];
}

/**
 * Lua script that asks Redis which commands the user may run, without running them. ARGV has for each command the number of its words, and
 * the words. Redis checks the permissions for the command, its keys and its channels. The reply has one number per command: 1 permitted, 0
 * refused, -1 unknown to this server. The script declares a key, because some services refuse scripts without one.
 */
export const LUA = `#!lua flags=no-writes
local function ask(from, to)
  local known, reply = pcall(redis.acl_check_cmd, unpack(ARGV, from, to))
  if known then return reply and 1 or 0 end
  local problem = type(reply) == 'table' and reply.err or tostring(reply)
  -- Redis 8 compares the number of arguments with that of the command.
  if to > from and string.find(problem, 'number of args', 1, true) then return ask(from, to - 1) end
  return -1
end
local replies = {}
local at = 1
while at <= #ARGV do
  local last = at + tonumber(ARGV[at])
  replies[#replies + 1] = ask(at + 1, last)
  at = last + 1
end
return replies
`;

/** Commands that ScriptRegistryModule and its clients send. Those of the group `cluster` are sent only to a Cluster. */
const CONNECTION: Readonly<Record<string, string>> = {
  scripts: 'evalsha eval script|load script|exists ping info hello',
  cluster: 'cluster|slots cluster|shards readonly',
  replicas: 'wait',
  'wake-up': 'ssubscribe sunsubscribe',
};

/** Commands that the scripts of each lib call. A test compares this list with the table in docs/production.md. */
export const LIB_COMMANDS: Readonly<Record<string, string>> = {
  console:
    'bitfield getrange hdel hget hlen hmget hset hsetnx pexpire set strlen time zadd zcard zcount zrange zrem zremrangebyrank zrevrange zscore',
  'delayed-task':
    'del get hdel hexists hget hlen hmget hrandfield hscan hset pexpire pttl pubsub set spublish time zadd zcard zcount zlexcount zmscore zrandmember zrange zrangebylex zrangebyscore zrank zrem zremrangebyrank zscore',
  lock: 'get hdel hgetall hlen hset pexpireat set setrange spublish time',
  once: 'get pexpire pexpiretime pttl set time unlink',
  'rate-limit':
    'decrby del incrby mget pexpire pexpireat pexpiretime pttl set time zadd zrange zrangebyscore zrem zremrangebyscore zscore',
  'read-reward':
    'get hdel hget hmget hscan hset pexpireat pexpiretime pttl sadd set sismember srem time unlink xadd xlen',
  'red-packet':
    'exists get hdel hexists hget hincrby hkeys hlen hmget hscan hset lindex llen lpop lrange lrem ltrim persist pexpireat pttl rename rpush set spublish time xadd xdel xgroup xlen xrange xrevrange zadd zcard zcount zrange zrem zrevrank zscore',
  'scheduled-lock': 'hincrby hmget hset llen lpush lrange ltrim pexpire time',
  'stream-consumer':
    'del exists get hdel hget hgetall hlen hscan hset hsetnx memory pexpireat pexpiretime pttl pubsub sadd scard set sismember smismember spublish srem sscan time unlink xack xadd xautoclaim xclaim xdel xgroup xinfo xlen xpending xrange xreadgroup xrevrange zadd zcard zcount zrange zrangebyscore zrem zrevrange zscore',
  transport: 'spublish',
};

/** Subcommands that scripts call, by their commands. */
const SUBCOMMANDS: Readonly<Record<string, readonly string[]>> = {
  memory: ['usage'],
  xgroup: ['create', 'delconsumer', 'destroy'],
  xinfo: ['stream', 'groups', 'consumers'],
};

/**
 * Returns the probes for all commands.
 *
 * @param key key with the prefix of luanest, which also serves as the name of a channel
 */
export function permissionProbes(key: string): Probe[] {
  const groups = Object.entries({ ...CONNECTION, ...LIB_COMMANDS });
  return groups.flatMap(([of, commands]) => commands.split(' ').flatMap((command) => probesOf(of, command, key)));
}

function probesOf(of: string, command: string, key: string): Probe[] {
  const [name = '', subcommand] = command.split('|');
  const subcommands = subcommand === undefined ? (SUBCOMMANDS[name] ?? [undefined]) : [subcommand];
  return subcommands.map((sub) => ({
    of,
    command,
    call: [name, ...(sub === undefined ? [] : [sub]), ...argsOf(name, key)],
  }));
}

/**
 * Returns the arguments for asking Redis about a command. Most commands get the key six times: each command has its keys at other
 * positions, and some servers crash if an argument at such a position is missing.
 */
function argsOf(command: string, key: string): string[] {
  if (command === 'evalsha' || command === 'eval') return ['', '1', key];
  if (command === 'xreadgroup') return ['GROUP', 'g', 'c', 'STREAMS', key, '>'];
  return Array.from({ length: 6 }, () => key);
}
