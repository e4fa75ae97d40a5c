import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ScriptCodec } from '../../libs/script-registry/src/pipe/script-codec';
import type { ScriptDefinition } from '../../libs/script-registry/src/script-definition';
import type { World } from './engine/world';

const LIBS = join(__dirname, '..', '..', 'libs');
/** Commands with which clients connect, and check their connections. */
const USUAL = /: (hello|info|quit|ping|TIME|client|SCRIPT (LOAD|EXISTS))\b/i;

/** Returns a run as a table: time in ms, actor, and what it did. @param all with what clients always do */
export function tableOf(world: World, all: boolean): string {
  const names = scriptNames();
  const { seed, lib, processes, client, settings } = world.plan;
  const head = `${lib}, seed ${seed}, ${processes} processes, ${JSON.stringify({ ...client, ...(settings as object) })}`;
  const rows = (world.lines ?? [])
    .filter(({ actor, text }) => all || actor !== 'redis' || !USUAL.test(text))
    .map(({ us, actor, text }) => {
      const named = text.replace(/\b[0-9a-f]{40}\b/g, (sha) => names.get(sha) ?? sha.slice(0, 8));
      return `${(us / 1_000).toFixed(3).padStart(11)} | ${actor.padEnd(5)} | ${named.replace(/\s+/g, ' ')}`;
    });
  return [head, `${'ms'.padStart(11)} | actor | what`, ...rows].join('\n');
}

/** The name of each script of the libs by the SHA1 of its forms. */
function scriptNames(): Map<string, string> {
  const names = new Map<string, string>();
  const files = readdirSync(LIBS, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /src\/.*\.scripts\.ts$/.test(file),
  );
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- which files there are is known only now
  const modules = files.map((file) => require(join(LIBS, file)) as Record<string, unknown>);
  const exported = modules.flatMap((module) => Object.values(module));
  const nested = exported.flatMap((one) => Object.values((one ?? {}) as Record<string, unknown>));
  for (const value of [...exported, ...nested] as Partial<ScriptDefinition>[]) {
    if (typeof value?.source !== 'string' || !Array.isArray(value.keys)) continue;
    const definition = value as ScriptDefinition;
    for (const { sha } of new ScriptCodec(definition, true).forms) names.set(sha, definition.name);
  }
  return names;
}
