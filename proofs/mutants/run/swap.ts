import type { ScriptDefinition } from '../../../libs/script-registry/src/script-definition';
import { RegisteredScripts } from '../../../libs/script-registry/src/registered-scripts';
import { ScriptEngine } from '../../../libs/memory-redis/src/scripting/script-engine';
import { operators } from '../../../libs/memory-redis/src/lua/operators';

/** Maximum number of steps of a script: a loop that a mutation made endless ends here. */
const MOST_STEPS = 3_000_000;

/** Replaces texts of scripts in each ScriptRegistry that is made afterwards. */
export const swap = {
  texts: new Map<string, string>() as ReadonlyMap<string, string>,
  /** Marks of the statements that have run. */
  ran: new Set<string>(),
  install,
};

let steps = 0;

function install(): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- it is called with its object
  const { add } = RegisteredScripts.prototype;
  RegisteredScripts.prototype.add = function (scripts, makePipe) {
    return add.call(this, scripts, (script) => makePipe(swapped(script)));
  };
  countSteps();
  const engine = ScriptEngine.prototype as unknown as {
    call: (this: object, words: readonly string[]) => unknown;
    run: (this: object, ...args: unknown[]) => unknown;
  };
  const { call, run } = engine;
  engine.call = function (words) {
    if (words[0] !== 'luanest.ran') return call.call(this, words);
    swap.ran.add(`${words[1]}:${words[2]}`);
    return '';
  };
  engine.run = function (...args) {
    steps = 0;
    return run.apply(this, args);
  };
}

/** Returns a script with the replaced texts. A property that is a getter stays one. */
function swapped(script: ScriptDefinition): ScriptDefinition {
  const { source, group } = script;
  const replaced = swap.texts.get(source);
  const grouped = group === false ? undefined : swap.texts.get(group.source ?? '');
  const changes: Partial<Record<keyof ScriptDefinition, PropertyDescriptor>> = {
    ...(replaced !== undefined && { source: { value: replaced, enumerable: true } }),
    ...(grouped !== undefined && { group: { value: { ...group, source: grouped }, enumerable: true } }),
  };
  return Object.defineProperties({}, { ...Object.getOwnPropertyDescriptors(script), ...changes }) as ScriptDefinition;
}

/** Endless loops of these scripts usually call, index or compare something. */
function countSteps(): void {
  const all = operators as unknown as Record<string, unknown>;
  for (const name of ['call', 'index', 'add', 'equal', 'less', 'lessOrEqual', 'concat']) {
    const operator = all[name];
    if (typeof operator !== 'function') throw new Error(`there is no operator ${name}`);
    all[name] = (...args: unknown[]): unknown => {
      if (++steps > MOST_STEPS) throw new Error('the script does not end');
      return (operator as (...values: unknown[]) => unknown)(...args);
    };
  }
}
