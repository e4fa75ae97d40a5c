import type { ParseArgsConfig } from 'node:util';
import type { Terminal } from './terminal';

/** The parsed arguments of a command: its options (`values`), and its other words (`positionals`). */
export interface Words {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
}

/** A command of the program `luanest`, such as `luanest doctor`. */
export interface Command {
  /** One sentence about the command, for the list of commands. */
  readonly summary: string;
  /** The text that `luanest COMMAND --help` prints: the usage line, then the options. */
  readonly help: string;
  /** The options of the command, in the format of `util.parseArgs` of Node. */
  readonly options: NonNullable<ParseArgsConfig['options']>;
  /**
   * Runs the command.
   *
   * @returns the exit status: 0, or 1 if the command found an error
   * @throws UsageError
   */
  run(words: Words, terminal: Terminal): Promise<number>;
}
