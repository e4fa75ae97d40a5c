// This file lists the errors of Redis and Valkey that prove that a script did not run. Only the whole text of an error proves this. The
// code proves nothing, because a script may raise an error with any code, such as OOM. So if an error has such a code but an unknown
// text, luanest never reports that the call had no effect.
// See DECISIONS.md: refusals-by-whole-text

/**
 * Errors of a Cluster node that did not run a command: the node lacks the hash slot or some of the keys, the keys are in several slots, or
 * the Cluster is down.
 */
const REDIRECTS: readonly RegExp[] = [
  /^(?:MOVED|ASK) \d+ \S*:\d+$/,
  /^TRYAGAIN Multiple keys request during rehashing of slot$/,
  /^CROSSSLOT Keys in request don't hash to the same slot$/,
  /^CLUSTERDOWN (?:Hash slot not served|The cluster is down|The cluster is down and only accepts read commands)$/,
];

/** Errors of a server that refuses a command before it runs. `\w+` is the name of the server: Redis or Valkey. */
const REFUSALS: readonly RegExp[] = [
  ...REDIRECTS,
  /^OOM command not allowed when used memory > 'maxmemory'\.$/,
  /^READONLY You can't write against a read only replica\.$/,
  /^MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'\.$/,
  /^MISCONF \w+ is configured to save RDB snapshots, but .+ logs for details about the RDB error\.$/,
  /^MISCONF Errors writing to the AOF file: (?:(?! script: ).)+$/,
  /^NOREPLICAS Not enough good replicas to write\.$/,
  /^LOADING \w+ is loading the dataset in memory$/,
  /^BUSY \w+ is busy running a script\. You can only call (?:SCRIPT|FUNCTION) KILL or SHUTDOWN NOSAVE\.$/,
  /^NOAUTH Authentication required\.$/,
  /^NOPERM (?:this user|User .+) has no permissions to run the '[^']+' command$/,
  /^NOPERM this user has no permissions to access one of the (?:keys|channels) used as arguments$/,
  /^NOPERM No permissions to access a (?:key|channel)$/,
];
const CODES = new Set(REFUSALS.flatMap(({ source }) => source.match(/[A-Z]{3,}/g)?.slice(0, 2) ?? []));

export function isRedirect(message: string): boolean {
  return REDIRECTS.some((pattern) => pattern.test(message));
}

/**
 * Returns true if the server has refused the command, so that it had no effect.
 *
 * @param clustered true for a Redis Cluster. If false, an error such as MOVED does not count as a refusal: a single server sends no
 *   redirections, so a script has raised it
 */
export function isRefusal(message: string, clustered: boolean): boolean {
  return (
    (REFUSALS.some((pattern) => pattern.test(message)) && (clustered || !isRedirect(message))) || isNoScript(message)
  );
}

/** Returns true for an error code that servers use when they refuse a command. A script may raise an error with the same code. */
export function isRefusalCode(code: string): boolean {
  return CODES.has(code) || code === 'NOSCRIPT';
}

export function isNoScript(message: string): boolean {
  return /^NOSCRIPT No matching script\.(?: Please use EVAL\.)?$/.test(message);
}

/** Text at the end of an error that a script raised, in Redis and Valkey. Valkey 9.1 omits the SHA1 hash. */
const RAISED = /(?: script: (?:[0-9a-f]{40}, )?|, )on @user_script:(\d+)\.$/;

/** Returns true if the message proves that a script raised the error. False proves nothing. */
export function saysRaised(message: string): boolean {
  return RAISED.test(message);
}

/**
 * Replaces the line numbers in an error by those of the Lua source, and removes the SHA1 hash. Redis counts one line more, because a
 * `#!lua` line precedes the source.
 */
export function inSource(message: string): string {
  const isNamed = /\buser_script:\d+: /.test(message);
  return message
    .replaceAll(/\b(user_script:|at line )(\d+)(?=: |\))/g, (_, at: string, line: string) => `${at}${Number(line) - 1}`)
    .replace(RAISED, (_, line: string) => (isNamed ? '' : ` (user_script:${Number(line) - 1})`));
}

/** Error of a Valkey server whose module `lua` was unloaded. */
const LACKS_LUA = /^ERR Could not find scripting engine 'lua'$/;

/**
 * Returns an error of a server about a script as text for people, with the line numbers of the Lua source. If the server has no Lua, the
 * text says how to fix this.
 */
export function explained(message: string): string {
  return LACKS_LUA.test(message)
    ? 'this server cannot run Lua scripts, because its module lua is not loaded. Load the module lua, or use another server'
    : inSource(message);
}
