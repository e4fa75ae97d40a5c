import type { ServerFacts } from '../facts';
import { type ServerFinding, ok } from '../finding';
import { LIB_COMMANDS } from '../permission-probes';
import { libsInUse } from './data';

const ACL = 'docs/production.md, "Permissions (ACL)", has the whole rule.';

/** Checks that the user can load and run Lua scripts. */
export function lua({ load, evalsha, user }: ServerFacts, prefix: string): ServerFinding {
  const failed = 'error' in load ? load.error : 'error' in evalsha ? evalsha.error : undefined;
  if (failed === undefined) return ok('lua', 'scripts can be loaded and run');
  const command = 'error' in load ? 'SCRIPT LOAD' : 'EVALSHA';
  const why = 'Every call of luanest is a script.';
  if (/NOPERM.*\bkeys?\b/.test(failed)) return noKeys(user, prefix);
  if (/NOPERM/.test(failed))
    return {
      check: 'lua',
      level: 'error',
      found: `The user ${user} may not send ${command}: ${failed}`,
      why,
      remedy: `ACL SETUSER ${user} +evalsha +eval +script|load +script|exists ~<prefix>:* &<prefix>:*. ${ACL}`,
    };
  if (/unknown command/i.test(failed))
    return {
      check: 'lua',
      level: 'error',
      found: `The server does not know ${command}: ${failed}`,
      why,
      remedy:
        'Remove rename-command from its configuration, or use a service that allows scripts: see docs/managed-redis.md.',
    };
  if (/engine|lua/i.test(failed))
    return {
      check: 'lua',
      level: 'error',
      found: `The server has no Lua: ${failed}`,
      why,
      remedy:
        'Valkey 9.1 has Lua as a module. Load it: MODULE LOAD <folder>/libvalkeylua.so, and loadmodule in valkey.conf.',
    };
  return {
    check: 'lua',
    level: 'error',
    found: `${command} failed: ${failed}`,
    why,
    remedy: `Correct what the error names. ${ACL}`,
  };
}

/** Reports the commands that luanest needs, but the Redis user may not run (ACL). */
export function permissions(facts: ServerFacts): ServerFinding[] {
  const { refused, user, keyspace } = facts;
  if ('error' in refused) return [];
  const commandsOf = (of: string): string[] => [
    ...new Set(refused.value.filter((probe) => probe.of === of).map(({ command }) => `+${command}`)),
  ];
  const libs = Object.keys(LIB_COMMANDS);
  const lacking = libs.filter((lib) => commandsOf(lib).length > 0);
  const used = libsInUse(keyspace);
  const findings = [
    ...finding(commandsOf('scripts'), 'error', user, 'ScriptRegistry loads and runs scripts with these commands.'),
    ...(facts.cluster
      ? finding(
          commandsOf('cluster'),
          'error',
          user,
          'The clients read the hash slots of a Cluster with these commands.',
        )
      : []),
    ...finding(commandsOf('replicas'), 'warning', user, 'The option `replicas` of several modules needs this command.'),
    ...finding(
      commandsOf('wake-up'),
      'warning',
      user,
      'Without these commands, waiting locks, workers and consumers are not woken. They poll instead, so they are slower.',
    ),
    ...lacking.flatMap((lib) =>
      finding(
        commandsOf(lib),
        used.has(lib) ? 'error' : 'warning',
        user,
        `The scripts of ${lib} need these commands${used.has(lib) ? `, and ${lib} has keys here` : ` if the app uses ${lib}`}. Without them, a script can stop after a part of its writes.`,
      ),
    ),
  ];
  return findings.length > 0 ? findings : [ok('acl', `the user ${user} may run each command of each lib`)];
}

function finding(commands: readonly string[], level: 'warning' | 'error', user: string, why: string): ServerFinding[] {
  if (commands.length === 0) return [];
  return [
    {
      check: 'acl',
      level,
      found: `The user ${user} may not run ${commands.map((command) => command.slice(1)).join(', ')}.`,
      why,
      remedy: `Run ACL SETUSER ${user} ${commands.join(' ')}, then save the users with ACL SAVE or in users.acl. ${ACL}`,
    },
  ];
}

function noKeys(user: string, prefix: string): ServerFinding {
  return {
    check: 'acl',
    level: 'error',
    found: `The user ${user} may not use keys and channels that begin with ${prefix}:.`,
    why: 'luanest stores all of its data in such keys, so each call fails.',
    remedy: `Run ACL SETUSER ${user} ~${prefix}:* &${prefix}:* in redis-cli. If the app sets another \`prefix\`, run luanest doctor with --prefix. ${ACL}`,
  };
}
