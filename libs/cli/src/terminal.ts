import { styleText } from 'node:util';

/** Terminal and environment of a command. Tests replace it. */
export interface Terminal {
  /** Folder in which the command was started. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** True if the output may contain escape codes for colours. */
  readonly colours: boolean;
  /** Prints one or more lines to the standard output. */
  print(text: string): void;
  /** Prints a line to the standard error. */
  complain(text: string): void;
  /** Resolves when the user asks the program to end: Ctrl-C, or the signal SIGTERM. */
  interrupted(): Promise<void>;
  /** The screen and the keyboard. Absent if the standard output is not a terminal. */
  readonly screen?: Screen;
}

/** The whole screen of a terminal, and its keyboard. */
export interface Screen {
  /** Returns the number of lines, and of characters in a line. */
  size(): { readonly rows: number; readonly columns: number };
  /** Replaces the whole content of the screen. */
  draw(lines: readonly string[]): void;
  /** Calls `pressed` with each key that the user presses. @returns a function that stops this and restores the terminal */
  listen(pressed: (key: string) => void): () => void;
}

const CTRL_C = '\u0003';
/**
 * Escape codes: move the cursor to the top left corner, clear the rest of the line, clear the rest of the screen, show and hide the cursor.
 */
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

export const terminal: Terminal = {
  folder: process.cwd(),
  environment: process.env,
  colours: process.stdout.isTTY && process.env.NO_COLOR === undefined,
  ...(process.stdout.isTTY && process.stdin.isTTY ? { screen } : {}),
  print: (text) => void process.stdout.write(`${text}\n`),
  complain: (text) => void process.stderr.write(`${text}\n`),
  interrupted: () =>
    new Promise((resolve) => {
      process.once('SIGINT', () => resolve()).once('SIGTERM', () => resolve());
    }),
};

/** Colours a text, if the terminal can show colours. */
export function coloured(
  on: Terminal,
  colour: 'red' | 'yellow' | 'green' | 'cyan' | 'bold' | 'dim',
  text: string,
): string {
  return on.colours ? styleText(colour, text) : text;
}
