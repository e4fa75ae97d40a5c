import { createHash } from 'node:crypto';
import { toText } from '../lua/base-library';
import { LuaRuntime, type CompiledScript } from '../lua/runtime';
import { LuaTable } from '../lua/table';
import { LuaError } from '../lua/values';
import { hasArity, type Context } from '../commands/command';
import { lookUp } from '../commands/find-command';
import type { Keyspace } from '../keyspace';
import { RedisError, refuse, shownText, type Reply } from '../reply';
import { Session } from '../session';
import { CHECKED_BODIES } from './checked-bodies';
import { replyOfLua } from './lua-replies';
import { createRedisLibrary } from './redis-library';
import { readShebang } from './shebang';

interface Script {
  readonly compiled: CompiledScript;
  /** True if the script begins with `#!lua`. The flags on this line then decide what the script may do. */
  readonly hasShebang: boolean;
  readonly readOnly: boolean;
}

/** Scripts of a server by their SHA1, as a snapshot keeps them. */
export type LoadedScripts = ReadonlyMap<string, unknown>;

/** Compiled scripts by their SHA1, for all servers of this process. Tests often create many servers with the same scripts. */
const compiledScripts = new Map<string, Script>();
const MOST_COMPILED = 1_000;

/** Loads and runs the scripts of a server. */
export class ScriptEngine {
  private scripts = new Map<string, Script>();
  /** True if a snapshot may need the map `scripts`, which must then be copied before a change. */
  private areShared = false;
  private readonly runtime: LuaRuntime;
  private readonly session = new Session(
    0,
    () => undefined,
    () => undefined,
  );
  private isReadOnly = false;

  /** @param db the keys that scripts read and write @param contextOf returns the context in which a session runs commands */
  constructor(
    private readonly db: Keyspace,
    private readonly contextOf: (session: Session) => Context,
  ) {
    this.runtime = new LuaRuntime(createRedisLibrary((words) => this.call(words)));
  }

  has(sha: string): boolean {
    return this.scripts.has(sha.toLowerCase());
  }

  flush(): void {
    this.change(new Map());
  }

  /** Saves the loaded scripts for a snapshot. */
  save(): LoadedScripts {
    this.areShared = true;
    return this.scripts;
  }

  restore(scripts: LoadedScripts): void {
    this.change(scripts as Map<string, Script>);
    this.areShared = true;
  }

  /** Loads a script. Compiles it unless it was compiled before. @returns its SHA1 @throws RedisError */
  load(source: string): string {
    const sha = createHash('sha1').update(source, 'latin1').digest('hex');
    if (!this.scripts.has(sha)) this.add(sha, compiledScripts.get(sha) ?? this.compile(sha, source));
    return sha;
  }

  /** Runs a loaded script. @param readOnly true if the script must not write (EVAL_RO, EVALSHA_RO) @throws RedisError */
  run(sha: string, keys: readonly string[], args: readonly string[], readOnly: boolean): Reply {
    const script = this.scripts.get(sha);
    if (script === undefined) refuse('NOSCRIPT No matching script. Please use EVAL.');
    if (readOnly && script.hasShebang && !script.readOnly) {
      refuse('ERR Can not execute a script with write flag using *_ro command.');
    }
    this.isReadOnly = readOnly || script.readOnly;
    try {
      return this.db.freezeExpiry(() => replyOfLua(this.runtime.run(script.compiled, keys, args)));
    } catch (error) {
      if (!(error instanceof LuaError)) throw error;
      refuse(`${shownText(messageOf(error))} script: ${sha}, on @user_script:${error.line}.`);
    }
  }

  private add(sha: string, script: Script): void {
    this.change(this.areShared ? new Map(this.scripts) : this.scripts);
    this.scripts.set(sha, script);
  }

  private change(scripts: Map<string, Script>): void {
    this.scripts = scripts;
    this.areShared = false;
  }

  private compile(sha: string, source: string): Script {
    const { exists, flags, code } = readShebang(source);
    try {
      const compiled = this.runtime.compile(code, CHECKED_BODIES.has(sha));
      const script = { compiled, hasShebang: exists, readOnly: flags.has('no-writes') };
      if (compiledScripts.size >= MOST_COMPILED) compiledScripts.clear();
      compiledScripts.set(sha, script);
      return script;
    } catch (error) {
      if (!(error instanceof LuaError)) throw error;
      refuse(`ERR Error compiling script (new function): ${error.message}`);
    }
  }

  private call(words: readonly string[]): Reply {
    try {
      const found = lookUp(words);
      if (typeof found === 'string') return new RedisError('ERR Unknown Redis command called from script');
      const { command, args } = found;
      if (!hasArity(command, words.length)) {
        return new RedisError('ERR Wrong number of args calling Redis command from script');
      }
      if (!command.inScripts) return new RedisError('ERR This Redis command is not allowed from script');
      if (command.writes && this.isReadOnly) {
        return new RedisError('ERR Write commands are not allowed from read-only scripts.');
      }
      return command.run(this.contextOf(this.session), args);
    } catch (error) {
      if (error instanceof RedisError) return error;
      throw error;
    }
  }
}

function messageOf({ value }: LuaError): string {
  if (!(value instanceof LuaTable)) return `ERR ${toText(value)}`;
  const text = value.get('err');
  return typeof text === 'string' ? text : 'ERR unknown error';
}
