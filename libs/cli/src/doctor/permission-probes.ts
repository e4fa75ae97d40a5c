/** A command that luanest sends or that its scripts call, as the doctor asks Redis for the permission. */
export interface Probe {
  /** `scripts`: the registry needs it for every call. `wake-up`: without it, waiters ask periodically. Others: a lib. */
  readonly of: string;
  /** As ACL SETUSER spells it, such as `client|setname`. */
  readonly command: string;
  /** The command with arguments. */
  readonly call: readonly string[];
}

/**
 * Asks for permissions without running anything. ARGV: for each command the number of its words, then the words. Redis itself checks the
 * user's commands, keys and channels. Replies for each command: 1 permitted, 0 refused, -1 unknown to this server. The declared key is
 * there because some services refuse scripts without one.
 */
export const LUA = `#!lua flags=no-writes
local replies = {}
local at = 1
while at <= #ARGV do
  local count = tonumber(ARGV[at])
  local known, permitted = pcall(redis.acl_check_cmd, unpack(ARGV, at + 1, at + count))
  replies[#replies + 1] = known and (permitted and 1 or 0) or -1
  at = at + count + 1
end
return replies
`;

/** Commands of the registry and of its clients. Those that only a client of a Cluster sends have the name `cluster`. */
const CONNECTION: Readonly<Record<string, string>> = {
  scripts: 'evalsha eval script|load script|exists ping info hello',
  cluster: 'cluster|slots cluster|shards readonly',
  replicas: 'wait',
  'wake-up': 'ssubscribe sunsubscribe',
};

/** Commands of each lib's scripts. A test compares them with the table in docs/production.md. */
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

/** Subcommands that scripts call. */
const SUBCOMMANDS: Readonly<Record<string, readonly string[]>> = {
  memory: ['usage'],
  xgroup: ['create', 'delconsumer', 'destroy'],
  xinfo: ['stream', 'groups', 'consumers'],
};

/**
 * Returns all probes.
 *
 * @param key below the prefix of luanest; also used as a channel
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
 * The same key for each argument. Redis looks for the keys at the places that its table of commands names, and a server ends with a panic
 * if a command of fixed length is too short for that.
 */
function argsOf(command: string, key: string): string[] {
  if (command === 'evalsha' || command === 'eval') return ['', '1', key];
  if (command === 'xreadgroup') return ['GROUP', 'g', 'c', 'STREAMS', key, '>'];
  return Array.from({ length: 6 }, () => key);
}
