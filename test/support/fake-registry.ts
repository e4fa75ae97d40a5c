import { KeySpace, type ScriptRegistry } from 'luanest/script-registry';
import { pending, type Pending } from './replies';

export interface ScriptCall {
  readonly script: string;
  readonly keys: Readonly<Record<string, string>>;
  readonly args: Readonly<Record<string, unknown>>;
  readonly options: unknown;
  readonly reply: Pending<unknown>;
}

/** The part of a ScriptRegistry that most libs use, without Redis: the test answers each call. */
export class FakeRegistry {
  readonly deadlineMs = 60_000;
  /** All calls, the oldest first. */
  readonly calls: ScriptCall[] = [];
  readonly channels: { readonly key: string; readonly message: () => void }[] = [];

  get asRegistry(): ScriptRegistry {
    return this as unknown as ScriptRegistry;
  }

  /** Names of the scripts that were called, the oldest first. */
  get scripts(): readonly string[] {
    return this.calls.map(({ script }) => script);
  }

  get last(): ScriptCall {
    return this.calls.at(-1) as ScriptCall;
  }

  keySpace(lib: string): KeySpace {
    return new KeySpace('p', lib);
  }

  run(script: { name: string }, { keys, args }: Pick<ScriptCall, 'keys' | 'args'>, options?: unknown) {
    const reply = pending<unknown>();
    this.calls.push({ script: script.name, keys, args, options, reply });
    return reply.promise;
  }

  runAndWait(script: { name: string }, input: Pick<ScriptCall, 'keys' | 'args'>, options: unknown) {
    return this.run({ name: `${script.name} and wait` }, input, options);
  }

  listen(key: string, message: () => void): Promise<() => void> {
    this.channels.push({ key, message });
    return Promise.resolve(() => undefined);
  }
}
