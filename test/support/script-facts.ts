import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ScriptDefinition } from 'luanest/script-registry';

const LIBS = join(__dirname, '..', '..', 'libs');

/** Returns the libs that have Lua scripts. */
export function libsWithScripts(): string[] {
  return readdirSync(LIBS).filter((lib) => existsSync(join(LIBS, lib, 'src', 'scripts', 'generated.ts')));
}

/** Returns every script that a lib defines, in any of its folders. */
export function scriptsOf(lib: string): ScriptDefinition[] {
  const files = readdirSync(join(LIBS, lib, 'src'), { recursive: true, encoding: 'utf8' });
  const exports = files
    .filter((file) => file.endsWith('.scripts.ts'))
    .flatMap((file) => Object.values(jest.requireActual<Record<string, unknown>>(join(LIBS, lib, 'src', file))));
  const isScript = (value: unknown): value is ScriptDefinition =>
    typeof (value as ScriptDefinition | undefined)?.source === 'string';
  return [...new Set(exports.filter(isScript))];
}

/** Returns the Lua of a script without comments, that for groups included. */
function codeOf({ source, group }: ScriptDefinition): string {
  return `${source}\n${group === false ? '' : (group.source ?? '')}`
    .replaceAll(/--\[\[[\s\S]*?\]\]/g, '')
    .replaceAll(/--.*$/gm, '');
}

const CALL = /redis\s*\.\s*p?call\s*\(\s*(?:'([A-Za-z]+)'|([^)\s,]+))\s*(?:,\s*([^,)]+))?/g;

/** Returns the commands that scripts call, in capitals. @throws Error for a call whose command is not a literal */
export function commandsOf(scripts: readonly ScriptDefinition[]): string[] {
  const found = new Set<string>();
  for (const script of scripts) {
    for (const [call, command] of codeOf(script).matchAll(CALL)) {
      if (command === undefined) throw new Error(`${script.name}: ${call} does not name its command`);
      found.add(command.toUpperCase());
    }
  }
  return [...found].sort();
}

const WITHOUT_KEY = new Set(['TIME']);
const KEY_AFTER_WORD = new Set(['XGROUP', 'XINFO']);

/** Returns true if a script passes a key to a command in another form than `KEYS[n]`. */
export function hidesKeys(script: ScriptDefinition): boolean {
  return [...codeOf(script).matchAll(CALL)].some(([, command = '', , first = '']) => {
    if (WITHOUT_KEY.has(command)) return false;
    if (KEY_AFTER_WORD.has(command)) return false;
    // The first argument of XREADGROUP and similar commands is a literal, and their keys come later.
    return !/^KEYS\[\d+\]$/.test(first.trim()) && !first.trim().startsWith("'");
  });
}

/** Returns true if a script calls `unpack`. */
export function unpacks(script: ScriptDefinition): boolean {
  return /\bunpack\s*\(/.test(codeOf(script));
}
