import { asLuaError, baseFunctions } from './base-library';
import { compile } from './compiler';
import { createJsonLibrary } from './json-library';
import { createBitLibrary, createMathLibrary, RandomNumbers } from './math-library';
import { fault, operators } from './operators';
import { position } from './position';
import { createStringLibrary } from './string-library';
import { LuaTable } from './table';
import { createTableLibrary } from './table-library';
import { first, isTrue, NOTHING, spread, type LuaFunction, type LuaResult, type LuaValue } from './values';

export type CompiledScript = (lua: object) => LuaResult;

operators.strings = createStringLibrary();

/** Runs Lua 5.1 as Redis does: with Redis' libraries, and with globals that scripts cannot change. */
export class LuaRuntime {
  private readonly random = new RandomNumbers();
  private readonly globals: Map<string, LuaValue>;
  private readonly environment: object;

  /** @param redis table `redis` with call() and pcall() */
  constructor(redis: LuaTable) {
    const globals = new LuaTable();
    this.globals = new Map<string, LuaValue>([
      ...Object.entries(baseFunctions()),
      ['string', operators.strings],
      ['table', createTableLibrary()],
      ['math', createMathLibrary(this.random)],
      ['bit', createBitLibrary()],
      ['cjson', createJsonLibrary()],
      ['redis', redis],
      ['_VERSION', 'Lua 5.1'],
      ['_G', globals],
    ]);
    for (const [name, value] of this.globals) globals.set(name, value);
    globals.readOnly = true;
    this.environment = {
      operators,
      position,
      nothing: NOTHING,
      first,
      spread,
      isTrue,
      global: (name: string, line: number) => this.global(name, line),
      setGlobal: (_name: string, _value: LuaValue, line: number) => {
        throw fault(line, 'Attempt to modify a readonly table');
      },
    };
  }

  /** Compiles a script. @throws LuaError */
  compile(source: string): CompiledScript {
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- this is the compiler of Lua
    return new Function('lua', compile(source)) as CompiledScript;
  }

  /** Runs a compiled script. @returns its first value @throws LuaError */
  run(compiled: CompiledScript, keys: readonly string[], args: readonly string[]): LuaValue {
    this.random.seed(0);
    this.globals.set('KEYS', LuaTable.from(keys));
    this.globals.set('ARGV', LuaTable.from(args));
    try {
      return first(compiled(this.environment));
    } catch (error) {
      throw asLuaError(error);
    }
  }

  private global(name: string, line: number): LuaValue {
    const value = this.globals.get(name);
    if (value === undefined) throw fault(line, `Script attempted to access nonexistent global variable '${name}'`);
    return value;
  }
}

export type { LuaFunction };
