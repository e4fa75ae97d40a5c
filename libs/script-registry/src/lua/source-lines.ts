/** The parts of a form that are Lua of the script, in their order. A form is the Lua body that Redis gets. */
type Part = 'shared' | 'source' | 'finish';

/** Number of the line in which the script's own Lua begins. Line 1 is the `#!lua` line. */
const FIRST_LINE = 2;

function linesOf(text: string): number {
  return text === '' ? 0 : text.split(/\r\n|\n\r|\r|\n/).length;
}

/** Converts line numbers in errors, because Redis reports lines of a form, and users need lines of their script. */
export class SourceLines {
  private readonly parts: readonly (readonly [part: Part, from: number, to: number])[];

  constructor(shared: string, source: string, finish: string) {
    const texts = Object.entries({ shared, source, finish }) as [Part, string][];
    let from = FIRST_LINE;
    this.parts = texts.map(([part, text]) => {
      const start = from;
      from += linesOf(text);
      return [part, start, from] as const;
    });
  }

  /**
   * Replaces line numbers of the form in an error message by those of the script. In the result `user_script:3:` is line 3 of
   * `source`, `shared:3:` is line 3 of `shared`, and `finish:3:` is line 3 of `finish`. Line numbers of Lua that luanest added
   * are removed.
   */
  inScript(message: string): string {
    const text = message.replace(TAIL, (_, line: string) => this.behind(message, Number(line)));
    const [head = '', code = '', positions = ''] = HEAD.exec(text) ?? [];
    const named = positions.replaceAll(/user_script:(\d+): /g, (_, line: string) => {
      const place = this.find(Number(line));
      return place === undefined ? '' : `${nameOf(place.part)}:${place.line}: `;
    });
    const rest = text.slice(head.length);
    return code + named + (code.includes('compiling') ? this.openedAt(rest) : rest);
  }

  /**
   * Returns the text that replaces the line number at the end of a message. It is empty if the message also begins with a line
   * number, as Lua's own errors do, or if the line is not one of the script.
   */
  private behind(message: string, line: number): string {
    const place = HEAD.test(message) ? undefined : this.find(line);
    return place === undefined ? '' : ` (${nameOf(place.part)}:${place.line})`;
  }

  /**
   * For a block that is not closed, the compiler adds `at line <n>`, where the block begins. Replaces n by the line of the
   * script, or removes `at line <n>` if the line is not one of the script.
   */
  private openedAt(message: string): string {
    return message.replace(/ at line (\d+)\)/, (_, line: string) => {
      const place = this.find(Number(line));
      return place === undefined ? ')' : ` at line ${place.line})`;
    });
  }

  private find(line: number): { part: Part; line: number } | undefined {
    const found = this.parts.find(([, from, to]) => line >= from && line < to);
    return found && { part: found[0], line: line - found[1] + 1 };
  }
}

function nameOf(part: Part): string {
  return part === 'source' ? 'user_script' : part;
}

const HEAD = /^((?:ERR )?(?:Error compiling script \(new function\): )?)((?:user_script:\d+: )+)/;
const TAIL = /(?: script: [0-9a-f]{40})?, on @user_script:(\d+)\.$/;
