// This file knows which errors of Redis and Valkey prove that a command did not run. Servers word their errors differently, and a script may raise or
// return an error with any code. So an error counts as a refusal only if its whole text is one that the servers are known to send before
// they run a script. After any other error with such a code, it is unknown if the command ran: the error is never reported as "had no effect".
// See DECISIONS.md: refusals-by-whole-text

/** Errors of a Cluster node that cannot run a command because of the slots of its keys, or because the Cluster is down. */
const REDIRECTS: readonly RegExp[] = [
  /^(?:MOVED|ASK) \d+ \S*:\d+$/,
  /^TRYAGAIN Multiple keys request during rehashing of slot$/,
  /^CROSSSLOT Keys in request don't hash to the same slot$/,
  /^CLUSTERDOWN (?:Hash slot not served|The cluster is down|The cluster is down and only accepts read commands)$/,
];

/** `\w+` is the name of the server: Redis, Valkey. */
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
 * @param clustered false: a redirection is not a refusal, because a server without slots sends none. A script has returned it.
 */
export function isRefusal(message: string, clustered: boolean): boolean {
  return (
    (REFUSALS.some((pattern) => pattern.test(message)) && (clustered || !isRedirect(message))) || isNoScript(message)
  );
}

/** Returns true for the codes with which servers refuse commands. A script may use them too. */
export function isRefusalCode(code: string): boolean {
  return CODES.has(code) || code === 'NOSCRIPT';
}

/** Returns true if the server does not have the script. */
export function isNoScript(message: string): boolean {
  return /^NOSCRIPT No matching script\.(?: Please use EVAL\.)?$/.test(message);
}

/** The text that Redis and Valkey add to an error that a script raised. Valkey 9.1 leaves out the SHA1 hash. */
const RAISED = /(?: script: (?:[0-9a-f]{40}, )?|, )on @user_script:(\d+)\.$/;

/** Returns true if the server says that a script raised this error. If it does not, a script may have raised the error nevertheless. */
export function saysRaised(message: string): boolean {
  return RAISED.test(message);
}

/** Replaces the line numbers of a form in an error by those of the source, which begins in line 2, and removes the SHA1 hash. */
export function inSource(message: string): string {
  const isNamed = /\buser_script:\d+: /.test(message);
  return message
    .replaceAll(/\b(user_script:|at line )(\d+)(?=: |\))/g, (_, at: string, line: string) => `${at}${Number(line) - 1}`)
    .replace(RAISED, (_, line: string) => (isNamed ? '' : ` (user_script:${Number(line) - 1})`));
}

/** Error of a Valkey server whose module `lua` was unloaded. */
const LACKS_LUA = /^ERR Could not find scripting engine 'lua'$/;

/** Returns a server's error about a script, for people: with line numbers of the source, and with a remedy if the server has no Lua. */
export function explained(message: string): string {
  return LACKS_LUA.test(message)
    ? 'this server cannot run Lua, because its module lua is not loaded. luanest needs it: load it, or use another server'
    : inSource(message);
}
