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
  /** The screen and its keys. Absent if the output is not a screen. */
  readonly screen?: Screen;
}

/** A screen that a command fills, and the keys that are pressed. */
export interface Screen {
  /** Number of lines and of characters in a line. */
  size(): { readonly rows: number; readonly columns: number };
  /** Replaces all that the screen shows. */
  draw(lines: readonly string[]): void;
  /** Calls back with each key. @returns a function that restores the terminal */
  listen(pressed: (key: string) => void): () => void;
}

const CTRL_C = '\u0003';
/** Escape codes: go to the top left corner; clear the rest of a line, and of the screen; show and hide the cursor. */
const [HOME, CLEAR_LINE, CLEAR_BELOW, SHOW, HIDE] = ['\u001b[H', '\u001b[K', '\u001b[J', '\u001b[?25h', '\u001b[?25l'];

const screen: Screen = {
  size: () => ({ rows: process.stdout.rows, columns: process.stdout.columns }),
  draw: (lines) =>
    void process.stdout.write(HOME + lines.map((line) => `${line}${CLEAR_LINE}`).join('\n') + CLEAR_BELOW),
  listen(pressed) {
    const onData = (data: Buffer): void => {
      for (const key of data.toString()) pressed(key === CTRL_C ? 'q' : key);
    };
    process.stdout.write(HIDE + HOME + CLEAR_BELOW);
    process.stdin.setRawMode(true).resume().on('data', onData);
    return () => {
      process.stdin.off('data', onData).setRawMode(false).pause();
      process.stdout.write(`${SHOW}\n`);
    };
  },
};

/** The terminal of this process. */
export const terminal: Terminal = {
  folder: process.cwd(),
  environment: process.env,
  colours: process.stdout.isTTY && process.env.NO_COLOR === undefined,
  ...(process.stdout.isTTY && process.stdin.isTTY ? { screen } : {}),
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
