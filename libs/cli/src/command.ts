import type { ParseArgsConfig } from 'node:util';
import type { Terminal } from './terminal';

/** The words after a command's name, read. */
export interface Words {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
}

/** A command of the program luanest. */
export interface Command {
  /** One sentence for the list of commands. */
  readonly summary: string;
  /** The help of the command: its form, then its options. */
  readonly help: string;
  /** Options, as `util.parseArgs` takes them. */
  readonly options: NonNullable<ParseArgsConfig['options']>;
  /**
   * Runs the command. @returns the exit status: 0, or 1 if it found an error
   *
   * @throws UsageError
   */
  run(words: Words, terminal: Terminal): Promise<number>;
}
