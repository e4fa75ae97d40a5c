import { asLuaError, baseFunctions, setMethodsOfText } from './base-library';
import { library, libraryFunction, type Arguments } from './arguments';
import { compile } from './compiler';
import { createJsonLibrary } from './json-library';
import { createBitLibrary, createMathLibrary, RandomNumbers } from './math-library';
import { fault, operators, textOf } from './operators';
import { position, raise } from './position';
import { createStringLibrary } from './string-library';
import { LuaTable } from './table';
import { createTableLibrary } from './table-library';
import { startTimeLimit } from './time-limit';
import { first, isTrue, NOTHING, spread, type LuaResult, type LuaValue } from './values';

export type CompiledScript = (lua: object, varargs: readonly LuaValue[]) => LuaResult;

setMethodsOfText(createStringLibrary());

/** Runs Lua 5.1 scripts as Redis does: with the libraries of Redis, and with globals that scripts cannot change. */
export class LuaRuntime {
  private readonly random = new RandomNumbers();
  private readonly globals: Map<string, LuaValue>;
  private readonly globalTable = new LuaTable();
  private readonly environment: object;

  /** @param redis the global table `redis` of scripts, with call() and pcall() */
  constructor(redis: LuaTable) {
    this.globals = new Map<string, LuaValue>([
      ...Object.entries(baseFunctions()),
      ['string', operators.strings],
      ['table', createTableLibrary()],
      ['math', createMathLibrary(this.random)],
      ['bit', createBitLibrary()],
      ['cjson', createJsonLibrary()],
      ['redis', redis],
      ['_VERSION', 'Lua 5.1'],
      ['_G', this.globalTable],
      ...missingLibraries(),
      ['loadstring', libraryFunction((args) => this.loadString(args.text(1)))],
    ]);
    for (const [name, value] of this.globals) this.globalTable.set(name, value);
    this.globalTable.readOnly = true;
    this.globalTable.metatable = library({ __index: missingGlobal });
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

  /** Compiles a script. @param isChecked true for source that is known to be valid @throws LuaError if it is not valid */
  compile(source: string, isChecked = false): CompiledScript {
    const code = isChecked ? undefined : compile(source);
    let compiled: CompiledScript | undefined;
    return (lua, varargs) => {
      // JavaScript is compiled at the first run, and checked Lua only then, too: a test never runs most of the scripts that it loads.
      // eslint-disable-next-line @typescript-eslint/no-implied-eval -- this is the compiler of Lua
      compiled ??= new Function('lua', 'varargs', code ?? compile(source)) as CompiledScript;
      return compiled(lua, varargs);
    };
  }

  /** Runs a compiled script. @returns the first value that it returns @throws LuaError if it raises an error */
  run(compiled: CompiledScript, keys: readonly string[], args: readonly string[]): LuaValue {
    this.random.seed(0);
    startTimeLimit();
    this.setGlobal('KEYS', LuaTable.from(keys));
    this.setGlobal('ARGV', LuaTable.from(args));
    try {
      return first(compiled(this.environment, NOTHING));
    } catch (error) {
      throw asLuaError(error);
    }
  }

  private loadString(source: string): LuaResult {
    try {
      const compiled = this.compile(source);
      return (...args) => compiled(this.environment, args);
    } catch (error) {
      // For source of loadstring(), Lua's errors show its first line instead of a file name.
      const text = asLuaError(error).message.replace(/^user_script:/, `[string "${source.split('\n', 1)[0]}"]:`);
      return [undefined, text];
    }
  }

  private setGlobal(name: string, value: LuaValue): void {
    this.globals.set(name, value);
    this.globalTable.set(name, value);
  }

  private global(name: string, line: number): LuaValue {
    const value = this.globals.get(name);
    if (value === undefined) throw fault(line, `Script attempted to access nonexistent global variable '${name}'`);
    return value;
  }
}

/** Throws Redis' error for reading a missing global through _G. */
function missingGlobal({ values: [, name] }: Arguments): never {
  const text = textOf(name);
  if (text === undefined) throw raise('Second argument to luaProtectedTableError must be a string or number');
  throw raise(`Script attempted to access nonexistent global variable '${text}'`);
}

/** Returns the libraries of Redis that MemoryRedis does not support. Their functions raise an error with the name of the library. */
function missingLibraries(): [string, LuaValue][] {
  const missing: Readonly<Record<string, string>> = {
    coroutine: 'create resume running status wrap yield',
    cmsgpack: 'pack unpack unpack_one unpack_limit',
    struct: 'pack size unpack',
  };
  return Object.entries(missing).map(([name, functions]) => {
    const raiseMissing = (): never => {
      throw raise(
        `MemoryRedis does not support the Lua library ${name}. Test this code with a server of luanest/testing/servers`,
      );
    };
    return [name, library(Object.fromEntries(functions.split(' ').map((one) => [one, raiseMissing])))];
  });
}
