import type { ParseArgsConfig } from 'node:util';
import type { Terminal } from './terminal';

/** Parsed command line: options (`values`) and other words (`positionals`). */
export interface Words {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
}

/** Command of the program `luanest`, such as `doctor`. */
export interface Command {
  /** One sentence about the command, for the list of commands. */
  readonly summary: string;
  /** Text for `luanest COMMAND --help`: the usage line, then the options. */
  readonly help: string;
  /** Options of the command, in the format of Node's `util.parseArgs`. */
  readonly options: NonNullable<ParseArgsConfig['options']>;
  /**
   * Runs the command.
   *
   * @returns the exit status: 0, or 1 if the command has found an error
   * @throws UsageError
   */
  run(words: Words, terminal: Terminal): Promise<number>;
}
