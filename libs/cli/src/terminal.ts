import { styleText } from 'node:util';

/** Where a command prints, and what it may know of its surroundings. A test passes another one. */
export interface Terminal {
  /** Folder that the command was started in. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** True if escape codes of colours are wanted. */
  readonly colours: boolean;
  /** Prints a line, or several, to the standard output. */
  print(text: string): void;
  /** Prints a line to the standard error. */
  complain(text: string): void;
}

/** The terminal of this process. */
export const terminal: Terminal = {
  folder: process.cwd(),
  environment: process.env,
  colours: process.stdout.isTTY && process.env.NO_COLOR === undefined,
  print: (text) => void process.stdout.write(`${text}\n`),
  complain: (text) => void process.stderr.write(`${text}\n`),
};

/** Returns the text with the escape codes of a colour, if the terminal wants colours. */
export function coloured(
  on: Terminal,
  colour: 'red' | 'yellow' | 'green' | 'cyan' | 'bold' | 'dim',
  text: string,
): string {
  return on.colours ? styleText(colour, text) : text;
}
